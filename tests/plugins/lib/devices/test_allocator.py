"""Which devices are picked on one node."""

from __future__ import annotations

import time
from collections import Counter
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.plugins.lib.devices.claims import AllocationError, AllocationTimeout, NodeAllocationFailed
from ksched_cli.plugins.lib.devices.inventory import Features
from ksched_cli.plugins.lib.devices.node_search import allocation_of
from tests.builders import make_node
from tests.lanes import examples
from tests.plugins.lib.devices.resources import (
    GPU,
    allocate,
    allocated,
    alternative,
    device,
    devices,
    everything,
    exactly,
    first_of,
    make_allocator,
    make_claim,
    make_class,
    make_slice,
    selectors,
)

TWO = make_slice("slice", devices("d1", "d2"), node="node")
NUMA = make_slice(
    "slice",
    [device(f"d{at}", attributes={"numa": at % 2, "model": f"m{at}"}) for at in range(4)],
    node="node",
)


def match(name: str, *requests: str) -> dict[str, Any]:
    return {"matchAttribute": f"dra.example.com/{name}", "requests": list(requests)}


def distinct(name: str, *requests: str) -> dict[str, Any]:
    return {"distinctAttribute": f"dra.example.com/{name}", "requests": list(requests)}


@pytest.mark.parametrize(
    ("requests", "constraints", "objects", "expected"),
    [
        pytest.param([exactly()], [], [TWO], ["r=d1"], id="single device"),
        pytest.param([exactly(count=2)], [], [TWO], ["r=d1", "r=d2"], id="two devices"),
        pytest.param([exactly(count=3)], [], [TWO], None, id="not enough devices"),
        pytest.param([exactly("a"), exactly("b")], [], [TWO], ["a=d1", "b=d2"], id="two requests"),
        pytest.param([exactly()], [], [], None, id="no slices"),
        pytest.param([], [], [TWO], [], id="nothing asked for"),
        pytest.param([exactly()], [], [make_slice("s", devices("d"), node="other")], None, id="slice of another node"),
        pytest.param(
            [exactly(selectors=selectors('device.attributes["dra.example.com"].numa == 1'))],
            [], [NUMA], ["r=d1"], id="CEL selector",
        ),
        pytest.param(
            [exactly("a"), exactly("b", selectors=selectors('device.attributes["dra.example.com"].model == "m0"'))],
            [], [NUMA], ["a=d1", "b=d0"], id="backtracking across requests",
        ),
        pytest.param([everything()], [], [TWO], ["r=d1", "r=d2"], id="all devices"),
        pytest.param([everything()], [], [], None, id="all of none is nothing"),
        pytest.param([exactly("a"), everything("b")], [], [TWO], None, id="all, but one is taken"),
        pytest.param(
            [everything(selectors=selectors('device.attributes["dra.example.com"].numa == 1'))],
            [], [NUMA], ["r=d1", "r=d3"], id="all that match",
        ),
        pytest.param([exactly(count=2)], [match("numa")], [NUMA], ["r=d0", "r=d2"], id="match attribute"),
        pytest.param([exactly(count=3)], [match("numa")], [NUMA], None, id="match attribute, too many"),
        pytest.param([exactly(count=2)], [match("model")], [NUMA], None, id="match attribute, none alike"),
        pytest.param([exactly()], [match("nothing")], [NUMA], None, id="match attribute that no device has"),
        pytest.param([exactly(count=2)], [match("numa"), match("model")], [NUMA], None, id="match two attributes"),
        pytest.param(
            [exactly()], [match("numa"), match("port")],
            [make_slice("s", [device("d0", attributes={"numa": 0}), device("d1", attributes={"numa": 1, "port": 1})],
                        node="node")],
            ["r=d1"], id="a device that the second constraint refuses leaves the first",
        ),
        pytest.param(
            [exactly("a", count=2), exactly("b")], [match("numa", "a")], [NUMA], ["a=d0", "a=d2", "b=d1"],
            id="match attribute of one request",
        ),
        pytest.param([exactly("a"), exactly("b")], [distinct("numa")], [NUMA], ["a=d0", "b=d1"], id="distinct"),
        pytest.param(
            [exactly("a"), exactly("b"), exactly("c")], [distinct("numa")], [NUMA], None, id="distinct, too many"
        ),
        pytest.param(
            [first_of("r", alternative("big", count=3), alternative("small", count=2))],
            [], [TWO], ["r/small=d1", "r/small=d2"], id="second alternative",
        ),
        pytest.param(
            [first_of("r", alternative("one"), alternative("two", count=2)), exactly("x")],
            [], [TWO], ["r/one=d1", "x=d2"], id="first alternative",
        ),
        pytest.param(
            [first_of("r", alternative("two", count=2), alternative("one")), exactly("x")],
            [], [TWO], ["r/one=d1", "x=d2"], id="an alternative that leaves room",
        ),
        pytest.param([first_of("r", alternative("big", count=3))], [], [TWO], None, id="no alternative"),
        pytest.param(
            [first_of("r", alternative("all", allocationMode="All"))], [], [TWO], ["r/all=d1", "r/all=d2"],
            id="all as an alternative",
        ),
        pytest.param(
            [first_of("r", alternative("a", count=2)), exactly("x")], [match("numa", "r/a")], [NUMA],
            ["r/a=d0", "r/a=d2", "x=d1"], id="constraint on an alternative",
        ),
        pytest.param(
            [exactly(count=20, name="a"), first_of("b", alternative("many", count=20), alternative("few", count=12))],
            [], [make_slice("s", devices(*[f"d{at:02}" for at in range(40)]), node="node")],
            [f"a=d{at:02}" for at in range(20)] + [f"b/few=d{at:02}" for at in range(20, 32)],
            id="no more than 32 results",
        ),
        pytest.param(
            [exactly()], [], [make_slice("b", devices("x"), node="node", pool="p2"),
                              make_slice("a", devices("y"), node="node", pool="p1")],
            ["r=y"], id="pools by name",
        ),
        pytest.param(
            [exactly()], [], [make_slice("b", devices("x"), node="node", count=2),
                              make_slice("a", devices("y"), node="node", count=2)],
            ["r=y"], id="slices by name",
        ),
        pytest.param(
            [exactly()], [], [make_slice("a", [*devices("x"), *devices("z", bindingConditions=["ready"])], node="node", pool="a"),
                              make_slice("b", devices("y"), node="node", pool="b")],
            ["r=y"], id="pools with binding conditions come last",
        ),
    ],
)  # fmt: skip
def test_one_claim(requests: list[Any], constraints: list[Any], objects: list[Any], expected: list[str] | None) -> None:
    claim = make_claim("claim", *requests, constraints=constraints)
    assert allocate([claim], [GPU, *objects]) == (None if expected is None else [expected])


