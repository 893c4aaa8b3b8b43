"""All extenders of a configuration: whom they leave in, what they score, whom they would evict.

Each call is made once per pod and in order. No answer is reused: an extender may decide on anything.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.model import SchedulerConfiguration
from ksched_cli.engine.extenders.client import MAX_EXTENDER_PRIORITY, ExtenderAnswer, HTTPExtender, NodeTexts
from ksched_cli.engine.faults import ExtenderError, blamed
from ksched_cli.engine.score_table import ScoreTable
from ksched_cli.engine.timings import Timings
from ksched_cli.framework.diagnosis import NodeStatuses
from ksched_cli.framework.handle import Candidate
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import Status, error, unresolvable, unschedulable
from ksched_cli.releases.engine_rules import EngineRules
from ksched_cli.releases.minors import Release


class Extenders:
    """In the order in which kube-scheduler calls them: those that may be ignored come last (buildExtenders)."""

    def __init__(self, extenders: Sequence[HTTPExtender], release: Release) -> None:
        self._extenders = sorted(extenders, key=lambda each: each.config.ignorable)
        rules = EngineRules.of(release)
        # Else plugins are given the name of a node and look it up.
        self._scores_what_came_back = rules.extender_nodes_are_scored_as_sent
        self.is_blamed = rules.extenders_are_blamed
        # An extender's score is as large as that of a plugin can be.
        self._scale = release.max_node_score // MAX_EXTENDER_PRIORITY
        # Else a node can be cleared without victims, and one that was left out without a word be cleared.
        self._needs_victims = rules.preemption_needs_victims
        self._silence = unresolvable() if self._needs_victims else unschedulable()

    def __iter__(self) -> Iterator[HTTPExtender]:
        return iter(self._extenders)

    def _interested_in(self, pod: PodInfo) -> list[HTTPExtender]:
        return [each for each in self._extenders if each.is_interested(pod)]

    def filter(self, pod: PodInfo, nodes: NodeRows, statuses: NodeStatuses) -> NodeRows:
        """findNodesThatPassExtenders."""
        for extender in self._interested_in(pod):
            if not len(nodes):
                break
            try:
                with blamed(extender.name, "filter"):
                    answer = extender.filter(pod, nodes.rows)
            except ExtenderError as problem:
                if not extender.config.ignorable:
                    raise
                extender.passed_over["filter", str(problem)] += 1
                continue
            _note(extender.name, nodes, answer, statuses, self._silence)
            bare = answer.bare and self._scores_what_came_back
            nodes = NodeRows(nodes.cluster, answer.rows, bare=bare or nodes.bare)
        return nodes

    def prioritize(self, pod: PodInfo, nodes: NodeRows, table: ScoreTable) -> ScoreTable:
        """The part of prioritizeNodes that is about extenders: their scores join those of the plugins. One that fails
        does not count, whether or not it is ignorable."""
        raw, normalized, weighted = table.raw, table.normalized, table.weighted
        totals = table.totals
        for extender in self._interested_in(pod):
            try:
                with blamed(extender.name, "score"):
                    scores = extender.prioritize(pod, nodes.rows)
            except ExtenderError as problem:
                extender.passed_over["prioritize", str(problem)] += 1
                continue
            if scores is None:
                continue
            name = _free_name(extender.name, raw)
            raw[name], normalized[name] = scores, scores * self._scale
            weighted[name] = normalized[name] * extender.config.weight
            totals = totals + weighted[name]
        return ScoreTable(table.rows, raw, normalized, {}, totals, weighted)

    def preempt(self, pod: PodInfo, candidates: Mapping[int, Candidate]) -> dict[int, Candidate] | Status:
        """callExtenders: the candidates that are left with their victims, or the status that ends the search."""
        left = dict(candidates)
        for extender in self._interested_in(pod):
            if not extender.supports_preemption():
                continue
            ignorable = extender.config.ignorable
            try:
                with blamed(extender.name, "postFilter"):
                    answer = extender.process_preemption(pod, left)
            except ExtenderError as problem:
                if not ignorable:
                    return error(str(problem))
                extender.passed_over["preempt", str(problem)] += 1
                continue
            spared = [row for row, each in answer.items() if not each.victims] if self._needs_victims else []
            if spared and not ignorable:
                return error(f'expected at least one victim pod on node "{extender.node_name(spared[0])}"')
            left = {row: each for row, each in answer.items() if row not in spared}
            if not left:
                break
        return left

    def report(self) -> list[dict[str, Any]]:
        """For the coverage: the number of calls of each extender, and the calls that did not count."""
        return [_calls_of(each) for each in self._extenders]

    def close(self) -> None:
        for extender in self._extenders:
            extender.close()


def make_extenders(
    configuration: SchedulerConfiguration, release: Release, cluster: Cluster, timings: Timings | None
) -> Extenders:
    """All of a configuration; ConfigError where one cannot be called at all."""
    texts = NodeTexts(cluster)
    made = [HTTPExtender(each, cluster, texts) for each in configuration.extenders]
    for extender in made:
        if timings is not None:
            timings.watch(extender, {"filter": "filter", "prioritize": "score", "process_preemption": "postFilter"})
    return Extenders(made, release)


def _note(name: str, candidates: NodeRows, answer: ExtenderAnswer, statuses: NodeStatuses, silence: Status) -> None:
    """A node that an extender leaves out without a reason counts as not evaluated."""
    missing = np.setdiff1d(candidates.rows, answer.rows)
    if len(missing):
        silent = silence if statuses.absent_status.ok else statuses.absent_status
        for row in missing.tolist():
            statuses.set(row, replace(silent, plugin=name))
    statuses_by_node = {node: unschedulable(reason) for node, reason in answer.failed.items()}
    statuses_by_node |= {node: unresolvable(reason) for node, reason in answer.unresolvable.items()}
    for node, status in statuses_by_node.items():
        known = candidates.cluster.nodes.row_of.get(node)
        if known is None:
            statuses.set_stranger(node, status.by(name))
        else:
            statuses.set(known, status.by(name))


def _free_name(name: str, taken: Container[str]) -> str:
    """Two extenders may have one URL and differ in their verbs."""
    free, number = name, 2
    while free in taken:
        free, number = f"{name} ({number})", number + 1
    return free


def _calls_of(extender: HTTPExtender) -> dict[str, Any]:
    entry: dict[str, Any] = {"extender": extender.name, "calls": dict(extender.calls)}
    if extender.passed_over:
        entry["passedOver"] = [
            {"verb": point, "error": text, "times": times} for (point, text), times in extender.passed_over.items()
        ]
    if extender.changed:
        entry["changedNodes"] = extender.changed
    if extender.config.bind_verb:
        entry["bind"] = "not called"
    return entry
