"""What Karpenter's provisioner decides about small clusters, for rules that no recording has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from ksched_cli.api.core import Namespace
from ksched_cli.api.karpenter import NodeClaim, NodePool
from ksched_cli.api.workloads import DaemonSet, PodDisruptionBudget
from ksched_cli.autoscale.instance_types.catalog import InstanceType
from ksched_cli.autoscale.karpenter.instance_types import allocatable_of
from ksched_cli.autoscale.karpenter.provisioner import Options, provision
from tests.builders import NodeBuilder, PodBuilder, make_node, make_pod, term

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
NODEPOOL, TYPE_LABEL = "karpenter.sh/nodepool", "node.kubernetes.io/instance-type"


def instance_type(name: str = "small", zones: str = "ab", **fields: Any) -> InstanceType:
    document = {
        "name": name,
        "capacity": {"cpu": "4", "memory": "16Gi", "pods": "50"},
        "offerings": [{"zone": zone, "price": 0.1} for zone in zones],
        "requirements": {TYPE_LABEL: [name], ZONE: [*zones], "karpenter.sh/capacity-type": ["on-demand", "reserved"]},
        **fields,
    }
    return msgspec.convert(document, InstanceType)


def pool(
    name: str = "general", *requirements: dict[str, Any], ready: bool = True, taint: str = "", **spec: Any
) -> NodePool:
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    taints = [{"key": "dedicated", "effect": taint}] if taint else []
    template = {"spec": {"nodeClassRef": reference, "requirements": requirements, "taints": taints}}
    document = {
        "metadata": {"name": name, "deletionTimestamp": spec.pop("deleted", None)},
        "spec": {"template": template, **spec},
        "status": {"conditions": [{"type": "Ready", "status": str(ready)}]},
    }
    return msgspec.convert(document, NodePool)


def claim(name: str, provider_id: str = "", **meta: Any) -> NodeClaim:
    return msgspec.convert({"metadata": {"name": name, **meta}, "status": {"providerID": provider_id}}, NodeClaim)


def waiting(name: str = "p", cpu: str = "1") -> PodBuilder:
    pod = make_pod(name).uid(name).requests(cpu=cpu).label("app", "web")
    return pod.status(conditions=[{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}])


def node(name: str, of_pool: str = "", cpu: str = "4") -> NodeBuilder:
    made = make_node(name).spec(providerID=f"id-{name}").allocatable(cpu=cpu, memory="16Gi", pods="50")
    made = made.status(capacity=made.data["status"]["allocatable"])
    return made.label(NODEPOOL, of_pool).label(TYPE_LABEL, "small") if of_pool else made


def running(name: str, on: str, app: str = "web") -> PodBuilder:
    return make_pod(name).uid(name).label("app", app).on(on)


def with_claims(name: str, *claims: str) -> PodBuilder:
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    return waiting(name).spec(volumes=volumes)


def decided(objects: Iterable[Any], *types: InstanceType, **options: Any) -> list[str]:
    """A line for each node with its pods, and for each pod without a place."""
    given = [each.obj() if isinstance(each, NodeBuilder | PodBuilder) else each for each in objects]
    found = provision(
        lambda kind: [each for each in given if type(each) is kind], types or (instance_type(),), Options(**options)
    )
    places = [(f"new {each.node_pool} in {_zones(each.requirements)}", each.pods) for each in found.new_nodes]
    lines = [f"{place}: {' '.join(pods)}" for place, pods in (*found.existing.items(), *places)]
    lines += [f"{each.pod}: {each.message}" for each in found.unplaced]
    return [line.replace("default/", "") for line in lines] + [f"{pod}: not considered" for pod in found.not_considered]


def _zones(requirements: dict[str, Any]) -> str:
    return " ".join(requirements[ZONE][0]["values"]) if ZONE in requirements else "any zone"


FULL = "node limits have been exhausted for nodepool (NodePool=heavy)"
NODE_OF_HEAVY = node("n", "heavy", cpu="0")


@pytest.mark.parametrize(
    ("objects", "lines"),
    [
        pytest.param(
            [pool(), claim("second"), claim("ready", "id"), claim("first"), waiting()],
            ["p: Karpenter waits for NodeClaim first, which has no providerID yet"],
            id="a claim that is not launched stops the pass",
        ),
        pytest.param(
            [pool(), waiting("a").nominated("n"), waiting("b")],
            ["new general in any zone: b", "default/a: not considered"],
            id="a pod that waits for victims is left to kube-scheduler",
        ),
        pytest.param(
            [pool("heavy", weight=9, limits={"nodes": "1"}), NODE_OF_HEAVY, waiting()],
            [f"p: {FULL}"],
            id="no more nodes",
        ),
        pytest.param(
            [pool("heavy", weight=9, limits={"nodes": "1"}), pool("light"), NODE_OF_HEAVY, waiting()],
            ["new light in any zone: p"],
            id="no more nodes of one NodePool",
        ),
        pytest.param(
            [pool("heavy", limits={"nodes": "2"}), NODE_OF_HEAVY, waiting()],
            ["new heavy in any zone: p"],
            id="one node more",
        ),
        pytest.param(
            [pool(), node("a", "general").spec(providerID=""), node("b", "general"), waiting()],
            ["b: p"],
            id="a node of Karpenter that has no providerID yet is passed over",
        ),
        pytest.param(
            [pool("heavy", limits={"cpu": "-1"}), pool("light"), waiting()],
            ["new light in any zone: p"],
            id="a limit below zero",
        ),
        pytest.param(
            [pool("heavy", limits={"example.com/gpu": "-1"}), waiting()],
            ["p: all available instance types exceed limits for nodepool (NodePool=heavy)"],
            id="a limit below zero of a resource that no type has",
        ),
        pytest.param(
            [pool("heavy", limits={"example.com/gpu": "-1", "cpu": "99"}), waiting()],
            ["p: all available instance types exceed limits for nodepool (NodePool=heavy)"],
            id="a limit below zero beside one that is large",
        ),
        pytest.param(
            [pool("heavy", limits={"example.com/gpu": "0"}), waiting()],
            ["new heavy in any zone: p"],
            id="a limit of zero of a resource that no type has",
        ),
    ],
)
def test_limits_and_nodes_that_are_passed_over(objects: list[Any], lines: list[str]) -> None:
    assert decided(objects) == lines


LIGHT = pool("light", weight=1)


@pytest.mark.parametrize(
    ("objects", "lines"),
    [
        pytest.param([pool("heavy", weight=9), LIGHT, waiting()], ["new heavy in any zone: p"], id="the heaviest"),
        pytest.param([pool("a"), pool("b"), waiting()], ["new b in any zone: p"], id="equal: the last by name"),
        pytest.param([pool("zero", weight=0), LIGHT, waiting()], ["new light in any zone: p"], id="one and zero"),
        pytest.param([pool("heavy", weight=9, ready=False), LIGHT, waiting()], ["new light in any zone: p"], id="not ready"),
        pytest.param([pool("heavy", weight=9, replicas=0), LIGHT, waiting()], ["new light in any zone: p"], id="static"),
        pytest.param(
            [pool("heavy", weight=9, deleted="2026-01-01T00:00:00Z"), LIGHT, waiting()], ["new light in any zone: p"], id="deleted"
        ),
        pytest.param([pool(ready=False), waiting()], ["p: no dynamic nodepools found"], id="no NodePool is left"),
        pytest.param(
            [pool("heavy", weight=9, taint="NoSchedule"), LIGHT, waiting()], ["new light in any zone: p"], id="a taint"
        ),
        pytest.param(
            [pool("heavy", weight=9, taint="PreferNoSchedule"), LIGHT, waiting()], ["new light in any zone: p"], id="a mild taint"
        ),
        pytest.param([pool(taint="PreferNoSchedule"), waiting()], ["new general in any zone: p"], id="tolerated in the end"),
        pytest.param(
            [pool(limits={"cpu": "8"}), *(waiting(name, "4") for name in "abc")],
            [
                "new general in any zone: a",
                "new general in any zone: b",
                "c: all available instance types exceed limits for nodepool (NodePool=general)",
            ],
            id="each claim counts for the limit",
        ),
    ],
)  # fmt: skip
def test_which_node_pool_takes_a_pod(objects: list[Any], lines: list[str]) -> None:
    assert decided(objects) == lines


@pytest.mark.parametrize(
    ("pod", "problem"),
    [
        pytest.param(
            waiting().node_affinity(term((NODEPOOL, "DoesNotExist", []))),
            "configured to not run on a Karpenter provisioned node (requirement=karpenter.sh/nodepool DoesNotExist)",
            id="wants no node of Karpenter",
        ),
        pytest.param(
            waiting().node_affinity(term(("a", "Exists", [])), term(fields=(("metadata.name", "In", ["n"]),))),
            "node selector term with matchFields is not supported",
            id="names a node",
        ),
        pytest.param(
            waiting().selector(**{"karpenter.sh/mine": "x"}),
            "using label karpenter.sh/mine is not allowed as it might interfere",
            id="selects a label of Karpenter",
        ),
        pytest.param(
            waiting().node_affinity(term(("a", "Exists", [])), term(("b", "Near", ["x"]))),
            "key b has an unsupported operator Near",
            id="an operator of a later term",
        ),
        pytest.param(
            waiting().selector(**{HOST: "n"}),
            "using label kubernetes.io/hostname is not allowed as it might interfere",
            id="selects a host",
        ),
        pytest.param(with_claims("p", "none"), 'persistentvolumeclaims "none" not found', id="no claim"),
        pytest.param(
            waiting().selector(**{"example.com/zone": "a"}),
            'label "example.com/zone" does not have known values (typo of "topology.kubernetes.io/zone"?)',
            id="a label that ends like a known one",
        ),
        pytest.param(
            waiting().selector(**{"topology.kubernetes.io/zon": "a"}),
            'label "topology.kubernetes.io/zon" does not have known values (typo of "topology.kubernetes.io/zone"?)',
            id="a part of a known label",
        ),
        pytest.param(
            waiting().selector(disk="ssd"), 'label "disk" does not have known values', id="a label like no other"
        ),
    ],
)
def test_pods_for_which_no_node_is_made(pod: PodBuilder, problem: str) -> None:
    (line,) = decided([pool(), pod])
    assert problem in line
    assert ("typo" in line) is ("typo" in problem)


# Nodes that exist


def agent(cpu: str = "2") -> Any:
    return {
        "metadata": {"name": "agent", "namespace": "default", "uid": "ds"},
        "spec": {"template": {"spec": make_pod("agent").requests(cpu=cpu).data["spec"]}},
    }


AGENT = make_pod("agent-n").requests(cpu="2").on("n").owner("DaemonSet", "agent", uid="ds", apiVersion="apps/v1")


def agent_elsewhere(name: str, cpu: str, created: str = "2026-01-01T00:00:00Z", **reference: str) -> PodBuilder:
    """The agent's pod on another node."""
    pod = make_pod(name).requests(cpu=cpu).created(created).on("elsewhere")
    return pod.owner("DaemonSet", "agent", apiVersion="apps/v1", **reference)


