"""A page of 5,000 nodes and 1,000 pods is small, quickly made and quickly there."""

from __future__ import annotations

import io
import random
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ksched_cli import Simulator
from ksched_cli.report.registry import RenderOptions, render
from ksched_cli.report.sinks.html import page_html
from tests.benchmarks.workloads import node, pod
from tests.builders import write_list
from tests.report.html.opened import NARROW, WIDE, OpenedPage

NODES, PODS = 5000, 1000
MOST_BYTES = 3_000_000
MOST_SECONDS = 2.0
MOST_MILLISECONDS_TO_INTERACTIVE = 1500
# A selection redraws the map; a person does not wait for it.
MOST_MILLISECONDS_TO_CHOOSE = 400


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Nearly full nodes with taints, and pods of fifty sizes: almost every pod has answers of its own."""
    chance, items = random.Random(3), []
    for number in range(NODES):
        made = node(number)
        if number % 17 == 0:
            made["spec"]["taints"].append({"key": "dedicated", "value": f"team-{number % 5}", "effect": "NoSchedule"})
        made["spec"]["unschedulable"] = number % 41 == 0
        made["metadata"]["labels"]["pool"] = f"pool-{number % 7}"
        items.append(made)
        size = {"cpu": f"{chance.randint(5000, 7800)}m", "memory": f"{chance.randint(8, 28)}Gi"}
        items.append(pod(f"run-{number}", number, nodeName=f"node-{number:05d}", **size))
    for number in range(PODS):
        kind = chance.randint(0, 49)
        selector = {"nodeSelector": {"pool": f"pool-{kind % 7}"}} if kind % 3 == 0 else {}
        size = {"cpu": f"{300 + kind * 60}m", "memory": f"{1 + kind % 8}Gi"}
        items.append(pod(f"app-{kind}-{number}", number, app=f"svc-{kind}", **size, **selector))
    return write_list(tmp_path_factory.mktemp("large") / "cluster.json", *items)


@pytest.fixture(scope="module")
def page_and_seconds(cluster: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    return made_page(cluster, tmp_path_factory.mktemp("page") / "large.html")


def made_page(cluster: str, path: Path) -> tuple[Path, float]:
    """The page, and the CPU seconds that it takes beyond the run."""
    started = time.process_time()
    found = Simulator.load(cluster).prepared().simulate(detail=False, top=3)
    run = time.process_time() - started
    started = time.process_time()
    stream, out = Simulator.load(cluster).prepared().stream(detail=True, top=5), io.StringIO()
    render(stream, out, RenderOptions("html", node_answers=True, command="ksched simulate"))
    whole = time.process_time() - started
    assert len(found.outcomes) == PODS
    path.write_text(out.getvalue(), encoding="ascii")
    return path, whole - run


@pytest.mark.slow
def test_size_and_time_with_names_that_are_shortened(cluster: str, tmp_path: Path) -> None:
    suffix = ".eu-west-1.compute.internal"
    path = tmp_path / "cluster.json"
    path.write_text(re.sub(r"node-\d{5}", lambda found: found[0] + suffix, Path(cluster).read_text()))
    page, seconds = made_page(str(path), tmp_path / "large.html")
    assert page.stat().st_size <= MOST_BYTES
    assert seconds <= MOST_SECONDS
    assert page.read_text().count(suffix) <= 5


@pytest.mark.slow
def test_size_and_time(page_and_seconds: tuple[Path, float]) -> None:
    path, seconds = page_and_seconds
    assert path.stat().st_size <= MOST_BYTES
    assert seconds <= MOST_SECONDS


@pytest.mark.slow
@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_it_is_interactive_at_once(
    size: tuple[int, int], page_and_seconds: tuple[Path, float], opened: Callable[..., OpenedPage]
) -> None:
    shown = opened(page_and_seconds[0], size=size)
    assert shown.page.evaluate("readyAt") <= MOST_MILLISECONDS_TO_INTERACTIVE
    assert not shown.wider_than_the_window
    row = "document.querySelector('#pods tbody tr:nth-child(5) button')"
    took = shown.page.evaluate(
        f"(() => {{ const begun = performance.now(); {row}.click(); return performance.now() - begun; }})()"
    )
    assert took <= MOST_MILLISECONDS_TO_CHOOSE
    assert shown.texts("tr.chosen button") == [shown.texts("#pods tbody tr:nth-child(5) button")[0]]


@pytest.mark.slow
def test_all_rows_can_be_reached(page_and_seconds: tuple[Path, float], opened: Callable[..., OpenedPage]) -> None:
    shown = opened(page_and_seconds[0])
    shown.page.locator("#nodes > .mount > details > summary").click()
    shown.page.wait_for_selector("#nodes tbody tr")
    shown.page.locator("#nodes").get_by_role("button", name="Last").click()
    assert shown.texts("#nodes .pager span") == [f"{NODES - 49:,} to {NODES:,} of {NODES:,}"]
    assert shown.texts("#nodes tbody tr th")[-1] == f"node-{NODES - 1:05d}"
    assert shown.texts("#pods .info") == [f"940 rows for {PODS:,}"]


@pytest.mark.slow
def test_answers_on_the_page_are_those_of_the_run(
    cluster: str, page_and_seconds: tuple[Path, float], opened: Callable[..., OpenedPage]
) -> None:
    """Also for a pod whose answers are given as differences from those of many pods before it."""
    outcome = Simulator.load(cluster).simulate(detail=True).outcomes[-1]
    assert outcome.detail is not None
    shown = opened(page_and_seconds[0], anchor=f"#pods={outcome.pod}")
    assert shown.texts(".detail h3")[0].startswith(outcome.pod)
    counts = {", ".join(group.reasons): f"{group.nodes:,} node{'s'[: group.nodes > 1]}" for group in outcome.failures}
    names = shown.texts(".detail .slim .name")
    assert dict(zip(names, shown.texts(".detail .slim .value"), strict=True)) == counts


def test_page_html_is_deterministic() -> None:
    document = {
        "apiVersion": "ksched/v1",
        "kind": "Simulation",
        "pods": [],
        "gated": [],
        "ignored": [],
        "refused": [],
        "coverage": {},
        "stats": dict.fromkeys(("nodes", "pods", "loadSeconds", "scheduleSeconds", "podsPerSecond", "peakMiB"), 0),
    }
    assert page_html(document) == page_html(document)
