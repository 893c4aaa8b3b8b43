"""A scenario as it is run: edits and expectations, each with where it is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ksched_cli.whatif.edits.lib.edit import Edit, Reference


@dataclass(frozen=True, slots=True)
class ScenarioPlace:
    """Where something stands in the file."""

    line: int
    path: str


@dataclass(frozen=True, slots=True)
class Schedulable:
    """Every pod that was pending has a node, or every pod of the target; or none of them has."""

    place: ScenarioPlace
    target: Reference | None = None
    wanted: bool = True

    def __str__(self) -> str:
        word = "schedulable" if self.wanted else "unschedulable"
        return f"{word}: {self.target or 'every pod'}"


@dataclass(frozen=True, slots=True)
class On:
    """All pods of the target are on these nodes, or none of them is."""

    place: ScenarioPlace
    target: Reference
    nodes: tuple[str, ...]
    wanted: bool = True

    def __str__(self) -> str:
        return f"{'on' if self.wanted else 'not on'} {', '.join(self.nodes)}: {self.target}"


@dataclass(frozen=True, slots=True)
class Spread:
    """The numbers of the target's pods in the domains of a label differ by so much at most."""

    place: ScenarioPlace
    target: Reference
    topology_key: str
    max_skew: int

    def __str__(self) -> str:
        return f"spread over {self.topology_key} within {self.max_skew}: {self.target}"


@dataclass(frozen=True, slots=True)
class NoPreemption:
    place: ScenarioPlace

    def __str__(self) -> str:
        return "no preemption"


@dataclass(frozen=True, slots=True)
class Survives:
    """Whichever so many nodes, or domains of a label, are lost: all pods that controllers make anew find a node."""

    place: ScenarioPlace
    what: str
    count: int

    def __str__(self) -> str:
        return f"survives the loss of any {self.count} {self.what}{'s' if self.count > 1 else ''}"


Expectation: TypeAlias = Schedulable | On | Spread | NoPreemption | Survives


@dataclass(frozen=True, slots=True)
class PlacedEdit:
    place: ScenarioPlace
    edit: Edit


@dataclass(frozen=True, slots=True)
class ScenarioStep:
    name: str
    place: ScenarioPlace
    manifests: tuple[str, ...]
    edits: tuple[PlacedEdit, ...]
    expectations: tuple[Expectation, ...]


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    source: str
    steps: tuple[ScenarioStep, ...]


TOPOLOGY = {
    "node": "kubernetes.io/hostname",
    "zone": "topology.kubernetes.io/zone",
    "region": "topology.kubernetes.io/region",
}
