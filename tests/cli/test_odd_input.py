"""Input that once ended as "a bug in ksched"."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from tests.builders import make_node, make_object, make_pod, write_list
from tests.running import Ksched


@pytest.mark.parametrize("minor", ["1.16", "1.17", "1.18", "1.19", "1.20", "1.36"])
@pytest.mark.parametrize("version", ["v1beta1", "v1beta3", "v1"])
def test_a_strategy_that_does_not_exist(minor: str, version: str, tmp_path: Path, ksched: Ksched) -> None:
    args = {"scoringStrategy": {"type": "Spread"}}
    config = tmp_path / "config.json"
    config.write_text(
        json.dumps(
            {
                "apiVersion": f"kubescheduler.config.k8s.io/{version}",
                "kind": "KubeSchedulerConfiguration",
                "profiles": [{"pluginConfig": [{"name": "NodeResourcesFit", "args": args}]}],
            }
        )
    )
    assert "a bug" not in ksched("config", "validate", str(config), "--kube-version", minor, code=2).err


def limited(ratio: str) -> dict[str, Any]:
    limits = [{"type": "Container", "maxLimitRequestRatio": {"cpu": ratio}}]
    return make_object("LimitRange", "l", {"limits": limits}, namespace="default")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("requests", "limits"), [("1e400", None), ("1e399", None), ("1n", "1e308"), ("1n", "9" * 400), ("1e-400", "1e400")]
)
def test_amounts_beyond_all_bounds(
    requests: str, limits: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pod = make_pod("p").doc()
    resources: dict[str, Any] = {"requests": {"cpu": requests}}
    pod["spec"]["containers"] = [
        {"name": "c", "resources": resources | ({"limits": {"cpu": limits}} if limits else {})}
    ]
    cluster = write_list(tmp_path / "cluster.json", make_node("n").doc(), limited("1n"))
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    for command in (["check"], ["simulate"], ["capacity", "--max", "3"], ["explain"]):
        manifest = (
            write_list(tmp_path / "pod.json", namespace, pod)
            if command == ["check"]
            else write_list(tmp_path / "p.json", pod)
        )
        assert run([*command, "--from", cluster, "-f", manifest]) in (0, 1, 2)
        assert "a bug" not in capsys.readouterr().err


def test_two_pods_with_one_uid(tmp_path: Path, ksched: Ksched) -> None:
    pods = [make_pod(name).on("n").phase("Running").doc() for name in ("a", "b")]
    for pod in pods:
        pod["metadata"]["uid"] = "u"
    cluster = write_list(tmp_path / "cluster.json", make_node("n").doc(), *pods)
    for command in ("verify", "simulate"):
        assert "Pod default/b has the uid of Pod default/a: u" in ksched(command, "--from", cluster, code=2).err


def test_links_of_a_directory_are_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As kubectl does: to files, not to folders."""
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    write_list(outside / "linked.json", make_node("linked").doc())
    write_list(outside / "other.json", make_node("other").doc())
    write_list(inside / "cluster.json", make_node("n").doc(), make_pod("p").doc())
    (inside / "link.json").symlink_to("../out/linked.json")
    (inside / "folder").symlink_to(outside)
    (inside / "..data").mkdir()
    write_list(inside / "..data" / "mounted.json", make_node("mounted").doc())
    (inside / "mounted.json").symlink_to("..data/mounted.json")
    for recursive in ([], ["-R"]):
        assert run(["simulate", "--from", str(inside), *recursive, "-o", "json", "--detail", "full"]) == 0
        assert json.loads(capsys.readouterr().out)["stats"]["nodes"] == 3


@pytest.mark.parametrize(
    ("odd", "problem"),
    [("link", "no such file or directory"), ("pipe", "pipes, sockets and devices are not read")],
)
def test_what_cannot_be_read_in_a_directory_is_a_finding(
    odd: str, problem: str, tmp_path: Path, ksched: Ksched
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    cluster = write_list(tmp_path / "c.json", make_node("n").doc())
    write_list(folder / "p.json", make_pod("p").doc())
    if odd == "link":
        (folder / "odd.yaml").symlink_to(tmp_path / "nothing.yaml")
    else:
        os.mkfifo(folder / "odd.yaml")
    assert problem in ksched("simulate", "--from", str(folder), code=2).err
    found = json.loads(ksched("check", "--from", cluster, "-f", str(folder), "-o", "json", code=2).out)["findings"]
    assert [(each["code"], each["file"]) for each in found] == [("KS001", str(folder / "odd.yaml"))]


@pytest.mark.parametrize("path", ["spec.priority", "status.images", "value"])
def test_whole_numbers_that_no_go_type_holds(path: str, tmp_path: Path, ksched: Ksched) -> None:
    pod, node = make_pod("p").doc(), make_node("n").doc()
    priority = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "c"}, "value": 1}
    if path == "spec.priority":
        pod["spec"]["priority"] = 2**31
    elif path == "value":
        priority["value"] = -(2**31) - 1
    else:
        node["status"]["images"] = [{"names": ["x:1"], "sizeBytes": 2**63}]
    said = ksched("simulate", "--from", write_list(tmp_path / "c.json", pod, node, priority), code=2).err
    assert path in said
    assert "is out of range: it takes more than" in said


def test_commands_to_copy_are_quoted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node, pod = make_node("n$(id)").cordoned().doc(), make_pod("p;id").requests(cpu="1m").doc()
    assert run(["explain", "p;id", "--from", write_list(tmp_path / "c.json", node, pod), "-o", "json"]) == 1
    fixes = json.loads(capsys.readouterr().out)
    shown = json.dumps(fixes)
    assert "kubectl uncordon 'n$(id)'" in shown
    assert "kubectl uncordon n$(id)" not in shown
    assert " pod/p;id" not in shown
