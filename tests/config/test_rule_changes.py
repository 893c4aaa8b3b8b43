"""The table of rules that changed is held against the code that applies them: every minor and every gate that decides
something is in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest

import ksched_cli
from ksched_cli.config.profiles import expand_profile
from ksched_cli.config.rule_changes import (
    GATE_RULES,
    MINOR_RULES,
    Aspect,
    RuleChange,
    Rules,
    changed_between,
    family_of,
    rules_of,
)
from ksched_cli.config.rule_changes.rule import SCHEDULER
from ksched_cli.plugins.in_tree import IN_TREE
from ksched_cli.plugins.legacy.in_tree import PREDICATES, PRIORITIES, REMOVED
from ksched_cli.releases.default_plugins import BEFORE_PLUGINS, BY_POINT, MULTI_POINT
from ksched_cli.releases.gate_history import GATE_HISTORY, minor_of
from ksched_cli.releases.minors import RELEASES, Release
from ksched_cli.wiring import Setup, make_setting

MINOR = re.compile(r"1\.\d\d")
PACKAGE = Path(ksched_cli.__file__).parent
KNOWN = {plugin.name for plugin in (*IN_TREE, *REMOVED, *PREDICATES, *PRIORITIES)} | {SCHEDULER}
FIT, BALANCED = "NodeResourcesFit", "NodeResourcesBalancedAllocation"

# Whose rules are written outside of the plugins' own files.
ELSEWHERE = {
    "cluster/node_tree.py": {"SelectorSpread"},
    "cluster/pod_info.py": {FIT, BALANCED, "NodePorts"},
    "framework/diagnosis.py": {SCHEDULER},
    "plugins/default_preemption/budgets.py": {"DefaultPreemption"},
    "plugins/default_preemption/dry_run.py": {"DefaultPreemption"},
    "plugins/default_preemption/evaluator.py": {"DefaultPreemption"},
    "plugins/legacy/requested_resources.py": {FIT},
    "plugins/lib/resource_scoring.py": {FIT, BALANCED},
    "plugins/lib/topology_spread.py": {"PodTopologySpread"},
    "plugins/node_volume_limits/attached.py": {"NodeVolumeLimits"},
    "plugins/volume_binding/capacity.py": {"VolumeBinding"},
    "plugins/lib/volumes/migration.py": {"NodeVolumeLimits"},
    "plugins/volume_binding/placement.py": {"VolumeBinding"},
    "sources/release_fields.py": {FIT, "InterPodAffinity"},
}
FILES = [
    *(path for folder in ("plugins", "framework", "engine", "cluster") for path in (PACKAGE / folder).rglob("*.py")),
    PACKAGE / "sources" / "release_fields.py",
]
FILES.remove(PACKAGE / "plugins" / "in_tree.py")


def strings(node: ast.AST) -> list[str]:
    """Minors that are written down in it; those between the ones that are modelled are told with the next of them."""
    found = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant))
    return [modelled(each) for each in found if isinstance(each, str) and MINOR.fullmatch(each)]


def modelled(minor: str) -> str:
    return next((each for each in RELEASES if minor_of(each) >= minor_of(minor)), minor)


def after(minor: str) -> str:
    return modelled(f"1.{minor_of(minor) + 1}")


def minors_in(tree: ast.AST) -> Iterator[str]:
    """From which minor on something is otherwise, by what the code asks and what its plugins say of themselves."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="at_least"), args=[wanted]):
                yield from strings(wanted)
            case ast.Call(func=ast.Attribute(attr="between"), args=[since, until]):
                yield from strings(since)
                yield from map(after, strings(until))
            case ast.Compare(left=ast.Attribute(attr="version"), comparators=[only]):
                yield from (each for minor in strings(only) for each in (minor, after(minor)))
            case ast.Attribute(attr="before_plugins" | "max_node_score"):
                yield modelled("1.17")
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict() as value) if name.endswith("_SINCE"):
                yield from strings(value)
            case ast.Assign(targets=[ast.Name(id="since" | "points_since")], value=value):
                yield from strings(value)
            case ast.Assign(targets=[ast.Name(id="until")], value=value):
                yield from map(after, strings(value))


