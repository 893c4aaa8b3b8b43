"""Amounts of resources in documents, which have them as exact quantities."""

from __future__ import annotations

from collections.abc import Mapping

from ksched_cli.api.quantity import milli_value, value


def amount_of(resource: str, text: str) -> int:
    """Thousandths of cpu, whole units of other resources."""
    return milli_value(text) if resource == "cpu" else value(text)


def amounts_of(texts: Mapping[str, str] | None) -> dict[str, int]:
    return {resource: amount_of(resource, text) for resource, text in (texts or {}).items()}