def test_claims_share_the_devices() -> None:
    claims = [make_claim("a", exactly()), make_claim("b", exactly())]
    assert allocate(claims, [GPU, TWO]) == [["r=d1"], ["r=d2"]]
    assert allocate([*claims, make_claim("c", exactly())], [GPU, TWO]) is None


def test_a_claim_that_is_too_large_makes_the_one_before_it_choose_again() -> None:
    many = make_slice("s", devices(*[f"d{at:02}" for at in range(40)]), node="node")
    claims = [
        make_claim("a", first_of("r", alternative("all", allocationMode="All"), alternative("one"))),
        make_claim("b", exactly(count=32)),
    ]
    found = allocate(claims, [GPU, many])
    assert found is not None
    assert found[0] == ["r/one=d00"]


class TestAdminAccess:
    BUSY = make_claim("other", exactly(), status=allocated("d1"))

    def test_sees_devices_in_use(self) -> None:
        claim = make_claim("claim", exactly(adminAccess=True))
        assert allocate([claim], [GPU, TWO, self.BUSY]) == [["r=d1"]]
        assert allocate([make_claim("claim", exactly())], [GPU, TWO, self.BUSY]) == [["r=d2"]]

    def test_takes_all(self) -> None:
        claim = make_claim("claim", everything(adminAccess=True))
        assert allocate([claim], [GPU, TWO, self.BUSY]) == [["r=d1", "r=d2"]]

    def test_one_claim_does_not_get_a_device_twice(self) -> None:
        claim = make_claim("claim", exactly("a", adminAccess=True), exactly("b", adminAccess=True))
        assert allocate([claim], [GPU, TWO]) == [["a=d1", "b=d2"]]

    @pytest.mark.parametrize(("admin", "written"), [(True, True), (False, None)])
    def test_is_written_into_the_claim(self, admin: bool, written: bool | None) -> None:
        claim = make_claim("claim", exactly(adminAccess=admin))
        _, allocator = make_allocator([make_node("node").obj()], [GPU, TWO])
        (picks,) = allocator.allocate(0, [claim]) or ()
        (result,) = allocation_of(picks, claim, "node").devices.results
        assert result.admin_access is written

    def test_takes_nothing(self) -> None:
        admin = make_claim("other", exactly(), status=allocated("d1", "d2", adminAccess=True))
        assert allocate([make_claim("claim", exactly())], [GPU, TWO, admin]) == [["r=d1"]]


