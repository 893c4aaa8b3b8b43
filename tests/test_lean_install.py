"""Everything but a live cluster works without the Kubernetes client and what only the client needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CLIENT = [
    "kubernetes",
    "requests",
    "requests_oauthlib",
    "oauthlib",
    "websocket",
    "dateutil",
    "durationpy",
    "aiohttp",
    "aiohttp_retry",
    "certifi",
    "charset_normalizer",
    "tzdata",
]
BLOCKED = f"""
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {CLIENT!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
from ksched_cli.cli.main import run
raise SystemExit(run(sys.argv[1:]))
"""
DEMO = "ksched_cli/cli/demo_cluster.yaml"
EXAMPLE = "fixtures/pytest-example"


def run_without_client(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BLOCKED, *arguments]
    return subprocess.run(command, cwd=ROOT, env=variables or None, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        "version",
        "demo",
        f"simulate --from {DEMO} -o json",
        f"simulate --settle --from {DEMO}",
        f"explain shop/db-0 --from {DEMO}",
        f"check --from {EXAMPLE}/cluster.yaml -f {EXAMPLE}/deploy/shop -o sarif",
        f"capacity --from {DEMO} -f {EXAMPLE}/deploy/shop/web.yaml",
        f"drain --each node --from {DEMO}",
        f"diff --from {DEMO} --remove-node west-1",
        f"snapshot --from {DEMO} --redact -o {{tmp}}/cluster.ksched.gz",
        "config schema",
        "plugins",
        "versions",
        "completion bash",
        "help inputs",
    ],
)
def test_a_command_needs_no_client(arguments: str, tmp_path: Path) -> None:
    done = run_without_client(*arguments.replace("{tmp}", str(tmp_path)).split())
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    assert "kubernetes" not in done.stderr.lower().replace("kubernetes 1.", "")


@pytest.mark.slow
@pytest.mark.parametrize("arguments", ["simulate", "snapshot -o -", "watch", "drain node-1"])
def test_a_live_cluster_names_the_package(arguments: str, tmp_path: Path) -> None:
    done = run_without_client(*arguments.split(), HOME=str(tmp_path))
    assert done.returncode == 3
    assert "a live cluster needs the Python package kubernetes" in done.stderr
    assert "pip install kubernetes; --from FILE reads a dump or a snapshot without it" in done.stderr
