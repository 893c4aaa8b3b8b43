"""Amounts of resources as people write them."""

from __future__ import annotations

from ksched_cli.api.quantity import format_bytes, format_milli

_BYTES = ("memory", "ephemeral-storage")
_UNITS = ((2**40, "Ti"), (2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki"))


def is_bytes(resource: str) -> bool:
    return resource in _BYTES or resource.startswith("hugepages-")


def amount_text(resource: str, amount: int) -> str:
    """Cpu comes in thousandths. Bytes are rounded to a hundredth of their unit."""
    if resource == "cpu":
        return format_milli(amount)
    return _bytes(amount) if is_bytes(resource) else str(amount)


def quantity_text(resource: str, amount: int) -> str:
    """The amount as it is written in a manifest."""
    if resource == "cpu":
        return format_milli(amount)
    return format_bytes(amount) if is_bytes(resource) else str(amount)


def _bytes(amount: int) -> str:
    for size, unit in _UNITS:
        if abs(amount) >= size:
            return f"{amount / size:.2f}".rstrip("0").rstrip(".") + unit
    return str(amount)
