"""The claims that controllers make for a pod: for ephemeral volumes, and from resource claim templates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ksched_cli.api.core import Pod, PodResourceClaimStatus
from ksched_cli.api.dynamic_resources import ResourceClaim, ResourceClaimTemplate
from ksched_cli.api.meta import ObjectMeta
from ksched_cli.api.storage import PersistentVolumeClaim
from ksched_cli.sources.controllers.naming import generated
from ksched_cli.sources.controllers.templates import copied, own_metadata, owner_reference

_POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"


def ephemeral_claims(pod: Pod) -> Iterator[PersistentVolumeClaim]:
    """The claims of the pod's ephemeral volumes (ephemeralController.handleVolume)."""
    for volume in pod.spec.volumes:
        template = volume.ephemeral.volume_claim_template if volume.ephemeral else None
        if template is not None:
            own = copied(template)
            yield PersistentVolumeClaim(
                _metadata("PersistentVolumeClaim", f"{pod.metadata.name}-{volume.name}", pod, own.metadata), own.spec
            )


def templated_claims(pod: Pod, templates: Mapping[tuple[str, str], ResourceClaimTemplate]) -> Iterator[ResourceClaim]:
    """The claims that the resource claim controller makes for the pod (handleClaim). The pod's status gets their names.
    A reference without its template gets no claim, and the pod waits for it."""
    statuses = list(pod.status.resource_claim_statuses)
    known = {status.name for status in statuses}
    for reference in pod.spec.resource_claims:
        template = templates.get((pod.metadata.namespace, reference.resource_claim_template_name or ""))
        if template is None or reference.name in known:
            continue
        own = copied(template)
        name = generated(f"{pod.metadata.name}-{reference.name}-", pod.metadata.namespace)
        metadata = _metadata("ResourceClaim", name, pod, own.spec.metadata)
        metadata.annotations = {**metadata.annotations, _POD_CLAIM_NAME: reference.name}
        statuses.append(PodResourceClaimStatus(reference.name, name))
        yield ResourceClaim(metadata, own.spec.spec)
    pod.status.resource_claim_statuses = tuple(statuses)


def _metadata(kind: str, name: str, pod: Pod, template: ObjectMeta) -> ObjectMeta:
    return own_metadata(kind, pod.metadata.namespace, name, template, owner_reference("Pod", "v1", pod.metadata))
