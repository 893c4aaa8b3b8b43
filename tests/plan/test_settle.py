"""Runs that go on until nothing moves."""

from __future__ import annotations

import copy
from typing import Any, ClassVar

import msgspec
import pytest

from ksched_cli.api.dynamic_resources import ResourceClaim, ResourceClaimTemplate
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.model import SchedulerConfiguration
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.framework.interfaces import PermitPlugin, ReservePlugin
from ksched_cli.framework.status import SUCCESS, Code, Status
from ksched_cli.releases.minors import release
from ksched_cli.world.results import FinalPods, Limits, WorldResult
from tests.builders import make_node, make_pod
from tests.engine.test_cycle import with_plugins
from tests.harness import TimedEvent, make_scheduler, settle
from tests.plugins.lib.devices.resources import allocated, exactly, make_claim, make_class, make_slice


def node(name: str = "n1", cpu: str = "2", pods: int = 10) -> Any:
    return make_node(name).allocatable(cpu=cpu, memory="4Gi", pods=pods).obj()


def running(name: str, on: str = "n1", cpu: str = "1", kind: str = "", grace: int | None = None) -> Any:
    builder = make_pod(name).uid(f"uid-{name}").requests(cpu=cpu).on(on).priority(1)
    if kind:
        builder.owner(kind, "owner", uid="owner")
    return builder.spec(terminationGracePeriodSeconds=grace).obj()


def urgent(cpu: str = "2") -> Any:
    return make_pod("urgent").uid("urgent").requests(cpu=cpu).priority(10).obj()


def states(found: WorldResult) -> dict[str, tuple[str, str]]:
    """Pod to (state, node); what is gone is left out where the name is there again."""
    order = sorted(found.moved, key=lambda pod: pod.state != "gone")
    return {pod.pod.removeprefix("default/"): (pod.state, pod.node) for pod in order}


def lines(found: WorldResult, *events: str) -> list[tuple[float, str, str]]:
    wanted = [each for each in found.timeline if each.event in events]
    return [(each.time, each.pod.removeprefix("default/"), each.decision or each.queue or each.node) for each in wanted]


# Victims


@pytest.mark.parametrize(
    ("kind", "returns", "when"),
    [
        pytest.param("", None, None, id="nobody's"),
        pytest.param("Node", None, None, id="a-mirror-pod"),
        pytest.param("ReplicaSet", "another name", 0, id="replica-set"),
        pytest.param("ReplicationController", "another name", 0, id="replication-controller"),
        pytest.param("Job", "another name", 0, id="job"),
        pytest.param("StatefulSet", "the same name", 30, id="stateful-set"),
        pytest.param("DaemonSet", "another name", 30, id="daemon-set"),
        pytest.param("Mystery", "another name", 30, id="a-controller-that-is-not-known"),
    ],
)
def test_a_victim_leaves_and_its_controller_replaces_it(kind: str, returns: str | None, when: float | None) -> None:
    found = settle(make_scheduler([node(), node("n2", "1")], [running("victim", cpu="2", kind=kind), urgent()]))
    assert states(found)["urgent"] == ("scheduled", "n1")
    assert lines(found, "Preempted") == [(0, "victim", "n1")]
    assert lines(found, "AssignedPodDelete")[0] == (30, "victim", "n1")
    back = [pod for pod in found.moved if pod.replaces]
    assert [pod.replaces for pod in back] == ([] if returns is None else ["default/victim"])
    for pod in back:
        assert (pod.pod == "default/victim") is (returns == "the same name")
        assert (pod.state, pod.node) == ("unschedulable", "")
        came = [each.time for each in found.timeline if each.pod == pod.pod and each.queue == "active"]
        assert came[0] == when
    assert found.settled
    assert found.preempting


@pytest.mark.parametrize(("grace", "seconds"), [(None, 30), (0, 0), (5, 5), (200, 200)])
def test_a_victim_takes_the_time_it_may_take(grace: int | None, seconds: float) -> None:
    found = settle(make_scheduler([node()], [running("victim", cpu="2", grace=grace), urgent()]))
    assert lines(found, "Cycle") == [(0, "urgent", "unschedulable"), (seconds, "urgent", "scheduled")]
    assert found.seconds == seconds


def test_a_pod_that_came_back_finds_another_node() -> None:
    found = settle(make_scheduler([node(), node("n2", "1")], [running("victim", kind="ReplicaSet"), urgent()]))
    assert [(pod.state, pod.node) for pod in found.moved if pod.replaces] == [("scheduled", "n2")]
    assert found.unplaced == ()


