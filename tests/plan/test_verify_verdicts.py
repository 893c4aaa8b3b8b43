"""Which text of the scheduler counts, and how it compares with the answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from ksched_cli.api.core import Pod, PodCondition
from ksched_cli.plan.results.outcomes import GatedPod, PodOutcome
from ksched_cli.plan.simulate import PlacementRun
from ksched_cli.plan.verify.history import Evidence
from ksched_cli.plan.verify.results import Agreement, Checked
from ksched_cli.plan.verify.verify import (
    BOTH,
    CONDITION,
    EVENT,
    PresentCluster,
    newest_events,
    pending_pods,
    statement_of,
)
from ksched_cli.sources.events import FailedScheduling
from tests.builders import make_pod

FIRST, THEN, LAST = (f"2026-01-01T00:{minute}:00Z" for minute in (10, 20, 30))
CPU, MEMORY = (f"0/3 nodes are available: 3 Insufficient {what}." for what in ("cpu", "memory"))
LONG = f"0/90 nodes are available: {', '.join(f'{n} node(s) had untolerated taint {{t{n}: x}}' for n in range(1, 90))}."
NOTE = f"{LONG[:1020]} ..."
DEFAULT = frozenset({"default-scheduler"})
LACKS = [f"1 node(s) lack {'abcdefghij'[number // 10]}{'abcdefghij'[number % 10]}" for number in range(99)]
ALL_LACK = f"0/99 nodes are available: {', '.join(LACKS)}."
CUT = f"{ALL_LACK[:1020]} ..."


def pod(text: str | None = None, when: str = FIRST, reason: str = "Unschedulable", status: str = "False") -> Pod:
    made = make_pod("p").uid("u").obj()
    assert isinstance(made, Pod)
    if text is not None:
        made.status.conditions = (
            PodCondition("Initialized", "False"),
            PodCondition("PodScheduled", status, reason, text, when),
        )
    return made


def event(
    text: str = CPU, stamp: str = THEN, *, again: bool = False, name: str = "p", uid: str = "u"
) -> FailedScheduling:
    return FailedScheduling("default", name, uid, "default-scheduler", text, stamp, again)


@pytest.mark.parametrize(
    ("of", "failure", "text", "where", "when"),
    [
        pytest.param(pod(CPU), None, CPU, CONDITION, FIRST, id="no event"),
        pytest.param(pod(), event(), CPU, EVENT, THEN, id="no condition"),
        pytest.param(pod("", status="True"), event(), CPU, EVENT, THEN, id="a condition that says scheduled"),
        pytest.param(pod(CPU), event(CPU), CPU, BOTH, THEN, id="the same, and when it was written last"),
        pytest.param(pod(CPU, LAST), event(CPU), CPU, BOTH, LAST, id="the same, the condition is younger"),
        pytest.param(pod(LONG), event(NOTE), LONG, BOTH, THEN, id="the same, cut off"),
        pytest.param(pod(MEMORY), event(CPU), CPU, EVENT, THEN, id="the event is newer"),
        pytest.param(pod(MEMORY, LAST), event(CPU), MEMORY, CONDITION, LAST, id="the condition is newer"),
        pytest.param(pod(MEMORY, THEN), event(CPU), MEMORY, CONDITION, THEN, id="of the same second"),
        pytest.param(pod(MEMORY), event(CPU, ""), MEMORY, CONDITION, FIRST, id="an event without a time"),
        pytest.param(pod(MEMORY), event(CPU, again=True), MEMORY, CONDITION, FIRST, id="it failed again, for another reason"),
        pytest.param(pod("", reason="SchedulingGated"), event(CPU), CPU, EVENT, THEN, id="its gates are gone since"),
    ],
)  # fmt: skip
def test_the_newer_text_counts(of: Pod, failure: FailedScheduling | None, text: str, where: str, when: str) -> None:
    statement = statement_of(of, failure)
    assert statement is not None
    assert (statement.text, statement.where, statement.when) == (text, where, when)


def test_nothing_was_written() -> None:
    assert statement_of(pod(), None) is None


def test_the_newest_event_of_each_pod_that_is_there() -> None:
    other = make_pod("other").obj()
    assert isinstance(other, Pod)
    events = [
        event(CPU, THEN),
        event(MEMORY, LAST),
        event("", FIRST),
        replace(event("of another scheduler", "2026-01-01T00:59:00Z"), scheduler="mine"),
        event(name="other", uid=""),
        event(uid="of one before it", stamp=LAST),
        *(event(name="gone", uid="g", stamp=when) for when in (FIRST, THEN)),
        replace(event(name="gone"), namespace="elsewhere"),
    ]
    newest, gone = newest_events(events, [pod(), other], lambda each: each.metadata.namespace == "default")
    assert {key: (each.text, each.stamp) for key, each in newest.items()} == {
        "default/p": (MEMORY, LAST),
        "default/other": (CPU, THEN),
    }
    assert gone == 2


def present(*outcomes: PodOutcome, gated: GatedPod | None = None) -> PresentCluster:
    return PresentCluster(PlacementRun(iter(outcomes), (gated,) if gated else (), (), tuple))


def compared(of: Pod, outcome: PodOutcome | None = None, gated: GatedPod | None = None) -> Checked:
    outcomes = (outcome,) if outcome else ()
    (found,), left_out = pending_pods([of], {}, DEFAULT, present(*outcomes, gated=gated), Evidence())
    assert not left_out
    return found


@pytest.mark.parametrize(
    ("said", "answer", "agreement"),
    [
        pytest.param(CPU, CPU, Agreement.SAME, id="the same"),
        pytest.param(NOTE, LONG, Agreement.SAME, id="the same, cut off"),
        pytest.param(
            "0/3 nodes are available: 2 Insufficient cpu, 1 Too many pods.",
            "0/9 nodes are available: 4 Too many pods, 5 Insufficient cpu.",
            Agreement.SAME_REASONS,
            id="other numbers",
        ),
        pytest.param(NOTE, LONG.replace("90", "91"), Agreement.SAME_REASONS, id="other numbers, cut off"),
        pytest.param(CPU, MEMORY, Agreement.OTHER_REASONS, id="other reasons"),
        pytest.param(NOTE, CPU, Agreement.OTHER_REASONS, id="other reasons, cut off"),
        pytest.param(CUT, ALL_LACK.replace("99", "98"), Agreement.SAME_REASONS, id="as many reasons, cut off"),
        pytest.param(
            CUT,
            ALL_LACK.replace(CUT.split(", ")[-2], "1 Too many pods"),
            Agreement.OTHER_REASONS,
            id="another reason before the cut",
        ),
        pytest.param(
            CUT,
            ALL_LACK.replace(LACKS[len(CUT.split(", ")) - 1], "1 Too many pods").replace("99", "98"),
            Agreement.SAME_REASONS,
            id="another reason at the cut",
        ),
        pytest.param(
            CPU,
            f"{CPU} preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
            Agreement.OTHER_REASONS,
            id="another end",
        ),
    ],
)
def test_messages(said: str, answer: str, agreement: Agreement) -> None:
    assert compared(pod(said), PodOutcome("default/p", "unschedulable", message=answer)).agreement is agreement


def test_a_pod_that_fits_now() -> None:
    found = compared(pod(CPU), PodOutcome("default/p", "scheduled", "n1"))
    assert (found.agreement, found.answer, found.said_in) == (Agreement.FITS, "fits on n1", CONDITION)
    assert found.cause == "not known"


@pytest.mark.parametrize(
    ("of", "gated", "agreement", "answer"),
    [
        pytest.param(pod("", reason="SchedulingGated"), "SchedulingGates", Agreement.SAME, "SchedulingGated", id="both"),
        pytest.param(pod("", reason="SchedulingGated"), "", Agreement.FITS, "is not held back", id="only the scheduler"),
        pytest.param(pod(CPU), "SchedulingGates", Agreement.OTHER_REASONS, "SchedulingGates holds it back", id="only ours"),
    ],
)  # fmt: skip
def test_gates(of: Pod, gated: str, agreement: Agreement, answer: str) -> None:
    held = GatedPod("default/p", gated, ()) if gated else None
    found = compared(of, PodOutcome("default/p", "scheduled", "n1"), held)
    assert (found.agreement, found.answer) == (agreement, answer)


@pytest.mark.parametrize(
    ("of", "why"),
    [
        pytest.param(pod(), "pods that wait without a verdict of the scheduler", id="nothing said"),
        pytest.param(pod("", reason=""), "pods that wait without a verdict of the scheduler", id="left out of a snapshot"),
        pytest.param(
            pod("timeout", reason="SchedulerError"), "pods at which the scheduler failed (SchedulerError)", id="an error"
        ),
        pytest.param(make_pod("p").terminating().obj(), "pods that are being deleted", id="deleted"),
        pytest.param(make_pod("p").spec(schedulerName="mine").obj(), "pods of the scheduler mine", id="of another"),
    ],
)  # fmt: skip
def test_what_is_not_compared(of: Pod, why: str) -> None:
    found, left_out = pending_pods([of], {}, DEFAULT, present(), Evidence())
    assert (found, left_out) == ([], {why: 1})


@pytest.mark.parametrize(
    "of",
    [
        pytest.param(make_pod("p").on("n").obj(), id="it runs"),
        pytest.param(make_pod("p").phase("Succeeded").obj(), id="it is done"),
    ],
)
def test_pods_that_do_not_wait(of: Pod) -> None:
    assert pending_pods([of], {"default/p": event()}, DEFAULT, present(), Evidence()) == ([], {})


def test_only_cycles_up_to_the_last_compared_pod_run() -> None:
    run: list[str] = []

    def outcomes() -> Iterator[PodOutcome]:
        for name in ("default/first", "default/p", "default/last"):
            run.append(name)
            yield PodOutcome(name, "unschedulable", message=CPU)

    cluster = PresentCluster(PlacementRun(outcomes(), (), (), tuple))
    silent = make_pod("last").obj()
    (found,), left_out = pending_pods([silent, pod(CPU)], {}, DEFAULT, cluster, Evidence())
    assert found.agreement is Agreement.SAME
    assert sum(left_out.values()) == 1
    assert run == ["default/first", "default/p"]
    cluster.run_to_the_end()
    assert run[-1] == "default/last"
