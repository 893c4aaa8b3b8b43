"""Devices in parts: shared counters, and capacity that several claims consume."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.api.dynamic_resources import Device
from ksched_cli.plugins.lib.devices.capacity import consumed_capacity, fits
from ksched_cli.plugins.lib.devices.inventory import Features
from ksched_cli.plugins.lib.devices.node_search import allocation_of
from ksched_cli.releases.minors import nearest_release
from tests.builders import make_node
from tests.plugins.lib.devices.resources import (
    GPU,
    allocate,
    allocated,
    alternative,
    device,
    exactly,
    first_of,
    make_allocator,
    make_claim,
    make_slice,
)


def counters(amount: str) -> list[dict[str, Any]]:
    return [{"counterSet": "set", "counters": {"memory": {"value": amount}}}]


COUNTERS = make_slice(
    "counters",
    node="node",
    count=2,
    sharedCounters=[{"name": "set", "counters": {"memory": {"value": "18Gi"}}}],
)


def partitions(**amounts: str) -> Any:
    made = [device(name, consumesCounters=counters(amount)) for name, amount in amounts.items()]
    return make_slice("partitions", made, node="node", count=2)


@pytest.mark.parametrize(
    ("amounts", "count", "expected"),
    [
        pytest.param({"a": "10Gi", "b": "8Gi"}, 2, ["r=a", "r=b"], id="both fit"),
        pytest.param({"a": "10Gi", "b": "10Gi"}, 2, None, id="too much together"),
        pytest.param({"a": "10Gi", "b": "10Gi", "c": "8Gi"}, 2, ["r=a", "r=c"], id="another that fits"),
        pytest.param({"a": "20Gi", "b": "1Gi"}, 1, ["r=b"], id="one too large"),
    ],
)
def test_counters(amounts: dict[str, str], count: int, expected: list[str] | None) -> None:
    found = allocate([make_claim("claim", exactly(count=count))], [GPU, COUNTERS, partitions(**amounts)])
    assert found == (None if expected is None else [expected])


def test_counters_of_allocated_devices_are_gone() -> None:
    made = partitions(a="10Gi", b="10Gi", c="8Gi")
    busy = make_claim("busy", exactly(), status=allocated("a"))
    assert allocate([make_claim("claim", exactly())], [GPU, COUNTERS, made, busy]) == [["r=c"]]


def test_counters_are_given_back_when_an_alternative_fails() -> None:
    made = partitions(a="10Gi", b="8Gi")
    claim = make_claim("claim", first_of("r", alternative("three", count=3), alternative("two", count=2)))
    assert allocate([claim], [GPU, COUNTERS, made]) == [["r/two=a", "r/two=b"]]


def test_counters_on_a_node_of_their_own() -> None:
    """Devices of other nodes draw on the pool's counters too."""
    far = make_slice("far", [device("x", consumesCounters=counters("10Gi"))], node="other", pool="node", count=3)
    near = make_slice("near", [device("y", consumesCounters=counters("10Gi"))], node="node", count=3)
    shared = make_slice(
        "counters", node="node", count=3, sharedCounters=[{"name": "set", "counters": {"memory": {"value": "18Gi"}}}]
    )
    claim, busy = make_claim("claim", exactly()), make_claim("busy", exactly(), status=allocated("x"))
    assert allocate([claim], [GPU, far, near, shared]) == [["r=y"]]
    assert allocate([claim], [GPU, far, near, shared, busy]) is None


def test_a_tainted_partition_keeps_its_counters_before_1_36_3() -> None:
    taint = {"key": "broken", "effect": "NoSchedule"}
    made = [
        device("a", consumesCounters=counters("10Gi"), taints=[taint]),
        device("b", consumesCounters=counters("10Gi")),
    ]
    slices = make_slice("partitions", made, node="node", count=2)
    assert (
        allocate([make_claim("claim", exactly())], [GPU, COUNTERS, slices], release=nearest_release("1.36.2")) is None
    )


# Consumable capacity


def shared_device(name: str = "d", **capacity: Any) -> dict[str, Any]:
    return device(name, capacity=capacity, allowMultipleAllocations=True)


def asking(amount: str, name: str = "r", **more: Any) -> dict[str, Any]:
    return exactly(name, capacity={"requests": {"memory": amount}}, **more)


def test_several_claims_share_a_device() -> None:
    slices = make_slice("s", [shared_device(memory="10Gi")], node="node")
    claims = [make_claim("a", asking("6Gi")), make_claim("b", asking("4Gi"))]
    assert allocate(claims, [GPU, slices]) == [["r=d"], ["r=d"]]
    assert allocate([*claims, make_claim("c", asking("1"))], [GPU, slices]) is None