def test_the_nominated_pod_has_its_place_before_weaker_ones() -> None:
    weak = make_pod("weak").uid("weak").requests(cpu="1").priority(5).spec(preemptionPolicy="Never").obj()
    found = settle(make_scheduler([node()], [running("victim", cpu="2"), urgent(), weak]))
    assert states(found) == {"victim": ("gone", ""), "urgent": ("scheduled", "n1"), "weak": ("unschedulable", "")}


def test_a_pod_that_is_leaving_already_leaves() -> None:
    leaving = make_pod("old").uid("old").requests(cpu="2").on("n1").terminating().obj()
    found = settle(make_scheduler([node()], [leaving, make_pod("new").uid("new").requests(cpu="1").obj()]))
    assert states(found) == {"old": ("gone", ""), "new": ("scheduled", "n1")}


def test_a_pending_pod_that_is_being_deleted_is_skipped_and_goes() -> None:
    found = settle(make_scheduler([node()], [make_pod("old").uid("old").terminating().obj()]))
    assert lines(found, "Cycle") == [(0, "old", "skipped")]
    assert states(found) == {"old": ("gone", "")}


def test_devices_of_a_pod_that_left_are_free() -> None:
    refers = [{"name": "r", "resourceClaimName": "taken"}]
    holder = make_pod("old").uid("old").on("n1").terminating().spec(resourceClaims=refers).obj()
    status = {**allocated("d", pool="n1"), "reservedFor": [{"resource": "pods", "name": "old", "uid": "old"}]}
    mine = [{"name": "r", "resourceClaimName": "mine"}]
    waiting = make_pod("new").uid("new").spec(resourceClaims=mine).obj()
    objects = [
        make_class(),
        make_slice("s", [{"name": "d"}], node="n1"),
        make_claim("taken", exactly(), status=status),
        make_claim("mine", exactly()),
    ]
    scheduler = make_scheduler([node()], [holder, waiting], objects=objects)
    found = settle(scheduler)
    assert states(found)["new"] == ("scheduled", "n1")
    released = scheduler.cluster.catalog.get(ResourceClaim, "taken", "default")
    assert released is not None
    assert released.status.allocation is None


def test_a_pod_that_comes_back_has_new_claims_made() -> None:
    template = msgspec.convert(
        {
            "metadata": {"name": "gpu", "namespace": "default"},
            "spec": {"spec": {"devices": {"requests": [exactly()]}}},
        },
        ResourceClaimTemplate,
    )
    victim = running("victim", cpu="2", kind="StatefulSet")
    victim.spec.resource_claims = (
        make_pod().spec(resourceClaims=[{"name": "r", "resourceClaimTemplateName": "gpu"}]).obj().spec.resource_claims
    )
    victim.status.resource_claim_statuses = (
        make_pod()
        .status(resourceClaimStatuses=[{"name": "r", "resourceClaimName": "old"}])
        .obj()
        .status.resource_claim_statuses
    )
    owner = {"kind": "Pod", "name": "victim", "uid": "uid-victim", "controller": True}
    old = make_claim(
        "old",
        exactly(),
        metadata={"ownerReferences": [owner]},
        status={
            **allocated("d", pool="n1"),
            "reservedFor": [{"resource": "pods", "name": "victim", "uid": "uid-victim"}],
        },
    )
    objects = [make_class(), template, old, *(make_slice(f"s-{on}", [{"name": "d"}], node=on) for on in ("n1", "n2"))]
    scheduler = make_scheduler([node()], [victim, urgent()], objects=objects)
    found = settle(scheduler, events=[TimedEvent(50, "add", node("n2"))])
    assert states(found)["victim"] == ("scheduled", "n2")
    assert scheduler.cluster.catalog.get(ResourceClaim, "old", "default") is None
    (made,) = scheduler.cluster.catalog.all(ResourceClaim)
    assert made.status.allocation is not None


def test_working_everything_out_afresh_settles_the_same() -> None:
    pods = [running("victim", kind="ReplicaSet"), running("other", kind="StatefulSet"), urgent()]
    nodes = [node(), node("n2", "1")]
    told = [settle(make_scheduler(nodes, copy.deepcopy(pods), reuse=reuse)) for reuse in (True, False)]
    assert told[0] == told[1]


# What is left


