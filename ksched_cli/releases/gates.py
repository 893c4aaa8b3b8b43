"""The feature gates that scheduling and the controllers of workloads depend on: their history by minor, their defaults,
and what a user may set.

It mirrors pkg/features/kube_features.go and the checks of component-base/featuregate. A minor has the last entry of a
gate up to it. If a patch changed a default, the entry is the later one, and `_BEFORE_PATCH` has the earlier one, except
for SchedulerQueueingHints in 1.28 and SchedulerAsyncAPICalls in 1.34 and 1.35. Gates that decide nothing here are not
listed.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from copy import copy
from functools import cache
from typing import NamedTuple

from ksched_cli.errors import Problem, UsageError
from ksched_cli.releases.plugin_names import EVEN_PODS_SPREAD, GANG_SCHEDULING, NODE_DECLARED_FEATURES


@cache
def minor_of(version: str) -> int:
    """The number after "1."."""
    return int(version.partition(".")[2])


class Gate(NamedTuple):
    """A feature gate as a minor has it."""

    default: bool
    stage: str
    locked: bool


ALPHA = Gate(False, "Alpha", False)
BETA = Gate(True, "Beta", False)
BETA_OFF = Gate(False, "Beta", False)
GA = Gate(True, "GA", False)
LOCKED = Gate(True, "GA", True)
DEPRECATED = Gate(False, "Deprecated", False)
# The gate was taken away: its last value holds for good, and it can no longer be set.
REMOVED = None

GATE_HISTORY: Mapping[str, Mapping[str, Gate | None]] = {
    "AllAlpha": {"1.16": ALPHA},
    "AllBeta": {"1.17": BETA_OFF},
    "AttachVolumeLimit": {"1.16": BETA, "1.17": LOCKED, "1.21": REMOVED},
    "BalanceAttachedNodeVolumes": {"1.16": ALPHA, "1.22": REMOVED},
    "CSIMigration": {"1.16": ALPHA, "1.17": BETA, "1.25": LOCKED, "1.27": REMOVED},
    "CSIMigrationAWS": {"1.16": ALPHA, "1.17": BETA_OFF, "1.23": BETA, "1.25": LOCKED, "1.27": REMOVED},
    "CSIMigrationAzureDisk": {
        "1.16": ALPHA,
        "1.19": BETA_OFF,
        "1.23": BETA,
        "1.24": GA,
        "1.25": LOCKED,
        "1.27": REMOVED,
    },
    "CSIMigrationGCE": {"1.16": ALPHA, "1.17": BETA_OFF, "1.23": BETA, "1.25": LOCKED, "1.28": REMOVED},
    "CSIMigrationOpenStack": {"1.16": ALPHA, "1.18": BETA_OFF, "1.21": BETA, "1.24": LOCKED, "1.26": REMOVED},
    "CSIMigrationPortworx": {"1.23": ALPHA, "1.25": BETA_OFF, "1.31": BETA, "1.33": LOCKED, "1.36": REMOVED},
    "CSIMigrationRBD": {"1.24": ALPHA, "1.28": DEPRECATED, "1.31": REMOVED},
    "CSINodeInfo": {"1.16": BETA, "1.17": LOCKED, "1.21": REMOVED},
    "CSIStorageCapacity": {"1.19": ALPHA, "1.21": BETA, "1.24": LOCKED, "1.28": REMOVED},
    "ClearingNominatedNodeNameAfterBinding": {"1.34": ALPHA, "1.35": BETA},
    "CompositePodGroup": {"1.37": ALPHA},
    "DRAAdminAccess": {"1.32": ALPHA, "1.34": BETA, "1.36": LOCKED},
    "DRAConsumableCapacity": {"1.34": ALPHA, "1.36": BETA},
    "DRAControlPlaneController": {"1.31": ALPHA, "1.32": REMOVED},
    "DRADerivedAttributes": {"1.37": ALPHA},
    "DRADeviceBindingConditions": {"1.34": ALPHA, "1.36": BETA},
    "DRADeviceCompatibilityGroups": {"1.37": ALPHA},
    "DRADeviceTaintRules": {"1.35": ALPHA, "1.36": BETA_OFF, "1.37": GA},
    "DRADeviceTaints": {"1.33": ALPHA, "1.36": BETA, "1.37": GA},
    "DRAExtendedResource": {"1.34": ALPHA, "1.36": BETA, "1.37": LOCKED},
    "DRAFractionalCapacityRange": {"1.37": BETA},
    "DRAListTypeAttributes": {"1.36": ALPHA},
    "DRANodeAllocatableResources": {"1.36": ALPHA},
    "DRAOptionalNodeOperations": {"1.37": ALPHA},
    "DRAPartitionableDevices": {"1.33": ALPHA, "1.36": BETA},
    "DRAPrioritizedList": {"1.33": ALPHA, "1.34": BETA, "1.36": GA, "1.37": LOCKED},
    "DRAResourceClaimDeviceStatus": {"1.32": ALPHA, "1.33": BETA, "1.37": LOCKED},
    "DRASchedulerFilterTimeout": {"1.34": BETA},
    "DRAWorkloadResourceClaims": {"1.36": ALPHA, "1.37": BETA_OFF},
    "DefaultPodTopologySpread": {"1.19": ALPHA, "1.20": BETA, "1.24": LOCKED, "1.26": REMOVED},
    "DynamicResourceAllocation": {"1.26": ALPHA, "1.32": BETA_OFF, "1.34": GA, "1.35": LOCKED},
    EVEN_PODS_SPREAD: {"1.16": ALPHA, "1.18": BETA, "1.19": LOCKED, "1.21": REMOVED},
    # GenericWorkload covers it since 1.37 (#139520).
    GANG_SCHEDULING: {"1.35": ALPHA, "1.37": REMOVED},
    "GenericEphemeralVolume": {"1.19": ALPHA, "1.21": BETA, "1.23": LOCKED, "1.25": REMOVED},
    "GenericWorkload": {"1.35": ALPHA, "1.37": BETA_OFF},
    "HPAScaleToZero": {"1.16": ALPHA, "1.37": BETA},
    "InPlacePodLevelResourcesVerticalScaling": {"1.35": ALPHA, "1.36": BETA},
    "InPlacePodVerticalScaling": {"1.27": ALPHA, "1.33": BETA, "1.35": LOCKED},
    "InPlacePodVerticalScalingSchedulerPreemption": {"1.37": ALPHA},
    "InterPodAffinityHostnameFastPath": {"1.37": ALPHA},
    "LocalStorageCapacityIsolation": {"1.16": BETA, "1.25": LOCKED, "1.27": REMOVED},
    "MatchLabelKeysInPodAffinity": {"1.29": ALPHA, "1.31": BETA, "1.33": LOCKED},
    "MatchLabelKeysInPodTopologySpread": {"1.25": ALPHA, "1.27": BETA},
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": {"1.34": BETA},
    "MaxUnavailableStatefulSet": {"1.24": ALPHA, "1.35": BETA_OFF, "1.37": BETA},
    "MinDomainsInPodTopologySpread": {"1.24": ALPHA, "1.25": BETA_OFF, "1.27": BETA, "1.30": LOCKED, "1.32": REMOVED},
    "MutableCSINodeAllocatableCount": {"1.33": ALPHA, "1.34": BETA_OFF, "1.35": BETA, "1.36": LOCKED},
    NODE_DECLARED_FEATURES: {"1.35": ALPHA, "1.36": BETA, "1.37": LOCKED},
    "NodeInclusionPolicyInPodTopologySpread": {"1.25": ALPHA, "1.26": BETA, "1.33": LOCKED},
    "NominatedNodeNameForExpectation": {"1.34": ALPHA, "1.35": BETA},
    "NonPreemptingPriority": {"1.16": ALPHA, "1.19": BETA, "1.24": LOCKED, "1.26": REMOVED},
    "OpportunisticBatching": {"1.35": BETA},
    "PodAffinityNamespaceSelector": {"1.21": ALPHA, "1.22": BETA, "1.24": LOCKED, "1.26": REMOVED},
    "PodDisruptionBudget": {"1.17": BETA, "1.21": LOCKED, "1.25": REMOVED},
    "PodDisruptionConditions": {"1.25": ALPHA, "1.26": BETA, "1.31": LOCKED, "1.34": REMOVED},
    "PodGroupPreemptionPolicy": {"1.37": ALPHA},
    "PodLevelResources": {"1.32": ALPHA, "1.34": BETA},
    "PodOverhead": {"1.16": ALPHA, "1.18": BETA, "1.24": LOCKED, "1.26": REMOVED},
    "PodSchedulingReadiness": {"1.26": ALPHA, "1.27": BETA, "1.30": LOCKED},
    "PreferNominatedNode": {"1.21": ALPHA, "1.22": BETA, "1.24": LOCKED, "1.26": REMOVED},
    "ReadWriteOncePod": {"1.22": ALPHA, "1.27": BETA, "1.29": LOCKED, "1.31": REMOVED},
    "ResourceLimitsPriorityFunction": {"1.16": ALPHA, "1.19": REMOVED},
    "SchedulerAsyncAPICalls": {"1.34": BETA_OFF},
    "SchedulerAsyncPreemption": {"1.32": ALPHA, "1.33": BETA},
    "SchedulerPopFromBackoffQ": {"1.33": BETA},
    "SchedulerPreQueueingHints": {"1.37": ALPHA},
    "SchedulerQueueingHints": {"1.28": BETA_OFF, "1.32": BETA, "1.34": LOCKED},
    "SidecarContainers": {"1.28": ALPHA, "1.29": BETA, "1.33": LOCKED, "1.37": REMOVED},
    "StatefulSetRecreateStrategy": {"1.37": ALPHA},
    "StorageCapacityScoring": {"1.33": ALPHA, "1.37": BETA},
    "TaintNodesByCondition": {"1.16": BETA, "1.17": LOCKED, "1.18": REMOVED},
    "TaintTolerationComparisonOperators": {"1.35": ALPHA},
    "TopologyAwareWorkloadScheduling": {"1.36": ALPHA},
    "VolumeAttributesClass": {"1.29": ALPHA, "1.31": BETA_OFF, "1.34": GA, "1.36": LOCKED},
    "VolumeBindMountOptions": {"1.37": ALPHA},
    "VolumeCapacityPriority": {"1.21": ALPHA, "1.33": REMOVED},
    "VolumeLimitScaling": {"1.35": ALPHA, "1.37": BETA},
    "WorkloadAwarePreemption": {"1.36": ALPHA, "1.37": REMOVED},
    "WorkloadWithJob": {"1.36": ALPHA},
    # As it was called in its first minor.
    "csiMigrationRBD": {"1.23": ALPHA, "1.24": REMOVED},
}

# The patch that changed a default, and the default in the patches of its minor before it.
_BEFORE_PATCH: Mapping[str, tuple[str, bool]] = {"MaxUnavailableStatefulSet": ("1.35.4", True)}

# Gates that stand for all others of their stage that are not set themselves.
STAGE_GATES: Mapping[str, str] = {"AllAlpha": ALPHA.stage, "AllBeta": BETA.stage}

# Gates of which ksched models only the default: in minors before this one, or in all minors.
NEVER = ""
MODELLED_SINCE: Mapping[str, str] = {
    "CSIMigrationRBD": NEVER,
    "CompositePodGroup": NEVER,
    "DRAAdminAccess": "1.34",
    "DRAConsumableCapacity": "1.36",
    "DRAControlPlaneController": NEVER,
    "DRADerivedAttributes": NEVER,
    "DRADeviceBindingConditions": "1.36",
    "DRADeviceCompatibilityGroups": NEVER,
    "DRADeviceTaintRules": "1.36",
    "DRADeviceTaints": "1.36",
    "DRAExtendedResource": "1.36",
    "DRAOptionalNodeOperations": NEVER,
    "DRAPartitionableDevices": "1.36",
    "DRAPrioritizedList": "1.34",
    "DynamicResourceAllocation": "1.34",
    GANG_SCHEDULING: "1.36",
    "GenericWorkload": "1.36",
    # Before resizes had conditions they had a field.
    "InPlacePodVerticalScaling": "1.33",
    "InPlacePodVerticalScalingSchedulerPreemption": NEVER,
    # Selectors are read as they are stored, and those of manifests are made as the API server does it now.
    "MatchLabelKeysInPodAffinity": NEVER,
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": NEVER,
    "MaxUnavailableStatefulSet": "1.35",
    NODE_DECLARED_FEATURES: "1.36",
    "PodGroupPreemptionPolicy": NEVER,
    "PodLevelResources": "1.34",
    # Before that it was PreFilter that refused.
    "ReadWriteOncePod": "1.27",
    "StatefulSetRecreateStrategy": NEVER,
    "VolumeAttributesClass": "1.31",
    "VolumeBindMountOptions": NEVER,
    "WorkloadWithJob": NEVER,
    "csiMigrationRBD": NEVER,
}
# Gates of which later minors than this one changed what ksched does not follow.
MODELLED_UNTIL: Mapping[str, str] = {
    "DRANodeAllocatableResources": "1.36",
    "DRAWorkloadResourceClaims": "1.36",
    "GenericWorkload": "1.36",
    "TopologyAwareWorkloadScheduling": "1.36",
}


# A gate that is on needs these to be on too. Where a minor lacks one of them, the other is off as well.
_GATE_DEPENDENCIES: Mapping[str, tuple[str, ...]] = {
    "DRADeviceBindingConditions": ("DRAResourceClaimDeviceStatus",),
    "DRADeviceTaintRules": ("DRADeviceTaints",),
    "DRANodeAllocatableResources": ("DynamicResourceAllocation",),
    "DRAWorkloadResourceClaims": ("DynamicResourceAllocation", "GenericWorkload"),
    GANG_SCHEDULING: ("GenericWorkload",),
    "InPlacePodLevelResourcesVerticalScaling": ("PodLevelResources", NODE_DECLARED_FEATURES),
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": ("MatchLabelKeysInPodTopologySpread",),
    "TopologyAwareWorkloadScheduling": ("GenericWorkload",),
    "WorkloadWithJob": ("GenericWorkload",),
    "CompositePodGroup": ("GenericWorkload", "TopologyAwareWorkloadScheduling"),
    "DRADeviceCompatibilityGroups": ("DRAPartitionableDevices",),
    "WorkloadAwarePreemption": (GANG_SCHEDULING,),
}
# Gates that were taken away, and the gate that switches what they switched.
MERGED_INTO: Mapping[str, str] = {GANG_SCHEDULING: "GenericWorkload", "WorkloadAwarePreemption": "GenericWorkload"}
# Since this minor kube-scheduler refuses gates whose dependencies are off.
_DEPENDENCIES_SINCE = "1.35"


class FeatureGates:
    """The gates of a run: a minor's defaults and what the user sets."""

    def __init__(
        self,
        defaults: Mapping[str, bool],
        overrides: Mapping[str, bool],
        not_modelled: Container[str],
        merged: Mapping[str, str],
    ) -> None:
        self._enabled = {**defaults, **overrides}
        self._enabled |= {name: self._enabled[into] for name, into in merged.items()}
        self._merged = merged
        changed = sorted(name for name, on in overrides.items() if on != defaults[name])
        self.changed = tuple(changed)
        # Gates that were set against their default and that decide something which is answered by the default.
        self.not_modelled = tuple(name for name in changed if name in not_modelled)

    def with_values_of(self, other: FeatureGates, names: Iterable[str]) -> FeatureGates:
        """These gates, of which those with these names are as the others have them, and what they switch."""
        found, names = copy(self), set(names)
        names |= {name for name, into in MERGED_INTO.items() if into in names and name in self._merged}
        found._enabled = self._enabled | {name: other.enabled(name) for name in names}
        return found

    def enabled(self, name: str) -> bool:
        """A gate that came later than the minor is off; one that was taken away stays as it was at its end."""
        return self._enabled.get(name, False)

    def on(self) -> frozenset[str]:
        """The names of the gates that are on."""
        return frozenset(name for name, is_on in self._enabled.items() if is_on)


