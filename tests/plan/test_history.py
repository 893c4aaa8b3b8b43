"""What `verify` reads of the past from objects: times of bindings, which pods are tried, and what happened until then."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.object_facts import parse_time
from ksched_cli.plan.verify import history as module
from ksched_cli.plan.verify.history import (
    BindingSecond,
    BindingTime,
    Evidence,
    History,
    Placed,
    TimeSource,
    binding_seconds,
    binding_time,
    first_nodes,
    read_history,
)
from ksched_cli.plan.verify.search import are_mixable, assumption
from ksched_cli.sources.events import ScheduledPod
from tests.builders import PodBuilder, make_node, make_pod

MIRROR = {"kubernetes.io/config.mirror": "x"}


def at(second: float) -> str:
    return f"2026-01-01T00:00:{int(second):02}Z"


START = parse_time(at(0))


def condition(kind: str, second: float | None, status: str = "True") -> dict[str, Any]:
    stamp = {} if second is None else {"lastTransitionTime": at(second)}
    return {"type": kind, "status": status, **stamp}


def bound(name: str, second: int, *conditions: dict[str, Any], node: str = "n") -> PodBuilder:
    return make_pod(name).on(node).status(conditions=[condition("PodScheduled", second), *conditions])


def event(second: float, *, exact: bool = True, node: str = "n", uid: str = "") -> ScheduledPod:
    """Its name counts only without a uid."""
    return ScheduledPod("default", "old" if uid else "p", uid, node, at(second), START + second, exact)


@pytest.mark.parametrize(
    ("conditions", "started", "found", "second", "source"),
    [
        pytest.param([condition("PodScheduled", 3)], None, None, 3, "PodScheduled condition", id="the condition"),
        pytest.param([condition("PodScheduled", 2)], None, None, 2, "PodScheduled condition", id="in the second of its creation"),
        pytest.param([condition("PodScheduled", 1)], None, None, 2, "creationTimestamp", id="before its creation"),
        pytest.param([condition("PodScheduled", 9, "False"), condition("Ready", 5)], None, None, 5, "status set by the kubelet", id="a condition of before"),
        pytest.param([condition("PodScheduled", None), condition("Ready", 5, "False")], None, None, 5, "status set by the kubelet", id="a condition without a time"),
        pytest.param([condition("Ready", 7), condition("Mine", 3), condition("Initialized", 5)], 6, None, 5, "status set by the kubelet", id="the first that the kubelet set"),
        pytest.param([condition("Ready", 7)], 6, None, 6, "status set by the kubelet", id="the start"),
        pytest.param([condition("PodScheduled", 3)], None, event(4), 4, "Scheduled event", id="an exact event"),
        pytest.param([condition("PodScheduled", 3)], None, event(4, uid="u"), 4, "Scheduled event", id="an event by uid"),
        pytest.param([condition("PodScheduled", 3)], None, event(4, exact=False), 3, "PodScheduled condition", id="an event of seconds"),
        pytest.param([condition("Ready", 3)], None, event(4, exact=False), 4, "Scheduled event", id="an event of seconds before the kubelet"),
        pytest.param([condition("PodScheduled", 3)], None, event(4, node="m"), 3, "PodScheduled condition", id="an event of another node"),
    ],
)  # fmt: skip
def test_the_time_of_a_binding(
    conditions: list[dict[str, Any]], started: int | None, found: ScheduledPod | None, second: int, source: str
) -> None:
    pod = make_pod("p").uid("u").created(at(2)).on("n").status(conditions=conditions)
    if started is not None:
        pod.started(at(started))
    made = binding_time(pod.obj(), {found.uid or found.key: found} if found else {})
    assert (made.second - START, made.source) == (second, source)


def read(*pods: PodBuilder, left_out: tuple[str, ...] = ()) -> History:
    """The history of a scheduler over node `n`; pods of these names were not asked for."""
    made: list[Pod] = [each.obj() for each in pods]
    wanted = [id(each) for each in made if each.metadata.name not in left_out]
    return read_history(made, wanted, {"default-scheduler"}, {"n"})


def names(placed: list[module.Placed]) -> list[str]:
    return [each.pod.metadata.name for each in placed]


def test_which_pods_are_tried() -> None:
    """Pods that were not asked for are tried if they were bound in the second of one that was."""
    static = [bound(name, 3).annotate(**MIRROR) for name in ("etcd", "api")]
    found = read(
        make_pod("waits"),
        bound("first", 1),
        bound("lost", 1, node="gone"),
        *static,
        bound("leaving", 2).terminating(),
        bound("with", 4),
        bound("last", 4),
        bound("between", 3),
        bound("hidden", 3).scheduler("mine"),
        bound("own", 2).scheduler("mine"),
        left_out=("with", "between", "hidden"),
    )
    assert names(found.tried) == ["first", "last", "with"]
    assert [each.reported for each in found.tried] == [True, True, False]
    assert names(found.others) == ["leaving", "own", "api", "between", "etcd", "hidden"]
    assert found.left_out == {
        "pods on nodes that are gone": 1,
        "static pods of a kubelet": 2,
        "pods that are being deleted": 1,
        "pods of the scheduler mine": 1,
    }


def seconds(found: History, *nodes: Node) -> dict[float, BindingSecond]:
    return {each.second - START: each for each in binding_seconds(found, nodes or [make_node("n").obj()])}


def test_pods_leave_in_their_time() -> None:
    done = bound("done", 1, condition("Ready", 4, "False"), condition("Other", 9, "False")).phase("Succeeded")
    soon = bound("soon", 2, condition("Ready", 9), condition("Ready", None, "False")).phase("Failed")
    ready = bound("ready", 1, condition("Ready", 2, "False"))
    steps = seconds(read(done, soon, ready, *(bound(f"p{second}", second) for second in range(3, 7))))
    assert {second: step.left for second, step in steps.items() if step.left} == {
        3: ["default/soon"],
        4: ["default/done"],
    }


def test_pods_are_told_to_leave_before_their_grace_period() -> None:
    pods = [bound(f"p{second}", second) for second in range(1, 6)]
    graceful, at_once = bound("graceful", 0).spec(terminationGracePeriodSeconds=3), bound("at-once", 0)
    at_once.spec(terminationGracePeriodSeconds=0)
    for each, end in ((graceful, 5), (at_once, 4)):
        each.data["metadata"]["deletionTimestamp"] = at(end)
    steps = seconds(read(*pods, graceful, at_once))
    assert {second: step.terminating for second, step in steps.items() if step.terminating} == {
        2: ["default/graceful"],
        4: ["default/at-once"],
    }
    assert [steps[second].quiet for second in (1, 2, 3)] == [False, False, True]


@pytest.mark.parametrize(
    ("most", "arriving", "hidden"),
    [
        pytest.param(3, {2: "b", 3: "c", 4: "d e"}, {}, id="one by one"),
        pytest.param(2, {2: "b c", 4: "d e"}, {2: "c"}, id="two batches"),
        pytest.param(1, {2: "b c d e"}, {2: "c d e", 3: "d e"}, id="one batch"),
    ],
)
def test_nodes_come_in_batches(
    most: int, arriving: dict[int, str], hidden: dict[int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`late` was created after the last binding, and `n` registered again after its first pod."""
    monkeypatch.setattr(module, "MOST_ARRIVALS", most)
    created = {"n": 9, "old": 1, "b": 2, "c": 3, "d": 4, "e": 4, "late": 6}
    nodes = [make_node(name).created(at(second)).obj() for name, second in created.items()]
    found = read(*(bound(f"p{second}", second) for second in range(1, 6)))
    assert [node.metadata.name for node in first_nodes(found, nodes)] == ["n", "old"]
    steps = seconds(found, *nodes)
    came = {second: " ".join(sorted(each.metadata.name for each in step.arriving)) for second, step in steps.items()}
    young = {second: " ".join(sorted(step.hidden)) for second, step in steps.items()}
    assert {second: text for second, text in came.items() if text} == arriving
    assert {second: text for second, text in young.items() if text} == hidden


