"""What every plugin of the registry keeps to, whatever it does."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, is_hypothesis_test, settings
from hypothesis import strategies as st

from ksched_cli.config.plugin_args import RequestedToCapacityRatioArgs, UtilizationShapePoint
from ksched_cli.framework.depends import ANYWHERE
from ksched_cli.framework.interfaces import (
    FilterPlugin,
    Plugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ScorePlugin,
    extension_points,
)
from ksched_cli.framework.status import Code, Status
from ksched_cli.legacy.in_tree import PREDICATES, PRIORITIES, REMOVED
from ksched_cli.legacy.predicates import CheckNodeMemoryPressure, GeneralPredicates, NoVolumeZoneConflict
from ksched_cli.legacy.priorities import InterPodAffinityPriority, ResourceLimitsPriority, ServiceSpreadingPriority
from ksched_cli.plugins.in_tree import IN_TREE
from ksched_cli.releases.minors import NEWEST, RELEASES
from tests.builders import make_node, make_pod
from tests.clusters import clusters
from tests.harness import Bench, make_bench
from tests.lanes import examples, sampled

# Most are made from a row of a table, and have no name in the module.
NAMED: dict[str, type[Any]] = {each.name: each for each in (*PREDICATES, *PRIORITIES)}
# Predicates and priorities that are more than a plugin under another name; the others are their plugins' business.
WITH_RULES_OF_THEIR_OWN = (
    GeneralPredicates,
    CheckNodeMemoryPressure,
    NAMED["CheckVolumeBinding"],
    NoVolumeZoneConflict,
    InterPodAffinityPriority,
    ResourceLimitsPriority,
    ServiceSpreadingPriority,
)
AS_PLUGINS = (*IN_TREE, *REMOVED)
TRIED = (*AS_PLUGINS, *WITH_RULES_OF_THEIR_OWN)
FILTERS = [pytest.param(each, id=each.name) for each in TRIED if issubclass(each, FilterPlugin)]
SCORERS = [pytest.param(each, id=each.name) for each in TRIED if issubclass(each, ScorePlugin)]
ALL = [pytest.param(each, id=each.name) for each in (*AS_PLUGINS, *PREDICATES, *PRIORITIES)]


# Arguments for plugins that cannot do without.
ARGS = {"RequestedToCapacityRatio": RequestedToCapacityRatioArgs(shape=(UtilizationShapePoint(100, 10),))}


def bench(plugin: type[Plugin], drawn: Any, order: list[int] | None = None) -> Bench:
    nodes, running, pod = drawn
    arranged = nodes if order is None else [nodes[index] for index in order]
    # A plugin that went away is asked in the last minor that had it.
    current = RELEASES.get(plugin.until, NEWEST)
    return make_bench(plugin, arranged, pod, running, args=ARGS.get(plugin.name), current=current)


def snapshot(made: Bench) -> list[np.ndarray[Any, Any]]:
    """Everything that a plugin could write to."""
    cluster = made.cluster
    columns = (
        cluster.nodes.allocatable,
        cluster.nodes.allowed_pods,
        cluster.nodes.taint_set,
        cluster.nodes.unschedulable,
        cluster.usage.requested,
        cluster.usage.nonzero,
        cluster.usage.pod_count,
        cluster.pods.node_row,
        cluster.pods.terminating,
    )
    return [column.copy() for column in columns]


def score_of(made: Bench, rows: list[int] | None = None, *, normalized: bool = True) -> dict[str, int] | None:
    scores = made.scores(rows, normalized=normalized)
    return None if isinstance(scores, Status) else scores


@pytest.mark.parametrize("plugin", ALL)
def test_has_a_name_a_summary_and_an_extension_point(plugin: type[Plugin]) -> None:
    assert plugin.name == plugin.__name__
    assert plugin.summary.endswith(".")
    assert extension_points(plugin)


@pytest.mark.slow
@pytest.mark.parametrize("plugin", FILTERS)
@given(drawn=clusters(), data=st.data())
@settings(max_examples=examples(40), deadline=None)
def test_a_nodes_verdict_does_not_depend_on_which_others_are_asked_about(
    plugin: type[Plugin], drawn: Any, data: st.DataObject
) -> None:
    made = bench(plugin, drawn)
    whole = made.verdict()
    if whole is None:
        return
    rows = data.draw(st.lists(st.integers(0, len(drawn[0]) - 1), unique=True))
    part = made.verdict(rows)
    assert part is not None
    assert [part.status(index) for index in range(len(rows))] == [whole.status(row) for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize("plugin", FILTERS)
@given(drawn=clusters(), data=st.data())
@settings(max_examples=examples(40), deadline=None)
def test_filter_is_equivariant_under_node_order(plugin: type[Plugin], drawn: Any, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(drawn[0]))))
    assert bench(plugin, drawn).statuses() == bench(plugin, drawn, list(order)).statuses()


@pytest.mark.slow
@pytest.mark.parametrize("plugin", sampled(FILTERS, 3))
@given(drawn=clusters())
@settings(max_examples=examples(40), deadline=None)
def test_there_is_a_reason_exactly_where_a_node_is_rejected(plugin: type[Plugin], drawn: Any) -> None:
    verdict = bench(plugin, drawn).verdict()
    if verdict is None:
        return
    assert verdict.reasons[0] == ()
    for index in range(len(verdict)):
        assert (verdict.codes[index] != Code.SUCCESS) == bool(verdict.reasons[verdict.reason_ids[index]])


@pytest.mark.slow
@pytest.mark.parametrize("plugin", [*FILTERS, *SCORERS])
@given(drawn=clusters())
@settings(max_examples=examples(40), deadline=None)
def test_writes_nothing(plugin: type[Plugin], drawn: Any) -> None:
    made = bench(plugin, drawn)
    before = snapshot(made)
    if isinstance(made.plugin, FilterPlugin):
        made.verdict()
    if isinstance(made.plugin, ScorePlugin):
        made.scores(normalized=True)
    for old, new in zip(before, snapshot(made), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.slow
@pytest.mark.parametrize("plugin", SCORERS)
@given(drawn=clusters())
@settings(max_examples=examples(60), deadline=None)
def test_normalised_scores_are_in_range(plugin: type[Plugin], drawn: Any) -> None:
    scores = score_of(bench(plugin, drawn))
    if scores is not None:
        assert all(0 <= score <= 100 for score in scores.values())


@pytest.mark.slow
@pytest.mark.parametrize("plugin", SCORERS)
@given(drawn=clusters(), data=st.data())
@settings(max_examples=examples(40), deadline=None)
def test_score_is_equivariant_under_node_order(plugin: type[Plugin], drawn: Any, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(drawn[0]))))
    assert score_of(bench(plugin, drawn)) == score_of(bench(plugin, drawn, list(order)))


@pytest.mark.slow
@pytest.mark.parametrize("plugin", SCORERS)
@given(drawn=clusters(), data=st.data())
@settings(max_examples=examples(40), deadline=None)
def test_raw_scores_are_row_selectable(plugin: type[Plugin], drawn: Any, data: st.DataObject) -> None:
    made = bench(plugin, drawn)
    depends = made.plugin.depends(made.pod)
    if depends is None or depends.on == ANYWHERE:
        return
    whole = score_of(made, normalized=False)
    rows = data.draw(st.lists(st.integers(0, len(drawn[0]) - 1), min_size=1, unique=True))
    part = score_of(made, rows, normalized=False)
    if whole is not None and part is not None:
        assert part == {name: whole[name] for name in part}


@pytest.mark.parametrize("plugin", ALL)
def test_takes_an_ordinary_pod(plugin: type[Plugin]) -> None:
    """Made with its default arguments, no plugin trips over a pod that asks for nothing special."""
    made = make_bench(plugin, [make_node().obj()], make_pod().obj())
    if isinstance(made.plugin, PreFilterPlugin):
        answer = made.pre_filter()
        assert isinstance(answer, PreFilterResult) or answer.skipped
    if isinstance(made.plugin, PreScorePlugin):
        assert made.plugin.pre_score(None, made.pod, made.nodes()) is not None


# Where each plugin's vectorised code is held against a plain reading of its rule on random clusters.
READINGS = {
    "NodeUnschedulable": "plugins.test_small_plugins:test_node_unschedulable_agrees_with_the_plain_reading",
    "NodeName": "plugins.test_small_plugins:test_node_name_agrees_with_the_plain_reading",
    "TaintToleration": "plugins.test_taint_toleration:test_agrees_with_the_plain_reading",
    "NodeAffinity": "plugins.test_node_affinity:test_agrees_with_the_plain_reading",
    "NodePorts": "plugins.test_node_ports:test_agrees_with_the_plain_reading",
    "NodeResourcesFit": "plugins.test_node_resources_fit:test_filter_agrees_with_the_plain_reading",
    "NodeResourcesBalancedAllocation": (
        "plugins.test_node_resources_balanced_allocation:test_agrees_with_the_plain_reading"
    ),
    "VolumeRestrictions": "plugins.test_volume_restrictions:test_agrees_with_a_reading_of_the_rule_node_by_node",
    "NodeVolumeLimits": "plugins.test_node_volume_limits:test_agrees_with_a_reading_of_the_rule_node_by_node",
    "VolumeBinding": "plugins.test_volume_binding:test_agrees_with_a_reading_of_the_rule_node_by_node",
    "VolumeZone": "plugins.test_volume_zone:test_agrees_with_a_reading_of_the_rule_node_by_node",
    "PodTopologySpread": "plugins.test_pod_topology_spread_properties:test_filter",
    "InterPodAffinity": "plugins.test_inter_pod_affinity_properties:test_agrees_with_the_plain_reading",
    "DynamicResources": "plugins.lib.devices.test_allocator:test_a_solution_is_found_if_there_is_one",
    "ImageLocality": "plugins.test_image_locality:test_agrees_with_the_plain_reading",
    "NodeDeclaredFeatures": "plugins.test_node_declared_features:test_agrees_with_the_plain_reading",
    "EBSLimits": "plugins.test_in_tree_volume_limits:test_agrees_with_a_reading_of_the_rule_node_by_node",
    "GCEPDLimits": "plugins.test_in_tree_volume_limits:test_agrees_with_a_reading_of_the_rule_node_by_node",
    "AzureDiskLimits": "plugins.test_in_tree_volume_limits:test_agrees_with_a_reading_of_the_rule_node_by_node",
    "CinderLimits": "plugins.test_in_tree_volume_limits:test_agrees_with_a_reading_of_the_rule_node_by_node",
    "GeneralPredicates": "plugins.test_predicates:test_general_predicates_say_what_each_of_the_four_would",
    "SelectorSpread": "plugins.test_selector_spread:test_agrees_with_the_plain_reading",
    "NodePreferAvoidPods": "plugins.test_gone_plugins:test_node_prefer_avoid_pods_agrees_with_the_plain_reading",
    "NodeLabel": "plugins.test_gone_plugins:test_node_label_agrees_with_the_plain_reading",
    "NodeResourceLimits": "plugins.test_priorities:test_limits_agree_with_the_plain_reading",
    "ServiceAffinity": "plugins.test_gone_plugins:test_service_affinity_agrees_with_the_plain_reading",
    "NodeResourcesLeastAllocated": "plugins.test_gone_plugins:test_resource_scores_agree_with_the_plain_reading",
    "NodeResourcesMostAllocated": "plugins.test_gone_plugins:test_resource_scores_agree_with_the_plain_reading",
    "RequestedToCapacityRatio": "plugins.test_gone_plugins:test_resource_scores_agree_with_the_plain_reading",
}


JUDGES = [each for each in AS_PLUGINS if issubclass(each, FilterPlugin | ScorePlugin)]


@pytest.mark.parametrize("plugin", [GeneralPredicates, *JUDGES], ids=lambda each: each.name)
def test_every_plugin_that_judges_nodes_is_held_against_a_plain_reading(plugin: type[Plugin]) -> None:
    module, _, name = READINGS[plugin.name].partition(":")
    assert is_hypothesis_test(getattr(importlib.import_module(f"tests.{module}"), name))
