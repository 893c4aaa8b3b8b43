"""matchAttribute and distinctAttribute: single values of every type, and lists of values behind their gate."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ksched_cli.api.dynamic_resources import Device, DeviceConstraint
from ksched_cli.plugins.lib.devices.allocator import constraint_of, look_up
from ksched_cli.plugins.lib.devices.claims import AllocationError, DeviceRules, RequestView
from ksched_cli.plugins.lib.devices.inventory import Features
from ksched_cli.releases.minors import NEWEST, RELEASES
from tests.plugins.lib.devices.resources import (
    DRIVER,
    GPU,
    allocate,
    alternative,
    device,
    exactly,
    first_of,
    make_claim,
    make_slice,
    selectors,
)

LISTS = Features(list_attributes=True)


def slice_of(*values: dict[str, Any] | None, **more: Any) -> Any:
    """d0, d1, … with the attribute `a` as given, or without it."""
    made = [
        {**device(f"d{at}", **more), "attributes": {} if value is None else {"a": value}}
        for at, value in enumerate(values)
    ]
    return make_slice("s", made, node="node")


def match(*requests: str) -> dict[str, Any]:
    return {"matchAttribute": f"{DRIVER}/a", "requests": list(requests)}


def distinct(*requests: str) -> dict[str, Any]:
    return {"distinctAttribute": f"{DRIVER}/a", "requests": list(requests)}


def text(value: str) -> dict[str, Any]:
    return {"string": value}


def texts(*values: str) -> dict[str, Any]:
    return {"strings": list(values)}


def whole(value: int) -> dict[str, Any]:
    return {"int": value}


def found(claim: Any, objects: Any, features: Features | None = None) -> list[str] | None:
    picked = allocate([claim], [GPU, objects], features)
    return None if picked is None else picked[0]


TWO, THREE = [exactly(count=2)], [exactly(count=3)]


@pytest.mark.parametrize(
    ("requests", "constraint", "values", "expected"),
    [
        pytest.param(TWO, match(), [text("x"), text("y")], None, id="strings differ"),
        pytest.param(TWO, match(), [text("x"), text("x")], ["r=d0", "r=d1"], id="strings agree"),
        pytest.param(TWO, match(), [{"bool": True}, {"bool": False}], None, id="bools differ"),
        pytest.param(TWO, match(), [{"bool": False}, {"bool": False}], ["r=d0", "r=d1"], id="bools agree"),
        pytest.param(TWO, match(), [{"version": "1.0.0"}, {"version": "2.0.0"}], None, id="versions differ"),
        pytest.param(TWO, match(), [{"version": "1.0.0"}, {"version": "1.0.0"}], ["r=d0", "r=d1"], id="versions agree"),
        pytest.param(TWO, match(), [whole(1), whole(2)], None, id="ints differ"),
        pytest.param(TWO, match(), [text("1"), whole(1)], None, id="types differ"),
        pytest.param(TWO, match(), [text("x"), None], None, id="one without"),
        pytest.param(
            [exactly("a"), exactly("b"), exactly("c")], match("a", "b"), [text("x"), text("y"), text("y")],
            ["a=d1", "b=d2", "c=d0"], id="the first device has to be another one",
        ),
        pytest.param(
            [exactly("a"), first_of("b", alternative("s"), alternative("t"))], match("a", "b"),
            [text("x"), text("y"), text("y")], ["a=d1", "b/s=d2"], id="over all alternatives of a request",
        ),
        pytest.param(
            [exactly("a"), first_of("b", alternative("s", count=2), alternative("t"))], match("a", "b/s"),
            [text("x"), text("y"), text("y")], ["a=d0", "b/t=d1"], id="over one alternative",
        ),
        pytest.param(
            [exactly("a"), exactly("b"), exactly("c")], distinct(), [text("x"), text("x"), text("y"), text("z")],
            ["a=d0", "b=d2", "c=d3"], id="distinct strings",
        ),
        pytest.param(
            [exactly("a"), exactly("b")], distinct(), [{"version": "1.0.0"}, {"version": "1.0.0"}, {"version": "1.0.1"}],
            ["a=d0", "b=d2"], id="distinct versions",
        ),
        pytest.param([exactly("a"), exactly("b")], distinct(), [{"bool": True}, {"bool": True}, {"bool": False}],
                     ["a=d0", "b=d2"], id="distinct bools"),
        pytest.param([exactly("a"), exactly("b")], distinct(), [whole(0), text("0")], ["a=d0", "b=d1"],
                     id="distinct by type"),
        pytest.param([exactly("a"), exactly("b")], distinct(), [whole(0), None], None, id="distinct, one without"),
        pytest.param(
            [first_of("a", alternative("s"), alternative("t")), first_of("b", alternative("s"))], distinct("a/s", "b"),
            [{"bool": True}, {"bool": True}, {"bool": False}], ["a/s=d0", "b/s=d2"], id="distinct alternatives",
        ),
    ],
)  # fmt: skip
def test_single_values(
    requests: list[Any], constraint: dict[str, Any], values: list[Any], expected: list[str] | None
) -> None:
    assert found(make_claim("claim", *requests, constraints=[constraint]), slice_of(*values)) == expected


@pytest.mark.parametrize("constraint", [match(), distinct()], ids=["match", "distinct"])
@pytest.mark.parametrize("features", [Features(), LISTS], ids=["without the gate", "with the gate"])
@pytest.mark.parametrize("odd", [{}, {"odd": 1}], ids=["no value", "unknown type"])
def test_a_value_that_cannot_be_read(constraint: Any, features: Features, odd: Any) -> None:
    """A selector is asked about the device first, and cannot be; the pod waits rather than go where it should not."""
    claim = make_claim("claim", exactly(count=2, selectors=selectors("true")), constraints=[constraint])
    with pytest.raises(AllocationError, match="attribute a: unsupported attribute value"):
        found(claim, slice_of(odd, odd), features)


@pytest.mark.parametrize("constraint", [match(), distinct()], ids=["match", "distinct"])
def test_lists_need_their_gate(constraint: Any) -> None:
    claim = make_claim("claim", exactly(count=2, selectors=selectors("true")), constraints=[constraint])
    with pytest.raises(AllocationError, match="attribute a: unsupported attribute value"):
        found(claim, slice_of(texts("x", "y"), texts("x", "y")))


@pytest.mark.parametrize(
    ("values", "count", "expected"),
    [
        pytest.param([text("x"), text("x")], 2, ["r=d0", "r=d1"], id="single values"),
        pytest.param([texts("x", "y", "z"), texts("y", "z", "w")], 2, ["r=d0", "r=d1"], id="some in common"),
        pytest.param([texts("x", "y"), texts("y", "z"), texts("z", "x")], 3, None, id="none common to all three"),
        pytest.param([texts("x", "y"), texts("z", "w")], 2, None, id="none in common"),
        pytest.param([text("x"), texts("x", "y")], 2, ["r=d0", "r=d1"], id="a value and a list with it"),
        pytest.param([text("x"), texts("x", "y"), texts("y", "z")], 3, None, id="a value, and a list without it"),
        pytest.param([text("x"), texts("y", "z")], 2, None, id="a value and a list without it"),
        pytest.param([{"ints": [0, 1, 2]}, {"ints": [1, 2, 3]}], 2, ["r=d0", "r=d1"], id="ints"),
        pytest.param([{"bools": [True, False]}, {"bools": [True]}], 2, ["r=d0", "r=d1"], id="bools"),
        pytest.param([{"versions": ["1.0.0", "1.1.0"]}, {"versions": ["1.1.0", "2.0.0"]}], 2, ["r=d0", "r=d1"],
                     id="versions"),
        pytest.param([{"ints": [1]}, {"strings": ["1"]}], 2, None, id="of different types"),
        pytest.param([{}, {"strings": []}], 2, None, id="nothing to compare"),
        pytest.param([text("x"), {}], 2, None, id="a value, and none"),
    ],
)  # fmt: skip
def test_lists_that_have_to_match(values: list[Any], count: int, expected: list[str] | None) -> None:
    assert found(make_claim("c", exactly(count=count), constraints=[match()]), slice_of(*values), LISTS) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([text("x"), text("y")], ["a=d0", "b=d1"], id="single values"),
        pytest.param([text("x"), text("x")], None, id="the same value"),
        pytest.param([texts("x", "y"), texts("y", "z"), texts("z", "w")], ["a=d0", "b=d2"], id="none in common"),
        pytest.param([texts("x", "y", "z"), texts("y", "v", "w")], None, id="one in common"),
        pytest.param([text("x"), texts("x", "y"), texts("y", "z")], ["a=d0", "b=d2"], id="a value and a list"),
        pytest.param([text("x"), texts("x", "y")], None, id="a value and a list with it"),
        pytest.param([{"ints": [0, 1]}, {"ints": [1, 2]}, {"ints": [2, 3]}], ["a=d0", "b=d2"], id="ints"),
        pytest.param([{"bools": [True]}, {"bools": [True, False]}, {"bools": [False]}], ["a=d0", "b=d2"], id="bools"),
        pytest.param(
            [{"versions": ["1.0.0", "1.1.0"]}, {"versions": ["1.1.0"]}, {"versions": ["2.0.0"]}], ["a=d0", "b=d2"],
            id="versions",
        ),
    ],
)  # fmt: skip
def test_lists_that_have_to_differ(values: list[Any], expected: list[str] | None) -> None:
    claim = make_claim("c", exactly("a"), exactly("b"), constraints=[distinct()])
    assert found(claim, slice_of(*values), LISTS) == expected


def test_a_shared_device_is_like_itself_and_not_distinct() -> None:
    one = slice_of(text("x"), allowMultipleAllocations=True)
    two = slice_of(text("x"), text("y"), allowMultipleAllocations=True)
    requests = [exactly("a"), exactly("b")]
    assert found(make_claim("c", *requests, constraints=[match()]), one) == ["a=d0", "b=d0"]
    assert found(make_claim("c", *requests, constraints=[distinct()]), one) is None
    assert found(make_claim("c", *requests, constraints=[distinct()]), two) == ["a=d0", "b=d1"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param("includes('x')", True, id="in a list"),
        pytest.param("includes('z')", False, id="not in a list"),
        pytest.param("exists(v, v == 'y')", True, id="any of a list"),
        pytest.param("size() == 2", True, id="size of a list"),
    ],
)
def test_selectors_read_lists(expression: str, expected: bool) -> None:
    claim = make_claim("c", exactly(selectors=selectors(f'device.attributes["{DRIVER}"].a.{expression}')))
    assert (found(claim, slice_of(texts("x", "y")), LISTS) is not None) is expected


def view(name: str, parent: str = "") -> RequestView:
    return RequestView(name, parent, "gpu", "ExactCount", 1, None, (), (), False, {})


def with_value(value: str, name: str = "a") -> Device:
    return msgspec.convert({"name": value, "attributes": {name: {"string": value}}}, Device)


FIRST, SECOND = view("one"), view("two")


@pytest.mark.parametrize("minor", ["1.36", "1.37"])
@pytest.mark.parametrize(
    ("lists", "constraint", "first", "second"),
    [
        pytest.param(False, {"distinctAttribute": f"{DRIVER}/a"}, "x", "x", id="distinct"),
        pytest.param(True, {"distinctAttribute": f"{DRIVER}/a"}, "x", "x", id="distinct, of lists"),
        pytest.param(False, {"matchAttribute": f"{DRIVER}/a"}, "x", "y", id="match"),
    ],
)
@pytest.mark.parametrize(
    "requests",
    [
        pytest.param((FIRST, SECOND), id="of requests"),
        pytest.param((view("sub", "one"), view("sub", "two")), id="of alternatives of one name"),
    ],
)
def test_a_device_that_is_given_back_stands_in_nobodys_way(
    minor: str, lists: bool, constraint: dict[str, Any], first: str, second: str, requests: tuple[RequestView, ...]
) -> None:
    made = constraint_of(msgspec.convert(constraint, DeviceConstraint), DeviceRules.of(RELEASES[minor]), lists=lists)
    assert made is not None
    one, two = requests
    assert made.add(one, with_value(first), DRIVER)
    assert not made.add(two, with_value(second), DRIVER)
    made.remove(one)
    assert made.add(two, with_value(second), DRIVER)
    assert not made.add(one, with_value(first), DRIVER)
    made.remove(two)
    assert made.add(one, with_value(first), DRIVER)


@pytest.mark.parametrize(
    ("named", "request_view", "concerned"),
    [
        pytest.param((), FIRST, True, id="no request is named"),
        pytest.param(("one",), FIRST, True, id="the request"),
        pytest.param(("two",), FIRST, False, id="another request"),
        pytest.param(("one",), view("sub", "one"), True, id="an alternative of the request"),
        pytest.param(("one/sub",), view("sub", "one"), True, id="the alternative"),
        pytest.param(("one/other",), view("sub", "one"), False, id="another alternative"),
        pytest.param(("sub",), view("sub", "one"), False, id="the name of the alternative alone"),
    ],
)
def test_which_requests_a_constraint_is_for(named: tuple[str, ...], request_view: RequestView, concerned: bool) -> None:
    made = constraint_of(DeviceConstraint(named, f"{DRIVER}/a"), DeviceRules.of(NEWEST))
    assert made is not None
    # A device without the attribute is refused where the constraint is for the request.
    assert made.add(request_view, with_value("x", "b"), DRIVER) is not concerned


@pytest.mark.parametrize(
    ("attribute", "name", "found"),
    [
        pytest.param(f"{DRIVER}/a", "a", True, id="identifier of the driver"),
        pytest.param("other.example.com/a", "a", False, id="identifier of another driver"),
        pytest.param("other.example.com/a", "other.example.com/a", True, id="full name"),
        pytest.param(f"{DRIVER}/a", f"{DRIVER}/a", True, id="full name of the driver's own"),
        pytest.param(f"{DRIVER}/a", "b", False, id="another identifier"),
    ],
)
def test_the_name_of_an_attribute(attribute: str, name: str, found: bool) -> None:
    assert (look_up(with_value("x", name), DRIVER, attribute) is not None) is found


def test_an_unknown_kind_of_constraint_is_none() -> None:
    assert constraint_of(DeviceConstraint(), DeviceRules.of(NEWEST)) is None


@pytest.mark.parametrize("minor", ["1.36", "1.37"])
@pytest.mark.parametrize(
    "parents", [pytest.param(("", "", ""), id="of requests"), pytest.param(("p", "q", "r"), id="of alternatives")]
)
def test_beside_a_device_that_stays_one_that_is_given_back_is_forgotten(minor: str, parents: tuple[str, ...]) -> None:
    constraint = DeviceConstraint((), None, f"{DRIVER}/a")
    made = constraint_of(constraint, DeviceRules.of(RELEASES[minor]))
    assert made is not None
    one, two, three = (view(f"v{at}" if not parent else "sub", parent) for at, parent in enumerate(parents))
    assert made.add(one, with_value("x"), DRIVER)
    assert made.add(two, with_value("y"), DRIVER)
    assert not made.add(three, with_value("y"), DRIVER)
    made.remove(two)
    assert not made.add(three, with_value("x"), DRIVER)
    assert made.add(three, with_value("y"), DRIVER)
