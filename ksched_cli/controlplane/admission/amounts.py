"""Quantities that remember how they were written, since that is how the API server shows sums of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Literal

from msgspec import Struct

from ksched_cli.api.core import Pod, Quantities, ResourceRequirements
from ksched_cli.api.pod_resources import is_pod_level_resource
from ksched_cli.api.quantity import Quantity, parse_quantity

Form = Literal["decimal", "binary", "exponent"]

_POWERS_OF_TEN = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_POWERS_OF_1024 = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_LEAST, _MOST = -9, 18


class Amount(Struct, frozen=True):
    """resource.Quantity: a value and the form it is shown in."""

    value: Fraction
    form: Form = "decimal"

    def __add__(self, other: Amount) -> Amount:
        """Nothing takes on the form of what is added to it."""
        return Amount(self.value + other.value, self.form if self.value else other.form)

    def __neg__(self) -> Amount:
        return Amount(-self.value, self.form)

    def __str__(self) -> str:
        """CanonicalizeBytes."""
        if not self.value:
            return "0"
        if self.form == "binary" and abs(self.value) >= 1024 and self.value.denominator == 1:
            return _binary(int(self.value))
        digits, exponent = _decimal(self.value)
        if self.form == "exponent":
            return f"{digits}e{exponent}" if exponent else str(digits)
        return f"{digits}{_POWERS_OF_TEN[exponent]}"


NOTHING = Amount(Fraction(0))
Amounts = dict[str, Amount]


def amount(quantity: Quantity) -> Amount:
    value = parse_quantity(quantity)
    text = str(quantity).strip()
    if text.endswith("i"):
        return Amount(value, "binary")
    return Amount(value, "exponent" if any(letter in text[:-1] for letter in "eE") else "decimal")


def amounts(quantities: Mapping[str, Quantity]) -> Amounts:
    return {name: amount(quantity) for name, quantity in quantities.items()}


def _binary(number: int) -> str:
    power = 0
    while number % 1024 == 0 and power < len(_POWERS_OF_1024) - 1:
        number, power = number // 1024, power + 1
    return f"{number}{_POWERS_OF_1024[power]}"


def _decimal(value: Fraction) -> tuple[int, int]:
    """The shortest whole number of thousands, millions, thousandths and so on."""
    scaled = value * 10**-_LEAST
    number, exponent = -(-scaled.numerator // scaled.denominator), _LEAST
    while number % 1000 == 0 and exponent < _MOST:
        number, exponent = number // 1000, exponent + 3
    return number, exponent


def pod_requests(pod: Pod) -> Amounts:
    return _of_pod(pod, lambda resources: resources.requests)


def pod_limits(pod: Pod) -> Amounts:
    return _of_pod(pod, lambda resources: resources.limits)


def _of_pod(pod: Pod, of: Callable[[ResourceRequirements], Quantities]) -> Amounts:
    """podRequests and podLimits: containers together, or the largest init container beside the sidecars that run by
    then; pod-level requests go before both."""
    total: Amounts = {}
    sidecars: Amounts = {}
    largest: Amounts = {}
    for container in pod.spec.containers:
        _add(total, amounts(of(container.resources)))
    for container in pod.spec.init_containers:
        here = amounts(of(container.resources))
        if container.restart_policy == "Always":
            _add(total, here)
            _add(sidecars, here)
            _raise(largest, sidecars)
        else:
            _add(here, sidecars)
            _raise(largest, here)
    _raise(total, largest)
    own = amounts(of(pod.spec.resources)) if pod.spec.resources else {}
    return {**total, **{name: each for name, each in own.items() if is_pod_level_resource(name)}}


def _add(total: Amounts, more: Mapping[str, Amount]) -> None:
    for name, each in more.items():
        total[name] = total[name] + each if name in total else each


def _raise(total: Amounts, least: Mapping[str, Amount]) -> None:
    for name, each in least.items():
        if name not in total or total[name].value < each.value:
            total[name] = each
