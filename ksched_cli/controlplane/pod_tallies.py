"""How many pods of an owner are active and ready, kept up to date pod by pod."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from ksched_cli.api.core import Pod
from ksched_cli.api.selectors import Selector
from ksched_cli.cluster.undo import UndoLog
from ksched_cli.controlplane.pods import is_active, is_ready

# Kind, namespace and name of an owner; with an empty kind and name, the pods of a namespace without a controller.
Owner = tuple[str, str, str]
# Kinds of owners of which tallies are kept.
TALLIED_KINDS = frozenset({"ReplicaSet", "ReplicationController", ""})
_LabelSet = frozenset[tuple[str, str]]


def _counts(pod: Pod | None) -> tuple[int, int]:
    """How many active pods and active ready pods this is: none or one."""
    if pod is None or not is_active(pod):
        return 0, 0
    return 1, int(is_ready(pod))


class PodTally(Struct, frozen=True):
    """Active pods with these labels, and how many of them are ready."""

    labels: Mapping[str, str]
    active: int = 0
    ready: int = 0


class PodTallies:
    """The pods of an owner are counted when its tally is needed first, or before its first pod changes. So a first
    count is that of the loaded pods, and stays valid after each roll back. While `are_needed` is false no change of a
    pod counts an owner: a later first count is that of the pods then, and a roll back drops it."""

    def __init__(
        self, undo: UndoLog, pods_of: Callable[[Owner], Iterable[Pod]], are_needed: Callable[[], bool]
    ) -> None:
        self._undo, self._pods_of, self._are_needed = undo, pods_of, are_needed
        self._tallies: dict[Owner, dict[_LabelSet, PodTally]] = {}
        # Owners of which a pod has changed before the first count.
        self._changed: set[Owner] = set()

    def count(self, owner: Owner, selector: Selector) -> tuple[int, int]:
        """How many pods of the owner that the selector matches are active, and how many of these are ready."""
        matching = [each for each in self._of(owner).values() if each.active and selector.matches(each.labels)]
        return sum(each.active for each in matching), sum(each.ready for each in matching)

    def replace(self, owner: Owner, old: Pod | None, new: Pod | None) -> None:
        """Called before the store replaces a pod of the owner; None for absent."""
        if owner[0] not in TALLIED_KINDS:
            return
        if owner not in self._tallies and (owner in self._changed or not self._are_needed()):
            self._changed.add(owner)
            return
        (active, ready), (active_before, ready_before) = _counts(new), _counts(old)
        if old is not None and new is not None and old.metadata.labels == new.metadata.labels:
            self._add(owner, new, active - active_before, ready - ready_before)
            return
        if old is not None:
            self._add(owner, old, -active_before, -ready_before)
        if new is not None:
            self._add(owner, new, active, ready)

    def add_copies(self, owner: Owner, pod: Pod, count: int) -> None:
        """Count so many copies of a pod of the owner, which is counted already."""
        if owner in self._tallies:
            active, ready = _counts(pod)
            self._add(owner, pod, count * active, count * ready)

    def _add(self, owner: Owner, pod: Pod, active: int, ready: int) -> None:
        """Count so many more pods with the labels of this pod."""
        if not active and not ready:
            return
        tallies, labels = self._of(owner), pod.metadata.labels
        key = frozenset(labels.items())
        before = tallies.get(key) or PodTally(labels)
        self._undo.note(tallies.__setitem__, key, before)
        tallies[key] = PodTally(before.labels, before.active + active, before.ready + ready)

    def _of(self, owner: Owner) -> dict[_LabelSet, PodTally]:
        found = self._tallies.get(owner)
        if found is None:
            if owner in self._changed:
                self._undo.note(self._tallies.pop, owner, None)
            found = self._tallies[owner] = _first_count(self._pods_of(owner))
        return found


def _first_count(pods: Iterable[Pod]) -> dict[_LabelSet, PodTally]:
    """The tallies of these pods. Most pods have their labels in the order of another pod."""
    counts: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for pod in pods:
        if is_active(pod):
            count = counts.setdefault(tuple(pod.metadata.labels.items()), [0, 0])
            count[0] += 1
            count[1] += is_ready(pod)
    found: dict[_LabelSet, PodTally] = {}
    for labels, (active, ready) in counts.items():
        before = found.get(frozenset(labels)) or PodTally(dict(labels))
        found[frozenset(labels)] = PodTally(before.labels, before.active + active, before.ready + ready)
    return found
