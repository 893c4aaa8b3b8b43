"""Which slices make up the pools that a node sees."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.api.dynamic_resources import ResourceSlice
from ksched_cli.cluster.cache import Cluster
from ksched_cli.plugins.lib.devices.claims import AllocationError
from ksched_cli.plugins.lib.devices.inventory import Features, Inventory, PoolIndex
from tests.builders import make_node, term
from tests.plugins.lib.devices.resources import (
    allocate,
    device,
    devices,
    exactly,
    make_allocator,
    make_claim,
    make_class,
    make_slice,
)

EAST = {"nodeSelectorTerms": [term(("topology.kubernetes.io/zone", "In", ["east"]))]}
NODES = [make_node("node").zone("east").obj(), make_node("other").zone("west").obj()]


def seen(slices: list[ResourceSlice], row: int = 0, *, partitionable: bool = True) -> list[tuple[str, Any]]:
    """(pool, device names), or (pool, what is wrong with it)."""
    cluster = Cluster(NODES)
    pools = PoolIndex(cluster, slices, partitionable=partitionable).pools_of(row)
    return [
        (
            pool.name,
            "incomplete"
            if pool.incomplete
            else pool.invalid or [device.name for home in pool.slices for device in home.spec.devices],
        )
        for pool in pools
    ]


@pytest.mark.parametrize(
    ("slices", "expected"),
    [
        pytest.param([make_slice("s", devices("d"), node="node")], [("node", ["d"])], id="node"),
        pytest.param([make_slice("s", devices("d"), node="other")], [], id="another node"),
        pytest.param([make_slice("s", devices("d"), node="nobody")], [], id="a node that does not exist"),
        pytest.param([make_slice("s", devices("d"), allNodes=True)], [("s", ["d"])], id="all nodes"),
        pytest.param([make_slice("s", devices("d"), nodeSelector=EAST)], [("s", ["d"])], id="node selector"),
        pytest.param([make_slice("s", devices("d"))], [], id="for nobody"),
        pytest.param(
            [make_slice("s", [device("a", nodeName="other"), device("b", nodeSelector=EAST)],
                        perDeviceNodeSelection=True)],
            [("s", ["a", "b"])], id="per device, one is enough",
        ),
        pytest.param(
            [make_slice("s", [device("a", nodeName="other")], perDeviceNodeSelection=True)], [],
            id="per device, none",
        ),
        pytest.param(
            [make_slice("old", devices("a"), node="node"), make_slice("new", devices("b"), node="node", generation=2)],
            [("node", ["b"])], id="the newest generation",
        ),
        pytest.param(
            [make_slice("old", devices("a"), node="node", pool="p"),
             make_slice("new", devices("b"), node="other", pool="p", generation=2)],
            [("p", ["a"])], id="complete, whatever is on other nodes",
        ),
        pytest.param(
            [make_slice("old", devices("a"), node="node", pool="p", count=2),
             make_slice("new", devices("b"), node="other", pool="p", generation=2)],
            [], id="about to be replaced",
        ),
        pytest.param([make_slice("s", devices("a"), node="node", count=2)], [("node", "incomplete")], id="incomplete"),
        pytest.param(
            [make_slice("s", devices("a"), node="node", pool="p", count=2),
             make_slice("t", devices("b"), node="other", pool="p", count=2)],
            [("p", ["a"])], id="complete with slices of other nodes",
        ),
        pytest.param(
            [make_slice("s", devices("a"), node="node", pool="p", count=2),
             make_slice("t", devices("a"), node="node", pool="p", count=2)],
            [("p", "duplicate device name a")], id="device name twice",
        ),
        pytest.param(
            [make_slice("t", devices("b"), node="node", pool="p", count=2),
             make_slice("s", devices("a"), node="node", pool="p", count=2)],
            [("p", ["a", "b"])], id="slices by name",
        ),
        pytest.param(
            [make_slice("s", devices("a"), node="node", driver="z.example.com", pool="a"),
             make_slice("t", devices("b"), node="node", driver="a.example.com", pool="z")],
            [("z", ["b"]), ("a", ["a"])], id="pools by driver, then by name",
        ),
        pytest.param(
            [make_slice("s", [device("a", consumesCounters=[{"counterSet": "c", "counters": {"n": {"value": "1"}}}])],
                        node="node")],
            [("node", "counter set c not found")], id="no such counter set",
        ),
        pytest.param(
            [make_slice("c", node="node", pool="p", count=2, sharedCounters=[{"name": "c", "counters": {}}]),
             make_slice("s", [device("a", consumesCounters=[{"counterSet": "c", "counters": {"n": {"value": "1"}}}])],
                        node="node", pool="p", count=2)],
            [("p", "counter n not found in counter set c")], id="no such counter",
        ),
        pytest.param(
            [make_slice("c", allNodes=True, sharedCounters=[{"name": "c", "counters": {}}] * 2)],
            [("c", "duplicate counter set name c")], id="counter set twice",
        ),
    ],
)  # fmt: skip
def test_pools(slices: list[ResourceSlice], expected: list[tuple[str, Any]]) -> None:
    assert seen(slices) == expected


def test_partitions_need_their_gate() -> None:
    slices = [
        make_slice("a", devices("a"), node="node"),
        make_slice("b", [device("b", allNodes=True)], perDeviceNodeSelection=True),
    ]
    assert seen(slices, partitionable=False) == [("node", ["a"])]


def test_a_selector_that_cannot_be_read() -> None:
    broken = {"nodeSelectorTerms": [term(("zone", "Near", ["east"]))]}
    with pytest.raises(AllocationError, match="failed to perform node selection for slice s"):
        seen([make_slice("s", devices("d"), nodeSelector=broken)])


def test_devices_choose_their_nodes() -> None:
    slices = make_slice(
        "s", [device("a", nodeName="other"), device("b", nodeSelector=EAST)], perDeviceNodeSelection=True
    )
    _, allocator = make_allocator(NODES, [make_class(), slices])
    found = [allocator.allocate(row, [make_claim("claim", exactly())]) for row in (0, 1)]
    assert [[pick.device.name for picks in each or () for pick in picks] for each in found] == [["b"], ["a"]]


def test_nodes_with_the_same_slices_share_their_pools() -> None:
    cluster = Cluster([make_node(f"n{at}").obj() for at in range(3)])
    index = PoolIndex(cluster, [make_slice("s", devices("d"), allNodes=True)], partitionable=True)
    assert index.pools_of(0) is index.pools_of(1) is index.pools_of(2)


def test_the_inventory_follows_slices_and_nodes() -> None:
    cluster = Cluster(NODES)
    inventory = Inventory(cluster, Features())
    assert inventory.pools().pools_of(0) == ()
    cluster.catalog.put(make_slice("s", devices("d"), nodeSelector=EAST))
    first = inventory.pools()
    assert len(first.pools_of(0)) == 1
    assert first.pools_of(1) == ()
    cluster.catalog.put(make_claim("claim"))
    assert inventory.pools() is first
    cluster.update_node(make_node("other").zone("east").obj())
    assert len(inventory.pools().pools_of(1)) == 1


def test_incomplete_pools_are_passed_over() -> None:
    half = make_slice("half", devices("x"), node="node", pool="a", count=2)
    whole = make_slice("whole", devices("y"), node="node", pool="b")
    assert allocate([make_claim("claim", exactly())], [make_class(), half, whole]) == [["r=y"]]


def test_pools_follow_a_slice_that_changes_beside_one_that_stays() -> None:
    objects = [make_slice(f"s{at}", devices(f"d{at}"), node="node", pool=f"p{at}") for at in range(2)]
    cluster, allocator = make_allocator([make_node("node").obj()], objects)
    inventory = allocator.inventory

    def names() -> list[str]:
        return [name for pool in inventory.pools().pools_of(0) for _, _, name in pool.device_ids]

    assert names() == ["d0", "d1"]
    cluster.catalog.put(make_slice("s1", devices("new"), node="node", pool="p1"))
    assert names() == ["d0", "new"]