TAINT = {"key": "broken", "value": "yes", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("taint", "toleration", "gate", "free"),
    [
        pytest.param(TAINT, None, True, False, id="tainted"),
        pytest.param(TAINT | {"effect": "NoExecute"}, None, True, False, id="NoExecute"),
        pytest.param(TAINT | {"effect": "None"}, None, True, True, id="an effect of no consequence"),
        pytest.param(TAINT, {"key": "broken", "operator": "Equal", "value": "yes"}, True, True, id="equal"),
        pytest.param(TAINT, {"key": "broken", "value": "no"}, True, False, id="another value"),
        pytest.param(TAINT, {"key": "broken", "operator": "Exists"}, True, True, id="exists"),
        pytest.param(TAINT, {"operator": "Exists"}, True, True, id="everything"),
        pytest.param(TAINT, {"operator": "Exists", "effect": "NoExecute"}, True, False, id="another effect"),
        pytest.param(TAINT, {"key": "broken", "operator": "Gt"}, True, False, id="unknown operator"),
        pytest.param(TAINT, None, False, True, id="without the gate"),
    ],
)
def test_taints(taint: dict[str, str], toleration: dict[str, str] | None, gate: bool, free: bool) -> None:
    tolerations = [toleration] if toleration else []
    claim = make_claim("claim", exactly(tolerations=tolerations))
    slices = [make_slice("slice", devices("d", taints=[taint]), node="node")]
    assert (allocate([claim], [GPU, *slices], Features(taints=gate)) is not None) is free


