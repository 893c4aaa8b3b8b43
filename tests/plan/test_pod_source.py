"""How a change of a pod is written into the object that makes the pod, and by which commands."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ksched_cli.api import workloads
from ksched_cli.api.json_patch import Operation, add, apply_patch, drop
from ksched_cli.controlplane.store import Store
from ksched_cli.plan.reasons.fixes.workload import PodSource, fitted, managed_by
from tests.builders import PodBuilder, loaded_of, make_pod, make_workload

LOWER = add("2", "spec", "containers", 0, "resources", "requests", "cpu")
IN_TEMPLATE = {**LOWER, "path": f"/spec/template{LOWER['path']}"}
PATCH = f"--type=json -p '{msgspec.json.encode([IN_TEMPLATE]).decode().replace(':', ': ').replace(',', ', ')}'"
UID_LABELS = {"controller-uid": "x", "batch.kubernetes.io/controller-uid": "x"}


def item(kind: str, name: str = "web", owner: str = "", labels: dict[str, str] | None = None, **spec: Any) -> Any:
    """A workload whose pods request 9 cpu; `owner` is KIND/NAME."""
    made = make_workload(kind, name, requests={"cpu": "9"})
    made["metadata"] |= {"namespace": "default", "uid": f"u-{name}"}
    made["spec"] |= spec
    made["spec"]["template"]["metadata"]["labels"] |= labels or {}
    if kind == "ReplicationController":
        made["spec"]["selector"] = {"app": name}
    if owner:
        kind_above, _, above = owner.partition("/")
        made["metadata"]["ownerReferences"] = [{"kind": kind_above, "name": above, "controller": True}]
    if kind == "CronJob":
        made["spec"] = {"schedule": "0 0 * * *", "jobTemplate": {"spec": {"template": made["spec"]["template"]}}}
    return msgspec.convert(made, getattr(workloads, kind))


def pods(kind: str) -> list[PodBuilder]:
    """Two pods that wait, one that runs and one that has failed."""
    made = [make_pod(name).requests(cpu="9").owner(kind, "web") for name in "abcd"]
    return [made[0], made[1].on("n"), made[2].phase("Failed"), made[3]]


def source_of(kind: str, *items: Any) -> PodSource:
    made = [each.obj() for each in pods(kind)]
    return PodSource(made[0], Store(loaded_of(*items, *made)))


ROLLED_OUT: list[str] = []
DELETED = ["a", "d"]


@pytest.mark.parametrize(
    ("kind", "items", "patched", "deleted"),
    [
        pytest.param("ReplicaSet", [item("ReplicaSet", owner="Deployment/front"), item("Deployment", "front")], "deployment/front", ROLLED_OUT, id="a Deployment"),
        pytest.param("ReplicaSet", [item("ReplicaSet")], "replicaset/web", DELETED, id="a ReplicaSet"),
        pytest.param("ReplicationController", [item("ReplicationController")], "replicationcontroller/web", DELETED, id="a ReplicationController"),
        pytest.param("StatefulSet", [item("StatefulSet")], "statefulset/web", DELETED, id="a StatefulSet"),
        pytest.param("DaemonSet", [item("DaemonSet")], "daemonset/web", ROLLED_OUT, id="a DaemonSet"),
        pytest.param("DaemonSet", [item("DaemonSet", updateStrategy={"type": "OnDelete"})], "daemonset/web", DELETED, id="a DaemonSet that replaces no pods"),
        pytest.param("ReplicaSet", [item("ReplicaSet", owner="Rollout/front")], "rollout/front", DELETED, id="a Rollout"),
        pytest.param("ReplicationController", [item("ReplicationController", owner="DeploymentConfig/front")], "deploymentconfig/front", DELETED, id="a DeploymentConfig"),
        pytest.param("ReplicaSet", [item("ReplicaSet", owner="Other/front")], "replicaset/web", DELETED, id="a custom resource"),
    ],
)  # fmt: skip
def test_the_template_is_patched_and_pods_that_do_not_follow_it_are_deleted(
    kind: str, items: list[Any], patched: str, deleted: list[str]
) -> None:
    source = source_of(kind, *items)
    operations = source.operations([LOWER])
    assert list(operations) == [IN_TEMPLATE]
    changes = [(each.op, each.kind.lower(), each.name) for each in source.changes(operations)]
    assert changes == [("patch", *patched.split("/")), *(("delete", "pod", name) for name in deleted)]
    assert source.commands(operations) == [
        f"kubectl -n default patch {patched} {PATCH}",
        *([f"kubectl -n default delete pod {' '.join(deleted)}"] if deleted else []),
    ]
    assert [pod.metadata.name for pod in source.waiting()] == ["a", "d"]
    assert source.template_pod.spec.containers[0].image == "registry.local/app:v1"


@pytest.mark.parametrize(
    ("priority", "dropped"),
    [
        pytest.param({}, [], id="the template names a class only"),
        pytest.param({"priority": 3}, ["priority"], id="the template has the priority, too"),
        pytest.param(
            {"priority": 0, "preemptionPolicy": "Never"}, ["priority", "preemptionPolicy"], id="and the policy"
        ),
    ],
)
def test_a_template_names_the_class_of_a_priority(priority: dict[str, Any], dropped: list[str]) -> None:
    """Admission sets the value and the policy by the class."""
    of_pod = msgspec.convert(make_workload("ReplicaSet", pod=priority), workloads.ReplicaSet)
    of_pod.metadata.namespace = "default"
    given = {"priorityClassName": "high", "priority": 9, "preemptionPolicy": "PreemptLowerPriority"}
    operations = [*(add(value, "spec", name) for name, value in given.items()), add("x", "spec", "schedulerName")]
    found = source_of("ReplicaSet", of_pod).operations(operations)
    path = ("spec", "template", "spec")
    assert list(found) == [
        add("high", *path, "priorityClassName"),
        *(drop(*path, name) for name in dropped),
        add("x", *path, "schedulerName"),
    ]


JOB = item("Job", owner="CronJob/night", labels=UID_LABELS, backoffLimit=2)


def job_pods(*more: PodBuilder) -> list[Any]:
    waiting = [make_pod(name).requests(cpu="9").owner("Job", "web") for name in "ad"]
    return [each.obj() for each in (*waiting, *more)]


def test_a_job_is_deleted_and_created_again_and_its_cron_job_is_patched() -> None:
    """The labels with the uid of the old Job, the selector and the status stay behind."""
    made = job_pods()
    running = msgspec.structs.replace(JOB, status=msgspec.convert({"active": 2}, workloads.JobStatus))
    source = PodSource(made[0], Store(loaded_of(running, item("CronJob", "night"), *made)))
    operations = source.operations([LOWER])
    cron, delete, *deleted, create = source.changes(operations)
    assert (cron.kind, cron.name) == ("CronJob", "night")
    assert [each["path"] for each in cron.patch] == [f"/spec/jobTemplate{IN_TEMPLATE['path']}"]
    assert [(each.op, each.kind, each.name) for each in (delete, *deleted)] == [
        ("delete", "Job", "web"),
        ("delete", "Pod", "a"),
        ("delete", "Pod", "d"),
    ]
    content = create.document()["object"]
    assert (content["kind"], content["apiVersion"], content["spec"]["backoffLimit"]) == ("Job", "batch/v1", 2)
    assert content["spec"]["template"]["metadata"] == {"labels": {"app": "web"}}
    assert content["spec"]["template"]["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "2"}}
    assert content["metadata"]["ownerReferences"][0]["name"] == "night"
    assert {"selector", "status"}.isdisjoint({*content, *content["spec"]})
    first, second = source.commands(operations)
    assert first.startswith("kubectl -n default patch cronjob/night --type=json -p ")
    assert second.startswith("kubectl -n default patch job/web --type=json -p ")
    assert second.endswith(" --dry-run=client -o json | kubectl replace --force -f -")


@pytest.mark.parametrize(
    ("items", "why"),
    [
        pytest.param([], "the input does not have Job web, so no change of its template was tried", id="not there"),
        pytest.param([item("Job"), *job_pods(make_pod("r").on("n").owner("Job", "web"))], "the template of Job web cannot be changed, and 1 of its pods have run", id="a pod runs"),
        pytest.param([item("Job"), *job_pods(make_pod("r").phase("Failed").owner("Job", "web"))], "the template of Job web cannot be changed, and 1 of its pods have run", id="a pod has failed"),
    ],
)  # fmt: skip
def test_a_job_that_cannot_be_changed(items: list[Any], why: str) -> None:
    source = PodSource(job_pods()[0], Store(loaded_of(*items)))
    assert source.why_fixed == why
    with pytest.raises(LookupError, match="Job web"):
        source.operations([LOWER])


@pytest.mark.parametrize(
    ("operations", "is_made_anew"),
    [
        pytest.param([LOWER], True, id="a request"),
        pytest.param([add([], "spec", "schedulingGates")], False, id="its gates"),
        pytest.param([add({"key": "a"}, "spec", "tolerations", "-")], False, id="one more toleration"),
        pytest.param([drop("spec", "tolerations", 0)], True, id="a toleration less"),
        pytest.param([add({"key": "a"}, "spec", "tolerations", "-"), LOWER], True, id="a toleration and a request"),
    ],
)
def test_a_pod_without_a_controller(operations: list[Operation], is_made_anew: bool) -> None:
    pod = make_pod("a").requests(cpu="9").toleration("x").gate("g").obj()
    source = PodSource(pod, Store(loaded_of(pod)))
    made = source.operations(operations)
    (change,) = source.changes(made)
    assert (change.op, change.kind, change.name, change.patch) == ("patch", "Pod", "a", tuple(operations))
    (command,) = source.commands(made)
    assert command.endswith("| kubectl replace --force -f -") is is_made_anew


@pytest.mark.parametrize(
    ("document", "operations", "fitting"),
    [
        pytest.param({"a": {"b": 1}}, [add(2, "a", "b")], [add(2, "a", "b")], id="a field that is there"),
        pytest.param({"a": {}}, [add(2, "a", "b")], [add(2, "a", "b")], id="a new field"),
        pytest.param({}, [add(2, "a", "b")], [add({"b": 2}, "a")], id="its parent is missing"),
        pytest.param({"a": {}}, [add(2, "a", "b", "c", "d")], [add({"c": {"d": 2}}, "a", "b")], id="two parents are missing"),
        pytest.param({"a": [{"b": {}}, {}]}, [add(2, "a", 1, "b", "c")], [add({"c": 2}, "a", 1, "b")], id="in an entry of a list"),
        pytest.param({"a": {}}, [add(2, "a", "b", "-")], [add([2], "a", "b")], id="the list is missing"),
        pytest.param({}, [add(2, "a", "b"), add(3, "a", "c")], [add({"b": 2}, "a"), add(3, "a", "c")], id="the first one adds the parent"),
        pytest.param({"a": {"b": 1}}, [drop("a", "b")], [drop("a", "b")], id="removed"),
        pytest.param({"a": [1, 2]}, [drop("a", 1)], [drop("a", 1)], id="removed from a list"),
        pytest.param({"a": {}}, [drop("a", "b")], None, id="removed and not there"),
        pytest.param({}, [drop("a", "b")], None, id="removed and its parent is not there"),
    ],
)  # fmt: skip
def test_operations_fit_the_document(
    document: dict[str, Any], operations: list[Operation], fitting: list[Operation] | None
) -> None:
    before = msgspec.json.encode(document)
    if fitting is None:
        with pytest.raises(LookupError):
            fitted(document, operations)
        return
    found = fitted(document, operations)
    assert list(found) == fitting
    assert msgspec.json.encode(document) == before
    apply_patch(document, found)


GIT = "change it in its repository, or {} takes the change back"


@pytest.mark.parametrize(
    ("labels", "annotations", "text"),
    [
        pytest.param({}, {}, "", id="nothing"),
        pytest.param({"helm.toolkit.fluxcd.io/name": "r"}, {"meta.helm.sh/release-name": "x"}, "Flux (HelmRelease r): change it in its values, or the next reconciliation takes the change back", id="Flux with Helm"),
        pytest.param({"kustomize.toolkit.fluxcd.io/name": "k"}, {}, f"Flux (Kustomization k): {GIT.format('Flux')}", id="Flux"),
        pytest.param({"argocd.argoproj.io/instance": "label"}, {"argocd.argoproj.io/tracking-id": "app:apps/Deployment:shop/web"}, f"Argo CD (application app): {GIT.format('the next sync')}", id="Argo CD"),
        pytest.param({"argocd.argoproj.io/instance": "app"}, {}, f"Argo CD (application app): {GIT.format('the next sync')}", id="Argo CD by a label"),
        pytest.param({}, {"meta.helm.sh/release-name": "x"}, "Helm (release x): change it in its chart, or the next upgrade takes the change back", id="Helm"),
        pytest.param({"app.kubernetes.io/managed-by": "Helm", "helm.sh/chart": "redis-19.1"}, {}, "Helm: change it in chart redis-19.1, or the next upgrade takes the change back", id="Helm by labels"),
        pytest.param({"app.kubernetes.io/managed-by": "me", "helm.sh/chart": "redis-19.1"}, {}, "", id="another manager"),
    ],
)  # fmt: skip
def test_the_tool_that_manages_an_object(labels: dict[str, str], annotations: dict[str, str], text: str) -> None:
    pod = make_pod("p").obj()
    pod.metadata.labels, pod.metadata.annotations = labels, annotations
    assert managed_by(pod) == text


@pytest.mark.parametrize(
    ("items", "note"),
    [
        pytest.param([item("ReplicaSet")], "", id="a set of its own"),
        pytest.param([item("ReplicaSet", owner="Rollout/front")], "", id="a Rollout"),
        pytest.param([item("ReplicaSet", owner="Other/front")], "ReplicaSet web belongs to Other front: change it there, or that controller takes the change back", id="a custom resource"),
        pytest.param([item("ReplicaSet", owner="Deployment/front"), item("Deployment", "front")], "", id="a Deployment"),
        pytest.param([item("ReplicaSet", owner="Deployment/front"), item("Deployment", "front", owner="Other/top")], "Deployment front belongs to Other top: change it there, or that controller takes the change back", id="above a Deployment"),
    ],
)  # fmt: skip
def test_the_owner_that_takes_a_change_back(items: list[Any], note: str) -> None:
    assert source_of("ReplicaSet", *items).note == note
    managed = [msgspec.convert(msgspec.to_builtins(each), type(each)) for each in items]
    managed[-1].metadata.labels["app.kubernetes.io/managed-by"] = "Helm"
    top = managed[-1]
    name = f"{type(top).__name__} {top.metadata.name}"
    assert source_of("ReplicaSet", *managed).note.startswith(f"{name} is managed by Helm: change it in its chart")
