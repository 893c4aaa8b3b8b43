"""The rejection of a pod that is reported, and the field that a person would change.

`kind_of` and `parts_of` return the room of a rejection: that of the plugin whose reason it is. `cause_of` chooses among
the rejections of all nodes: those of the nodes that came closest to taking the pod.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.quantity import largest_request
from ksched_cli.cluster.columns import BoolColumn, RowColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.cycle.runtime import CycleState, Runtime
from ksched_cli.engine.cycle.trial import CycleTrial
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.faults import CycleError
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.framework.diagnosis import Diagnosis
from ksched_cli.framework.interfaces import FilterPlugin
from ksched_cli.framework.reasons import FieldPath, Reason, ReasonCode, ReasonKind, RejectionGuide, free_text
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import Code, Status
from ksched_cli.plan.reasons.codes import CYCLE_ERROR, OTHER_PLUGIN, all_codes
from ksched_cli.plugins.in_tree import spec_of

_UNKNOWN = RejectionGuide()


def guide_of(plugin: str) -> RejectionGuide:
    """The guide of the plugin's room about its rejections."""
    spec = spec_of(plugin)
    return _UNKNOWN if spec is None else spec.guide


def parts_of(status: Status) -> Iterator[tuple[str, tuple[Reason, ...]]]:
    """The reasons of a rejection by the plugin whose rules they are."""
    parts: dict[str, list[Reason]] = {}
    for reason in status.reasons:
        parts.setdefault(reason.kind.owner or status.plugin, []).append(reason)
    for plugin, reasons in parts.items():
        yield plugin, tuple(reasons)
    if not parts:
        yield status.plugin, ()


def own_figures(status: Status, part: str, figures: Mapping[str, Any]) -> Mapping[str, Any]:
    """The numbers of one part of a rejection. Only a predicate of several parts has numbers for each part."""
    own: Mapping[str, Any] = figures[part] if part != status.plugin and part in figures else figures
    return own


def kind_of(reason: Reason) -> ReasonKind:
    """The kind of a reason. A plugin that alone left no node in PreFilter rejects the pod by a kind of its own."""
    spec = spec_of(reason.param("plugins")) if reason.param("plugins") else None
    return reason.kind if spec is None or spec.narrowing is None else spec.narrowing


def code_of(reasons: Sequence[Reason], *, unresolvable: bool = False) -> ReasonCode | None:
    """The code of a rejection; of several reasons the lowest. None if no reason has one."""
    codes = (kind_of(reason).code_of(unresolvable=unresolvable) for reason in reasons)
    return min((code for code in codes if code is not None), key=lambda code: code.code, default=None)


def is_unresolvable(status: Status) -> bool:
    return status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE


class RejectionCause(Struct, frozen=True):
    """Why a pod has no node: the code, the plugin with its text, and the numbers of the rejection on one node.
    `limits`: what the pod requests and the node has, for this rejection and for others that follow it."""

    code: ReasonCode
    plugin: str = ""
    reasons: tuple[Reason, ...] = ()
    detail: Mapping[str, Any] = field(default_factory=dict)
    limits: str = ""


def cause_of(scheduler: Scheduler, decision: Decision) -> RejectionCause:
    """The cause of a decision, as its message has it. The cluster may have changed since: then the figures are those
    of now."""
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


