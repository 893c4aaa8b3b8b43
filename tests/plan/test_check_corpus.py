"""`check` over the clusters of the corpus, their pending pods taken for manifests: its first step is `simulate`'s run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.plan.reasons.codes import PREEMPTS
from ksched_cli.plan.run.options import RunOptions
from tests.builders import write_list
from tests.lanes import sampled
from tests.running import check, prepare
from tests.test_conformance import CASES

# Pods that the API server refuses: the requests of the pod as a whole are below those of its containers.
REFUSED = {"resources-02": ("new-1",)}


def split(case: Path) -> tuple[list[Any], list[Any]]:
    """The cluster, and its pending pods as nobody has admitted them yet: priorities come from classes."""
    items = json.loads((case / "cluster.json").read_text())["items"]
    pending = [item for item in items if item["kind"] == "Pod" and not item["spec"].get("nodeName")]
    pending = [pod for pod in pending if not pod["metadata"].get("deletionTimestamp")]
    refused = REFUSED.get(case.name, ())
    items = [item for item in items if item not in pending or item["metadata"]["name"] not in refused]
    pending = [pod for pod in pending if pod["metadata"]["name"] not in refused]
    cluster = [item for item in items if item not in pending]
    known = {item["metadata"]["name"] for item in items if item["kind"] == "PriorityClass"}
    for pod in pending:
        spec = pod["spec"]
        pod["status"] = {}
        priority = spec.pop("priority", None)
        spec.pop("preemptionPolicy", None)
        spec.pop("priorityClassName", None)
        name = f"p{priority}".replace("-", "m")
        if priority:
            spec["priorityClassName"] = name
        if priority and name not in known:
            known.add(name)
            kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
            cluster.append({**kind, "metadata": {"name": name}, "value": priority})
    return cluster, pending


@pytest.mark.slow
@pytest.mark.parametrize("case", sampled(CASES[::10], 5))
def test_the_first_step_is_what_simulate_does(case: Path, tmp_path: Path) -> None:
    cluster, pending = split(case)
    config = case / "config.yaml"
    setup = RunOptions(
        sources=[write_list(tmp_path / "cluster.json", *cluster)],
        filenames=[write_list(tmp_path / "manifests.json", *pending)],
        config=str(config) if config.exists() else None,
    )
    outcomes = {outcome.pod: outcome.node for outcome in prepare(setup).simulate().outcomes}
    done = check(setup)
    steps = [(each.workload.split()[1], step) for each in done.workloads for step in each.steps[:1]]
    first = {pod: node for pod, step in steps for node in step.placed.values()}
    adopts = any(item["kind"] == "ReplicaSet" for item in cluster)
    if adopts and any(step.removed for each in done.workloads for step in each.steps):
        # The ReplicaSet deletes the surplus: `simulate` before any cycle, the world after the first ones.
        return
    placed = {pod: node for pod, node in outcomes.items() if node}
    if any(item["kind"] == "PersistentVolumeClaim" and not item["spec"].get("volumeName") for item in cluster):
        # The volume controller binds claims in the world, so that more pods find a node; `simulate` runs no controller.
        assert first.keys() >= placed.keys()
    else:
        assert first == placed
    unplaced = {each.workload for each in done.workloads if not each.running}
    assert {finding.workload for finding in done.findings if finding.code != PREEMPTS} == unplaced
    assert all(finding.place.line for finding in done.findings)
