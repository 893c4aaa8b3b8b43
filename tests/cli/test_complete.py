"""`ksched __complete`: what may come next, names of the dump included."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ksched_cli.cli.main import run
from tests.builders import make_node, make_pod, write_list
from tests.cli.transcripts import ROOT

DUMP = str(ROOT / "fixtures" / "clusters" / "drain.yaml")
NODES = ["east-1", "east-2", "west-1", "west-2"]
EKS = ["--from", str(ROOT / "fixtures" / "clusters" / "eks.yaml")]
SMALL = ["--from", str(ROOT / "fixtures" / "clusters" / "fleet.yaml")]
WEB = [f"web-7c9d-{each * 5}" for each in "abc"]
SCRIPT = ROOT / "completions" / "kubectl_complete-ksched"


def offered(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[list[str], str]:
    assert run(["__complete", *words]) == 0
    captured = capsys.readouterr()
    *candidates, directive = captured.out.splitlines()
    assert captured.err == ""
    return [each.partition("\t")[0] for each in candidates], directive


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "candidates", "directive"),
    [
        pytest.param(["simu"], ["simulate"], ":4", id="a command"),
        pytest.param(["config", "v"], ["view", "validate"], ":4", id="a subcommand"),
        pytest.param(["config", ""], ["view", "validate", "migrate", "schema"], ":4", id="all subcommands"),
        pytest.param(["simulate", "--tie-"], ["--tie-break"], ":4", id="an option"),
        pytest.param(["simulate", "--tie-break", ""], ["name", "random"], ":4", id="its values"),
        pytest.param(["simulate", "--tie-break=r"], ["--tie-break=random"], ":4", id="its value after an equals sign"),
        pytest.param(["simulate", "--from", "x"], [], ":0", id="files"),
        pytest.param(["completion", "z"], ["zsh"], ":4", id="an argument"),
        pytest.param(["drain", "--from", DUMP, ""], NODES, ":4", id="nodes"),
        pytest.param(["drain", "--from", DUMP, "w"], NODES[2:], ":4", id="nodes that begin so"),
        pytest.param(["drain", "east-1", f"--from={DUMP}", "w"], NODES[2:], ":4", id="one more node"),
        pytest.param(["drain", "--from", DUMP, "--each", ""], ["node", "zone"], ":4", id="not where a value is due"),
        pytest.param(["simulate", "--from", DUMP, "--cordon", "e"], NODES[:2], ":4", id="a node for an option"),
        pytest.param(["simulate", "--from", DUMP, "--taint", "e"], NODES[:2], ":4", id="a node that more follows"),
        pytest.param(["simulate", "--from", DUMP, "-n", ""], ["kube-system", "shop"], ":4", id="namespaces"),
        pytest.param(["simulate", "--from", DUMP, "--namespace=s"], ["--namespace=shop"], ":4", id="a namespace, long"),
        pytest.param(["drain", ""], [], ":4", id="no dump, no names"),
        pytest.param(["drain", "--from", "nowhere.yaml", ""], [], ":4", id="a dump that is not there"),
        pytest.param(["drain", "--from", "-", ""], [], ":4", id="stdin is not read"),
        pytest.param(["drain", "--from", "live", ""], [], ":4", id="no cluster is asked"),
        pytest.param(["simulate", "--seed", ""], [], ":4", id="no files for a number"),
        pytest.param(["check", ""], [], ":0", id="files for manifests"),
        pytest.param(["simulate", "--kube-version", "1.36"], ["1.36"], ":4", id="a minor"),
        pytest.param(
            ["simulate", *EKS, "--scale", "deployment/w"], ["deployment/web="], ":6", id="a workload to scale"
        ),
        pytest.param(["simulate", *EKS, "--delete", "statefulset/"], ["statefulset/db"], ":4", id="a workload"),
        pytest.param(["explain", *EKS, "fraud"], ["fraud-scan"], ":4", id="a pod without its namespace"),
        pytest.param(["explain", *EKS, "shop/fraud"], ["shop/fraud-scan"], ":4", id="a pod with its namespace"),
        pytest.param(["explain", *EKS, "deployment/check"], ["deployment/checkout"], ":4", id="a workload to explain"),
        pytest.param(["explain", *EKS, "-n", "data", "db-"], ["db-0", "db-1", "db-2"], ":4", id="pods of -n"),
        pytest.param(
            ["explain", *EKS, "-n", "data", "-n", "shop", "deployment/"],
            ["deployment/api", "deployment/cart", "deployment/checkout", "deployment/search", "deployment/web"],
            ":4",
            id="workloads of the last -n",
        ),
        pytest.param(["simulate", "--hel"], ["--helm", "--help"], ":4", id="the option of the help"),
        pytest.param(["simulate", "-h"], ["-h"], ":4", id="its short form"),
        pytest.param(
            ["explain", *SMALL, ""],
            [
                "infra/logs-east1",
                "infra/logs-east2",
                "infra/logs-west1",
                "shop/debug",
                *(f"shop/{each}" for each in WEB),
                "deployment/web",
                "daemonset/logs",
            ],
            ":4",
            id="pods with their namespaces, and workloads",
        ),
        pytest.param(["explain", *SMALL, "web"], WEB, ":4", id="pods where no namespace begins so"),
        pytest.param(["help", "edi"], ["edits"], ":4", id="a page"),
        pytest.param([], None, ":4", id="nothing typed at all"),
        pytest.param(["--typing=", "drain", "--from", DUMP], NODES, ":4", id="an empty word that a shell would drop"),
        pytest.param(["--typing=e", "drain", "--from", DUMP], NODES[:2], ":4", id="the last word first"),
    ],
)
def test_what_is_offered(
    words: list[str], candidates: list[str] | None, directive: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found, told = offered(capsys, *words)
    assert told == directive
    if candidates is None:
        assert {"simulate", "drain", "capacity"} <= set(found)
    else:
        assert found == candidates


def test_options_and_commands_have_descriptions(capsys: pytest.CaptureFixture[str]) -> None:
    run(["__complete", "simulate", "--exit"])
    assert capsys.readouterr().out == "--exit-zero\tExit with 0 although some pod does not fit\n:4\n"
    run(["__complete", "simul"])
    assert capsys.readouterr().out == "simulate\tPlace every pending pod and show why\n:4\n"


def test_a_value_has_the_description_of_its_option(capsys: pytest.CaptureFixture[str]) -> None:
    run(["__complete", "simulate", "--tie-break=r"])
    assert capsys.readouterr().out == "--tie-break=random\tWhich of several best nodes is taken\n:4\n"


def test_a_pod_that_is_called_like_a_namespace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names without namespaces are offered where no namespace begins with what is typed."""
    dump = write_list(tmp_path / "c.json", make_pod("web", "shop").doc(), make_pod("shop-1", "data").doc())
    assert offered(capsys, "explain", "--from", dump, "shop") == (["shop/web"], ":4")
    assert offered(capsys, "explain", "--from", dump, "shop-") == (["shop-1"], ":4")


