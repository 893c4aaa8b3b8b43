from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from ksched_cli.api.core import NodeAffinityTerms as NodeAffinitySpec
from ksched_cli.api.selectors import compile_node_selector_term
from ksched_cli.config.plugin_args import NodeAffinityArgs
from ksched_cli.framework.interfaces import PreFilterResult
from ksched_cli.framework.status import Status
from ksched_cli.plugins.node_affinity import NodeAffinity, NodeAffinityReasons
from tests.builders import PodBuilder, make_node, make_pod, term
from tests.clusters import clusters
from tests.harness import make_bench
from tests.lanes import examples

POD = ("UnschedulableAndUnresolvable", ("node(s) didn't match Pod's node affinity/selector",))
ENFORCED = ("UnschedulableAndUnresolvable", ("node(s) didn't match scheduler-enforced node affinity",))


def added(**affinity: Any) -> NodeAffinityArgs:
    import msgspec

    return NodeAffinityArgs(added_affinity=msgspec.convert(affinity, NodeAffinitySpec))


@pytest.mark.parametrize(
    ("wish", "matches"),
    [
        pytest.param(term(("gen", "In", ["4", "5"])), True, id="In"),
        pytest.param(term(("gen", "In", ["6"])), False, id="In other values"),
        pytest.param(term(("gen", "NotIn", ["6"])), True, id="NotIn"),
        pytest.param(term(("none", "NotIn", ["6"])), True, id="NotIn of an absent label"),
        pytest.param(term(("gen", "Exists", [])), True, id="Exists"),
        pytest.param(term(("none", "Exists", [])), False, id="Exists of an absent label"),
        pytest.param(term(("none", "DoesNotExist", [])), True, id="DoesNotExist"),
        pytest.param(term(("gen", "Gt", ["4"])), True, id="Gt"),
        pytest.param(term(("gen", "Gt", ["5"])), False, id="Gt is strict"),
        pytest.param(term(("gen", "Lt", ["10"])), True, id="Lt compares numbers and not text"),
        pytest.param(term(("disk", "Gt", ["4"])), False, id="Gt of text"),
        pytest.param(term(("gen", "Gt", ["x"])), False, id="a term that cannot be compiled"),
        pytest.param(term(("gen", "In", [])), False, id="In without values"),
        pytest.param(term(("gen", "In", ["5"]), ("disk", "In", ["hdd"])), False, id="all expressions must hold"),
        pytest.param(term(fields=(("metadata.name", "In", ["n"]),)), True, id="field"),
        pytest.param(term(fields=(("metadata.name", "NotIn", ["n"]),)), False, id="field NotIn"),
        pytest.param(term(), False, id="an empty term matches nothing"),
    ],
)
def test_required_terms(wish: dict[str, Any], matches: bool) -> None:
    node = make_node("n").label(gen="5", disk="ssd").obj()
    statuses = make_bench(NodeAffinity, [node], make_pod().node_affinity(wish).obj()).statuses()
    assert statuses == ({} if matches else {"n": POD})


def test_terms_are_alternatives_and_the_selector_holds_besides() -> None:
    nodes = [make_node("a").label(x="1", y="1").obj(), make_node("b").label(x="2", y="1").obj(), make_node("c").obj()]
    wishes = term(("x", "In", ["1"])), term(("x", "In", ["2"]))
    made = make_bench(NodeAffinity, nodes, make_pod().node_affinity(*wishes).selector(y="1").obj())
    assert made.statuses() == {"c": POD}


ELSEWHERE = term(fields=(("metadata.name", "In", ["m"]),))
FITTING, UNFITTING = term(("gen", "In", ["5"])), term(("gen", "In", ["6"]))


