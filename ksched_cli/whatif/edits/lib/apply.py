"""Edits made in a control plane."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ksched_cli.api.core import Node
from ksched_cli.api.node_facts import full_node_name
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.errors import Problem, UsageError
from ksched_cli.whatif.edits.lib.arguments import EditMistake
from ksched_cli.whatif.edits.lib.edit import Edit, NodeEdit
from ksched_cli.whatif.edits.lib.editor import Editor


def apply_edits(
    plane: ControlPlane, edits: Iterable[Edit], problems: Iterable[Problem] = (), namespace: str = ""
) -> None:
    """Make the edits in order. Mistakes are raised together with the `problems`. `namespace` is that of names without
    one."""
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
            _with_full_name(edit, plane).apply(editor)
        except EditMistake as mistake:
            mistakes.append((edit, mistake))
    return mistakes


def _with_full_name(edit: Edit, plane: ControlPlane) -> Edit:
    """The edit of the node that is meant: people write the part of its name before the first dot."""
    if not isinstance(edit, NodeEdit):
        return edit
    if plane.store.get(Node, edit.node) is not None:
        return edit
    name = full_node_name(edit.node, [node.metadata.name for node in plane.store.of(Node)])
    return edit if name == edit.node else replace(edit, node=name)
