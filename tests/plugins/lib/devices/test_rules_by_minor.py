"""The search for devices under the rules of several minors and patches. The cases are those of the Go unit tests of
kube-scheduler 1.37 (structured/internal/allocatortesting); each row has the result of 1.36 and that of 1.37."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.plugins.lib.devices.claims import AllocationError
from ksched_cli.plugins.lib.devices.inventory import Features
from ksched_cli.releases.minors import nearest_release
from tests.builders import make_node
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
    make_allocator,
    make_claim,
    make_slice,
    selectors,
)


def counters(**amounts: str) -> list[dict[str, Any]]:
    """`counters(set=...)` for a counter set "c" with one counter."""
    return [{"name": "c", "counters": {name: {"value": value} for name, value in amounts.items()}}]


def consuming(name: str, amount: str, **fields: Any) -> dict[str, Any]:
    return device(name, consumesCounters=[{"counterSet": "c", "counters": {"n": {"value": amount}}}], **fields)


def pool_of(*made: dict[str, Any], limit: str = "", driver: str = DRIVER, pool: str = "pool") -> list[Any]:
    """One pool on the node: a slice of devices and, with a limit, one of counters."""
    count = 2 if limit else 1
    slices = [make_slice(f"{driver}-devices", made, node="node", pool=pool, count=count, driver=driver)]
    if limit:
        shared = {"sharedCounters": counters(n=limit)}
        slices.append(make_slice(f"{driver}-counters", node="node", pool=pool, count=2, driver=driver, **shared))
    return slices


def of_kind(kind: str) -> list[dict[str, Any]]:
    return selectors(f'device.attributes["{DRIVER}"].kind == "{kind}"')


TAINTED = {"taints": [{"key": "broken", "effect": "NoSchedule"}]}
SHARED: dict[str, Any] = {"allowMultipleAllocations": True}
SAME_COLOR = {"matchAttribute": f"{DRIVER}/color"}
OTHER_COLOR = {"distinctAttribute": f"{DRIVER}/color"}


def color(value: str, **more: str) -> dict[str, Any]:
    return {"attributes": {"color": value, **more}}


VERSIONS = ("1.36.2", "1.36.3", "1.37")


@pytest.mark.parametrize(
    ("claims", "objects", "before", "now"),
    [
        pytest.param(
            [make_claim("c", exactly())],
            pool_of(consuming("d1", "1", **TAINTED), consuming("d2", "1"), limit="1"),
            None,
            [["r=d2"]],
            id="a taint gives the counter back",
        ),
        pytest.param(
            [make_claim("c", exactly(count=2), constraints=[SAME_COLOR])],
            pool_of(
                consuming("d1", "1", **color("red")),
                consuming("d2", "1", **color("blue")),
                consuming("d3", "1", **color("blue")),
                limit="2",
            ),
            None,
            [["r=d2", "r=d3"]],
            id="a constraint gives the counter back",
        ),
        pytest.param(
            [
                make_claim(
                    "c",
                    exactly("r0", selectors=of_kind("shared")),
                    exactly("r1", selectors=of_kind("counters")),
                )
            ],
            pool_of(
                consuming("d1", "1", attributes={"kind": "shared"}, **SHARED),
                device("d2", attributes={"kind": "shared"}),
                consuming("d3", "1", attributes={"kind": "counters"}),
                limit="1",
            ),
            None,
            [["r0=d2", "r1=d3"]],
            id="a shared device that is given back gives the counter back",
        ),
        pytest.param(
            [
                make_claim("c0", exactly("r0", selectors=of_kind("cap"), capacity={"requests": {"m": "2"}})),
                make_claim(
                    "c1",
                    first_of(
                        "r0",
                        alternative(
                            "all",
                            selectors=of_kind("cap"),
                            allocationMode="All",
                            count=0,
                            capacity={"requests": {"m": "2"}},
                        ),
                        alternative("one", selectors=of_kind("other")),
                    ),
                    constraints=[SAME_COLOR],
                ),
            ],
            pool_of(
                device("d1", capacity={"m": "2"}, attributes={"kind": "cap", "color": "red"}, **SHARED),
                device("d2", attributes={"kind": "other", "color": "blue"}),
            ),
            None,
            [["r0=d1"], ["r0/one=d2"]],
            id="a device that is full leaves the constraint",
        ),
        pytest.param(
            [
                make_claim("c0", exactly("r0", selectors=of_kind("shared"))),
                make_claim(
                    "c1",
                    exactly(
                        "r1",
                        selectors=selectors(f'device.attributes["{DRIVER}"].kind in ["shared", "fallback"]'),
                    ),
                    exactly("r2", selectors=of_kind("gate")),
                    exactly("r3", selectors=of_kind("shared")),
                    constraints=[{**SAME_COLOR, "requests": ["r1", "r2"]}],
                ),
            ],
            pool_of(
                consuming("d1", "1", attributes={"kind": "shared", "color": "red"}, **SHARED),
                device("d2", attributes={"kind": "fallback", "color": "blue"}),
                device("d3", attributes={"kind": "gate", "color": "blue"}),
                limit="1",
            ),
            [["r0=d1"], ["r1=d2", "r2=d3", "r3=d1"]],
            [["r0=d1"], ["r1=d2", "r2=d3", "r3=d1"]],
            id="one share that is given back leaves the other",
        ),
    ],
)
def test_what_a_refused_device_had_taken(
    claims: list[Any], objects: list[Any], before: list[list[str]] | None, now: list[list[str]] | None
) -> None:
    """#140431, which patch 1.36.3 has, too."""
    found = {version: allocate(claims, [GPU, *objects], release=nearest_release(version)) for version in VERSIONS}
    assert found == {"1.36.2": before, "1.36.3": now, "1.37": now}