@pytest.mark.parametrize(
    ("claim", "objects", "features", "text"),
    [
        pytest.param(
            make_claim("claim", exactly(device_class="none")), [], Features(),
            "claim default/claim, request r: could not retrieve device class none: ", id="unknown class",
        ),
        pytest.param(
            make_claim("claim", exactly(device_class="")), [], Features(),
            "claim default/claim, request r: missing device class name (unsupported request type?)", id="no class",
        ),
        pytest.param(
            make_claim("claim", exactly(selectors=[{}])), [], Features(),
            "claim default/claim, request r, selector #0: CEL expression empty (unsupported selector type?)",
            id="unknown selector",
        ),
        pytest.param(
            make_claim("claim", exactly(allocationMode="Some")), [], Features(),
            "claim default/claim, request r: unsupported count mode Some", id="unknown mode",
        ),
        pytest.param(
            make_claim("claim", exactly(count=33)), [], Features(),
            "claim default/claim: number of requested devices 33 exceeds the claim limit of 32", id="too many",
        ),
        pytest.param(
            make_claim("claim", exactly(), constraints=[{}]), [], Features(),
            "claim default/claim, constraint #0: empty constraint (unsupported constraint type?)",
            id="unknown constraint",
        ),
        pytest.param(
            make_claim("claim", exactly(selectors=selectors("nothing"))), [TWO], Features(),
            "claim default/claim: selector #0: CEL compile error: compilation failed: ", id="selector is wrong",
        ),
        pytest.param(
            make_claim("claim", exactly(selectors=selectors('device.attributes["dra.example.com"].x'))), [TWO],
            Features(), "claim default/claim: selector #0: CEL runtime error: no such key: x", id="selector fails",
        ),
        pytest.param(
            make_claim("claim", exactly(device_class="bad")), [TWO, make_class("bad", "true", "1 / 0 == 0")],
            Features(), "class bad: selector #1: CEL runtime error: division by zero", id="class selector fails",
        ),
        pytest.param(
            make_claim("claim", everything(), constraints=[match("numa")]), [NUMA], Features(),
            "claim default/claim, request r: cannot add device dra.example.com/node/d1 "
            "because a claim constraint would not be satisfied", id="all against a constraint",
        ),
        pytest.param(
            make_claim("claim", everything()), [make_slice("s", devices("d"), node="node", count=2)], Features(),
            "claim default/claim, request r: asks for all devices, "
            "but resource pool dra.example.com/node is currently being updated", id="all of an incomplete pool",
        ),
        pytest.param(
            make_claim("claim", everything()), [make_slice("s", devices("d", "d"), node="node")], Features(),
            "claim default/claim, request r: asks for all devices, "
            "but resource pool dra.example.com/node is currently invalid", id="all of an invalid pool",
        ),
        pytest.param(
            make_claim("claim", exactly(adminAccess=True)), [], Features(admin_access=False),
            "claim default/claim, request r: admin access is requested, but the feature is disabled", id="no admins",
        ),
        pytest.param(
            make_claim("claim", first_of("r", alternative("a"))), [], Features(prioritized_list=False),
            "claim default/claim, request r: has subrequests, but the DRAPrioritizedList feature is disabled",
            id="no alternatives",
        ),
        pytest.param(
            make_claim("claim", exactly(capacity={"requests": {"memory": "1Gi"}})), [], Features(consumable=False),
            "claim default/claim, request r: has capacity requests, "
            "but the DRAConsumableCapacity feature is disabled", id="no capacity",
        ),
        pytest.param(
            make_claim("claim", first_of("r", alternative("a", capacity={"requests": {"memory": "1Gi"}}))), [],
            Features(consumable=False),
            "claim default/claim, subrequest a: has capacity requests, "
            "but the DRAConsumableCapacity feature is disabled", id="no capacity of an alternative",
        ),
    ],
)  # fmt: skip
def test_errors(claim: Any, objects: list[Any], features: Features, text: str) -> None:
    with pytest.raises(AllocationError) as caught:
        allocate([claim], [GPU, *objects], features)
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        pytest.param([32], 32, id="the largest request"),
        pytest.param([20, 12], 32, id="two requests of the largest size together"),
        pytest.param([33], None, id="one too many"),
        pytest.param([20, 13], None, id="one too many together"),
    ],
)
def test_the_largest_claim(sizes: list[int], expected: int | None) -> None:
    made = make_slice("slice", devices(*[f"d{at:02}" for at in range(40)]), node="node")
    claim = make_claim("claim", *(exactly(f"r{at}", count=size) for at, size in enumerate(sizes)))
    if expected is None:
        with pytest.raises(AllocationError, match=f"requested devices {sum(sizes)} exceeds the claim limit of 32"):
            allocate([claim], [GPU, made])
    else:
        found = allocate([claim], [GPU, made])
        assert found is not None
        assert len(found[0]) == expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param([20, 12], [20, 12], {"a/s0": 20, "b/s1": 12}, id="the second alternative of the second request"),
        pytest.param([32, 12], [20, 1], {"a/s1": 12, "b/s0": 20}, id="the second alternative of the first request"),
        pytest.param([32, 30], [3, 2], {"a/s1": 30, "b/s1": 2}, id="the second alternatives of both"),
        pytest.param([32, 16], [17, 16], {"a/s1": 16, "b/s1": 16}, id="both second ones of the largest size together"),
        pytest.param([31, 1], [31, 31], {"a/s1": 1, "b/s0": 31}, id="alternatives of one size"),
    ],
)
def test_alternatives_that_are_too_large_together_are_passed_over(
    first: list[int], second: list[int], expected: dict[str, int]
) -> None:
    """Devices of a claim: 32 at most, of all requests together."""
    made = make_slice("slice", devices(*[f"d{at:02}" for at in range(40)]), node="node")
    requests = [
        first_of(name, *(alternative(f"s{at}", count=size) for at, size in enumerate(sizes)))
        for name, sizes in (("a", first), ("b", second))
    ]
    found = allocate([make_claim("claim", *requests)], [GPU, made])
    assert found is not None
    assert Counter(pick.partition("=")[0] for pick in found[0]) == expected


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        pytest.param([[exactly("a", adminAccess=True), everything("b", adminAccess=True)]], None, id="of one claim"),
        pytest.param([[everything("a", adminAccess=True)]], [["a=d1", "a=d2"]], id="alone"),
        pytest.param(
            [[exactly("a", adminAccess=True)], [everything("b", adminAccess=True)]],
            [["a=d1"], ["b=d1", "b=d2"]],
            id="of two claims",
        ),
        pytest.param([[exactly("a")], [everything("b")]], None, id="of two claims without the right"),
        pytest.param([[exactly("a")], [everything("b", adminAccess=True)]], [["a=d1"], ["b=d1", "b=d2"]], id="of one"),
    ],
)
def test_admins_share_devices_with_other_claims(claims: list[list[Any]], expected: Any) -> None:
    made = [make_claim(f"c{at}", *requests) for at, requests in enumerate(claims)]
    assert allocate(made, [GPU, TWO], Features(admin_access=True)) == expected


