"""Which changes of an object that exists the API server refuses, in its words (the Validate...Update functions of
pkg/apis).

The document of the live object is compared with the document after the change, with the API server's defaults. A live
object may come from a dump that was cut by hand, or from a snapshot: without a resourceVersion, a field that the live
object does not have is not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.conversion import Path
from ksched_cli.api.core import Node, Pod, Service
from ksched_cli.api.dynamic_resources import ResourceClaim, ResourceClaimTemplate
from ksched_cli.api.label_names import STABLE_LABELS
from ksched_cli.api.storage import CSIDriver, PersistentVolume, PersistentVolumeClaim, StorageClass
from ksched_cli.api.validation.errors import Errors, FieldError, forbidden, invalid
from ksched_cli.api.validation.fields import amount_in, items_at, number_at, object_at, text_at, volume_sources_of
from ksched_cli.api.workloads import (
    JOB_NAME_LABELS,
    JOB_UID_LABELS,
    DaemonSet,
    Deployment,
    Job,
    PriorityClass,
    ReplicaSet,
    ResourceQuota,
    RuntimeClass,
    StatefulSet,
)
from ksched_cli.controlplane.admission.pods import TOLERATED_TAINTS
from ksched_cli.controlplane.merge import Document, default_of, differences, held_by, holds_of, typed_fields

_IMMUTABLE = "field is immutable"
_STATEFUL_SET = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_POD = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_CLAIM = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
_JOB_LABELS = (*JOB_NAME_LABELS, *JOB_UID_LABELS)
_STORAGE, _ATTRIBUTES = ("resources", "requests", "storage"), "volumeAttributesClassName"
# The first minor that has the gate RecoverVolumeExpansionFailure on: a claim may shrink down to what its volume has.
_RECOVERS_EXPANSIONS = 32


class RefusedUpdate(Struct, frozen=True):
    """An error, and how to get the change into the cluster nevertheless."""

    error: FieldError
    hint: str


def refused_updates(kind: type[Any], after: Document, before: Document, *, is_whole: bool) -> Iterator[RefusedUpdate]:
    """Why the API server does not replace the live object `before` by `after`. `is_whole`: `before` has all fields of
    the object, also those that no typed object has."""
    if not is_whole:
        before = {**before, "metadata": {**object_at(before, "metadata"), "resourceVersion": ""}}
    hint = _HINTS.get(kind, "delete the live object first: kubectl replace --force")
    for row in _ROWS.get(kind, ()):
        # Selectors are whole in every object.
        is_cut = row.path[-1] != "selector" or _at(before, row.path) is None
        if any(_changed(row.path, after, before, is_cut=is_cut)):
            error = row.error(row.path, _stored(after, row.path), row.text)
            yield RefusedUpdate(error, hint)
    rule = _RULES.get(kind)
    for error in rule(after, before) if rule is not None else ():
        yield RefusedUpdate(error, hint)


def _at(value: Any, path: Path) -> Any:
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def _stored(document: Document, path: tuple[str, ...]) -> Any:
    """The value of a field, or its default."""
    if (value := _at(document, path)) is not None:
        return value
    holds, (*parent, field) = holds_of(document), path
    for step in parent:
        holds = held_by(holds, step)
    return default_of(holds, field)


def _changed(
    path: Sequence[str], after: Document, before: Document, read: frozenset[str] = frozenset(), *, is_cut: bool = True
) -> Iterator[Path]:
    """The fields below a path that differ. Fields of the set `read`, and requests, are compared in a cut object too."""
    holds, (*parent, field) = holds_of(after), path
    for step in parent:
        holds = held_by(holds, step)
    is_whole = not is_cut or bool(object_at(before, "metadata").get("resourceVersion"))
    # Compared in their parents, which know the defaults.
    old, new = ({field: each} if (each := _at(side, tuple(path))) is not None else {} for side in (before, after))
    for _, *steps in (each for each in differences(holds, old, new) if each[0] == field):
        is_read = bool(steps) and steps[0] in read and (len(steps) == 1 or "requests" in steps)
        if is_whole or is_read or _at(old, (field, *steps)) is not None:
            yield (*path, *steps)


# Immutable fields


class _Row(NamedTuple):
    """A field that no update may change, and the error."""

    path: tuple[str, ...]
    text: str = _IMMUTABLE
    error: Callable[[Path, Any, str], FieldError] = invalid


def _forbidden(path: Path, value: Any, text: str) -> FieldError:
    return forbidden(path, text)


_SELECTOR = (_Row(("spec", "selector")),)
_ROWS: Mapping[type[Struct], Sequence[_Row]] = {
    Deployment: _SELECTOR,
    ReplicaSet: _SELECTOR,
    DaemonSet: _SELECTOR,
    Job: [
        _Row(("spec", field))
        for field in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")
    ],
    StorageClass: [_Row((field,)) for field in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode")],
    PriorityClass: (_Row(("value",), "may not be changed in an update.", _forbidden), _Row(("preemptionPolicy",))),
    RuntimeClass: (_Row(("handler",)),),
    ResourceQuota: (_Row(("spec", "scopes")), _Row(("spec", "scopeSelector"))),
    ResourceClaim: (_Row(("spec",)),),
    ResourceClaimTemplate: (_Row(("spec",)),),
    PersistentVolume: (_Row(("spec", "volumeMode")),),
    CSIDriver: (_Row(("spec", "attachRequired")), _Row(("spec", "volumeLifecycleModes"))),
}

# Rules of several fields


_MUTABLE_OF_SETS = frozenset(
    (
        *("replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit", "minReadySeconds"),
        "persistentVolumeClaimRetentionPolicy",
    )
)


def _stateful_set(after: Document, before: Document) -> Errors:
    """ValidateStatefulSetUpdate. The API server names only spec; the path here is the field that differs."""
    for path in _changed(("spec",), after, before, frozenset({"volumeClaimTemplates"})):
        if path[1] not in _MUTABLE_OF_SETS and "status" not in path[3:4]:
            yield forbidden(path[:2] if path[1] == "selector" else path, _STATEFUL_SET)


def _job(after: Document, before: Document) -> Errors:
    """ValidateJobSpecUpdate. A suspended Job without pods may still change where its pods go and what they request."""
    new, old = object_at(after, "spec"), object_at(before, "spec")
    template = [path for path in _changed(("spec", "template"), after, before) if path[-1] not in _JOB_LABELS]
    if _is_suspended(before):
        sides = [object_at(each, "spec", "template", "spec", "affinity") for each in (after, before)]
        template = [path for path in template if not _may_change(path[2:], sides)]
    if template:
        yield FieldError(("spec", "template"), f"Invalid value: {_IMMUTABLE}")
    if not any(_changed(("spec", "completions"), after, before)):
        return
    completions = number_at(new, "completions")
    if text_at(old, "completionMode") != "Indexed":
        yield invalid(("spec", "completions"), completions, _IMMUTABLE)
    elif completions != number_at(new, "parallelism"):
        yield invalid(("spec", "completions"), completions, "can only be modified in tandem with spec.parallelism")


def _is_suspended(job: Document) -> bool:
    """shouldAllowMutablePodTemplate: no pod is active, and the Job never started or has the condition Suspended."""
    status = object_at(job, "status")
    conditions = {text_at(each, "type"): text_at(each, "status") for _, each in items_at(status, "conditions")}
    is_at_rest = not status.get("startTime") or conditions.get("Suspended") == "True"
    return object_at(job, "spec").get("suspend") is True and is_at_rest and not number_at(status, "active")


def _may_change(path: Path, affinities: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a suspended Job may change this field of its template (validatePodTemplateUpdate)."""
    match path:
        case ("metadata", *_) | ("spec", "tolerations" | "schedulingGates", *_):
            return True
        case ("spec", "containers" | "initContainers", _, "resources", *_):
            return True
    return _chooses_nodes(path, affinities)


