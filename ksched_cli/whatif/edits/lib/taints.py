"""Taints of a node, by key and effect."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ksched_cli.api.core import Taint

# The taint that the node lifecycle controller adds to a cordoned node.
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"


def without_taint(taints: Iterable[Taint], key: str, effect: str) -> tuple[Taint, ...]:
    """The taints except those of the key and the effect; without an effect, except all of the key."""
    return tuple(each for each in taints if each.key != key or effect not in ("", each.effect))
