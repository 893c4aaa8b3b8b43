"""What is kept from pod to pod changes nothing: every run is the same as one that works all out afresh (--no-reuse)."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.api.core import Pod
from ksched_cli.engine.answers import answers, ranking
from ksched_cli.plan.results.outcomes import PodOutcome
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.plan.simulate import OutputOptions, outcome_of
from ksched_cli.report.registry import RenderOptions, document_of
from tests.builders import make_node, make_pod
from tests.clusters import ZONES, nodes, pods
from tests.harness import make_scheduler, placed
from tests.lanes import examples, sampled
from tests.running import prepare
from tests.test_conformance import CASES

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


@pytest.fixture(params=[(0, 64), (8, 64), (0, 2)], ids=["renewed-always", "as-set", "hardly-anything-kept"])
def limits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """On few nodes everything would be asked afresh, and nothing would be tested."""
    share, kept = request.param
    monkeypatch.setattr(ranking, "_AFRESH_SHARE", share)
    monkeypatch.setattr(ranking, "_KEPT", kept)
    monkeypatch.setattr(answers, "_GROUNDS", kept)


@st.composite
def templates(draw: st.DrawFn) -> list[Pod]:
    """Pods of a few kinds in turn: the second of a kind meets what was found out for the first."""
    kinds = [draw(pods(f"kind-{index}")) for index in range(draw(st.integers(1, 3)))]
    made = []
    for index, kind in enumerate(draw(st.lists(st.sampled_from(range(len(kinds))), min_size=2, max_size=8))):
        pod = copy.deepcopy(kinds[kind])
        pod.metadata.name, pod.metadata.uid = f"new-{index}", f"new-{index}"
        pod.metadata.labels = {"app": f"app-{kind}"}
        made.append(pod)
    return made


def together(app: str, *, apart: bool, key: str) -> Pod:
    rule = [{"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}]
    kind = "podAntiAffinity" if apart else "podAffinity"
    builder = make_pod("x").requests(cpu="100m").label(app=app)
    return builder.spec(affinity={kind: {"requiredDuringSchedulingIgnoredDuringExecution": rule}}).obj()


def spread(app: str, when: str, key: str) -> Pod:
    rule = {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": {"app": app}},
    }
    return make_pod("x").requests(cpu="100m").label(app=app).spec(topologySpreadConstraints=[rule]).obj()


def test_a_score_that_was_skipped_may_count_for_the_next_pod() -> None:
    """No pod prefers others when the first pod comes. Then one on node c prefers to be near pods like it."""
    rule = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": HOST}
    near = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": rule}]}
    fan = make_pod("2-fan").selector(**{HOST: "c"}).spec(affinity={"podAffinity": near})
    pods = [make_pod(name).label(app="x") for name in ("0", "1")] + [fan, make_pod("3").label(app="x")]
    made = [make_node(name).obj() for name in "abcd"]
    found = placed(make_scheduler(made, [pod.obj() for pod in pods]))
    assert [found[f"default/{name}"] for name in ("0", "1", "2-fan", "3")] == ["a", "b", "c", "c"]


@st.composite
def company(draw: st.DrawFn) -> list[Pod]:
    """Pods that go by where the others are."""
    apps = st.sampled_from(("app-0", "app-1"))
    keys = st.sampled_from((HOST, ZONE))
    kind = st.one_of(
        st.builds(together, apps, apart=st.booleans(), key=keys),
        st.builds(spread, apps, st.sampled_from(("DoNotSchedule", "ScheduleAnyway")), keys),
    )
    made = []
    for index, pod in enumerate(draw(st.lists(kind, max_size=5))):
        pod.metadata.name = pod.metadata.uid = f"near-{index}"
        made.append(pod)
    return made


@st.composite
def workloads(draw: st.DrawFn) -> tuple[list[Any], list[Any]]:
    names = [f"n{index}" for index in range(draw(st.integers(2, 8)))]
    made = [draw(nodes(name)) for name in names]
    for node in made:
        node.metadata.labels.update({HOST: node.metadata.name, ZONE: draw(st.sampled_from(ZONES))})
    running = [draw(pods(f"run-{index}", draw(st.sampled_from(names)))) for index in range(draw(st.integers(0, 8)))]
    waiting = [*draw(templates()), *draw(company())]
    draw(st.randoms(use_true_random=False)).shuffle(waiting)
    for index, pod in enumerate(waiting):
        pod.metadata.creation_timestamp = f"2026-01-01T00:00:{index:02d}Z"
    return made, [*running, *waiting]


def outcomes(drawn: tuple[list[Any], list[Any]], *, reuse: bool) -> list[PodOutcome]:
    scheduler = make_scheduler(*copy.deepcopy(drawn), reuse=reuse)
    return [
        outcome_of(decision, scheduler.cluster, OutputOptions(detail=True))
        for decision in scheduler.run(scheduler.enqueue())
    ]


# The limits are the same for all examples of a run, and nothing else outlives one.
@given(workloads())
@settings(max_examples=examples(60), deadline=None)
def check(drawn: tuple[list[Any], list[Any]]) -> None:
    assert outcomes(drawn, reuse=True) == outcomes(drawn, reuse=False)


@pytest.mark.slow
@pytest.mark.usefixtures("limits")
def test_random_workloads_come_out_the_same_with_and_without() -> None:
    check()


def test_a_decision_keeps_its_scores_when_the_next_pod_changes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """BalancedAllocation skips pods without requests: the sum of what follows the pods is the column of one plugin."""
    monkeypatch.setattr(ranking, "_AFRESH_SHARE", 0)
    made = [make_node(f"n{index}").allocatable(cpu="1", memory="500Mi", pods=10).obj() for index in range(3)]
    waiting = [make_pod(f"p{index}").obj() for index in range(6)]
    assert outcomes((made, waiting), reuse=True) == outcomes((made, waiting), reuse=False)


def document(case: Path, *, reuse: bool) -> dict[str, Any]:
    config = case / "config.yaml"
    setup = RunOptions([str(case / "cluster.json")], config=str(config) if config.exists() else None, reuse=reuse)
    made = document_of(prepare(setup).simulate(detail=True), RenderOptions("json"))
    del made["stats"]
    return made


@pytest.mark.slow
@pytest.mark.parametrize("case", sampled(CASES, 30))
def test_a_recorded_case_comes_out_the_same_with_and_without(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "_AFRESH_SHARE", 0)
    assert document(case, reuse=True) == document(case, reuse=False)


def test_what_is_kept_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A filter that only the node itself matters to is asked once for all pods of a kind, and for each without."""
    from ksched_cli.plugins.taint_toleration import TaintToleration

    asked: list[int] = []
    original = TaintToleration.filter

    def counted(self: Any, state: None, pod: Any, rows: Any) -> Any:
        asked.append(len(rows))
        return original(self, state, pod, rows)

    monkeypatch.setattr(TaintToleration, "filter", counted)
    made = [make_node(f"n{index}").allocatable(cpu="4", memory="4Gi", pods=10).obj() for index in range(3)]
    waiting = [make_pod(f"p{index}").requests(cpu="1").obj() for index in range(4)]
    outcomes((made, waiting), reuse=True)
    assert asked == [3]
    asked.clear()
    outcomes((made, waiting), reuse=False)
    assert asked == [3, 3, 3, 3]
