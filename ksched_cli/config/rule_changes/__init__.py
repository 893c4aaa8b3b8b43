"""The rules of scheduling that changed from one minor to the next, in a sentence each.

The rules themselves are written where they are applied. Here is what a person is told of them, so that a pod that goes
elsewhere under another version can be told together with the rule that changed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ksched_cli.config.rule_changes.families import family_of
from ksched_cli.config.rule_changes.gates import GATE_RULES, on_since
from ksched_cli.config.rule_changes.minors import MINOR_RULES
from ksched_cli.config.rule_changes.rule import Aspect, RuleChange
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import Release

__all__ = ["GATE_RULES", "MINOR_RULES", "Aspect", "RuleChange", "Rules", "changed_between", "family_of", "rules_of"]


@dataclass(frozen=True)
class Rules:
    """What a scheduler goes by. The fields of pods may be those that another minor knows."""

    release: Release
    gates: FeatureGates
    fields: Release


def changed_between(before: Rules, after: Rules) -> tuple[RuleChange, ...]:
    """The rules that are not the same in both, the oldest first. It is the same the other way round."""
    rules = [rule for rule in MINOR_RULES if _holds(rule, before) != _holds(rule, after)]
    for gate, own in GATE_RULES.items():
        if before.gates.enabled(gate) != after.gates.enabled(gate):
            since = on_since(gate)
            rules += [RuleChange(since, rule.plugins, rule.aspects, rule.text, gate) for rule in own]
    return tuple(sorted(rules, key=lambda rule: (rule.minor, rule.plugins, rule.text)))


def _holds(rule: RuleChange, rules: Rules) -> bool:
    release = rules.fields if rule.of_fields else rules.release
    return release.minor >= rule.minor


def rules_of(rules: Collection[RuleChange], plugin: str, aspects: Collection[Aspect]) -> tuple[RuleChange, ...]:
    """Those about the plugin, or the one whose work it does, and about one of these aspects."""
    family = family_of(plugin)
    return tuple(
        rule for rule in rules if family in map(family_of, rule.plugins) and not rule.aspects.isdisjoint(aspects)
    )