def with_claim(daemon_set: Any) -> Any:
    """The DaemonSet with a second container, which has a ResourceClaim."""
    spec = daemon_set["spec"]["template"]["spec"]
    spec["containers"].append({"name": "d", "resources": {"claims": [{"name": "gpu"}]}})
    return daemon_set


@pytest.mark.parametrize(
    ("objects", "place"),
    [
        pytest.param([node("n"), waiting(cpu="4")], "n", id="the whole node"),
        pytest.param([node("n"), waiting(cpu="4001m")], "", id="more than the node"),
        pytest.param([node("n"), running("r", "n"), waiting(cpu="4")], "n", id="a pod without requests"),
        pytest.param([node("n"), waiting("r").on("n"), waiting(cpu="3001m")], "", id="the room of a running pod"),
        pytest.param([node("n"), waiting("r").on("n").phase("Failed"), waiting(cpu="4")], "n", id="a pod that has ended"),
        pytest.param([node("n"), agent(), waiting()], "n", id="room beside a DaemonSet pod that is to come"),
        pytest.param([node("n"), agent("3500m"), waiting()], "", id="no room beside it"),
        pytest.param([node("n").taint("t"), agent("3500m"), waiting().toleration("t", "Exists")], "n", id="a DaemonSet stays away"),
        pytest.param([node("n"), with_claim(agent("3500m")), waiting()], "n", id="a DaemonSet with a claim counts nowhere"),
        pytest.param(
            [
                node("n"), agent(), waiting(cpu="3"),
                agent_elsewhere("a-old", "3500m", "2025-01-01T00:00:00Z", uid="ds"), agent_elsewhere("b-new", "1", uid="ds"),
            ], "n", id="the newest pod of a DaemonSet counts for the one to come"
        ),
        pytest.param(
            [node("n"), agent(), waiting(cpu="3"), agent_elsewhere("new", "1")], "n",
            id="a pod that refers to its DaemonSet without a uid counts"
        ),
        pytest.param([node("n"), waiting("r", "4").on("n"), waiting(cpu="0")], "n", id="nothing is left, and nothing requested"),
        pytest.param([node("n"), agent(), AGENT, waiting(cpu="2")], "n", id="a DaemonSet pod that runs counts once"),
        pytest.param(
            [node("n"), agent("1"), AGENT, waiting(cpu="2")], "n", id="a DaemonSet pod that runs requests more than the next one"
        ),
        pytest.param(
            [node("n"), agent("1"), AGENT, waiting(cpu="2001m")], "", id="what it requests more is not given back"
        ),
        pytest.param(
            [node("n"), make_pod("r").requests(memory="17Gi").on("n"), waiting()], "", id="more memory is taken than there is"
        ),
        pytest.param([node("n").taint("t"), waiting()], "", id="a taint"),
        pytest.param([node("n").taint("t"), waiting().toleration("t", "Exists")], "n", id="a taint that it tolerates"),
        pytest.param([node("n").taint("t", effect="PreferNoSchedule"), waiting()], "", id="a mild taint counts, too"),
        pytest.param([node("n").label("disk", "hdd"), waiting().selector(disk="ssd")], None, id="another label"),
    ],
)  # fmt: skip
def test_when_a_node_that_exists_takes_a_pod(objects: list[Any], place: str | None) -> None:
    given = [msgspec.convert(each, DaemonSet) if isinstance(each, dict) else each for each in objects]
    # The type of new nodes is larger.
    large = instance_type("large", capacity={"cpu": "9", "memory": "32Gi", "pods": "50"})
    found = decided([pool(), *given], large)
    assert found[0].startswith(f"{place or 'new general in any zone'}: p" if place is not None else "p: incompatible")


