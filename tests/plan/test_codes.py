"""The table of codes: nothing that a plugin says is without one, and none is given twice."""

from __future__ import annotations

import ast
import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from typing import Any

import msgspec
import pytest

from ksched_cli.controlplane.admission import chain
from ksched_cli.engine.faults import EngineReasons
from ksched_cli.framework.interfaces import FilterPlugin, PreFilterPlugin
from ksched_cli.framework.reasons import Reason, ReasonKind, ReasonTable, free_text
from ksched_cli.plan.reasons.codes import (
    INPUT_CODES,
    POD_CODES,
    ROLLOUT_CODES,
    all_codes,
    code_of_admission,
    find_code,
    plugins_of_code,
)
from ksched_cli.plan.reasons.rules import code_of
from ksched_cli.plugins.in_tree import all_specs, spec_of
from ksched_cli.plugins.node_resources_fit.guide import NodeResourcesFitReasons
from ksched_cli.releases.minors import DEFAULT
from ksched_cli.wiring import make_registry
from tests.package_source import PACKAGE, trees
from tests.test_conformance import CASES

FIXTURES = PACKAGE.parent / "fixtures"
REJECTIONS = ("unschedulable", "unresolvable")
# Not about a pod on a node: what preemption came to.
OTHERS = ("plugins/default_preemption/", "engine/cycle.py")


def kinds() -> list[ReasonKind]:
    tables = dict.fromkeys(table for spec in all_specs() for table in spec.reasons)
    return [kind for table in (EngineReasons, *tables) for kind in table.kinds()]


def test_every_reason_has_a_code() -> None:
    assert len(kinds()) > 50
    assert [repr(kind) for kind in kinds() if kind.code is None] == []


def test_no_table_of_reasons_is_left_out_of_the_rooms() -> None:
    declared = {table for table in ReasonTable.tables() if table.__module__.startswith("ksched_cli.")}
    assert declared == {kind.table for kind in kinds()}


@pytest.mark.slow
def test_no_plugin_rejects_a_pod_by_a_text() -> None:
    """A text has no kind, and so no code, no field and no words of its own."""
    found, calls = [], 0
    for where, tree in trees("|".join(REJECTIONS), ("plugins/", "engine/")):
        if where.startswith(OTHERS):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in REJECTIONS:
                calls += 1
                found += [where for each in node.args if isinstance(each, ast.Constant | ast.JoinedStr)]
    assert calls > 25
    # PostFilter says what came of giving up the allocation of a claim. That is about no node.
    assert found == ["plugins/dynamic_resources.py"] * 6


def test_every_plugin_that_rejects_pods_has_a_code() -> None:
    registry = make_registry()
    rejecting = [name for name in registry if issubclass(registry[name], FilterPlugin | PreFilterPlugin)]
    spoken_of = {plugin for code in all_codes().values() for plugin in plugins_of_code(code)}
    assert set(rejecting) <= spoken_of


def recorded() -> Iterator[Any]:
    """What kube-schedulers of all recorded minors decided."""
    for case in CASES:
        yield msgspec.json.decode((case / "expected.json").read_bytes())
    for path in sorted((FIXTURES / "conformance" / "other-minors").glob("*.jsonl.gz")):
        with gzip.open(path, "rb") as file:
            yield from map(msgspec.json.decode, file)


@pytest.mark.slow
def test_every_reason_of_the_corpus_has_a_code() -> None:
    seen: set[tuple[str, str, str]] = set()
    for document in recorded():
        for pod in document["pods"]:
            failures = [*pod.get("filters", {}).values(), *([pod["preFilter"]] if "preFilter" in pod else [])]
            seen |= {(each["plugin"], each["code"], reason) for each in failures for reason in each["reasons"]}
    assert len(seen) > 40
    without = []
    for plugin, code, text in sorted(seen):
        spec = spec_of(plugin)
        known = [kind for kind in kinds() if kind.table in ((EngineReasons,) if spec is None else spec.reasons)]
        # One predicate takes its reasons from several rooms.
        told = [kind for kind in (kinds() if plugin == "GeneralPredicates" else known) if is_text_of(kind, text)]
        if not any(kind.code_of(unresolvable="Unresolvable" in code) for kind in told):
            without.append((plugin, code, text))
    assert without == []


def is_text_of(kind: ReasonKind, text: str) -> bool:
    for template in kind.texts():
        parts = (re.escape(literal) + (".*" if name else "") for literal, name, _, _ in Formatter().parse(template))
        if re.fullmatch("".join(parts), text, re.DOTALL):
            return True
    return False


def test_every_admission_has_a_code() -> None:
    plugins = set(re.findall(r'yield Denial\("(\w+)", ', Path(chain.__file__).read_text()))
    assert len(plugins) >= 5
    assert [plugin for plugin in sorted(plugins) if code_of_admission(plugin).name == "refused"] == []


def test_codes_and_names_are_told_apart_and_complete() -> None:
    codes = all_codes()
    assert len({each.name for each in codes.values()}) == len(codes)
    of_reasons = {code for kind in kinds() for code in (kind.code, kind.unresolvable_code) if code}
    declared = {*of_reasons, *INPUT_CODES, *POD_CODES, *ROLLOUT_CODES}
    assert len({each.code for each in declared}) == len(declared)
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


CPU, FULL = NodeResourcesFitReasons.insufficient(resource="cpu"), NodeResourcesFitReasons.of(DEFAULT).too_many_pods()


@pytest.mark.parametrize(
    ("reasons", "unresolvable", "expected"),
    [
        pytest.param([CPU], False, "KS101", id="room could be made"),
        pytest.param([CPU], True, "KS102", id="too large when empty"),
        pytest.param([FULL, CPU], False, "KS101", id="several reasons"),
        pytest.param([EngineReasons.left_out(plugins="NodeAffinity")], True, "KS104", id="narrowed by name"),
        pytest.param([EngineReasons.left_none_in_common(plugins="A B")], True, "KS119", id="by several"),
        pytest.param([free_text("no")], False, None, id="somebody else's plugin"),
    ],
)
def test_code_of(reasons: list[Reason], unresolvable: bool, expected: str | None) -> None:
    found = code_of(reasons, unresolvable=unresolvable)
    assert (found.code if found else None) == expected
