from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from ksched_cli.api.selectors import tolerates
from ksched_cli.plugins.taint_toleration import TaintToleration
from tests.builders import make_node, make_pod
from tests.clusters import clusters
from tests.harness import make_bench
from tests.lanes import examples

REJECTED = ("UnschedulableAndUnresolvable", ("node(s) had untolerated taint(s)",))


@pytest.mark.parametrize(
    ("taints", "tolerations", "rejected"),
    [
        pytest.param([], [], False, id="no taints"),
        pytest.param([("a", "1", "NoSchedule")], [], True, id="no toleration"),
        pytest.param([("a", "1", "NoExecute")], [], True, id="NoExecute keeps pods away too"),
        pytest.param([("a", "1", "PreferNoSchedule")], [], False, id="a soft taint does not reject"),
        pytest.param([("a", "1", "NoSchedule")], [("a", "Equal", "1", "NoSchedule")], False, id="equal"),
        pytest.param([("a", "1", "NoSchedule")], [("a", "", "1", "")], False, id="no operator is Equal"),
        pytest.param([("a", "1", "NoSchedule")], [("a", "Equal", "2", "NoSchedule")], True, id="another value"),
        pytest.param([("a", "1", "NoSchedule")], [("a", "Exists", "", "")], False, id="exists"),
        pytest.param([("a", "1", "NoSchedule")], [("", "Exists", "", "")], False, id="everything"),
        pytest.param([("a", "1", "NoSchedule")], [("a", "Exists", "", "NoExecute")], True, id="another effect"),
        pytest.param(
            [("a", "1", "NoSchedule"), ("b", "", "NoSchedule")], [("a", "Exists", "", "")], True, id="one is left"
        ),
        pytest.param(
            [("a", "1", "NoSchedule"), ("b", "", "NoExecute")],
            [("a", "Equal", "1", "NoSchedule"), ("b", "Exists", "", "NoExecute")],
            False,
            id="each taint has its toleration",
        ),
        pytest.param(
            [("a", "1", "NoSchedule")], [("a", "Equal", "1", "PreferNoSchedule")], True, id="a soft toleration only"
        ),
        pytest.param([("a", "5", "NoSchedule")], [("a", "Gt", "3", "")], True, id="Gt without its gate"),
    ],
)
def test_filter(taints: list[Any], tolerations: list[Any], rejected: bool) -> None:
    node, pod = make_node("n"), make_pod()
    for taint in taints:
        node.taint(*taint)
    for toleration in tolerations:
        pod.toleration(*toleration)
    statuses = make_bench(TaintToleration, [node.obj()], pod.obj()).statuses()
    assert statuses == ({"n": REJECTED} if rejected else {})


@pytest.mark.parametrize(
    ("operator", "limit", "rejected"),
    [
        pytest.param("Gt", "3", False, id="5 is greater than 3"),
        pytest.param("Lt", "3", True, id="5 is not less than 3"),
        pytest.param("Gt", "x", True, id="not a number"),
    ],
)
def test_comparison_operators_with_their_gate(operator: str, limit: str, rejected: bool) -> None:
    node = make_node("n").taint("a", "5").obj()
    pod = make_pod().toleration("a", operator, limit, "").obj()
    made = make_bench(TaintToleration, [node], pod, gates="TaintTolerationComparisonOperators=true")
    assert bool(made.statuses()) is rejected


def test_fewer_soft_taints_score_higher() -> None:
    nodes = [
        make_node("none").obj(),
        make_node("one").taint("a", "", "PreferNoSchedule").obj(),
        make_node("two").taint("a", "", "PreferNoSchedule").taint("b", "", "PreferNoSchedule").obj(),
    ]
    made = make_bench(TaintToleration, nodes, make_pod().obj())
    assert made.scores() == {"none": 0, "one": 1, "two": 2}
    assert made.scores(normalized=True) == {"none": 100, "one": 50, "two": 0}


@pytest.mark.parametrize(
    ("tolerations", "scores"),
    [
        pytest.param(
            [("a", "Exists", "", ""), ("b", "Exists", "", "")],
            {"none": 100, "one": 100, "two": 100, "hard": 100},
            id="how many taints are tolerated does not matter",
        ),
        pytest.param(
            [("a", "Exists", "", "NoSchedule"), ("b", "Exists", "", "NoExecute")],
            {"none": 100, "one": 50, "two": 0, "hard": 100},
            id="hard tolerations do not count, nor do hard taints",
        ),
        pytest.param(
            [("b", "Exists", "", "PreferNoSchedule")],
            {"none": 100, "one": 0, "two": 0, "hard": 100},
            id="the same number of intolerable taints",
        ),
    ],
)
def test_only_soft_taints_and_tolerations_count_for_the_score(tolerations: list[Any], scores: dict[str, int]) -> None:
    nodes = [
        make_node("none").obj(),
        make_node("one").taint("a", "1", "PreferNoSchedule").obj(),
        make_node("two").taint("a", "1", "PreferNoSchedule").taint("b", "", "PreferNoSchedule").obj(),
        make_node("hard").taint("a", "1", "NoSchedule").obj(),
    ]
    pod = make_pod()
    for toleration in tolerations:
        pod.toleration(*toleration)
    assert make_bench(TaintToleration, nodes, pod.obj()).scores(normalized=True) == scores


@pytest.mark.parametrize(
    ("operator", "limit", "scores"),
    [
        pytest.param("Gt", "950", {"low": 0, "high": 100, "text": 0}, id="greater"),
        pytest.param("Lt", "850", {"low": 100, "high": 0, "text": 0}, id="less"),
    ],
)
def test_soft_taints_are_compared_with_the_gate(operator: str, limit: str, scores: dict[str, int]) -> None:
    nodes = [
        make_node(name).taint("level", value, "PreferNoSchedule").obj()
        for name, value in (("low", "800"), ("high", "999"), ("text", "best"))
    ]
    pod = make_pod().toleration("level", operator, limit, "PreferNoSchedule").obj()
    made = make_bench(TaintToleration, nodes, pod, gates="TaintTolerationComparisonOperators=true")
    assert made.scores(normalized=True) == scores


def test_explain_names_the_taint() -> None:
    made = make_bench(TaintToleration, [make_node("n").taint("a", "1").obj()], make_pod().obj())
    assert made.plugin.explain(None, made.pod, made.nodes(), 0) == {"taints": ["a=1:NoSchedule"]}


@given(clusters())
@settings(max_examples=examples(100), deadline=None)
def test_agrees_with_the_plain_reading(drawn: Any) -> None:
    nodes, running, pod = drawn
    made = make_bench(TaintToleration, nodes, pod, running)
    rejected, soft = set(), {}
    for node in nodes:
        untolerated = [
            taint.effect
            for taint in node.spec.taints
            if not any(tolerates(each, taint) for each in pod.spec.tolerations)
        ]
        if {"NoSchedule", "NoExecute"} & set(untolerated):
            rejected.add(node.metadata.name)
        soft[node.metadata.name] = untolerated.count("PreferNoSchedule")
    assert set(made.statuses()) == rejected
    assert made.scores() == soft