def plugins_of(path: Path, tree: ast.AST) -> set[str]:
    bodies = (node for each in ast.walk(tree) if isinstance(each, ast.ClassDef) for node in each.body)
    named = set()
    for node in bodies:
        match node:
            case ast.Assign(targets=[ast.Name(id="name")], value=ast.Constant(value=str(name))):
                named.add(name)
    file = path.relative_to(PACKAGE)
    itself = {SCHEDULER} if file.parts[0] == "engine" else set()
    return named or itself or ELSEWHERE.get(file.as_posix(), set())


def expected() -> list[tuple[str, str, frozenset[str]]]:
    found = set()
    for path in FILES:
        tree = ast.parse(path.read_text())
        for minor in minors_in(tree):
            found.add((path.relative_to(PACKAGE).as_posix(), minor, frozenset(plugins_of(path, tree))))
    return sorted(found, key=str)


def told(minor: str, plugins: frozenset[str]) -> bool:
    families = set(map(family_of, plugins))
    return any(rule.since == minor and families & set(map(family_of, rule.plugins)) for rule in MINOR_RULES)


def test_the_code_is_read_right() -> None:
    found = expected()
    assert ("plugins/node_resources_balanced_allocation.py", "1.36", frozenset({BALANCED})) in found
    assert ("engine/cycle.py", "1.31", frozenset({SCHEDULER})) in found
    assert len(found) > 50
    assert [each for each in found if not each[2]] == []


@pytest.mark.parametrize(
    ("file", "minor", "plugins"), [pytest.param(*each, id=" ".join(each[:2])) for each in expected()]
)
def test_every_minor_that_the_code_asks_for_is_told(file: str, minor: str, plugins: frozenset[str]) -> None:
    assert told(minor, plugins), f"config/rule_changes says nothing of {' '.join(plugins)} since {minor}"


# What is the same in plugins and before there were any.
UNCHANGED = {"CheckNodeCondition", "GeneralPredicates"}


def default_plugins_of(release: Release) -> dict[str, int]:
    """Those that take nodes or rank them, with their weights; 0 where they do not rank."""
    setting = make_setting(Setup(kube_version=release.version))
    (entry,) = setting.configuration.profiles
    profile = expand_profile(entry, setting.release, setting.gates, setting.points)
    names = [name for point in ("preEnqueue", "filter", "score") for name in profile.points[point]]
    return {name: profile.score_weights.get(name, 0) for name in names}


@pytest.mark.parametrize(
    ("older", "newer"), [pytest.param(*each, id=each[1].version) for each in pairwise(RELEASES.values())]
)
def test_default_plugins_that_come_and_go_are_told(older: Release, newer: Release) -> None:
    before, now = default_plugins_of(older), default_plugins_of(newer)
    changed = changed_between(*(Rules(each, each.gates(), each) for each in (older, newer)))
    other = {name for name in before.keys() | now.keys() if before.get(name) != now.get(name)}
    aspects: tuple[Aspect, ...] = ("filter", "score", "weight", "queue")
    if older.before_plugins:
        # Of some nothing but the name has changed.
        aspects = (*aspects, "fields", "message")
    assert [name for name in other if name not in UNCHANGED and not rules_of(changed, name, aspects)] == []


def gates_read() -> dict[str, str]:
    """Gates that the code asks for by name, with a file that does."""
    found = {}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Attribute(attr="enabled"), args=[ast.Constant(value=str(name))]):
                    found[name] = path.name
    return found


# Read together with another gate that is in the table.
COMPANIONS = {"DRAResourceClaimDeviceStatus": "DRADeviceBindingConditions"}


