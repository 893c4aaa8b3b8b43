"""Edits of one command line, or of one step, that contradict each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence

from ksched_cli.errors import Problem
from ksched_cli.whatif.edits.lib.edit import GIVE_ONE, Clash, Edit


def contradictions(edits: Sequence[Edit]) -> list[Problem]:
    """One problem for each edit that contradicts another edit of the same object."""
    return [Problem(text, str(edit), hint=hint) for edit, text, hint in edit_clashes(edits)]


def edit_clashes(edits: Sequence[Edit]) -> Iterator[tuple[Edit, str, str]]:
    """The edit, the edit that it contradicts, and a hint."""
    by_subject: defaultdict[Hashable, list[Edit]] = defaultdict(list)
    for edit in edits:
        if edit.subject is not None:
            by_subject[edit.subject].append(edit)
    for same in by_subject.values():
        yield from _of_one_subject(same)


def _of_one_subject(edits: Sequence[Edit]) -> Iterator[tuple[Edit, str, str]]:
    first: dict[Hashable, Edit] = {}
    for edit in edits:
        clash = next((found for other in edits if (found := other.rules_out(edit)) is not None), None)
        clash = clash or _set_before(edit, first)
        if clash is not None:
            yield edit, *clash


def _set_before(edit: Edit, first: dict[Hashable, Edit]) -> Clash | None:
    if edit.sets is None:
        return None
    before = first.setdefault(edit.sets, edit)
    return None if before == edit else (f"contradicts {before}", GIVE_ONE)
