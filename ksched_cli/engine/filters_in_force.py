"""The Filter plugins that are left after PreFilter, and what follows from which they are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from ksched_cli.framework.interfaces import FilterPlugin, ReservePlugin


class FiltersInForce(NamedTuple):
    """Some Filter plugins in their order. `fixed` and then `following` are those at the front that sign for what they
    look at, `others` the rest. `are_signing`: all of them sign."""

    plugins: tuple[FilterPlugin[Any], ...]
    fixed: tuple[FilterPlugin[Any], ...]
    following: tuple[FilterPlugin[Any], ...]
    others: tuple[FilterPlugin[Any], ...]
    are_signing: bool
    row_scoped: bool
    reads_usage_only: bool

    @classmethod
    def of(cls, plugins: Sequence[FilterPlugin[Any]]) -> FiltersInForce:
        front = list(takewhile(_signs, plugins))
        fixed = list(takewhile(lambda plugin: not plugin.follows_pods, front))
        return cls(
            tuple(plugins),
            tuple(fixed),
            tuple(front[len(fixed) :]),
            tuple(plugins[len(front) :]),
            are_signing=len(front) == len(plugins),
            row_scoped=all(plugin.scope == "row" for plugin in plugins),
            reads_usage_only=all(plugin.reads_usage_only or not plugin.follows_pods for plugin in plugins),
        )


def _signs(plugin: FilterPlugin[Any]) -> bool:
    """Whether the verdict on a node holds until the node changes, for all pods that sign alike. What a Reserve plugin
    has promised may change a verdict while the node stays as it is."""
    signs = type(plugin).sign is not FilterPlugin.sign
    return signs and plugin.scope == "row" and not isinstance(plugin, ReservePlugin)
