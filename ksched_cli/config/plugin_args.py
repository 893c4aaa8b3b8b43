"""Arguments of the in-tree plugins, with their defaults filled in (apis/config/types_pluginargs.go, v1/defaults.go);
and arguments of a plugin that declares a model (`args_model`), checked against the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.conversion import Mistake, path_text, problems_in
from ksched_cli.api.core import NodeAffinityTerms, TopologySpreadConstraint
from ksched_cli.errors import ConfigError, Problem
from ksched_cli.releases import plugin_names as names
from ksched_cli.releases.configuration import ConfigurationRules
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import Release

DEFAULT_WEIGHT = 1


class _Args(Struct, rename="camel", frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The fields that every args document may have besides its own."""

    api_version: str = ""
    kind: str = ""


class ResourceSpec(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    name: str = ""
    weight: int = 0


class UtilizationShapePoint(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    utilization: int = 0
    score: int = 0


class RequestedToCapacityRatioParam(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    shape: tuple[UtilizationShapePoint, ...] = ()


CPU_AND_MEMORY = (ResourceSpec("cpu", DEFAULT_WEIGHT), ResourceSpec("memory", DEFAULT_WEIGHT))


# Plugins that became scoring strategies of one plugin.
STRATEGY_OF = {
    names.NODE_RESOURCES_LEAST_ALLOCATED: "LeastAllocated",
    names.NODE_RESOURCES_MOST_ALLOCATED: "MostAllocated",
    names.REQUESTED_TO_CAPACITY_RATIO: names.REQUESTED_TO_CAPACITY_RATIO,
}


class ScoringStrategy(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    type: str = ""
    resources: tuple[ResourceSpec, ...] = ()
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None

    def ratio_args(self) -> RequestedToCapacityRatioArgs:
        """The arguments of the plugin that scored by a ratio before there were strategies."""
        ratio = self.requested_to_capacity_ratio
        return RequestedToCapacityRatioArgs(shape=ratio.shape if ratio else (), resources=self.resources)


class DefaultPreemptionArgs(_Args, frozen=True):
    min_candidate_nodes_percentage: int = 10
    min_candidate_nodes_absolute: int = 100


class InterPodAffinityArgs(_Args, frozen=True):
    hard_pod_affinity_weight: int = 1
    ignore_preferred_terms_of_existing_pods: bool = False


class NodeAffinityArgs(_Args, frozen=True):
    added_affinity: NodeAffinityTerms | None = None


class NodeResourcesFitArgs(_Args, frozen=True):
    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy("LeastAllocated", CPU_AND_MEMORY)


class NodeResourcesBalancedAllocationArgs(_Args, frozen=True):
    resources: tuple[ResourceSpec, ...] = CPU_AND_MEMORY


class NodeResourcesLeastAllocatedArgs(_Args, frozen=True):
    resources: tuple[ResourceSpec, ...] = CPU_AND_MEMORY


class NodeResourcesMostAllocatedArgs(_Args, frozen=True):
    resources: tuple[ResourceSpec, ...] = CPU_AND_MEMORY


class RequestedToCapacityRatioArgs(_Args, frozen=True):
    shape: tuple[UtilizationShapePoint, ...] = ()
    resources: tuple[ResourceSpec, ...] = CPU_AND_MEMORY


class NodeLabelArgs(_Args, frozen=True):
    present_labels: tuple[str, ...] = ()
    absent_labels: tuple[str, ...] = ()
    present_labels_preference: tuple[str, ...] = ()
    absent_labels_preference: tuple[str, ...] = ()


class ServiceAffinityArgs(_Args, frozen=True):
    affinity_labels: tuple[str, ...] = ()
    anti_affinity_labels_preference: tuple[str, ...] = ()


class PodTopologySpreadArgs(_Args, frozen=True):
    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: str = "System"


class VolumeBindingArgs(_Args, frozen=True):
    bind_timeout_seconds: int = 600
    shape: tuple[UtilizationShapePoint, ...] = ()


class DynamicResourcesArgs(_Args, frozen=True):
    filter_timeout: str | None = None
    binding_timeout: str | None = None


ARGS_OF: Mapping[str, type[Struct]] = {
    names.DEFAULT_PREEMPTION: DefaultPreemptionArgs,
    names.INTER_POD_AFFINITY: InterPodAffinityArgs,
    names.NODE_AFFINITY: NodeAffinityArgs,
    names.NODE_RESOURCES_FIT: NodeResourcesFitArgs,
    names.NODE_RESOURCES_BALANCED_ALLOCATION: NodeResourcesBalancedAllocationArgs,
    names.POD_TOPOLOGY_SPREAD: PodTopologySpreadArgs,
    names.VOLUME_BINDING: VolumeBindingArgs,
    names.DYNAMIC_RESOURCES: DynamicResourcesArgs,
    # Arguments of plugins that were removed.
    names.NODE_LABEL: NodeLabelArgs,
    names.NODE_RESOURCES_LEAST_ALLOCATED: NodeResourcesLeastAllocatedArgs,
    names.NODE_RESOURCES_MOST_ALLOCATED: NodeResourcesMostAllocatedArgs,
    names.REQUESTED_TO_CAPACITY_RATIO: RequestedToCapacityRatioArgs,
    names.SERVICE_AFFINITY: ServiceAffinityArgs,
    # Those of predicates and priorities, which a Policy gives.
    names.BALANCED_RESOURCE_ALLOCATION: NodeResourcesBalancedAllocationArgs,
    names.CHECK_NODE_LABEL_PRESENCE: NodeLabelArgs,
    names.CHECK_SERVICE_AFFINITY: ServiceAffinityArgs,
    names.GENERAL_PREDICATES: NodeResourcesFitArgs,
    names.INTER_POD_AFFINITY_PRIORITY: InterPodAffinityArgs,
    names.LEAST_REQUESTED_PRIORITY: NodeResourcesLeastAllocatedArgs,
    names.MATCH_INTER_POD_AFFINITY: InterPodAffinityArgs,
    names.MATCH_NODE_SELECTOR: NodeAffinityArgs,
    names.MOST_REQUESTED_PRIORITY: NodeResourcesMostAllocatedArgs,
    names.POD_FITS_RESOURCES: NodeResourcesFitArgs,
    names.REQUESTED_TO_CAPACITY_RATIO_PRIORITY: RequestedToCapacityRatioArgs,
}

_GONE = frozenset({names.NODE_LABEL, names.SERVICE_AFFINITY, *STRATEGY_OF})

# Plugins that took no arguments at first.
LATE_ARGS = frozenset({names.DEFAULT_PREEMPTION, names.NODE_AFFINITY})


def args_of(plugin: str, release: Release) -> type[Struct] | None:
    """The type of an in-tree plugin's arguments, where the minor has the plugin and it takes any."""
    gone = plugin in _GONE and not ConfigurationRules.of(release).has_plugins_of_v1beta1
    return None if gone else ARGS_OF.get(plugin)


# How volumes are scored by their size, where a gate has them scored: it was the fullest first, and is the emptiest.
_SHAPES = {
    "StorageCapacityScoring": (UtilizationShapePoint(0, 10), UtilizationShapePoint(100, 0)),
    "VolumeCapacityPriority": (UtilizationShapePoint(0, 0), UtilizationShapePoint(100, 10)),
}


def args_by_default(plugin: str, gates: FeatureGates) -> Any:
    """The arguments of an in-tree plugin for which the configuration has none; None if it takes none."""
    if plugin == names.POD_TOPOLOGY_SPREAD:
        return PodTopologySpreadArgs(defaulting_type=_defaulting_type(gates))
    if plugin == names.VOLUME_BINDING:
        return VolumeBindingArgs(shape=_shape_by_default(gates))
    return ARGS_OF[plugin]() if plugin in ARGS_OF else None


def completed(args: object, given: Mapping[str, Any], gates: FeatureGates, config_version: str) -> object:
    """The arguments with defaults for missing fields. Some depend on a gate or the configuration version."""
    if isinstance(args, PodTopologySpreadArgs) and not given.get("defaultingType"):
        own = args.default_constraints and config_version == "v1beta1"
        args = replace(args, defaulting_type="List" if own else _defaulting_type(gates))
    if isinstance(args, VolumeBindingArgs) and not args.shape:
        args = replace(args, shape=_shape_by_default(gates))
    return with_defaults(args)


def _shape_by_default(gates: FeatureGates) -> tuple[UtilizationShapePoint, ...]:
    """SetDefaults_VolumeBindingArgs."""
    return next((shape for gate, shape in _SHAPES.items() if gates.enabled(gate)), ())


def _defaulting_type(gates: FeatureGates) -> str:
    """SetDefaults_PodTopologySpreadArgs: while the gate was off another plugin did what constraints of its own do."""
    return "System" if gates.enabled("DefaultPodTopologySpread") else "List"


def with_defaults(args: object) -> object:
    """The arguments with defaults in place of empty lists, empty texts and zero weights."""
    match args:
        case NodeResourcesFitArgs():
            strategy = args.scoring_strategy
            resources = _weighted(strategy.resources or CPU_AND_MEMORY)
            return replace(args, scoring_strategy=replace(strategy, resources=resources))
        case NodeResourcesBalancedAllocationArgs():
            return replace(args, resources=_weighted(args.resources or CPU_AND_MEMORY))
        case NodeResourcesLeastAllocatedArgs() | NodeResourcesMostAllocatedArgs() | RequestedToCapacityRatioArgs():
            return replace(args, resources=_weighted(args.resources or CPU_AND_MEMORY))
        case PodTopologySpreadArgs():
            return replace(args, defaulting_type=args.defaulting_type or "System")
    return args


def _weighted(resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
    return tuple(replace(each, weight=each.weight or DEFAULT_WEIGHT) for each in resources)


# Fields that the arguments of any plugin may have.
_IDENTITY = ("apiVersion", "kind")


def is_model(model: Any) -> bool:
    """Whether it is None, a dataclass or a Struct."""
    return model is None or (isinstance(model, type) and (is_dataclass(model) or issubclass(model, msgspec.Struct)))


def own_args(model: type[Any], given: Mapping[str, Any]) -> tuple[Any, list[Mistake]]:
    """The typed arguments and all their mistakes. A field that the model lacks is a mistake for every model."""
    known = _fields(model)
    unknown: list[Mistake] = [
        ((key,), f"no such field; there are {', '.join(known) or 'none'}")
        for key in given
        if key not in known and key not in _IDENTITY
    ]
    named = {key: value for key, value in given.items() if key in known}
    try:
        args, mistakes = problems_in(named, model)
    except Exception as problem:
        # A model may check more than types; msgspec converts ValueError and TypeError of the model, and no others.
        args, mistakes = None, [((), f"{type(problem).__name__}: {problem}")]
    _spell_out(args)
    # A field that was given and is mistaken was taken out to look at the others, and is not missing.
    given_and_missing = {f"object missing required field `{key}`" for key in named}
    return args, unknown + [(path, text) for path, text in mistakes if text not in given_and_missing]


def _spell_out(args: Any) -> None:
    """Set the defaults of a dataclass on the instance: msgspec leaves them to the class, where printing misses them."""
    if is_dataclass(args) and not isinstance(args, type):
        for each in fields(args):
            value = getattr(args, each.name)
            object.__setattr__(args, each.name, value)
            _spell_out(value)


def default_args(name: str, model: type[Any]) -> Any:
    """The arguments of the plugin when the configuration has none."""
    args, mistakes = own_args(model, {})
    if mistakes:
        raise ConfigError(Problem(needs_arguments(name, mistakes), hint="give it a pluginConfig"))
    return args


def needs_arguments(name: str, mistakes: list[Mistake]) -> str:
    texts = "; ".join(f"{path_text(path)}: {text}" if path else text for path, text in mistakes)
    return f'plugin "{name}" cannot do without arguments: {texts}'


def _fields(model: type[Any]) -> tuple[str, ...]:
    described = msgspec.inspect.type_info(model)
    assert isinstance(described, msgspec.inspect.StructType | msgspec.inspect.DataclassType)
    return tuple(field.encode_name for field in described.fields)
