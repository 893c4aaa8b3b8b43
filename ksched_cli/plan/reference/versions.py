"""The modelled minors of Kubernetes, and the rules of scheduling that each of them changed.

The rules are collected from the rooms that declare them. `ksched versions` lists those of a minor; `ksched diff` shows
the rule that moves a pod.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from importlib import import_module

from msgspec import Struct

from ksched_cli.config.legacy.policy import family_of
from ksched_cli.releases.changes import API_SERVER, Aspect, ReleaseRules, RuleChange, on_since
from ksched_cli.releases.gates import MERGED_INTO, STAGE_GATES, FeatureGates, gates_of, is_modelled
from ksched_cli.releases.minors import RELEASES, Release, minor_in, release
from ksched_cli.releases.served_versions import removed_in

# These imports load every module that declares rules; a test holds it.
_DECLARING = (
    "ksched_cli.plugins.in_tree",
    "ksched_cli.plugins.dynamic_resources",
    "ksched_cli.plugins.lib.devices.claims",
    "ksched_cli.legacy.in_tree",
    "ksched_cli.engine.faults",
    "ksched_cli.releases.configuration",
    "ksched_cli.releases.engine_rules",
)


def _declared() -> tuple[RuleChange, ...]:
    """Every reported rule, the oldest first."""
    for module in _DECLARING:
        import_module(module)
    rule_changes = dict.fromkeys(rule for rules in ReleaseRules.declared for rule in rules.rule_changes())
    return tuple(sorted(rule_changes, key=lambda rule: rule.order))


def _by_gate(rules: Collection[RuleChange]) -> dict[str, tuple[RuleChange, ...]]:
    gates = sorted({rule.gate for rule in rules if rule.gate})
    return {gate: tuple(rule for rule in rules if rule.gate == gate) for gate in gates}


_ALL = _declared()
# Rules of scheduling that depend on no gate.
MINOR_RULES = tuple(rule for rule in _ALL if not rule.gate and "configuration" not in rule.aspects)
GATE_RULES = _by_gate(_ALL)


def changes_of(release: Release) -> Iterator[RuleChange]:
    """What this minor changed, in its patches too, configuration and gates included."""
    return (rule for rule in _ALL if rule.came_with(release))


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
            switch = _switch_of(gate, before, after)
            since = on_since(switch)
            rules += [RuleChange(since, rule.plugins, rule.aspects, rule.text, switch) for rule in own]
    return tuple(sorted(rules, key=lambda rule: rule.order))


def _switch_of(gate: str, before: Rules, after: Rules) -> str:
    """The gate to name: the one that it was merged into, if one side has no such gate any more, and that differs."""
    switch = MERGED_INTO.get(gate, gate)
    is_known = gate in before.release.known_gates and gate in after.release.known_gates
    return gate if is_known or before.gates.enabled(switch) == after.gates.enabled(switch) else switch


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


# The name shown for a change of no plugin.
KUBE_SCHEDULER = "kube-scheduler"


class Version(Struct, rename="camel", frozen=True):
    """One minor: whether answers are held against recordings of it, and how many changes it brought."""

    version: str
    recorded: bool
    configuration_versions: tuple[str, ...]
    changes: int


class VersionChange(Struct, rename="camel", frozen=True):
    """One change of a minor: the plugins and the parts of scheduling it is about, the gate that switches it, and the
    patch that brought it if it was not there from the first release on."""

    version: str
    plugins: tuple[str, ...]
    about: tuple[str, ...]
    change: str
    gate: str = ""
    patch: str = ""


class VersionList(Struct, frozen=True):
    """All modelled minors."""

    versions: tuple[Version, ...]


class VersionChanges(Struct, frozen=True):
    """The changes of one minor."""

    changes: tuple[VersionChange, ...]


def list_versions() -> VersionList:
    """The newest minor first."""
    return VersionList(
        tuple(
            Version(each.version, each.recorded, each.config.read, len(_changes(each)))
            for each in reversed([*RELEASES.values()])
        )
    )


def list_changes(version: str) -> VersionChanges:
    """The changes of a minor, also if a patch of it is given. UsageError for a minor that is not modelled."""
    return VersionChanges(tuple(_changes(RELEASES.get(f"1.{minor_in(version)}") or release(version))))


def _changes(minor: Release) -> list[VersionChange]:
    """kube-scheduler itself first, then each plugin; of each the rules, then lists of gates and versions."""
    changes = [_change_of(each, minor) for each in changes_of(minor)]
    changes.sort(key=lambda each: (each.gate, each.change))
    lists = [(KUBE_SCHEDULER, "configuration", each) for each in _gate_lists(minor.minor)]
    lists += [(API_SERVER, "admission", each) for each in _removed_versions(minor.minor)]
    changes += [VersionChange(minor.version, (plugin,), (about,), text) for plugin, about, text in lists]
    return sorted(changes, key=lambda each: (each.plugins != (KUBE_SCHEDULER,), each.plugins))


def _gate_lists(minor: int) -> Iterator[str]:
    """The feature gates that are new, locked or removed. Those that came on have a rule each."""
    now, before = gates_of(minor), gates_of(minor - 1)
    new = [name for name in now if name not in before and not now[name].default and name not in STAGE_GATES]
    lists = {
        "New feature gates, off by default": [name for name in new if is_modelled(minor, name)],
        "New feature gates, off by default, that ksched does not model": [
            name for name in new if not is_modelled(minor, name)
        ],
        "Feature gates that can no longer be switched off": [
            name for name, gate in now.items() if gate.locked and not (name in before and before[name].locked)
        ],
        "Feature gates that were removed": [name for name in before if name not in now],
    }
    return (f"{text}: {', '.join(sorted(names))}." for text, names in lists.items() if names and before)


def _removed_versions(minor: int) -> Iterator[str]:
    """The versions of built-in kinds that the API server does not serve any more."""
    removed = ", ".join(f"{version} ({', '.join(kinds)})" for version, kinds in sorted(removed_in(minor).items()))
    if removed:
        yield f"API versions that are removed or no longer served by default: {removed}."


def _change_of(rule: RuleChange, minor: Release) -> VersionChange:
    plugins = tuple(plugin or KUBE_SCHEDULER for plugin in rule.plugins)
    brought_by = rule.fix.first_patch_of(minor) if rule.fix is not None else ""
    return VersionChange(minor.version, plugins, tuple(sorted(rule.aspects)), rule.text, rule.gate, brought_by)
