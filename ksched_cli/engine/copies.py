"""How many pods of each template have been without a node."""

from __future__ import annotations

from collections import Counter

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import NOWHERE
from ksched_cli.cluster.pod_info import PodInfo


class PodCopies:
    """Counts the rows of the pod table once each, also those that a roll back takes back: a result may be kept in vain,
    or may be missing, and no decision depends on it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._counted = 0
        self._of_template: Counter[bytes] = Counter()

    def has_copies(self, pod: PodInfo) -> bool:
        """Whether other pods of the pod's template have been without a node."""
        self._count()
        return self._of_template[pod.template] > 1

    def _count(self) -> None:
        pods = self._cluster.pods
        # A roll back takes rows back.
        first = self._counted if self._counted <= len(pods.infos) else 0
        self._counted = len(pods.infos)
        for row in (pods.node_row[first:] == NOWHERE).nonzero()[0].tolist():
            if first + row not in pods.gone:
                self._of_template[pods.infos[first + row].template] += 1
