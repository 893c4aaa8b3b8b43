"""The pods of a StatefulSet: numbered, each with claims of its own."""

from __future__ import annotations

from ksched_cli.api.core import Pod
from ksched_cli.api.storage import PersistentVolumeClaim
from ksched_cli.api.volumes import PersistentVolumeClaimTemplate, PersistentVolumeClaimVolumeSource, Volume
from ksched_cli.api.workloads import StatefulSet
from ksched_cli.sources.controllers.templates import copied, own_metadata, owner_reference, stamp

POD_NAME_LABEL = "statefulset.kubernetes.io/pod-name"
POD_INDEX_LABEL = "apps.kubernetes.io/pod-index"
REVISION_LABEL = "controller-revision-hash"


def stateful_pod(item: StatefulSet, ordinal: int, revision: str) -> Pod:
    """newStatefulSetPod, initIdentity and updateStorage."""
    assert item.spec.template is not None
    name = f"{item.metadata.name}-{ordinal}"
    owner = owner_reference("StatefulSet", "apps/v1", item.metadata)
    pod = stamp(item.spec.template, item.metadata.namespace, name, owner)
    pod.metadata.labels |= {POD_NAME_LABEL: name, POD_INDEX_LABEL: str(ordinal), REVISION_LABEL: revision}
    pod.spec.hostname = name
    pod.spec.subdomain = item.spec.service_name
    claims = {each.metadata.name: stateful_claim_name(item, each, ordinal) for each in item.spec.volume_claim_templates}
    kept = tuple(volume for volume in pod.spec.volumes if volume.name not in claims)
    mounted = tuple(
        Volume(template, persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim))
        for template, claim in claims.items()
    )
    pod.spec.volumes = mounted + kept
    return pod


def stateful_claim_name(item: StatefulSet, template: PersistentVolumeClaimTemplate, ordinal: int) -> str:
    """getPersistentVolumeClaimName."""
    return f"{template.metadata.name}-{item.metadata.name}-{ordinal}"


def stateful_claim(item: StatefulSet, template: PersistentVolumeClaimTemplate, ordinal: int) -> PersistentVolumeClaim:
    """Labelled with what the set selects by, and without an owner, so that it outlives its pod."""
    own = copied(template)
    name, namespace = stateful_claim_name(item, template, ordinal), item.metadata.namespace
    selected = item.spec.selector.match_labels if item.spec.selector else {}
    own.metadata.labels |= selected
    return PersistentVolumeClaim(own_metadata("PersistentVolumeClaim", namespace, name, own.metadata), own.spec)
