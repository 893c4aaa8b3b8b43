"""The fast lane, `pytest -m "not slow"`: all tests but those that take long, with samples of the large tables and corpora
and a tenth of the examples of property tests."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from hypothesis import HealthCheck, settings

FAST = "not slow"
_EXAMPLES = 100
_share = 1


def choose_lane(markers: str) -> None:
    """Set how many examples property tests draw, before their modules are imported. `markers` is the value of -m."""
    global _share
    _share = 10 if markers == FAST else 1
    # A busy machine draws slowly. That says nothing about the code.
    slow_draws = [HealthCheck.too_slow]
    settings.register_profile(
        "ksched", deadline=None, suppress_health_check=slow_draws, max_examples=examples(_EXAMPLES)
    )
    settings.load_profile("ksched")


def examples(number: int) -> int:
    """The number of examples of a property test in this lane."""
    return max(number // _share, 5)


def sampled(cases: Iterable[Any], every: int) -> list[ParameterSet]:
    """The cases as parameters. The fast lane collects and runs the first of each `every` cases."""
    if _share > 1:
        return [*map(_parameter, islice(cases, 0, None, every))]
    return [case if number % every == 0 else _slow(case) for number, case in enumerate(map(_parameter, cases))]


def _parameter(case: Any) -> ParameterSet:
    return case if isinstance(case, ParameterSet) else pytest.param(case, id=str(getattr(case, "name", case)))


def _slow(case: ParameterSet) -> ParameterSet:
    return case._replace(marks=[*case.marks, pytest.mark.slow])
