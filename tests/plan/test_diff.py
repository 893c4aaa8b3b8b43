"""Two sides compared: which pods are told as what, and what is asked of nodes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace as replace_fields
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from ksched_cli.plan import diff as comparison
from ksched_cli.plan.diff import Diff, PodChange, Side, diff
from ksched_cli.plan.results.amounts import Amounts
from ksched_cli.plan.results.nodes import NodeColumns, NodeUse
from ksched_cli.plan.results.outcomes import RefusedPod
from ksched_cli.plan.run.each import Copy
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.plan.run.run import Run
from ksched_cli.sources.loaded import Loaded
from ksched_cli.wiring import INPUT_MAKER
from ksched_cli.world.results import FinalPod, FinalPods
from tests.builders import PodBuilder, make_node, make_pod, write_list
from tests.lanes import sampled
from tests.running import compare, load

SWAPPED = {"moved": "moved", "newlyFailing": "newlyFitting", "newlyFitting": "newlyFailing", "added": "removed", "removed": "added"}  # fmt: skip


def one_by_one(side: Side) -> Side:
    """The side with an object for each unmoved pod."""
    world = side.settle_result.world
    world = replace(world, final=FinalPods(tuple(world.final)))
    return replace(side, settle_result=replace(side.settle_result, world=world))


def present(names: Sequence[str], amounts: Sequence[int]) -> dict[str, int]:
    return {name: amount for name, amount in zip(names, amounts, strict=False) if amount}


def uses(nodes: NodeColumns) -> dict[str, NodeUse]:
    """The use of each node, read from the columns node by node."""
    columns = zip(nodes.requested.T.tolist(), nodes.allocatable.T.tolist(), nodes.pods.tolist(), strict=True)
    return {
        name: NodeUse(pods, *(Amounts(present(nodes.resources, each)) for each in amounts))
        for name, (*amounts, pods) in zip(nodes.table.names, columns, strict=True)
    }


def total(nodes: NodeColumns) -> tuple[int, dict[str, int], dict[str, int]]:
    pods, requested, allocatable = 0, dict[str, int](), dict[str, int]()
    for use in uses(nodes).values():
        pods += use.pods
        for into, amounts in ((requested, use.requested), (allocatable, use.allocatable)):
            for name, amount in amounts.items():
                into[name] = into.get(name, 0) + amount
    return pods, requested, allocatable


def in_order(use: NodeUse | None) -> tuple[int, list[Any], list[Any]]:
    assert use is not None
    return use.pods, list(use.requested.items()), list(use.allocatable.items())


@pytest.fixture(autouse=True)
def as_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every difference of these tests is that of pods and nodes that are looked at one by one."""

    def both(before: Side, after: Side, **options: bool) -> Diff:
        found = diff(before, after, **options)
        plain = diff(one_by_one(before), one_by_one(after), **options)
        assert replace_fields(plain, after=found.after) == found
        was, now = uses(before.nodes), uses(after.nodes)
        names = [name for name in sorted(was.keys() | now.keys()) if was.get(name) != now.get(name)]
        assert [(each.node, each.before, each.after) for each in found.nodes] == [
            (name, was.get(name), now.get(name)) for name in names
        ]
        for use, nodes in ((found.total.before, before.nodes), (found.total.after, after.nodes)):
            pods, requested, allocatable = total(nodes)
            assert in_order(use) == (pods, list(requested.items()), list(allocatable.items()))
        return found

    monkeypatch.setattr(comparison, "diff", both)


def of_set(name: str, replica_set: str = "web-1", **labels: str) -> PodBuilder:
    return make_pod(name).label(**labels).requests(cpu="1").owner("ReplicaSet", replica_set)


def of_daemon(name: str) -> PodBuilder:
    return make_pod(name).requests(cpu="1").owner("DaemonSet", "logs")


def differ(tmp_path: Path, before: list[Any], after: list[Any], **setup: Any) -> Diff:
    first = RunOptions(sources=[write_list(tmp_path / "before.json", *before)], **setup)
    second = replace(first, sources=[write_list(tmp_path / "after.json", *after)])
    found = compare(first, second).diff
    # The other way round it is the other way round.
    back = compare(second, first).diff
    assert sorted(SWAPPED[change.kind] for change in back.changes) == sorted(change.kind for change in found.changes)
    assert back.unchanged == found.unchanged
    return found


