"""The way from one version, set of gates and configuration to another, minor by minor."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.rule_changes import Aspect, RuleChange, Rules, rule_changes_about, rules_that_differ
from ksched_cli.sources.loaded import Loaded


@dataclass(frozen=True)
class Station:
    """A set of rules, and who goes by it. `configuration` tells configurations apart."""

    rules: Rules
    configuration: int
    make: Callable[[Loaded], Scheduler]


@dataclass(frozen=True)
class Span:
    """A part of the way, by the indices of the stations at its ends, and what may have changed on it that matters."""

    first: int
    last: int
    rules: tuple[RuleChange, ...]
    configuration: bool

    def and_then(self, other: Span) -> Span:
        """Both as one."""
        rules = tuple(dict.fromkeys((*self.rules, *other.rules)))
        return Span(self.first, other.last, rules, self.configuration or other.configuration)


@dataclass(frozen=True)
class Route:
    """From the side before to the side after. A minor that cannot be made of the configuration is not on it."""

    stations: Sequence[Station]

    @property
    def back(self) -> Route:
        """The other way round."""
        return Route(tuple(reversed(self.stations)))

    @property
    def last(self) -> int:
        return len(self.stations) - 1

    @cached_property
    def rules(self) -> tuple[RuleChange, ...]:
        """All that changed from one end to the other."""
        return self._rules(0, self.last)

    def _rules(self, first: int, last: int) -> tuple[RuleChange, ...]:
        return rules_that_differ(self.stations[first].rules, self.stations[last].rules)

    @cached_property
    def _steps(self) -> tuple[tuple[RuleChange, ...], ...]:
        return tuple(self._rules(*step) for step in pairwise(range(len(self.stations))))

    def _reconfigured(self, first: int, last: int) -> bool:
        return self.stations[first].configuration != self.stations[last].configuration

    @cached_property
    def _spans(self) -> dict[tuple[tuple[str, ...], frozenset[Aspect]], tuple[Span, ...]]:
        """Pod after pod asks for the same."""
        return {}

    def spans(self, plugins: tuple[str, ...], aspects: frozenset[Aspect]) -> tuple[Span, ...]:
        """The way cut up so that on each part one step at most may have changed what these plugins do."""
        known = self._spans.get((plugins, aspects))
        if known is None:
            known = self._spans[plugins, aspects] = self._cut(plugins, aspects)
        return known

    def _cut(self, plugins: Collection[str], aspects: Collection[Aspect]) -> tuple[Span, ...]:
        cuts = [
            step
            for step, rules in enumerate(self._steps)
            if self._reconfigured(step, step + 1) or any(rule_changes_about(rules, each, aspects) for each in plugins)
        ]
        ends = [0, *cuts[1:], self.last]
        return tuple(self._span(first, last, plugins, aspects) for first, last in pairwise(ends))

    def _span(self, first: int, last: int, plugins: Collection[str], aspects: Collection[Aspect]) -> Span:
        rules = self._rules(first, last)
        about = [rule for each in plugins for rule in rule_changes_about(rules, each, aspects)]
        return Span(first, last, tuple(dict.fromkeys(about)), self._reconfigured(first, last))
