"""Every event reaches the cache, and wakes whom it should (eventhandlers_test.go)."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest

from ksched_cli.api.core import Namespace, Node, Pod, Service
from ksched_cli.api.workloads import PodDisruptionBudget
from ksched_cli.engine.loop import SchedulingLoop
from ksched_cli.releases.minors import RELEASES
from tests.builders import make_node, make_pod
from tests.engine.test_cycle import _WaitingPermit, with_plugins
from tests.harness import make_scheduler
from tests.plugins.lib.devices.resources import make_claim, make_class, make_slice
from tests.plugins.storage import (
    attachment,
    claim,
    csi_driver,
    csi_node,
    pool,
    storage_class,
    volume,
)


def loop_over(*objects: Any, plugins: Any = (), **options: Any) -> Any:
    """Nodes and pods as they are given, everything else into the catalog."""
    nodes = [each.obj() if hasattr(each, "obj") else each for each in objects]
    heard: list[tuple[str, str]] = []
    scheduler = make_scheduler(
        [each for each in nodes if isinstance(each, Node)],
        [each for each in nodes if isinstance(each, Pod)],
        objects=[each for each in nodes if not isinstance(each, Node | Pod)],
        plugins=plugins,
        **options,
    )
    loop = SchedulingLoop(scheduler, on_event=lambda event, item: heard.append((event.label, _name(item))))
    loop.told = heard  # type: ignore[attr-defined]
    return loop


def _name(item: Any) -> str:
    return f"{item.metadata.namespace}/{item.metadata.name}".removeprefix("/")


def where(loop: Any, name: str) -> str:
    """The pod's queue, or its node."""
    pods = loop.cluster.pods
    row = next(row for row, info in enumerate(pods.infos) if info.name == name and row not in pods.gone)
    found = loop.queue.find(row)
    if found:
        return str(found[0])
    return str(loop.cluster.nodes.names[pods.node_row[row]]) if pods.node_row[row] >= 0 else "-"


def run(loop: Any) -> None:
    while loop.step() is not None:
        pass


def node(**amounts: Any) -> Any:
    return make_node("n").allocatable(**{"cpu": "1", "memory": "1Gi", "pods": 10, **amounts})


def conditions(status: str) -> list[dict[str, str]]:
    return [{"type": "Ready", "status": status}]


@pytest.mark.parametrize(
    ("before", "after", "labels"),
    [
        pytest.param(node(), node(cpu="2"), ["NodeUpdateNodeAllocatable"], id="allocatable"),
        pytest.param(node(), node().label(a="1"), ["NodeUpdateNodeLabel"], id="labels"),
        pytest.param(node(), node().taint("x"), ["NodeUpdateNodeTaint"], id="taints"),
        pytest.param(node().cordoned(), node(), ["NodeUpdateNodeTaint"], id="uncordoned"),
        pytest.param(node(), node().cordoned(), [], id="cordoned"),
        pytest.param(node(), node().annotate(a="1"), ["NodeUpdateNodeAnnotation"], id="annotations"),
        pytest.param(
            node(), node().status(conditions=conditions("True")), ["NodeUpdateNodeCondition"], id="conditions"
        ),
        pytest.param(node(), node(), [], id="heartbeat"),
        pytest.param(
            node(),
            node(cpu="2").annotate(a="1").taint("x"),
            ["NodeUpdateNodeAllocatable", "NodeUpdateNodeTaint", "NodeUpdateNodeAnnotation"],
            id="three changes",
        ),
    ],
)
def test_each_kind_of_node_update(before: Any, after: Any, labels: list[str]) -> None:
    loop = loop_over(before)
    loop.handlers.put(after.obj())
    assert [label for label, _ in loop.told] == labels
    assert loop.cluster.nodes.objects[0] == after.obj()
    # A pod that was tried before any of these is worth another cycle.
    assert loop.handlers.changes > 0


def bound(cpu: str = "500m", memory: str = "1Mi", app: str = "a") -> Any:
    return make_pod("p").requests(cpu=cpu, memory=memory).label(app=app).on("n")