@pytest.mark.parametrize("gate", sorted(gates_read()))
def test_every_gate_that_the_code_reads_is_told(gate: str) -> None:
    assert COMPANIONS.get(gate, gate) in GATE_RULES, f"config/rule_changes says nothing of the gate {gate}"


def test_gates_of_the_table_exist_and_decide_something() -> None:
    default_plugins = (*BEFORE_PLUGINS, *MULTI_POINT, *(each for own in BY_POINT.values() for each in own))
    by_profile = {gate for each in default_plugins for gate in (each.gate, each.unless)}
    migration = {name for name in GATE_RULES if name.startswith("CSIMigration")}
    assert set(GATE_RULES) <= set(GATE_HISTORY)
    assert set(GATE_RULES) - set(gates_read()) - by_profile - migration == set()
    assert by_profile - {""} <= set(GATE_RULES)


@pytest.mark.parametrize(
    "rule",
    [*MINOR_RULES, *(each for own in GATE_RULES.values() for each in own)],
    ids=lambda rule: f"{rule.since} {' '.join(rule.plugins)}",
)
def test_entries_say_what_is_and_what_was(rule: RuleChange) -> None:
    assert set(rule.plugins) <= KNOWN
    assert rule.aspects
    assert rule.aspects <= set(get_args(Aspect))
    assert rule.text.endswith(".")
    assert rule.text == " ".join(rule.text.split())
    assert ("; before, " in rule.text) != ("; without the gate, " in rule.text)
    assert len(rule.text) < 300


def test_minors_come_in_order() -> None:
    minors = [rule.minor for rule in MINOR_RULES]
    assert minors == sorted(minors)
    assert len({(rule.since, rule.plugins, rule.text) for rule in MINOR_RULES}) == len(MINOR_RULES)


@pytest.mark.parametrize(
    ("before", "after", "plugin", "aspect", "since"),
    [
        pytest.param("1.34", "1.35", "DynamicResources", "weight", ["1.35"], id="one minor"),
        pytest.param("1.35", "1.34", "DynamicResources", "weight", ["1.35"], id="and back"),
        pytest.param("1.36", "1.36", BALANCED, "score", [], id="the same"),
        pytest.param("1.21", "1.36", "ImageLocality", "score", ["1.29", "1.30", "1.36"], id="several minors"),
        pytest.param("1.21", "1.22", "NodeResourcesLeastAllocated", "score", ["1.22"], id="a plugin whose work another does"),
        pytest.param("1.33", "1.34", FIT, "fields", ["1.34 PodLevelResources"], id="a gate that came on"),
        pytest.param("1.35", "1.36", BALANCED, "score", ["1.36 DRAExtendedResource", "1.36"], id="a gate and a rule without"),
        pytest.param("1.22", "1.23", "TaintToleration", "weight", ["1.23"], id="a weight"),
    ],
)  # fmt: skip
def test_rules_between(before: str, after: str, plugin: str, aspect: Aspect, since: list[str]) -> None:
    ends = (Rules(RELEASES[each], RELEASES[each].gates(), RELEASES[each]) for each in (before, after))
    found = rules_of(changed_between(*ends), plugin, [aspect])
    assert sorted(f"{rule.since} {rule.gate}".strip() for rule in found) == sorted(since)


def test_fields_of_an_older_minor_under_the_rules_of_a_newer_one() -> None:
    newer, older = RELEASES["1.28"], RELEASES["1.27"]
    rules = changed_between(Rules(newer, newer.gates(), older), Rules(newer, newer.gates(), newer))
    assert [(rule.since, rule.of_fields) for rule in rules] == [("1.28", True)]


def test_gates_that_are_set_are_rules_too() -> None:
    newest = RELEASES["1.36"]
    ends = (
        Rules(newest, newest.gates(gates), newest) for gates in ("", "DRADeviceTaints=false,VolumeLimitScaling=true")
    )
    rules = changed_between(*ends)
    assert [(rule.gate, rule.since) for rule in rules] == [("VolumeLimitScaling", ""), ("DRADeviceTaints", "1.36")]
