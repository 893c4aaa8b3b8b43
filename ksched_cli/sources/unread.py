"""Kinds, versions and fields of objects that are not read.

`judge` finds unknown kinds, `refused_version` those that a minor does not serve, and custom resources that look like
workloads. `as_stored` removes fields of pods that a minor does not have or whose gate is off, as the API server of the
minor does when it stores a pod, and its scheduler when it reads one.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from ksched_cli.api import core
from ksched_cli.api.decode import KINDS, UnknownKind, document_of, label_of
from ksched_cli.api.validation.fields import built_in_kinds
from ksched_cli.errors import Problem
from ksched_cli.releases.engine_rules import FieldRules
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import NEWEST, Release
from ksched_cli.releases.plugin_names import EVEN_PODS_SPREAD
from ksched_cli.releases.served_versions import LAST_MINORS, refusal
from ksched_cli.sources.loaded import INVALID, UNKNOWN_KIND, UNKNOWN_WORKLOAD, Origin

# Kinds with these endings describe pods that other objects create.
_DEFINITIONS = ("Class", "Config", "Definition", "Policy", "Profile", "Runtime", "StorageContainer", "Task", "Template")
_IMAGE = re.compile(r"[\w.-]+(:\d+)?(/[\w.-]+)+(:[\w.-]+|@sha256:\w+)")
# How deep a pod template may be in a custom resource.
_DEEPEST = 12


def no_manifest(unknown: UnknownKind, source: str, line: int | None) -> Problem:
    """The problem of a document that is no object: an error of the API server, or a table."""
    if unknown.kind == "Table":
        text, hint = "this is a table that kubectl printed, not objects", "print them with -o json or -o yaml"
    else:
        message = document_of(unknown).get("message")
        text = f"this is a Status of the API server, not an object{f': {message}' if message else ''}"
        hint = "run the command that wrote the file again"
    return Problem(text, source, line, hint=hint, code=INVALID)


def judge(unknown: UnknownKind, origin: Origin) -> Iterator[Problem]:
    """Problems of unknown kinds, and of custom resources that look like workloads."""
    version, kind = unknown.api_version, unknown.kind
    where = (origin.source, origin.line, label_of(unknown))
    if _is_unknown(version, kind):
        yield Problem(f"there is no kind {kind} in {version}", *where, _nearest(version, kind), UNKNOWN_KIND)
    elif _is_custom(version) and not kind.endswith(_DEFINITIONS):
        path = pod_template_path(document_of(unknown))
        if path is not None:
            group = version.partition("/")[0]
            text = f"{kind} of {group} looks like a workload: ksched does not place its pods"
            hint = f"--pod-template {kind}.{group}={path or 'PATH'}"
            yield Problem(text, *where, hint, UNKNOWN_WORKLOAD, "warning")


def refused_version(version: str, kind: str, minor: int) -> tuple[str, str] | None:
    """What is wrong with a version that an API server of this minor does not serve, and what to write."""
    reason = refusal(version, kind, minor)
    if not reason:
        return None
    served = _served(kind, version, minor)
    return f"{version} {kind} {reason}", f"write apiVersion: {served}" if served else ""


def _served(kind: str, version: str = "", minor: int = NEWEST.minor) -> str:
    """The newest version of a built-in kind that the minor serves; stable ones and the group of `version` come
    first."""
    known = [each for each, kinds in built_in_kinds().items() if kind in kinds]
    older = [each for each, name in LAST_MINORS if name == kind and each not in known]
    found = [each for each in (*known, *older) if not refusal(each, kind, minor)]
    group = version.rpartition("/")[0]

    def rank(each: str) -> tuple[bool, bool, bool, str]:
        own, _, number = each.rpartition("/")
        return _STABLE.fullmatch(each) is not None, own == group, "alpha" not in number, number

    return max(found, default="", key=rank)


_STABLE = re.compile(r"(.*/)?v\d+")


def _is_unknown(version: str, kind: str) -> bool:
    """Whether Kubernetes has no such kind. A kind that the newest Kubernetes has in a version that it never had is
    unknown; a version of a group with a dot may be one of an older or newer Kubernetes."""
    kinds = built_in_kinds()
    if (version, kind) in LAST_MINORS and not any(kind == each for _, each in KINDS):
        return False
    if version in kinds:
        return kind not in kinds[version] and kind != "List"
    served = _served(kind)
    if not served or _is_custom(version):
        return False
    group = version.rpartition("/")[0]
    of_group = any(kind in every for each, every in kinds.items() if each.rpartition("/")[0] == group)
    return "." not in group or not of_group or _STABLE.fullmatch(version) is not None


def _nearest(version: str, kind: str) -> str:
    served = _served(kind, version)
    if served:
        return f"write apiVersion: {served}"
    names = {name: each for each, kinds in built_in_kinds().items() for name in sorted(kinds)}
    close = difflib.get_close_matches(kind, names, 1, 0.7)
    if not close:
        return ""
    wanted = _served(close[0], version)
    return f"did you mean {close[0]}?" if wanted == version else f"did you mean {wanted} {close[0]}?"


def _is_custom(version: str) -> bool:
    """Whether the group is not of Kubernetes. Its groups have no dot, or end in k8s.io without a project before it."""
    group, found, _ = version.partition("/")
    if not found or "." not in group:
        return False
    return not group.endswith(".k8s.io") or group.count(".") > 2 or group.endswith(".x-k8s.io")


def pod_template_path(document: Mapping[str, Any]) -> str | None:
    """The path of the pod template of a custom resource; `""` if it has containers or resources of pods elsewhere;
    None if it has neither."""
    spec = document.get("spec")
    return _template_below(spec, "spec", 0) if isinstance(spec, dict) else None


def _template_below(value: Mapping[str, Any], path: str, depth: int) -> str | None:
    if depth > _DEEPEST:
        return None
    inner = value.get("spec")
    if isinstance(inner, dict) and _has_containers(inner):
        return path
    if _has_containers(value) or _asks_for_resources(value) or _names_image(value):
        return ""
    found: str | None = None
    for name, each in value.items():
        for below, at in _mappings(each, f"{path}.{name}"):
            deeper = _template_below(below, at, depth + 1)
            if deeper:
                return deeper
            found = deeper if found is None else found
    return found


def _mappings(value: Any, path: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    if isinstance(value, dict):
        yield value, path
    elif isinstance(value, list):
        yield from ((each, f"{path}[*]") for each in value if isinstance(each, dict))


def _has_containers(value: Mapping[str, Any]) -> bool:
    containers = value.get("containers")
    return isinstance(containers, list) and any(isinstance(each, dict) and "name" in each for each in containers)


def _names_image(value: Mapping[str, Any]) -> bool:
    image = value.get("image")
    return isinstance(image, str) and _IMAGE.fullmatch(image) is not None


def _asks_for_resources(value: Mapping[str, Any]) -> bool:
    resources = value.get("resources")
    requests = resources.get("requests") if isinstance(resources, dict) else None
    return isinstance(requests, dict) and any(name in requests for name in ("cpu", "memory"))


_STORAGE = "ephemeral-storage"


def as_stored(pods: Iterable[core.Pod], release: Release, gates: FeatureGates) -> list[core.Pod]:
    """The pods with the fields that the minor has. A pod that loses no field is the same object."""
    return [_as_stored(pod, release, gates) for pod in pods]


def storage_counts(release: Release, gates: FeatureGates) -> bool:
    """Whether ephemeral storage of nodes and containers counts."""
    return gates.enabled("LocalStorageCapacityIsolation") or not FieldRules.of(release).storage_gate_covers


def _as_stored(pod: core.Pod, release: Release, gates: FeatureGates) -> core.Pod:
    spec, status = _spec(pod.spec, release, gates), _status(pod.status, gates)
    return pod if spec is pod.spec and status is pod.status else replace(pod, spec=spec, status=status)


def _spec(spec: core.PodSpec, release: Release, gates: FeatureGates) -> core.PodSpec:
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


def _without_storage(spec: core.PodSpec, covered: frozenset[str]) -> core.PodSpec:
    """The spec without requests of ephemeral storage: with the gate off the scheduler skips them (Resource.Add)."""
    changed = {name: tuple(map(_container_without_storage, getattr(spec, name))) for name in covered}
    same = all(new is old for name, own in changed.items() for new, old in zip(own, getattr(spec, name), strict=True))
    spec = spec if same else replace(spec, **changed)
    return spec if _STORAGE not in spec.overhead else replace(spec, overhead=_without(spec.overhead))


def _container_without_storage(container: core.Container) -> core.Container:
    resources = container.resources
    if _STORAGE not in resources.requests:
        return container
    return replace(container, resources=replace(resources, requests=_without(resources.requests)))


def _without(quantities: core.Quantities) -> core.Quantities:
    return {name: amount for name, amount in quantities.items() if name != _STORAGE}


def _spread(constraint: core.TopologySpreadConstraint, gates: FeatureGates) -> core.TopologySpreadConstraint:
    known = constraint
    if not gates.enabled("MinDomainsInPodTopologySpread"):
        known = replace(known, min_domains=None)
    if not gates.enabled("NodeInclusionPolicyInPodTopologySpread"):
        known = replace(known, node_affinity_policy=None, node_taints_policy=None)
    if not gates.enabled("MatchLabelKeysInPodTopologySpread"):
        known = replace(known, match_label_keys=())
    return known


def _without_namespace_selectors(affinity: core.Affinity, release: Release) -> core.Affinity:
    """The affinity without namespaceSelector. If the minor has the field and its gate is off, a term with a selector
    is about the namespaces that it names and not about the namespace of the pod."""
    reads_selectors = FieldRules.of(release).reads_namespace_selectors

    def plain(term: core.PodAffinityTerm) -> core.PodAffinityTerm:
        none = reads_selectors and term.namespace_selector is not None and not term.namespaces
        return replace(term, namespace_selector=None, namespaces=("",) if none else term.namespaces)

    return core.with_pod_terms(affinity, plain)


def _status(status: core.PodStatus, gates: FeatureGates) -> core.PodStatus:
    # What containers hold while they are resized in place.
    if not gates.enabled("InPlacePodVerticalScaling") and (status.container_statuses or status.init_container_statuses):
        status = replace(status, container_statuses=(), init_container_statuses=())
    if not gates.enabled("InPlacePodLevelResourcesVerticalScaling") and status.resources is not None:
        status = replace(status, resources=None)
    if status.node_allocatable_resource_claim_statuses and not gates.enabled("DRANodeAllocatableResources"):
        status = replace(status, node_allocatable_resource_claim_statuses=())
    return status
