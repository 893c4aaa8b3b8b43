"""The scheduler cache: nodes, pods and everything else, with assume and forget (backend/cache.Cache).

`PodCounts` counts the pods of each node that match a selector, and is repaired from the journal. `Sandbox` moves pods
in the columns for a dry run and takes the moves back without a trace. `KnownPods` shares what is known of pods between
clusters that are alike.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct, field

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.object_facts import is_terminal
from ksched_cli.api.selectors import Selector
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.cluster.columns import NOWHERE, BoolColumn, Int64Column, RowColumn
from ksched_cli.cluster.nodes import NodeSelection, NodeTable
from ksched_cli.cluster.pod_info import HostPort, PodInfo, PodParts, ResourceIndex
from ksched_cli.cluster.pods import PodTable, Usage
from ksched_cli.cluster.undo import LoggedDict, LoggedSet
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
        parts: PodParts | None = None
        for pod in pods:
            info = self.known.info(pod, parts) if self.known else PodInfo(pod, self.resources, self.release, parts)
            parts = info.parts
            yield info

    def register(self, pod: Pod) -> int:
        """The pod's row. A pod seen for the first time may name resources that no node or pod named before."""
        (info,) = self._infos([pod])
        row = self.pods.register(info)
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

    def place_copies(self, pod_row: int, node_rows: Sequence[int], sign: int = 1) -> None:
        """Count copies of a pod on these nodes, or take them back (-1). They take what the pod takes, and are no pods
        that can be found."""
        rows = np.array(node_rows, dtype=np.int64)
        self.undo.note(self.usage.shift_copies, pod_row, self.pods.shapes, rows, -sign)
        self.usage.shift_copies(pod_row, self.pods.shapes, rows, sign)
        self.journal.extend(node_rows)
        info = self.pods.infos[pod_row]
        self.moves.extend([(info, node_row, sign) for node_row in node_rows])

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

    def preempt(self, pod_rows: Iterable[int]) -> None:
        """Evicted pods keep their places until they are deleted, and count as terminating. Pods that terminate already
        are left alone (Executor.prepareCandidate)."""
        terminating = self.pods.terminating
        for pod_row in pod_rows:
            if not terminating.item(pod_row):
                self.preempted.add(pod_row)
                self.terminate(pod_row)

    def terminate(self, pod_row: int) -> None:
        """The pod has a deletion timestamp: it is terminating."""
        node_row = self.pods.terminate(pod_row)
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
        self.pods.replace(pod_row, self.pods.infos[pod_row].later(pod))
        self.widen()

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


# Past this share of touched nodes counting afresh is less work than going through their pods.
_RECOUNT_SHARE = 8


class PodCount(Struct):
    """How many pods of each node match. `changes` lists the rows whose number has changed, each with the difference, in
    order."""

    per_node: Int64Column
    position: int
    version: int
    changes: list[tuple[int, int]] = field(default_factory=list)