def test_a_pod_that_nothing_helps_is_tried_once() -> None:
    found = settle(make_scheduler([node()], [make_pod("huge").requests(cpu="64").obj()]))
    assert (found.cycles, found.seconds, found.ending) == (1, 0, "settled")
    (huge,) = found.moved
    assert (huge.state, huge.queue, huge.unschedulable_plugins) == (
        "unschedulable",
        "unschedulable",
        ("NodeResourcesFit",),
    )
    assert huge.message.startswith("0/1 nodes are available: 1 Insufficient cpu.")


def test_without_nodes_nobody_is_tried_for_ever() -> None:
    found = settle(make_scheduler([], [make_pod("p").obj()]))
    assert (found.cycles, found.ending) == (1, "settled")
    assert states(found) == {"p": ("unschedulable", "")}


def test_a_gated_pod_says_why() -> None:
    found = settle(make_scheduler([node()], [make_pod("p").gate("hold").obj()]))
    (pod,) = found.moved
    assert (pod.state, pod.gated_by, pod.message) == (
        "gated",
        "SchedulingGates",
        "waiting for scheduling gates: [hold]",
    )


def test_a_run_without_pods_is_settled() -> None:
    assert settle(make_scheduler([node()], [])) == WorldResult((), FinalPods(), "settled", 0.0, 0, {})


# Events on the way


def test_things_may_happen_meanwhile() -> None:
    events = [
        TimedEvent(100, "add", node("n2", "8")),
        TimedEvent(200, "add", make_pod("late").uid("late").requests(cpu="1").obj()),
        TimedEvent(300, "delete", node("n1")),
    ]
    scheduler = make_scheduler([node()], [make_pod("big").requests(cpu="4").obj()])
    found = settle(scheduler, events=events)
    assert lines(found, "Cycle") == [(0, "big", "unschedulable"), (100, "big", "scheduled"), (200, "late", "scheduled")]
    assert [each.message for each in found.timeline if each.message.startswith("Node ")] == ["Node n2", "Node n1"]
    # The pod garbage collector waits for 40 s before it deletes the pods of a node that is gone.
    assert found.seconds == 340
    assert scheduler.cluster.nodes.names == ["n2"]


# Permit


class Holds(PermitPlugin[Any], ReservePlugin[Any]):
    """Lets pods go in pairs."""

    name = "Holds"
    reserved: ClassVar[list[str]] = []

    def permit(self, state: Any, info: PodInfo, row: int) -> tuple[Status, float]:
        held = list(self.handle.waiting)
        for each in held:
            each.allow(self.name)
        return (SUCCESS, 0) if held else (Status(Code.WAIT), 20.0)

    def reserve(self, state: Any, info: PodInfo, row: int) -> Status:
        self.reserved.append(info.name)
        return SUCCESS

    def unreserve(self, state: Any, info: PodInfo, row: int) -> None:
        self.reserved.remove(info.name)


class Rejects(Holds):
    """Whoever comes second has the first turned away."""

    name = "Rejects"

    def permit(self, state: Any, info: PodInfo, row: int) -> tuple[Status, float]:
        held = list(self.handle.waiting)
        for each in held:
            each.reject(self.name, "too slow")
        return (SUCCESS, 0) if held else (Status(Code.WAIT), 20.0)


class HoldsOneLonger(Holds):
    """Holds pod a for 900 seconds, the longest that kube-scheduler lets a pod wait, and any other for 20."""

    name = "HoldsOneLonger"

    def permit(self, state: Any, info: PodInfo, row: int) -> tuple[Status, float]:
        return Status(Code.WAIT), 900.0 if info.name == "a" else 20.0


def permitting(plugin: Any, *pods: Any, nodes: Any = None) -> Any:
    Holds.reserved.clear()
    configuration: SchedulerConfiguration = with_plugins(plugin.name)
    return make_scheduler(nodes or [node()], pods, configuration=configuration, plugins=[plugin])


def pair() -> list[Any]:
    return [make_pod(name).uid(name).requests(cpu="1").obj() for name in ("a", "b")]


def test_a_held_pod_goes_when_it_is_allowed() -> None:
    found = settle(permitting(Holds, *pair()))
    assert lines(found, "Cycle") == [(0, "a", "waiting"), (0, "b", "scheduled"), (0, "a", "scheduled")]
    assert states(found) == {"a": ("scheduled", "n1"), "b": ("scheduled", "n1")}
    assert sorted(Holds.reserved) == ["a", "b"]


