from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.api.quantity import (
    MAX_INT64,
    QuantityError,
    are_plain,
    format_bytes,
    format_milli,
    is_int64,
    largest_request,
    milli_value,
    nano_value,
    parse_quantity,
    value,
    whole_unbounded,
)
from tests.builders import PodBuilder, make_pod


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        pytest.param("0", Fraction(0), id="zero"),
        pytest.param("100m", Fraction(1, 10), id="milli"),
        pytest.param("1.5Gi", Fraction(3, 2) * 2**30, id="fraction of a binary unit"),
        pytest.param("1e3", Fraction(1000), id="exponent"),
        pytest.param("1E3", Fraction(1000), id="capital exponent"),
        pytest.param("12E", Fraction(12) * 10**18, id="exa, not an exponent"),
        pytest.param("1Ei", Fraction(2**60), id="exbi"),
        pytest.param("0.5", Fraction(1, 2), id="half"),
        pytest.param(".5", Fraction(1, 2), id="no digit before the point"),
        pytest.param("5.", Fraction(5), id="no digit after the point"),
        pytest.param("+5", Fraction(5), id="plus"),
        pytest.param("-5", Fraction(-5), id="minus"),
        pytest.param("3u", Fraction(3, 10**6), id="micro"),
        pytest.param("3n", Fraction(3, 10**9), id="nano"),
        pytest.param("2k", Fraction(2000), id="kilo"),
        pytest.param("1e-3", Fraction(1, 1000), id="negative exponent"),
        pytest.param("1E", Fraction(10**18), id="one exa"),
        pytest.param("1e+3", Fraction(1000), id="signed exponent"),
        pytest.param("007", Fraction(7), id="leading zeros"),
        pytest.param("0.00000000001Gi", Fraction(2**30, 10**11), id="a small part of a binary unit"),
        pytest.param(" 1Gi\n", Fraction(2**30), id="space around it"),
        pytest.param(4, Fraction(4), id="a JSON number"),
        pytest.param(1e21, Fraction(10**21), id="a large JSON number"),
        pytest.param(1e-05, Fraction(1, 10**5), id="a small JSON number"),
        pytest.param(0.1, Fraction(1, 10), id="a JSON fraction"),
    ],
)
def test_parse(text: str, exact: Fraction) -> None:
    assert parse_quantity(text) == exact


def _is_plain(quantity: str | int | float) -> bool:
    try:
        number = parse_quantity(quantity)
    except QuantityError:
        return False
    return number >= 0 and (number * 1000).denominator == 1


@pytest.mark.parametrize(
    "quantities",
    [
        pytest.param([], id="none"),
        pytest.param(["100m", "1.5Gi", "0", "007", " 2 "], id="all of them"),
        pytest.param(["100m", "1u"], id="one too small"),
        pytest.param(["100m", "-1"], id="one negative"),
        pytest.param(["100m", "1gi"], id="one malformed"),
        pytest.param([2, 2.0, 0.001], id="numbers"),
        pytest.param([2, -2], id="a negative number"),
        pytest.param([0.0001], id="a number too small"),
        pytest.param(["2", 2, float("nan")], id="no number"),
    ],
)
def test_plain_quantities(quantities: list[str | int | float]) -> None:
    for _ in range(2):
        assert are_plain(quantities) is all(map(_is_plain, quantities))


def test_more_quantities_than_are_kept() -> None:
    assert are_plain([f"{number}m" for number in range(10_000)])
    assert not are_plain([f"{number}u" for number in range(10_000)])


@pytest.mark.parametrize(
    "text", ["", " ", "1 Gi", "1gi", "1GI", "K", "1Ki5", "abc", "1e", "--1", "1.2.3", "0x10", "1e9999", True, "\u0661"]
)
def test_malformed(text: str) -> None:
    with pytest.raises(QuantityError, match="not a quantity"):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("text", "units", "milli"),
    [
        pytest.param("1", 1, 1000, id="whole"),
        pytest.param("1m", 1, 1, id="rounded up"),
        pytest.param("1500m", 2, 1500, id="one and a half"),
        pytest.param("1u", 1, 1, id="milli rounded up too"),
        pytest.param("-1500m", -2, -1500, id="away from zero"),
        pytest.param("100E", MAX_INT64, MAX_INT64, id="no more than an int64"),
    ],
)
def test_value_and_milli_value(text: str, units: int, milli: int) -> None:
    assert (value(text), milli_value(text)) == (units, milli)


