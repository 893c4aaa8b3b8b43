"""KS12x and KS13x: no node takes the pod because of its volumes."""

from __future__ import annotations

from ksched_cli.plan.codes.reason_code import ReasonCode

_PLUGINS = (
    *("VolumeBinding", "VolumeRestrictions", "VolumeZone", "NodeVolumeLimits"),
    *("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits"),
)


def _code(code: str, name: str, title: str, meaning: str, advice: tuple[str, ...], *reasons: str) -> ReasonCode:
    """The volume plugins say some things in the same words: a code stands for all of them."""
    return ReasonCode(code, name, title, meaning, advice, _PLUGINS, reasons)


CODES = [
    _code(
        "KS121",
        "claim-not-found",
        "a volume claim does not exist",
        "The pod mounts a PersistentVolumeClaim that is neither in the cluster nor in the manifests, or one that has "
        "no name.",
        ("add the claim to the manifests", "correct claimName"),
        '(looking up PVC .*: )?persistentvolumeclaim ".*" not found',
        "PersistentVolumeClaim had no name",
        'waiting for ephemeral volume controller to create the persistentvolumeclaim ".*"',
    ),
    _code(
        "KS122",
        "claim-unbound",
        "a volume claim is not bound yet",
        "Its StorageClass binds at once, so that a volume has to be there before the scheduler looks at the pod.",
        ("volumeBindingMode: WaitForFirstConsumer in the StorageClass", "see why nothing provisions the claim"),
        "pod has unbound immediate PersistentVolumeClaims",
        "PersistentVolume had no name",
    ),
    _code(
        "KS123",
        "claim-unusable",
        "a volume claim cannot be used",
        "It is being deleted, has lost its volume, or belongs to another pod.",
        ("make the claim anew", "give the ephemeral volume another name"),
        'persistentvolumeclaim ".*" bound to non-existent persistentvolume ".*"',
        'persistentvolumeclaim ".*" is being deleted',
        "PVC .* was not created for pod .*",
    ),
    _code(
        "KS124",
        "volume-elsewhere",
        "the pod's volume is on other nodes",
        "A bound PersistentVolume has a node affinity (a zone, a node) that these nodes do not match.",
        ("let the pod go to where its volume is", "move the data", "make room on the nodes that the volume allows"),
        "node\\(s\\) didn't match PersistentVolume's node affinity",
        "node\\(s\\) had volume node affinity conflict",
    ),
    _code(
        "KS125",
        "no-volume",
        "there is no volume for a claim",
        "No PersistentVolume matches in class, size, access mode and place, and nothing provisions one there.",
        ("add a PersistentVolume", "use a StorageClass with a provisioner", "ask for less storage"),
        "node\\(s\\) didn't find available persistent volumes to bind",
    ),
    _code(
        "KS126",
        "storage-exhausted",
        "the storage backend has too little room",
        "The driver publishes its capacity (CSIStorageCapacity), and none of it is large enough near these nodes.",
        ("ask for less storage", "extend the backend"),
        "node\\(s\\) did not have enough free storage",
    ),
    _code(
        "KS127",
        "volume-not-found",
        "a bound volume does not exist",
        "The claim is bound to a PersistentVolume that is not in the input.",
        ("add persistentvolumes to the dump", "restore the volume"),
        "node\\(s\\) unavailable due to one or more pvc\\(s\\) bound to non-existent pv\\(s\\)",
        'persistentvolume ".*" not found',
    ),
    _code(
        "KS128",
        "volume-zone",
        "the pod's volume is in another zone",
        "The labels of the bound PersistentVolume name a zone or region that the nodes are not in.",
        ("let the pod go to that zone", "add nodes there"),
        "node\\(s\\) had no available volume zone",
    ),
    _code(
        "KS129",
        "too-many-volumes",
        "the nodes have as many volumes attached as they may",
        "The CSI driver's CSINode says how many volumes a node can have.",
        ("add nodes", "use fewer volumes"),
        "node\\(s\\) exceed max volume count",
    ),
    _code(
        "KS130",
        "disk-in-use",
        "a disk is mounted already and cannot be shared",
        "Two pods of a node cannot mount the same disk unless both only read it.",
        ("mount it read-only", "use a claim for each pod"),
        "node\\(s\\) had no available disk",
    ),
    _code(
        "KS131",
        "claim-in-use",
        "another pod uses a claim that one pod at a time may use",
        "The claim's access mode is ReadWriteOncePod. In a rollout the old pod holds it until it is gone.",
        ("strategy: Recreate, or maxSurge: 0", "access mode ReadWriteOnce"),
        "node\\(s\\) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use .*",
        "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode",
    ),
    _code(
        "KS132",
        "storage-class",
        "the StorageClass of a claim is missing or incomplete",
        "A claim without a volume names no class, or one that does not exist or has no volumeBindingMode.",
        ("add the StorageClass", "correct storageClassName"),
        "PersistentVolumeClaim had no pv name and storageClass name",
        'storageclass.storage.k8s.io ".*" not found',
        'VolumeBindingMode not set for StorageClass ".*"',
    ),
    _code(
        "KS133",
        "driver-missing",
        "the nodes do not have the volume's CSI driver",
        "The CSINode of the node does not list the driver.",
        ("install the driver on the nodes",),
        ".* CSI driver is not installed on the node",
    ),
]