def test_the_answer_is_in_the_order_of_names() -> None:
    """Karpenter tries the largest pod first."""
    sizes = {"a": "2", "b": "4", "c": "5", "d": "6", "e": "1", "f": "3"}
    *places, first, second = decided([pool(), node("n"), *(waiting(name, cpu) for name, cpu in sizes.items())])
    assert places == ["n: b", "new general in any zone: a", "new general in any zone: e f"]
    assert [first[:3], second[:3]] == ["c: ", "d: "]


def test_a_pod_is_tried_again_when_another_has_found_a_place() -> None:
    """The larger pod is tried first, and wants to be near the other."""
    pods = [near(waiting("a", "2"), "db"), waiting("b", "1").label("app", "db")]
    assert decided([pool(), node("n").zone("a"), *pods]) == ["n: a b"]


def test_a_pod_that_is_tried_again_prefers_what_it_preferred() -> None:
    """At first the pod gives up to be away from the other, for it cannot be near it yet."""
    pod = near(waiting("a", "2"), "db")
    rule = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "db"}}}
    preferred = [{"weight": 1, "podAffinityTerm": rule}]
    pod.data["spec"]["affinity"]["podAntiAffinity"] = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
    pods = [pod, waiting("b", "1").label("app", "db")]
    assert decided([pool(), node("n").zone("a"), *pods]) == ["n: b", "new general in a: a"]


