"""What kube-scheduler checks in the arguments of its plugins (apis/config/validation/validation_pluginargs.go), in the
words of the minor. The rest of a configuration is checked in `config/load.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ksched_cli.api.core import (
    WHEN_UNSATISFIABLE,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    TopologySpreadConstraint,
)
from ksched_cli.api.label_names import is_label_key
from ksched_cli.api.selectors import FIELD_OPERATORS, NODE_OPERATORS, SelectorError, checked_requirement
from ksched_cli.config import plugin_args
from ksched_cli.config.model import parse_duration
from ksched_cli.releases.configuration import VOLUME_CAPACITY_GATE, ConfigurationRules
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import Release
from ksched_cli.releases.plugin_names import REQUESTED_TO_CAPACITY_RATIO

# (path below args, what is wrong)
Complaint = tuple[str, str]
STRATEGIES = tuple(plugin_args.STRATEGY_OF.values())


def args_complaints(args: Any, gates: FeatureGates, release: Release) -> Iterator[Complaint]:
    """Everything that is wrong with the arguments of an in-tree plugin."""
    check = _CHECKS.get(type(args))
    if check is not None:
        yield from check(args, gates)
    if (
        isinstance(args, plugin_args.VolumeBindingArgs)
        and not args.bind_timeout_seconds
        and not ConfigurationRules.of(release).bind_timeout_may_be_zero
    ):
        yield "bindTimeoutSeconds", "must be positive"


def _outside(value: int, low: int, high: int) -> str | None:
    return None if low <= value <= high else f"{value} is not in the valid range [{low}, {high}]"


def _preemption(args: plugin_args.DefaultPreemptionArgs, gates: FeatureGates) -> Iterator[Complaint]:
    percentage, absolute = "minCandidateNodesPercentage", "minCandidateNodesAbsolute"
    if text := _outside(args.min_candidate_nodes_percentage, 0, 100):
        yield percentage, text
    if args.min_candidate_nodes_absolute < 0:
        yield absolute, f"{args.min_candidate_nodes_absolute} is negative"
    if args.min_candidate_nodes_percentage == 0 and args.min_candidate_nodes_absolute == 0:
        yield percentage, f"cannot be zero at the same time as {absolute}"
        yield absolute, f"cannot be zero at the same time as {percentage}"


def _inter_pod_affinity(args: plugin_args.InterPodAffinityArgs, gates: FeatureGates) -> Iterator[Complaint]:
    if text := _outside(args.hard_pod_affinity_weight, 0, 100):
        yield "hardPodAffinityWeight", text


def _node_affinity(args: plugin_args.NodeAffinityArgs, gates: FeatureGates) -> Iterator[Complaint]:
    if args.added_affinity is None:
        return
    required = args.added_affinity.required_during_scheduling_ignored_during_execution
    path = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    for index, term in enumerate(required.node_selector_terms if required else ()):
        yield from _term(term, f"{path}[{index}]")
    path = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"
    for index, preferred in enumerate(args.added_affinity.preferred_during_scheduling_ignored_during_execution):
        if preferred.weight:
            yield from _term(preferred.preference, f"{path}[{index}]")


def _term(term: NodeSelectorTerm, path: str) -> Iterator[Complaint]:
    yield from _requirements(term.match_expressions, NODE_OPERATORS, f"{path}.matchExpressions")
    yield from _requirements(term.match_fields, FIELD_OPERATORS, f"{path}.matchFields")


def _requirements(
    requirements: Sequence[NodeSelectorRequirement], operators: tuple[str, ...], path: str
) -> Iterator[Complaint]:
    for index, each in enumerate(requirements):
        where = f"{path}[{index}]"
        if each.operator not in operators:
            yield f"{where}.operator", f"{each.operator!r} is not supported, use one of {', '.join(operators)}"
        elif operators is FIELD_OPERATORS and len(each.values) != 1:
            yield f"{where}.values", "must have one element"
        elif operators is NODE_OPERATORS:
            try:
                checked_requirement(each.key, each.operator, each.values, operators)
            except SelectorError as mistake:
                yield from ((f"{where}.{inner}", text) for inner, text in mistake.problems)


def _balanced(args: plugin_args.NodeResourcesBalancedAllocationArgs, gates: FeatureGates) -> Iterator[Complaint]:
    seen: set[str] = set()
    for index, resource in enumerate(args.resources):
        if resource.name in seen:
            yield f"resources[{index}].name", f"{resource.name} is there twice"
        seen.add(resource.name)
        if resource.weight != 1:
            yield f"resources[{index}].weight", f"{resource.weight} must be 1"


def _fit(args: plugin_args.NodeResourcesFitArgs, gates: FeatureGates) -> Iterator[Complaint]:
    for index, name in enumerate(args.ignored_resources):
        if not is_label_key(name):
            yield f"ignoredResources[{index}]", f"{name!r} is not a resource name"
    for index, group in enumerate(args.ignored_resource_groups):
        if "/" in group:
            yield f"ignoredResourceGroups[{index}]", f"{group!r}: a resource group's name has no '/'"
        elif not is_label_key(group):
            yield f"ignoredResourceGroups[{index}]", f"{group!r} is not the name of a resource group"
    strategy = args.scoring_strategy
    if strategy.type not in STRATEGIES:
        yield "scoringStrategy.type", f"{strategy.type!r} is not supported, use one of {', '.join(STRATEGIES)}"
    yield from _resources(strategy.resources, "scoringStrategy.resources")
    path, ratio = "scoringStrategy.requestedToCapacityRatio", strategy.requested_to_capacity_ratio
    if strategy.type == REQUESTED_TO_CAPACITY_RATIO:
        if ratio is None:
            yield path, f"must be given when the type is {REQUESTED_TO_CAPACITY_RATIO}"
        else:
            yield from shape_complaints(ratio.shape, f"{path}.shape")
    elif ratio is not None:
        yield path, f"is only for the type {REQUESTED_TO_CAPACITY_RATIO}"


def _resources(resources: Sequence[plugin_args.ResourceSpec], path: str) -> Iterator[Complaint]:
    for index, resource in enumerate(resources):
        if not 0 < resource.weight <= 100:
            text = f"the weight {resource.weight} of {resource.name} is not in the valid range (0, 100]"
            yield f"{path}[{index}].weight", text


def _ratio(args: plugin_args.RequestedToCapacityRatioArgs, gates: FeatureGates) -> Iterator[Complaint]:
    """The weights of this removed plugin had no upper bound."""
    yield from shape_complaints(args.shape, "shape")
    for index, resource in enumerate(args.resources):
        if resource.weight < 1:
            text = f"the weight {resource.weight} of {resource.name} is not in the valid range [1, inf)"
            yield f"resources[{index}].weight", text


def _node_label(args: plugin_args.NodeLabelArgs, gates: FeatureGates) -> Iterator[Complaint]:
    for present, absent, suffix in (
        (args.present_labels, args.absent_labels, ""),
        (args.present_labels_preference, args.absent_labels_preference, "Preference"),
    ):
        for index, label in enumerate(present):
            if label in absent:
                yield f"presentLabels{suffix}[{index}]", f"{label!r} is among absentLabels{suffix} too"


def shape_complaints(shape: Sequence[plugin_args.UtilizationShapePoint], path: str) -> Iterator[Complaint]:
    if not shape:
        yield path, "at least one point must be given"
    for index in range(1, len(shape)):
        if shape[index - 1].utilization >= shape[index].utilization:
            yield (
                f"{path}[{index}].utilization",
                f"{shape[index].utilization}: values must increase from point to point",
            )
            break
    for index, point in enumerate(shape):
        if text := _outside(point.utilization, 0, 100):
            yield f"{path}[{index}].utilization", text
        if text := _outside(point.score, 0, 10):
            yield f"{path}[{index}].score", text


def _spread(args: plugin_args.PodTopologySpreadArgs, gates: FeatureGates) -> Iterator[Complaint]:
    if args.defaulting_type not in ("System", "List"):
        yield "defaultingType", f"{args.defaulting_type!r} is not supported, use one of List, System"
    elif args.defaulting_type == "System" and args.default_constraints:
        yield "defaultingType", "must be List when defaultConstraints are given"
    seen: set[tuple[str, str]] = set()
    for index, constraint in enumerate(args.default_constraints):
        path = f"defaultConstraints[{index}]"
        yield from _constraint(constraint, path)
        identity = constraint.topology_key, constraint.when_unsatisfiable
        if identity in seen:
            yield path, f"{{{identity[0]}, {identity[1]}}} is there twice"
        seen.add(identity)


def _constraint(constraint: TopologySpreadConstraint, path: str) -> Iterator[Complaint]:
    if constraint.max_skew <= 0:
        yield f"{path}.maxSkew", f"{constraint.max_skew} is not in the valid range (0, inf)"
    if not constraint.topology_key:
        yield f"{path}.topologyKey", "cannot be empty"
    elif not is_label_key(constraint.topology_key):
        yield f"{path}.topologyKey", f"{constraint.topology_key!r} cannot be a label's key"
    if not constraint.when_unsatisfiable:
        yield f"{path}.whenUnsatisfiable", "cannot be empty"
    elif constraint.when_unsatisfiable not in WHEN_UNSATISFIABLE:
        text = f"{constraint.when_unsatisfiable!r} is not supported, use one of {', '.join(WHEN_UNSATISFIABLE)}"
        yield f"{path}.whenUnsatisfiable", text
    if constraint.label_selector is not None:
        yield f"{path}.labelSelector", "must not be given: the selector is deduced for each pod"


def _volume_binding(args: plugin_args.VolumeBindingArgs, gates: FeatureGates) -> Iterator[Complaint]:
    if args.bind_timeout_seconds < 0:
        yield "bindTimeoutSeconds", f"{args.bind_timeout_seconds} is negative"
    if gates.enabled("StorageCapacityScoring") or gates.enabled("VolumeCapacityPriority"):
        yield from shape_complaints(args.shape, "shape")
    elif args.shape:
        older = f"VolumeCapacityPriority before {VOLUME_CAPACITY_GATE}"
        text = f"remove it, or turn on the feature gate StorageCapacityScoring, {older}"
        yield "shape", text


def _dynamic_resources(args: plugin_args.DynamicResourcesArgs, gates: FeatureGates) -> Iterator[Complaint]:
    bindable = gates.enabled("DRADeviceBindingConditions") and gates.enabled("DRAResourceClaimDeviceStatus")
    if args.filter_timeout is not None:
        timed = gates.enabled("DRASchedulerFilterTimeout")
        off = "" if timed else "the feature gate DRASchedulerFilterTimeout is off"
        yield from _timeout("filterTimeout", args.filter_timeout, off, 0, "must be zero or positive")
    if args.binding_timeout is not None:
        off = "" if bindable else "the feature gate DRADeviceBindingConditions or DRAResourceClaimDeviceStatus is off"
        yield from _timeout("bindingTimeout", args.binding_timeout, off, 1, "must be at least 1 second")


def _timeout(name: str, text: str, off: str, least: int, too_short: str) -> Iterator[Complaint]:
    length = parse_duration(text)
    if length is None:
        yield name, f"{text!r} is not a duration, such as 10s or 1m30s"
    elif off:
        yield name, off
    elif length < least:
        yield name, f"{text} {too_short}"


_CHECKS: Mapping[type, Callable[[Any, FeatureGates], Iterator[Complaint]]] = {
    plugin_args.DefaultPreemptionArgs: _preemption,
    plugin_args.InterPodAffinityArgs: _inter_pod_affinity,
    plugin_args.NodeAffinityArgs: _node_affinity,
    plugin_args.NodeResourcesBalancedAllocationArgs: _balanced,
    plugin_args.NodeResourcesFitArgs: _fit,
    plugin_args.PodTopologySpreadArgs: _spread,
    plugin_args.VolumeBindingArgs: _volume_binding,
    plugin_args.NodeResourcesLeastAllocatedArgs: lambda args, gates: _resources(args.resources, "resources"),
    plugin_args.NodeResourcesMostAllocatedArgs: lambda args, gates: _resources(args.resources, "resources"),
    plugin_args.RequestedToCapacityRatioArgs: _ratio,
    plugin_args.NodeLabelArgs: _node_label,
    plugin_args.DynamicResourcesArgs: _dynamic_resources,
}
