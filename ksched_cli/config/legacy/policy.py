"""A Policy file, which configured kube-schedulers before 1.23, alone or in a ConfigMap, and the profile it stands for.

The tables of predicates and priorities have the plugin with the rule of each (LegacyRegistry). `policy_profile` mirrors
createFromConfig, with which the last readers made plugins of predicates and priorities.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import asdict, fields, replace

from ksched_cli.config.model import (
    EXTENSION_POINT_FIELDS,
    Extender,
    KubeSchedulerProfile,
    PluginRef,
    Plugins,
    PluginSet,
    duration_text,
)
from ksched_cli.config.plugin_args import (
    InterPodAffinityArgs,
    NodeLabelArgs,
    PodTopologySpreadArgs,
    RequestedToCapacityRatioArgs,
    ResourceSpec,
    ServiceAffinityArgs,
    UtilizationShapePoint,
    with_defaults,
)
from ksched_cli.config.reading import POLICY_KEY, POLICY_KIND
from ksched_cli.config.validate_args import args_complaints
from ksched_cli.errors import ConfigError, Problem
from ksched_cli.releases import plugin_names as names
from ksched_cli.releases.configuration import ConfigurationRules
from ksched_cli.releases.default_plugins import BEFORE_PLUGINS
from ksched_cli.releases.gates import FeatureGates
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


class LegacyExtender(Extender, frozen=True):
    """An extender in a Policy: the time is in nanoseconds there, and one field is spelt otherwise."""

    enable_https: bool = field(default=False, name="enableHttps")
    http_timeout: int = 0  # type: ignore[assignment]  # a text in later configurations

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


_OFF = (PluginRef("*"),)

_MANDATORY = frozenset({names.POD_TOLERATES_NODE_TAINTS, names.CHECK_NODE_UNSCHEDULABLE})
# The defaults of the last minor before plugins: predicates, and priorities with their weights.
_DEFAULTS = {each.name: each.weight for each in BEFORE_PLUGINS}
_OLD_NAMES = {
    "PodFitsPorts": names.POD_FITS_HOST_PORTS,
    names.SERVICE_SPREADING_PRIORITY: names.SELECTOR_SPREAD_PRIORITY,
}

_GATED = GATED_PREDICATES | GATED_PRIORITIES
# Plugins that an entry of any name stands for, if the entry has an argument: by the argument's type, and by its field.
_PLUGIN_OF_ARGS: Mapping[type, str] = {
    NodeLabelArgs: names.NODE_LABEL,
    RequestedToCapacityRatioArgs: names.REQUESTED_TO_CAPACITY_RATIO,
    ServiceAffinityArgs: names.SERVICE_AFFINITY,
}
_PREDICATE_OF_PLUGIN = {
    names.NODE_LABEL: names.CHECK_NODE_LABEL_PRESENCE,
    names.SERVICE_AFFINITY: names.CHECK_SERVICE_AFFINITY,
}
_PLUGIN_OF_ARGUMENT = {
    "serviceAffinity": names.SERVICE_AFFINITY,
    "labelsPresence": names.NODE_LABEL,
    "serviceAntiAffinity": names.SERVICE_AFFINITY,
    "labelPreference": names.NODE_LABEL,
    "requestedToCapacityRatioArguments": names.REQUESTED_TO_CAPACITY_RATIO,
}
_FIXED = {"queueSort": names.PRIORITY_SORT, "postFilter": names.DEFAULT_PREEMPTION, "bind": names.DEFAULT_BINDER}


def policy_profile(
    policy: Policy, release: Release, gates: FeatureGates
) -> tuple[KubeSchedulerProfile, list[Complaint]]:
    """The one profile that the Policy makes, and what kube-scheduler would not take of it."""
    made = Making(release, gates)
    predicates = _MANDATORY | made.predicate_names(policy.predicates)
    weights = made.priority_weights(policy.priorities)
    made.check_arguments(policy)
    for name in PREDICATES:
        if name in predicates:
            made.add_predicate(name)
    for name in sorted(weights):
        made.add_priority(name, weights[name])
    if policy.hard_pod_affinity_symmetric_weight and names.INTER_POD_AFFINITY_PRIORITY in weights:
        weight = policy.hard_pod_affinity_symmetric_weight
        made.args[names.INTER_POD_AFFINITY] = InterPodAffinityArgs(hard_pod_affinity_weight=weight)
    all_filters = policy.always_check_all_predicates
    return KubeSchedulerProfile(plugins=made.plugins(), args=made.args, checks_all_filters=all_filters), made.complaints


def plugins_named(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """The plugins that an entry of a Policy, be it a predicate or a priority, stands for; of one that is checked."""
    name, argument = entry.get("name", ""), entry.get("argument") or {}
    name = _OLD_NAMES.get(name, name)
    if name in PREDICATES:
        return tuple(plugin for _, plugin in PREDICATES[name])
    if name in PRIORITIES:
        return (PRIORITIES[name][0],)
    return tuple(plugin for field, plugin in _PLUGIN_OF_ARGUMENT.items() if argument.get(field) is not None)


class Making:
    """A profile under construction."""

    def __init__(self, release: Release, gates: FeatureGates) -> None:
        self._release = release
        self._gates = gates
        rules = ConfigurationRules.of(release)
        self._left_out: set[tuple[str, str]] = set()
        if not rules.node_affinity_looks_ahead:
            self._left_out |= {("preFilter", names.NODE_AFFINITY), ("preScore", names.NODE_AFFINITY)}
        if not rules.volume_binding_reserves:
            self._left_out |= {(point, names.VOLUME_BINDING) for point in ("preFilter", "reserve", "preBind")}
        self._rules = rules
        self._merges = rules.policy_merges_plugins
        self._spreads_by_default = gates.enabled("DefaultPodTopologySpread") and self._merges
        self._points: dict[str, dict[str, PluginRef]] = {point: {} for point in EXTENSION_POINT_FIELDS}
        self.args: dict[str, Any] = {}
        self.complaints: list[Complaint] = []
        for point, plugin in _FIXED.items():
            # Not every minor has preemption under a Policy.
            if rules.policy_preempts or point != "postFilter":
                self._append(point, plugin)

    def plugins(self) -> Plugins:
        """The plugins, with all defaults off: only the plugins that the Policy names run."""
        return Plugins.of({point: PluginSet(tuple(own.values()), _OFF) for point, own in self._points.items()})

    def _append(self, point: str, plugin: str, weight: int = 0) -> None:
        """A plugin that is there already keeps its place and its weight; in older minors that is one too many."""
        if (point, plugin) in self._left_out:
            return
        if plugin in self._points[point] and not self._merges:
            self.complaints.append(((), f"{plugin} is in {point} more than once, by several names"))
        self._points[point].setdefault(plugin, PluginRef(plugin, weight))

    # Predicates

    def predicate_names(self, policies: Sequence[PredicatePolicy] | None) -> frozenset[str]:
        if policies is None:
            return frozenset(name for name in PREDICATES if name in _DEFAULTS and self._is_there(name))
        named = (self._entry("predicates", index, each, PREDICATES) for index, each in enumerate(policies))
        return frozenset(_PREDICATE_OF_PLUGIN.get(name, name) for name in named if name)

    def _entry(self, section: str, index: int, policy: PredicatePolicy | PriorityPolicy, known: Collection[str]) -> str:
        """The last name of the entry, or the plugin that an entry with an argument stands for."""
        name = _OLD_NAMES.get(policy.name, policy.name)
        if name in known and self._is_there(name):
            return name
        args = plugin_args(policy.argument)
        if args is not None:
            return self.add_args(args)
        what = "predicate" if section == "predicates" else "priority"
        self.complaints.append(((section, index, "name"), f'there is no {what} "{policy.name}"'))
        return ""

    def _is_there(self, name: str) -> bool:
        return name not in _GATED or self._gates.enabled(_GATED[name])

    def check_arguments(self, policy: Policy) -> None:
        """Add the mistakes at which kube-scheduler stops when it makes the plugins."""
        for index, each in enumerate(policy.priorities or ()):
            if each.name in _PLUGIN_OF_ARGS.values() and each.name not in self.args:
                text = f"no argument is read under the name {each.name}, and it cannot do without"
                self.complaints.append((("priorities", index), text))
        for plugin, args in self.args.items():
            for where, text in args_complaints(args, self._gates, self._release):
                section = "predicates" if where.startswith(("presentLabels[", "absentLabels[")) else "priorities"
                self.complaints.append(((section,), f"{plugin}: {where}: {text}"))

    def add_args(self, args: NodeLabelArgs | RequestedToCapacityRatioArgs | ServiceAffinityArgs) -> str:
        """Add the arguments to those of their plugin, and return its name. Labels add up; the last ratio counts."""
        plugin = _PLUGIN_OF_ARGS[type(args)]
        own = self.args.get(plugin)
        if own is None or isinstance(args, RequestedToCapacityRatioArgs):
            self.args[plugin] = args
            return plugin
        lists = [each.name for each in fields(args) if isinstance(each.default, tuple)]
        self.args[plugin] = replace(own, **{each: (*getattr(own, each), *getattr(args, each)) for each in lists})
        return plugin

    def add_predicate(self, name: str) -> None:
        for points, plugin in PREDICATES[name]:
            for point in points:
                self._append(point, plugin)

    # Priorities

    def priority_weights(self, policies: Sequence[PriorityPolicy] | None) -> dict[str, int]:
        if policies is None:
            weights = {name: weight for name, weight in _DEFAULTS.items() if weight and self._is_there(name)}
            if names.EVEN_PODS_SPREAD_PRIORITY in weights:
                weights[names.EVEN_PODS_SPREAD_PRIORITY] = self._rules.spread_priority_weight
            return weights
        ranking = [(at, each) for at, each in enumerate(policies) if each.name != names.EQUAL_PRIORITY]
        wanted = [(self._entry("priorities", at, each, PRIORITIES), each.weight) for at, each in ranking]
        return {name: weight for name, weight in wanted if name}

    def add_priority(self, name: str, weight: int) -> None:
        plugin, pre_scores = PRIORITIES[name]
        if name == names.SELECTOR_SPREAD_PRIORITY and not self._spreads_by_default:
            plugin = self._rules.selector_spread_plugin
        elif plugin == names.POD_TOPOLOGY_SPREAD:
            self._set_defaulting(system=name == names.SELECTOR_SPREAD_PRIORITY)
        if pre_scores:
            self._append("preScore", plugin)
        self._append("score", plugin, weight * self._times(name))

    def _times(self, name: str) -> int:
        """A preference by labels weighs as much for each of them."""
        own = self.args.get(name)
        if isinstance(own, NodeLabelArgs):
            return len(own.present_labels_preference) + len(own.absent_labels_preference)
        return len(own.anti_affinity_labels_preference) if isinstance(own, ServiceAffinityArgs) else 1

    def _set_defaulting(self, *, system: bool) -> None:
        """Pods without constraints are spread where the priority for selectors is enabled."""
        if self._spreads_by_default and (system or names.POD_TOPOLOGY_SPREAD not in self.args):
            self.args[names.POD_TOPOLOGY_SPREAD] = PodTopologySpreadArgs(defaulting_type="System" if system else "List")
