"""Reads the packing problem off a cluster: probes of each shape, judged by the scheduler's own filters. And the
cheapest node of a catalog that gives one pending pod a place."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from msgspec.structs import replace

from ksched_cli.cluster.affinity_terms import PodTerms, TermParser
from ksched_cli.cluster.columns import RowColumn
from ksched_cli.cluster.pod_info import ANY_ADDRESS, HostPort, PodInfo
from ksched_cli.engine.cycle.schedule_one import LocalVerdict
from ksched_cli.plan.run.loaded_input import LoadedInput
from ksched_cli.plan.size.catalog import HOSTNAME, NodeShape, ShapeCatalog
from ksched_cli.plan.size.problem import (
    ForecastNodes,
    Matrix,
    PackingProblem,
    PodClass,
    Room,
    ShapeChoice,
    how_many_fit,
    reduced,
    undominated,
)
from ksched_cli.plan.size.results import HelpingNode, UnsizedPod, without_zeros
from ksched_cli.plan.size.trials import SizingTrials
from ksched_cli.plugins.node_resources_balanced_allocation import BalancedAllocationRules

# The reason of a shape that the filters accept for the pod alone.
_OTHERS = "other pods keep it out"


@dataclass
class _Kind:
    """Pending pods with one spec, and the results of the filters on the probes and on the cluster's nodes."""

    pods: list[int]
    requests: tuple[int, ...]
    on_shapes: Matrix
    on_nodes: Matrix
    verdict: LocalVerdict
    terms: PodTerms
    info: PodInfo


@dataclass
class Survey:
    """The packing problem of a cluster and a catalog; by row the pods that fit on no shape and on no node of the
    cluster; and shapes that cannot be used."""

    problem: PackingProblem
    misfits: Mapping[int, UnsizedPod]
    unusable: Mapping[str, str]