def test_a_lone_dash_offers_whole_names(capsys: pytest.CaptureFixture[str]) -> None:
    found, _ = offered(capsys, "simulate", "-")
    assert "--scenario" in found
    assert [name for name in found if not name.startswith("--")] == []


@pytest.mark.parametrize("form", ["json", "gz", "directory", "snapshot"])
def test_every_kind_of_dump(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = tmp_path / "c.json"
    write_list(plain, make_node("n2").doc(), make_node("n1").doc(), make_pod("p", "dev").doc())
    given = tmp_path / "d" if form == "directory" else tmp_path / f"given.{form}"
    if form == "directory":
        given.mkdir()
        (given / "a.json").write_text(plain.read_text())
    elif form == "gz":
        given.write_bytes(gzip.compress(plain.read_bytes()))
    elif form == "snapshot":
        assert run(["snapshot", "--from", str(plain), "-o", str(given)]) == 0
        capsys.readouterr()
    else:
        given = plain
    assert offered(capsys, "drain", "--from", str(given), "") == (["n1", "n2"], ":4")


def test_a_broken_dump_is_no_matter_while_one_types(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, text in enumerate(("{", "a: [", "\x00", "[]", "x", '{"items": 3}', "kind: [1]\n---\n3")):
        (tmp_path / f"{number}.yaml").write_text(text)
        assert offered(capsys, "drain", "--from", str(tmp_path / f"{number}.yaml"), "")[0] == []


@pytest.mark.slow
def test_kubectl_gets_the_same(tmp_path: Path) -> None:
    """kubectl runs `kubectl_complete-ksched` from the PATH with the words, the last of them maybe empty."""
    program = tmp_path / "kubectl-ksched"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m ksched_cli "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    words = ["drain", "--from", DUMP, "east"]
    done = subprocess.run([SCRIPT, *words], capture_output=True, text=True, check=True, env=environment, cwd=ROOT)
    assert done.stdout == "east-1\neast-2\n:4\n"
    assert os.access(SCRIPT, os.X_OK)
