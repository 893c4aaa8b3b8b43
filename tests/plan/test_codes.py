"""The table of codes: nothing that a plugin says is without one, and none is given twice."""

from __future__ import annotations

import ast
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.controlplane.admission import chain
from ksched_cli.framework.interfaces import FilterPlugin, PreFilterPlugin
from ksched_cli.plan.codes import all_codes, code_of, find_code
from ksched_cli.wiring import make_registry
from tests.test_conformance import CASES

ROOT = Path(__file__).parents[2] / "ksched_cli"
FIXTURES = ROOT.parent / "fixtures"
STATUSES = ("unschedulable", "unresolvable")
# What the modules below say is said in the name of these plugins.
SPEAKERS = {
    "plugins/volume_binding/placement.py": "VolumeBinding",
    "plugins/node_volume_limits/attached.py": "NodeVolumeLimits",
    "cluster/claims.py": "VolumeBinding",
    "plugins/lib/devices/node_search.py": "DynamicResources",
    "plugins/lib/devices/claims.py": "DynamicResources",
    # Several plugins have a word each in these, and their classes say so.
    "plugins/legacy/predicates/nodes.py": "CheckNodeMemoryPressure",
    "plugins/legacy/predicates/volumes.py": "CheckVolumeBinding",
    "engine/pre_filters.py": "",
    "engine/group_placement.py": "",
}
# Not about a pod on a node: what preemption came to.
OTHERS = ("plugins/default_preemption/", "engine/cycle.py")


def text_of(node: ast.expr, constants: dict[str, str]) -> str:
    """A literal or a constant, or an f-string with x for what is filled in."""
    match node:
        case ast.Constant():
            return str(node.value)
        case ast.Name():
            return constants.get(node.id, "")
        case ast.FormattedValue():
            return text_of(node.value, constants) or "x"
        case ast.JoinedStr():
            return "".join(text_of(part, constants) for part in node.values)
    return ""


def said(path: Path) -> Iterator[str]:
    """Every literal reason in the module."""
    tree = ast.parse(path.read_text())
    constants: dict[str, str] = {}
    for each in tree.body:
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name):
            constants[each.targets[0].id] = text_of(each.value, constants)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in STATUSES:
            for argument in node.args:
                if found := text_of(argument, constants):
                    yield found


def literal_reasons() -> Iterator[tuple[str, str]]:
    for path in sorted(ROOT.rglob("*.py")):
        where = str(path.relative_to(ROOT))
        if where.startswith(OTHERS) or not where.startswith(("plugins/", "framework/", "engine/")):
            continue
        plugin = SPEAKERS.get(where)
        if plugin is None:
            named = re.search(r'^    name = "(\w+)"', path.read_text(), re.M)
            plugin = named[1] if named else None
        for reason in said(path):
            assert plugin is not None, f"{where} rejects pods: whose words are these?"
            yield plugin, reason


def test_every_literal_reason_has_a_code() -> None:
    found = list(literal_reasons())
    assert len(found) > 25
    without = [(plugin, reason) for plugin, reason in found if code_of(plugin, [reason], unresolvable=True) is None]
    assert without == []


def test_every_plugin_that_rejects_pods_has_a_code() -> None:
    registry = make_registry()
    rejecting = [name for name in registry if issubclass(registry[name], FilterPlugin | PreFilterPlugin)]
    spoken_of = {plugin for code in all_codes().values() for plugin in code.plugins}
    assert set(rejecting) <= spoken_of


def recorded() -> Iterator[Any]:
    """What kube-schedulers of all recorded minors decided."""
    for case in CASES:
        yield json.loads((case / "expected.json").read_text())
    for path in sorted((FIXTURES / "conformance" / "other-minors").glob("*.jsonl.gz")):
        with gzip.open(path, "rt") as file:
            yield from map(json.loads, file)


def test_every_reason_of_the_corpus_has_a_code() -> None:
    seen: set[tuple[str, str, str]] = set()
    for document in recorded():
        for pod in document["pods"]:
            failures = [*pod.get("filters", {}).values(), *([pod["preFilter"]] if "preFilter" in pod else [])]
            seen |= {(each["plugin"], each["code"], reason) for each in failures for reason in each["reasons"]}
    assert len(seen) > 40
    without = [
        each for each in sorted(seen) if code_of(each[0], [each[2]], unresolvable="Unresolvable" in each[1]) is None
    ]
    assert without == []


def test_every_admission_has_a_code() -> None:
    plugins = set(re.findall(r'yield "(\w+)", ', Path(chain.__file__).read_text()))
    assert len(plugins) >= 5
    assert [plugin for plugin in sorted(plugins) if code_of(plugin, ["no"]) is None] == []


def test_codes_and_names_are_told_apart_and_complete() -> None:
    codes = all_codes()
    assert len({each.name for each in codes.values()}) == len(codes)
    for each in codes.values():
        assert re.fullmatch(r"KS[0-4]\d\d", each.code)
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", each.name)
        assert each.title[0].islower()
        assert not each.title.endswith(".")
        assert each.meaning.endswith(".")
        assert each.advice
        assert each.level in ("error", "warning", "note")


@pytest.mark.parametrize("text", ["KS104", "ks104", "node-selector", "Node-Selector"])
def test_a_code_is_found_by_name_too(text: str) -> None:
    found = find_code(text)
    assert found is not None
    assert found.code == "KS104"


@pytest.mark.parametrize(
    ("plugin", "reasons", "unresolvable", "expected"),
    [
        pytest.param("NodeResourcesFit", ["Insufficient cpu"], False, "KS101", id="room could be made"),
        pytest.param("NodeResourcesFit", ["Insufficient cpu"], True, "KS102", id="too large when empty"),
        pytest.param("NodeResourcesFit", ["Too many pods", "Insufficient cpu"], False, "KS101", id="several reasons"),
        pytest.param("", ["node(s) didn't satisfy plugin(s) [NodeAffinity]"], True, "KS104", id="narrowed by name"),
        pytest.param("", ["node(s) didn't satisfy plugin(s) [A B] simultaneously"], True, "KS119", id="by several"),
        pytest.param("Mine", ["no"], False, None, id="somebody else's plugin"),
    ],
)
def test_code_of(plugin: str, reasons: list[str], unresolvable: bool, expected: str | None) -> None:
    found = code_of(plugin, reasons, unresolvable=unresolvable)
    assert (found.code if found else None) == expected
