"""The copy of a cluster that edits are made in."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import count
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.workloads import ReplicaSet
from ksched_cli.sources.admission.chain import Refused
from ksched_cli.sources.controllers.existing import Existing
from ksched_cli.sources.edits.values import EditMistake
from ksched_cli.sources.loaded import Loaded

S = TypeVar("S", bound=Struct)


class Editor:
    """Objects that change are replaced by changed copies, so that what was loaded can be used again."""

    def __init__(self, loaded: Loaded, namespace: str = "") -> None:
        self.loaded = loaded.copied()
        self.namespace = namespace
        self.refused: list[Refused] = []
        # Nodes that DaemonSets may have to look at again.
        self.changed_nodes: dict[str, None] = {}

    def node(self, name: str) -> Node:
        found = self.loaded.named(Node, name)
        if found is None:
            names = [node.metadata.name for node in self.loaded.of(Node)]
            raise EditMistake(f'there is no node "{name}"', nearest(name, names))
        return found

    def change_node(self, node: Node) -> None:
        self.loaded.put(node)
        self.changed_nodes[node.metadata.name] = None

    def relabel(self, node: Node, labels: dict[str, str]) -> None:
        self.change_node(replace(node, metadata=replace(node.metadata, labels=labels)))

    def new_node_names(self, base: str, wanted: int) -> list[str]:
        """`base-1`, `base-2`, …: the first that no node has."""
        taken = {node.metadata.name for node in self.loaded.of(Node)}
        free = (name for number in count(1) if (name := f"{base}-{number}") not in taken)
        return [next(free) for _ in range(wanted)]

    def pods_on(self, node: str) -> list[Pod]:
        return [pod for pod in self.loaded.of(Pod) if pod.spec.node_name == node]

    def existing(self) -> Existing:
        """What controllers see now."""
        return Existing(self.loaded.of(Pod), self.loaded.of(ReplicaSet), self.loaded.of(Node))

    def remove(self, items: Iterable[Struct]) -> None:
        gone = {id(item): item for item in items}
        for kind in {type(item) for item in gone.values()}:
            self.loaded.discard(kind, lambda item: id(item) in gone)


def nearest(name: str, names: Iterable[str]) -> str:
    """A hint at names that may have been meant."""
    known = sorted(set(names))
    close = difflib.get_close_matches(name, known, 3, 0.6)
    if close:
        return f"did you mean {' or '.join(close)}?"
    if not known:
        return ""
    more = f" and {len(known) - 5} more" if len(known) > 5 else ""
    return f"the input has {', '.join(known[:5])}{more}"
