"""Installs ksched with its tests into the Python that runs this, and runs them: the step of the CI on every system.

    python .ci/tests.py [PATH...]

Without paths it is the fast lane. KSCHED_DEPENDENCIES=oldest installs the oldest versions that pyproject.toml allows.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def oldest_constraints(pyproject: str) -> str:
    """`numpy>=1.26` becomes `numpy==1.26`, for everything that ksched depends on."""
    requirements = tomllib.loads(pyproject)["project"]["dependencies"]
    unbounded = [each for each in requirements if ">=" not in each]
    if unbounded:
        raise SystemExit(f"no oldest version: {', '.join(unbounded)}")
    return "".join(each.replace(">=", "==") + "\n" for each in requirements)


def main() -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    with tempfile.TemporaryDirectory() as folder:
        constraints = Path(folder, "constraints.txt")
        oldest = os.environ.get("KSCHED_DEPENDENCIES") == "oldest"
        constraints.write_text(
            oldest_constraints((ROOT / "pyproject.toml").read_text("utf-8")) if oldest else "", "utf-8"
        )
        subprocess.run([*pip, "-c", str(constraints), ".[test]"], cwd=ROOT, check=True)
    what = sys.argv[1:] or ["-m", "not slow"]
    tests = subprocess.run([sys.executable, "-m", "pytest", "-q", "-n", "2", *what], cwd=ROOT, check=False)
    raise SystemExit(tests.returncode)


if __name__ == "__main__":
    main()
