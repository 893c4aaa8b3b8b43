"""Situations with devices in parts: several counters, sets, pools and slices, and capacity given out bit by bit."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.plugins.lib.devices.inventory import Features
from ksched_cli.releases.minors import nearest_release
from tests.plugins.lib.devices.resources import (
    DRIVER,
    GPU,
    allocate,
    allocated,
    alternative,
    device,
    everything,
    exactly,
    first_of,
    make_claim,
    make_class,
    make_slice,
    selectors,
)


def sets(name: str = "counters", pool: str = "node", count: int = 2, **amounts: dict[str, str]) -> Any:
    """A slice of counter sets: `a={"memory": "8Gi"}`."""
    made = [{"name": each, "counters": amount(**counters)} for each, counters in amounts.items()]
    return make_slice(name, node="node", pool=pool, count=count, sharedCounters=made)


def amount(**counters: str) -> dict[str, Any]:
    return {name: {"value": value} for name, value in counters.items()}


def part(name: str, *consumed: tuple[str, dict[str, str]], **more: Any) -> dict[str, Any]:
    """A device that draws on counter sets."""
    return device(
        name, consumesCounters=[{"counterSet": each, "counters": amount(**used)} for each, used in consumed], **more
    )


def parts(*made: dict[str, Any], name: str = "parts", pool: str = "node", count: int = 2, **more: Any) -> Any:
    return make_slice(name, made, pool=pool, count=count, **{"node": "node", **more})


def kind(value: str) -> dict[str, Any]:
    return {"attributes": {"kind": value}}


A8 = sets(a={"memory": "8Gi"})
SIX, FOUR = ("a", {"memory": "6Gi"}), ("a", {"memory": "4Gi"})


@pytest.mark.parametrize(
    ("requests", "objects", "expected"),
    [
        pytest.param([exactly()], [A8, parts(part("d", SIX))], ["r=d"], id="one device"),
        pytest.param([everything()], [A8, parts(part("d", FOUR))], ["r=d"], id="all devices"),
        pytest.param([everything()], [A8, parts(part("d", FOUR), part("e", SIX))], None, id="all, too much together"),
        pytest.param(
            [first_of("r", alternative("two", count=2), alternative("one"))],
            [A8, parts(part("d", SIX), part("e", SIX))], ["r/one=d"], id="an alternative that draws less",
        ),
        pytest.param(
            [exactly(count=2)],
            [sets(a={"memory": "8Gi"}, b={"memory": "8Gi"}),
             parts(part("d", SIX), part("e", SIX), part("f", ("b", {"memory": "6Gi"})))],
            ["r=d", "r=f"], id="several sets",
        ),
        pytest.param(
            [exactly(count=2)],
            [sets(a={"memory": "8Gi"}, b={"memory": "8Gi"}),
             parts(part("d", FOUR, ("b", {"memory": "6Gi"})), part("e", FOUR, ("b", {"memory": "4Gi"})),
                   part("f", FOUR, ("b", {"memory": "1Gi"})))],
            ["r=d", "r=f"], id="devices that draw on several sets",
        ),
        pytest.param(
            [exactly(count=2)],
            [sets(a={"memory": "8Gi", "cores": "4"}),
             parts(part("d", ("a", {"memory": "1Gi", "cores": "3"})), part("e", ("a", {"memory": "1Gi", "cores": "2"})),
                   part("f", ("a", {"memory": "7Gi", "cores": "1"})))],
            ["r=d", "r=f"], id="several counters",
        ),
        pytest.param(
            [exactly()], [sets(a={"memory": "8Gi", "cores": "4"}), parts(part("d", SIX))], ["r=d"],
            id="a counter that nobody draws on",
        ),
        pytest.param(
            [exactly()],
            [sets(a={"memory": "8Gi", "cores": "4"}),
             parts(part("busy", ("a", {"memory": "8Gi"})), part("d", ("a", {"cores": "4"}))),
             make_claim("busy", status=allocated("busy"))],
            ["r=d"], id="a counter that is used up, and another",
        ),
        pytest.param(
            [exactly("a"), exactly("b")],
            [sets("c1", "p", a={"memory": "8Gi"}), parts(part("d", SIX), part("e", FOUR), name="s1", pool="p"),
             sets("c2", "q", a={"memory": "8Gi"}), parts(part("f", FOUR), name="s2", pool="q")],
            ["a=d", "b=f"], id="sets of one name in two pools are two",
        ),
        pytest.param(
            [exactly()],
            [sets("c1", "p", count=3, a={"memory": "8Gi"}), sets("c2", "p", count=3, b={"memory": "8Gi"}),
             parts(part("d", SIX, ("b", {"memory": "6Gi"})), pool="p", count=3)],
            ["r=d"], id="sets in several slices",
        ),
        pytest.param(
            [exactly("two", count=2), exactly("x", selectors=selectors(f'device.attributes["{DRIVER}"].kind == "x"'))],
            [sets(a={"memory": "12Gi"}), parts(part("d", FOUR, **kind("x")), part("e", FOUR, **kind("y")),
                                               part("f", FOUR, **kind("y")))],
            ["two=e", "two=f", "x=d"], id="counters are given back when choosing again",
        ),
        pytest.param(
            [exactly(count=2)],
            [A8, parts(part("d", FOUR, bindingConditions=["ready"]), part("e", FOUR))], ["r=d", "r=e"],
            id="with binding conditions",
        ),
        pytest.param(
            [exactly(count=2)],
            [A8, parts(part("d", FOUR, taints=[{"key": "hot", "effect": "NoSchedule"}]), part("e", FOUR))], None,
            id="with taints",
        ),
        pytest.param(
            [exactly(count=2, tolerations=[{"operator": "Exists"}])],
            [A8, parts(part("d", FOUR, taints=[{"key": "hot", "effect": "NoSchedule"}]), part("e", FOUR))],
            ["r=d", "r=e"], id="with taints that are tolerated",
        ),
    ],
)  # fmt: skip
def test_counters(requests: list[Any], objects: list[Any], expected: list[str] | None) -> None:
    found = allocate([make_claim("claim", *requests)], [GPU, *objects])
    assert found == (None if expected is None else [expected])


@pytest.mark.parametrize(
    ("busy", "expected"),
    [
        pytest.param(part("busy", SIX), None, id="too little is left"),
        pytest.param(part("busy", ("a", {"memory": "20Gi"})), None, id="more is taken than there is"),
        pytest.param(part("busy", ("a", {"memory": "2Gi"})), [["r=free"]], id="enough is left"),
    ],
)
def test_counters_of_devices_in_use(busy: dict[str, Any], expected: Any) -> None:
    objects = [GPU, A8, parts(busy, part("free", SIX)), make_claim("busy", status=allocated("busy"))]
    assert allocate([make_claim("claim", exactly())], objects) == expected


def test_without_the_gate_devices_that_draw_on_counters_are_left_alone() -> None:
    off = Features(partitionable=False)
    assert allocate([make_claim("c", exactly())], [GPU, A8, parts(part("d", FOUR))], off) is None
    assert allocate([make_claim("c", exactly())], [GPU, A8, parts(part("d", FOUR), device("e"))], off) == [["r=e"]]


# Capacity


def shared(name: str = "d", amount: str | None = "10", policy: Any = None, **more: Any) -> dict[str, Any]:
    capacity = {} if amount is None else {"memory": {"value": amount, "requestPolicy": policy}}
    return device(name, capacity=capacity, allowMultipleAllocations=True, **more)


def asking(amount: str | None, name: str = "r", **more: Any) -> dict[str, Any]:
    return exactly(name, **({} if amount is None else {"capacity": {"requests": {"memory": amount}}}), **more)


def slice_of(*made: dict[str, Any]) -> Any:
    return make_slice("s", made, node="node")


def consumed(*names: str, amount: str = "6") -> Any:
    return make_claim("busy", status=allocated(*names, shareID="1", consumedCapacity={"memory": amount}))


RANGE = {"default": "2", "validRange": {"min": "2", "max": "4", "step": "2"}}
ZERO = {"default": "0", "validValues": ["0"]}


@pytest.mark.parametrize(
    ("requests", "objects", "expected"),
    [
        pytest.param([asking(None, "a"), asking(None, "b")], [slice_of(shared(amount=None))], ["a=d", "b=d"],
                     id="no capacity, none asked for"),
        pytest.param([asking(None, "a")], [slice_of(shared())], ["a=d"], id="none asked for: all of it"),
        pytest.param([asking(None, "a"), asking(None, "b")], [slice_of(shared())], None,
                     id="none asked for twice: all of it is gone"),
        pytest.param([asking(None, "a"), asking(None, "b")], [slice_of(shared(amount="4", policy=RANGE))],
                     ["a=d", "b=d"], id="none asked for: the default"),
        pytest.param([asking("1", "a"), asking("2", "b")], [slice_of(shared(amount="4", policy=RANGE))], ["a=d", "b=d"],
                     id="at least the least"),
        pytest.param([asking("3", "a"), asking("1", "b")], [slice_of(shared(amount="4", policy=RANGE))], None,
                     id="rounded up to a step there is too little"),
        pytest.param([asking("5")], [slice_of(shared(policy=RANGE))], None, id="over the most"),
        pytest.param([asking("11")], [slice_of(shared())], None, id="over the capacity"),
        pytest.param([asking("0", "a"), asking(None, "b")], [slice_of(shared(policy=ZERO))], ["a=d", "b=d"],
                     id="nothing is a share too"),
        pytest.param([asking("1")], [slice_of(shared(policy=ZERO))], None, id="more than nothing"),
        pytest.param([asking("4")], [slice_of(shared()), consumed("d")], ["r=d"], id="the rest"),
        pytest.param([asking("5")], [slice_of(shared(), shared("e")), consumed("d")], ["r=e"], id="the next device"),
        pytest.param([asking("5")], [slice_of(shared(), shared("e")), consumed("d", "e")], None, id="nowhere enough"),
        pytest.param(
            [first_of("r", alternative("big", capacity={"requests": {"memory": "11"}}),
                      alternative("small", capacity={"requests": {"memory": "9"}}))],
            [slice_of(shared())], ["r/small=d"], id="an alternative",
        ),
        pytest.param([everything(capacity={"requests": {"memory": "1"}})], [slice_of(shared(), shared("e", None))],
                     ["r=d"], id="all that have it"),
        pytest.param([everything(capacity={"requests": {"memory": "5"}})], [slice_of(shared(), shared("e", "4"))],
                     ["r=d"], id="all that have enough"),
        pytest.param([everything(capacity={"requests": {"memory": "5"}})],
                     [slice_of(shared(), shared("e")), consumed("d")], ["r=e"], id="all that have enough left"),
        pytest.param([everything(capacity={"requests": {"memory": "4"}})],
                     [slice_of(shared(), shared("e")), consumed("d")], ["r=d", "r=e"], id="all, in use or not"),
        pytest.param([asking("1", "a"), everything("b", capacity={"requests": {"memory": "9"}})],
                     [slice_of(shared(), shared("e"))], ["a=d", "b=d", "b=e"], id="one, and all of what is left"),
        pytest.param([asking("2", "a"), everything("b", capacity={"requests": {"memory": "9"}})],
                     [slice_of(shared())], None, id="one, and then not all"),
        pytest.param([everything(capacity={"requests": {"bandwidth": "1"}})], [slice_of(shared())], None,
                     id="of another kind"),
        pytest.param([asking("1")], [slice_of(device("d", capacity={"memory": "2"}))], ["r=d"], id="not shared"),
        pytest.param([asking("1", "a"), asking("1", "b")], [slice_of(device("d", capacity={"memory": "2"}))], None,
                     id="not shared, twice"),
        pytest.param([asking("1")], [slice_of(shared()), make_claim("busy", status=allocated("d"))], None,
                     id="shared since, and taken whole before"),
        pytest.param([asking("1")], [slice_of(device("d", capacity={"memory": "10"})), consumed("d", amount="10")],
                     None, id="no longer shared, and its capacity taken before"),
        pytest.param([exactly("r", "whole")],
                     [slice_of(shared()), make_class("whole", "device.allowMultipleAllocations == false")], None,
                     id="a class that wants whole devices"),
    ],
)  # fmt: skip
def test_capacity(requests: list[Any], objects: list[Any], expected: list[str] | None) -> None:
    found = allocate([make_claim("claim", *requests)], [GPU, *objects])
    assert found == (None if expected is None else [expected])


def test_a_claim_has_to_choose_again_for_the_next_one() -> None:
    kinds = slice_of(shared("d", **kind("x")), shared("e", **kind("y")))
    only_x = selectors(f'device.attributes["{DRIVER}"].kind == "x"')
    claims = [make_claim("a", asking("6")), make_claim("b", asking("6", "p", selectors=only_x), asking("4", "q"))]
    assert allocate(claims, [GPU, kinds]) == [["r=e"], ["p=d", "q=d"]]


@pytest.mark.parametrize("minor", ["1.36.2", "1.36.3"])
def test_a_share_that_is_given_back_leaves_those_of_others(minor: str) -> None:
    """The other amount of the device is zero in every share."""
    x = shared("d", **kind("x"))
    x["capacity"]["links"] = {"value": "10", "requestPolicy": ZERO}
    only_x = selectors(f'device.attributes["{DRIVER}"].kind == "x"')
    claims = [
        make_claim("a", asking("6", selectors=only_x)),
        make_claim("b", asking("4", "p"), asking("6", "q", selectors=only_x)),
    ]
    assert allocate(claims, [GPU, slice_of(x, shared("e", **kind("y")))], release=nearest_release(minor)) is None


def test_without_the_gate_of_counters_a_share_that_needs_them_is_refused() -> None:
    made = slice_of(shared(consumesCounters=part("d", FOUR)["consumesCounters"]))
    off = Features(partitionable=False)
    assert allocate([make_claim("c", asking("4"))], [GPU, made, consumed("d")], off) is None
    assert allocate([make_claim("c", asking("4"))], [GPU, slice_of(shared()), consumed("d")], off) == [["r=d"]]


def test_a_share_that_is_given_back_takes_the_counters_anew() -> None:
    """d and e draw on the counters of one device. The first choice of d fails, and then e has them."""
    made = parts(
        shared("d", None, **kind("d"), consumesCounters=part("d", SIX)["consumesCounters"]),
        device("f", **kind("f")),
        part("e", SIX, **kind("e")),
    )
    requests = [
        exactly("a"),
        *(exactly(name, selectors=selectors(f'device.attributes["{DRIVER}"].kind == "{name}"')) for name in "ed"),
    ]
    assert allocate([make_claim("c", *requests[:2])], [GPU, A8, made]) == [["a=f", "e=e"]]
    assert allocate([make_claim("c", *requests)], [GPU, A8, made]) is None


def test_shares_pay_for_a_devices_counters_once() -> None:
    made = parts(shared("d") | {"consumesCounters": [{"counterSet": "a", "counters": amount(memory="6Gi")}]},
                 part("e", FOUR))  # fmt: skip
    claims = [make_claim("a", asking("4")), make_claim("b", asking("4"))]
    assert allocate(claims, [GPU, A8, made]) == [["r=d"], ["r=d"]]
    assert allocate([*claims, make_claim("c", exactly("w", count=1))], [GPU, A8, made]) is None
    busy = consumed("d")
    assert allocate([make_claim("c", asking("4"))], [GPU, A8, made, busy]) == [["r=d"]]
    other = selectors("!device.allowMultipleAllocations")
    assert allocate([make_claim("c", exactly(selectors=other))], [GPU, A8, made, busy]) is None
