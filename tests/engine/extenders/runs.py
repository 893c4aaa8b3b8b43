"""Schedulers that ask extenders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from ksched_cli.config.model import Extender, SchedulerConfiguration
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.run.loaded_input import SchedulerSpec, plugin_points
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.releases.minors import RELEASES
from ksched_cli.wiring import make_registry
from tests.builders import loaded_of, make_node, make_pod
from tests.running import make_scheduler as wire

NODES = ("a", "b", "c")


def extender(url: str, *, cached: bool = True, **settings: Any) -> Extender:
    """Settings by their JSON names; filter is at /filter unless they say something else."""
    document = {"urlPrefix": url, "filterVerb": "filter", "nodeCacheCapable": cached, "httpTimeout": "5s", **settings}
    return msgspec.convert(document, Extender)


def scheduler_with(
    extenders: Sequence[Extender],
    nodes: Sequence[Any] | None = None,
    pods: Sequence[Any] | None = None,
    *,
    configuration: SchedulerConfiguration | None = None,
    called: bool = True,
    version: str = "1.36",
    **options: Any,
) -> Scheduler:
    nodes = nodes if nodes is not None else [make_node(name).obj() for name in NODES]
    pods = pods if pods is not None else [make_pod("p").obj()]
    current = RELEASES[version]
    registry = make_registry((), current)
    whole = msgspec.structs.replace(configuration or SchedulerConfiguration(), extenders=tuple(extenders))
    setting = SchedulerSpec(version, current, current.gates(""), registry, plugin_points(registry, current), whole)
    return wire(replace(RunOptions(allow_extenders=called), **options), loaded_of(*nodes, *pods), setting)


def run(scheduler: Scheduler) -> dict[str, Decision]:
    return {each.pod.name: each for each in scheduler.run(scheduler.enqueue())}


def only(scheduler: Scheduler) -> Decision:
    (decision,) = run(scheduler).values()
    return decision


def feasible(scheduler: Scheduler, decision: Decision) -> list[str]:
    return sorted(scheduler.cluster.nodes.names[row] for row in decision.feasible)


def node_of(scheduler: Scheduler, decision: Decision) -> str:
    return "" if decision.row is None else scheduler.cluster.nodes.names[decision.row]


def statuses(scheduler: Scheduler, decision: Decision) -> dict[str, tuple[str, str, tuple[str, ...]]]:
    """Node to plugin, code and reasons of those that failed."""
    assert decision.diagnosis is not None
    found = {name: decision.diagnosis.nodes.status(row) for row, name in enumerate(scheduler.cluster.nodes.names)}
    return {name: (each.plugin, each.code.go_name, each.texts) for name, each in found.items() if not each.ok}
