"""The feature gates that scheduling depends on. A minor has the last entry of a gate up to it. A default that a patch
changed (SchedulerQueueingHints in 1.28, SchedulerAsyncAPICalls in 1.34) is the later one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

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
GONE = None

GATE_HISTORY: Mapping[str, Mapping[str, Gate | None]] = {
    "AllAlpha": {"1.16": ALPHA},
    "AllBeta": {"1.17": BETA_OFF},
    "AttachVolumeLimit": {"1.16": BETA, "1.17": LOCKED, "1.21": GONE},
    "BalanceAttachedNodeVolumes": {"1.16": ALPHA, "1.22": GONE},
    "CSIMigration": {"1.16": ALPHA, "1.17": BETA, "1.25": LOCKED, "1.27": GONE},
    "CSIMigrationAWS": {"1.16": ALPHA, "1.17": BETA_OFF, "1.23": BETA, "1.25": LOCKED, "1.27": GONE},
    "CSIMigrationAzureDisk": {"1.16": ALPHA, "1.19": BETA_OFF, "1.23": BETA, "1.24": GA, "1.25": LOCKED, "1.27": GONE},
    "CSIMigrationGCE": {"1.16": ALPHA, "1.17": BETA_OFF, "1.23": BETA, "1.25": LOCKED, "1.28": GONE},
    "CSIMigrationOpenStack": {"1.16": ALPHA, "1.18": BETA_OFF, "1.21": BETA, "1.24": LOCKED, "1.26": GONE},
    "CSIMigrationPortworx": {"1.23": ALPHA, "1.25": BETA_OFF, "1.31": BETA, "1.33": LOCKED, "1.36": GONE},
    "CSIMigrationRBD": {"1.24": ALPHA, "1.28": DEPRECATED, "1.31": GONE},
    "CSINodeInfo": {"1.16": BETA, "1.17": LOCKED, "1.21": GONE},
    "CSIStorageCapacity": {"1.19": ALPHA, "1.21": BETA, "1.24": LOCKED, "1.28": GONE},
    "ClearingNominatedNodeNameAfterBinding": {"1.34": ALPHA, "1.35": BETA},
    "DRAAdminAccess": {"1.32": ALPHA, "1.34": BETA, "1.36": LOCKED},
    "DRAConsumableCapacity": {"1.34": ALPHA, "1.36": BETA},
    "DRAControlPlaneController": {"1.31": ALPHA, "1.32": GONE},
    "DRADeviceBindingConditions": {"1.34": ALPHA, "1.36": BETA},
    "DRADeviceTaintRules": {"1.35": ALPHA, "1.36": BETA_OFF},
    "DRADeviceTaints": {"1.33": ALPHA, "1.36": BETA},
    "DRAExtendedResource": {"1.34": ALPHA, "1.36": BETA},
    "DRAListTypeAttributes": {"1.36": ALPHA},
    "DRANodeAllocatableResources": {"1.36": ALPHA},
    "DRAPartitionableDevices": {"1.33": ALPHA, "1.36": BETA},
    "DRAPrioritizedList": {"1.33": ALPHA, "1.34": BETA, "1.36": GA},
    "DRAResourceClaimDeviceStatus": {"1.32": ALPHA, "1.33": BETA},
    "DRASchedulerFilterTimeout": {"1.34": BETA},
    "DRAWorkloadResourceClaims": {"1.36": ALPHA},
    "DefaultPodTopologySpread": {"1.19": ALPHA, "1.20": BETA, "1.24": LOCKED, "1.26": GONE},
    "DynamicResourceAllocation": {"1.26": ALPHA, "1.32": BETA_OFF, "1.34": GA, "1.35": LOCKED},
    EVEN_PODS_SPREAD: {"1.16": ALPHA, "1.18": BETA, "1.19": LOCKED, "1.21": GONE},
    GANG_SCHEDULING: {"1.35": ALPHA},
    "GenericEphemeralVolume": {"1.19": ALPHA, "1.21": BETA, "1.23": LOCKED, "1.25": GONE},
    "GenericWorkload": {"1.35": ALPHA},
    "InPlacePodLevelResourcesVerticalScaling": {"1.35": ALPHA, "1.36": BETA},
    "InPlacePodVerticalScaling": {"1.27": ALPHA, "1.33": BETA, "1.35": LOCKED},
    "LocalStorageCapacityIsolation": {"1.16": BETA, "1.25": LOCKED, "1.27": GONE},
    "MatchLabelKeysInPodAffinity": {"1.29": ALPHA, "1.31": BETA, "1.33": LOCKED},
    "MatchLabelKeysInPodTopologySpread": {"1.25": ALPHA, "1.27": BETA},
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": {"1.34": BETA},
    "MinDomainsInPodTopologySpread": {"1.24": ALPHA, "1.25": BETA_OFF, "1.27": BETA, "1.30": LOCKED, "1.32": GONE},
    "MutableCSINodeAllocatableCount": {"1.33": ALPHA, "1.34": BETA_OFF, "1.35": BETA, "1.36": LOCKED},
    NODE_DECLARED_FEATURES: {"1.35": ALPHA, "1.36": BETA},
    "NodeInclusionPolicyInPodTopologySpread": {"1.25": ALPHA, "1.26": BETA, "1.33": LOCKED},
    "NominatedNodeNameForExpectation": {"1.34": ALPHA, "1.35": BETA},
    "NonPreemptingPriority": {"1.16": ALPHA, "1.19": BETA, "1.24": LOCKED, "1.26": GONE},
    "OpportunisticBatching": {"1.35": BETA},
    "PodAffinityNamespaceSelector": {"1.21": ALPHA, "1.22": BETA, "1.24": LOCKED, "1.26": GONE},
    "PodDisruptionBudget": {"1.17": BETA, "1.21": LOCKED, "1.25": GONE},
    "PodDisruptionConditions": {"1.25": ALPHA, "1.26": BETA, "1.31": LOCKED, "1.34": GONE},
    "PodLevelResources": {"1.32": ALPHA, "1.34": BETA},
    "PodOverhead": {"1.16": ALPHA, "1.18": BETA, "1.24": LOCKED, "1.26": GONE},
    "PodSchedulingReadiness": {"1.26": ALPHA, "1.27": BETA, "1.30": LOCKED},
    "PreferNominatedNode": {"1.21": ALPHA, "1.22": BETA, "1.24": LOCKED, "1.26": GONE},
    "ReadWriteOncePod": {"1.22": ALPHA, "1.27": BETA, "1.29": LOCKED, "1.31": GONE},
    "ResourceLimitsPriorityFunction": {"1.16": ALPHA, "1.19": GONE},
    "SchedulerAsyncAPICalls": {"1.34": BETA_OFF},
    "SchedulerAsyncPreemption": {"1.32": ALPHA, "1.33": BETA},
    "SchedulerPopFromBackoffQ": {"1.33": BETA},
    "SchedulerQueueingHints": {"1.28": BETA_OFF, "1.32": BETA, "1.34": LOCKED},
    "SidecarContainers": {"1.28": ALPHA, "1.29": BETA, "1.33": LOCKED},
    "StorageCapacityScoring": {"1.33": ALPHA},
    "TaintNodesByCondition": {"1.16": BETA, "1.17": LOCKED, "1.18": GONE},
    "TaintTolerationComparisonOperators": {"1.35": ALPHA},
    "TopologyAwareWorkloadScheduling": {"1.36": ALPHA},
    "VolumeAttributesClass": {"1.29": ALPHA, "1.31": BETA_OFF, "1.34": GA, "1.36": LOCKED},
    "VolumeCapacityPriority": {"1.21": ALPHA, "1.33": GONE},
    "VolumeLimitScaling": {"1.35": ALPHA},
    "WorkloadAwarePreemption": {"1.36": ALPHA},
    # As it was called in its first minor.
    "csiMigrationRBD": {"1.23": ALPHA, "1.24": GONE},
}

# Gates that stand for all others of their stage that are not set themselves.
STAGE_GATES: Mapping[str, str] = {"AllAlpha": ALPHA.stage, "AllBeta": BETA.stage}

# Gates of which ksched models only the default: in minors before this one, or in all minors.
NEVER = ""
MODELLED_SINCE: Mapping[str, str] = {
    "CSIMigrationRBD": NEVER,
    "DRAAdminAccess": "1.34",
    "DRAConsumableCapacity": "1.36",
    "DRAControlPlaneController": NEVER,
    "DRADeviceBindingConditions": "1.36",
    "DRADeviceTaintRules": "1.36",
    "DRADeviceTaints": "1.36",
    "DRAExtendedResource": "1.36",
    "DRAPartitionableDevices": "1.36",
    "DRAPrioritizedList": "1.34",
    "DynamicResourceAllocation": "1.34",
    GANG_SCHEDULING: "1.36",
    "GenericWorkload": "1.36",
    # Before resizes had conditions they had a field.
    "InPlacePodVerticalScaling": "1.33",
    # Selectors are read as they are stored, and those of manifests are made as the API server does it now.
    "MatchLabelKeysInPodAffinity": NEVER,
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": NEVER,
    NODE_DECLARED_FEATURES: "1.36",
    "PodLevelResources": "1.34",
    # Before that it was PreFilter that refused.
    "ReadWriteOncePod": "1.27",
    "VolumeAttributesClass": "1.31",
    "csiMigrationRBD": NEVER,
}
