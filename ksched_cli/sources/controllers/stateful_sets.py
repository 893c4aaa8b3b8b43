"""StatefulSet: numbered pods, each with claims of its own."""

from __future__ import annotations

from ksched_cli.api.core import Pod
from ksched_cli.api.meta import ObjectMeta
from ksched_cli.api.pod_facts import is_terminal
from ksched_cli.api.selectors import compile_selector
from ksched_cli.api.storage import PersistentVolumeClaim
from ksched_cli.api.volumes import PersistentVolumeClaimTemplate, PersistentVolumeClaimVolumeSource, Volume
from ksched_cli.api.workloads import StatefulSet
from ksched_cli.sources.controllers.existing import Existing
from ksched_cli.sources.controllers.made import Made
from ksched_cli.sources.controllers.naming import uid_of
from ksched_cli.sources.controllers.templates import copied, hash_of, owner_reference, stamp

POD_NAME_LABEL = "statefulset.kubernetes.io/pod-name"
POD_INDEX_LABEL = "apps.kubernetes.io/pod-index"
REVISION_LABEL = "controller-revision-hash"


def stateful_set(item: StatefulSet, existing: Existing) -> Made:
    """Every ordinal that has no pod, in order. That a pod waits until those before it are ready is left out: all of
    them are to be placed. A finished pod is made anew; any other holds its name, be it on its way out or a stranger."""
    spec = item.spec
    assert spec.template is not None
    owned = existing.pods_of("StatefulSet", item.metadata, compile_selector(spec.selector))
    finished = {pod.metadata.name for pod in owned if is_terminal(pod)}
    start = spec.ordinals.start if spec.ordinals else 0
    revision = f"{item.metadata.name}-{hash_of(spec.template)}"
    made = Made()
    for ordinal in range(start, start + (1 if spec.replicas is None else spec.replicas)):
        name = f"{item.metadata.name}-{ordinal}"
        if name not in finished and (item.metadata.namespace, name) in existing.names:
            continue
        made.pods.append(stateful_pod(item, ordinal, revision))
        made.objects += [stateful_claim(item, template, ordinal) for template in spec.volume_claim_templates]
    return made


def stateful_pod(item: StatefulSet, ordinal: int, revision: str) -> Pod:
    """newStatefulSetPod, initIdentity and updateStorage."""
    assert item.spec.template is not None
    name = f"{item.metadata.name}-{ordinal}"
    pod = stamp(
        item.spec.template,
        item.metadata.namespace,
        name,
        owner_reference("StatefulSet", "apps/v1", item.metadata),
    )
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
    """Labelled with what the set selects by, and owned by nobody, so that it outlives its pod."""
    own = copied(template)
    name, namespace = stateful_claim_name(item, template, ordinal), item.metadata.namespace
    selected = item.spec.selector.match_labels if item.spec.selector else {}
    metadata = ObjectMeta(
        name=name,
        namespace=namespace,
        uid=uid_of("PersistentVolumeClaim", namespace, name),
        labels={**own.metadata.labels, **selected},
        annotations=own.metadata.annotations,
    )
    return PersistentVolumeClaim(metadata, own.spec)
