"""As many pods of a manifest as are asked for, one at a time: what `capacity` counts with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.core import Pod, PodStatus
from ksched_cli.api.defaults import default_claim
from ksched_cli.api.dynamic_resources import ResourceClaimTemplate
from ksched_cli.api.storage import PersistentVolumeClaim, StorageClass
from ksched_cli.api.workloads import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    JobStatus,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
    StatefulSetOrdinals,
)
from ksched_cli.controlplane.admission.chain import Chain
from ksched_cli.controlplane.admission.gaps import admission_gaps
from ksched_cli.controlplane.admission.storage_class import admit_storage_class
from ksched_cli.errors import InputError, Problem
from ksched_cli.sources.controllers.claims import ephemeral_claims, templated_claims
from ksched_cli.sources.controllers.existing import Existing
from ksched_cli.sources.controllers.expand import WORKLOADS, expand_workload
from ksched_cli.sources.controllers.made import Made
from ksched_cli.sources.controllers.naming import uid_of
from ksched_cli.sources.controllers.templates import copied
from ksched_cli.sources.custom.labels import workload_label
from ksched_cli.sources.loaded import Loaded, Origin
from ksched_cli.whatif.manifests import apply_others, in_order

# Replicas never preempt: what counts is the room that there is, not the room that could be made.
_NEVER = "Never"


@dataclass
class Replica:
    """A pod that no cluster has yet, what comes with it, and who would not have let it in."""

    pod: Pod
    objects: list[Any] = field(default_factory=list)
    refused_by: str = ""
    refusal: str = ""


@dataclass
class Shape:
    """A manifest that pods can be made of. `name` tells it from the other shapes of the run."""

    name: str
    item: Any
    origin: Origin

    @property
    def label(self) -> str:
        """`Deployment shop/web`."""
        return workload_label(self.item)

    @property
    def names(self) -> tuple[str, ...]:
        """What a person may call it: its own name always, others as far as they leave no doubt."""
        longer = tuple(form(self.item) for form in _FORMS[1:])
        return (self.name, *longer)


def read_shapes(cluster: Loaded, manifests: Loaded) -> list[Shape]:
    """The pods and workloads of the manifests; whatever else is in them becomes part of the cluster."""
    apply_others(cluster, manifests)
    items: list[Any] = [item for item in in_order(manifests) if isinstance(item, (Pod, *WORKLOADS))]
    origins = [manifests.origins[id(item)] for item in items]
    problems = [
        Problem(text, origin.source, origin.line, workload_label(item), hint)
        for item, origin in zip(items, origins, strict=True)
        for text, hint in _complaints(item)
    ]
    if problems:
        raise InputError(problems)
    cluster.gaps += admission_gaps(cluster, {item.metadata.namespace for item in items})
    return [Shape(name, item, origin) for name, item, origin in zip(_names(items), items, origins, strict=True)]


def _complaints(item: Any) -> Iterable[tuple[str, str]]:
    if isinstance(item, DaemonSet):
        yield "a DaemonSet has one pod a node, however much room there is", "`ksched simulate -f` tells where they fit"
    elif not isinstance(item, Pod) and _template_of(item).spec.node_name:
        yield "spec.nodeName of the template decides where its pods go, no scheduler does", "leave it out"


def _template_of(item: Any) -> Any:
    if isinstance(item, CronJob):
        return item.spec.job_template.spec.template
    return item.template if hasattr(item, "template") else item.spec.template


def _names(items: list[Any]) -> list[str]:
    """The shortest of name, kind/name and namespace/kind/name that tells all of them apart."""
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
        self._templates = {
            (each.metadata.namespace, each.metadata.name): each for each in cluster.of(ResourceClaimTemplate)
        }
        # Controllers make as many as are missing: before an empty cluster they make the one that is asked for.
        self._nothing = Existing((), cluster.of(ReplicaSet), ())
        self._taken = Existing(cluster.of(Pod), (), ())
        self._first: Replica | None = None
        self._number = count(1)

    def next(self) -> Replica:
        if isinstance(self._item, StatefulSet):
            return self._admitted(_of_set(self._item, self._ordinal(), self._nothing))
        if self._first is None:
            self._first = self._admitted(self._like(_one(self._item, self._nothing)))
            return self._first
        return self._another(self._first)

    def _ordinal(self) -> int:
        """The next whose name no pod has."""
        start = self._item.spec.ordinals.start if self._item.spec.ordinals else 0
        name, namespace = self._item.metadata.name, self._item.metadata.namespace
        ordinals = (start + number - 1 for number in self._number)
        return next(each for each in ordinals if (namespace, f"{name}-{each}") not in self._taken.names)

    def _like(self, made: Made) -> Made:
        """A controller gives its first pod the same name in every cluster, and a pod has the one in its manifest."""
        made.pods[0] = self._named(made.pods[0])
        return made

    def _named(self, pod: Pod) -> Pod:
        owner = self._item.metadata
        name = self._taken.new_name(f"{owner.name}-", owner.namespace, next(self._number))
        uid = uid_of("Pod", owner.namespace, name)
        metadata = replace(pod.metadata, name=name, uid=uid, creation_timestamp=None, deletion_timestamp=None)
        return Pod(metadata, pod.spec, PodStatus())

    def _admitted(self, made: Made) -> Replica:
        pod = made.pods[0]
        by, message = self._admission.first_refusal(pod)
        pod.spec = replace(pod.spec, preemption_policy=_NEVER)
        return Replica(pod, [*self._completed(made.objects), *self._claims(pod)], by, message)

    def _another(self, first: Replica) -> Replica:
        """Once more what admission made of the first; only quotas can tell the two apart."""
        pod = self._named(first.pod)
        by, message = (first.refused_by, first.refusal) if first.refusal else self._admission.quota_refusal(pod)
        return Replica(pod, self._claims(pod), by, message)

    def _claims(self, pod: Pod) -> list[Any]:
        return [*self._completed(list(ephemeral_claims(pod))), *templated_claims(pod, self._templates)]

    def _completed(self, objects: list[Any]) -> list[Any]:
        for each in objects:
            if isinstance(each, PersistentVolumeClaim):
                admit_storage_class(each, self._classes)
                default_claim(each)
        return objects


def _one(item: Any, nothing: Existing) -> Made:
    """The controller's answer to one replica; the notes of a suspended job are no matter here."""
    if isinstance(item, Pod):
        copy = copied(item)
        copy.spec.node_name = ""
        return Made([copy])
    if isinstance(item, Deployment | ReplicaSet | ReplicationController):
        return expand_workload(replace(item, spec=replace(item.spec, replicas=1)), nothing)
    if isinstance(item, Job):
        return expand_workload(_one_run(item), nothing)
    if isinstance(item, CronJob):
        template = item.spec.job_template
        own = replace(template, spec=_one_run(Job(spec=template.spec)).spec)
        return expand_workload(replace(item, spec=replace(item.spec, suspend=False, job_template=own)), nothing)
    return expand_workload(item, nothing)


def _one_run(item: Job) -> Job:
    return replace(item, spec=replace(item.spec, parallelism=1, completions=1, suspend=False), status=JobStatus())


def _of_set(item: StatefulSet, ordinal: int, nothing: Existing) -> Made:
    ordinals = StatefulSetOrdinals(ordinal)
    return expand_workload(replace(item, spec=replace(item.spec, replicas=1, ordinals=ordinals)), nothing)
