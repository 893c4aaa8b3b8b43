"""Lists of resources: exact amounts, written as Karpenter writes them, and the same as columns.

Mirrors pkg/utils/resources/resources.go and the parts of resource.Quantity that show in messages: a sum is written in
the format of its first amount that is not zero (Quantity.Add), in canonical form. Amounts are thousandths in an int; a
smaller part of a unit, which only the suffixes n and u can state, is rounded up.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ksched_cli.api.core import Container, Pod, Quantities
from ksched_cli.api.pod_resources import requests_of
from ksched_cli.api.quantity import Quantity, parse_quantity, whole_unbounded

Vector = NDArray[np.int64]

_BINARY, _DECIMAL, _EXPONENT = range(3)
_BINARY_SUFFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL_SUFFIXES = ("m", "", "k", "M", "G", "T", "P", "E")
# Amounts are cut here, so that sums of columns stay within an int64.
_MOST = 2**60


class ResourceAmount(NamedTuple):
    """Thousandths of a unit, and the format of its text."""

    milli: int
    form: int = _DECIMAL

    def __str__(self) -> str:
        """Quantity.String: the canonical text."""
        if self.form == _BINARY and abs(self.milli) >= 1024 * 1000:
            whole = -(-abs(self.milli) // 1000)
            power = 0
            while whole % 1024 == 0 and power + 1 < len(_BINARY_SUFFIXES):
                whole, power = whole // 1024, power + 1
            return f"{'-' if self.milli < 0 else ''}{whole}{_BINARY_SUFFIXES[power]}"
        number, power = self.milli, 0
        while number and number % 1000 == 0 and power + 1 < len(_DECIMAL_SUFFIXES):
            number, power = number // 1000, power + 1
        power = power if number else 1
        if self.form == _EXPONENT:
            return f"{number}e{3 * (power - 1)}" if power != 1 else str(number)
        return f"{number}{_DECIMAL_SUFFIXES[power]}"


Amounts = dict[str, ResourceAmount]


def amounts_of(quantities: Quantities) -> Amounts:
    return {name: _amount(each) for name, each in quantities.items()}


@lru_cache(maxsize=65536, typed=True)
def _amount(quantity: Quantity) -> ResourceAmount:
    return ResourceAmount(_milli(quantity), _form(quantity))


def _milli(quantity: Quantity) -> int:
    return max(-_MOST, min(whole_unbounded(parse_quantity(quantity), 1000), _MOST))


def _form(quantity: Quantity) -> int:
    text = str(quantity)
    if text.endswith("i"):
        return _BINARY
    return _EXPONENT if text.rstrip("0123456789+-")[-1:] in ("e", "E") and text[-1:].isdigit() else _DECIMAL


def merged(*lists: Amounts) -> Amounts:
    """resources.Merge."""
    found: Amounts = {}
    for each in lists:
        for name, amount in each.items():
            found[name] = _plus(found[name], amount) if name in found else amount
    return found


def _plus(first: ResourceAmount, second: ResourceAmount) -> ResourceAmount:
    return ResourceAmount(first.milli + second.milli, first.form if first.milli else second.form)


def subtracted(total: Amounts, taken: Mapping[str, ResourceAmount]) -> Amounts:
    """resources.Subtract: of the resources of `total` only."""
    return {
        name: ResourceAmount(each.milli - taken[name].milli, each.form) if name in taken else each
        for name, each in total.items()
    }


def with_overrides(own: Amounts, others: Amounts) -> Amounts:
    """The amounts, with those of `others` where they are zero or missing."""
    return {**others, **{name: each for name, each in own.items() if each.milli or name not in others}}


def requests_for_pods(pods: Iterable[Pod]) -> Amounts:
    """RequestsForPods: the sum of requests, and how many pods there are."""
    listed = [ceiling_requests(pod) for pod in pods]
    return {**merged(*listed), "pods": ResourceAmount(1000 * len(listed), _EXPONENT)}


def ceiling_requests(pod: Pod) -> Amounts:
    """Ceiling(pod).Requests (resourcehelper.PodRequests), in the formats of the manifest."""
    amounts = requests_of(pod, use_status=False)
    forms = dict(_forms(pod))
    return {
        name: ResourceAmount(max(min(each if name == "cpu" else each * 1000, _MOST), -_MOST), forms.get(name, _DECIMAL))
        for name, each in amounts.items()
    }


def requested_resources(pod: Pod) -> Iterator[str]:
    """The resources of which the pod requests some amount."""
    spec = pod.spec
    yield from spec.overhead
    if spec.resources is not None:
        yield from spec.resources.requests
    for container in (*spec.containers, *spec.init_containers):
        yield from container.resources.requests


def _forms(pod: Pod) -> Iterator[tuple[str, int]]:
    """For each resource the format of the first amount that is not zero; the last yielded counts."""
    spec = pod.spec
    sidecars = [each for each in spec.init_containers if each.restart_policy == "Always"]
    own = [spec.resources.requests] if spec.resources is not None else []
    lists = [*own, *map(_requests, spec.containers), *map(_requests, sidecars), *map(_requests, spec.init_containers)]
    for quantities in reversed((*lists, spec.overhead)):
        for name, quantity in quantities.items():
            if quantity not in ("0", 0):
                yield name, _form(quantity)


def _requests(container: Container) -> Quantities:
    return container.resources.requests


def json_text(amounts: Amounts) -> str:
    """resources.String: the list as JSON."""
    texts = {name: str(amounts[name]) for name in sorted(amounts)}
    return json.dumps(texts, separators=(",", ":"), ensure_ascii=False)


class Columns:
    """The resources of one run, each with a column."""

    def __init__(self, lists: Iterable[Iterable[str]]) -> None:
        self.names = sorted({name for each in lists for name in each})
        self._index = {name: index for index, name in enumerate(self.names)}

    def vector(self, amounts: Mapping[str, ResourceAmount], *, missing: int = 0) -> Vector:
        """The amounts by column, `missing` where a resource is not listed. Other resources are left out."""
        found = np.full(len(self.names), missing, np.int64)
        for name, amount in amounts.items():
            at = self._index.get(name)
            if at is not None:
                found[at] = amount.milli
        return found