def test_nodes_that_are_initialized_come_first() -> None:
    objects = [pool(), *starting(labels=REGISTERED), node("z"), *(waiting(name, "4") for name in "abc")]
    assert decided(objects) == ["z: a", "n: b", "new general in any zone: c"]


# Nodes that start


REGISTERED, INITIALIZED = "karpenter.sh/registered", "karpenter.sh/initialized"


def starting(*, labels: str = "", taints: str = "", cpu: str = "4", with_node: bool = True, **claim_fields: Any) -> Any:
    """A NodeClaim that has been launched, and its node."""
    resources = {"cpu": "4", "memory": "16Gi", "pods": "50"}
    own = {
        "metadata": {"name": "claim", "labels": {NODEPOOL: "general"}, **claim_fields.pop("metadata", {})},
        "spec": {"startupTaints": [{"key": "starts", "effect": "NoSchedule"}]},
        "status": {"providerID": "id-n", "capacity": resources, "allocatable": resources, **claim_fields},
    }
    made = node("n", "general", cpu)
    for label in labels.split():
        made = made.label(label, "true")
    for taint in taints.split():
        made = made.taint(taint)
    return [msgspec.convert(own, NodeClaim), *([made] if with_node else [])]


BOTH = f"{REGISTERED} {INITIALIZED}"
NEW = "new general in any zone"


