"""Predicates about the pods that run already."""

from __future__ import annotations

from ksched_cli.plugins.legacy.predicates import Predicate
from ksched_cli.plugins.legacy.service_affinity import ServiceAffinity
from ksched_cli.plugins.legacy.successors import InterPodAffinityPlugin


class MatchInterPodAffinity(Predicate, InterPodAffinityPlugin):
    name = "MatchInterPodAffinity"
    summary = "Rejects nodes that break required pod affinity or anti-affinity, the pod's own or that of running pods."


class CheckServiceAffinity(Predicate, ServiceAffinity):
    name = "CheckServiceAffinity"
    summary = "Places the pods of a service on nodes with equal values of a label."