class Surveyor:
    """Makes the packing problem of `size`: runs the filters for each kind of pending pod on one node of each shape."""

    def __init__(self, trials: SizingTrials, catalog: ShapeCatalog) -> None:
        self._trials, self._catalog = trials, catalog
        self._cluster = trials.cluster
        self._terms = TermParser()
        self._unusable: dict[str, str] = {}

    def survey(self) -> Survey:
        """Add one node of each shape in a trial and run the filters for every kind of pending pod."""
        shapes = self._catalog.shapes
        with self._trials.with_nodes(dict.fromkeys(shapes, 1)) as (shape_of, daemons):
            rows = {shape: self._cluster.nodes.row_of[name] for name, shape in shape_of.items()}
            self._place_daemons(daemons, rows)
            usable = [shape for shape in shapes if shape.title not in self._unusable]
            probes = np.array([rows[shape] for shape in usable], dtype=np.int64)
            others = np.setdiff1d(self._cluster.nodes.all_rows, np.array(list(rows.values()), dtype=np.int64))
            kinds = [self._kind(pods, probes, others) for pods in self._by_spec()]
            misfits = {row: pod for kind in kinds for row, pod in self._misfits(kind, usable, probes)}
            wanted = [kind for kind in kinds if kind.on_shapes.any() or kind.on_nodes.any()]
            problem = self._problem(wanted, usable, probes, others)
        return Survey(problem, misfits, self._unusable)

    def judge_on_shapes(self, pod_row: int) -> list[tuple[NodeShape, Mapping[str, int], str]]:
        """For each shape what DaemonSets leave free of a node, with the places for pods, and why the pod cannot be on
        it; empty if it can."""
        shapes = self._catalog.shapes
        with self._trials.with_nodes(dict.fromkeys(shapes, 1)) as (shape_of, daemons):
            rows = {shape: self._cluster.nodes.row_of[name] for name, shape in shape_of.items()}
            self._place_daemons(daemons, rows)
            at = np.array([rows[shape] for shape in shapes], dtype=np.int64)
            verdict = self._trials.scheduler.judge_locally(pod_row, at)
            names = (*self._cluster.resources.names, "pods")
            free = self._free(at).tolist()
            return [
                (shape, dict(zip(names, own, strict=True)), self._unusable.get(shape.title) or verdict.reason(row))
                for shape, own, row in zip(shapes, free, at.tolist(), strict=True)
            ]

    def _place_daemons(self, daemons: Sequence[int], rows: Mapping[NodeShape, int]) -> None:
        """The pods of DaemonSets take their share first. A shape on which one of them has no place is of no use."""
        shape_at = {row: shape for shape, row in rows.items()}
        for pod_row in daemons:
            verdict = self._trials.scheduler.judge_locally(pod_row, np.array(list(rows.values()), dtype=np.int64))
            info = self._cluster.pods.infos[pod_row]
            if len(verdict.passed):
                self._cluster.place(pod_row, int(verdict.passed[0]))
                continue
            for row, shape in shape_at.items():
                reason = verdict.reason(row)
                if reason and info in self._daemons_on(daemons, row):
                    self._unusable.setdefault(shape.title, f"{info.key} of a DaemonSet does not fit: {reason}")

    def _daemons_on(self, daemons: Sequence[int], row: int) -> list[PodInfo]:
        from ksched_cli.controlplane.controllers.daemon_pods import daemon_node_of

        name = self._cluster.nodes.names[row]
        infos = (self._cluster.pods.infos[each] for each in daemons)
        return [info for info in infos if daemon_node_of(info.pod) == name]

    def _by_spec(self) -> list[list[int]]:
        found: defaultdict[Hashable, list[int]] = defaultdict(list)
        for row in self._trials.pending:
            pod = self._cluster.pods.infos[row].pod
            found[pod.metadata.namespace, msgspec.msgpack.encode(replace(pod.spec, hostname=""))].append(row)
        return list(found.values())

    def _kind(self, pods: list[int], probes: RowColumn, others: RowColumn) -> _Kind:
        info = self._cluster.pods.infos[pods[0]]
        requests = self._requests(info)
        rows = np.concatenate([probes, others])
        verdict = self._trials.scheduler.judge_locally(pods[0], rows)
        most = np.zeros(len(self._cluster.nodes), dtype=np.int64)
        free = self._free(verdict.passed)
        for row, left in zip(verdict.passed.tolist(), free.tolist(), strict=True):
            most[row] = min(how_many_fit(requests, left), len(pods))
        terms = self._terms.of(info)
        if _has_volumes(info):
            for row in np.intersect1d(verdict.passed, probes).tolist():
                most[row] = self._count_on(row, pods, int(most[row]))
        if info.host_ports or self._rejects(terms, info):
            most = np.minimum(most, 1)
        return _Kind(pods, requests, most[probes], most[others], verdict, terms, info)

    def _requests(self, info: PodInfo) -> tuple[int, ...]:
        """By row of the resource matrix, and last the place that each pod takes."""
        found = [0] * len(self._cluster.resources)
        for resource, amount in info.incoming_requests:
            found[resource] = amount
        return (*found, 1)

    def _free(self, rows: RowColumn) -> Matrix:
        """By node and resource, and last the places for pods."""
        nodes, usage = self._cluster.nodes, self._cluster.usage
        amounts = (nodes.allocatable[:, rows] - usage.requested[:, rows]).T
        places = (nodes.allowed_pods[rows] - usage.pod_count[rows])[:, None]
        return np.concatenate([amounts, places], axis=1)

    def _count_on(self, row: int, pods: Sequence[int], most: int) -> int:
        """How many of the pods the filters let onto the node one after the other."""
        with self._cluster.undo.trial():
            for count, pod_row in enumerate(pods[:most]):
                if not len(self._trials.scheduler.judge_locally(pod_row, np.array([row], dtype=np.int64)).passed):
                    return count
                self._cluster.place(pod_row, row)
        return most

    def _rejects(self, terms: PodTerms, other: PodInfo) -> bool:
        """Whether the pod demands that no pod like the other is on its node."""
        catalog = self._cluster.catalog
        return any(
            term.topology_key == HOSTNAME and term.matcher(catalog).matches(other.namespace, other.labels)
            for term in terms.required_anti_affinity
        )

    def _misfits(self, kind: _Kind, shapes: Sequence[NodeShape], probes: RowColumn) -> Iterator[tuple[int, UnsizedPod]]:
        if kind.on_shapes.any() or kind.on_nodes.any():
            return
        reasons = {shape.title: kind.verdict.reason(row) for shape, row in zip(shapes, probes.tolist(), strict=True)}
        reasons |= self._unusable
        counts = Counter(
            text for row in probes.tolist() for text in kind.verdict.statuses.status(row).texts or (_OTHERS,)
        )
        counts.update(self._unusable.values())
        pre_filter = kind.verdict.pre_filter
        message = ", ".join(pre_filter.texts) if pre_filter else ""
        infos = self._cluster.pods.infos
        if message:
            reasons, counts = {}, Counter()
        yield from ((row, UnsizedPod(infos[row].key, "", message, reasons, counts)) for row in kind.pods)

    def _problem(
        self, kinds: Sequence[_Kind], shapes: Sequence[NodeShape], probes: RowColumn, others: RowColumn
    ) -> PackingProblem:
        groups = self._merged(kinds)
        turn = {row: at for at, row in enumerate(self._trials.pending)}
        classes = [
            PodClass(
                tuple(sorted((row for kind in group for row in kind.pods), key=turn.__getitem__)),
                group[0].requests,
                (group[0].requests[0], group[0].requests[1]),
                group[0].info.parts.sums.nonzero,
            )
            for group in groups
        ]
        requests = np.array([each.requests for each in classes], dtype=np.int64)
        requests = requests.reshape(len(classes), len(self._cluster.resources) + 1)
        grain = self._catalog.grain
        requests, (free, room) = reduced(requests, self._free(probes), self._free(others))
        classes = [replace(each, requests=tuple(row)) for each, row in zip(classes, requests.tolist(), strict=True)]
        most = np.array([group[0].on_shapes for group in groups], dtype=np.int64).reshape(len(groups), len(shapes))
        choices: dict[Hashable, list[int]] = defaultdict(list)
        for at, shape in enumerate(shapes):
            choices[shape.name, shape.price, tuple(free[at].tolist()), tuple(most[:, at].tolist())].append(at)
        made = [
            ShapeChoice(
                tuple(shapes[at] for at in members),
                int(shapes[members[0]].price / grain) if grain else 0,
                tuple(free[members[0]].tolist()),
                tuple(most[:, members[0]].tolist()),
                shapes[members[0]].most,
            )
            for members in choices.values()
            if most[:, members[0]].any()
        ]
        class_of = {row: at for at, each in enumerate(classes) for row in each.pods}
        turns = tuple(class_of[row] for row in self._trials.pending if row in class_of)
        keys = self._topology_keys(kinds)
        offered = tuple(undominated(made, keys))
        at_shape = {shape: at for at, shape in enumerate(shapes)}
        firsts = np.array([at_shape[each.variants[0]] for each in offered], dtype=np.int64)
        fitting = np.array([group[0].on_nodes for group in groups], dtype=np.int64).reshape(len(groups), len(others))
        return PackingProblem(
            tuple(classes),
            offered,
            _rooms(requests, room, fitting),
            self._rivals(groups),
            grain,
            turns,
            self._columns(others, room, fitting),
            self._columns(probes, free, most).take(firsts),
            BalancedAllocationRules.of(self._cluster.release).scores_the_difference,
            bool(keys),
        )

    def _topology_keys(self, kinds: Sequence[_Kind]) -> list[str]:
        """The labels, without the host name, by which rules between pods may keep a pending pod off a node."""
        pods = self._cluster.pods
        with_affinity = (self._terms.of(pods.infos[row]) for row in np.nonzero(pods.has_affinity)[0].tolist())
        keys = {term.topology_key for terms in with_affinity for term in terms.required_anti_affinity}
        for kind in kinds:
            keys |= {term.topology_key for term in kind.terms.required_affinity}
            spread = kind.info.pod.spec.topology_spread_constraints
            keys |= {each.topology_key for each in spread if each.when_unsatisfiable != "ScheduleAnyway"}
        return sorted(keys - {HOSTNAME})

    def _columns(self, rows: RowColumn, free: Matrix, most: Matrix) -> ForecastNodes:
        """The nodes one by one; `most` is by class and node."""
        nodes, usage = self._cluster.nodes, self._cluster.usage
        names = tuple(nodes.names[row] for row in rows.tolist())
        amounts = (nodes.allocatable[:2, rows].T, usage.requested[:2, rows].T, usage.nonzero[:, rows].T)
        return ForecastNodes(names, free, most.T, *amounts)

    def _merged(self, kinds: Sequence[_Kind]) -> list[list[_Kind]]:
        """Kinds of which the same numbers fit everywhere, and which may share a node with every other kind."""
        alone = {id(one) for one in kinds for other in kinds if self._are_rivals(one, other)}
        found: defaultdict[Hashable, list[_Kind]] = defaultdict(list)
        for kind in kinds:
            own = id(kind) if id(kind) in alone else 0
            found[kind.requests, kind.on_shapes.tobytes(), kind.on_nodes.tobytes(), own].append(kind)
        return list(found.values())

    def _rivals(self, groups: Sequence[Sequence[_Kind]]) -> frozenset[tuple[int, int]]:
        return frozenset(
            (a, b)
            for a, one in enumerate(groups)
            for b, other in enumerate(groups)
            if a < b and self._are_rivals(one[0], other[0])
        )

    def _are_rivals(self, one: _Kind, other: _Kind) -> bool:
        if one is other:
            return False
        if self._rejects(one.terms, other.info) or self._rejects(other.terms, one.info):
            return True
        return any(_clash(mine, theirs) for mine in one.info.host_ports for theirs in other.info.host_ports)


