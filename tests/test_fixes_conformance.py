"""Every fix that `explain` prints for a pod of the corpus without a place, applied to the input, gives it one."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.plan.explain.explain import explain
from ksched_cli.plan.explain.pods import find_subject
from ksched_cli.plan.explain.results import Explanation
from ksched_cli.plan.reasons.fixes.values import Fix
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.plan.run.run import Run
from tests.lanes import sampled
from tests.running import load, settle
from tests.test_conformance import CASES


def setup_of(case: Path, cluster: Path, flags: Sequence[str] = ()) -> RunOptions:
    config = case / "config.yaml"
    given = [(flag.removeprefix("--"), text) for flag, _, text in (each.partition(" ") for each in flags)]
    return RunOptions([str(cluster)], config=str(config) if config.exists() else None, edits=given)


def patch(document: Any, operations: Sequence[Mapping[str, Any]]) -> None:
    """RFC 6902 as far as it is used, written without a look at the code under test."""
    for operation in operations:
        steps = [step.replace("~1", "/").replace("~0", "~") for step in operation["path"].split("/")][1:]
        target = document
        for step in steps[:-1]:
            target = target[int(step)] if isinstance(target, list) else target[step]
        key: Any = steps[-1]
        if isinstance(target, list):
            key = len(target) if key == "-" else int(key)
        if operation["op"] == "remove":
            target.pop(key)
        elif operation["op"] == "add" and isinstance(target, list):
            target.insert(key, operation["value"])
        else:
            assert operation["op"] == "add" or key in target
            target[key] = operation["value"]


def placed_of(case: Path, cluster: Path, flags: Sequence[str], pods: Collection[str]) -> int:
    """How many of the pods have a node once nothing moves any more."""
    return sum(each.pod in pods and bool(each.node) for each in settle(setup_of(case, cluster, flags)).final)


def works(case: Path, raw: str, found: Explanation, fix: Fix, folder: Path) -> bool:
    """By hand and by the tool's own flags: the pods of its controller that wait are patched, claims and classes are
    created, and the flags are given. Then as many pods of the controller as promised have a node; which of several
    equal ones is the scheduler's choice."""
    document = json.loads(raw)
    pods = {name_of(item): item for item in document["items"] if item["kind"] == "Pod"}
    owners = controllers(pods[found.pod])
    for name, item in pods.items():
        waits = not item["spec"].get("nodeName") and item.get("status", {}).get("phase") not in ("Succeeded", "Failed")
        if name == found.pod or (owners and waits and controllers(item) == owners):
            patch(item, fix.patch)
    for change in fix.changes:
        created, target = change.get("object"), change.get("target", {})
        if created is not None and created["kind"] in ("PersistentVolumeClaim", "StorageClass"):
            document["items"].append(created)
        if change["op"] == "delete" and target["kind"] in ("PersistentVolumeClaim", "StorageClass"):
            old = target["kind"], target["name"]
            document["items"] = [each for each in document["items"] if (each["kind"], each["metadata"]["name"]) != old]
    cluster = folder / "changed.json"
    cluster.write_text(json.dumps(document))
    alike = {name for name, item in pods.items() if owners and controllers(item) == owners} | {found.pod}
    assert 0 < fix.promise.pods <= fix.promise.of
    return placed_of(case, cluster, fix.flags, alike) >= fix.promise.pods


def name_of(item: Any) -> str:
    metadata = item["metadata"]
    return f"{metadata.get('namespace', 'default')}/{metadata['name']}"


def controllers(item: Any) -> list[tuple[str, str, str]]:
    namespace = item["metadata"].get("namespace", "default")
    owners = item["metadata"].get("ownerReferences", [])
    return [(namespace, each["kind"], each["name"]) for each in owners if each.get("controller")]


@pytest.mark.slow
@pytest.mark.parametrize("case", sampled(CASES, 95))
def test_every_fix_that_is_printed_works(case: Path, tmp_path: Path) -> None:
    cluster = case / "cluster.json"
    setup = setup_of(case, cluster)
    gathered = load(setup)
    scheduler = Run(gathered).scheduler
    queue = scheduler.enqueue()
    unplaced = [
        each.pod.key for each in scheduler.run(queue) if each.result == "unschedulable" and not each.nominated_node
    ]
    unplaced += [scheduler.cluster.pods.infos[row].key for row in queue.gated]
    raw = cluster.read_text()

    for pod in unplaced:
        found = explain(find_subject(gathered.loaded, pod), Run(gathered))
        assert found.unplaced
        assert found.fixes is not None
        assert found.fixes.found or found.fixes.tried or found.fixes.why_none
        costs = [fix.cost for fix in found.fixes.found]
        assert costs == sorted(costs)
        for fix in found.fixes.found:
            assert works(case, raw, found, fix, tmp_path), f"{pod}: {fix}"
