"""Which tolerations tolerate which taints."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from ksched_cli.api.affinity import Toleration
from ksched_cli.api.core import Taint
from ksched_cli.api.quantity import MOST_DIGITS

# content.IsDecimalInteger: as a person writes it, so no leading zeros, no plus sign and no minus zero.
_DECIMAL = re.compile(r"0|-?[1-9]\d*", re.ASCII)


def tolerates(toleration: Toleration, taint: Taint, *, comparison: bool = False) -> bool:
    """Toleration.ToleratesTaint; `comparison` is the gate for the operators Lt and Gt."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case "Lt" | "Gt":
            return comparison and _compares(toleration, taint)
        case _:
            return False


def _compares(toleration: Toleration, taint: Taint) -> bool:
    """The taint's value against the toleration's, both whole numbers of 64 bits."""
    if not (_is_int64(toleration.value) and _is_int64(taint.value)):
        return False
    limit, actual = int(toleration.value), int(taint.value)
    return actual < limit if toleration.operator == "Lt" else actual > limit


def _is_int64(text: str) -> bool:
    return len(text) <= MOST_DIGITS and _DECIMAL.fullmatch(text) is not None and -(2**63) <= int(text) < 2**63


def find_untolerated(
    taints: Iterable[Taint],
    tolerations: Collection[Toleration],
    effects: Collection[str],
    *,
    comparison: bool = False,
) -> Taint | None:
    """FindMatchingUntoleratedTaint: the first taint of those effects that nothing tolerates."""
    for taint in taints:
        if taint.effect in effects and not any(tolerates(each, taint, comparison=comparison) for each in tolerations):
            return taint
    return None
