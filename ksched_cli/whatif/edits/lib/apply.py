"""Makes edits in a control plane, after the contradictions between them are found. Edits are made in the order of their
declarations, in whichever order they are given."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence

from msgspec.structs import replace

from ksched_cli.api.core import Node
from ksched_cli.api.object_facts import full_node_name
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.errors import Problem, UsageError
from ksched_cli.whatif.edits.lib.arguments import EditMistake
from ksched_cli.whatif.edits.lib.edit import GIVE_ONE, Edit, NodeEdit
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


def contradictions(edits: Sequence[Edit]) -> list[Problem]:
    """One problem for each edit that contradicts another edit of the same object."""
    return [Problem(text, str(edit), hint=hint) for edit, text, hint in edit_clashes(edits)]


def edit_clashes(edits: Sequence[Edit]) -> Iterator[tuple[Edit, str, str]]:
    """Each edit that contradicts another edit of the same object, with the reason and a hint."""
    by_subject: defaultdict[Hashable, list[Edit]] = defaultdict(list)
    for edit in edits:
        if edit.subject is not None:
            by_subject[edit.subject].append(edit)
    for same in by_subject.values():
        first: dict[Hashable, Edit] = {}
        for edit in same:
            clash = next((found for other in same if (found := other.rules_out(edit)) is not None), None)
            if clash is None and edit.sets is not None and (before := first.setdefault(edit.sets, edit)) != edit:
                clash = f"contradicts {before}", GIVE_ONE
            if clash is not None:
                yield edit, *clash
