"""Two clusters, configurations or versions put together and compared."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from ksched_cli.plan.diff import Diff, Side, diff
from ksched_cli.plan.results import refused_pods
from ksched_cli.plan.settle_world import SettleWorld
from ksched_cli.plan.simulate import OutputOptions
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.changes import Changes, loaded_after, refused_by
from ksched_cli.wiring import (
    LoadedInput,
    RunOptions,
    change_gathered,
    coverage_of,
    make_scheduler,
    read_sources,
)
from ksched_cli.wiring.emptiness import check_not_empty
from ksched_cli.wiring.reading import check_scenario_held, read_unchanged
from ksched_cli.wiring.scenarios import play_scenario


@dataclass(frozen=True)
class DiffResult:
    """The difference, and what there is to say of each side's input."""

    diff: Diff
    coverage: tuple[dict[str, Any], dict[str, Any]]
    warnings: tuple[str, ...]


def compare(before: RunOptions, after: RunOptions, stdin: BinaryIO | None = None) -> DiffResult:
    """Each side as its world comes to rest. A cluster that both have is read once."""
    cluster = read_sources(before, stdin) if _same_cluster(before, after) else None
    if "-" in before.filenames and "-" in after.filenames and stdin is not None:
        stdin = _Rewinding(stdin.read())
    first, second = (_settled(setup, stdin, cluster) for setup in (before, after))
    found = diff(first.side, second.side, second.gathered.wanted)
    if before != after and only_rules_differ(before, after):
        # Imported here: most comparisons need no causes.
        from ksched_cli.plan.causes.assign import with_causes
        from ksched_cli.wiring.routes import way_between

        way = way_between(before, after, first.gathered.setting, second.gathered.setting)
        everything = diff(first.side, second.side)
        begun = change_gathered(first.gathered, first.changes).loaded
        found = with_causes(found, everything, way, begun, first.side, second.side)
    return DiffResult(found, (first.coverage, second.coverage), tuple(_warnings(first, second)))


def only_rules_differ(before: RunOptions, after: RunOptions) -> bool:
    """The same cluster under another version, other gates or another configuration. A scenario has made two clusters
    of it by now; and extenders are not asked once more."""
    alike = replace(after, config=before.config, kube_version=before.kube_version, feature_gates=before.feature_gates)
    return alike == before and before.scenario is None and not before.allow_extenders


@dataclass(frozen=True)
class _Settled:
    """A side, what it was made of, and what there is to say of it."""

    side: Side
    gathered: LoadedInput
    changes: Changes
    coverage: dict[str, Any]


def _settled(setup: RunOptions, stdin: BinaryIO | None, cluster: Loaded | None) -> _Settled:
    if setup.scenario is not None:
        run, gathered = play_scenario(setup, stdin, cluster)
        check_scenario_held(run.result)
        side = Side(run.loaded, run.settlement, run.scheduler)
        return _Settled(side, gathered, Changes(), coverage_of(run.scheduler, run.loaded, gathered.setting))
    gathered, changes = read_unchanged(setup, stdin, cluster)
    check_not_empty(setup, gathered.loaded, changes.manifests)
    settling = SettleWorld(make_scheduler(setup, gathered.loaded, gathered.setting), OutputOptions(), gathered.loaded)
    world = settling.world
    world.apply(changes)
    settlement = settling.settlement(world.result(world.run()))
    loaded = loaded_after(world.plane, changes)
    side = Side(loaded, settlement, world.scheduler, refused_pods(refused_by(world.plane)))
    return _Settled(side, gathered, changes, coverage_of(world.scheduler, loaded, gathered.setting))


class _Rewinding(io.BytesIO):
    """Manifests that come by stdin are on both sides."""

    def read(self, size: int | None = -1, /) -> bytes:
        self.seek(0)
        return super().read(size)


def _same_cluster(before: RunOptions, after: RunOptions) -> bool:
    return (before.sources, before.live) == (after.sources, after.live)


def _warnings(before: _Settled, after: _Settled) -> list[str]:
    """Those of one side only say of which."""
    first, second = (
        (*each.side.loaded.warnings, *each.gathered.setting.warnings, *_unsettled(each.side))
        for each in (before, after)
    )
    return [
        *(text for text in first if text in second),
        *(f"before: {text}" for text in first if text not in second),
        *(f"after: {text}" for text in second if text not in first),
    ]


def _unsettled(side: Side) -> tuple[str, ...]:
    world = side.settlement.world
    return () if world.settled else (f"the cluster does not come to rest ({world.ending} after {world.seconds:g} s)",)
