"""Two clusters, configurations or versions put together and compared."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any, BinaryIO

from ksched_cli.plan.aftermath import play_out
from ksched_cli.plan.causes.assign import with_causes
from ksched_cli.plan.diff import Diff, Side, diff
from ksched_cli.wiring import Gathered, Setup, assemble, gather, read_sources, scheduler_maker
from ksched_cli.wiring.routes import only_rules_differ, route


@dataclass(frozen=True)
class Compared:
    """The difference, and what there is to say of each side's input."""

    diff: Diff
    coverage: tuple[dict[str, Any], dict[str, Any]]
    warnings: tuple[str, ...]


def compare(before: Setup, after: Setup, stdin: BinaryIO | None = None) -> Compared:
    """Both sides placed as far as can be. A cluster that both have is read once."""
    cluster = read_sources(before, stdin) if _same_cluster(before, after) else None
    if "-" in before.filenames and "-" in after.filenames and stdin is not None:
        stdin = _Rewinding(stdin.read())
    gathered = [gather(side, stdin, cluster) for side in (before, after)]
    sides, coverage = [], []
    for setup, each in zip((before, after), gathered, strict=True):
        coverage.append(assemble(setup, each).coverage)
        sides.append(_place(setup, each))
    found = diff(sides[0], sides[1], gathered[1].wanted)
    if before != after and only_rules_differ(before, after):
        everything = diff(sides[0], sides[1])
        way = route(before, after, gathered[0].setting, gathered[1].setting)
        found = with_causes(found, everything, way, gathered[0].loaded, sides[0], sides[1])
    return Compared(found, (coverage[0], coverage[1]), tuple(_warnings(*gathered)))


class _Rewinding(io.BytesIO):
    """Manifests that come by stdin are on both sides."""

    def read(self, size: int | None = -1, /) -> bytes:
        self.seek(0)
        return super().read(size)


def _same_cluster(before: Setup, after: Setup) -> bool:
    return (before.sources, before.live) == (after.sources, after.live)


def _place(setup: Setup, gathered: Gathered) -> Side:
    return Side(play_out(gathered.loaded, scheduler_maker(setup, gathered.setting)), gathered.refused)


def _warnings(before: Gathered, after: Gathered) -> list[str]:
    """Those of one side only say of which."""
    first, second = ((*each.loaded.warnings, *each.setting.warnings) for each in (before, after))
    return [
        *(text for text in first if text in second),
        *(f"before: {text}" for text in first if text not in second),
        *(f"after: {text}" for text in second if text not in first),
    ]
