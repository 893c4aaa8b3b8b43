"""`plugins`: the extension points, the arguments and the events of the plugins of a minor, as their classes declare
them. Nothing is listed here by name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from ksched_cli.config.model import default_weights
from ksched_cli.config.plugin_args import ARGS_OF, own_args
from ksched_cli.engine.registry import IN_TREE_ORIGIN
from ksched_cli.engine.timings import is_asked_for_every_pod
from ksched_cli.errors import UsageError, did_you_mean
from ksched_cli.framework.events import EVERY_EVENT
from ksched_cli.framework.interfaces import Plugin, extension_points
from ksched_cli.plan.run.loaded_input import SchedulerSpec


class PluginList(Struct, frozen=True):
    """Plugins as documents; one of them is described in full."""

    plugins: tuple[Mapping[str, Any], ...]
    warnings: tuple[str, ...]
    in_full: bool = False


def describe_plugins(name: str | None, spec: SchedulerSpec) -> PluginList:
    """All plugins, or the named one. UsageError where no plugin has the name."""
    known = list(spec.registry)
    if name is not None and name not in known:
        hint = did_you_mean(name, known, f"there are {', '.join(known)}")
        raise UsageError(f"no plugin is named {name}; {hint}")
    weights = default_weights(spec.release, spec.gates)
    found = (_describe(each, spec, weights) for each in (known if name is None else [name]))
    return PluginList(tuple(found), spec.warnings, in_full=name is not None)


def _describe(name: str, spec: SchedulerSpec, weights: Mapping[str, int]) -> dict[str, Any]:
    plugin, origin = spec.registry[name], spec.registry.origin(name)
    points = extension_points(plugin, spec.release)
    return {
        "name": name,
        "summary": plugin.summary or (vars(plugin).get("__doc__") or "").strip().partition("\n")[0],
        "default": name in weights,
        "weight": weights.get(name) or None,
        "extensionPoints": list(points),
        "arguments": _arguments(plugin),
        "events": _events(plugin, points, origin),
        "askedForEveryPod": is_asked_for_every_pod(plugin),
        "origin": origin,
    }


def _events(plugin: type[Plugin], points: Collection[str], origin: str) -> list[str]:
    """kube-scheduler retries a pod at every event where the plugin that rejected it names no event. An in-tree plugin
    rejects pods at these points only."""
    rejects = origin != IN_TREE_ORIGIN or "preFilter" in points or "filter" in points
    return [str(event) for event in plugin.events or (EVERY_EVENT if rejects else ())]


def _arguments(plugin: type[Plugin]) -> Any:
    """The arguments with their defaults, or the names of those without a default."""
    if plugin.name in ARGS_OF:
        return msgspec.to_builtins(ARGS_OF[plugin.name]())
    if plugin.args_model is None:
        return {}
    args, mistakes = own_args(plugin.args_model, {})
    return {"needs": [text for _, text in mistakes]} if mistakes else msgspec.to_builtins(args)