class PodCounts:
    """Pods that are not leaving, by node, for every (namespace, selector) that was requested."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        # Which of the pod table's label sets a selector matches, by their ids.
        self._matches: dict[Selector, BoolColumn] = {}
        self._version = 0

    def versions(self, namespace: str, selectors: Iterable[Selector]) -> tuple[int, ...]:
        """For each selector a number that is another one after any of its counts has changed."""
        return tuple([self.current(namespace, each).version for each in selectors])

    def current(self, namespace: str, selector: Selector) -> PodCount:
        """countPodsMatchSelector for every node as things are now. Not to be written to; another object after pods were
        counted afresh."""
        cluster = self._cluster
        counts: dict[tuple[str, Selector], PodCount] = cluster.derived(self, dict)
        key = namespace, selector
        count = counts.get(key)
        touched = cluster.journal[count.position :] if count else []
        if count is None or len(touched) * _RECOUNT_SHARE > len(cluster.usage.pods):
            per_node = self._recount(namespace, selector)
            self._version += 1
            count = counts[key] = PodCount(per_node, len(cluster.journal), self._version)
        elif touched:
            self._update(count, set(touched), namespace, selector)
        return count

    def _matching(self, selector: Selector) -> BoolColumn:
        """One entry per label set id. Label sets that came since the last call are judged now."""
        sets, known = self._cluster.pods.label_sets.values, self._matches.get(selector)
        have = 0 if known is None else len(known)
        if known is None or have < len(sets):
            fresh = np.array([selector.matches(dict(each)) for each in sets[have:]], dtype=np.bool_)
            known = self._matches[selector] = fresh if known is None else np.concatenate([known, fresh])
        return known

    def _recount(self, namespace: str, selector: Selector) -> Int64Column:
        pods = self._cluster.pods
        here = pods.namespace == pods.namespaces.find_all([namespace])
        counting = self._matching(selector)[pods.label_set] & here & ~pods.terminating
        rows = pods.node_row[counting & (pods.node_row >= 0)]
        counts: Int64Column = np.bincount(rows, minlength=len(self._cluster.nodes)).astype(np.int64)
        for pod, copies in self._cluster.usage.copies.items():
            if counting[pod]:
                counts += copies
        return counts

    def _update(self, count: PodCount, touched: set[int], namespace: str, selector: Selector) -> None:
        pods, usage = self._cluster.pods, self._cluster.usage
        infos, matching = pods.infos, self._matching(selector)
        # A loop over few pods reads single entries.
        label_set, terminating = pods.label_set.item, pods.terminating.item
        copies: list[Int64Column] = []
        for pod, each in usage.copies.items():
            if infos[pod].namespace == namespace and matching[label_set(pod)] and not terminating(pod):
                copies.append(each)
        for row in touched:
            now = sum([int(each[row]) for each in copies]) if copies else 0
            for pod in usage.pods[row]:
                if infos[pod].namespace == namespace and matching[label_set(pod)] and not terminating(pod):
                    now += 1
            before = count.per_node.item(row)
            if before != now:
                count.per_node[row] = now
                count.changes.append((row, now - before))
                self._version += 1
                count.version = self._version
        count.position = len(self._cluster.journal)


class KnownPods:
    """The `PodInfo` of each pod object, computed once for all clusters that have the pod. These clusters share the
    resource rows."""

    def __init__(self, release: Release = DEFAULT) -> None:
        self.resources = ResourceIndex()
        self.release = release
        # Each entry holds its pod, so that no other object comes to have its id.
        self._infos: dict[int, PodInfo] = {}

    def info(self, pod: Pod, parts: PodParts | None = None) -> PodInfo:
        """`parts` are those of a pod that this pod may be a copy of."""
        found = self._infos.get(id(pod))
        if found is None:
            found = self._infos[id(pod)] = PodInfo(pod, self.resources, self.release, parts)
        return found


class Sandbox:
    """Pods leave nodes and come to nodes in the columns themselves; leaving the block restores every one of them,
    the order of pods on nodes and shared host ports included, as a copy of the NodeInfo would in kube-scheduler.

    The journal does not list these changes. Values derived from the columns must not be updated inside.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._home: dict[int, int] = {}
        self._pods: dict[int, dict[int, None]] = {}
        self._ports: list[tuple[int, HostPort, bool]] = []

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._home:
            return
        usage, pods = self._cluster.usage, self._cluster.pods
        moved = np.fromiter(self._home, dtype=np.int64, count=len(self._home))
        home = np.fromiter(self._home.values(), dtype=np.int64, count=len(self._home))
        now = pods.node_row[moved]
        away = now != home
        for there, sign in ((home, 1), (now, -1)):
            concerned = away & (there != NOWHERE)
            usage.shift(pods.shapes, moved[concerned], there[concerned], sign)
        pods.node_row[moved] = home
        for row, order in self._pods.items():
            usage.pods[row] = order
        for row, port, taken in reversed(self._ports):
            (usage.ports.take if taken else usage.ports.free)(row, (port,))

    def move(self, pod_rows: RowColumn, node_rows: RowColumn, sign: int) -> None:
        """Put pods that are nowhere on these nodes (1), or take pods off these nodes (-1)."""
        table, usage = self._cluster.pods, self._cluster.usage
        usage.shift(table.shapes, pod_rows, node_rows, sign)
        on = self._changing(pod_rows, node_rows, table.node_row[pod_rows])
        for pod_row, node_row in zip(pod_rows.tolist(), node_rows.tolist(), strict=True):
            if sign > 0:
                on[node_row][pod_row] = None
            else:
                del on[node_row][pod_row]
        change_ports = usage.ports.take if sign > 0 else usage.ports.free
        for index in self._with_ports(pod_rows):
            self._note_ports(int(pod_rows[index]), int(node_rows[index]))
            change_ports(int(node_rows[index]), table.infos[pod_rows[index]].host_ports)
        table.node_row[pod_rows] = node_rows if sign > 0 else NOWHERE

    def homes(self, pod_rows: RowColumn) -> RowColumn:
        """The nodes that the pods are on, or were on until they were taken off."""
        homes: RowColumn = self._cluster.pods.node_row[pod_rows]
        if self._home:
            for index, pod_row in enumerate(pod_rows.tolist()):
                homes[index] = self._home.get(pod_row, homes.item(index))
        return homes

    def kinds(self, pod_rows: RowColumn) -> RowColumn:
        """A number for each pod, the same for pods that make no difference to the columns: here each has its own."""
        return pod_rows

    def _changing(self, pod_rows: RowColumn, node_rows: RowColumn, home: RowColumn) -> list[dict[int, None]]:
        """Remember where the pods belong if they move for the first time; the pods by node, in copies where these
        nodes are concerned."""
        homes = dict(zip(pod_rows.tolist(), home.tolist(), strict=True))
        if self._home:
            homes.update((pod_row, self._home[pod_row]) for pod_row in homes.keys() & self._home.keys())
        self._home.update(homes)
        pods = self._cluster.usage.pods
        for node_row in set(node_rows.tolist()) - self._pods.keys():
            self._pods[node_row], pods[node_row] = pods[node_row], dict(pods[node_row])
        return pods

    def _with_ports(self, pod_rows: RowColumn) -> list[int]:
        having = self._cluster.pods.has_ports[pod_rows]
        return np.nonzero(having)[0].tolist() if having.any() else []

    def _note_ports(self, pod_row: int, node_row: int) -> None:
        ports = self._cluster.usage.ports
        for port in self._cluster.pods.infos[pod_row].host_ports:
            self._ports.append((node_row, port, ports.holds(node_row, port)))


