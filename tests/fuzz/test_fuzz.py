"""A short run of the fuzzer. The long one is `python -m tests.fuzz --count 10000`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.fuzz.commands import make_case
from tests.fuzz.mutations import bounded, mutated

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_short_run_finds_nothing() -> None:
    command = [sys.executable, "-m", "tests.fuzz", "--count", "40", "--seed", "5000"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("40 inputs, 0 findings")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_a_seed_makes_the_same_input_again(seed: int) -> None:
    assert make_case(seed) == make_case(seed)


def test_a_mutation_leaves_the_given_document_alone() -> None:
    document = {"spec": {"replicas": 3, "containers": [{"name": "a"}]}}
    for seed in range(50):
        mutated(document, Random(seed))
    assert document == {"spec": {"replicas": 3, "containers": [{"name": "a"}]}}
    assert bounded({"spec": {"replicas": 10**9}}) == {"spec": {"replicas": 30}}


@pytest.mark.slow
@pytest.mark.parametrize("source", ["raise RuntimeError('x')", "import time; x = 0\nwhile True: x += 1"])
def test_what_the_fuzzer_looks_for(source: str, tmp_path: Path) -> None:
    """A program with a fault is a finding."""
    code = (
        "from pathlib import Path\nimport tests.fuzz.__main__ as fuzz\nfrom tests.fuzz.commands import Case\n"
        "fuzz.MAX_SECONDS = 0.5\n"
        f"def run(arguments):\n    exec({source!r})\n"
        f"print(fuzz.attempt(Case((), {{}}), Path({str(tmp_path)!r}), run)[1])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() not in ("", "None")
