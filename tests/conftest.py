"""Settings of all tests."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from ksched_cli.cluster.cache import Cluster
from tests.lanes import choose_lane


def pytest_configure(config: pytest.Config) -> None:
    choose_lane(config.getoption("markexpr"))
    # As the command line does: collecting the tests makes a million objects, and all of them stay.
    gc.set_threshold(100_000, 50, 1000)


def pytest_collection_finish() -> None:
    gc.freeze()


@pytest.fixture
def built_clusters(monkeypatch: pytest.MonkeyPatch) -> list[Cluster]:
    """The clusters that the test has built by now."""
    built: list[Cluster] = []
    build = Cluster.__init__

    def counted(self: Cluster, *args: Any, **options: Any) -> None:
        built.append(self)
        build(self, *args, **options)

    monkeypatch.setattr(Cluster, "__init__", counted)
    return built
