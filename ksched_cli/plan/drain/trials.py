"""Nodes drained together, or each node or zone by itself, always from the same beginning."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.drain.filters import Flags
from ksched_cli.plan.drain.results import Trial
from ksched_cli.plan.drain.run import drain
from ksched_cli.sources.edits.editor import Editor
from ksched_cli.sources.edits.nodes import cordon
from ksched_cli.sources.edits.values import Cordon
from ksched_cli.sources.loaded import Loaded


def drain_in_turn(
    loaded: Loaded,
    make: Callable[[Loaded], Scheduler],
    groups: Sequence[tuple[str, Sequence[str]]],
    flags: Flags,
    *,
    pending_first: bool = True,
) -> Iterator[Trial]:
    """`make` gives a scheduler of its own for every trial; the nodes of the trial are cordoned in what it is given."""
    if not pending_first:
        loaded = loaded.without_pending()
    existing = Editor(loaded).existing()
    for name, nodes in groups:
        editor = Editor(loaded)
        for node in nodes:
            cordon(editor, Cordon(node))
        yield Trial(name, tuple(nodes), drain(make(editor.loaded), editor.loaded, existing, nodes, flags))
