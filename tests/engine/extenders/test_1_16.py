"""What 1.16 made of the answers of extenders."""

from __future__ import annotations

from typing import Any

from tests.builders import make_node, make_pod
from tests.engine.extenders.runs import NODES, extender, node_of, only, scheduler_with
from tests.engine.extenders.service import Service

OLD = {"version": "1.16"}
NEW_YEAR = "2026-01-01T00:00:00Z"


def cluster() -> tuple[list[Any], list[Any]]:
    """Three nodes with a weak pod each, and one that may have their place."""
    nodes = [make_node(name).obj() for name in NODES]
    pods = [make_pod(f"run-{each}").uid(f"uid-{each}").on(each).started(NEW_YEAR).obj() for each in NODES]
    return nodes, [*pods, make_pod("new").uid("uid-new").priority(9).obj()]


def test_scores_are_no_larger_than_those_of_priorities() -> None:
    scoring = {"filterVerb": "", "prioritizeVerb": "prioritize", "weight": 5}
    with Service({"prioritize": [{"host": "b", "score": 7}]}) as service:
        scheduler = scheduler_with([extender(service.url, **scoring)], **OLD)
        decision = only(scheduler)
        assert decision.scores is not None
        assert decision.scores.normalized[service.url].tolist() == [0, 7, 0]
        assert decision.scores.weighted[service.url].tolist() == [0, 35, 0]
        assert node_of(scheduler, decision) == "b"


def test_a_node_that_it_left_out_may_be_taken_without_victims() -> None:
    """The dry run does not ask it, and finds room."""
    with Service({"filter": {"nodenames": [], "failedNodes": {"a": "not a"}}}) as service:
        decision = only(scheduler_with([extender(service.url)], *cluster(), **OLD))
    assert decision.message == "0/3 nodes are available: 1 not a."
    assert decision.preemption is not None
    assert (decision.nominated_node, decision.preemption.victims) == ("a", ())


def test_it_may_leave_a_candidate_without_victims() -> None:
    answers = {
        "filter": {"nodenames": []},
        "preempt": {"nodeNameToMetaVictims": {"b": {"pods": []}, "c": {"pods": [{"uid": "uid-c"}]}}},
    }
    with Service(answers) as service:
        decision = only(scheduler_with([extender(service.url, preemptVerb="preempt")], *cluster(), **OLD))
    assert decision.preemption is not None
    assert (decision.nominated_node, decision.preemption.victims) == ("b", ())


def test_it_may_come_back_with_any_node_of_the_cluster() -> None:
    nodes, pods = cluster()
    nodes.append(make_node("cordoned").cordoned().obj())
    with Service({"filter": {"nodenames": ["cordoned"]}}) as service:
        scheduler = scheduler_with([extender(service.url)], nodes, pods, **OLD)
        assert node_of(scheduler, only(scheduler)) == "cordoned"
    with Service({"filter": {"nodenames": ["ghost"]}}) as service:
        decision = only(scheduler_with([extender(service.url)], nodes, pods, **OLD))
        assert decision.message.endswith('claims a filtered node "ghost" which is not found in nodeNameToInfo map')
