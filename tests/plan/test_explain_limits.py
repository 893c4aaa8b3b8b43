"""How many nodes, causes and names `explain` lists before it says how many more there are: rows at each limit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from tests.builders import make_node, make_pod, write_list

POD = make_pod("p").requests(cpu="2", memory="2Gi").spec(nodeSelector={"disk": "ssd"})


def node(name: str, cpu: str = "4", memory: str = "8Gi", disk: str = "ssd", taint: str = "") -> Any:
    made = make_node(name).allocatable(cpu=cpu, memory=memory, pods=10).label("disk", disk)
    return made.spec(taints=[{"key": taint, "effect": "NoSchedule"}]) if taint else made


def explained(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, *objects: Any) -> str:
    run(["explain", name, "--from", write_list(tmp_path / "c.json", *objects)])
    shown = capsys.readouterr()
    return " ".join((shown.out + shown.err).split())


SHORT, TAINTED, OTHER, SMALL = (
    node("n0", cpu="1"),
    node("n1", taint="a"),
    node("n2", disk="hdd"),
    node("n3", memory="1Gi"),
)
TWO_PROBLEMS = node("n9", cpu="1", taint="b")
FOUR = "Nodes with a single problem: 1 lacks cpu, 1 has taint a:NoSchedule, 1 lacks label disk=ssd, 1 lacks memory"


@pytest.mark.parametrize(
    ("more", "end"),
    [
        pytest.param([], "", id="four"),
        pytest.param([node("n4", taint="c")], " and 1 more", id="five"),
        pytest.param([node("n4", taint="c"), node("n5", taint="d")], " and 2 more", id="six"),
    ],
)
def test_four_causes_are_named(more: list[Any], end: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    objects = (SHORT, TAINTED, OTHER, SMALL, *more, TWO_PROBLEMS, POD)
    assert f"{FOUR}{end}. All problems: " in explained(tmp_path, capsys, "p", *objects)


@pytest.mark.parametrize(
    ("count", "rows"),
    [
        pytest.param(
            3, ["m0 NodeResourcesFit cpu: asks 2", "m2 NodeResourcesFit cpu: asks 2"], id="three by themselves"
        ),
        pytest.param(4, ["m0, m1, m2, m3 NodeResourcesFit Insufficient cpu: needs 2"], id="four together"),
    ],
)
def test_three_nodes_are_described_by_themselves(
    count: int, rows: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = explained(tmp_path, capsys, "p", *(node(f"m{at}", cpu="1") for at in range(count)), POD)
    assert all(each in shown for each in rows)


@pytest.mark.parametrize("count", [5, 6])
def test_five_pods_are_named(count: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pods = [make_pod(f"web-{at}").requests(cpu="9") for at in range(count)]
    shown = explained(tmp_path, capsys, "zzz", node("n"), *pods)
    names = ", ".join(f"default/web-{at}" for at in range(5))
    assert shown.endswith(f"pending pods are {names}{' and 1 more' if count > 5 else ''}")
