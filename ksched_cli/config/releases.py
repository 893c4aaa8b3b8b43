"""What each Kubernetes minor brings along: default plugins, weights, feature gates, configuration versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ksched_cli.config.model import PluginRef
from ksched_cli.errors import Problem, UsageError


class Gate(NamedTuple):
    """A feature gate as a minor has it."""

    default: bool
    stage: str
    locked: bool


class FeatureGates:
    """The gates of a run: a minor's defaults and what the user sets."""

    def __init__(self, gates: Mapping[str, Gate], overrides: Mapping[str, bool]) -> None:
        self._enabled = {name: gate.default for name, gate in gates.items()} | dict(overrides)
        self._changed = sorted(name for name, on in overrides.items() if on != gates[name].default)

    def enabled(self, name: str) -> bool:
        """A gate that the minor does not know is off."""
        return self._enabled.get(name, False)

    @property
    def not_modelled(self) -> tuple[str, ...]:
        """Gates that were set against their default and that decide something which is answered by the default."""
        return tuple(name for name in self._changed if name in _NOT_MODELLED)


@dataclass(frozen=True)
class Release:
    """One minor. Gated plugins join the defaults when their gate is on: before the named plugin, or at the end."""

    version: str
    config_versions: tuple[str, ...]
    multi_point: tuple[PluginRef, ...]
    gated_plugins: tuple[tuple[str, PluginRef, str], ...]
    gates_table: Mapping[str, Gate]
    # No plugin of these names may be enabled or configured any more (invalidPluginsByVersion).
    removed_plugins: frozenset[str]
    # Gates that cannot be on unless these are too.
    gate_dependencies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def gates(self, overrides: str = "") -> FeatureGates:
        """`A=true,B=false` over the defaults; unknown and locked gates are refused, all at once."""
        wanted: dict[str, bool] = {}
        problems: list[Problem] = []
        for entry in filter(None, (part.strip() for part in overrides.split(","))):
            name, separator, value = entry.partition("=")
            problem = self._refusal(name, separator, value)
            if problem is None:
                wanted[name] = value.lower() == "true"
            else:
                problems.append(Problem(problem, path=f"--feature-gates {entry}"))
        gates = FeatureGates(self.gates_table, wanted)
        problems += self._unmet(gates) if not problems else []
        if problems:
            raise UsageError(problems)
        return gates

    def _unmet(self, gates: FeatureGates) -> list[Problem]:
        """Gates that are on while one that they build on is off."""
        return [
            Problem(
                f"{name} is enabled, but depends on features that are disabled: [{' '.join(missing)}]",
                path="--feature-gates",
                hint=f"set {','.join(f'{each}=true' for each in missing)} or {name}=false",
            )
            for name, needed in self.gate_dependencies.items()
            if gates.enabled(name) and (missing := [each for each in needed if not gates.enabled(each)])
        ]

    def _refusal(self, name: str, separator: str, value: str) -> str | None:
        if not separator or value.lower() not in ("true", "false"):
            return "write it as Name=true or Name=false"
        gate = self.gates_table.get(name)
        if gate is None:
            return f"Kubernetes {self.version} has no feature gate {name} that scheduling depends on"
        if gate.locked and (value.lower() == "true") != gate.default:
            return f"{name} is locked to {str(gate.default).lower()} in Kubernetes {self.version}"
        return None

    def plugin_names(self) -> tuple[str, ...]:
        """Every in-tree plugin, gated or not."""
        return (*(plugin.name for plugin in self.multi_point), *(plugin.name for _, plugin, _ in self.gated_plugins))

    def default_plugin_names(self, gates: FeatureGates) -> tuple[str, ...]:
        return tuple(plugin.name for plugin in self.default_multi_point(gates))

    def default_multi_point(self, gates: FeatureGates) -> tuple[PluginRef, ...]:
        """getDefaultPlugins with applyFeatureGates."""
        plugins = list(self.multi_point)
        for gate, plugin, before in self.gated_plugins:
            if gates.enabled(gate):
                at = next((index for index, each in enumerate(plugins) if each.name == before), len(plugins))
                plugins.insert(at, plugin)
        return tuple(plugins)


# Those that are neither read by a plugin nor without influence on a single cycle.
_NOT_MODELLED = frozenset(
    {
        "DRADeviceTaintRules",
        "DRAListTypeAttributes",
        "DRANodeAllocatableResources",
        "DRAWorkloadResourceClaims",
        "InPlacePodLevelResourcesVerticalScaling",
        "MatchLabelKeysInPodTopologySpreadSelectorMerge",
        "PodLevelResources",
        "StorageCapacityScoring",
        "WorkloadAwarePreemption",
    }
)