def _steps(minor: int, gate: str) -> list[Gate | None]:
    """The states of the gate up to this minor; None where it was removed."""
    return [state for since, state in GATE_HISTORY[gate].items() if minor >= minor_of(since)]


@cache
def _states(minor: int) -> Mapping[str, Gate | None]:
    """The gates that the minor has, and with None those that were removed before it."""
    states = {name: _steps(minor, name) for name in GATE_HISTORY}
    return {name: steps[-1] for name, steps in states.items() if steps}


@cache
def gates_of(minor: int) -> Mapping[str, Gate]:
    """The gates that can be set in this minor."""
    return {name: gate for name, gate in _states(minor).items() if gate is not None}


def is_there(minor: int, gate: str) -> bool:
    """Whether the minor or an earlier one has the gate."""
    return gate in _states(minor)


def _defaults(minor: int, patch: int | None = None) -> dict[str, bool]:
    """The defaults of a minor, or of one patch of it."""
    steps = {name: _steps(minor, name) for name in _states(minor)}
    found = {name: next(each.default for each in reversed(own) if each is not None) for name, own in steps.items()}
    for name, (version, before) in _BEFORE_PATCH.items():
        changed_in, _, first = version.rpartition(".")
        if patch is not None and minor == minor_of(changed_in) and patch < int(first):
            found[name] = before
    return found


