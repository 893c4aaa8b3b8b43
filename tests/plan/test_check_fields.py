"""Which of several terms, volumes and the like of a pod `check` names as the field that decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.builders import make_pod
from tests.plan.rollouts import checked, nodes, template, workload

TERMS = [
    {"topologyKey": "rack", "labelSelector": {"matchLabels": {"app": "none"}}},
    {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "cache"}}},
]
VOLUMES = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in ("there", "gone")]
THERE = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "there", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeName": "v"},
}


@pytest.mark.parametrize(
    ("cluster", "spec", "place"),
    [
        pytest.param(
            make_pod("cache").label(app="cache").on("n0").doc(),
            {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": TERMS}}},
            "requiredDuringSchedulingIgnoredDuringExecution[1].topologyKey",
            id="no node has the topology key of the first term",
        ),
        pytest.param(THERE, {"volumes": VOLUMES}, "spec.volumes[1]", id="the first claim is there"),
        pytest.param(
            THERE, {"nodeSelector": {"disk": "ssd", "gpu": "yes"}}, "spec.nodeSelector.disk", id="no node has a label"
        ),
        pytest.param(
            THERE,
            {"nodeSelector": {"kubernetes.io/hostname": "n0", "gpu": "yes"}},
            "spec.nodeSelector.gpu",
            id="a node has the first label",
        ),
    ],
)
def test_the_one_of_two_that_decides(cluster: Any, spec: dict[str, Any], place: str, tmp_path: Path) -> None:
    new = workload("Deployment", template(cpu="1", **spec), replicas=1)
    (own,) = checked(tmp_path, [*nodes("2"), cluster], new).workloads
    (found,) = own.findings
    assert found.place.path.endswith(place)
