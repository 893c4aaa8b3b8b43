"""Every plugin's registrations are those of kube-scheduler 1.36 (EventsToRegister)."""

from __future__ import annotations

import pytest

from ksched_cli.framework.events import EVERY_EVENT
from ksched_cli.framework.interfaces import Plugin
from ksched_cli.legacy.in_tree import REMOVED
from ksched_cli.plugins.in_tree import IN_TREE
from tests.builders import make_pod
from tests.harness import make_bench

REGISTERED = {
    "SchedulingGates": "Pod UpdatePodSchedulingGatesEliminated",
    "NodeUnschedulable": "Node Add/UpdateNodeTaint, Pod UpdatePodToleration",
    "NodeName": "Node Add",
    "TaintToleration": "Node Add/UpdateNodeTaint, Pod UpdatePodToleration",
    "NodeAffinity": "Node Add/UpdateNodeLabel",
    "NodePorts": "Pod Delete, Node Add",
    "NodeResourcesFit": "Pod Delete/UpdatePodScaleDown, Node Add/UpdateNodeAllocatable, DeviceClass Add/Update",
    "VolumeRestrictions": "Pod Delete, Node Add, PersistentVolumeClaim Add",
    "NodeVolumeLimits": "CSINode Add/Update, Pod Delete, PersistentVolumeClaim Add, VolumeAttachment Delete",
    "VolumeBinding": "StorageClass Add/Update, PersistentVolumeClaim Add/Update, PersistentVolume Add/Update, "
    "Node Add/UpdateNodeLabel, CSINode Add/Update, CSIDriver Update, CSIStorageCapacity Add/Update",
    "VolumeZone": "StorageClass Add, Node Add/UpdateNodeLabel, PersistentVolumeClaim Add/Update, "
    "PersistentVolume Add/Update",
    "PodTopologySpread": "Pod Add/Delete/UpdatePodLabel/UpdatePodToleration, "
    "Node Add/Delete/UpdateNodeLabel/UpdateNodeTaint",
    "InterPodAffinity": "Pod Add/Delete/UpdatePodLabel, Node Add/UpdateNodeLabel",
    "DynamicResources": "Node Add/UpdateNodeAllocatable/UpdateNodeLabel, ResourceClaim Add/Update, "
    "Pod UpdatePodGeneratedResourceClaim, DeviceClass Add/Update, ResourceSlice Add/Update",
    "DefaultPreemption": "Pod Delete",
    "NodeDeclaredFeatures": "Node Add/UpdateNodeDeclaredFeature, Pod Update",
    "GangScheduling": "Pod Add, PodGroup Add",
    # Those of the plugins that went away are of their last minors.
    **dict.fromkeys(("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits"), "Node Add, Pod Delete"),
}


@pytest.mark.parametrize("plugin", [*IN_TREE, *REMOVED], ids=lambda plugin: plugin.name)
def test_events_to_register(plugin: type[Plugin]) -> None:
    events = make_bench(plugin, [], make_pod().obj(), gates="DRAExtendedResource=true").plugin.events_to_register()
    if plugin.name not in REGISTERED:
        # Plugins that say nothing of events in Go either: they reject no pod, or are woken by everything.
        assert tuple(events) == EVERY_EVENT
        return
    assert ", ".join(map(str, events)) == REGISTERED[plugin.name]