@pytest.mark.parametrize(
    ("objects", "place"),
    [
        pytest.param(starting(with_node=False), "claim", id="no node yet"),
        pytest.param(starting(cpu="0"), "claim", id="not registered"),
        pytest.param(starting(labels=REGISTERED), "n", id="registered"),
        pytest.param(starting(labels=REGISTERED, cpu="0"), "n", id="registered, and of no size yet"),
        pytest.param(starting(labels=BOTH, cpu="0"), NEW, id="initialized, and of no size"),
        pytest.param(starting(labels=REGISTERED, taints="starts"), "n", id="a startup taint"),
        pytest.param(starting(labels=BOTH, taints="starts"), NEW, id="a startup taint that stays"),
        pytest.param(starting(labels=REGISTERED, taints="node.kubernetes.io/not-ready"), "n", id="not ready yet"),
        pytest.param(starting(labels=BOTH, taints="node.kubernetes.io/not-ready"), NEW, id="no longer ready"),
        pytest.param(starting(labels=REGISTERED, taints="readiness.k8s.io/network"), "n", id="a readiness gate"),
        pytest.param(starting(labels=REGISTERED, taints="starts other"), NEW, id="another taint"),
        pytest.param(
            starting(labels=BOTH, metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}), NEW, id="is being deleted"
        ),
        pytest.param(
            starting(labels=BOTH, conditions=[{"type": "InstanceTerminating", "status": "True"}]), NEW, id="terminates"
        ),
        pytest.param(
            starting(labels=BOTH, conditions=[{"type": "InstanceTerminating", "status": "False"}]),
            "n",
            id="does not terminate",
        ),
    ],
)
def test_when_a_node_that_starts_takes_pods(objects: list[Any], place: str) -> None:
    """Before the node is initialized, its NodeClaim states what the node will be."""
    assert decided([pool(), *objects, waiting()]) == [f"{place}: p"]


# Capacity reservations


def reserving(name: str, count: int) -> InstanceType:
    """A type with a reservation for so many nodes, which is cheaper than its other offering."""
    reserved = {"capacityType": "reserved", "price": 0.01, "reservationId": "r", "reservationCapacity": count}
    return instance_type(name, offerings=[{"zone": "a", **reserved}, {"zone": "a", "price": 0.1}])


CAPACITY_TYPE = "karpenter.sh/capacity-type"
ON_DEMAND = {"key": CAPACITY_TYPE, "operator": "In", "values": ["on-demand"]}
TAKEN = "one or more instance types with compatible reserved offerings are available, but could not be reserved"
WHOLE = [waiting(name, cpu="4") for name in ("a", "b")]


@pytest.mark.parametrize(
    ("types", "pools", "lines"),
    [
        pytest.param(
            [reserving("small", 1)],
            [pool("heavy", weight=9), pool("light", ON_DEMAND)],
            ["new heavy in any zone: a", f"b: {TAKEN}"],
            id="the second pod waits for a reservation, and gets no node of a lighter NodePool",
        ),
        pytest.param(
            [reserving("large", 2), reserving("small", 1)],
            [pool("heavy", weight=9)],
            ["new heavy in any zone: a", f"b: {TAKEN}"],
            id="of two counts of one reservation the smaller is true",
        ),
        pytest.param(
            [reserving("small", 0)],
            [pool("light", ON_DEMAND)],
            ["new light in any zone: a", "new light in any zone: b"],
            id="a NodePool that does not use reservations",
        ),
    ],
)
def test_pods_wait_for_reservations(types: list[InstanceType], pools: list[NodePool], lines: list[str]) -> None:
    assert decided([*pools, *WHOLE], *types) == lines