@pytest.mark.parametrize(
    ("terms", "matches"),
    [
        pytest.param([ELSEWHERE, FITTING], True, id="of two terms the labels match"),
        pytest.param([ELSEWHERE, UNFITTING], False, id="of two terms neither matches"),
        pytest.param([term(("gen", "Gt", ["x"])), FITTING], True, id="of two terms one cannot be compiled"),
        pytest.param(
            [term(("gen", "In", ["5"]), fields=(("metadata.name", "In", ["m"]),))],
            False,
            id="in one term the name does not match",
        ),
        pytest.param(
            [term(("gen", "In", ["5"]), fields=(("metadata.name", "In", ["n"]),))], True, id="in one term both match"
        ),
        pytest.param(
            [term(("gen", "In", ["6"]), fields=(("metadata.name", "In", ["n"]),))],
            False,
            id="in one term the labels do not match",
        ),
        pytest.param([], False, id="no term at all matches nothing"),
    ],
)
@pytest.mark.parametrize("pre_filter", [True, False], ids=["after PreFilter", "without PreFilter"])
def test_names_and_labels_in_terms(terms: list[Any], matches: bool, pre_filter: bool) -> None:
    nodes = [make_node("n").label(gen="5").obj()]
    made = make_bench(NodeAffinity, nodes, make_pod().node_affinity(*terms).obj())
    verdict = made.plugin.filter(made.state() if pre_filter else None, made.pod, made.nodes())
    assert verdict.passed.tolist() == [matches]


@pytest.mark.parametrize(
    ("affinity", "selector", "matches"),
    [
        pytest.param({}, {}, True, id="an affinity that says nothing"),
        pytest.param({"nodeAffinity": {}}, {}, True, id="a node affinity that says nothing"),
        pytest.param({}, {"gen": "5"}, True, id="the selector's label"),
        pytest.param({}, {"gen": "5", "disk": "ssd"}, False, id="a label of the selector is missing"),
    ],
)
def test_a_selector_is_read_without_pre_filter_too(
    affinity: dict[str, Any], selector: dict[str, str], matches: bool
) -> None:
    pod = make_pod().spec(affinity=affinity, nodeSelector=selector).obj()
    made = make_bench(NodeAffinity, [make_node("n").label(gen="5", more="x").obj()], pod)
    assert made.plugin.filter(None, made.pod, made.nodes()).passed.tolist() == [matches]


def test_preferences_count_without_pre_score_too() -> None:
    nodes = [make_node("n").label(gen="5").obj(), make_node("m").obj()]
    made = make_bench(NodeAffinity, nodes, make_pod().prefers(7, FITTING).prefers(2, UNFITTING).obj())
    assert made.plugin.score(None, made.pod, made.nodes()).tolist() == [7, 0]
    broken = make_bench(NodeAffinity, nodes, make_pod().prefers(7, term(("gen", "Gt", ["x"]))).obj())
    assert broken.plugin.score(None, broken.pod, broken.nodes()).code.go_name == "Error"


@pytest.mark.parametrize(
    ("terms", "names"),
    [
        pytest.param([term(fields=(("metadata.name", "In", ["a"]),))], {"a"}, id="one name"),
        pytest.param(
            [term(fields=(("metadata.name", "In", ["a"]),)), term(fields=(("metadata.name", "In", ["b"]),))],
            {"a", "b"},
            id="either",
        ),
        pytest.param(
            [term(fields=(("metadata.name", "In", ["a"]),)), term(("x", "Exists", []))], None, id="an open term"
        ),
        pytest.param([term(fields=(("metadata.name", "NotIn", ["a"]),))], None, id="all but one name"),
    ],
)
def test_pre_filter_narrows_to_named_nodes(terms: list[Any], names: set[str] | None) -> None:
    answer = make_bench(NodeAffinity, [make_node("a").obj()], make_pod().node_affinity(*terms).obj()).pre_filter()
    assert isinstance(answer, PreFilterResult)
    assert answer.node_names == names


def test_conflicting_names_reject_the_pod() -> None:
    fields = (("metadata.name", "In", ["a"]), ("metadata.name", "In", ["b"]))
    answer = make_bench(NodeAffinity, [make_node("a").obj()], make_pod().node_affinity(term(fields=fields)).obj())
    assert answer.pre_filter().texts == ("pod affinity terms conflict",)


