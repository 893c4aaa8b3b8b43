"""How Karpenter writes amounts of resources, and sums of them."""

from __future__ import annotations

import pytest

from ksched_cli.autoscale.karpenter.resources import amounts_of, json_text, merged, subtracted


@pytest.mark.parametrize(
    ("quantity", "text"),
    [
        ("0", "0"),
        ("0.1Ki", "102400m"),
        ("0.5Ki", "512"),
        ("1Ki", "1Ki"),
        ("1023Ki", "1023Ki"),
        ("1024Ki", "1Mi"),
        ("1.5Gi", "1536Mi"),
        ("1024Ti", "1Pi"),
        ("-2048Mi", "-2Gi"),
        ("1m", "1m"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("2000", "2k"),
        ("1000000k", "1G"),
        ("0.1", "100m"),
        ("1e3", "1e3"),
        ("1000e3", "1e6"),
        ("1000T", "1P"),
        ("-1500m", "-1500m"),
    ],
)
def test_the_canonical_text(quantity: str, text: str) -> None:
    """The value that Quantity.String writes, in the format of the manifest."""
    assert str(amounts_of({"memory": quantity})["memory"]) == text


@pytest.mark.parametrize(
    ("quantities", "text"),
    [
        pytest.param(["1Gi", "1G"], "2073741824", id="no common suffix"),
        pytest.param(["1Gi", "1024M"], "2048576Ki", id="a common suffix"),
        pytest.param(["1Gi", "1073741824"], "2Gi", id="binary and plain"),
        pytest.param(["1073741824", "1Gi"], "2147483648", id="plain and binary"),
        pytest.param(["0", "1Gi"], "1Gi", id="the format of the first that is not zero"),
        pytest.param(["1", "500m", "500m"], "2", id="three"),
    ],
)
def test_a_sum_has_the_format_of_its_first_amount(quantities: list[str], text: str) -> None:
    assert str(merged(*(amounts_of({"memory": each}) for each in quantities))["memory"]) == text


def test_only_what_there_is_can_be_taken() -> None:
    left = subtracted(amounts_of({"cpu": "2", "memory": "1Gi"}), amounts_of({"cpu": "500m", "pods": "1"}))
    assert json_text(left) == '{"cpu":"1500m","memory":"1Gi"}'
