"""Which of a pod's many rejections to report: the rejection by the nodes that came closest to taking the pod."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field

from ksched_cli.cluster.columns import BoolColumn, RowColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.cycle_state import CycleState
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.faults import CycleError
from ksched_cli.engine.runtime import Runtime
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.engine.trial import CycleTrial
from ksched_cli.framework.diagnosis import Diagnosis
from ksched_cli.framework.interfaces import FilterPlugin
from ksched_cli.framework.reasons import Reason, ReasonCode, free_text
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import Code, Status
from ksched_cli.plan.codes import CYCLE_ERROR, OTHER_PLUGIN, all_codes
from ksched_cli.plan.rules import code_of, guide_of, is_unresolvable, own_figures, parts_of


class RejectionCause(Struct, frozen=True):
    """Why a pod has no node: the code, the plugin with its text, and the numbers of the rejection on one node."""

    code: ReasonCode
    plugin: str = ""
    reasons: tuple[Reason, ...] = ()
    detail: Mapping[str, Any] = field(default_factory=dict)


def cause_of(scheduler: Scheduler, decision: Decision) -> RejectionCause:
    """The cause of a decision. The cluster must still be in the state of the decision."""
    if decision.result == "error":
        return RejectionCause(all_codes()[CYCLE_ERROR], reasons=(free_text(decision.message),))
    diagnosis = decision.diagnosis
    if diagnosis is None:
        return _by_itself(decision.reason or free_text(decision.message))
    if diagnosis.pre_filter is not None:
        return cause_of_status(diagnosis.pre_filter)
    runtime = scheduler.runtimes[decision.pod.pod.spec.scheduler_name]
    return _closest(runtime, decision.pod, diagnosis) or _first(decision, diagnosis)


def cause_of_status(status: Status, figures: Mapping[str, Any] | None = None) -> RejectionCause:
    code = code_of(status.reasons, unresolvable=is_unresolvable(status)) or all_codes()[OTHER_PLUGIN]
    part, _ = next(parts_of(status))
    return RejectionCause(code, status.plugin, status.reasons, own_figures(status, part, figures or {}))


def _by_itself(reason: Reason) -> RejectionCause:
    return RejectionCause(code_of([reason]) or all_codes()[OTHER_PLUGIN], reasons=(reason,))


def _first(decision: Decision, diagnosis: Diagnosis) -> RejectionCause:
    """The failure that the decision has for most nodes."""
    groups = sorted(diagnosis.nodes.groups(), key=lambda group: -len(group[1]))
    return cause_of_status(groups[0][0]) if groups else _by_itself(decision.reason or free_text(diagnosis.message()))


def _closest(runtime: Runtime, pod: PodInfo, diagnosis: Diagnosis) -> RejectionCause | None:
    """Run every filter over every node that was looked at. Of the reasons of the closest nodes the most frequent one
    decides, and of several the one whose plugin runs last."""
    rows = np.nonzero(diagnosis.nodes.failed & ~diagnosis.nodes.absent)[0]
    state = CycleState()
    try:
        if not len(rows) or runtime.pre_filters.run(state, pod).status is not None:
            return None
    except CycleError:
        return None
    verdicts = [
        (plugin, statuses)
        for plugin in runtime.profile.filter
        if plugin.name not in state.skip_filter
        for statuses in [_rejections(plugin, state, pod, NodeRows(runtime.cluster, rows))]
        if statuses
    ]
    closest = _candidates([statuses for _, statuses in verdicts])
    rows_of: defaultdict[tuple[int, Status], list[int]] = defaultdict(list)
    for order, (_, statuses) in enumerate(verdicts):
        for row in sorted(closest & statuses.keys()):
            rows_of[order, statuses[row]].append(row)
    if not rows_of:
        return None
    order, status = max(rows_of, key=lambda key: (len(rows_of[key]), key[0]))
    return cause_of_status(status, _detail(verdicts[order][0], state, pod, runtime, rows_of[order, status][0]))


def _candidates(verdicts: Sequence[Mapping[int, Status]]) -> set[int]:
    """Nodes of the kind that the pod wants, if there are any; of those the ones that take pods of any kind, if
    there are any; and of those the ones that fail for the fewest reasons."""
    rows = {row for statuses in verdicts for row in statuses}
    failures = {row: [statuses[row] for statuses in verdicts if row in statuses] for row in rows}
    for excluded in (_another_kind, _closed):
        failures = {row: own for row, own in failures.items() if not any(map(excluded, own))} or failures
    fewest = min(map(len, failures.values()), default=0)
    return {row for row, found in failures.items() if len(found) == fewest}


def _another_kind(status: Status) -> bool:
    """Whether the pod wants other nodes: by name, by label, or by a resource that only some nodes offer."""
    parts, unresolvable = parts_of(status), is_unresolvable(status)
    return any(guide_of(part).is_other_kind_of_node(own, unresolvable=unresolvable) for part, own in parts)


def _closed(status: Status) -> bool:
    """Whether the node is cordoned or reserved for other pods."""
    return guide_of(next(parts_of(status))[0]).closes_node


def _rejections(plugin: FilterPlugin[Any], state: CycleState, pod: PodInfo, nodes: NodeRows) -> dict[int, Status]:
    """The rejections of a filter by node row. A filter that cannot run for these nodes has no rejections."""
    try:
        verdict = plugin.filter(state.filter_states.get(plugin.name), pod, nodes)
    except Exception:  # A filter that does not run for these nodes.
        return {}
    rejected = np.nonzero((verdict.codes != Code.SUCCESS) & (verdict.codes != Code.ERROR))[0]
    return {int(nodes.rows[index]): verdict.status(int(index)).by(plugin.name) for index in rejected}


def _detail(
    plugin: FilterPlugin[Any], state: CycleState, pod: PodInfo, runtime: Runtime, row: int
) -> Mapping[str, Any]:
    nodes = NodeRows(runtime.cluster, np.array([row], dtype=np.int64))
    try:
        return plugin.explain(state.filter_states.get(plugin.name), pod, nodes, 0)
    except Exception:  # The numbers are an extra; an out-of-tree plugin may not have them.
        return {}


def nodes_without(scheduler: Scheduler, pod: PodInfo, others: RowColumn) -> BoolColumn:
    """The nodes that would take the pod without these other pods."""
    none: BoolColumn = np.zeros(len(scheduler.cluster.nodes), dtype=np.bool_)
    runtime = scheduler.runtimes[pod.pod.spec.scheduler_name]
    state = CycleState()
    placed: BoolColumn = scheduler.cluster.pods.node_row[others] >= 0
    try:
        outcome = runtime.pre_filters.run(state, pod)
        if outcome.status is not None and outcome.status.code is not Code.UNSCHEDULABLE:
            return none
        with CycleTrial(runtime, state, pod) as trial:
            trial.remove(others[placed])
            return trial.fits(scheduler.cluster.nodes.all_rows)
    except CycleError:
        return none