ONE, OTHER = term(("x", "Exists", [])), term(("y", "Exists", []))
AFFINITY = ("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
SELECTOR = ("spec", "nodeSelector")


@pytest.mark.parametrize(
    ("pod", "unmet", "path"),
    [
        pytest.param(make_pod().node_affinity(ONE), [], (*AFFINITY, 0), id="one term"),
        pytest.param(make_pod().node_affinity(ONE, OTHER), [], AFFINITY, id="two terms"),
        pytest.param(make_pod().selector(z="1"), [], SELECTOR, id="a selector alone"),
        pytest.param(make_pod().selector(z="1").node_affinity(ONE), [], (*AFFINITY, 0), id="the selector is met"),
        pytest.param(make_pod().selector(z="1").node_affinity(ONE), ["z"], (*SELECTOR, "z"), id="it is not met"),
        pytest.param(make_pod(), [], AFFINITY, id="neither"),
    ],
)
def test_the_field_of_an_affinity(pod: PodBuilder, unmet: list[str], path: tuple[str | int, ...]) -> None:
    field = NodeAffinityReasons.unmatched.field
    assert field is not None
    assert field(pod.obj(), (), {"nodeSelector": [{"key": each} for each in unmet]}) == path


def test_skips_a_pod_without_wishes() -> None:
    assert make_bench(NodeAffinity, [make_node().obj()], make_pod().obj()).pre_filter().skipped


def test_added_affinity_comes_before_the_pods_own() -> None:
    nodes = [
        make_node("a").label(x="1").obj(),
        make_node("b").label(x="2").obj(),
        make_node("c").label(x="1", y="1").obj(),
    ]
    args = added(requiredDuringSchedulingIgnoredDuringExecution={"nodeSelectorTerms": [term(("x", "In", ["1"]))]})
    made = make_bench(NodeAffinity, nodes, make_pod().selector(y="1").obj(), args=args)
    assert made.statuses() == {"a": POD, "b": ENFORCED}


def test_added_preferences_add_up_with_the_pods() -> None:
    nodes = [make_node("a").label(x="1").obj(), make_node("b").label(x="1", y="1").obj(), make_node("c").obj()]
    args = added(
        preferredDuringSchedulingIgnoredDuringExecution=[{"weight": 10, "preference": term(("x", "In", ["1"]))}]
    )
    made = make_bench(NodeAffinity, nodes, make_pod().prefers(30, term(("y", "Exists", []))).obj(), args=args)
    assert made.scores() == {"a": 10, "b": 40, "c": 0}
    assert made.scores(normalized=True) == {"a": 25, "b": 100, "c": 0}


def test_a_preference_that_cannot_be_compiled_ends_the_cycle() -> None:
    pod = make_pod().prefers(1, term(("x", "Gt", ["many"]))).obj()
    answer = make_bench(NodeAffinity, [make_node().obj()], pod).scores()
    assert isinstance(answer, Status)
    assert (answer.code.go_name, answer.message) == (
        "Error",
        '[0].matchExpressions[0].values[0]: Invalid value: "many": '
        "for 'Gt', 'Lt' operators, the value must be an integer",
    )


@pytest.mark.slow
@given(clusters())
@settings(max_examples=examples(150), deadline=None)
def test_agrees_with_the_plain_reading(drawn: Any) -> None:
    nodes, running, pod = drawn
    made = make_bench(NodeAffinity, nodes, pod, running)
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    preferred = affinity.preferred_during_scheduling_ignored_during_execution if affinity else ()
    rejected, scores = set(), {}
    for node in nodes:
        labels, name = node.metadata.labels, node.metadata.name
        matches = all(labels.get(key) == value for key, value in pod.spec.node_selector.items())
        if required is not None:
            matches &= any(compiled_matches(each, labels, name) for each in required.node_selector_terms)
        if not matches:
            rejected.add(name)
        scores[name] = sum(each.weight for each in preferred if compiled_matches(each.preference, labels, name))
    assert set(made.statuses()) == rejected
    if preferred:
        assert made.scores() == scores


def compiled_matches(wish: Any, labels: dict[str, str], name: str) -> bool:
    compiled = compile_node_selector_term(wish)
    return compiled is not None and compiled.matches_node(labels, name)
