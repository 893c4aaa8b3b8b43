"""Expressions that would take for ever: patterns in linear time, cel-go's cost limit and its depth limit."""

from __future__ import annotations

import sys
import time

import pytest

from ksched_cli.api.dynamic_resources import Device
from ksched_cli.plugins.lib.cel.cost import LIMIT, call_cost, operator_cost
from ksched_cli.plugins.lib.cel.expression import compile_cel_selector
from ksched_cli.plugins.lib.cel.values import CelCompileError, CelError
from tests.lanes import sampled

DEPTH = "ERROR: <input>:-1:0: expression recursion limit exceeded: 250"
RANGE = "lists.range(1000)"


def matches(expression: str) -> bool:
    return compile_cel_selector(expression).matches("driver.example.com", Device("d"))


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "^(a|a?)+$", "(.*a){20}$", "(x+x+)+y"])
def test_patterns_take_linear_time(pattern: str) -> None:
    started = time.process_time()
    assert not matches(f"'{'a' * 2000}b'.matches('{pattern}')")
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(abc", "missing closing ): `(abc`"),
        ("abc)", "unexpected ): `abc)`"),
        ("[a", "missing closing ]: `[a`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("x{1001}", "invalid repeat count: `{1001}`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("(?=x)", "invalid or unsupported Perl syntax: `(?=`"),
        ("\\\\1", "invalid escape sequence: `\\1`"),
        ("a\\\\", "trailing backslash at end of expression: ``"),
    ],
)
def test_patterns_are_refused_in_the_words_of_go(pattern: str, text: str) -> None:
    with pytest.raises(CelError) as caught:
        matches(f"'x'.matches('{pattern}' + '')")
    assert str(caught.value) == f"error parsing regexp: {text}"


def test_a_pattern_that_is_refused_is_not_logged(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CelError):
        matches("'x'.matches('not (closed' + '')")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "expression",
    sampled(
        [
            "lists.range(9999999).size() > 0",
            f"{RANGE}.all(a, {RANGE}.all(b, {RANGE}.all(c, a + b + c >= 0)))",
            f"{RANGE}.exists(a, {RANGE}.exists(b, {RANGE}.exists(c, a + b + c < 0)))",
            f"{RANGE}.map(a, {RANGE}).map(b, b.map(c, c)).size() > 0",
            f"{RANGE}.all(a, {RANGE}.all(b, 'aaaaaaaaaaaaaaaa'.contains('b') == false))",
            "lists.range(100).map(i, lists.range(100)).all(l, lists.range(100).map(i, lists.range(100)).all(m, m == l))",
        ],
        6,
    ),
)
def test_the_cost_limit_ends_an_evaluation(expression: str) -> None:
    started = time.process_time()
    with pytest.raises(CelError) as caught:
        matches(expression)
    assert str(caught.value) == "operation cancelled: actual cost limit exceeded"
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("function", "arguments", "cost"),
    [
        pytest.param("join", [["a" * 60, "b" * 40]], 20, id="join"),
        pytest.param("join", ["a" * 60], 1, id="join of no list"),
        pytest.param("contains", ["a" * 60, "b" * 20], 12, id="contains"),
        pytest.param("matches", ["a" * 59, "b" * 8], 12, id="matches"),
        pytest.param("startsWith", ["a" * 60, "b"], 6, id="starts with"),
        pytest.param("startsWith", ["", "b"], 1, id="a step at least"),
        pytest.param("sets.contains", [[1] * 6, [1] * 5], 30, id="pairs of items"),
        pytest.param("quantity", [], 1, id="no argument"),
        pytest.param("lists.range", [0], 1, id="no range"),
        pytest.param("lists.range", [10_000_000], 10_000_000, id="the longest range"),
        pytest.param("lists.range", [10_000_001], 1, id="a range that is refused"),
        pytest.param("replace", ["a" * 60, "a", "b"], 12, id="replace"),
        pytest.param("sum", [[1] * 60], 60, id="sum"),
        pytest.param("lists.range", [60], 60, id="range"),
        pytest.param("size", [[1] * 60], 1, id="size"),
    ],
)
def test_the_cost_of_a_call(function: str, arguments: list[object], cost: int) -> None:
    assert call_cost(function, arguments) == cost


@pytest.mark.parametrize(
    ("left", "operator", "right", "cost"),
    [
        pytest.param([0] * 30, "+", [0] * 12, 42, id="lists are copied"),
        pytest.param("a" * 60, "+", "b" * 40, 10, id="texts are copied"),
        pytest.param(1, "+", 2, 1, id="numbers"),
        pytest.param([], "+", [], 1, id="a step at least"),
        pytest.param("a" * 60, "<", "b" * 40, 4, id="texts are compared up to the end of the shorter"),
        pytest.param(1, "<", 2, 1, id="numbers are compared at once"),
        pytest.param("a" * 60, "!=", "b" * 40, 4, id="texts that are not equal"),
        pytest.param(1, "in", [1] * 60, 60, id="in a list"),
        pytest.param([[0]] * 10, "==", [[0]] * 10, 3, id="nested lists are compared item by item"),
    ],
)
def test_the_cost_of_an_operator(left: object, operator: str, right: object, cost: int) -> None:
    assert operator_cost(operator, left, right) == cost


@pytest.mark.slow
def test_no_operator_hides_that_the_limit_is_exceeded() -> None:
    endless = f"{RANGE}.all(a, {RANGE}.all(b, a + b >= 0))"
    with pytest.raises(CelError, match="actual cost limit exceeded"):
        matches(f"{endless} || true")


def test_what_selectors_do_is_far_below_the_limit() -> None:
    assert matches("lists.range(300).all(a, lists.range(300).exists(b, b == 0))")
    assert LIMIT == 1_000_000


def test_the_limit_itself_may_be_spent() -> None:
    assert matches("lists.range(999998).size() > 0")
    with pytest.raises(CelError, match="actual cost limit exceeded"):
        matches("lists.range(999999).size() > 0")


@pytest.mark.parametrize(
    "expression",
    [
        "(" * 250 + "true" + ")" * 250,
        "[" * 251 + "]" * 251 + " == []",
        "1" + " + 1" * 250 + " > 0",
        "device" + ".attributes" * 251 + " == 1",
        "true ? true : " * 300 + "true",
        "(" * 50_000,
    ],
)
def test_the_depth_limit(expression: str) -> None:
    with pytest.raises(CelCompileError) as caught:
        matches(expression)
    assert str(caught.value) == f"compilation failed: {DEPTH}"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("(" * 249 + "true" + ")" * 249, True),
        ("1" + " + 1" * 248 + " > 0", True),
        ("'a'" + ".lowerAscii()" * 249 + " == 'a'", True),
        ("!" * 5000 + "true", True),
        ("!" * 5001 + "true", False),
        ("-" * 5001 + "(1) < 0", True),
    ],
)
def test_what_is_within_the_limit(expression: str, expected: bool) -> None:
    assert matches(expression) is expected


def test_deep_expressions_leave_the_recursion_limit_as_it_was() -> None:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(2000)
    try:
        assert matches("(" * 249 + "true" + ")" * 249)
        assert sys.getrecursionlimit() == 2000
    finally:
        sys.setrecursionlimit(before)


def test_the_size_limit() -> None:
    assert matches("true" + " " * 99_996)
    with pytest.raises(CelCompileError) as caught:
        matches("true" + " " * 100_000)
    text = "expression code point size exceeds limit: size: 100004, limit 100000"
    assert str(caught.value) == f"compilation failed: ERROR: <input>:-1:0: {text}"
