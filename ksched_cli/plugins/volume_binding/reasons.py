"""Why VolumeBinding rejects a pod or a node."""

from __future__ import annotations

from ksched_cli.framework.reasons import ReasonCode, ReasonKind, ReasonTable
from ksched_cli.plugins.lib.volumes.reasons import (
    CLAIM_NOT_FOUND,
    CLAIM_UNBOUND,
    CLAIM_UNUSABLE,
    VOLUME_NOT_FOUND,
    claim_field,
)
from ksched_cli.releases.changes import Rule

_ELSEWHERE = ReasonCode(
    "KS124",
    "volume-elsewhere",
    "the pod's volume is on other nodes",
    "A bound PersistentVolume has a node affinity (a zone, a node) that these nodes do not match.",
    ("let the pod go to where its volume is", "move the data", "make room on the nodes that the volume allows"),
)
_NO_VOLUME = ReasonCode(
    "KS125",
    "no-volume",
    "there is no volume for a claim",
    "No PersistentVolume matches in class, size, access mode and place, and nothing provisions one there.",
    ("add a PersistentVolume", "use a StorageClass with a provisioner", "ask for less storage"),
)
_EXHAUSTED = ReasonCode(
    "KS126",
    "storage-exhausted",
    "the storage backend has too little room",
    "The driver publishes its capacity (CSIStorageCapacity), and none of it is large enough near these nodes.",
    ("ask for less storage", "extend the backend"),
)


class VolumeBindingReasons(ReasonTable, plugins="VolumeBinding"):
    field = claim_field
    volume_elsewhere = ReasonKind(
        Rule(
            "1.33",
            before="node(s) had volume node affinity conflict",
            now="node(s) didn't match PersistentVolume's node affinity",
            about="message",
            sentence=(
                "The reason is that the volume's node affinity did not match; before, that there was a conflict."
            ),
        ),
        _ELSEWHERE,
    )
    no_volume = ReasonKind("node(s) didn't find available persistent volumes to bind", _NO_VOLUME)
    no_storage = ReasonKind("node(s) did not have enough free storage", _EXHAUSTED)
    volume_missing = ReasonKind(
        Rule(
            "1.23",
            before="pvc(s) bound to non-existent pv(s)",
            now="node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
            described_by="VolumeBinding",
        ),
        VOLUME_NOT_FOUND,
        problem="are unavailable due to one or more pvc(s) bound to non-existent pv(s)",
    )
    immediate = ReasonKind("pod has unbound immediate PersistentVolumeClaims", CLAIM_UNBOUND)
    awaited = ReasonKind(
        Rule(
            "1.23",
            before='persistentvolumeclaim "{claim}" not found',
            now='waiting for ephemeral volume controller to create the persistentvolumeclaim "{claim}"',
            described_by="VolumeBinding",
        ),
        CLAIM_NOT_FOUND,
    )
    lost = ReasonKind(
        'persistentvolumeclaim "{claim}" bound to non-existent persistentvolume "{volume}"', CLAIM_UNUSABLE
    )
    being_deleted = ReasonKind('persistentvolumeclaim "{claim}" is being deleted', CLAIM_UNUSABLE)
