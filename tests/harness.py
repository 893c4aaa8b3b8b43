"""A plugin or a whole scheduler over a few nodes and pods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeVar

import numpy as np

from ksched_cli.api.core import Node, Pod
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.config.model import SchedulerConfiguration
from ksched_cli.config.plugin_args import ARGS_OF, default_args
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.nominator import NominatedPods
from ksched_cli.engine.scheduler import Scheduler, SchedulerHandle
from ksched_cli.framework.interfaces import FilterPlugin, Plugin, PreFilterPlugin, PreFilterResult
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import Status
from ksched_cli.framework.verdict import Verdict
from ksched_cli.plan.run.loaded_input import plugin_points
from ksched_cli.releases.minors import DEFAULT, Release
from ksched_cli.wiring import make_registry
from ksched_cli.world.results import DEFAULT_LIMITS, Limits, WorldResult
from ksched_cli.world.world import World, WorldChange

P = TypeVar("P", bound=Plugin)


@dataclass
class Bench:
    """One plugin on one cluster, and the pod it is asked about."""

    plugin: Any
    cluster: Cluster
    pod_row: int

    @property
    def pod(self) -> Any:
        return self.cluster.pods.infos[self.pod_row]

    def nodes(self, rows: Sequence[int] | None = None) -> NodeRows:
        return NodeRows(self.cluster, None if rows is None else np.array(rows, dtype=np.int64))

    def pre_filter(self) -> Any:
        return self.plugin.pre_filter(self.pod)

    def state(self) -> Any:
        if not isinstance(self.plugin, PreFilterPlugin):
            return None
        answer = self.plugin.pre_filter(self.pod)
        return answer.state if isinstance(answer, PreFilterResult) else answer

    def verdict(self, rows: Sequence[int] | None = None) -> Verdict | None:
        """None where the plugin skipped its filter."""
        state = self.state()
        if isinstance(state, Status):
            return None
        assert isinstance(self.plugin, FilterPlugin)
        return self.plugin.filter(state, self.pod, self.nodes(rows))

    def statuses(self) -> dict[str, tuple[str, tuple[str, ...]]]:
        """Node to (code, reasons) of the nodes that are rejected."""
        verdict = self.verdict()
        if verdict is None:
            return {}
        found = {name: verdict.status(index) for index, name in enumerate(self.cluster.nodes.names)}
        return {name: (status.code.go_name, status.texts) for name, status in found.items() if not status.ok}

    def scores(self, rows: Sequence[int] | None = None, *, normalized: bool = False) -> dict[str, int] | Status:
        """Node to raw or normalised score; a status where the plugin gave one."""
        nodes = self.nodes(rows)
        state = self.state()
        handed = None if isinstance(state, Status) else state
        if hasattr(self.plugin, "pre_score"):
            handed = self.plugin.pre_score(handed, self.pod, nodes)
            if isinstance(handed, Status):
                return handed
        raw = self.plugin.score(handed, self.pod, nodes)
        if isinstance(raw, Status):
            return raw
        if normalized:
            raw = self.plugin.normalize(handed, self.pod, nodes, raw)
        return {nodes.names[index]: int(score) for index, score in enumerate(raw)}


def make_bench(
    plugin: type[Plugin],
    nodes: Iterable[Node],
    pod: Pod,
    running: Iterable[Pod] = (),
    *,
    args: Any = None,
    gates: str = "",
    objects: Iterable[Any] = (),
    current: Release = DEFAULT,
) -> Bench:
    cluster = Cluster(list(nodes), running, Catalog(objects), release=current)
    pod_row = cluster.register(pod)
    handle = SchedulerHandle(cluster, current.gates(gates), NominatedPods(cluster), False, release=current)
    if args is None and plugin.name in ARGS_OF:
        args = ARGS_OF[plugin.name]()
    elif args is None and plugin.args_model is not None:
        args = default_args(plugin.name, plugin.args_model)
    return Bench(plugin(args, handle), cluster, pod_row)


def make_scheduler(
    nodes: Iterable[Node],
    pods: Iterable[Pod],
    *,
    configuration: SchedulerConfiguration | None = None,
    plugins: Iterable[type[Plugin]] = (),
    objects: Iterable[Any] = (),
    gates: str = "",
    reuse: bool = True,
    current: Release = DEFAULT,
    **options: Any,
) -> Scheduler:
    registry = make_registry(current=current)
    for plugin in plugins:
        registry.register(plugin, "test")
    return Scheduler(
        Cluster(list(nodes), pods, Catalog(objects), reuse=reuse, release=current),
        configuration or SchedulerConfiguration(),
        registry,
        current,
        current.gates(gates),
        plugin_points(registry, current),
        **options,
    )


def decide(scheduler: Scheduler) -> dict[str, Decision]:
    """Every pending pod's decision by `namespace/name`, in order."""
    return {decision.pod.key: decision for decision in scheduler.run(scheduler.enqueue())}


def placed(scheduler: Scheduler) -> dict[str, str]:
    """Pod to node, or to an empty string."""
    names = scheduler.cluster.nodes.names
    return {key: "" if each.row is None else names[each.row] for key, each in decide(scheduler).items()}


@dataclass(frozen=True)
class TimedEvent:
    """Something that happens to the cluster while it settles."""

    at: float
    action: Literal["add", "update", "delete"]
    item: Any


def settle(
    scheduler: Scheduler,
    limits: Limits = DEFAULT_LIMITS,
    events: Sequence[TimedEvent] = (),
    change: WorldChange | None = None,
) -> WorldResult:
    """What the world comes to in which this scheduler is left to itself after the change and with the events."""
    world = World(scheduler)
    if change is not None:
        world.apply(change)
    for event in events:
        world.at(event.at, partial(_happen, event))
    return world.result(world.run(limits))


def _happen(event: TimedEvent, plane: ControlPlane) -> None:
    if event.action == "delete":
        plane.api.delete(event.item, grace=0)
    else:
        write = plane.api.update if plane.store.current(event.item) else partial(plane.api.create, admit=False)
        write(event.item)
