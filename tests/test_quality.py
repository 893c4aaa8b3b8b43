"""Length of files and cost of imports. Lint, types and layers are steps of .ci/run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_no_file_is_longer_than_700_lines() -> None:
    files = [path for folder in ("ksched_cli", "tests") for path in (ROOT / folder).rglob("*.py")]
    assert len(files) > 50
    assert [str(path) for path in files if len(path.read_text().splitlines()) > 700] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        pytest.param(["version"], ("numpy", "kubernetes", "yaml", "msgspec", "rich.table"), id="version"),
        pytest.param(
            ["simulate", "--help"],
            ("numpy", "ksched_cli.api.core", "ksched_cli.config.model", "pydantic"),
            id="help of a command",
        ),
    ],
)
def test_what_needs_no_objects_loads_nothing_heavy(arguments: list[str], heavy: tuple[str, ...]) -> None:
    """`ksched version` and `--help` must not pay for numpy, the Kubernetes client or the engine."""
    code = (
        "import sys, ksched_cli.cli.main\n"
        f"try: ksched_cli.cli.main.run({arguments})\n"
        f"finally: print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.slow
def test_a_simulation_without_changes_loads_no_control_plane() -> None:
    """Each of these takes 5 to 30 ms: controllers, sweeps, redaction, packages with plugins."""
    heavy = (
        "ksched_cli.controlplane.plane",
        "ksched_cli.controlplane.controllers",
        "ksched_cli.world.world",
        "ksched_cli.plan.sweep",
        "ksched_cli.sources.redaction",
        "importlib.metadata",
    )
    code = (
        "import sys, ksched_cli.cli.main\n"
        "try: ksched_cli.cli.main.run(['demo'])\n"
        f"finally: print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.slow
def test_the_plugins_of_1_22_and_before_are_imported_for_those_minors_only() -> None:
    code = (
        "import sys\n"
        "from ksched_cli.releases.minors import release\n"
        "from ksched_cli.plugins.in_tree import plugins_of\n"
        "for minor in ('1.36', '1.23', '1.22'):\n"
        "    plugins_of(release(minor)); print('ksched_cli.legacy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "True"]


@pytest.mark.slow
def test_the_configuration_of_1_22_and_before_is_imported_for_such_files_only() -> None:
    code = (
        "import sys\n"
        "from ksched_cli.config.load import load_config\n"
        "from ksched_cli.config.view import configuration_document\n"
        "from ksched_cli.plugins.in_tree import plugins_of\n"
        "from ksched_cli.releases.minors import release\n"
        "from ksched_cli.engine.registry import Registry\n"
        "files = ('1.36', 'kubescheduler.config.k8s.io/v1', 'KubeSchedulerConfiguration'), ('1.22', 'v1', 'Policy')\n"
        "for minor, version, kind in files:\n"
        "    current, points = release(minor), Registry(plugins_of(release(minor))).points(release(minor))\n"
        "    text = f'apiVersion: {version}\\nkind: {kind}'\n"
        "    configuration_document(load_config(text, 'x', current, current.gates(), points), current, current.gates())\n"
        "    print('ksched_cli.config.legacy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
