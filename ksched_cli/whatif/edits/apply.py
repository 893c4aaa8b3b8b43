"""Edits made in a control plane."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.errors import Problem, UsageError
from ksched_cli.whatif.edits import nodes, workloads
from ksched_cli.whatif.edits.editor import Editor
from ksched_cli.whatif.edits.values import (
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


def apply_edits(
    plane: ControlPlane, edits: Iterable[Edit], problems: Iterable[Problem] = (), namespace: str = ""
) -> None:
    """One edit after the other. All mistakes are raised together, with the `problems` that are known already.
    `namespace` is where a name is looked for first that comes without one."""
    found = list(problems)
    refuted = {problem.source for problem in found}
    mistakes = attempt_edits(plane, [edit for edit in edits if str(edit) not in refuted], namespace)
    found += [Problem(str(mistake), str(edit), hint=mistake.hint) for edit, mistake in mistakes]
    if found:
        raise UsageError(found)


def attempt_edits(plane: ControlPlane, edits: Iterable[Edit], namespace: str = "") -> list[tuple[Edit, EditMistake]]:
    """Make the edits that can be made. Returns those that cannot, with the reason."""
    editor = Editor(plane, namespace)
    mistakes = []
    for edit in edits:
        try:
            _HANDLERS[type(edit)](editor, edit)
        except EditMistake as mistake:
            mistakes.append((edit, mistake))
    return mistakes


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
