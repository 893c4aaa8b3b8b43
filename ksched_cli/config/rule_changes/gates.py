"""Rules that hang on a feature gate: what is where it is on, and what is where it is off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ksched_cli.config.rule_changes.rule import SCHEDULER, RuleChange, rule
from ksched_cli.releases.gate_history import GATE_HISTORY, minor_of
from ksched_cli.releases.minors import RELEASES


def _of(plugins: str, aspects: str, text: str) -> RuleChange:
    return rule("", plugins, aspects, text)


_REQUESTS = "NodeResourcesFit NodeResourcesBalancedAllocation"
_ALLOCATION = "filter score queue"


class _Cloud(NamedTuple):
    """An in-tree volume plugin, and the plugin that limits its disks."""

    gate: str
    disks: str
    limits: str


_CLOUDS = (
    _Cloud("CSIMigrationAWS", "AWS EBS", "EBSLimits"),
    _Cloud("CSIMigrationGCE", "GCE PD", "GCEPDLimits"),
    _Cloud("CSIMigrationAzureDisk", "Azure", "AzureDiskLimits"),
    _Cloud("CSIMigrationOpenStack", "Cinder", "CinderLimits"),
    _Cloud("CSIMigrationPortworx", "Portworx", ""),
)


def _migration(disks: str, limits: str) -> tuple[RuleChange, ...]:
    text = (
        f"{disks} disks are those of their CSI driver on nodes that say so, with its limit and its labels; "
        "without the gate, they stay in-tree."
    )
    return (_of(f"{limits} NodeVolumeLimits VolumeBinding", "filter", text),)


GATE_RULES: Mapping[str, tuple[RuleChange, ...]] = {
    **{each.gate: _migration(each.disks, each.limits) for each in _CLOUDS},
    "CSIMigration": _migration("In-tree", " ".join(each.limits for each in _CLOUDS)),
    "AttachVolumeLimit": (
        _of(
            "EBSLimits GCEPDLimits AzureDiskLimits CinderLimits NodeVolumeLimits",
            "filter",
            "Limits that nodes announce count; without the gate, those of the cloud alone.",
        ),
    ),
    "CSIStorageCapacity": (
        _of(
            "VolumeBinding",
            "filter",
            "What drivers publish of their free capacity counts; without the gate, there is always enough.",
        ),
    ),
    "DRAAdminAccess": (
        _of("DynamicResources", _ALLOCATION, "Requests with adminAccess are allowed; without the gate, they are not."),
    ),
    "DRAConsumableCapacity": (
        _of(
            "DynamicResources",
            _ALLOCATION,
            "Devices can be shared by claims up to their capacity; without the gate, a device is for one claim.",
        ),
    ),
    "DRADeviceBindingConditions": (
        _of(
            "DynamicResources",
            _ALLOCATION,
            "Devices that have to be made ready first are waited for, and those that failed are left out; without the "
            "gate, they are like the others.",
        ),
    ),
    "DRADeviceTaints": (
        _of("DynamicResources", _ALLOCATION, "Tainted devices want a toleration; without the gate, they are free."),
    ),
    "DRAExtendedResource": (
        _of(
            "DynamicResources NodeResourcesFit NodeResourcesBalancedAllocation",
            _ALLOCATION,
            "Devices stand in for extended resources that their class names; without the gate, a node has to announce "
            "those itself.",
        ),
    ),
    "DRAListTypeAttributes": (
        _of("DynamicResources", _ALLOCATION, "Attributes of devices can be lists; without the gate, they cannot."),
    ),
    "DRAPartitionableDevices": (
        _of(
            "DynamicResources",
            _ALLOCATION,
            "Devices share counters, so that parts of one device can be given out; without the gate, such devices are "
            "passed over.",
        ),
    ),
    "DRAPrioritizedList": (
        _of(
            "DynamicResources",
            _ALLOCATION,
            "Requests may list alternatives (firstAvailable); without the gate, such a claim cannot be allocated.",
        ),
    ),
    "DRASchedulerFilterTimeout": (
        _of("DynamicResources", "filter", "The search for devices has a time limit; without the gate, it has none."),
    ),
    "DefaultPodTopologySpread": (
        _of(
            "PodTopologySpread SelectorSpread",
            "filter score",
            "Pods without constraints are spread by PodTopologySpread's defaults; without the gate, by SelectorSpread.",
        ),
    ),
    "DynamicResourceAllocation": (
        _of(
            "DynamicResources",
            f"{_ALLOCATION} preemption",
            "Resource claims count: a pod goes where there are devices for it, and waits for claims that do not exist; "
            "without the gate, claims are passed over.",
        ),
    ),
    "GangScheduling": (
        _of("GangScheduling", "queue search", "Gangs are placed as a whole; without the gate, pod by pod."),
    ),
    "GenericEphemeralVolume": (
        _of(
            "VolumeBinding VolumeZone NodeVolumeLimits",
            "fields",
            "Generic ephemeral volumes have claims, which have to fit; without the gate, there are no such volumes.",
        ),
    ),
    "GenericWorkload": (
        _of(
            SCHEDULER,
            "queue search",
            "The pods of a pod group share one cycle (from 1.36 on); without the gate, each has its own.",
        ),
    ),
    "InPlacePodLevelResourcesVerticalScaling": (
        _of(
            _REQUESTS,
            "fields",
            "A pod whose own requests are resized in place counts with what it has been given, where that is more; "
            "without the gate, with what it asks for.",
        ),
    ),
    "InPlacePodVerticalScaling": (
        _of(
            _REQUESTS,
            "fields",
            "A pod that is resized in place counts with what its containers have been given, where that is more; "
            "without the gate, with what it asks for.",
        ),
    ),
    "MatchLabelKeysInPodTopologySpread": (
        _of("PodTopologySpread", "fields", "matchLabelKeys of constraints count; without the gate, they do not."),
    ),
    "MinDomainsInPodTopologySpread": (
        _of("PodTopologySpread", "fields", "minDomains of constraints counts; without the gate, it does not."),
    ),
    "NodeDeclaredFeatures": (
        _of(
            "NodeDeclaredFeatures",
            "filter queue",
            "A pod goes to nodes whose kubelet declares the features that it needs; without the gate, anywhere.",
        ),
    ),
    "NodeInclusionPolicyInPodTopologySpread": (
        _of(
            "PodTopologySpread",
            "fields",
            "nodeAffinityPolicy and nodeTaintsPolicy of constraints count; without the gate, they do not.",
        ),
    ),
    "NonPreemptingPriority": (
        _of("DefaultPreemption", "fields", "preemptionPolicy Never counts; without the gate, such pods preempt, too."),
    ),
    "PodAffinityNamespaceSelector": (
        _of("InterPodAffinity", "fields", "namespaceSelector of terms counts; without the gate, it does not."),
    ),
    "PodDisruptionConditions": (
        _of(
            "DefaultPreemption",
            "preemption",
            "A pod waits on its nominated node for victims of preemption alone; without the gate, for every weaker pod "
            "there that is being deleted.",
        ),
    ),
    "PodLevelResources": (
        _of(
            _REQUESTS,
            "fields",
            "Requests of the pod as a whole (spec.resources) count; without the gate, those of its containers alone.",
        ),
    ),
    "PodDisruptionBudget": (
        _of("DefaultPreemption", "preemption", "Disruption budgets count; without the gate, there are none."),
    ),
    "PodOverhead": (_of(_REQUESTS, "fields", "A pod's overhead counts; without the gate, it does not."),),
    "PodSchedulingReadiness": (
        _of(
            "SchedulingGates",
            "queue fields",
            "Pods with schedulingGates are held back until these are gone; without the gate, they are tried.",
        ),
    ),
    "PreferNominatedNode": (
        _of(
            SCHEDULER,
            "search",
            "The node that preemption made room on is tried first, and alone; without the gate, it is one of all.",
        ),
    ),
    "ReadWriteOncePod": (
        _of(
            "VolumeRestrictions",
            "filter",
            "A ReadWriteOncePod claim in use, and a claim that does not exist, reject the pod; without the gate, this "
            "plugin passes over both.",
        ),
    ),
    "ResourceLimitsPriorityFunction": (
        _of(
            "ResourceLimitsPriority",
            "score",
            "Nodes that have room for a pod's limits rank higher; without the gate, limits do not count.",
        ),
    ),
    "SchedulerAsyncPreemption": (
        _of("DefaultPreemption", "queue", "Victims are evicted in the background; without the gate, in the cycle."),
    ),
    "SchedulerPopFromBackoffQ": (
        _of(
            SCHEDULER,
            "queue",
            "Where no pod is due, those that back off are tried early; without the gate, they wait.",
        ),
    ),
    "SchedulerQueueingHints": (
        _of(
            SCHEDULER,
            "queue",
            "Plugins say of each event whether it may help a pod that waits; without the gate, its kind alone decides.",
        ),
    ),
    "SidecarContainers": (
        _of(
            _REQUESTS,
            "filter fields",
            "Sidecars (init containers that stay) count beside the containers; without the gate, a pod with one fits "
            "on no node.",
        ),
    ),
    "StorageCapacityScoring": (
        _of("VolumeBinding", "score", "Nodes score by the room for the pod's volumes; without the gate, they do not."),
    ),
    "TaintNodesByCondition": (
        _of(
            "NodeUnschedulable TaintToleration",
            "filter",
            "Conditions of a node keep pods away by its taints; without the gate, by themselves.",
        ),
    ),
    "TaintTolerationComparisonOperators": (
        _of(
            "TaintToleration PodTopologySpread NodeUnschedulable",
            "filter",
            "Tolerations can compare numbers (Gt, Lt); without the gate, such a toleration tolerates nothing.",
        ),
    ),
    "TopologyAwareWorkloadScheduling": (
        _of(
            "TopologyPlacementGenerator PodGroupPodsCount NodeResourcesFit DefaultPreemption",
            "search preemption",
            "Pod groups with constraints are placed in one topology; without the gate, anywhere.",
        ),
    ),
    "VolumeAttributesClass": (
        _of(
            "VolumeBinding",
            "filter",
            "A claim gets volumes of its VolumeAttributesClass only (from 1.31 on); without the gate, of any.",
        ),
    ),
    "VolumeCapacityPriority": (
        _of("VolumeBinding", "score", "Nodes score by the room for the pod's volumes; without the gate, they do not."),
    ),
    "VolumeLimitScaling": (
        _of(
            "NodeVolumeLimits",
            "filter",
            "Nodes where a driver is missing that asks for it reject the pod; without the gate, they pass.",
        ),
    ),
}


def on_since(gate: str) -> str:
    """The first modelled minor that has the gate on by default, or an empty string."""
    on = (since for since, state in GATE_HISTORY[gate].items() if state is not None and state.default)
    return next((next(each for each in RELEASES if minor_of(each) >= minor_of(since)) for since in on), "")
