"""The file of `--prices FILE`: dollars an hour of instance types.

They win over built-in prices and over those of a catalog. The file is YAML or JSON: `{m6i.large: {on-demand: 0.096,
spot: {us-east-1a: 0.04}}}`. A price is one number for all zones, or one for each zone. All mistakes of a file are
reported together, with line and path. Prices of reserved capacity are not read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.yaml_reader import read_documents
from ksched_cli.autoscale.instance_types.catalog import InstanceType, Offering
from ksched_cli.autoscale.instance_types.clouds import Prices
from ksched_cli.autoscale.instance_types.entries import CAPACITY_TYPES
from ksched_cli.errors import InputError, Problem

_WRONG = "expected a price in dollars an hour, a number of 0 or more"
_FORMAT = "{m6i.large: {on-demand: 0.096, spot: {us-east-1a: 0.04}}}"


def read_prices(path: str) -> Prices:
    """The prices in the file. InputError for a file that cannot be read, or with all its mistakes."""
    try:
        content = Path(path).read_bytes()
    except OSError as failure:
        raise InputError(Problem(f"cannot be read: {failure.strerror}", path)) from None
    documents = list(read_documents(content, path, with_lines=True))
    if len(documents) != 1 or not isinstance(documents[0].value, dict) or not documents[0].value:
        raise InputError(Problem(f"expected one object of prices by instance type, such as {_FORMAT}", path))
    found: dict[str, Any] = documents[0].value
    problems = [Problem(text, path, documents[0].line_of(where), ".".join(where)) for where, text in _mistakes(found)]
    if problems:
        raise InputError(problems)
    return found


def _mistakes(found: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], str]]:
    for name, of_type in found.items():
        if not isinstance(of_type, dict) or not of_type:
            yield (name,), f"expected prices by capacity type, such as {_FORMAT}"
            continue
        for capacity_type, price in of_type.items():
            where = (name, capacity_type)
            if capacity_type not in CAPACITY_TYPES:
                yield where, f"unknown capacity type; expected {' or '.join(CAPACITY_TYPES)}"
            elif isinstance(price, dict) and price:
                yield from (((*where, zone), _WRONG) for zone, each in price.items() if not _is_price(each))
            elif not _is_price(price):
                yield where, f"{_WRONG}, or one for each zone"


def _is_price(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) and value >= 0


def refuse_unknown_types(prices: Prices, known: Collection[str], path: str, source: str) -> None:
    """InputError with the names of all types that the catalog does not have."""
    unknown = sorted(set(prices).difference(known))
    if unknown:
        raise InputError(Problem(f"unknown instance types: {', '.join(unknown)} (not in {source})", path))


def apply_prices(types: Collection[InstanceType], prices: Prices) -> None:
    """Write the prices into the offerings of a catalog. Reserved offerings, and zones without a price, keep theirs."""
    for each in types:
        of_type = prices.get(each.name, {})
        each.offerings = [_priced(offering, of_type.get(offering.capacity_type)) for offering in each.offerings]


def _priced(offering: Offering, price: float | Mapping[str, float] | None) -> Offering:
    found = price.get(offering.zone) if isinstance(price, Mapping) else price
    return offering if found is None else replace(offering, price=float(found))