@pytest.mark.parametrize(
    ("after", "labels"),
    [
        pytest.param(bound().phase("Running").status(conditions=conditions("True")), [], id="it becomes ready"),
        pytest.param(bound().annotate(a="1"), ["Update"], id="an annotation"),
        pytest.param(bound(app="b"), ["UpdatePodLabel"], id="a label"),
        pytest.param(bound().toleration("x", "Exists"), ["UpdatePodToleration"], id="a toleration"),
        pytest.param(bound(cpu="1"), ["Update"], id="one request grows"),
        pytest.param(bound(cpu="1", memory="0"), ["UpdatePodScaleDown"], id="one request grows, one shrinks"),
        pytest.param(bound(cpu="200m", app="b"), ["UpdatePodLabel", "UpdatePodScaleDown"], id="two changes"),
    ],
)
def test_each_kind_of_update_of_a_pod_that_runs(after: Any, labels: list[str]) -> None:
    loop = loop_over(node(), bound())
    loop.handlers.put(after.obj())
    assert [label.removeprefix("AssignedPod") for label, _ in loop.told] == labels
    assert loop.cluster.pods.infos[0].pod == after.obj()


@pytest.mark.parametrize(
    ("objects", "pod", "event"),
    [
        pytest.param([], make_pod("p"), ("put", node()), id="a-node-comes"),
        pytest.param([node(cpu="0")], make_pod("p").requests(cpu="1"), ("put", node()), id="a-node-grows"),
        pytest.param([node().taint("x")], make_pod("p"), ("put", node()), id="a-taint-goes"),
        pytest.param([node().cordoned()], make_pod("p"), ("put", node()), id="uncordoned"),
        pytest.param([node()], make_pod("p").selector(a="1"), ("put", node().label(a="1")), id="a-label-comes"),
        pytest.param(
            [node(), make_pod("q").requests(cpu="1").on("n")],
            make_pod("p").requests(cpu="1"),
            ("delete", make_pod("q").requests(cpu="1").on("n")),
            id="a-pod-goes",
        ),
        pytest.param(
            [node(), make_pod("q").requests(cpu="1").on("n")],
            make_pod("p").requests(cpu="1"),
            ("put", make_pod("q").requests(cpu="1").on("n").phase("Succeeded")),
            id="a-pod-ends",
        ),
        pytest.param(
            [node(), make_pod("q").requests(cpu="1").on("n")],
            make_pod("p").requests(cpu="1"),
            ("put", make_pod("q").requests(cpu="0").on("n")),
            id="a-pod-shrinks",
        ),
        pytest.param(
            [node().zone("z")],
            make_pod("p").spec(
                affinity={
                    "podAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {
                                "labelSelector": {"matchLabels": {"app": "a"}},
                                "topologyKey": "topology.kubernetes.io/zone",
                            }
                        ]
                    }
                }
            ),
            ("put", make_pod("q").label(app="a").on("n")),
            id="a-pod-comes-that-it-wants",
        ),
        pytest.param([node()], make_pod("p").gate("x"), ("put", make_pod("p")), id="its-gate-goes"),
        pytest.param(
            [node().taint("x")], make_pod("p"), ("put", make_pod("p").toleration("x", "Exists")), id="it-tolerates"
        ),
        pytest.param(
            [node(), volume(owner="data", phase="Bound")],
            make_pod("p").spec(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]),
            ("put", claim("data", volume="pv")),
            id="its-claim-comes",
        ),
        pytest.param(
            [node(), claim("data", cls="fast")],
            make_pod("p").spec(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]),
            ("put", storage_class("fast")),
            id="its-class-comes",
        ),
        pytest.param(
            [node(), make_class(), make_slice("s", [{"name": "d"}], node="n")],
            make_pod("p").uid("p").spec(resourceClaims=[{"name": "r", "resourceClaimName": "c"}]),
            ("put", make_claim("c", {"name": "r", "exactly": {"deviceClassName": "gpu"}})),
            id="its-resource-claim-comes",
        ),
        pytest.param(
            [node(), make_class(), make_claim("c", {"name": "r", "exactly": {"deviceClassName": "gpu"}})],
            make_pod("p").uid("p").spec(resourceClaims=[{"name": "r", "resourceClaimName": "c"}]),
            ("put", make_slice("s", [{"name": "d"}], node="n")),
            id="devices-come",
        ),
        pytest.param(
            [
                node(),
                make_slice("s", [{"name": "d"}], node="n"),
                make_claim("c", {"name": "r", "exactly": {"deviceClassName": "gpu"}}),
            ],
            make_pod("p").uid("p").spec(resourceClaims=[{"name": "r", "resourceClaimName": "c"}]),
            ("put", make_class()),
            id="a-device-class-comes",
        ),
        pytest.param(
            [
                node(),
                csi_node("n", 0),
                claim("data", volume="pv"),
                volume(owner="data", handle="h", phase="Bound"),
            ],
            make_pod("p").spec(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]),
            ("put", csi_node("n", 1)),
            id="a-volume-limit-rises",
        ),
    ],
)
def test_an_event_brings_the_pod_back_that_it_helps(objects: list[Any], pod: Any, event: tuple[str, Any]) -> None:
    loop = loop_over(*copy.deepcopy(objects), copy.deepcopy(pod))
    run(loop)
    before = where(loop, "p")
    assert before != "n"
    action, item = event
    getattr(loop.handlers, action)(item.obj() if hasattr(item, "obj") else item)
    run(loop)
    if not objects:
        # Without any node its cycle was an error, and errors are not hurried.
        loop.advance_to(2)
        run(loop)
    assert where(loop, "p") == "n"


