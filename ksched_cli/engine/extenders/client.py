"""One configured extender (HTTPExtender): takes node rows and returns node rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import BoolColumn, Int64Column, RowColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.extenders import extender_name
from ksched_cli.config.model import Extender
from ksched_cli.engine.extenders.messages import (
    FilterResult,
    Victims,
    ask_about_names,
    ask_about_nodes,
    ask_about_victims,
    node_on_wire,
    pod_on_wire,
    read_filter,
    read_priorities,
    read_victims,
)
from ksched_cli.engine.extenders.transport import Client
from ksched_cli.engine.faults import ExtenderError
from ksched_cli.framework.handle import Candidate
from ksched_cli.releases.engine_rules import EngineRules

MAX_EXTENDER_PRIORITY = 10


class ExtenderAnswer(Struct, frozen=True):
    """The nodes that pass a filter, and the reasons of the others by name. `bare` when the extender sent node objects
    back: kube-scheduler goes on with these, without the pods and images of its cache."""

    rows: RowColumn
    failed: Mapping[str, str]
    unresolvable: Mapping[str, str]
    bare: bool = False


class NodeTexts:
    """Every node as it is sent, encoded when it is sent for the first time and kept while the nodes stay the same."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._structure = -1
        self._texts: list[bytes | None] = []

    def of(self, rows: RowColumn) -> list[bytes]:
        cluster = self._cluster
        if self._structure != cluster.structure:
            self._structure, self._texts = cluster.structure, [None] * len(cluster.nodes)
        found = []
        for row in rows.tolist():
            text = self._texts[row]
            if text is None:
                text = self._texts[row] = node_on_wire(cluster.nodes.objects[row])
            found.append(text)
        return found


