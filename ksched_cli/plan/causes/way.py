"""The steps from the rules of one side to the rules of the other, and the search for the step that matters."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.rule_changes import Rules, rule_changes_about, rules_that_differ
from ksched_cli.releases.changes import Aspect, RuleChange
from ksched_cli.sources.loaded import Loaded


class RuleSet(Rules, Struct, frozen=True):
    """All rules of one scheduler: a minor with gates and a configuration. `make` returns a scheduler with these rules,
    `stored` a new pod with the fields that they read; `configuration` numbers the configurations."""

    configuration: int
    make: Callable[[Loaded], Scheduler]
    stored: Callable[[Pod], Pod]


class WayStep(Struct, frozen=True):
    """The difference between the rule set number `first` and the next one."""

    first: int
    rules: tuple[RuleChange, ...]
    configuration: bool


class Way:
    """The rule sets from one side of a comparison to the other, minor by minor and gate by gate. A minor that does not
    accept the configuration is left out. `last` is the number of the last rule set."""

    def __init__(self, rule_sets: Sequence[RuleSet]) -> None:
        self.rule_sets, self.last = rule_sets, len(rule_sets) - 1
        self.steps = cache(self._steps)

    @property
    def back(self) -> Way:
        return Way(self.rule_sets[::-1])

    @property
    def rules(self) -> tuple[RuleChange, ...]:
        """The rules that differ between the two ends."""
        return rules_that_differ(self.rule_sets[0], self.rule_sets[-1])

    @cached_property
    def _all_steps(self) -> list[WayStep]:
        return [
            WayStep(first, rules_that_differ(one, other), one.configuration != other.configuration)
            for first, (one, other) in enumerate(pairwise(self.rule_sets))
        ]

    def _steps(self, plugins: tuple[str, ...], aspects: frozenset[Aspect]) -> list[WayStep]:
        """The steps that may change what these plugins do, each with the rules about them; at least one step."""
        found = []
        for step in self._all_steps:
            rules = dict.fromkeys(rule for each in plugins for rule in rule_changes_about(step.rules, each, aspects))
            if rules or step.configuration:
                found.append(replace(step, rules=tuple(rules)))
        return found or [WayStep(0, (), configuration=False)]

    def decisive(
        self, plugins: tuple[str, ...], aspects: frozenset[Aspect], result: Callable[[int], object]
    ) -> WayStep:
        """The step of these plugins after which a rule set has the `result` of the last one, found by bisection. A
        single step needs no result."""
        steps = self.steps(plugins, aspects)
        return steps[bisect_left(steps[:-1], True, key=lambda step: result(step.first + 1) == result(self.last))]
