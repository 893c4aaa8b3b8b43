"""The steps from the rules of one side to the rules of the other, and the search for the step that matters."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

from ksched_cli.api.core import Pod
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.rule_changes import Rules, rule_changes_about, rules_that_differ
from ksched_cli.releases.changes import Aspect, RuleChange
from ksched_cli.sources.loaded import Loaded


@dataclass(frozen=True)
class RuleSet:
    """All rules of one scheduler: a minor with gates and a configuration. `make` returns a scheduler with these rules,
    `stored` a new pod with the fields that they read; `configuration` numbers the configurations."""

    rules: Rules
    configuration: int
    make: Callable[[Loaded], Scheduler]
    stored: Callable[[Pod], Pod]


@dataclass(frozen=True)
class WayStep:
    """The difference between the rule set number `first` and the next one."""

    first: int
    rules: tuple[RuleChange, ...]
    configuration: bool


@dataclass(frozen=True)
class Way:
    """The rule sets from one side of a comparison to the other, minor by minor and gate by gate. A minor that does not
    accept the configuration is left out."""

    rule_sets: Sequence[RuleSet]
    _known_steps: dict[tuple[tuple[str, ...], frozenset[Aspect]], list[WayStep]] = field(
        default_factory=dict, init=False
    )

    @property
    def back(self) -> Way:
        return Way(self.rule_sets[::-1])

    @property
    def last(self) -> int:
        return len(self.rule_sets) - 1

    @property
    def rules(self) -> tuple[RuleChange, ...]:
        """The rules that differ between the two ends."""
        return rules_that_differ(self.rule_sets[0].rules, self.rule_sets[-1].rules)

    @cached_property
    def _all_steps(self) -> list[WayStep]:
        return [
            WayStep(first, rules_that_differ(one.rules, other.rules), one.configuration != other.configuration)
            for first, (one, other) in enumerate(pairwise(self.rule_sets))
        ]

    def steps(self, plugins: tuple[str, ...], aspects: frozenset[Aspect]) -> list[WayStep]:
        """The steps that may change what these plugins do, each with the rules about them; at least one step."""
        found = self._known_steps.get((plugins, aspects))
        if found is None:
            about = {
                step: dict.fromkeys(rule for each in plugins for rule in rule_changes_about(step.rules, each, aspects))
                for step in self._all_steps
            }
            own = [replace(step, rules=tuple(rules)) for step, rules in about.items() if rules or step.configuration]
            found = self._known_steps[plugins, aspects] = own or [WayStep(0, (), configuration=False)]
        return found

    def decisive(
        self, plugins: tuple[str, ...], aspects: frozenset[Aspect], result: Callable[[int], object]
    ) -> WayStep:
        """The step of these plugins after which a rule set has the `result` of the last one, found by bisection. A
        single step needs no result."""
        steps = self.steps(plugins, aspects)
        return steps[bisect_left(steps[:-1], True, key=lambda step: result(step.first + 1) == result(self.last))]
