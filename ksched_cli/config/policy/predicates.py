"""What the scheduler was made of before there were plugins: predicates in their order, priorities with their weights,
and the providers that name a set of them. It becomes a profile in which each predicate is a plugin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from ksched_cli.config.enabled_plugins import default_weights
from ksched_cli.config.model import KubeSchedulerProfile, PluginRef, Plugins, PluginSet
from ksched_cli.config.plugin_args import (
    CPU_AND_MEMORY,
    InterPodAffinityArgs,
    NodeLabelArgs,
    RequestedToCapacityRatioArgs,
    ServiceAffinityArgs,
    UtilizationShapePoint,
    with_defaults,
)
from ksched_cli.config.policy.model import Complaint, Policy, PredicatePolicy, PriorityPolicy
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import Release
from ksched_cli.releases.plugin_names import (
    BALANCED_RESOURCE_ALLOCATION,
    CHECK_NODE_CONDITION,
    CHECK_NODE_DISK_PRESSURE,
    CHECK_NODE_LABEL_PRESENCE,
    CHECK_NODE_MEMORY_PRESSURE,
    CHECK_NODE_PID_PRESSURE,
    CHECK_NODE_UNSCHEDULABLE,
    CHECK_SERVICE_AFFINITY,
    CHECK_VOLUME_BINDING,
    DEFAULT_BINDER,
    DEFAULT_PREEMPTION,
    EQUAL_PRIORITY,
    EVEN_PODS_SPREAD,
    EVEN_PODS_SPREAD_PRIORITY,
    GENERAL_PREDICATES,
    HOST_NAME,
    IMAGE_LOCALITY_PRIORITY,
    INTER_POD_AFFINITY_PRIORITY,
    LEAST_REQUESTED_PRIORITY,
    MATCH_INTER_POD_AFFINITY,
    MATCH_NODE_SELECTOR,
    MAX_AZURE_DISK_VOLUME_COUNT,
    MAX_CINDER_VOLUME_COUNT,
    MAX_CSI_VOLUME_COUNT_PRED,
    MAX_EBS_VOLUME_COUNT,
    MAX_GCEPD_VOLUME_COUNT,
    MOST_REQUESTED_PRIORITY,
    NO_DISK_CONFLICT,
    NO_VOLUME_ZONE_CONFLICT,
    NODE_AFFINITY_PRIORITY,
    NODE_LABEL_PRIORITY,
    NODE_PREFER_AVOID_PODS_PRIORITY,
    POD_FITS_HOST_PORTS,
    POD_FITS_RESOURCES,
    POD_TOLERATES_NODE_TAINTS,
    PRIORITY_SORT,
    REQUESTED_TO_CAPACITY_RATIO_PRIORITY,
    RESOURCE_LIMITS_PRIORITY,
    SELECTOR_SPREAD_PRIORITY,
    SERVICE_ANTI_AFFINITY_PRIORITY,
    SERVICE_SPREADING_PRIORITY,
    TAINT_TOLERATION_PRIORITY,
)

DEFAULT_PROVIDER, AUTOSCALER_PROVIDER = "DefaultProvider", "ClusterAutoscalerProvider"
PROVIDERS = (DEFAULT_PROVIDER, AUTOSCALER_PROVIDER)

# The order in which predicates run, in every Policy (predicates.Ordering).
ORDER = (
    *(CHECK_NODE_CONDITION, CHECK_NODE_UNSCHEDULABLE, GENERAL_PREDICATES, HOST_NAME, POD_FITS_HOST_PORTS),
    *(MATCH_NODE_SELECTOR, POD_FITS_RESOURCES, NO_DISK_CONFLICT, POD_TOLERATES_NODE_TAINTS),
    *(CHECK_NODE_LABEL_PRESENCE, CHECK_SERVICE_AFFINITY, MAX_EBS_VOLUME_COUNT, MAX_GCEPD_VOLUME_COUNT),
    *(MAX_CSI_VOLUME_COUNT_PRED, MAX_AZURE_DISK_VOLUME_COUNT, MAX_CINDER_VOLUME_COUNT, CHECK_VOLUME_BINDING),
    *(NO_VOLUME_ZONE_CONFLICT, CHECK_NODE_MEMORY_PRESSURE, CHECK_NODE_PID_PRESSURE, CHECK_NODE_DISK_PRESSURE),
    *(EVEN_PODS_SPREAD, MATCH_INTER_POD_AFFINITY),
)
_GATED_PREDICATES = {EVEN_PODS_SPREAD: EVEN_PODS_SPREAD}
# These are no predicates before a Policy gives them an argument.
_WITH_ARGUMENT = frozenset({CHECK_NODE_LABEL_PRESENCE, CHECK_SERVICE_AFFINITY})
_BY_TAINTS = frozenset({CHECK_NODE_UNSCHEDULABLE})
_BY_CONDITIONS = frozenset(
    {CHECK_NODE_CONDITION, CHECK_NODE_MEMORY_PRESSURE, CHECK_NODE_PID_PRESSURE, CHECK_NODE_DISK_PRESSURE}
)
# A name that the scheduler accepted and never called, for it has no place in the order.
_NEVER_ASKED = "PodFitsPorts"

PRIORITIES = (
    *(BALANCED_RESOURCE_ALLOCATION, EQUAL_PRIORITY, IMAGE_LOCALITY_PRIORITY, INTER_POD_AFFINITY_PRIORITY),
    *(LEAST_REQUESTED_PRIORITY, MOST_REQUESTED_PRIORITY, NODE_AFFINITY_PRIORITY, NODE_PREFER_AVOID_PODS_PRIORITY),
    *(REQUESTED_TO_CAPACITY_RATIO_PRIORITY, SELECTOR_SPREAD_PRIORITY, SERVICE_SPREADING_PRIORITY),
    TAINT_TOLERATION_PRIORITY,
)
_GATED_PRIORITIES = {
    EVEN_PODS_SPREAD_PRIORITY: EVEN_PODS_SPREAD,
    RESOURCE_LIMITS_PRIORITY: "ResourceLimitsPriorityFunction",
}

# The one that prefers room, and the one that takes its place under the autoscaler's provider.
_DEFAULT_SHAPE = (UtilizationShapePoint(0, 10), UtilizationShapePoint(100, 0))

ALWAYS = (PRIORITY_SORT, DEFAULT_BINDER)
PREEMPTION = DEFAULT_PREEMPTION


class Algorithm:
    """Predicates and priorities while they are put together."""

    def __init__(self, release: Release, gates: FeatureGates) -> None:
        self._gates = gates
        self._defaults = default_weights(release, gates)
        self._weights: dict[str, int] = {}
        self._predicates: set[str] = set(self._mandatory)
        self._implemented_by: dict[str, str] = {}
        self._args: dict[str, Any] = {
            REQUESTED_TO_CAPACITY_RATIO_PRIORITY: RequestedToCapacityRatioArgs(shape=_DEFAULT_SHAPE)
        }
        self._checks_all = False
        self.complaints: list[Complaint] = []
        # Fields without an effect.
        self.idle: list[Complaint] = []

    @property
    def _by_taints(self) -> bool:
        return self._gates.enabled("TaintNodesByCondition")

    @property
    def _mandatory(self) -> tuple[str, ...]:
        """Predicates that run even if a Policy does not name them."""
        return (CHECK_NODE_UNSCHEDULABLE, POD_TOLERATES_NODE_TAINTS) if self._by_taints else (CHECK_NODE_CONDITION,)

    def profile(self, scheduler_name: str, hard_weight: int = 0, *, preempts: bool = True) -> KubeSchedulerProfile:
        """Of everything that was put together."""
        asked = [name for name in ORDER if name in self._predicates]
        enabled = [
            *map(PluginRef, (*ALWAYS, *asked)),
            *(PluginRef(name, weight) for name, weight in sorted(self._weights.items())),
            *([PluginRef(PREEMPTION)] if preempts else []),
        ]
        args = dict(self._args)
        if hard_weight:
            args[INTER_POD_AFFINITY_PRIORITY] = InterPodAffinityArgs(hard_pod_affinity_weight=hard_weight)
        return KubeSchedulerProfile(
            scheduler_name,
            plugins=Plugins(multi_point=PluginSet(tuple(enabled), (PluginRef("*"),))),
            args={name: own for name, own in args.items() if name in self._weights or name in asked},
            implemented_by=self._implemented_by,
            checks_all_filters=self._checks_all,
        )

    # Providers

    def add_provider(self, name: str) -> None:
        self.add_default_predicates()
        self.add_default_priorities()
        if name == AUTOSCALER_PROVIDER:
            self._weights[MOST_REQUESTED_PRIORITY] = self._weights.pop(LEAST_REQUESTED_PRIORITY)

    def add_default_predicates(self) -> None:
        self._predicates |= set(ORDER) & self._defaults.keys()

    def add_default_priorities(self) -> None:
        self._weights |= {name: weight for name, weight in self._defaults.items() if weight}

    # Policies

    def add_policy(self, policy: Policy) -> None:
        """CreateFromConfig."""
        self._checks_all = policy.always_check_all_predicates
        if policy.predicates is None:
            self.add_default_predicates()
        for index, predicate in enumerate(policy.predicates or ()):
            self._add_predicate(index, predicate)
        if policy.priorities is None:
            self.add_default_priorities()
        for index, priority in enumerate(policy.priorities or ()):
            self._add_priority(index, priority)
        if not self._weights and not policy.extenders:
            # Where nothing ranks the nodes they are all as good.
            self._weights[EQUAL_PRIORITY] = 1

    def _add_predicate(self, index: int, policy: PredicatePolicy) -> None:
        name, argument = policy.name, policy.argument
        steps = ("predicates", index, "name")
        if argument is None and name not in self._known_predicates() and name != _NEVER_ASKED:
            self.complaints.append((steps, f'there is no predicate "{name}"'))
            return
        if name not in ORDER:
            asked = ", ".join(sorted(_WITH_ARGUMENT))
            self.idle.append((steps, f'"{name}" never runs: only names in the fixed order do, such as {asked}'))
            return
        self._predicates.add(name)
        if argument is not None and argument.labels_presence is not None:
            wanted = argument.labels_presence
            present, absent = (wanted.labels, ()) if wanted.presence else ((), wanted.labels)
            args = NodeLabelArgs(present_labels=present, absent_labels=absent)
            self._custom(name, CHECK_NODE_LABEL_PRESENCE, args)
        elif argument is not None and argument.service_affinity is not None:
            labels = argument.service_affinity.labels
            self._custom(name, CHECK_SERVICE_AFFINITY, ServiceAffinityArgs(affinity_labels=labels))

    def _known_predicates(self) -> set[str]:
        left_out = _BY_CONDITIONS if self._by_taints else _BY_TAINTS
        off = {name for name, gate in _GATED_PREDICATES.items() if not self._gates.enabled(gate)}
        return set(ORDER) - _WITH_ARGUMENT - left_out - off

    def _add_priority(self, index: int, policy: PriorityPolicy) -> None:
        name, argument = policy.name, policy.argument
        if argument is None and name not in self._known_priorities():
            self.complaints.append((("priorities", index, "name"), f'there is no priority "{name}"'))
            return
        self._weights[name] = policy.weight
        if argument is not None and argument.service_anti_affinity is not None:
            label = argument.service_anti_affinity.label
            args = ServiceAffinityArgs(anti_affinity_labels_preference=(label,))
            self._custom(name, SERVICE_ANTI_AFFINITY_PRIORITY, args)
        elif argument is not None and argument.label_preference is not None:
            wanted = argument.label_preference
            present, absent = ((wanted.label,), ()) if wanted.presence else ((), (wanted.label,))
            preferred = NodeLabelArgs(present_labels_preference=present, absent_labels_preference=absent)
            self._custom(name, NODE_LABEL_PRIORITY, preferred)
        elif argument is not None and argument.requested_to_capacity_ratio_arguments is not None:
            ratio = argument.requested_to_capacity_ratio_arguments
            made = RequestedToCapacityRatioArgs(shape=ratio.shape, resources=ratio.resources or CPU_AND_MEMORY)
            self._custom(name, REQUESTED_TO_CAPACITY_RATIO_PRIORITY, with_defaults(made))
            steps = ("priorities", index, "argument", "requestedToCapacityRatioArguments", "shape")
            self.complaints += [(steps, text) for text in _shape_complaints(ratio.shape)]

    def _known_priorities(self) -> set[str]:
        return {*PRIORITIES, *(name for name, gate in _GATED_PRIORITIES.items() if self._gates.enabled(gate))}

    def _custom(self, name: str, kind: str, args: Any) -> None:
        """A Policy may call what it gives an argument to as it likes."""
        self._args[name] = args
        if name != kind:
            self._implemented_by[name] = kind


def _shape_complaints(shape: Sequence[UtilizationShapePoint]) -> Iterator[str]:
    """NewFunctionShape."""
    if not shape:
        yield "at least one point must be specified"
    for before, after in pairwise(shape):
        if before.utilization >= after.utilization:
            yield f"utilization values must be sorted: {before.utilization} comes before {after.utilization}"
    for point in shape:
        if not 0 <= point.utilization <= 100:
            yield f"utilization {point.utilization} is not in the valid range [0-100]"
        if not 0 <= point.score <= 10:
            yield f"score {point.score} is not in the valid range [0-10]"
