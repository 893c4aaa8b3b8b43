"""Counting what claims have taken."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.api.dynamic_resources import ResourceClaim, deallocated
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.plugins.lib.devices.claims import ClaimTracker
from tests.builders import make_node
from tests.plugins.lib.devices.resources import DRIVER, allocated, make_claim


def claim(name: str, *devices: str, pool: str = "p") -> ResourceClaim:
    return make_claim(name, status=allocated(*devices, pool=pool)) if devices else make_claim(name)


def test_what_is_taken() -> None:
    status = allocated("a", shareID="1", consumedCapacity={"memory": "1Gi"})
    catalog = Catalog([claim("x", "d"), make_claim("y", status=status), claim("z")])
    found = ClaimTracker(catalog, shareable=True).allocated()
    assert found.devices == {(DRIVER, "p", "d")}
    assert found.capacity == {(DRIVER, "node", "a"): {"memory": 2**30}}
    assert found.is_allocated((DRIVER, "node", "a"))
    assert not found.is_allocated((DRIVER, "node", "b"))
    assert ClaimTracker(catalog, shareable=False).allocated().devices == {(DRIVER, "p", "d"), (DRIVER, "node", "a")}


def test_admin_access_takes_nothing() -> None:
    results = [each["allocation"]["devices"]["results"] for each in (allocated("a", adminAccess=True), allocated("b"))]
    claim = make_claim("x", status={"allocation": {"devices": {"results": [*results[0], *results[1]]}}})
    assert ClaimTracker(Catalog([claim]), shareable=True).allocated().devices == {(DRIVER, "node", "b")}


def test_own_changes_are_followed_within_an_epoch() -> None:
    catalog = Catalog([claim("x"), claim("y")])
    tracker = ClaimTracker(catalog, shareable=True)
    tracker.allocated()
    epoch = tracker.epoch
    tracker.allocate(claim("x", "d"))
    tracker.put(claim("x", "d"))
    catalog.put(make_node("unrelated").obj())
    assert tracker.allocated().devices == {(DRIVER, "p", "d")}
    assert (tracker.epoch, tracker.changes_in(DRIVER, "p"), tracker.changes_in(DRIVER, "q")) == (epoch, 1, 0)


def test_changes_by_others_begin_another_epoch() -> None:
    catalog = Catalog([claim("x", "d")])
    tracker = ClaimTracker(catalog, shareable=True)
    tracker.allocated()
    epoch = tracker.epoch
    catalog.put(deallocated(claim("x", "d")))
    assert tracker.allocated().devices == set()
    assert tracker.epoch == epoch + 1


@given(
    st.lists(
        st.tuples(st.sampled_from(("ours", "theirs", "remove", "look")), st.integers(0, 3), st.integers(0, 3)),
        max_size=20,
    )
)
def test_the_count_is_always_that_of_the_catalog(steps: list[tuple[str, int, int]]) -> None:
    """Every claim has devices of its own, and is allocated by us only while it has none."""
    catalog = Catalog([claim(f"c{at}") for at in range(4)])
    tracker = ClaimTracker(catalog, shareable=True)
    for what, at, device in steps:
        free = claim(f"c{at}")
        held = catalog.get(ResourceClaim, f"c{at}", "default")
        if what == "ours" and held is not None and held.status.allocation is None:
            tracker.allocate(claim(f"c{at}", f"d{at}-{device}"))
        elif what == "theirs":
            catalog.put(claim(f"c{at}", f"d{at}-{device}"))
        elif what == "remove":
            catalog.put(free)
        else:
            tracker.allocated()
    assert tracker.allocated().devices == ClaimTracker(catalog, shareable=True).allocated().devices
