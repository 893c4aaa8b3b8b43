"""The table of rules that changed is held against the code that applies them: every minor and every gate that decides
something is in it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from typing import get_args

import pytest
from msgspec.structs import replace

from ksched_cli.config.legacy.policy import family_of
from ksched_cli.config.model import expand_profile
from ksched_cli.framework.reasons import ReasonTable
from ksched_cli.legacy.in_tree import PREDICATES, PRIORITIES, REMOVED
from ksched_cli.plan.reference.versions import GATE_RULES, MINOR_RULES, Rules, rule_changes_about, rules_that_differ
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.plugins.in_tree import IN_TREE
from ksched_cli.releases.changes import API_SERVER, CONTROLLERS, SCHEDULER, Aspect, ReleaseRules, RuleChange, modelled
from ksched_cli.releases.default_plugins import BEFORE_PLUGINS, BY_POINT, MULTI_POINT
from ksched_cli.releases.gates import GATE_HISTORY, minor_of
from ksched_cli.releases.minors import RELEASES, Release
from ksched_cli.wiring import scheduler_spec
from tests.package_source import PACKAGE, trees

KNOWN = {plugin.name for plugin in (*IN_TREE, *REMOVED, *PREDICATES, *PRIORITIES)} | {
    SCHEDULER,
    CONTROLLERS,
    API_SERVER,
}
FIT, BALANCED = "NodeResourcesFit", "NodeResourcesBalancedAllocation"

FILES = ("plugins/", "framework/", "engine/", "cluster/", "world/", "sources/unread.py", "plan/run/loaded_input.py")


def after(minor: str) -> str:
    return modelled(f"1.{minor_of(minor) + 1}")


def told(minor: str, plugins: Iterable[str]) -> bool:
    families = set(map(family_of, plugins))
    return any(rule.since == modelled(minor) and families & set(map(family_of, rule.plugins)) for rule in MINOR_RULES)


def silent_steps() -> Iterator[tuple[str, str, str]]:
    """Changes that are told in the sentence of another: (rule, minor, the plugin whose sentence it is)."""
    for rules in ReleaseRules.declared:
        for name, rule in rules.rules():
            for step in rule.steps:
                if not step.change.text:
                    yield f"{rules.__module__}.{name}", step.change.since, step.described_by


def test_each_rule_can_be_taken_out_of_its_minor() -> None:
    """`RulePath.needed` switches the rules of a minor one by one. The other rules of a module stay as they are."""
    declared = [rules for rules in ReleaseRules.declared if not issubclass(rules, ReasonTable)]
    switched = 0
    for rules, name, rule in ((each, *own) for each in declared for own in each.rules()):
        for change in (step.change for step in rule.steps):
            if change.text and not change.gate and not change.fix:
                # Patches of the minor may have changed the rule once more.
                release = replace(RELEASES[change.since], version=f"{change.since}.0", patch=0)
                without = replace(release, lacks=frozenset({change.switch}))
                values, left = rules.values(release), rules.values(without)
                assert {other for other, value in values.items() if left[other] != value} == {name}
                assert rules.of(without) is not rules.of(release)
                switched += 1
    assert switched > 80


@pytest.mark.parametrize(("rule", "minor", "plugin"), [pytest.param(*each, id=each[0]) for each in silent_steps()])
def test_every_change_is_told_in_a_sentence_of_its_own_or_of_another(rule: str, minor: str, plugin: str) -> None:
    assert plugin
    assert told(minor, [SCHEDULER if plugin == "kube-scheduler" else plugin])


def test_changes_come_in_order_and_change_something() -> None:
    for rules in ReleaseRules.declared:
        for name, change in rules.rules():
            minors = [minor_of(step.change.since) for step in change.steps]
            assert minors == sorted(set(minors)), name
            values = [change.before, *(step.now for step in change.steps)]
            assert all(before != now for before, now in pairwise(values)), name


def turns() -> Iterator[tuple[str, str]]:
    """Minors that plugins name themselves: when they come, take part somewhere, and go."""
    for plugin in (*IN_TREE, *REMOVED):
        yield from (
            (plugin.name, since) for since in (plugin.since, *(since for _, since in plugin.points_since)) if since
        )
        if plugin.until:
            yield plugin.name, after(plugin.until)


@pytest.mark.parametrize(("plugin", "minor"), [pytest.param(*each, id=" ".join(each)) for each in sorted(set(turns()))])
def test_plugins_that_come_and_go_are_told(plugin: str, minor: str) -> None:
    assert told(minor, [plugin])


def declaring_modules() -> Iterator[str]:
    for path, tree in trees(r"\b(ReleaseRules|ReasonTable)\b"):
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and any(
                getattr(base, "id", "") in ("ReleaseRules", "ReasonTable") for base in node.bases
            ):
                module = path.removesuffix(".py").removesuffix("/__init__")
                yield f"ksched_cli.{module.replace('/', '.')}"


@pytest.mark.slow
def test_every_module_that_declares_rules_is_collected() -> None:
    """In a process of its own: here other tests may have imported them."""
    code = (
        "import ksched_cli.plan.reference.versions\n"
        "from ksched_cli.releases.changes import ReleaseRules\n"
        "print(*(each.__module__ for each in ReleaseRules.declared))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == set(declaring_modules())


@pytest.mark.slow
def test_only_releases_compares_minors() -> None:
    """Elsewhere a rule is read by its name."""
    found = [
        f"{path}:{node.lineno}"
        for path, tree in trees(r"\bat_least\b")
        if not path.startswith("releases/")
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "at_least"
    ]
    assert found == []


# What is the same in plugins and before there were any.
UNCHANGED = {"CheckNodeCondition", "GeneralPredicates"}


def default_plugins_of(release: Release) -> dict[str, int]:
    """Those that take nodes or rank them, with their weights; 0 where they do not rank."""
    setting = scheduler_spec(RunOptions(kube_version=release.version))
    (entry,) = setting.configuration.profiles
    profile = expand_profile(entry, setting.release, setting.gates, setting.points)
    names = [name for point in ("preEnqueue", "filter", "score") for name in profile.points[point]]
    return {name: profile.score_weights.get(name, 0) for name in names}


@pytest.mark.parametrize(
    ("older", "newer"), [pytest.param(*each, id=each[1].version) for each in pairwise(RELEASES.values())]
)
def test_default_plugins_that_come_and_go_are_told(older: Release, newer: Release) -> None:
    before, now = default_plugins_of(older), default_plugins_of(newer)
    changed = rules_that_differ(*(Rules(each, each.gates(), each) for each in (older, newer)))
    other = {name for name in before.keys() | now.keys() if before.get(name) != now.get(name)}
    aspects: tuple[Aspect, ...] = ("filter", "score", "weight", "queue")
    if older.before_plugins:
        # Of some nothing but the name has changed.
        aspects = (*aspects, "fields", "message")
    assert [name for name in other if name not in UNCHANGED and not rule_changes_about(changed, name, aspects)] == []


@cache
def gates_read() -> dict[str, str]:
    """Gates that the code asks for by name, or that rules of the API server hold by, with a file that does."""
    found = {
        node.value: path
        for path, tree in trees("gate", "api/validation/")
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value in GATE_HISTORY
    }
    for path, tree in trees(r"\.enabled\(\s*[\"']", FILES):
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Attribute(attr="enabled"), args=[ast.Constant(value=str(name))]):
                    found[name] = path
    return found


# Read together with another gate that is in the table.
COMPANIONS = {"DRAResourceClaimDeviceStatus": "DRADeviceBindingConditions"}


@pytest.mark.parametrize("gate", sorted(gates_read()))
def test_every_gate_that_the_code_reads_is_told(gate: str) -> None:
    assert COMPANIONS.get(gate, gate) in GATE_RULES, f"no room tells of the gate {gate}"


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
    found = rule_changes_about(rules_that_differ(*ends), plugin, [aspect])
    assert sorted(f"{rule.since} {rule.gate}".strip() for rule in found) == sorted(since)


def test_fields_of_an_older_minor_under_the_rules_of_a_newer_one() -> None:
    newer, older = RELEASES["1.28"], RELEASES["1.27"]
    rules = rules_that_differ(Rules(newer, newer.gates(), older), Rules(newer, newer.gates(), newer))
    assert [(rule.since, rule.of_fields) for rule in rules] == [("1.28", True)]


def test_gates_that_are_set_are_rules_too() -> None:
    newest = RELEASES["1.36"]
    ends = (
        Rules(newest, newest.gates(gates), newest)
        for gates in ("", "DRADeviceTaints=false,TaintTolerationComparisonOperators=true")
    )
    rules = rules_that_differ(*ends)
    assert [(rule.gate, rule.since) for rule in rules] == [
        ("TaintTolerationComparisonOperators", ""),
        ("DRADeviceTaints", "1.36"),
    ]


@pytest.mark.parametrize(
    ("name", "family"),
    [
        # The legacy registry of 1.17 and 1.18 gives this priority's work to the plugin.
        ("ResourceLimitsPriority", "NodeResourceLimits"),
        ("NodeResourceLimits", "NodeResourceLimits"),
        ("LeastRequestedPriority", FIT),
        ("ServiceSpreadingPriority", "PodTopologySpread"),
        ("PodFitsHostPorts", "NodePorts"),
        ("CheckNodeCondition", "NodeUnschedulable"),
        # It became four plugins.
        ("GeneralPredicates", "GeneralPredicates"),
    ],
)
def test_a_plugin_and_the_priority_that_it_replaced_are_one_family(name: str, family: str) -> None:
    assert family_of(name) == family


@pytest.mark.parametrize(
    ("minor", "plugin"),
    [("1.16", "ResourceLimitsPriority"), ("1.17", "NodeResourceLimits"), ("1.18", "NodeResourceLimits")],
)
def test_the_gate_of_a_priority_is_a_rule_of_the_plugin_that_replaced_it(minor: str, plugin: str) -> None:
    release = RELEASES[minor]
    gate = "ResourceLimitsPriorityFunction"
    off, on = (Rules(release, release.gates(overrides), release) for overrides in ("", f"{gate}=true"))
    (rule,) = rule_changes_about(rules_that_differ(off, on), plugin, {"score"})
    assert (rule.gate, rule.plugins) == (gate, ("ResourceLimitsPriority",))
