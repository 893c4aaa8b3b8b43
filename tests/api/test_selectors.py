from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ksched_cli.api.meta import LabelSelector
from ksched_cli.api.selectors import (
    SelectorError,
    compile_selector,
    is_label_key,
    is_label_value,
    selector_from_map,
)

LABELS = {"app": "web", "tier": "front", "gen": "5"}


def selector(**fields: Any) -> LabelSelector:
    return msgspec.convert(fields, LabelSelector)


def expression(key: str, operator: str, *values: str) -> LabelSelector:
    return selector(matchExpressions=[{"key": key, "operator": operator, "values": list(values)}])


@pytest.mark.parametrize(
    ("given", "matches"),
    [
        pytest.param(None, False, id="none matches nothing"),
        pytest.param(selector(), True, id="empty matches everything"),
        pytest.param(selector(matchLabels={"app": "web"}), True, id="label"),
        pytest.param(selector(matchLabels={"app": "web", "tier": "back"}), False, id="all labels"),
        pytest.param(expression("app", "In", "web", "db"), True, id="In"),
        pytest.param(expression("none", "In", "web"), False, id="In of an absent label"),
        pytest.param(expression("app", "NotIn", "db"), True, id="NotIn"),
        pytest.param(expression("none", "NotIn", "db"), True, id="NotIn of an absent label"),
        pytest.param(expression("app", "Exists"), True, id="Exists"),
        pytest.param(expression("none", "DoesNotExist"), True, id="DoesNotExist"),
    ],
)
def test_label_selector(given: LabelSelector | None, matches: bool) -> None:
    assert compile_selector(given).matches(LABELS) is matches


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(expression("app", "Gt", "5"), id="Gt is for nodes"),
        pytest.param(expression("app", "In"), id="In without values"),
        pytest.param(expression("app", "Exists", "x"), id="Exists with values"),
        pytest.param(expression("app", "Like", "x"), id="unknown operator"),
        pytest.param(expression("-app", "In", "x"), id="not a key"),
        pytest.param(expression("app", "In", "no spaces"), id="not a value"),
    ],
)
def test_selectors_that_cannot_be_compiled(given: LabelSelector) -> None:
    with pytest.raises(SelectorError):
        compile_selector(given)


def test_equal_selectors_are_equal_values() -> None:
    assert compile_selector(selector(matchLabels={"a": "1", "b": "2"})) == selector_from_map({"b": "2", "a": "1"})
    assert len({compile_selector(selector(matchLabels={"a": "1"})), selector_from_map({"a": "1"})}) == 1


@pytest.mark.parametrize(
    ("key", "valid"),
    [
        ("app", True),
        ("a.b/c", True),
        ("a_b.c-d", True),
        ("", False),
        ("/a", False),
        ("A.b/c", False),
        ("a/b/c", False),
        ("x" * 64, False),
    ],
)
def test_label_keys(key: str, valid: bool) -> None:
    assert is_label_key(key) is valid


@pytest.mark.parametrize(
    ("value", "valid"), [("", True), ("web-1.x_Y", True), ("-a", False), ("a b", False), ("x" * 64, False)]
)
def test_label_values(value: str, valid: bool) -> None:
    assert is_label_value(value) is valid