def told(change: PodChange) -> str:
    """`moved a -> b`, each as pod@node."""
    sides = [f"{side.pod}@{side.node or side.state}" if side else "" for side in (change.before, change.after)]
    return f"{change.kind} {sides[0]} -> {sides[1]}".replace("default/", "")


TWO = [make_node("n"), make_node("m")]
BIG = make_pod("p").requests(cpu="3")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after", "changes", "unchanged"),
    [
        pytest.param([*TWO, BIG], [*TWO, BIG], [], 1, id="the same"),
        pytest.param([make_node("n"), BIG], [make_node("m"), BIG], ["moved p@n -> p@m"], 0, id="moved"),
        pytest.param([make_node("n"), BIG], [make_node("n").cordoned(), BIG], ["newlyFailing p@n -> p@unschedulable"], 0, id="newly failing"),
        pytest.param([make_node("n").cordoned(), BIG], [make_node("n"), BIG], ["newlyFitting p@unschedulable -> p@n"], 0, id="newly fitting"),
        pytest.param([make_node("n").cordoned(), BIG], [make_node("m").cordoned(), BIG], [], 1, id="failing as before"),
        pytest.param(TWO, [*TWO, BIG], ["added  -> p@m"], 0, id="new"),
        pytest.param(TWO, [*TWO, make_pod("p").requests(cpu="9")], ["added  -> p@unschedulable"], 0, id="new, and without a node"),
        pytest.param([*TWO, BIG], TWO, ["removed p@m -> "], 0, id="gone"),
        pytest.param([*TWO, BIG], [*TWO, make_pod("q")], ["added  -> q@m", "removed p@m -> "], 0, id="pods by themselves are not each other's successors"),
        pytest.param([*TWO, of_set("a").on("n")], [*TWO, of_set("b").on("m")], ["moved a@n -> b@m"], 0, id="a pod and its successor"),
        pytest.param([*TWO, of_set("a").on("n")], [*TWO, of_set("b").on("n")], [], 1, id="a successor on the same node"),
        pytest.param([*TWO, of_set("a").on("n"), of_set("b").on("m")], [*TWO, of_set("c").on("m"), of_set("d").on("m")], ["moved a@n -> d@m"], 1, id="successors stay where they can"),
        pytest.param([*TWO, of_set("a").on("n")], [*TWO, of_set("b").on("n"), of_set("c").on("n")], ["added  -> c@n"], 1, id="one more of a workload"),
        pytest.param([*TWO, of_set("a", "web-old", **{"pod-template-hash": "old"}).on("n")], [*TWO, of_set("b", "web-new", **{"pod-template-hash": "new"}).on("m")], ["moved a@n -> b@m"], 0, id="of another revision of the same deployment"),
        pytest.param([*TWO, make_pod("done").on("n").phase("Succeeded")], TWO, [], 0, id="finished pods do not count"),
        pytest.param([*TWO, make_pod("p").gate("g")], [*TWO, make_pod("p")], ["newlyFitting p@gated -> p@m"], 0, id="let go"),
        pytest.param([*TWO, make_pod("p").scheduler("other")], [*TWO, make_pod("p")], ["newlyFitting p@ignored -> p@m"], 0, id="another scheduler's"),
        pytest.param([make_node("n"), of_set("low").on("n").requests(cpu="4")], [make_node("n"), of_set("low").on("n").requests(cpu="4"), make_pod("high").priority(9).requests(cpu="2")], ["newlyFailing low@n -> web-1-?@unschedulable", "added  -> high@n"], 0, id="a victim of preemption"),
        pytest.param([*TWO, make_pod("p").on("n")], [make_node("m"), make_pod("p").on("n")], ["newlyFailing p@n -> p@nodeGone"], 0, id="its node is gone"),
        pytest.param([*TWO, of_set("a").on("n")], [make_node("m"), of_set("b").on("m")], ["moved a@n -> b@m"], 0, id="its node is gone, and it has a successor"),
        pytest.param([*TWO, of_daemon("a").on("n")], [make_node("m"), of_daemon("b").on("m")], ["added  -> b@m", "removed a@n -> "], 0, id="a DaemonSet's pod has no successor on another node"),
        pytest.param([make_node("m"), make_pod("p").on("x")], [make_node("m"), make_pod("p").on("x")], [], 1, id="a node that neither side has"),
    ],
)  # fmt: skip
def test_changes(tmp_path: Path, before: list[Any], after: list[Any], changes: list[str], unchanged: int) -> None:
    found = differ(tmp_path, before, after)
    assert [_without_suffix(told(change)) for change in found.changes] == changes
    assert found.unchanged == unchanged


