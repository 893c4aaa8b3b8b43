"""ReplicaSet, ReplicationController and Deployment: so many pods alike."""

from __future__ import annotations

from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.meta import LabelSelector, ObjectMeta, OwnerReference
from ksched_cli.api.selectors import compile_selector, selector_from_map
from ksched_cli.api.workloads import Deployment, PodTemplateSpec, ReplicaSet, ReplicaSetSpec, ReplicationController
from ksched_cli.sources.controllers.existing import Existing, active
from ksched_cli.sources.controllers.made import Made
from ksched_cli.sources.controllers.naming import uid_of
from ksched_cli.sources.controllers.templates import copied, defaulted, hash_of, owner_reference, stamp

# appsv1.DefaultDeploymentUniqueLabelKey
HASH_LABEL = "pod-template-hash"
_DEFAULT_REPLICAS = 1


def replica_set(item: ReplicaSet, existing: Existing) -> Made:
    assert item.spec.template is not None
    running = active(existing.pods_of("ReplicaSet", item.metadata, compile_selector(item.spec.selector)))
    owner = owner_reference("ReplicaSet", "apps/v1", item.metadata)
    return Made(
        replica_pods(item.spec.template, item.metadata, owner, _wanted(item.spec.replicas) - len(running), existing)
    )


def replication_controller(item: ReplicationController, existing: Existing) -> Made:
    template = item.spec.template
    assert template is not None
    # SetDefaults_ReplicationController: without a selector it goes by the template's labels.
    selector = selector_from_map(item.spec.selector or template.metadata.labels)
    running = active(existing.pods_of("ReplicationController", item.metadata, selector))
    owner = owner_reference("ReplicationController", "v1", item.metadata)
    missing = _wanted(item.spec.replicas) - len(running)
    return Made(replica_pods(template, item.metadata, owner, missing, existing))


def deployment(item: Deployment, existing: Existing) -> Made:
    """Through a replica set: the one that has this template, or a new one. Pods of an older template count too: what
    a rollout does with them is not a matter of scheduling."""
    template = item.spec.template
    assert template is not None
    running = active(existing.deployment_pods(item.metadata, compile_selector(item.spec.selector)))
    made = Made()
    owned = find_new_replica_set(existing.replica_sets_of(item.metadata), template)
    if owned is None:
        owned = new_replica_set(item, template)
        made.objects.append(owned)
    assert owned.spec.template is not None
    owner = owner_reference("ReplicaSet", "apps/v1", owned.metadata)
    missing = _wanted(item.spec.replicas) - len(running)
    made.pods = replica_pods(owned.spec.template, owned.metadata, owner, missing, existing)
    return made


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
    metadata = ObjectMeta(
        name=name,
        namespace=namespace,
        uid=uid_of("ReplicaSet", namespace, name),
        labels=dict(own.metadata.labels),
        owner_references=(owner_reference("Deployment", "apps/v1", item.metadata),),
    )
    return ReplicaSet(metadata, ReplicaSetSpec(item.spec.replicas, selector, own))


def _wanted(replicas: int | None) -> int:
    return _DEFAULT_REPLICAS if replicas is None else replicas


def replica_pods(
    template: PodTemplateSpec,
    controller: ObjectMeta,
    owner: OwnerReference,
    count: int,
    existing: Existing,
    start: int = 0,
) -> list[Pod]:
    """As many pods as are missing; `start`: how many were made before."""
    numbers = range(start, start + count)
    names = (existing.new_name(f"{controller.name}-", controller.namespace, number) for number in numbers)
    return [stamp(template, controller.namespace, name, owner) for name in names]
