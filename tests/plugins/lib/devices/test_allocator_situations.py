"""Situations in which kube-scheduler's allocator has to choose: claims, pools, alternatives and access to everything."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.plugins.lib.devices.claims import AllocationError, NodeAllocationFailed
from ksched_cli.plugins.lib.devices.inventory import Features
from ksched_cli.plugins.lib.devices.node_search import allocation_of
from tests.builders import make_node, term
from tests.plugins.lib.devices.resources import (
    DRIVER,
    GPU,
    allocate,
    allocated,
    alternative,
    device,
    devices,
    everything,
    exactly,
    first_of,
    make_allocator,
    make_claim,
    make_class,
    make_slice,
    selectors,
)

NIC = make_class("nic", 'device.driver == "nic.example.com"')
OURS = make_class("ours", f'device.driver == "{DRIVER}"')
NICS = make_slice("nics", devices("n1"), node="node", driver="nic.example.com")
MIXED = make_slice("s", [device("small", capacity={"memory": "1Gi"}), device("large", capacity={"memory": "8Gi"})],
                   node="node")  # fmt: skip
KINDS = make_slice("s", [device("x", attributes={"kind": "x"}), device("y", attributes={"kind": "y"}),
                         device("z", attributes={"kind": "y"})], node="node")  # fmt: skip


def at_least(amount: str) -> list[dict[str, Any]]:
    return selectors(f'device.capacity["{DRIVER}"].memory.compareTo(quantity("{amount}")) >= 0')


def of_kind(kind: str) -> list[dict[str, Any]]:
    return selectors(f'device.attributes["{DRIVER}"].kind == "{kind}"')


def many(count: int) -> Any:
    return make_slice("s", devices(*[f"d{at:02}" for at in range(count)]), node="node")


def wide(*, driver: str = DRIVER, name: str = "wide", made: Any = None) -> Any:
    return make_slice(name, made or devices("w1"), allNodes=True, driver=driver)


@pytest.mark.parametrize(
    ("claims", "objects", "expected"),
    [
        pytest.param(
            [make_claim("a", exactly("big", selectors=at_least("2Gi")), exactly("any"))], [MIXED],
            [["big=large", "any=small"]], id="small and large",
        ),
        pytest.param(
            [make_claim("a", exactly("any", selectors=at_least("1Gi"))),
             make_claim("b", exactly("any", selectors=at_least("1Gi")))], [MIXED],
            [["any=small"], ["any=large"]], id="a claim each",
        ),
        pytest.param(
            [make_claim("a", exactly("any")), make_claim("b", exactly("x", selectors=of_kind("x")))], [KINDS],
            [["any=y"], ["x=x"]], id="the first claim has to choose again",
        ),
        pytest.param(
            [make_claim("a", exactly("two", count=2), exactly("x", selectors=of_kind("x")))], [KINDS],
            [["two=y", "two=z", "x=x"]], id="the first request has to choose again",
        ),
        pytest.param(
            [make_claim("a", exactly("two", count=2), exactly("x", selectors=of_kind("x")))],
            [make_slice("s1", [device("x", attributes={"kind": "x"})], node="node", pool="p", count=2),
             make_slice("s2", [device("y", attributes={"kind": "y"})], node="node", pool="p", count=2),
             make_slice("s3", [device("z", attributes={"kind": "y"})], node="node", pool="q")],
            [["two=y", "two=z", "x=x"]], id="the first request has to choose again across slices and pools",
        ),
        pytest.param(
            [make_claim("a", first_of("r1", alternative("y", count=3, selectors=of_kind("y")),
                                      alternative("any", count=2)),
                        first_of("r2", alternative("two", count=2), alternative("x", selectors=of_kind("x"))))],
            [KINDS], [["r1/any=y", "r1/any=z", "r2/x=x"]], id="alternatives have to choose again",
        ),
        pytest.param(
            [make_claim("a", exactly(count=2))],
            [make_slice("s1", devices("d1"), node="node", pool="p"),
             make_slice("s2", devices("d2"), node="node", pool="q")],
            [["r=d1", "r=d2"]], id="devices of several pools",
        ),
        pytest.param([make_claim("a", exactly(count=5))], [many(4)], None, id="more than one slice has"),
        pytest.param(
            [make_claim("a", exactly(count=5))],
            [make_slice(f"s{at}", devices(f"d{at}"), node="node", pool=f"p{at}") for at in range(4)],
            None, id="more than all pools have",
        ),
        pytest.param(
            [make_claim("a", exactly("g", "ours"), exactly("n", "nic"))], [many(1), NICS],
            [["g=d00", "n=n1"]], id="several drivers",
        ),
        pytest.param([make_claim("a", exactly(count=32))], [many(32)],
                     [[f"r=d{at:02}" for at in range(32)]], id="as many as a claim may have"),
        pytest.param(
            [make_claim("a", everything("all", "ours"), exactly("n", "nic"))], [many(2), NICS],
            [["all=d00", "all=d01", "n=n1"]], id="all and one of another driver",
        ),
        pytest.param(
            [make_claim("a", exactly("n", "nic"), everything("all", "ours"))], [many(2), NICS],
            [["n=n1", "all=d00", "all=d01"]], id="one of another driver and all",
        ),
        pytest.param(
            [make_claim("a", everything("all", "ours")), make_claim("b", exactly("n", "nic"))], [many(2), NICS],
            [["all=d00", "all=d01"], ["n=n1"]], id="all, and another claim",
        ),
        pytest.param(
            [make_claim("a", everything("all", "ours"), exactly("one", "ours"))], [many(2)], None,
            id="all and one more",
        ),
        pytest.param(
            [make_claim("a", everything())],
            [make_slice("s1", devices("d1"), node="node", pool="p"),
             make_slice("s2", devices("d2"), node="node", pool="q")],
            [["r=d1", "r=d2"]], id="all of several pools",
        ),
        pytest.param([make_claim("a", everything())], [make_slice("s", node="node")], None, id="all of an empty slice"),
        pytest.param(
            [make_claim("a", everything())],
            [make_slice("s", devices("d1"), node="node", pool="p", count=2),
             make_slice("t", devices("d2"), node="other", pool="p", count=2)],
            [["r=d1"]], id="all of a pool that other nodes have a part of",
        ),
        pytest.param(
            [make_claim("a", first_of("r", alternative("all", "ours", allocationMode="All"),
                                      alternative("nic", "nic")))],
            [make_slice("s", node="node"), NICS], [["r/nic=n1"]], id="all of none is no alternative",
        ),
        pytest.param(
            [make_claim("a", first_of("r", alternative("all", "ours", allocationMode="All"),
                                      alternative("nic", "nic")))],
            [many(2), NICS, make_claim("busy", status=allocated("d00"))], [["r/nic=n1"]],
            id="all, one of them in use, is no alternative",
        ),
        pytest.param(
            [make_claim("a", first_of("r1", alternative("all", "ours", allocationMode="All")),
                        first_of("r2", alternative("all", "ours", allocationMode="All"), alternative("n", "nic")))],
            [many(2), NICS], [["r1/all=d00", "r1/all=d01", "r2/n=n1"]], id="all for one request only",
        ),
        pytest.param(
            [make_claim("a", first_of("r", alternative("y", allocationMode="All", selectors=of_kind("y")),
                                      alternative("x", selectors=of_kind("x"))))],
            [KINDS], [["r/y=y", "r/y=z"]], id="all of a kind as an alternative",
        ),
        pytest.param(
            [make_claim("a", first_of("r", alternative("y", allocationMode="All", selectors=of_kind("y"))))],
            [make_slice("s1", [device("y1", attributes={"kind": "y"}), device("x1", attributes={"kind": "x"})],
                        node="node", pool="p"),
             make_slice("s2", [device("y2", attributes={"kind": "y"})], node="node", pool="q"),
             make_slice("s3", [device("y3", attributes={"kind": "y"})], node="other", pool="r")],
            [["r/y=y1", "r/y=y2"]], id="all of a kind from this node's pools",
        ),
        pytest.param(
            [make_claim("a", first_of("r", alternative("g", "none-fits", count=1), alternative("n", "nic")))],
            [make_class("none-fits", "false"), many(1), NICS], [["r/n=n1"]], id="an alternative of another class",
        ),
        pytest.param(
            [make_claim("a", first_of("r", alternative("big", selectors=at_least("9Gi")),
                                      alternative("mid", selectors=at_least("2Gi"))))],
            [MIXED], [["r/mid=large"]], id="an alternative that asks for less",
        ),
        pytest.param(
            [make_claim("a", first_of("r", alternative("many", count=500), alternative("one")))], [many(2)],
            [["r/one=d00"]], id="an alternative beyond what a claim may have",
        ),
        pytest.param(
            [make_claim("a", exactly("x", count=30),
                        first_of("r", alternative("all", "nic", allocationMode="All"), alternative("two", count=2)))],
            [many(40), make_slice("nics", devices(*[f"n{at}" for at in range(5)]), node="node",
                                  driver="nic.example.com")],
            [[f"x=d{at:02}" for at in range(30)] + ["r/two=d30", "r/two=d31"]],
            id="all would be beyond what a claim may have",
        ),
        pytest.param(
            [make_claim("a", exactly())],
            [make_slice("old", devices("d1"), node="node", pool="p", count=2),
             make_slice("new", devices("d2"), node="other", pool="p", count=2, generation=2)],
            None, id="a slice of a pool that has moved on",
        ),
        pytest.param(
            [make_claim("a", exactly())],
            [make_slice("o1", devices("d1"), node="node", pool="p", count=2),
             make_slice("o2", devices("d2"), node="node", pool="p", count=2),
             make_slice("n1", devices("d1"), node="other", pool="p", count=2, generation=2)],
            [["r=d1"]], id="a complete pool that is moving away",
        ),
        pytest.param(
            [make_claim("a", exactly())],
            [make_slice("o1", devices("d1"), node="other", pool="p", count=2),
             make_slice("o2", devices("d2"), node="other", pool="p", count=2),
             make_slice("n1", devices("d1"), node="node", pool="p", count=2, generation=2)],
            None, id="a pool that is moving here and not complete",
        ),
    ],
)  # fmt: skip
def test_situations(claims: list[Any], objects: list[Any], expected: list[list[str]] | None) -> None:
    assert allocate(claims, [GPU, NIC, OURS, *objects]) == expected


BUSY = make_claim("busy", status=allocated("d00"))


@pytest.mark.parametrize(
    ("claims", "busy", "expected"),
    [
        pytest.param([make_claim("a", exactly(count=2, adminAccess=True))], [BUSY], [["r=d00", "r=d01"]], id="count"),
        pytest.param(
            [make_claim("a", exactly(adminAccess=True)), make_claim("b", exactly(adminAccess=True))], [],
            [["r=d00"], ["r=d00"]], id="two admins see one device",
        ),
        pytest.param(
            [make_claim("a", exactly()), make_claim("b", exactly(adminAccess=True))], [],
            [["r=d00"], ["r=d00"]], id="an admin sees what another claim gets",
        ),
        pytest.param(
            [make_claim("a", everything("all", adminAccess=True), exactly("one", adminAccess=True))], [], None,
            id="a claim does not see a device twice",
        ),
    ],
)  # fmt: skip
def test_admin_access(claims: list[Any], busy: list[Any], expected: list[list[str]] | None) -> None:
    assert allocate(claims, [GPU, many(2), *busy]) == expected


EAST = {"nodeSelectorTerms": [term(("zone", "In", ["east"]))]}


@pytest.mark.parametrize(
    ("requests", "objects", "fields", "labels"),
    [
        pytest.param([exactly()], [many(1)], ["node"], [], id="of the node"),
        pytest.param([exactly()], [wide()], None, [], id="for every node"),
        pytest.param([exactly()], [make_slice("s", devices("d"), nodeSelector=EAST)], [], ["east"], id="by label"),
        pytest.param([exactly("a", "ours"), exactly("b", "nic")], [many(1), wide(driver="nic.example.com")],
                     ["node"], [], id="of the node and for every node"),
        pytest.param([exactly("a", "ours"), exactly("b", "nic")],
                     [make_slice("s", devices("d"), nodeSelector=EAST), wide(driver="nic.example.com")],
                     [], ["east"], id="by label and for every node"),
        pytest.param([exactly()], [make_slice("s", [device("d", nodeName="node")], perDeviceNodeSelection=True)],
                     ["node"], [], id="a device of the node"),
        pytest.param([exactly()], [make_slice("s", [device("d", nodeSelector=EAST)], perDeviceNodeSelection=True)],
                     [], ["east"], id="a device by label"),
        pytest.param([exactly()], [make_slice("s", [device("d", allNodes=True)], perDeviceNodeSelection=True)],
                     None, [], id="a device for every node"),
        pytest.param([exactly(count=2)],
                     [make_slice("s", [device("d", nodeSelector=EAST), device("e", allNodes=True)],
                                 perDeviceNodeSelection=True)],
                     [], ["east"], id="several devices, each with nodes of its own"),
        pytest.param([exactly()], [make_slice("s", [device("d", bindsToNode=True)], allNodes=True)],
                     ["node"], [], id="for every node, and bound to the one that takes it"),
    ],
)  # fmt: skip
def test_where_the_allocation_can_be_used(
    requests: list[Any], objects: list[Any], fields: list[str] | None, labels: list[str]
) -> None:
    claim = make_claim("claim", *requests)
    node = make_node("node").label("zone", "east").obj()
    _, allocator = make_allocator([node], [GPU, NIC, OURS, *objects])
    picks = allocator.allocate(0, [claim])
    assert picks is not None
    selector = allocation_of(picks[0], claim, "node").node_selector
    if fields is None:
        assert selector is None
        return
    assert selector is not None
    (only,) = selector.node_selector_terms
    assert [value for each in only.match_fields for value in each.values] == fields
    assert [value for each in only.match_expressions for value in each.values] == labels


TAINT, BURNT = {"key": "hot", "effect": "NoSchedule"}, {"key": "burnt", "effect": "NoExecute"}
TOLERANT = {"key": "hot", "operator": "Exists", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("requests", "taints", "expected"),
    [
        pytest.param([exactly()], [[TAINT], []], ["r=d1"], id="the other device"),
        pytest.param([exactly()], [[TAINT], [TAINT]], None, id="both devices"),
        pytest.param([exactly(tolerations=[TOLERANT])], [[BURNT], [TAINT]], ["r=d1"], id="the one tolerated"),
        pytest.param([exactly(tolerations=[TOLERANT])], [[TAINT, BURNT]], None, id="one of two tolerated"),
        pytest.param([exactly(tolerations=[TOLERANT, {"operator": "Exists"}])], [[TAINT, BURNT]], ["r=d0"],
                     id="both tolerated"),
        pytest.param([exactly(adminAccess=True)], [[TAINT], []], ["r=d1"], id="an admin does not see it either"),
        pytest.param([everything()], [[TAINT], []], None, id="all of them"),
        pytest.param([everything(tolerations=[TOLERANT])], [[TAINT], []], ["r=d0", "r=d1"], id="all, tolerated"),
        pytest.param([first_of("r", alternative("a", count=2), alternative("b"))], [[TAINT], []], ["r/b=d1"],
                     id="an alternative without it"),
        pytest.param([first_of("r", alternative("a", count=2), alternative("b", count=2, tolerations=[TOLERANT]))],
                     [[TAINT], []], ["r/b=d0", "r/b=d1"], id="an alternative that tolerates it"),
    ],
)  # fmt: skip
def test_tainted_devices(requests: list[Any], taints: list[list[Any]], expected: list[str] | None) -> None:
    slices = make_slice("s", [device(f"d{at}", taints=each) for at, each in enumerate(taints)], node="node")
    found = allocate([make_claim("claim", *requests)], [GPU, slices])
    assert found == (None if expected is None else [expected])


def test_a_pool_that_is_wrong_does_not_hinder_the_others() -> None:
    wrong = make_slice("wrong", devices("d", "d"), node="node", pool="a")
    right = make_slice("right", devices("e"), node="node", pool="b")
    assert allocate([make_claim("claim", exactly())], [GPU, wrong, right]) == [["r=e"]]
    with pytest.raises(NodeAllocationFailed, match="invalid resource pools were encountered"):
        allocate([make_claim("claim", exactly(count=2))], [GPU, wrong, right])


@pytest.mark.parametrize(
    ("request_", "objects", "text"),
    [
        pytest.param(exactly("a", count=20), [], "number of requested devices 40 exceeds the claim limit of 32",
                     id="too many in all"),
        pytest.param(exactly("r", selectors=of_kind("x")), [many(1)], "CEL runtime error: no such key: kind",
                     id="a selector on one device"),
        pytest.param(everything("r", selectors=of_kind("x")), [many(2)], "CEL runtime error: no such key: kind",
                     id="a selector on all devices"),
        pytest.param(exactly("r", "picky"), [many(1), make_class("picky", f'device.attributes["{DRIVER}"].no')],
                     "class picky: selector #0: CEL runtime error: no such key: no", id="a class selector"),
    ],
)  # fmt: skip
def test_errors(request_: Any, objects: list[Any], text: str) -> None:
    requests = [request_, exactly("b", count=20)] if request_["exactly"].get("count") == 20 else [request_]
    with pytest.raises(AllocationError) as caught:
        allocate([make_claim("claim", *requests)], [GPU, *objects])
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("features", "claim", "objects", "expected"),
    [
        pytest.param(Features(taints=False), make_claim("c", exactly()),
                     [make_slice("s", devices("d", taints=[TAINT]), node="node")], [["r=d"]], id="taints"),
        pytest.param(Features(taints=False), make_claim("c", everything()),
                     [make_slice("s", devices("d", taints=[TAINT]), node="node")], [["r=d"]], id="taints, all devices"),
        pytest.param(Features(taints=False), make_claim("c", first_of("r", alternative("a"))),
                     [make_slice("s", devices("d", taints=[TAINT]), node="node")], [["r/a=d"]],
                     id="taints, alternatives"),
        pytest.param(Features(partitionable=False), make_claim("c", exactly()),
                     [make_slice("s", [device("d", nodeName="node")], perDeviceNodeSelection=True)], None,
                     id="devices with nodes of their own"),
    ],
)  # fmt: skip
def test_without_the_gate(features: Features, claim: Any, objects: list[Any], expected: Any) -> None:
    assert allocate([claim], [GPU, *objects], features) == expected


BOUND: dict[str, Any] = {"bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]}


@pytest.mark.parametrize(
    ("objects", "count", "expected"),
    [
        pytest.param([make_slice("s", [device("a", **BOUND), device("b", **BOUND)], node="node")], 2,
                     {"a": ("ready",), "b": ("ready",)}, id="several devices"),
        pytest.param([make_slice("s", [device("a", **BOUND), device("b")], node="node")], 2,
                     {"a": ("ready",), "b": ()}, id="one with and one without"),
        pytest.param([make_slice("s", devices("a", **BOUND), node="node", pool="a"),
                      make_slice("t", devices("b"), node="node", pool="b")], 1, {"b": ()}, id="without comes first"),
    ],
)  # fmt: skip
def test_binding_conditions_are_kept(objects: list[Any], count: int, expected: dict[str, Any]) -> None:
    claim = make_claim("claim", exactly(count=count))
    _, allocator = make_allocator([make_node("node").obj()], [GPU, *objects])
    picks = allocator.allocate(0, [claim])
    assert picks is not None
    results = allocation_of(picks[0], claim, "node").devices.results
    assert {each.device: each.binding_conditions for each in results} == expected
