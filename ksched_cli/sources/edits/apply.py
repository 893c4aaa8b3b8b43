"""Edits made in a copy of what was loaded."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ksched_cli.errors import Problem, UsageError
from ksched_cli.sources.admission.chain import Refused
from ksched_cli.sources.edits import nodes, workloads
from ksched_cli.sources.edits.daemons import run_daemon_sets
from ksched_cli.sources.edits.editor import Editor
from ksched_cli.sources.edits.values import (
    AddNode,
    CloneNode,
    Cordon,
    Delete,
    Drain,
    Edit,
    EditMistake,
    RemoveLabel,
    RemoveNode,
    RemoveTaint,
    Scale,
    SetLabel,
    SetTaint,
    Uncordon,
)
from ksched_cli.sources.loaded import Loaded


@dataclass(frozen=True)
class Edited:
    """The cluster after the edits, and the new pods that admission refused."""

    loaded: Loaded
    refused: tuple[Refused, ...] = ()


def apply(loaded: Loaded, edits: Iterable[Edit], problems: Iterable[Problem] = (), namespace: str = "") -> Edited:
    """One edit after the other. What was loaded stays as it is. All mistakes are raised together, with the `problems`
    that are known already. `namespace`: where a name is looked for first that comes without."""
    found = list(problems)
    refuted = {problem.source for problem in found}
    edited, mistakes = attempt(loaded, [edit for edit in edits if str(edit) not in refuted], namespace)
    found += [Problem(str(mistake), str(edit), hint=mistake.hint) for edit, mistake in mistakes]
    if found:
        raise UsageError(found)
    return edited


def attempt(
    loaded: Loaded, edits: Iterable[Edit], namespace: str = ""
) -> tuple[Edited, list[tuple[Edit, EditMistake]]]:
    """The edits that can be made, and those that cannot."""
    editor = Editor(loaded, namespace)
    mistakes = []
    for edit in edits:
        try:
            _HANDLERS[type(edit)](editor, edit)
        except EditMistake as mistake:
            mistakes.append((edit, mistake))
    run_daemon_sets(editor)
    return Edited(editor.loaded, tuple(editor.refused)), mistakes


def without_nodes(loaded: Loaded, names: Collection[str]) -> Loaded:
    """The cluster when these nodes are lost, all at once."""
    editor = Editor(loaded)
    nodes.remove_nodes(editor, names)
    return editor.loaded


_HANDLERS: Mapping[type[Any], Callable[[Editor, Any], None]] = {
    AddNode: nodes.add_node,
    CloneNode: nodes.clone_node,
    RemoveNode: nodes.remove_node,
    Cordon: nodes.cordon,
    Uncordon: nodes.uncordon,
    Drain: nodes.drain,
    SetTaint: nodes.set_taint,
    RemoveTaint: nodes.remove_taint,
    SetLabel: nodes.set_label,
    RemoveLabel: nodes.remove_label,
    Scale: workloads.scale,
    Delete: workloads.delete,
}
