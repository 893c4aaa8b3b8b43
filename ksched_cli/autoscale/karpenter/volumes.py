"""Volumes of pods: where their claims allow them, which claims are refused, and how many volumes a node takes.

Mirrors volumetopology.go and pkg/scheduling/volumeusage.go. Each term of a PersistentVolume's node affinity, or of a
StorageClass's allowedTopologies, is an alternative; a pod with several volumes has the compatible combinations. The
requirements of volumes bind the node only: spread constraints count as if the pod had none.

One rule comes from the recordings: there, Karpenter did not find the PersistentVolumes, since it looks for them in the
namespace of the pod and the client of the recordings took that literally (an API server ignores it). The recorded
volumes name no claim (`spec.claimRef`), those of a cluster do, so a volume without a claimRef is not found here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from msgspec import Struct

from ksched_cli.api.core import NodeSelectorRequirement, Pod, Volume
from ksched_cli.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from ksched_cli.autoscale.karpenter.host_ports import PodKey
from ksched_cli.autoscale.karpenter.messages import with_values
from ksched_cli.autoscale.karpenter.requirements import HOSTNAME, LabelRequirements

Volumes = Mapping[str, frozenset[str]]
_BOUND = "pv.kubernetes.io/bind-completed"
_AWS_EBS = "ebs.csi.aws.com"
# The CSI drivers of in-tree plugins (csi-translation-lib).
_CSI_NAMES: Mapping[str, str] = {
    "kubernetes.io/aws-ebs": _AWS_EBS,
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/azure-file": "file.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
}


class MissingObjectError(Exception):
    """A claim, volume or class that a pod names does not exist."""


class PodVolumes(Struct, frozen=True):
    """The alternatives of a pod's volumes, and its claims by CSI driver. `is_missing`: an object that the pod names was
    not found; Karpenter then places the pod without the rules of its volumes and without its topology rules."""

    alternatives: tuple[LabelRequirements, ...] = ()
    claims: Volumes = {}
    is_missing: bool = False

    def __bool__(self) -> bool:
        return bool(self.alternatives or self.claims or self.is_missing)


class ClaimedVolumes:
    """Claims, volumes and classes, by name."""

    def __init__(
        self,
        claims: Mapping[PodKey, PersistentVolumeClaim],
        volumes: Mapping[str, PersistentVolume],
        classes: Mapping[str, StorageClass],
    ) -> None:
        self._claims, self._volumes, self._classes = claims, volumes, classes

    def requirements(self, pod: Pod) -> tuple[LabelRequirements, ...]:
        """GetRequirements: the alternatives. MissingObjectError if an object is missing."""
        found: list[LabelRequirements] | None = None
        for volume in pod.spec.volumes:
            claim = self._claim(pod, volume)
            of_volume = self._of_claim(claim) if claim is not None else []
            if not of_volume:
                continue
            if found is None:
                found = of_volume
                continue
            pairs = [(first, second) for first in found for second in of_volume]
            compatible = [(first, second) for first, second in pairs if not any(first.contradictions(second))]
            # If nothing is compatible, all combinations stay, and no node meets them.
            found = [first.added(second) for first, second in compatible or pairs]
        return tuple(found or ())

    def _claim(self, pod: Pod, volume: Volume) -> PersistentVolumeClaim | None:
        """GetPersistentVolumeClaim: None for a volume without a claim."""
        if volume.persistent_volume_claim is not None:
            name = volume.persistent_volume_claim.claim_name
        elif volume.ephemeral is not None:
            name = f"{pod.metadata.name}-{volume.name}"
        else:
            return None
        found = self._claims.get((pod.metadata.namespace, name))
        if found is None:
            text = f'getting persistent volume claim, persistentvolumeclaims "{name}" not found'
            raise MissingObjectError(with_values(text, PersistentVolumeClaim=name))
        return found

    def _of_claim(self, claim: PersistentVolumeClaim) -> list[LabelRequirements]:
        if claim.spec.volume_name:
            return self._of_volume(claim.spec.volume_name)
        name = claim.spec.storage_class_name
        if not name:
            return []
        terms = self._class(name).allowed_topologies
        selectors = (
            [NodeSelectorRequirement(each.key, "In", each.values) for each in term.match_label_expressions]
            for term in terms
        )
        return [LabelRequirements.of_selectors(each) for each in selectors if each]

    def _of_volume(self, name: str) -> list[LabelRequirements]:
        volume = self._volumes.get(name)
        if volume is None or volume.spec.claim_ref is None:
            raise MissingObjectError(f'persistentvolumes "{name}" not found')
        affinity = volume.spec.node_affinity
        if affinity is None or affinity.required is None:
            return []
        is_local = volume.spec.local is not None or volume.spec.host_path is not None
        found = []
        for term in affinity.required.node_selector_terms:
            given = term.match_expressions
            # The pod moves to another host, so a local volume does not bind it to the host of today.
            kept = tuple(each for each in given if each.key != HOSTNAME) if is_local else given
            if kept or (is_local and given):
                found.append(LabelRequirements.of_selectors(kept))
        return found

    def _class(self, name: str) -> StorageClass:
        found = self._classes.get(name)
        if found is None:
            raise MissingObjectError(f'storageclasses.storage.k8s.io "{name}" not found')
        return found

    def problem(self, pod: Pod) -> str:
        """ValidatePersistentVolumeClaims: why the pod's claims are refused, empty if they are not."""
        for volume in pod.spec.volumes:
            try:
                claim = self._claim(pod, volume)
            except MissingObjectError as missing:
                return str(missing)
            problem = self._problem_of(claim) if claim is not None else ""
            if problem:
                return problem
        return ""

    def _problem_of(self, claim: PersistentVolumeClaim) -> str:
        meta, spec = claim.metadata, claim.spec
        key, volume, class_name = f"{meta.namespace}/{meta.name}", spec.volume_name, spec.storage_class_name or ""
        named: dict[str, object] = {"PersistentVolumeClaim": key}
        if meta.deletion_timestamp:
            return with_values("persistentvolumeclaim is being deleted", **named)
        if claim.status.phase == "Lost":
            text = "persistentvolumeclaim bound to non-existent persistentvolume"
            return with_values(text, **named, PersistentVolume=volume)
        named["StorageClass"] = class_name
        if volume:
            bound = self._volumes.get(volume)
            wrong = f'persistentvolumes "{volume}" not found' if bound is None else ""
            if bound is not None and bound.metadata.deletion_timestamp:
                wrong = "persistentvolume is being deleted"
            if wrong:
                return with_values(f"failed to validate pvc, {wrong}", **named, PersistentVolume=volume)
            if _BOUND not in meta.annotations:
                text = "pvc is considered unbound because it does not contain annotation"
                return with_values(text, annotation=_BOUND, PersistentVolumeClaim=meta.name, PersistentVolume=volume)
            return ""
        if not class_name:
            return with_values("unbound pvc must define a storage class", **named)
        try:
            storage_class = self._class(class_name)
        except MissingObjectError as missing:
            return with_values(f"failed to validate pvc, failed to get storage class, {missing}", **named)
        if (storage_class.volume_binding_mode or "Immediate") == "Immediate":
            return with_values("failed to validate pvc, pvc with immediate volume binding mode must be bound", **named)
        return ""

    def claims_by_driver(self, pod: Pod) -> Volumes:
        """GetVolumes: the pod's claims by CSI driver. Claims that do not exist and other drivers do not count."""
        found: dict[str, set[str]] = defaultdict(set)
        for claim in self._existing_claims(pod):
            driver = self._driver(claim)
            if driver:
                found[driver].add(f"{claim.metadata.namespace}/{claim.metadata.name}")
        return {driver: frozenset(claims) for driver, claims in found.items()}

    def _existing_claims(self, pod: Pod) -> Iterator[PersistentVolumeClaim]:
        for volume in pod.spec.volumes:
            try:
                claim = self._claim(pod, volume)
            except MissingObjectError:
                continue
            if claim is not None:
                yield claim

    def _driver(self, claim: PersistentVolumeClaim) -> str:
        """ResolveDriver."""
        if claim.spec.volume_name:
            volume = self._volumes.get(claim.spec.volume_name)
            if volume is None:
                return ""
            if volume.spec.csi is not None:
                return volume.spec.csi.driver
            return _AWS_EBS if volume.spec.aws_elastic_block_store is not None else ""
        storage_class = self._classes.get(claim.spec.storage_class_name or "")
        return "" if storage_class is None else _CSI_NAMES.get(storage_class.provisioner, storage_class.provisioner)

    def of(self, pod: Pod) -> PodVolumes:
        """Everything about the volumes of a pod."""
        if not pod.spec.volumes:
            return _NO_VOLUMES
        claims = self.claims_by_driver(pod)
        try:
            return PodVolumes(self.requirements(pod), claims)
        except MissingObjectError:
            return PodVolumes((), claims, is_missing=True)


_NO_VOLUMES = PodVolumes()


class VolumeUsage:
    """The claims that are mounted on a node, and the limits of its CSI drivers."""

    def __init__(self, limits: Mapping[str, int]) -> None:
        self._limits = limits
        self._claims: dict[str, frozenset[str]] = {}

    def exceeds_limits(self, claims: Volumes) -> bool:
        """ExceedsLimits: whether some driver would have more volumes than its limit. Drivers that are over their limit
        already refuse every pod."""
        return any(
            len(self._claims.get(driver, frozenset()) | claims.get(driver, frozenset())) > limit
            for driver, limit in self._limits.items()
        )

    def add(self, claims: Volumes) -> None:
        for driver, names in claims.items():
            self._claims[driver] = self._claims.get(driver, frozenset()) | names
