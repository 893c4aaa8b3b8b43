"""Predicates about the pods that run already."""

from __future__ import annotations

from typing import Any

from ksched_cli.config.plugin_args import PodTopologySpreadArgs
from ksched_cli.framework.handle import Handle
from ksched_cli.plugins.legacy.even_pods_spread import SpreadOfEveryPod
from ksched_cli.plugins.legacy.predicates import Predicate
from ksched_cli.plugins.legacy.service_affinity import ServiceAffinity
from ksched_cli.plugins.legacy.successors import InterPodAffinityPlugin


class MatchInterPodAffinity(Predicate, InterPodAffinityPlugin):
    name = "MatchInterPodAffinity"
    summary = "Rejects nodes that break required pod affinity or anti-affinity, the pod's own or that of running pods."


class CheckServiceAffinity(Predicate, ServiceAffinity):
    name = "CheckServiceAffinity"
    summary = "Places the pods of a service on nodes with equal values of a label."


class EvenPodsSpread(Predicate, SpreadOfEveryPod):
    name = "EvenPodsSpread"
    only_at = ("preFilter", "filter")
    summary = "Rejects nodes where a hard topology spread constraint of the pod would be broken."

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args or PodTopologySpreadArgs(defaulting_type="List"), handle)