@pytest.mark.parametrize(
    ("claims", "objects", "before", "now"),
    [
        pytest.param(
            [make_claim("c", exactly(selectors=selectors('device.driver == "two"')))],
            [
                *pool_of(consuming("d1", "1"), limit="1", driver="one"),
                *pool_of(consuming("d2", "2"), limit="2", driver="two"),
                make_claim("taken", exactly(), status=allocated("d1", driver="one", pool="pool")),
            ],
            [["r=d2"]],
            [["r=d2"]],
            id="pools of one name: alone",
        ),
        pytest.param(
            [
                make_claim("c", exactly("r0", selectors=selectors('device.driver == "one"'))),
                make_claim("d", exactly("r1", selectors=selectors('device.driver == "two"'))),
            ],
            [
                *pool_of(consuming("d1", "1"), limit="1", driver="one"),
                *pool_of(consuming("d2", "2"), limit="2", driver="two"),
            ],
            None,
            [["r0=d1"], ["r1=d2"]],
            id="pools of one name: each has counters of its own",
        ),
        pytest.param(
            [make_claim("c", exactly())],
            [
                *pool_of(consuming("d1", "1", **SHARED), limit="1"),
                make_claim("held", exactly(), status=allocated("d1", pool="pool", shareID="s")),
            ],
            None,
            [["r=d1"]],
            id="a share without capacity holds the counters",
        ),
        pytest.param(
            [make_claim("c", everything(capacity={"requests": {"m": "1"}}))],
            [
                *pool_of(device("d1", capacity={"m": "1"}, **SHARED), device("d2", capacity={"m": "1"}, **SHARED)),
                make_claim(
                    "held",
                    exactly(),
                    status=allocated("d1", pool="pool", shareID="s", consumedCapacity={"m": "1"}),
                ),
            ],
            [["r=d2"]],
            None,
            id="all devices: a full one counts",
        ),
        pytest.param(
            [make_claim("c", exactly(count=3), constraints=[OTHER_COLOR])],
            pool_of(
                device("d1", **color("red")),
                device("d2", **color("blue")),
                device("d3", **color("red")),
                device("d4", **color("green")),
            ),
            [["r=d1", "r=d2", "r=d3"]],
            [["r=d1", "r=d2", "r=d4"]],
            id="distinct from each device",
        ),
    ],
)
def test_rules_of_1_37(claims: list[Any], objects: list[Any], before: Any, now: Any) -> None:
    found = {
        version: allocate(claims, [GPU, *objects], release=nearest_release(version)) for version in ("1.36", "1.37")
    }
    assert found == {"1.36": before, "1.37": now}


@pytest.mark.parametrize("version", ["1.36", "1.37"])
def test_without_the_gate_of_capacity_a_request_for_all_devices_gets_all(version: str) -> None:
    objects = [GPU, *pool_of(device("d1"), device("d2", capacity={"m": "1"}))]
    off = Features(consumable=False)
    found = allocate([make_claim("c", everything())], objects, off, release=nearest_release(version))
    assert found == [["r=d1", "r=d2"]]


@pytest.mark.parametrize(
    ("version", "found"), [("1.36.1", [["r=d2"]]), ("1.36.2", None), ("1.36", None), ("1.37", None)]
)
def test_a_shared_device_of_an_earlier_cycle_takes_its_counters(version: str, found: Any) -> None:
    """#139040, which patch 1.36.2 has: d1 and d2 exclude each other."""
    held = make_claim("held", exactly(), status=allocated("d1", pool="pool", shareID="s", consumedCapacity={"m": "1"}))
    pool = pool_of(consuming("d1", "1", capacity={"m": "4"}, **SHARED), consuming("d2", "1"), limit="1")
    claim = make_claim("c", exactly(selectors=selectors("!device.allowMultipleAllocations")))
    assert allocate([claim], [GPU, *pool, held], release=nearest_release(version)) == found


