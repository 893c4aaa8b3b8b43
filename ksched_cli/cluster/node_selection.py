"""Node selectors over all nodes at once: each distinct requirement is evaluated once and remembered."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ksched_cli.api.affinity import NodeSelectorTerm
from ksched_cli.api.selectors import (
    CompiledTerm,
    RequiredNodeAffinity,
    Requirement,
    SelectorError,
    compile_node_selector_term,
    holds_for_name,
)
from ksched_cli.cluster.columns import BoolColumn
from ksched_cli.cluster.nodes import NodeTable


class NodeSelection:
    """Lives as long as one node table. The masks it hands out are shared and must not be written to."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._requirements: dict[Requirement, BoolColumn] = {}
        self._terms: dict[CompiledTerm, BoolColumn] = {}

    def matching(self, wanted: RequiredNodeAffinity) -> BoolColumn:
        """Nodes that satisfy both; terms that cannot be compiled match nothing (LazyErrorNodeSelector)."""
        mask = np.ones(len(self._nodes), dtype=np.bool_)
        for key, value in wanted.node_selector:
            mask &= self.label_is(key, value)
        if wanted.terms is not None:
            mask &= self.terms_mask(wanted.terms)
        return mask

    def label_is(self, key: str, value: str) -> BoolColumn:
        return self.requirement(Requirement(key, "In", (value,)))

    def terms_mask(self, terms: Iterable[NodeSelectorTerm]) -> BoolColumn:
        """Nodes that match any of the terms."""
        mask = np.zeros(len(self._nodes), dtype=np.bool_)
        for term in terms:
            try:
                compiled = compile_node_selector_term(term)
            except SelectorError:
                continue
            if compiled is not None:
                mask |= self._term(compiled)
        return mask

    def check(self, terms: Iterable[NodeSelectorTerm], path: str = "nodeSelectorTerms") -> None:
        """SelectorError if any of the terms cannot be compiled; what is wrong with all of them (NewNodeSelector)."""
        problems: list[tuple[str, str]] = []
        for index, term in enumerate(terms):
            try:
                compile_node_selector_term(term)
            except SelectorError as problem:
                problems += problem.under(f"{path}[{index}]").problems
        if problems:
            raise SelectorError(*problems)

    def requirement(self, requirement: Requirement) -> BoolColumn:
        """Nodes whose label satisfies the requirement."""
        mask = self._requirements.get(requirement)
        if mask is None:
            mask = self._nodes.labels.column(requirement.key).where(requirement.holds)
            self._requirements[requirement] = mask
        return mask

    def _term(self, term: CompiledTerm) -> BoolColumn:
        mask = self._terms.get(term)
        if mask is None:
            mask = np.ones(len(self._nodes), dtype=np.bool_)
            for requirement in term.labels:
                mask &= self.requirement(requirement)
            for field in term.fields:
                mask &= self._named(field)
            self._terms[term] = mask
        return mask

    def _named(self, field: Requirement) -> BoolColumn:
        return np.array([holds_for_name(field, name) for name in self._nodes.names], dtype=np.bool_)
