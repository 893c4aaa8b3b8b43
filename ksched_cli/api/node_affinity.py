"""A pod's nodeSelector and required node affinity against one node."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from ksched_cli.api.affinity import NodeSelectorTerm
from ksched_cli.api.core import Node, PodSpec
from ksched_cli.api.selectors import SelectorError, compile_node_selector_term


class RequiredNodeAffinity(Struct, frozen=True):
    """The labels and names of nodes that a pod requires (nodeaffinity.GetRequiredNodeAffinity)."""

    node_selector: tuple[tuple[str, str], ...]
    terms: tuple[NodeSelectorTerm, ...] | None

    @classmethod
    def of(cls, spec: PodSpec) -> RequiredNodeAffinity:
        affinity = spec.affinity.node_affinity if spec.affinity else None
        required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
        return cls(tuple(spec.node_selector.items()), required.node_selector_terms if required else None)

    def selects(self, node: Node) -> bool:
        """RequiredNodeAffinity.Match; SelectorError as in any_term_selects."""
        labels = node.metadata.labels
        if any(labels.get(key) != value for key, value in self.node_selector):
            return False
        return self.terms is None or any_term_selects(self.terms, node)


def any_term_selects(terms: Iterable[NodeSelectorTerm], node: Node) -> bool:
    """SelectorError where none does, and one of them might if it could be compiled."""
    broken: SelectorError | None = None
    for term in terms:
        try:
            compiled = compile_node_selector_term(term)
        except SelectorError as problem:
            broken = broken or problem
            continue
        if compiled is not None and compiled.matches_node(node.metadata.labels, node.metadata.name):
            return True
    if broken is not None:
        raise broken
    return False
