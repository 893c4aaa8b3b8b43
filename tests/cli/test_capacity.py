"""`ksched capacity` as a person runs it."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from tests.builders import make_node, make_object, make_pod, write_list
from tests.cli.transcripts import ROOT, same_as_golden, without_stats
from tests.running import Ksched

CLUSTER = str(ROOT / "ksched_cli" / "cli" / "demo_cluster.yaml")
MANIFESTS = str(ROOT / "fixtures" / "manifests" / "capacity.yaml")
NO_ROOM = str(ROOT / "fixtures" / "manifests" / "no-room.yaml")
SHOP = str(ROOT / "fixtures" / "manifests" / "shop.yaml")
NODE = make_node("n").doc()


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        pytest.param("capacity", ["-f", MANIFESTS], 0, id="each by itself"),
        pytest.param("capacity-mix", ["-f", MANIFESTS, "--mix", "web=3,index=1"], 0, id="a mix"),
        pytest.param("capacity-max", ["-f", MANIFESTS, "--max", "4", "--ignore-pending"], 0, id="bounded"),
        pytest.param("capacity-none", ["-f", NO_ROOM], 1, id="none fits"),
        pytest.param("capacity-yaml", ["-f", MANIFESTS, "-o", "yaml"], 0, id="yaml"),
        pytest.param("capacity-help", ["--help"], 0, id="help"),
    ],
)
def test_transcript(name: str, arguments: list[str], code: int, ksched: Ksched) -> None:
    shown = without_stats(ksched("capacity", "--from", CLUSTER, *arguments, code=code).out)
    same_as_golden(name, shown, columns=None if name == "capacity-yaml" else 80)


def test_many_nodes_are_summed_up_by_what_keeps_the_next_one_out(tmp_path: Path, ksched: Ksched) -> None:
    nodes = [make_node(f"n{index:02}").allocatable(cpu="2", memory="1Gi", pods=9).doc() for index in range(30)]
    nodes += [make_node(f"s{index:02}").allocatable(cpu="8", memory="1Gi", pods=3).doc() for index in range(20)]
    nodes += [make_node(f"t{index:02}").taint("gpu").doc() for index in range(5)]
    manifest = write_list(tmp_path / "m.json", make_pod("web").requests(cpu="600m").doc())
    cluster = write_list(tmp_path / "c.json", *nodes)
    shown = ksched("capacity", "--from", cluster, "-f", manifest, code=0).out
    same_as_golden("capacity-many-nodes", shown)
    assert len(ksched("capacity", "--from", cluster, "-f", manifest, "-o", "wide").out.splitlines()) > 55


def test_a_pod_that_runs_can_be_the_pattern(tmp_path: Path, ksched: Ksched, monkeypatch: pytest.MonkeyPatch) -> None:
    """`kubectl get pod … -o yaml | ksched capacity -f -`: its node, its name and its status are not copied."""
    there = make_pod("web").requests(cpu="1").on("n").phase("Running").uid("u").started("2026-01-01T00:00:00Z").doc()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(there).encode())))
    cluster = write_list(tmp_path / "c.json", NODE, there)
    assert ksched("capacity", "--from", cluster, "-f", "-", "-o", "name", code=0).out == "web\t3\n"


@pytest.mark.parametrize(
    ("pod", "options", "code"),
    [
        pytest.param(make_pod("fits").requests(cpu="1"), [], 0, id="some fit"),
        pytest.param(make_pod("large").requests(cpu="9"), [], 1, id="none fits"),
        pytest.param(make_pod("large").requests(cpu="9"), ["--exit-zero"], 0, id="told to say zero"),
    ],
)
@pytest.mark.parametrize("output", ["table", "json", "yaml", "name"])
def test_exit_codes(tmp_path: Path, pod: Any, options: list[str], code: int, output: str) -> None:
    cluster, manifest = write_list(tmp_path / "c.json", NODE), write_list(tmp_path / "m.json", pod.doc())
    assert run(["capacity", "--from", cluster, "-f", manifest, "-o", output, *options]) == code


def test_the_document(tmp_path: Path, ksched: Ksched) -> None:
    cluster = write_list(tmp_path / "c.json", NODE, make_node("t").taint("gpu").doc())
    document = json.loads(
        ksched(
            "capacity",
            "--from",
            cluster,
            "-f",
            write_list(tmp_path / "m.json", make_pod("w").requests(cpu="1500m").doc()),
            "-o",
            "json",
        ).out
    )
    assert (document["apiVersion"], document["kind"]) == ("ksched/v1", "Capacity")
    assert document["stats"]["nodes"] == 2
    (entry,) = document["capacities"]
    assert entry["shapes"] == [
        {"name": "w", "manifest": "Pod default/w", "perSet": 1, "fits": 2, "requests": {"cpu": "1500m"}}
    ]
    assert entry["nodes"] == [
        {
            "node": "n",
            "fits": {"w": 2},
            "free": {"cpu": "1", "memory": "16Gi"},
            "runsOut": ["cpu"],
            "plugin": "NodeResourcesFit",
            "code": "Unschedulable",
            "reasons": ["Insufficient cpu"],
        },
        {
            "node": "t",
            "fits": {"w": 0},
            "free": {"cpu": "4", "memory": "16Gi"},
            "runsOut": [],
            "plugin": "TaintToleration",
            "code": "UnschedulableAndUnresolvable",
            "reasons": ["node(s) had untolerated taint(s)"],
        },
    ]
    assert entry["stranded"] == {
        "nodes": 1,
        "free": {"cpu": "1", "memory": "16Gi"},
        "allocatable": {"cpu": "4", "memory": "16Gi"},
    }
    assert entry["pending"] == {"placed": 0, "unplaced": 0, "heldBack": 0, "preempting": 0}
    assert entry["end"]["by"] == "full"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param([], ["say which pods to count: -f FILE with a pod or a workload"], id="no manifest"),
        pytest.param(["-f", CLUSTER, "--max", "0"], ["Invalid value for '--max'"], id="a bound of nothing"),
        pytest.param(
            ["-f", MANIFESTS, "--mix", "wed=3,index=0,web,web=1,web=2"],
            [
                'ksched: --mix: no manifest of -f is named "wed" (did you mean web?)',
                'ksched: --mix: "index=0" does not say how many of which manifest (--mix is written NAME=COUNT,NAME=COUNT)',
                'ksched: --mix: "web" does not say how many of which manifest',
                'ksched: --mix: "web" is given twice',
            ],
            id="every mistake of a mix",
        ),
        pytest.param(
            ["-f", SHOP],
            ["shop.yaml:31: DaemonSet shop/logs: a DaemonSet has one pod a node, however much room there is"],
            id="a DaemonSet",
        ),
        pytest.param(["-f", "-", "--from", "-"], ["cannot both read stdin"], id="stdin twice"),
    ],
)
def test_mistakes(arguments: list[str], expected: list[str], ksched: Ksched) -> None:
    captured = ksched("capacity", "--from", CLUSTER, *arguments, code=2)
    assert captured.out == ""
    assert [line for line in expected if line not in captured.err] == []
    assert "Traceback" not in captured.err


@pytest.mark.slow
def test_a_page_of_several_manifests_where_an_autoscaler_adds_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    """The map has the nodes before the counts: each count adds nodes of its own."""
    cluster = str(ROOT / "fixtures" / "clusters" / "karpenter-eks.yaml")
    manifests = str(ROOT / "fixtures" / "check" / "deploy" / "web.yaml")
    assert run(["capacity", "--from", cluster, "-f", manifests, "--max", "50", "-o", "html"]) == 0
    assert "that Karpenter adds" in capsys.readouterr().out


def test_manifests_without_pods_are_nothing_to_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = write_list(tmp_path / "m.json", make_node("x").doc())
    assert run(["capacity", "--from", CLUSTER, "-f", manifest]) == 2
    assert "there is no pod and no workload to count" in capsys.readouterr().err


def test_same_names_are_told_apart_by_kind(tmp_path: Path, ksched: Ksched) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    replica_set = make_object("ReplicaSet", "web", {"selector": {"matchLabels": {"a": "b"}}, "template": template})
    manifest = write_list(tmp_path / "m.json", make_pod("web").requests(cpu="1").doc(), replica_set)
    cluster = write_list(tmp_path / "c.json", NODE)
    base = ["capacity", "--from", cluster, "-f", manifest, "--max", "6", "-o", "name", "--mix"]
    assert ksched(*base, "pod/web=1,replicaset/web=2", code=0).out == "pod/web\t2\nreplicaset/web\t4\n"
    assert "did you mean pod/web?" in ksched(*base, "web=1", code=2).err
    other = make_pod("web", "blue").requests(cpu="1").doc()
    write_list(tmp_path / "m.json", make_pod("web").requests(cpu="1").doc(), other)
    assert ksched(*base, "blue/pod/web=1", code=0).out == "blue/pod/web\t4\n"
    assert '--mix: "pod/web" may be default/pod/web or blue/pod/web' in ksched(*base, "pod/web=1", code=2).err
