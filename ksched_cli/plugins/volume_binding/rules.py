"""What of VolumeBinding changed between minors."""

from __future__ import annotations

from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.minors import LOCAL_VOLUMES_KEEP_ALL_NODES
from ksched_cli.releases.plugin_names import NODE_VOLUME_LIMITS, VOLUME_ZONE


class VolumeBindingRules(ReleaseRules, plugins="VolumeBinding"):
    reads_largest_volume = Rule("1.21", before=False, now=True, described_by="VolumeBinding")
    narrows_to_local_volumes = Rule(
        "1.27",
        before=False,
        now=True,
        about="filter preemption",
        sentence="A pod with local volumes is tried on their nodes alone (up to 1.31.2); before, on all.",
    ).then(
        LOCAL_VOLUMES_KEEP_ALL_NODES,
        now=False,
        about="filter preemption",
        sentence=(
            "PreFilter no longer narrows the nodes of local volumes down; before, the others were not looked at."
        ),
    )
    lost_claims_reject = Rule(
        "1.23", "filter", "A lost claim rejects the pod; before, it was its volume that did not exist."
    )
    missing_volumes_reject = Rule(
        "1.19",
        "filter",
        "A claim that no controller will bind, or whose volume does not exist, rejects the pod; before, the cycle "
        "ended in an error.",
    )
    matches_attributes = Rule(
        "1.31",
        "filter",
        "A claim gets volumes of its VolumeAttributesClass only, where the gate of that name is on; before, of any.",
    )
    notes = (
        Rule("1.20", "filter", "A claim that does not exist rejects the pod; before, the cycle ended in an error."),
        Rule("1.21", "score", "It can score nodes by the room in their volumes; before, it never scored."),
        Rule(
            "1.23",
            "score",
            "By default it scores, 0 for every node while its gate is off; before, only where that was on.",
        ),
        Rule("1.30", "score", "Does not score where its gate is off; before, all nodes got 0."),
        Rule(
            "CSIStorageCapacity",
            "filter",
            "What drivers publish of their free capacity counts; without the gate, there is always enough.",
        ),
        Rule(
            "GenericEphemeralVolume",
            "fields",
            "Generic ephemeral volumes have claims, which have to fit; without the gate, there are no such volumes.",
            plugins=f"VolumeBinding {VOLUME_ZONE} {NODE_VOLUME_LIMITS}",
        ),
        Rule(
            "StorageCapacityScoring",
            "score",
            "Nodes score by the room for the pod's volumes; without the gate, they do not.",
        ),
        Rule(
            "VolumeAttributesClass",
            "filter",
            "A claim gets volumes of its VolumeAttributesClass only (from 1.31 on); without the gate, of any.",
        ),
        Rule(
            "VolumeCapacityPriority",
            "score",
            "Nodes score by the room in the volumes that the pod would get; without the gate, they do not.",
        ),
    )