@pytest.mark.parametrize(
    "item",
    [
        pytest.param(each, id=type(each).__name__)
        for each in (
            csi_node("n", 1),
            csi_driver(),
            pool("z", "1Gi"),
            volume(),
            claim(),
            storage_class(),
            attachment("a", "n", "pv"),
            make_claim("c"),
            make_slice("s", node="n"),
            make_class(),
            msgspec.convert({"metadata": {"name": "s", "namespace": "default"}}, Service),
            msgspec.convert({"metadata": {"name": "b", "namespace": "default"}}, PodDisruptionBudget),
            msgspec.convert({"metadata": {"name": "default"}}, Namespace),
        )
    ],
)
def test_other_objects_come_change_and_go(item: Any) -> None:
    loop = loop_over(node())
    kind, meta = type(item), item.metadata
    loop.handlers.put(item)
    assert loop.cluster.catalog.get(kind, meta.name, meta.namespace) is item
    changed = copy.deepcopy(item)
    loop.handlers.put(changed)
    assert loop.cluster.catalog.get(kind, meta.name, meta.namespace) is changed
    loop.handlers.delete(item)
    assert loop.cluster.catalog.get(kind, meta.name, meta.namespace) is None
    loop.handlers.delete(item)
    assert [label for label, _ in loop.told] == [f"{kind.__name__}{what}" for what in ("Add", "Update", "Delete")]


def test_a_pod_that_comes_finished_is_nobody() -> None:
    loop = loop_over(node())
    loop.handlers.put(make_pod("p").on("n").phase("Failed").obj())
    assert loop.cluster.usage.pod_count.tolist() == [0]
    assert loop.told == []


def test_a_pod_of_another_scheduler_is_known_and_not_queued() -> None:
    loop = loop_over(node())
    loop.handlers.put(make_pod("p").scheduler("other").obj())
    assert where(loop, "p") == "-"
    loop.handlers.put(make_pod("p").scheduler("other").label(a="1").obj())
    assert loop.cluster.pods.infos[0].pod.metadata.labels == {"a": "1"}
    loop.handlers.delete(make_pod("p").scheduler("other").obj())
    assert len(loop.cluster.pods.gone) == 1


def test_a_pod_that_somebody_else_binds_leaves_the_queue() -> None:
    loop = loop_over(node(), make_pod("p").requests(cpu="1"))
    loop.handlers.put(make_pod("p").requests(cpu="1").on("n").obj())
    assert where(loop, "p") == "n"
    assert list(loop.queue) == []
    assert loop.cluster.usage.pod_count.tolist() == [1]


WAITER = make_pod("p").uid("p").requests(cpu="1").obj()


def waiter(*, on: str = "", terminating: bool = False, **labels: str) -> Pod:
    """The pod that Permit holds, as it is later."""
    pod = make_pod("p").uid("p").requests(cpu="1").label(**labels)
    pod = pod.on(on) if on else pod
    return (pod.terminating() if terminating else pod).obj()