class UsageSandbox:
    """`Sandbox` for filters that read of the pods on a node nothing but what they request together and how many they
    are: nothing else is changed, so that each move costs a few additions."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        # The nodes that pods have come to or left, and what was in their columns before.
        self._changed: set[int] = set()
        self._before: list[tuple[RowColumn, Int64Column, Int64Column, Int64Column]] = []

    def __enter__(self) -> UsageSandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        usage = self._cluster.usage
        for rows, requested, nonzero, pod_count in self._before:
            usage.requested[:, rows], usage.nonzero[:, rows], usage.pod_count[rows] = requested, nonzero, pod_count

    def move(self, pod_rows: RowColumn, node_rows: RowColumn, sign: int) -> None:
        """Put pods that are nowhere on these nodes (1), or take pods off these nodes (-1)."""
        usage = self._cluster.usage
        if new := set(node_rows.tolist()) - self._changed:
            self._changed |= new
            rows = np.fromiter(new, dtype=np.int64, count=len(new))
            self._before.append((rows, usage.requested[:, rows], usage.nonzero[:, rows], usage.pod_count[rows]))
        usage.shift(self._cluster.pods.shapes, pod_rows, node_rows, sign)

    def homes(self, pod_rows: RowColumn) -> RowColumn:
        """The nodes that the pods are on, or were on until they were taken off."""
        node_rows: RowColumn = self._cluster.pods.node_row[pod_rows]
        return node_rows

    def kinds(self, pod_rows: RowColumn) -> RowColumn:
        """A number for each pod, the same for pods that request the same."""
        return self._cluster.pods.shapes.ids.take(pod_rows).astype(np.int64)
