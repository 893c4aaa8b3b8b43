"""Which pods leave, and which node is chosen."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ksched_cli.api.core import PodCondition
from ksched_cli.api.policy import PodDisruptionBudget
from ksched_cli.cluster.cache import Cluster
from ksched_cli.framework.preemption import Candidate, by_importance, pick_one
from tests.builders import make_node, make_pod
from tests.harness import decide, make_scheduler


def pod(name: str, node: str, cpu: str, priority: int = 0, started: str = "2026-01-01T00:00:00Z") -> Any:
    return make_pod(name).requests(cpu=cpu).priority(priority).on(node).started(started).label(app=name).obj()


def budget(app: str, allowed: int, **status: Any) -> PodDisruptionBudget:
    document = {
        "metadata": {"name": app, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": app}}},
        "status": {"disruptionsAllowed": allowed, **status},
    }
    return msgspec.convert(document, PodDisruptionBudget)


def preempt(running: list[Any], wanted: Any, objects: list[Any] | None = None, nodes: list[Any] | None = None) -> Any:
    made = nodes or [make_node(name).obj() for name in sorted({each.spec.node_name for each in running})]
    scheduler = make_scheduler(made, [*running, wanted], objects=objects or [])
    (decision,) = decide(scheduler).values()
    if decision.preemption is None:
        return decision.message
    infos = scheduler.cluster.pods.infos
    done = decision.preemption
    return done.nominated_node, [infos[row].name for row in done.victims], done.pdb_violations


PREEMPTOR = make_pod("new").requests(cpu="2").priority(100)


@pytest.mark.parametrize(
    ("running", "objects", "expected"),
    [
        pytest.param([pod("a", "n", "3")], [], ("n", ["a"], 0), id="the only pod"),
        pytest.param([pod("a", "n", "1"), pod("b", "n", "2")], [], ("n", ["b"], 0), id="who can stay stays"),
        pytest.param(
            [pod("a", "n", "2", 5), pod("b", "n", "2", 1)], [], ("n", ["b"], 0), id="the least important leaves"
        ),
        pytest.param(
            [pod("old", "n", "2"), pod("young", "n", "2", 0, "2026-02-01T00:00:00Z")],
            [],
            ("n", ["young"], 0),
            id="the younger leaves",
        ),
        pytest.param(
            [pod("a", "n", "2"), pod("b", "n", "2")], [budget("b", 0)], ("n", ["a"], 0), id="a budget protects"
        ),
        pytest.param([pod("a", "n", "3")], [budget("a", 0)], ("n", ["a"], 1), id="a budget does not forbid"),
        pytest.param([pod("a", "n", "3")], [budget("a", 1)], ("n", ["a"], 0), id="a budget with room"),
        pytest.param(
            [pod("a", "n", "3")],
            [budget("a", 0, disruptedPods={"a": "2026-01-01T00:00:00Z"})],
            ("n", ["a"], 0),
            id="already disrupted",
        ),
        pytest.param(
            [pod("a", "m", "3", 5), pod("b", "n", "3", 1)], [], ("n", ["b"], 0), id="1 lowest highest priority"
        ),
        pytest.param(
            [pod("a", "m", "3"), pod("b", "n", "3", 9)],
            [budget("a", 0)],
            ("n", ["b"], 0),
            id="fewest violations come first",
        ),
        pytest.param(
            [pod("a", "m", "2", 3), pod("a2", "m", "2", 3), pod("b", "n", "3", 3), pod("b2", "n", "1", 3)],
            [],
            ("m", ["a2"], 0),
            id="equal in all but the name",
        ),
        pytest.param(
            [pod("a", "m", "3"), pod("b", "n", "3", 0, "2026-03-01T00:00:00Z")],
            [],
            ("n", ["b"], 0),
            id="the latest start",
        ),
        pytest.param(
            [pod("a", "n", "3", 100)],
            [],
            "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: "
            "0/1 nodes are available: 1 No preemption victims found for incoming pod.",
            id="equal priority stays",
        ),
    ],
)
def test_victims_and_node(running: list[Any], objects: list[Any], expected: Any) -> None:
    assert preempt(running, PREEMPTOR.obj(), objects) == expected


def test_preemption_policy_never() -> None:
    wanted = PREEMPTOR.obj()
    wanted.spec.preemption_policy = "Never"
    assert preempt([pod("a", "n", "3")], wanted).endswith("preemption: not eligible due to preemptionPolicy=Never.")


def test_it_does_not_help_where_no_eviction_can() -> None:
    message = preempt([pod("a", "n", "3")], make_pod("new").requests(cpu="9").priority(1).obj())
    assert message.endswith("preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.")


def test_victims_of_an_earlier_preemption_are_waited_for() -> None:
    leaving = pod("a", "n", "3")
    leaving.metadata.deletion_timestamp = "2026-01-01T00:00:00Z"
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    leaving.status.conditions = (msgspec.convert(condition, PodCondition),)
    wanted = PREEMPTOR.obj()
    wanted.status.nominated_node_name = "n"
    assert preempt([leaving], wanted).endswith("not eligible due to a terminating pod on the nominated node.")


def test_victims_are_leaving_and_weaker_nominations_are_dropped() -> None:
    weak = make_pod("weak").requests(cpu="1").priority(1).nominated("n").gate("held").obj()
    strong = make_pod("strong").requests(cpu="3").priority(9).obj()
    scheduler = make_scheduler([make_node("n").obj()], [pod("a", "n", "4"), weak, strong])
    decide(scheduler)
    rows = scheduler.cluster.pods.row_of
    assert scheduler.cluster.pods.terminating[rows["default/a"]]
    assert scheduler.nominator.node_of(rows["default/weak"]) == ""
    assert scheduler.nominator.node_of(rows["default/strong"]) == "n"


def cluster_of(*pods: Any) -> Cluster:
    return Cluster([make_node(name).obj() for name in ("m", "n")], pods)


def test_fewer_victims_are_better_when_priorities_sum_up_alike() -> None:
    cluster = cluster_of(pod("a", "m", "1", -1), pod("b", "m", "1", -1), pod("c", "n", "1", -1))
    best = pick_one(cluster, [Candidate(0, (0, 1), 0), Candidate(1, (2,), 0)])
    assert best.row == 1


def test_pods_that_have_not_started_are_the_least_important() -> None:
    late, later = pod("a", "m", "1"), pod("b", "m", "1")
    late.status.start_time = later.status.start_time = None
    cluster = cluster_of(late, later, pod("c", "m", "1"))
    assert by_importance(cluster, [0, 1, 2]) == [2, 1, 0]
