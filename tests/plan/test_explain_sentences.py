"""The sentences of an explanation, from results of each kind."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.plan.explain.results import (
    ExplainedNode,
    Explanation,
    Margin,
    PluginAnswer,
    QueuePlace,
    explanation_notes,
    summarise,
)
from ksched_cli.plan.results.nodes import Failure, Score, ScoredNode
from ksched_cli.plan.results.outcomes import PodOutcome, Preemption

TOP = (ScoredNode("n1", 90, {"A": Score(1, 1, 90)}), ScoredNode("n2", 60, {}))


def outcome(result: str, feasible: int = 0, total: int = 3, **more: Any) -> PodOutcome:
    return PodOutcome("p", result, feasible_nodes=feasible, total_nodes=total, **more)


def found(outcome: PodOutcome | None = None, standing: str = "pending", **more: Any) -> Explanation:
    return Explanation("p", standing, outcome=outcome, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("explanation", "sentences"),
    [
        pytest.param(found(standing="ignored", scheduler="x"), ['No profile is named "x", so this scheduler leaves the pod alone; the profile is a.'], id="of another scheduler"),
        pytest.param(found(outcome("skipped")), ["It is being deleted, so it is not tried."], id="being deleted"),
        pytest.param(found(outcome("error", message="m")), ["Its cycle ends in an error: m"], id="error"),
        pytest.param(found(outcome("unschedulable", nominated_node="n1")), ["It waits for n1 until other pods of its group have a place."], id="waits for its group"),
        pytest.param(
            found(outcome("unschedulable", nominated_node="n1", preemption=Preemption("n1", ("a", "b"), 0))),
            ["No node fits as things are. On n1 it fits when a, b leave: it preempts those pods and waits. There are no nodes."],
            id="preempts two",
        ),
        pytest.param(
            found(outcome("unschedulable", nominated_node="n1", preemption=Preemption("n1", ("a",), 0))),
            ["No node fits as things are. On n1 it fits when a leaves: it preempts that pod and waits. There are no nodes."],
            id="preempts one",
        ),
        pytest.param(
            found(outcome("unschedulable", nominated_node="n1", preemption=Preemption("n1", tuple("abcdef"), 0))),
            ["No node fits as things are. On n1 it fits when a, b, c, d, e and 1 more leave: it preempts those pods and waits. There are no nodes."],
            id="preempts six",
        ),
        pytest.param(
            found(outcome("scheduled", 1, node="n1"), nodes=(ExplainedNode("n1", ()), ExplainedNode("n2", ()))),
            ["It goes to n1, the first that fits: the others of 2 nodes that fit are not asked."],
            id="the first that fits",
        ),
        pytest.param(
            found(outcome("scheduled", 1, node="n1"), nominated="n1", nodes=(ExplainedNode("n1", ()), ExplainedNode("n2", ()))),
            ["It goes to n1, which an earlier preemption nominated it to: the others of 2 nodes that fit are not asked."],
            id="nominated",
        ),
        pytest.param(found(outcome("scheduled", 1, node="n1")), ["It goes to n1, the only one of 3 nodes that fits."], id="the only node"),
        pytest.param(found(outcome("scheduled", 1, 1, node="n1")), ["It goes to n1, the only one of 1 node that fits."], id="of one"),
        pytest.param(found(outcome("scheduled", 3, node="n1")), ["It goes to n1, the best of the 3 nodes that fit."], id="all fit"),
        pytest.param(found(outcome("scheduled", 2, node="n1")), ["It goes to n1, the best of the 2 nodes that fit (of 3)."], id="two of three fit"),
        pytest.param(
            found(outcome("scheduled", 2, node="n1", top=TOP), runner_up=Margin("n2", 30, {"B": -5, "A": 35})),
            ["It goes to n1, the best of the 2 nodes that fit (of 3): its score of 90 is 30 more than that of n2, most of it by A (+35)."],
            id="by a margin",
        ),
        pytest.param(
            found(outcome("scheduled", 2, node="n1", top=TOP, ties=("n1", "n2")), runner_up=Margin("n2", 0, {})),
            ["It goes to n1, the best of the 2 nodes that fit (of 3): its score of 90 is also that of n2."],
            id="by a tie",
        ),
        pytest.param(
            found(outcome("scheduled", 1, node="n1"), "running", node="n1"),
            ["It runs on n1. Were it pending now, alone and with its place given back:", "It goes to n1 again, the only one of 3 nodes that fits."],
            id="runs",
        ),
        pytest.param(
            found(outcome("scheduled", 1, node="n2"), "running", node="n1", waiting=("a", "b")),
            ["It is bound to n1 and does not run there: a; b. Were it pending now, alone and with its place given back:", "It goes to n2, the only one of 3 nodes that fits."],
            id="is bound and does not run",
        ),
        pytest.param(
            found(outcome("scheduled", 1, node="n2"), "gated", pre_enqueue=(
                PluginAnswer("Fine", "Success"), PluginAnswer("G", "UnschedulableAndUnresolvable", ("a", "b")), PluginAnswer("H", "Unschedulable", ("c",)))),
            ["Held back and not tried (G: a, b; H: c). Were it let in:", "It goes to n2, the only one of 3 nodes that fits."],
            id="held back",
        ),
        pytest.param(
            found(outcome("unschedulable", pre_filter=Failure("A", "Unschedulable", ("x", "y")))),
            ["No node is even looked at: x, y."],
            id="no answer of a plugin",
        ),
        pytest.param(
            found(outcome("unschedulable", pre_filter=Failure("A", "Unschedulable", ("x",))), pre_filter=(
                PluginAnswer("Skips", "Skip", ("s",)), PluginAnswer("A", "Unschedulable", ("x",)), PluginAnswer("B", "Unschedulable", ("x",)),
                PluginAnswer("C", "Error", ("y", "z")))),
            ["No node is even looked at: x (A, B); y, z (C)."],
            id="plugins that turn it down",
        ),
    ],
)  # fmt: skip
def test_what_came_of_the_pod(explanation: Explanation, sentences: list[str]) -> None:
    assert list(summarise(explanation, ["a"])) == sentences


def test_several_profiles_are_named() -> None:
    (sentence,) = summarise(found(standing="ignored", scheduler="x"), ["a", "b"])
    assert sentence.endswith("profiles are a, b.")


@pytest.mark.parametrize(
    ("position", "pods", "notes"),
    [
        pytest.param(1, 1, [], id="alone"),
        pytest.param(1, 2, ["Tried first of 2 pods in the queue."], id="first"),
        pytest.param(2, 2, ["Tried as number 2 of 2 pods in the queue; the one before it was tried first, as `ksched simulate` does, and 0 found a place."], id="second"),
        pytest.param(3, 4, ["Tried as number 3 of 4 pods in the queue; the 2 before it were tried first, as `ksched simulate` does, and 0 found a place."], id="third"),
    ],
)  # fmt: skip
def test_the_turn_of_the_pod(position: int, pods: int, notes: list[str]) -> None:
    assert list(explanation_notes(found(queue=QueuePlace(position, pods, 0)))) == notes
