"""The configurations of a grid: weights, strategies and arguments in every combination, put into a configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import partial
from itertools import product
from math import prod
from typing import Any

from ksched_cli.plan.sweep.document import GridDocument
from ksched_cli.plan.sweep.model import GridPoint
from ksched_cli.releases.config_versions import GROUP
from ksched_cli.releases.minors import NEWEST
from ksched_cli.releases.plugin_names import NODE_RESOURCES_FIT
from ksched_cli.whatif.edits.lib.arguments import EditMistake

MOST_POINTS = 10_000

Profile = dict[str, Any]
# Puts a value into a profile.
Put = Callable[[Profile, Any], None]


def grid_points(grid: GridDocument, base: Mapping[str, Any] | None) -> tuple[GridPoint, ...]:
    """Every combination of the values, in every profile of the base. Raises EditMistake."""
    axes = list(_axes(grid))
    empty = next((name for name, _, values in axes if not values), "")
    if empty or not axes:
        raise EditMistake(
            f"{empty or 'the grid'} has no value", "write weights, strategies or arguments, each with a list"
        )
    count = prod(len(values) for _, _, values in axes)
    if count > MOST_POINTS:
        raise EditMistake(f"the grid has {count:,} combinations, and at most {MOST_POINTS:,} are tried")
    return tuple(_point(axes, values, base) for values in product(*(values for _, _, values in axes)))


def _axes(grid: GridDocument) -> Iterator[tuple[str, Put, tuple[Any, ...]]]:
    """Name, setter and values of each parameter."""
    for plugin, weights in grid.weights.items():
        yield f"{plugin} weight", partial(_put_weight, plugin), weights
    if grid.strategies:
        yield "strategy", partial(_put_argument, NODE_RESOURCES_FIT, "scoringStrategy.type"), grid.strategies
    for plugin, arguments in grid.arguments.items():
        for path, values in arguments.items():
            yield f"{plugin}.{path}", partial(_put_argument, plugin, path), values


def _point(
    axes: list[tuple[str, Put, tuple[Any, ...]]], values: tuple[Any, ...], base: Mapping[str, Any] | None
) -> GridPoint:
    document = deepcopy(dict(base)) if base is not None else _empty()
    profiles = document.get("profiles") or [{}]
    document["profiles"] = profiles
    for (_, put, _), value in zip(axes, values, strict=True):
        for profile in profiles:
            put(profile, value)
    return GridPoint({name: value for (name, _, _), value in zip(axes, values, strict=True)}, document)


def _empty() -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/{NEWEST.config.newest}", "kind": "KubeSchedulerConfiguration"}


def _put_weight(plugin: str, profile: Profile, weight: int) -> None:
    """A plugin of the score point has the weight of its entry there, before that of multiPoint; without an entry and
    disabled it has none."""
    score = profile.setdefault("plugins", {}).setdefault("score", {})
    enabled = [each for each in score.get("enabled", []) if each.get("name") != plugin]
    disabled = [each for each in score.get("disabled", []) if each.get("name") != plugin]
    if weight:
        enabled.append({"name": plugin, "weight": weight})
    else:
        disabled.append({"name": plugin})
    score["enabled"], score["disabled"] = enabled, disabled


def _put_argument(plugin: str, path: str, profile: Profile, value: Any) -> None:
    entries = profile.setdefault("pluginConfig", [])
    entry = next((each for each in entries if each.get("name") == plugin), None)
    if entry is None:
        entry = {"name": plugin, "args": {}}
        entries.append(entry)
    target = entry.setdefault("args", {})
    *parents, last = path.split(".")
    for key in parents:
        target = target.setdefault(key, {})
    target[last] = value
