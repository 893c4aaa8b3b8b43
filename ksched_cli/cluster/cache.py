"""The scheduler cache: nodes, pods and everything else, with assume and forget (backend/cache.Cache)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.pod_facts import is_terminal
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.cluster.columns import NOWHERE
from ksched_cli.cluster.known_pods import KnownPods
from ksched_cli.cluster.node_selection import NodeSelection
from ksched_cli.cluster.nodes import NodeTable
from ksched_cli.cluster.pod_counts import PodCounts
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.pods import PodTable
from ksched_cli.cluster.resources import ResourceIndex
from ksched_cli.cluster.undo import LoggedDict, LoggedSet
from ksched_cli.cluster.usage import Usage
from ksched_cli.releases.minors import DEFAULT, Release

# A pod that came to a node row (1) or left it (-1).
Move = tuple[PodInfo, int, int]
V = TypeVar("V")


class Cluster:
    """The cache and the snapshot in one: a cycle reads the columns while nothing else writes them.

    `structure` is another number after rows are renumbered or a node object changes. `journal` lists the node rows that
    placements touched since then, in order, and `moves` the pods that came and went, so that a value derived from the
    columns can be brought up to date. A roll back restores the structure of the mark with everything that was
    derived for it, and then lists the rows and the moves that it has undone. `undo` is the log of the whole world that
    the cluster is in. Without `reuse` everything derived is derived afresh for every pod: slow, and the answer must be
    the same. `known` is shared by clusters that have many pods in common. `storage_counts`: whether nodes have
    ephemeral storage.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        pods: Iterable[Pod] = (),
        catalog: Catalog | None = None,
        *,
        reuse: bool = True,
        release: Release = DEFAULT,
        known: KnownPods | None = None,
        storage_counts: bool = True,
    ) -> None:
        self.reuse = reuse
        self.release = release
        self.known = known
        self.resources = known.resources if known else ResourceIndex()
        self.catalog = catalog or Catalog()
        self.undo = self.catalog.undo
        self.pods = PodTable(self.undo)
        self.nodes = NodeTable(nodes, self.resources, release, storage_counts=storage_counts)
        self.usage = Usage(len(self.resources), len(self.nodes), self.undo)
        self.selection = NodeSelection(self.nodes)
        self.structure = self._structures = 0
        # Nodes that leave together, while they are collected.
        self._leaving: list[str] | None = None
        # The table that changes of specs may be written into, and the epoch in which it was made.
        self._specs_change_together = False
        self._own_table: NodeTable | None = None
        self._own_since = 0
        self.journal: list[int] = []
        self.moves: list[Move] = []
        self._derived: dict[object, Any] = {}
        self._notes: dict[str, LoggedDict[Any, Any]] = {}
        self.preempted: set[int] = LoggedSet(self.undo)
        self.counts = PodCounts(self)
        self.undo.at_mark(self._note_positions)
        self.undo.after_roll_back(self.widen)
        self._begin_with([pod for pod in pods if not is_terminal(pod)])

    # What is derived from the columns

    def derived(self, owner: object, make: Callable[[], V]) -> V:
        """What `owner` keeps about the nodes as they are now; it is made when there is nothing yet."""
        found: V | None = self._derived.get(owner)
        if found is None:
            found = self._derived[owner] = make()
        return found

    def notes(self, name: str) -> dict[Any, Any]:
        """What plugins note about pods, such as the device that Reserve chose: a dict that a roll back restores.

        All plugins that give this name share it. A note takes effect when its pod comes to a node or leaves it; at
        other times call `touch` with the node's name."""
        if name not in self._notes:
            self._notes[name] = LoggedDict(self.undo)
        return self._notes[name]

    def forget_derived(self) -> None:
        """Drop what was derived from the columns and can be derived again."""
        self.selection = NodeSelection(self.nodes)
        self._derived = {}

    def _note_positions(self) -> None:
        self.undo.note(self._list_again, len(self.journal), len(self.moves))

    def _list_again(self, journal: int, moves: int) -> None:
        """List what a roll back has undone: the rows, and each pod that came as one that has left."""
        self.journal.extend(dict.fromkeys(self.journal[journal:]))
        self.moves.extend([(info, row, -amount) for info, row, amount in reversed(self.moves[moves:])])

    # Pods

    def _begin_with(self, pods: Sequence[Pod]) -> None:
        """`add_pod` for each of the pods, column by column. Followers of the moves begin with these pods."""
        if not self.pods.begin_with(self._infos(pods), self.nodes.row_of):
            # The first pod of a uid counts.
            for pod in pods:
                self.add_pod(pod)
            self.moves.clear()
            return
        self.widen()
        self.usage.begin_with(self.pods)

    def _infos(self, pods: Iterable[Pod]) -> Iterator[PodInfo]:
        last: PodInfo | None = None
        for pod in pods:
            last = self._info(pod, last)
            yield last

    def _info(self, pod: Pod, like: PodInfo | None = None) -> PodInfo:
        return self.known.info(pod, like) if self.known else PodInfo(pod, self.resources, self.release, like)

    def register(self, pod: Pod) -> int:
        """The pod's row. A pod seen for the first time may name resources that no node or pod named before."""
        row = self.pods.register(self._info(pod))
        info = self.pods.infos[row]
        _ = info.requests, info.incoming_requests
        self.widen()
        return row

    def add_pod(self, pod: Pod) -> int:
        """A pod as the API server has it: on its node if that exists, else known but nowhere."""
        pod_row = self.register(pod)
        node_row = self.nodes.row_of.get(pod.spec.node_name)
        if node_row is not None and self.pods.node_of(pod_row) == NOWHERE:
            self.place(pod_row, node_row)
        return pod_row

    def place(self, pod_row: int, node_row: int) -> None:
        """Count the pod on the node (AddPod, AssumePod)."""
        info = self.pods.infos[pod_row]
        self.pods.move(pod_row, node_row)
        self.usage.add(info, pod_row, node_row)
        self.journal.append(node_row)
        self.moves.append((info, node_row, 1))

    def place_copies(self, pod_row: int, node_rows: Sequence[int]) -> None:
        """Count copies of a pod on these nodes. They take what the pod takes, and are no pods that can be found."""
        rows = np.array(node_rows, dtype=np.int64)
        shapes = self.pods.shapes.of(np.full(len(rows), pod_row))
        self.undo.note(self.usage.shift_copies, pod_row, shapes, rows, -1)
        self.usage.shift_copies(pod_row, shapes, rows, 1)
        self.journal.extend(node_rows)
        info = self.pods.infos[pod_row]
        self.moves.extend([(info, node_row, 1) for node_row in node_rows])

    def displace(self, pod_row: int) -> int:
        """Take the pod off its node (RemovePod, ForgetPod); the row it was on."""
        node_row = self.pods.node_of(pod_row)
        if node_row != NOWHERE:
            info = self.pods.infos[pod_row]
            self.usage.remove(info, pod_row, node_row)
            self.pods.move(pod_row, NOWHERE)
            self.journal.append(node_row)
            self.moves.append((info, node_row, -1))
        return node_row

    def preempt(self, pod_row: int) -> None:
        """An evicted pod keeps its place until it is gone, but counts as leaving. One that is leaving already is
        let be (Executor.prepareCandidate)."""
        if self.pods.terminating[pod_row]:
            return
        self.preempted.add(pod_row)
        self.terminate(pod_row)

    def terminate(self, pod_row: int) -> None:
        """The pod has been deleted and is on its way out."""
        self.pods.terminate(pod_row)
        node_row = self.pods.node_of(pod_row)
        if node_row != NOWHERE:
            self.journal.append(node_row)

    def bind(self, pod_row: int, pod: Pod) -> None:
        """The pod as the API server has it from now on, with the node that it was assumed on. Nothing else about it
        has changed, so that all that is known of the node still holds, unless the kubelet has started the pod:
        preemption compares start times."""
        before = self.pods.infos[pod_row]
        self.pods.confirm(pod_row, before.later(pod))
        if before.pod.status.start_time != pod.status.start_time:
            node_row = self.pods.node_of(pod_row)
            if node_row != NOWHERE:
                self.journal.append(node_row)

    def unbind(self, pod_row: int, pod: Pod) -> None:
        """The pod without a node, in this version."""
        self.displace(pod_row)
        info = self.pods.infos[pod_row].later(pod)
        _ = info.requests, info.incoming_requests
        self.widen()
        self.pods.replace(pod_row, info)

    def update_pod(self, pod_row: int, pod: Pod) -> None:
        """UpdatePod. A pod that is assumed on a node stays there."""
        old = self.pods.infos[pod_row]
        new = old.later(pod)
        takes_the_same = new.takes_as_much_as(old)
        if not takes_the_same:
            self.widen()
        before = node_row = self.pods.node_of(pod_row)
        if pod.spec.node_name:
            node_row = self.nodes.row_of.get(pod.spec.node_name, NOWHERE)
        stays = before == node_row != NOWHERE and takes_the_same and not new.host_ports
        if not stays:
            self.displace(pod_row)
        self.pods.replace(pod_row, new)
        if pod_row in self.preempted:
            self.pods.terminate(pod_row)
        if stays:
            self.usage.put_last(pod_row, node_row)
            self.journal.append(node_row)
            self.moves.extend(((old, node_row, -1), (new, node_row, 1)))
        elif node_row != NOWHERE:
            self.place(pod_row, node_row)

    def remove_pod(self, pod_row: int) -> int:
        """RemovePod for good; the row that it was on."""
        self.preempted.discard(pod_row)
        node_row = self.displace(pod_row)
        self.pods.forget(pod_row)
        return node_row

    def touch(self, node: str) -> None:
        """Something else that matters to the node has changed."""
        row = self.nodes.row_of.get(node)
        if row is not None:
            self.journal.append(row)

    def pods_on(self, node_row: int) -> list[int]:
        """Rows of the pods on a node, in the order they came."""
        return list(self.usage.pods[node_row])

    def widen(self) -> None:
        """Room in both matrices for every resource that has a name by now."""
        count = len(self.resources)
        self.nodes.widen(count)
        self.usage.widen(count)

    # Nodes

    def add_node(self, node: Node) -> None:
        self.add_nodes([node])

    def add_nodes(self, nodes: Sequence[Node]) -> None:
        """AddNode for each, with the pods that are bound to them."""
        if not nodes:
            return
        self._restructure([*self.nodes.arrival, *nodes])
        new = {node.metadata.name for node in nodes}
        for pod_row, info in enumerate(self.pods.infos):
            name = info.pod.spec.node_name
            if name in new and pod_row not in self.pods.gone and self.pods.node_of(pod_row) == NOWHERE:
                self.place(pod_row, self.nodes.row_of[name])

    def remove_node(self, name: str) -> None:
        """The node goes; its pods stay known but count nowhere, as on a ghost node of kube-scheduler's cache."""
        if self._leaving is not None:
            self._leaving.append(name)
        else:
            self._remove_nodes([name])

    @contextmanager
    def leaving_together(self) -> Iterator[None]:
        """Nodes that are removed inside the block leave at its end, all at once. No pod is placed inside."""
        leaving: list[str] = []
        self._leaving = leaving
        try:
            yield
        finally:
            self._leaving = None
            self._remove_nodes(leaving)

    def _remove_nodes(self, names: Collection[str]) -> None:
        if names:
            self._begin_rows(self.nodes.without(names, self.resources))

    def update_node(self, node: Node) -> None:
        if not self.nodes.only_spec_differs(node):
            name = node.metadata.name
            self._restructure([node if old.metadata.name == name else old for old in self.nodes.arrival])
            return
        is_own = self._own_table is self.nodes and self._own_since == self.undo.epoch
        table = self.nodes if is_own else self.nodes.with_own_specs()
        table.set_spec_of(node)
        if self._specs_change_together:
            self._own_table, self._own_since = table, self.undo.epoch
        self._begin_structure(table, self.usage)

    @contextmanager
    def specs_change_together(self) -> Iterator[None]:
        """Inside the block all changes of the specs of nodes are made in one new table: nothing keeps the table of the
        nodes as they are in between. A mark inside the block begins another table."""
        self._specs_change_together = True
        try:
            yield
        finally:
            self._specs_change_together, self._own_table = False, None

    def _restructure(self, arrival: Sequence[Node]) -> None:
        self._begin_rows(NodeTable(arrival, self.resources, self.release, self.nodes))

    def _begin_rows(self, table: NodeTable) -> None:
        new_row = table.new_rows(self.nodes)
        self._begin_structure(table, self.usage.renumbered(new_row, len(table)))
        self.widen()
        self.pods.renumber(new_row)

    def _begin_structure(self, nodes: NodeTable, usage: Usage) -> None:
        before = (self.nodes, self.usage, self.selection, self.structure, self.journal, self.moves, self._derived)
        self.undo.note(self._return_to, *before)
        self._structures += 1
        self._return_to(nodes, usage, NodeSelection(nodes), self._structures, [], [], {})

    def _return_to(
        self,
        nodes: NodeTable,
        usage: Usage,
        selection: NodeSelection,
        structure: int,
        journal: list[int],
        moves: list[Move],
        derived: dict[object, Any],
    ) -> None:
        self.nodes, self.usage, self.selection, self.structure = nodes, usage, selection, structure
        self.journal, self.moves, self._derived = journal, moves, derived