def test_another_claim_may_be_as_large_again() -> None:
    made = make_slice("slice", devices(*[f"d{at:02}" for at in range(64)]), node="node")
    found = allocate([make_claim("one", exactly(count=32)), make_claim("two", exactly(count=32))], [GPU, made])
    assert found is not None
    assert [len(picks) for picks in found] == [32, 32]


def test_selectors_are_not_asked_about_devices_in_use() -> None:
    broken = 'device.attributes["dra.example.com"].numa == 0'
    slices = make_slice("slice", [device("d1"), device("d2", attributes={"numa": 0})], node="node")
    claim = make_claim("claim", exactly(selectors=selectors(broken)))
    busy = make_claim("other", exactly(), status=allocated("d1"))
    assert allocate([claim], [GPU, slices, busy]) == [["r=d2"]]


TAINTED = {"taints": [{"key": "broken", "effect": "NoSchedule"}]}
MIXED = make_slice(
    "s",
    [
        device("other class", attributes={"kind": "nic", "size": 2}),
        device("other size", attributes={"kind": "gpu", "size": 1}),
        device("waits", attributes={"kind": "gpu", "size": 2}, bindingConditions=["ready"]),
        device("busy", attributes={"kind": "gpu", "size": 2}, **TAINTED),
        device("tainted", attributes={"kind": "gpu", "size": 2}, **TAINTED),
        device("small", attributes={"kind": "gpu", "size": 2}, capacity={"memory": "1Gi"}),
        device("free", attributes={"kind": "gpu", "size": 2}, capacity={"memory": "8Gi"}),
    ],
    node="node",
)
SIZE_2 = 'device.attributes["dra.example.com"].size == 2'
LARGE = {"selectors": selectors(SIZE_2), "capacity": {"requests": {"memory": "4Gi"}}}
SHORT = [1, 6, {SIZE_2: 1}, 1, 1, 1]


