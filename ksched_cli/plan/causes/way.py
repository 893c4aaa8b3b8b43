"""The steps from the rules of one side to those of the other, and the search for the step that matters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from ksched_cli.api.core import Pod
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.rule_changes import Aspect, RuleChange, Rules, rule_changes_about, rules_that_differ
from ksched_cli.sources.loaded import Loaded


@dataclass(frozen=True)
class RuleSet:
    """A minor with gates and a configuration: all rules of one scheduler. `make` returns a scheduler with these rules,
    `stored` a new pod with the fields that they read; `configuration` numbers the configurations."""

    rules: Rules
    configuration: int
    make: Callable[[Loaded], Scheduler]
    stored: Callable[[Pod], Pod]


@dataclass(frozen=True)
class WayStep:
    """From one rule set to the next: the rules in question that change, and whether the configuration does. `first` is
    the rule set before the step."""

    first: int
    rules: tuple[RuleChange, ...]
    configuration: bool


@dataclass(frozen=True)
class Way:
    """The rule sets from one side of a comparison to the other, minor by minor and gate by gate. A minor that does not
    accept the configuration is left out."""

    rule_sets: Sequence[RuleSet]

    @property
    def back(self) -> Way:
        return Way(tuple(reversed(self.rule_sets)))

    @property
    def last(self) -> int:
        return len(self.rule_sets) - 1

    @cached_property
    def rules(self) -> tuple[RuleChange, ...]:
        """The rules that differ between the two ends."""
        return rules_that_differ(self.rule_sets[0].rules, self.rule_sets[-1].rules)

    @cached_property
    def _all_steps(self) -> tuple[WayStep, ...]:
        return tuple(
            WayStep(first, rules_that_differ(one.rules, other.rules), one.configuration != other.configuration)
            for first, (one, other) in enumerate(pairwise(self.rule_sets))
        )

    @cached_property
    def _known_steps(self) -> dict[tuple[tuple[str, ...], frozenset[Aspect]], tuple[WayStep, ...]]:
        return {}

    def steps(self, plugins: tuple[str, ...], aspects: frozenset[Aspect]) -> tuple[WayStep, ...]:
        """The steps that may change what these plugins do; never none."""
        found = self._known_steps.get((plugins, aspects))
        if found is None:
            own = (WayStep(each.first, _about(each, plugins, aspects), each.configuration) for each in self._all_steps)
            found = tuple(each for each in own if each.rules or each.configuration)
            found = self._known_steps[plugins, aspects] = found or (WayStep(0, (), configuration=False),)
        return found

    def decisive(self, steps: Sequence[WayStep], answer: Callable[[int], object]) -> WayStep:
        """The step after which the rule sets answer as the last one does, found by bisection. With a single step
        nothing is compared."""
        low, high = 0, len(steps) - 1
        while low < high:
            middle = (low + high) // 2
            if answer(steps[middle].first + 1) == answer(self.last):
                high = middle
            else:
                low = middle + 1
        return steps[low]


def _about(step: WayStep, plugins: Collection[str], aspects: Collection[Aspect]) -> tuple[RuleChange, ...]:
    return tuple(dict.fromkeys(rule for each in plugins for rule in rule_changes_about(step.rules, each, aspects)))
