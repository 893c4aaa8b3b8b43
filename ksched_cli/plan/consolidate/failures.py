"""Nodes, zones or regions that may fail after a consolidation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from math import comb

from msgspec import Struct

from ksched_cli.api.core import Node
from ksched_cli.errors import Problem, UsageError
from ksched_cli.plan.expectations import domains
from ksched_cli.whatif.scenario.model import TOPOLOGY

# Each failure is tried by itself, and no failure is left out: more are refused.
MOST_FAILURES = 20_000


class NodeFailure(Struct, frozen=True):
    """Nodes that fail at once. `title` names them, or their zones."""

    title: str
    nodes: tuple[str, ...]


class NodeFailures(Struct, frozen=True):
    """Every choice of `count` nodes, zones or regions fails together."""

    what: str
    count: int

    def __str__(self) -> str:
        return f"--survive {self.what}={self.count}"

    def check(self, nodes: Iterable[Node]) -> None:
        """UsageError if these nodes have fewer domains, or too many choices of them."""
        found = len(domains(nodes, self.what))
        if not found:
            raise UsageError(Problem(f"no node has the label {TOPOLOGY[self.what]}", str(self)))
        if self.count > found:
            text = f"{self.count} cannot fail together: the input has {found} {self.what}{'s' if found > 1 else ''}"
            raise UsageError(Problem(text, str(self)))
        if comb(found, self.count) > MOST_FAILURES:
            text = f"any {self.count} of {found} {self.what}s are {comb(found, self.count):,} failures"
            hint = "let fewer fail together, or a zone: --survive zone=1"
            raise UsageError(Problem(f"{text}, and at most {MOST_FAILURES:,} are tried", str(self), hint=hint))

    def of(self, nodes: Iterable[Node]) -> Iterator[NodeFailure]:
        """The failures of these nodes. Where fewer are left, they all fail together."""
        found = domains(nodes, self.what)
        for names in combinations(found, min(self.count, len(found))):
            several = "s" if len(names) > 1 else ""
            title = f"{self.what}{several} {' and '.join(names)}"
            yield NodeFailure(title, tuple(node for name in names for node in found[name]))


def read_failures(text: str) -> NodeFailures | None:
    """`node=1`."""
    if not text:
        return None
    what, _, number = text.partition("=")
    if what not in TOPOLOGY or not number.isdecimal() or int(number) < 1:
        hint = "write node=1, node=2 or zone=1: every pod still has a place after any so many fail together"
        raise UsageError(Problem(f"{text} is no failure that can be survived", f"--survive {text}", hint=hint))
    return NodeFailures(what, int(number))
