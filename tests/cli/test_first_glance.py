"""What people see on a terminal of 80 and of 140 columns, in a cluster whose nodes have names like those of EKS."""

from __future__ import annotations

import io
import re
import shlex
import sys
from pathlib import Path

import pytest

from ksched_cli.cli.main import run
from tests.cli.test_size import without_times
from tests.cli.transcripts import ROOT, same_as_golden
from tests.lanes import sampled
from tests.running import Ksched

EKS = "fixtures/clusters/eks.yaml"
NODE = "ip-10-0-2-2.eu-west-1.compute.internal"
OTHER_NODE = "ip-10-0-2-219.eu-west-1.compute.internal"
SUFFIX = ".eu-west-1.compute.internal"
CHECKOUT = "shop/checkout-nnfkt7xhz-8mlhg"
PENDING = (CHECKOUT, "shop/fraud-scan", "shop/cart-cqhfrn4nz-6qltx", "ml/trainer-jx6jwdns5-z8p48", "data/db-2")
RUNNING = ("data/db-0", "shop/web-4rjfz2q6f-892jk", "ml/notebook-zhxn7mlcj-tgl8p")

COMMANDS = {
    "simulate": f"simulate --from {EKS}",
    "settle": f"simulate --from {EKS} --settle",
    "scenario": f"simulate --from {EKS} --scenario fixtures/scenarios/eks-lose-a-node.yaml",
    "explain": f"explain {CHECKOUT} --from {EKS}",
    "explain-preempts": f"explain data/db-2 --from {EKS}",
    "explain-scheduled": f"explain shop/cart-cqhfrn4nz-6qltx --from {EKS}",
    "drain": f"drain {NODE} --ignore-daemonsets --from {EKS}",
    "drain-two": f"drain {NODE} {OTHER_NODE} --ignore-daemonsets --from {EKS}",
    "drain-each-node": f"drain --each node --ignore-daemonsets --from {EKS}",
    "drain-each-zone": f"drain --each zone --ignore-daemonsets --from {EKS}",
    "diff": f"diff --from {EKS} --remove-node {NODE}",
    "capacity": f"capacity --from {EKS} -f fixtures/manifests/capacity.yaml",
    "check": f"check --from {EKS} -f fixtures/check/deploy/web.yaml",
    "sweep": f"sweep --fail node --from {EKS}",
    "verify": f"verify --from {EKS}",
    "size": f"size --from {EKS} --catalog fixtures/catalogs/eks.yaml",
    "consolidate": f"consolidate --from {EKS} --force --delete-emptydir-data",
    "rightsize": f"rightsize --from {EKS} -f fixtures/manifests/resizer.yaml --catalog fixtures/catalogs/eks.yaml",
}

# The fast lane runs some of the commands.
SAMPLE = sampled(COMMANDS, 6)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


_SHOWN: dict[tuple[str, int], str] = {}


def on_a_terminal(command: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """The output of the command there, without colours. Each command runs once for a width."""
    if (command, columns) not in _SHOWN:
        _SHOWN[command, columns] = run_on_a_terminal(command, columns, monkeypatch)
    return _SHOWN[command, columns]


def run_on_a_terminal(command: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> str:
    terminal = Terminal()
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stdout", terminal)
    run(shlex.split(command))
    return re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue())


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 140])
@pytest.mark.parametrize("name", SAMPLE)
def test_transcript(name: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = on_a_terminal(COMMANDS[name], columns, monkeypatch)
    # The speed of a sweep differs from run to run.
    shown = re.sub(r"\s+\([\d,]+\s+variants/s,[^)]*\)", "", shown)
    text = "".join(f"{line.rstrip()}\n" for line in shown.splitlines())
    same_as_golden(f"eks-{name}-{columns}", without_times(text), columns=columns)


@pytest.mark.parametrize("name", SAMPLE)
def test_the_first_line_sums_the_result_up(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = on_a_terminal(COMMANDS[name], 140, monkeypatch).splitlines()[0]
    assert re.fullmatch(r"\S[^:]*(?: \([^)]*\))?: [^:]+", first), first


@pytest.mark.parametrize("pod", sampled([*RUNNING, *PENDING], 9))
def test_an_explanation_fits_one_screen(pod: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = on_a_terminal(f"explain {pod} --from {EKS}", 80, monkeypatch).splitlines()
    assert len(lines) <= 45
    assert max(map(len, lines)) <= 80


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_names_are_whole_where_people_copy_or_pipe_them(
    name: str, ksched: Ksched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    piped = ksched(*shlex.split(COMMANDS[name])).out
    assert "node names without" not in piped
    assert re.findall(r"ip-10-0-\d+-\d+(?![\d.])", piped) == []
    if name != "verify":
        wide = on_a_terminal(f"{COMMANDS[name]} -o wide", 200, monkeypatch)
        assert re.findall(r"ip-10-0-\d+-\d+(?![\d.])", wide) == []


@pytest.mark.parametrize("columns", [80, 140])
@pytest.mark.parametrize("name", SAMPLE)
def test_no_cell_is_cut_and_no_column_has_only_zeros(name: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = on_a_terminal(COMMANDS[name], columns, monkeypatch)
    assert "…" not in shown
    if name == "drain-each-node":
        assert "LOST" not in shown
        assert "STUCK" not in shown


@pytest.mark.slow
def test_every_node_is_shown_with_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = on_a_terminal(f"explain {CHECKOUT} --from {EKS} -o wide", 140, monkeypatch)
    names = set(re.findall(r"^(ip-\S+)  ", shown, re.MULTILINE))
    assert len(names) == 12
    assert all(name.endswith(SUFFIX) for name in names)


@pytest.mark.slow
def test_nodes_with_the_same_reasons_are_one_row_with_the_range_of_their_figures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = on_a_terminal(f"explain {CHECKOUT} --from {EKS}", 80, monkeypatch)
    assert "9 nodes        3 zones     Insufficient cpu: needs 2.5, free 0.74-1.54\n" in shown


@pytest.mark.parametrize("name", sampled(["settle", "scenario", "diff"], 3))
def test_the_text_of_an_event_is_quoted_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = " ".join(on_a_terminal(COMMANDS[name], 80, monkeypatch).split())
    quotes = re.findall(r"0/12 nodes are available: .*?for scheduling[^.]*\.", shown)
    assert len(quotes) == len(set(quotes))


@pytest.mark.slow
def test_files_keep_the_names_of_other_suffixes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that would be the same without the suffix are shown in full."""
    text = (
        (ROOT / EKS)
        .read_text()
        .replace("ip-10-0-2-2.eu-west-1", "ip-10-0-2-2")
        .replace("ip-10-0-2-41.", "ip-10-0-2-2.")
    )
    path = tmp_path / "c.yaml"
    path.write_text(text)
    shown = run_on_a_terminal(f"drain --each node --ignore-daemonsets --from {path}", 140, monkeypatch)
    assert "ip-10-0-2-2.compute.internal" in shown