@pytest.mark.parametrize(
    ("events", "published", "pods", "after"),
    [
        pytest.param([("put", waiter(a="1"))], [], [0, 1], [0, 1], id="a label"),
        pytest.param([("put", waiter(terminating=True))], ["Delete"], [0, 1], [0, 0], id="its deletion begins"),
        pytest.param(
            [("put", waiter(terminating=True)), ("put", waiter(terminating=True, a="1"))],
            ["Delete"],
            [0, 1],
            [0, 0],
            id="a label after its deletion has begun",
        ),
        pytest.param([("delete", WAITER)], ["Delete"], [0, 1], [0, 0], id="deleted"),
        pytest.param([("allow", None), ("delete", WAITER)], ["Delete"], [0, 0], [0, 0], id="allowed, and deleted then"),
        pytest.param([("put", waiter(on="n"))], ["Add"], [1, 0], [1, 0], id="another scheduler binds it elsewhere"),
    ],
)
def test_what_becomes_of_a_pod_that_permit_holds(
    events: list[tuple[str, Any]], published: list[str], pods: list[int], after: list[int]
) -> None:
    """The pod waits on node m. `pods`: how many each of the nodes n and m has, and after the pod's cycle has ended."""
    other = make_node("m").allocatable(cpu="1", memory="1Gi", pods=10)
    plugin = _WaitingPermit.name
    loop = loop_over(node(), other, WAITER, plugins=[_WaitingPermit], configuration=with_plugins(plugin))
    assert [each.result for each in loop.step().decisions] == ["waiting"]
    for action, item in events:
        if action == "allow":
            (held,) = loop.waiting
            held.allow(plugin)
        else:
            getattr(loop.handlers, action)(item)
    assert [label.removeprefix("AssignedPod") for label, _ in loop.told] == published
    assert loop.cluster.usage.pod_count.tolist() == pods
    assert (0 in loop.cluster.pods.gone) is (events[-1][0] == "delete")
    if published:
        loop.step()
        assert not loop.queue.in_flight
        assert len(list(loop.waiting)) == 0
    assert loop.cluster.usage.pod_count.tolist() == after
    if after == [1, 0]:
        assert where(loop, "p") == "n"


def test_a_pod_that_is_being_deleted_is_skipped() -> None:
    loop = loop_over(node(), make_pod("p").terminating())
    step = loop.step()
    assert [decision.result for decision in step.decisions] == ["skipped"]
    assert list(loop.queue) == []
    assert not loop.queue.in_flight


def test_a_node_of_the_same_name_has_its_pods_back() -> None:
    loop = loop_over(node(), make_pod("p").requests(cpu="1").on("n"))
    loop.handlers.delete(node().obj())
    assert where(loop, "p") == "-"
    loop.handlers.put(node(cpu="2").obj())
    assert where(loop, "p") == "n"
    assert loop.cluster.usage.requested[0].tolist() == [1000]


def test_a_pod_deleted_while_its_node_is_away_does_not_come_back() -> None:
    loop = loop_over(node(), make_pod("p").requests(cpu="1").on("n"))
    loop.handlers.delete(node().obj())
    loop.handlers.delete(make_pod("p").on("n").obj())
    loop.handlers.put(node().obj())
    assert loop.cluster.usage.pod_count.tolist() == [0]


def test_a_pod_of_the_same_name_is_another_pod() -> None:
    loop = loop_over(node(), make_pod("p").uid("one").requests(cpu="1").on("n"))
    loop.handlers.delete(make_pod("p").uid("one").on("n").obj())
    loop.handlers.put(make_pod("p").uid("two").requests(cpu="500m").obj())
    run(loop)
    assert where(loop, "p") == "n"
    assert loop.cluster.usage.requested[0].tolist() == [500]


@pytest.mark.parametrize(("priority", "helped"), [(7, True), (8, False)], ids=["equal", "stronger"])
def test_a_nomination_that_ends_helps_pods_that_are_not_stronger(priority: int, helped: bool) -> None:
    nominated = make_pod("strong").uid("strong").requests(cpu="1").priority(7).nominated("n").gate("hold")
    weak = make_pod("weak").requests(cpu="4").priority(priority).spec(preemptionPolicy="Never")
    loop = loop_over(node(), nominated, weak)
    run(loop)
    loop.advance_to(30)
    assert where(loop, "weak") == "unschedulable"
    loop.handlers.delete(nominated.obj())
    assert loop.told[-1] == ("AssignedPodDelete", "default/strong")
    assert (where(loop, "weak") == "active") is helped


NO_HINTS = "SchedulerQueueingHints=false"


