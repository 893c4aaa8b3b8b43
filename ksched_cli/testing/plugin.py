"""The pytest plugin, and the pages of --ksched-html.

Every pytest of an environment with ksched imports this module, so it imports the rest of ksched when a test needs it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ksched_cli.simulator import Simulator
    from ksched_cli.testing.expectation import Checks, Expectation


MARK = "workloads"
_PARAMETER = "ksched_workload"
_CHECKS = pytest.StashKey["Checks"]()
_PAGES = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("ksched", "ksched: tests of manifests")
    group.addoption(
        "--ksched-html",
        metavar="FOLDER",
        help="write an HTML page of each check of manifests, also of the losses that they do not survive",
    )


def pytest_sessionfinish(session: pytest.Session) -> None:
    folder, checks = session.config.getoption("--ksched-html"), session.config.stash.get(_CHECKS, None)
    if folder and checks is not None:
        session.config.stash[_PAGES] = write_pages(checks, folder)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for path in config.stash.get(_PAGES, ()):
        terminalreporter.write_line(f"ksched: {path}")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{MARK}(*paths, recursive=False, namespace='default'): run the test once for each workload of these manifests",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per workload. A mark without workloads is an error: a test that never runs would look like a success."""
    mark = metafunc.definition.get_closest_marker(MARK)
    if mark is None:
        return
    if _PARAMETER not in metafunc.fixturenames:
        raise pytest.Collector.CollectError(
            f"{metafunc.definition.nodeid}: a test with the mark {MARK} needs the fixture expect"
        )
    labels = _workloads(metafunc.config, mark)
    metafunc.parametrize(_PARAMETER, labels, indirect=True, ids=[label.replace(" ", "/", 1) for label in labels])


def _workloads(config: pytest.Config, mark: pytest.Mark) -> list[str]:
    from ksched_cli.errors import KschedError
    from ksched_cli.testing.manifests import workload_labels

    try:
        return workload_labels(_marked_paths(config, mark), mark.kwargs.get("namespace", "default"))
    except KschedError as mistake:
        raise pytest.Collector.CollectError(str(mistake)) from None


def _marked_paths(config: pytest.Config, mark: pytest.Mark) -> tuple[str, ...]:
    from ksched_cli.testing.manifests import with_folders

    paths = [_from_root(config, path) for path in mark.args]
    return with_folders(paths, recursive=mark.kwargs.get("recursive", False))


def _from_root(config: pytest.Config, path: str) -> str:
    """A path that a test names, seen from the working directory: tests name paths from pytest's rootdir."""
    full = os.path.join(config.rootpath, path)
    try:
        return os.path.relpath(full)
    except ValueError:  # on another drive
        return full


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Callable[..., Simulator]:
    """`cluster("snapshot.gz", config="scheduler.yaml")`: a Simulator of a snapshot or a dump. A file is loaded once a
    session."""

    @cache
    def load(path: str, **options: Any) -> Simulator:
        from ksched_cli.simulator import Simulator

        return Simulator.load(_from_root(request.config, path), **options)

    return load


@pytest.fixture(scope="session")
def ksched_checks(request: pytest.FixtureRequest) -> Checks:
    """The checks of the session, so that tests of single workloads share them."""
    from ksched_cli.testing.expectation import Checks

    return request.config.stash.setdefault(_CHECKS, Checks())


@pytest.fixture
def ksched_workload(request: pytest.FixtureRequest) -> str:
    """The workload of this test, such as "Deployment shop/web"; empty without the mark."""
    label: str = getattr(request, "param", "")
    return label


@pytest.fixture
def expect(
    request: pytest.FixtureRequest, ksched_checks: Checks, ksched_workload: str
) -> Callable[[Simulator], Expectation]:
    """`expect(cluster("snapshot.gz")).schedules("deploy/").without_preemption().survives(node=1)`."""
    from ksched_cli.testing.expectation import Expectation

    mark = request.node.get_closest_marker(MARK)
    manifests = _marked_paths(request.config, mark) if mark else ()

    def expect(simulator: Simulator) -> Expectation:
        locate = lambda path: _from_root(request.config, path)  # noqa: E731
        return Expectation(simulator, manifests, ksched_workload, ksched_checks, locate)

    return expect


def write_pages(checks: Checks, folder: str) -> list[str]:
    """Write a page of each check, of losses only if a workload fails. Return the paths, named after the manifests."""
    from ksched_cli.report.registry import RenderOptions, render

    os.makedirs(folder, exist_ok=True)
    written: list[str] = []
    for (_, manifests, edits), check in checks.done.items():
        if edits and all(each.result != "fails" for each in check.workloads):
            continue
        words = ["-".join(manifests), *(["without", *(node for _, node in edits)] if edits else [])]
        stem = re.sub(r"[^\w.-]+", "-", "-".join(words)).strip("-.")
        path = _unused(Path(folder), stem, written)
        with path.open("w", encoding="utf-8") as out:
            render(check, out, RenderOptions("html"))
        written.append(str(path))
    return written


def _unused(folder: Path, stem: str, written: list[str]) -> Path:
    """Several clusters may be checked with the same manifests. Pages of an earlier session are replaced."""
    path, number = folder / f"{stem}.html", 2
    while str(path) in written:
        path, number = folder / f"{stem}-{number}.html", number + 1
    return path