@given(st.integers(0, 10**5), st.sampled_from(["", "m", "k", "Ki", "Mi", "Gi", "u", "n"]))
def test_rounds_up_and_by_less_than_one(number: int, suffix: str) -> None:
    exact = parse_quantity(f"{number}{suffix}")
    assert 0 <= value(f"{number}{suffix}") - exact < 1
    assert 0 <= milli_value(f"{number}{suffix}") - exact * 1000 < 1
    assert nano_value(f"{number}{suffix}") == exact * 10**9


@given(st.integers(0, 10**9))
def test_formats_read_back(number: int) -> None:
    assert milli_value(format_milli(number)) == number
    assert value(format_bytes(number)) == number


SUFFIXES = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12), "P": Fraction(10**15), "E": Fraction(10**18),
    "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30), "Ti": Fraction(2**40), "Pi": Fraction(2**50), "Ei": Fraction(2**60),
    "e3": Fraction(1000), "E-2": Fraction(1, 100), "e+1": Fraction(10),
}  # fmt: skip


@given(
    st.sampled_from(["", "+", "-"]),
    st.integers(0, 10**12),
    st.text("0123456789", max_size=9),
    st.sampled_from(sorted(SUFFIXES)),
)
def test_every_form_is_exact(sign: str, whole: int, decimals: str, suffix: str) -> None:
    number = Fraction(f"{whole}.{decimals}0") * SUFFIXES[suffix]
    exact = -number if sign == "-" else number
    text = f"{sign}{whole}.{decimals}{suffix}"
    assert parse_quantity(text) == exact
    units = min(-(-abs(exact).numerator // abs(exact).denominator), MAX_INT64)
    assert value(text) == (units if exact >= 0 else -units)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=5), st.sampled_from(["m", "u", "n"]))
def test_sums_of_billionths_are_sums_of_quantities(numbers: list[int], suffix: str) -> None:
    total = sum(parse_quantity(f"{number}{suffix}") for number in numbers)
    assert sum(nano_value(f"{number}{suffix}") for number in numbers) == total * 10**9


@pytest.mark.slow
@given(st.text(max_size=8))
def test_any_text_is_a_quantity_or_told_to_be_none(text: str) -> None:
    try:
        exact = parse_quantity(text)
    except QuantityError as mistake:
        told = str(mistake)
    else:
        told = ""
        assert whole_unbounded(exact) == value(text) or abs(exact) > MAX_INT64
    assert not told or "not a quantity" in told


@pytest.mark.parametrize(
    ("pod", "path"),
    [
        pytest.param(make_pod().requests(cpu="1"), ("containers", 0, "resources", "requests"), id="of a container"),
        pytest.param(
            make_pod().requests(cpu="1").init(resources={"requests": {"cpu": "2"}}),
            ("initContainers", 0, "resources", "requests"),
            id="the larger",
        ),
        pytest.param(
            make_pod().requests(cpu="1").spec(resources={"requests": {"cpu": "3"}}), ("resources", "requests"), id="pod"
        ),
        pytest.param(
            make_pod().requests(cpu="1").spec(resources={"requests": {"memory": "3"}}),
            ("containers", 0, "resources", "requests"),
            id="another resource of the pod",
        ),
        pytest.param(
            make_pod().requests(cpu="1").container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}),
            ("containers", 1, "resources", "limits"),
            id="a limit that is the request too",
        ),
        pytest.param(
            make_pod().requests(cpu="1").container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "3"}}),
            ("containers", 1, "resources", "requests"),
            id="below its limit",
        ),
    ],
)
def test_the_largest_request(pod: PodBuilder, path: tuple[str | int, ...]) -> None:
    assert largest_request(pod.obj(), "cpu") == ("spec", *path, "cpu")


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        pytest.param("123456789012345678", True, id="eighteen digits"),
        pytest.param("1234567890123456789", False, id="nineteen digits"),
        pytest.param("123456789012345.678k", True, id="eighteen digits, some of them behind the point"),
        pytest.param("1234567890123456.789k", False, id="nineteen digits, some of them behind the point"),
        pytest.param("1.2345k", False, id="a part that the suffix does not make whole"),
        pytest.param("9E", True, id="below the largest"),
        pytest.param("10E", False, id="beyond the largest"),
        pytest.param("00000000000000000012Ki", True, id="leading zeros are no digits"),
        pytest.param("123456Gi", False, id="fifteen digits by estimate"),
        pytest.param("12345Gi", True, id="fourteen digits by estimate"),
        pytest.param("1.5Gi", False, id="a part before a power of two"),
    ],
)
def test_quantities_that_are_kept_as_an_int64(text: str, exact: bool) -> None:
    assert is_int64(text) is exact
