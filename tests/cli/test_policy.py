"""Quotas and autoscalers: what every controller does when it starts, manifests that only change policy, and workloads
without pods."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from tests.builders import make_node, make_object
from tests.running import Ksched

LABELS = {"app": "w"}
HASHED = {**LABELS, "pod-template-hash": "1"}
SPEC = {"containers": [{"name": "c", "image": "a:1", "resources": {"requests": {"cpu": "100m"}}}]}


def own(kind: str, name: str, owner: tuple[str, str] | None = None, **labels: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": "default", "uid": f"{kind}-{name}", "labels": labels}
    if owner is not None:
        of = {"apiVersion": "apps/v1", "kind": owner[0], "name": owner[1], "uid": "-".join(owner), "controller": True}
        metadata["ownerReferences"] = [of]
    return metadata


def workload(replicas: int, pods: int, *, status: int | None = None, **spec: Any) -> list[dict[str, Any]]:
    """A Deployment with its ReplicaSet, and as many pods of it; `status` is what the ReplicaSet says of them."""
    template = {"metadata": {"labels": LABELS}, "spec": SPEC}
    deployment = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template, **spec}
    hashed = {"metadata": {"labels": HASHED}, "spec": SPEC}
    of_set = {"replicas": replicas, "selector": {"matchLabels": HASHED}, "template": hashed}
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    running = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": own("Pod", f"w-1-{number}", ("ReplicaSet", "w-1"), **HASHED),
            "spec": {**SPEC, "nodeName": "n"},
            "status": ready,
        }
        for number in range(pods)
    ]
    return [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": own("Deployment", "w"), "spec": deployment},
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": own("ReplicaSet", "w-1", ("Deployment", "w"), **HASHED),
            "spec": of_set,
            "status": {"replicas": pods if status is None else status},
        },
        *running,
    ]


def quota(pods: int) -> dict[str, Any]:
    return make_object("ResourceQuota", "q", {"hard": {"pods": str(pods)}}, namespace="default")


def autoscaler(least: int, most: int, *, keda: bool = False) -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "w"}
    metadata = {"name": "h", "namespace": "default"}
    if keda:
        bounds = {"minReplicaCount": least, "maxReplicaCount": most}
        version, kind = "keda.sh/v1alpha1", "ScaledObject"
    else:
        bounds, version, kind = {"minReplicas": least, "maxReplicas": most}, "autoscaling/v2", "HorizontalPodAutoscaler"
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": {"scaleTargetRef": target, **bounds}}


def written(tmp_path: Path, items: list[Any], manifest: Any = None) -> list[str]:
    (tmp_path / "c.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [NODE, *items]}))
    if manifest is None:
        return ["--from", str(tmp_path / "c.json")]
    (tmp_path / "m.json").write_text(json.dumps(manifest))
    return ["--from", str(tmp_path / "c.json"), "-f", str(tmp_path / "m.json")]


NODE = make_node("n").doc()


def there(capsys: pytest.CaptureFixture[str]) -> int:
    document = json.loads(capsys.readouterr().out)
    return sum(pod["state"] in ("running", "scheduled") for pod in document["final"])


@pytest.mark.parametrize(
    ("items", "manifest", "flags", "pods"),
    [
        pytest.param([*workload(4, 2), quota(2)], quota(9), [], 4, id="a quota is raised"),
        pytest.param([*workload(4, 2), quota(2)], quota(3), [], 3, id="a quota is raised by one"),
        pytest.param([*workload(4, 2)], None, [], 4, id="a ReplicaSet short of pods"),
        pytest.param([workload(4, 0)[0], *workload(2, 2)[1:]], None, [], 4, id="a rollout under way"),
        pytest.param([*workload(4, 2, status=4)], None, [], 2, id="a dump that lacks pods"),
        pytest.param([*workload(2, 2), autoscaler(4, 6)], None, [], 4, id="below the minimum"),
        pytest.param([*workload(4, 4), autoscaler(1, 3)], None, [], 3, id="above the maximum"),
        pytest.param([*workload(2, 2), autoscaler(1, 6)], None, [], 2, id="between the bounds"),
        pytest.param([*workload(0, 0), autoscaler(4, 6)], None, [], 0, id="disabled at 0"),
        pytest.param([*workload(2, 2)], autoscaler(5, 6), [], 5, id="an autoscaler of the manifests"),
        pytest.param([*workload(2, 2), autoscaler(1, 6)], None, ["--hpa", "max"], 6, id="--hpa max"),
        pytest.param([*workload(2, 2), autoscaler(1, 6)], None, ["--hpa", "min"], 1, id="--hpa min"),
        pytest.param([*workload(2, 2), autoscaler(0, 6, keda=True)], None, ["--hpa", "min"], 0, id="KEDA, --hpa min"),
        pytest.param([*workload(2, 2), autoscaler(4, 6)], None, ["--scale", "deployment/w=1"], 4, id="scaled below"),
    ],
)
def test_how_many_pods_there_are_in_the_end(
    items: list[Any], manifest: Any, flags: list[str], pods: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = written(tmp_path, items, manifest)
    run(["simulate", "--settle", *given, *flags, "-o", "json"])
    assert there(capsys) == pods


@pytest.mark.parametrize("command", [["simulate"], ["simulate", "--settle"], ["check"]])
@pytest.mark.parametrize("manifest", [quota(9), autoscaler(1, 3)], ids=["quota", "autoscaler"])
def test_a_manifest_that_only_changes_policy_is_a_change(
    command: list[str], manifest: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, *written(tmp_path, [*workload(2, 2), quota(2)], manifest)]) == 0
    if command != ["check"]:
        # It validates the object.
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}
        assert run([*command, *written(tmp_path, workload(2, 2), namespace)]) == 2
    capsys.readouterr()


def test_hpa_without_an_autoscaler_is_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", *written(tmp_path, workload(2, 2)), "--hpa", "max"]) == 2
    assert "the input has no autoscaler" in capsys.readouterr().err
    assert run(["simulate", *written(tmp_path, workload(2, 2)), "--hpa", "most"]) == 2
    assert "write min or max" in capsys.readouterr().err
    run(["simulate", *written(tmp_path, [autoscaler(1, 6)]), "--hpa", "max"])
    assert "scales Deployment default/w, which is not in the input" in capsys.readouterr().err


def of_kind(kind: str, replicas: int = 3, **spec: Any) -> dict[str, Any]:
    """A workload without pods. Fields of its pods may be among those of its spec."""
    item = workload(replicas, 0)[0]
    of_pods = {name: spec.pop(name) for name in ("priorityClassName", "nodeSelector") if name in spec}
    template = {**item["spec"]["template"], "spec": {**SPEC, **of_pods}}
    return {**item, "kind": kind, "spec": {**item["spec"], "template": template, **spec}}


def job(**spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": LABELS}, "spec": {**SPEC, "restartPolicy": "Never"}}
    return make_object("Job", "w", {"template": template, **spec}, namespace="default", uid="u")


DONE = {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]}


@pytest.mark.parametrize(
    ("item", "namespace", "text"),
    [
        pytest.param({**job(), "status": DONE}, [], "Job w has no pods", id="a Job that is done"),
        pytest.param({**job(suspend=True), "status": DONE}, [], "Job w has no pods", id="done and suspended"),
        pytest.param(
            {**job(), "status": DONE}, ["-n", "default"], "Job default/w has no pods", id="with its namespace"
        ),
    ],
)
def test_a_workload_that_makes_no_pods_any_more(
    item: dict[str, Any], namespace: list[str], text: str, tmp_path: Path, ksched: Ksched
) -> None:
    assert ksched("explain", "job/w", *namespace, *written(tmp_path, [item]), code=2).err == f"ksched: {text}\n"


@pytest.mark.parametrize(
    ("items", "code", "text"),
    [
        pytest.param(
            [*workload(4, 2), quota(2)],
            1,
            "Deployment default/w has 2 of 4 pods: the API server refuses the others (ResourceQuota): exceeded quota: q",
            id="a quota, and some pods",
        ),
        pytest.param(
            [*workload(4, 0), quota(0)],
            1,
            "Deployment default/w has no pods: the API server refuses them (ResourceQuota): exceeded quota: q",
            id="a quota",
        ),
        pytest.param(
            [{**workload(4, 0)[0], "kind": "DaemonSet"}, quota(0)],
            1,
            "DaemonSet default/w has no pods: the API server refuses them (ResourceQuota): exceeded quota: q",
            id="a quota, and a DaemonSet",
        ),
        pytest.param(
            [of_kind("DaemonSet", nodeSelector={"no": "where"})],
            1,
            "DaemonSet default/w has no pods: it runs on none of the nodes, because of its node selector",
            id="no node of a DaemonSet",
        ),
        pytest.param(workload(0, 0), 0, "Deployment default/w has no pods: it wants none (spec.replicas is 0)", id="0"),
        pytest.param(
            workload(3, 0, paused=True)[:1],
            0,
            "Deployment default/w has no pods: it is paused (spec.paused)",
            id="paused",
        ),
        pytest.param(
            workload(3, 0)[:1], 0, "Deployment default/w has no pods in the input: its controller creates 3", id="cut"
        ),
        pytest.param(
            [of_kind("StatefulSet", podManagementPolicy="Parallel")],
            0,
            "default/w-0: scheduled on n, 1 of 1 nodes fit",
            id="the first pod of a StatefulSet",
        ),
        pytest.param(
            [of_kind("Deployment", replicas=0, priorityClassName="none")],
            1,
            "it wants none (spec.replicas is 0). This is what one would meet.",
            id="0, and its pods are refused",
        ),
        pytest.param(
            [of_kind("Deployment", replicas=0, priorityClassName="none")],
            1,
            "The API server would refuse it (Priority): no PriorityClass with name none was found",
            id="why its pods are refused",
        ),
        pytest.param(
            [of_kind("ReplicaSet", replicas=0)],
            0,
            "ReplicaSet default/w has no pods: it wants none (spec.replicas is 0). This is what one would meet.",
            id="a ReplicaSet of 0",
        ),
        pytest.param([of_kind("StatefulSet", replicas=0)], 0, "default/w-0: scheduled on n", id="a StatefulSet of 0"),
        pytest.param(
            [job(suspend=True)], 0, "Job default/w has no pods: it is suspended (spec.suspend)", id="suspended"
        ),
        pytest.param(
            [job(parallelism=0)],
            0,
            "Job default/w has no pods: it wants none (spec.parallelism is 0)",
            id="parallelism",
        ),
        pytest.param(
            [{**job(), "kind": "CronJob", "spec": {"schedule": "0 0 * * *", "jobTemplate": {"spec": job()["spec"]}}}],
            0,
            "CronJob default/w has no pods: it makes Jobs by its schedule, and none runs now",
            id="a CronJob",
        ),
    ],
)
def test_why_a_workload_lacks_pods(
    items: list[Any], code: int, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", f"{items[0]['kind']}/w", "--no-fixes", *written(tmp_path, items)]) == code
    assert text in " ".join(capsys.readouterr().out.split())
