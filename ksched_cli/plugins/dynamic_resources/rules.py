"""What of DynamicResources changed between minors."""

from __future__ import annotations

from ksched_cli.releases.changes import Change, GateNote, Note, ReleaseRules
from ksched_cli.releases.fixes import ALLOCATED_CLAIMS_ARE_SCORED
from ksched_cli.releases.plugin_names import NODE_RESOURCES_BALANCED_ALLOCATION, NODE_RESOURCES_FIT, SCHEDULING_GATES


class DynamicResourcesRules(ReleaseRules, plugins="DynamicResources"):
    scores_allocated_claims = Change(
        ALLOCATED_CLAIMS_ARE_SCORED,
        before=False,
        now=True,
        about="score",
        sentence=(
            "Nodes are scored for a pod that has allocated claims beside new ones; before, from 1.35 on, the cycle "
            "ended in an error."
        ),
    )
    notes = (
        Note(
            "1.26",
            about="filter queue",
            sentence="There is such a plugin, which is enabled where its gate is on; before, there was none.",
            plugins=f"DynamicResources {SCHEDULING_GATES}",
        ),
        Note(
            "1.35",
            about="score weight",
            sentence=(
                "Scores, with weight 2, how early in its list (firstAvailable) the alternative stands that a node has "
                "devices for; before, it did not score."
            ),
        ),
        GateNote(
            "DRAAdminAccess",
            about="filter queue score",
            sentence="Requests with adminAccess are allowed; without the gate, they are not.",
        ),
        GateNote(
            "DRAConsumableCapacity",
            about="filter queue score",
            sentence=(
                "Devices can be shared by claims up to their capacity; without the gate, a device is for one claim."
            ),
        ),
        GateNote(
            "DRADeviceBindingConditions",
            about="filter queue score",
            sentence=(
                "Devices that have to be made ready first are waited for, and those that failed are left out; without "
                "the gate, they are like the others."
            ),
        ),
        GateNote(
            "DRADeviceTaintRules",
            about="filter queue score",
            sentence="The taints of DeviceTaintRules count; without the gate, those that drivers publish alone.",
        ),
        GateNote(
            "DRADeviceTaints",
            about="filter queue score",
            sentence="Tainted devices want a toleration; without the gate, they are free.",
        ),
        GateNote(
            "DRAExtendedResource",
            about="filter queue score",
            sentence=(
                "Devices stand in for extended resources that their class names; without the gate, a node has to "
                "announce those itself."
            ),
            plugins=f"DynamicResources {NODE_RESOURCES_FIT} {NODE_RESOURCES_BALANCED_ALLOCATION}",
        ),
        GateNote(
            "DRAListTypeAttributes",
            about="filter queue score",
            sentence="Attributes of devices can be lists; without the gate, they cannot.",
        ),
        GateNote(
            "DRANodeAllocatableResources",
            about="filter preemption score",
            sentence=(
                "Devices can stand for cpu, memory and other resources of their node: the amounts of a new claim are "
                "added to the pod's requests, have to fit, and count on the node from then on; without the gate, they "
                "do not."
            ),
            plugins=f"DynamicResources {NODE_RESOURCES_FIT} {NODE_RESOURCES_BALANCED_ALLOCATION}",
        ),
        GateNote(
            "DRAPartitionableDevices",
            about="filter queue score",
            sentence=(
                "Devices share counters, so that parts of one device can be given out; without the gate, such devices "
                "are passed over."
            ),
        ),
        GateNote(
            "DRAPrioritizedList",
            about="filter queue score",
            sentence=(
                "Requests may list alternatives (firstAvailable); without the gate, such a claim cannot be allocated."
            ),
        ),
        GateNote(
            "DRASchedulerFilterTimeout",
            about="filter",
            sentence="The search for devices has a time limit; without the gate, it has none.",
        ),
        GateNote(
            "DRAWorkloadResourceClaims",
            about="filter preemption",
            sentence=(
                "A claim may belong to a pod group and be reserved for all its pods; without the gate, a claim that "
                "was made for a group is no claim of its pods."
            ),
        ),
        GateNote(
            "DynamicResourceAllocation",
            about="filter preemption queue score",
            sentence=(
                "Resource claims count: a pod goes where there are devices for it, and waits for claims that do not "
                "exist; without the gate, claims are passed over."
            ),
        ),
    )
