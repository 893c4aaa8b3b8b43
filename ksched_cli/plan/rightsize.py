"""`rightsize`: how much the pods of a workload may request at most and still fit, and what their requests strand. Each
limit is found by bisection, with the scheduler as judge. What the pods really use is unknown."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Container, Pod
from ksched_cli.api.quantity import milli_value, value
from ksched_cli.cluster.undo import UndoLog
from ksched_cli.controlplane.store import Store, workload_name
from ksched_cli.errors import InputError, Problem
from ksched_cli.plan.results.amounts import Amounts
from ksched_cli.plan.results.nodes import NodeChanges, NodeColumns
from ksched_cli.plan.results.outcomes import Displayed, Stats
from ksched_cli.plan.run.loaded_input import LoadedInput
from ksched_cli.plan.run.run import Run
from ksched_cli.plan.size.catalog import ShapeCatalog, catalog_of
from ksched_cli.plan.size.classes import Surveyor
from ksched_cli.plan.size.derived import derive_catalog
from ksched_cli.plan.size.results import without_zeros
from ksched_cli.plan.size.trials import SizingTrials
from ksched_cli.sources.loaded import Loaded

_RESOURCES = ("cpu", "memory")
# Requests are looked for in steps of 1m and 1Mi.
_STEPS = {"cpu": 1, "memory": 2**20}
_DIGITS = Decimal("0.00001")


class ShapeFit(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Pods of the workload on an empty node of a shape. `most`: how much each may request and as many still fit;
    `one_more`: how much each may request at most for one more to fit; `stranded`: what is free beside them, in amounts
    and in per cent of what DaemonSets leave. `price_per_pod`: of the share of one pod. `why_not`: why none fits; the
    amounts are there without it."""

    shape: str
    pods: int
    why_not: str = ""
    most: Amounts | None = None
    one_more: Amounts | None = None
    stranded: Amounts | None = None
    stranded_percent: Mapping[str, int] | None = None
    price_per_pod: Decimal | None = None