def colored(name: str, *colors: str) -> dict[str, Any]:
    """A device whose attribute is a list."""
    made = device(name)
    made["attributes"] = {"color": {"strings": list(colors)}}
    return made


@pytest.mark.parametrize(
    ("lists", "expression", "problem"),
    [
        pytest.param(False, 'color == ["red", "blue"]', "attribute color: unsupported attribute value", id="gate off"),
        pytest.param(False, 'color.includes("blue")', "undeclared reference to 'includes'", id="gate off, includes"),
        pytest.param(True, 'color.includes("blue")', "", id="gate on"),
    ],
)
def test_selectors_see_lists(lists: bool, expression: str, problem: str) -> None:
    """#139395: without the gate the cycle of 1.36 ends with an error."""
    claim = make_claim("c", exactly(selectors=selectors(f'device.attributes["{DRIVER}"].{expression}')))
    objects = [GPU, *pool_of(colored("d1", "red"), colored("d2", "red", "blue"))]
    features = Features(list_attributes=lists)
    before, now = map(nearest_release, ("1.36", "1.37"))
    if problem:
        with pytest.raises(AllocationError, match=problem):
            allocate([claim], objects, features, release=before)
    else:
        assert allocate([claim], objects, features, release=before) == [["r=d2"]]
    assert allocate([claim], objects, features, release=now) == [["r=d2"]]


def test_common_values_come_back() -> None:
    """#140325: after d2 is given back, what it ruled out is possible again."""
    claim = make_claim(
        "c",
        exactly("r0", selectors=selectors('device.attributes["' + DRIVER + '"].size == 1')),
        exactly("r1", selectors=selectors('device.attributes["' + DRIVER + '"].size == 2')),
        exactly("r2", selectors=selectors('device.attributes["' + DRIVER + '"].size == 3')),
        constraints=[SAME_COLOR],
    )

    def sized(name: str, size: int, *colors: str) -> dict[str, Any]:
        made = colored(name, *colors)
        made["attributes"]["size"] = {"int": size}
        return made

    objects = [
        GPU,
        *pool_of(
            sized("d1", 1, "red", "blue"), sized("d2", 2, "red"), sized("d3", 2, "blue"), sized("d4", 3, "blue", "pink")
        ),
    ]
    features = Features(list_attributes=True)
    found = {
        version: allocate([claim], objects, features, release=nearest_release(version)) for version in ("1.36", "1.37")
    }
    assert found == {"1.36": None, "1.37": [["r0=d1", "r1=d3", "r2=d4"]]}


WHERE = f" on device {DRIVER}/pool/d1"
_HINT = (
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() "
    "for optional fields"
)


@pytest.mark.parametrize(
    ("expression", "problem", "hint"),
    [
        pytest.param(f'device.attributes["{DRIVER}"].other == "x"', "no such key: other", _HINT, id="no such key"),
        pytest.param(f'int(device.attributes["{DRIVER}"].color) == 1', "", "", id="another error"),
    ],
)
def test_errors_of_selectors(expression: str, problem: str, hint: str) -> None:
    """#136709 (cel/errors_test.go)."""
    objects = [GPU, *pool_of(device("d1", **color("red")))]
    claim = make_claim("c", exactly(selectors=selectors(expression)))
    found = {}
    for version in ("1.36", "1.37"):
        with pytest.raises(AllocationError) as raised:
            allocate([claim], objects, release=nearest_release(version))
        found[version] = str(raised.value)
    before, now = (f"claim default/c: selector #0{where}: CEL runtime error: " for where in ("", WHERE))
    assert found["1.36"].startswith(before + problem)
    assert found["1.37"] == now + found["1.36"].removeprefix(before) + hint


