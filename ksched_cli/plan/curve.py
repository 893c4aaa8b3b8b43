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
from typing import TypeAlias

import numpy as np

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.pending import PendingQueue
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.errors import Problem, UsageError
from ksched_cli.framework.interfaces import MeteringPlugin
from ksched_cli.plan.results.outcomes import Curve, FirstFailure

_Meter: TypeAlias = "ContainerRequests | MeteringPlugin"
# Typical pods are the most frequent requests until they are so many percent of the pods, and no more than so many.
_TYPICAL_PERCENT, _MOST_TYPICAL = 95, 40
NOT_REQUESTED = "not requested"


class ContainerRequests:
    """Measures what containers request, as a `MeteringPlugin` measures other requests. The typical pods are the most
    frequent requests with their shares."""

    def __init__(self, cluster: Cluster, pods: Iterable[PodInfo]) -> None:
        self._cluster = cluster
        counts = Counter(info.requests for info in pods)
        total, covered = sum(counts.values()), 0
        chosen: list[tuple[tuple[tuple[int, int], ...], int]] = []
        for requests, count in sorted(counts.items(), key=lambda each: (-each[1], each[0])):
            if covered * 100 >= _TYPICAL_PERCENT * total or len(chosen) == _MOST_TYPICAL:
                break
            covered += count
            chosen.append((requests, count))
        self._shapes = [(requests, count / covered) for requests, count in chosen]

    def _row(self, resource: str) -> int:
        """The row of the resource, -1 without one."""
        row = self._cluster.resources.find(resource)
        return -1 if row is None else row

    def capacity(self, resource: str) -> int:
        row = self._row(resource)
        return int(self._cluster.nodes.allocatable[row].sum()) if row >= 0 else 0

    def used(self, resource: str) -> int:
        return int(self._cluster.usage.requested[self._row(resource)].sum())

    def requested(self, resource: str, info: PodInfo) -> int:
        return dict(info.requests).get(self._row(resource), 0)

    def unusable(self, resource: str) -> Mapping[str, float]:
        """What of the free resource the typical pods cannot use, by what is missing."""
        nodes, usage, names = self._cluster.nodes, self._cluster.usage, self._cluster.resources.names
        free = np.maximum(nodes.allocatable - usage.requested, 0)
        no_slot, own = usage.pod_count >= nodes.allowed_pods, self._row(resource)
        amounts = free[own].astype(float)
        found: defaultdict[str, float] = defaultdict(float)
        for requests, share in self._shapes:
            wanted = [(row, amount) for row, amount in requests if amount]
            if all(row != own for row, _ in wanted):
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
        requests = ContainerRequests(scheduler.cluster, pods)
        self._lines = [_Line(name, _meter(scheduler, name, requests)) for name in dict.fromkeys(resources)]
        first = infos[queue.active[0]] if queue.active else None
        for line in self._lines:
            line.go_on_until(first)

    def __call__(self, decision: Decision) -> None:
        following = self._next.get(decision.pod_row)
        info = None if following is None else self._infos[following]
        for line in self._lines:
            line.arrive(decision, info)

    def curves(self) -> tuple[Curve, ...]:
        return tuple(line.curve() for line in self._lines)


def _meter(scheduler: Scheduler, resource: str, requests: ContainerRequests) -> _Meter:
    """The plugin that measures the resource, or the requests of containers. UsageError if no node has the resource."""
    plugins = [plugin for runtime in scheduler.runtimes.values() for plugin in runtime.profile.plugins]
    metered = {name: plugin for plugin in plugins if isinstance(plugin, MeteringPlugin) for name in plugin.metered}
    meter = metered.get(resource, requests)
    if meter.capacity(resource) <= 0:
        known = [name for name in scheduler.cluster.resources.names if requests.capacity(name)]
        known += [name for name, plugin in metered.items() if name not in known and plugin.capacity(name)]
        hint = f"they have {', '.join(known)}" if known else ""
        raise UsageError(Problem("no node has any of this resource", f"--curve {resource}", hint=hint))
    return meter


class _Line:
    """The curve of one resource while it grows."""

    def __init__(self, resource: str, meter: _Meter) -> None:
        self._resource, self._meter = resource, meter
        self._capacity, self._arrived = meter.capacity(resource), meter.used(resource)
        self._first = self._percent = _rounded_up(100 * self._arrived, self._capacity)
        self._allocated: list[float] = []
        self._failed: list[int] = []
        self._unusable: list[Mapping[str, float]] = []
        self._failures = 0
        self._first_failure: FirstFailure | None = None

    def arrive(self, decision: Decision, following: PodInfo | None) -> None:
        if decision.result != "skipped":
            self._arrived += self._meter.requested(self._resource, decision.pod)
        if decision.result in ("unschedulable", "error") and not decision.nominated_node:
            self._failures += 1
            if self._first_failure is None:
                self._first_failure = FirstFailure(decision.pod.key, self._share(self._arrived), self._used())
        self.go_on_until(following)

    def go_on_until(self, following: PodInfo | None) -> None:
        """Record the points up to the one that the next pod passes; without a next pod up to the last point."""
        more = 0 if following is None else self._meter.requested(self._resource, following)
        end = _rounded_up(100 * (self._arrived + more), self._capacity) - (following is not None)
        if end < self._percent:
            return
        used = self._used()
        unusable = {name: self._share(amount) for name, amount in self._meter.unusable(self._resource).items()}
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
        return self._share(self._meter.used(self._resource))

    def _share(self, amount: float) -> float:
        return round(100 * amount / self._capacity, 2)


def _rounded_up(amount: int, whole: int) -> int:
    return -(-amount // whole)