def _chooses_nodes(path: Path, affinities: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the field is nodeSelector or nodeAffinity, which a pod that is held back may still get. `affinities` are
    those before and after the change."""
    is_alone = path == ("spec", "affinity") and all(set(each) <= {"nodeAffinity"} for each in affinities)
    return is_alone or path[:2] == ("spec", "nodeSelector") or path[:3] == ("spec", "affinity", "nodeAffinity")


def _claim(after: Document, before: Document) -> Errors:
    """ValidatePersistentVolumeClaimUpdate. The name of the volume and the class may be set once."""
    old, status = object_at(before, "spec"), object_at(before, "status")
    is_bound = text_at(status, "phase") in ("", "Bound")
    for path in _changed(("spec",), after, before):
        is_set_once = (path[1] == "volumeName" and not old.get(path[1])) or (
            path[1] == "storageClassName" and old.get(path[1]) is None
        )
        is_mutable = path[1:] == _STORAGE or (path[1] == _ATTRIBUTES and is_bound)
        if not is_mutable and not is_set_once:
            yield forbidden(path, _CLAIM)
    if status.get("currentVolumeAttributesClassName") and not object_at(after, "spec").get(_ATTRIBUTES):
        text = "update to nil is forbidden when status.currentVolumeAttributesClassName is not nil"
        yield forbidden(("spec", _ATTRIBUTES), text)
    wanted, there = (amount_in(_at(each, ("spec", *_STORAGE))) for each in (after, before))
    if wanted is None or there is None or wanted >= there:
        return
    here, capacity = ("spec", *_STORAGE), amount_in(_at(status, ("capacity", "storage")))
    yield replace(forbidden(here, "field can not be less than previous value"), until=_RECOVERS_EXPANSIONS)
    if capacity is None or wanted <= capacity:
        yield replace(forbidden(here, "field can not be less than status.capacity"), since=_RECOVERS_EXPANSIONS)


def refused_resize(after: Document, before: Document, storage_class: Document) -> str:
    """Why the admission plugin PersistentVolumeClaimResize refuses a larger claim, or an empty string. Objects without
    a resourceVersion may be cut, and refuse nothing."""
    wanted, there = (amount_in(_at(each, ("spec", *_STORAGE))) for each in (after, before))
    if wanted is None or there is None or wanted <= there:
        return ""
    of_claim, of_class = (object_at(each, "metadata").get("resourceVersion") for each in (before, storage_class))
    if of_claim and text_at(object_at(before, "status"), "phase") == "Pending":
        return "Only bound persistent volume claims can be expanded"
    text = "only dynamically provisioned pvc can be resized and the storageclass must support resize"
    return text if of_class and storage_class.get("allowVolumeExpansion") is not True else ""


def _node(after: Document, before: Document) -> Errors:
    """ValidateNodeUpdate."""
    old, new = object_at(before, "spec"), object_at(after, "spec")
    for field, what in (("podCIDRs", "podCIDR"), ("providerID", "providerID")):
        if old.get(field) and old.get(field) != new.get(field):
            yield forbidden(("spec", field), f'node updates may not change {what} except from "" to valid')


def _service(after: Document, before: Document) -> Errors:
    """The addresses and families of validateUpgradeDowngradeClusterIPs and -IPFamilies, unless the type is or was
    ExternalName, and the class of a load balancer."""
    new, old = object_at(after, "spec"), object_at(before, "spec")
    kinds = (text_at(new, "type"), text_at(old, "type"))
    wanted, there = text_at(new, "clusterIP"), text_at(old, "clusterIP")
    if "ExternalName" not in kinds and wanted and there and wanted != there:
        yield invalid(("spec", "clusterIPs", 0), [wanted], "may not change once set")
    family, before_it = ((each.get("ipFamilies") or [None])[0] for each in (new, old))
    # The families of a headless service may change.
    if not {"ExternalName", "None"} & {*kinds, wanted, there} and family and before_it and family != before_it:
        yield invalid(("spec", "ipFamilies", 0), family, "may not change once set")
    if kinds == ("LoadBalancer", "LoadBalancer") and new.get("loadBalancerClass") != old.get("loadBalancerClass"):
        yield invalid(("spec", "loadBalancerClass"), new.get("loadBalancerClass"), "may not change once set")


def _volume(after: Document, before: Document) -> Errors:
    """ValidatePersistentVolumeUpdate."""
    sources = set(volume_sources_of("PersistentVolumeSpec"))
    old, new = object_at(before, "spec"), object_at(after, "spec")
    if not sources.isdisjoint(old):
        paths = _changed(("spec",), after, before, frozenset(sources))
        # The secret for an expansion may be set once.
        secret = ("csi", "controllerExpandSecretRef")
        is_set = bool(object_at(old, *secret))
        changed = {path[1] for path in paths if path[1] in sources and (is_set or path[1:3] != secret)}
        if changed:
            # The source that is new, not the one that it replaces.
            field = min(changed, key=lambda each: (each not in new, each))
            yield forbidden(("spec", field), "spec.persistentvolumesource is immutable after creation")
    if old.get("nodeAffinity") and not all(
        path[-1] == "key" and STABLE_LABELS.get(_at(before, path)) == _at(after, path)
        for path in _changed(("spec", "nodeAffinity"), after, before)
    ):
        text = f"{_IMMUTABLE}, except for updating from beta label to GA"
        yield invalid(("spec", "nodeAffinity"), new.get("nodeAffinity"), text)


_GRACE = "terminationGracePeriodSeconds"
# Fields of a pod that an update may change, or that have rules of their own.
_MUTABLE_OF_PODS = frozenset(("activeDeadlineSeconds", "tolerations", "schedulingGates"))


def _pod(after: Document, before: Document) -> Errors:
    """ValidatePodUpdate."""
    new, old = object_at(after, "spec"), object_at(before, "spec")
    for field in ("containers", "initContainers"):
        names = [[text_at(each, "name") for _, each in items_at(spec, field)] for spec in (new, old)]
        if len(names[0]) != len(names[1]):
            yield forbidden(("spec", field), "pod updates may not add or remove containers")
            return
    affinities = [object_at(spec, "affinity") for spec in (new, old)]
    is_gated = bool(old.get("schedulingGates"))
    for path in _changed(("spec",), after, before, typed_fields("PodSpec")):
        if is_gated and _chooses_nodes(path, affinities):
            continue
        is_image = path[1] in ("containers", "initContainers") and path[3:] == ("image",)
        is_mended = path[1] == _GRACE and (number_at(old, _GRACE) or 0) < 0 and new.get(_GRACE) == 1
        if path[1] not in _MUTABLE_OF_PODS and not is_image and not is_mended:
            yield forbidden(path, _POD)
    yield from _pod_additions(new, old)
    if is_gated:
        yield from _gated_pod(new, old)


def _gated_pod(new: Mapping[str, Any], old: Mapping[str, Any]) -> Errors:
    """validateNodeSelectorMutation and validateNodeAffinityMutation: a gated pod may only get fewer nodes."""
    wanted, there = object_at(new, "nodeSelector"), object_at(old, "nodeSelector")
    if not there.items() <= wanted.items():
        text = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield invalid(("spec", "nodeSelector"), dict(wanted), text)
    path = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    terms, kept = (items_at(object_at(spec, *path), "nodeSelectorTerms") for spec in (new, old))
    here = ("spec", *path, "nodeSelectorTerms")
    if kept and len(terms) != len(kept):
        text = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        yield invalid(here, [term for _, term in terms], text)
        return
    for (index, term), (_, before) in zip(terms, kept, strict=False):
        # An empty term matches no node, and stays empty.
        is_less = not any(before.values()) and any(term.values())
        for field in ("matchExpressions", "matchFields"):
            first = before.get(field) or []
            is_less |= (term.get(field) or [])[: len(first)] != first
        if is_less:
            yield invalid((*here, index), dict(term), "only additions are allowed (no mutations or deletions)")


def _pod_additions(new: Mapping[str, Any], old: Mapping[str, Any]) -> Errors:
    """validateOnlyAddedTolerations, validateOnlyDeletedSchedulingGates, and a deadline that may only come nearer."""
    gates = [text_at(each, "name") for _, each in items_at(old, "schedulingGates")]
    for index, gate in items_at(new, "schedulingGates"):
        if text_at(gate, "name") not in gates:
            text = f"only deletion is allowed, but found new scheduling gate '{text_at(gate, 'name')}'"
            yield forbidden(("spec", "schedulingGates", index, "name"), text)
    kept, there = (
        [{**each, "tolerationSeconds": None, "operator": each.get("operator") or "Equal"} for _, each in found]
        for found in (items_at(new, "tolerations"), items_at(old, "tolerations"))
    )
    # DefaultTolerationSeconds adds two of them again.
    if any(each not in kept and text_at(each, "key") not in TOLERATED_TAINTS for each in there):
        text = "existing toleration can not be modified except its tolerationSeconds"
        yield forbidden(("spec", "tolerations"), text)
    deadline, before_it = number_at(new, "activeDeadlineSeconds"), number_at(old, "activeDeadlineSeconds")
    if before_it is not None and (deadline is None or deadline > before_it):
        text = "must be less than or equal to previous value"
        yield invalid(("spec", "activeDeadlineSeconds"), deadline, text)


_HINTS: Mapping[type[Struct], str] = {
    StatefulSet: "delete the set and keep its pods: kubectl delete --cascade=orphan",
    PersistentVolumeClaim: "use a claim of another name",
    PriorityClass: "use a class of another name",
    Pod: "replace the live pod: kubectl replace --force; to try the manifest here, give the pod another name",
}
_RULES: Mapping[type[Struct], Callable[[Document, Document], Errors]] = {
    StatefulSet: _stateful_set,
    Job: _job,
    PersistentVolumeClaim: _claim,
    Node: _node,
    Pod: _pod,
    Service: _service,
    PersistentVolume: _volume,
}
