"""The admissions in the API server's order: first those that change a pod, then those that only judge it; and the
admission of all other objects. `admission_gaps` lists what of admission is not modelled, where a cluster makes use of
it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from ksched_cli.api.core import Namespace, Pod, Service
from ksched_cli.api.storage import PersistentVolumeClaim, StorageClass
from ksched_cli.api.validation.fields import object_at
from ksched_cli.api.workloads import (
    JOB_UID_LABELS,
    PODS_AND_WORKLOADS,
    Job,
    LimitRange,
    PriorityClass,
    ResourceQuota,
    RuntimeClass,
)
from ksched_cli.cluster.undo import Logged, UndoLog
from ksched_cli.controlplane.admission import pods as plugins
from ksched_cli.controlplane.admission import quantities
from ksched_cli.controlplane.admission.pod_security import PodSecurity
from ksched_cli.controlplane.admission.quantities import ADMITTED, LIMIT_RANGER, Denial
from ksched_cli.releases.minors import DEFAULT
from ksched_cli.sources.loaded import Loaded

K = TypeVar("K", bound=Struct)
# The kinds that admission reads, and those that quotas count beside unread ones.
ADMISSION_KINDS: tuple[type[Any], ...] = (
    LimitRange,
    Namespace,
    PriorityClass,
    ResourceQuota,
    RuntimeClass,
    StorageClass,
)
COUNTED_KINDS: tuple[type[Any], ...] = (PersistentVolumeClaim, Service, *PODS_AND_WORKLOADS)


class HasObjects(Protocol):
    """Objects by kind: an input or the API server's store."""

    @property
    def accounts(self) -> Mapping[tuple[str, str], Mapping[str, Any]]: ...

    @property
    def account_namespaces(self) -> Collection[str]: ...

    def of(self, kind: type[K]) -> list[K]: ...


class Chain(Logged):
    """The admissions of one cluster. `minor` is that of the API server. `quotas` count the pods that are let in."""

    def __init__(self, cluster: HasObjects, undo: UndoLog | None = None, minor: int = DEFAULT.minor) -> None:
        self.undo, self._minor = undo or UndoLog(), minor
        self._read(cluster)
        self.quotas = quantities.Quotas(cluster.of(ResourceQuota), _countable(cluster), self.undo)

    def _read(self, cluster: HasObjects) -> None:
        self._limits = quantities.LimitRanges(cluster.of(LimitRange))
        self._selectors = plugins.NamespaceSelectors(cluster.of(Namespace))
        self._priorities = plugins.PriorityClasses(cluster.of(PriorityClass))
        self._runtimes = plugins.RuntimeClasses(cluster.of(RuntimeClass))
        self._security = PodSecurity(cluster.of(Namespace), self._minor)
        self._accounts, self._listed = cluster.accounts, cluster.account_namespaces

    @property
    def reads_documents(self) -> bool:
        """Whether an admission reads pods as they are written."""
        return bool(self._security or self._listed)

    def first_refusal(self, pod: Pod, written: Mapping[str, Any] | None = None) -> Denial:
        """Which plugin refuses the pod, and why. `written` is the pod or the template that it is made of, as it is
        written in a manifest."""
        return next((denial for denial in self._denials(pod, written) if denial.message), ADMITTED)

    def object_refusal(self, item: Any) -> Denial:
        """The same for a new object that is no pod."""
        default = self._priorities.default
        if isinstance(item, PriorityClass) and item.global_default and default is not None:
            text = f"PriorityClass {default.metadata.name} is already marked as default. Only one default can exist"
            return Denial("Priority", text)
        message = self._limits.validate_claim(item) if isinstance(item, PersistentVolumeClaim) else ""
        if message:
            return Denial(LIMIT_RANGER, message)
        if isinstance(item, Job) and not item.spec.manual_selector:
            if item.spec.selector is not None:
                return Denial("Validation", "spec.selector: Invalid value: `selector` not auto-generated")
            labels = item.spec.template.metadata.labels if item.spec.template is not None else ()
            for given in reversed(JOB_UID_LABELS):
                if given in labels:
                    text = f"spec.template.metadata.labels[{given}]: Invalid value: must be the uid"
                    return Denial("Validation", text)
        return self.quotas.admit(item) if self.quotas else ADMITTED

    def reload(self, cluster: HasObjects) -> None:
        """Take over new and changed objects. What is used of quotas goes on."""
        self._read(cluster)
        self.quotas.reload(cluster.of(ResourceQuota), _countable(cluster))

    def _denials(self, pod: Pod, written: Mapping[str, Any] | None) -> Iterator[Denial]:
        """AllOrderedPlugins; each step is taken when the ones before it have let the pod through."""
        namespace, spec = pod.metadata.namespace, object_at(written, "spec")
        if written is not None and self._listed:
            yield Denial("ServiceAccount", plugins.admit_account(self._accounts, namespace, spec, self._listed))
        self._limits.fill_in(pod)
        yield Denial("PodNodeSelector", self._selectors.admit(pod))
        yield Denial("Priority", self._priorities.admit(pod))
        plugins.admit_default_tolerations(pod)
        yield Denial("RuntimeClass", self._runtimes.admit(pod))
        yield Denial("Validation", plugins.repeated_label_key(quantities.affinity_terms(pod), pod))
        plugins.merge_label_keys(pod)
        if self._limits:
            yield quantities.invalid_requests(pod)
        yield self._limits.validate(pod)
        if written is not None and self._security:
            yield Denial("PodSecurity", self._security.admit(namespace, object_at(written, "metadata"), spec))
        yield Denial("RuntimeClass", self._runtimes.validate(pod))
        yield self.quotas.admit(pod)