def test_without_a_binding_no_node_was_there_before_and_none_comes() -> None:
    nodes = [make_node("n").created(at(1)).obj()]
    assert list(binding_seconds(History(), nodes)) == []
    assert first_nodes(History(), nodes) == nodes


@pytest.mark.parametrize(
    ("created", "bound", "text"),
    [
        pytest.param([1], [], "not known", id="before"),
        pytest.param([5], [5], "not known", id="in that second"),
        pytest.param([6, 1], [], "since {} 1 node was created", id="a node"),
        pytest.param([6, 7], [6], "since {} 2 nodes were created and 1 pod was bound", id="nodes and a pod"),
        pytest.param([], [6, 7, 1], "since {} 2 pods were bound", id="pods"),
    ],
)
def test_what_happened_since(created: list[int], bound: list[int], text: str) -> None:
    nodes = {f"n{number}": at(second) for number, second in enumerate(created)} | {"unknown": ""}
    evidence = Evidence(created=nodes, bound=[START + second for second in bound])
    assert evidence.since(at(5)) == text.format(at(5))
    assert evidence.since("") == "not known"


def second_of(second: int, *, known: bool = True, others: int = 0, hidden: tuple[str, ...] = ()) -> BindingSecond:
    source = TimeSource.CONDITION if known else TimeSource.CREATION
    placed = Placed(make_pod("p").on("n").obj(), "n", BindingTime(float(second), source))
    return BindingSecond(second, [placed], hidden=frozenset(hidden), others=[placed] * others)


@pytest.mark.parametrize(
    ("first", "second", "may_be"),
    [
        pytest.param(second_of(5), second_of(6), True, id="the next second"),
        pytest.param(second_of(5), second_of(7), False, id="two seconds later"),
        pytest.param(second_of(6), second_of(5), False, id="the second before"),
        pytest.param(second_of(5), second_of(6, others=1), False, id="something happened in between"),
        pytest.param(second_of(5, others=1), second_of(6), True, id="something happened before both"),
        pytest.param(second_of(5, hidden=("m",)), second_of(6), False, id="a node came in between"),
        pytest.param(second_of(5, hidden=("m",)), second_of(6, hidden=("m",)), True, id="a node comes later"),
        pytest.param(second_of(5, known=False), second_of(6), False, id="the first time is that of a creation"),
        pytest.param(second_of(5), second_of(6, known=False), False, id="the second time is that of a creation"),
    ],
)
def test_two_seconds_that_may_be_one(first: BindingSecond, second: BindingSecond, may_be: bool) -> None:
    assert are_mixable(first, second) is may_be


@pytest.mark.parametrize(
    ("names", "text"),
    [
        pytest.param([], "", id="none"),
        pytest.param(["a"], "a took no pods yet: it holds none of that time and was changed later", id="one"),
        pytest.param(["a", "b"], "a, b took no pods yet: they hold none of that time and were changed later", id="two"),
    ],
)
def test_nodes_that_are_assumed_to_be_late(names: list[str], text: str) -> None:
    assert assumption(names) == text
