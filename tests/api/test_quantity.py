from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.api.quantity import (
    MAX_INT64,
    QuantityError,
    format_bytes,
    format_milli,
    milli_value,
    nano_value,
    parse_quantity,
    value,
)


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
        pytest.param(4, Fraction(4), id="a JSON number"),
        pytest.param(0.1, Fraction(1, 10), id="a JSON fraction"),
    ],
)
def test_parse(text: str, exact: Fraction) -> None:
    assert parse_quantity(text) == exact


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
