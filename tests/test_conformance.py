"""Held against what kube-scheduler 1.36 decided: every field of every pod of every recorded case."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.plan.run.options import RunOptions
from ksched_cli.report.registry import RenderOptions, render
from tests.lanes import sampled
from tests.running import prepare

CORPUS = Path(__file__).parent.parent / "fixtures" / "conformance" / "1.36"

# The subjects whose plugins are all modelled; the others join as their plugins land.
SUBJECTS = (
    "basic",
    "defaultspread",
    "dra",
    "gates",
    "images",
    "mixed",
    "nodeaffinity",
    "nominated",
    "pdb",
    "podaffinity",
    "ports",
    "preemption",
    "priorityclass",
    "profiles",
    "resources",
    "scoring",
    "spread",
    "taints",
    "volumes",
)
CASES = sorted(case for subject in SUBJECTS for case in CORPUS.glob(f"{subject}-*"))

PLAIN = ("result", "node", "message", "nominatedNode", "totals", "scores")
SETS = ("ties", "feasible", "unschedulablePlugins")


def simulate(case: Path, kube_version: str = "auto", config: dict[str, Any] | None = None) -> dict[str, Any]:
    """With the case's configuration if there is no other."""
    file = case / "config.yaml"
    own = config or (str(file) if file.exists() else None)
    prepared = prepare(RunOptions([str(case / "cluster.json")], config=own, kube_version=kube_version))
    out = io.StringIO()
    render(prepared.stream(detail=True, top=0), out, RenderOptions("json"))
    document: dict[str, Any] = json.loads(out.getvalue())
    return document


def failure(entry: dict[str, Any] | None) -> Any:
    return entry and (entry.get("plugin", ""), entry["code"], sorted(entry.get("reasons") or []))


def differences(want: dict[str, Any], got: dict[str, Any]) -> Iterator[str]:
    for key in PLAIN:
        if (want.get(key) or None) != (got.get(key) or None):
            yield f"{key}: want {want.get(key)} got {got.get(key)}"
    for key in SETS:
        if sorted(want.get(key) or []) != sorted(got.get(key) or []):
            yield f"{key}: want {want.get(key)} got {got.get(key)}"
    if failure(want.get("preFilter")) != failure(got.get("preFilter")):
        yield f"preFilter: want {want.get('preFilter')} got {got.get('preFilter')}"
    wanted, gotten = want.get("filters") or {}, got.get("filters") or {}
    for node in sorted(set(wanted) | set(gotten)):
        if failure(wanted.get(node)) != failure(gotten.get(node)):
            yield f"filters of {node}: want {wanted.get(node)} got {gotten.get(node)}"
    if preemption(want) != preemption(got):
        yield f"preemption: want {want.get('preemption')} got {got.get('preemption')}"


def preemption(entry: dict[str, Any]) -> Any:
    done = entry.get("preemption")
    return done and (done["node"], sorted(done.get("victims") or []), done.get("pdbViolations", 0))


def disagreements(want: dict[str, Any], got: dict[str, Any]) -> dict[str, Any]:
    """By pod; and which pods were tried in which order, held back or left alone."""
    found: dict[str, Any] = {}
    wanted, gotten = ([pod["pod"] for pod in document.get("pods") or []] for document in (want, got))
    if wanted != gotten:
        found["order"] = f"want {wanted} got {gotten}"
    for key in ("gated", "ignored"):
        if sorted(want.get(key) or []) != sorted(got.get(key) or []):
            found[key] = f"want {want.get(key)} got {got.get(key)}"
    mine = {pod["pod"]: pod for pod in got["pods"]}
    for pod in want.get("pods") or []:
        if pod["pod"] in mine and (each := list(differences(pod, mine[pod["pod"]]))):
            found[pod["pod"]] = each
    return found


@pytest.mark.parametrize("case", sampled(CASES, 5))
def test_identical_to_kube_scheduler(case: Path) -> None:
    assert disagreements(json.loads((case / "expected.json").read_text()), simulate(case)) == {}


def test_every_subject_has_its_cases() -> None:
    """Copied whole: a fixture that went missing would make the suite pass with nothing in it."""
    # Ten a subject, but eight for nominated.
    assert len(CASES) == 10 * len(SUBJECTS) - 2
    assert len(list(CORPUS.iterdir())) == 188
