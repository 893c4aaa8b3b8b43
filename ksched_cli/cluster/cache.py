"""The scheduler cache: nodes, pods and everything else, with assume and forget (backend/cache.Cache)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.pod_facts import is_terminal
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.cluster.columns import RowColumn
from ksched_cli.cluster.known_pods import KnownPods
from ksched_cli.cluster.node_selection import NodeSelection
from ksched_cli.cluster.nodes import NodeTable
from ksched_cli.cluster.pod_counts import PodCounts
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.pods import NOWHERE, PodTable
from ksched_cli.cluster.resources import ResourceIndex
from ksched_cli.cluster.undo import LoggedSet
from ksched_cli.cluster.usage import Usage
from ksched_cli.releases.minors import NEWEST, Release


class Cluster:
    """The cache and the snapshot in one: a cycle reads the columns while nothing else writes them.

    `journal` lists the node rows that placements touched, in order, so that whoever keeps something derived from
    the columns can bring just those rows up to date. `structure` goes up when rows are renumbered or node objects
    change, and with each roll back, after which nothing derived from nodes holds. `undo` is the log of the whole world
    that the cluster is in. Without `reuse` everything derived is derived afresh for
    every pod: slow, and the answer must be the same. `known` is shared by clusters that have many pods in common.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        pods: Iterable[Pod] = (),
        catalog: Catalog | None = None,
        *,
        reuse: bool = True,
        release: Release = NEWEST,
        known: KnownPods | None = None,
    ) -> None:
        self.reuse = reuse
        self.release = release
        self.known = known
        self.resources = known.resources if known else ResourceIndex()
        self.catalog = catalog or Catalog()
        self.undo = self.catalog.undo
        self.pods = PodTable(self.undo)
        self.nodes = NodeTable(nodes, self.resources, release)
        self.usage = Usage(len(self.resources), len(self.nodes), self.undo)
        self.selection = NodeSelection(self.nodes)
        self.journal: list[int] = []
        self.preempted: set[int] = LoggedSet(self.undo)
        self.counts = PodCounts(self)
        self.structure = 0
        self.undo.after_roll_back(self._count_roll_back)
        for pod in pods:
            if not is_terminal(pod):
                self.add_pod(pod)

    def _count_roll_back(self) -> None:
        self.widen()
        self.structure += 1

    # Pods

    def register(self, pod: Pod) -> int:
        """The pod's row. A pod seen for the first time may name resources that no node or pod named before."""
        known = self.known
        row = self.pods.register(known.info(pod) if known else PodInfo(pod, self.resources, self.release))
        info = self.pods.infos[row]
        _ = info.requests, info.incoming_requests
        self.widen()
        return row

    def add_pod(self, pod: Pod) -> int:
        """A pod as the API server has it: on its node if that exists, else known but nowhere."""
        pod_row = self.register(pod)
        node_row = self.nodes.row_of.get(pod.spec.node_name)
        if node_row is not None and self.pods.node_row[pod_row] == NOWHERE:
            self.place(pod_row, node_row)
        return pod_row

    def place(self, pod_row: int, node_row: int) -> None:
        """Count the pod on the node (AddPod, AssumePod)."""
        self.pods.move(pod_row, node_row)
        self.usage.add(self.pods.infos[pod_row], pod_row, node_row)
        self.journal.append(node_row)

    def place_copies(self, pod_row: int, node_rows: Sequence[int]) -> None:
        """Count copies of a pod on these nodes. They take what the pod takes, and are no pods that can be found."""
        rows = np.array(node_rows, dtype=np.int64)
        self.usage.shift(self.pods.shapes.of(np.full(len(rows), pod_row)), rows, 1)
        self.journal.extend(node_rows)

    def displace(self, pod_row: int) -> int:
        """Take the pod off its node (RemovePod, ForgetPod); the row it was on."""
        node_row = int(self.pods.node_row[pod_row])
        if node_row != NOWHERE:
            self.usage.remove(self.pods.infos[pod_row], pod_row, node_row)
            self.pods.move(pod_row, NOWHERE)
            self.journal.append(node_row)
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
        node_row = int(self.pods.node_row[pod_row])
        if node_row != NOWHERE:
            self.journal.append(node_row)

    def bind(self, pod_row: int, pod: Pod) -> None:
        """The pod as the API server has it from now on, with the node that it was assumed on. Nothing else about it
        has changed, so that all that is known of the node still holds."""
        self.pods.confirm(pod_row, self.pods.infos[pod_row].later(pod))

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
        _ = new.requests, new.incoming_requests
        self.widen()
        node_row = self.displace(pod_row)
        self.pods.replace(pod_row, new)
        if pod_row in self.preempted:
            self.pods.terminate(pod_row)
        if pod.spec.node_name:
            node_row = self.nodes.row_of.get(pod.spec.node_name, NOWHERE)
        if node_row != NOWHERE:
            self.place(pod_row, node_row)
        if old.labels != new.labels or old.pod.spec.affinity != new.pod.spec.affinity:
            # What is counted pod by pod knows a pod by its row alone.
            self.structure += 1

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

    def forget_derived(self) -> None:
        """Drop what was derived from the columns and can be derived again."""
        self.selection = NodeSelection(self.nodes)
        self.counts = PodCounts(self)

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
            if name in new and pod_row not in self.pods.gone and self.pods.node_row[pod_row] == NOWHERE:
                self.place(pod_row, self.nodes.row_of[name])

    def remove_node(self, name: str) -> None:
        """The node goes; its pods stay known but count nowhere, as on a ghost node of kube-scheduler's cache."""
        self._restructure([node for node in self.nodes.arrival if node.metadata.name != name])

    def update_node(self, node: Node) -> None:
        table = self.nodes.with_spec_of(node)
        if table is None:
            name = node.metadata.name
            self._restructure([node if old.metadata.name == name else old for old in self.nodes.arrival])
        else:
            self.undo.note(self._return_to, self.nodes, self.usage, self.selection)
            self.nodes = table
            self.selection = NodeSelection(table)
            self.structure += 1

    def _return_to(self, nodes: NodeTable, usage: Usage, selection: NodeSelection) -> None:
        self.nodes, self.usage, self.selection = nodes, usage, selection

    def _restructure(self, arrival: Sequence[Node]) -> None:
        self.undo.note(self._return_to, self.nodes, self.usage, self.selection)
        old_names = self.nodes.names
        self.nodes = NodeTable(arrival, self.resources, self.release)
        new_row: RowColumn = np.array([self.nodes.row_of.get(name, NOWHERE) for name in old_names], dtype=np.int64)
        self.usage = self.usage.renumbered(new_row, len(self.nodes))
        self.widen()
        self.pods.renumber(new_row)
        self.selection = NodeSelection(self.nodes)
        self.structure += 1
