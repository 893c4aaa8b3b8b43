"""Which pods are tried, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.pods import NOWHERE
from ksched_cli.engine.runtime import Runtime
from ksched_cli.framework.status import Status


@dataclass
class Queue:
    """Pod rows in the order of their cycles, those that PreEnqueue holds back, and those that nobody schedules."""

    active: list[int] = field(default_factory=list)
    gated: dict[int, Status] = field(default_factory=dict)
    ignored: list[int] = field(default_factory=list)


def pending(cluster: Cluster) -> list[int]:
    """Pods without a node. One that names a node which does not exist is somebody's pod, not a pending one."""
    return [
        row
        for row, info in enumerate(cluster.pods.infos)
        if cluster.pods.node_row[row] == NOWHERE and not info.pod.spec.node_name
    ]


def enqueue(cluster: Cluster, rows: Iterable[int], runtimes: Mapping[str, Runtime]) -> Queue:
    """Sort pods out and into order: the profile's queue sort, then age, then namespace and name."""
    queue = Queue()
    for row in rows:
        info = cluster.pods.infos[row]
        runtime = runtimes.get(info.pod.spec.scheduler_name)
        if runtime is None:
            queue.ignored.append(row)
        elif (refusal := runtime.run_pre_enqueue(info)) is not None:
            queue.gated[row] = refusal
        else:
            queue.active.append(row)

    def order(row: int) -> tuple[Any, ...]:
        info = cluster.pods.infos[row]
        sort = runtimes[info.pod.spec.scheduler_name].profile.queue_sort
        return (*sort.sort_key(info), info.created, info.namespace, info.name)

    queue.active.sort(key=order)
    return queue
