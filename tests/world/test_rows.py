"""What the real control plane does where simulations used to disagree: taints with a time, quotas with a back-off."""

from __future__ import annotations

from typing import Any

import msgspec

from ksched_cli.api.core import Node, Taint
from ksched_cli.api.policy import ResourceQuota
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.plan.settle import TimedEvent
from ksched_cli.releases.minors import release
from ksched_cli.whatif.edits.lib.apply import apply_edits
from ksched_cli.whatif.edits.taint import SetTaint
from ksched_cli.world.results import Limits
from tests.builders import make_node, make_pod
from tests.controlplane.harness import make
from tests.harness import make_scheduler, settle


def tolerating(name: str, seconds: int) -> Any:
    toleration = {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}
    pod = make_pod(name).uid(name).on("n1").phase("Running").spec(tolerations=[toleration])
    pod.spec(terminationGracePeriodSeconds=1)
    owner = {"kind": "ReplicaSet", "name": name, "uid": name, "controller": True}
    pod.data["metadata"]["ownerReferences"] = [owner]
    return pod.obj()


def test_a_no_execute_taint_evicts_after_the_toleration_seconds_of_each_pod() -> None:
    """The pod that tolerates for 3 s comes back on the same node and goes again and again; the other stays 300 s."""

    def change(plane: ControlPlane) -> None:
        apply_edits(plane, [SetTaint("n1", Taint("k", "", "NoExecute"))])

    node: Node = make_node("n1").allocatable(cpu="4", memory="4Gi", pods=10).obj()
    found = settle(
        make_scheduler([node], [tolerating("short", 3), tolerating("long", 300)]), Limits(max_time=200), change=change
    )
    gone = [each.time for each in found.timeline if each.event == "AssignedPodDelete"]
    assert gone[:2] == [4.0, 7.0], "three seconds of tolerance, one of grace, and the next pod is bound at 3 s"
    assert not found.settled
    assert {pod.node for pod in found.final if pod.workload.endswith("/short") and pod.state == "scheduled"} <= {"n1"}
    assert [(pod.state, pod.node) for pod in found.final if pod.workload.endswith("/long")] == [("running", "n1")]


def test_created_pods_lose_the_fields_that_the_minor_does_not_know() -> None:
    """Kubernetes 1.27 does not know sidecars."""
    sidecar = {"name": "s", "restartPolicy": "Always"}
    node: Node = make_node("n1").allocatable(cpu="4", memory="4Gi", pods=10).obj()
    scheduler = make_scheduler([node], [], current=release("1.27"))

    def change(plane: ControlPlane) -> None:
        plane.api.create(make_pod("new").uid("new").init(**sidecar).obj())

    settle(scheduler, change=change)
    (created,) = [info.pod for info in scheduler.cluster.pods.infos]
    assert [each.restart_policy for each in created.spec.init_containers] == [None]


def test_the_replica_set_controller_backs_off_after_a_quota_refusal() -> None:
    """Three of four pods for a while: the room that a deleted pod leaves is used at the next retry, not at once."""
    quota = msgspec.convert(
        {"metadata": {"name": "few", "namespace": "default"}, "spec": {"hard": {"pods": "4"}}}, ResourceQuota
    )
    node: Node = make_node("n1").allocatable(cpu="8", memory="4Gi", pods=10).obj()
    bare = make_pod("bare").uid("bare").on("n1").phase("Running").spec(terminationGracePeriodSeconds=0).obj()

    def change(plane: ControlPlane) -> None:
        plane.api.create(make("ReplicaSet", "web", replicas=4))

    found = settle(
        make_scheduler([node], [bare], objects=[quota]), change=change, events=[TimedEvent(1.0, "delete", bare)]
    )
    created = [each.time for each in found.timeline if each.event == "UnschedulablePodAdd"]
    assert created[:3] == [0.0, 0.0, 0.0]
    (last,) = created[3:]
    assert 1.0 < last < 2.0
    assert found.settled
