"""Which changes are thought of before any is tried, in which order, and what each does to its object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from ksched_cli.api.core import Namespace, ObjectMeta, Taint
from ksched_cli.api.json_patch import add, drop
from ksched_cli.api.workloads import Deployment, PriorityClass, ReplicaSet
from ksched_cli.plan.explain.pods import find_subject
from ksched_cli.plan.reasons.fixes.propose import FixSituation, Occupants, RejectingNode, propose
from ksched_cli.plan.reasons.fixes.values import FixChange
from ksched_cli.plan.reasons.typos import Typo
from ksched_cli.sources.loaded import Autoscaler
from tests.builders import NodeBuilder, PodBuilder, loaded_of, make_node, make_pod, make_workload
from tests.plan.explaining import explained

Held = Mapping[str, Sequence[tuple[str, Mapping[str, int]]]]


def rejecting(
    node: NodeBuilder, pod: PodBuilder | None = None, *, workers: int = 1, alike: int = 1, mistaken: str = ""
) -> RejectingNode:
    """`workers` nodes have no taint, and each taint of the node is on so many nodes."""
    made = node.obj()
    taints = Counter({"": workers, **{str(each): alike for each in made.spec.taints}})
    typos = [Typo(mistaken, "", "", ())] if mistaken else []
    wanted = (pod or make_pod("p")).obj()
    return RejectingNode(
        wanted, made, cordoned=False, occupants=Occupants(loaded_of(), wanted, {}), taints=taints, typos=typos
    )


def without_labels() -> NodeBuilder:
    made = make_node("n")
    made.data["metadata"]["labels"] = {}
    return made


CORDONED = "node.kubernetes.io/unschedulable"
NOT_READY, CONTROL_PLANE = "node.kubernetes.io/not-ready", "node-role.kubernetes.io/control-plane"


@pytest.mark.parametrize(
    ("node", "operations"),
    [
        pytest.param(make_node("n").cordoned(), [drop("spec", "unschedulable")], id="cordoned"),
        pytest.param(make_node("n").cordoned().taint("a").taint(CORDONED), [drop("spec", "taints", 1), drop("spec", "unschedulable")], id="with the taint of the node controller"),
        pytest.param(make_node("n").taint(CORDONED).taint("a").taint(CORDONED, effect="NoExecute"), [drop("spec", "taints", 2), drop("spec", "taints", 0)], id="two taints, the last one first"),
    ],
)  # fmt: skip
def test_uncordon(node: NodeBuilder, operations: list[Any]) -> None:
    change = rejecting(node).uncordon()
    assert (change.text, change.kind, change.cost, change.commands) == (
        "uncordon n",
        "uncordon",
        1,
        ("kubectl uncordon n",),
    )
    assert list(change.changes[0].patch) == operations


@pytest.mark.parametrize(
    ("node", "alike", "is_taken_off"),
    [
        pytest.param(make_node("n").taint("a").taint("gpu", "yes"), 1, True, id="of one node"),
        pytest.param(make_node("n").taint("a").taint("gpu", "yes"), 2, False, id="of two nodes"),
        pytest.param(make_node("n").taint(CONTROL_PLANE).taint("gpu", "yes"), 1, False, id="of a control plane"),
    ],
)
def test_a_taint_that_is_taken_off(node: NodeBuilder, alike: int, is_taken_off: bool) -> None:
    place = rejecting(node, alike=alike)
    change = place.untaint(place.node.spec.taints[1])
    assert (change is not None) is is_taken_off
    if change is not None:
        assert (change.text, change.cost) == ("take taint gpu=yes:NoSchedule off n", 5)
        assert (change.commands, list(change.changes[0].patch)) == (
            ("kubectl taint nodes n gpu:NoSchedule-",),
            [drop("spec", "taints", 1)],
        )


def test_a_taint_of_a_state_is_left_to_its_controller() -> None:
    place = rejecting(make_node("n").taint(NOT_READY))
    (taint,) = place.node.spec.taints
    assert (place.untaint(taint), place.tolerate(taint)) == (None, None)


@pytest.mark.parametrize(
    ("pod", "workers", "cost"),
    [
        pytest.param(make_pod("p"), 1, 6.5, id="there are nodes without taints"),
        pytest.param(make_pod("p"), 0, 0.8, id="all nodes have taints"),
        pytest.param(make_pod("p").selector(pool="gpu"), 1, 0.8, id="the pod selects the node"),
    ],
)
@pytest.mark.parametrize("value", ["yes", ""])
def test_a_toleration(pod: PodBuilder, workers: int, cost: float, value: str) -> None:
    change = rejecting(make_node("n").label(pool="gpu").taint("gpu", value), pod, workers=workers).tolerate(
        Taint(key="gpu", value=value, effect="NoSchedule")
    )
    assert change is not None
    entry = {"key": "gpu", "operator": "Equal" if value else "Exists", "effect": "NoSchedule"}
    assert (change.cost, list(change.operations)) == (
        cost,
        [add([{**entry, **({"value": value} if value else {})}], "spec", "tolerations")],
    )


@pytest.mark.parametrize(
    ("node", "key", "mistaken", "operation"),
    [
        pytest.param(make_node("n").label(a="b"), "disk", "", add("ssd", "metadata", "labels", "disk"), id="a label more"),
        pytest.param(without_labels(), "disk", "", add({"disk": "ssd"}, "metadata", "labels"), id="its first label"),
        pytest.param(without_labels(), "disk", "disc", add({"disk": "ssd"}, "metadata", "labels"), id="another label is a mistake"),
        pytest.param(make_node("n"), "disk", "disk", None, id="the label is a mistake"),
        pytest.param(make_node("n").label(disk="hdd"), "disk", "", None, id="it has another value"),
        pytest.param(make_node("n"), "example.com/disk", "", None, id="of a controller"),
        pytest.param(make_node("n"), "nodepool", "", None, id="the name of a pool"),
    ],
)  # fmt: skip
def test_a_label(node: NodeBuilder, key: str, mistaken: str, operation: Any) -> None:
    change = rejecting(node, mistaken=mistaken).label(key, "ssd")
    assert (change is not None) is (operation is not None)
    if change is not None:
        assert (change.text, change.cost, list(change.changes[0].patch)) == (f"label n {key}=ssd", 2, [operation])
        assert change.commands == (f"kubectl label nodes n {key}=ssd",)


# Who leaves a node


def workload(kind: type[Any], name: str, replicas: int | None, above: str = "") -> Any:
    made = make_workload(kind.__name__, name, replicas=replicas)
    made["metadata"]["namespace"] = "default"
    if above:
        made["metadata"]["ownerReferences"] = [{"kind": "Deployment", "name": above, "controller": True}]
    return msgspec.convert(made, kind)


def removed(other: PodBuilder, *items: Any, autoscaled: str = "") -> FixChange | None:
    """The change that removes the other pod from its node for pod p of priority 5."""
    waiting = make_pod("p").priority(5).owner("ReplicaSet", "own").obj()
    loaded = loaded_of(workload(ReplicaSet, "own", 3), *items, other.obj(), waiting)
    if autoscaled:
        loaded.autoscalers.append(Autoscaler("h", "default", "Deployment", autoscaled, 1, 9))
    return Occupants(loaded, waiting, {}).remove("default/other")


def of_web(name: str = "other") -> PodBuilder:
    return make_pod(name).on("n").owner("ReplicaSet", "web")


SET, DEPLOYMENT = workload(ReplicaSet, "web", 3, "front"), workload(Deployment, "front", 4)


@pytest.mark.parametrize(
    ("other", "items", "text"),
    [
        pytest.param(make_pod("other").on("n"), [], "delete pod/default/other", id="a pod without a controller"),
        pytest.param(make_pod("other").on("n").priority(5), [], "delete pod/default/other", id="as important"),
        pytest.param(make_pod("other").on("n").priority(6), [], "", id="more important"),
        pytest.param(make_pod("other").on("n").terminating(), [], "", id="going already"),
        pytest.param(of_web(), [SET, DEPLOYMENT], "one replica fewer of deployment/default/front", id="of a Deployment"),
        pytest.param(of_web(), [SET], "one replica fewer of replicaset/default/web", id="the Deployment is not there"),
        pytest.param(of_web(), [workload(ReplicaSet, "web", 2)], "one replica fewer of replicaset/default/web", id="two replicas"),
        pytest.param(of_web(), [workload(ReplicaSet, "web", 1)], "", id="the only replica"),
        pytest.param(of_web(), [workload(ReplicaSet, "web", None)], "", id="one replica by default"),
        pytest.param(of_web(), [], "", id="its set is not there"),
        pytest.param(make_pod("other").on("n").owner("ReplicaSet", "own"), [], "", id="of the same set"),
        pytest.param(make_pod("other").on("n").owner("StatefulSet", "db"), [], "", id="of a StatefulSet"),
        pytest.param(make_pod("other").on("n").owner("DaemonSet", "logs"), [], "", id="of a DaemonSet"),
        pytest.param(of_web().spec(volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "d"}}]), [SET, DEPLOYMENT], "", id="with data"),
    ],
)  # fmt: skip
def test_a_pod_that_leaves(other: PodBuilder, items: list[Any], text: str) -> None:
    change = removed(other, *items)
    assert (change.text if change else "") == text


def test_a_workload_with_an_autoscaler_keeps_its_replicas() -> None:
    assert removed(of_web(), SET, DEPLOYMENT, autoscaled="front") is None
    change = removed(of_web(), SET, DEPLOYMENT, autoscaled="other")
    assert change is not None
    assert (change.changes[0].replicas, change.cost) == (3, 20)


def test_the_smallest_pods_that_leave_enough_two_at_most() -> None:
    """Pods of other sizes and of the same workload are left out."""
    sizes = {"large": 3000, "small": 1000, "middle": 2000, "tiny": 500, "web-1": 1500, "web-2": 1600}
    pods = [(of_web(name) if name.startswith("web") else make_pod(name).on("n")).obj() for name in sizes]
    waiting = make_pod("p").obj()
    held: Held = {"n": [(f"default/{name}", {"cpu": amount}) for name, amount in sizes.items()], "m": []}
    loaded = loaded_of(*pods, waiting, SET, DEPLOYMENT)
    found = Occupants(loaded, waiting, held).lightest("n", {"cpu": 1000})
    assert [each.text for each in found] == [
        "delete pod/default/small (1 cpu on n)",
        "one replica fewer of deployment/default/front (1500m cpu on n)",
    ]
    assert Occupants(loaded, waiting, held).lightest("m", {"cpu": 1000}) == []
    first, *_ = Occupants(loaded, waiting, held).lightest("n", {"cpu": 1000, "pods": 1})
    assert first.text == "delete pod/default/small (1 cpu on n)"


# All changes of a pod


def proposed(*items: Any, waiting: int = 1) -> dict[str, float]:
    """Text to cost."""
    objects = [each.obj() if hasattr(each, "obj") else each for each in items]
    loaded = loaded_of(*objects)
    subject = find_subject(loaded, "default/p")
    situation = FixSituation(subject, explained(objects, "p"), {}, ("default-scheduler", "other"))
    found = propose(situation, subject.pod, waiting)
    texts = [" and ".join(each.text for each in proposal.changes) for proposal in found]
    assert len(set(texts)) == len(texts)
    return dict(zip(texts, (round(each.cost, 6) for each in found), strict=True))


def node(name: str, cpu: str = "4") -> NodeBuilder:
    return make_node(name).allocatable(cpu=cpu, memory="8Gi", pods=10)


def priority_class(name: str, value: int, policy: str = "PreemptLowerPriority") -> PriorityClass:
    return PriorityClass(metadata=ObjectMeta(name=name), value=value, preemption_policy=policy)


ENDING = Namespace(metadata=ObjectMeta(name="default", deletion_timestamp="2026-01-01T09:00:00Z"))
FULL = [node("n"), make_pod("r").requests(cpu="4").on("n").priority(100)]


@pytest.mark.parametrize(
    ("classes", "policy", "texts"),
    [
        pytest.param([("b", 7), ("a", 7), ("low", 5), ("higher", 9), ("highest", 11), ("lower", 4)], "PreemptLowerPriority",
            {"give it priority class a (7)": 6, "give it priority class b (7)": 6.1, "give it priority class higher (9)": 6.2}, id="the lowest three"),
        pytest.param([("system", 10**9), ("user", 10**9 - 1)], "PreemptLowerPriority", {"give it priority class user (999999999)": 6}, id="none of the system"),
        pytest.param([("same", 5), ("lower", 4), ("higher", 6)], "Never",
            {"give it priority class same (5), which lets it preempt": 6, "give it priority class higher (6), which lets it preempt": 6.1}, id="one that lets it preempt"),
    ],
)  # fmt: skip
def test_priority_classes(classes: list[tuple[str, int]], policy: str, texts: dict[str, float]) -> None:
    waiting = make_pod("p").requests(cpu="3").priority(5).spec(preemptionPolicy=policy)
    found = proposed(*FULL, waiting, *(priority_class(*each) for each in classes))
    assert {text: cost for text, cost in found.items() if "class" in text} == texts


@pytest.mark.slow
@pytest.mark.parametrize(
    ("items", "texts"),
    [
        pytest.param([node("n"), make_pod("p").gate("one").gate("two")], {"remove its scheduling gates (one, two)": 1}, id="gates"),
        pytest.param([node("n"), make_pod("p").gate("one").gate("example.com/two")], {}, id="a gate of a controller"),
        pytest.param([node("n"), make_pod("p").scheduler("mine")], {"let default-scheduler schedule it": 1}, id="another scheduler"),
        pytest.param([node("n"), make_pod("p").scheduler("volcano")], {}, id="a scheduler that decides more"),
        pytest.param([node("n").cordoned(), make_pod("p").gate("one")], {"remove its scheduling gates (one)": 1, "remove its scheduling gates (one) and uncordon n": 2}, id="gates and a node"),
        pytest.param([node("n").taint(NOT_READY), make_pod("p").selector(disk="ssd")], {}, id="a node that goes away"),
        pytest.param([node("n").label("kubernetes.io/os", "windows"), make_pod("p").selector(disk="ssd")], {}, id="a node of another system"),
        pytest.param([node("n").taint(CONTROL_PLANE), node("m").cordoned(), make_pod("p")], {"uncordon m": 1}, id="a control plane beside a worker"),
        pytest.param([node("n").taint(CONTROL_PLANE), make_pod("p")], {f"tolerate taint {CONTROL_PLANE}:NoSchedule": 0.8}, id="a control plane only"),
        pytest.param([node("n").cordoned().taint("gpu"), make_pod("p").selector(disk="ssd").host_port(80), make_pod("r").host_port(80).on("n")], {}, id="three changes are no small fix"),
        pytest.param([node("n").cordoned(), make_pod("p").terminating()], {}, id="a pod that is being deleted"),
        pytest.param([node("n").cordoned(), make_pod("p"), ENDING], {}, id="a namespace that is being deleted"),
        pytest.param([node("n").cordoned(), make_pod("p").spec(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "gone"}}])], {}, id="a claim that is not there"),
        pytest.param([node("n").label("disk-type", "ssd"), make_pod("p").selector(disktype="ssd")], {"select by label disk-type and not disktype": 0.5, "leave disktype=ssd out of the node selector": 4}, id="a typing error"),
        pytest.param([node("n").taint("gpu"), make_pod("p")], {"tolerate taint gpu:NoSchedule": 0.8, "take taint gpu:NoSchedule off n": 5}, id="a taint of one node"),
        pytest.param([node("n").taint("gpu"), node("m").taint("gpu"), make_pod("p")], {"tolerate taint gpu:NoSchedule": 0.8}, id="a taint of two nodes"),
        pytest.param([node("n").taint("gpu"), node("m").taint(NOT_READY), make_pod("p")], {"tolerate taint gpu:NoSchedule": 6.5, "take taint gpu:NoSchedule off n": 5}, id="a taint beside a node that is not ready yet"),
        pytest.param([node("n").cordoned().taint("gpu"), make_pod("p")], {"uncordon n and tolerate taint gpu:NoSchedule": 1.8, "uncordon n and take taint gpu:NoSchedule off n": 6}, id="two changes"),
        pytest.param([*FULL, make_pod("p").requests(cpu="3").priority(5), priority_class("top", 200)], {"give it priority class top (200)": 6}, id="a class where a node is full"),
        pytest.param([*FULL, node("m", "1"), make_pod("p").requests(cpu="3").priority(5), priority_class("top", 200)], {"lower the cpu request from 3 to 1": 3.666667, "give it priority class top (200)": 6}, id="a class where one of two nodes is full"),
        pytest.param([node("m", "1"), make_pod("p").requests(cpu="3").priority(5), priority_class("top", 200)], {"lower the cpu request from 3 to 1": 3.666667}, id="no class where the node is too small"),
        pytest.param([FULL[0], FULL[1], make_pod("p").requests(cpu="3").selector(disk="ssd"), priority_class("top", 200)], {}, id="no class where more is wrong with the node"),
        pytest.param([node("n"), make_pod("r").requests(cpu="4").on("n"), make_pod("p").requests(cpu="3").priority(5).spec(preemptionPolicy="Never")], {"let it preempt: do without preemptionPolicy Never": 5.9}, id="a policy"),
    ],
)  # fmt: skip
def test_what_is_thought_of(items: list[Any], texts: dict[str, float]) -> None:
    found = proposed(*items)
    assert {text: cost for text, cost in found.items() if "more node" not in text} == texts


def test_a_pod_of_a_daemon_set_gets_no_node_more() -> None:
    pods = [make_pod("p").requests(cpu="3"), make_pod("p").requests(cpu="3").owner("DaemonSet", "d")]
    assert [any("more node" in text for text in proposed(*FULL, pod)) for pod in pods] == [True, False]
