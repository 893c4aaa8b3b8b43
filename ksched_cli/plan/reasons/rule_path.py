"""The rules between two schedulers of a comparison, from minor to minor, gate by gate, and where needed rule by rule.

`find_rule_path` gives the rule sets from one side to the other (`RulePath`). `RulePath.decisive` finds the step after
which a pod is decided as at the end, and the fewest of its rules that make the difference: it asks rule sets that mix
the rules of two releases. What a minor changes without a `Rule` of its own cannot be switched so."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache, cached_property
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.errors import KschedError
from ksched_cli.plan.reference.versions import GATE_RULES, MINOR_RULES, Rules, rule_changes_about, rules_that_differ
from ksched_cli.plan.run.loaded_input import InputMaker, SchedulerSpec, scheduler_maker
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.releases.changes import Aspect, RuleChange
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import releases_between
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.unread import as_stored

# A rule about one of these aspects can change what becomes of a pod in a cycle.
_DECIDING = frozenset[Aspect]({"queue", "search", "fields", "filter", "preemption", "score", "weight"})


class RuleSet(Rules, Struct, frozen=True):
    """All rules of one scheduler: a minor with gates and a configuration. `make` returns a scheduler with these rules,
    `stored` a new pod with the fields that they read; `configuration` numbers the configurations. `without` returns the
    rule set as it is without some rules, those of gates as other gates have them."""

    configuration: int
    make: Callable[[Loaded], Scheduler]
    stored: Callable[[Pod], Pod]
    without: Callable[[Collection[RuleChange], FeatureGates], RuleSet]


class RulePathStep(Struct, frozen=True):
    """The difference between the rule set number `first` and the next one."""

    first: int
    rules: tuple[RuleChange, ...]
    configuration: bool


class RulePath:
    """The rule sets from one side of a comparison to the other, minor by minor and gate by gate. A minor that does not
    accept the configuration is left out. `last` is the number of the last rule set; those after it are mixtures."""

    def __init__(self, rule_sets: Sequence[RuleSet]) -> None:
        self.rule_sets, self.last = [*rule_sets], len(rule_sets) - 1
        self.steps = cache(self._steps)
        self._mixture = cache(self._mix)
        # What has made a difference so far (`RuleChange.switch`) is likely to make the next.
        self._found: dict[str, None] = {}

    @property
    def back(self) -> RulePath:
        return RulePath(self.rule_sets[self.last :: -1])

    @property
    def rules(self) -> tuple[RuleChange, ...]:
        """The rules that differ between the two ends."""
        return rules_that_differ(self.rule_sets[0], self.rule_sets[self.last])

    @cached_property
    def _all_steps(self) -> list[RulePathStep]:
        return [
            RulePathStep(first, rules_that_differ(one, other), one.configuration != other.configuration)
            for first, (one, other) in enumerate(pairwise(self.rule_sets[: self.last + 1]))
        ]

    def _steps(self, plugins: tuple[str, ...], aspects: frozenset[Aspect]) -> list[RulePathStep]:
        """The steps that may change what these plugins do, each with the rules about them; at least one step."""
        found = []
        for step in self._all_steps:
            rules = dict.fromkeys(rule for each in plugins for rule in rule_changes_about(step.rules, each, aspects))
            if rules or step.configuration:
                found.append(replace(step, rules=tuple(rules)))
        return found or [RulePathStep(0, (), configuration=False)]

    def decisive(
        self, plugins: tuple[str, ...], aspects: frozenset[Aspect], result: Callable[[int], object]
    ) -> RulePathStep:
        """The first step of these plugins after which a rule set has the `result` of the last one, with the fewest of
        its rules that make the difference; another step if rules of other plugins make it. A step has all of its rules
        about these plugins if the difference is made without any `Rule`."""
        likely = self._first(self.steps(plugins, aspects), result)
        found = self._fewest(likely, (), result) or self.needed(result)
        return found if found.rules else likely

    def needed(self, result: Callable[[int], object]) -> RulePathStep:
        """The first step after which a rule set has the `result` of the last one, with the fewest of its rules that
        make the difference. It has none if the difference is made without any."""
        step = self._first(self._all_steps, result)
        rules = tuple(rule for rule in step.rules if not rule.aspects.isdisjoint(_DECIDING))
        others = {rule.switch for rule in step.rules} - {rule.switch for rule in rules}
        step = replace(step, rules=rules)
        return self._fewest(step, others, result) or step

    def _first(self, steps: Sequence[RulePathStep], result: Callable[[int], object]) -> RulePathStep:
        """The first of the steps after which a rule set has the result of the last one, found by bisection."""
        return steps[bisect_left(steps[:-1], True, key=lambda step: result(step.first + 1) == result(self.last))]

    def _fewest(
        self, step: RulePathStep, others: Collection[str], result: Callable[[int], object]
    ) -> RulePathStep | None:
        """The step with the fewest of its rules that give the older of its two releases the result of the newer one,
        beside the other rules (`RuleChange.switch`). None if all of them do not."""
        wanted = result(step.first + (not self._goes_back(step.first)))
        own, found = dict.fromkeys(rule.switch for rule in step.rules), list[str]()
        left = [*dict.fromkeys((*(each for each in self._found if each in own), *own))]

        def enough(more: int) -> bool:
            return result(self._mixture(step.first, frozenset((*found, *left[:more], *others)))) == wanted

        if not enough(len(left)):
            return None
        # The last rule of the smallest part that is enough is needed; the rules after it are not.
        while left and not enough(0):
            most = 1
            while most < len(left) and not enough(most):
                most *= 2
            sizes = range(most // 2 + 1, min(most, len(left)))
            last = sizes.start + bisect_left(sizes, True, key=enough) - 1
            found.append(left[last])
            left = left[:last]
        self._found |= dict.fromkeys(found)
        return replace(step, rules=tuple(rule for rule in step.rules if rule.switch in found))

    def _mix(self, first: int, switched: frozenset[str]) -> int:
        """The number of a rule set between number `first` and the next one: these rules (`RuleChange.switch`) are as in
        the newer one, and all others that differ as in the older one."""
        older, newer = self.rule_sets[first : first + 2][:: -1 if self._goes_back(first) else 1]
        kept = [rule for rule in rules_that_differ(older, newer) if rule.switch not in switched]
        if not kept:
            return first + (newer is self.rule_sets[first + 1])
        self.rule_sets.append(newer.without(kept, older.gates))
        return len(self.rule_sets) - 1

    def _goes_back(self, first: int) -> bool:
        return self.rule_sets[first].release.is_later_than(self.rule_sets[first + 1].release)


def find_rule_path(
    maker: InputMaker, before: RunOptions, after: RunOptions, start: SchedulerSpec, end: SchedulerSpec
) -> RulePath:
    """From minor to minor under the configuration and gates of the older side; at last to the gates, and the
    configuration, of the newer one."""
    if start.release.is_later_than(end.release):
        # A gate has its own rules from the first minor that has it.
        return find_rule_path(maker, after, before, end, start).back
    rule_sets, here = [_rule_set(maker, before, start)], start
    for setup in _minors(before, after, start, end):
        there = _setting(maker, setup)
        if there is None:
            continue
        stops = list(_gate_by_gate(maker, here.gates, setup, there))
        if any(
            each.of_fields and each.holds_in(there.release) and not each.holds_in(here.release) for each in MINOR_RULES
        ):
            # A minor that has more fields of pods: its rules come first, without these fields.
            rule_sets.append(_rule_set(maker, *stops[0], fields=here))
        rule_sets += [_rule_set(maker, *stop) for stop in stops]
        here = there
    rule_sets.append(_rule_set(maker, after, end, configuration=int(before.config != after.config)))
    return RulePath(rule_sets)


def _minors(before: RunOptions, after: RunOptions, start: SchedulerSpec, end: SchedulerSpec) -> Iterator[RunOptions]:
    """The setups that the rule path passes: what a minor changes by itself comes first, then what its gates switch."""
    for each in releases_between(start.release, end.release):
        yield replace(before, kube_version=each.version)
    yield replace(before, kube_version=end.release.version, feature_gates=after.feature_gates)


def _rule_set(
    maker: InputMaker,
    setup: RunOptions,
    setting: SchedulerSpec,
    configuration: int = 0,
    fields: SchedulerSpec | None = None,
) -> RuleSet:
    """`fields` is the setting whose API server stores the pods, if it is another one."""
    known, make = fields or setting, scheduler_maker(maker.scheduler_maker(setup), setting)

    def stored(pod: Pod) -> Pod:
        return as_stored(as_stored([pod], setting.release, setting.gates), known.release, known.gates)[0]

    def without_new_fields(loaded: Loaded) -> Scheduler:
        copy = loaded.copied()
        copy.set_all(Pod, as_stored(loaded.of(Pod), known.release, known.gates))
        return make(copy)

    def without(rules: Collection[RuleChange], gates: FeatureGates) -> RuleSet:
        lacks = frozenset(rule.switch for rule in rules if not rule.gate)
        kept = setting.gates.with_values_of(gates, {rule.gate for rule in rules if rule.gate})
        mixed = replace(setting, release=replace(setting.release, lacks=lacks), gates=kept)
        return _rule_set(maker, setup, mixed, configuration, fields)

    own = without_new_fields if fields else make
    return RuleSet(setting.release, setting.gates, known.release, configuration, own, stored, without)


def _gate_by_gate(
    maker: InputMaker, gates: FeatureGates, setup: RunOptions, there: SchedulerSpec
) -> Iterator[tuple[RunOptions, SchedulerSpec]]:
    """The setups from `gates` to those of `there`: each switches one more gate that has rules."""
    known = there.release.known_gates.items()
    switched = sorted(
        name for name, gate in known if not gate.locked and gates.enabled(name) != there.gates.enabled(name)
    )
    ruled = [name for name in switched if name in GATE_RULES]
    others = [name for name in switched if name not in GATE_RULES]
    for done in range(len(ruled)):
        # Gates without rules switch with the last one, or with the first one where they depend on others.
        for left in ([*ruled[done:], *others], ruled[done:]):
            kept = ",".join(f"{name}={str(gates.enabled(name)).lower()}" for name in left)
            stop = replace(setup, feature_gates=f"{setup.feature_gates},{kept}")
            setting = _setting(maker, stop)
            if setting is not None:
                yield stop, setting
                break
    yield setup, there


def _setting(maker: InputMaker, setup: RunOptions) -> SchedulerSpec | None:
    try:
        return maker.scheduler_spec(setup)
    except KschedError:
        return None
