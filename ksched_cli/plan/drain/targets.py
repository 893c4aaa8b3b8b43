"""Which nodes are drained, together or in turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ksched_cli.api.core import Node
from ksched_cli.api.node_facts import full_node_name, zone_of
from ksched_cli.api.selectors import Selector
from ksched_cli.errors import Problem, UsageError
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.edits.lib.editor import name_hint

Each = Literal["node", "zone"]

_NO_ZONE = "(no zone)"


def find_nodes(loaded: Loaded, names: Sequence[str], selector: Selector | None) -> list[str]:
    """The named nodes in that order, once each; those that the selector matches; all, when neither is given."""
    nodes = {node.metadata.name: node for node in loaded.of(Node)}
    wanted = list(dict.fromkeys(full_node_name(name, nodes) for name in names))
    unknown = [name for name in wanted if name not in nodes]
    if unknown:
        raise UsageError(Problem(f'there is no node "{name}"', hint=name_hint(name, nodes)) for name in unknown)
    if names:
        return wanted
    return sorted(name for name, node in nodes.items() if selector is None or selector.matches(node.metadata.labels))


def in_turn(loaded: Loaded, nodes: Sequence[str], each: Each | None) -> list[tuple[str, tuple[str, ...]]]:
    """What is drained together, by its name: everything, or every node or zone by itself."""
    if each is None:
        return [(", ".join(nodes), tuple(nodes))]
    if each == "node":
        return [(node, (node,)) for node in nodes]
    zones: dict[str, list[str]] = {}
    for node in nodes:
        found = loaded.named(Node, node)
        assert found is not None
        zones.setdefault(zone_of(found) or _NO_ZONE, []).append(node)
    return [(zone, tuple(sorted(members))) for zone, members in sorted(zones.items())]
