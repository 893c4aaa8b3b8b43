"""Edits of one command line that cannot all be meant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence

from ksched_cli.errors import Problem
from ksched_cli.whatif.edits.values import (
    AddNode,
    CloneNode,
    Cordon,
    Delete,
    Drain,
    Edit,
    RemoveLabel,
    RemoveNode,
    RemoveTaint,
    Scale,
    SetLabel,
    SetTaint,
    Uncordon,
)


def contradictions(edits: Sequence[Edit]) -> list[Problem]:
    """Each pair of edits that want different things of the same object."""
    return [Problem(text, str(edit), hint=hint) for edit, text, hint in edit_clashes(edits)]


def edit_clashes(edits: Sequence[Edit]) -> Iterator[tuple[Edit, str, str]]:
    """The edit, what it clashes with, and what to do."""
    by_node: defaultdict[str, list[Edit]] = defaultdict(list)
    for edit in edits:
        if not isinstance(edit, AddNode | CloneNode | Scale | Delete):
            by_node[edit.node].append(edit)
    for node, its in by_node.items():
        yield from _of_node(node, its)
    yield from _of_workloads(edits)


def _of_node(node: str, edits: Sequence[Edit]) -> Iterator[tuple[Edit, str, str]]:
    removed = any(isinstance(edit, RemoveNode) for edit in edits)
    for edit in edits:
        if removed and not isinstance(edit, RemoveNode):
            hint = "removing it evicts its pods: leave the drain out" if isinstance(edit, Drain) else ""
            yield edit, f"node {node} is removed by --remove-node", hint
    if removed:
        return
    opened = any(isinstance(edit, Uncordon) for edit in edits)
    for edit in edits:
        if opened and isinstance(edit, Cordon | Drain):
            yield edit, f"node {node} is uncordoned by --uncordon", "give one of the two"
    yield from _twice(edits)


def _twice(edits: Sequence[Edit]) -> Iterator[tuple[Edit, str, str]]:
    """The same taint or label with two values, or set and removed."""
    wanted: dict[Hashable, Edit] = {}
    for edit in edits:
        match edit:
            case SetTaint():
                what: Hashable = "taint", edit.taint.key, edit.taint.effect
            case RemoveTaint():
                what = "taint", edit.key, edit.effect
            case SetLabel() | RemoveLabel():
                what = "label", edit.key
            case _:
                continue
        before = wanted.setdefault(what, edit)
        if before != edit:
            yield edit, f"contradicts {before}", "give one of the two"


def _of_workloads(edits: Sequence[Edit]) -> Iterator[tuple[Edit, str, str]]:
    wanted: dict[Hashable, Edit] = {}
    for edit in edits:
        if isinstance(edit, Scale | Delete):
            before = wanted.setdefault(edit.target, edit)
            if before != edit:
                yield edit, f"contradicts {before}", "give one of the two"