def _closest(runtime: Runtime, info: PodInfo, diagnosis: Diagnosis) -> RejectionCause | None:
    """Run every filter over every node that was looked at, to find the closest nodes. Of their first failures, which
    are those in the scheduler's message, the most frequent one decides, and of several the one whose plugin runs
    last."""
    rows = np.nonzero(diagnosis.nodes.failed & ~diagnosis.nodes.absent)[0]
    state = CycleState()
    try:
        if not len(rows) or runtime.run_pre_filter(state, info).status is not None:
            return None
    except CycleError:
        return None
    verdicts = [
        (plugin, statuses)
        for plugin in runtime.profile.filter
        if plugin.name not in state.skip_filter
        for statuses in [_rejections(plugin, state, info, NodeRows(runtime.cluster, rows))]
        if statuses
    ]
    closest = _candidates([statuses for _, statuses in verdicts])
    rows_of: defaultdict[Status, list[int]] = defaultdict(list)
    for row in sorted(closest):
        rows_of[diagnosis.nodes.status(row)].append(row)
    if not rows_of:
        return None
    order = {plugin.name: number for number, (plugin, _) in enumerate(verdicts)}
    status = max(rows_of, key=lambda each: (len(rows_of[each]), order.get(each.plugin, -1)))
    row = rows_of[status][0]
    figures = {
        plugin.name: _detail(plugin, state, info, runtime, row) for plugin, statuses in verdicts if row in statuses
    }
    limits = (guide_of(plugin).describe_limits(own) for plugin, own in figures.items() if own)
    return replace(cause_of_status(status, figures.get(status.plugin)), limits=" ".join(filter(None, limits)))


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


def _rejections(plugin: FilterPlugin[Any], state: CycleState, info: PodInfo, nodes: NodeRows) -> dict[int, Status]:
    """The rejections of a filter by node row. A filter that cannot run for these nodes has no rejections."""
    try:
        verdict = plugin.filter(state.filter_states.get(plugin.name), info, nodes)
    except Exception:  # A filter that does not run for these nodes.
        return {}
    rejected = np.nonzero((verdict.codes != Code.SUCCESS) & (verdict.codes != Code.ERROR))[0]
    return {int(nodes.rows[index]): verdict.status(int(index)).by(plugin.name) for index in rejected}


def _detail(
    plugin: FilterPlugin[Any], state: CycleState, info: PodInfo, runtime: Runtime, row: int
) -> Mapping[str, Any]:
    nodes = NodeRows(runtime.cluster, np.array([row], dtype=np.int64))
    try:
        return plugin.explain(state.filter_states.get(plugin.name), info, nodes, 0)
    except Exception:  # The numbers are an extra; an out-of-tree plugin may not have them.
        return {}


def nodes_without(scheduler: Scheduler, info: PodInfo, others: RowColumn) -> BoolColumn:
    """The nodes that would take the pod without these other pods."""
    none: BoolColumn = np.zeros(len(scheduler.cluster.nodes), dtype=np.bool_)
    runtime = scheduler.runtimes[info.pod.spec.scheduler_name]
    state = CycleState()
    placed: BoolColumn = scheduler.cluster.pods.node_row[others] >= 0
    try:
        outcome = runtime.run_pre_filter(state, info)
        if outcome.status is not None and outcome.status.code is not Code.UNSCHEDULABLE:
            return none
        with CycleTrial(runtime, state, info) as trial:
            trial.remove(others[placed])
            return trial.fits(scheduler.cluster.nodes.all_rows)
    except CycleError:
        return none


_SPEC: FieldPath = ("spec",)
# Of codes that come without a reason of a plugin.
_FIELDS: Mapping[str, FieldPath] = {
    "KS109": ("spec", "nodeName"),
    "KS202": ("spec", "schedulerName"),
    "KS203": ("spec", "priorityClassName"),
    "KS204": ("spec", "priorityClassName"),
    "KS303": ("spec", "priorityClassName"),
    "KS304": ("spec", "runtimeClassName"),
    "KS305": ("spec", "nodeSelector"),
}


def field_of(cause: RejectionCause, pod: Pod) -> FieldPath:
    """The deciding field, or the pod's spec if no field decides."""
    for reason in cause.reasons:
        kind = kind_of(reason)
        if kind.field is not None and cause.code in (kind.code, kind.unresolvable_code):
            return kind.field(pod, cause.reasons, cause.detail)
    return _FIELDS.get(cause.code.code, _SPEC)


def refused_field(code: ReasonCode, resource: str, pod: Pod) -> FieldPath:
    """The field that admission refuses: the largest request of the resource, if the pod requests it."""
    if code.code not in ("KS301", "KS302"):
        return _FIELDS.get(code.code, _SPEC)
    return largest_request(pod, resource)
