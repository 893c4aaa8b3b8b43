"""How full a cluster gets while pods arrive: the curves of `simulate --curve` and of `sweep --curve`.

A point of a curve is the state after the last pod with which at most so many percent of a resource have arrived: the
share that is allocated, the pods without a node so far, and what of the rest cannot be used. Pods that run already have
arrived. The last point, rounded up, is the state after all pods.

What cannot be used follows "Beware of Fragmentation" (USENIX ATC 2023): of the most frequent requests of the pods, up
to 95 % of them, each one finds a part of the free resource on nodes that lack something else. The curve has the mean
over these typical pods, by what is missing. Only requests count here: selectors, taints and affinity do not.

A resource that pods request otherwise than in their containers is measured by a plugin (`MeteringPlugin`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.pending import PendingQueue
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.errors import Problem, UsageError
from ksched_cli.framework.interfaces import MeteringPlugin
from ksched_cli.plan.results.outcomes import Curve, FirstFailure

# Typical pods are the most frequent requests until they are so many percent of the pods, and no more than so many.
_TYPICAL_PERCENT, _MOST_TYPICAL = 95, 40
NOT_REQUESTED = "not requested"


class _Meter(Protocol):
    """Measures one resource of a cluster."""

    def capacity(self) -> int: ...

    def used(self) -> int: ...

    def requested(self, pod: PodInfo) -> int: ...

    def unusable(self) -> Mapping[str, float]:
        """Amounts by what is missing."""


class _ColumnMeter:
    """A resource that containers request."""

    def __init__(self, cluster: Cluster, row: int, typical: TypicalRequests) -> None:
        self._cluster, self._row, self._typical = cluster, row, typical

    def capacity(self) -> int:
        return int(self._cluster.nodes.allocatable[self._row].sum())

    def used(self) -> int:
        return int(self._cluster.usage.requested[self._row].sum())

    def requested(self, pod: PodInfo) -> int:
        return next((amount for row, amount in pod.requests if row == self._row), 0)

    def unusable(self) -> Mapping[str, float]:
        return self._typical.unusable(self._cluster, self._row)


class _PluginMeter:
    """A resource that a plugin measures."""

    def __init__(self, plugin: MeteringPlugin, resource: str) -> None:
        self._plugin, self._resource = plugin, resource

    def capacity(self) -> int:
        return self._plugin.capacity(self._resource)

    def used(self) -> int:
        return self._plugin.used(self._resource)

    def requested(self, pod: PodInfo) -> int:
        return self._plugin.requested(self._resource, pod)

    def unusable(self) -> Mapping[str, float]:
        return self._plugin.unusable(self._resource)


class TypicalRequests:
    """The most frequent requests of the pods with their shares."""

    def __init__(self, pods: Iterable[PodInfo]) -> None:
        counts = Counter(pod.requests for pod in pods)
        total, covered = sum(counts.values()), 0
        chosen: list[tuple[tuple[tuple[int, int], ...], int]] = []
        for requests, count in sorted(counts.items(), key=lambda each: (-each[1], each[0])):
            if covered * 100 >= _TYPICAL_PERCENT * total or len(chosen) == _MOST_TYPICAL:
                break
            covered += count
            chosen.append((requests, count))
        self._shapes = [(requests, count / covered) for requests, count in chosen]

    def unusable(self, cluster: Cluster, resource: int) -> Mapping[str, float]:
        """What of the free resource the typical pods cannot use, by what is missing."""
        nodes, usage, names = cluster.nodes, cluster.usage, cluster.resources.names
        free = np.maximum(nodes.allocatable - usage.requested, 0)
        no_slot = usage.pod_count >= nodes.allowed_pods
        amounts = free[resource].astype(float)
        found: defaultdict[str, float] = defaultdict(float)
        for requests, share in self._shapes:
            wanted = [(row, amount) for row, amount in requests if amount]
            if all(row != resource for row, _ in wanted):
                found[NOT_REQUESTED] += share * float(amounts.sum())
                continue
            # Each bit of `missing` is something that the node lacks: a resource, or a place for one more pod.
            missing = no_slot.astype(np.int64)
            for bit, (row, amount) in enumerate(wanted, start=1):
                missing |= (free[row] < amount).astype(np.int64) << bit
            for code in np.unique(missing[missing > 0]).tolist():
                lacking = ["pods"] if code & 1 else []
                lacking += [names[row] for bit, (row, _) in enumerate(wanted, start=1) if code >> bit & 1]
                found[f"lack of {' and '.join(sorted(lacking))}"] += share * float(amounts[missing == code].sum())
        return found


class CurveRecorder:
    """Records the curves of some resources: call it with each decision in order, and `curves` at the end. It is made
    before the first cycle."""

    def __init__(self, scheduler: Scheduler, queue: PendingQueue, resources: Sequence[str]) -> None:
        infos = scheduler.cluster.pods.infos
        pods = [infos[row] for row in queue.active]
        self._next = dict(zip(queue.active, queue.active[1:], strict=False))
        self._infos = infos
        typical = TypicalRequests(pods)
        self._lines = [_Line(name, _meter(scheduler, name, typical)) for name in dict.fromkeys(resources)]
        first = infos[queue.active[0]] if queue.active else None
        for line in self._lines:
            line.go_on_until(first)

    def __call__(self, decision: Decision) -> None:
        following = self._next.get(decision.pod_row)
        pod = None if following is None else self._infos[following]
        for line in self._lines:
            line.arrive(decision, pod)

    def curves(self) -> tuple[Curve, ...]:
        return tuple(line.curve() for line in self._lines)


def _meter(scheduler: Scheduler, resource: str, typical: TypicalRequests) -> _Meter:
    """UsageError if neither the nodes nor a plugin have the resource."""
    cluster = scheduler.cluster
    plugins = [plugin for runtime in scheduler.runtimes.values() for plugin in runtime.profile.plugins]
    metering = [plugin for plugin in plugins if isinstance(plugin, MeteringPlugin)]
    for plugin in metering:
        if resource in plugin.metered:
            meter: _Meter = _PluginMeter(plugin, resource)
            break
    else:
        row = cluster.resources.find(resource)
        if row is None or not cluster.nodes.allocatable[row].any():
            known = [name for at, name in enumerate(cluster.resources.names) if cluster.nodes.allocatable[at].any()]
            known += [name for plugin in metering for name in plugin.metered if name not in known]
            hint = f"they have {', '.join(known)}" if known else ""
            raise UsageError(Problem("no node has any of this resource", f"--curve {resource}", hint=hint))
        meter = _ColumnMeter(cluster, row, typical)
    if meter.capacity() <= 0:
        raise UsageError(Problem("no node has any of this resource", f"--curve {resource}"))
    return meter


class _Line:
    """The curve of one resource while it grows."""

    def __init__(self, resource: str, meter: _Meter) -> None:
        self._resource, self._meter = resource, meter
        self._capacity = meter.capacity()
        self._arrived = meter.used()
        self._first = self._percent = _rounded_up(100 * self._arrived, self._capacity)
        self._allocated: list[float] = []
        self._failed: list[int] = []
        self._unusable: list[Mapping[str, float]] = []
        self._failures = 0
        self._first_failure: FirstFailure | None = None

    def arrive(self, decision: Decision, following: PodInfo | None) -> None:
        if decision.result != "skipped":
            self._arrived += self._meter.requested(decision.pod)
        if decision.result in ("unschedulable", "error") and not decision.nominated_node:
            self._failures += 1
            if self._first_failure is None:
                self._first_failure = FirstFailure(decision.pod.key, self._share(self._arrived), self._used())
        self.go_on_until(following)

    def go_on_until(self, following: PodInfo | None) -> None:
        """Record the points up to the one that the next pod passes; without a next pod up to the last point."""
        if following is None:
            end = _rounded_up(100 * self._arrived, self._capacity)
        else:
            end = _rounded_up(100 * (self._arrived + self._meter.requested(following)), self._capacity) - 1
        if end < self._percent:
            return
        used = self._used()
        unusable = {name: self._share(amount) for name, amount in self._meter.unusable().items()}
        points = end + 1 - self._percent
        self._allocated += [used] * points
        self._failed += [self._failures] * points
        self._unusable += [unusable] * points
        self._percent = end + 1

    def curve(self) -> Curve:
        names = sorted({name for each in self._unusable for name, share in each.items() if share})
        return Curve(
            self._resource,
            self._capacity,
            self._share(self._arrived),
            self._used(),
            self._failures,
            self._first,
            tuple(self._allocated),
            tuple(self._failed),
            {name: tuple(each.get(name, 0.0) for each in self._unusable) for name in names},
            self._first_failure,
        )

    def _used(self) -> float:
        return self._share(self._meter.used())

    def _share(self, amount: float) -> float:
        return round(100 * amount / self._capacity, 2)


def _rounded_up(amount: int, whole: int) -> int:
    return -(-amount // whole)
