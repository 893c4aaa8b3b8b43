"""Where the time of a run goes, for --timings: every call of every plugin, by extension point, and the cycles without
one. Without the option nothing is measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any

from msgspec import Struct

from ksched_cli.framework.interfaces import FilterPlugin, Plugin, PreFilterPlugin, PreScorePlugin, ScorePlugin

# The methods that are measured, and the extension point of each.
_POINTS = {
    "pre_enqueue": "preEnqueue",
    "pre_filter": "preFilter",
    "filter": "filter",
    "post_filter": "postFilter",
    "pod_group_post_filter": "podGroupPostFilter",
    "pre_score": "preScore",
    "score": "score",
    "normalize": "normalizeScore",
    "reserve": "reserve",
    "unreserve": "unreserve",
    "permit": "permit",
    "pre_bind": "preBind",
    "bind": "bind",
    "post_bind": "postBind",
    "generate_placements": "placementGenerate",
    "score_placement": "placementScore",
    "placement_feasible": "placementFeasible",
}
# The points whose results the engine keeps for later pods, if the plugin reports what they depend on.
REMEMBERED_POINTS = ("preFilter", "filter", "preScore", "score", "normalizeScore")


def is_asked_for_every_pod(plugin: type[Plugin]) -> bool:
    """Whether the plugin has results to keep, and does not report what they depend on."""
    judges = issubclass(plugin, PreFilterPlugin | FilterPlugin | PreScorePlugin | ScorePlugin)
    return judges and plugin.depends is Plugin.depends


class Spent(Struct):
    """`cycles` are those in which the plugin was called, `last` the number of the last of them."""

    calls: int = 0
    seconds: float = 0.0
    cycles: int = 0
    last: int = 0


class Timings:
    """Filters that a dry run of preemption runs count for themselves, and once more within postFilter. `cycles` is how
    many have begun, `seconds` what all calls took together, each moment counted once."""

    def __init__(self) -> None:
        self._spent: dict[tuple[str, str], Spent] = {}
        self._depth = 0
        self.cycles = 0
        self.seconds = 0.0

    def begin_cycle(self) -> None:
        self.cycles += 1

    def watch(self, item: Any, points: Mapping[str, str] = _POINTS) -> None:
        """Measure each call of a plugin or an extender from now on. `points` are its methods by name."""
        for method, point in points.items():
            bound = getattr(item, method, None)
            if bound is not None:
                vars(item)[method] = self._timed(bound, item.name, point)

    def _timed(self, method: Callable[..., Any], name: str, point: str) -> Callable[..., Any]:

        @wraps(method)
        def call(*arguments: Any) -> Any:
            spent = self._spent.get((point, name))
            if spent is None:
                spent = self._spent[point, name] = Spent()
            self._depth += 1
            started = time.perf_counter()
            try:
                return method(*arguments)
            finally:
                taken = time.perf_counter() - started
                self._depth -= 1
                if not self._depth:
                    self.seconds += taken
                spent.seconds += taken
                spent.calls += 1
                if spent.last != self.cycles:
                    spent.cycles, spent.last = spent.cycles + 1, self.cycles

        return call

    def __iter__(self) -> Iterator[tuple[str, str, Spent]]:
        """(extension point, plugin, what it took), points and plugins in the order of their first call."""
        points = list(dict.fromkeys(point for point, _ in self._spent))
        for (point, plugin), spent in sorted(self._spent.items(), key=lambda each: points.index(each[0][0])):
            yield point, plugin, spent
