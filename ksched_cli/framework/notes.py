"""Notes of a plugin about pods, such as which device Reserve chose: restored by a roll back like the cluster itself."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.undo import LoggedDict

_NOTES: WeakKeyDictionary[Cluster, dict[str, LoggedDict[Any, Any]]] = WeakKeyDictionary()


def notes_of(cluster: Cluster, name: str) -> dict[Any, Any]:
    """A dict of the cluster with this name, empty at first. All plugins that name it share it.

    Columns that are derived from notes and pods belong to `Cluster.derived`: bring them up to date at the rows that
    `Cluster.journal` lists since the last time. A note about a pod takes effect when the pod comes to a node or leaves
    it; at other times call `Cluster.touch` with the node's name.
    """
    found = _NOTES.setdefault(cluster, {})
    if name not in found:
        found[name] = LoggedDict(cluster.undo)
    return found[name]
