"""What manifests rely on and the input may lack: ReplicaSets, pods of custom resources, and namespaces."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.core import Namespace, Pod
from ksched_cli.api.decode import CLUSTER_SCOPED
from ksched_cli.api.meta import LabelSelector, ObjectMeta, controller_of
from ksched_cli.api.selectors import selector_of_controller
from ksched_cli.api.workloads import Deployment, PodTemplateSpec, ReplicaSet, ReplicaSetSpec
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.controlplane.pods import is_active
from ksched_cli.controlplane.store import identity_of
from ksched_cli.controlplane.workloads import HASH_LABEL
from ksched_cli.errors import Level, Problem
from ksched_cli.sources.loaded import UNKNOWN_NAMESPACE, Loaded, resource_of, workload_label
from ksched_cli.sources.templates import copied, defaulted, owner_reference, uid_of


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


def adopt(plane: ControlPlane, item: Any) -> None:
    """Make the workload the controller of the pods and ReplicaSets of its custom resource that its selector matches."""
    resource, store = resource_of(item), plane.store
    if resource is None or resource == identity_of(item) or getattr(item.spec, "selector", None) is None:
        return
    selector = selector_of_controller(item.spec.selector)
    owned: list[Any] = [*store.owned_by_identity(resource, ReplicaSet), *store.pods_of_identity(resource)]
    for each in owned:
        if selector.matches(each.metadata.labels):
            owner = owner_reference(type(item).__name__, "apps/v1", item.metadata)
            plane.api.update(replace(each, metadata=replace(each.metadata, owner_references=(owner,))))


# They exist in every cluster, whether the input names them or not.
_BUILT_IN = ("default", "kube-system", "kube-public", "kube-node-lease")


def unknown_namespaces(existing: Iterable[Namespace], pods: Iterable[Pod], manifests: Loaded) -> Iterator[Problem]:
    """A problem for each namespace that neither the cluster nor an earlier manifest has, and that is not assumed to
    exist: an error if the input has Namespace objects, as kubectl reports it. Else the namespaces of its pods are those
    that exist, and others are a warning. An input with neither has no problems."""
    level: Level = "error"
    missing, assumed = "the input has no namespace {}", ""
    names = {each.metadata.name for each in existing}
    if not names:
        names, level = {pod.metadata.namespace for pod in pods}, "warning"
        missing = "the input has no Namespace objects, and no pod in namespace {}"
        assumed = ": it is assumed to exist, without quotas and limits"
    known = {*names, *_BUILT_IN, *manifests.assumed_namespaces}
    if level == "warning":
        known |= {each.metadata.name for each in manifests.of(Namespace)}
    order = {identity: number for number, identity in enumerate(manifests.origins)}
    every = (item for items in manifests.objects.values() for item in items) if names else ()
    for item in sorted(every, key=lambda item: order[id(item)]):
        if isinstance(item, Namespace):
            known.add(item.metadata.name)
        namespace = item.metadata.namespace if type(item) not in CLUSTER_SCOPED else ""
        if namespace and namespace not in known:
            known.add(namespace)
            origin = manifests.origins[id(item)]
            hint = f"--create-namespace, or --assume-namespace {namespace}, if that is meant"
            close = difflib.get_close_matches(namespace, names, 1, 0.75)
            hint = f"did you mean {close[0]}? Else {hint}" if close else hint
            text = f"{missing.format(namespace)}{assumed}"
            yield Problem(text, origin.source, origin.line, "", hint, UNKNOWN_NAMESPACE, level)
