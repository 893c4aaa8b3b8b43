"""Writes a change of a pod into the object that makes the pod, so that the change lasts.

A Deployment, a StatefulSet and a DaemonSet roll out a changed template. A StatefulSet whose pod is not ready, and every
ReplicaSet and ReplicationController, keep their pods: the pending ones are deleted after the patch. The template of a
Job cannot be changed: the Job is deleted and created again, as long as none of its pods has run. A pod without a
controller is patched where the API server allows it, else it is created again. A DeploymentConfig and a Rollout are
patched in place of the controller that they own. Every path is fitted to the template as it is stored: admission adds
to a pod what its template does not have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any

import msgspec
from msgspec.structs import replace

from ksched_cli.api.core import ObjectMeta, Pod, PodStatus, controller_of
from ksched_cli.api.json_patch import Operation, apply_patch, drop, patch_pod, pointer, pointer_steps
from ksched_cli.api.object_facts import waits_for_node
from ksched_cli.api.workloads import (
    JOB_UID_LABELS,
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    JobStatus,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from ksched_cli.controlplane.admission.pods import admit_priority
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.controlplane.store import Identity, Store, identity_of, owner_identity, owners, top_owner
from ksched_cli.plan.reasons.fixes.values import AdvisedChange, kubectl, patch_command, without_empty

_ROLLING = (Deployment, StatefulSet, DaemonSet)
_KEEPING = (ReplicaSet, ReplicationController)
# Kinds of other API groups whose template has the place of a Deployment's, and which roll it out.
_ALIKE = ("DeploymentConfig", "Rollout")
# What the API server lets be changed of a pod that is there: more tolerations, and no more than its gates.
_TOLERATIONS, _GATES = "/spec/tolerations", "/spec/schedulingGates"
_TEMPLATE = ("spec", "template")


class PodSource:
    """The object that makes the pod. `template_pod` is the pod as this object has it: the guides of plugins read the
    positions of lists from it. `why_fixed` is empty if the pod can be changed, else it has the reason."""

    def __init__(self, pod: Pod, store: Store) -> None:
        self._pod, self._store = pod, store
        self.owner: Identity = top_owner(store, pod)
        above = [store.find(each) for each in owners(store, pod)]
        known = [each for each in above if each is not None]
        # The uppermost object with a pod template.
        self.controller: Any = next((each for each in reversed(known) if _template_of(each) is not None), None)
        self._cron_job = next((each for each in known if isinstance(each, CronJob)), None)
        self.why_fixed = self._why_fixed()
        self.note = self._note(known)
        self.template_pod = (
            pod if self.why_fixed or self.is_bare else Pod(pod.metadata, _template_of(self.controller).spec)
        )

    @property
    def is_bare(self) -> bool:
        return controller_of(self._pod.metadata) is None

    @property
    def _printed(self) -> Identity:
        """What a person changes: the owner of the controller if it has the template."""
        if isinstance(self.controller, _KEEPING) and self.owner[0] in _ALIKE:
            return self.owner
        return identity_of(self.controller)

    def _why_fixed(self) -> str:
        if self.is_bare:
            return ""
        if self.controller is None:
            kind, _, name = self.owner
            return f"the input does not have {kind} {name}, so no change of its template was tried"
        ran = [pod for pod in self._pods() if not waits_for_node(pod)]
        if isinstance(self.controller, Job) and ran:
            name = self.controller.metadata.name
            return f"the template of Job {name} cannot be changed, and {len(ran)} of its pods have run"
        return ""

    def _note(self, known: Sequence[Any]) -> str:
        for item in reversed(known):
            if text := managed_by(item):
                return f"{type(item).__name__} {item.metadata.name} is managed by {text}"
        kind, _, name = self.owner
        if known and kind not in {type(each).__name__ for each in known} and kind not in _ALIKE:
            top = known[-1]
            return (
                f"{type(top).__name__} {top.metadata.name} belongs to {kind} {name}: change it there, or that "
                "controller takes the change back"
            )
        return ""

    def _pods(self) -> list[Pod]:
        return self._store.pods_of(self.controller)

    @property
    def wanted(self) -> int:
        """How many pods the workload is to have; 0 where its controller has no number."""
        replicas = getattr(getattr(self.controller, "spec", None), "replicas", None)
        return replicas if isinstance(replicas, int) else 0

    def waiting(self) -> list[Pod]:
        """The pods of the controller that have no node."""
        owner = owner_identity(self._pod)
        pods = [self._pod] if owner is None else self._store.pods_of_identity(owner)
        return [pod for pod in pods if waits_for_node(pod)]

    def _deleted(self) -> list[Pod]:
        """The pods that do not follow the template by themselves."""
        item = self.controller
        if isinstance(item, Job):
            return self._pods()
        strategy = getattr(item.spec, "update_strategy", None)
        on_delete = strategy is not None and strategy.type == "OnDelete"
        keeps = isinstance(item, StatefulSet | ReplicaSet | ReplicationController) or on_delete
        return [pod for pod in self._pods() if waits_for_node(pod)] if keeps else []

    # Changes and commands

    def operations(self, wanted: Sequence[Operation]) -> tuple[Operation, ...]:
        """The operations on the pod as its source takes them. Raises LookupError if the source lacks what they
        change."""
        if self.why_fixed:
            raise LookupError(self.why_fixed)
        if self.is_bare:
            return fitted(without_empty(msgspec.to_builtins(self._pod)), wanted)
        item = msgspec.to_builtins(self.controller)
        moved: list[Operation] = [
            {**each, "path": f"{pointer(*_TEMPLATE)}{each['path']}"} for each in _of_template(wanted, item)
        ]
        if isinstance(self.controller, Job):
            moved += [drop("spec", "selector")] if self.controller.spec.selector else []
            labels = _template_of(self.controller).metadata.labels
            # The Job controller selects by them. A new Job gets its own.
            moved += [drop(*_TEMPLATE, "metadata", "labels", each) for each in JOB_UID_LABELS if each in labels]
        return fitted(without_empty(item), moved)

    def changes(self, operations: Sequence[Operation]) -> list[AdvisedChange]:
        """In order: the patch, then the deletion of the pods that do not follow it."""
        if self.is_bare:
            return [
                AdvisedChange("patch", "Pod", self._pod.metadata.namespace, self._pod.metadata.name, tuple(operations))
            ]
        deleted = [AdvisedChange("delete", *identity_of(pod)) for pod in self._deleted()]
        if isinstance(self.controller, Job):
            made = self._recreated(operations)
            job = identity_of(self.controller)
            content = {"apiVersion": "batch/v1", "kind": "Job", **without_empty(msgspec.to_builtins(made))}
            content.pop("status", None)
            new = [AdvisedChange("delete", *job), *deleted, AdvisedChange("create", *job, content=content)]
            return [*self._cron_change(operations), *new]
        return [AdvisedChange("patch", *self._printed, tuple(operations)), *deleted]

    def _cron_change(self, operations: Sequence[Operation]) -> list[AdvisedChange]:
        """The CronJob makes the next Jobs."""
        if self._cron_job is None:
            return []
        inside = [each for each in operations if each["path"].startswith(f"{pointer(*_TEMPLATE)}/spec")]
        moved: list[Operation] = [{**each, "path": f"/spec/jobTemplate{each['path']}"} for each in inside]
        try:
            own = fitted(without_empty(msgspec.to_builtins(self._cron_job)), moved)
        except LookupError:
            return []
        return [AdvisedChange("patch", *identity_of(self._cron_job), own)]

    def recreates(self, operations: Sequence[Operation]) -> bool:
        """Whether a bare pod is created again for the change, so that it is the newest pod of the queue then."""
        return not all(
            each["path"].startswith(_GATES) or (each["op"] == "add" and each["path"].startswith(_TOLERATIONS))
            for each in operations
        )

    def commands(self, operations: Sequence[Operation]) -> list[str]:
        changes = self.changes(operations)
        if self.is_bare:
            return [patch_command(changes[0], recreates=self.recreates(operations))]
        if isinstance(self.controller, Job):
            cron = [patch_command(each) for each in changes if each.kind == "CronJob"]
            patch = AdvisedChange("patch", *identity_of(self.controller), tuple(operations))
            return [*cron, patch_command(patch, recreates=True)]
        pods = [each.name for each in changes if each.op == "delete"]
        namespace = self.controller.metadata.namespace
        return [patch_command(changes[0]), *([kubectl("delete", "pod", *pods, namespace=namespace)] if pods else [])]

    # Trials

    def apply(self, plane: ControlPlane, operations: Sequence[Operation]) -> None:
        """Make the changes in a world. A bare pod is created again: one that keeps its turn is the caller's."""
        if self.is_bare:
            pod = self.bare_pod(operations)
            old = pod.metadata
            kept = {name: getattr(old, name) for name in ("name", "namespace", "labels", "annotations")}
            plane.api.delete(self._pod, grace=0)
            plane.api.create(replace(pod, metadata=ObjectMeta(**kept), status=PodStatus()))
            return
        deleted = self._deleted()
        if isinstance(self.controller, Job):
            for pod in deleted:
                plane.api.delete(pod, grace=0)
            plane.api.update(self._recreated(operations))
            return
        plane.api.update(self._changed(operations))
        for pod in deleted:
            plane.api.delete(pod)

    def bare_pod(self, operations: Sequence[Operation]) -> Pod:
        pod = patch_pod(self._pod, operations)
        admit_priority([pod], self._store.of(PriorityClass))
        return pod

    def _changed(self, operations: Sequence[Operation]) -> Any:
        document = apply_patch(msgspec.json.decode(msgspec.json.encode(self.controller)), operations)
        return msgspec.convert(document, type(self.controller))

    def _recreated(self, operations: Sequence[Operation]) -> Job:
        made: Job = self._changed(operations)
        old = made.metadata
        kept = {name: getattr(old, name) for name in ("name", "namespace", "labels", "annotations", "owner_references")}
        return replace(made, metadata=type(old)(**kept), status=JobStatus())