@pytest.mark.parametrize(
    ("requested", "fractional", "consumed"),
    [
        pytest.param("1200m", True, "5/4", id="to the next step"),
        pytest.param("1200m", False, None, id="whole units: a step of 250m counts as 1, and 2 exceeds max"),
        pytest.param("1250m", True, "5/4", id="a valid value"),
        pytest.param("100m", True, "1/2", id="to min"),
        pytest.param("2", True, None, id="above max"),
    ],
)
def test_fractional_ranges(requested: str, fractional: bool, consumed: str | None) -> None:
    """#140161 and the gate DRAFractionalCapacityRange, which is on by default in 1.37."""
    policy = {"default": "500m", "validRange": {"min": "500m", "max": "1500m", "step": "250m"}}
    made = device("d1", capacity={"m": {"value": "4", "requestPolicy": policy}}, **SHARED)
    claim = make_claim("c", exactly(capacity={"requests": {"m": requested}}))
    _, allocator = make_allocator(
        [make_node("node").obj()], [GPU, *pool_of(made)], Features(fractional_ranges=fractional)
    )
    picks = allocator.allocate(0, [claim])
    found = None if picks is None else str((picks[0][0].consumed or {})["m"])
    assert found == consumed


MAX = 2**63 - 1
_RANGE = "capacity request cannot be represented in the device's range arithmetic: "


def measured(value: str, smallest: str, step: str | None = None, **policy: str) -> dict[str, Any]:
    """A capacity whose requests are rounded up from `smallest` in steps."""
    bounds = {"min": smallest} | ({} if step is None else {"step": step})
    return {"value": value, "requestPolicy": {"default": smallest, "validRange": bounds, **policy}}


@pytest.mark.parametrize(
    ("requested", "capacity", "fractional", "before", "now"),
    [
        pytest.param({"m": f"{2**64 + 3}"}, {"m": measured(f"{2**64 + 3}", "0", "3")}, False, "d1",
                     f'"m": {_RANGE}request {2**64 + 3} exceeds MaxInt64', id="request above MaxInt64"),
        pytest.param({"m": f"{MAX}"}, {"m": measured(f"{MAX + 1}", "0", "2")}, False, "d1",
                     f'"m": {_RANGE}rounding request {MAX} up to the next step passes MaxInt64',
                     id="rounded above MaxInt64"),
        pytest.param({"m": f"{MAX - 1}"}, {"m": measured(f"{MAX}", "1", "2")}, False, "d1", "d1",
                     id="rounded to MaxInt64"),
        pytest.param({"m": "2", "n": f"{MAX}"}, {"m": {"value": "1"}, "n": measured(f"{MAX + 1}", "0", "2")}, False, None,
                     f'"n": {_RANGE}rounding request {MAX} up to the next step passes MaxInt64',
                     id="an error comes before a lack of room"),
        pytest.param({"m": "1500u"}, {"m": measured("4", "0", "500m")}, True, "d1",
                     f'"m": {_RANGE}request 1500000n is not a representable milli value', id="finer than a thousandth"),
        pytest.param({"m": f"{MAX}"}, {"m": measured(f"{MAX}", "0", "1")}, True, "d1",
                     f'"m": {_RANGE}request {MAX} is not a representable milli value', id="thousandths of MaxInt64"),
        pytest.param({"m": f"{MAX}m"}, {"m": measured(f"{MAX}", "0", "1m")}, True, "d1", "d1",
                     id="as many thousandths as an int64 has"),
        pytest.param({"m": "0"}, {"m": {"value": "4"}}, False, "d1", "d1", id="nothing"),
        pytest.param({"m": "1500m"}, {"m": measured("4", "1", "500u")}, True, "d1", "d1",
                     id="a step finer than a thousandth counts in whole units"),
        pytest.param({"m": "-1"}, {"m": {"value": "4"}}, False, "d1", '"m": capacity value is negative', id="negative"),
        pytest.param({"x": "1"}, {"m": measured("4", "1", "1")}, True, None, None, id="a capacity that the device lacks"),
    ],
)  # fmt: skip
def test_requests_that_cannot_be_counted(
    requested: dict[str, str], capacity: dict[str, Any], fractional: bool, before: str | None, now: str | None
) -> None:
    """#140442 (testCalculateConsumedCapacity, testCmpRequestOverCapacityFatalBeatsSoft)."""
    objects = [GPU, *pool_of(device("d1", capacity=capacity, **SHARED))]
    for mode, where in (({}, f"{DRIVER}/pool/d1"), ({"allocationMode": "All", "count": 0}, "d1")):
        claim = make_claim("c", exactly(capacity={"requests": requested}, **mode))
        for version, expected in (("1.36", before), ("1.37", now)):
            release = nearest_release(version)
            features = Features(fractional_ranges=fractional and version == "1.37")
            if expected is None or expected == "d1":
                found = allocate([claim], objects, features, release=release)
                assert found == (None if expected is None else [["r=d1"]]), version
            else:
                with pytest.raises(AllocationError) as raised:
                    allocate([claim], objects, features, release=release)
                assert str(raised.value) == (
                    f"claim default/c, request r: checking capacity for device {where}: capacity {expected}"
                )