@pytest.mark.parametrize(
    ("request_", "features", "expected"),
    [
        pytest.param(exactly(count=1, **LARGE), {}, {}, id="enough"),
        pytest.param(exactly(count=2, **LARGE), {}, {"r": [2, *SHORT]}, id="too few"),
        pytest.param(
            exactly(count=3, adminAccess=True, **LARGE), {}, {"r": [3, 1, 6, {SIZE_2: 1}, 0, 2, 1]}, id="admin access"
        ),
        pytest.param(
            exactly(count=3, **LARGE), {"taints": False}, {"r": [3, 1, 6, {SIZE_2: 1}, 1, 0, 2]}, id="without taints"
        ),
        pytest.param(
            everything(selectors=selectors("false")), {}, {"r": [1, 0, 6, {"false": 6}, 0, 0, 0]}, id="all of none"
        ),
        pytest.param(
            first_of("r", alternative("a", count=2, **LARGE), alternative("b", count=3, **LARGE)),
            {},
            {"r/a": [2, *SHORT], "r/b": [3, *SHORT]},
            id="two alternatives",
        ),
        pytest.param(
            first_of("r", alternative("a", count=2, **LARGE), alternative("b", **LARGE)), {}, {}, id="one fits"
        ),
    ],
)
def test_what_devices_lack(request_: Any, features: dict[str, bool], expected: dict[str, list[Any]]) -> None:
    """Each device counts at the first thing that it lacks."""
    kind = make_class("gpu", 'device.attributes["dra.example.com"].kind == "gpu"')
    busy = make_claim("busy", exactly(), status=allocated("busy"))
    features = {"binding_conditions": False, **features}
    _, allocator = make_allocator([make_node("node").obj()], [kind, MIXED, busy], Features(**features))
    found = {
        each.request: [
            each.wanted,
            each.fitting,
            each.devices,
            each.mismatches,
            each.in_use,
            each.tainted,
            each.capacity,
        ]
        for each in allocator.shortfalls(0, [make_claim("c", request_)])
    }
    assert found == expected


def test_invalid_pool_is_said_only_when_nothing_else_is_found() -> None:
    invalid = make_slice("invalid", devices("d", "d"), node="node", pool="invalid")
    claim = make_claim("claim", exactly())
    with pytest.raises(NodeAllocationFailed, match=r"^invalid resource pools were encountered$"):
        allocate([claim], [GPU, invalid])
    assert allocate([claim], [GPU, invalid, TWO]) == [["r=d1"]]


def test_binding_conditions_need_their_gate() -> None:
    slices = make_slice("slice", devices("d", bindingConditions=["ready"]), node="node")
    claim = make_claim("claim", exactly())
    assert allocate([claim], [GPU, slices]) == [["r=d"]]
    assert allocate([claim], [GPU, slices], Features(binding_conditions=False)) is None


def test_a_search_that_takes_too_long_is_given_up() -> None:
    """Only the last of the devices makes the pair unlike all others, so that every set of them is tried."""
    made = [device(f"d{at:02}", attributes={"numa": 0}) for at in range(30)]
    claim = make_claim("claim", exactly("a", count=15), exactly("b", count=16))
    _, allocator = make_allocator([make_node("node").obj()], [GPU, make_slice("slice", made, node="node")])
    with pytest.raises(AllocationTimeout):
        allocator.allocate(0, [claim], time.monotonic() + 0.05)


def test_many_claims_of_the_largest_size() -> None:
    """One level of recursion or more per device must not be a limit."""
    made = make_slice("slice", devices(*[f"d{at:04}" for at in range(32 * 40)]), node="node")
    claims = [make_claim(f"c{at}", exactly(count=32)) for at in range(40)]
    found = allocate(claims, [GPU, made])
    assert found is not None
    assert len({pick for each in found for pick in each}) == 32 * 40


@settings(max_examples=examples(150), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=6),
    st.lists(st.tuples(st.integers(1, 3), st.sampled_from([None, 0, 1])), min_size=1, max_size=3),
    st.booleans(),
)
def test_a_solution_is_found_if_there_is_one(
    made: list[tuple[int, int]], wanted: list[tuple[int, int | None]], matching: bool
) -> None:
    """Against trying every way of dealing the devices out."""
    slices = [
        make_slice(
            "slice",
            [device(f"d{at}", attributes={"numa": numa, "kind": kind}) for at, (numa, kind) in enumerate(made)],
            node="node",
        )
    ]
    requests = [
        exactly(
            f"r{at}",
            count=count,
            selectors=[] if kind is None else selectors(f'device.attributes["dra.example.com"].kind == {kind}'),
        )
        for at, (count, kind) in enumerate(wanted)
    ]
    constraints = [match("numa")] if matching else []
    found = allocate([make_claim("claim", *requests, constraints=constraints)], [GPU, *slices])
    slots = [kind for count, kind in wanted for _ in range(count)]
    possible = any(
        all(kind in (None, made[at][1]) for at, kind in zip(dealt, slots, strict=True))
        and (not matching or len({made[at][0] for at in dealt}) == 1)
        for dealt in permutations(range(len(made)), len(slots))
    )
    assert (found is not None) is possible
