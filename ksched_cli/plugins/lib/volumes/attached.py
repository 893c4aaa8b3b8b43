"""How many disks of a cloud nodes can still take, as the limits of disks note it for the score of balanced resources
while the gate BalanceAttachedNodeVolumes is on."""

from __future__ import annotations

import numpy as np

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import Int64Column
from ksched_cli.framework.rows import NodeRows


class AttachedVolumes:
    """nodeTransientInfo of all nodes: what the last limit noted that a pod has passed on the node. It stays for later
    pods until the node changes (UpdateNodeInfoSnapshot), and the dry run of preemption notes it too."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        # How many disks more the node takes, and how many of these the pod needs.
        self._noted: Int64Column = np.zeros((2, len(cluster.nodes)), dtype=np.int64)
        self._position = len(cluster.journal)

    @classmethod
    def of(cls, cluster: Cluster) -> AttachedVolumes:
        """Those of the cluster as it is now."""
        found = cluster.derived(cls, lambda: cls(cluster))
        found._follow()
        return found

    def note(self, row: int, free: int, needed: int) -> None:
        self._keep()
        self._noted[:, row] = free, needed

    def at(self, nodes: NodeRows) -> Int64Column:
        """`[0]` has how many disks the nodes can still take, `[1]` how many of these the pod needs."""
        return np.stack([nodes.take(self._noted[0]), nodes.take(self._noted[1])])

    def _follow(self) -> None:
        journal = self._cluster.journal
        if self._position == len(journal):
            return
        self._keep()
        self._noted[:, journal[self._position :]] = 0
        self._position = len(journal)

    def _keep(self) -> None:
        if self._cluster.undo.recording:
            self._cluster.undo.note(self._restore, self._noted.copy(), self._position)

    def _restore(self, noted: Int64Column, position: int) -> None:
        self._noted, self._position = noted, position
