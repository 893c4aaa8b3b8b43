"""Sets of new nodes tried with the scheduler itself: one cycle for each pending pod, as `simulate` does it. A control
plane creates the pods that DaemonSets run on the new nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.object_facts import uid_of_pod
from ksched_cli.api.workloads import DaemonSet, PriorityClass
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.controlplane.admission.pods import admit_priority
from ksched_cli.controlplane.controllers.daemon_pods import daemon_node_of, daemon_spec, should_run
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.controlplane.store import Store
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.results.nodes import NodeColumns
from ksched_cli.plan.run.loaded_input import LoadedInput
from ksched_cli.plan.size.catalog import NodeShape, names_of_new_nodes
from ksched_cli.sources.unread import as_stored
from ksched_cli.whatif.edits.lib.node_templates import renamed


class NewNodes:
    """Nodes by name, each made once. A control plane with the DaemonSets of the input creates their pods."""

    def __init__(self, source: LoadedInput) -> None:
        self._loaded, self._spec = source.loaded, source.spec
        self.taken = frozenset(node.metadata.name for node in source.loaded.of(Node))
        self._nodes: dict[str, Node] = {}
        self._daemons: dict[str, list[Pod]] = {}
        self.template = cache(NodeShape.template)
        self._runs_daemons = cache(self._takes_daemons)
        self._plane: ControlPlane | None = None
        self._created: list[Pod] = []
        # Pods that DaemonSets lack on nodes of the cluster, and that their controllers create as soon as they run.
        self.on_old_nodes: list[Pod] = []

    def of(self, counts: Mapping[NodeShape, int]) -> tuple[list[Node], list[Pod], dict[str, NodeShape]]:
        """So many nodes of each shape with the names that `--add-node` gives them, the pods of DaemonSets on them, and
        the shape of each node."""
        shape_of: dict[str, NodeShape] = {}
        for shape, count in counts.items():
            for name in names_of_new_nodes(shape, count, self.taken):
                shape_of[name] = shape
        missing = {name: shape for name, shape in shape_of.items() if name not in self._nodes}
        if missing:
            self._make(missing)
        pods = [pod for name in shape_of for pod in self._daemons.get(name, ())]
        return [self._nodes[name] for name in shape_of], pods, shape_of

    def _make(self, shapes: Mapping[str, NodeShape]) -> None:
        for name, shape in shapes.items():
            self._nodes[name] = renamed(self.template(shape), name)
        wanted = [self._nodes[name] for name, shape in shapes.items() if self._runs_daemons(shape)]
        if wanted:
            self._create_daemons(wanted)

    def _takes_daemons(self, shape: NodeShape) -> bool:
        node = self.template(shape)
        sets = (item for item in self._loaded.of(DaemonSet) if item.spec.template is not None)
        return any(should_run(daemon_spec(item), node) for item in sets)

    def _create_daemons(self, nodes: Iterable[Node]) -> None:
        if self._plane is None:
            self._plane = ControlPlane(Store(self._loaded), watches=(self._observe,), places_everything=True)
            self._plane.run()
        for node in nodes:
            self._plane.api.update(node)
        self._plane.run()
        created, self._created = self._created, []
        admit_priority(created, self._loaded.of(PriorityClass))
        if not self._spec.stores_all_fields:
            created = as_stored(created, self._spec.release, self._spec.gates)
        for pod in created:
            name = daemon_node_of(pod)
            own = self._daemons.setdefault(name, []) if name in self._nodes else self.on_old_nodes
            own.append(pod)

    def _observe(self, old: Any, new: Any) -> None:
        if old is None and isinstance(new, Pod) and daemon_node_of(new):
            self._created.append(replace(new, metadata=replace(new.metadata, uid=uid_of_pod(new))))


Counts = Mapping[NodeShape, int]


class UnplacedPod(Struct, frozen=True):
    """A pod that has no node at the end of its cycle, and the scheduler's message about it."""

    row: int
    pod: str
    message: str


class UnplacedDaemon(Struct, frozen=True):
    """A pod that the controller of a DaemonSet creates and that has no place on its node. `is_new`: the node is one of
    those to buy."""

    pod: str
    node: str
    is_new: bool
    message: str