def _template_of(item: Any) -> Any:
    return getattr(getattr(item, "spec", None), "template", None) if not isinstance(item, CronJob) else None


def _of_template(wanted: Iterable[Operation], item: Mapping[str, Any]) -> list[Operation]:
    """A template names the class of a priority; its value and its policy come from the class."""
    spec = item["spec"]["template"]["spec"]
    found: list[Operation] = []
    for each in wanted:
        name = each["path"].removeprefix("/spec/")
        if name in ("priority", "preemptionPolicy"):
            key_has_value = spec.get(name) not in (None, "")
            if key_has_value:
                found.append(drop("spec", name))
            continue
        found.append(dict(each))
    return found


def fitted(document: Any, operations: Iterable[Operation]) -> tuple[Operation, ...]:
    """The operations with paths that the document has: where a parent is missing, it is added with the value in it.
    Raises LookupError for a field that is removed and is not there."""
    document, made = deepcopy(document), []
    for operation in operations:
        *parents, last = pointer_steps(operation["path"])
        operation, here = dict(operation), document
        for depth, step in enumerate(parents):
            inner = here[int(step)] if isinstance(here, list) else here.get(step)
            if inner is None:
                if operation["op"] != "add":
                    raise LookupError(operation["path"])
                below = [*parents[depth + 1 :], last]
                operation = {
                    "op": "add",
                    "path": pointer(*parents[: depth + 1]),
                    "value": _nested(below, operation["value"]),
                }
                break
            here = inner
        else:
            if operation["op"] != "add" and (isinstance(here, dict) and last not in here):
                raise LookupError(operation["path"])
        apply_patch(document, [deepcopy(operation)])
        made.append(operation)
    return tuple(made)