def test_what_others_have_consumed_counts() -> None:
    slices = make_slice("s", [shared_device("a", memory="10Gi"), shared_device("b", memory="10Gi")], node="node")
    status = allocated("a", shareID="1", consumedCapacity={"memory": "6Gi"})
    assert allocate([make_claim("claim", asking("5Gi"))], [GPU, slices, make_claim("busy", status=status)]) == [["r=b"]]
    assert allocate([make_claim("claim", asking("4Gi"))], [GPU, slices, make_claim("busy", status=status)]) == [["r=a"]]


def test_without_the_gate_a_shared_device_is_taken_whole() -> None:
    slices = make_slice("s", [shared_device(memory="10Gi")], node="node")
    claims = [make_claim("a", exactly()), make_claim("b", exactly())]
    assert allocate(claims, [GPU, slices], Features(consumable=False)) is None


def test_a_device_that_is_not_shared_has_to_be_large_enough() -> None:
    slices = make_slice("s", [device("small", capacity={"memory": "1Gi"}), device("d", capacity={"memory": "8Gi"})],
                        node="node")  # fmt: skip
    assert allocate([make_claim("claim", asking("4Gi"))], [GPU, slices]) == [["r=d"]]
    assert allocate([make_claim("claim", asking("9Gi"))], [GPU, slices]) is None


def test_a_share_is_written_into_the_claim() -> None:
    slices = make_slice("s", [shared_device(memory="10Gi")], node="node")
    claim = make_claim("claim", asking("1500m"))
    _, allocator = make_allocator([make_node("node").obj()], [GPU, slices])
    picks = allocator.allocate(0, [claim])
    assert picks is not None
    (result,) = allocation_of(picks[0], claim, "node").devices.results
    assert result.share_id
    assert result.consumed_capacity == {"memory": "1500m"}


RANGE = {"default": "2Gi", "validRange": {"min": "2Gi", "max": "8Gi", "step": "2Gi"}}
VALUES = {"default": "1Gi", "validValues": ["1Gi", "4Gi", "8Gi"]}


@pytest.mark.parametrize(
    ("policy", "requested", "consumed"),
    [
        pytest.param(None, "3Gi", "3Gi", id="no policy"),
        pytest.param(None, None, "10Gi", id="no policy, no request: all of it"),
        pytest.param(RANGE, None, "2Gi", id="default"),
        pytest.param(RANGE, "1Gi", "2Gi", id="below the range"),
        pytest.param(RANGE, "3Gi", "4Gi", id="up to the next step"),
        pytest.param(RANGE, "4Gi", "4Gi", id="on a step"),
        pytest.param(RANGE, "9Gi", None, id="above the range"),
        pytest.param({"validRange": {"min": "2Gi"}}, "3Gi", "3Gi", id="range without steps"),
        pytest.param({"validRange": {"max": "2Gi"}}, "3Gi", None, id="range without a least"),
        pytest.param(VALUES, "2Gi", "4Gi", id="up to the next value"),
        pytest.param(VALUES, "9Gi", None, id="above every value"),
        pytest.param({"default": "3Gi", "validValues": ["4Gi"]}, None, "3Gi", id="a default needs no policy"),
        pytest.param(None, "11Gi", None, id="more than there is"),
    ],
)
def test_policy(policy: dict[str, Any] | None, requested: str | None, consumed: str | None) -> None:
    made = msgspec.convert(shared_device(memory={"value": "10Gi", "requestPolicy": policy}), Device)
    wanted = {} if requested is None else {"memory": gibibytes(requested)}
    assert fits(made, wanted) is (consumed is not None)
    if consumed is not None:
        assert consumed_capacity(made, wanted) == {"memory": gibibytes(consumed)}


def gibibytes(text: str) -> Fraction:
    return Fraction(int(text.removesuffix("Gi")) * 2**30)


def test_a_capacity_that_the_device_does_not_have() -> None:
    made = msgspec.convert(shared_device(memory="1Gi"), Device)
    assert not fits(made, {"bandwidth": Fraction(1)})


@given(st.lists(st.integers(1, 12), min_size=1, max_size=6), st.integers(1, 3))
def test_capacity_is_never_overdrawn(amounts: list[int], devices: int) -> None:
    slices = make_slice("s", [shared_device(f"d{at}", memory="12") for at in range(devices)], node="node")
    claims = [make_claim(f"c{at}", asking(str(amount))) for at, amount in enumerate(amounts)]
    found = allocate(claims, [GPU, slices])
    used: dict[str, int] = {}
    for (pick,), amount in zip(found or [], amounts, strict=bool(found)):
        used[pick] = used.get(pick, 0) + amount
    assert all(total <= 12 for total in used.values())
    assert found is not None or sum(amounts) > 12 * devices - 12
