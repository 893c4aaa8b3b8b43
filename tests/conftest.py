"""Settings of all tests."""

from __future__ import annotations

import gc
import os
from typing import Any

import pytest

from ksched_cli.cli.main import run
from ksched_cli.cluster.cache import Cluster
from tests.lanes import choose_lane
from tests.running import Ksched, Printed


def pytest_configure(config: pytest.Config) -> None:
    choose_lane(config.getoption("markexpr"))
    # As the command line does: collecting the tests makes a million objects, and all of them stay.
    gc.set_threshold(100_000, 50, 1000)
    if os.environ.get("KSCHED_NO_REUSE"):
        # Every cluster works all out afresh, as with --no-reuse: for a copy without ksched_cli/engine/answers.
        build = Cluster.__init__
        Cluster.__init__ = lambda self, *args, **options: build(self, *args, **{**options, "reuse": False})  # type: ignore[method-assign]


def pytest_collection_finish() -> None:
    gc.freeze()


@pytest.fixture
def ksched(capsys: pytest.CaptureFixture[str]) -> Ksched:
    def call(*arguments: str, code: int | None = None) -> Printed:
        ended = run(list(arguments))
        printed = Printed(*capsys.readouterr())
        assert code is None or ended == code, printed.err
        return printed

    return call


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
