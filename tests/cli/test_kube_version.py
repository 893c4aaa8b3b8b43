"""--kube-version on the commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ksched_cli.cli.main import run
from ksched_cli.releases import DEFAULT_VERSION, NEWEST_VERSION
from ksched_cli.sources.dump import load_dump
from ksched_cli.sources.own_documents import write_snapshot
from tests.builders import make_node, make_pod, write_list
from tests.cli.transcripts import CASE
from tests.lanes import sampled
from tests.running import Ksched

CLUSTER = str(CASE)


def taken(path: Path, server_version: str) -> str:
    loaded = load_dump([CLUSTER])
    loaded.server_version = server_version
    path.write_bytes(write_snapshot(loaded, "1970-01-01T00:00:00Z"))
    return str(path)


def test_the_snapshot_tells_the_version_and_the_user_may_differ(tmp_path: Path, ksched: Ksched) -> None:
    snapshot = taken(tmp_path / "c.ksched.gz", "v1.35.6")
    found = {}
    for version in ("auto", "1.35", "1.36"):
        found[version] = json.loads(ksched("simulate", "--from", snapshot, "--kube-version", version, "-o", "json").out)
    assert [found[version]["coverage"]["kubeVersion"] for version in found] == ["1.35", "1.35", "1.36"]
    assert found["auto"]["pods"] == found["1.35"]["pods"] != found["1.36"]["pods"]


def test_a_version_that_is_not_modelled_is_no_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--from", CLUSTER, "--kube-version", "1.77"]) == 2
    assert "--kube-version 1.77: this minor is not modelled" in capsys.readouterr().err


def test_a_cluster_whose_version_is_not_modelled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = taken(tmp_path / "c.ksched.gz", "v1.77.0")
    assert run(["simulate", "--from", cluster, "--exit-zero"]) == 0
    shown = capsys.readouterr()
    assert f"warning: Kubernetes v1.77.0 is not modelled; the answers are those of {NEWEST_VERSION}" in shown.err
    assert "not taken into account: what is different in Kubernetes v1.77.0" in shown.out
    assert run(["simulate", "--from", cluster, "-o", "json", "--fail-on", "warning"]) == 1
    coverage = json.loads(capsys.readouterr().out)["coverage"]
    assert (coverage["kubeVersion"], coverage["kubeVersionNotModelled"]) == (NEWEST_VERSION, "v1.77.0")


def test_the_table_says_which_minor_answered(ksched: Ksched) -> None:
    assert "(6 nodes, Kubernetes 1.35)" in " ".join(ksched("demo", "--kube-version", "1.35").out.split())
    assert "(6 nodes)" in ksched("demo", "--kube-version", DEFAULT_VERSION).out


@pytest.mark.parametrize(
    "command",
    [
        ["simulate", "--from", CLUSTER],
        ["config", "view"],
        ["config", "schema"],
        ["plugins"],
        ["demo"],
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_what_is_no_version(command: list[str], ksched: Ksched) -> None:
    shown = ksched(*command, "--kube-version", "newest", code=2)
    assert "--kube-version newest: write it as 1.36, or auto" in shown.err
    assert shown.out == ""


def test_gates_are_those_of_the_minor(capsys: pytest.CaptureFixture[str]) -> None:
    gate = ["--feature-gates", "TopologyAwareWorkloadScheduling=true"]
    assert run(["simulate", "--from", CLUSTER, "--kube-version", "1.35", *gate]) == 2
    assert "1.35 has no feature gate TopologyAwareWorkloadScheduling" in capsys.readouterr().err


def test_a_configuration_version_that_the_minor_does_not_read(tmp_path: Path, ksched: Ksched) -> None:
    config = tmp_path / "old.yaml"
    config.write_text("apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n")
    shown = ksched("config", "validate", str(config), "--kube-version", "1.35", code=2).err
    assert (
        f"{config}:1: apiVersion: Kubernetes 1.35 does not read apiVersion kubescheduler.config.k8s.io/v1beta3" in shown
    )
    assert "use kubescheduler.config.k8s.io/v1" in shown


def test_plugins_are_those_of_the_minor(capsys: pytest.CaptureFixture[str]) -> None:
    shown = {}
    for version in ("1.35", "1.36"):
        assert run(["plugins", "-o", "json", "--kube-version", version]) == 0
        shown[version] = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    assert shown["1.36"]["NodeDeclaredFeatures"]["default"] is True
    assert shown["1.35"]["NodeDeclaredFeatures"]["default"] is False
    assert "PodGroupPodsCount" in shown["1.36"]
    assert "PodGroupPodsCount" not in shown["1.35"]


def test_an_answer_by_sources_alone_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    run(["demo", "--kube-version", "1.22"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "the rules of Kubernetes 1.22 are read from its source, not held against recordings" in shown
    run(["demo", "--kube-version", "1.22", "-o", "json"])
    assert json.loads(capsys.readouterr().out)["coverage"]["kubeVersionReadFromSource"] == "1.22"
    run(["demo", "--kube-version", "1.28", "-o", "json"])
    assert "kubeVersionReadFromSource" not in json.loads(capsys.readouterr().out)["coverage"]


def test_a_configuration_of_a_later_version(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """kube-scheduler would not start with it; to compare minors it is restated, and that is said."""
    config = tmp_path / "new.yaml"
    config.write_text("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n")
    said = "Kubernetes 1.21 does not read apiVersion kubescheduler.config.k8s.io/v1"
    assert run(["simulate", "--from", CLUSTER, "--config", str(config), "--kube-version", "1.21", "--exit-zero"]) == 0
    assert f"warning: {said}; it is taken for what v1beta1 would say" in capsys.readouterr().err
    assert run(["config", "validate", str(config), "--kube-version", "1.21"]) == 2
    shown = capsys.readouterr().err
    assert f"apiVersion: {said} (use kubescheduler.config.k8s.io/v1beta1)" in shown
    assert "warning" not in shown


def test_gone_plugins_are_shown_where_they_were(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plugins", "NodePreferAvoidPods", "-o", "json", "--kube-version", "1.21"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["default"], found["weight"], found["extensionPoints"]) == (True, 10000, ["score"])
    assert run(["plugins", "NodePreferAvoidPods", "--kube-version", "1.28"]) == 2
    assert "no plugin is named NodePreferAvoidPods" in capsys.readouterr().err


@pytest.mark.parametrize("version", sampled((f"1.{minor}" for minor in range(21, 37)), 5))
def test_every_minor_answers(version: str, ksched: Ksched) -> None:
    document = json.loads(ksched("demo", "--kube-version", version, "-o", "json", code=0).out)
    assert document["coverage"]["kubeVersion"] == version
    assert {"pluginsNotModelled", "kubeVersionNotModelled"}.isdisjoint(document["coverage"])
    assert {pod["result"] for pod in document["pods"]} <= {"scheduled", "unschedulable"}


@pytest.mark.parametrize(
    ("version", "one"),
    [
        pytest.param("1.22", "2 have taint a=x", id="1.22"),
        pytest.param("1.28", "2 have taint a=x", id="1.28"),
        pytest.param("1.36", "2 are tainted", id="1.36"),
    ],
)
def test_nodes_with_several_taints_are_counted_together(
    version: str, one: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table names the taint of an old minor if there is one."""
    nodes = [make_node(f"{taint}{number}").taint(taint, "x") for taint in "ab" for number in range(2)]
    tolerant = [{"key": "b", "operator": "Exists"}]
    pods = [make_pod(f"p{number}").spec(tolerations=tolerant if number else []) for number in range(4)]
    asked = [each.requests(cpu="900") if number else each for number, each in enumerate(pods)]
    source = write_list(tmp_path / "cluster.json", *nodes, *asked)
    assert run(["simulate", "--from", source, "--kube-version", version]) == 1
    first, second, *_ = " ".join(capsys.readouterr().out.split()).split("default/")[1:]
    assert first.endswith("0/4 4 nodes are tainted ")
    assert one in second
