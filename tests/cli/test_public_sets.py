"""Manifests of public projects against a cluster like EKS: the verdicts, and the page of the manual that lists them."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from ksched_cli.plan.reasons.codes import all_codes
from tests.builders import make_pod
from tests.cli.inputs import dumped
from tests.cli.transcripts import ROOT
from tests.running import Ksched

FOLDER = ROOT / "fixtures" / "public"
CLUSTER = FOLDER / "eks-12-nodes.yaml"
PAGE = ROOT / "ksched_cli" / "help" / "public-manifests.md"
SETS: list[dict[str, Any]] = json.loads((FOLDER / "sets.json").read_text())
CHECKOUTS = os.environ.get("KSCHED_PUBLIC_SETS")

# The first line of a check in which every workload fits.
FITS = r"(1 workload: fits|[1-9]\d* workloads: all fit)\b"

INTRODUCTION = """# Public manifests

`ksched check` of manifests that public projects ship, against a cluster of 12 nodes like those of Amazon EKS
(fixtures/public/eks-12-nodes.yaml). The result is the first line of the table output.

| project | arguments | exit code | result | codes | note |
|---|---|---|---|---|---|
"""


def page() -> str:
    return INTRODUCTION + "".join(f"{row(each)}\n" for each in SETS)


def row(each: dict[str, Any]) -> str:
    project = f"{each['repository']} at {each['commit'][:8]} ({each['licence']})"
    arguments, codes = f"`{' '.join(each['arguments'])}`", ", ".join(each["codes"])
    return f"| {project} | {arguments} | {each['exit']} | {each['result']} | {codes} | {each['note']} |"


def test_the_manual_lists_the_results() -> None:
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(page())
    assert page() == PAGE.read_text()


def test_no_set_that_checked_nothing_is_a_success() -> None:
    for each in SETS:
        assert (each["exit"] == 0) == (re.match(FITS, each["result"]) is not None)
        assert set(each["codes"]) <= set(all_codes())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "fits"),
    [
        pytest.param(["a"], True, id="one"),
        pytest.param(["a", "b"], True, id="two"),
        pytest.param([], False, id="none"),
    ],
)
def test_the_list_has_first_lines_as_check_prints_them(
    names: list[str], fits: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pods = [make_pod(name).requests(cpu="1").doc() for name in names] or [{"apiVersion": "v1", "kind": "Pud"}]
    (tmp_path / "m.yaml").write_text(dumped(*pods))
    assert run(["check", "--from", str(CLUSTER), "-f", str(tmp_path / "m.yaml")]) == (0 if fits else 2)
    first = capsys.readouterr().out.splitlines()[0]
    assert (re.match(FITS, first) is not None) == fits
    # The words of the line occur in the list, whatever the numbers are.
    assert any(re.split(r"\W*\d+\W*", first)[1] in each["result"] for each in SETS)


@pytest.mark.parametrize("each", [pytest.param(each, id=each["name"]) for each in SETS])
def test_verdict(each: dict[str, Any], monkeypatch: pytest.MonkeyPatch, ksched: Ksched) -> None:
    folder = Path(CHECKOUTS or "", each["repository"].replace("/", "+"))
    if not CHECKOUTS or not folder.is_dir():
        pytest.skip("KSCHED_PUBLIC_SETS names no directory with a checkout of it")
    if "-k" in each["arguments"] and not (shutil.which("kustomize") or shutil.which("kubectl")):
        pytest.skip("neither kustomize nor kubectl is installed")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")
    shown = ksched("check", "--from", str(CLUSTER), *each["arguments"], code=each["exit"]).out
    assert each["result"] == shown.splitlines()[0]
    assert sorted(set(re.findall(r"(?:error|warning|note) (KS\d+)", shown))) == each["codes"]


def test_the_cluster_takes_what_its_own_pods_request(ksched: Ksched) -> None:
    document = json.loads(ksched("simulate", "--from", str(CLUSTER), "-o", "json", code=0).out)
    assert (document["stats"]["nodes"], document["pods"]) == (12, [])
