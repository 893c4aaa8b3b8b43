"""`drain`: finds the nodes to drain, drains them together or each by itself, and makes the result."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

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

if TYPE_CHECKING:
    from ksched_cli.autoscale.karpenter.decision import Provisioning

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


class DrainTrials(Displayed, Struct, frozen=True):
    """All nodes drained together in a single trial, or each node or zone (`each`) in a trial of its own. `nodes` are
    all nodes before the drain and after it; only before where each has a trial of its own. `was_interrupted`: the
    trials are those that were done by then."""

    trials: tuple[DrainTrial, ...]
    each: Each | None
    nodes: NodeChanges
    coverage: Mapping[str, Any]
    warnings: tuple[str, ...]
    stats: Stats
    was_interrupted: bool = False
    # The nodes that the autoscaler of the cluster adds while all nodes are drained together.
    autoscaling: Provisioning | None = None


def drain_nodes(
    source: LoadedInput,
    names: Sequence[str],
    selector: str,
    flags: Flags,
    *,
    each: Each | None = None,
    pending_first: bool = True,
    every_pod: bool = False,
    done: Callable[[DrainTrial], object] = lambda trial: None,
    partial: bool = False,
) -> DrainTrials:
    """Every trial starts from the loaded cluster, in which the pending pods get their nodes once: those that take a
    place on nodes of the trial look for another one. With `every_pod` the end of a single drain has all pods, not only
    those to which something happened. `done` is called with each trial at its end. With `partial` the result has the
    trials that are done when the user interrupts the run, if there are any."""
    nodes = find_nodes(source.loaded, names, read_query(selector) if selector else None)
    if not nodes:
        raise UsageError("there is no node to drain" + (f": none matches -l {selector}" if selector else ""))
    source = source.without_rollouts()
    if not pending_first:
        source = replace(source, loaded=source.loaded.without_pending())
    run = DrainRun(source, flags, moved_only=not every_pod)
    started = time.perf_counter()
    groups = in_turn(source.loaded, nodes, each)
    results = zip(groups, run.drain_in_turn([group for _, group in groups]), strict=True)
    trials: list[DrainTrial] = []
    was_interrupted = False
    try:
        for (name, group), result in steps(results, "drains are done", len(groups)):
            trials.append(DrainTrial(name, group, result))
            done(trials[-1])
    except KeyboardInterrupt:
        if not partial or not trials:
            raise
        was_interrupted = True
    evicted = sum(len(node.of("moves", "unplaced")) for trial in trials for node in trial.drain.nodes)
    return DrainTrials(
        tuple(trials),
        each,
        run.node_changes() if each is None else NodeChanges(run.nodes, run.nodes),
        run.coverage,
        source.warnings,
        run.stats(evicted, time.perf_counter() - started),
        was_interrupted,
        run.provisioned() if each is None else None,
    )
