"""What the real control plane does where simulations used to disagree: taints with a time, quotas with a back-off."""

from __future__ import annotations

from typing import Any

from ksched_cli.api.core import Node, Taint
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.whatif.edits.apply import apply_edits
from ksched_cli.whatif.edits.values import SetTaint
from ksched_cli.world.results import Limits
from tests.builders import make_node, make_pod
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
