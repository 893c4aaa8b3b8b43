"""The results of a check, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from msgspec import Struct

from ksched_cli.errors import Level
from ksched_cli.plan.displayed import Displayed
from ksched_cli.plan.evicted import WorkloadLoss
from ksched_cli.plan.node_columns import NodeChanges
from ksched_cli.plan.results import Stats
from ksched_cli.sources.places import SourcePlace
from ksched_cli.world.results import Orders, WorldResult


class Finding(Struct, frozen=True):
    """One finding about a workload, or about the input if `workload` is empty. `place` is the field that decides;
    `step` the one that a rollout stops at."""

    code: str
    name: str
    level: Level
    title: str
    workload: str
    message: str
    place: SourcePlace
    pods: tuple[str, ...] = ()
    plugin: str = ""
    reasons: tuple[str, ...] = ()
    step: int = 0


class IgnoredFinding(Struct, frozen=True):
    """An accepted finding and the reason for it."""

    finding: Finding
    by: Literal["annotation", "option", "baseline"]
    reason: str = ""


class RolloutStep(Struct, frozen=True):
    """The changes at one moment of virtual time: the pods that were created, got a node or were removed, by name."""

    made: tuple[str, ...]
    placed: Mapping[str, str]
    removed: tuple[str, ...]
    seconds: float = 0.0


class WorkloadCheck(Struct, frozen=True):
    """A workload of the manifests. `pods`: how many there are to be; `running`: how many of them have a node and are
    of the manifest's template; `old`: how many are left that should have gone; `missing`: kinds that could not be read
    and could make it otherwise; `is_excused`: all errors of the workload are ignored."""

    workload: str
    place: SourcePlace
    pods: int
    running: int
    old: int
    rollout: bool
    steps: tuple[RolloutStep, ...]
    findings: tuple[Finding, ...]
    missing: tuple[str, ...] = ()
    orders: Orders | None = None
    is_excused: bool = False

    @property
    def result(self) -> str:
        levels = {finding.level for finding in self.findings}
        if "error" in levels:
            return "fails"
        if self.is_excused:
            return "ignored"
        waits = self.running < self.pods
        if any(finding.level == "note" and (finding.pods or waits) for finding in self.findings):
            return "held back"
        return "warns" if "warning" in levels else "fits"


@dataclass(frozen=True, slots=True, repr=False)
class Check(Displayed):
    """All of it. `evicted`: pods that make room because of the manifests, `losses`: the same by workload, with what
    became of them; `evicted_anyway`: pods that pending pods of the cluster evict with or without the manifests.
    `world`: the cluster at rest, before any pod of a Job has finished. `inputs`: what is wrong with the files.
    `ignored`: findings that are accepted; they are in none of the other fields."""

    workloads: tuple[WorkloadCheck, ...]
    evicted: tuple[str, ...]
    coverage: Mapping[str, Any]
    stats: Stats
    warnings: tuple[str, ...] = ()
    losses: tuple[WorkloadLoss, ...] = ()
    world: WorldResult | None = None
    inputs: tuple[Finding, ...] = ()
    ignored: tuple[IgnoredFinding, ...] = ()
    evicted_anyway: tuple[str, ...] = ()
    # The nodes before the manifests are applied, and at rest.
    nodes: NodeChanges | None = field(default=None, compare=False, repr=False)

    @property
    def is_input_wrong(self) -> bool:
        """Whether part of the input was not checked because it is wrong, or all of it."""
        return any(finding.level == "error" for finding in self.inputs)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, errors first, each level in the order of the manifests."""
        found = [*self.inputs, *(finding for workload in self.workloads for finding in workload.findings)]
        return tuple(sorted(found, key=lambda finding: _LEVELS.index(finding.level)))

    def count(self, level: Level) -> int:
        return sum(finding.level == level for finding in self.findings)


_LEVELS = ("error", "warning", "note")
