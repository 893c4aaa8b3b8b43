"""Preemption as 1.16 did it: budgets that do not count, nodes without victims, nominations that stay."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ksched_cli.api.workloads import PodDisruptionBudget
from ksched_cli.config.model import KubeSchedulerProfile, PluginRef, Plugins, PluginSet, SchedulerConfiguration
from ksched_cli.engine.decision import Decision
from ksched_cli.framework.interfaces import FilterPlugin
from ksched_cli.framework.status import SUCCESS, unschedulable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.releases.minors import RELEASES
from tests.builders import make_node, make_pod
from tests.harness import decide, make_scheduler

OLD, LATER = RELEASES["1.16"], RELEASES["1.21"]
NEW_YEAR = "2026-01-01T00:00:00Z"


def filler(name: str, node: str, cpu: str = "2") -> Any:
    return make_pod(name).label("app", "a").requests(cpu=cpu).on(node).phase("Running").started(NEW_YEAR)


def budget(allowed: int, **status: Any) -> PodDisruptionBudget:
    document = {
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "a"}}},
        "status": {"disruptionsAllowed": allowed, **status},
    }
    return msgspec.convert(document, PodDisruptionBudget)


def only(scheduler: Any) -> Decision:
    (decision,) = decide(scheduler).values()
    return decision


@pytest.mark.parametrize(
    ("minor", "allowed", "violations"),
    [
        pytest.param("1.16", 1, 0, id="one that allows one allows any number"),
        pytest.param("1.21", 1, 1, id="later they were counted"),
        pytest.param("1.16", 0, 2, id="one that allows none"),
    ],
)
def test_budgets(minor: str, allowed: int, violations: int) -> None:
    nodes = [make_node("n").allocatable(cpu="4", pods=9).obj()]
    pods = [filler("a", "n").obj(), filler("b", "n").obj(), make_pod("new").requests(cpu="4").priority(9).obj()]
    scheduler = make_scheduler(nodes, pods, objects=[budget(allowed)], current=RELEASES[minor])
    done = only(scheduler).preemption
    assert done is not None
    assert (len(done.victims), done.pdb_violations) == (2, violations)


def test_an_eviction_under_way_counts_once_more() -> None:
    nodes = [make_node("n").allocatable(cpu="2", pods=9).obj()]
    pods = [filler("a", "n").obj(), make_pod("new").requests(cpu="2").priority(9).obj()]
    disrupted = budget(0, disruptedPods={"a": NEW_YEAR})
    found = []
    for release in (OLD, LATER):
        done = only(make_scheduler(nodes, pods, objects=[disrupted], current=release)).preemption
        found.append(done and done.pdb_violations)
    assert found == [1, 0]


class SaysNoOnce(FilterPlugin[None]):
    """As an extender does, whom nobody asks in the dry run."""

    name = "SaysNoOnce"
    asked = False

    def filter(self, state: None, pod: Any, nodes: Any) -> Verdict:
        status = SUCCESS if self.asked else unschedulable("not this time")
        self.asked = True
        return Verdict.from_statuses([status] * len(nodes))


def test_a_node_that_takes_the_pod_as_it_is_is_the_best() -> None:
    """It is better than a node with the least important victim, and of two such nodes the first by name is taken."""
    nodes = [make_node(name).allocatable(cpu="4", pods=9).obj() for name in ("c", "b", "a")]
    low = filler("low", "b", cpu="4").priority(-5)
    pods = [low.obj(), make_pod("new").requests(cpu="1").priority(9).obj()]
    profile = KubeSchedulerProfile(plugins=Plugins(filter=PluginSet(enabled=(PluginRef("SaysNoOnce"),))))
    decision = only(
        make_scheduler(
            nodes,
            pods,
            plugins=[SaysNoOnce],
            configuration=SchedulerConfiguration(profiles=(profile,)),
            reuse=False,
            current=OLD,
        )
    )
    assert decision.message == "0/3 nodes are available: 1 Insufficient cpu, 2 not this time."
    assert decision.preemption is not None
    assert (decision.nominated_node, decision.preemption.victims) == ("a", ())


@pytest.mark.parametrize(
    ("cordoned", "stays"),
    [
        pytest.param(False, True, id="eviction was tried in vain"),
        pytest.param(True, False, id="hopeless from the start"),
    ],
)
def test_a_nomination_stays_where_eviction_was_tried(cordoned: bool, stays: bool) -> None:
    node = make_node("n").allocatable(cpu="1", pods=9)
    nodes = [(node.cordoned() if cordoned else node).obj()]
    pods = [make_pod("new").requests(cpu="4").priority(9).nominated("n").obj()]
    scheduler = make_scheduler(nodes, pods, current=OLD)
    decide(scheduler)
    row = scheduler.cluster.pods.row_of["default/new"]
    assert bool(scheduler.nominator.node_of(row)) is stays


@pytest.mark.parametrize(("minor", "waits"), [("1.16", True), ("1.21", False)])
def test_a_pod_waits_for_victims_on_a_node_that_it_cannot_go_to_any_more(minor: str, waits: bool) -> None:
    nodes = [
        make_node("gone").allocatable(cpu="4", pods=9).cordoned().obj(),
        make_node("n").allocatable(cpu="2", pods=9).obj(),
    ]
    leaving = filler("leaving", "gone").terminating().obj()
    pods = [leaving, filler("low", "n").obj(), make_pod("new").requests(cpu="2").priority(9).nominated("gone").obj()]
    decision = only(make_scheduler(nodes, pods, current=RELEASES[minor]))
    assert (decision.preemption is None) is waits


def test_a_nominated_pod_is_nobody_to_be_with() -> None:
    """A pod that preemption made room for was no pod yet that another one could want to be with or apart from."""
    nodes = [make_node("n").label("zone", "z").allocatable(cpu="4", pods=9).obj()]
    apart = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "first"}}, "topologyKey": "zone"}
            ]
        }
    }
    nominated = make_pod("first").label("app", "first").priority(1).nominated("n").created("2026-01-02T00:00:00Z")
    earlier = make_pod("second").priority(1).created(NEW_YEAR).spec(affinity=apart)
    results = {}
    for release in (OLD, LATER):
        decisions = decide(make_scheduler(nodes, [nominated.obj(), earlier.obj()], current=release))
        results[release.version] = decisions["default/second"].result
    assert results == {"1.16": "scheduled", "1.21": "unschedulable"}