@pytest.mark.parametrize(
    ("minor", "gates", "woken"),
    [
        pytest.param("1.21", "", True, id="1.21, without a check"),
        pytest.param("1.22", "", False, id="1.22, with the check"),
        pytest.param("1.31", "", False, id="1.31, with the check"),
        pytest.param("1.31", "SchedulerQueueingHints=true", False, id="1.31, with hints and the check"),
        pytest.param("1.32", NO_HINTS, False, id="1.32, without hints"),
    ],
)
@pytest.mark.parametrize("lacks", ["resources", "a device", "pods", "labels", "port", "toleration"])
def test_a_node_that_a_pod_cannot_use_does_not_wake_it(minor: str, gates: str, woken: bool, lacks: str) -> None:
    """The pod lacks resources on the only node, so that a node that is added is news for it."""
    pod = make_pod("p").requests(cpu="2", memory="1Gi")
    new = make_node("new").allocatable(cpu=4, memory="4Gi", pods=5)
    if lacks == "resources":
        new = make_node("new").allocatable(cpu=1, memory="4Gi", pods=5)
    elif lacks == "a device":
        pod = make_pod("p").requests(cpu="2", example_com__gpu=1)
    elif lacks == "pods":
        new = make_node("new").allocatable(cpu=4, memory="4Gi", pods=0)
    elif lacks == "labels":
        pod = pod.spec(nodeSelector={"disk": "ssd"})
    elif lacks == "toleration":
        new = new.taint("dedicated", "x", "NoSchedule")
    else:
        ports = [{"containerPort": 80, "hostPort": 80}]
        pod = make_pod("p").spec(
            containers=[{"name": "c", "image": "i", "ports": ports, "resources": {"requests": {"cpu": "2"}}}]
        )
    objects: list[Any] = [make_node("small").allocatable(cpu=1, pods=5).label(disk="ssd").obj(), pod.obj()]
    if lacks == "port":
        objects.append(
            make_pod("holder").spec(containers=[{"name": "c", "image": "i", "ports": ports}]).on("new").obj()
        )
    loop = loop_over(*objects, current=RELEASES[minor], gates=gates)
    run(loop)
    assert where(loop, "p") == "unschedulable"
    loop.handlers.put(new.obj())
    assert (where(loop, "p") != "unschedulable") is woken
    fits = make_node("fits").allocatable(cpu=2, memory="1Gi", pods=1, example_com__gpu=1).label(disk="ssd")
    loop.handlers.put(fits.obj())
    assert where(loop, "p") != "unschedulable"


@pytest.mark.parametrize(
    ("minor", "woken"), [pytest.param("1.23", False, id="1.23"), pytest.param("1.24", True, id="1.24")]
)
def test_only_taints_that_forbid_scheduling_are_checked_from_1_24_on(minor: str, woken: bool) -> None:
    loop = loop_over(
        make_node("small").allocatable(cpu=1), make_pod("p").requests(cpu="2"), current=RELEASES[minor], gates=""
    )
    run(loop)
    loop.handlers.put(make_node("new").allocatable(cpu=4, pods=5).taint("dedicated", "x", "NoExecute").obj())
    assert (where(loop, "p") != "unschedulable") is woken


@pytest.mark.parametrize(
    ("minor", "memory", "woken"),
    [
        pytest.param("1.27", "1Gi", True, id="1.27, full"),
        pytest.param("1.27", "2Gi", False, id="1.27"),
        pytest.param("1.28", "2Gi", True, id="1.28"),
    ],
)
def test_an_overcommitted_node_has_no_room_up_to_1_27(minor: str, memory: str, woken: bool) -> None:
    """The pod requests cpu; the node has enough of it, and pods that request more memory than there is."""
    crowd = make_pod("q").requests(memory=memory).on("n")
    pod = make_pod("p").requests(cpu="1", memory="0")
    loop = loop_over(node().cordoned(), crowd, pod, current=RELEASES[minor], gates="")
    run(loop)
    assert where(loop, "p") == "unschedulable"
    loop.handlers.put(node().obj())
    assert (where(loop, "p") != "unschedulable") is woken


@pytest.mark.parametrize(
    ("gates", "woken"), [pytest.param("", True, id="on"), pytest.param("CSINodeInfo=false", False, id="off")]
)
def test_changes_of_a_csi_node_wake_pods_behind_a_gate_in_1_16(gates: str, woken: bool) -> None:
    small, pod = make_node("small").allocatable(cpu=1), make_pod("p").requests(cpu="2")
    loop = loop_over(small, pod, current=RELEASES["1.16"], gates=gates)
    run(loop)
    assert where(loop, "p") == "unschedulable"
    loop.handlers.put(csi_node("small", 1))
    assert (where(loop, "p") != "unschedulable") is woken
