"""kubectl's JSONPath dialect, situation by situation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ksched_cli.report.jsonpath import CustomColumns, JSONPath, TemplateError

DOC = {
    "kind": "Simulation",
    "pods": [
        {"pod": "shop/web", "result": "scheduled", "node": "n1", "tried": 3, "share": 0.5, "labels": {"k8s.io/app": "web"}},
        {"pod": "shop/db", "result": "unschedulable", "tried": 12, "failures": [{"plugin": "Fit", "nodes": 2}, {"plugin": "Taints", "nodes": 1}]},
        {"pod": "dev/job", "result": "scheduled", "node": "n2", "tried": 1, "ok": True, "share": None},
    ],
    "stats": {"nodes": 3, "load": 1.0},
    "empty": [],
}  # fmt: skip


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        pytest.param("plain text", "plain text", id="text alone"),
        pytest.param("", "", id="nothing"),
        pytest.param("{.kind}", "Simulation", id="field"),
        pytest.param("kind: {.kind}!", "kind: Simulation!", id="text around"),
        pytest.param("{ .kind }", "Simulation", id="spaces"),
        pytest.param("{$.kind}", "Simulation", id="root"),
        pytest.param("{@.kind}", "Simulation", id="current"),
        pytest.param("{.stats}", '{"nodes":3,"load":1.0}', id="an object is JSON"),
        pytest.param("{.stats.load}", "1", id="a whole number without its point"),
        pytest.param("{.pods[0].share}", "0.5", id="a fraction"),
        pytest.param("{.pods[2].ok}", "true", id="a truth value"),
        pytest.param("{.pods[2].share}", "null", id="null"),
        pytest.param("{.pods[*].pod}", "shop/web shop/db dev/job", id="all of a list"),
        pytest.param("{.pods[*].node}", "n1 n2", id="what is missing is left out"),
        pytest.param("{.pods.pod}", "", id="a field of a list"),
        pytest.param("{.nothing.at.all}", "", id="missing"),
        pytest.param("a{.nothing}b", "ab", id="missing between text"),
        pytest.param("{.pods[0]['pod']}", "shop/web", id="key in brackets"),
        pytest.param("{['stats.nodes']}", "3", id="a path in brackets"),
        pytest.param("{.pods[0]['pod','node']}", "shop/web n1", id="union of keys"),
        pytest.param("{.pods[0, 2].pod}", "shop/web dev/job", id="union of indexes"),
        pytest.param("{.pods[-1].pod}", "dev/job", id="from the end"),
        pytest.param("{.pods[0:2].pod}", "shop/web shop/db", id="slice"),
        pytest.param("{.pods[1:].pod}", "shop/db dev/job", id="slice to the end"),
        pytest.param("{.pods[:1].pod}", "shop/web", id="slice from the beginning"),
        pytest.param("{.pods[::2].pod}", "shop/web dev/job", id="every other"),
        pytest.param("{.pods[::1].pod}", "shop/web shop/db dev/job", id="each one"),
        pytest.param("{.pods[-3:3].pod}", "shop/web shop/db dev/job", id="from the first, counted from the end"),
        pytest.param("{.pods[-2:].pod}", "shop/db dev/job", id="the last two"),
        pytest.param("{.pods[0:-1].pod}", "shop/web shop/db", id="all but the last"),
        pytest.param("{.pods[1:1].pod}", "", id="an empty slice"),
        pytest.param("{.empty[*].x}", "", id="an empty list"),
        pytest.param(r"{.pods[0].labels.k8s\.io/app}", "web", id="an escaped dot"),
        pytest.param("{.stats.*}", "3 1", id="all fields"),
        pytest.param("{..plugin}", "Fit Taints", id="wherever it is"),
        pytest.param("{..failures[0].plugin}", "Fit", id="further down from there"),
        pytest.param("{...plugin}", "Fit Taints", id="descent, dot, field"),
        pytest.param('{.pods[?(@.result=="scheduled")].pod}', "shop/web dev/job", id="filter"),
        pytest.param("{.pods[?(@.result=='scheduled')].pod}", "shop/web dev/job", id="filter in single quotes"),
        pytest.param('{.pods[?(@.result!="scheduled")].pod}', "shop/db", id="filter by what it is not"),
        pytest.param("{.pods[?(@.tried>2)].pod}", "shop/web shop/db", id="filter by number"),
        pytest.param("{.pods[?(@.tried<=3)].pod}", "shop/web dev/job", id="filter by bound"),
        pytest.param("{.pods[?(@.tried<1.5)].pod}", "dev/job", id="filter by fraction"),
        pytest.param("{.pods[?(@.ok==true)].pod}", "dev/job", id="filter by truth"),
        pytest.param("{.pods[?(@.pod[0])].pod}", "", id="filter by a path that does not fit"),
        pytest.param("{.pods[?(@.failures)].pod}", "shop/db", id="filter by being there"),
        pytest.param("{.pods[?(@.failures[0].nodes==2)].pod}", "shop/db", id="a path within a filter, where it is"),
        pytest.param("{.pods[?(@.node==@.node)].node}", "n1 n2", id="a path on both sides"),
        pytest.param('{.pods[?(@.pod==")]")].pod}', "", id="brackets within quotes"),
        pytest.param('{.pods[?(@..plugin)].pod}', "shop/db", id="descent within a filter"),
        pytest.param('{range .pods[*]}{.pod}{"\\n"}{end}', "shop/web\nshop/db\ndev/job\n", id="range"),
        pytest.param("{range .pods[*]}{.pod}={.node};{end}done", "shop/web=n1;shop/db=;dev/job=n2;done", id="range and after it"),
        pytest.param("{range .pods[*]}[{range .failures[*]}{.plugin},{end}]{end}", "[][Fit,Taints,][]", id="range in range"),
        pytest.param("{range .empty[*]}{.x}{end}-", "-", id="range over nothing"),
        pytest.param('{range .pods[*]}{.pod}{" "}', "shop/web shop/db dev/job ", id="range without an end"),
        pytest.param('{range .pods[?(@.ok)]}{@.pod}{end}', "dev/job", id="range over a filter"),
        pytest.param('{"{"}{.kind}{"}"}', "{Simulation}", id="braces in quotes"),
        pytest.param(r'{"a\tb\\\"\u00e9\x41"}', 'a\tb\\"éA', id="escapes"),
        pytest.param(r'{"\101\u0042"}', "AB", id="escapes by number"),
        pytest.param("{..failures[1].plugin}", "Taints", id="further down from there, the second"),
        pytest.param("{'it\\'s'}", "it's", id="single quotes"),
        pytest.param("{3}", "3", id="a number"),
    ],
)  # fmt: skip
def test_templates(template: str, expected: str) -> None:
    assert JSONPath(template).render(DOC) == expected


def test_descent_leaves_out_what_is_empty_and_numbers() -> None:
    document = {"a": {"n": 1}, "b": "x", "c": {}, "d": [True, 2], "e": ""}
    assert JSONPath("{..}").find(document) == [document, {"n": 1}, "x", [True, 2]]
    assert JSONPath("{..n}").render(document) == "1"


@pytest.mark.parametrize("template", ["{}", "{ }", "{@}", "{$}"])
def test_a_template_without_steps_is_the_whole_document(template: str) -> None:
    assert json.loads(JSONPath(template).render(DOC)) == DOC


@pytest.mark.parametrize(
    ("template", "message"),
    [
        pytest.param("{.kind", "unclosed action", id="no closing brace"),
        pytest.param("{.a\n}", "unclosed action", id="a line break within"),
        pytest.param("{kind}", "unrecognized identifier kind: a field begins with a dot, as in {.kind}", id="no dot"),
        pytest.param("{end}", "not in range, nothing to end", id="end without range"),
        pytest.param("{range .a}{end}{end}", "not in range, nothing to end", id="one end too many"),
        pytest.param("{.....a}", "invalid multiple recursive descent", id="descent twice"),
        pytest.param("{.a.....b}", "invalid multiple recursive descent", id="descent twice, further down"),
        pytest.param("{.pods[}", "unterminated array", id="no closing bracket"),
        pytest.param("{.pods[x]}", "invalid array index x", id="an index that is none"),
        pytest.param("{.pods[]}", "invalid array index", id="no index"),
        pytest.param("{.pods[-]}", "array index - is not a number", id="a minus alone"),
        pytest.param("{.pods[?(@.a==1]}", "unterminated filter", id="a filter without its bracket"),
        pytest.param("{.pods[?(@.a==1)}", "unclosed array expect ]", id="a filter without the outer bracket"),
        pytest.param("{.pods[?(@.a<>1)]}", "unrecognized filter operator <>", id="no such operator"),
        pytest.param('{"x}', "unterminated quoted string", id="an open quote"),
        pytest.param(r'{"\x4"}', r"invalid syntax: \x", id="half an escape"),
        pytest.param(r'{"\q"}', r"invalid syntax: \q", id="no such escape"),
        pytest.param("{1.2.3}", "cannot parse number 1.2.3", id="no number"),
        pytest.param("{#}", "unrecognized character in action: '#'", id="no such character"),
        pytest.param("{²}", "unrecognized character in action: '²'", id="a digit of another script"),
    ],
)
def test_templates_that_mean_nothing(template: str, message: str) -> None:
    with pytest.raises(TemplateError) as raised:
        JSONPath(template)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        pytest.param("{.kind[0]}", "string is not array or slice", id="an index into a word"),
        pytest.param("{.stats[0]}", "map is not array or slice", id="an index into an object"),
        pytest.param("{.pods[7]}", "array index out of bounds: index 7, length 3", id="beyond the end"),
        pytest.param("{.pods[0:9]}", "array index out of bounds: index 8, length 3", id="a slice beyond the end"),
        pytest.param("{.pods[3:1]}", "array index out of bounds: index 3, length 3", id="a slice that begins at the end"),
        pytest.param("{.pods[-4:1]}", "array index out of bounds: index -1, length 3", id="a slice from before the first"),
        pytest.param("{.pods[0:-4]}", "array index out of bounds: index -2, length 3", id="a slice to before the first"),
        pytest.param("{.pods[2:0]}", "starting index 2 is greater than ending index 0", id="a slice that ends before the first"),
        pytest.param("{.pods[2:1]}", "starting index 2 is greater than ending index 1", id="a slice the wrong way"),
        pytest.param("{.pods[0:2:0]}", "step must be > 0", id="a step of nothing"),
        pytest.param("{.kind[?(@.a)]}", "string is not array or slice and cannot be filtered", id="a filter of a word"),
        pytest.param('{.pods[?(@.tried=="3")]}', "incompatible types for comparison: number and string", id="a number and a word"),
        pytest.param("{.pods[?(@.ok<true)]}", "invalid type for comparison: bool", id="less than true"),
        pytest.param("{.pods[?(@.failures[*].nodes==1)]}", "can only compare one element at a time", id="two at once"),
        pytest.param("{.pods[?(@.*==1)]}", "can only compare one element at a time", id="many at once"),
    ],
)  # fmt: skip
def test_templates_that_do_not_fit_the_document(template: str, message: str) -> None:
    with pytest.raises(TemplateError) as raised:
        JSONPath(template).render(DOC)
    assert message in str(raised.value)


def test_custom_columns() -> None:
    columns = CustomColumns(r"POD:.pod,ON:{.node},APP:labels.k8s\.io/app,FAILS:{failures[*].plugin},STATS:share")
    assert columns.render(DOC).splitlines() == [
        "POD        ON       APP      FAILS        STATS",
        "shop/web   n1       web      <none>       0.5",
        "shop/db    <none>   <none>   Fit,Taints   <none>",
        "dev/job    n2       <none>   <none>       <none>",
    ]
    assert columns.render(DOC, headers=False).splitlines()[0].startswith("shop/web")


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param([{"a": 1}, {"a": 2}], "1\n2\n", id="a list is its rows"),
        pytest.param({"a": 3}, "3\n", id="an object without a list is a row"),
        pytest.param({"rows": [], "a": 4}, "", id="no rows"),
        pytest.param([{"a": "x\x1b[31m"}], "x^[[31m\n", id="control characters are shown, not obeyed"),
    ],
)
def test_rows(document: Any, expected: str) -> None:
    assert CustomColumns("A:a").render(document, headers=False) == expected


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param("", "custom-columns format specified but no custom columns given", id="nothing"),
        pytest.param("POD", "unexpected custom-columns spec: POD, expected <header>:<json-path-expr>", id="no path"),
        pytest.param("POD:{.a}{.b}", "unexpected path string {.a}{.b}", id="two paths"),
        pytest.param("POD:.a[", "unterminated array", id="no path at all"),
    ],
)
def test_columns_that_mean_nothing(spec: str, message: str) -> None:
    with pytest.raises(TemplateError) as raised:
        CustomColumns(spec)
    assert message in str(raised.value)
