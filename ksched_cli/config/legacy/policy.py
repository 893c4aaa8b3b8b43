"""A Policy file, which configured kube-schedulers before 1.23, alone or in a ConfigMap; and the tables of predicates
and priorities: the plugin that has the rule of each (LegacyRegistry)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import asdict

from ksched_cli.config.durations import duration_text
from ksched_cli.config.model import Extender, ExtenderManagedResource, ExtenderTLSConfig
from ksched_cli.config.plugin_args import (
    NodeLabelArgs,
    RequestedToCapacityRatioArgs,
    ResourceSpec,
    ServiceAffinityArgs,
    UtilizationShapePoint,
    with_defaults,
)
from ksched_cli.config.reading import POLICY_KEY, POLICY_KIND
from ksched_cli.errors import ConfigError, Problem
from ksched_cli.releases import plugin_names as names
from ksched_cli.releases.minors import Release

# Predicates in the order in which they are run, and the (extension points, plugin) of each.
_FILTER, _BOTH = ("filter",), ("preFilter", "filter")
_FIT = (_BOTH, names.NODE_RESOURCES_FIT)
_NAME = (_FILTER, names.NODE_NAME)
_PORTS = (_BOTH, names.NODE_PORTS)
_SELECTOR = (_BOTH, names.NODE_AFFINITY)
PREDICATES: Mapping[str, tuple[tuple[tuple[str, ...], str], ...]] = {
    names.CHECK_NODE_UNSCHEDULABLE: ((_FILTER, names.NODE_UNSCHEDULABLE),),
    names.GENERAL_PREDICATES: (_FIT, _NAME, _PORTS, _SELECTOR),
    names.HOST_NAME: (_NAME,),
    names.POD_FITS_HOST_PORTS: (_PORTS,),
    names.MATCH_NODE_SELECTOR: (_SELECTOR,),
    names.POD_FITS_RESOURCES: (_FIT,),
    names.NO_DISK_CONFLICT: ((_FILTER, names.VOLUME_RESTRICTIONS),),
    names.POD_TOLERATES_NODE_TAINTS: ((_FILTER, names.TAINT_TOLERATION),),
    names.CHECK_NODE_LABEL_PRESENCE: ((_FILTER, names.NODE_LABEL),),
    names.CHECK_SERVICE_AFFINITY: ((_BOTH, names.SERVICE_AFFINITY),),
    names.MAX_EBS_VOLUME_COUNT: ((_FILTER, names.EBS_LIMITS),),
    names.MAX_GCEPD_VOLUME_COUNT: ((_FILTER, names.GCEPD_LIMITS),),
    names.MAX_CSI_VOLUME_COUNT_PRED: ((_FILTER, names.NODE_VOLUME_LIMITS),),
    names.MAX_AZURE_DISK_VOLUME_COUNT: ((_FILTER, names.AZURE_DISK_LIMITS),),
    names.MAX_CINDER_VOLUME_COUNT: ((_FILTER, names.CINDER_LIMITS),),
    names.CHECK_VOLUME_BINDING: ((("preFilter", "filter", "reserve", "preBind"), names.VOLUME_BINDING),),
    names.NO_VOLUME_ZONE_CONFLICT: ((_FILTER, names.VOLUME_ZONE),),
    names.EVEN_PODS_SPREAD: ((_BOTH, names.POD_TOPOLOGY_SPREAD),),
    names.MATCH_INTER_POD_AFFINITY: ((_BOTH, names.INTER_POD_AFFINITY),),
}

# Priorities by their last name: the plugin, and whether it has a PreScore.
PRIORITIES: Mapping[str, tuple[str, bool]] = {
    names.BALANCED_RESOURCE_ALLOCATION: (names.NODE_RESOURCES_BALANCED_ALLOCATION, False),
    names.EVEN_PODS_SPREAD_PRIORITY: (names.POD_TOPOLOGY_SPREAD, True),
    names.IMAGE_LOCALITY_PRIORITY: (names.IMAGE_LOCALITY, False),
    names.INTER_POD_AFFINITY_PRIORITY: (names.INTER_POD_AFFINITY, True),
    names.LEAST_REQUESTED_PRIORITY: (names.NODE_RESOURCES_LEAST_ALLOCATED, False),
    names.MOST_REQUESTED_PRIORITY: (names.NODE_RESOURCES_MOST_ALLOCATED, False),
    names.NODE_AFFINITY_PRIORITY: (names.NODE_AFFINITY, True),
    names.NODE_LABEL: (names.NODE_LABEL, False),
    names.NODE_PREFER_AVOID_PODS_PRIORITY: (names.NODE_PREFER_AVOID_PODS, False),
    names.REQUESTED_TO_CAPACITY_RATIO: (names.REQUESTED_TO_CAPACITY_RATIO, False),
    names.RESOURCE_LIMITS_PRIORITY: (names.NODE_RESOURCE_LIMITS, True),
    names.SELECTOR_SPREAD_PRIORITY: (names.POD_TOPOLOGY_SPREAD, True),
    names.SERVICE_AFFINITY: (names.SERVICE_AFFINITY, False),
    names.TAINT_TOLERATION_PRIORITY: (names.TAINT_TOLERATION, True),
}
# Priorities that had another name before the first plugins.
LAST_NAMES = {
    names.NODE_LABEL_PRIORITY: names.NODE_LABEL,
    names.REQUESTED_TO_CAPACITY_RATIO_PRIORITY: names.REQUESTED_TO_CAPACITY_RATIO,
    names.SERVICE_ANTI_AFFINITY_PRIORITY: names.SERVICE_AFFINITY,
    names.SERVICE_SPREADING_PRIORITY: names.SELECTOR_SPREAD_PRIORITY,
}

# Names that exist only where a gate is on.
GATED_PREDICATES = {names.EVEN_PODS_SPREAD: names.EVEN_PODS_SPREAD}
GATED_PRIORITIES = {
    names.EVEN_PODS_SPREAD_PRIORITY: names.EVEN_PODS_SPREAD,
    names.RESOURCE_LIMITS_PRIORITY: "ResourceLimitsPriorityFunction",
}

# The plugin of each predicate that became one plugin, and of each priority.
PLUGIN_OF_PREDICATE = {name: parts[0][1] for name, parts in PREDICATES.items() if len(parts) == 1}
PLUGIN_OF_PRIORITY = {name: plugin for name, (plugin, _) in PRIORITIES.items()}
# Plugins, and a predicate, whose work another plugin took over.
_SUCCESSORS = {
    names.CHECK_NODE_CONDITION: names.NODE_UNSCHEDULABLE,
    names.NODE_RESOURCES_LEAST_ALLOCATED: names.NODE_RESOURCES_FIT,
    names.NODE_RESOURCES_MOST_ALLOCATED: names.NODE_RESOURCES_FIT,
    names.REQUESTED_TO_CAPACITY_RATIO: names.NODE_RESOURCES_FIT,
    names.SELECTOR_SPREAD: names.POD_TOPOLOGY_SPREAD,
    names.DEFAULT_POD_TOPOLOGY_SPREAD: names.POD_TOPOLOGY_SPREAD,
}


def family_of(plugin: str) -> str:
    """One name for a plugin and those whose work it took over."""
    name = LAST_NAMES.get(plugin, plugin)
    name = PLUGIN_OF_PREDICATE.get(name) or PLUGIN_OF_PRIORITY.get(name, name)
    return _SUCCESSORS.get(name, name)


VERSIONS = ("v1", "kubescheduler.config.k8s.io/v1")
# config.MaxWeight: more would overflow a score.
MAX_WEIGHT = (2**63 - 1) // 100


class _Part(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    pass


class ServiceAffinityArgument(_Part, frozen=True):
    labels: tuple[str, ...] = ()


class LabelsPresence(_Part, frozen=True):
    labels: tuple[str, ...] = ()
    presence: bool = False


class PredicateArgument(_Part, frozen=True):
    service_affinity: ServiceAffinityArgument | None = None
    labels_presence: LabelsPresence | None = None


class PredicatePolicy(_Part, frozen=True):
    name: str = ""
    argument: PredicateArgument | None = None


class ServiceAntiAffinity(_Part, frozen=True):
    label: str = ""


class LabelPreference(_Part, frozen=True):
    label: str = ""
    presence: bool = False


class RequestedToCapacityRatioArguments(_Part, frozen=True):
    shape: tuple[UtilizationShapePoint, ...] = ()
    resources: tuple[ResourceSpec, ...] = ()


class PriorityArgument(_Part, frozen=True):
    service_anti_affinity: ServiceAntiAffinity | None = None
    label_preference: LabelPreference | None = None
    requested_to_capacity_ratio_arguments: RequestedToCapacityRatioArguments | None = None


class PriorityPolicy(_Part, frozen=True):
    name: str = ""
    weight: int = 0
    argument: PriorityArgument | None = None


def plugin_args(argument: PredicateArgument | PriorityArgument | None) -> Any:
    """The arguments of the plugin that an entry with this argument becomes; None without an argument."""
    match argument:
        case PredicateArgument(service_affinity=ServiceAffinityArgument(labels=labels)):
            return ServiceAffinityArgs(affinity_labels=labels)
        case PredicateArgument(labels_presence=LabelsPresence(labels=labels, presence=True)):
            return NodeLabelArgs(present_labels=labels)
        case PredicateArgument(labels_presence=LabelsPresence(labels=labels)):
            return NodeLabelArgs(absent_labels=labels)
        case PriorityArgument(service_anti_affinity=ServiceAntiAffinity(label=label)):
            return ServiceAffinityArgs(anti_affinity_labels_preference=(label,))
        case PriorityArgument(label_preference=LabelPreference(label=label, presence=True)):
            return NodeLabelArgs(present_labels_preference=(label,))
        case PriorityArgument(label_preference=LabelPreference(label=label)):
            return NodeLabelArgs(absent_labels_preference=(label,))
        case PriorityArgument(requested_to_capacity_ratio_arguments=RequestedToCapacityRatioArguments() as ratio):
            return with_defaults(RequestedToCapacityRatioArgs(shape=ratio.shape, resources=ratio.resources))
    return None


class LegacyExtender(_Part, frozen=True):
    """An extender in a Policy: the time is in nanoseconds there, and one field is spelt otherwise."""

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: int = 0
    bind_verb: str = ""
    enable_https: bool = field(default=False, name="enableHttps")
    tls_config: ExtenderTLSConfig | None = None
    http_timeout: int = 0
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False

    def as_extender(self) -> Extender:
        timeout = duration_text(self.http_timeout) if self.http_timeout else ""
        return Extender(**{**asdict(self), "http_timeout": timeout})


class Policy(_Part, frozen=True):
    """None for predicates or priorities stands for the default ones, and an empty list for none."""

    api_version: str = ""
    kind: str = ""
    predicates: tuple[PredicatePolicy, ...] | None = None
    priorities: tuple[PriorityPolicy, ...] | None = None
    extenders: tuple[LegacyExtender, ...] = ()
    hard_pod_affinity_symmetric_weight: int = 0
    always_check_all_predicates: bool = False

    def as_extenders(self) -> tuple[Extender, ...]:
        return tuple(each.as_extender() for each in self.extenders)


# (path, what is wrong)
Complaint = tuple[tuple[str | int, ...], str]


def policy_document(document: dict[str, Any], source: str) -> dict[str, Any]:
    """The Policy itself, out of its ConfigMap if it is in one."""
    if document.get("kind") == POLICY_KIND:
        return document
    from ksched_cli.api.yaml_reader import read_documents

    text = document["data"][POLICY_KEY]
    found = [each.value for each in read_documents(str(text), f"{source}: {POLICY_KEY}")]
    if len(found) != 1 or not isinstance(found[0], dict):
        raise ConfigError(Problem(f"expected one {POLICY_KIND} under {POLICY_KEY}", source, path=f"data[{POLICY_KEY}]"))
    return found[0]


def policy_complaints(policy: Policy, release: Release) -> Iterator[Complaint]:
    """ValidatePolicy, extenders aside."""
    if policy.api_version not in VERSIONS or policy.kind != POLICY_KIND:
        found = f"{policy.kind or 'none'} of {policy.api_version or 'none'}"
        yield ("apiVersion",), f"expected a {POLICY_KIND} of v1, got {found}"
    seen: dict[str, PriorityPolicy] = {}
    for index, priority in enumerate(policy.priorities or ()):
        steps: tuple[str | int, ...] = ("priorities", index)
        if not 0 < priority.weight < MAX_WEIGHT:
            yield (*steps, "weight"), f"{priority.weight} is not a positive weight, or too large a one"
        if not release.before_plugins:
            yield from _redeclared(priority, seen, steps)
        if priority.argument is not None and _given(priority.argument) != 1:
            yield (*steps, "argument"), "exactly one argument is required"
    for index, predicate in enumerate(policy.predicates or ()):
        if predicate.argument is not None and _given(predicate.argument) != 1:
            yield ("predicates", index, "argument"), "exactly one argument is required"
    weight = policy.hard_pod_affinity_symmetric_weight
    if not 0 <= weight <= 100:
        yield ("hardPodAffinitySymmetricWeight",), f"{weight} is not in the valid range [0-100]"


def _given(argument: PredicateArgument | PriorityArgument) -> int:
    return sum(getattr(argument, name) is not None for name in argument.__struct_fields__)


def _redeclared(
    priority: PriorityPolicy, seen: dict[str, PriorityPolicy], steps: tuple[str | int, ...]
) -> Iterator[Complaint]:
    """validateCustomPriorities: one ratio; of the others as many as are wanted, all of one weight."""
    argument = priority.argument
    if argument is None:
        return
    for name in argument.__struct_fields__:
        if getattr(argument, name) is None:
            continue
        first = seen.setdefault(name, priority)
        if name == "requested_to_capacity_ratio_arguments" and first is not priority:
            yield steps, f'"{priority.name}" redeclares the arguments of "{first.name}"'
        elif first.weight != priority.weight:
            yield (*steps, "weight"), f"{priority.weight} differs from the {first.weight} of the others of its kind"
