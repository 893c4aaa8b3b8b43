"""Amounts of resources in results: numbers in Python, quantities in documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ksched_cli.api.quantity import milli_value, quantity_text, value


class Amounts(Mapping[str, int]):
    """Thousandths of cpu, whole units of other resources. A document has the exact quantities."""

    def __init__(self, amounts: Mapping[str, int] | None = None) -> None:
        self._amounts = dict(amounts or {})

    def __getitem__(self, resource: str) -> int:
        return self._amounts[resource]

    def __iter__(self) -> Iterator[str]:
        return iter(self._amounts)

    def __len__(self) -> int:
        return len(self._amounts)

    def __repr__(self) -> str:
        return f"Amounts({self._amounts})"

    def document(self) -> dict[str, str]:
        return {resource: quantity_text(resource, amount) for resource, amount in self._amounts.items()}

    @classmethod
    def of_document(cls, texts: Mapping[str, str]) -> Amounts:
        return cls({resource: amount_of(resource, text) for resource, text in texts.items()})


def amount_of(resource: str, text: str) -> int:
    """Thousandths of cpu, whole units of other resources."""
    return milli_value(text) if resource == "cpu" else value(text)
