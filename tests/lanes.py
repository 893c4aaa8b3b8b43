"""The fast lane, `pytest -m "not slow"`: all tests but those that take long, and samples of the large corpora."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(cases: Iterable[Any], every: int) -> list[Any]:
    """The cases as parameters. The fast lane runs the first of each `every` cases."""
    return [
        pytest.param(case, id=getattr(case, "name", case), marks=[] if number % every == 0 else [pytest.mark.slow])
        for number, case in enumerate(cases)
    ]