def _without_suffix(text: str) -> str:
    head, dash, tail = text.partition(" -> web-1-")
    return f"{head}{dash}?{tail[5:]}" if dash else text


def final(name: str, node: str, replaces: str = "") -> FinalPod:
    return FinalPod(
        f"default/{name}", "ReplicaSet/default/web", "scheduled", node, replaces=replaces and f"default/{replaces}"
    )


@pytest.mark.parametrize(
    ("before", "after", "changes", "unchanged"),
    [
        pytest.param([final("a", "n")], [final("b", "m", "a"), final("c", "n", "a")], ["moved a@n -> b@m", "added  -> c@n"], 0, id="two successors"),
        pytest.param([final("b", "n", "a"), final("c", "m", "a")], [final("d", "m", "a"), final("e", "m", "a"), final("f", "m", "a")], ["moved b@n -> d@m", "added  -> f@m"], 1, id="of a predecessor that is on neither side"),
        pytest.param([final("a", "n")], [final("a", "n"), final("b", "m", "a"), final("c", "m", "a")], ["added  -> b@m", "added  -> c@m"], 1, id="of a pod that is still there"),
        pytest.param([final("a", "n")], [final("b", "m", "c"), final("c", "n", "b")], ["added  -> b@m"], 1, id="in a circle"),
    ],
)  # fmt: skip
def test_pods_with_one_predecessor(
    before: list[FinalPod], after: list[FinalPod], changes: list[str], unchanged: int, tmp_path: Path
) -> None:
    """Each pod is in one pair at most: the first by name is the successor."""
    side = side_of(tmp_path, *TWO)
    sides = [with_final(side, before), with_final(side, after)]
    found, back = diff(*sides), diff(*reversed(sides))
    assert [told(change) for change in found.changes] == changes
    assert sorted(SWAPPED[change.kind] for change in back.changes) == sorted(change.kind for change in found.changes)
    assert found.unchanged == back.unchanged == unchanged
    shuffled = diff(*(with_final(side, pods[::-1]) for pods in (before, after)))
    assert shuffled.changes == found.changes


def side_of(tmp_path: Path, *objects: Any) -> Side:
    start = comparison._begin(INPUT_MAKER, RunOptions(sources=[write_list(tmp_path / "c.json", *objects)]), None)
    return comparison._settled(RunOptions(), start, lambda pod: True).side


def with_final(side: Side, pods: list[FinalPod]) -> Side:
    world = replace(side.settle_result.world, final=FinalPods(tuple(pods)))
    return replace(
        side, settle_result=replace(side.settle_result, world=world), wanted=frozenset(pod.pod for pod in pods)
    )


def test_use_and_spread(tmp_path: Path) -> None:
    zones = [make_node("a").zone("east"), make_node("b").zone("west")]
    before = [*zones, of_set("x").on("a"), of_set("y").on("a"), make_pod("alone").on("a").requests(cpu="1")]
    found = differ(
        tmp_path,
        before,
        [*zones, of_set("x").on("a"), of_set("y").on("b"), make_pod("alone").on("a").requests(cpu="1")],
    )
    (spread,) = found.spread
    assert (spread.workload, spread.topology_key) == ("replicaset/default/web-1", "topology.kubernetes.io/zone")
    assert (spread.before, spread.after) == ({"east": 2, "west": 0}, {"east": 1, "west": 1})
    uses = {change.node: (change.before, change.after) for change in found.nodes}
    was, now = uses["a"]
    assert was is not None
    assert now is not None
    assert (was.requested["cpu"], now.requested["cpu"], was.pods, now.pods) == (3000, 2000, 3, 2)
    assert found.total.before == found.total.after
    assert now.allocatable["cpu"] == 4000


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param([], [of_set("x").on("a"), of_set("y").on("b")], [({"a": 0, "b": 0}, {"a": 1, "b": 1})], id="no pod before"),
        pytest.param([], [of_set("x").on("a")], [], id="a single pod has no spread"),
        pytest.param([of_set("x").on("a")], [of_set("x").on("b")], [], id="a single pod that moved"),
    ],
)  # fmt: skip
def test_the_spread_of_a_workload_that_one_side_may_lack(
    before: list[Any], after: list[Any], expected: list[tuple[dict[str, int], dict[str, int]]], tmp_path: Path
) -> None:
    nodes = [make_node(name).label(**{"kubernetes.io/hostname": name}) for name in "ab"]
    found = differ(tmp_path, [*nodes, *before], [*nodes, *after]).spread
    assert [(each.before, each.after) for each in found] == expected


