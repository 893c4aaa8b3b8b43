"""The rules of scheduling that changed from one minor to the next, collected from where they are declared.

A pod that goes elsewhere under another version is shown with the rule that changed (`ksched diff`), and
`ksched versions` lists the changes of a minor.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from importlib import import_module

from msgspec import Struct

from ksched_cli.config.legacy.policy import family_of
from ksched_cli.releases.changes import Aspect, ReleaseRules, RuleChange, on_since
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import Release

# These imports load every module that declares rules; a test holds it.
_DECLARING = (
    "ksched_cli.plugins.in_tree",
    "ksched_cli.plugins.dynamic_resources.rules",
    "ksched_cli.legacy.in_tree",
    "ksched_cli.engine.reasons",
    "ksched_cli.releases.configuration",
    "ksched_cli.releases.engine_rules",
    "ksched_cli.releases.pod_rules",
)


def _declared() -> tuple[RuleChange, ...]:
    """Every reported rule, the oldest first."""
    for module in _DECLARING:
        import_module(module)
    rule_changes = dict.fromkeys(rule for rules in ReleaseRules.declared for rule in rules.rule_changes())
    return tuple(sorted(rule_changes, key=lambda rule: (rule.minor, rule.plugins, rule.text)))


def _by_gate(rules: Collection[RuleChange]) -> dict[str, tuple[RuleChange, ...]]:
    gates = sorted({rule.gate for rule in rules if rule.gate})
    return {gate: tuple(rule for rule in rules if rule.gate == gate) for gate in gates}


_ALL = _declared()
# Rules of scheduling that depend on no gate.
MINOR_RULES = tuple(rule for rule in _ALL if not rule.gate and "configuration" not in rule.aspects)
GATE_RULES = _by_gate(_ALL)


def changes_of(release: Release) -> Iterator[RuleChange]:
    """What this minor changed, in its patches too, configuration and gates included."""
    minor = release.minor
    return (rule for rule in _ALL if rule.minor == minor or (rule.fix is not None and minor in rule.fix.patch_of))


class Rules(Struct, frozen=True):
    """The rules of a scheduler. The fields of pods may be those of another minor."""

    release: Release
    gates: FeatureGates
    fields: Release


def rules_that_differ(before: Rules, after: Rules) -> tuple[RuleChange, ...]:
    """The rules that are not the same in both, the oldest first. It is the same the other way round."""
    rules = [rule for rule in MINOR_RULES if _holds(rule, before) != _holds(rule, after)]
    for gate, own in GATE_RULES.items():
        if before.gates.enabled(gate) != after.gates.enabled(gate):
            since = on_since(gate)
            rules += [RuleChange(since, rule.plugins, rule.aspects, rule.text, gate) for rule in own]
    return tuple(sorted(rules, key=lambda rule: (rule.minor, rule.plugins, rule.text)))


def _holds(rule: RuleChange, rules: Rules) -> bool:
    release = rules.fields if rule.of_fields else rules.release
    return rule.holds_in(release)


def rule_changes_about(
    rules: Collection[RuleChange], plugin: str, aspects: Collection[Aspect]
) -> tuple[RuleChange, ...]:
    """Those about the plugin, or the one whose work it does, and about one of these aspects."""
    family = family_of(plugin)
    return tuple(
        rule for rule in rules if family in map(family_of, rule.plugins) and not rule.aspects.isdisjoint(aspects)
    )