def _countable(cluster: HasObjects) -> Iterator[Any]:
    """The objects that quotas count, if there are quotas."""
    for kind in COUNTED_KINDS if cluster.of(ResourceQuota) else ():
        yield from cluster.of(kind)


_POD_QUOTAS = ("pods", "count/pods", "cpu", "memory", "ephemeral-storage")
_POD_PREFIXES = ("requests.", "limits.", "hugepages-")
_DECIDING = ("LimitRange", "ResourceQuota", "PriorityClass", "RuntimeClass", "StorageClass")
_CLAIM_STORAGE = "requests.storage"
# Quotas of other objects that are counted, beside those of the form count/.
_OBJECTS = ("persistentvolumeclaims", "services", "replicationcontrollers", _CLAIM_STORAGE)
_OF_CLASS = (".storageclass.storage.k8s.io/", ".deviceclass.resource.k8s.io/", "deviceclass.resource.kubernetes.io/")


def admission_gaps(cluster: Loaded, namespaces: Collection[str], *, pods_only: bool = False) -> Iterator[str]:
    """Quotas of objects that are not read, and kinds for admission that a live cluster did not list; with `pods_only`,
    where no other objects are admitted, quotas and bounds of anything but pods. In the namespaces of new objects."""
    for kind in _DECIDING:
        if kind in cluster.missing:
            yield f"{kind}: {cluster.missing[kind]}"
    for quota in cluster.of(ResourceQuota):
        left_out = sorted(name for name in quota.spec.hard if not _is_counted(name, pods_only=pods_only))
        if left_out and quota.metadata.namespace in namespaces:
            yield f"ResourceQuota {quota.metadata.namespace}/{quota.metadata.name}: {', '.join(left_out)}"
    known = {"Container", "Pod"} if pods_only else {"Container", "Pod", "PersistentVolumeClaim"}
    for limits in cluster.of(LimitRange):
        unknown = sorted({item.type for item in limits.spec.limits} - known)
        if unknown and limits.metadata.namespace in namespaces:
            yield f"LimitRange {limits.metadata.namespace}/{limits.metadata.name}: {', '.join(unknown)}"


def _is_counted(name: str, *, pods_only: bool) -> bool:
    if name in _POD_QUOTAS or (name.startswith(_POD_PREFIXES) and name != _CLAIM_STORAGE):
        return True
    if pods_only:
        return False
    kinds = {f"count/{plural}{group}" for plural, group in (quantities.resource_of(kind) for kind in COUNTED_KINDS)}  # type: ignore[arg-type]
    return name in kinds or name.startswith(("services.", *_OBJECTS)) or any(each in name for each in _OF_CLASS)
