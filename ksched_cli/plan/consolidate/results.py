"""The result of `consolidate`, and the conditions that it must keep.

`Consolidation` is its own document: its fields are the keys of `-o json`, and a stored document is read back into it.
`Conditions` are the headroom, the nodes that may go, and the nodes, zones or regions that may fail afterwards
(`NodeFailures`): after each such failure every pod must have a node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any, Literal

import numpy as np
from msgspec import Struct, field

from ksched_cli.api.core import Node
from ksched_cli.api.selectors import Selector, read_query
from ksched_cli.cluster.cache import Cluster
from ksched_cli.errors import Problem, UsageError
from ksched_cli.plan.results.nodes import NodeChanges
from ksched_cli.plan.results.outcomes import Displayed, Stats
from ksched_cli.plan.scenario import check_domains, domains
from ksched_cli.whatif.scenario import TOPOLOGY

# local: no single step is left that saves money; time: the time limit ended the search; optimal: the cost is the bound.
ConsolidationEnd = Literal["optimal", "local", "time"]


class PodMove(Struct, frozen=True):
    """An evicted pod, the pod that its controller creates in its place, and the node of that."""

    pod: str
    successor: str
    to: str


class ConsolidationStep(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One node that is drained and deleted. `shape` is what is bought before it, empty if nothing is. `uncordon`: nodes
    that are opened again before this step. `commands` do it with kubectl; the new node is for the cloud provider."""

    node: str
    action: Literal["remove", "replace"]
    shape: str = ""
    new_node: str = ""
    saving: Decimal
    uncordon: tuple[str, ...]
    rounds: int
    commands: tuple[str, ...]
    moves: tuple[PodMove, ...]


class StayingNode(Struct, frozen=True, omit_defaults=True):
    """A node that stays, and why. `pod`: the pod that has no other node, if that is the reason, and the scheduler's
    `message` about it."""

    node: str
    why: str
    pod: str = ""
    message: str = ""

    @classmethod
    def of(cls, node: str, pod: str, message: str = "") -> StayingNode:
        """The node stays because this pod of it has no other one."""
        return cls(node, f"{pod} has no other node{': ' if message else ''}{message}", pod, message)


class DrainSearch(Struct, frozen=True, rename="camel"):
    """How the search ended."""

    ended: ConsolidationEnd
    seconds: float
    time_limit: float
    drains_tried: int


class Consolidation(
    Displayed,
    Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    omit_defaults=True,
    tag_field="kind",
    tag="Consolidation",
):
    """`cordon` are the nodes to cordon before the first step, so that no pod moves twice, and `uncordon` those to open
    again after the last. `lower_bound`: no cluster of these nodes and shapes that holds the pods costs less. `gap`: how
    far the cost may be above the optimum, in per cent of the cost. `unmet`: why the cluster as it is does not meet the
    `conditions`; no node goes then."""

    cost_before: Decimal
    cost_after: Decimal
    saving: Decimal
    lower_bound: Decimal
    gap: float
    unit: str
    nodes_before: int
    nodes_after: int
    cordon: tuple[str, ...]
    steps: tuple[ConsolidationStep, ...]
    uncordon: tuple[str, ...]
    kept: tuple[StayingNode, ...]
    conditions: tuple[str, ...]
    unmet: str = ""
    search: DrainSearch
    coverage: Mapping[str, Any]
    stats: Stats
    node_table: NodeChanges | Any = None
    warnings: tuple[str, ...] = ()


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
        found = domains(nodes, self.what)
        check_domains(found, self.what, self.count, str(self))
        if comb(len(found), self.count) > MOST_FAILURES:
            text = f"any {self.count} of {len(found)} {self.what}s are {comb(len(found), self.count):,} failures"
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


class Conditions(Struct, frozen=True):
    """`headroom`: the share of each resource that stays free on schedulable nodes; `failing`: after each of
    these failures every pod still has a place; `only`: the labels of the nodes that may go, as `only_text` has them."""

    headroom: Mapping[str, Fraction] = field(default_factory=dict)
    failing: NodeFailures | None = None
    only: Selector | None = None
    only_text: str = ""
    texts: tuple[str, ...] = ()

    def leaves_headroom(self, cluster: Cluster) -> bool:
        """Whether the nodes that stay have enough free."""
        if not self.headroom:
            return True
        nodes = cluster.nodes
        rows = np.array([row for row, node in enumerate(nodes.objects) if not node.spec.unschedulable], dtype=np.int64)
        for resource, share in self.headroom.items():
            index = cluster.resources.find(resource)
            if index is None:
                continue
            total = int(nodes.allocatable[index, rows].sum())
            free = total - int(cluster.usage.requested[index, rows].sum())
            if free < share * total:
                return False
        return True


def read_headroom(text: str) -> dict[str, Fraction]:
    """`cpu=10%,memory=5%`."""
    found: dict[str, Fraction] = {}
    for pair in filter(None, text.split(",")):
        resource, sign, share = pair.partition("=")
        try:
            number = Decimal(share.removesuffix("%"))
        except InvalidOperation:
            number = Decimal("NaN")
        if not sign or not resource or not share.endswith("%") or not number.is_finite() or not 0 <= number < 100:
            hint = "write cpu=10%,memory=10%"
            raise UsageError(Problem(f"{pair} is no headroom", f"--keep-headroom {text}", hint=hint))
        found[resource] = Fraction(number) / 100
    return found


def read_conditions(headroom: str, survive: str, only: str) -> Conditions:
    """The conditions as the options of the command line write them."""
    options = (("--keep-headroom", headroom), ("--survive", survive), ("--only", only))
    texts = [f"{flag} {text}" for flag, text in options if text]
    selector = read_query(only, "--only") if only else None
    return Conditions(read_headroom(headroom), read_failures(survive), selector, only, tuple(texts))
