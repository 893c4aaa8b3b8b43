"""Devices that stand for cpu, memory and other resources of their node (DRANodeAllocatableResources)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.engine.loop import SchedulingLoop
from ksched_cli.framework.status import Code
from ksched_cli.plugins.dynamic_resources import DynamicResources
from tests.builders import make_node, make_pod, term
from tests.engine.test_cycle import _FailingPreBind, _RefusingPermit, _RefusingReserve, _WaitingPermit, with_plugins
from tests.harness import decide, make_bench, make_scheduler, settle
from tests.plugins.lib.devices.resources import (
    DRIVER,
    GPU,
    device,
    devices,
    exactly,
    make_claim,
    make_class,
    make_slice,
    on_node,
)
from tests.pod_groups import GANG, group, member

GATE = "DRANodeAllocatableResources=true"
HOPELESS, SHORT = "UnschedulableAndUnresolvable", "Unschedulable"
BACKED = make_class("gpu", extendedResourceName="example.com/gpu")


def mapping(**amounts: str) -> dict[str, Any]:
    """`mapping(cpu="2")`, or `mapping(cpu="cores:2")` for two per unit of the capacity."""
    found: dict[str, Any] = {}
    for name, amount in amounts.items():
        key, _, multiplier = amount.rpartition(":")
        entry = {"capacityKey": key} if key else {}
        if multiplier:
            entry["allocationMultiplier"] = multiplier
        found[name.replace("_", "-")] = entry
    return {"nodeAllocatableResourceMappings": found}


def claiming(name: str, *claims: str, used: bool = True, **requests: Any) -> Any:
    """A pod that refers to the claims, and whose container uses them."""
    made = make_pod(name).uid(f"uid-{name}").requests(**requests)
    made.spec(resourceClaims=[{"name": f"c{at}", "resourceClaimName": claim} for at, claim in enumerate(claims)])
    if used:
        resources = made.data["spec"]["containers"][0]["resources"]
        resources["claims"] = [{"name": f"c{at}"} for at in range(len(claims))]
    return made


def counting(name: str, node: str, claim: str = "old", **amounts: Any) -> Any:
    """A pod that runs on the node, with these amounts in its status."""
    entry = {"resourceClaimName": claim, "containers": ["main"], "resources": amounts}
    return make_pod(name).uid(f"uid-{name}").on(node).status(nodeAllocatableResourceClaimStatuses=[entry])


def held(name: str, pool: str, *names: str) -> Any:
    """A claim that has these devices already, on whatever node."""
    results = [{"request": "r", "driver": DRIVER, "pool": pool, "device": each} for each in names]
    return make_claim(name, exactly(), status={"allocation": {"devices": {"results": results}}})


def node(name: str = "n1", **allocatable: Any) -> Any:
    return make_node(name).allocatable(pods=10, **{"cpu": "4", "memory": "8Gi", **allocatable}).obj()


def run(nodes: Any, pods: Any, *objects: Any, gates: str = GATE, **options: Any) -> tuple[dict[str, str], Any]:
    """Pod to node, or to the message."""
    scheduler = make_scheduler(nodes, pods, objects=[GPU, *objects], gates=gates, **options)
    names = scheduler.cluster.nodes.names
    found = decide(scheduler)
    texts = {key: each.message if each.row is None else names[each.row] for key, each in found.items()}
    return {key.removeprefix("default/"): text for key, text in texts.items()}, scheduler.cluster


def refused(nodes: Any, pod: Pod, *objects: Any, running: Any = (), gates: str = GATE) -> dict[str, Any]:
    return make_bench(DynamicResources, nodes, pod, running, objects=[GPU, *objects], gates=gates).statuses()


def used(cluster: Any, resource: str, row: int = 0) -> int:
    return int(cluster.usage.requested[cluster.resources.find(resource), row])


def entries(cluster: Any, pod: str) -> dict[str, dict[str, Any]]:
    status = cluster.pods.infos[cluster.pods.row_of[f"uid-{pod}"]].pod.status
    return {each.resource_claim_name: each.resources for each in status.node_allocatable_resource_claim_statuses}


# How much an allocation takes

SHARED = {"allowMultipleAllocations": True}


@pytest.mark.parametrize(
    ("made", "request_", "resources"),
    [
        pytest.param(devices("a", "b", **mapping(cpu="2")), exactly(), {"cpu": "2"}, id="one device"),
        pytest.param(devices("a", "b", **mapping(cpu="500m")), exactly(count=2), {"cpu": "1"}, id="two devices"),
        pytest.param(devices("a", **mapping(cpu="")), exactly(), {"cpu": "1"}, id="the API server stores a multiplier"),
        pytest.param(
            devices("a", **mapping(cpu="1", memory="1Gi")), exactly(), {"cpu": "1", "memory": "1073741824"},
            id="two resources",
        ),
        pytest.param(
            [device("a", capacity={"cores": "8"}, **SHARED, **mapping(cpu="cores:"))],
            exactly(capacity={"requests": {"cores": "3"}}), {"cpu": "3"}, id="a part of the capacity",
        ),
        pytest.param(
            [device("a", capacity={"cores": "8"}, **SHARED, **mapping(cpu="cores:250m"))],
            exactly(capacity={"requests": {"cores": "3"}}), {"cpu": "750m"}, id="so much per unit of the capacity",
        ),
        pytest.param(
            [device("a", capacity={"cores": "2"}, **SHARED, **mapping(cpu="cores:"))], exactly(), {"cpu": "2"},
            id="all of the capacity by default",
        ),
        pytest.param(
            [device("a", capacity={"cores": "2"}, **SHARED, **mapping(cpu="other:", memory="1Mi"))], exactly(),
            {"memory": "1048576"}, id="a capacity that the device does not have counts for nothing",
        ),
        pytest.param(
            [device("a", **mapping(cpu="1")), device("b")], exactly(count=2), {"cpu": "1"}, id="one of two is mapped"
        ),
        pytest.param(
            devices("a", **mapping(cpu="1")), exactly(adminAccess=True), {"cpu": "1"}, id="admin access counts too"
        ),
    ],
)  # fmt: skip
def test_what_the_claim_takes(made: Any, request_: Any, resources: dict[str, str]) -> None:
    pod = claiming("p", "c", cpu="500m").obj()
    found, cluster = run([node()], [pod], make_claim("c", request_), make_slice("s", made, node="n1"))
    assert found == {"p": "n1"}
    assert entries(cluster, "p") == {"c": resources}
    assert used(cluster, "cpu") == 500 + {"2": 2000, "1": 1000, "3": 3000, "750m": 750}.get(resources.get("cpu", ""), 0)


def test_each_claim_has_an_entry_by_name_with_its_containers() -> None:
    pod = (
        claiming("p", "z", "b")
        .container(resources={"claims": [{"name": "c1"}]})
        .init(name="first", resources={"claims": [{"name": "c0", "request": "r"}]})
    )
    claims = [make_claim("z", exactly()), make_claim("b", exactly())]
    _, cluster = run([node()], [pod.obj()], *claims, on_node("n1", "a", "b", **mapping(cpu="1")))
    status = cluster.pods.infos[cluster.pods.row_of["uid-p"]].pod.status
    found = [(each.resource_claim_name, each.containers) for each in status.node_allocatable_resource_claim_statuses]
    assert found == [("b", ("main", "c1")), ("z", ("first", "main"))]


def test_the_pool_and_the_name_choose_the_device_whatever_the_driver() -> None:
    own = make_slice("s2", devices("a", **mapping(cpu="1")), node="n1", pool="p")
    other = make_slice("s1", devices("a", **mapping(cpu="3")), node="n2", pool="p", driver="other.example.com")
    only = make_class("gpu", f'device.driver == "{DRIVER}"')
    pod = claiming("p", "c").obj()
    scheduler = make_scheduler([node()], [pod], objects=[only, make_claim("c", exactly()), own, other], gates=GATE)
    decide(scheduler)
    assert entries(scheduler.cluster, "p") == {"c": {"cpu": "3"}}


# Where the pod does not fit


@pytest.mark.parametrize(
    ("allocatable", "amounts", "running", "code", "reasons"),
    [
        pytest.param({}, {"cpu": "3"}, {}, None, (), id="it just fits"),
        pytest.param({}, {"cpu": "3001m"}, {}, HOPELESS, ("Insufficient cpu",), id="more than the node has"),
        pytest.param({}, {"cpu": "1"}, {"cpu": "2500m"}, SHORT, ("Insufficient cpu",), id="others use it"),
        pytest.param({}, {"memory": "9Gi"}, {}, HOPELESS, ("Insufficient memory",), id="memory"),
        pytest.param({}, {"memory": "1"}, {"memory": "8Gi"}, SHORT, ("Insufficient memory",), id="the smallest amount"),
        pytest.param(
            {}, {"cpu": "1", "memory": "9Gi"}, {"cpu": "3"}, HOPELESS, ("Insufficient cpu", "Insufficient memory"),
            id="one short, one hopeless",
        ),
        pytest.param(
            {"ephemeral_storage": "1Gi"}, {"ephemeral_storage": "2Gi"}, {}, HOPELESS,
            ("Insufficient ephemeral-storage",), id="storage",
        ),
        pytest.param(
            {"hugepages_2Mi": "2Mi"}, {"hugepages_2Mi": "4Mi"}, {}, HOPELESS, ("Insufficient hugepages-2Mi",),
            id="huge pages",
        ),
        pytest.param({}, {"hugepages_1Gi": "1Gi"}, {}, HOPELESS, ("Insufficient hugepages-1Gi",), id="none there"),
        pytest.param({}, {"pods": "100"}, {}, None, (), id="other resources are not checked"),
    ],
)  # fmt: skip
def test_the_fit(allocatable: Any, amounts: Any, running: Any, code: str | None, reasons: tuple[str, ...]) -> None:
    objects = [make_claim("c", exactly()), on_node("n1", "a", **mapping(**amounts))]
    others = [make_pod("r").on("n1").requests(**running).obj()] if running else []
    named = {name.replace("hugepages_", "hugepages-"): each for name, each in allocatable.items()}
    pod = claiming("p", "c", cpu="1").obj()
    found = refused([node(**named)], pod, *objects, running=others)
    assert found == ({} if code is None else {"n1": (code, reasons)})
    assert refused([node(**named)], pod, *objects, running=others, gates="") == {}


def test_without_the_gate_nothing_counts() -> None:
    objects = [make_claim("c", exactly()), on_node("n1", "a", **mapping(cpu="100"))]
    found, cluster = run([node()], [claiming("p", "c", cpu="1").obj()], *objects, gates="")
    assert found == {"p": "n1"}
    assert used(cluster, "cpu") == 1000
    assert entries(cluster, "p") == {}


@pytest.mark.parametrize(
    ("pod", "made", "reason"),
    [
        pytest.param(
            claiming("p", "c", used=False), devices("a", **mapping(cpu="1")),
            "claim c: node-allocatable resource claim not referenced by any container within the pod",
            id="no container uses the claim",
        ),
        pytest.param(
            claiming("p", "c").spec(resources={"requests": {"cpu": "1500m"}}).requests(cpu="1"),
            devices("a", **mapping(cpu="1")),
            "pod level request for cpu is insufficient to cover the aggregated container and node-allocatable DRA "
            "requests",
            id="more than the pod as a whole requests",
        ),
    ],
)  # fmt: skip
def test_what_no_node_can_mend(pod: Any, made: Any, reason: str) -> None:
    objects = [make_claim("c", exactly()), make_slice("s", made, node="n1")]
    assert refused([node()], pod.obj(), *objects) == {"n1": (HOPELESS, (reason,))}
    assert refused([node()], pod.obj(), *objects, gates="") == {}


def test_the_requests_of_the_pod_as_a_whole_include_its_claims() -> None:
    pod = claiming("p", "c", cpu="1").spec(resources={"requests": {"cpu": "2"}}).obj()
    objects = [make_claim("c", exactly()), on_node("n1", "a", **mapping(cpu="1", memory="1Gi"))]
    _, cluster = run([node()], [pod], *objects)
    assert used(cluster, "cpu") == 2000
    assert used(cluster, "memory") == 2**30


def test_a_capacity_that_is_not_consumed_ends_the_cycle() -> None:
    made = make_slice("s", [device("a", capacity={"cores": "2"}, **mapping(cpu="cores:"))], node="n1")
    found, cluster = run([node()], [claiming("p", "c").obj()], make_claim("c", exactly()), made)
    text = (
        "claim default/c, device a: ConsumedCapacity is nil, but Capacity key 'cores' is set in "
        "NodeAllocatableResourceMappings for resource cpu"
    )
    assert text in found["p"]
    assert used(cluster, "cpu") == 0


def test_what_an_allocation_takes_is_given_back_with_the_reservation() -> None:
    objects = [GPU, make_claim("c", exactly()), on_node("n1", "a", **mapping(cpu="1"))]
    made = make_bench(DynamicResources, [node()], claiming("p", "c").obj(), objects=objects, gates=GATE)
    state = made.state()
    assert made.plugin.filter(state, made.pod, made.nodes()).passed.all()
    assert made.plugin.reserve(state, made.pod, 0).ok
    assert entries(made.cluster, "p") == {"c": {"cpu": "1"}}
    made.plugin.unreserve(state, made.pod, 0)
    assert entries(made.cluster, "p") == {}


def test_devices_whose_place_cannot_be_written_into_the_claim_end_the_cycle() -> None:
    terms = [term(("kubernetes.io/os", "DoesNotExist", [])), term(("zone", "Exists", []))]
    slice_ = make_slice("s", devices("a"), nodeSelector={"nodeSelectorTerms": terms})
    found, _ = run([node()], [claiming("p", "c").obj()], make_claim("c", exactly()), slice_)
    assert "create NodeSelector for claim c: unsupported ResourceSlice.NodeSelector with 2 terms" in found["p"]


def test_devices_behind_an_extended_resource_are_used_by_no_container() -> None:
    pod = make_pod("p").uid("uid-p").requests(example_com__gpu="1").obj()
    made = make_bench(
        DynamicResources, [node()], pod, objects=[BACKED, on_node("n1", "a", **mapping(cpu="1"))], gates=GATE
    )
    text = "claim <extended-resources>: node-allocatable resource claim not referenced by any container within the pod"
    assert made.statuses() == {"n1": (HOPELESS, (text,))}


# Claims that were allocated before


def test_an_allocated_claim_is_not_counted_again() -> None:
    found, cluster = run([node()], [claiming("p", "c").obj()], held("c", "n1", "a"),
                         on_node("n1", "a", **mapping(cpu="100")))  # fmt: skip
    assert found == {"p": "n1"}
    assert used(cluster, "cpu") == 0


@pytest.mark.parametrize(
    ("users", "reason"),
    [
        pytest.param(1, "node allocatable resource claim c is already used by another pod", id="one other pod"),
        pytest.param(2, "node allocatable resource claim c shared by multiple pods", id="two other pods"),
    ],
)
def test_an_allocated_claim_counts_for_one_pod_of_a_node(users: int, reason: str) -> None:
    running = [counting(f"r{at}", "n1", "c", cpu="1").obj() for at in range(users)]
    nodes, pod = [node(), node("n2")], claiming("p", "c").obj()
    assert refused(nodes, pod, held("c", "n1", "a"), running=running) == {"n1": (HOPELESS, (reason,))}
    assert refused(nodes, pod, held("c", "n1", "a"), running=running, gates="") == {}


@pytest.mark.parametrize(
    ("counted", "is_refused"),
    [
        pytest.param(["x"], False, id="another claim"),
        pytest.param(["x", "c"], True, id="another claim, and this one"),
        pytest.param([], False, id="none"),
    ],
)
def test_pods_that_count_another_claim_do_not_matter(counted: list[str], is_refused: bool) -> None:
    statuses = [{"resourceClaimName": name, "containers": ["main"], "resources": {"cpu": "1"}} for name in counted]
    running = make_pod("r").uid("uid-r").on("n1").status(nodeAllocatableResourceClaimStatuses=statuses).obj()
    found = refused([node()], claiming("p", "c").obj(), held("c", "n1", "a"), running=[running])
    assert bool(found) is is_refused


def test_a_node_that_is_full_takes_devices_that_stand_for_something_else() -> None:
    objects = [make_claim("c", exactly()), on_node("n1", "a", **mapping(memory="1Gi"))]
    running = [make_pod("r").on("n1").requests(cpu="5", ephemeral_storage="1Gi").obj()]
    assert refused([node()], claiming("p", "c").obj(), *objects, running=running) == {}


@pytest.mark.parametrize("claims", [("c", "d"), ("d", "c")], ids=["allocated first", "allocated last"])
def test_sharing_is_refused_before_the_other_claims_are_searched_for(claims: tuple[str, ...]) -> None:
    running, pod = [counting("r", "n1", "c", cpu="1").obj()], claiming("p", *claims).obj()
    reason = "node allocatable resource claim c is already used by another pod"
    found = refused([node()], pod, held("c", "n1", "a"), make_claim("d", exactly()), running=running)
    assert found == {"n1": (HOPELESS, (reason,))}


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        pytest.param({}, "node allocatable resource claim c is already used by another pod", id="devices provide all"),
        pytest.param({"example_com__nic": "1"}, "cannot fit resource", id="nothing provides one"),
    ],
)
def test_extended_resources_are_refused_before_sharing(other: dict[str, str], reason: str) -> None:
    running = [counting("r", "n1", "c", cpu="1").obj()]
    pod = claiming("p", "c", example_com__gpu="2", **other).obj()
    assert refused([node()], pod, BACKED, held("c", "n1", "a"), running=running) == {"n1": (HOPELESS, (reason,))}


def test_a_claim_of_this_name_in_another_namespace_is_another() -> None:
    other = (
        make_pod("r", "elsewhere")
        .on("n1")
        .status(nodeAllocatableResourceClaimStatuses=[{"resourceClaimName": "c", "resources": {"cpu": "1"}}])
    )
    assert refused([node()], claiming("p", "c").obj(), held("c", "n1", "a"), running=[other.obj()]) == {}


# What the node counts from then on


def test_the_next_pods_find_less() -> None:
    objects = [make_claim("c", exactly()), on_node("n1", "a", **mapping(cpu="2", memory="6Gi"))]
    pods = [claiming("p1", "c", cpu="1").created("2026-01-01T00:00:00Z").obj()]
    pods += [make_pod(name).created(f"2026-01-0{at}T00:00:00Z").requests(cpu="1", memory="2Gi").obj()
             for at, name in enumerate(["p2", "p3"], 2)]  # fmt: skip
    found, cluster = run([node()], pods, *objects)
    assert (found["p1"], found["p2"]) == ("n1", "n1")
    assert found["p3"].startswith("0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory.")
    assert (used(cluster, "cpu"), used(cluster, "memory")) == (4000, 2**33)


def test_scores_see_what_claims_of_running_pods_take() -> None:
    running = [counting("r", "n1", cpu="2").obj()]
    pod = make_pod("p").requests(cpu="1").obj()
    scheduler = make_scheduler([node(), node("n2")], [*running, pod], gates=GATE)
    (decision,) = decide(scheduler).values()
    assert decision.scores is not None
    # LeastAllocated. The running pod's container requests nothing: 100m and 200Mi stand in beside what the claim takes.
    column = decision.scores.raw["NodeResourcesFit"]
    memory = [(2**33 - each * 200 * 2**20) * 100 // 2**33 for each in (2, 1)]
    cpu = [(4000 - 2000 - 100 - 1000) * 100 // 4000, (4000 - 1000) * 100 // 4000]
    assert column.tolist() == [(a + b) // 2 for a, b in zip(cpu, memory, strict=True)]


def test_preemption_frees_what_claims_take() -> None:
    running = [counting("small", "n1", "x", cpu="3").priority(0).obj(), make_pod("other").on("n2").priority(9).obj()]
    objects = [make_claim("c", exactly()), on_node("n1", "a", **mapping(cpu="3"))]
    pod = claiming("p", "c", cpu="1").priority(5).obj()
    scheduler = make_scheduler([node(), node("n2", cpu="1")], [*running, pod], objects=[GPU, *objects], gates=GATE)
    (decision,) = decide(scheduler).values()
    assert decision.nominated_node == "n1"
    assert decision.preemption is not None
    assert scheduler.cluster.pods.names_of(decision.preemption.victims) == ("default/small",)


def test_a_pod_that_is_nominated_takes_its_place_beside_the_claims() -> None:
    rival = make_pod("rival").priority(9).nominated("n1").requests(cpu="2").created("2026-01-02T00:00:00Z").obj()
    objects = [make_claim("c", exactly()), on_node("n1", "a", **mapping(cpu="2"))]
    pod = claiming("p", "c", cpu="1").created("2026-01-01T00:00:00Z").obj()
    made = make_scheduler([node()], [pod, rival], objects=[GPU, *objects], gates=GATE)
    row = made.cluster.pods.row_of["uid-p"]
    decision = made.schedule(row)
    assert decision.diagnosis is not None
    assert decision.diagnosis.nodes.status(0).texts == ("Insufficient cpu",)
    assert decision.diagnosis.nodes.status(0).code is Code.UNSCHEDULABLE


@pytest.mark.parametrize("plugin", [_RefusingReserve, _RefusingPermit, _FailingPreBind])
def test_a_pod_that_is_refused_after_the_choice_gives_all_back(plugin: Any) -> None:
    _RefusingReserve.held.clear()
    objects = [make_claim("c", exactly()), on_node("n1", "a", **mapping(cpu="2"))]
    _, cluster = run([node()], [claiming("p", "c", cpu="1").obj()], *objects,
                     configuration=with_plugins(plugin.name), plugins=[plugin])  # fmt: skip
    assert used(cluster, "cpu") == 0
    assert entries(cluster, "p") == {}


def test_entries_of_an_earlier_attempt_are_replaced() -> None:
    entry = {"resourceClaimName": "c", "containers": ["main"], "resources": {"cpu": "3"}}
    pod = claiming("p", "c").status(nodeAllocatableResourceClaimStatuses=[entry]).obj()
    allocated, new = held("c", "n1", "a"), make_claim("c", exactly())
    slice_ = on_node("n1", "a", **mapping(cpu="1"))
    for claim, cpu in ((allocated, 0), (new, 1000)):
        found, cluster = run([node()], [pod], claim, slice_)
        assert found == {"p": "n1"}
        assert used(cluster, "cpu") == cpu


def test_the_api_server_has_the_entries_when_the_cluster_settles() -> None:
    objects = [make_claim("c", exactly()), on_node("n1", "a", **mapping(cpu="2"))]
    pods = [claiming("p", "c", cpu="1").obj(), make_pod("q").uid("uid-q").requests(cpu="2").priority(-1).obj()]
    scheduler = make_scheduler([node()], pods, objects=[GPU, *objects], gates=GATE)
    settle(scheduler)
    cluster = scheduler.cluster
    placed = cluster.pods.infos[cluster.pods.row_of["uid-p"]].pod
    assert placed.spec.node_name == "n1"
    assert entries(cluster, "p") == {"c": {"cpu": "2"}}
    assert used(cluster, "cpu") == 3000


def test_a_pod_that_waits_keeps_its_entries_when_it_is_updated() -> None:
    objects = [GPU, make_claim("c", exactly()), on_node("n1", "a", **mapping(cpu="2"))]
    pod = claiming("p", "c", cpu="1").obj()
    configuration = with_plugins(_WaitingPermit.name)
    scheduler = make_scheduler(
        [node()], [pod], objects=objects, gates=GATE, configuration=configuration, plugins=[_WaitingPermit]
    )
    loop = SchedulingLoop(scheduler)
    loop.step()
    loop.handlers.put(replace(pod, metadata=replace(pod.metadata, labels={"app": "web"})))
    info = scheduler.cluster.pods.infos[scheduler.cluster.pods.row_of["uid-p"]]
    assert info.labels == {"app": "web"}
    assert entries(scheduler.cluster, "p") == {"c": {"cpu": "2"}}
    assert used(scheduler.cluster, "cpu") == 3000


def test_pods_of_a_group_count_a_claim_that_they_share_each() -> None:
    def sharing(name: str) -> Any:
        pod = member(name).uid(f"uid-{name}")
        pod.spec(resourceClaims=[{"name": "c", "resourceClaimName": "c"}])
        pod.data["spec"]["containers"][0]["resources"]["claims"] = [{"name": "c"}]
        return pod.obj()

    objects = [group(min_count=2), make_claim("c", exactly()), on_node("n1", "a", **mapping(cpu="500m"))]
    found, cluster = run([node()], [sharing("p1"), sharing("p2")], *objects, gates=f"{GANG},{GATE}")
    assert found == {"p1": "n1", "p2": "n1"}
    assert [entries(cluster, name) for name in ("p1", "p2")] == [{"c": {"cpu": "500m"}}] * 2
    assert used(cluster, "cpu") == 3000
