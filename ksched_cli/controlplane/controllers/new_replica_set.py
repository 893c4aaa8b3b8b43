"""The ReplicaSet of a Deployment that has its template."""

from __future__ import annotations

from msgspec.structs import replace

from ksched_cli.api.meta import LabelSelector, ObjectMeta
from ksched_cli.api.workloads import Deployment, PodTemplateSpec, ReplicaSet, ReplicaSetSpec
from ksched_cli.sources.controllers.templates import copied, defaulted, hash_of, own_metadata, owner_reference

# appsv1.DefaultDeploymentUniqueLabelKey
HASH_LABEL = "pod-template-hash"


def find_new_replica_set(candidates: list[ReplicaSet], template: PodTemplateSpec) -> ReplicaSet | None:
    """deploymentutil.FindNewReplicaSet: equal but for the hash."""
    wanted = defaulted(template)
    for each in sorted(candidates, key=lambda each: (each.metadata.creation_timestamp or "", each.metadata.name)):
        if each.spec.template is None:
            continue
        own = defaulted(each.spec.template)
        own.metadata.labels.pop(HASH_LABEL, None)
        if own == wanted:
            return each
    return None


def new_replica_set(item: Deployment, template: PodTemplateSpec) -> ReplicaSet:
    """DeploymentController.getNewReplicaSet: the hash is in its name, its selector and its pods' labels."""
    own = copied(template)
    digest = hash_of(template)
    own.metadata.labels[HASH_LABEL] = digest
    selector = item.spec.selector or LabelSelector()
    selector = replace(selector, match_labels={**selector.match_labels, HASH_LABEL: digest})
    name, namespace = f"{item.metadata.name}-{digest}", item.metadata.namespace
    owner = owner_reference("Deployment", "apps/v1", item.metadata)
    labelled = ObjectMeta(labels=dict(own.metadata.labels))
    metadata = own_metadata("ReplicaSet", namespace, name, labelled, owner)
    return ReplicaSet(metadata, ReplicaSetSpec(item.spec.replicas, selector, own))
