"""A scenario as it is run: edits and expectations, each with where it is written."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from ksched_cli.whatif.edits.lib.edit import Edit, Reference


class ScenarioPlace(Struct, frozen=True):
    """Where something stands in the file."""

    line: int
    path: str


class Schedulable(Struct, frozen=True):
    """Every pod that was pending has a node, or every pod of the target; or none of them has."""

    place: ScenarioPlace
    target: Reference | None = None
    wanted: bool = True

    def __str__(self) -> str:
        word = "schedulable" if self.wanted else "unschedulable"
        return f"{word}: {self.target or 'every pod'}"


class On(Struct, frozen=True):
    """All pods of the target are on these nodes, or none of them is."""

    place: ScenarioPlace
    target: Reference
    nodes: tuple[str, ...]
    wanted: bool = True

    def __str__(self) -> str:
        return f"{'on' if self.wanted else 'not on'} {', '.join(self.nodes)}: {self.target}"


class Spread(Struct, frozen=True):
    """The numbers of the target's pods in the domains of a label differ by so much at most."""

    place: ScenarioPlace
    target: Reference
    topology_key: str
    max_skew: int

    def __str__(self) -> str:
        return f"spread over {self.topology_key} within {self.max_skew}: {self.target}"


class NoPreemption(Struct, frozen=True):
    place: ScenarioPlace

    def __str__(self) -> str:
        return "no preemption"


class Survives(Struct, frozen=True):
    """Whichever so many nodes, or domains of a label, are lost: all pods that controllers make anew find a node."""

    place: ScenarioPlace
    what: str
    count: int

    def __str__(self) -> str:
        return f"survives the loss of any {self.count} {self.what}{'s' if self.count > 1 else ''}"


Expectation: TypeAlias = Schedulable | On | Spread | NoPreemption | Survives


class PlacedEdit(Struct, frozen=True):
    place: ScenarioPlace
    edit: Edit


class ScenarioStep(Struct, frozen=True):
    name: str
    place: ScenarioPlace
    manifests: tuple[str, ...]
    edits: tuple[PlacedEdit, ...]
    expectations: tuple[Expectation, ...]


class Scenario(Struct, frozen=True):
    name: str
    source: str
    steps: tuple[ScenarioStep, ...]


TOPOLOGY = {
    "node": "kubernetes.io/hostname",
    "zone": "topology.kubernetes.io/zone",
    "region": "topology.kubernetes.io/region",
}