def test_a_held_pod_is_rejected_by_another() -> None:
    found = settle(permitting(Rejects, *pair()), Limits(max_time=5))
    assert lines(found, "Cycle")[:3] == [(0, "a", "waiting"), (0, "b", "scheduled"), (0, "a", "unschedulable")]
    rejected = next(each for each in found.timeline if each.decision == "unschedulable")
    assert rejected.message == "0/1 nodes are available: 1 too slow."


def test_a_held_pod_is_rejected_when_its_time_is_over() -> None:
    found = settle(permitting(Holds, pair()[0]), Limits(max_time=60))
    assert lines(found, "Cycle")[:2] == [(0, "a", "waiting"), (20, "a", "unschedulable")]
    assert [each.message for each in found.timeline if each.decision == "unschedulable"] == [
        "0/1 nodes are available: 1 rejected due to timeout after waiting 20s at plugin Holds."
    ]
    assert Holds.reserved == []
    assert states(found) == {"a": ("unschedulable", "")}


def test_a_pod_that_waits_and_is_deleted_gives_its_place_back() -> None:
    first, second = pair()
    events = [TimedEvent(5, "delete", first)]
    big = make_pod("big").uid("big").requests(cpu="2").obj()
    found = settle(permitting(Holds, first, big, nodes=[node()]), Limits(max_time=10), events=events)
    assert states(found)["a"] == ("gone", "")
    assert states(found)["big"] == ("waiting", "n1")
    assert second.metadata.name == "b"


def test_a_stronger_pod_takes_the_place_of_one_that_waits() -> None:
    weak = make_pod("weak").uid("weak").requests(cpu="2").priority(1).obj()
    strong = TimedEvent(3, "add", urgent())
    found = settle(permitting(Holds, weak), Limits(max_time=10), events=[strong])
    cycles = lines(found, "Cycle")
    assert cycles[:3] == [(0, "weak", "waiting"), (3, "urgent", "unschedulable"), (3, "weak", "error")]
    assert states(found)["urgent"] == ("waiting", "n1")


# Without end


def test_a_run_that_goes_in_circles_is_found_out() -> None:
    found = settle(permitting(Holds, pair()[0]), Limits(max_time=10**6))
    assert found.ending == "oscillation"
    assert found.oscillating == ("default/a",)
    assert found.period == 330
    assert found.seconds < 2000
    assert not found.settled


def test_a_pod_that_is_still_terminating_may_end_the_circles() -> None:
    """The state differs each time, because less of the grace period is left."""
    leaving = make_pod("leaving").uid("leaving").on("n1").terminating().spec(terminationGracePeriodSeconds=5000)
    found = settle(permitting(Holds, leaving.obj(), pair()[0]), Limits(max_time=10**6))
    assert found.ending == "oscillation"
    assert found.oscillating == ("default/a",)
    assert states(found)["leaving"] == ("gone", "")
    assert found.seconds > 5000


def test_a_pod_that_is_still_held_may_end_the_circles() -> None:
    """The state differs each time, because the held pod has less time left."""
    found = settle(permitting(HoldsOneLonger, *pair()), Limits(max_time=4000))
    assert (900, "a", "unschedulable") in lines(found, "Cycle")


@pytest.mark.parametrize(
    ("limits", "ending", "seconds", "cycles"),
    [
        pytest.param(Limits(max_time=10), "max-time", 0, 1, id="time"),
        pytest.param(Limits(max_time=30), "settled", 30, 2, id="just-enough-time"),
        pytest.param(Limits(max_cycles=1), "max-cycles", 0, 1, id="cycles"),
    ],
)
def test_limits(limits: Limits, ending: str, seconds: float, cycles: int) -> None:
    found = settle(make_scheduler([node()], [running("victim", cpu="2"), urgent()]), limits)
    assert (found.ending, found.seconds, found.cycles) == (ending, seconds, cycles)
    if ending != "settled":
        assert states(found) == {"victim": ("leaving", "n1"), "urgent": ("nominated", "")}
        assert [pod.pod for pod in found.unplaced] == ["default/urgent"]


def test_created_pods_lose_the_fields_that_the_minor_does_not_know() -> None:
    """Kubernetes 1.27 does not know sidecars."""
    sidecar = {"name": "s", "restartPolicy": "Always"}
    scheduler = make_scheduler([node()], [], current=release("1.27"))

    def change(plane: ControlPlane) -> None:
        plane.api.create(make_pod("new").uid("new").init(**sidecar).obj())

    settle(scheduler, change=change)
    (created,) = [info.pod for info in scheduler.cluster.pods.infos]
    assert [each.restart_policy for each in created.spec.init_containers] == [None]
