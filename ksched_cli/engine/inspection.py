"""One pod looked at with every plugin on every node: what a cycle would have found out had it not stopped early.

An inspection decides nothing and changes nothing: the next cycle decides as it would without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.cache import Sandbox
from ksched_cli.cluster.columns import BoolColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.cycle.runtime import CycleState, Runtime
from ksched_cli.engine.faults import CycleError, plugin_faults
from ksched_cli.framework.diagnosis import NodeStatuses
from ksched_cli.framework.interfaces import Detail, FilterPlugin, PreFilterResult
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import SKIP, SUCCESS, Status, error


class InspectedStatus(Struct, frozen=True):
    """The result of a plugin for the pod as a whole. `node_names`: the only nodes it leaves, None for all."""

    plugin: str
    status: Status
    node_names: frozenset[str] | None = None


class Judgement(Struct, frozen=True):
    """The result of one filter for every node. `beside` are the nodes that it would pass without the pods
    nominated to them; `problem` is set when the filter failed."""

    plugin: FilterPlugin[Any]
    statuses: NodeStatuses
    beside: BoolColumn
    problem: str = ""


@dataclass
class Inspection:
    """The results of all plugins of a profile for one pod before its cycle."""

    runtime: Runtime
    pod: PodInfo
    state: CycleState = field(default_factory=CycleState)
    pre_enqueue: list[InspectedStatus] = field(default_factory=list)
    pre_filter: list[InspectedStatus] = field(default_factory=list)
    filters: list[Judgement] = field(default_factory=list)

    def detail(self, judgement: Judgement, row: int) -> Detail:
        """The numbers behind the verdict on a node, with the pods in place that made it."""
        plugin = judgement.plugin
        nodes = NodeRows(self.runtime.cluster, np.array([row], dtype=np.int64))
        try:
            with self._as_judged(judgement, row) as state, plugin_faults(plugin.name, "explain"):
                return plugin.explain(state.filter_states.get(plugin.name), self.pod, nodes, 0)
        except CycleError:
            # A node on which the filter failed has no numbers either; its reason has the error.
            return {}

    @contextmanager
    def _as_judged(self, judgement: Judgement, row: int) -> Iterator[CycleState]:
        if not judgement.beside[row]:
            yield self.state
            return
        everywhere = NodeRows(self.runtime.cluster)
        others = np.array(self.runtime.nominated_beside(self.pod, everywhere)[row], dtype=np.int64)
        state = self.runtime.clone(self.state)
        with Sandbox(self.runtime.cluster) as sandbox:
            for index, other in enumerate(others.tolist()):
                sandbox.move(others[index : index + 1], np.array([row], dtype=np.int64), 1)
                self.runtime.add_pod(state, self.pod, other, row)
            yield state


def inspect(runtime: Runtime, info: PodInfo) -> Inspection:
    """Run PreEnqueue, PreFilter and every filter over every node."""
    inspection = Inspection(runtime, info)
    for plugin in runtime.profile.pre_enqueue:
        with plugin_faults(plugin.name, "preEnqueue"):
            inspection.pre_enqueue.append(InspectedStatus(plugin.name, plugin.pre_enqueue(info).by(plugin.name)))
    _ask_pre_filters(inspection)
    inspection.filters.extend(_judgements(inspection))
    return inspection


def _ask_pre_filters(inspection: Inspection) -> None:
    """All of them, also behind one that rejects the pod."""
    state = inspection.state
    for plugin in inspection.runtime.profile.pre_filter:
        name = plugin.name
        try:
            with plugin_faults(name, "preFilter"):
                answer = plugin.pre_filter(inspection.pod)
        except CycleError as problem:
            answer = error(str(problem))
        if isinstance(answer, PreFilterResult):
            state.filter_states[name] = answer.state
            if answer.skip:
                state.skip_filter.add(name)
            inspection.pre_filter.append(InspectedStatus(name, SKIP if answer.skip else SUCCESS, answer.node_names))
        else:
            # Without a state its filter has nothing to go by, be it for having none to do or for a rejection.
            state.skip_filter.add(name)
            inspection.pre_filter.append(InspectedStatus(name, answer.by(name)))


def _judgements(inspection: Inspection) -> Iterator[Judgement]:
    runtime, state, info = inspection.runtime, inspection.state, inspection.pod
    everywhere = NodeRows(runtime.cluster)
    nominated = runtime.nominated_beside(info, everywhere)
    for plugin in runtime.profile.filter:
        if plugin.name in state.skip_filter:
            continue
        statuses, beside_nominated = NodeStatuses(len(everywhere)), NodeStatuses(len(everywhere))
        beside = np.zeros(len(everywhere), dtype=np.bool_)
        try:
            passed = runtime.run_filter((plugin,), state, info, everywhere, statuses)
            refused = (
                runtime.refused_beside((plugin,), state, info, nominated, beside_nominated) if nominated else set()
            )
        except CycleError as problem:
            yield Judgement(plugin, NodeStatuses(len(everywhere)), beside, str(problem))
            continue
        if refused:
            rows = np.array(sorted(refused), dtype=np.int64)
            statuses.take_over(beside_nominated, rows)
            beside[rows] = passed.mask()[rows]
        yield Judgement(plugin, statuses, beside)