class HTTPExtender:
    """`changed` counts answers in which nodes came back other than they were sent; that is not followed. `passed_over`
    counts failures that kube-scheduler would let pass, by extension point and text."""

    def __init__(self, config: Extender, cluster: Cluster, texts: NodeTexts) -> None:
        self.config = config
        self.name = extender_name(config)
        self.calls: Counter[str] = Counter()
        self.changed = 0
        self.passed_over: Counter[tuple[str, str]] = Counter()
        self._cluster = cluster
        self._texts = texts
        self._rules = EngineRules.of(cluster.release)
        self._client = Client(config, "failed" if self._rules.extender_failures_are_lower_case else "Failed")
        # An extender may return nodes that were not in the request.
        self._any_node = self._rules.extenders_may_add_nodes
        self._managed = frozenset(resource.name for resource in config.managed_resources)

    def close(self) -> None:
        self._client.close()

    def is_interested(self, pod: PodInfo) -> bool:
        """Whether the pod requests a resource that the extender manages; one that manages none takes every pod."""
        spec = pod.pod.spec
        return not self._managed or any(
            name in self._managed
            for container in (*spec.containers, *spec.init_containers)
            for name in (*container.resources.requests, *container.resources.limits)
        )

    def _post(self, point: str, verb: str, body: bytes) -> bytes:
        self.calls[point] += 1
        return self._client.post(verb, body)

    def _question(self, pod: PodInfo, rows: RowColumn) -> bytes:
        if self.config.node_cache_capable:
            return ask_about_names(pod, self._cluster.nodes.name_column[rows].tolist())
        return ask_about_nodes(pod, self._texts.of(rows))

    # Filter

    def filter(self, pod: PodInfo, rows: RowColumn) -> ExtenderAnswer:
        verb = self.config.filter_verb
        if not verb:
            return ExtenderAnswer(rows, {}, {})
        result = read_filter(self._post("filter", verb, self._question(pod, rows)))
        if result.error:
            raise ExtenderError(result.error)
        unresolvable = result.unresolvable if self._rules.extenders_name_unresolvable_nodes else {}
        if self.config.node_cache_capable and result.node_names is not None:
            return ExtenderAnswer(self._named(result.node_names, rows), result.failed, unresolvable)
        if result.nodes is None:
            return ExtenderAnswer(rows[:0], result.failed, unresolvable)
        return ExtenderAnswer(self._returned(result, rows), result.failed, unresolvable, bare=True)

    def _named(self, names: list[str], rows: RowColumn) -> RowColumn:
        row_of, candidates = self._cluster.nodes.row_of, self._mask(rows)
        passed = np.zeros(len(candidates), dtype=np.bool_)
        for name in names:
            row = row_of.get(name)
            if row is None or not (candidates[row] or self._any_node):
                where = "nodeNameToInfo map" if self._any_node else "the input node list"
                raise ExtenderError(
                    f'extender "{self.name}" claims a filtered node "{name}" which is not found in {where}'
                )
            passed[row] = True
        return _in_order(rows, passed)

    def _returned(self, result: FilterResult, rows: RowColumn) -> RowColumn:
        """kube-scheduler takes any node that comes back, whether or not it was sent. One that is not in the cluster
        would be bound to all the same; this simulation needs no call for that."""
        assert result.nodes is not None
        nodes = self._cluster.nodes
        passed = np.zeros(len(nodes), dtype=np.bool_)
        changed = False
        for node in result.nodes.items:
            row = nodes.row_of.get(node.metadata.name)
            if row is None:
                raise ExtenderError(
                    f'extender "{self.name}" returned the node "{node.metadata.name}", which is not in the cluster'
                )
            passed[row] = True
            sent = nodes.objects[row]
            changed = changed or (node.metadata.labels, node.spec.taints, node.status.allocatable) != (
                sent.metadata.labels,
                sent.spec.taints,
                sent.status.allocatable,
            )
        self.changed += changed
        return _in_order(rows, passed)

    def _mask(self, rows: RowColumn) -> BoolColumn:
        mask = np.zeros(len(self._cluster.nodes), dtype=np.bool_)
        mask[rows] = True
        return mask

    # Prioritize

    def prioritize(self, pod: PodInfo, rows: RowColumn) -> Int64Column | None:
        """The score of each row, 0 where the extender gave none; None without a verb for it. Nodes that were not
        in the request are skipped."""
        verb = self.config.prioritize_verb
        if not verb:
            return None
        given = read_priorities(self._post("prioritize", verb, self._question(pod, rows)))
        scores = np.zeros(len(self._cluster.nodes), dtype=np.int64)
        for each in given:
            row = self._cluster.nodes.row_of.get(each.host)
            if row is not None:
                # Go adds up in int64 and lets it overflow, which adding to a column does as well.
                scores[row : row + 1] += each.score
        wanted: Int64Column = scores[rows]
        return wanted

    # Preempt

    def supports_preemption(self) -> bool:
        return bool(self.config.preempt_verb)

    def process_preemption(self, pod: PodInfo, candidates: Mapping[int, Candidate]) -> dict[int, Candidate]:
        """The candidates that are left, with the victims that the extender wants; a node without victims is left in,
        for the caller to judge."""
        in_full = not self.config.node_cache_capable
        names = self._cluster.nodes.names
        victims_by_node = {names[row]: self._victims(each, in_full) for row, each in candidates.items()}
        body = ask_about_victims(pod, victims_by_node, in_full=in_full)
        answered = read_victims(self._post("preempt", self.config.preempt_verb, body))
        return {each.row: each for node, victims in answered.items() for each in [self._candidate(node, victims)]}

    def node_name(self, row: int) -> str:
        return self._cluster.nodes.names[row]

    def _victims(self, candidate: Candidate, in_full: bool) -> Victims:
        infos = [self._cluster.pods.infos[row] for row in candidate.victims]
        node = self._cluster.nodes.names[candidate.row]
        pods = tuple(pod_on_wire(info, node) for info in infos) if in_full else ()
        return Victims(tuple(info.uid for info in infos), candidate.pdb_violations, pods)

    def _candidate(self, node: str, victims: Victims) -> Candidate:
        row = self._cluster.nodes.row_of.get(node)
        if row is None:
            raise ExtenderError(f'nodeinfo not found for node name "{node}"')
        infos = self._cluster.pods.infos
        there = {infos[pod_row].uid: pod_row for pod_row in self._cluster.pods_on(row)}
        missing = [uid for uid in victims.uids if uid not in there]
        if missing:
            raise ExtenderError(
                f"extender: {self.name} claims to preempt pod (UID: &{{{missing[0]}}}) on node: {node}, "
                "but the pod is not found on that node"
            )
        return Candidate(row, tuple(there[uid] for uid in victims.uids), victims.pdb_violations)


def _in_order(rows: RowColumn, passed: BoolColumn) -> RowColumn:
    """Rows that passed, in the order of the request; other returned rows are behind them."""
    kept = rows[passed[rows]]
    passed[rows] = False
    return np.concatenate([kept, np.nonzero(passed)[0]])
