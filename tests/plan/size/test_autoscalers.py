"""`size` never pays more than two autoscalers by their published rules."""

from __future__ import annotations

import pytest

from tests.benchmarks.sizing.autoscalers import AUTOSCALERS, cost_of
from tests.benchmarks.sizing.instances import KNOWN, known_optimum


@pytest.mark.slow
@pytest.mark.parametrize("number", range(KNOWN))
def test_autoscalers_pay_at_least_the_optimum(number: int) -> None:
    """They buy until the scheduler leaves nothing pending, so that no optimum can be above their cost."""
    instance = known_optimum(number)
    assert all(cost_of(instance, buy) >= instance.optimum for buy in AUTOSCALERS.values())


@pytest.mark.slow
@pytest.mark.parametrize("number", [2, 9, 24])
def test_size_is_not_dearer(number: int) -> None:
    instance = known_optimum(number)
    found = instance.simulator().size(dict(instance.catalog), time_limit=30)
    costs = {name: cost_of(instance, buy) for name, buy in AUTOSCALERS.items()}
    assert all(found.cost <= cost for cost in costs.values())
    assert any(found.cost < cost for cost in costs.values())
