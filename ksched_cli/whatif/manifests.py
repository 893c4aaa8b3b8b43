"""Manifests applied to a control plane, as `kubectl apply` does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from ksched_cli.api.conversion import path_text
from ksched_cli.api.core import Namespace, Node, Pod
from ksched_cli.api.policy import LimitRange, PodDisruptionBudget, PriorityClass, ResourceQuota, RuntimeClass
from ksched_cli.api.storage import PersistentVolumeClaim
from ksched_cli.api.validation.documents import validate
from ksched_cli.api.validation.fields import FieldError
from ksched_cli.api.workloads import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    PodTemplate,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from ksched_cli.controlplane.admission.updates import RefusedUpdate, refused_updates
from ksched_cli.controlplane.api_server import ApiServer, Refusal
from ksched_cli.controlplane.controllers.daemon_pods import daemon_spec, should_run
from ksched_cli.controlplane.controllers.job import cron_run
from ksched_cli.controlplane.merge import overlaid, written
from ksched_cli.controlplane.ownership import ApplyConflict
from ksched_cli.controlplane.plane import ON_DELETE, ControlPlane
from ksched_cli.controlplane.pods import is_active
from ksched_cli.controlplane.store import Store, identity_of
from ksched_cli.engine.queueing.hints import VirtualClock
from ksched_cli.errors import InputError, Problem
from ksched_cli.sources.loaded import APPLY_CONFLICT, IMMUTABLE, INVALID, REFUSED, Loaded
from ksched_cli.sources.places import Places, template_of
from ksched_cli.sources.templates import copied, defaulted, stamp, uid_of
from ksched_cli.whatif.apply import AppliedObject, applied, apply_gaps
from ksched_cli.whatif.inferred import adopt, infer_replica_sets, unknown_namespaces, unknown_workload

WORKLOADS = (Deployment, ReplicaSet, StatefulSet, DaemonSet, ReplicationController, Job, CronJob, PodTemplate)
# Kinds that decide whether and where pods of others are, and make none themselves.
POLICY = (ResourceQuota, LimitRange, PriorityClass, PodDisruptionBudget, RuntimeClass)
# What `kubectl rollout restart` writes into a template to make it another one.
_RESTARTED = "kubectl.kubernetes.io/restartedAt"


def apply_manifests(plane: ControlPlane, manifests: Loaded, *, restart: bool = False) -> None:
    """Write every object of the manifests, in the order of the files; controllers react when the control plane runs.
    With `restart` every workload gets another template, as `kubectl rollout restart` makes it. Without a scheduler
    beside them, controllers are done with one object before the next comes: pods are created in the order of the files.
    """
    _warn_of_namespaces(plane, manifests)
    _check_updates(plane, manifests)
    plane.store.accounts.update(manifests.accounts)
    order = in_order(manifests)
    plane.store.apply_gaps += [
        each for each in apply_gaps(plane.store, manifests) if each not in plane.store.apply_gaps
    ]
    plane.store.add_autoscalers(manifests.autoscalers)
    items = sorted(order, key=lambda item: isinstance(item, (Pod, *WORKLOADS)))
    apply_items(plane, items, manifests, restart=restart)
    if changes_policy(manifests):
        plane.controllers.wake()
    plane.warnings += manifests.warnings


def apply_items(
    plane: ControlPlane, items: Iterable[Any], manifests: Loaded | None = None, *, restart: bool = False
) -> None:
    """Write these objects, one after the other. Controllers look at a workload that stays as it is, too: the input may
    lack some of its pods."""
    target = _Target(plane, manifests or Loaded(), restart)
    for item in items:
        live = plane.store.current(item)
        try:
            _APPLIERS.get(type(item), _apply_object)(target, item)
        except Refusal as refusal:
            plane.warnings.append(f"{_label(item)} is refused: {refusal.message}")
        if live is not None and plane.store.current(item) is live and isinstance(item, WORKLOADS):
            plane.controllers.sync_workload(item)
        if plane.api.places_everything:
            plane.run()


def _warn_of_namespaces(plane: ControlPlane, manifests: Loaded) -> None:
    # Edits alone name no namespace, and a large cluster has many pods.
    if manifests.objects:
        store = plane.store
        plane.warnings += map(str, unknown_namespaces(store.of(Namespace), store.of(Pod), manifests))


def apply_others(cluster: Loaded, manifests: Loaded) -> None:
    """Put everything but pods into the cluster. Workloads are put as they are written, and no pods are made of them."""
    plane = ControlPlane(Store(cluster), places_everything=True)
    _warn_of_namespaces(plane, manifests)
    _check_updates(plane, manifests)
    for item in in_order(manifests):
        if isinstance(item, PersistentVolumeClaim):
            _apply_claim(_Target(plane, manifests, False), item)
        elif not isinstance(item, Pod):
            plane.store.put(item)
    plane.run()
    after = plane.store.as_loaded()
    for kind, items in after.objects.items():
        cluster.set_all(kind, items)
    cluster.unknown.update(manifests.unknown)
    cluster.warnings += [*manifests.warnings, *plane.warnings]


def changes_policy(manifests: Loaded) -> bool:
    """Whether the manifests have a quota, a limit, a class, a budget or an autoscaler."""
    return bool(manifests.autoscalers) or any(manifests.objects.get(kind) for kind in POLICY)


def pod_templates(loaded: Loaded) -> Iterator[tuple[Any, Any]]:
    """Each pod with itself, and each workload with the template of its pods."""
    for kind in (Pod, *WORKLOADS):
        items: Sequence[Any] = loaded.of(kind)
        for item in items:
            template = template_of(item)
            if template is not None:
                yield item, template


def in_order(manifests: Loaded) -> list[Any]:
    """Everything in the order of the files."""
    order = {identity: number for number, identity in enumerate(manifests.origins)}
    items = (item for items in manifests.objects.values() for item in items)
    return sorted(items, key=lambda item: order[id(item)])


class _Target:
    def __init__(self, plane: ControlPlane, manifests: Loaded, restart: bool) -> None:
        self.plane, self.api, self.store, self.restart = plane, plane.api, plane.store, restart
        self._manifests = manifests

    def update(self, item: Any) -> None:
        """Let the API server store what the manifest makes of the live object."""
        self.store_as(self.applied(item))

    def applied(self, item: Any) -> AppliedObject:
        return applied(self.store, self._manifests, item)

    def store_as(self, made: AppliedObject) -> None:
        self.api.update(made.item)
        self.store.keep_document(self.store.current(made.item), made.document)


def _apply_object(target: _Target, item: Any) -> None:
    target.update(item)


def _apply_claim(target: _Target, item: PersistentVolumeClaim) -> None:
    """A claim that exists stays as it is: its volume is not released."""
    if target.store.current(item) is None:
        target.api.create(item)


def _apply_pod(target: _Target, item: Pod) -> None:
    """A pod that waits is created anew, as it is written now; a pod that runs stays, for apply cannot move it."""
    live = target.store.current(item)
    if live is not None and live.spec.node_name:
        name = f"{item.metadata.namespace}/{item.metadata.name}"
        target.plane.warnings.append(f"pod {name} is on node {live.spec.node_name} already: it stays there")
        return
    if live is not None:
        target.api.delete(live, grace=0, why="applied again")
    new = copied(item)
    new.metadata.uid = item.metadata.uid or uid_of("Pod", item.metadata.namespace, item.metadata.name)
    # Admission reads the pod as it is written.
    target.store.keep_document(new, target.applied(item).document)
    _create_pod(target, item, new)


def _create_pod(target: _Target, owner: Any, pod: Pod) -> None:
    try:
        target.api.create(pod)
    except Refusal as refusal:
        target.api.refused(owner, pod, refusal)


def _apply_pod_template(target: _Target, item: PodTemplate) -> None:
    """No controller makes pods of a PodTemplate; one pod, to see where it would go."""
    made = target.applied(item)
    target.store_as(made)
    item = made.item
    namespace = item.metadata.namespace
    name = target.api.successors.new_name(f"{item.metadata.name}-", namespace, ("PodTemplate", namespace, ""))
    pod = stamp(item.template, namespace, name, None)
    target.plane.pods_of_templates[identity_of(item)] = identity_of(pod)
    _create_pod(target, item, pod)


def _apply_cron_job(target: _Target, item: CronJob) -> None:
    """One run of it: the controller runs a new CronJob once, and one that exists is run here."""
    live = target.store.current(item)
    made = target.applied(item)
    target.store_as(made)
    if made.item.spec.suspend:
        name = f"{item.metadata.namespace}/{item.metadata.name}"
        target.plane.warnings.append(f"CronJob {name} is suspended: it makes no pods")
    elif live is not None:
        target.api.update(cron_run(made.item))


def cron_job_run(item: CronJob) -> str:
    """The name of the Job that a CronJob of the manifests makes."""
    return cron_run(item).metadata.name


def _apply_job(target: _Target, item: Job) -> None:
    made = target.applied(item)
    if made.item.spec.suspend:
        name = f"{item.metadata.namespace}/{item.metadata.name}"
        target.plane.warnings.append(f"Job {name} is suspended: it makes no pods")
    target.store_as(made)


def _apply_workload(target: _Target, item: Any) -> None:
    made = target.applied(item)
    new, live = copied(made.item), target.store.current(item)
    adopt(target.plane, new)
    if target.restart and not isinstance(item, ReplicaSet | ReplicationController):
        new.spec.template.metadata.annotations[_RESTARTED] = "now"
    if isinstance(new, Deployment):
        infer_replica_sets(target.plane, new, live)
    if live is None and isinstance(new, StatefulSet | DaemonSet) and target.store.pods_of(new):
        target.plane.warnings.append(unknown_workload(new, f"{type(new).__name__.lower()}s"))
    if isinstance(new, DaemonSet):
        target.plane.warnings += _without_nodes(target.store, new)
    if getattr(new.spec, "replicas", 0) is None:
        is_known = live is not None and live.spec.replicas is not None
        new.spec.replicas = 1 if is_known else _running(target, new) or 1
    if live is not None and _replaces_pods(target, new, live):
        target.plane.rolled_out.append(item)
    if new.spec.template is not None:
        target.plane.mark_as_set(new)
    target.store_as(AppliedObject(new, overlaid(made.document, written(made.item), written(new))))


def _without_nodes(store: Store, item: DaemonSet) -> Iterator[str]:
    spec = daemon_spec(item)
    if not store.pods_of(item) and not any(should_run(spec, node) for node in store.of(Node)):
        yield f"DaemonSet {item.metadata.namespace}/{item.metadata.name} runs on none of the nodes: it makes no pods"


def _running(target: _Target, item: Any) -> int:
    """How many pods a workload without `replicas` has already: an autoscaler may set them."""
    owners = target.store.owned(item, ReplicaSet) if isinstance(item, Deployment) else [item]
    return sum(is_active(pod) for owner in owners for pod in target.store.pods_of(owner))


def _replaces_pods(target: _Target, item: Any, live: Any) -> bool:
    """Whether the controller replaces running pods, because their template changes."""
    if item.spec.template is None or live.spec.template is None or not _running(target, item):
        return False
    if isinstance(item, Deployment):
        replaces = not item.spec.paused and item.spec.replicas != 0
    elif isinstance(item, StatefulSet | DaemonSet):
        replaces = item.spec.update_strategy is None or item.spec.update_strategy.type != ON_DELETE
    else:
        return False
    return replaces and bool(defaulted(item.spec.template) != defaulted(live.spec.template))


def rollout_problems(manifests: Loaded, rolled_out: Iterable[Any]) -> Iterator[Problem]:
    """Why a command that places pending pods cannot show what these objects of the manifests do."""
    places = Places(manifests)
    for item in rolled_out:
        place = places.of(item, ("spec", "template"))
        where = f"{type(item).__name__} {item.metadata.namespace}/{item.metadata.name}: spec.template"
        text = "the manifest changes the template of running pods, and this command does not roll it out"
        yield Problem(text, place.source, place.line, where, "run ksched check -f, or ksched simulate --settle -f")


_APPLIERS: Mapping[type[Struct], Callable[[_Target, Any], None]] = {
    PersistentVolumeClaim: _apply_claim,
    Pod: _apply_pod,
    PodTemplate: _apply_pod_template,
    CronJob: _apply_cron_job,
    Job: _apply_job,
    Deployment: _apply_workload,
    ReplicaSet: _apply_workload,
    ReplicationController: _apply_workload,
    StatefulSet: _apply_workload,
    DaemonSet: _apply_workload,
}


def _check_updates(plane: ControlPlane, manifests: Loaded) -> None:
    problems = [problem for _, problem in refused_changes(plane.store, manifests)]
    if problems:
        raise InputError(problems)


def refused_changes(store: Store, manifests: Loaded) -> Iterator[tuple[Any, Problem]]:
    """Each object of the manifests that the API server does not create, or not take in the place of the live one, and
    why."""
    places, api = Places(manifests), ApiServer(store, VirtualClock())
    for item in in_order(manifests):
        live = store.current(item)
        place, label = places.of(item, ()), _label(item)
        if live is None:
            plugin, message = api.object_refusal(item) if not isinstance(item, Pod) else ("", "")
            if message:
                yield item, Problem(f"{plugin} refuses: {message}", place.source, place.line, label, "", REFUSED)
            continue
        try:
            made = applied(store, manifests, item)
        except ApplyConflict as conflict:
            yield item, Problem(str(conflict), place.source, place.line, label, _CONFLICT_HINT, APPLY_CONFLICT)
            continue
        # The manifest alone is valid: a live field that stays contradicts it.
        stored = {error.path for error in _errors(item, store.document(live))}
        for error in _errors(item, made.document):
            if error.path in stored:
                continue
            path = f"{label}: {path_text(error.path)}"
            yield item, Problem(error.message, place.source, place.line, path, "set the live field to null", INVALID)
        for refused in refused_updates(made.item, live):
            yield item, _refusal(item, refused, places)


def _errors(item: Any, document: Mapping[str, Any]) -> Iterator[FieldError]:
    return validate(document, type(item).__name__, document.get("apiVersion") or "")


_CONFLICT_HINT = "leave the fields out of the manifest, or take them over: --force-conflicts"


def _label(item: Any) -> str:
    namespace, name = item.metadata.namespace, item.metadata.name
    return f"{type(item).__name__} {namespace}/{name}" if namespace else f"{type(item).__name__} {name}"


def _refusal(item: Any, refused: RefusedUpdate, places: Places) -> Problem:
    place = places.of(item, refused.error.path)
    path = f"{_label(item)}: {place.path}"
    return Problem(refused.error.message, place.source, place.line, path, refused.hint, IMMUTABLE)
