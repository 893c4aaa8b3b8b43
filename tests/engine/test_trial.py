"""A dry run shows plugins that follow the moves of pods everything that a cycle would show them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.model import KubeSchedulerProfile, PluginRef, Plugins, PluginSet, SchedulerConfiguration
from ksched_cli.framework.depends import Depends
from ksched_cli.framework.interfaces import FilterPlugin, PreFilterPlugin, PreFilterResult
from ksched_cli.framework.status import SUCCESS, error, unschedulable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.releases.minors import NEWEST
from tests.builders import make_node, make_pod
from tests.engine.test_cycle import with_plugins
from tests.harness import decide, make_scheduler
from tests.lanes import examples


class AtMostTwo(PreFilterPlugin[dict[int, int]], FilterPlugin[dict[int, int]]):
    """Two pods a node. It counts them itself: PreFilter begins, AddPod and RemovePod go on."""

    name = "AtMostTwo"
    scope = "row"

    def pre_filter(self, pod: Any) -> PreFilterResult[dict[int, int]]:
        cluster = self.handle.cluster
        return PreFilterResult({row: len(cluster.pods_on(row)) for row in range(len(cluster.nodes))})

    def clone_state(self, state: dict[int, int]) -> dict[int, int]:
        return dict(state)

    def add_pod(self, state: dict[int, int], pod: Any, other: int, row: int) -> None:
        state[row] += 1

    def remove_pod(self, state: dict[int, int], pod: Any, other: int, row: int) -> None:
        state[row] -= 1

    def filter(self, state: dict[int, int], pod: Any, nodes: Any) -> Verdict:
        full = unschedulable("two pods")
        return Verdict.from_statuses([SUCCESS if state[row] < 2 else full for row in nodes.rows.tolist()])


def victims(*nominated: Any) -> list[str]:
    points = (AtMostTwo.name, "PrioritySort", "SchedulingGates", "DefaultPreemption", "DefaultBinder")
    plugins = Plugins(multi_point=PluginSet(tuple(map(PluginRef, points)), (PluginRef("*"),)))
    running = [make_pod(name).on("n").obj() for name in ("a", "b")]
    scheduler = make_scheduler(
        [make_node("n").obj()],
        [*running, *nominated, make_pod("new").priority(100).obj()],
        configuration=SchedulerConfiguration(profiles=(KubeSchedulerProfile(plugins=plugins),)),
        plugins=[AtMostTwo],
        # Up to 1.36 a gated pod has no nomination.
        current=NEWEST,
    )
    preemption = decide(scheduler)["default/new"].preemption
    assert preemption is not None
    return sorted(scheduler.cluster.pods.infos[row].name for row in preemption.victims)


def test_the_pod_that_fits_in_again_is_no_victim() -> None:
    assert len(victims()) == 1


def test_a_pod_that_is_nominated_to_the_node_counts_in_the_dry_run() -> None:
    """The nominated pod and the new one are two: neither of the running pods can stay."""
    assert victims(make_pod("held").priority(200).nominated("n").gate("held").obj()) == ["a", "b"]


class FailsOnB(FilterPlugin[None]):
    """Rejects nodes with pods. On node b without pods it fails."""

    name = "FailsOnB"
    scope = "row"

    def filter(self, state: None, pod: Any, nodes: Any) -> Verdict:
        cluster = self.handle.cluster
        alone = {row: error("broken") if cluster.nodes.names[row] == "b" else SUCCESS for row in nodes.rows.tolist()}
        return Verdict.from_statuses(
            [unschedulable("taken") if cluster.pods_on(row) else status for row, status in alone.items()]
        )


def test_a_filter_that_fails_on_a_node_spoils_that_node_only() -> None:
    """The pod on b would be the cheapest victim."""
    running = [make_pod(name).on(name).priority(priority).obj() for name, priority in (("a", 3), ("b", 1), ("c", 2))]
    scheduler = make_scheduler(
        [make_node(name).obj() for name in "abc"],
        [*running, make_pod("new").priority(100).obj()],
        configuration=with_plugins("FailsOnB"),
        plugins=[FailsOnB],
    )
    assert decide(scheduler)["default/new"].nominated_node == "c"


class RefusesA(FilterPlugin[None]):
    """Refuses node a, whatever pods are there, and does not report that preemption cannot help."""

    name = "RefusesA"

    def depends(self, info: PodInfo) -> Depends:
        return Depends("node", 0)

    def filter(self, state: None, pod: Any, nodes: Any) -> Verdict:
        return Verdict.rejecting(np.array([name == "a" for name in nodes.names]), unschedulable("not a"))


@pytest.mark.parametrize("others", [(), ("NodeName",)], ids=["first", "after another filter"])
def test_a_filter_that_refused_one_of_the_nodes_runs_again_for_it(others: tuple[str, ...]) -> None:
    """Both nodes are full. The pod on a would be the cheaper victim."""
    points = (*others, "RefusesA", "NodeResourcesFit", "PrioritySort", "DefaultPreemption", "DefaultBinder")
    plugins = Plugins(multi_point=PluginSet(tuple(map(PluginRef, points)), (PluginRef("*"),)))
    running = [
        make_pod(name).requests(cpu="1").on(name).priority(number).obj() for name, number in (("a", 1), ("b", 5))
    ]
    scheduler = make_scheduler(
        [make_node(name).allocatable(cpu="1", pods="9").obj() for name in "ab"],
        [*running, make_pod("new").requests(cpu="1").priority(100).obj()],
        configuration=SchedulerConfiguration(profiles=(KubeSchedulerProfile(plugins=plugins),)),
        plugins=[RefusesA],
    )
    assert decide(scheduler)["default/new"].nominated_node == "b"


_REQUESTS = st.lists(st.sampled_from((1, 2, 3)), min_size=1, max_size=6)


@given(st.lists(_REQUESTS, min_size=1, max_size=3), st.booleans(), st.randoms())
@settings(max_examples=examples(60), deadline=None)
def test_pods_come_back_where_the_new_one_still_fits(nodes: list[list[int]], has_port: bool, order: Any) -> None:
    """Two cpu are free on each node and the new pod wants three. A host port makes it a trial in all columns."""
    running = [
        make_pod(f"p{row}-{at}").requests(cpu=str(cpu)).on(f"n{row}").obj()
        for row, requests in enumerate(nodes)
        for at, cpu in enumerate(requests)
    ]
    made = [
        make_node(f"n{row}").allocatable(cpu=str(sum(requests) + 2), pods="9") for row, requests in enumerate(nodes)
    ]
    new = make_pod("new").requests(cpu="3").priority(9)
    scheduler = make_scheduler(
        [each.obj() for each in made], [*running, (new.host_port(80) if has_port else new).obj()]
    )
    cluster = scheduler.cluster
    cycle = scheduler.dry_search(cluster.pods.row_of["default/new"])
    assert cycle is not None
    on = {row: cluster.pods_on(row) for row in range(len(nodes))}
    with cycle.trial() as trial:
        trial.remove(np.arange(len(running)))
        free = {row: sum(requests) + 2 for row, requests in enumerate(nodes)}
        for turn in range(max(map(len, nodes))):
            rows = [row for row in on if turn < len(on[row])]
            order.shuffle(rows)
            pods = [on[row][turn] for row in rows]
            wants = [nodes[row][turn] for row in rows]
            expected = [want + 3 <= free[row] for row, want in zip(rows, wants, strict=True)]
            assert trial.put_back(np.array(pods)).tolist() == expected
            free.update((row, free[row] - want) for row, want, back in zip(rows, wants, expected, strict=True) if back)


def test_a_refused_pod_comes_back_after_another_left() -> None:
    running = [make_pod(name).requests(cpu="1").on("n").obj() for name in ("a", "b", "c")]
    scheduler = make_scheduler(
        [make_node("n").allocatable(cpu="3", pods="9").obj()],
        [*running, make_pod("new").requests(cpu="2").priority(9).obj()],
    )
    cycle = scheduler.dry_search(3)
    assert cycle is not None
    with cycle.trial() as trial:
        trial.remove(np.array([0, 1]))
        assert trial.put_back(np.array([0])).tolist() == [False]
        assert trial.put_back(np.array([1])).tolist() == [False]
        trial.remove(np.array([2]))
        assert trial.put_back(np.array([1])).tolist() == [True]
