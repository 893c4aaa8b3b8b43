"""Bars and lines of characters on terminals."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from ksched_cli import Simulator
from ksched_cli.cli.main import run
from ksched_cli.report.console import make_console
from ksched_cli.report.sinks.terminal import print_usage, sparkline
from ksched_cli.report.visible import NO_NODES
from tests.builders import make_node, make_pod
from tests.cli.transcripts import ROOT
from tests.running import Ksched

DRAINED = str(ROOT / "fixtures" / "clusters" / "drain.yaml")
WEB = str(ROOT / "fixtures" / "check" / "deploy" / "web.yaml")
COMMANDS = {
    "drain": ["drain", "east-1", "--from", DRAINED, "--ignore-daemonsets"],
    "capacity": ["capacity", "--from", DRAINED, "-f", WEB],
}
# A drain shows the nodes whose use it changes.
NODES = {"drain": ["east-1", "east-2", "west-2"], "capacity": ["east-1", "east-2", "west-1", "west-2"]}


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_bars_of_zones_and_nodes_with_colours_only(
    command: str, ksched: Ksched, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = ksched(*COMMANDS[command]).out
    assert "\N{FULL BLOCK}" not in without
    monkeypatch.setenv("FORCE_COLOR", "1")
    lines = plain(ksched(*COMMANDS[command]).out).splitlines()
    begin = next(number for number, line in enumerate(lines) if line.split() == ["USE", "CPU", "MEMORY"])
    names = [line.split()[0] for line in lines[begin + 1 :] if line.strip()]
    assert names[: 2 + len(NODES[command])] == ["east", "west", *NODES[command]]
    assert "\N{FULL BLOCK}" in lines[begin + 1]


def test_the_numbers_are_those_of_the_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    nodes = [make_node(name).allocatable(cpu="4", memory="8Gi", pods=9).doc() for name in ("a", "b")]
    pods = [make_pod("on").requests(cpu="1", memory="4Gi").on("a").doc(), make_pod("new").requests(cpu="2").doc()]
    found = Simulator.load(*nodes, *pods).run()
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    print_usage(make_console(100, out), found.nodes.document, NO_NODES)
    out.seek(0)
    lines = [plain(line).split() for line in out.read().splitlines()]
    assert lines[1:] == [
        ["USE", "CPU", "MEMORY"],
        ["a", "####............", "25", "%", "########........", "50", "%"],
        ["b", "++++++++........", "0", "%", "->", "50", "%", "................", "0", "%"],
    ]


def test_a_large_cluster_shows_the_nodes_that_change_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    nodes = [make_node(f"n{number:02d}").allocatable(cpu="4", memory="8Gi", pods=9).doc() for number in range(40)]
    pods = [make_pod(f"p{number}").requests(cpu="3").doc() for number in range(20)]
    out = io.StringIO()
    print_usage(make_console(100, out), Simulator.load(*nodes, *pods).run().nodes.document, NO_NODES)
    lines = [line for line in plain(out.getvalue()).splitlines() if line.strip()]
    assert len(lines) == 13
    assert all("0 % -> 75 %" in line for line in lines[1:])


@pytest.mark.parametrize(
    ("values", "unicode", "ascii"),
    [([0, 1, 2, 4], "▁▃▅█", "_-+@"), ([0, 0], "▁▁", "__"), ([], "", ""), ([3], "█", "@")],
)
def test_sparkline(values: list[float], unicode: str, ascii: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    utf8 = Console(file=io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), force_terminal=True, color_system="standard")
    narrow = Console(
        file=io.TextIOWrapper(io.BytesIO(), encoding="ascii"), force_terminal=True, color_system="standard"
    )
    assert sparkline(values, utf8) == unicode
    assert sparkline(values, narrow) == ascii
    assert sparkline(values, Console(file=io.StringIO(), color_system=None)) == ""


@pytest.mark.slow
def test_sweep_has_a_line_for_its_settings(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    run(["sweep", "--fail", "node", "--add-node", "cpu=8,memory=32Gi=0..3", "--from", DRAINED])
    assert re.search(r"pods without a node, setting by setting: [▁-█]{4} ", plain(capsys.readouterr().out))


def test_the_picture_of_the_readme_is_small() -> None:
    readme = (ROOT / "README.md").read_text()
    (picture,) = re.findall(r"!\[[^]]+\]\(([^)]+\.png)\)", readme)
    path = Path(ROOT / picture)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size <= 200_000
