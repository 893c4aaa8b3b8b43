"""`ksched report`: the page of a stored document."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ksched_cli.cli.main import run
from tests.cli.transcripts import DEMO, FLEET
from tests.lanes import sampled
from tests.report.html.test_every_page import CHECKED, DEPLOYED, DRAINED, SCENARIO, SHAPES
from tests.running import Ksched

COMMANDS = {
    "Simulation": ["simulate", "--from", DEMO, "--detail", "nodes"],
    "Simulation at rest": ["simulate", "--from", DRAINED, "--drain", "east-1", "--settle", "--detail", "nodes"],
    "ScenarioResult": ["simulate", "--from", FLEET, "--scenario", SCENARIO, "--settle"],
    "Explanation": ["explain", "shop/db-0", "--from", DEMO],
    "Check": ["check", "--from", CHECKED, "-f", DEPLOYED],
    "Capacity": ["capacity", "--from", DEMO, "-f", f"{DEPLOYED}/web.yaml"],
    "Drain": ["drain", "east-1", "--from", DRAINED, "--ignore-daemonsets"],
    "DrainList": ["drain", "--each", "node", "--from", DRAINED],
    "Diff": ["diff", "--from", DRAINED, "--drain", "east-1"],
    "SweepResult": ["sweep", "--fail", "node", "--from", DRAINED],
    "Consolidation": ["consolidate", "--from", FLEET, "--force"],
    "Rightsizing": ["rightsize", "--from", DEMO, "-f", f"{DEPLOYED}/web.yaml"],
    "Capacity of a mix": ["capacity", "--from", DEMO, "-f", f"{DEPLOYED}/web.yaml", "--mix", "web=1,api=3"],
    "Explanation of a placed pod": ["explain", "shop/web-1", "--from", DEMO],
    "DrainList of zones": ["drain", "--each", "zone", "--from", DRAINED, "--ignore-daemonsets"],
    "Sizing": ["size", "--from", DEMO, "--catalog", SHAPES],
}


def without_run(page: str) -> str:
    """Command line, times and memory differ from run to run."""
    page = re.sub(r"(<dt>Ran on</dt><dd>)[^<]*", r"\1", page)
    head, _, rest = page.partition('<section id="made"')
    head = re.sub(r"searched [0-9.]+ s", "searched", head)
    return re.sub(r'<span class="when">.*?</span>', "", head) + rest.partition("</main>")[2]


@pytest.mark.parametrize("kind", sampled(COMMANDS, 4))
@pytest.mark.parametrize("form", ["json", pytest.param("yaml", marks=pytest.mark.slow)])
def test_page_of_a_stored_document_is_that_of_the_run(
    kind: str, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], ksched: Ksched
) -> None:
    if (kind, form) == ("Check", "yaml"):
        pytest.skip("check writes no YAML")
    code = run([*COMMANDS[kind], "-o", form])
    (tmp_path / "document").write_text(capsys.readouterr().out)
    own = ksched(*COMMANDS[kind], "-o", "html", code=code).out
    stored = ksched("report", str(tmp_path / "document"), code=0).out
    assert without_run(stored) == without_run(own)
    assert f"<code>ksched {COMMANDS[kind][0]}" in stored


@pytest.mark.parametrize("detail", ["summary", "full"])
def test_page_of_a_document_with_other_detail(detail: str, tmp_path: Path, ksched: Ksched) -> None:
    (tmp_path / "document.json").write_text(ksched("simulate", "--from", DEMO, "-o", "json", "--detail", detail).out)
    page = ksched("report", str(tmp_path / "document.json"), code=0).out
    assert "6 pending pods: 2 unschedulable." in page
    assert ('"answers"' in page) == (detail == "full")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("", "it is not an object", id="empty"),
        pytest.param('{"apiVersion": "ksched/v1", "ki', "unterminated string", id="cut off"),
        pytest.param("[1]", "it is not an object", id="a list"),
        pytest.param("kind: Pod\napiVersion: v1", "this is no document of ksched", id="another object"),
        pytest.param('{"apiVersion": "ksched/v1", "kind": "Nothing"}', "there is no page", id="another kind"),
        pytest.param(
            '{"apiVersion": "ksched/v1", "kind": "Simulation"}', "required field `pods`", id="half a document"
        ),
        pytest.param(
            '{"apiVersion": "ksched/v1", "kind": "Simulation", "pods": 3, "gated": [], "ignored": []}',
            "not as ksched writes it",
            id="wrong types",
        ),
    ],
)
def test_what_is_no_document(text: str, said: str, tmp_path: Path, ksched: Ksched) -> None:
    (tmp_path / "d.json").write_text(text)
    shown = ksched("report", str(tmp_path / "d.json"), code=2)
    assert shown.out == ""
    assert said in shown.err
    assert "a bug" not in shown.err


def test_files_that_cannot_be_read(tmp_path: Path, ksched: Ksched) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    assert "the file is not in UTF-8" in ksched("report", str(tmp_path / "binary"), code=2).err
    assert "no such file" in ksched("report", str(tmp_path / "none"), code=2).err
