"""Removes fields of pods that a minor does not have or whose gate is off, as the API server of the minor does when it
stores a pod, and its scheduler when it reads one."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ksched_cli.api.affinity import Affinity, PodAffinityTerm, TopologySpreadConstraint, with_pod_terms
from ksched_cli.api.core import Container, Pod, PodSpec, PodStatus, Quantities
from ksched_cli.releases.engine_rules import FieldRules
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import Release
from ksched_cli.releases.plugin_names import EVEN_PODS_SPREAD

_STORAGE = "ephemeral-storage"


def as_stored(pods: Iterable[Pod], release: Release, gates: FeatureGates) -> list[Pod]:
    """The pods with the fields that the minor has. A pod that loses no field is the same object."""
    return [_as_stored(pod, release, gates) for pod in pods]


def storage_counts(release: Release, gates: FeatureGates) -> bool:
    """Whether ephemeral storage of nodes and containers counts."""
    return gates.enabled("LocalStorageCapacityIsolation") or not FieldRules.of(release).storage_gate_covers


def _as_stored(pod: Pod, release: Release, gates: FeatureGates) -> Pod:
    spec, status = _spec(pod.spec, release, gates), _status(pod.status, gates)
    return pod if spec is pod.spec and status is pod.status else replace(pod, spec=spec, status=status)


def _spec(spec: PodSpec, release: Release, gates: FeatureGates) -> PodSpec:
    rules = FieldRules.of(release)
    if spec.resources is not None and not gates.enabled("PodLevelResources"):
        spec = replace(spec, resources=None)
    if spec.scheduling_gates and not gates.enabled("PodSchedulingReadiness"):
        spec = replace(spec, scheduling_gates=())
    if not rules.has_sidecars and any(each.restart_policy for each in spec.init_containers):
        # The minor has no sidecars: its API server drops the field.
        plain = tuple(replace(each, restart_policy=None) for each in spec.init_containers)
        spec = replace(spec, init_containers=plain)
    if spec.topology_spread_constraints and not gates.enabled(EVEN_PODS_SPREAD):
        spec = replace(spec, topology_spread_constraints=())
    if spec.topology_spread_constraints:
        constraints = tuple(_spread(each, gates) for each in spec.topology_spread_constraints)
        spec = replace(spec, topology_spread_constraints=constraints)
    if not storage_counts(release, gates):
        spec = _without_storage(spec, rules.storage_gate_covers)
    if spec.overhead and not gates.enabled("PodOverhead"):
        spec = replace(spec, overhead={})
    if spec.preemption_policy and not gates.enabled("NonPreemptingPriority"):
        spec = replace(spec, preemption_policy=None)
    if spec.affinity is not None and not gates.enabled("PodAffinityNamespaceSelector"):
        spec = replace(spec, affinity=_without_namespace_selectors(spec.affinity, release))
    if not gates.enabled("GenericEphemeralVolume") and any(each.ephemeral is not None for each in spec.volumes):
        spec = replace(spec, volumes=tuple(replace(each, ephemeral=None) for each in spec.volumes))
    return spec


def _without_storage(spec: PodSpec, covered: frozenset[str]) -> PodSpec:
    """The spec without requests of ephemeral storage: with the gate off the scheduler skips them (Resource.Add)."""
    changed = {name: tuple(map(_container_without_storage, getattr(spec, name))) for name in covered}
    same = all(new is old for name, own in changed.items() for new, old in zip(own, getattr(spec, name), strict=True))
    spec = spec if same else replace(spec, **changed)
    return spec if _STORAGE not in spec.overhead else replace(spec, overhead=_without(spec.overhead))


def _container_without_storage(container: Container) -> Container:
    resources = container.resources
    if _STORAGE not in resources.requests:
        return container
    return replace(container, resources=replace(resources, requests=_without(resources.requests)))


def _without(quantities: Quantities) -> Quantities:
    return {name: amount for name, amount in quantities.items() if name != _STORAGE}


def _spread(constraint: TopologySpreadConstraint, gates: FeatureGates) -> TopologySpreadConstraint:
    known = constraint
    if not gates.enabled("MinDomainsInPodTopologySpread"):
        known = replace(known, min_domains=None)
    if not gates.enabled("NodeInclusionPolicyInPodTopologySpread"):
        known = replace(known, node_affinity_policy=None, node_taints_policy=None)
    if not gates.enabled("MatchLabelKeysInPodTopologySpread"):
        known = replace(known, match_label_keys=())
    return known


def _without_namespace_selectors(affinity: Affinity, release: Release) -> Affinity:
    """The affinity without namespaceSelector. If the minor has the field and its gate is off, a term with a selector
    is about the namespaces that it names and not about the namespace of the pod."""
    reads_selectors = FieldRules.of(release).reads_namespace_selectors

    def plain(term: PodAffinityTerm) -> PodAffinityTerm:
        none = reads_selectors and term.namespace_selector is not None and not term.namespaces
        return replace(term, namespace_selector=None, namespaces=("",) if none else term.namespaces)

    return with_pod_terms(affinity, plain)


def _status(status: PodStatus, gates: FeatureGates) -> PodStatus:
    # What containers hold while they are resized in place.
    if not gates.enabled("InPlacePodVerticalScaling") and (status.container_statuses or status.init_container_statuses):
        status = replace(status, container_statuses=(), init_container_statuses=())
    if not gates.enabled("InPlacePodLevelResourcesVerticalScaling") and status.resources is not None:
        status = replace(status, resources=None)
    if status.node_allocatable_resource_claim_statuses and not gates.enabled("DRANodeAllocatableResources"):
        status = replace(status, node_allocatable_resource_claim_statuses=())
    return status
