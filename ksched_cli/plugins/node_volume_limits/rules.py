"""What of NodeVolumeLimits changed between minors."""

from __future__ import annotations

from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.plugin_names import AZURE_DISK_LIMITS, CINDER_LIMITS, EBS_LIMITS, GCEPD_LIMITS


class NodeVolumeLimitsRules(ReleaseRules, plugins="NodeVolumeLimits"):
    missing_drivers_opt_in = Rule(
        "1.36",
        "filter",
        "With the gate VolumeLimitScaling only drivers that ask for it keep pods away from nodes without them; "
        "before, all did.",
    )
    counts_attachments = Rule(
        "1.32",
        "filter",
        "Volumes that VolumeAttachments say are on the node count, and limits are those of the CSINode alone; before, "
        "only the volumes of pods counted, and the node could announce limits itself.",
    )
    counts_disks_of_the_pod = Rule(
        "1.25",
        "filter",
        "Migrated in-tree disks that the pod names itself count for the CSI driver; before, only those of claims.",
    )
    notes = (
        Rule(
            "1.28",
            "filter",
            "Skipped for pods without volumes that could be limited; before, it ran for every pod.",
            plugins=f"NodeVolumeLimits {EBS_LIMITS} {GCEPD_LIMITS} {AZURE_DISK_LIMITS} {CINDER_LIMITS}",
        ),
        Rule(
            "VolumeLimitScaling",
            "filter",
            "Nodes where a driver is missing that asks for it reject the pod; without the gate, they pass.",
        ),
    )
