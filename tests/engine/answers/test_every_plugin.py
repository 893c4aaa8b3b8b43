"""Histories in which every in-tree plugin of every minor takes part at all of its extension points, against a scheduler
that computes everything again for each pod. Pod groups have their cycles among those of single pods."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from ksched_cli.api.core import Node, Pod, PodSchedulingGroup
from ksched_cli.config.model import EXTENSION_POINT_FIELDS, KubeSchedulerProfile, PluginRef, Plugins, PluginSet
from ksched_cli.config.model import SchedulerConfiguration as Configuration
from ksched_cli.config.plugin_args import (
    NodeLabelArgs,
    RequestedToCapacityRatioArgs,
    ServiceAffinityArgs,
    UtilizationShapePoint,
)
from ksched_cli.plan.simulate import OutputOptions, outcome_of
from ksched_cli.plugins.in_tree import plugins_of
from ksched_cli.releases.minors import RELEASES
from ksched_cli.wiring import make_registry
from tests.engine.answers.test_answers import BACK, FORK, History, Step
from tests.engine.answers.test_claims_and_devices import OBJECTS, ClaimHistory, histories
from tests.engine.answers.test_reuse import ZONE
from tests.harness import make_scheduler
from tests.lanes import examples
from tests.pod_groups import group

LABEL = NodeLabelArgs(present_labels=(ZONE,), present_labels_preference=(ZONE,), absent_labels_preference=("disk",))
SERVICE = ServiceAffinityArgs(affinity_labels=(ZONE,), anti_affinity_labels_preference=(ZONE,))
RATIO = RequestedToCapacityRatioArgs(shape=(UtilizationShapePoint(0, 0), UtilizationShapePoint(100, 10)))
ARGS = {
    "NodeLabel": LABEL,
    "CheckNodeLabelPresence": LABEL,
    "NodeLabelPriority": LABEL,
    "ServiceAffinity": SERVICE,
    "CheckServiceAffinity": SERVICE,
    "ServiceAntiAffinityPriority": SERVICE,
    "RequestedToCapacityRatio": RATIO,
    "RequestedToCapacityRatioPriority": RATIO,
}
GROUPS = (group("g0", min_count=2), group("g1", min_count=2, topology=ZONE), group("g2", min_count=1))
GATES = {"1.37": "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"}
# Together they have every plugin that any minor has.
MINORS = ("1.16", "1.17", "1.18", "1.22", "1.28", "1.37")
# They reject all nodes without conditions, and all that are not in the zone of the service.
STRICT = frozenset({"CheckNodeCondition", "CheckServiceAffinity", "ServiceAffinity"})


def everything(minor: str, *, without: frozenset[str]) -> Configuration:
    """A profile with all plugins of the minor at all of their points, in the order of the registry."""
    release = RELEASES[minor]
    points: dict[str, list[str]] = {}
    for name, own in make_registry(current=release).points(release).items():
        for point in own if name not in without else ():
            points.setdefault(point, []).append(name)
    enabled = {
        point: PluginSet(tuple(PluginRef(name, 1) for name in names), (PluginRef("*"),))
        for point, names in points.items()
        if point in EXTENSION_POINT_FIELDS
    }
    names = {name for each in points.values() for name in each}
    args = {name: each for name, each in ARGS.items() if name in names}
    return Configuration(profiles=(KubeSchedulerProfile(plugins=Plugins.of(enabled), args=args),))


class WholeHistory(ClaimHistory):
    """A history with every plugin. The step "group" schedules two new pods of a pod group in one cycle."""

    def __init__(
        self, made: list[Node], kinds: list[Pod], minor: str, *, reuse: bool, without: frozenset[str] = frozenset()
    ) -> None:
        History.__init__(self, made, kinds, reuse=reuse)
        self.scheduler = make_scheduler(
            copy.deepcopy(made),
            [],
            objects=[*copy.deepcopy(OBJECTS), *GROUPS],
            reuse=reuse,
            current=RELEASES[minor],
            gates=GATES.get(minor, ""),
            configuration=everything(minor, without=without),
        )

    def take(self, step: Step) -> Any:
        if step[0] != "group":
            return super().take(step)
        rows, cluster, own_group = [], self.scheduler.cluster, PodSchedulingGroup(pod_group_name=f"g{step[1] % 3}")
        for index in range(2):
            kind = self._kinds[(step[1] + index) % len(self._kinds)]
            name, spec = f"p{self._pods}", replace(kind.spec, scheduling_group=own_group)
            self._pods += 1
            rows.append(
                cluster.register(replace(kind, spec=spec, metadata=replace(kind.metadata, name=name, uid=name)))
            )
        decisions = self.scheduler.schedule_group(rows)
        return [outcome_of(each, cluster, OutputOptions(detail=True)) for each in decisions]


CASES = [
    *(pytest.param(minor, STRICT, id=f"{minor} without the strict", marks=pytest.mark.slow) for minor in MINORS[:-1]),
    *(pytest.param(minor, frozenset(), id=f"{minor}, all", marks=pytest.mark.slow) for minor in ("1.16", "1.22")),
    pytest.param("1.37", frozenset(), id="1.37, all"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("minor", "without"), CASES)
def test_every_step_has_the_same_outcome_as_without_reuse(minor: str, without: frozenset[str]) -> None:
    @given(histories(("group",) * 4 if minor in GATES else ()))
    @settings(max_examples=examples(25), deadline=None)
    def check(drawn: tuple[list[Node], list[Pod], list[Step]]) -> None:
        made, kinds, steps = drawn
        repaired, afresh = (WholeHistory(made, kinds, minor, reuse=reuse, without=without) for reuse in (True, False))
        forks = 0
        for step in steps:
            if step[0] in (FORK, BACK):
                if step[0] == FORK or forks:
                    forks += 1 if step[0] == FORK else -1
                    for each in (repaired, afresh):
                        each.fork() if step[0] == FORK else each.back()
                continue
            assert repaired.take(step) == afresh.take(step), step

    check()


def test_every_in_tree_plugin_takes_part() -> None:
    wanted = {plugin.name for release in RELEASES.values() for plugin in plugins_of(release)}
    found: set[str] = set()
    for minor in MINORS:
        scheduler = WholeHistory([], [], minor, reuse=True).scheduler
        found |= {each.name for runtime in scheduler.runtimes.values() for each in runtime.profile.plugins}
    assert found == wanted
