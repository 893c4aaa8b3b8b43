"""Kinds that were not read, and the pods whose results they could change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from ksched_cli.api.workloads import CronJob, Job
from ksched_cli.plan.run.coverage import MissingKinds, job_gaps, with_manifest_gaps
from ksched_cli.simulator import Simulator
from ksched_cli.sources.loaded import Loaded
from tests.builders import PodBuilder, loaded_of, make_node, make_pod, write_list
from tests.harness import make_scheduler
from tests.package_source import PACKAGE

CLAIM = {"name": "d", "persistentVolumeClaim": {"claimName": "c"}}
TERM = [{"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "x"}}}]


def volumes(*more: dict[str, Any]) -> PodBuilder:
    return make_pod().spec(volumes=[{"name": "tmp", "emptyDir": {}}, *more])


def near(kind: str) -> PodBuilder:
    return make_pod().spec(affinity={kind: {"requiredDuringSchedulingIgnoredDuringExecution": TERM}})


def with_another_owner(pod: PodBuilder) -> PodBuilder:
    pod.owner("ReplicaSet", "r")
    pod.data["metadata"]["ownerReferences"].insert(0, {"kind": "StatefulSet", "name": "s", "uid": "s"})
    return pod


SPREAD = [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]


@pytest.mark.parametrize(
    ("kind", "pod", "concerns"),
    [
        pytest.param("StorageClass", volumes(CLAIM), True, id="a claim after another volume"),
        pytest.param("CSIDriver", volumes({"name": "d", "ephemeral": {"volumeClaimTemplate": {}}}), True, id="an ephemeral claim"),
        pytest.param("PersistentVolume", volumes(), False, id="no claim"),
        pytest.param("CSINode", volumes(), True, id="a volume"),
        pytest.param("VolumeAttachment", make_pod(), False, id="no volume"),
        pytest.param("ResourceSlice", make_pod().spec(resourceClaims=[{"name": "c"}]), True, id="a claim of devices"),
        pytest.param("DeviceClass", make_pod().requests(cpu="1", example_com__gpu="1"), True, id="an extended resource"),
        pytest.param("DeviceClass", make_pod().init(resources={"limits": {"example.com/gpu": "1"}}), True, id="a limit of an init container"),
        pytest.param("ResourceClaim", make_pod().requests(cpu="1", memory="1"), False, id="no device"),
        pytest.param("Service", make_pod().label(app="x"), True, id="labels"),
        pytest.param("Service", make_pod().label(app="x").spec(topologySpreadConstraints=SPREAD), False, id="constraints of its own"),
        pytest.param("Service", make_pod(), False, id="no labels"),
        pytest.param("ReplicaSet", make_pod().label(app="x").owner("ReplicaSet", "r"), True, id="its owner"),
        pytest.param("StatefulSet", make_pod().label(app="x").owner("ReplicaSet", "r"), False, id="another owner"),
        pytest.param("ReplicaSet", make_pod().owner("ReplicaSet", "r"), False, id="its owner, and no labels"),
        pytest.param("ReplicaSet", with_another_owner(make_pod().label(app="x")), True, id="its controller after another owner"),
        pytest.param("StatefulSet", with_another_owner(make_pod().label(app="x")), False, id="an owner that is no controller"),
        pytest.param("PriorityClass", make_pod().spec(priorityClassName="high"), True, id="a priority class"),
        pytest.param("PriorityClass", make_pod().spec(priorityClassName="high").priority(0), False, id="a priority"),
        pytest.param("PriorityClass", make_pod(), False, id="no priority class"),
        pytest.param("RuntimeClass", make_pod().spec(runtimeClassName="kata"), True, id="a runtime class"),
        pytest.param("RuntimeClass", make_pod().spec(runtimeClassName="kata", overhead={"cpu": "1"}), False, id="an overhead"),
        pytest.param("PodGroup", make_pod().spec(schedulingGroup={"podGroupName": "g"}), True, id="a group"),
        pytest.param("PodGroup", make_pod(), False, id="no group"),
        pytest.param("Namespace", near("podAffinity"), True, id="affinity"),
        pytest.param("Namespace", near("podAntiAffinity"), True, id="anti-affinity"),
        pytest.param("Namespace", make_pod(), False, id="no terms"),
        pytest.param("Secret", volumes(CLAIM), False, id="a kind that decides nothing"),
    ],
)  # fmt: skip
def test_kinds_that_could_change_a_result(kind: str, pod: PodBuilder, concerns: bool) -> None:
    missing = MissingKinds([kind, "Event"], [make_pod("other").obj(), pod.obj()])
    assert missing.about_pod(pod.obj()) == ((kind,) if concerns else ())


def test_terms_of_other_pods_and_budgets() -> None:
    missing = MissingKinds(["PodDisruptionBudget", "Namespace"], [near("podAffinity").obj()])
    assert missing.about_pod(make_pod().obj()) == ("Namespace",)
    assert missing.about_pod(make_pod().obj(), preempts=True) == ("Namespace", "PodDisruptionBudget")
    assert MissingKinds(["Namespace"], [make_pod().obj()]).about_pod(near("podAffinity").obj()) == ()


def test_budgets_matter_for_decisions_that_preempt() -> None:
    node = make_node("n").allocatable(cpu="4", memory="8Gi", pods=9).obj()
    low, vip = make_pod("low").requests(cpu="3").on("n"), make_pod("vip").requests(cpu="3").priority(9)
    scheduler = make_scheduler([node], [low.obj(), vip.obj(), make_pod("fits").obj()])
    missing = MissingKinds(["PodDisruptionBudget"], [])
    found = {each.pod.key: missing.about(each) for each in scheduler.run(scheduler.enqueue())}
    assert found == {"default/vip": ("PodDisruptionBudget",), "default/fits": ()}


def test_jobs_and_autoscalers_of_the_cluster() -> None:
    """An autoscaler whose bounds are one number changes nothing."""
    late = {"apiVersion": "batch/v1", "kind": "Job", **job("late", activeDeadlineSeconds=1)}
    pods = {"template": {"metadata": {"labels": {"app": "x"}}, "spec": make_pod("p").doc()["spec"]}}
    late["spec"] |= pods

    def autoscaler(name: str, most: int) -> dict[str, Any]:
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
        metadata = {"name": name, "namespace": "shop"}
        spec = {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": most}
        return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": spec}

    for names, text in (("a", "HorizontalPodAutoscaler shop/a:"), ("ab", "HorizontalPodAutoscaler shop/a and 1 more:")):
        scaled = [autoscaler(name, 9) for name in names]
        found = Simulator.load(late, *scaled, autoscaler("fixed", 2), make_node("n").doc()).simulate().coverage
        assert found["jobsNotModelled"] == ["Job shop/late: activeDeadlineSeconds"]
        (said,) = found["autoscalersNotModelled"]
        assert said.startswith(text)
    assert (
        "autoscalersNotModelled" not in Simulator.load(autoscaler("fixed", 2), make_node("n").doc()).simulate().coverage
    )


def test_kinds_of_karpenter_are_read_and_others_are_not(tmp_path: Path) -> None:
    demo = PACKAGE / "cli" / "demo_karpenter.yaml"
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "shop"}}
    others = write_list(tmp_path / "others.json", secret)
    found = Simulator.load(str(demo), others).simulate().coverage
    assert found["notRead"] == {"v1/Secret": 1}
    without = Simulator.load(str(demo), others, autoscaler="none").simulate().coverage
    assert {"v1/Secret", "karpenter.sh/v1/NodePool"} <= without["notRead"].keys()


def job(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "shop"}, "spec": spec}


RULES = [{"action": "Ignore"}, {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}}]


def test_fields_of_jobs_that_are_not_modelled() -> None:
    jobs: list[Any] = [
        msgspec.convert(job("plain"), Job),
        msgspec.convert(job("late", activeDeadlineSeconds=0), Job),
        msgspec.convert(job("codes", podFailurePolicy={"rules": RULES}, activeDeadlineSeconds=9), Job),
        msgspec.convert(job("conditions", podFailurePolicy={"rules": RULES[:1]}), Job),
    ]
    cron = msgspec.convert(job("cron", jobTemplate={"spec": {"activeDeadlineSeconds": 1}}), CronJob)
    late, codes, regular = (
        "Job shop/late: activeDeadlineSeconds",
        "Job shop/codes: activeDeadlineSeconds, podFailurePolicy.onExitCodes",
        "CronJob shop/cron: activeDeadlineSeconds",
    )
    assert job_gaps(loaded_of(*jobs), loaded_of(cron, jobs[1])) == [late, codes, regular]
    assert with_manifest_gaps({"jobsNotModelled": [codes]}, loaded_of(*jobs[:2]), loaded_of(cron), gaps=()) == {
        "jobsNotModelled": [codes, late, regular]
    }
    assert with_manifest_gaps({"a": 1}, loaded_of(jobs[0]), gaps=()) == {"a": 1}
    admission = {"admissionNotModelled": ["x", "y"]}
    assert with_manifest_gaps({"admissionNotModelled": ["x"]}, gaps=["y", "x"]) == admission


def test_kinds_of_manifests_that_are_not_checked() -> None:
    one, two = Loaded(), Loaded()
    one.unknown.update(v1=0)
    one.unknown.update({"v1/Secret": 2, "rbac/Role": 1})
    two.unknown.update({"v1/Secret": 1})
    assert with_manifest_gaps({}, one, two, gaps=()) == {"manifestsNotChecked": {"rbac/Role": 1, "v1/Secret": 3}}


@pytest.mark.parametrize(
    ("ready", "pod", "nodes"),
    [
        pytest.param("Unknown", "lost", ["node lost"], id="silent"),
        pytest.param("Unknown", "n", [], id="silent, with a pod of a DaemonSet"),
        pytest.param("False", "lost", [], id="its kubelet reports"),
    ],
)
def test_a_node_whose_kubelet_is_silent_is_named(ready: str, pod: str, nodes: list[str]) -> None:
    lost = make_node("lost").status(
        conditions=[{"type": "DiskPressure", "status": "Unknown"}, {"type": "Ready", "status": ready}]
    )
    daemon = make_pod("logs").on("lost").owner("DaemonSet", "logs", apiVersion="apps/v1").doc()
    found = Simulator.load(lost.doc(), make_node("n").doc(), make_pod("p").on(pod).doc(), daemon).simulate().coverage
    assert [text.partition(":")[0] for text in found.get("nodesNotModelled", ())] == nodes