class Attempt(Struct, frozen=True):
    """What the scheduler made of a set of new nodes. `on`: the node of each pod that was placed, by row. With
    `cut_short` the first pod without a node ended the run."""

    counts: Counts
    on: Mapping[int, str]
    unplaced: tuple[UnplacedPod, ...]
    daemons: tuple[UnplacedDaemon, ...]
    shape_of: Mapping[str, NodeShape]
    cut_short: bool = False
    ties: int = 0
    # The nodes with the pods on them, unless the run was cut short.
    columns: NodeColumns | None = None


class SizingTrials:
    """One scheduler for all trials: each begins with the cluster as it was read, and is rolled back."""

    def __init__(self, source: LoadedInput, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.cluster = self.scheduler.cluster
        self.new_nodes = NewNodes(source)
        queue = self.scheduler.enqueue()
        self.pending: tuple[int, ...] = tuple(queue.active)
        self.gated = {self.cluster.pods.infos[row].key: status for row, status in queue.gated.items()}
        infos = self.cluster.pods.infos
        self.ignored = {infos[row].key: infos[row].pod.spec.scheduler_name for row in queue.ignored}
        # Rows from here on are those of pods that a trial adds.
        self._known = len(infos)
        # Pods that no set of new nodes can place: they are tried like the others and not waited for.
        self.excused: set[int] = set()
        # The same of pods that DaemonSets lack on nodes of the cluster, by key.
        self.excused_daemons: set[str] = set()
        self.runs = 0

    def info(self, row: int) -> PodInfo:
        return self.cluster.pods.infos[row]

    @contextmanager
    def with_nodes(self, counts: Counts) -> Iterator[tuple[dict[str, NodeShape], Sequence[int]]]:
        """A trial in which there are these nodes; yields the shape of each and the rows of their pods of DaemonSets."""
        nodes, daemons, shape_of = self.new_nodes.of(counts)
        with self.cluster.undo.trial():
            self.cluster.add_nodes(nodes)
            rows = [self.cluster.add_pod(pod) for pod in daemons]
            if rows:
                # Controllers that add pods to new nodes add those that the nodes of the cluster lack.
                for pod in self.new_nodes.on_old_nodes:
                    self.cluster.add_pod(pod)
            yield shape_of, rows

    def run(self, counts: Counts, *, until_failure: bool = False) -> Attempt:
        """Every pending pod and every new pod of a DaemonSet through one cycle."""
        self.runs += 1
        with self.with_nodes(counts) as (shape_of, _):
            return self._run(counts, shape_of, until_failure)

    def _run(self, counts: Counts, shape_of: Mapping[str, NodeShape], until_failure: bool) -> Attempt:
        names = self.cluster.nodes.names
        on: dict[int, str] = {}
        failed: list[Decision] = []
        cut, ties = False, 0
        for decision in self.scheduler.run(self.scheduler.enqueue()):
            if decision.row is not None:
                on[decision.pod_row] = names[decision.row]
                ties += len(decision.ties) > 1
            elif decision.result != "skipped":
                failed.append(decision)
                if until_failure and decision.pod_row not in self.excused and decision.pod_row < self._known:
                    cut = True
                    break
        unplaced = tuple(
            UnplacedPod(each.pod_row, each.pod.key, each.rejection) for each in failed if each.pod_row < self._known
        )
        lost = tuple(self._daemon(each, shape_of) for each in failed if each.pod_row >= self._known)
        placed = {row: node for row, node in on.items() if row < self._known}
        columns = None if cut else NodeColumns.of(self.cluster)
        return Attempt(dict(counts), placed, unplaced, lost, shape_of, cut, ties, columns)

    def _daemon(self, decision: Decision, shape_of: Mapping[str, NodeShape]) -> UnplacedDaemon:
        node = daemon_node_of(self.info(decision.pod_row).pod)
        return UnplacedDaemon(decision.pod.key, node, node in shape_of, decision.rejection)

    def waiting(self, attempt: Attempt) -> list[UnplacedPod]:
        """Pods of the input without a node, but those for which no node can be bought."""
        return [each for each in attempt.unplaced if each.row not in self.excused]

    def waiting_daemons(self, attempt: Attempt) -> list[UnplacedDaemon]:
        """Pods of DaemonSets without a place, but those for which no purchase frees one."""
        return [each for each in attempt.daemons if each.pod not in self.excused_daemons]

    def accepts(self, attempt: Attempt) -> bool:
        """Whether every pod has a node but those that no purchase helps."""
        return not self.waiting(attempt) and not self.waiting_daemons(attempt)
