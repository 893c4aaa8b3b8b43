"""Where allocated devices can be used, whether they can be bound, and how the alternatives of a claim score."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ksched_cli.api.core import NodeSelectorTerm
from ksched_cli.api.dynamic_resources import ResourceSlice
from ksched_cli.plugins.lib.devices.claims import AllocationError, Pick, views_of
from ksched_cli.plugins.lib.devices.node_search import alternatives_score, binding_failed, node_selector
from tests.builders import term
from tests.plugins.lib.devices.resources import DRIVER, alternative, device, exactly, first_of, make_claim, make_slice

CLAIM = make_claim("claim", exactly())
(VIEW,) = views_of(CLAIM.spec.devices.requests[0])


def pick_of(home: ResourceSlice) -> Pick:
    return Pick(VIEW, home.spec.devices[0], home, None, False, False)


def pool(*terms: dict[str, Any], **more: Any) -> ResourceSlice:
    where = {"nodeSelector": {"nodeSelectorTerms": list(terms)}} if terms else {"allNodes": True}
    return make_slice("s", [device("d", **more)], **where)


RACK, HOST = ("rack", "In", ["a", "b"]), (("metadata.name", "In", ["n"]),)
DISK: tuple[str, str, list[str]] = ("disk", "Exists", [])


@pytest.mark.parametrize(
    ("slices", "expected"),
    [
        pytest.param([pool()], None, id="everywhere"),
        pytest.param([make_slice("s", [device("d")], node="n")], term(fields=HOST), id="on its node"),
        pytest.param([pool(bindsToNode=True)], term(fields=HOST), id="bound to the node"),
        pytest.param([pool(term(RACK))], term(RACK), id="where a selector matches"),
        pytest.param([pool(), pool(term(RACK))], term(RACK), id="everywhere, then where a selector matches"),
        pytest.param([pool(term(RACK)), pool(term(RACK))], term(RACK), id="twice the same"),
        pytest.param(
            [pool(term(RACK)), pool(term(("rack", "In", ["b", "a"])))], term(RACK), id="the same in another order"
        ),
        pytest.param(
            [pool(term(RACK)), pool(term(("rack", "NotIn", ["a", "b"])))],
            term(RACK, ("rack", "NotIn", ["a", "b"])),
            id="another operator",
        ),
        pytest.param(
            [pool(term(RACK)), pool(term(("zone", "In", ["a", "b"])))],
            term(RACK, ("zone", "In", ["a", "b"])),
            id="another key",
        ),
        pytest.param([pool(term(RACK)), pool(term(DISK, RACK))], term(RACK, DISK), id="one more requirement"),
        pytest.param([pool(term(RACK, fields=HOST))], term(RACK, fields=HOST), id="labels and fields"),
        pytest.param(
            [make_slice("s", [device("d", allNodes=True)], perDeviceNodeSelection=True)], None, id="of the device: all"
        ),
        pytest.param(
            [make_slice("s", [device("d", nodeName="n")], perDeviceNodeSelection=True)],
            term(fields=HOST),
            id="of the device: its node",
        ),
    ],
)
def test_where_devices_can_be_used(slices: list[ResourceSlice], expected: dict[str, Any] | None) -> None:
    made = node_selector(map(pick_of, slices), CLAIM, "n")
    assert (made is None) is (expected is None)
    if made is not None and expected is not None:
        (found,) = made.node_selector_terms
        assert found == msgspec.convert(expected, NodeSelectorTerm)


def test_a_selector_of_two_terms_cannot_be_written_into_a_claim() -> None:
    text = "create NodeSelector for claim claim: unsupported ResourceSlice.NodeSelector with 2 terms"
    with pytest.raises(AllocationError, match=text):
        node_selector([pick_of(pool()), pick_of(pool(term(RACK), term(DISK)))], CLAIM, "n")


def result(name: str, *, ready: tuple[str, ...] = (), broken: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "request": "r",
        "driver": DRIVER,
        "pool": "p",
        "device": name,
        "bindingConditions": list(ready),
        "bindingFailureConditions": list(broken),
    }


def reported(name: str, pool: str = "p", **conditions: str) -> dict[str, Any]:
    listed = [{"type": kind, "status": status} for kind, status in conditions.items()]
    return {"driver": DRIVER, "pool": pool, "device": name, "conditions": listed}


WAITS = result("a", ready=("Ready",), broken=("Broken",))


@pytest.mark.parametrize(
    ("results", "devices", "failed"),
    [
        pytest.param([], [], False, id="no device"),
        pytest.param([result("a")], [reported("a", Broken="True")], False, id="nothing to wait for"),
        pytest.param([WAITS], [], False, id="nothing reported"),
        pytest.param([WAITS], [reported("a", pool="q", Broken="True")], False, id="reported of another pool"),
        pytest.param([WAITS], [reported("a", Ready="True", Broken="False")], False, id="ready"),
        pytest.param([WAITS], [reported("a", Broken="True")], True, id="broken"),
        pytest.param(
            [result("a", ready=("Ready",), broken=("Broken", "Burnt"))],
            [reported("a", Broken="True")],
            True,
            id="broken in one of two ways",
        ),
        pytest.param(
            [result("b", ready=("Ready", "Warm")), WAITS],
            [reported("b", Ready="True"), reported("a", Broken="True")],
            False,
            id="after a device that is ready in one of two ways",
        ),
        pytest.param([WAITS], [reported("a", Ready="True", Broken="True")], True, id="ready and broken"),
        pytest.param([WAITS], [reported("b"), reported("a", Broken="True")], True, id="the second of those reported"),
        pytest.param(
            [result("b"), WAITS], [reported("a", Broken="True")], True, id="after a device that waits for nothing"
        ),
        pytest.param(
            [result("b", ready=("Ready",), broken=("Broken",)), WAITS],
            [reported("b", Ready="True"), reported("a", Broken="True")],
            True,
            id="after a device that is ready",
        ),
        pytest.param(
            [result("b", ready=("Ready",), broken=("Broken",)), WAITS],
            [reported("b", Ready="False"), reported("a", Broken="True")],
            False,
            id="after a device that is not ready, which is looked at first",
        ),
        pytest.param(
            [result("b", ready=("Ready",)), WAITS],
            [reported("a", Broken="True")],
            False,
            id="after a device of which nothing is reported",
        ),
    ],
)
def test_whether_a_driver_has_given_up(results: list[Any], devices: list[Any], failed: bool) -> None:
    status = {"allocation": {"devices": {"results": results}}, "devices": devices}
    assert binding_failed(make_claim("claim", exactly(), status=status)) is failed


def test_a_claim_without_an_allocation_has_not_failed() -> None:
    assert not binding_failed(CLAIM)


CHOICES = first_of("r", *(alternative(f"a{at}") for at in range(8)))


@pytest.mark.parametrize(
    ("granted", "score"),
    [
        pytest.param(["r/a0"], 8, id="the first choice"),
        pytest.param(["r/a7"], 1, id="the last choice"),
        pytest.param(["r/a1", "s"], 7, id="beside an exact request"),
        pytest.param(["r/a1", "t/b0"], 15, id="two requests with alternatives"),
        pytest.param(["r/a1", "r/a1"], 7, id="two devices of one alternative"),
        pytest.param(["s"], 0, id="no alternative"),
        pytest.param(["a0", "r/b0"], 0, id="names of no alternative"),
    ],
)
def test_the_score_of_alternatives(granted: list[str], score: int) -> None:
    assert (
        alternatives_score(make_claim("claim", exactly("s"), CHOICES, first_of("t", alternative("b0"))), granted)
        == score
    )
