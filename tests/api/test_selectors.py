"""Selectors of labels, nodes and fields, and kubectl's -l."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ksched_cli.api.core import LabelSelector, NodeSelectorTerm
from ksched_cli.api.label_names import is_label_key, is_label_value
from ksched_cli.api.selectors import (
    NOTHING,
    SelectorError,
    compile_node_selector_term,
    compile_selector,
    parse_query,
    selector_from_map,
)
from tests.builders import term

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
        pytest.param(selector(matchLabels={"-app": "x"}), id="not a key in matchLabels"),
        pytest.param(selector(matchLabels={"app": "no spaces"}), id="not a value in matchLabels"),
    ],
)
def test_selectors_that_cannot_be_compiled(given: LabelSelector) -> None:
    with pytest.raises(SelectorError):
        compile_selector(given)


FORM = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '({NAME})?')"
)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        pytest.param(expression("app", "Like", "x"), '"Like" is not a valid label selector operator', id="operator"),
        pytest.param(
            expression("app", "In"),
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
            id="no values",
        ),
        pytest.param(
            expression("app", "Exists", "x", "y"),
            'values: Invalid value: ["x","y"]: values set must be empty for exists and does not exist',
            id="values",
        ),
        pytest.param(
            expression("service", "In", "{{.bad}}"),
            f'values[0][service]: Invalid value: "{{{{.bad}}}}": {VALUE}',
            id="not a value",
        ),
        pytest.param(
            expression("app", "In", "x" * 64),
            f'values[0][app]: Invalid value: "{"x" * 64}": must be no more than 63 bytes',
            id="too long a value",
        ),
        pytest.param(
            expression("-app", "Exists"),
            f"key: Invalid value: \"-app\": name part {FORM} (e.g. 'MyName',  or 'my.name',  or '123-abc', "
            f"regex used for validation is '{NAME}')",
            id="not a key",
        ),
        pytest.param(
            expression("/", "Exists"),
            'key: Invalid value: "/": prefix part must be non-empty; name part must be non-empty; '
            f"name part {FORM} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{NAME}')",
            id="nothing of a key",
        ),
    ],
)
def test_what_is_wrong_is_said_as_kubernetes_says_it(given: LabelSelector, text: str) -> None:
    with pytest.raises(SelectorError) as caught:
        compile_selector(given)
    assert str(caught.value) == text


def test_everything_that_is_wrong_with_a_term_is_said() -> None:
    given = node_term(("a", "Gt", ["x", "1"]), ("b", "Like", []), fields=(("metadata.name", "In", ["n", "m"]),))
    with pytest.raises(SelectorError) as caught:
        compile_node_selector_term(given)
    assert str(caught.value.under("terms[2]")) == (
        '[terms[2].matchExpressions[0].values: Invalid value: ["x","1"]: '
        "for 'Gt', 'Lt' operators, exactly one value is required, "
        'terms[2].matchExpressions[0].values[0]: Invalid value: "x": '
        "for 'Gt', 'Lt' operators, the value must be an integer, "
        'terms[2].matchExpressions[1].operator: Unsupported value: "Like": '
        'supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", '
        'terms[2].matchFields[0].values: Invalid value: ["n","m"]: must have one element]'
    )


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


def test_a_selector_from_a_map_is_not_checked() -> None:
    assert selector_from_map({"-app": "no spaces"}).matches({"-app": "no spaces"})
    assert selector_from_map({}).everything


def test_nothing_and_everything_are_told_apart() -> None:
    assert compile_selector(None) == NOTHING
    assert not compile_selector(None).everything
    assert compile_selector(selector()).everything


def node_term(
    *expressions: tuple[str, str, list[str]], fields: tuple[tuple[str, str, list[str]], ...] = ()
) -> NodeSelectorTerm:
    return msgspec.convert(term(*expressions, fields=fields), NodeSelectorTerm)


@pytest.mark.parametrize(
    ("given", "matches"),
    [
        pytest.param(node_term(("app", "In", ["web"])), True, id="In"),
        pytest.param(node_term(("app", "NotIn", ["web"])), False, id="NotIn"),
        pytest.param(node_term(("none", "NotIn", ["web"])), True, id="NotIn of an absent label"),
        pytest.param(node_term(("app", "Exists", [])), True, id="Exists"),
        pytest.param(node_term(("app", "DoesNotExist", [])), False, id="DoesNotExist"),
        pytest.param(node_term(("gen", "Gt", ["4"])), True, id="Gt"),
        pytest.param(node_term(("gen", "Gt", ["5"])), False, id="Gt is strict"),
        pytest.param(node_term(("gen", "Lt", ["10"])), True, id="Lt compares numbers"),
        pytest.param(node_term(("app", "Gt", ["4"])), False, id="Gt of what is no number"),
        pytest.param(node_term(("none", "Lt", ["4"])), False, id="Lt of an absent label"),
        pytest.param(node_term(("app", "In", ["web"]), ("gen", "Lt", ["5"])), False, id="all expressions"),
        pytest.param(node_term(fields=(("metadata.name", "In", ["node-1"]),)), True, id="the name"),
        pytest.param(node_term(fields=(("metadata.name", "NotIn", ["node-1"]),)), False, id="not the name"),
        pytest.param(
            node_term(("app", "In", ["web"]), fields=(("metadata.name", "In", ["node-2"]),)),
            False,
            id="labels and name",
        ),
        pytest.param(node_term(fields=(("metadata.uid", "In", ["x"]),)), False, id="a field that nodes do not offer"),
        pytest.param(
            node_term(fields=(("metadata.uid", "NotIn", ["x"]),)), True, id="not in a field that nodes do not offer"
        ),
    ],
)
def test_node_selector_term(given: NodeSelectorTerm, matches: bool) -> None:
    compiled = compile_node_selector_term(given)
    assert compiled is not None
    assert compiled.matches_node(LABELS, "node-1") is matches


def test_an_empty_term_is_no_term() -> None:
    assert compile_node_selector_term(NodeSelectorTerm()) is None


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(node_term(("app", "In", [])), id="In without values"),
        pytest.param(node_term(("app", "Exists", ["x"])), id="Exists with values"),
        pytest.param(node_term(("gen", "Gt", ["1", "2"])), id="Gt of two"),
        pytest.param(node_term(("gen", "Gt", ["many"])), id="Gt of a word"),
        pytest.param(node_term(("gen", "Lt", ["-5"])), id="Lt of what cannot be a label's value"),
        pytest.param(node_term(("gen", "Lt", ["9223372036854775808"])), id="Lt of more than 64 bits"),
        pytest.param(node_term(("app", "Like", ["x"])), id="unknown operator"),
        pytest.param(node_term(("-app", "Exists", [])), id="not a key"),
        pytest.param(node_term(fields=(("metadata.name", "Exists", []),)), id="Exists of a field"),
        pytest.param(node_term(fields=(("metadata.name", "In", ["a", "b"]),)), id="two names"),
        pytest.param(node_term(fields=(("metadata.name", "In", []),)), id="no name"),
    ],
)
def test_terms_that_cannot_be_compiled(given: NodeSelectorTerm) -> None:
    with pytest.raises(SelectorError):
        compile_node_selector_term(given)


# kubectl's -l, by the rules of labels.Parse


WEB = {"app": "web", "tier": "front", "example.com/team": "a"}


@pytest.mark.parametrize(
    ("query", "matches"),
    [
        ("", True),
        ("app=web", True),
        ("app==web", True),
        ("app = web , tier = front", True),
        ("app=web,tier!=front", False),
        ("app!=db", True),
        ("missing!=x", True),
        ("app in (web, db)", True),
        ("app in (db),tier", False),
        ("app notin (db,cache)", True),
        ("missing notin (a)", True),
        ("tier", True),
        ("!tier", False),
        ("!missing,example.com/team=a", True),
        ("app=", False),
    ],
)
def test_query(query: str, matches: bool) -> None:
    assert parse_query(query).matches(WEB) is matches


@pytest.mark.parametrize("query", ["a=b=c", "app web", "app in web", "app=we b", "a,,b", "-x=1", "app in ()x", "a=!"])
def test_what_is_no_query_is_said(query: str) -> None:
    with pytest.raises(SelectorError):
        parse_query(query)
