"""The tools with which an edit reads and changes a control plane."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import count
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.core import Node, Taint
from ksched_cli.api.listing import named
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.whatif.edits.lib.arguments import EditMistake


class Editor:
    """Writes the changes of edits to the API server. `namespace` is the first one to search for names without one."""

    def __init__(self, plane: ControlPlane, namespace: str = "") -> None:
        self.plane = plane
        self.api, self.store = plane.api, plane.store
        self.namespace = namespace

    def node(self, name: str) -> Node:
        """The node. Raises EditMistake with similar names if there is none."""
        found = self.store.get(Node, name)
        if found is None:
            names = [node.metadata.name for node in self.store.of(Node)]
            raise EditMistake(f'there is no node "{name}"', name_hint(name, names))
        return found

    def taints_without(self, node: Node, key: str, effect: str) -> tuple[Taint, ...]:
        """The taints of the node except those of the key and the effect; without an effect, except all of the key."""
        return tuple(each for each in node.spec.taints if each.key != key or effect not in ("", each.effect))

    def respec(self, node: Node, **fields: Any) -> None:
        """Update fields of the spec of the stored node."""
        self.api.replace(node, replace(node, spec=replace(node.spec, **fields)))

    def relabel(self, node: Node, labels: dict[str, str]) -> None:
        """Update the labels of the node."""
        self.api.update(replace(node, metadata=replace(node.metadata, labels=labels)))

    def new_node_names(self, base: str, wanted: int) -> list[str]:
        """`base-1`, `base-2`, ...: the first names that no node has."""
        taken = {node.metadata.name for node in self.store.of(Node)}
        free = (name for number in count(1) if (name := f"{base}-{number}") not in taken)
        return [next(free) for _ in range(wanted)]


def name_hint(name: str, names: Iterable[str]) -> str:
    """A hint at names that may have been meant."""
    known = sorted(set(names))
    close = difflib.get_close_matches(name, known, 3, 0.6)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"the input has {named(known, 5)}" if known else ""
