"""The everyday questions of a new user on dumps of shapes, and the stumbles that were mended."""

from __future__ import annotations

import io
import itertools
import json
import os
import re
import sys
from pathlib import Path

import pytest

from ksched_cli.cli.main import run
from ksched_cli.cli.streams import complain
from ksched_cli.report.console import Column, Grid, make_console
from tests.running import Ksched
from tests.trial.shapes import SHAPES, dump

MANIFEST = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: new, namespace: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: new}}
  template:
    metadata: {labels: {app: new}}
    spec:
      containers:
      - {name: main, image: "app:2", resources: {requests: {cpu: "1", memory: 1Gi}}}
"""
# Each question with its commands: at most two. {node}: a node that has pods.
QUESTIONS = {
    "why pending": [["simulate"]],
    "smallest fix": [["explain"]],
    "drain one node": [["drain", "{node}", "--ignore-daemonsets", "--force"]],
    "lose a node each": [["sweep", "--fail", "node"]],
    "which nodes to buy": [["size", "catalog"], ["size", "--catalog", "{catalog}"]],
    "how many more fit": [["capacity", "-f", "{manifest}"]],
    "will my chart roll out": [["check", "-f", "{manifest}"]],
    "what does the upgrade change": [["diff", "--to-kube-version", "1.36"]],
    "who is preempted": [["simulate", "--settle"]],
    "which nodes can go": [["consolidate"]],
}
WITH_NODE = {"mixed": "gen-4", "onprem": "srv-compute-1.prod.dc1.example.internal"}


@pytest.fixture(params=WITH_NODE)
def shape(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def source(shape: str, tmp_path: Path) -> str:
    return stored(shape, tmp_path)


def stored(shape: str, folder: Path) -> str:
    path = folder / f"{shape}.json"
    path.write_text(json.dumps(dump(SHAPES[shape]())))
    return str(path)


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run([*words]) in (0, 1)
    return capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 100, 140])
@pytest.mark.parametrize("question", QUESTIONS)
def test_an_answer_fits_the_terminal_and_cuts_no_name(
    question: str,
    columns: int,
    shape: str,
    source: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    names = {each["metadata"]["name"] for each in SHAPES[shape]().items if each["kind"] in ("Pod", "Node")}
    catalog, manifest = tmp_path / "catalog.yaml", tmp_path / "new.yaml"
    manifest.write_text(MANIFEST)
    for command in QUESTIONS[question]:
        given = {"node": WITH_NODE[shape], "catalog": str(catalog), "manifest": str(manifest)}
        text = shown(capsys, *(word.format(**given) for word in command), "--from", source)
        if command[1:] == ["catalog"]:
            # Without prices, each node costs the same.
            catalog.write_text(re.sub(r"(?m)^(\s*price:).*", r"\1 1", text))
            continue
        assert text.strip()
        lines = text.splitlines()
        assert max(map(len, lines)) <= columns
        assert ":" in lines[0]
        # A name that is longer than a line of its cell would end in the next line.
        for one, other in itertools.pairwise(lines):
            joined = one.rstrip()[-60:] + other.strip()[:60]
            cut = [name for name in names if name in joined and name not in one and name not in other]
            assert not cut or one.endswith(("-", "/", ",")), (one, other)


def test_copies_that_fail_alike_share_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also in a table of few pods. Causes stand before the taints and cordons of other pools."""
    text = shown(capsys, "simulate", "--from", stored("onprem", tmp_path))
    said = " ".join(text.split())
    assert "4 pods of web/storefront-frontend-eu-abc12-*" in said
    assert "12 nodes do not match its node selector or affinity, 6 are tainted" in said
    assert "node(s)" not in text


def test_held_back_copies_share_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = " ".join(shown(capsys, "simulate", "--from", stored("mixed", tmp_path)).split())
    assert "2 pods of ml/gated-abc12-* held back waiting for scheduling gates: [example.com/wait]" in said


def test_nodes_of_the_control_plane_stay(tmp_path: Path, ksched: Ksched) -> None:
    """They have no pod that would have to move, and the cluster needs them."""
    source = stored("onprem", tmp_path)
    found = json.loads(ksched("consolidate", "--from", source, "-o", "json", code=0).out)
    gone = {each["node"] for each in found["steps"]}
    assert gone
    assert not any(name.startswith("srv-ctl") for name in gone)
    kept = {each["why"] for each in found["kept"] if each["node"].startswith("srv-ctl")}
    assert kept == {"it runs the control plane"}


