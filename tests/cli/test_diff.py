"""`ksched diff` as a person meets it."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
import yaml

from ksched_cli.cli.main import run
from tests.builders import make_configuration, make_node, make_pod, write_list
from tests.cli.transcripts import DEMO, FLEET, ROOT, same_as_golden
from tests.lanes import sampled
from tests.running import Ksched

SHOP = str(ROOT / "fixtures" / "manifests" / "shop.yaml")
CORPUS = ROOT / "fixtures" / "conformance" / "1.36"
MIXED, DEVICES = (str(CORPUS / case / "cluster.json") for case in ("mixed-01", "dra-00"))
UPGRADE = ["--kube-version", "1.33", "--to-kube-version", "1.34"]
SCENARIO = str(ROOT / "fixtures" / "scenarios" / "lose-east-2.yaml")


@pytest.mark.parametrize(
    ("name", "code", "arguments"),
    sampled([
        pytest.param(
            "diff", 0, ["--from", FLEET, *["--drain", "east-2", "--clone-node", "west-1", "--scale", "deploy/web=5"]], id="edits"
        ),
        pytest.param("diff-failing", 1, ["--from", FLEET, *["--drain", "east-1", "--drain", "east-2"]], id="worse off"),
        pytest.param("diff-filename", 1, ["--from", DEMO, "-f", SHOP], id="manifests"),
        pytest.param("diff-none", 0, ["--from", DEMO, "--kube-version", "1.35", "--to-kube-version", "1.36"], id="no change"),
        pytest.param("diff-markdown", 0, ["--from", FLEET, "--drain", "east-2", "-o", "markdown"], id="markdown"),
        pytest.param("diff-upgrade", 1, ["--from", MIXED, "--kube-version", "1.21", "--to-kube-version", "1.28"], id="upgrade"),
        pytest.param("diff-upgrade-wide", 1, ["--from", DEVICES, *UPGRADE, "-o", "wide"], id="upgrade, wide"),
        pytest.param("diff-upgrade-markdown", 1, ["--from", DEVICES, *UPGRADE, "-o", "markdown"], id="upgrade, markdown"),
        pytest.param("diff-help", 0, ["--help"], id="help"),
    ], 4),
)  # fmt: skip
def test_transcript(name: str, code: int, arguments: list[str], ksched: Ksched) -> None:
    shown = ksched("diff", *arguments, code=code).out
    same_as_golden(name, shown, columns=None if name.endswith("markdown") else 80)


def test_configurations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """More of the fuller node, where the default takes the emptier one."""
    small, large = make_node("small").allocatable(cpu="4", memory="4Gi", pods=9), make_node("large")
    cluster = write_list(tmp_path / "c.json", small.doc(), large.allocatable(cpu="16", memory="16Gi", pods=9).doc())
    pod = write_list(tmp_path / "p.json", make_pod("p").requests(cpu="2", memory="2Gi").doc())
    config = tmp_path / "config.yaml"
    strategy = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]}
    arguments = {"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}
    config.write_text(yaml.safe_dump(make_configuration({"pluginConfig": [arguments]})))
    line = ["diff", "--from", cluster, "-f", pod, "--to-config", str(config), "-o"]
    assert run([*line, "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["apiVersion"], document["kind"]) == ("ksched/v1", "Diff")
    (change,) = document["pods"]
    assert (change["change"], change["before"]["node"], change["after"]["node"]) == ("moved", "large", "small")
    assert {each["node"] for each in document["nodes"]} == {"large", "small"}
    assert document["total"]["after"]["requested"] == {"cpu": "2", "memory": "2Gi"}
    (decider,) = change["cause"]["deciders"]
    assert (decider["plugin"], decider["configuration"]) == ("NodeResourcesFit", True)
    assert decider["nodes"][0] == {"node": "large", "before": 87, "after": 12}
    assert document["rules"] == []
    assert run([*line, "yaml", "--expect-no-change"]) == 4
    assert {**yaml.safe_load(capsys.readouterr().out), "run": document["run"]} == document


@pytest.mark.slow
def test_an_upgrade_in_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", "--from", DEVICES, *UPGRADE, "-o", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    causes = {each["before"]["pod"]: each["cause"] for each in document["pods"]}
    (decider,) = causes["default/new-6"]["deciders"]
    assert causes["default/new-6"] == {"kind": "rule", "deciders": [decider], "alone": "node-7"}
    assert (decider["plugin"], decider["aspect"]) == ("DynamicResources", "filter")
    assert decider["nodes"] == [{"node": "node-3", "before": "fits", "after": "cannot allocate all claims"}]
    (rule,) = decider["rules"]
    assert (rule["since"], rule["gate"]) == ("1.34", "DynamicResourceAllocation")
    first, second = document["rules"][:2]
    assert (first["pods"], first["gate"], first["text"]) == (4, rule["gate"], rule["text"])
    assert first["plugins"] == ["DynamicResources"]
    assert second["pods"] == 0
    assert run(["diff", "--from", DEVICES, *UPGRADE, "-o", "yaml"]) == 1
    assert {**yaml.safe_load(capsys.readouterr().out), "run": document["run"]} == document


def test_no_rules_where_clusters_differ(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", "--from", FLEET, "--to", MIXED, "--to-kube-version", "1.28", "-o", "json", "--exit-zero"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert "rules" not in document
    assert {"cause" in each for each in document["pods"]} == {False}


def test_manifests_on_both_sides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = write_list(tmp_path / "c.json", make_node("n").doc())
    files = [write_list(tmp_path / f"{cpu}.json", make_pod("p").requests(cpu=cpu).doc()) for cpu in ("1", "9")]
    assert run(["diff", "--from", cluster, "-f", files[0], "--to-filename", files[1], "-o", "json"]) == 1
    (change,) = json.loads(capsys.readouterr().out)["pods"]
    assert (change["change"], change["after"]["state"]) == ("newlyFailing", "unschedulable")
    assert run(["diff", "--from", cluster, "-f", files[0], "--to-filename", files[1], "--exit-zero"]) == 0


def test_pods_of_nodes_that_a_later_dump_lacks(tmp_path: Path, ksched: Ksched) -> None:
    """A dump that was taken while nodes were lost has their pods still, and each node of them told once."""
    nodes = [make_node(f"n{index}").doc() for index in range(8)]
    pods = [make_pod(f"web-{index}").owner("ReplicaSet", "web").on(f"n{index % 8}").doc() for index in range(48)]
    before = write_list(tmp_path / "before.json", *nodes, *pods)
    after = write_list(tmp_path / "after.json", *nodes[:1], *pods)
    shown = ksched("diff", "--from", before, "--to", after, code=1).out
    assert shown.startswith("48 pods: 42 newly failing, 6 as before\n")
    (row,) = (" ".join(line.split()) for line in shown.splitlines() if "newly failing" in line and "pods of" in line)
    assert row == "42 pods of replicaset/default/web newly failing n1 and 6 more node gone"


def test_manifests_from_stdin_are_on_both_sides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = write_list(tmp_path / "c.json", make_node("n").doc())
    piped = json.dumps(make_pod("p").doc()).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(piped)))
    assert run(["diff", "--from", cluster, "-f", "-", "--to-kube-version", "1.35"]) == 0
    assert capsys.readouterr().out.startswith("1 pod: none moves, 1 as before\n")


def test_a_scenario_is_a_change_too(ksched: Ksched) -> None:
    assert "expectation" not in ksched("diff", "--from", FLEET, "--scenario", SCENARIO, code=4).out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(["--from", FLEET], "there is nothing to compare with: give a change, such as --drain NODE", id="nothing given"),
        pytest.param(["--from", FLEET, "--to", "nowhere.json"], "nowhere.json: no such file or directory", id="no such file"),
        pytest.param(["--from", FLEET, "--drain", "x"], '--drain x: there is no node "x"', id="bad edit"),
        pytest.param(["--from", "-", "--to", "-"], "--from - and --to -: stdin can be read once", id="stdin twice"),
        pytest.param(["--from", FLEET, "--to-config", "no.yaml"], "no.yaml: No such file", id="no such configuration"),
        pytest.param(["--from", FLEET, "--to-kube-version", "2"], "2", id="no version"),
    ],
)  # fmt: skip
def test_mistakes(arguments: list[str], expected: str, ksched: Ksched) -> None:
    captured = ksched("diff", *arguments, code=2)
    assert captured.out == ""
    assert expected in captured.err
    assert "Traceback" not in captured.err