def test_without_the_feature_gate_no_pod_waits_for_a_reservation() -> None:
    found = decided([pool(), *WHOLE], reserving("small", 1), reserved_capacity=False)
    assert found == ["new general in any zone: a", "new general in any zone: b"]


# Host ports


def with_ports(name: str, *addresses: str) -> PodBuilder:
    pod = waiting(name)
    for address in addresses:
        pod = pod.host_port(80, "UDP" if address == "UDP" else "TCP", "" if address == "UDP" else address)
    return pod


@pytest.mark.parametrize(
    ("first", "second", "share"),
    [
        pytest.param(["10.0.0.1"], ["10.0.0.1"], False, id="one address"),
        pytest.param(["10.0.0.1"], ["10.0.0.2"], True, id="two addresses"),
        pytest.param(["10.0.0.1"], [""], False, id="an address and all"),
        pytest.param(["10.0.0.1"], ["::"], False, id="an address and all of IPv6"),
        pytest.param(["10.0.0.1"], ["::ffff:10.0.0.1"], False, id="IPv4 in IPv6"),
        pytest.param(["fe80::1"], ["fe80::2"], True, id="two addresses of IPv6"),
        pytest.param([""], ["UDP"], True, id="two protocols"),
        pytest.param(["10.0.0.1", "UDP"], ["10.0.0.2", "UDP"], False, id="the second port of each"),
        pytest.param([""], [], True, id="no port"),
    ],
)
@pytest.mark.parametrize("is_running", [False, True], ids=["new node", "existing node"])
def test_host_ports_on_one_node(first: list[str], second: list[str], share: bool, is_running: bool) -> None:
    if is_running:
        objects = [pool(), node("n"), with_ports("a", *first).on("n"), with_ports("b", *second)]
        assert decided(objects) == (["n: b"] if share else ["new general in any zone: b"])
    else:
        limited = pool(limits={"cpu": "4"})
        found = decided([limited, with_ports("a", *first), with_ports("b", *second)])
        assert found[0] == f"new general in any zone: {'a b' if share else 'a'}"


def test_a_port_of_a_pod_that_was_added_counts_on_a_node_that_exists() -> None:
    objects = [pool(), node("n"), with_ports("a", ""), with_ports("b", "")]
    assert decided(objects) == ["n: a", "new general in any zone: b"]


def test_ports_that_clash_are_named() -> None:
    agent = {
        "metadata": {"name": "agent", "namespace": "default"},
        "spec": {"template": {"spec": with_ports("agent", "10.0.0.1").data["spec"]}},
    }
    (line,) = decided([pool(), msgspec.convert(agent, DaemonSet), with_ports("p", "10.0.0.1")])
    assert line == (
        "p: checking host port usage, pod hostport conflicts with existing hostport configuration "
        "(existing-hostport-ip=10.0.0.1, existing-hostport-port=80, existing-hostport-protocol=TCP, "
        "pod-hostport-ip=10.0.0.1, pod-hostport-port=80, pod-hostport-protocol=TCP)"
    )


# Topology rules

WEB = {"matchLabels": {"app": "web"}}


def spreading(pod: PodBuilder, **fields: Any) -> PodBuilder:
    constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": WEB}
    return pod.spec(topologySpreadConstraints=[constraint | fields])


def near(pod: PodBuilder, app: str, kind: str = "podAffinity") -> PodBuilder:
    rule = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": app}}}
    return pod.spec(affinity={kind: {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}})


def ssd(name: str, zone: str) -> NodeBuilder:
    return node(name).zone(zone).label("disk", "ssd")


