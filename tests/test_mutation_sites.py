"""The mistakes that `python -m tests.mutation` makes on purpose: one of each kind, at its place."""

from __future__ import annotations

import ast

import pytest

from tests.mutation import PACKAGES, ROOT, Sites, mutants_of


def changed(source: str) -> list[str]:
    """The source with each mistake in turn."""
    content = source.encode()
    sites = Sites("x.py", content)
    sites.visit(ast.parse(content))
    return [each.applied(content).decode() for each in sites.found]


@pytest.mark.parametrize(
    ("source", "mutants"),
    [
        pytest.param("a < b", ["a <= b"], id="boundary"),
        pytest.param("a not in b", ["a in b"], id="membership"),
        pytest.param("(a) and (b)", ["(a) or (b)"], id="operands in parentheses"),
        pytest.param("not a", ["a"], id="a missing not"),
        pytest.param("x = True", ["x = False"], id="truth"),
        pytest.param("x = 7", ["x = 8"], id="number"),
        pytest.param("x = any(a)", ["x = all(a)"], id="any"),
        pytest.param("x = min(a)", ["x = max(a)"], id="min"),
        pytest.param("for x in a:\n    continue", ["for x in a:\n    break"], id="continue"),
        pytest.param("for x in a:\n    break", ["for x in a:\n    continue"], id="break"),
        pytest.param("f(\n  a\n)", ["pass"], id="a call that is left out"),
        pytest.param("x += a", ["pass"], id="an addition that is left out"),
        pytest.param("x.y = a", ["pass"], id="an attribute that stays"),
        pytest.param("x[y] = a", ["pass"], id="an item that stays"),
        pytest.param("x = a", [], id="a name that later lines need"),
        pytest.param("x: A = a", [], id="annotation"),
        pytest.param("if TYPE_CHECKING:\n    x < y", [], id="for type checkers only"),
        pytest.param('"""A docstring of 1 < 2."""', [], id="docstring"),
        pytest.param("def f(a: B[1] = 2) -> C[3]: ...", ["def f(a: B[1] = 3) -> C[3]: ..."], id="default"),
    ],
)
def test_each_kind_of_mistake(source: str, mutants: list[str]) -> None:
    assert changed(source) == mutants


@pytest.mark.slow
def test_every_room_has_mistakes_and_each_can_be_compiled() -> None:
    found = mutants_of(PACKAGES)
    assert {each.path.split("/")[1] for each in found} == set(PACKAGES)
    assert {"engine", "plugins", "plan", "sources", "report", "controlplane", "api"} <= set(PACKAGES)
    for each in found[::200]:
        ast.parse(each.applied((ROOT / each.path).read_bytes()))
