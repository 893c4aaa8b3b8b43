"""Everything that a world is made of, as plain values that can be compared."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.cache import PodCounts
from ksched_cli.cluster.columns import Vocabulary
from ksched_cli.cluster.nodes import NodeSelection, NodeTable
from ksched_cli.cluster.pod_info import PodInfo, ResourceIndex
from ksched_cli.cluster.pods import PodShapes, PodTable
from ksched_cli.cluster.undo import UndoLog
from ksched_cli.engine.cycle.runtime import Runtime
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.registry import Profile
from ksched_cli.framework.interfaces import Plugin
from ksched_cli.sources.loaded import Loaded

# Objects that never change, or are only replaced: the object itself is compared. Vocabularies and the like only grow.
_AS_A_WHOLE = (Struct, PodInfo, NodeTable, Decision, UndoLog, ResourceIndex, Vocabulary, PodShapes, Loaded, type)
_CONSTANT = ("ksched_cli.releases.", "ksched_cli.config.", "ksched_cli.framework.", "ksched_cli.engine.registry")
# Derived from the rest, and derived again after a roll back.
_CACHES = (Runtime, Profile, Plugin, NodeSelection, PodCounts)
# Counters, which must not return to an earlier value, and caches beside facts.
_IGNORED = {
    "Cluster": {"_structures", "journal", "moves", "_derived"},
    "Catalog": {"_versions"},
    "PodTable": {"epoch"},
    "PodHeap": {"_count"},
    "Scheduler": {"runtimes"},
    "SchedulingQueue": {"_runtimes"},
    "LoggedDict": {"_kept"},
    "LoggedTable": {"_kept", "_turns", "_next_turn", "_in_order"},
    "PodTallies": {"_tallies"},
    "Hints": {"_known", "_interest", "_nearby"},
    "PodGroups": {"_members", "_seen", "_epoch"},
    "Budgets": {"_selectors"},
    "Controllers": {"_by_change", "_version"},
    "NodeTable": {"_arrival"},
    "DaemonNodes": {"_verdicts"},
}


def graph_of(root: Any) -> dict[str, Any]:
    """A value for each path from the root. An object that is met twice is written out once."""
    return dict(_walk(root))


def _walk(root: Any) -> Iterator[tuple[str, Any]]:
    seen: dict[int, str] = {}
    waiting: deque[tuple[str, Any]] = deque([("world", root)])
    while waiting:
        path, item = waiting.popleft()
        if item is None or isinstance(item, bool | int | float | str | bytes | frozenset):
            yield path, item
        elif isinstance(item, np.generic | np.ndarray):
            yield path, _column(item)
        elif isinstance(item, _AS_A_WHOLE) or type(item).__module__.startswith(_CONSTANT):
            yield path, _identity(item)
        elif isinstance(item, (*_CACHES, count)):
            continue
        elif id(item) in seen:
            yield path, ("seen", seen[id(item)])
        else:
            seen[id(item)] = path
            yield from _open(path, item, waiting)


def _open(path: str, item: Any, waiting: deque[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    if isinstance(item, Mapping):
        yield path, [_identity(key) for key in item]
        waiting.extend((f"{path}[{_identity(key)!r}]", value) for key, value in item.items())
    elif isinstance(item, set):
        yield path, sorted(map(repr, map(_identity, item)))
    elif isinstance(item, list | tuple | deque):
        yield path, len(item)
        waiting.extend((f"{path}[{at}]", value) for at, value in enumerate(item))
    elif _is_own(item):
        ignored = set().union(*(_IGNORED.get(kind.__name__, set()) for kind in type(item).__mro__))
        attributes = {name: value for name, value in _attributes(item).items() if name not in ignored}
        yield path, type(item).__name__
        waiting.extend((f"{path}.{name}", value) for name, value in attributes.items() if not name.startswith("__"))
    else:
        yield path, _identity(item)


def _is_own(item: Any) -> bool:
    return type(item).__module__.startswith(("ksched_cli.", "tests."))


def _attributes(item: Any) -> dict[str, Any]:
    if isinstance(item, PodTable):
        # The columns behind these have room for more rows.
        names = (
            "infos",
            "row_of",
            "gone",
            "node_row",
            "namespace",
            "label_set",
            "priority",
            "terminating",
            "has_ports",
            "has_affinity",
        )
        return {name: getattr(item, name) for name in names}
    names = dict.fromkeys(getattr(item, "__dict__", {}))
    for kind in type(item).__mro__:
        # An attribute that is declared and not set has the value of the class, if there is one.
        names.update(dict.fromkeys([*vars(kind).get("__annotations__", {}), *vars(kind).get("__slots__", ())]))
    return {name: getattr(item, name) for name in names if hasattr(item, name)}


def _identity(item: Any) -> Any:
    """A key, or an object that stands for itself."""
    if isinstance(item, tuple):
        return tuple(map(_identity, item))
    if item is None or isinstance(item, bool | int | float | str | frozenset):
        return item
    return f"{type(item).__name__} at {id(item)}"


def _column(item: Any) -> Any:
    """Rows of resources that nobody uses may come."""
    rows = np.atleast_2d(np.asarray(item))
    while len(rows) > 1 and not rows[-1].any():
        rows = rows[:-1]
    return rows.tolist()
