"""What a consolidation must leave: headroom, and room for the pods of nodes that fail."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction

import numpy as np
from msgspec import Struct, field

from ksched_cli.api.selectors import Selector, read_query
from ksched_cli.cluster.cache import Cluster
from ksched_cli.errors import Problem, UsageError
from ksched_cli.plan.consolidate.failures import NodeFailures, read_failures


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
    texts = [f"{flag} {text}" for flag, text in _given(headroom, survive, only)]
    selector = read_query(only, "--only") if only else None
    return Conditions(read_headroom(headroom), read_failures(survive), selector, only, tuple(texts))


def _given(headroom: str, survive: str, only: str) -> list[tuple[str, str]]:
    options = (("--keep-headroom", headroom), ("--survive", survive), ("--only", only))
    return [(flag, text) for flag, text in options if text]
