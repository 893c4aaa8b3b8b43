"""Changes that make a pod fit: which are thought of, in which order, and that what is told was tried."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.api.core import Namespace, ObjectMeta
from ksched_cli.api.json_patch import add, apply_patch, drop, patch_pod, pointer
from ksched_cli.api.pod_resources import requests_of
from ksched_cli.api.storage import PersistentVolume, PersistentVolumeClaim
from ksched_cli.api.workloads import PriorityClass
from ksched_cli.plan.reasons.fixes.values import Fix, Fixes, Promise
from ksched_cli.plugins.node_resources_fit.guide import lower_requests
from ksched_cli.sources.loaded import Autoscaler
from tests.builders import PodBuilder, make_node, make_pod, make_workload
from tests.clusters import clusters
from tests.lanes import examples
from tests.plan.explaining import explained
from tests.plan.test_explain import ZONE, anti, running, spread


def node(name: str, cpu: str = "4", **labels: str) -> Any:
    return make_node(name).allocatable(cpu=cpu, memory="8Gi", pods=10).label(**labels)


def fixes(items: list[Any], pod: str = "p") -> Fixes:
    objects = [each.obj() if hasattr(each, "obj") else each for each in items if not isinstance(each, Autoscaler)]
    found = explained(objects, pod, autoscalers=[each for each in items if isinstance(each, Autoscaler)])
    assert found.fixes is not None
    return found.fixes


def by_text(items: list[Any]) -> dict[str, Fix]:
    return {fix.text: fix for fix in fixes(items).found}


def pod(**requests: Any) -> PodBuilder:
    return make_pod("p").requests(**requests)


@pytest.mark.parametrize(
    ("items", "text", "flags", "patch", "on"),
    [
        pytest.param(
            [node("n1"), running("r", "n1", "3"), pod(cpu="2")],
            "lower the cpu request from 2 to 1",
            (),
            [{"op": "add", "path": "/spec/containers/0/resources/requests/cpu", "value": "1"}],
            "n1",
            id="a lower request",
        ),
        pytest.param(
            [node("n1"), running("r", "n1", "3"), pod(cpu="2")],
            "delete pod/default/r (3 cpu on n1)",
            ("--delete pod/default/r",),
            [],
            "n1",
            id="a pod fewer",
        ),
        pytest.param(
            [node("n1"), running("r", "n1", "3"), pod(cpu="2")],
            "one more node like n1",
            ("--clone-node n1",),
            [],
            "n1-clone-1",
            id="one more node",
        ),
        pytest.param(
            [node("n1").taint("gpu", "yes"), pod(cpu="1").toleration("x")],
            "tolerate taint gpu=yes:NoSchedule",
            (),
            [
                {
                    "op": "add",
                    "path": "/spec/tolerations/-",
                    "value": {"key": "gpu", "operator": "Equal", "effect": "NoSchedule", "value": "yes"},
                }
            ],
            "n1",
            id="a toleration",
        ),
        pytest.param(
            [node("n1").taint("gpu"), pod(cpu="1")],
            "take taint gpu:NoSchedule off n1",
            ("--taint n1=gpu:NoSchedule-",),
            [],
            "n1",
            id="a taint taken off",
        ),
        pytest.param(
            [node("n1").cordoned().taint("node.kubernetes.io/unschedulable"), pod(cpu="1")],
            "uncordon n1",
            ("--uncordon n1",),
            [],
            "n1",
            id="a cordoned node with the node controller's taint",
        ),
        pytest.param(
            [node("n1", disk="hdd"), pod().selector(disk="ssd")],
            "leave disk=ssd out of the node selector",
            (),
            [{"op": "remove", "path": "/spec/nodeSelector/disk"}],
            "n1",
            id="a selector less",
        ),
        pytest.param(
            [node("n1"), pod().selector(disk="ssd")],
            "label n1 disk=ssd",
            ("--label n1=disk=ssd",),
            [],
            "n1",
            id="a label",
        ),
        pytest.param(
            [
                node("n1", disk="hdd"),
                pod().node_affinity({"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}),
            ],
            "let its node affinity take disk=hdd too",
            (),
            [
                {
                    "op": "add",
                    "path": "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchExpressions/0/values/-",
                    "value": "hdd",
                }
            ],
            "n1",
            id="one more value of an affinity",
        ),
        pytest.param(
            [node("n1"), make_pod("r").host_port(80).on("n1"), make_pod("p").host_port(80)],
            "do without host port 80/TCP",
            (),
            [{"op": "remove", "path": "/spec/containers/0/ports/0/hostPort"}],
            "n1",
            id="a host port less",
        ),
        pytest.param(
            [
                node("n1").zone("a"),
                node("n2", cpu="1").zone("b"),
                make_pod("r").label(app="web").on("n1"),
                pod(cpu="2").label(app="web").spec(topologySpreadConstraints=spread()),
            ],
            f"raise maxSkew from 1 to 2 over {ZONE}",
            (),
            [{"op": "add", "path": "/spec/topologySpreadConstraints/0/maxSkew", "value": 2}],
            "n1",
            id="a larger skew",
        ),
        pytest.param(
            [node("n1").zone("a"), make_pod("r").label(app="db").on("n1"), make_pod("p").spec(affinity=anti(app="db"))],
            f"do without its required pod anti-affinity over {ZONE}",
            (),
            [{"op": "remove", "path": "/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution"}],
            "n1",
            id="no anti-affinity",
        ),
        pytest.param(
            [node("n1").zone("a"), make_pod("r").spec(affinity=anti(app="db")).on("n1"), make_pod("p").label(app="db")],
            "delete pod/default/r",
            ("--delete pod/default/r",),
            [],
            "n1",
            id="the pod that keeps it away",
        ),
        pytest.param(
            [node("n1"), make_pod("p").gate("a").gate("b")],
            "remove its scheduling gates (a, b)",
            (),
            [{"op": "add", "path": "/spec/schedulingGates", "value": []}],
            "n1",
            id="gates",
        ),
        pytest.param(
            [node("n1"), make_pod("p").scheduler("mine")],
            "let default-scheduler schedule it",
            (),
            [{"op": "add", "path": "/spec/schedulerName", "value": "default-scheduler"}],
            "n1",
            id="another scheduler",
        ),
    ],
)
def test_a_fix(items: list[Any], text: str, flags: tuple[str, ...], patch: list[Any], on: str) -> None:
    fix = by_text(items)[text]
    assert (fix.flags, list(fix.patch), fix.node) == (flags, patch, on)


def workload(kind: str, name: str, replicas: int, owner: tuple[str, str] | None = None, **requests: str) -> Any:
    from ksched_cli.api import workloads

    made = {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "resources": {"requests": requests}}] if requests else []},
            },
        },
    }
    if owner:
        made["metadata"]["ownerReferences"] = [{"kind": owner[0], "name": owner[1], "controller": True}]
    return msgspec.convert(made, getattr(workloads, kind))


def priority_class(name: str, value: int, policy: str = "PreemptLowerPriority") -> PriorityClass:
    return PriorityClass(metadata=ObjectMeta(name=name), value=value, preemption_policy=policy)


def beside_web(replicas: int, *more: Any, pinned: bool = True, **spec: Any) -> list[Any]:
    """Nodes that each have a replica of Deployment web, and a pod for which the one on n1 would have to leave. `pinned`:
    no other change helps, since the pod has to be on n1."""
    made: list[Any] = [node(f"n{number}").label("kubernetes.io/hostname", f"n{number}") for number in range(1, 4)]
    for number in range(1, replicas + 1):
        other = running(f"web-1-{number}", f"n{number}", "3500m").label(app="web").spec(**spec)
        made.append(other.owner("ReplicaSet", "web-1"))
    made += [running(f"full-{number}", f"n{number}", "3500m").priority(1) for number in range(replicas + 1, 4)]
    sets = [workload("Deployment", "web", replicas), workload("ReplicaSet", "web-1", replicas, ("Deployment", "web"))]
    waiting = pod(cpu="3500m").selector(**({"kubernetes.io/hostname": "n1"} if pinned else {}))
    return [*made, waiting, *sets, *more]


def test_one_replica_fewer_by_way_of_the_deployment() -> None:
    found = by_text(beside_web(2))
    fix = found["one replica fewer of deployment/default/web (3500m cpu on n1)"]
    assert fix.flags == ("--scale deployment/default/web=1",)
    assert fix.commands == ("kubectl -n default scale deployment/web --replicas=1",)
    target = {"kind": "Deployment", "namespace": "default", "name": "web"}
    assert fix.changes == ({"op": "scale", "target": target, "replicas": 1},)


@pytest.mark.parametrize(
    "items",
    [
        pytest.param(beside_web(1), id="its last replica"),
        pytest.param(
            beside_web(2, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]), id="with data"
        ),
        pytest.param(
            beside_web(2, Autoscaler("web", "default", "Deployment", "web", 1, 9)), id="an autoscaler sets its replicas"
        ),
        pytest.param(beside_web(2, pinned=False), id="one more node does"),
    ],
)
def test_another_workload_is_left_alone(items: list[Any]) -> None:
    assert not any("fewer" in text for text in by_text(items))


def bound(zones: list[str], *nodes: Any, **labels: str) -> list[Any]:
    """A pod whose claim is bound to a volume of these zones, and that selects nodes with these labels."""
    terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": zones}]}]
    bound_by = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    claim = {"metadata": {"name": "data", "namespace": "default", **bound_by}, "spec": {"volumeName": "v"}}
    volume = {"metadata": {"name": "v"}, "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}}
    mounts = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    stored = [msgspec.convert(claim, PersistentVolumeClaim), msgspec.convert(volume, PersistentVolume)]
    return [*nodes, pod(cpu="2").spec(volumes=mounts).selector(**labels), *stored]


A, B = node("a1", disk="ssd", nodepool="fast").zone("a"), node("b1").zone("b")


@pytest.mark.parametrize(
    ("items", "texts"),
    [
        pytest.param(
            bound(["b"], A, B, disk="ssd"),
            ["one more node in pool fast, like a1 (a), in zone b, where the pool has none"],
            id="nodes of its kind are in another zone",
        ),
        pytest.param(
            bound(["b"], A, node("b1", "1", nodepool="fast").zone("b")),
            ["one more node in pool fast, like a1 (a), in zone b"],
            id="nodes of its pool are too small in its zone",
        ),
        pytest.param(
            bound(["b"], A, B, running("r", "b1", "3")),
            ["one more node like b1"],
            id="a node of its kind is in its zone",
        ),
        pytest.param(
            bound(["region-c"], A),
            ["one more node in pool fast, like a1 (a), in zone region-c, which has no node"],
            id="no node at all",
        ),
        pytest.param(bound(["b"], A, B, **{ZONE: "a"}), [], id="its selector wants another zone"),
        pytest.param(bound(["b"], A, B, disk="nvme"), [], id="no node is of its kind"),
    ],
)
def test_a_node_in_the_zone_of_the_volume(items: list[Any], texts: list[str]) -> None:
    assert [text for text in by_text(items) if "node " in text and "selector" not in text] == texts


def never_preempts(*classes: PriorityClass, **spec: Any) -> list[Any]:
    """A pod of priority class batch that would fit if it evicted the other one, and may not."""
    waiting = pod(cpu="3").priority(9).spec(priorityClassName="batch", preemptionPolicy="Never", **spec)
    return [node("n1"), running("r", "n1", "3"), waiting, *classes]


@pytest.mark.parametrize(
    ("items", "text", "patch"),
    [
        pytest.param(
            never_preempts(priority_class("batch", 9)),
            "let it preempt: do without preemptionPolicy Never",
            {"/spec/preemptionPolicy": "PreemptLowerPriority"},
            id="by its spec",
        ),
        pytest.param(
            never_preempts(priority_class("batch", 9, "Never"), priority_class("mid", 9), priority_class("top", 10)),
            "give it priority class mid (9), which lets it preempt",
            {
                "/spec/priorityClassName": "mid",
                "/spec/priority": 9,
                "/spec/preemptionPolicy": "PreemptLowerPriority",
            },
            id="by its class, and another class has its priority",
        ),
        pytest.param(
            never_preempts(priority_class("batch", 9, "Never"), priority_class("top", 10, "Never")),
            "create priority class batch-preempting (9, which lets it preempt), and give it that class",
            {
                "/spec/priorityClassName": "batch-preempting",
                "/spec/priority": 9,
                "/spec/preemptionPolicy": "PreemptLowerPriority",
            },
            id="by its class, and no class lets it preempt",
        ),
    ],
)
def test_a_pod_that_may_not_preempt_is_let(items: list[Any], text: str, patch: dict[str, Any]) -> None:
    found = by_text(items)
    assert [each for each in found if "preempt" in each] == [text]
    assert {each["path"]: each["value"] for each in found[text].patch} == patch
    assert (found[text].node, found[text].victims) == ("n1", ("default/r",))


def test_a_new_priority_class_is_created_before_the_pod_has_it() -> None:
    (fix,) = [
        each for text, each in by_text(never_preempts(priority_class("batch", 9, "Never"))).items() if "cre" in text
    ]
    assert [each["op"] for each in fix.changes] == ["create", "patch"]
    assert fix.changes[0]["object"]["metadata"] == {"name": "batch-preempting"}
    assert [command.partition(" ")[0] for command in fix.commands] == ["echo", "kubectl"]


def test_preemption_that_would_not_help_is_no_fix() -> None:
    items = never_preempts(priority_class("batch", 9, "Never"))
    items[1].priority(9)
    assert not any("preempt" in text for text in by_text(items))


def rolling(*more: Any) -> list[Any]:
    """A rollout of a Deployment that waits: its new pod needs the place of the old one."""
    old = running("web-1-x", "n1", "3").label(app="web").owner("ReplicaSet", "web-1")
    new = pod(cpu="3").label(app="web").owner("ReplicaSet", "web-2")
    sets = [workload("ReplicaSet", f"web-{number}", 1, ("Deployment", "web"), cpu="3") for number in (1, 2)]
    sets[1].spec.template.spec.containers[0].image = "new"
    deployment = workload("Deployment", "web", 1, cpu="3")
    deployment.spec.template = sets[1].spec.template
    return [node("n1"), old, new, deployment, *sets, priority_class("high", 9), *more]


def test_no_pod_gets_the_place_of_another_pod_of_its_workload() -> None:
    """One pod has a node before and after: nothing is gained."""
    found = by_text(rolling())
    assert "one more node like n1" in found
    assert not any("priority" in text for text in found)


def test_a_bare_pod_that_is_created_again_is_the_newest_of_the_queue() -> None:
    """One cpu is free. The pod comes first and asks for 2; if it is created again to ask for 1, the other one comes
    first, and has the place."""
    full, first = running("r", "n1", "3"), pod(cpu="2").created("2026-01-01T09:00:00Z")
    other = make_pod("q").requests(cpu="1").created("2026-01-01T09:30:00Z")
    assert "lower the cpu request from 2 to 1" in by_text([node("n1"), full, first])
    assert "lower the cpu request from 2 to 1" not in by_text([node("n1"), full, first, other])


def test_a_bare_pod_that_gets_a_toleration_keeps_its_turn() -> None:
    """The API server lets tolerations be added to a pod that is there."""
    first = pod(cpu="1").created("2026-01-01T09:00:00Z")
    other = make_pod("q").requests(cpu="1").toleration("gpu", "Exists").created("2026-01-01T09:30:00Z")
    found = by_text([node("n1", "1").taint("gpu"), first, other])
    assert found["tolerate taint gpu:NoSchedule"].left_out == ("default/q",)


def test_its_own_replicas_and_daemons_are_left_alone() -> None:
    daemon, own = (
        running("d", "n1", "2").owner("DaemonSet", "logs"),
        running("q", "n1", "2").owner("ReplicaSet", "web"),
    )
    items = [node("n1"), daemon, own, pod(cpu="2").owner("ReplicaSet", "web")]
    assert not any("delete" in text or "fewer" in text for text in by_text(items))


def test_what_is_changed_in_a_template_is_changed_for_all_replicas_that_wait() -> None:
    """One more cpu is free on n1, and the replicas before it would take it if they asked for less, too."""

    def replica(name: str) -> PodBuilder:
        return make_pod(name).label(app="web").requests(cpu="2").owner("ReplicaSet", "web")

    def cluster(replicas: int) -> list[Any]:
        return [node("n1"), running("r", "n1", "3"), workload("ReplicaSet", "web", replicas, cpu="2")]

    alone = by_text([*cluster(1), replica("p")])
    assert "lower the cpu request from 2 to 1" in alone
    assert alone["lower the cpu request from 2 to 1"].promise == Promise(1, 1)
    among = by_text([*cluster(2), replica("a"), replica("p")])
    assert "lower the cpu request from 2 to 1" not in among
    # Then one replica has a place and the other has none: that is no fix for the workload.
    first = fixes([*cluster(2), replica("a"), replica("p")], "a")
    assert "lower the cpu request from 2 to 1" not in [each.text for each in first.found]


def test_a_priority_class_that_is_there_comes_before_one_that_is_not() -> None:
    classes = [priority_class(name, value) for name, value in (("low", 0), ("mid", 5), ("high", 50))]
    found = fixes([node("n1"), running("r", "n1", "4").priority(4), pod(cpu="4").priority(0), *classes])
    fix = next(each for each in found.found if "priority" in each.text)
    assert fix.text == "give it priority class mid (5)"
    assert {each["path"]: each["value"] for each in fix.patch} == {
        "/spec/priorityClassName": "mid",
        "/spec/priority": 5,
        "/spec/preemptionPolicy": "PreemptLowerPriority",
    }
    assert (fix.node, fix.victims) == ("n1", ("default/r",))


def test_where_one_change_does_nothing_is_added_to_it() -> None:
    texts = list(by_text([node("n1").taint("gpu"), node("n2").taint("gpu").taint("spot"), pod(cpu="1")]))
    assert texts == ["tolerate taint gpu:NoSchedule"]


def test_nothing_is_changed_in_a_namespace_that_is_being_deleted() -> None:
    namespace = Namespace(metadata=ObjectMeta(name="default", deletion_timestamp="2026-01-01T09:00:00Z"))
    found = fixes([node("n1"), pod(cpu="9"), namespace])
    assert (found.found, found.why_none) == ((), "none, namespace default is being deleted")


def test_two_tolerations_become_one_list() -> None:
    (fix, *_) = fixes([node("n1").taint("a").taint("b"), pod(cpu="1")]).found
    assert fix.text == "tolerate taint a:NoSchedule and tolerate taint b:NoSchedule"
    (operation,) = fix.patch
    assert operation["path"] == "/spec/tolerations"
    assert [each["key"] for each in operation["value"]] == ["a", "b"]


NOT_LARGE_ENOUGH = "no node of the cluster is large enough, even if it is empty: ksched size finds a node that is"


@pytest.mark.parametrize(
    ("items", "said"),
    [
        pytest.param([node("n1"), make_pod("p").gate("x").terminating()], "none, it is being deleted", id="leaving"),
        pytest.param(
            [node("n1"), make_pod("p").gate("example.com/x")],
            "the controller of scheduling gate example.com/x takes it off when the pod may be scheduled",
            id="a gate of a controller",
        ),
        pytest.param(
            [node("n1"), make_pod("p").scheduler("volcano")], "scheduler volcano places it", id="another scheduler"
        ),
        pytest.param([node("n1"), pod(cpu="99")], NOT_LARGE_ENOUGH, id="too large"),
        pytest.param(
            [node("n1"), node("n2").taint("node.kubernetes.io/not-ready"), pod(cpu="99")],
            NOT_LARGE_ENOUGH,
            id="too large, and one node is not ready",
        ),
        pytest.param(
            [node("n1"), node("n2", cpu="200").taint("node.kubernetes.io/not-ready"), pod(cpu="99")],
            "no change of the pod or of nodes is known that would help",
            id="too large for the node that is ready",
        ),
        pytest.param([pod(cpu="1")], "no change of the pod or of nodes is known that would help", id="no node"),
    ],
)
def test_where_nothing_helps(items: list[Any], said: str) -> None:
    found = fixes(items)
    assert (found.found, found.tried, found.why_none) == ((), 0, said)


def waiting_replica(name: str) -> PodBuilder:
    return make_pod(name).requests(cpu="20").owner("ReplicaSet", "web")


def filled(name: str, cpu: str) -> list[Any]:
    """Pods of a DaemonSet that is not in the input: none of them can be deleted for good."""
    return [running(f"on-{name}", name, cpu).owner("Node", name)]


def daemon_set(cpu: str, disk: str) -> Any:
    from ksched_cli.api.workloads import DaemonSet

    made = make_workload("DaemonSet", "logs", requests={"cpu": cpu}, pod={"nodeSelector": {"disk": disk}})
    return msgspec.convert({**made, "metadata": {"name": f"logs-{disk}", "namespace": "default"}}, DaemonSet)


@pytest.mark.parametrize(
    ("items", "text"),
    [
        pytest.param(
            [node("big", cpu="40"), *filled("big", "40"), node("mid", cpu="25"), *filled("mid", "25"), pod(cpu="20")],
            "one more node like mid",
            id="the smallest make",
        ),
        pytest.param(
            [node("n1", cpu="45"), *filled("n1", "45"), *(waiting_replica(name) for name in ("a", "b", "p"))],
            "2 more nodes like n1",
            id="as many nodes as all replicas need",
        ),
        pytest.param(
            [
                node("n0", cpu="160"),
                *(waiting_replica(name) for name in ("a", "b", "c", "d", "e", "f", "g", "h", "i", "p")),
                node("n1", cpu="20", disk="ssd"),
                *filled("n1", "20"),
            ],
            "2 more nodes like n1",
            id="as many as the replicas need that find none",
        ),
        pytest.param(
            [
                node("n1", cpu="20"),
                *filled("n1", "20"),
                *(make_pod(f"other-{at}").requests(cpu="20").priority(9) for at in range(2)),
                pod(cpu="20"),
            ],
            "3 more nodes like n1",
            id="no more than it takes beside pods of others",
        ),
        pytest.param(
            [
                node("n1", cpu="20"),
                *filled("n1", "20"),
                *(make_pod(f"other-{at}").requests(cpu="20").priority(9) for at in range(5)),
                pod(cpu="20"),
            ],
            "6 more nodes like n1",
            id="more than half of the most that are tried",
        ),
        pytest.param(
            [
                node("mid", cpu="20", disk="ssd"),
                node("big", cpu="40", disk="ssd"),
                *filled("mid", "20"),
                *filled("big", "40"),
                daemon_set("1", "ssd"),
                pod(cpu="20"),
            ],
            "one more node like big",
            id="a make that the pods of DaemonSets make too small is left out",
        ),
    ],
)
def test_the_smallest_node_that_helps(items: list[Any], text: str) -> None:
    (found,) = [each.text for each in fixes(items).found if each.flags and "node" in each.flags[0]]
    assert found == text


def test_no_more_nodes_than_a_part_of_the_replicas_can_use() -> None:
    """Zone b has no room, and no more than two more of them can be in zone a."""
    constraints = spread(skew=2)
    replicas = [waiting_replica(name).label(app="web").spec(topologySpreadConstraints=constraints) for name in "pqrs"]
    cluster = [node("a1", cpu="20").zone("a"), *filled("a1", "20"), node("b1").zone("b"), *filled("b1", "4")]
    (found,) = fixes([*cluster, *replicas]).found
    assert (found.text, found.promise) == ("2 more nodes like a1", Promise(2, 4))


def test_who_finds_no_place_then_is_told() -> None:
    other = running("q", "n1", "3").owner("ReplicaSet", "web")
    items = [node("n1"), other, workload("ReplicaSet", "web", 1, cpu="3"), pod(cpu="2"), priority_class("high", 9)]
    found = by_text(items)
    # A pod of a controller comes back: to delete it does not help, and preemption leaves it out.
    assert not any("delete" in text for text in found)
    fix = found["give it priority class high (9)"]
    assert fix.victims == ("default/q",)
    assert len(fix.left_out) == 1
    assert fix.left_out[0].startswith("default/web-")


def test_fixes_for_one_node() -> None:
    cluster = [node("n1"), node("n2").cordoned(), node("n3").taint("gpu"), pod(cpu="1")]
    found = explained([each.obj() for each in cluster], "p", node="n3").fixes
    assert found is not None
    assert [each.text for each in found.found] == ["take taint gpu:NoSchedule off n3", "tolerate taint gpu:NoSchedule"]
    assert found.on == "n3"
    assert explained([each.obj() for each in cluster], "p", node="n1").fixes is None


def test_the_pods_of_a_job_are_made_again_with_the_job() -> None:
    """Both pods find a node after the change, and no pod of before is left."""
    job = workload("Job", "w", 0, cpu="5")
    job.spec.parallelism, job.spec.completions, job.spec.selector = 2, 2, None
    waiting = [make_pod(name).label(app="web").requests(cpu="5").owner("Job", "w") for name in ("p", "q")]
    fix = by_text([node("n1"), node("n2"), job, *waiting])["lower the cpu request from 5 to 4"]
    assert (fix.promise, fix.lost) == (Promise(2, 2), ())
    assert [each["op"] for each in fix.changes] == ["delete", "delete", "delete", "create"]


def test_no_label_is_given_to_a_node_that_goes_away() -> None:
    """The pod tolerates the taint."""
    key = "node.kubernetes.io/not-ready"
    waiting = pod().selector(disk="ssd").toleration(key, "Exists")
    assert "label n1 disk=ssd" not in by_text([node("n1").taint(key), waiting])
    assert "label n1 disk=ssd" in by_text([node("n1"), waiting])


def test_a_placed_pod_needs_no_fix() -> None:
    assert explained([node("n1").obj(), pod(cpu="1").obj()], "p").fixes is None


@pytest.mark.slow
@given(clusters(max_nodes=4, max_running=5))
@settings(max_examples=examples(40), deadline=None)
def test_fixes_are_sorted_differ_in_kind_and_leave_the_input_alone(drawn: Any) -> None:
    nodes, others, pending = drawn
    before = [repr(each) for each in (*nodes, *others, pending)]
    found = explained([*nodes, *others, pending], pending.metadata.name)
    assert [repr(each) for each in (*nodes, *others, pending)] == before
    if found.fixes is not None:
        costs = [each.cost for each in found.fixes.found]
        assert costs == sorted(costs)
        assert len({each.text for each in found.fixes.found}) == len(costs)
        assert all(each.flags or each.patch for each in found.fixes.found)


# Requests


amounts = st.integers(1, 4000)


@given(st.lists(amounts, min_size=1, max_size=3), st.lists(amounts, max_size=2), st.booleans(), amounts)
@settings(max_examples=examples(200), deadline=None)
def test_a_lowered_request_fits_and_wastes_little(main: list[int], init: list[int], sidecar: bool, free: int) -> None:
    made = make_pod("p").requests(cpu=f"{main[0]}m")
    for each in main[1:]:
        made.container(resources={"requests": {"cpu": f"{each}m"}})
    for each in init:
        made.init(resources={"requests": {"cpu": f"{each}m"}}, **({"restartPolicy": "Always"} if sidecar else {}))
    wanted = made.obj()
    asked = requests_of(wanted, use_status=False)["cpu"]
    changes = lower_requests(wanted, {"cpu": min(free, asked)})
    if not changes:
        assert free * 4 < asked or asked <= free or len(main) + len(init) > 1
        return
    changed = wanted
    for change in changes:
        changed = patch_pod(changed, change.operations)
    assert requests_of(changed, use_status=False)["cpu"] <= free


def test_extended_resources_are_lowered_in_their_limits_too() -> None:
    made = make_pod("p").requests(example_com__gpu=4).limits(example_com__gpu=4).obj()
    (change,) = lower_requests(made, {"example.com/gpu": 3})
    at = "/spec/containers/0/resources"
    assert list(change.operations) == [
        {"op": "add", "path": f"{at}/requests", "value": {"example.com/gpu": "3"}},
        {"op": "add", "path": f"{at}/limits/example.com~1gpu", "value": "3"},
    ]


def test_memory_is_lowered_to_whole_mebibytes() -> None:
    made = make_pod("p").requests(memory="1Gi").obj()
    (change,) = lower_requests(made, {"memory": 700 * 2**20 + 5})
    assert [each["value"] for each in change.operations] == ["700Mi"]


def test_less_than_a_quarter_of_the_cpu_and_half_of_the_rest_is_no_remedy() -> None:
    assert lower_requests(make_pod("p").requests(cpu="10").obj(), {"cpu": 2499}) == ()
    assert lower_requests(make_pod("p").requests(memory="10Gi").obj(), {"memory": 4 * 2**30}) == ()


# JSON patches


def test_patches_are_those_of_the_rfc() -> None:
    document = {"a": [1, 2], "b/c": {"d~": 1}}
    operations = [add(3, "a", "-"), add(0, "a", 0), drop("a", 1), {"op": "replace", "path": "/b~1c/d~0", "value": 2}]
    assert apply_patch(json.loads(json.dumps(document)), operations) == {"a": [0, 2, 3], "b/c": {"d~": 2}}
    assert pointer("b/c", "d~", 0) == "/b~1c/d~0/0"
