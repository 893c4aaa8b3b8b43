"""ReplicaSets that the input lacks are made from the pods that name them, and only from those."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ksched_cli.api.workloads import ReplicaSet
from tests.builders import make_node, make_pod
from tests.whatif.test_manifests import applied, deployment


def owned(name: str, owner: str, kind: str = "ReplicaSet", *, hash: str = "abc", namespace: str = "default") -> Any:
    version = "apps/v1"
    reference = {"apiVersion": version, "kind": kind, "name": owner, "uid": f"uid-{owner}", "controller": True}
    pod = make_pod(name, namespace=namespace).label("app", "w").label("pod-template-hash", hash).on("n").doc()
    pod["metadata"]["ownerReferences"] = [reference]
    return pod


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
    assert "w-abc" in found
    assert len(found) == 2, "the set of the pods, and the one of the manifest"


def test_no_set_without_pods_of_one(tmp_path: Path) -> None:
    others = [
        {**each, "metadata": {**each["metadata"], "name": f"a{at}", "uid": f"a{at}"}}
        for at, each in enumerate(NOT_ITS.values())
    ]
    loaded, _ = applied(tmp_path, [make_node("n").doc(), *others], deployment(replicas=2))
    assert "w-abc" not in {each.metadata.name for each in loaded.of(ReplicaSet)}
