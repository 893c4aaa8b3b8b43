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


def _count_alike(old: Pod, new: Pod) -> bool:
    """Whether no tally changes when one replaces the other."""
    return (
        old.metadata.labels == new.metadata.labels
        and is_active(old) == is_active(new)
        and is_ready(old) == is_ready(new)
    )


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
        if owner[0] not in TALLIED_KINDS or (old is not None and new is not None and _count_alike(old, new)):
            return
        if owner not in self._tallies and not self._are_needed():
            self._changed.add(owner)
            return
        for pod, change in ((old, -1), (new, 1)):
            if pod is not None and is_active(pod):
                self._add(owner, pod, change)

    def add_copies(self, owner: Owner, pod: Pod, count: int) -> None:
        """Count so many copies of a pod of the owner, which is counted already."""
        if owner in self._tallies and is_active(pod):
            self._add(owner, pod, count)

    def _add(self, owner: Owner, pod: Pod, count: int) -> None:
        tallies, labels = self._of(owner), pod.metadata.labels
        key = frozenset(labels.items())
        before = tallies.get(key) or PodTally(labels)
        self._undo.note(tallies.__setitem__, key, before)
        tallies[key] = PodTally(before.labels, before.active + count, before.ready + count * is_ready(pod))

    def _of(self, owner: Owner) -> dict[_LabelSet, PodTally]:
        found = self._tallies.get(owner)
        if found is None:
            if owner in self._changed:
                self._undo.note(self._tallies.pop, owner, None)
            groups: dict[_LabelSet, list[Pod]] = {}
            for pod in self._pods_of(owner):
                if is_active(pod):
                    groups.setdefault(frozenset(pod.metadata.labels.items()), []).append(pod)
            found = self._tallies[owner] = {
                key: PodTally(pods[0].metadata.labels, len(pods), sum(map(is_ready, pods)))
                for key, pods in groups.items()
            }
        return found
