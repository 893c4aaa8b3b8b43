"""`drain`: nodes drained in a loaded cluster.

Which nodes are drained, together or in turn."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Node
from ksched_cli.api.node_facts import full_node_name, zone_of
from ksched_cli.api.selectors import Selector, read_query
from ksched_cli.errors import Problem, UsageError
from ksched_cli.plan.drain.filters import Flags
from ksched_cli.plan.drain.results import DrainTrial
from ksched_cli.plan.drain.run import DrainRun
from ksched_cli.plan.results.displayed import Displayed
from ksched_cli.plan.results.nodes import NodeChanges
from ksched_cli.plan.results.outcomes import Stats
from ksched_cli.plan.run.loaded_input import LoadedInput
from ksched_cli.progress import steps
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.edits.lib.editor import name_hint

Each = Literal["node", "zone"]

_NO_ZONE = "(no zone)"


def find_nodes(loaded: Loaded, names: Sequence[str], selector: Selector | None) -> list[str]:
    """The named nodes in that order, once each; those that the selector matches; all, when neither is given."""
    nodes = {node.metadata.name: node for node in loaded.of(Node)}
    wanted = list(dict.fromkeys(full_node_name(name, nodes) for name in names))
    unknown = [name for name in wanted if name not in nodes]
    if unknown:
        raise UsageError(Problem(f'there is no node "{name}"', hint=name_hint(name, nodes)) for name in unknown)
    if names:
        return wanted
    return sorted(name for name, node in nodes.items() if selector is None or selector.matches(node.metadata.labels))


def in_turn(loaded: Loaded, nodes: Sequence[str], each: Each | None) -> list[tuple[str, tuple[str, ...]]]:
    """What is drained together, by its name: everything, or every node or zone by itself."""
    if each is None:
        return [(", ".join(nodes), tuple(nodes))]
    if each == "node":
        return [(node, (node,)) for node in nodes]
    zones: dict[str, list[str]] = {}
    for node in nodes:
        found = loaded.named(Node, node)
        assert found is not None
        zones.setdefault(zone_of(found) or _NO_ZONE, []).append(node)
    return [(zone, tuple(sorted(members))) for zone, members in sorted(zones.items())]


class TrialSequence:
    """Each trial runs when it is read for the first time."""

    def __init__(self, names: Sequence[str], run: Iterator[DrainTrial]) -> None:
        self.names = tuple(names)
        self._run = run
        self._done: list[DrainTrial] = []

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[DrainTrial]:
        for at in range(len(self)):
            if at == len(self._done):
                self._done.append(next(self._run))
            yield self._done[at]
        # The loop of the run is over, and its progress bar goes away.
        next(self._run, None)


class DrainTrials(Displayed, Struct, frozen=True):
    """All nodes drained together in a single trial, or each node or zone (`each`) in a trial of its own."""

    trials: TrialSequence
    each: Each | None
    _run: DrainRun
    _started: float

    @property
    def coverage(self) -> Mapping[str, Any]:
        return self._run.coverage

    @property
    def warnings(self) -> tuple[str, ...]:
        return self._run.source.warnings

    @property
    def nodes(self) -> NodeChanges:
        """All nodes before the drain and after it; only before where each has a trial of its own."""
        changes = None if self.each else next(iter(self.trials)).changes
        return changes or NodeChanges(self._run.nodes, self._run.nodes)

    @property
    def stats(self) -> Stats:
        """Up to now, with all trials run."""
        evicted = sum(len(node.of("moves", "unplaced")) for trial in self.trials for node in trial.drain.nodes)
        return self._run.stats(evicted, time.perf_counter() - self._started)


def drain_nodes(
    source: LoadedInput,
    names: Sequence[str],
    selector: str,
    flags: Flags,
    *,
    each: Each | None = None,
    pending_first: bool = True,
    every_pod: bool = False,
) -> DrainTrials:
    """Every trial starts from the loaded cluster, in which the pending pods get their nodes once: those that take a
    place on nodes of the trial look for another one. With `every_pod` the end of a single drain has all pods, not only
    those to which something happened."""
    nodes = find_nodes(source.loaded, names, read_query(selector) if selector else None)
    if not nodes:
        raise UsageError("there is no node to drain" + (f": none matches -l {selector}" if selector else ""))
    source = source.without_rollouts()
    if not pending_first:
        source = replace(source, loaded=source.loaded.without_pending())
    run = DrainRun(source, flags, moved_only=not every_pod)
    started = time.perf_counter()
    groups = in_turn(source.loaded, nodes, each)
    return DrainTrials(TrialSequence([name for name, _ in groups], _trials(run, groups)), each, run, started)


def _trials(run: DrainRun, groups: Sequence[tuple[str, tuple[str, ...]]]) -> Iterator[DrainTrial]:
    results = run.drain_in_turn([nodes for _, nodes in groups])
    for (name, nodes), result in steps(zip(groups, results, strict=True), "drains are done", len(groups)):
        yield DrainTrial(name, nodes, result, run.node_changes() if len(groups) == 1 else None)
