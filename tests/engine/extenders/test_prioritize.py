"""Scores of extenders (prioritizeNodes)."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.engine.decision import Decision
from ksched_cli.engine.scheduler import Scheduler
from tests.builders import make_node, make_pod
from tests.engine.extenders.runs import extender, node_of, only, run, scheduler_with
from tests.engine.extenders.service import Raw, Service, keep, named

SCORING = {"filterVerb": "", "prioritizeVerb": "prioritize", "weight": 1}


def scored(scheduler: Scheduler, decision: Decision, by: str) -> dict[str, list[int]]:
    """Node to raw, normalised and weighted score."""
    table = decision.scores
    assert table is not None
    columns = (table.raw[by], table.normalized[by], table.weighted[by])
    names = scheduler.cluster.nodes.names
    return {names[row]: [int(column[at]) for column in columns] for at, row in enumerate(table.rows)}


@pytest.mark.parametrize("cached", [pytest.param(True, id="names"), pytest.param(False, id="whole nodes")])
def test_weight_and_scale(cached: bool) -> None:
    """Extenders score up to 10 and plugins up to 100: the one is brought to the other."""
    answer = [{"host": "a", "score": 1}, {"Host": "c", "Score": 10}]
    with Service({"prioritize": answer}) as service:
        scheduler = scheduler_with([extender(service.url, cached=cached, **{**SCORING, "weight": 5})])
        decision = only(scheduler)
        assert scored(scheduler, decision, service.url) == {"a": [1, 10, 50], "b": [0, 0, 0], "c": [10, 100, 500]}
        assert node_of(scheduler, decision) == "c"
        assert sorted(named(service.bodies("prioritize")[0])) == ["a", "b", "c"]
        assert decision.scores is not None
        others = sum(int(column[0]) for name, column in decision.scores.weighted.items() if name != service.url)
        assert decision.scores.totals.tolist() == [others + 50, others, others + 500]


@pytest.mark.parametrize(
    ("answer", "raw"),
    [
        pytest.param([{"host": "b", "score": 3}, {"host": "b", "score": 4}], {"b": 7}, id="twice the same"),
        pytest.param([{"host": "ghost", "score": 9}, {"host": "a", "score": 2}], {"a": 2}, id="an unknown node"),
        pytest.param([{"host": "a", "score": -3}, {"host": "b", "score": 99}], {"a": -3, "b": 99}, id="out of range"),
        pytest.param([{"host": "a"}], {}, id="no score"),
        pytest.param([], {}, id="no scores"),
        pytest.param(None, {}, id="null"),
    ],
)
def test_odd_answers_count_as_in_go(answer: Any, raw: dict[str, int]) -> None:
    with Service({"prioritize": answer}) as service:
        scheduler = scheduler_with([extender(service.url, **SCORING)])
        found = scored(scheduler, only(scheduler), service.url)
    assert {name: each[0] for name, each in found.items()} == {"a": 0, "b": 0, "c": 0, **raw}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        pytest.param([{"host": "a", "score": 1.5}], "scores[0].score: expected a whole number", id="a fraction"),
        pytest.param({"a": 1}, "scores: expected a list, got an object", id="not a list"),
        pytest.param([{"host": "a", "score": 2**63}], "scores[0].score", id="beyond int64"),
    ],
)
@pytest.mark.parametrize("ignorable", [True, False])
def test_one_that_fails_has_no_say_and_that_is_told(answer: Any, error: str, ignorable: bool) -> None:
    with Service({"prioritize": answer}) as service:
        scheduler = scheduler_with([extender(service.url, ignorable=ignorable, **SCORING)])
        decision = only(scheduler)
        assert decision.result == "scheduled"
        assert decision.scores is not None
        assert service.url not in decision.scores.raw
        assert scheduler.extenders is not None
        (told,) = scheduler.extenders.report()
        (failure,) = told["passedOver"]
        assert (failure["verb"], failure["times"]) == ("prioritize", 1)
        assert error in failure["error"]


def test_a_single_node_is_not_scored() -> None:
    with Service({"filter": keep("b"), "prioritize": []}) as service:
        only(scheduler_with([extender(service.url, **{**SCORING, "filterVerb": "filter"})]))
        assert not service.bodies("prioritize")


def test_extenders_of_one_name_are_told_apart() -> None:
    """One that fails and one that has no verb for scores are skipped, and do not count."""
    answers = {verb: [{"host": "a", "score": score}] for score, verb in enumerate(("one", "two", "three"), 1)}
    with Service({"broken": Raw(b""), **answers}) as service:
        chain = [extender(service.url, **{**SCORING, "prioritizeVerb": verb}) for verb in ("broken", "", *answers)]
        scheduler = scheduler_with(chain)
        decision = only(scheduler)
        assert scored(scheduler, decision, service.url)["a"][0] == 1
        assert scored(scheduler, decision, f"{service.url} (2)")["a"][0] == 2
        assert scored(scheduler, decision, f"{service.url} (3)")["a"][0] == 3


class TestNodesThatCameBack:
    """kube-scheduler 1.36 scores the node objects that an extender sent back, and these hold neither pods nor images.
    One with nodes of its own names them, and they are scored as they are."""

    NODES = (
        make_node("a").allocatable(cpu="4", memory="4Gi", pods="9").image(900_000_000, "registry.local/app:v1"),
        make_node("b").allocatable(cpu="4", memory="4Gi", pods="9"),
    )
    RUNNING = make_pod("r").requests(cpu="3", memory="3Gi").label(app="web").on("a")

    def scores(self, cached: bool, pod: Any, **options: Any) -> dict[str, list[int]]:
        with Service({"filter": keep("a", "b")}) as service:
            nodes = [node.obj() for node in self.NODES]
            pods = [self.RUNNING.obj(), pod.obj()]
            scheduler = scheduler_with([extender(service.url, cached=cached)], nodes, pods, **options)
            table = run(scheduler)["p"].scores
        assert table is not None
        return {plugin: column.tolist() for plugin, column in table.raw.items()}

    POD = make_pod("p").requests(cpu="1", memory="1Gi")

    def test_they_count_as_empty(self) -> None:
        named, returned = self.scores(True, self.POD), self.scores(False, self.POD)
        assert named["NodeResourcesFit"] == [0, 75]
        assert returned["NodeResourcesFit"] == [75, 75]
        assert named["ImageLocality"][0] > 0
        assert returned["ImageLocality"] == [0, 0]

    def test_before_1_33_plugins_looked_nodes_up_by_name(self) -> None:
        scores = self.scores(False, self.POD, version="1.32")
        assert scores["NodeResourcesFit"] == [0, 75]
        assert scores["ImageLocality"][0] > 0

    def test_pods_of_a_host_are_not_counted_those_of_a_zone_are(self) -> None:
        constraint = {
            "maxSkew": 1,
            "whenUnsatisfiable": "ScheduleAnyway",
            "topologyKey": "kubernetes.io/hostname",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
        pod = make_pod("p").label(app="web").spec(topologySpreadConstraints=[constraint])
        assert self.scores(True, pod)["PodTopologySpread"] == [1, 0]
        assert self.scores(False, pod)["PodTopologySpread"] == [0, 0]

    @pytest.mark.parametrize(
        ("labels", "reported"),
        [
            pytest.param({"colour": "blue"}, {"changedNodes": 1}, id="a new label on the first node"),
            pytest.param({}, {}, id="as they were sent"),
        ],
    )
    def test_a_change_to_a_node_is_not_followed_but_told(
        self, labels: dict[str, str], reported: dict[str, int]
    ) -> None:
        def answer(asked: dict[str, Any]) -> dict[str, Any]:
            (a, *_) = items = asked["Nodes"]["items"]
            a["metadata"]["labels"] |= labels
            return {"nodes": {"items": items}}

        with Service({"filter": answer}) as service:
            scheduler = scheduler_with([extender(service.url, cached=False)])
            only(scheduler)
            assert scheduler.extenders is not None
            assert scheduler.extenders.report() == [{"extender": service.url, "calls": {"filter": 1}, **reported}]
