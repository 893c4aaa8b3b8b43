"""Settings of all tests."""

from __future__ import annotations

import gc

import pytest

from tests.lanes import choose_lane


def pytest_configure(config: pytest.Config) -> None:
    choose_lane(config.getoption("markexpr"))
    # As the command line does: collecting the tests makes a million objects, and all of them stay.
    gc.set_threshold(100_000, 50, 1000)


def pytest_collection_finish() -> None:
    gc.freeze()
