"""Runs with other outcomes of the decisions that Kubernetes leaves to chance, and one verdict from all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from ksched_cli.cluster.columns import RowColumn
from ksched_cli.controlplane.draws import Alternative, Draw, alternatives
from ksched_cli.plan.check.results import Finding, Orders, WorkloadCheck
from ksched_cli.plan.check.run import CheckRun
from ksched_cli.plan.check.ties import WHAT
from ksched_cli.plan.deciding import nodes_without

# How many orders are tried, the first one among them.
MOST_ORDERS = 8
_MOST_WAITING = 4


def other_orders(run: CheckRun, workloads: Sequence[WorkloadCheck]) -> list[Alternative]:
    """Other outcomes of what chance decided, where that may matter: if a pod was turned away, or a workload fails. Ties
    between nodes come after the draws of the controllers."""
    if not run.is_tight and all(each.result != "fails" for each in workloads):
        return []
    found = list(alternatives(run.result.draws, MOST_ORDERS - 1))
    return [*found, *islice(_other_nodes(run), MOST_ORDERS - 1 - len(found))]


def _other_nodes(run: CheckRun) -> Iterator[Alternative]:
    """Other outcomes of ties that may leave a node to a pod that has none."""
    scheduler = run.world.scheduler
    waiting = [each for each in run.decisions.values() if each.pod_row not in run.world.cluster.pods.gone]
    if not waiting or not scheduler.takes_lowest_name:
        return iter(())
    own = _placed(run)
    return run.ties.alternatives([nodes_without(scheduler, each.pod, own) for each in waiting[:_MOST_WAITING]])


def _placed(run: CheckRun) -> RowColumn:
    """The pods that got a node in the run."""
    row_of = run.world.cluster.pods.row_of
    bound = (uid for uid, life in run.world.recorder.lives.items() if life.bound is not None)
    return np.array(sorted(row_of[uid] for uid in bound if uid in row_of), dtype=np.int64)


def decisive_ties(
    first: Sequence[WorkloadCheck], found: Iterable[tuple[Alternative, Sequence[WorkloadCheck]]]
) -> tuple[Draw, ...]:
    """The ties between nodes on which some result depends."""
    results = [each.result for each in first]
    draws = [each.draw for each, others in found if [other.result for other in others] != results]
    return tuple(dict.fromkeys(draw for draw in draws if draw.what == WHAT))


def in_all_orders(runs: Sequence[Sequence[WorkloadCheck]]) -> tuple[WorkloadCheck, ...]:
    """Each workload with the number of orders in which it finishes. What is in its way in some orders only becomes a
    warning. The first run comes first."""
    return tuple(_verdict(outcomes) for outcomes in zip(*runs, strict=True))


def _verdict(outcomes: Sequence[WorkloadCheck]) -> WorkloadCheck:
    first, tried = outcomes[0], len(outcomes)
    failing = [each for each in outcomes if each.result == "fails"]
    orders = Orders(tried, tried - len(failing))
    if not failing:
        return replace(first, orders=orders)
    if len(failing) == tried:
        findings = tuple(
            _in_words(each, f" (in all {tried} orders that were tried)", "error") for each in first.findings
        )
        return replace(first, findings=findings, orders=orders)
    errors = (each for each in failing[0].findings if each.level == "error")
    others = (each for each in first.findings if each.level != "error")
    doubtful = [replace(each, level="warning", message=f"{orders}; in the others {each.message}") for each in errors]
    # The counts are those of an order that does not finish: that is what the warnings are about.
    return replace(failing[0], findings=(*doubtful, *others), orders=orders)


def _in_words(finding: Finding, more: str, level: str) -> Finding:
    return replace(finding, message=finding.message + more) if finding.level == level else finding