def _rooms(requests: Matrix, frees: Matrix, mosts: Matrix) -> tuple[Room, ...]:
    """Nodes of the cluster that take some pending pod, those alike together. `mosts` is by class and node."""
    if not len(requests) or not len(frees):
        return ()
    found: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()
    for at in np.nonzero(mosts.any(axis=0))[0]:
        own = frees[at].copy()
        own[-1] = _places(requests[mosts[:, at] > 0], own)
        found[tuple(own.tolist()), tuple(mosts[:, at].tolist())] += 1
    return tuple(Room(free, most, count) for (free, most), count in found.items())


def _places(requests: Matrix, free: Matrix) -> int:
    """How many pods fit on the node at most, whatever their classes: as many as the smallest requests allow."""
    least = requests.min(axis=0)
    return min(int(have) // int(want) for have, want in zip(free, least, strict=True) if want > 0)


def _has_volumes(info: PodInfo) -> bool:
    """Whether a node may take fewer such pods than its resources allow."""
    return any(each.empty_dir is None for each in info.pod.spec.volumes)


def _clash(one: HostPort, other: HostPort) -> bool:
    if (one.protocol, one.port) != (other.protocol, other.port):
        return False
    return one.address == other.address or ANY_ADDRESS in (one.address, other.address)


def find_helping_node(source: LoadedInput, catalog: ShapeCatalog, pod: str) -> HelpingNode | None:
    """Try the shapes in the order of their prices. None if the pod is not one that waits for a node."""
    trials = SizingTrials(source, source.scheduler())
    row = next((row for row in trials.pending if trials.info(row).key == pod), None)
    if row is None:
        return None
    reasons: dict[str, str] = {}
    judged = Surveyor(trials, catalog).judge_on_shapes(row)
    for shape, _, why in sorted(judged, key=lambda each: each[0].price):
        if not why:
            attempt = trials.run({shape: 1})
            if row in attempt.on:
                return HelpingNode(
                    shape=shape.title, price=without_zeros(shape.price), unit=catalog.unit, reasons=reasons
                )
            why = next((each.message for each in attempt.unplaced if each.row == row), "")
        reasons[shape.title] = why
    return HelpingNode(reasons=reasons)
