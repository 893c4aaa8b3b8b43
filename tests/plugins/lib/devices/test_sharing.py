"""Devices in parts: shared counters, and capacity that several claims consume."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.api.dynamic_resources import Device
from ksched_cli.api.quantity import parse_quantity
from ksched_cli.plugins.lib.devices.capacity import Counting, UncountableCapacity, consumed_capacity, fits
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
        pytest.param({"validRange": {"max": "8Gi", "step": "2Gi"}}, "4Gi", "4Gi", id="on a step from zero"),
        pytest.param({"validRange": {"min": "1Gi", "step": "3Gi"}}, "4Gi", "4Gi", id="on a step from the least"),
        pytest.param({"validRange": {"min": "2Gi"}}, "3Gi", "3Gi", id="range without steps"),
        pytest.param({"validRange": {"max": "2Gi"}}, "3Gi", None, id="range without a least"),
        pytest.param(VALUES, "2Gi", "4Gi", id="up to the next value"),
        pytest.param(VALUES, "4Gi", "4Gi", id="one of the values"),
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


HALVES = {"validRange": {"min": "1", "max": "10", "step": "500m"}}
HALVES_FROM_ZERO = {"validRange": {"max": "10", "step": "500m"}}
FINE = {"validRange": {"min": "1", "max": "10", "step": "500u"}}


@pytest.mark.parametrize(
    ("policy", "requested", "plain", "fractional", "exact"),
    [
        pytest.param(HALVES, "1", "1", "1", "1", id="the least"),
        pytest.param(HALVES, "500m", "1", "1", "1", id="below the least"),
        pytest.param(HALVES, "1200m", "2", "1500m", "1500m", id="up to the next step, which is one where wholes count"),
        pytest.param(HALVES, "1500m", "2", "1500m", "1500m", id="on a step of thousandths"),
        pytest.param(HALVES, "10", "10", "10", "10", id="the most"),
        pytest.param(HALVES, "10001m", None, None, None, id="more than the most"),
        pytest.param(HALVES_FROM_ZERO, "1500m", "1500m", "1500m", "1500m", id="on a step from zero"),
        pytest.param(HALVES_FROM_ZERO, "1200m", "1200m", None, None, id="off the steps from zero: nothing rounds up"),
        pytest.param(
            HALVES_FROM_ZERO, "1499500u", "1499500u", "1499500u", None, id="finer than a thousandth, which is rounded"
        ),
        pytest.param(FINE, "1200m", "2", "2", "2", id="wholes count where a bound is finer than a thousandth"),
        pytest.param({"validRange": {"max": "1"}}, "1", "1", "1", "1", id="the most without steps"),
        pytest.param({"default": "3", "validRange": {"max": "2"}}, "3", "3", "3", "3", id="as much as the default"),
        pytest.param({"validValues": []}, "3", "3", "3", "3", id="no values"),
    ],
)
def test_how_ranges_are_counted(
    policy: dict[str, Any], requested: str, plain: str | None, fractional: str | None, exact: str | None
) -> None:
    """In wholes; in thousandths with DRAFractionalCapacityRange; and since 1.37 without rounding what is finer."""
    made = msgspec.convert(shared_device(memory={"value": "100", "requestPolicy": policy}), Device)
    wanted = {"memory": parse_quantity(requested)}
    for counting, expected in ((Counting(), plain), (Counting(True), fractional), (Counting(True, True), exact)):
        assert fits(made, wanted, counting=counting) is (expected is not None)
        if expected is not None:
            assert consumed_capacity(made, wanted, counting=counting) == {"memory": parse_quantity(expected)}


def test_ranges_are_counted_as_int64() -> None:
    """Before 1.37: from 2^63 on a number begins anew at the other end, so that 2^64 + 3 is 3."""
    policy = {"validRange": {"min": "0", "step": "2"}}
    made = msgspec.convert(shared_device(memory={"value": "100", "requestPolicy": policy}), Device)
    assert consumed_capacity(made, {"memory": Fraction(2**64 + 3)}) == {"memory": 4}


TWO_TO_63 = str(2**63)


@pytest.mark.parametrize(
    ("policy", "requested", "counting", "text"),
    [
        pytest.param(
            HALVES, "1200500u", Counting(True, True), "is not a representable milli value", id="finer than a thousandth"
        ),
        pytest.param(
            {"validRange": {"min": "1", "step": "1"}},
            TWO_TO_63,
            Counting(False, True),
            "exceeds MaxInt64",
            id="more than an int64",
        ),
        pytest.param(
            {"validRange": {"min": "1", "step": "4"}},
            str(2**63 - 1),
            Counting(False, True),
            "up to the next step passes MaxInt64",
            id="the next step is more than an int64",
        ),
        pytest.param(
            {"validRange": {"min": "1", "step": "4"}},
            str((2**63 - 1) // 1000),
            Counting(True, True),
            "up to the next step passes the milli-value range",
            id="the next step is more than thousandths in an int64",
        ),
        pytest.param({"validRange": {"min": "1", "step": "0"}}, "2", Counting(), "its step is 0", id="no step"),
        pytest.param(None, "-1", Counting(False, True), "capacity value is negative", id="less than nothing"),
    ],
)
def test_what_cannot_be_counted(policy: dict[str, Any] | None, requested: str, counting: Counting, text: str) -> None:
    made = msgspec.convert(shared_device(memory={"value": TWO_TO_63, "requestPolicy": policy}), Device)
    with pytest.raises(UncountableCapacity, match=text) as caught:
        consumed_capacity(made, {"memory": parse_quantity(requested)}, counting=counting)
    assert str(caught.value).startswith('capacity "memory": ')


@pytest.mark.parametrize(
    ("allocated", "allocating", "requested", "expected"),
    [
        pytest.param(4, 3, 3, True, id="all that is left"),
        pytest.param(4, 3, 4, False, id="more than is left"),
        pytest.param(10, 0, 0, True, id="nothing of a full device"),
    ],
)
def test_what_is_taken_already_counts(allocated: int, allocating: int, requested: int, expected: bool) -> None:
    made = msgspec.convert(shared_device(memory="10"), Device)
    taken, taking = {"memory": Fraction(allocated)}, {"memory": Fraction(allocating)}
    assert fits(made, {"memory": Fraction(requested)}, taken, taking) is expected
