"""What of DynamicResources changed between minors."""

from __future__ import annotations

from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.minors import ALLOCATED_CLAIMS_ARE_SCORED
from ksched_cli.releases.plugin_names import NODE_RESOURCES_BALANCED_ALLOCATION, NODE_RESOURCES_FIT, SCHEDULING_GATES

# Gates that are about filter, queue and score.
_GATES = {
    "DRAAdminAccess": "Requests with adminAccess are allowed; without the gate, they are not.",
    "DRAConsumableCapacity": (
        "Devices can be shared by claims up to their capacity; without the gate, a device is for one claim."
    ),
    "DRADeviceBindingConditions": (
        "Devices that have to be made ready first are waited for, and those that failed are left out; without the "
        "gate, they are like the others."
    ),
    "DRADeviceTaintRules": "The taints of DeviceTaintRules count; without the gate, those that drivers publish alone.",
    "DRADeviceTaints": "Tainted devices want a toleration; without the gate, they are free.",
    "DRAFractionalCapacityRange": (
        "Ranges of capacity requests are counted in thousandths; without the gate, in whole units, rounded up."
    ),
    "DRAListTypeAttributes": (
        "Constraints compare attributes that are lists, and up to 1.36 selectors read them; without the gate, such a "
        "device satisfies no constraint."
    ),
    "DRAPartitionableDevices": (
        "Devices share counters, so that parts of one device can be given out; without the gate, such devices are "
        "passed over."
    ),
    "DRAPrioritizedList": (
        "Requests may list alternatives (firstAvailable); without the gate, such a claim cannot be allocated."
    ),
}
_WITH_RESOURCES = f"DynamicResources {NODE_RESOURCES_FIT} {NODE_RESOURCES_BALANCED_ALLOCATION}"


class DynamicResourcesRules(ReleaseRules, plugins="DynamicResources"):
    scores_allocated_claims = Rule(
        ALLOCATED_CLAIMS_ARE_SCORED,
        "score",
        "Nodes are scored for a pod that has allocated claims beside new ones; before, from 1.35 on, the cycle ended "
        "in an error.",
    )
    notes = (
        Rule(
            "1.26",
            "filter queue",
            "There is such a plugin, which is enabled where its gate is on; before, there was none.",
            plugins=f"DynamicResources {SCHEDULING_GATES}",
        ),
        Rule(
            "1.35",
            "score weight",
            "Scores, with weight 2, how early in its list (firstAvailable) the alternative stands that a node has "
            "devices for; before, it did not score.",
        ),
        Rule(
            "DRAExtendedResource",
            "filter queue score",
            "Devices stand in for extended resources that their class names; without the gate, a node has to announce "
            "those itself.",
            plugins=_WITH_RESOURCES,
        ),
        Rule(
            "DRANodeAllocatableResources",
            "filter preemption score",
            "Devices can stand for cpu, memory and other resources of their node: the amounts of a new claim are "
            "added to the pod's requests, have to fit, and count on the node from then on; without the gate, they do "
            "not.",
            plugins=_WITH_RESOURCES,
        ),
        Rule(
            "DRASchedulerFilterTimeout",
            "filter",
            "The search for devices has a time limit; without the gate, it has none.",
        ),
        Rule(
            "DRAWorkloadResourceClaims",
            "filter preemption",
            "A claim may belong to a pod group and be reserved for all its pods; without the gate, a claim that was "
            "made for a group is no claim of its pods.",
        ),
        Rule(
            "DynamicResourceAllocation",
            "filter preemption queue score",
            "Resource claims count: a pod goes where there are devices for it, and waits for claims that do not "
            "exist; without the gate, claims are passed over.",
        ),
        *(Rule(gate, "filter queue score", sentence) for gate, sentence in _GATES.items()),
    )
