"""Amounts of resources as texts: short for people, rounded down for a manifest. Documents have the exact quantities
(`plan/results/amounts.py`)."""

from __future__ import annotations

from collections.abc import Mapping

from ksched_cli.api.quantity import format_milli, is_bytes, quantity_text

_UNITS = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_STEP = 1024
_CORE = 1000
_MEBI = 2**20


def short(resource: str, amount: int) -> str:
    """The amount with three or four digits."""
    if resource == "cpu":
        return format_milli(amount) if amount < _CORE else in_cores(amount)
    return _short_bytes(amount) if is_bytes(resource) else f"{amount:,}"


def in_cores(milli: int) -> str:
    """`0.25`, `41.7`: for columns, which have one unit."""
    return f"{milli / _CORE:.3g}" if milli < _CORE else f"{milli / _CORE:,.1f}".removesuffix(".0")


def at_most(resource: str, amount: int) -> str:
    """The largest quantity for a manifest that does not exceed the amount: thousandths of a core, whole MiB."""
    if resource in ("memory", "ephemeral-storage") and amount >= _MEBI:
        amount -= amount % _MEBI
    return quantity_text(resource, amount)


def at_most_all(amounts: Mapping[str, int]) -> str:
    """`cpu 1333m, memory 1365Mi`, without resources whose amount is 0."""
    return ", ".join(f"{resource} {at_most(resource, amount)}" for resource, amount in amounts.items() if amount)


def short_all(amounts: Mapping[str, int]) -> str:
    """`cpu 500m, memory 1.5Gi`, without resources whose amount is 0."""
    return ", ".join(f"{resource} {short(resource, amount)}" for resource, amount in amounts.items() if amount)


def _short_bytes(amount: int) -> str:
    size, unit = float(amount), 0
    while size >= _STEP and unit + 1 < len(_UNITS):
        size, unit = size / _STEP, unit + 1
    return f"{round(size, 1):g}{_UNITS[unit]}"
