"""Documents as Structs: the keys of JSON are derived from the fields, and a stored document is read back into them.

A document begins with `apiVersion` and `kind`, the tag of its Struct. A field without a default is always there, one
with a default only if it differs from it. Parts that few formats need, such as the final state of every pod, are
`LaterPart`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct, ValidationError, convert, field, to_builtins

from ksched_cli.plan.results.nodes import NodeChanges
from ksched_cli.report.node_table import node_table_entry
from ksched_cli.sources.own_documents import API_VERSION
from ksched_cli.world.results import WorldResult

D = TypeVar("D")


class DocumentPart(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A part of a document, and the base of documents."""


class LaterPart:
    """A part that is computed when it is read."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make, self._made = make, None

    def get(self) -> Any:
        if self._made is None:
            self._made = self._make()
        return self._made


def value_of(part: Any) -> Any:
    """The value of a part that may be computed later."""
    return part.get() if isinstance(part, LaterPart) else part


def encoded(document: object) -> dict[str, Any]:
    """The document as dicts and lists."""
    return {"apiVersion": API_VERSION, **to_builtins(document, enc_hook=_plain)}


def _plain(value: Any) -> Any:
    if isinstance(value, LaterPart):
        return value.get()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise NotImplementedError(f"a document has no {type(value)}")


def decoded(document: Mapping[str, Any], kind: type[D]) -> D:
    """The document of this kind. Raises ValueError if it lacks fields."""
    try:
        return convert(document, kind)
    except ValidationError as mistake:
        raise ValueError(str(mistake)) from None


def nodes_part(nodes: NodeChanges | None) -> Any:
    """`nodeTable`; None without nodes."""
    return LaterPart(lambda: node_table_entry(nodes)["nodeTable"]) if nodes is not None else None


class OrdersPart(DocumentPart, frozen=True, kw_only=True):
    """In how many of the orders that were tried every pod has a node in the end, or, for a drain, which outcome
    occurred how often. `workloads` has those that do not end alike, with the number of orders in which they finish."""

    tried: int
    finished: int | None = None
    outcomes: dict[str, int] = field(default_factory=dict)
    workloads: dict[str, int] | None = None

    @classmethod
    def of(cls, world: WorldResult) -> OrdersPart | None:
        if world.orders is None:
            return None
        workloads = {name: each.finished for name, each in world.doubtful.items()}
        return cls(tried=world.orders.tried, finished=world.orders.finished, workloads=workloads)


def final_part(world: WorldResult) -> LaterPart:
    """The final state of every pod, as all commands that move pods have it."""
    from ksched_cli.report.entries import final_entry

    return LaterPart(lambda: [final_entry(each) for each in world.final])
