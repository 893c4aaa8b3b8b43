"""Claims through whole cycles: who waits, who gets which device, and what is said of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ksched_cli.api.core import NodeSelector, Pod, PodSchedulingGroup
from ksched_cli.api.dynamic_resources import ResourceClaim
from ksched_cli.config.plugin_args import DynamicResourcesArgs
from ksched_cli.engine.decision import Decision
from ksched_cli.framework.status import unschedulable
from ksched_cli.plugins.dynamic_resources import DynamicResources
from ksched_cli.releases.minors import nearest_release
from tests.builders import make_node, make_pod, term
from tests.harness import decide, make_bench, make_scheduler
from tests.lanes import examples
from tests.plugins.lib.devices.resources import (
    DRIVER,
    GPU,
    alternative,
    claim_of,
    device,
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
BACKED = make_class("gpu", extendedResourceName="example.com/gpu")
CANNOT = ("UnschedulableAndUnresolvable", ("cannot allocate all claims",))


def status(
    *names: str, node: str = "n1", reserved: tuple[str, ...] = (), bound_to: str | None = None, **more: Any
) -> Any:
    results = [{"request": "r", "driver": DRIVER, "pool": node, "device": name, **more} for name in names]
    allocation: dict[str, Any] = {"devices": {"results": results}}
    if bound_to is not None:
        allocation["nodeSelector"] = {"nodeSelectorTerms": [term(fields=(("metadata.name", "In", [bound_to]),))]}
    return {
        "allocation": allocation,
        "reservedFor": [{"resource": "pods", "name": uid, "uid": uid} for uid in reserved],
    }


def run(pods: list[Pod], *objects: Any, nodes: Any = NODES, **options: Any) -> tuple[dict[str, Decision], Any]:
    scheduler = make_scheduler(nodes, pods, objects=objects, **options)
    return {key.removeprefix("default/"): each for key, each in decide(scheduler).items()}, scheduler.cluster


def node_of(decision: Decision, cluster: Any) -> str | None:
    return None if decision.row is None else cluster.nodes.names[decision.row]


# Pods that have nothing to do with it


def test_a_pod_without_claims_is_left_alone() -> None:
    made = make_bench(DynamicResources, NODES, make_pod().obj())
    assert made.plugin.pre_enqueue(made.pod).ok
    assert made.pre_filter().skip
    assert made.scores() == {"n1": 0, "n2": 0}
    assert made.scores(normalized=True) == {"n1": 0, "n2": 0}
    assert made.plugin.post_filter(made.state(), made.pod, None) == (None, unschedulable("no new claims to deallocate"))


def test_without_pre_filter_there_is_no_state() -> None:
    made = make_bench(DynamicResources, NODES, make_pod().obj())
    assert made.plugin.post_filter(None, made.pod, None)[1].message == "not found"
    assert made.plugin.filter(None, made.pod, made.nodes()).status(0).message == "not found"
    assert made.plugin.score(None, made.pod, made.nodes()).message == "not found"
    assert made.plugin.reserve(None, made.pod, 0).message == "not found"
    assert made.plugin.pre_bind(None, made.pod, 0).message == "not found"


def test_a_pod_turned_away_by_pre_filter_has_no_claims_for_post_filter() -> None:
    made = make_bench(DynamicResources, NODES, pod_with("pod", "missing"))
    assert made.pre_filter().rejected
    assert made.plugin.post_filter(None, made.pod, None)[1].message == "no new claims to deallocate"
    assert made.plugin.post_filter(None, made.pod, None)[1].message == "not found"


# PreEnqueue and PreFilter

OWNED = {"ownerReferences": [{"kind": "Pod", "name": "pod", "uid": "uid-pod", "controller": True}]}
GENERATED = ({"name": "c0", "resourceClaimName": "made"},)


@pytest.mark.parametrize(
    ("wanted", "objects", "reason"),
    [
        pytest.param(pod_with("pod", "claim"), [], 'could not find ResourceClaim "default/claim"', id="no claim"),
        pytest.param(
            pod_with("pod", "template", template=True), [], 'pod "default/pod": ResourceClaim not created yet',
            id="not made from its template yet",
        ),
        pytest.param(
            pod_with("pod", "template", template=True, statuses=GENERATED), [],
            'could not find ResourceClaim "default/made"', id="made and gone",
        ),
        pytest.param(
            pod_with("pod", "template", template=True, statuses=GENERATED), [make_claim("made", exactly())],
            "ResourceClaim default/made was not created for Pod default/pod (Pod is not owner)", id="made for another",
        ),
        pytest.param(
            pod_with("pod", "template", "template", template=True,
                     statuses=[{"name": "c0"}, {"name": "c1", "resourceClaimName": "gone"}]), [],
            'could not find ResourceClaim "default/gone"', id="none made on purpose, and one that is gone",
        ),
        pytest.param(
            make_pod("pod").spec(resourceClaims=[{"name": "c0"}]).obj(), [],
            'pod "default/pod", spec.resourceClaim "c0": none of the supported fields are set', id="neither",
        ),
        pytest.param(
            pod_with("pod", "claim"),
            [make_claim("claim", exactly(), metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})],
            'resourceclaim "claim" is being deleted', id="being deleted",
        ),
    ],
)  # fmt: skip
def test_claims_that_keep_a_pod_out(wanted: Pod, objects: list[Any], reason: str) -> None:
    made = make_bench(DynamicResources, NODES, wanted, objects=objects)
    assert made.plugin.pre_enqueue(made.pod).message == reason
    assert made.plugin.pre_filter(made.pod).message == reason
    assert list(make_scheduler(NODES, [wanted], objects=objects).enqueue().active) == []


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(pod_with("pod", "template", template=True, statuses=GENERATED), id="from its template"),
        pytest.param(pod_with("pod", "template", template=True, statuses=[{"name": "c0"}]), id="none made on purpose"),
        pytest.param(pod_with("pod", "made"), id="by name"),
    ],
)
def test_claims_that_let_a_pod_in(wanted: Pod) -> None:
    objects = [GPU, make_claim("made", exactly(), metadata=OWNED), on_node("n1", "d")]
    decisions, _ = run([wanted], *objects)
    assert decisions["pod"].result == "scheduled"


@pytest.mark.parametrize(
    ("request_", "gates", "reason"),
    [
        pytest.param(exactly(device_class="x"), "", "request r: device class x does not exist", id="class"),
        pytest.param(
            first_of("r", alternative("a"), alternative("b", "x")), "",
            "request r/b: device class x does not exist", id="class of an alternative",
        ),
        pytest.param({"name": "r"}, "", "resource claim default/claim, request r: unknown request type", id="type"),
        pytest.param(
            first_of("r", alternative("a")), "DRAPrioritizedList=false",
            "resource claim default/claim, request r: has subrequests, "
            "but the DRAPrioritizedList feature is disabled", id="gate",
        ),
    ],
)  # fmt: skip
def test_requests_that_cannot_be_met_anywhere(request_: Any, gates: str, reason: str) -> None:
    made = make_bench(
        DynamicResources, NODES, pod_with("pod", "claim"), gates=gates, objects=[GPU, make_claim("claim", request_)]
    )
    assert made.plugin.pre_enqueue(made.pod).ok
    answer = made.pre_filter()
    assert (answer.code.go_name, answer.message) == ("UnschedulableAndUnresolvable", reason)


def test_a_request_without_a_class_is_an_error() -> None:
    claim = make_claim("claim", exactly(device_class=""))
    decisions, _ = run([pod_with("pod", "claim")], claim)
    assert decisions["pod"].result == "error"
    assert (
        'running PreFilter plugin "DynamicResources": request r: unsupported request type' in decisions["pod"].message
    )


# Filter and Score


def test_nodes_without_the_devices_are_hopeless() -> None:
    objects = [GPU, make_claim("claim", exactly(count=2)), on_node("n1", "a"), on_node("n2", "a", "b")]
    made = make_bench(DynamicResources, NODES, pod_with("pod", "claim"), objects=objects)
    assert made.statuses() == {"n1": CANNOT}


def test_devices_of_one_slice_that_select_their_nodes() -> None:
    """The first node's device does not suit; the second node sees the same slice, and another device of it. A slice
    beside it, first by name, has no such devices."""
    made = [
        device("a", nodeName="n1", attributes={"model": "x"}),
        device("b", nodeName="n2", attributes={"model": "y"}),
    ]
    objects = [
        GPU,
        make_claim("claim", exactly(selectors=selectors('device.attributes["dra.example.com"].model == "y"'))),
        make_slice("a", devices("shared", attributes={"model": "z"}), pool="a", allNodes=True),
        make_slice("b", made, pool="b", perDeviceNodeSelection=True),
    ]
    decisions, cluster = run([pod_with("pod", "claim")], *objects)
    assert node_of(decisions["pod"], cluster) == "n2"
    assert len(decisions["pod"].feasible) == 1


def test_no_node_has_them() -> None:
    decisions, _ = run([pod_with("pod", "claim")], GPU, make_claim("claim", exactly()))
    assert decisions["pod"].message == (
        "0/2 nodes are available: 2 cannot allocate all claims. still not schedulable, "
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        pytest.param(
            exactly(selectors=selectors("1 / 0 == 0")),
            "claim default/claim: selector #0: CEL runtime error: division by zero", id="selector",
        ),
        pytest.param(
            everything(count=0),
            "claim default/claim, request r: asks for all devices, "
            "but resource pool dra.example.com/n2 is currently being updated", id="all of an incomplete pool",
        ),
    ],
)  # fmt: skip
def test_errors_end_the_attempt(request_: Any, text: str) -> None:
    objects = [
        GPU,
        make_claim("claim", request_),
        on_node("n1", "a"),
        make_slice("s", devices("b"), node="n2", count=2),
    ]
    decisions, _ = run([pod_with("pod", "claim")], *objects)
    assert decisions["pod"].result == "error"
    assert decisions["pod"].message.startswith(f'running "DynamicResources" filter plugin: {text}')


def test_an_allocated_claim_says_where_to_go() -> None:
    claim = make_claim("claim", exactly(), status=status("a", bound_to="n2"))
    made = make_bench(DynamicResources, NODES, pod_with("pod", "claim"), objects=[GPU, claim])
    assert made.statuses() == {"n1": ("UnschedulableAndUnresolvable", ("resourceclaim not available on the node",))}


def test_earlier_alternatives_score_higher() -> None:
    wish = first_of("r", alternative("big", count=2), alternative("small"))
    objects = [GPU, make_claim("claim", wish), on_node("n1", "a"), on_node("n2", "a", "b")]
    made = make_bench(DynamicResources, NODES, pod_with("pod", "claim"), objects=objects)
    state = made.state()
    made.plugin.filter(state, made.pod, made.nodes())
    raw = made.plugin.score(state, made.pod, made.nodes())
    assert raw.tolist() == [7, 8]
    assert made.plugin.normalize(state, made.pod, made.nodes(), raw).tolist() == [87, 100]


def test_alternatives_of_an_allocated_claim_score_everywhere() -> None:
    wish = first_of("r", alternative("big", count=2), alternative("small"))
    done = make_claim("done", wish, status=status("a", request="r/small"))
    made = make_bench(
        DynamicResources, NODES, pod_with("pod", "done", "claim"),
        objects=[GPU, done, make_claim("claim", wish), on_node("n1", "a"), on_node("n2", "b", "c")],
    )  # fmt: skip
    state = made.state()
    assert made.plugin.filter(state, made.pod, made.nodes()).status(0).texts == ("cannot allocate all claims",)
    assert made.plugin.score(state, made.pod, made.nodes()).tolist() == [0, 15]


@pytest.mark.parametrize(
    ("patch", "fails"),
    [("1.34", False), ("1.35.5", True), ("1.35.6", False), ("1.36.0", True), ("1.36.1", True), ("1.36.2", False)],
)
def test_allocated_claims_beside_new_ones(patch: str, fails: bool) -> None:
    done = make_claim("done", exactly(), status=status("a"))
    objects = [GPU, done, make_claim("claim", exactly()), on_node("n1", "b"), on_node("n2", "c")]
    decisions, cluster = run([pod_with("pod", "done", "claim")], *objects, current=nearest_release(patch))
    found = decisions["pod"]
    assert found.result == ("error" if fails else "scheduled")
    assert ("number of allocations 1 is smaller than number of claims" in found.message) is fails
    assert node_of(found, cluster) == (None if fails else "n1")
    alone, _ = run([pod_with("pod", "claim")], *objects, current=nearest_release(patch))
    assert alone["pod"].result == "scheduled"


# Reserve, PreBind and what comes after


def test_devices_are_taken_for_the_pods_after_it() -> None:
    claims = [make_claim(f"c{at}", exactly()) for at in range(3)]
    decisions, cluster = run([pod_with(f"p{at}", f"c{at}") for at in range(3)], GPU, *claims, on_node("n1", "a", "b"))
    assert [node_of(decisions[name], cluster) for name in ("p0", "p1", "p2")] == ["n1", "n1", None]
    found = claim_of(cluster, "c1").status
    assert found.allocation is not None
    assert [result.device for result in found.allocation.devices.results] == ["b"]
    assert [consumer.name for consumer in found.reserved_for] == ["p1"]


def test_pods_that_share_a_claim_go_to_its_node() -> None:
    objects = [GPU, make_claim("claim", exactly()), on_node("n2", "a")]
    decisions, cluster = run([pod_with("p0", "claim"), pod_with("p1", "claim")], *objects)
    assert [node_of(decisions[name], cluster) for name in ("p0", "p1")] == ["n2", "n2"]
    assert [consumer.name for consumer in claim_of(cluster, "claim").status.reserved_for] == ["p0", "p1"]


def test_devices_for_all_nodes_leave_the_choice_open() -> None:
    objects = [GPU, make_claim("claim", exactly()), make_slice("s", devices("a"), allNodes=True)]
    decisions, cluster = run([pod_with("p0", "claim")], *objects)
    allocation = claim_of(cluster, "claim").status.allocation
    assert decisions["p0"].ties is not None
    assert allocation is not None
    assert allocation.node_selector is None


@pytest.mark.parametrize(("group", "in_flight"), [(None, set()), ("g", {"default/claim"})], ids=["alone", "in a group"])
def test_a_pod_that_is_refused_gives_its_devices_back(group: str | None, in_flight: set[str]) -> None:
    pod = pod_with("pod", "claim")
    if group is not None:
        pod = replace(pod, spec=replace(pod.spec, scheduling_group=PodSchedulingGroup(group)))
    objects = [GPU, make_claim("claim", exactly()), on_node("n1", "a")]
    made = make_bench(DynamicResources, NODES, pod, objects=objects, gates="GenericWorkload=true")
    state = made.state()
    made.plugin.filter(state, made.pod, made.nodes())
    assert made.plugin.reserve(state, made.pod, 0).ok
    assert claim_of(made.cluster, "claim").status.allocation is not None
    assert made.state().pending_elsewhere == in_flight
    made.plugin.unreserve(state, made.pod, 0)
    assert claim_of(made.cluster, "claim").status.allocation is None
    assert made.state().pending_elsewhere == set()
    assert made.statuses() == {"n2": CANNOT}


def test_a_pod_whose_group_is_not_there_is_turned_away() -> None:
    pod = pod_with("pod", "claim")
    pod = replace(pod, spec=replace(pod.spec, scheduling_group=PodSchedulingGroup("gone")))
    objects = [GPU, make_claim("claim", exactly()), on_node("n1", "a")]
    made = make_bench(
        DynamicResources, NODES, pod, objects=objects, gates="GenericWorkload=true,DRAWorkloadResourceClaims=true"
    )
    assert made.pre_filter().message == 'podgroup.scheduling.k8s.io "gone" not found'


def test_without_its_gate_no_claim_holds_a_pod_back() -> None:
    gates, old = "DynamicResourceAllocation=false", nearest_release("1.33")
    made = make_bench(DynamicResources, NODES, pod_with("pod", "gone"), gates=gates, current=old)
    assert made.plugin.pre_enqueue(made.pod).ok
    assert made.pre_filter().skipped


def test_an_allocation_whose_nodes_cannot_be_read_is_an_error() -> None:
    claim = make_claim("claim", exactly(), status=status("a", bound_to="n1"))
    assert claim.status.allocation is not None
    unreadable = msgspec.convert({"nodeSelectorTerms": [term(("a", "?", []))]}, NodeSelector)
    allocation = replace(claim.status.allocation, node_selector=unreadable)
    claim = replace(claim, status=replace(claim.status, allocation=allocation))
    made = make_bench(DynamicResources, NODES, pod_with("pod", "claim"), objects=[GPU, claim])
    answer = made.pre_filter()
    assert answer.code.go_name == "Error"
    assert answer.message.startswith('nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "?"')


def test_the_search_for_devices_ends_after_the_time_that_the_arguments_allow() -> None:
    """Every set of these devices would be tried, which takes seconds."""
    many = make_slice("slice", devices(*[f"d{at:02}" for at in range(16)]), node="n1")
    objects = [GPU, make_claim("claim", exactly("a", count=8), exactly("b", count=9)), many]
    args = DynamicResourcesArgs(filter_timeout="10ms")
    made = make_bench(DynamicResources, NODES[:1], pod_with("pod", "claim"), objects=objects, args=args)
    assert made.statuses() == {"n1": ("Error", ("node n1: timed out trying to allocate devices",))}


def test_after_pre_bind_an_allocation_stays() -> None:
    made = make_bench(
        DynamicResources, NODES, pod_with("pod", "claim"),
        objects=[GPU, make_claim("claim", exactly()), on_node("n1", "a")],
    )  # fmt: skip
    state = made.state()
    made.plugin.filter(state, made.pod, made.nodes())
    assert made.plugin.reserve(state, made.pod, 0).ok
    assert made.plugin.pre_bind(state, made.pod, 0).ok
    made.plugin.unreserve(state, made.pod, 0)
    found = claim_of(made.cluster, "claim").status
    assert found.allocation is not None
    assert found.reserved_for == ()


def test_a_claim_that_was_made_for_an_extended_resource_goes_with_its_reservation() -> None:
    objects = [BACKED, on_node("n1", "a")]
    made = make_bench(DynamicResources, NODES, pod_with("pod", example_com__gpu="1"), objects=objects)
    state, catalog = made.state(), made.cluster.catalog
    made.plugin.filter(state, made.pod, made.nodes())
    assert made.plugin.reserve(state, made.pod, 0).ok
    assert made.plugin.pre_bind(state, made.pod, 0).ok
    assert len(list(catalog.all(ResourceClaim))) == 1
    made.plugin.unreserve(state, made.pod, 0)
    assert list(catalog.all(ResourceClaim)) == []


@pytest.mark.parametrize(
    "more", [pytest.param({}, id="a claim"), pytest.param({"example_com__gpu": "1"}, id="and devices")]
)
def test_reserve_on_a_node_that_was_not_looked_at(more: dict[str, str]) -> None:
    objects = [BACKED, make_claim("claim", exactly()), on_node("n1", "a", "b")]
    made = make_bench(DynamicResources, NODES, pod_with("pod", "claim", **more), objects=objects)
    assert made.plugin.reserve(made.state(), made.pod, 1).message == "claim allocation not found for node"


# PostFilter


@pytest.mark.parametrize(
    ("reserved", "text", "left"),
    [
        pytest.param((), "deallocation of ResourceClaim completed", False, id="used by nobody"),
        pytest.param(("uid-pod",), "deallocation of ResourceClaim completed", False, id="used by the pod"),
        pytest.param(("uid-x",), "still not schedulable", True, id="used by another"),
        pytest.param(("uid-pod", "uid-x"), "still not schedulable", True, id="used by another too"),
    ],
)
def test_an_allocation_of_no_use_is_given_up(reserved: tuple[str, ...], text: str, left: bool) -> None:
    """Another pod has the first claim, which has no use either."""
    claim = make_claim("claim", exactly(), status=status("a", reserved=reserved, bound_to="gone"))
    first = make_claim("first", exactly(), status=status("a", reserved=("uid-pod", "uid-x"), bound_to="gone"))
    decisions, cluster = run([pod_with("pod", "first", "claim")], GPU, first, claim)
    assert claim_of(cluster, "first").status.allocation is not None
    assert f"2 resourceclaim not available on the node. {text}" in decisions["pod"].message
    assert (claim_of(cluster, "claim").status.allocation is not None) is left


BINDING: dict[str, Any] = {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}


@pytest.mark.parametrize(
    ("conditions", "gates", "available"),
    [
        pytest.param([], "", True, id="no news"),
        pytest.param([{"type": "ready", "status": "True"}], "", True, id="ready"),
        pytest.param([{"type": "failed", "status": "True"}], "", False, id="failed"),
        pytest.param([{"type": "failed", "status": "False"}], "", True, id="not failed"),
        pytest.param(
            [{"type": "failed", "status": "True"}], "DRADeviceBindingConditions=false", True, id="without the gate"
        ),
    ],
)
def test_a_device_that_could_not_be_bound(conditions: list[Any], gates: str, available: bool) -> None:
    news = [{"driver": DRIVER, "pool": "n1", "device": "a", "conditions": conditions}]
    claim = make_claim("claim", exactly(), status={**status("a", **BINDING), "devices": news})
    made = make_bench(DynamicResources, NODES, pod_with("pod", "claim"), objects=[GPU, claim], gates=gates)
    assert (made.statuses() == {}) is available


# Extended resources


def test_devices_stand_in_for_an_extended_resource() -> None:
    wanted = [pod_with(f"p{at}", example_com__gpu="1") for at in range(3)]
    decisions, cluster = run(wanted, BACKED, on_node("n2", "a", "b"))
    assert [node_of(decisions[each], cluster) for each in ("p0", "p1", "p2")] == ["n2", "n2", None]
    assert "2 cannot allocate all claims" in decisions["p2"].message
    found = claim_of(cluster, "p0-extended-resources-ksched")
    assert [request.name for request in found.spec.devices.requests] == ["container-0-request-0"]
    assert [consumer.name for consumer in found.status.reserved_for] == ["p0"]


def test_a_device_plugin_comes_first() -> None:
    announcing = make_node("n1").allocatable(cpu="4", memory="16Gi", pods="110", example_com__gpu="1").obj()
    decisions, cluster = run(
        [pod_with("p0", example_com__gpu="1"), pod_with("p1", example_com__gpu="1")], BACKED, nodes=[announcing]
    )
    assert node_of(decisions["p0"], cluster) == "n1"
    assert list(cluster.catalog.all(ResourceClaim)) == []
    assert "1 Insufficient example.com/gpu" in decisions["p1"].message


def test_without_the_gate_the_resource_is_missing() -> None:
    decisions, _ = run(
        [pod_with("p0", example_com__gpu="1")], BACKED, on_node("n1", "a"), gates="DRAExtendedResource=false"
    )
    assert "2 Insufficient example.com/gpu" in decisions["p0"].message


def test_an_implicit_name() -> None:
    wanted = make_pod("p0").spec(
        containers=[{"name": "c", "resources": {"requests": {"deviceclass.resource.kubernetes.io/gpu": "2"}}}]
    )
    decisions, cluster = run([wanted.obj()], GPU, on_node("n1", "a"), on_node("n2", "a", "b"))
    assert node_of(decisions["p0"], cluster) == "n2"


def test_a_claim_left_from_an_earlier_attempt_is_removed() -> None:
    old = make_claim(
        "old", exactly(), status=status("a"),
        metadata={**OWNED, "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"}},
    )  # fmt: skip
    decisions, cluster = run([pod_with("pod", example_com__gpu="1")], BACKED, old, on_node("n1", "a"))
    assert "2 cannot schedule extended resource claim. deletion of ResourceClaim completed" in decisions["pod"].message
    assert list(cluster.catalog.all(ResourceClaim)) == []


def test_a_claim_and_an_extended_resource() -> None:
    objects = [BACKED, make_claim("claim", exactly()), on_node("n1", "a"), on_node("n2", "a", "b")]
    decisions, cluster = run([pod_with("pod", "claim", example_com__gpu="1")], *objects)
    assert node_of(decisions["pod"], cluster) == "n2"
    allocation = claim_of(cluster, "claim").status.allocation
    assert allocation is not None
    assert [result.device for result in allocation.devices.results] == ["a"]


def test_a_claim_gets_its_device_where_a_device_plugin_has_the_extended_resource() -> None:
    announcing = make_node("n1").allocatable(cpu="4", memory="16Gi", pods="110", example_com__gpu="1").obj()
    objects = [BACKED, make_claim("claim", exactly()), on_node("n1", "a")]
    decisions, cluster = run([pod_with("pod", "claim", example_com__gpu="1")], *objects, nodes=[announcing])
    assert node_of(decisions["pod"], cluster) == "n1"
    assert claim_of(cluster, "claim").status.allocation is not None


# Whatever happens


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    count = draw(st.integers(1, 3))
    kind = draw(st.sampled_from(("exact", "all", "first")))
    if kind == "all":
        kind = draw(st.sampled_from("ab"))
        return everything(selectors=selectors(f'device.attributes["{DRIVER}"].kind == "{kind}"'))
    if kind == "first":
        return first_of("r", alternative("many", count=count), alternative("one"))
    return exactly(count=count)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(requests(), min_size=1, max_size=8),
    st.lists(st.lists(st.sampled_from("ab"), max_size=4), min_size=2, max_size=2),
    st.booleans(),
    st.booleans(),
)
def test_no_device_is_allocated_twice(
    wanted: list[dict[str, Any]], kinds: list[list[str]], shared_pool: bool, matching: bool
) -> None:
    constraints = [{"requests": ["r"], "matchAttribute": f"{DRIVER}/kind"}] if matching else []
    claims = [make_claim(f"c{at}", each, constraints=constraints) for at, each in enumerate(wanted)]
    slices = [
        make_slice(
            f"s{at}",
            [device(f"d{number}", attributes={"kind": kind}) for number, kind in enumerate(each)],
            **({"allNodes": True} if shared_pool and at == 0 else {"node": f"n{at + 1}"}),
        )
        for at, each in enumerate(kinds)
    ]
    decisions, cluster = run([pod_with(f"p{at}", f"c{at}") for at in range(len(wanted))], GPU, *claims, *slices)
    taken = [
        (result.pool, result.device)
        for claim in cluster.catalog.all(ResourceClaim)
        if claim.status.allocation is not None
        for result in claim.status.allocation.devices.results
    ]
    assert len(taken) == len(set(taken))
    for at, _ in enumerate(wanted):
        allocated = claim_of(cluster, f"c{at}").status.allocation is not None
        assert allocated is (decisions[f"p{at}"].result == "scheduled")
