"""Two clusters, configurations or versions put together and compared."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from ksched_cli.api.core import Node
from ksched_cli.api.node_facts import zone_of
from ksched_cli.plan.coverage import coverage_of
from ksched_cli.plan.diff import Diff, Side, diff
from ksched_cli.plan.displayed import Displayed
from ksched_cli.plan.loaded_input import LoadedInput
from ksched_cli.plan.node_columns import NodeColumns
from ksched_cli.plan.results import refused_pods
from ksched_cli.plan.scenario import play_scenario
from ksched_cli.plan.settle_world import SettleWorld
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.changes import Changes, loaded_after, refused_by
from ksched_cli.wiring.loading import check_not_empty, check_scenario_held, check_selection, load_input, read_sources
from ksched_cli.wiring.options import RunOptions


@dataclass(frozen=True, repr=False)
class DiffResult(Displayed):
    """The difference, and the notes about each side's input. `zones` of the nodes of both sides."""

    diff: Diff
    coverage: tuple[dict[str, Any], dict[str, Any]]
    warnings: tuple[str, ...]
    zones: Mapping[str, str] = field(default_factory=dict)


def compare(before: RunOptions, after: RunOptions) -> DiffResult:
    """Each side as its world comes to rest. A cluster that both have is read once, and is one world if both have the
    same scheduler: the side before is a trial in it."""
    cluster = read_sources(before) if _same_cluster(before, after) else None
    if "-" in before.filenames and "-" in after.filenames and before.stdin is not None:
        stdin = _Rewinding(before.stdin.read())
        before, after = replace(before, stdin=stdin), replace(after, stdin=stdin)
    start = _begin(before, cluster)
    if cluster is not None and _same_scheduler(before, after):
        with start.settling.world.trial():
            first = _settled(before, start)
        second = _settled(after, _begin(after, cluster, start.settling), in_all_orders=True)
    else:
        first = _settled(before, start)
        second = _settled(after, _begin(after, cluster), in_all_orders=True)
    both = (each for side in (first, second) for each in (side.source.loaded, side.changes.manifests))
    check_selection(before, *both)
    found = diff(first.side, second.side, second.source.wanted)
    if before != after and only_rules_differ(before, after):
        # Imported here: most comparisons need no causes.
        from ksched_cli.plan.causes.assign import with_causes
        from ksched_cli.wiring.routes import find_way

        way = find_way(before, after, first.source.spec, second.source.spec)
        everything = diff(first.side, second.side)
        begun = first.source.changed(first.changes).loaded
        found = with_causes(found, everything, way, begun, first.side, second.side)
    nodes = (node for each in (first, second) for node in each.side.loaded.of(Node))
    zones = {node.metadata.name: zone_of(node) for node in nodes}
    return DiffResult(found, (first.coverage, second.coverage), tuple(_warnings(first, second)), zones)


def only_rules_differ(before: RunOptions, after: RunOptions) -> bool:
    """The same cluster under another version, other gates or another configuration. A scenario has made two clusters
    of it by now; and extenders are not called once more."""
    alike = replace(after, config=before.config, kube_version=before.kube_version, feature_gates=before.feature_gates)
    return alike == before and before.scenario is None and not before.allow_extenders


@dataclass(frozen=True)
class _Settled:
    """A side, what it was made of, and the notes about it."""

    side: Side
    source: LoadedInput
    changes: Changes
    coverage: dict[str, Any]


@dataclass(frozen=True)
class _Start:
    """A side before its changes are made."""

    source: LoadedInput
    changes: Changes
    settling: SettleWorld


def _begin(setup: RunOptions, cluster: Loaded | None, settling: SettleWorld | None = None) -> _Start:
    source, changes = load_input(setup, cluster)
    # Only the expectations of a scenario need more.
    return _Start(source, changes, settling or SettleWorld.of(source, only_preempting=setup.scenario is None))


def _settled(setup: RunOptions, start: _Start, *, in_all_orders: bool = False) -> _Settled:
    source, changes, settling = start.source, start.changes, start.settling
    world = settling.world
    if setup.scenario is not None:
        run = play_scenario(setup.scenario, source, changes, settling=settling)
        check_scenario_held(run.result)
        side = Side(run.loaded, run.settlement, run.nodes.after)
        source = replace(source, loaded=run.loaded)
        return _Settled(side, source, Changes(), coverage_of(world.scheduler, run.loaded, source.spec))
    check_not_empty(setup, source.loaded, changes.manifests)
    settlement = settling.settlement((settling.run if in_all_orders else settling.run_once)(changes))
    loaded = loaded_after(world.plane, changes)
    side = Side(loaded, settlement, NodeColumns.of(world.cluster), refused_pods(refused_by(world.plane)))
    return _Settled(side, source, changes, coverage_of(world.scheduler, loaded, source.spec))


class _Rewinding(io.BytesIO):
    """Manifests that come by stdin are on both sides."""

    def read(self, size: int | None = -1, /) -> bytes:
        self.seek(0)
        return super().read(size)


def _same_cluster(before: RunOptions, after: RunOptions) -> bool:
    return (before.sources, before.live) == (after.sources, after.live)


def _same_scheduler(before: RunOptions, after: RunOptions) -> bool:
    """Whether the sides differ in nothing but what is changed in the cluster, and how that is shown."""
    changes = {"filenames", "reading", "edits", "scenario", "allow_empty", "namespace", "selector"}
    others = (each.name for each in fields(RunOptions) if each.name not in changes)
    alike = all(getattr(before, name) == getattr(after, name) for name in others)
    return alike and (before.scenario is None) == (after.scenario is None)


def _warnings(before: _Settled, after: _Settled) -> list[str]:
    """The notes of both sides; a note of one side only names the side."""
    first, second = (
        (*each.side.loaded.warnings, *each.source.spec.warnings, *_unsettled(each.side)) for each in (before, after)
    )
    return [
        *(text for text in first if text in second),
        *(f"before: {text}" for text in first if text not in second),
        *(f"after: {text}" for text in second if text not in first),
    ]


def _unsettled(side: Side) -> tuple[str, ...]:
    world = side.settlement.world
    return () if world.settled else (f"the cluster does not come to rest ({world.ending} after {world.seconds:g} s)",)
