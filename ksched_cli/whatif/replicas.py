"""Any number of pods of a manifest, one at a time: what `capacity` counts with. The controller of the workload and
admission make each pod, as in a rollout; the copies share all but their names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from msgspec.structs import replace as replace_struct

from ksched_cli.api.core import Node, Pod, PodStatus
from ksched_cli.api.defaults import default_claim
from ksched_cli.api.dynamic_resources import ResourceClaimTemplate
from ksched_cli.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from ksched_cli.api.workloads import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    JobStatus,
    ReplicaSet,
    ReplicationController,
    ResourceQuota,
    StatefulSet,
    StatefulSetOrdinals,
)
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.controlplane.admission.chain import Chain, admission_gaps
from ksched_cli.controlplane.admission.pods import admit_storage_class
from ksched_cli.controlplane.admission.quantities import ADMITTED, Denial
from ksched_cli.controlplane.controllers.claims import bound_claim, volume_at_once
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.controlplane.store import Store, owner_identity
from ksched_cli.errors import InputError, Problem
from ksched_cli.sources.loaded import Loaded, workload_label
from ksched_cli.sources.places import template_of
from ksched_cli.sources.templates import copied, ephemeral_claims, generated, templated_claims, uid_of
from ksched_cli.whatif.manifests import WORKLOADS, apply_items, apply_others
from ksched_cli.whatif.order import in_order

# Replicas never preempt: what counts is the room that there is, not the room that could be made.
_NEVER = "Never"
# The most pods of a StatefulSet that are created at once.
_LARGEST_BATCH = 64


@dataclass
class Replica:
    """A pod that no cluster has yet, the objects that come with it, and what admission makes of it."""

    pod: Pod
    objects: list[Any] = field(default_factory=list)
    denial: Denial = ADMITTED


@dataclass
class Shape:
    """A manifest that pods can be made of. `name` differs from those of the other shapes of the run."""

    name: str
    item: Any

    @property
    def label(self) -> str:
        """`Deployment shop/web`."""
        return workload_label(self.item)

    @property
    def names(self) -> tuple[str, ...]:
        """What a person may call it: its own name always, others as far as they leave no doubt."""
        return (self.name, *(form(self.item) for form in _FORMS[1:]))


def read_shapes(cluster: Loaded, manifests: Loaded) -> list[Shape]:
    """The pods and workloads of the manifests; whatever else is in them becomes part of the cluster."""
    apply_others(cluster, manifests)
    items: list[Any] = [item for item in in_order(manifests) if isinstance(item, (Pod, *WORKLOADS))]
    problems = [
        Problem(text, origin.source, origin.line, workload_label(item), hint)
        for item in items
        for origin in [manifests.origins[id(item)]]
        for text, hint in _complaints(item)
    ]
    if problems:
        raise InputError(problems)
    cluster.gaps += admission_gaps(cluster, {item.metadata.namespace for item in items}, pods_only=True)
    return [Shape(name, item) for name, item in zip(_names(items), items, strict=True)]


def _complaints(item: Any) -> Iterable[tuple[str, str]]:
    if isinstance(item, DaemonSet):
        yield "a DaemonSet has one pod a node, however much room there is", "`ksched simulate -f` shows where they fit"
    elif not isinstance(item, Pod) and template_of(item).spec.node_name:
        yield "spec.nodeName of the template decides where its pods go, no scheduler does", "leave it out"


def _names(items: list[Any]) -> list[str]:
    """The shortest of name, kind/name and namespace/kind/name that differs for all of them."""
    every = [[form(item) for item in items] for form in _FORMS]
    return next((names for names in every if len(set(names)) == len(names)), every[-1])


_FORMS: tuple[Callable[[Any], str], ...] = (
    lambda item: item.metadata.name,
    lambda item: f"{type(item).__name__.lower()}/{item.metadata.name}",
    lambda item: f"{item.metadata.namespace}/{type(item).__name__.lower()}/{item.metadata.name}",
)


class Replicas:
    """Makes pods of one shape for one cluster, each with a name of its own and as admission leaves it."""

    def __init__(self, shape: Shape, cluster: Loaded, admission: Chain) -> None:
        self._item = shape.item
        self._admission = admission
        self._classes = cluster.of(StorageClass)
        self._catalog = Catalog([*self._classes, *cluster.of(PersistentVolume)])
        self._templates = {
            (each.metadata.namespace, each.metadata.name): each for each in cluster.of(ResourceClaimTemplate)
        }
        self._controllers = _Controllers(cluster)
        self._taken = {(pod.metadata.namespace, pod.metadata.name) for pod in cluster.of(Pod)}
        self._first: Replica | None = None
        self._number = count(1)
        self._numbered = self._pods_of_set()

    def next(self) -> Replica:
        if isinstance(self._item, StatefulSet):
            return self._admitted(next(self._numbered))
        if self._first is None:
            (made,) = self._controllers.pods_of(_one(self._item))
            self._first = self._admitted(replace(made, pod=self._named(made.pod)))
            return self._first
        return self._another(self._first)

    def _pods_of_set(self) -> Iterator[Replica]:
        """The pods of a StatefulSet, ordinal by ordinal, without those whose names are taken. They are created in
        growing batches: most counts end soon, and each batch is one step of the controller."""
        ordinal = self._item.spec.ordinals.start if self._item.spec.ordinals else 0
        size = 1
        while True:
            made = self._controllers.pods_of(_with_ordinals(self._item, ordinal, size))
            yield from (
                each for each in made if (each.pod.metadata.namespace, each.pod.metadata.name) not in self._taken
            )
            ordinal, size = ordinal + size, min(2 * size, _LARGEST_BATCH)

    def _named(self, pod: Pod) -> Pod:
        """Under a generated name that no pod has: the controllers see none of the cluster's pods."""
        owner, number = self._item.metadata, next(self._number)
        names = (generated(f"{owner.name}-", owner.namespace, number, attempt) for attempt in count())
        name = next(each for each in names if (owner.namespace, each) not in self._taken)
        self._taken.add((owner.namespace, name))
        uid = uid_of("Pod", owner.namespace, name)
        metadata = replace_struct(pod.metadata, name=name, uid=uid, creation_timestamp=None, deletion_timestamp=None)
        return Pod(metadata, pod.spec, PodStatus())

    def _admitted(self, made: Replica) -> Replica:
        """The pod with the claims that are made for it. Quotas count those of the cluster."""
        pod = made.pod
        denial = made.denial if made.denial.message else self._admission.quotas.admit(pod)
        pod.spec = replace_struct(pod.spec, preemption_policy=_NEVER)
        return Replica(pod, [*self._with_volumes(made.objects), *self._claims(pod)], denial)

    def _another(self, first: Replica) -> Replica:
        """A copy of the first pod after admission; only quotas could treat the two differently."""
        pod = self._named(first.pod)
        denial = first.denial if first.denial.message else self._admission.quotas.admit(pod)
        return Replica(pod, self._claims(pod), denial)

    def _claims(self, pod: Pod) -> list[Any]:
        claims = list(ephemeral_claims(pod))
        for claim in claims:
            admit_storage_class(claim, self._classes)
            default_claim(claim)
        return [*self._with_volumes(claims), *templated_claims(pod, self._templates)]

    def _with_volumes(self, items: Iterable[Any]) -> Iterator[Any]:
        """The items, with claims that are bound at once and their volumes."""
        for item in items:
            volume = volume_at_once(item, self._catalog) if isinstance(item, PersistentVolumeClaim) else None
            if volume is None:
                yield item
            else:
                self._catalog.put(volume)
                yield volume
                yield bound_claim(item, volume)


