"""A dry run shows plugins that follow the moves of pods everything that a cycle would show them."""

from __future__ import annotations

from typing import Any

from ksched_cli.config.model import KubeSchedulerProfile, PluginRef, Plugins, PluginSet, SchedulerConfiguration
from ksched_cli.framework.interfaces import FilterPlugin, PreFilterPlugin, PreFilterResult
from ksched_cli.framework.status import SUCCESS, unschedulable
from ksched_cli.framework.verdict import Verdict
from tests.builders import make_node, make_pod
from tests.harness import decide, make_scheduler


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
    )
    preemption = decide(scheduler)["default/new"].preemption
    assert preemption is not None
    return sorted(scheduler.cluster.pods.infos[row].name for row in preemption.victims)


def test_the_pod_that_fits_in_again_is_no_victim() -> None:
    assert len(victims()) == 1


def test_a_pod_that_is_nominated_to_the_node_counts_in_the_dry_run() -> None:
    """The nominated pod and the new one are two: neither of the running pods can stay."""
    assert victims(make_pod("held").priority(200).nominated("n").gate("held").obj()) == ["a", "b"]
