"""The cheapest node that helps a pending pod."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from ksched_cli.plan.size.results import HelpingNode
from tests.builders import make_pod
from tests.plan.size.cases import catalog, load, node, pending, shape

SHAPES = catalog(
    shape("dear", "0.5", cpu="8"),
    shape("small", "0.1", cpu="2"),
    shape("fit", "0.3", cpu="8"),
    shape("tainted", "0.2", cpu="8", taints=[{"key": "gpu", "effect": "NoSchedule"}]),
    unit="USD/h",
)


def helping(pod: str, *objects: dict[str, Any]) -> HelpingNode | None:
    full = node("n", cpu="1", memory="1Gi", pods=9)
    return load([full, *objects]).explain(pod, fixes=False, catalog=SHAPES).helping_node


def test_the_cheapest_shape_that_helps_and_why_cheaper_ones_do_not() -> None:
    found = helping("p", pending("p", cpu="4"))
    assert found is not None
    assert (found.shape, found.price, found.unit) == ("fit", Decimal("0.3"), "USD/h")
    assert dict(found.reasons) == {"small": "Insufficient cpu", "tainted": "node(s) had untolerated taint(s)"}


def test_no_node_helps() -> None:
    found = helping("p", make_pod("p").selector(disk="ssd").doc())
    assert found is not None
    assert (found.shape, len(found.reasons)) == ("", 4)


def test_a_node_that_an_earlier_pod_takes_does_not_help() -> None:
    found = helping("p", pending("a", cpu="6"), pending("p", cpu="4"))
    assert found is not None
    assert (found.shape, found.reasons["fit"]) == ("", "0/2 nodes are available: 2 Insufficient cpu.")


def test_a_pod_that_needs_no_node() -> None:
    assert helping("p", pending("p", cpu="500m")) is None


def test_without_a_catalog_nothing_is_looked_for() -> None:
    assert load([node("n", cpu="1", memory="1Gi", pods=9), pending("p", cpu="4")]).explain("p").helping_node is None
