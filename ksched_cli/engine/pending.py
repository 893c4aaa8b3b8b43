"""Which pending pods have a cycle, and in which order, if each pod has one cycle: the active queue of
backend/queue/scheduling_queue.go at the start, after runPreEnqueuePlugins. Pods do not come back to this queue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any

import numpy as np
from msgspec import Struct, field

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import NOWHERE
from ksched_cli.cluster.pod_groups import GroupKey, PodGroups, group_of
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.cycle.runtime import Runtime
from ksched_cli.engine.faults import CycleError, EngineReasons, error_text
from ksched_cli.errors import UsageError
from ksched_cli.framework.status import Status, unresolvable


class PendingQueue(Struct):
    """Pod rows in the order of their cycles, those that PreEnqueue holds back, those of schedulers without a profile,
    and those over which a plugin failed, with its error."""

    active: list[int] = field(default_factory=list)
    gated: dict[int, Status] = field(default_factory=dict)
    ignored: list[int] = field(default_factory=list)
    failed: dict[int, str] = field(default_factory=dict)


def pending(cluster: Cluster) -> list[int]:
    """Pods without a node. A pod that names a node which does not exist is bound, not pending."""
    infos, gone = cluster.pods.infos, cluster.pods.gone
    nowhere = np.nonzero(cluster.pods.node_row == NOWHERE)[0].tolist()
    return [row for row in nowhere if not infos[row].pod.spec.node_name and row not in gone]


def enqueue(cluster: Cluster, rows: Iterable[int], runtimes: Mapping[str, Runtime]) -> PendingQueue:
    """Sort pods out and into order: the profile's queue sort, then age, then namespace and name."""
    queue = PendingQueue()
    keys: dict[int, tuple[Any, ...]] = {}
    # The last pod that PreEnqueue let in, and whether PreEnqueue lets in all copies of that pod, once it is asked.
    last: PodInfo | None = None
    copies_too: bool | None = None
    for row in rows:
        info = cluster.pods.infos[row]
        runtime = runtimes.get(info.pod.spec.scheduler_name)
        if runtime is None:
            queue.ignored.append(row)
            continue
        try:
            if last is not None and last.parts is info.parts:
                if copies_too is None:
                    copies_too = cluster.reuse and runtime.lets_copies_in(last)
                if copies_too:
                    keys[row] = runtime.profile.queue_sort.sort_key(info)
                    continue
            refusal = runtime.run_pre_enqueue(info)
            last, copies_too = (info if refusal is None else None), None
            if refusal is None:
                keys[row] = runtime.profile.queue_sort.sort_key(info)
            else:
                queue.gated[row] = refusal
        except CycleError as problem:
            queue.failed[row] = str(problem)
    queue.active = _sorted(keys, cluster, runtimes)
    return queue


def hold_back_groups(queue: PendingQueue, groups: PodGroups, cluster: Cluster, runtimes: Mapping[str, Runtime]) -> None:
    """A pod group waits as a whole (runPreEnqueuePlugins of an entity), pods that are not in this queue included."""
    infos, active = cluster.pods.infos, set(queue.active)
    held: dict[GroupKey, Status | None] = {}
    for row in queue.active:
        key = group_of(infos[row])
        if key is None:
            continue
        if key not in held:
            others = (each for each in groups.pending(key) if each not in active and each not in queue.failed)
            refusals = ((infos[each], queue.gated.get(each) or _refusal(infos[each], runtimes)) for each in others)
            held[key] = next((held_with(info, refusal) for info, refusal in refusals if refusal is not None), None)
        refusal = held[key]
        if refusal is not None:
            queue.gated[row] = refusal
    queue.active = [row for row in queue.active if row not in queue.gated]


def _refusal(info: PodInfo, runtimes: Mapping[str, Runtime]) -> Status | None:
    runtime = runtimes.get(info.pod.spec.scheduler_name)
    try:
        return None if runtime is None else runtime.run_pre_enqueue(info)
    except CycleError:
        return None


def held_with(other: PodInfo, refusal: Status) -> Status:
    """What a pod is held back with because this other pod of its group is."""
    return unresolvable(EngineReasons.group_gated(pod=other.key, message=refusal.message)).by(refusal.plugin)


def let_in(queue: PendingQueue, rows: Iterable[int], cluster: Cluster, runtimes: Mapping[str, Runtime]) -> None:
    """Put pods that are held back where they would be if they were not."""
    infos = cluster.pods.infos
    keys = {
        each: runtimes[infos[each].pod.spec.scheduler_name].profile.queue_sort.sort_key(infos[each])
        for each in (*queue.active, *rows)
    }
    queue.active = _sorted(keys, cluster, runtimes)


def _sorted(keys: Mapping[int, tuple[Any, ...]], cluster: Cluster, runtimes: Mapping[str, Runtime]) -> list[int]:
    """The rows by these keys of the profile's queue sort, then by age, namespace and name. Several sorts take less
    memory than one by longer keys."""
    infos = {cluster.pods.infos[row]: row for row in keys}
    by_age = sorted(infos, key=attrgetter("name"))
    by_age.sort(key=attrgetter("namespace"))
    by_age.sort(key=attrgetter("created"))
    rows = [infos[info] for info in by_age]
    try:
        rows.sort(key=keys.__getitem__)
    except Exception as problem:
        # All profiles sort alike.
        plugin = next(iter(runtimes.values())).profile.queue_sort
        raise UsageError(
            f'plugin "{plugin.name}" gives keys that cannot be compared: {error_text(problem)}'
        ) from problem
    return rows
