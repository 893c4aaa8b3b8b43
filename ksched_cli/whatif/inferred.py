"""ReplicaSets that an input leaves out, inferred from the pods that they own."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.meta import LabelSelector, ObjectMeta, controller_of
from ksched_cli.api.selectors import selector_of_controller
from ksched_cli.api.workloads import Deployment, PodTemplateSpec, ReplicaSet, ReplicaSetSpec
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.controlplane.pods import is_active
from ksched_cli.controlplane.workloads import HASH_LABEL
from ksched_cli.sources.controllers.naming import uid_of
from ksched_cli.sources.controllers.templates import copied, defaulted, owner_reference
from ksched_cli.sources.custom.labels import workload_label


def infer_replica_sets(plane: ControlPlane, item: Deployment, live: Deployment | None) -> None:
    """Create the ReplicaSets of the Deployment that pods name as their owner and that the input does not have.

    If the input has the Deployment, its template is that of the set with the youngest pods. Otherwise the templates
    are not known: each is taken from a pod, and all of those pods count as outdated.
    """
    if plane.store.owned(item, ReplicaSet):
        return
    pods = _pods_by_set(plane, item)
    youngest = max(pods, key=lambda name: max(pod.metadata.creation_timestamp or "" for pod in pods[name]), default="")
    for name, its in pods.items():
        known = live.spec.template if live is not None and name == youngest else None
        plane.store.put(_replica_set(item, name, its, known))
    if pods and live is None:
        plane.warnings.append(unknown_workload(item, "deployments,replicasets"))


def unknown_workload(item: Any, kinds: str) -> str:
    """The warning about a workload whose pods alone are in the input."""
    where = workload_label(item)
    text = f"{where} has pods, but the cluster's input does not have it: all of them are taken as outdated"
    return f"{text} (add {kinds} to the dump)"


def _pods_by_set(plane: ControlPlane, item: Deployment) -> dict[str, list[Pod]]:
    """Pods of ReplicaSets that are called after the Deployment and the hash in the pod's label."""
    if not plane.store.has_owner("ReplicaSet", item.metadata.namespace, f"{item.metadata.name}-"):
        return {}
    selector = selector_of_controller(item.spec.selector)
    found: defaultdict[str, list[Pod]] = defaultdict(list)
    for pod in plane.store.of(Pod):
        owner = controller_of(pod.metadata)
        if owner is None or owner.kind != "ReplicaSet" or pod.metadata.namespace != item.metadata.namespace:
            continue
        called = f"{item.metadata.name}-{pod.metadata.labels.get(HASH_LABEL, '')}"
        if owner.name == called and selector.matches(pod.metadata.labels):
            found[owner.name].append(pod)
    return dict(found)


def _replica_set(item: Deployment, name: str, pods: list[Pod], template: PodTemplateSpec | None) -> ReplicaSet:
    digest = pods[0].metadata.labels.get(HASH_LABEL, "")
    if template is None:
        pod = copied(pods[0])
        labels = {**pod.metadata.labels, HASH_LABEL: digest}
        own = PodTemplateSpec(ObjectMeta(labels=labels), replace(pod.spec, node_name=""))
    else:
        own = defaulted(template)
        own.metadata.labels[HASH_LABEL] = digest
    selector = item.spec.selector or LabelSelector()
    selector = replace(selector, match_labels={**selector.match_labels, HASH_LABEL: digest})
    namespace = item.metadata.namespace
    metadata = ObjectMeta(
        name,
        namespace,
        uid=uid_of("ReplicaSet", namespace, name),
        labels=dict(own.metadata.labels),
        owner_references=(owner_reference("Deployment", "apps/v1", item.metadata),),
        creation_timestamp=min(pod.metadata.creation_timestamp or "" for pod in pods),
    )
    return ReplicaSet(metadata, ReplicaSetSpec(sum(map(is_active, pods)), selector, own))
