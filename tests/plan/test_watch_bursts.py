"""When a watch looks at the cluster again, under a clock that the test moves; questions, and what is news of a result."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from ksched_cli.api.core import Node, Pod
from ksched_cli.errors import UsageError
from ksched_cli.plan import watch as module
from ksched_cli.plan.results.outcomes import GatedPod, IgnoredPod, PodOutcome, Preemption
from ksched_cli.plan.watch import (
    LONGEST,
    QUIET,
    Answer,
    Kind,
    Moment,
    News,
    Picture,
    Question,
    Watch,
    news,
    picture,
)
from ksched_cli.sources.live.watch import Event, Listed, Lost, Reached
from tests.builders import make_node, make_pod

CHANGE, SAME, REACHED = Listed(Pod, []), Listed(Node, []), Reached(Pod)
Timed = tuple[float, "Event | Question | None"]


class Clock:
    """A queue whose events come at their times."""

    def __init__(self, events: list[Timed]) -> None:
        self.now, self.events = 0.0, events

    def monotonic(self) -> float:
        return self.now

    def get(self, timeout: float | None) -> Event | Question | None:
        until = float("inf") if timeout is None else self.now + timeout
        if not self.events or self.events[0][0] > until:
            assert timeout is not None
            self.now = until
            raise queue.Empty
        at, event = self.events.pop(0)
        self.now = max(self.now, at)
        return event


class Mirror:
    """A cluster of a node, a pod that waits and one that has the node. Its list of pods changes."""

    found: Any = {  # noqa: RUF012
        Pod: [SimpleNamespace(value=each) for each in (make_pod("p").obj(), make_pod("r").on("n").obj())],
        Node: [SimpleNamespace(value=make_node("n").obj())],
    }

    def apply(self, event: Event) -> bool:
        return event is CHANGE

    def cluster(self) -> Mirror:
        return self


def simulation(*outcomes: PodOutcome, gated: tuple[Any, ...] = (), ignored: tuple[Any, ...] = ()) -> Any:
    return SimpleNamespace(outcomes=outcomes, gated=gated, ignored=ignored)


def explain(cluster: Any, pod: str) -> Any:
    if pod == "none":
        raise UsageError("there is no pod none")
    return f"about {pod}"


def seen(
    events: list[Timed], monkeypatch: pytest.MonkeyPatch, deadline: float | None = None
) -> Iterator[tuple[float, Any]]:
    """What a watch reports, each with its time."""
    clock = Clock(events)
    monkeypatch.setattr(module, "time", clock)
    outcome = PodOutcome("default/p", "unschedulable", feasible_nodes=0, total_nodes=1, message="no room")
    watch = Watch(Mirror(), clock, lambda cluster: simulation(outcome), explain, deadline)  # type: ignore[arg-type]
    for each in watch.seen():
        yield round(clock.now, 3), each


@pytest.mark.parametrize(
    ("events", "deadline", "looks"),
    [
        pytest.param([(5.0, None)], None, [0], id="nothing happens"),
        pytest.param([(5.0, CHANGE), (9.0, None)], None, [0, 5 + QUIET], id="a change"),
        pytest.param([(5.0, CHANGE), (5.15, SAME), (5.3, CHANGE), (9.0, None)], None, [0, 5.3 + QUIET], id="a burst"),
        pytest.param([(5.0, CHANGE), (5.3, CHANGE), (9.0, None)], None, [0, 5 + QUIET, 5.3 + QUIET], id="two bursts"),
        pytest.param([(5.0, SAME), (6.0, REACHED), (7.0, Lost(Pod, "x")), (9.0, None)], None, [0], id="no change"),
        pytest.param([(5.0, CHANGE), (5.05, Lost(Pod, "x")), (5.1, REACHED), (9.0, None)], None, [0, 5.1 + QUIET], id="beside a loss"),
        pytest.param([(5 + number / 10, CHANGE) for number in range(25)] + [(9.0, None)], None, [0, 5 + LONGEST, 7.4 + QUIET], id="a long burst"),
        pytest.param([(5.0, CHANGE), (5.1, None)], None, [0, 5.1], id="the end in a burst"),
        pytest.param([(5.0, CHANGE), (50.0, CHANGE)], 20.0, [0, 5 + QUIET], id="until the deadline"),
        pytest.param([(19.9, CHANGE)], 20.0, [0, 20], id="the deadline in a burst"),
    ],
)  # fmt: skip
def test_a_burst_is_one_moment(
    events: list[Timed], deadline: float | None, looks: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [at for at, each in seen([*events], monkeypatch, deadline) if isinstance(each, Moment)]
    assert found == pytest.approx(looks, abs=0.101)


def test_a_moment_has_the_news_and_what_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    (_, first), (_, second) = seen([(5.0, CHANGE), (9.0, None)], monkeypatch)
    assert first.created == {"default/p": ""}
    assert first.news == (News(Kind.UNSCHEDULABLE, "default/p", "", "no room"),)
    assert second.news == ()


def lost(kind: Any, age: float) -> Lost:
    return Lost(kind, f"no {kind.__name__}", age)


@pytest.mark.parametrize(
    ("events", "said"),
    [
        pytest.param([lost(Pod, 5)], [], id="once"),
        pytest.param([lost(Pod, 5), lost(Node, 5)], [], id="two kinds, each once"),
        pytest.param([lost(Pod, 5), lost(Pod, 9.6)], ["no Pod; the data is 10s old"], id="twice"),
        pytest.param([lost(Pod, 5), lost(Pod, 9), lost(Pod, 60), lost(Node, 60), lost(Node, 60)], ["no Pod; the data is 9s old"], id="not again within a minute"),
        pytest.param([lost(Pod, 5), lost(Pod, 9), lost(Pod, 61)], ["no Pod; the data is 9s old", "no Pod; the data is 61s old"], id="again after a minute"),
        pytest.param([lost(Pod, 5), lost(Pod, 50), lost(Pod, 100)], ["no Pod; the data is 50s old"], id="not again at twice the age"),
        pytest.param([lost(Pod, 5), lost(Pod, 50), lost(Pod, 101), lost(Pod, 150)], ["no Pod; the data is 50s old", "no Pod; the data is 101s old"], id="again beyond twice the age"),
        pytest.param([lost(Pod, 5), Reached(Pod), lost(Pod, 5)], [], id="a connection that breaks now and then"),
        pytest.param([lost(Pod, 5), lost(Pod, 9), Reached(Pod), Reached(Pod)], ["no Pod; the data is 9s old", "back"], id="back"),
        pytest.param([lost(Pod, 5), lost(Pod, 9), lost(Node, 9), Reached(Pod), Reached(Node)], ["no Pod; the data is 9s old", "back"], id="back when all kinds are"),
        pytest.param([lost(Pod, 5), lost(Pod, 9), lost(Node, 9), Reached(Pod)], ["no Pod; the data is 9s old"], id="not back as long as one kind is lost"),
        pytest.param([lost(Pod, 5), lost(Pod, 70), Reached(Pod), lost(Pod, 5), lost(Pod, 9)], ["no Pod; the data is 70s old", "back", "no Pod; the data is 9s old"], id="lost once more"),
    ],
)  # fmt: skip
def test_the_loss_of_the_server_is_news(events: list[Event], said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    found = list(seen([*((5.0, each) for each in events), (9.0, None)], monkeypatch))
    assert [each.why or str(each.kind) for _, each in found if isinstance(each, News)] == said
    assert sum(isinstance(each, Moment) for _, each in found) == 1


def verdict(kind: Kind, node: str = "", why: str = "", pod: str = "p") -> News:
    return News(kind, pod, node, why)


@pytest.mark.parametrize(
    ("before", "now", "bound", "said"),
    [
        pytest.param(verdict(Kind.FITS, "n", "1 of 2"), verdict(Kind.FITS, "n", "1 of 3"), {}, [], id="the same node"),
        pytest.param(verdict(Kind.FITS, "n"), verdict(Kind.FITS, "m"), {}, [verdict(Kind.FITS, "m")], id="another node"),
        pytest.param(verdict(Kind.UNSCHEDULABLE, why="a"), verdict(Kind.UNSCHEDULABLE, why="b"), {}, [verdict(Kind.UNSCHEDULABLE, why="b")], id="another reason"),
        pytest.param(verdict(Kind.FITS, "n"), None, {"p": "n"}, [News(Kind.BOUND, "p", "n", "as foreseen")], id="bound as foreseen"),
        pytest.param(verdict(Kind.FITS, "n"), None, {"p": "m"}, [News(Kind.BOUND, "p", "m", "foreseen was n")], id="bound to another node"),
        pytest.param(verdict(Kind.UNSCHEDULABLE), None, {"p": "m"}, [News(Kind.BOUND, "p", "m", "was unschedulable")], id="bound though nothing fitted"),
        pytest.param(verdict(Kind.UNSCHEDULABLE), None, {}, [News(Kind.GONE, "p")], id="deleted"),
    ],
)  # fmt: skip
def test_news_are_the_differences(before: News, now: News | None, bound: dict[str, str], said: list[News]) -> None:
    """Another pod, which stays as it is, comes first."""
    other = verdict(Kind.UNSCHEDULABLE, why="x", pod="other")
    then = Picture({"other": other, "p": before}, {})
    later = Picture({"other": other, **({"p": now} if now else {})}, bound)
    assert list(news(then, later)) == said


def test_questions_are_answered_between_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[Timed] = [(5.0, CHANGE), (5.1, Question("p")), (5.2, Question("none")), (5.3, CHANGE), (9.0, None)]
    found = list(seen(events, monkeypatch))
    answers = [(at, each.pod, each.result, each.mistake) for at, each in found if isinstance(each, Answer)]
    assert answers == [(5.1, "p", "about p", ""), (5.2, "none", None, "there is no pod none")]
    assert [isinstance(each, Answer) for _, each in found] == [False, True, True, False]


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        pytest.param({"result": "scheduled", "node": "n"}, News(Kind.FITS, "a", "n", "1 of 2 nodes fit"), id="fits"),
        pytest.param(
            {"result": "unschedulable", "nominated_node": "n", "preemption": Preemption("n", ("b", "c"), 0)},
            News(Kind.PREEMPTS, "a", "n", "evicting b, c"),
            id="preempts",
        ),
        pytest.param(
            {"result": "unschedulable", "preemption": Preemption("n", ("b",), 0), "message": "m"},
            News(Kind.UNSCHEDULABLE, "a", "", "m"),
            id="preemption without a node",
        ),
        pytest.param({"result": "skipped"}, News(Kind.DELETING, "a"), id="being deleted"),
        pytest.param({"result": "error", "message": "m"}, News(Kind.ERROR, "a", "", "m"), id="error"),
    ],
)
def test_the_news_of_a_result(outcome: dict[str, Any], said: News) -> None:
    found = picture(simulation(PodOutcome("a", feasible_nodes=1, total_nodes=2, **outcome)), {})
    assert found.verdicts == {"a": said}


def test_pods_that_are_held_back_or_not_ours_are_news() -> None:
    gated, ignored = (GatedPod("g", "SchedulingGates", ("one", "two")),), (IgnoredPod("i", "mine"),)
    assert picture(simulation(gated=gated, ignored=ignored), {}).verdicts == {
        "g": News(Kind.HELD_BACK, "g", why="one, two"),
        "i": News(Kind.NOT_OURS, "i", why='no profile is named "mine"'),
    }