@pytest.mark.parametrize(
    ("other", "fields", "place"),
    [
        pytest.param(node("x").zone("a"), {}, "a", id="no node for the pod"),
        pytest.param(node("x").zone("a"), {"nodeAffinityPolicy": "Ignore"}, "b", id="counted on request"),
        pytest.param(ssd("x", "a"), {}, "b", id="a node for the pod"),
        pytest.param(ssd("x", "a").taint("t"), {}, "b", id="a taint is no reason"),
        pytest.param(ssd("x", "a").taint("t"), {"nodeTaintsPolicy": "Honor"}, "a", id="but on request"),
        pytest.param(ssd("x", "a"), {"nodeTaintsPolicy": "Honor"}, "b", id="on request, and without a taint"),
    ],
)
def test_pods_on_which_nodes_count_for_a_spread_constraint(
    other: NodeBuilder, fields: dict[str, Any], place: str
) -> None:
    """Zone a has two pods on the other node x, which is full; zone b has one."""
    other.data["status"]["allocatable"]["cpu"] = "0"
    pods = [running("r1", "x"), running("r2", "x"), running("r3", "b")]
    pod = spreading(waiting().selector(disk="ssd"), **fields)
    assert decided([pool(), other, ssd("a", "a"), ssd("b", "b"), *pods, pod]) == [f"{place}: p"]


def going(made: NodeBuilder) -> NodeBuilder:
    made.data["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return made


@pytest.mark.parametrize(
    ("third", "place"),
    [
        pytest.param(node("c"), "c", id="an empty node"),
        pytest.param(node("c", "general").spec(providerID=""), "a", id="a node that Karpenter does not know yet"),
        pytest.param(going(node("c")), "a", id="a node that is being deleted"),
    ],
)
def test_which_nodes_add_a_domain(third: NodeBuilder, place: str) -> None:
    objects = [
        pool(),
        node("a").zone("a"),
        node("b").zone("b"),
        third.zone("c"),
        running("r1", "a"),
        running("r2", "b"),
    ]
    assert decided([*objects, spreading(waiting())]) == [f"{place}: p"]


@pytest.mark.parametrize(("least", "placed"), [(2, True), (3, False)])
def test_too_few_domains_count_as_an_empty_one(least: int, placed: bool) -> None:
    objects = [pool(), node("a").zone("a"), node("b").zone("b"), running("r1", "a"), running("r2", "b")]
    (line,) = decided([*objects, spreading(waiting(), minDomains=least)])
    assert line == "a: p" if placed else line.startswith("p: unsatisfiable topology constraint for topology spread, ")


def test_a_pod_counts_for_each_constraint_that_its_node_counts_for() -> None:
    """The constraint of pod a counts nodes with hard disks only; that of the others counts every node."""
    first = spreading(waiting("a").selector(disk="hdd"))
    objects = [pool(), node("a").zone("a"), node("b").zone("b"), first, *(spreading(waiting(each)) for each in "bc")]
    *placed, refused = decided(objects)
    assert placed == ["a: b", "b: c"]
    assert refused.startswith('a: incompatible requirements, label "disk" does not have known values')


def test_rules_that_leave_different_domains() -> None:
    """The least pods are in zone a, and the pods to be near to are in zone b."""
    nodes = [node("a", cpu="0").zone("a"), node("b", cpu="0").zone("b")]
    pods = [running("web", "b"), running("db", "b", "db"), near(spreading(waiting()), "db")]
    (line,) = decided([pool("general", {"key": ZONE, "operator": "In", "values": ["a", "b"]}), *nodes, *pods])
    assert line == f"p: key {ZONE}, {ZONE} DoesNotExist not in {ZONE} In [a b]"


ELSEWHERE = make_pod("r", "elsewhere").uid("r").label("app", "web").on("a")
APART = "podAntiAffinity"


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        pytest.param({}, "a", id="its own namespace"),
        pytest.param({"namespaces": ["elsewhere"]}, "b", id="another by name"),
        pytest.param({"namespaceSelector": {}}, "b", id="all namespaces"),
        pytest.param({"namespaceSelector": {"matchLabels": {"team": "x"}}}, "b", id="by label"),
        pytest.param({"namespaceSelector": {"matchLabels": {"team": "y"}}}, "a", id="by another label"),
        pytest.param(
            {"namespaceSelector": {"matchLabels": {"team": "y"}}, "namespaces": ["elsewhere"]},
            "b",
            id="by label and name",
        ),
    ],
)
@pytest.mark.parametrize("is_inverse", [False, True], ids=["the pod's own rule", "the rule of the pod that runs"])
def test_namespaces_of_anti_affinity(fields: dict[str, Any], place: str, is_inverse: bool) -> None:
    """A pod of namespace elsewhere runs in zone a; one of the two wants to be apart from the other."""
    namespaces = [
        msgspec.convert({"metadata": {"name": name, "labels": {"team": team}}}, Namespace)
        for name, team in (("default", "z"), ("elsewhere", "x"))
    ]
    runs, pod = ELSEWHERE, waiting()
    if is_inverse:
        runs, pod = make_pod("r").label("app", "web").on("a"), waiting()
        runs.data["metadata"]["namespace"], pod.data["metadata"]["namespace"] = "default", "elsewhere"
    owner = near(runs if is_inverse else pod, "web", APART)
    owner.data["spec"]["affinity"][APART]["requiredDuringSchedulingIgnoredDuringExecution"][0].update(fields)
    (line,) = decided([pool(), node("a").zone("a"), node("b").zone("b"), *namespaces, runs, pod])
    assert line.startswith(f"{place}: ")


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        pytest.param([], "b", id="without keys"),
        pytest.param(["version"], "a", id="by version"),
        pytest.param(["none"], "b", id="a label that the pod lacks"),
    ],
)
def test_match_label_keys_of_a_spread_constraint(keys: list[str], place: str) -> None:
    """Zone a has a pod of another version."""
    nodes = [node("a").zone("a"), node("b").zone("b")]
    pod = spreading(waiting().label("version", "2"), matchLabelKeys=keys)
    assert decided([pool(), *nodes, running("r", "a").label("version", "1"), pod]) == [f"{place}: p"]


