"""Kubernetes quantities, exact (apimachinery resource.Quantity); amounts as people write them; and the field of a pod
that requests most of a resource."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ksched_cli.api.core import Container, Pod


MAX_INT64 = 2**63 - 1
NANO = 10**9

Quantity = str | int | float

_FORM = re.compile(
    r"(?P<sign>[+-]?)(?P<digits>\d+\.?\d*|\.\d+)(?P<suffix>[numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+|)", re.ASCII
)
_POWERS_OF_TEN = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_POWERS_OF_TWO = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
# For each suffix the factor, as a numerator and a denominator.
_FACTORS = {suffix: (10 ** max(power, 0), 10 ** max(-power, 0)) for suffix, power in _POWERS_OF_TEN.items()} | {
    suffix: (2**power, 1) for suffix, power in _POWERS_OF_TWO.items()
}
# Texts that `are_plain` has found plain, and the most that it keeps.
_PLAIN: set[Quantity] = set()
_MOST_PLAIN = 4096
# Go keeps exponents in an int32 and no quantity of a real object comes near; beyond this only memory is lost.
_MAX_EXPONENT = 400
# No number of Kubernetes has so many; Python refuses to read more than 4,300.
MOST_DIGITS = 400


class QuantityError(ValueError):
    """Not a quantity."""


@lru_cache(maxsize=65536)
def parse_quantity(text: Quantity) -> Fraction:
    """The exact value; QuantityError for anything that Kubernetes would not read as a quantity."""
    found = _FORM.fullmatch(text.strip() if isinstance(text, str) else _from_number(text))
    if found is None:
        raise QuantityError(f"{text!r} is not a quantity: write a number with a suffix such as 100m, 2, 1.5Gi or 500M")
    digits, suffix = found["digits"], found["suffix"]
    if max(len(digits), len(suffix)) > MOST_DIGITS:
        raise QuantityError(f"a number of {max(len(digits), len(suffix))} digits is not a quantity")
    factor = _FACTORS.get(suffix)
    if factor is not None and "." not in digits:
        number = Fraction(int(digits) * factor[0], factor[1])
    elif factor is not None:
        number = Fraction(digits) * Fraction(*factor)
    else:
        exponent = int(suffix[1:])
        if abs(exponent) > _MAX_EXPONENT:
            raise QuantityError(f"{text!r} is not a quantity: the exponent is out of range")
        number = Fraction(digits) * Fraction(10) ** exponent
    return -number if found["sign"] == "-" else number


@lru_cache(maxsize=4096)
def is_int64(text: Quantity) -> bool:
    """Whether Quantity.AsInt64 has a value: ParseQuantity keeps few digits as an int64 with a power of ten, which must
    not be negative then, and more digits as a decimal number of any length."""
    amount, found = parse_quantity(text), _FORM.fullmatch(str(text).strip())
    assert found is not None
    whole, _, part = found["digits"].partition(".")
    digits, suffix = len(whole.lstrip("0") or "0") + len(part), found["suffix"]
    if suffix in _POWERS_OF_TWO:
        return not part and digits + _POWERS_OF_TWO[suffix] * 3 // 10 < 15
    power = _POWERS_OF_TEN[suffix] if suffix in _POWERS_OF_TEN else int(suffix[1:])
    return digits <= 18 and power >= len(part) and abs(amount) <= MAX_INT64


def are_plain(quantities: Collection[Quantity]) -> bool:
    """Whether each is a quantity, not negative, and without parts smaller than a thousandth: nothing is wrong with it,
    and the API server stores it as it is. Most quantities of a cluster are equal."""
    return _PLAIN.issuperset(quantities) or all(map(_is_plain, quantities))


def _is_plain(quantity: Quantity) -> bool:
    try:
        number = parse_quantity(quantity)
    except QuantityError:
        return False
    if number.numerator < 0 or 1000 % number.denominator:
        return False
    # A number may equal one of another type.
    if isinstance(quantity, str):
        if len(_PLAIN) >= _MOST_PLAIN:
            _PLAIN.clear()
        _PLAIN.add(quantity)
    return True


def _from_number(number: int | float) -> str:
    if isinstance(number, bool):
        raise QuantityError(f"{str(number).lower()} is not a quantity")
    return repr(number)


@lru_cache(maxsize=65536)
def value(quantity: Quantity) -> int:
    """Whole units, rounded away from zero (Quantity.Value)."""
    return whole(parse_quantity(quantity))


@lru_cache(maxsize=65536)
def milli_value(quantity: Quantity) -> int:
    """Thousandths, rounded away from zero (Quantity.MilliValue)."""
    return whole(parse_quantity(quantity), 1000)


@lru_cache(maxsize=65536)
def nano_value(quantity: Quantity) -> int:
    """Billionths, the finest that Kubernetes keeps: what sums of quantities are made of."""
    return whole_unbounded(parse_quantity(quantity), NANO)


def approximate(number: Fraction) -> float:
    """The nearest float; infinite beyond the largest."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def whole_unbounded(number: Fraction, parts: int = 1) -> int:
    """So many parts of one unit, rounded away from zero."""
    # The sign of the numerator is that of the fraction, and is compared in a fifth of the time.
    numerator = number.numerator
    size = -(-abs(numerator) * parts // number.denominator)
    return size if numerator >= 0 else -size


def whole(number: Fraction, parts: int = 1) -> int:
    """The same, and no larger than an int64 holds."""
    return max(-MAX_INT64, min(whole_unbounded(number, parts), MAX_INT64))


def quantity_of(number: Fraction) -> str:
    """A quantity of this value, rounded away from zero to billionths, the finest that Kubernetes keeps."""
    for suffix, parts in (("", 1), ("m", 1000)):
        if (number * parts).denominator == 1:
            return f"{number * parts}{suffix}"
    return f"{whole_unbounded(number, NANO)}n"


def format_milli(milli: int) -> str:
    """Thousandths as a quantity: 1500 is 1500m, 2000 is 2."""
    return str(milli // 1000) if milli % 1000 == 0 else f"{milli}m"


def format_bytes(amount: int) -> str:
    """Bytes with the largest binary suffix that divides them."""
    for suffix, power in reversed(_POWERS_OF_TWO.items()):
        if amount and amount % (1 << power) == 0:
            return f"{amount >> power}{suffix}"
    return str(amount)


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


def largest_request(pod: Pod, resource: str) -> tuple[str | int, ...]:
    """The request of the pod, or else of the container that requests most of the resource."""
    if pod.spec.resources is not None and resource in pod.spec.resources.requests:
        return ("spec", "resources", "requests", resource)
    requests = [
        (_amount(container, resource), ("spec", field, index, "resources", _where(container, resource), resource))
        for field, containers in (("containers", pod.spec.containers), ("initContainers", pod.spec.init_containers))
        for index, container in enumerate(containers)
    ]
    amount, path = max(requests, key=lambda each: each[0], default=(0.0, ("spec",)))
    return path if amount else ("spec", "containers")


def _amount(container: Container, resource: str) -> float:
    try:
        return approximate(parse_quantity(container.resources.requests.get(resource, 0)))
    except QuantityError:
        return 0.0


def _where(container: Container, resource: str) -> str:
    """A limit alone is the request too."""
    resources = container.resources
    same = resources.limits.get(resource) == resources.requests.get(resource)
    return "limits" if same and resource in resources.limits else "requests"
