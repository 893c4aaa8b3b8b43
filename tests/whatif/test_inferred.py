"""ReplicaSets that the input lacks are made from the pods that name them, and only from those."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ksched_cli.api.core import Pod
from ksched_cli.api.storage import PersistentVolumeClaim
from ksched_cli.api.workloads import Job, ReplicaSet
from ksched_cli.sources.loaded import Origin
from ksched_cli.whatif.manifests import apply_others
from tests.builders import loaded_of, make_node, make_pod
from tests.plugins.storage import claim, storage_class
from tests.whatif.test_manifests import applied, deployment, workload


def owned(name: str, owner: str, kind: str = "ReplicaSet", *, hash: str = "abc", namespace: str = "default") -> Any:
    pod = make_pod(name, namespace=namespace).label("app", "w").label("pod-template-hash", hash).on("n")
    return pod.owner(kind, owner, apiVersion="apps/v1", uid=f"uid-{owner}").doc()


NOT_ITS = {
    "without an owner": make_pod("a").label("app", "w").on("n").doc(),
    "of a StatefulSet": owned("a", "w-abc", "StatefulSet"),
    "of another namespace": owned("a", "w-abc", namespace="other"),
    "of another Deployment": owned("a", "x-abc"),
    "of a set with another hash": owned("a", "w-abc", hash="other"),
}


@pytest.mark.parametrize("other", NOT_ITS.values(), ids=NOT_ITS)
def test_the_set_of_its_pods_alone(tmp_path: Path, other: dict[str, Any]) -> None:
    """A pod that does not count comes before one that does."""
    cluster = [make_node("n").doc(), other, owned("b", "w-abc"), owned("c", "w-abc")]
    loaded, refused = applied(tmp_path, cluster, deployment(replicas=2))
    assert refused == []
    found = {each.metadata.name: each.spec.replicas for each in loaded.of(ReplicaSet)}
    assert len(found) == 2, "the set of the pods, and the one of the manifest"
    (own,) = (each for each in loaded.of(ReplicaSet) if each.metadata.name == "w-abc")
    assert own.spec.selector is not None
    assert own.spec.selector.match_labels == {"app": "w", "pod-template-hash": "abc"}
    assert [each for each in loaded.warnings if "add deployments,replicasets to the dump" in each]


def test_no_set_without_pods_of_one(tmp_path: Path) -> None:
    others = [
        {**each, "metadata": {**each["metadata"], "name": f"a{at}", "uid": f"a{at}"}}
        for at, each in enumerate(NOT_ITS.values())
    ]
    loaded, _ = applied(tmp_path, [make_node("n").doc(), *others], deployment(replicas=2))
    assert "w-abc" not in {each.metadata.name for each in loaded.of(ReplicaSet)}


def dated(pod: dict[str, Any], created: str) -> dict[str, Any]:
    return {**pod, "metadata": {**pod["metadata"], "creationTimestamp": created}}


def test_the_set_with_the_youngest_pods_has_the_template_of_the_deployment(tmp_path: Path) -> None:
    """The manifest changes nothing, so that no other set comes."""
    cluster = [
        make_node("n").doc(),
        deployment(replicas=2),
        dated(owned("b", "w-abc"), "2026-01-01T00:00:00Z"),
        dated(owned("c", "w-new", hash="new"), "2026-01-02T00:00:00Z"),
        dated(owned("d", "w-new", hash="new"), "2026-01-03T00:00:00Z"),
    ]
    loaded, refused = applied(tmp_path, cluster, deployment(replicas=2))
    assert refused == []
    found = {each.metadata.name: each for each in loaded.of(ReplicaSet)}
    assert set(found) == {"w-abc", "w-new"}
    template, from_pod = found["w-new"].spec.template, found["w-abc"].spec.template
    assert template is not None
    assert from_pod is not None
    assert template.metadata.labels == {"app": "w", "pod-template-hash": "new"}
    assert [each.image for each in template.spec.containers] == ["i"]
    assert [each.image for each in from_pod.spec.containers] == ["registry.local/app:v1"]
    assert found["w-new"].metadata.creation_timestamp == "2026-01-02T00:00:00Z"
    assert found["w-new"].spec.replicas == 2


@pytest.mark.parametrize(
    ("suspend", "jobs", "warning"),
    [
        pytest.param(False, 1, "", id="one run"),
        pytest.param(True, 0, "CronJob default/w is suspended: it makes no pods", id="suspended"),
    ],
)
@pytest.mark.parametrize("live", [True, False], ids=["that is there", "that is new"])
def test_a_cron_job_runs_once(tmp_path: Path, live: bool, suspend: bool, jobs: int, warning: str) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    item = workload("CronJob", schedule="0 0 1 1 *", suspend=suspend, jobTemplate={"spec": {"template": template}})
    loaded, _ = applied(tmp_path, [make_node("n").doc(), *([item] if live else [])], item)
    assert len(loaded.of(Job)) == jobs
    assert len(loaded.of(Pod)) == jobs
    assert loaded.warnings == ([warning] if warning else [])


def test_claims_of_a_manifest_are_there_for_the_pods_that_are_counted() -> None:
    cluster, manifests = (
        loaded_of(storage_class()),
        loaded_of(claim("data"), claim("other", cls=None), make_pod().obj()),
    )
    for item in [each for items in manifests.objects.values() for each in items]:
        manifests.origins[id(item)] = Origin("m.yaml", 1)
    apply_others(cluster, manifests)
    assert {each.metadata.name for each in cluster.of(PersistentVolumeClaim)} == {"data", "other"}
    assert cluster.of(Pod) == []
