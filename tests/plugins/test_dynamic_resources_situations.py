"""Situations of claims in whole cycles: held, reserved, tainted, shared with admins; and how alternatives score."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from ksched_cli.api.dynamic_resources import DeviceTaintRule, ResourceClaim
from ksched_cli.plugins.dynamic_resources import DynamicResources
from ksched_cli.plugins.lib.devices.claims import AllocatedState
from ksched_cli.plugins.lib.devices.node_search import alternatives_score
from ksched_cli.releases.minors import DEFAULT, RELEASES, Release
from tests.builders import make_node, make_pod, term
from tests.harness import decide, make_bench, make_scheduler
from tests.plugins.lib.devices.resources import (
    DRIVER,
    GPU,
    alternative,
    claim_of,
    devices,
    everything,
    exactly,
    first_of,
    make_claim,
    make_class,
    make_slice,
    on_node,
    pod_with,
    selectors,
)

NODES = [make_node("n1").obj(), make_node("n2").obj()]
CANNOT = "cannot allocate all claims"
TAINT = {"key": "hot", "effect": "NoSchedule"}


def held(name: str, *wanted: Any, on: str = "n1", by: tuple[str, ...] = (), bound: bool = True, **more: Any) -> Any:
    """A claim that has device a of the node."""
    result = {"request": "r", "driver": DRIVER, "pool": on, "device": "a", **more}
    allocation: dict[str, Any] = {"devices": {"results": [result]}}
    if bound:
        allocation["nodeSelector"] = {"nodeSelectorTerms": [term(fields=(("metadata.name", "In", [on]),))]}
    reserved = [{"resource": "pods", "name": each, "uid": f"uid-{each}"} for each in by]
    return make_claim(name, *(wanted or [exactly()]), status={"allocation": allocation, "reservedFor": reserved})


def run(
    pods: list[Any], *objects: Any, gates: str = "", nodes: Any = NODES, current: Release = DEFAULT
) -> tuple[dict[str, str], Any]:
    """Pod to node, or to what is said of it."""
    scheduler = make_scheduler(nodes, pods, objects=[GPU, *objects], gates=gates, current=current)
    names = scheduler.cluster.nodes.names
    found = {
        key.removeprefix("default/"): each.message if each.row is None else names[each.row]
        for key, each in decide(scheduler).items()
    }
    return found, scheduler.cluster


@pytest.mark.parametrize(
    ("claims", "objects", "gates", "node"),
    [
        pytest.param(["c"], [make_claim("c", exactly()), on_node("n2", "a")], "", "n2", id="one claim"),
        pytest.param(["c", "d"], [make_claim("c", exactly()), make_claim("d", exactly()), on_node("n2", "a", "b")], "",
                     "n2", id="several claims"),
        pytest.param(["c"], [held("c", on="n2")], "", "n2", id="allocated before"),
        pytest.param(["c"], [held("c", on="n2", by=("pod",))], "", "n2", id="allocated and reserved before"),
        pytest.param(["c"], [held("c", on="n2", by=("other",))], "", "n2", id="shared with another pod"),
        pytest.param(["c"], [held("c", bound=False), on_node("n1", "a")], "", "n1", id="allocated for every node"),
        pytest.param(["c", "d"], [held("c", on="n2"), make_claim("d", exactly()), on_node("n1", "x", "y"),
                                  on_node("n2", "a", "b")], "", "n2", id="one allocated, one not"),
        pytest.param(["c", "d"], [held("c", on="n2"), make_claim("d", exactly()), on_node("n1", "x")], "", CANNOT,
                     id="one allocated where the other finds nothing"),
        pytest.param(["c"], [make_claim("c", exactly()), held("x"), on_node("n1", "a")], "", CANNOT, id="all in use"),
        pytest.param(["c"], [make_claim("c", exactly()), held("x"), on_node("n1", "a", "b")], "", "n1",
                     id="one in use, one free"),
        pytest.param(["c"], [make_claim("c", exactly()), on_node("n1", "a", taints=[TAINT])], "", CANNOT,
                     id="tainted"),
        pytest.param(["c"], [make_claim("c", exactly()), on_node("n1", "a", taints=[TAINT])], "DRADeviceTaints=false",
                     "n1", id="tainted, without the gate"),
        pytest.param(["c"], [make_claim("c", exactly(adminAccess=True)), held("x"), on_node("n1", "a")], "", "n1",
                     id="an admin sees what is in use"),
        pytest.param(["c"], [make_claim("c", exactly()), held("x", adminAccess=True), on_node("n1", "a")], "", "n1",
                     id="what admins hold is free"),
        pytest.param(["c"], [make_claim("c", exactly(count=2)),
                             make_slice("s1", devices("a"), node="n2", pool="p", count=2),
                             make_slice("s2", devices("b"), node="n2", pool="p", count=2)], "", "n2",
                     id="devices in two slices of a pool"),
        pytest.param(["c"], [make_claim("c", exactly()), make_slice("s", devices("a"), allNodes=True)], "", "n1",
                     id="devices for every node"),
        pytest.param(["c"], [make_claim("c", first_of("r", alternative("big", count=2), alternative("small"))),
                             on_node("n1", "a"), on_node("n2", "b", "c")], "", "n2", id="the better alternative"),
    ],
)  # fmt: skip
def test_where_the_pod_goes(claims: list[str], objects: list[Any], gates: str, node: str) -> None:
    found, _ = run([pod_with("pod", *claims)], *objects, gates=gates)
    assert node in found["pod"]


def taint_rule(effect: str = "NoSchedule", **selector: str) -> DeviceTaintRule:
    spec: dict[str, Any] = {"taint": {"key": "hot", "effect": effect}}
    if selector:
        spec["deviceSelector"] = selector
    return msgspec.convert({"metadata": {"name": "rule"}, "spec": spec}, DeviceTaintRule)


@pytest.mark.parametrize(
    ("rule", "gates", "old", "new"),
    [
        pytest.param(taint_rule(driver=DRIVER), "", "n1", CANNOT, id="the driver"),
        pytest.param(taint_rule(driver=DRIVER, pool="n1"), "", "n1", "n2", id="the pool"),
        pytest.param(taint_rule(driver=DRIVER, pool="n1", device="a"), "", "n1", "n2", id="the device"),
        pytest.param(taint_rule("NoExecute", driver=DRIVER, pool="n1"), "", "n1", "n2", id="another effect"),
        pytest.param(taint_rule("None", driver=DRIVER), "", "n1", "n1", id="without effect"),
        pytest.param(taint_rule(driver="other"), "", "n1", "n1", id="another driver"),
        pytest.param(taint_rule(driver=DRIVER, pool="n3"), "", "n1", "n1", id="another pool"),
        pytest.param(taint_rule(driver=DRIVER, device="b"), "", "n1", "n1", id="another device"),
        pytest.param(taint_rule(), "", "n1", CANNOT, id="no selector"),
        pytest.param(taint_rule(driver=DRIVER), "DRADeviceTaintRules=true", CANNOT, CANNOT, id="the gate is on"),
        pytest.param(taint_rule(driver=DRIVER), "DRADeviceTaintRules=false", "n1", "n1", id="the gate is off"),
    ],
)
def test_taint_rules_count_since_1_37(rule: DeviceTaintRule, gates: str, old: str, new: str) -> None:
    """The cases are those of tracker_test.go, and 1.37 has the gate DRADeviceTaintRules on by default."""
    for minor, where in (("1.36", old), ("1.37", new)):
        objects = [make_claim("c", exactly()), on_node("n1", "a"), on_node("n2", "a"), rule]
        found, _ = run([pod_with("pod", "c")], *objects, gates=gates, current=RELEASES[minor])
        assert where in found["pod"], minor


@pytest.mark.parametrize(
    ("claim", "objects", "text"),
    [
        pytest.param(make_claim("c", exactly(selectors=selectors("1 / 0 == 0"))), [on_node("n2", "b")],
                     "claim default/c: selector #0: CEL runtime error: division by zero", id="one node of two"),
        pytest.param(make_claim("c", exactly(device_class="picky")),
                     [make_class("picky", f'device.attributes["{DRIVER}"].no'), on_node("n1", "a"), on_node("n2", "b")],
                     "class picky: selector #0: CEL runtime error: no such key: no", id="the class, everywhere"),
        pytest.param(make_claim("c", everything(count=0)),
                     [make_slice("s", devices("a"), node="n1", count=2)], "is currently being updated",
                     id="all devices of a pool that is not complete"),
    ],
)  # fmt: skip
def test_one_node_that_cannot_be_judged_ends_the_attempt(claim: Any, objects: list[Any], text: str) -> None:
    found, _ = run([pod_with("pod", "c")], claim, *objects)
    assert found["pod"].startswith('running "DynamicResources" filter plugin: ')
    assert text in found["pod"]


def test_a_shared_claim_is_reserved_for_each_of_its_pods() -> None:
    found, cluster = run([pod_with("p0", "c"), pod_with("p1", "c")], held("c", by=("p0",)))
    assert found == {"p0": "n1", "p1": "n1"}
    assert [each.name for each in claim_of(cluster, "c").status.reserved_for] == ["p0", "p1"]


def test_a_claim_that_is_of_no_use_is_given_up_when_nobody_else_has_it() -> None:
    """Of two, the one that keeps the pod out."""
    gone, good = held("gone", on="nowhere", by=("pod",)), held("good", by=("pod",))
    found, cluster = run([pod_with("pod", "gone", "good")], gone, good)
    assert "deallocation of ResourceClaim completed" in found["pod"]
    assert claim_of(cluster, "gone").status.allocation is None
    assert claim_of(cluster, "good").status.allocation is not None


BACKED = make_class("gpu", extendedResourceName="example.com/gpu")


@pytest.mark.parametrize(
    ("amounts", "announced", "objects", "node"),
    [
        pytest.param({"example_com__gpu": "1"}, {"example_com__gpu": "2"}, [], "n1", id="a device plugin has it"),
        pytest.param({"example_com__gpu": "1"}, {"example_com__gpu": "0"}, [on_node("n1", "a")], "n1",
                     id="announced with nothing, and devices"),
        pytest.param({"example_com__gpu": "1"}, {}, [], CANNOT, id="neither"),
        pytest.param({"example_com__gpu": "1"}, {}, [on_node("n2", "a")], "n2", id="devices"),
        pytest.param({"example_com__gpu": "3"}, {}, [on_node("n2", "a")], CANNOT, id="too few devices"),
        pytest.param({"example_com__gpu": "1", "example_com__nic": "1"}, {"example_com__nic": "1"},
                     [on_node("n1", "a")], "n1", id="one by devices, one by a device plugin"),
        pytest.param({"example_com__nic": "1"}, {"example_com__nic": "0"}, [on_node("n1", "a")],
                     "Insufficient example.com/nic", id="no class, announced with nothing"),
    ],
)  # fmt: skip
def test_extended_resources(amounts: dict[str, str], announced: dict[str, str], objects: list[Any], node: str) -> None:
    nodes = [make_node("n1").allocatable(cpu="4", memory="16Gi", pods="110", **announced).obj(), NODES[1]]
    scheduler = make_scheduler(nodes, [pod_with("pod", **amounts)], objects=[BACKED, *objects])
    (decision,) = decide(scheduler).values()
    got = decision.message if decision.row is None else scheduler.cluster.nodes.names[decision.row]
    assert node in got


def test_containers_have_requests_of_their_own() -> None:
    wanted = make_pod("pod").uid("u").requests(example_com__gpu="1")
    wanted.container(resources={"requests": {"deviceclass.resource.kubernetes.io/gpu": "2"}})
    scheduler = make_scheduler(NODES, [wanted.obj()], objects=[BACKED, on_node("n2", "a", "b", "c")])
    (decision,) = decide(scheduler).values()
    assert decision.row is not None
    (claim,) = scheduler.cluster.catalog.all(ResourceClaim)
    assert [each.name for each in claim.spec.devices.requests] == ["container-0-request-0", "container-1-request-0"]
    assert claim.status.allocation is not None
    assert len(claim.status.allocation.devices.results) == 3


# How alternatives score


def choices(name: str, count: int) -> Any:
    return first_of(name, *[alternative(f"s{at}") for at in range(1, count + 1)])


@pytest.mark.parametrize(
    ("requests", "granted", "expected"),
    [
        pytest.param([choices("r", 1)], ["r/s1"], 8, id="the only one"),
        pytest.param([choices("r", 8)], ["r/s8"], 1, id="the last of as many as there may be"),
        pytest.param([choices("q", 4), choices("r", 4)], ["q/s2", "r/s3"], 13, id="in the middle"),
        pytest.param([choices("q", 8), choices("r", 8)], ["q/s1", "r/s1"], 16, id="the first of two"),
        pytest.param([exactly("q"), choices("r", 2)], ["q", "r/s2"], 7, id="a request without choice"),
        pytest.param([exactly("q")], ["q"], 0, id="no choice at all"),
        pytest.param([choices("r", 2)], ["r/s2", "r/s2"], 7, id="several devices of one alternative"),
    ],
)
def test_score_of_a_claim(requests: list[Any], granted: list[str], expected: int) -> None:
    assert alternatives_score(make_claim("c", *requests), granted) == expected


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        pytest.param([make_claim("c", choices("r", 2))], [8, 8], id="one claim"),
        pytest.param([make_claim("c", choices("r", 2)), make_claim("d", choices("r", 1))], [16, 16], id="two claims"),
        pytest.param([make_claim("c", choices("q", 2), choices("r", 2))], [16, 16], id="two requests"),
        pytest.param([make_claim("c", exactly()), make_claim("d", choices("r", 1))], [8, 8], id="a claim without choice"),
        pytest.param([make_claim("c", first_of("r", alternative("two", count=4), alternative("one")))], [7, 8],
                     id="the larger node has the first"),
    ],
)  # fmt: skip
def test_scores(claims: list[Any], expected: list[int]) -> None:
    objects = [GPU, *claims, on_node("n1", "a", "b", "c"), on_node("n2", "a", "b", "c", "d")]
    made = make_bench(
        DynamicResources, NODES, pod_with("pod", *(each.metadata.name for each in claims)), objects=objects
    )
    state = made.state()
    made.plugin.filter(state, made.pod, made.nodes())
    assert made.plugin.score(state, made.pod, made.nodes()).tolist() == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param([], [], id="no nodes"),
        pytest.param([42], [100], id="one node"),
        pytest.param([8, 8], [100, 100], id="all alike"),
        pytest.param([2**31 - 1, 2**31 - 1], [100, 100], id="all alike, and very large"),
        pytest.param([2**31 - 1, 0], [100, 0], id="most and nothing"),
        pytest.param([99, 98, 97], [100, 98, 97], id="cut off"),
        pytest.param([2**31 - 1, 2**31 - 2, 1, 0], [100, 99, 0, 0], id="far apart"),
    ],
)
def test_normalized_scores(raw: list[int], expected: list[int]) -> None:
    made = make_bench(DynamicResources, NODES, pod_with("pod"))
    found = made.plugin.normalize(None, made.pod, made.nodes(), np.array(raw, dtype=np.int64))
    assert found.tolist() == expected


# What is taken


@pytest.mark.parametrize(
    ("shareable", "results", "whole", "shares"),
    [
        pytest.param(True, [], 0, 0, id="no claims"),
        pytest.param(True, [{}], 1, 0, id="a device"),
        pytest.param(True, [{"shareID": "1"}], 0, 1, id="a share"),
        pytest.param(True, [{"shareID": "1", "consumedCapacity": {"m": "1"}}], 0, 1, id="a share of its capacity"),
        pytest.param(False, [{"shareID": "1", "consumedCapacity": {"m": "1"}}], 1, 0, id="without the gate"),
        pytest.param(True, [{}, {"shareID": "1", "device": "b"}], 1, 1, id="a device and a share"),
        pytest.param(True, [{"adminAccess": True}], 0, 0, id="an admin's"),
    ],
)
def test_what_claims_have_taken(shareable: bool, results: list[dict[str, Any]], whole: int, shares: int) -> None:
    state = AllocatedState()
    for each in results:
        allocation = held("c", **each).status.allocation
        state.add(allocation.devices.results, shareable=shareable)
    assert (len(state.devices), len(state.shares)) == (whole, shares)