def _nested(steps: Sequence[str], value: Any) -> Any:
    for step in reversed(steps):
        value = [value] if step == "-" else {step: value}
    return value


def managed_by(item: Any) -> str:
    """`Helm: change it in chart redis-19.1 ...` if a tool applies the object anew; empty without one."""
    labels, annotations = item.metadata.labels, item.metadata.annotations
    release = annotations.get("meta.helm.sh/release-name", "")
    if flux := labels.get("helm.toolkit.fluxcd.io/name"):
        return f"Flux (HelmRelease {flux}): change it in its values, or the next reconciliation takes the change back"
    if flux := labels.get("kustomize.toolkit.fluxcd.io/name"):
        return f"Flux (Kustomization {flux}): change it in its repository, or Flux takes the change back"
    if tracked := annotations.get("argocd.argoproj.io/tracking-id", labels.get("argocd.argoproj.io/instance", "")):
        name = tracked.partition(":")[0]
        return f"Argo CD (application {name}): change it in its repository, or the next sync takes the change back"
    if release or labels.get("app.kubernetes.io/managed-by") == "Helm":
        chart = labels.get("helm.sh/chart", "")
        where = f"chart {chart}" if chart else "its chart"
        whose = f" (release {release})" if release else ""
        return f"Helm{whose}: change it in {where}, or the next upgrade takes the change back"
    return ""
