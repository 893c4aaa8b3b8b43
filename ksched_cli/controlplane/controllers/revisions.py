"""The versions of a workload's template, and the pods of a StatefulSet: numbered, each with claims of its own.
ControllerRevisions are not read: the history is kept beside the objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import (
    ObjectMeta,
    PersistentVolumeClaimTemplate,
    PersistentVolumeClaimVolumeSource,
    Pod,
    Volume,
)
from ksched_cli.api.storage import PersistentVolumeClaim
from ksched_cli.api.workloads import DaemonSet, PodTemplateSpec, StatefulSet
from ksched_cli.cluster.undo import LoggedDict
from ksched_cli.controlplane.store import Identity, Store, identity_of, owner_identity
from ksched_cli.sources.templates import copied, defaulted, hash_of, own_metadata, owner_reference, stamp

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


# Labels that a pod has of its own and not of its template.
IDENTITY_LABELS = (REVISION_LABEL, POD_NAME_LABEL, POD_INDEX_LABEL)
Versioned: TypeAlias = StatefulSet | DaemonSet
# The value of the revision label for a template that no pod has yet.
NameRevision = Callable[[Versioned, str], str]


class Revision(Struct, frozen=True):
    """ControllerRevision: `name` is the value of the label of its pods."""

    name: str
    template: PodTemplateSpec


def revision_of(pod: Pod) -> str:
    """The value of the pod's revision label."""
    return pod.metadata.labels.get(REVISION_LABEL, "")


class RevisionHistory:
    """The revisions of all objects of one kind, the newest last. What is in the store when the history is made has the
    revision of its newest pods."""

    def __init__(self, store: Store, kind: type[Versioned], name: NameRevision) -> None:
        self._store, self._name = store, name
        undo = store.undo
        self._first: dict[Identity, Versioned] = LoggedDict(
            undo, ((identity_of(item), item) for item in store.of(kind))
        )
        # A pod of each revision, by its name, the newest last.
        samples = ((identity, _samples(store.pods_of(item))) for identity, item in self._first.items())
        self._samples: dict[Identity, dict[str, Pod]] = LoggedDict(undo, samples)
        self._known: dict[Identity, tuple[Revision, ...]] = LoggedDict(undo)
        # The revision of pods that have no label, by owner.
        self._unlabelled: dict[Identity, str] = LoggedDict(undo)
        # The template that was looked up last: an object whose template has not changed keeps it.
        self._latest: dict[Identity, tuple[PodTemplateSpec, Revision]] = LoggedDict(undo)

    def update_revision(self, item: Versioned) -> Revision:
        """The revision of the object's template (getStatefulSetRevisions, constructHistory). A template that was there
        before has its earlier revision again."""
        identity, template = identity_of(item), item.spec.template
        assert template is not None
        latest = self._latest.get(identity)
        if latest is not None and latest[0] is template:
            return latest[1]
        known = self._known.get(identity) or tuple(self._initial(identity))
        wanted = defaulted(template)
        found = next((each for each in known if defaulted(each.template) == wanted), None)
        if found is None:
            found = Revision(self._name(item, hash_of(template)), template)
        self._known[identity] = (*(each for each in known if each is not found), found)
        self._latest[identity] = template, found
        return found

    def named(self, item: Versioned, name: str) -> Revision | None:
        """The revision of this name. Of one that is older than the run, a pod shows the template."""
        identity = identity_of(item)
        known = next((each for each in self._known.get(identity, ()) if each.name == name), None)
        sample = self._samples.get(identity, {}).get(name)
        return known or (Revision(name, _template_of(sample)) if sample is not None else None)

    def revision_of(self, pod: Pod) -> str:
        """The revision of the pod. A pod without the label, as an input that was written by hand has it, is of the
        first revision of its owner."""
        owner = owner_identity(pod)
        if revision_of(pod) or owner not in self._first:
            return revision_of(pod)
        if owner not in self._unlabelled:
            self._unlabelled[owner] = next((each.name for each in self._initial(owner)), "")
        return self._unlabelled[owner]

    def first(self, item: Versioned) -> Versioned:
        """The object as it was when the history began."""
        return self._first.get(identity_of(item), item)

    def forget(self, identity: Identity) -> None:
        """The object is deleted. One of its name that comes later has a status of its own. Its template has the earlier
        revision again if it is the same: the name of a ControllerRevision is a hash of the template."""
        self._first.pop(identity, None)

    def _initial(self, identity: Identity) -> list[Revision]:
        item = self._first.get(identity)
        if item is None or item.spec.template is None:
            return []
        name = item.status.update_revision if isinstance(item, StatefulSet) else ""
        name = name or next(reversed(self._samples[identity]), "")
        if not name and not self._store.pods_of(item):
            name = self._name(item, hash_of(item.spec.template))
        # Without a name: an input that was cut by hand, whose pods do not have the label.
        return [Revision(name, item.spec.template)]


def _samples(pods: Iterable[Pod]) -> dict[str, Pod]:
    """The newest pod of each revision, the revision of the newest pod last."""
    samples: dict[str, Pod] = {}
    for pod in sorted(pods, key=lambda pod: pod.metadata.creation_timestamp or ""):
        name = revision_of(pod)
        if name:
            samples.pop(name, None)
            samples[name] = pod
    return samples


def _template_of(pod: Pod) -> PodTemplateSpec:
    """The template that a pod was made of, as far as the pod shows it."""
    labels = {key: value for key, value in pod.metadata.labels.items() if key not in IDENTITY_LABELS}
    metadata = ObjectMeta(labels=labels, annotations=pod.metadata.annotations)
    return PodTemplateSpec(metadata, replace(pod.spec, node_name="", hostname="", subdomain=""))
