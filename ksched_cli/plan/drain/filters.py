"""What kubectl drain evicts, leaves, and refuses (kubectl/pkg/drain/filters.go), in its words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from ksched_cli.api.core import Pod
from ksched_cli.api.meta import OwnerReference, controller_of
from ksched_cli.api.pod_facts import is_terminal
from ksched_cli.api.selectors import Selector
from ksched_cli.api.workloads import DaemonSet
from ksched_cli.whatif.edits.lib.evictions import MIRROR

IGNORING_DAEMON_SETS = "ignoring DaemonSet-managed Pods"
DELETING_LOCAL_STORAGE = "deleting Pods with local storage"
DELETING_UNMANAGED = "deleting Pods that declare no controller"
DAEMON_SETS = "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore)"
LOCAL_STORAGE = "cannot delete Pods with local storage (use --delete-emptydir-data to override)"
UNMANAGED = "cannot delete Pods that declare no controller (use --force to override)"
MIRROR_PODS = "mirror pods are the kubelet's own: drain skips them"
NOT_SELECTED = "--pod-selector leaves it out"

Verdict = Literal["evict", "stay", "refuse"]


EVERYTHING = Selector()


class Flags(Struct, frozen=True):
    """kubectl drain's flags of these names. `grace_period` and `timeout` in seconds; None: the pods' own grace periods,
    and no time limit."""

    force: bool = False
    ignore_daemonsets: bool = False
    delete_emptydir_data: bool = False
    pod_selector: Selector = EVERYTHING
    disable_eviction: bool = False
    grace_period: float | None = None
    timeout: float | None = None


class DrainFilterResult(Struct, frozen=True):
    """`message` is kubectl's text; of several warnings it is the last one. `warns`: kubectl prints it although
    it goes on."""

    verdict: Verdict
    message: str = ""
    warns: bool = False


_EVICT = DrainFilterResult("evict")


class DrainFilters:
    def __init__(self, flags: Flags, sets: Sequence[DaemonSet]) -> None:
        self._flags = flags
        # A dump without any DaemonSet may have left them out; one with some has all of them.
        self._daemon_sets = {(each.metadata.namespace, each.metadata.name) for each in sets} if sets else None
        self._filters = (self._daemon_set, self._mirror, self._local_storage, self._unmanaged)

    def judge(self, pod: Pod) -> DrainFilterResult:
        """One filter after the other, until one keeps the pod back."""
        if not self._flags.pod_selector.matches(pod.metadata.labels):
            return DrainFilterResult("stay", NOT_SELECTED)
        found = _EVICT
        for judge in self._filters:
            verdict = judge(pod)
            if verdict.verdict != "evict":
                return verdict
            found = verdict if verdict.message else found
        return found

    def _daemon_set(self, pod: Pod) -> DrainFilterResult:
        """Its pods come back on the same node whatever one does; finished ones can go."""
        owner = controller_of(pod.metadata)
        if owner is None or not _is_daemon_set(owner) or is_terminal(pod):
            return _EVICT
        if self._daemon_sets is not None and (pod.metadata.namespace, owner.name) not in self._daemon_sets:
            missing = f'daemonsets.apps "{owner.name}" not found'
            if self._flags.force:
                return DrainFilterResult("evict", missing, warns=True)
            return DrainFilterResult("refuse", f"cannot delete {missing}")
        if not self._flags.ignore_daemonsets:
            return DrainFilterResult("refuse", DAEMON_SETS)
        return DrainFilterResult("stay", IGNORING_DAEMON_SETS, warns=True)

    def _mirror(self, pod: Pod) -> DrainFilterResult:
        return DrainFilterResult("stay", MIRROR_PODS) if MIRROR in pod.metadata.annotations else _EVICT

    def _local_storage(self, pod: Pod) -> DrainFilterResult:
        if is_terminal(pod) or all(volume.empty_dir is None for volume in pod.spec.volumes):
            return _EVICT
        if self._flags.delete_emptydir_data:
            return DrainFilterResult("evict", DELETING_LOCAL_STORAGE, warns=True)
        return DrainFilterResult("refuse", LOCAL_STORAGE)

    def _unmanaged(self, pod: Pod) -> DrainFilterResult:
        if is_terminal(pod) or controller_of(pod.metadata) is not None:
            return _EVICT
        return (
            DrainFilterResult("evict", DELETING_UNMANAGED, warns=True)
            if self._flags.force
            else DrainFilterResult("refuse", UNMANAGED)
        )


def _is_daemon_set(owner: OwnerReference) -> bool:
    """isControllerRefDaemonSet. A dump cut down by hand may lack the version."""
    return owner.kind == "DaemonSet" and owner.api_version in ("apps/v1", "")
