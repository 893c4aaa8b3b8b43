"""Plugins in a profile that leaves PreFilter or PreScore out: kube-scheduler ends the cycle with an error, or the plugin
looks for itself."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.config.plugin_args import ServiceAffinityArgs
from ksched_cli.framework.status import Code
from ksched_cli.legacy.earlier import NodeResourceLimits
from ksched_cli.legacy.removed import ServiceAffinity
from ksched_cli.plugins.dynamic_resources import DynamicResources
from ksched_cli.plugins.inter_pod_affinity import InterPodAffinity
from ksched_cli.plugins.node_declared_features import NodeDeclaredFeatures
from ksched_cli.plugins.node_ports import NodePorts
from ksched_cli.plugins.node_resources_fit import NodeResourcesFit
from ksched_cli.plugins.pod_topology_spread import PodTopologySpread
from ksched_cli.plugins.selector_spread import SelectorSpread
from ksched_cli.plugins.taint_toleration import TaintToleration
from ksched_cli.plugins.volume_binding import VolumeBinding
from ksched_cli.plugins.volume_restrictions import VolumeRestrictions
from ksched_cli.releases.minors import NEWEST, RELEASES, Release
from tests.builders import make_node, make_pod
from tests.harness import Bench, make_bench


def bench(plugin: Any, current: Release, args: Any = None) -> Bench:
    nodes = [make_node(name).obj() for name in ("a", "b")]
    return make_bench(plugin, nodes, make_pod().label(app="web").obj(), args=args, current=current)


RACK = ServiceAffinityArgs(affinity_labels=("rack",))


@pytest.mark.parametrize(
    ("plugin", "minor", "args", "text"),
    [
        pytest.param(NodePorts, NEWEST, None, 'reading "PreFilterNodePorts" from cycleState: not found', id="ports"),
        pytest.param(
            NodeDeclaredFeatures,
            NEWEST,
            None,
            'error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found',
            id="declared features",
        ),
        pytest.param(
            NodeResourcesFit,
            NEWEST,
            None,
            'error reading "PreFilterNodeResourcesFit" from cycleState: not found',
            id="resources",
        ),
        pytest.param(
            InterPodAffinity,
            NEWEST,
            None,
            'error reading "PreFilterInterPodAffinity" from cycleState: not found',
            id="affinity of pods",
        ),
        pytest.param(
            PodTopologySpread,
            NEWEST,
            None,
            'reading "PreFilterPodTopologySpread" from cycleState: not found',
            id="spread",
        ),
        pytest.param(
            VolumeRestrictions, NEWEST, None, 'cannot read "PreFilterVolumeRestrictions" from cycleState', id="volumes"
        ),
        pytest.param(VolumeRestrictions, RELEASES["1.21"], None, "", id="volumes, before claims counted"),
        pytest.param(VolumeBinding, NEWEST, None, "not found", id="claims"),
        pytest.param(
            ServiceAffinity,
            RELEASES["1.21"],
            RACK,
            'error reading "PreFilterServiceAffinity" from cycleState: not found',
            id="service affinity",
        ),
        pytest.param(
            ServiceAffinity, RELEASES["1.21"], ServiceAffinityArgs(), "", id="service affinity without a label"
        ),
    ],
)
def test_a_filter_without_its_pre_filter(plugin: Any, minor: Release, args: Any, text: str) -> None:
    made = bench(plugin, minor, args)
    verdict = made.plugin.filter(None, made.pod, made.nodes())
    for row in range(2):
        status = verdict.status(row)
        assert (status.code, status.message) == ((Code.ERROR, text) if text else (Code.SUCCESS, ""))


@pytest.mark.parametrize(
    ("plugin", "minor", "text"),
    [
        pytest.param(
            TaintToleration, NEWEST, 'failed to read "PreScoreTaintToleration" from cycleState: not found', id="taints"
        ),
        pytest.param(
            InterPodAffinity,
            NEWEST,
            'failed to read "PreScoreInterPodAffinity" from cycleState: not found',
            id="affinity of pods",
        ),
        pytest.param(
            PodTopologySpread,
            NEWEST,
            'error reading "PreScorePodTopologySpread" from cycleState: not found',
            id="spread",
        ),
        pytest.param(
            SelectorSpread,
            RELEASES["1.21"],
            'reading "PreScoreSelectorSpread" from cycleState: not found',
            id="selectors",
        ),
        pytest.param(
            NodeResourceLimits,
            RELEASES["1.17"],
            'Error reading "PreScoreNodeResourceLimits" from cycleState: not found',
            id="limits",
        ),
    ],
)
def test_a_score_without_its_pre_score(plugin: Any, minor: Release, text: str) -> None:
    made = bench(plugin, minor)
    status = made.plugin.score(None, made.pod, made.nodes())
    assert (status.code, status.message) == (Code.ERROR, text)


@pytest.mark.parametrize(
    "plugin",
    [
        pytest.param(InterPodAffinity, id="affinity of pods"),
        pytest.param(VolumeBinding, id="claims"),
        pytest.param(DynamicResources, id="devices"),
        pytest.param(VolumeRestrictions, id="volumes"),
    ],
)
def test_nothing_is_explained_without_the_state(plugin: Any) -> None:
    made = bench(plugin, NEWEST)
    assert made.plugin.explain(None, made.pod, made.nodes(), 0) == {}


OFF = RELEASES["1.31"]


@pytest.mark.parametrize("row", [0, 1], ids=["first node", "second node"])
def test_device_claims_without_the_gate(row: int) -> None:
    """1.31 had the gate off."""
    made = bench(DynamicResources, OFF)
    plugin, pod = made.plugin, made.pod
    assert plugin.pre_filter(pod).skipped
    assert plugin.filter(None, pod, made.nodes()).passed.all()
    assert plugin.post_filter(None, pod, None)[1].texts == ("plugin disabled",)
    assert made.scores() == {"a": 0, "b": 0}
    assert plugin.reserve(None, pod, row).ok
    plugin.unreserve(None, pod, row)
    assert plugin.pre_bind(None, pod, row).ok


def test_device_claims_with_the_gate_need_their_state() -> None:
    made = bench(DynamicResources, NEWEST)
    verdict = made.plugin.filter(None, made.pod, made.nodes())
    assert [verdict.status(row).code for row in range(2)] == [Code.ERROR, Code.ERROR]
    assert made.plugin.pre_bind(None, made.pod, 0).code is Code.ERROR
    assert made.plugin.reserve(None, made.pod, 0).code is Code.ERROR