# Nodes that are being deleted


GOING = going(node("going", "general").status(conditions=[]))


@pytest.mark.parametrize(
    ("pod", "moves"),
    [
        pytest.param(make_pod("p"), True, id="a pod"),
        pytest.param(make_pod("p").owner("ReplicaSet", "rs", apiVersion="apps/v1"), True, id="of a ReplicaSet"),
        pytest.param(make_pod("p").terminating(), False, id="a pod that is being deleted"),
        pytest.param(
            make_pod("p").terminating().owner("StatefulSet", "db", apiVersion="apps/v1"),
            True,
            id="of a StatefulSet, which makes it again",
        ),
        pytest.param(make_pod("p").phase("Succeeded"), False, id="a pod that has finished"),
        pytest.param(
            make_pod("p").phase("Failed").owner("StatefulSet", "db", apiVersion="apps/v1"), False, id="failed"
        ),
        pytest.param(make_pod("p").owner("DaemonSet", "agent", apiVersion="apps/v1"), False, id="of a DaemonSet"),
        pytest.param(make_pod("p").owner("Node", "going", apiVersion="v1"), False, id="of the kubelet"),
        pytest.param(make_pod("p").annotate(**{"karpenter.sh/do-not-disrupt": "true"}), False, id="a protected pod"),
        pytest.param(make_pod("p").label("app", "guarded"), False, id="a pod that no budget lets go"),
    ],
)
def test_which_pods_of_a_node_that_goes_need_another(pod: PodBuilder, moves: bool) -> None:
    budget = {
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "guarded"}}},
    }
    objects = [pool(), msgspec.convert(budget, PodDisruptionBudget), GOING, pod.requests(cpu="1").on("going")]
    assert decided(objects) == (["new general in any zone: p"] if moves else [])


@pytest.mark.parametrize(
    ("pages", "memory"),
    [pytest.param("1Gi", "15Gi", id="pages"), pytest.param("17Gi", "0", id="more pages than memory")],
)
def test_huge_pages_are_taken_from_the_memory(pages: str, memory: str) -> None:
    found = allocatable_of(instance_type(capacity={"memory": "16Gi", "hugepages-2Mi": pages}))
    assert str(found["memory"]) == memory
