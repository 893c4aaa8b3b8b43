"""The admissions in the API server's order: first those that change a pod, then those that only judge it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

from msgspec import Struct

from ksched_cli.api.core import Namespace, Pod
from ksched_cli.api.policy import LimitRange, PriorityClass, ResourceQuota, RuntimeClass
from ksched_cli.cluster.undo import Logged, UndoLog
from ksched_cli.controlplane.admission.limit_ranger import LimitRanges
from ksched_cli.controlplane.admission.match_label_keys import merge_label_keys
from ksched_cli.controlplane.admission.pod_node_selector import NamespaceSelectors
from ksched_cli.controlplane.admission.priority import PriorityClasses
from ksched_cli.controlplane.admission.resource_quota import Quotas
from ksched_cli.controlplane.admission.runtime_class import RuntimeClasses
from ksched_cli.controlplane.admission.tolerations import admit_default_tolerations
from ksched_cli.sources.loaded import Loaded

K = TypeVar("K", bound=Struct)


class AdmissionRefusal(Struct, frozen=True):
    """A pod that the API server would not have created, and who refused it."""

    pod: Pod
    plugin: str
    message: str


def admit(pods: Sequence[Pod], cluster: Loaded) -> list[AdmissionRefusal]:
    """One pod after the other, as they are made. Their requests are filled in; quotas count up."""
    chain = Chain(cluster, pods)
    return [
        AdmissionRefusal(pod, plugin, message)
        for pod in pods
        for plugin, message in [chain.first_refusal(pod)]
        if message
    ]


class HasObjects(Protocol):
    """Objects by kind: an input or the API server's store."""

    def of(self, kind: type[K]) -> list[K]: ...


class Chain(Logged):
    """The admissions of one cluster; `pods` are those that are about to come, in the place of what has their names."""

    def __init__(self, cluster: HasObjects, pods: Sequence[Pod] = (), undo: UndoLog | None = None) -> None:
        self.undo = undo or UndoLog()
        self._read(cluster)
        self._quotas = Quotas(cluster.of(ResourceQuota), cluster.of(Pod), self.undo)
        self._release_replaced(cluster, pods)

    def _read(self, cluster: HasObjects) -> None:
        self._limits = LimitRanges(cluster.of(LimitRange))
        self._selectors = NamespaceSelectors(cluster.of(Namespace))
        self._priorities = PriorityClasses(cluster.of(PriorityClass))
        self._runtimes = RuntimeClasses(cluster.of(RuntimeClass))

    def _release_replaced(self, cluster: HasObjects, pods: Sequence[Pod]) -> None:
        replacing = {(pod.metadata.namespace, pod.metadata.name) for pod in pods}
        for pod in cluster.of(Pod) if replacing else ():
            if (pod.metadata.namespace, pod.metadata.name) in replacing:
                self._quotas.release(pod)

    def first_refusal(self, pod: Pod) -> tuple[str, str]:
        """Who refuses the pod, and why; two empty strings when it is let in."""
        return next(((plugin, message) for plugin, message in self._verdicts(pod) if message), ("", ""))

    def quota_refusal(self, pod: Pod) -> tuple[str, str]:
        """The same for one more pod like one that was let in: only quotas distinguish the two."""
        message = self._quotas.admit(pod)
        return ("ResourceQuota", message) if message else ("", "")

    def release(self, pod: Pod) -> None:
        """The pod is gone, and what it had of its quotas is free."""
        self._quotas.release(pod)

    def count(self, pod: Pod) -> None:
        """The pod counts, as it is now."""
        self._quotas.count(pod)

    def reload(self, cluster: HasObjects) -> None:
        """Take over new and changed objects. What is used of quotas goes on."""
        self._read(cluster)
        self._quotas.reload(cluster.of(ResourceQuota), cluster.of(Pod))

    def _verdicts(self, pod: Pod) -> Iterator[tuple[str, str]]:
        """AllOrderedPlugins; each step is taken when the ones before it have let the pod through."""
        self._limits.fill_in(pod)
        yield "PodNodeSelector", self._selectors.admit(pod)
        yield "Priority", self._priorities.admit(pod)
        admit_default_tolerations(pod)
        yield "RuntimeClass", self._runtimes.admit(pod)
        merge_label_keys(pod)
        yield "LimitRanger", self._limits.validate(pod)
        yield "RuntimeClass", self._runtimes.validate(pod)
        yield "ResourceQuota", self._quotas.admit(pod)