def is_modelled(minor: int, gate: str) -> bool:
    """Whether both states of the gate are answered as the minor's kube-scheduler does."""
    since, until = MODELLED_SINCE.get(gate), MODELLED_UNTIL.get(gate)
    if until is not None and minor > minor_of(until):
        return False
    return since is None or (since != NEVER and minor >= minor_of(since))


def parse_gates(minor: int, overrides: str, patch: int | None) -> FeatureGates:
    """`A=true,B=false` over the defaults of the minor or patch; unknown and locked gates are refused, all at once."""
    wanted: dict[str, bool] = {}
    problems: list[Problem] = []
    for entry in filter(None, (part.strip() for part in overrides.split(","))):
        name, separator, value = entry.partition("=")
        problem = _refusal(minor, name, separator, value)
        if problem is None:
            wanted[name] = value.lower() == "true"
        else:
            problems.append(Problem(problem, path=f"--feature-gates {entry}"))
    wanted = {**_stages(minor, wanted), **wanted}
    gone = {name: into for name, into in MERGED_INTO.items() if is_there(minor, name) and name not in gates_of(minor)}
    not_modelled = {name for name in _states(minor) if not is_modelled(minor, name)}
    gates = FeatureGates(_defaults(minor, patch), wanted, not_modelled, gone)
    problems += _unmet(minor, gates) if not problems else []
    if problems:
        raise UsageError(problems)
    return gates