class _Controllers:
    """A control plane with the policies of the cluster and none of its workloads: it makes one pod at a time."""

    def __init__(self, cluster: Loaded) -> None:
        policies = cluster.copied()
        for kind in (Pod, Node, ResourceQuota, *WORKLOADS):
            policies.set_all(kind, ())
        # A Deployment keeps the ReplicaSet that has its template.
        idle = [replace_struct(each, spec=replace_struct(each.spec, replicas=0)) for each in cluster.of(ReplicaSet)]
        policies.set_all(ReplicaSet, idle)
        self._plane = ControlPlane(Store(policies), watches=(self._note,), places_everything=True)
        self._created: list[Any] = []

    def _note(self, old: Any, new: Any) -> None:
        if old is None:
            self._created.append(new)

    def pods_of(self, item: Any) -> list[Replica]:
        """The pods that are created for the item, each with the objects that come with it, or refused by admission."""
        self._created.clear()
        apply_items(self._plane, [item])
        self._plane.run()
        refused = [each for pods in self._plane.api.refusals.values() for each in pods.values()]
        found = [Replica(each.pod, [], Denial(each.plugin, each.message)) for each in refused]
        objects: list[Any] = []
        for each in self._created:
            if isinstance(each, Pod):
                found.append(Replica(copied(each), objects))
                objects = []
            elif isinstance(each, ReplicaSet | PersistentVolumeClaim) and (owner_identity(each) or ("",))[0] != "Pod":
                # Claims of the pod itself are made for the name that it is given.
                objects.append(each)
        return found


def _one(item: Any) -> Any:
    """The item with one replica, started anew."""
    if isinstance(item, Pod):
        pod = copied(item)
        pod.spec.node_name = ""
        return pod
    if isinstance(item, Deployment | ReplicaSet | ReplicationController):
        return replace_struct(item, spec=replace_struct(item.spec, replicas=1))
    if isinstance(item, Job):
        return _one_run(item)
    if isinstance(item, CronJob):
        template = item.spec.job_template
        own = replace_struct(template, spec=_one_run(Job(spec=template.spec)).spec)
        return replace_struct(item, spec=replace_struct(item.spec, suspend=False, job_template=own))
    return item


def _one_run(item: Job) -> Job:
    spec = replace_struct(item.spec, parallelism=1, completions=1, suspend=False)
    return replace_struct(item, spec=spec, status=JobStatus())


def _with_ordinals(item: StatefulSet, start: int, size: int) -> StatefulSet:
    spec = replace_struct(item.spec, replicas=size, ordinals=StatefulSetOrdinals(start))
    return replace_struct(item, spec=spec)
