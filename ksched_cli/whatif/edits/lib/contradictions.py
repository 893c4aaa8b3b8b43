"""Edits of one command line, or of one step, that contradict each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence

from ksched_cli.errors import Problem
from ksched_cli.whatif.edits.lib.edit import GIVE_ONE, Edit


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
