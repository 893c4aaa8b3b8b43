"""The extenders of a configuration: which nodes they leave in, what they score, whom they would evict (HTTPExtender,
k8s.io/kube-scheduler/extender/v1).

Each call is made once per pod and in order. No answer is reused: an extender may decide on anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.conversion import path_text, problems_in
from ksched_cli.api.core import Node
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import BoolColumn, Int64Column, RowColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.model import Extender, SchedulerConfiguration, extender_name
from ksched_cli.engine.decision import ScoreTable
from ksched_cli.engine.extenders.transport import Client
from ksched_cli.engine.faults import ExtenderError, plugin_faults
from ksched_cli.framework.diagnosis import NodeStatuses
from ksched_cli.framework.handle import Candidate
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import Status, error, unresolvable, unschedulable
from ksched_cli.releases.engine_rules import EngineRules
from ksched_cli.releases.minors import Release

if TYPE_CHECKING:
    from ksched_cli.engine.timings import Timings

Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

# Questions


def to_wire(value: Any) -> Any:
    """An object as Go writes it: fields that are empty are left out, entries of maps are not."""
    if isinstance(value, Struct):
        names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        fields = ((name, getattr(value, attribute)) for name, attribute in names)
        return {name: to_wire(each) for name, each in fields if each not in (None, "", ())}
    if isinstance(value, dict):
        return {key: to_wire(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_wire(each) for each in value]
    return value


def pod_on_wire(info: PodInfo, node: str = "") -> dict[str, Any]:
    """The pod, under the UID by which answers name it, on its node where it is on one."""
    document: dict[str, Any] = to_wire(info.pod)
    document["metadata"]["uid"] = info.uid
    if node:
        document["spec"]["nodeName"] = node
    return document


def node_on_wire(node: Node) -> bytes:
    return msgspec.json.encode(to_wire(node))


def ask_about_names(info: PodInfo, names: Sequence[str]) -> bytes:
    """ExtenderArgs for an extender that caches nodes (nodeCacheCapable)."""
    return msgspec.json.encode({"Pod": pod_on_wire(info), "Nodes": None, "NodeNames": names})


def ask_about_nodes(info: PodInfo, nodes: Iterable[bytes]) -> bytes:
    """ExtenderArgs with the nodes, which are encoded already."""
    head = msgspec.json.encode(pod_on_wire(info))
    return b'{"Pod":%b,"Nodes":{"metadata":{},"items":[%b]},"NodeNames":null}' % (head, b",".join(nodes))


class Victims(Struct, frozen=True):
    """Pods of one node by UID, the most important first; `pods` has them in full."""

    uids: tuple[str, ...]
    pdb_violations: int
    pods: tuple[dict[str, Any], ...] = ()


def ask_about_victims(info: PodInfo, victims: Mapping[str, Victims], *, in_full: bool) -> bytes:
    """ExtenderPreemptionArgs."""
    by_node = {
        node: {
            "Pods": list(each.pods) if in_full else [{"UID": uid} for uid in each.uids],
            "NumPDBViolations": each.pdb_violations,
        }
        for node, each in victims.items()
    }
    return msgspec.json.encode(
        {
            "Pod": pod_on_wire(info),
            "NodeNameToVictims": by_node if in_full else None,
            "NodeNameToMetaVictims": None if in_full else by_node,
        }
    )


# Answers. Go does not mind the case of a field's name, so all names are made small before they are looked at.


class _NodeList(Struct):
    items: list[Node] = []


class FilterResult(Struct):
    """Either list may be missing, which is not the same as empty."""

    nodes: _NodeList | None = None
    node_names: list[str] | None = msgspec.field(default=None, name="nodenames")
    failed: dict[str, str] = msgspec.field(default_factory=dict, name="failednodes")
    unresolvable: dict[str, str] = msgspec.field(default_factory=dict, name="failedandunresolvablenodes")
    error: str = ""


class HostPriority(Struct):
    host: str = ""
    score: Int64 = 0


class _Priorities(Struct):
    scores: list[HostPriority] = []


class _MetaPod(Struct):
    uid: str = ""


class _MetaVictims(Struct):
    pods: list[_MetaPod] = []
    violations: Int64 = msgspec.field(default=0, name="numpdbviolations")


class _PreemptionResult(Struct):
    victims: dict[str, _MetaVictims] = msgspec.field(default_factory=dict, name="nodenametometavictims")


def read_filter(answer: bytes) -> FilterResult:
    document = _small(_json(answer))
    if isinstance(document, dict):
        document["nodes"] = _small(document.get("nodes"))
    result: FilterResult = _typed(document, FilterResult)
    return result


def read_priorities(answer: bytes) -> list[HostPriority]:
    entries = _json(answer)
    document = {"scores": [_small(each) for each in entries] if isinstance(entries, list) else entries}
    result: _Priorities = _typed(document, _Priorities)
    return result.scores


def read_victims(answer: bytes) -> dict[str, Victims]:
    document = _small(_json(answer))
    by_node = document.get("nodenametometavictims") if isinstance(document, dict) else None
    if isinstance(by_node, dict):
        document["nodenametometavictims"] = {node: _small_victims(each) for node, each in by_node.items()}
    result: _PreemptionResult = _typed(document, _PreemptionResult)
    return {
        node: Victims(tuple(pod.uid for pod in each.pods), each.violations) for node, each in result.victims.items()
    }


def _small_victims(victims: Any) -> Any:
    victims = _small(victims)
    if isinstance(victims, dict) and isinstance(victims.get("pods"), list):
        victims["pods"] = [_small(pod) for pod in victims["pods"]]
    return victims


def _small(value: Any) -> Any:
    return {str(key).lower(): each for key, each in value.items()} if isinstance(value, dict) else value


def _json(answer: bytes) -> Any:
    if not answer.strip():
        raise ExtenderError("EOF")
    try:
        return msgspec.json.decode(answer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as mistake:
        shown = answer[:60].decode("utf-8", "replace")
        raise ExtenderError(f"the answer is not JSON: {mistake}; it begins with {shown!r}") from None


def _typed(document: Any, struct: type[Struct]) -> Any:
    """Go reads null as nothing at all."""
    if document is None:
        return struct()
    if not isinstance(document, dict):
        raise ExtenderError(f"the answer is not an object but {document!r:.60}")
    value, mistakes = problems_in(document, struct)
    if mistakes:
        texts = "; ".join(f"{path_text(path) or 'it'}: {text}" for path, text in mistakes)
        raise ExtenderError(f"the answer cannot be used: {texts}")
    return value


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
        self.cluster = cluster
        self._texts = texts
        self._rules = EngineRules.of(cluster.release)
        self._client = Client(config, "failed" if self._rules.extender_failures_are_lower_case else "Failed")
        # An extender may return nodes that were not in the request.
        self._any_node = self._rules.extenders_may_add_nodes
        self._managed = frozenset(resource.name for resource in config.managed_resources)

    def is_interested(self, info: PodInfo) -> bool:
        """Whether the pod requests a resource that the extender manages; one that manages none takes every pod."""
        spec = info.pod.spec
        return not self._managed or any(
            name in self._managed
            for container in (*spec.containers, *spec.init_containers)
            for name in (*container.resources.requests, *container.resources.limits)
        )

    def _post(self, point: str, verb: str, body: bytes) -> bytes:
        self.calls[point] += 1
        return self._client.post(verb, body)

    def _question(self, info: PodInfo, rows: RowColumn) -> bytes:
        if self.config.node_cache_capable:
            return ask_about_names(info, self.cluster.nodes.name_column[rows].tolist())
        return ask_about_nodes(info, self._texts.of(rows))

    # Filter

    def filter(self, info: PodInfo, rows: RowColumn) -> ExtenderAnswer:
        verb = self.config.filter_verb
        if not verb:
            return ExtenderAnswer(rows, {}, {})
        result = read_filter(self._post("filter", verb, self._question(info, rows)))
        if result.error:
            raise ExtenderError(result.error)
        unresolvable = result.unresolvable if self._rules.extenders_name_unresolvable_nodes else {}
        if self.config.node_cache_capable and result.node_names is not None:
            return ExtenderAnswer(self._named(result.node_names, rows), result.failed, unresolvable)
        if result.nodes is None:
            return ExtenderAnswer(rows[:0], result.failed, unresolvable)
        return ExtenderAnswer(self._returned(result, rows), result.failed, unresolvable, bare=True)

    def _named(self, names: list[str], rows: RowColumn) -> RowColumn:
        row_of, passed = self.cluster.nodes.row_of, np.zeros(len(self.cluster.nodes), dtype=np.bool_)
        candidates = NodeRows(self.cluster, rows).mask()
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
        nodes = self.cluster.nodes
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

    # Prioritize

    def prioritize(self, info: PodInfo, rows: RowColumn) -> Int64Column | None:
        """The score of each row, 0 where the extender gave none; None without a verb for it. Nodes that were not
        in the request are skipped."""
        verb = self.config.prioritize_verb
        if not verb:
            return None
        given = read_priorities(self._post("prioritize", verb, self._question(info, rows)))
        scores = np.zeros(len(self.cluster.nodes), dtype=np.int64)
        for each in given:
            row = self.cluster.nodes.row_of.get(each.host)
            if row is not None:
                # Go adds up in int64 and lets it overflow, which adding to a column does as well.
                scores[row : row + 1] += each.score
        wanted: Int64Column = scores[rows]
        return wanted

    # Preempt

    def process_preemption(self, info: PodInfo, candidates: Mapping[int, Candidate]) -> dict[int, Candidate]:
        """The candidates that are left, with the victims that the extender wants; a node without victims is left in,
        for the caller to judge."""
        in_full = not self.config.node_cache_capable
        names = self.cluster.nodes.names
        victims_by_node = {names[row]: self._victims(each, in_full) for row, each in candidates.items()}
        body = ask_about_victims(info, victims_by_node, in_full=in_full)
        answered = read_victims(self._post("preempt", self.config.preempt_verb, body))
        return {each.row: each for node, victims in answered.items() for each in [self._candidate(node, victims)]}

    def report(self) -> dict[str, Any]:
        """The number of calls, and the calls that did not count."""
        entry = {
            "passedOver": [
                {"verb": point, "error": text, "times": times} for (point, text), times in self.passed_over.items()
            ],
            "changedNodes": self.changed,
            "bind": "not called" if self.config.bind_verb else "",
        }
        return {"extender": self.name, "calls": dict(self.calls)} | {key: each for key, each in entry.items() if each}

    def _victims(self, candidate: Candidate, in_full: bool) -> Victims:
        infos = [self.cluster.pods.infos[row] for row in candidate.victims]
        node = self.cluster.nodes.names[candidate.row]
        pods = tuple(pod_on_wire(info, node) for info in infos) if in_full else ()
        return Victims(tuple(info.uid for info in infos), candidate.pdb_violations, pods)

    def _candidate(self, node: str, victims: Victims) -> Candidate:
        row = self.cluster.nodes.row_of.get(node)
        if row is None:
            raise ExtenderError(f'nodeinfo not found for node name "{node}"')
        infos = self.cluster.pods.infos
        there = {infos[pod_row].uid: pod_row for pod_row in self.cluster.pods_on(row)}
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

    def _interested_in(self, info: PodInfo) -> list[HTTPExtender]:
        return [each for each in self._extenders if each.is_interested(info)]

    def filter(self, info: PodInfo, nodes: NodeRows, statuses: NodeStatuses) -> NodeRows:
        """findNodesThatPassExtenders."""
        for extender in self._interested_in(info):
            if not len(nodes):
                break
            try:
                with plugin_faults(extender.name, "filter"):
                    answer = extender.filter(info, nodes.rows)
            except ExtenderError as problem:
                if not extender.config.ignorable:
                    raise
                extender.passed_over["filter", str(problem)] += 1
                continue
            _note(extender.name, nodes, answer, statuses, self._silence)
            bare = answer.bare and self._scores_what_came_back
            nodes = NodeRows(nodes.cluster, answer.rows, bare=bare or nodes.bare)
        return nodes

    def prioritize(self, info: PodInfo, nodes: NodeRows, table: ScoreTable) -> ScoreTable:
        """The part of prioritizeNodes that is about extenders: their scores join those of the plugins. One that fails
        does not count, whether or not it is ignorable."""
        raw, normalized, weighted = table.raw, table.normalized, table.weighted
        totals = table.totals
        for extender in self._interested_in(info):
            try:
                with plugin_faults(extender.name, "score"):
                    scores = extender.prioritize(info, nodes.rows)
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

    def preempt(self, info: PodInfo, candidates: Mapping[int, Candidate]) -> dict[int, Candidate] | Status:
        """callExtenders: the candidates that are left with their victims, or the status that ends the search."""
        left = dict(candidates)
        for extender in self._interested_in(info):
            if not extender.config.preempt_verb:
                continue
            ignorable = extender.config.ignorable
            try:
                with plugin_faults(extender.name, "postFilter"):
                    answer = extender.process_preemption(info, left)
            except ExtenderError as problem:
                if not ignorable:
                    return error(str(problem))
                extender.passed_over["preempt", str(problem)] += 1
                continue
            spared = [row for row, each in answer.items() if not each.victims] if self._needs_victims else []
            if spared and not ignorable:
                return error(f'expected at least one victim pod on node "{extender.cluster.nodes.names[spared[0]]}"')
            left = {row: each for row, each in answer.items() if row not in spared}
            if not left:
                break
        return left

    def report(self) -> list[dict[str, Any]]:
        """For the coverage."""
        return [each.report() for each in self._extenders]


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
            statuses.set_unknown_node(node, status.by(name))
        else:
            statuses.set(known, status.by(name))


def _free_name(name: str, taken: Container[str]) -> str:
    """Two extenders may have one URL and differ in their verbs."""
    free, number = name, 2
    while free in taken:
        free, number = f"{name} ({number})", number + 1
    return free
