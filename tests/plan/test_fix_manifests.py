"""Each fix of explain, applied to the manifests as a person would, keeps its promise when the cluster settles."""

from __future__ import annotations

import copy
import json
import re
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.controlplane.merge import LAST_APPLIED
from ksched_cli.plan.reasons.fixes.values import Fix
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.plan.settle import SettledSimulation
from ksched_cli.simulator import Simulator
from tests.builders import write_list
from tests.lanes import sampled
from tests.plan.fix_clusters import FixCluster, fix_cluster
from tests.running import settle
from tests.test_fixes_conformance import patch

SEEDS = [str(seed) for seed in range(20)]
_NEW_CLASS = re.compile(r"priority of (\d+) \(by a priority class that is yet to be made\)")


def applied(cluster: FixCluster, fix: Fix, folder: Path) -> SettledSimulation:
    """The patches in the manifest of the workload, the flags on the command line, and what kubectl would do besides."""
    manifest = copy.deepcopy(cluster.workload)
    operations = [{**each, "path": f"/spec/template{each['path']}"} for each in fix.patch]
    items = [as_applied(each) if each["kind"] == cluster.workload["kind"] else each for each in cluster.items]
    if made := _NEW_CLASS.search(fix.text):
        value = int(made[1])
        new = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "new"}}
        items.append({**new, "value": value})
        manifest["spec"]["template"]["spec"]["priorityClassName"] = "new"
    patch(manifest, operations)
    write_list(folder / "c.json", *items)
    (folder / "m.json").write_text(json.dumps(manifest))
    edits = [(flag.removeprefix("--"), text) for flag, _, text in (each.partition(" ") for each in fix.flags)]
    edits += [("delete", f"pod/shop/{name}") for name in deleted_by_hand(fix.commands)]
    filenames = [str(folder / "m.json")] if fix.patch else []
    return settle(RunOptions([str(folder / "c.json")], filenames=filenames, edits=edits))


def as_applied(item: dict[str, Any]) -> dict[str, Any]:
    """The object with the annotation that `kubectl apply` leaves: without it, what leaves the manifest stays."""
    annotations = {LAST_APPLIED: json.dumps(item)}
    return {**item, "metadata": {**item["metadata"], "annotations": annotations}}


def deleted_by_hand(commands: Sequence[str]) -> list[str]:
    """Pods that the commands of the fix delete."""
    words = [shlex.split(each) for each in commands]
    return [name for each in words if each[3:5] == ["delete", "pod"] for name in each[5:]]


def preempted(found: SettledSimulation) -> set[str]:
    return {pod.pod for pod in found.final if pod.state == "gone" and pod.why.startswith("preempted")}


def preempted_by(found: SettledSimulation, workload: str) -> set[str]:
    """Pods that left for a pod of the workload."""
    causes = {f"preempted by {pod.pod}" for pod in found.final if pod.workload == workload}
    return {pod.pod for pod in found.final if pod.state == "gone" and pod.why in causes}


def lost(found: SettledSimulation) -> set[str]:
    """Preempted pods that no controller recreates."""
    return preempted(found) - {pod.replaces for pod in found.final}


def without_node(found: SettledSimulation, cluster: FixCluster) -> list[str]:
    """The workloads of other pods that have no node, one entry a pod."""
    pods = [pod for pod in found.final if pod.state not in ("gone", "running", "scheduled")]
    return sorted(pod.workload for pod in pods if pod.workload != cluster.name)


@pytest.mark.slow
@pytest.mark.parametrize("seed", sampled(SEEDS, 10))
def test_a_fix_in_the_manifests_places_the_workload_with_the_printed_losses(seed: str, tmp_path: Path) -> None:
    cluster = fix_cluster(int(seed))
    path = tmp_path / "before.json"
    write_list(path, *cluster.items)
    unchanged = settle(RunOptions([str(path)]))
    found = Simulator.load(str(path)).explain(cluster.pod).explanation.fixes
    if found is None:
        # The pod preempts others.
        assert all(pod.node for pod in unchanged.final if pod.pod == cluster.pod)
        return
    if not found.found:
        # No node is large enough, and no request may be lowered so far.
        assert found.tried
        return
    for fix in found.found:
        after = applied(cluster, fix, tmp_path)
        own = [pod for pod in after.final if pod.workload == cluster.name and pod.state != "gone"]
        assert [pod.pod for pod in own if not pod.node] == [], fix
        assert len(own) == cluster.workload["spec"]["replicas"], fix
        # The rollout of the fix replaces the workload's own pods.
        replaced = {pod.pod for pod in after.final if pod.workload == cluster.name}
        assert lost(after) - lost(unchanged) - replaced == set(fix.lost), fix
        more = Counter(without_node(after, cluster)) - Counter(without_node(unchanged, cluster))
        assert more.total() == len(fix.left_out), (fix, more)
        assert preempted_by(after, cluster.name) == set(fix.victims), fix


@pytest.mark.slow
def test_most_clusters_have_fixes_and_some_have_losses(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    found = []
    for seed in SEEDS:
        cluster = fix_cluster(int(seed))
        write_list(path, *cluster.items)
        fixes = Simulator.load(str(path)).explain(cluster.pod).explanation.fixes
        found.append(fixes.found if fixes else ())
    assert sum(map(bool, found)) >= 15
    assert sum(bool(fix.victims) for fixes in found for fix in fixes) >= 10
    assert any(fix.lost for fixes in found for fix in fixes)
    assert any(fix.left_out for fixes in found for fix in fixes)
