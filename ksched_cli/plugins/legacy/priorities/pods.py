"""Priorities about the pods that run already."""

from __future__ import annotations

from typing import Any

import numpy as np

from ksched_cli.api.core import Service
from ksched_cli.api.selectors import EVERYTHING, Selector, selector_from_map
from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.plugin_args import InterPodAffinityArgs, PodTopologySpreadArgs
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import Status
from ksched_cli.plugins.inter_pod_affinity.plugin import Preferences
from ksched_cli.plugins.legacy.even_pods_spread import SpreadOfEveryPod, ignored_of
from ksched_cli.plugins.legacy.priorities import Priority
from ksched_cli.plugins.legacy.service_affinity import ServiceAffinity
from ksched_cli.plugins.legacy.successors import InterPodAffinityPlugin, SelectorSpreadPlugin
from ksched_cli.plugins.lib.topology_spread import selected_labels
from ksched_cli.plugins.pod_topology_spread.soft import SoftState


class InterPodAffinityPriority(Priority, InterPodAffinityPlugin):
    """It looked at all nodes at once, so that what it gives a node is in proportion already."""

    name = "InterPodAffinityPriority"
    column = "PodAffinity"
    summary = "Prefers nodes by preferred pod affinity and anti-affinity, the pod's own and that of running pods."
    normalizes = False

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args or InterPodAffinityArgs(), handle)

    def score(self, state: Preferences | None, pod: PodInfo, nodes: NodeRows) -> Int64Column | Status:
        worth = super().score(state, pod, nodes)
        return worth if state is None or isinstance(worth, Status) else self.normalize(state, pod, nodes, worth)


class EvenPodsSpreadPriority(Priority, SpreadOfEveryPod):
    """It looked at all nodes at once, so that what it gives a node is in proportion already."""

    name = "EvenPodsSpreadPriority"
    column = "Spread"
    summary = "Prefers nodes by soft topology spread constraints of the pod."
    normalizes = False

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args or PodTopologySpreadArgs(defaulting_type="List"), handle)

    def score(self, state: SoftState | None, pod: PodInfo, nodes: NodeRows) -> Int64Column | Status:
        sums = super().score(state, pod, nodes)
        if state is None or isinstance(sums, Status):
            return sums
        # A node that lacks a label gets nothing, even where all others are equal.
        return np.where(ignored_of(state, nodes), 0, self.normalize(state, pod, nodes, sums))


class SelectorSpreadPriority(Priority, SelectorSpreadPlugin):
    name = "SelectorSpreadPriority"
    column = "Selector"


class ServiceSpreadingPriority(Priority, SelectorSpreadPlugin):
    name = "ServiceSpreadingPriority"
    summary = "Prefers hosts and zones with fewer pods of the same service."

    def pre_score(self, state: None, pod: PodInfo, nodes: NodeRows) -> Selector:
        found = selected_labels(pod.pod, self.handle.cluster.catalog.in_namespace(Service, pod.namespace))
        return selector_from_map(found) if found else EVERYTHING


class ServiceAntiAffinityPriority(Priority, ServiceAffinity):
    """A Policy names it as it likes, and gives it the label."""

    name = "ServiceAntiAffinityPriority"
    summary = "Spreads the pods of a service over the values of a label."
