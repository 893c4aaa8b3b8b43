"""Drains in turn in a cluster where many copies of a pod wait for a node."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ksched_cli.api.core import Node, Pod
from ksched_cli.plan.drain import drain as spare_copies
from ksched_cli.plan.drain.drain import DrainRun
from ksched_cli.plan.drain.results import DrainResult
from ksched_cli.sources.loaded import Loaded
from tests.builders import PodBuilder, loaded_of, make_node, make_pod
from tests.harness import make_scheduler
from tests.lanes import sampled
from tests.plan.test_drain import ALL, owned, replica_set
from tests.running import input_over


def with_sets(*pods: PodBuilder) -> list[Any]:
    docs = [pod.doc() for pod in pods]
    apps = dict.fromkeys(doc["metadata"]["labels"]["app"] for doc in docs)
    return [*(pod.obj() for pod in pods), *(replica_set(app, docs) for app in apps)]


def crowd(size: str, *extra: Node) -> Loaded:
    """Two nodes of 4 CPUs with two pods of 2 CPUs each, and 120 copies of a pending pod."""
    nodes = [make_node(name).allocatable(cpu="4", memory="64Gi", pods=110).obj() for name in "ab"]
    running = [owned(f"web-{name}{number}").requests(cpu="2").on(name) for name in "ab" for number in range(2)]
    pending = [owned(f"new-{number:03}", "new").requests(cpu=size) for number in range(120)]
    return loaded_of(*nodes, *with_sets(*running, *pending), *extra)


def drained_in_turn(loaded: Loaded) -> list[DrainResult]:
    scheduler = make_scheduler(loaded.of(Node), loaded.of(Pod), objects=loaded.others())
    return list(DrainRun(input_over(scheduler, loaded), ALL).drain_in_turn([["a"], ["b"]]))


def without_world(drain: DrainResult) -> dict[str, Any]:
    fields = {name: getattr(drain, name) for name in drain.__struct_fields__ if name != "world"}
    return fields | {"pending": replace(drain.pending, copies_left_out=0)}


def big_node(cpu: str) -> Node:
    return make_node("c").allocatable(cpu=cpu, memory="1Ti", pods=200).obj()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loaded", "left_out"),
    sampled(
        [
            pytest.param(crowd("3"), 70, id="no-copy-finds-a-node"),
            pytest.param(crowd("3", big_node("180")), 10, id="half-of-the-copies-find-one"),
            pytest.param(crowd("1", big_node("10")), 60, id="evicted-pods-displace-no-copy"),
        ],
        3,
    ),
)
def test_copies_of_a_pod_without_a_node_are_left_out_of_each_drain(
    loaded: Loaded, left_out: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = drained_in_turn(loaded)
    assert {drain.pending.copies_left_out for drain in found} == {left_out}
    monkeypatch.setattr(spare_copies, "KEPT_COPIES", 1000)
    every = drained_in_turn(loaded)
    assert {drain.pending.copies_left_out for drain in every} == {0}
    assert list(map(without_world, found)) == list(map(without_world, every))
    assert [len(each.world.final) for each in every] == [len(each.world.final) + left_out for each in found]


def test_a_drain_that_needs_the_copies_is_repeated_with_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod of node a keeps six copies away from node b, until it is evicted for good."""
    nodes = [
        make_node(name).label(zone="z").allocatable(cpu="64", memory="64Gi", pods=110).obj() for name in ("a", "b")
    ]
    guard = make_pod("guard").uid("guard").label(app="guard").requests(cpu="1").on("a").obj()
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "guard"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    pending = [owned(f"new-{number}", "new").spec(affinity=apart) for number in range(6)]
    loaded = loaded_of(*nodes, guard, *with_sets(*pending))
    monkeypatch.setattr(spare_copies, "KEPT_COPIES", 2)
    first, second = drained_in_turn(loaded)
    assert [drain.pending.copies_left_out for drain in (first, second)] == [0, 4]
    assert [sum(bool(pod.node) for pod in drain.world.final) for drain in (first, second)] == [6, 0]
