"""Entries that several documents have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ksched_cli.controlplane.draws import Draw
from ksched_cli.plan.results.outcomes import PluginTiming, Stats
from ksched_cli.world.results import FinalPod, Orders, WorldResult

if TYPE_CHECKING:
    from ksched_cli.report.registry import RenderOptions


def entry_of(result: object, keys: str) -> dict[str, Any]:
    """The entry of a result with the fields that two or more keys name: `nominatedNode` is `nominated_node`."""
    names, fields_of = _reader(keys)
    pairs = zip(names, fields_of(result), strict=True)
    return {name: each if type(each) is str else _plain(each) for name, each in pairs}


def filled(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The entry without the keys whose value is empty, None or 0."""
    return {key: value for key, value in entry.items() if value}


@cache
def _reader(keys: str) -> tuple[list[str], Callable[[object], tuple[Any, ...]]]:
    """The keys, and a function that returns the fields of a result that they name."""
    names = keys.split()
    return names, attrgetter(
        *("".join(f"_{each.lower()}" if each.isupper() else each for each in name) for name in names)
    )


def _plain(value: Any) -> Any:
    """The value as JSON has it: lists and dicts."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    return [_plain(each) for each in value] if is_list else value


def run_entry(options: RenderOptions) -> dict[str, Any]:
    """The command line and time of the run; empty for a document that Python code made."""
    if not options.command:
        return {}
    # A clone runs git for its version.
    from ksched_cli import __version__

    time = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return {"run": {"command": options.command, "version": __version__, "time": time}}


def stats_entry(stats: Stats) -> dict[str, Any]:
    return {
        "nodes": stats.nodes,
        "pods": stats.pods,
        "loadSeconds": round(stats.load_seconds, 4),
        "scheduleSeconds": round(stats.schedule_seconds, 4),
        "podsPerSecond": round(stats.pods_per_second, 1),
        "peakMiB": round(stats.peak_mib, 1),
        **({"timings": [_timing(each) for each in stats.timings]} if stats.timings else {}),
    }


def _timing(timing: PluginTiming) -> dict[str, Any]:
    entry = {**entry_of(timing, "point plugin calls"), "seconds": round(timing.seconds, 6)}
    return {**entry, "origin": timing.origin} if timing.origin else entry


def end_entries(settlement: WorldResult) -> dict[str, Any]:
    """The final state of every pod, as all commands that move pods have it."""
    return {
        "final": [final_entry(each) for each in settlement.final],
        "finished": dict(settlement.finished),
        **orders_entries(settlement),
    }


def orders_entries(settlement: WorldResult) -> dict[str, Any]:
    """The random choices, and in how many orders every pod has a node in the end."""
    return {
        **({"draws": [draw_entry(each) for each in settlement.draws]} if settlement.draws else {}),
        **({"orders": _orders_entry(settlement.orders, settlement.doubtful)} if settlement.orders else {}),
    }


def _orders_entry(orders: Orders, doubtful: Mapping[str, Orders]) -> dict[str, Any]:
    """The entry of orders. `workloads` has those whose result differs, with the number of orders in which they
    finish."""
    workloads = {name: each.finished for name, each in doubtful.items()}
    return {"tried": orders.tried, "finished": orders.finished, "workloads": workloads}


def final_entry(pod: FinalPod) -> dict[str, Any]:
    keys = "pod workload state node queue attempts nominatedNode replaces message why unschedulablePlugins"
    return filled(entry_of(pod, keys))


def draw_entry(draw: Draw) -> dict[str, Any]:
    return entry_of(draw, "what subject options taken")