_GATES_1_36: Mapping[str, Gate] = {
    "ClearingNominatedNodeNameAfterBinding": Gate(True, "Beta", False),
    "DRAAdminAccess": Gate(True, "GA", True),
    "DRAConsumableCapacity": Gate(True, "Beta", False),
    "DRADeviceBindingConditions": Gate(True, "Beta", False),
    "DRADeviceTaintRules": Gate(False, "Beta", False),
    "DRADeviceTaints": Gate(True, "Beta", False),
    "DRAExtendedResource": Gate(True, "Beta", False),
    "DRAListTypeAttributes": Gate(False, "Alpha", False),
    "DRANodeAllocatableResources": Gate(False, "Alpha", False),
    "DRAPartitionableDevices": Gate(True, "Beta", False),
    "DRAPrioritizedList": Gate(True, "GA", False),
    "DRAResourceClaimDeviceStatus": Gate(True, "Beta", False),
    "DRASchedulerFilterTimeout": Gate(True, "Beta", False),
    "DRAWorkloadResourceClaims": Gate(False, "Alpha", False),
    "DynamicResourceAllocation": Gate(True, "GA", True),
    "GangScheduling": Gate(False, "Alpha", False),
    "GenericWorkload": Gate(False, "Alpha", False),
    "InPlacePodLevelResourcesVerticalScaling": Gate(True, "Beta", False),
    "InPlacePodVerticalScaling": Gate(True, "GA", True),
    "MatchLabelKeysInPodAffinity": Gate(True, "GA", True),
    "MatchLabelKeysInPodTopologySpread": Gate(True, "Beta", False),
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": Gate(True, "Beta", False),
    "MutableCSINodeAllocatableCount": Gate(True, "GA", True),
    "NodeDeclaredFeatures": Gate(True, "Beta", False),
    "NodeInclusionPolicyInPodTopologySpread": Gate(True, "GA", True),
    "NominatedNodeNameForExpectation": Gate(True, "Beta", False),
    "OpportunisticBatching": Gate(True, "Beta", False),
    "PodLevelResources": Gate(True, "Beta", False),
    "PodSchedulingReadiness": Gate(True, "GA", True),
    "SchedulerAsyncAPICalls": Gate(False, "Beta", False),
    "SchedulerAsyncPreemption": Gate(True, "Beta", False),
    "SchedulerPopFromBackoffQ": Gate(True, "Beta", False),
    "SchedulerQueueingHints": Gate(True, "GA", True),
    "SidecarContainers": Gate(True, "GA", True),
    "StorageCapacityScoring": Gate(False, "Alpha", False),
    "TaintTolerationComparisonOperators": Gate(False, "Alpha", False),
    "TopologyAwareWorkloadScheduling": Gate(False, "Alpha", False),
    "VolumeAttributesClass": Gate(True, "GA", True),
    "VolumeLimitScaling": Gate(False, "Alpha", False),
    "WorkloadAwarePreemption": Gate(False, "Alpha", False),
}

_GATE_DEPENDENCIES_1_36: Mapping[str, tuple[str, ...]] = {
    "DRADeviceBindingConditions": ("DRAResourceClaimDeviceStatus",),
    "DRADeviceTaintRules": ("DRADeviceTaints",),
    "DRAWorkloadResourceClaims": ("DynamicResourceAllocation", "GenericWorkload"),
    "GangScheduling": ("GenericWorkload",),
    "InPlacePodLevelResourcesVerticalScaling": ("PodLevelResources", "NodeDeclaredFeatures"),
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": ("MatchLabelKeysInPodTopologySpread",),
    "TopologyAwareWorkloadScheduling": ("GenericWorkload",),
    "WorkloadAwarePreemption": ("GangScheduling",),
}

RELEASES: Mapping[str, Release] = {
    "1.36": Release(
        version="1.36",
        config_versions=("kubescheduler.config.k8s.io/v1",),
        multi_point=(
            PluginRef("SchedulingGates"),
            PluginRef("PrioritySort"),
            PluginRef("NodeUnschedulable"),
            PluginRef("NodeName"),
            PluginRef("TaintToleration", 3),
            PluginRef("NodeAffinity", 2),
            PluginRef("NodePorts"),
            PluginRef("NodeResourcesFit", 1),
            PluginRef("VolumeRestrictions"),
            PluginRef("NodeVolumeLimits"),
            PluginRef("VolumeBinding"),
            PluginRef("VolumeZone"),
            PluginRef("PodTopologySpread", 2),
            PluginRef("InterPodAffinity", 2),
            PluginRef("DefaultPreemption"),
            PluginRef("NodeResourcesBalancedAllocation", 1),
            PluginRef("ImageLocality", 1),
            PluginRef("DefaultBinder"),
        ),
        gated_plugins=(
            ("NodeDeclaredFeatures", PluginRef("NodeDeclaredFeatures"), ""),
            ("DynamicResourceAllocation", PluginRef("DynamicResources", 2), "DefaultPreemption"),
            ("GangScheduling", PluginRef("GangScheduling"), ""),
            ("TopologyAwareWorkloadScheduling", PluginRef("TopologyPlacementGenerator"), ""),
            ("TopologyAwareWorkloadScheduling", PluginRef("PodGroupPodsCount", 1), ""),
        ),
        gates_table=_GATES_1_36,
        removed_plugins=frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"}),
        gate_dependencies=_GATE_DEPENDENCIES_1_36,
    ),
}


def release(version: str) -> Release:
    found = RELEASES.get(version)
    if found is None:
        raise UsageError(f"Kubernetes {version} is not modelled; there is {', '.join(RELEASES)}")
    return found
