"""PrioritySort: the order of the active queue, by priority (queuesort/priority_sort.go). The queue itself orders pods
of equal priority by their time of arrival."""

from __future__ import annotations

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.interfaces import QueueSortPlugin
from ksched_cli.plugins.lib.spec import Spec


class PrioritySort(QueueSortPlugin):
    name = "PrioritySort"
    summary = "Tries pods by priority, the highest first; pods of equal priority in the order they came."

    def sort_key(self, info: PodInfo) -> tuple[int]:
        # The queue has the time of arrival, and breaks the tie for any plugin that sorts.
        return (-info.priority,)


SPEC = Spec(plugins=(PrioritySort,))