def _stages(minor: int, wanted: Mapping[str, bool]) -> dict[str, bool]:
    """The values that AllAlpha and AllBeta give to gates that are not set themselves."""
    return {
        name: wanted[every]
        for every, stage in STAGE_GATES.items()
        if every in wanted
        for name, gate in gates_of(minor).items()
        if gate.stage == stage and name not in STAGE_GATES
    }


def _unmet(minor: int, gates: FeatureGates) -> list[Problem]:
    """Gates that are on while one that they build on is off."""
    if minor < minor_of(_DEPENDENCIES_SINCE):
        return []
    return [
        Problem(
            f"{name} is enabled, but depends on features that are disabled: [{' '.join(missing)}]",
            path="--feature-gates",
            hint=f"set {','.join(f'{each}=true' for each in missing)} or {name}=false",
        )
        for name, needed in _GATE_DEPENDENCIES.items()
        if gates.enabled(name) and (missing := [each for each in needed if not gates.enabled(each)])
    ]


def _refusal(minor: int, name: str, separator: str, value: str) -> str | None:
    if not separator or value.lower() not in ("true", "false"):
        return "write it as Name=true or Name=false"
    gate = gates_of(minor).get(name)
    if gate is None:
        return f"Kubernetes 1.{minor} has no feature gate {name} that scheduling depends on{_past(minor, name)}"
    if gate.locked and (value.lower() == "true") != gate.default:
        return f"{name} is locked to {str(gate.default).lower()} in Kubernetes 1.{minor}"
    return None


def _past(minor: int, gate: str) -> str:
    """Text with the minors of a gate that this minor does not have."""
    history = GATE_HISTORY.get(gate)
    if history is None:
        return ""
    since = next(iter(history))
    if minor < minor_of(since):
        return f"; it came with {since}"
    gone = next(version for version, state in history.items() if state is None)
    if gate in MERGED_INTO:
        return f"; it was taken away in {gone}, and {MERGED_INTO[gate]} switches what it switched"
    value = "on" if _defaults(minor)[gate] else "off"
    return f"; it was taken away in {gone} and what it switched is {value} for good"
