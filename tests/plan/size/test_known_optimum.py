"""30 generated instances whose optimum is known, each built backwards from packed nodes that the scheduler accepts.
`size` and two autoscalers are held against it."""

from __future__ import annotations

from decimal import Decimal
from functools import cache

import pytest

from ksched_cli.plan.size.results import Sizing
from tests.benchmarks.sizing.autoscalers import AUTOSCALERS, cost_of
from tests.benchmarks.sizing.instances import KNOWN, Instance, known_optimum, packed_nodes_are_accepted
from tests.benchmarks.sizing.large import wide
from tests.plan.size.cases import left_pending

LIMIT = 20.0


@cache
def sized(number: int) -> tuple[Instance, Sizing]:
    instance = known_optimum(number)
    return instance, instance.simulator().size(dict(instance.catalog), time_limit=LIMIT)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(KNOWN))
def test_the_optimum_of_an_instance_is_proven_by_its_construction(number: int) -> None:
    instance = known_optimum(number)
    assert instance.proven_bound() == instance.optimum
    assert packed_nodes_are_accepted(instance)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(KNOWN))
def test_the_cost_is_at_most_3_per_cent_above_the_optimum_and_nothing_stays_pending(number: int) -> None:
    instance, found = sized(number)
    assert instance.optimum <= found.cost <= instance.optimum * Decimal("1.03")
    assert found.lower_bound is not None
    assert found.lower_bound <= instance.optimum
    assert found.fits
    assert left_pending(instance.simulator(), found.nodes) == []


@pytest.mark.slow
def test_the_optimum_is_found_in_27_of_30() -> None:
    results = [sized(number) for number in range(KNOWN)]
    assert sum(found.cost == instance.optimum for instance, found in results) >= 27


# `size` never pays more than two autoscalers by their published rules


@pytest.mark.slow
@pytest.mark.parametrize("number", range(KNOWN))
def test_autoscalers_pay_at_least_the_optimum(number: int) -> None:
    """They buy until the scheduler leaves nothing pending, so that no optimum can be above their cost."""
    instance = known_optimum(number)
    assert all(cost_of(instance, buy) >= instance.optimum for buy in AUTOSCALERS.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    "instance", [*map(known_optimum, (2, 9, 24)), pytest.param(wide(1), id="160 shapes")], ids=lambda each: each.name
)
def test_size_is_not_dearer(instance: Instance) -> None:
    found = instance.simulator().size(dict(instance.catalog), time_limit=5)
    costs = {name: cost_of(instance, buy) for name, buy in AUTOSCALERS.items()}
    assert all(found.cost <= cost for cost in costs.values())
    assert any(found.cost < cost for cost in costs.values())
