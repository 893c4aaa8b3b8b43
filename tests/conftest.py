"""Settings of all tests."""

from __future__ import annotations

import pytest

from tests.lanes import choose_lane


def pytest_configure(config: pytest.Config) -> None:
    choose_lane(config.getoption("markexpr"))
