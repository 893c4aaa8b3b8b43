"""Which changes of an object that exists the API server refuses, in its words.

A live object may come from a dump that was cut by hand: a field that the live object does not have is not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from ksched_cli.api.core import LabelSelector, PersistentVolumeClaimSpec, Pod, Service, Toleration
from ksched_cli.api.quantity import QuantityError, parse_quantity
from ksched_cli.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from ksched_cli.api.validation.fields import FieldError, FieldErrors, Path, forbidden, invalid, object_at, text_at
from ksched_cli.api.workloads import (
    DaemonSet,
    Deployment,
    Job,
    PodTemplateSpec,
    PriorityClass,
    ReplicaSet,
    RuntimeClass,
    StatefulSet,
)
from ksched_cli.controlplane.merge import Document
from ksched_cli.sources.templates import defaulted

_IMMUTABLE = "field is immutable"
_NON_INDEXED = "NonIndexed"
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
# Fields of a pod that no update may change, and their attributes.
_POD_FIELDS = {
    "nodeName": "node_name",
    "priorityClassName": "priority_class_name",
    "hostNetwork": "host_network",
    "runtimeClassName": "runtime_class_name",
    "preemptionPolicy": "preemption_policy",
    "hostname": "hostname",
    "restartPolicy": "restart_policy",
    "schedulerName": "scheduler_name",
    "subdomain": "subdomain",
    "affinity": "affinity",
    "topologySpreadConstraints": "topology_spread_constraints",
}
# Labels that the API server and the Job controller add to a Job's template.
_JOB_LABELS = ("controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name")


class RefusedUpdate(Struct, frozen=True):
    """An error, and how to get the change into the cluster nevertheless."""

    error: FieldError
    hint: str


def refused_updates(new: Any, live: Any, after: Document, before: Document) -> Iterator[RefusedUpdate]:
    """Why the API server does not replace the live object by the new one. `after` and `before` are their documents, for
    the rules of fields that no typed object has."""
    rule, hint = _RULES.get(type(new), (None, _DELETE))
    for error in rule(new, live) if rule is not None else ():
        yield RefusedUpdate(error, hint)
    written = _RULES_OF_DOCUMENTS.get(type(new))
    for error in written(after, before) if written is not None else ():
        yield RefusedUpdate(error, hint)


def _selector(new: Any, live: Any) -> FieldErrors:
    wanted, there = new.spec.selector, live.spec.selector
    if wanted is not None and there is not None and _selected(wanted) != _selected(there):
        yield invalid(("spec", "selector"), _plain(wanted), _IMMUTABLE)


def _selected(selector: LabelSelector) -> tuple[Any, ...]:
    return dict(selector.match_labels), sorted(selector.match_expressions, key=msgspec.json.encode)


def _plain(selector: LabelSelector) -> dict[str, Any]:
    return {key: value for key, value in msgspec.to_builtins(selector).items() if value}


def _stateful_set(new: StatefulSet, live: StatefulSet) -> FieldErrors:
    """ValidateStatefulSetUpdate. The API server names only spec; the path here is the field that differs."""
    if any(_selector(new, live)):
        yield forbidden(("spec", "selector"), _STATEFUL_SET)
    for name, field in (("service_name", "serviceName"), ("pod_management_policy", "podManagementPolicy")):
        wanted, there = getattr(new.spec, name), getattr(live.spec, name)
        if wanted and there and wanted != there:
            yield forbidden(("spec", field), _STATEFUL_SET)
    yield from _claim_templates(new, live)


def _claim_templates(new: StatefulSet, live: StatefulSet) -> FieldErrors:
    path: Path = ("spec", "volumeClaimTemplates")
    wanted, there = new.spec.volume_claim_templates, live.spec.volume_claim_templates
    if [each.metadata.name for each in wanted] != [each.metadata.name for each in there]:
        yield forbidden(path, _STATEFUL_SET)
        return
    for index, (each, other) in enumerate(zip(wanted, there, strict=True)):
        for steps in _claim_differences(each.spec, other.spec, exact=True):
            yield forbidden((*path, index, "spec", *steps), _STATEFUL_SET)


def _claim_differences(
    new: PersistentVolumeClaimSpec, live: PersistentVolumeClaimSpec, *, exact: bool
) -> Iterator[Path]:
    """`exact`: also in the amount of storage."""
    if new.storage_class_name is not None and live.storage_class_name not in (None, new.storage_class_name):
        yield ("storageClassName",)
    if set(new.access_modes) != set(live.access_modes) and live.access_modes:
        yield ("accessModes",)
    if (new.volume_mode or "Filesystem") != (live.volume_mode or "Filesystem"):
        yield ("volumeMode",)
    if exact and _storage(new) is not None and _storage(live) not in (None, _storage(new)):
        yield ("resources", "requests", "storage")


def _storage(spec: PersistentVolumeClaimSpec) -> Any:
    amount = spec.resources.requests.get("storage")
    try:
        return None if amount is None else parse_quantity(amount)
    except QuantityError:
        return None


def _job(new: Job, live: Job) -> FieldErrors:
    """ValidateJobSpecUpdate. A suspended Job may still change where its pods go and how much they request."""
    wanted, there = new.spec.template, live.spec.template
    if wanted and there and not live.spec.suspend and _job_template(wanted) != _job_template(there):
        yield FieldError(("spec", "template"), f"Invalid value: {_IMMUTABLE}")
    mode, completions = new.spec.completion_mode or _NON_INDEXED, new.spec.completions
    if mode != (live.spec.completion_mode or _NON_INDEXED):
        yield invalid(("spec", "completionMode"), mode, _IMMUTABLE)
    elif mode == _NON_INDEXED and completions is not None and live.spec.completions not in (None, completions):
        yield invalid(("spec", "completions"), completions, _IMMUTABLE)


def _job_template(template: PodTemplateSpec) -> PodTemplateSpec:
    found = defaulted(template)
    labels = {key: value for key, value in found.metadata.labels.items() if key not in _JOB_LABELS}
    return msgspec.structs.replace(found, metadata=msgspec.structs.replace(found.metadata, labels=labels))


def _claim(new: PersistentVolumeClaim, live: PersistentVolumeClaim) -> FieldErrors:
    """ValidatePersistentVolumeClaimUpdate."""
    for steps in _claim_differences(new.spec, live.spec, exact=False):
        yield forbidden(("spec", *steps), _CLAIM)
    if new.spec.volume_name and live.spec.volume_name not in ("", new.spec.volume_name):
        yield forbidden(("spec", "volumeName"), _CLAIM)
    wanted, there = _storage(new.spec), _storage(live.spec)
    if wanted is not None and there is not None and wanted < there:
        path = ("spec", "resources", "requests", "storage")
        yield forbidden(path, "field can not be less than status.capacity")


def _storage_class(new: StorageClass, live: StorageClass) -> FieldErrors:
    """ValidateStorageClassUpdate."""
    if live.provisioner and new.provisioner != live.provisioner:
        yield forbidden(("provisioner",), "updates to provisioner are forbidden.")
    if new.volume_binding_mode and live.volume_binding_mode not in (None, new.volume_binding_mode):
        yield invalid(("volumeBindingMode",), new.volume_binding_mode, _IMMUTABLE)


def _service(after: Document, before: Document) -> FieldErrors:
    """validateServiceClusterIPsUpdate: the address, unless the type is or was ExternalName."""
    new, old = object_at(after, "spec"), object_at(before, "spec")
    wanted, there = text_at(new, "clusterIP"), text_at(old, "clusterIP")
    if "ExternalName" not in (text_at(new, "type"), text_at(old, "type")) and wanted and there and wanted != there:
        yield invalid(("spec", "clusterIPs", 0), [wanted], "may not change once set")


# Fields of a volume that are not its source.
_NOT_OF_SOURCE = {
    *("capacity", "accessModes", "claimRef", "persistentVolumeReclaimPolicy", "storageClassName", "mountOptions"),
    *("volumeMode", "nodeAffinity", "volumeAttributesClassName"),
}


def _volume(after: Document, before: Document) -> FieldErrors:
    """ValidatePersistentVolumeUpdate."""
    new, old = object_at(after, "spec"), object_at(before, "spec")
    sources = [{key: each for key, each in spec.items() if key not in _NOT_OF_SOURCE} for spec in (new, old)]
    if sources[1] and sources[0] != sources[1]:
        text = "spec.persistentvolumesource is immutable after creation"
        yield forbidden(("spec", *sorted(sources[0].keys() - sources[1].keys() or sources[0])[:1]), text)
    mode = text_at(new, "volumeMode") or "Filesystem"
    if mode != (text_at(old, "volumeMode") or "Filesystem"):
        yield invalid(("spec", "volumeMode"), mode, _IMMUTABLE)
    affinity = new.get("nodeAffinity")
    if old.get("nodeAffinity") and affinity != old["nodeAffinity"]:
        yield invalid(("spec", "nodeAffinity"), affinity, _IMMUTABLE)


def _runtime_class(after: Document, before: Document) -> FieldErrors:
    """ValidateRuntimeClassUpdate."""
    if before.get("handler") and after.get("handler") != before["handler"]:
        yield invalid(("handler",), after.get("handler"), _IMMUTABLE)


def _priority_class(new: PriorityClass, live: PriorityClass) -> FieldErrors:
    """ValidatePriorityClassUpdate."""
    if new.value != live.value:
        yield forbidden(("value",), "may not be changed in an update.")


def _pod(new: Pod, live: Pod) -> FieldErrors:
    """ValidatePodUpdate, for the fields that the manifest has. A pod without a node is created anew, not updated."""
    if not live.spec.node_name:
        return
    for key, value in new.spec.node_selector.items():
        if live.spec.node_selector.get(key) != value:
            yield forbidden(("spec", "nodeSelector", key), _POD)
    for field, name in _POD_FIELDS.items():
        wanted = getattr(new.spec, name)
        if wanted and wanted != getattr(live.spec, name):
            yield forbidden(("spec", field), _POD)
    kept = [each for each in live.spec.tolerations if each in new.spec.tolerations]
    if new.spec.tolerations and len(kept) < len([each for each in live.spec.tolerations if not _is_default(each)]):
        yield forbidden(("spec", "tolerations"), _POD)
    there = {container.name: container.resources for container in live.spec.containers}
    for index, container in enumerate(new.spec.containers):
        if container.name not in there:
            yield forbidden(("spec", "containers"), "pod updates may not add or remove containers")
            return
        for name, amount in container.resources.requests.items():
            if _amount(there[container.name].requests.get(name)) != _amount(amount):
                yield forbidden(("spec", "containers", index, "resources", "requests", name), _POD)


def _is_default(toleration: Toleration) -> bool:
    """DefaultTolerationSeconds adds these."""
    return toleration.key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def _amount(quantity: Any) -> Any:
    try:
        return None if quantity is None else parse_quantity(quantity)
    except QuantityError:
        return None


_Rule = Callable[[Any, Any], FieldErrors]
_DELETE = "delete the live object first: kubectl replace --force"

_RULES: Mapping[type[Struct], tuple[_Rule, str]] = {
    Deployment: (_selector, _DELETE),
    ReplicaSet: (_selector, _DELETE),
    DaemonSet: (_selector, _DELETE),
    StatefulSet: (_stateful_set, "delete the set and keep its pods: kubectl delete --cascade=orphan"),
    Job: (_job, _DELETE),
    PersistentVolumeClaim: (_claim, "use a claim of another name"),
    StorageClass: (_storage_class, _DELETE),
    PriorityClass: (_priority_class, "use a class of another name"),
    Pod: (_pod, _DELETE),
}
_RULES_OF_DOCUMENTS: Mapping[type[Struct], Callable[[Document, Document], FieldErrors]] = {
    Service: _service,
    PersistentVolume: _volume,
    RuntimeClass: _runtime_class,
}
