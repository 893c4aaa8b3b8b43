"""Results in a notebook and in a terminal of Python, and the example notebook."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable
from typing import Any

import pytest

from ksched_cli import Simulator
from ksched_cli.plan.overview import ClusterOverview
from ksched_cli.report.registry import NotebookDisplay, RenderOptions, view_of
from ksched_cli.report.sinks.terminal import write_view
from ksched_cli.simulator import RunOptions
from tests.builders import make_node, make_object, make_pod
from tests.cli.transcripts import DEMO, FLEET, ROOT
from tests.lanes import sampled

NOTEBOOK = ROOT / "fixtures" / "notebook" / "what-if.ipynb"
DRAINED = str(ROOT / "fixtures" / "clusters" / "drain.yaml")
WEB = str(ROOT / "fixtures" / "check" / "deploy" / "web.yaml")
SHAPES = str(ROOT / "fixtures" / "catalogs" / "shop.yaml")
HOST = "kubernetes.io/hostname"
NODES = {"names": ["n"], "zones": [""], "cordoned": [], "resources": {}}
RESULTS: dict[str, Callable[[], Any]] = {
    "Simulator": lambda: Simulator.load(DEMO),
    "Simulation": lambda: Simulator.load(DEMO).run(),
    "SettledSimulation": lambda: Simulator.load(DRAINED).drain("east-1").settle(),
    "ScenarioRun": lambda: Simulator.load(FLEET).scenario(str(ROOT / "fixtures" / "scenarios" / "lose-east-2.yaml")),
    "ExplainResult": lambda: Simulator.load(DEMO).explain("shop/db-0"),
    "Check": lambda: Simulator.load(str(ROOT / "fixtures" / "check" / "cluster.yaml")).check(WEB),
    "CapacityResult": lambda: Simulator.load(DEMO).capacity(WEB),
    "DrainReport": lambda: Simulator.load(DRAINED).drain_nodes("east-1", ignore_daemonsets=True),
    "DiffResult": lambda: Simulator.compare(
        RunOptions(sources=[DEMO]), RunOptions(sources=[DEMO], edits=[("cordon", "east-2")])
    ),
    "SweepRun": lambda: Simulator.load(DRAINED).sweep(fail="node"),
    "Consolidation": lambda: Simulator.load(FLEET).consolidate(force=True),
    "Sizing": lambda: Simulator.load(DEMO).size(SHAPES),
    "Rightsizing": lambda: Simulator.load(DEMO).apply(WEB).rightsize(SHAPES),
    "Verification": lambda: Simulator.load(DEMO).verify(),
}


@pytest.mark.parametrize("name", sampled(RESULTS, 4))
def test_a_result_shows_itself(name: str) -> None:
    result = RESULTS[name]()
    assert type(result).__name__ == name
    shown = result._repr_html_()
    assert re.search(r"<p><strong>.+\.</strong>", shown)
    assert '<iframe title="ksched' in shown
    assert 'sandbox="allow-scripts"' in shown
    (page,) = re.findall(r'srcdoc="([^"]*)"', shown)
    assert html.unescape(page).startswith("<!DOCTYPE html>")
    text = repr(result)
    assert f"{name}(" not in text
    assert 1 <= len(text.splitlines()) <= 41
    assert all(len(line) <= 100 for line in text.splitlines())


@pytest.mark.parametrize(("pods", "last"), [(37, None), (38, "… and 1 more line"), (39, "… and 2 more lines")], ids=str)
def test_a_long_table_is_cut(pods: int, last: str | None) -> None:
    """After 40 lines, three of them above the first pod."""
    names = [f"n-{number}" for number in range(pods)]
    nodes = [make_node(name).label(HOST, name).allocatable(cpu="4", pods="9").doc() for name in names]
    waiting = [make_pod(name).requests(cpu="1").spec(nodeSelector={HOST: name}).doc() for name in names]
    lines = repr(Simulator.load(*nodes, *waiting).run()).splitlines()
    assert lines[39:] == [lines[39], *([last] if last else [])]
    assert lines[39].startswith("default/n-")


@pytest.mark.parametrize(
    ("running", "waiting", "first"),
    [
        (0, 0, "<strong>1 node: 0 pods run.</strong><br>0 are pending.</p>"),
        (1, 1, "<strong>1 node: 1 pod runs.</strong><br>1 is pending.</p>"),
        (2, 2, "<strong>1 node: 2 pods run.</strong><br>2 are pending.</p>"),
    ],
    ids=str,
)
def test_the_verdict_of_a_cluster(running: int, waiting: int, first: str) -> None:
    pods = [make_pod(f"run-{number}").on("n").doc() for number in range(running)]
    pods += [make_pod(f"wait-{number}").doc() for number in range(waiting)]
    assert first in Simulator.load(make_node("n").doc(), *pods)._repr_html_()


@pytest.mark.parametrize(("pods", "more"), [(5, ""), (6, "and 1 more row"), (1007, "and 1,002 more rows")], ids=str)
def test_a_notebook_shows_five_rows(pods: int, more: str) -> None:
    found = ClusterOverview(pending=tuple(map(str, range(pods))), running=0, node_table=NODES, coverage={})
    shown = NotebookDisplay().html(found)
    assert shown.count("<tr><td") == 5
    assert re.findall("and .* more rows?", shown) == ([more] if more else [])


def test_a_cluster_lists_twenty_pending_pods() -> None:
    for number in (20, 21):
        found = ClusterOverview(
            pending=tuple(f"p-{each}" for each in range(number)), running=0, node_table=NODES, coverage={}
        )
        out = io.StringIO()
        write_view(view_of(found, RenderOptions()), out, RenderOptions(width=80))
        assert ("and 1 more row (-o wide shows all)" in out.getvalue()) is (number > 20)


def test_a_scenario_has_its_timeline_in_a_notebook() -> None:
    """The command line writes it with --timeline only."""
    found = Simulator.load(FLEET).scenario(str(ROOT / "fixtures" / "scenarios" / "lose-east-2.yaml"))
    assert "Seconds on a virtual clock" in html.unescape(found._repr_html_())


def test_markup_of_a_cluster_is_text_in_a_notebook() -> None:
    node = make_object("Node", "n", status={"allocatable": {"cpu": "1", "pods": "9"}})
    name = '"><script>alert(1)</script><img src=x onerror=alert(1)>'
    container = {"name": "c", "image": name, "resources": {"requests": {"cpu": "2"}}}
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}, "spec": {"containers": [container]}}
    shown = Simulator.load(node, pod).run()._repr_html_()
    assert "<script" not in shown
    assert "<img" not in shown


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_example_notebook_runs() -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()
    outputs = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    assert len(outputs) >= 8
    for found in outputs[:-1]:
        (shown,) = [each for each in found if each.output_type == "execute_result"]
        assert "<iframe" in shown.data["text/html"]
        assert shown.data["text/plain"]
        assert "\x1b" not in shown.data["text/plain"]
    assert "shop/db-0" in outputs[-1][0].data["text/plain"]


def test_the_example_notebook_has_no_output() -> None:
    """Its results are those of the version that runs it."""
    import nbformat

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert [cell.id for cell in notebook.cells if cell.get("outputs")] == []