def test_only_wanted_pods_are_told_of(tmp_path: Path) -> None:
    before = [*TWO, make_pod("p").on("n"), make_pod("q", "other").on("n")]
    after = [*TWO, make_pod("p").on("m"), make_pod("q", "other").on("m")]
    found = differ(tmp_path, before, after, namespace="other")
    assert [told(change) for change in found.changes] == ["moved other/q@n -> other/q@m"]
    assert found.unchanged == 0


def test_a_refused_pod_of_the_name_of_one_that_runs_is_compared_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both sides have the very same object of the pod that runs."""
    path, original = (
        write_list(tmp_path / "c.json", *TWO, make_pod("p").on("n"), make_pod("q").on("m")),
        comparison.diff,
    )
    refused = (RefusedPod("default/p", "LimitRanger", "too much"),)

    def refusing(before: Side, after: Side, **more: bool) -> Diff:
        return original(before, replace(after, refused=refused), **more)

    monkeypatch.setattr(comparison, "diff", refusing)
    found = compare(RunOptions(sources=[path]), RunOptions(sources=[path])).diff
    assert [told(change) for change in found.changes] == ["newlyFailing p@n -> p@refused"]
    assert found.changes[0].after is not None
    assert found.changes[0].after.message == "LimitRanger: too much"
    assert found.unchanged == 1


CORPUS = Path(__file__).parents[2] / "fixtures" / "conformance" / "1.36"
FIRST_CASES = sorted(CORPUS.glob("*-00"))


@pytest.mark.slow
@pytest.mark.parametrize("case", sampled(FIRST_CASES, 5))
def test_a_cluster_compared_with_itself(case: Path) -> None:
    setup = RunOptions(sources=[str(case / "cluster.json")])
    found = compare(setup, replace(setup, seed=1)).diff
    assert (found.changes, found.nodes, found.spread) == ((), (), ())
    assert found.unchanged > 0


@pytest.mark.parametrize("case", sampled(FIRST_CASES, 5))
def test_a_run_leaves_what_was_loaded_as_it_was(case: Path) -> None:
    """Two sides share the objects of a cluster that is read once."""
    setup = RunOptions(sources=[str(case / "cluster.json")])
    gathered = load(setup)
    prepared = Run(gathered)
    before = encoded(gathered.loaded)
    assert len(prepared.simulate().outcomes) > 0
    assert encoded(gathered.loaded) == before


def encoded(loaded: Loaded) -> bytes:
    return msgspec.json.encode({kind.__name__: items for kind, items in loaded.objects.items()})


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="copies of the process are made on Linux")
def test_a_side_in_a_copy_of_the_process_is_the_side_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [make_node(f"n{number}").allocatable(cpu="4", memory="8Gi", pods=10) for number in range(3)]
    waiting = [make_pod(f"p{number}").requests(cpu="1500m") for number in range(7)]
    before = RunOptions(sources=[write_list(tmp_path / "c.json", *nodes, *waiting)])
    sides = [replace(before, edits=[("remove-node", "n0")]), replace(before, kube_version="1.30")]
    expected = [compare(before, after) for after in sides]
    copies: list[object] = []

    def in_copy(compute: Callable[[], Any]) -> Copy[Any]:
        copies.append(compute)
        return Copy(compute)

    monkeypatch.setattr(comparison, "WORTH_ANSWERS", 1)
    monkeypatch.setattr(comparison, "copies_at_once", lambda: 2)
    monkeypatch.setattr(comparison, "Copy", in_copy)
    found = [compare(before, after) for after in sides]
    assert len(copies) == 2
    assert found == expected
    for one, other in zip(found, expected, strict=True):
        for columns in ("before", "after"):
            amounts = (getattr(each.diff.columns, columns).requested.tolist() for each in (one, other))
            assert next(amounts) == next(amounts)
    # If the copy fails, this process computes the side.
    here = os.getpid()
    monkeypatch.setattr(comparison, "Copy", lambda compute: Copy(lambda: compute() if os.getpid() == here else 1 / 0))
    assert [compare(before, after) for after in sides] == expected
