"""One row per variant, as it is stored: the same bytes for the same variant, wherever it was run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec
from msgspec import Struct

# From the best to the worst. evicts others: pods were preempted, and all of them have a place in the end; loses pods:
# no controller recreates a pod; no place: a pod that had a place, or that the variant adds or places, has none in the
# end; error: the variant could not be run.
VariantOutcome = Literal["safe", "evicts others", "loses pods", "no place", "error"]
OUTCOMES: tuple[VariantOutcome, ...] = ("safe", "evicts others", "loses pods", "no place", "error")

# deleted: the controller wants fewer pods.
PodResultWord = Literal["scheduled", "unschedulable", "lost", "deleted"]


class SweptPod(Struct, frozen=True, array_like=True):
    """A pod to which something happened, under the name that it or its first forerunner had."""

    pod: str
    result: PodResultWord
    node: str = ""


class Figures(Struct, frozen=True, rename="camel"):
    """How the cluster is in the end. `spread` is the standard deviation of the nodes' requested cpu, in hundredths of a
    percent of what they have. Stranded is what is left of nodes on which no further average pod fits."""

    placed: int = 0
    unschedulable: int = 0
    lost: int = 0
    preempted: int = 0
    evicted: int = 0
    nodes: int = 0
    nodes_used: int = 0
    spread: int = 0
    stranded_milli_cpu: int = 0
    stranded_memory: int = 0


FIGURES = tuple(each.encode_name for each in msgspec.structs.fields(Figures))
FIGURE_FIELDS = tuple(each.name for each in msgspec.structs.fields(Figures))


class VariantRow(Struct, frozen=True, rename="camel", omit_defaults=True):
    """`at` has the place in each dimension. `reason` is the first cause of an outcome that is not safe. `failed` are
    the expectations that did not hold."""

    variant: int
    at: dict[str, Any]
    outcome: VariantOutcome
    figures: Figures | None = None
    reason: str = ""
    failed: tuple[str, ...] = ()
    pods: tuple[SweptPod, ...] = ()
    error: str = ""


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(VariantRow)


def encode_rows(rows: Iterable[VariantRow]) -> bytes:
    """One line of JSON for each."""
    return b"".join(_ENCODER.encode(row) + b"\n" for row in rows)


def decode_rows(lines: bytes) -> Iterator[VariantRow]:
    return map(_DECODER.decode, lines.splitlines())
