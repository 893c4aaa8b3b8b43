"""What `explain` finds out beside the cycle, held against what kube-scheduler 1.36 decided in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.engine.inspection import inspect
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.plan.simulate import OutputOptions, outcome_of
from ksched_cli.report.view.pods import PodPart
from tests.lanes import sampled
from tests.running import prepare
from tests.test_conformance import CASES, differences

# Of nodes that PreFilter had ruled out nobody asked a filter.
NOT_ASKED = "node(s) didn't satisfy plugin"


def first_rejections(scheduler: Scheduler, pod_row: int) -> dict[str, tuple[str, str, list[str]]]:
    """Per node the first plugin of the profile that rejects it, when every plugin is asked about every node."""
    info = scheduler.cluster.pods.infos[pod_row]
    found: dict[str, tuple[str, str, list[str]]] = {}
    for judgement in inspect(scheduler.runtimes[info.pod.spec.scheduler_name], info).filters:
        for row, name in enumerate(scheduler.cluster.nodes.names):
            status = judgement.statuses.status(row)
            if not status.ok:
                found.setdefault(name, (status.plugin, status.code.go_name, sorted(status.texts)))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("case", sampled(CASES, 30))
def test_the_first_of_all_rejections_is_kube_schedulers_and_looking_changes_nothing(case: Path) -> None:
    config = case / "config.yaml"
    scheduler = prepare(
        RunOptions([str(case / "cluster.json")], config=str(config) if config.exists() else None)
    ).scheduler
    wanted: dict[str, Any] = {pod["pod"]: pod for pod in json.loads((case / "expected.json").read_text())["pods"]}
    for row in scheduler.enqueue().active:
        firsts = first_rejections(scheduler, row)
        decision = scheduler.schedule(row)
        want = wanted[decision.pod.key]
        assert not list(
            differences(want, PodPart.of(outcome_of(decision, scheduler.cluster, OutputOptions(detail=True))).entry())
        )
        if want.get("preFilter") or want["result"] == "skipped":
            continue
        rejected = {
            node: (entry["plugin"], entry["code"], sorted(entry["reasons"]))
            for node, entry in (want.get("filters") or {}).items()
            if not any(reason.startswith(NOT_ASKED) for reason in entry["reasons"])
        }
        assert {node: firsts[node] for node in rejected} == rejected
        assert firsts.keys().isdisjoint(want.get("feasible") or ())