class WorkloadRequests(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One workload of the manifests. `placed` of its pods have a node with the `requests` as they are. `most`: what
    each pod may request of a resource at most in the cluster now, while its other requests stay and all other pending
    pods are placed too; a resource is absent if the pods fit with no request of it."""

    workload: str
    pods: int
    placed: int
    message: str = ""
    requests: Amounts
    most: Amounts
    shapes: tuple[ShapeFit, ...]

    @property
    def fits(self) -> bool:
        return self.placed == self.pods


class Rightsizing(
    Displayed,
    Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    omit_defaults=True,
    tag_field="kind",
    tag="Rightsizing",
):
    unit: str
    workloads: tuple[WorkloadRequests, ...]
    coverage: Mapping[str, Any]
    stats: Stats
    node_table: NodeChanges | Any = None
    warnings: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        return all(each.fits for each in self.workloads)


def rightsize_input(source: LoadedInput, catalog: ShapeCatalog | None) -> Rightsizing:
    """Each workload of the manifests. Without a catalog its shapes are the instance types of the nodes."""
    source.refuse_rollouts()
    prepared = Run(source)
    started = time.perf_counter()
    trials = SizingTrials(source, prepared.scheduler)
    shapes = catalog or _catalog_of_nodes(source.loaded)
    found = list(_workloads(trials, source.made))
    if not found:
        text = "the manifests have no pod that is pending: there is no request to size"
        if source.refused:
            # The pods of the manifests come after those of the cluster.
            last = source.refused[-1]
            text += f"; the API server refuses {last.pod} ({last.plugin}): {last.message}"
        raise InputError(Problem(text))
    rooms = [_Requests(trials, name, rows) for name, rows in found]
    results = tuple(room.result(shapes, priced=catalog is not None) for room in rooms)
    seconds = time.perf_counter() - started
    after = trials.run({}).columns
    return Rightsizing(
        unit=catalog.unit if catalog else "",
        workloads=results,
        coverage=prepared.coverage,
        stats=prepared.stats(sum(each.pods for each in results), seconds),
        node_table=None if after is None else NodeChanges(NodeColumns.of(trials.cluster), after),
        warnings=source.warnings,
    )


def _catalog_of_nodes(loaded: Loaded) -> ShapeCatalog:
    """The instance types of the nodes, each once, at no price."""
    document = dict(derive_catalog(loaded, rates="cpu=0").document)
    zoned = ("zones", "zoneLabels")
    shapes = [{key: each for key, each in shape.items() if key not in zoned} for shape in document["shapes"]]
    return catalog_of({**document, "shapes": shapes}, "nodes")


def _workloads(trials: SizingTrials, made: Sequence[str]) -> Iterator[tuple[str, list[int]]]:
    """The pending pods of the manifests, by workload. A DaemonSet has one pod a node, whatever it requests."""
    store, wanted = Store(Loaded(), trials.cluster.catalog), set(made)
    found: dict[str, list[int]] = {}
    for row in trials.pending:
        info = trials.info(row)
        if info.key in wanted:
            found.setdefault(workload_name(store, info.pod), []).append(row)
    yield from ((name, rows) for name, rows in found.items() if not name.startswith("DaemonSet/"))


class _Requests:
    """The pods of one workload, with other requests than they have."""

    def __init__(self, trials: SizingTrials, name: str, rows: list[int]) -> None:
        self._trials, self._name, self._rows = trials, name, rows
        self._undo: UndoLog = trials.cluster.undo
        self._own = {resource: self._requested(resource) for resource in _RESOURCES}

    def _requested(self, resource: str) -> int:
        info = self._trials.info(self._rows[0])
        index = self._trials.cluster.resources.find(resource)
        return dict(info.incoming_requests).get(index if index is not None else -1, 0)

    def result(self, catalog: ShapeCatalog, *, priced: bool) -> WorkloadRequests:
        placed, message = self._place({})
        limits = {resource: self._limit(resource) for resource in _RESOURCES}
        surveyor = Surveyor(self._trials, catalog)
        shapes = tuple(
            self._on_shape(shape.title, free, why, shape.price if priced else None)
            for shape, free, why in surveyor.judge_on_shapes(self._rows[0])
        )
        return WorkloadRequests(
            workload=self._name,
            pods=len(self._rows),
            placed=placed,
            message=message,
            requests=Amounts(self._own),
            most=Amounts({resource: most for resource, most in limits.items() if most is not None}),
            shapes=shapes,
        )

    # The cluster now

    def _limit(self, resource: str) -> int | None:
        """By bisection: more of the resource never fits where less does not. None if the pods do not fit with 0."""
        step = _STEPS[resource]
        index = self._trials.cluster.resources.find(resource)
        largest = int(self._trials.cluster.nodes.allocatable[index].max(initial=0)) if index is not None else 0
        most = _largest(largest // step, lambda steps: self._fits({resource: steps * step}))
        return None if most is None else most * step

    def _fits(self, requests: Mapping[str, int]) -> bool:
        return self._place(requests)[0] == len(self._rows)

    def _place(self, requests: Mapping[str, int]) -> tuple[int, str]:
        """How many pods of the workload have a node with these requests, and why the first of the others has none."""
        wanted, placed, message = set(self._rows), 0, ""
        cluster, scheduler = self._trials.cluster, self._trials.scheduler
        with self._undo.trial():
            for row in self._rows if requests else ():
                cluster.update_pod(row, _with_requests(cluster.pods.infos[row].pod, requests))
            for decision in scheduler.run(scheduler.enqueue()):
                if decision.pod_row not in wanted:
                    continue
                placed += decision.row is not None
                if decision.row is None:
                    message = message or decision.message
        return placed, message

    # An empty node of a shape

    def _on_shape(self, title: str, free: Mapping[str, int], why: str, price: Decimal | None) -> ShapeFit:
        info = self._trials.info(self._rows[0])
        names = self._trials.cluster.resources.names
        amounts = {names[row]: amount for row, amount in info.incoming_requests} | {"pods": 1}
        count = 0 if why else min(free.get(name, 0) // amount for name, amount in amounts.items())
        if not count:
            return ShapeFit(title, 0, why or "Insufficient resources")
        left = {name: free[name] - count * amounts.get(name, 0) for name in _RESOURCES}
        less = {name: free[name] // (count + 1) for name in _RESOURCES}
        return ShapeFit(
            title,
            count,
            most=Amounts({name: free[name] // count for name in _RESOURCES}),
            one_more=Amounts({name: most for name, most in less.items() if amounts.get(name, 0) > most}),
            stranded=Amounts(left),
            stranded_percent={name: left[name] * 100 // max(free[name], 1) for name in _RESOURCES},
            price_per_pod=None if price is None else without_zeros((price / count).quantize(_DIGITS, ROUND_HALF_UP)),
        )


def _largest(limit: int, fits: Callable[[int], bool]) -> int | None:
    """The largest number up to the limit that fits, None if 0 does not."""
    if not fits(0):
        return None
    low, high = 0, limit + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _with_requests(pod: Pod, requests: Mapping[str, int]) -> Pod:
    """The pod with other sums of requests: the container that requests most gets the difference."""
    containers = list(pod.spec.containers)
    for resource, wanted in requests.items():
        amounts = [_amount(each, resource) for each in containers]
        largest = amounts.index(max(amounts))
        own = max(wanted - (sum(amounts) - amounts[largest]), 0)
        text = f"{own}m" if resource == "cpu" else str(own)
        changed = {**containers[largest].resources.requests, resource: text}
        resources = replace(containers[largest].resources, requests=changed)
        containers[largest] = replace(containers[largest], resources=resources)
    return replace(pod, spec=replace(pod.spec, containers=tuple(containers)))


def _amount(container: Container, resource: str) -> int:
    quantity = container.resources.requests.get(resource, 0)
    return milli_value(quantity) if resource == "cpu" else value(quantity)