def test_nodes_with_one_reason_share_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = " ".join(shown(capsys, "consolidate", "--from", stored("onprem", tmp_path)).split())
    assert re.search(r"\d nodes pods of batch/nightly-report-generator-abc12-\* have no other node: \d+ Insuff", said)


@pytest.mark.slow
def test_a_sweep_counts_the_pods_that_are_preempted_now(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As many as `simulate` has."""
    source = stored("mixed", tmp_path)
    run(["simulate", "--from", source, "-o", "json"])
    pods = json.loads(capsys.readouterr().out)["pods"]
    victims = sum(len(each["preemption"]["victims"]) for each in pods if each.get("preemption"))
    text = shown(capsys, "sweep", "--fail", "zone", "--from", source)
    now = re.search(r"pods preempted +(\d+)", text)
    assert now
    assert int(now[1]) == victims == 2


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["sweep", "--fail", "zone"], "--fail label=example.internal/rack has 3 values"),
        (["drain", "--each", "zone", "--ignore-daemonsets"], "--each node"),
    ],
)
def test_a_cluster_without_zones_is_told_what_it_has(
    words: list[str], hint: str, tmp_path: Path, ksched: Ksched
) -> None:
    said = ksched(*words, "--from", stored("onprem", tmp_path), code=2).err
    assert "no node of the input has the label topology.kubernetes.io/zone" in said
    assert hint in said


def test_nodes_with_the_same_room_share_a_line_and_cpu_is_in_cores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = tmp_path / "new.yaml"
    manifest.write_text(MANIFEST)
    text = shown(capsys, "capacity", "--from", stored("onprem", tmp_path), "-f", str(manifest))
    free = re.findall(r"cpu ([\d.,]+\w*), memory", text.partition("STAYS FREE")[2])
    assert re.search(r"^3 nodes +\d+", text, re.M)
    assert free
    assert not any(each.endswith("m") for each in free)


def test_a_pod_that_fits_on_none_of_many_shapes_has_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shapes = [
        {"name": f"s{number}", "price": 1 + number, "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}
        for number in range(8)
    ]
    catalog = tmp_path / "catalog.yaml"
    catalog.write_text(json.dumps({"apiVersion": "ksched/v1", "kind": "Catalog", "shapes": shapes}))
    text = shown(capsys, "size", "--catalog", str(catalog), "--from", stored("onprem", tmp_path))
    assert "fits on none of 8 shapes of the catalog: 8 " in " ".join(text.split())


@pytest.mark.parametrize("width", [30, 40, 60])
def test_a_word_is_whole_where_a_line_has_room_for_it(width: int) -> None:
    name = "batch/nightly-report-1"
    grid = Grid(Column("NODE"), Column("WHY", flows=True))
    grid.add("srv-compute-00", f"{name} has no other node")
    assert name in "\n".join(grid.plain_lines(make_console(width), width))


def test_a_warning_is_broken_between_words_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    text = "warning: " + "the newest kubelet of the nodes " * 5
    for stream, most in ((Terminal(), 50), (io.StringIO(), 10_000)):
        monkeypatch.setenv("COLUMNS", "50")
        monkeypatch.setattr(sys, "stderr", stream)
        complain(text)
        lines = stream.getvalue().splitlines()
        assert max(map(len, lines)) <= most
        assert " ".join(stream.getvalue().split()) == " ".join(f"ksched: {text}".split())
        assert (len(lines) > 1) == (most == 50)


@pytest.mark.parametrize(
    ("terminal", "columns", "expected"),
    [(True, 90, 90), (True, 200, 120), (False, 90, 120)],
    ids=["a narrow terminal", "a wide terminal", "no terminal"],
)
def test_a_pipe_of_a_person_is_as_wide_as_the_terminal(
    terminal: bool, columns: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ksched explain | head` ends on the terminal, and no terminal breaks a word."""

    class Errors(io.StringIO):
        def isatty(self) -> bool:
            return terminal

        def fileno(self) -> int:
            return 2

    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(sys, "stderr", Errors())
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((columns, 24)))
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing, "w") as out:
        assert make_console(out=out).width == expected


def test_a_file_has_the_same_lines_on_any_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with (tmp_path / "out.txt").open("w") as out:
        assert make_console(out=out).width == 120
