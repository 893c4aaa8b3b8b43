"""How far the modelled scheduler agrees with the scheduler of the cluster: each compared pod, its agreement and the
cause of a difference. `Verification` is its own document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from ksched_cli.plan.results.outcomes import Displayed


class VerifySettings(Struct, frozen=True, kw_only=True):
    """How far `verify` searches for an order of the pods that were bound in one second."""

    # No scheduler binds more in a second: so many with one time have it from something else, such as a restored backup.
    most_pods: int = 1000
    # Cycles for one second, beyond one for each pod.
    most_cycles: int = 2000
    # All searches together may take so many cycles; on small clusters, where they are quick, so many by nodes.
    cycles: int = 2_000
    node_cycles: int = 2_000_000
    # So many nodes are assumed to have been late in one second.
    late_nodes: int = 8

    def cycles_with(self, nodes: int) -> int:
        """The cycles of all searches in a cluster of so many nodes."""
        return max(self.cycles, self.node_cycles // max(1, nodes))


# The cause of a difference that nothing in the cluster explains.
NOT_KNOWN = "not known"


class Agreement(StrEnum):
    """How the decision of the modelled scheduler compares with that of the cluster's scheduler."""

    SAME = "same"
    OTHER_NODE = "other node"
    REJECTED = "rejected"
    SAME_REASONS = "same reasons"
    OTHER_REASONS = "other reasons"
    FITS = "fits"
    ERROR = "error"

    @property
    def agrees(self) -> bool:
        return self is Agreement.SAME


class Order(StrEnum):
    """How the place of a pod in the order of bindings is known: the cluster's times give it, it was found among the
    orders that the times allow because it explains all placements of that time, or no such order was found."""

    KNOWN = "known"
    FOUND = "found"
    NOT_FOUND = "notFound"


class Checked(Struct, frozen=True, rename="camel", omit_defaults=True):
    """One pod: where it is or what was written down (`actual`), the answer, and the cause of a difference as far as
    the cluster shows it. What was written down was `said_in` the pod's condition, an event or both, `said_at` that
    time. A placement was made at `bound_at`, a time that `bound_in` states, in an `order` of this kind;
    what had to be `assumed` to explain it is shown with it."""

    pod: str
    agreement: Agreement
    actual: str = ""
    answer: str = ""
    cause: str = ""
    said_in: str = ""
    said_at: str = ""
    bound_at: str = ""
    bound_in: str = ""
    order: Order | None = None
    assumed: str = ""


class Verification(
    Displayed, Struct, frozen=True, rename="camel", omit_defaults=True, tag_field="kind", tag="Verification"
):
    """How many of the compared pods agree. `order`: how many placements there are of each kind of order. `placements`
    in the order in which the pods were scheduled; `pending` those with a verdict of the scheduler on them; `left_out`
    pods that were not compared, counted by why."""

    compared: int
    agreeing: int
    order: Mapping[Order, int]
    placements: tuple[Checked, ...]
    pending: tuple[Checked, ...]
    left_out: Mapping[str, int]
    coverage: Mapping[str, Any]
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        placements: tuple[Checked, ...],
        pending: tuple[Checked, ...],
        left_out: Mapping[str, int],
        coverage: Mapping[str, Any],
        warnings: tuple[str, ...] = (),
    ) -> Verification:
        """The verification with its counts."""
        checked = (*placements, *pending)
        agreeing, orders = sum(each.agreement.agrees for each in checked), Counter(each.order for each in placements)
        order = {each: orders[each] for each in Order}
        return cls(len(checked), agreeing, order, placements, pending, left_out, coverage, warnings)
