"""A result is complete and frozen when the function of its command returns: another process renders the same."""

from __future__ import annotations

import io
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.report.registry import RenderOptions, formats_of, render
from ksched_cli.simulator import RunOptions, Simulator
from tests.report.test_notebook import DEMO, FLEET, RESULTS

ROOT = Path(__file__).parents[2]
CHECKED = str(ROOT / "fixtures" / "check" / "cluster.yaml")

COMMANDS: dict[str, Callable[[], Any]] = {
    **{name: make for name, make in RESULTS.items() if name != "Simulator"},
    "Simulation in detail": lambda: Simulator.load(DEMO).simulate(detail=True),
    "DrainReport of each node": lambda: Simulator.load(FLEET).drain_nodes(each="node", force=True),
    "Check of many manifests": lambda: Simulator.load(CHECKED).check(str(ROOT / "fixtures" / "check" / "deploy")),
    "DiffResult with causes": lambda: Simulator.compare(
        RunOptions(sources=[DEMO], kube_version="1.25"), RunOptions(sources=[DEMO], kube_version="1.34")
    ),
    "DerivedCatalog": lambda: Simulator.load(FLEET).size_catalog(rates="cpu=1"),
    "PluginList": Simulator.plugins,
    "ReasonCodes": Simulator.reason_codes,
    "VersionChanges": lambda: Simulator.version_changes("1.34"),
    "VersionList": Simulator.versions,
}
ELSEWHERE = """
import pickle, sys
from tests.report.test_complete_results import rendered
with open(sys.argv[1], "rb") as file:
    results = pickle.load(file)
import json
json.dump({name: rendered(result) for name, result in results.items()}, sys.stdout)
"""


def rendered(result: object) -> dict[str, str]:
    """The result in every format that is text."""
    found = {}
    for form in formats_of(type(result).__name__):
        if form not in ("parquet", "jsonl", "csv"):
            out = io.StringIO()
            render(result, out, RenderOptions(form, width=100))
            found[form] = out.getvalue()
    return found


@pytest.mark.slow
def test_another_process_renders_the_same(tmp_path: Path) -> None:
    results = {name: make() for name, make in COMMANDS.items()}
    path = tmp_path / "results.pickle"
    path.write_bytes(pickle.dumps(results))
    here = {name: rendered(result) for name, result in results.items()}
    command = [sys.executable, "-c", ELSEWHERE, str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    elsewhere = json.loads(done.stdout)
    assert all(here.values())
    assert [name for name in COMMANDS if here[name] != elsewhere[name]] == []
