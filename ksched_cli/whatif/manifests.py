"""Manifests applied to a control plane, as `kubectl apply` does on the client side or with `--server-side`.

`check`, `simulate`, `diff`, `scenario` and `sweep` apply manifests by this (kubectl/pkg/cmd/apply). What manifests rely
on and the input lacks is made: ReplicaSets, pods of custom resources, namespaces. `--prune` and `--force` are not
modelled. An object that kubectl did not apply before has no last-applied annotation: nothing is deleted then, as
kubectl does it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.conversion import path_text, problems_in
from ksched_cli.api.core import LabelSelector, Namespace, Node, ObjectMeta, Pod, Service, controller_of
from ksched_cli.api.defaults import DEFAULT_SCHEDULER, fill_in
from ksched_cli.api.dynamic_resources import ResourceClaim, ResourceClaimTemplate
from ksched_cli.api.object_facts import is_active
from ksched_cli.api.selectors import selector_of_controller
from ksched_cli.api.storage import PersistentVolumeClaim, StorageClass
from ksched_cli.api.validation.documents import as_read, validate
from ksched_cli.api.validation.errors import Errors, FieldError
from ksched_cli.api.validation.fields import object_at
from ksched_cli.api.workloads import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    LimitRange,
    PodDisruptionBudget,
    PodTemplate,
    PodTemplateSpec,
    PriorityClass,
    ReplicaSet,
    ReplicaSetSpec,
    ReplicationController,
    ResourceQuota,
    RuntimeClass,
    StatefulSet,
)
from ksched_cli.config.model import SchedulerConfiguration
from ksched_cli.controlplane.admission.quantities import ADMITTED
from ksched_cli.controlplane.admission.registry import (
    Allocations,
    ServiceRanges,
    admin_requests,
    ranged_fields,
    refused_admin_access,
    wrong_expressions,
)
from ksched_cli.controlplane.admission.updates import RefusedUpdate, refused_resize, refused_updates
from ksched_cli.controlplane.api_server import ApiServer, Refusal
from ksched_cli.controlplane.controllers.daemon_pods import daemon_spec, should_run
from ksched_cli.controlplane.controllers.job import cron_run
from ksched_cli.controlplane.controllers.statefulset import ON_DELETE, strategy_of
from ksched_cli.controlplane.draws import FIRST_CONTROLLER
from ksched_cli.controlplane.merge import (
    LAST_APPLIED,
    UNREAD,
    Document,
    holds_of,
    overlaid,
    three_way,
    unread_digest,
    written,
)
from ksched_cli.controlplane.ownership import ApplyConflict, apply_server_side, last_applied
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.controlplane.store import HASH_LABEL, Store, identity_of
from ksched_cli.engine.hints import VirtualClock
from ksched_cli.errors import InputError, Problem, did_you_mean, named
from ksched_cli.sources.loaded import APPLY_CONFLICT, IMMUTABLE, INVALID, REFUSED, Loaded, resource_of, workload_label
from ksched_cli.sources.places import Places, in_workload, template_of
from ksched_cli.sources.templates import copied, defaulted, owner_reference, stamp, uid_of
from ksched_cli.whatif.order import in_order, needed_too_early, unknown_namespaces

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
    order, late = in_order(manifests), needed_too_early(plane.store, manifests)
    plane.store.accounts.update({key: each for key, each in manifests.accounts.items() if id(each) not in late})
    plane.store.apply_gaps += [
        each for each in apply_gaps(plane.store, manifests) if each not in plane.store.apply_gaps
    ]
    plane.store.add_autoscalers(manifests.autoscalers)
    items = sorted(order, key=lambda item: isinstance(item, (Pod, *WORKLOADS)) or id(item) in late)
    apply_items(plane, items, manifests, restart=restart)
    plane.store.accounts.update(manifests.accounts)
    if changes_policy(manifests):
        plane.controllers.wake()
    plane.warnings += manifests.warnings


def apply_items(
    plane: ControlPlane, items: Iterable[Any], manifests: Loaded | None = None, *, restart: bool = False
) -> None:
    """Write these objects, one after the other. Controllers look at a workload that stays as it is, too: the input may
    lack some of its pods."""
    target = _Target(plane, manifests or Loaded(), restart)
    for item in items if plane.api.places_everything else _in_turn(plane, list(items)):
        live = plane.store.current(item)
        try:
            _APPLIERS.get(type(item), _apply_object)(target, item)
        except Refusal as refusal:
            plane.warnings.append(f"{workload_label(item)} is refused: {refusal.message}")
        is_other = getattr(live, "spec", None) != getattr(plane.store.current(item), "spec", None)
        if live is not None and isinstance(item, WORKLOADS) and not is_other:
            plane.controllers.sync_workload(item)
        if plane.api.places_everything:
            plane.run()


def _in_turn(plane: ControlPlane, items: list[Any]) -> list[Any]:
    """The objects in the order of this run: where manifests change the templates of several workloads at once, chance
    decides whose controller begins."""
    changed = [at for at, item in enumerate(items) if _changes_template(plane.store, item)]
    if len(changed) < 2:
        return items
    by_name = {"/".join(resource_of(items[at]) or identity_of(items[at])): items[at] for at in changed}
    for at, name in zip(changed, plane.api.draws.at_once(FIRST_CONTROLLER, list(by_name)), strict=True):
        items[at] = by_name[name]
    return items


def _changes_template(store: Store, item: Any) -> bool:
    live = store.current(item) if isinstance(item, Deployment | StatefulSet | DaemonSet) else None
    if live is None or item.spec.template is None or live.spec.template is None:
        return False
    return bool(defaulted(item.spec.template) != defaulted(live.spec.template))


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
            _apply_claim(_Target(plane, manifests), item)
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


class _Target:
    def __init__(self, plane: ControlPlane, manifests: Loaded, restart: bool = False) -> None:
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
    """A pod that runs stays: apply cannot move it."""
    live = target.store.current(item)
    if live is not None and live.spec.node_name:
        name = f"{item.metadata.namespace}/{item.metadata.name}"
        target.plane.warnings.append(f"pod {name} is on node {live.spec.node_name} already: it stays there")
        return
    if live is not None:
        target.update(item)
        return
    new = copied(item)
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
        target.plane.warnings.append(f"{workload_label(item)} is suspended: it makes no pods")
    elif live is not None:
        target.api.update(cron_run(made.item))


def cron_job_run(item: CronJob) -> str:
    """The name of the Job that a CronJob of the manifests makes."""
    return cron_run(item).metadata.name


def _apply_job(target: _Target, item: Job) -> None:
    made = target.applied(item)
    if made.item.spec.suspend:
        target.plane.warnings.append(f"{workload_label(item)} is suspended: it makes no pods")
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
        yield f"{workload_label(item)} runs on none of the nodes: it makes no pods"


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
        replaces = strategy_of(item) != ON_DELETE
    else:
        return False
    return replaces and bool(defaulted(item.spec.template) != defaulted(live.spec.template))


def rollout_problems(manifests: Loaded, rolled_out: Iterable[Any]) -> Iterator[Problem]:
    """Why a command that places pending pods cannot show what these objects of the manifests do."""
    places = Places(manifests)
    for item in rolled_out:
        place = places.of(item, ("spec", "template"))
        where = f"{workload_label(item)}: spec.template"
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
    registries = _Registries(store, manifests)
    for item in in_order(manifests):
        live = store.current(item)
        place, label = places.of(item, ()), workload_label(item)
        if live is None:
            denial = api.object_refusal(item) if not isinstance(item, Pod) else ADMITTED
            if denial.message:
                text = f"{denial.plugin} refuses: {denial.message}"
                yield item, Problem(text, place.source, place.line, label, "", REFUSED)
                continue
            document = manifest_of(manifests, item)
            yield from ((item, _invalid(item, each, places)) for each in _errors_of_nulls(item, document, manifests))
            for error in registries.errors(item, document, is_new=True):
                yield item, _invalid(item, error, places)
            continue
        try:
            made = applied(store, manifests, item)
        except ApplyConflict as conflict:
            yield item, Problem(str(conflict), place.source, place.line, label, _CONFLICT_HINT, APPLY_CONFLICT)
            continue
        if item.metadata.resource_version not in ("", live.metadata.resource_version):
            path = f"{label}: metadata.resourceVersion"
            yield item, Problem(_MODIFIED, place.source, place.line, path, "leave the field out", APPLY_CONFLICT)
        # The manifest alone is valid: a live field that stays contradicts it.
        before = store.document(live)
        stored = {error.path for error in _errors(item, before)}
        for error in _errors(item, made.document):
            if error.path in stored or not manifests.rules.hold(error):
                continue
            path = f"{label}: {path_text(error.path)}"
            yield item, Problem(error.message, place.source, place.line, path, "set the live field to null", INVALID)
        for error in registries.errors(item, made.document, is_new=False):
            yield item, _invalid(item, error, places)
        for refused in refused_updates(type(item), made.document, before, is_whole=store.is_whole(live)):
            if manifests.rules.hold(refused.error):
                yield item, _refusal(item, refused, places)
        if isinstance(item, PersistentVolumeClaim):
            classes = {each.metadata.name: each for each in store.of(StorageClass)}
            known = classes.get(made.item.spec.storage_class_name or "")
            text = refused_resize(
                made.document, before, store.document(known) if known and store.is_whole(known) else {}
            )
            if text:
                text = f"PersistentVolumeClaimResize refuses: {text}"
                yield item, Problem(text, place.source, place.line, label, "", REFUSED)


# Gates of registries that the newest minors have on.
_USUAL_GATES = frozenset({"DRAAdminAccess", "DRAConsumableCapacity"})


class _Registries:
    """The rules of registries that need other objects, which manifests that come earlier may have."""

    def __init__(self, store: Store, manifests: Loaded) -> None:
        self._store = store
        self._ranges = ServiceRanges({**store.service_ranges, **manifests.service_ranges}, store.api_server_flags)
        specs = ((identity_of(each), object_at(store.document(each), "spec")) for each in store.of(Service))
        self._allocations = Allocations(self._ranges, specs)
        spaces = [*store.of(Namespace), *manifests.of(Namespace)]
        self._labels = {each.metadata.name: each.metadata.labels for each in spaces}
        self._gates = _USUAL_GATES if manifests.rules.gates is None else manifests.rules.gates

    def errors(self, item: Any, document: Document, *, is_new: bool) -> Iterator[FieldError]:
        if isinstance(item, Service):
            yield from self._allocations.refusals(identity_of(item), object_at(document, "spec"))
        labels = self._labels.get(item.metadata.namespace)
        if is_new and "DRAAdminAccess" in self._gates and labels is not None:
            yield from refused_admin_access(item, labels)
        yield from wrong_expressions(item, self._store.current(item), self._gates)

    def gaps(self, manifests: Loaded) -> Iterator[str]:
        """What of these rules the input does not show."""
        for item in manifests.of(Service):
            spec = object_at(manifest_of(manifests, item), "spec")
            ports = self._allocations.new_ports(identity_of(item), spec) if self._ranges.ports is None else {}
            if ports:
                first, last = self._allocations.known_ports
                text = "the input has no pod of kube-apiserver with its range of node ports"
                yield f"{workload_label(item)}: nodePort: {text}: {first}-{last} is assumed"
            fields = ranged_fields(spec) if self._store.current(item) is None else []
            if fields and not self._ranges.networks:
                text = "the input has no ServiceCIDR (add servicecidrs to the dump)"
                yield f"{workload_label(item)}: {', '.join(fields)}: {text}"
        claims: list[Any] = [*manifests.of(ResourceClaim), *manifests.of(ResourceClaimTemplate)]
        for claim in claims if "DRAAdminAccess" in self._gates else ():
            space = claim.metadata.namespace
            if space not in self._labels and admin_requests(claim):
                yield f"{workload_label(claim)}: adminAccess: the input has no Namespace {space}"


def _invalid(item: Any, error: FieldError, places: Places) -> Problem:
    place = places.of(item, error.path)
    return Problem(
        error.message, place.source, place.line, f"{workload_label(item)}: {path_text(error.path)}", "", INVALID
    )


def _errors(item: Any, document: Mapping[str, Any]) -> Errors:
    return validate(document, type(item).__name__, document.get("apiVersion") or "")


def _errors_of_nulls(item: Any, document: Document, manifests: Loaded) -> Errors:
    """The mistakes of a new object that come of nulls in its maps, which become zero values. The rest of the manifest
    is valid."""
    filled = as_read(document, holds_of(document), fills_maps=True)
    if filled is not document:
        yield from filter(manifests.rules.hold, _errors(item, filled))


_MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"
_CONFLICT_HINT = "leave the fields out of the manifest, or take them over: --force-conflicts"


def _refusal(item: Any, refused: RefusedUpdate, places: Places) -> Problem:
    place = places.of(item, refused.error.path)
    path = f"{workload_label(item)}: {place.path}"
    return Problem(refused.error.message, place.source, place.line, path, refused.hint, IMMUTABLE)


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


WITH_TEMPLATES = (Deployment, StatefulSet, DaemonSet, ReplicaSet, ReplicationController, Job, CronJob)
_NO_OWNERS = "the input has no managedFields of {}, so that conflicts with other managers are not found"
_NO_LAST = "the input has no last-applied annotation of {}, so that fields which left the manifest stay"


class AppliedObject(msgspec.Struct, frozen=True):
    """The typed object that the API server stores, and its document."""

    item: Any
    document: Document


def applied(store: Store, manifests: Loaded, item: Any) -> AppliedObject:
    """What becomes of an object of the manifests. Raises ApplyConflict if other managers own what it changes."""
    live = store.current(item)
    manifest = manifest_of(manifests, item)
    if live is None:
        return AppliedObject(item, manifest if manifests.server_side else _noted(manifest, manifest))
    before = store.document(live)
    if manifests.server_side:
        after = apply_server_side(before, manifest, force=manifests.force_conflicts)
    else:
        after = _noted(three_way(last_applied(before), before, manifest), manifest)
    if isinstance(item, Service):
        _normalize_cluster_ips(before.get("spec") or {}, after.get("spec") or {})
    if store.is_whole(live):
        _mark_unread(item, before, after)
    typed = {**after, "status": {}} if "status" in after else after
    made, mistakes = problems_in(typed, type(item), fills_lists=True)
    if made is None or mistakes:
        # The objects before have been accepted, so that only a live object that was cut by hand comes here.
        return AppliedObject(item, manifest)
    made.metadata.namespace, made.metadata.name = item.metadata.namespace, item.metadata.name
    if hasattr(live, "status"):
        made.status = live.status
    fill_in(made)
    return AppliedObject(made, after)


def _normalize_cluster_ips(before: Document, after: Document) -> None:
    """NormalizeClusterIPs: a client that changes clusterIP alone means clusterIPs, too."""
    address, addresses = after.get("clusterIP"), after.get("clusterIPs")
    if address != before.get("clusterIP") and addresses and addresses == before.get("clusterIPs"):
        after["clusterIPs"] = [address, *addresses[1:]]


def apply_gaps(store: Store, manifests: Loaded) -> Iterator[str]:
    """What of the way in which manifests are applied the input does not show, in one sentence."""
    found = [
        workload_label(item) for items in manifests.objects.values() for item in items if _lacks(store, manifests, item)
    ]
    if found:
        text = _NO_OWNERS if manifests.server_side else _NO_LAST
        yield f"kubectl apply: {text.format(named(found, 1))}"
    yield from _Registries(store, manifests).gaps(manifests)


def _lacks(store: Store, manifests: Loaded, item: Any) -> bool:
    live = store.current(item)
    if live is None:
        return False
    metadata = store.document(live).get("metadata", {})
    noted = not manifests.server_side and LAST_APPLIED in metadata.get("annotations", {})
    return not noted and not metadata.get("managedFields")


def manifest_of(manifests: Loaded, item: Any) -> Document:
    """The manifest as it is written; of an object that stands for another, as it would be."""
    known = manifests.documents.get(identity_of(item))
    if known is None or known.item is not item:
        return written(item)  # type: ignore[no-any-return]
    return known.document


def _noted(document: Document, manifest: Document) -> Document:
    """The document with the manifest in its last-applied annotation."""
    metadata = document.get("metadata") or {}
    plain = {**manifest, "metadata": {**(manifest.get("metadata") or {})}}
    annotations = {
        key: each for key, each in (plain["metadata"].get("annotations") or {}).items() if key != LAST_APPLIED
    }
    plain["metadata"]["annotations"] = annotations
    text = msgspec.json.encode(plain, order="deterministic").decode() + "\n"
    return {
        **document,
        "metadata": {**metadata, "annotations": {**(metadata.get("annotations") or {}), LAST_APPLIED: text}},
    }


def _mark_unread(item: Any, before: Document, after: Document) -> None:
    """Let the template differ if it changes in fields that no typed object has, such as `env`."""
    old, new = before, after
    path = in_workload(item, ()) if isinstance(item, WITH_TEMPLATES) else ()
    for step in path:
        if not isinstance(old, dict) or not isinstance(new, dict) or step not in new:
            return
        old, new = old.get(step) or {}, new[step]
    if not path:
        return
    digest = unread_digest(new.get("spec") or {})
    if digest != unread_digest(old.get("spec") or {}):
        metadata = new.get("metadata") or {}
        new["metadata"] = {**metadata, "annotations": {**(metadata.get("annotations") or {}), UNREAD: digest}}


_FIELD = ("spec", "schedulerName")


def left_to_other_schedulers(manifests: Loaded, configuration: SchedulerConfiguration, code: str = "") -> list[Problem]:
    """A problem for each pod and workload without a node if none of them names a profile; else nothing."""
    profiles = [each.scheduler_name for each in configuration.profiles]
    named = [
        (item, pod.spec.scheduler_name or DEFAULT_SCHEDULER)
        for item, pod in pod_templates(manifests)
        if not pod.spec.node_name
    ]
    if any(name in profiles for _, name in named):
        return []
    places, problems = Places(manifests), []
    for item, name in named:
        place = places.of_pod_field(item, _FIELD)
        hint = did_you_mean(name, profiles, "--config FILE has its profile; --allow-empty exits with code 0")
        text = f'nothing to place: no profile is named "{name}", and another scheduler places its pods'
        problems.append(Problem(text, place.source, place.line, f"{workload_label(item)}: {place.path}", hint, code))
    return problems
