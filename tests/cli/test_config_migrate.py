"""`ksched config migrate` as a person runs it."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from ksched_cli.cli.main import run
from ksched_cli.releases import DEFAULT_VERSION
from tests.cli.transcripts import same_as_golden
from tests.running import Ksched

PACKED = """\
apiVersion: kubescheduler.config.k8s.io/v1beta1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: true
clientConnection:
  kubeconfig: /etc/kubernetes/scheduler.conf
healthzBindAddress: 0.0.0.0:10251
profiles:
- schedulerName: bin-packing
  plugins:
    score:
      disabled:
      - name: NodeResourcesLeastAllocated
      enabled:
      - name: NodeResourcesMostAllocated
        weight: 5
  pluginConfig:
  - name: NodeResourcesMostAllocated
    args:
      resources:
      - {name: cpu, weight: 1}
      - {name: memory, weight: 2}
"""
POLICY = """\
{"kind": "Policy", "apiVersion": "v1",
 "predicates": [
  {"name": "GeneralPredicates"},
  {"name": "NoDiskConflict"},
  {"name": "OnlySsd", "argument": {"labelsPresence": {"labels": ["ssd"], "presence": true}}}
 ],
 "priorities": [
  {"name": "LeastRequestedPriority", "weight": 1},
  {"name": "BalancedResourceAllocation", "weight": 1},
  {"name": "OverRacks", "weight": 3, "argument": {"serviceAntiAffinity": {"label": "rack"}}}
 ],
 "extenders": [{"urlPrefix": "http://127.0.0.1:8888", "filterVerb": "filter", "httpTimeout": 2500000000}],
 "alwaysCheckAllPredicates": true}
"""
V1BETA3 = "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n"


@pytest.fixture(autouse=True)
def _in_a_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("file", "text"), [("scheduler.yaml", PACKED), ("policy.cfg", POLICY)], ids=["configuration", "policy"]
)
def test_what_is_written_and_told(file: str, text: str, ksched: Ksched) -> None:
    Path(file).write_text(text)
    shown = ksched("config", "migrate", file, code=1)
    same_as_golden(f"migrate-{Path(file).stem}", f"{shown.out}---\n{shown.err}", columns=None)
    Path("v1.yaml").write_text(shown.out)
    assert run(["config", "validate", "v1.yaml", "--kube-version", "1.36"]) == 0
    assert ksched("config", "migrate", "v1.yaml", code=0).out.endswith(shown.out)


def test_notes_alone_are_no_failure(ksched: Ksched) -> None:
    Path("c.yaml").write_text(V1BETA3)
    shown = ksched("config", "migrate", "c.yaml", "--to", "v1", "-o", "json", code=0)
    assert json.loads(shown.out) == {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
    }
    assert all(line.startswith("ksched: note: c.yaml: ") for line in shown.err.splitlines())


def test_from_stdin(monkeypatch: pytest.MonkeyPatch, ksched: Ksched) -> None:
    inside = {"kind": "ConfigMap", "apiVersion": "v1", "data": {"policy.cfg": POLICY}}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(yaml.safe_dump(inside).encode())))
    shown = ksched("config", "migrate", "-", code=1)
    assert yaml.safe_load(shown.out)["extenders"][0]["httpTimeout"] == "2.5s"
    assert "ksched: warning: stdin:" in shown.err


def test_by_another_minor(capsys: pytest.CaptureFixture[str]) -> None:
    Path("c.yaml").write_text(V1BETA3)
    assert run(["config", "migrate", "c.yaml", "--kube-version", "1.25"]) == 0
    assert (
        "not in Kubernetes 1.25: DynamicResources, NodeDeclaredFeatures and SchedulingGates" in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("arguments", "text", "said"),
    [
        pytest.param(["--to", "v1beta3"], V1BETA3, "--to v1beta3: there is v1", id="another version"),
        pytest.param(["-o", "wide"], V1BETA3, "'wide' is not one of 'json', 'yaml'", id="another output"),
        pytest.param([], "parallelism: 1", "c.yaml:1: kind: expected kind KubeSchedulerConfiguration", id="no kind"),
        pytest.param(
            [],
            V1BETA3.replace("v1beta3", "v2"),
            f"c.yaml:1: apiVersion: Kubernetes {DEFAULT_VERSION} does not read apiVersion kubescheduler.config.k8s.io/v2",
            id="no such version",
        ),
        pytest.param(
            ["--kube-version", "1.21"],
            V1BETA3,
            "c.yaml: apiVersion: Kubernetes 1.21 does not read apiVersion kubescheduler.config.k8s.io/v1beta3 "
            "(the newest that does is 1.28, which is what --kube-version auto takes)",
            id="a version that the minor does not know",
        ),
        pytest.param(
            ["--kube-version", "1.29"],
            V1BETA3,
            "does not read apiVersion kubescheduler.config.k8s.io/v1beta3 (the newest that does is 1.28",
            id="a version that the minor does not read any more",
        ),
        pytest.param(
            ["--kube-version", "1.23"],
            POLICY,
            "Kubernetes 1.23 does not read a Policy (the newest that does is 1.22",
            id="a Policy",
        ),
        pytest.param(["--feature-gates", "No=true"], V1BETA3, "has no feature gate No", id="a gate"),
        pytest.param([], f"{V1BETA3}parallelism: 0\nnope: 1\n", "c.yaml:4: nope: ", id="a mistake in the file"),
        pytest.param([], "{", "broken YAML", id="broken"),
        pytest.param([], "", "empty", id="empty"),
        pytest.param([], "- 1", "expected a KubeSchedulerConfiguration", id="a list"),
    ],
)
def test_bad_input(arguments: list[str], text: str, said: str, ksched: Ksched) -> None:
    Path("c.yaml").write_text(text)
    shown = ksched("config", "migrate", "c.yaml", *arguments, code=2)
    assert (shown.out, said in shown.err) == ("", True), shown.err


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "migrate", "nowhere.yaml"]) == 2
    assert capsys.readouterr().err == "ksched: nowhere.yaml: No such file or directory\n"


def test_with_a_plugin_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    plugins: dict[str, Any] = {"multiPoint": {"enabled": [{"name": "NodeGroups", "weight": 3}]}}
    document = {**yaml.safe_load(V1BETA3), "profiles": [{"plugins": plugins}]}
    Path("c.yaml").write_text(yaml.safe_dump(document))
    assert run(["config", "migrate", "c.yaml"]) == 2
    assert 'plugin "NodeGroups" does not exist' in capsys.readouterr().err
    Path("migrated_node_groups.py").write_text(
        "from ksched_cli.framework.per_node import PerNodePlugin\n"
        "class NodeGroups(PerNodePlugin):\n"
        "    name = 'NodeGroups'\n"
        "    def score_one(self, pod, node):\n"
        "        return 1\n"
    )
    assert run(["config", "migrate", "c.yaml", "--plugin", "migrated_node_groups:NodeGroups"]) == 0
    (profile,) = yaml.safe_load(capsys.readouterr().out)["profiles"]
    assert profile["plugins"] == plugins


COSCHEDULING = """\
apiVersion: kubescheduler.config.k8s.io/v1beta3
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint: {enabled: [{name: Coscheduling}]}
    postFilter: {disabled: [{name: Coscheduling}]}
    queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: "*"}]}
    score: {enabled: [{name: LoadAware, weight: 3}]}
    filter: {enabled: [{name: LoadAware}]}
  pluginConfig:
  - name: Coscheduling
    args: {permitWaitingTimeSeconds: 10}
"""


def test_plugins_that_are_known_by_name(ksched: Ksched) -> None:
    Path("c.yaml").write_text(COSCHEDULING)
    arguments = ["config", "migrate", "c.yaml", "--plugin", "Coscheduling", "--plugin", "LoadAware"]
    (profile,) = yaml.safe_load(ksched(*arguments, code=0).out)["profiles"]
    assert profile["plugins"] == {
        "multiPoint": {"enabled": [{"name": "Coscheduling"}]},
        "queueSort": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "*"}]},
        "filter": {"enabled": [{"name": "LoadAware"}]},
        "postFilter": {"disabled": [{"name": "Coscheduling"}]},
        "score": {"enabled": [{"name": "LoadAware", "weight": 3}]},
    }
    assert profile["pluginConfig"] == [{"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": 10}}]
    assert "--plugin Nobody: the file does not name it" in ksched(*arguments, "--plugin", "Nobody", code=2).err


NEW_POINT = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    podGroupPostFilter:
      disabled:
      - name: DefaultPreemption
"""


def test_a_file_of_1_37_keeps_its_minor(ksched: Ksched) -> None:
    Path("scheduler.yaml").write_text(NEW_POINT)
    assert "podGroupPostFilter" in ksched("config", "migrate", "scheduler.yaml", "--kube-version", "1.37", code=0).out


def test_to_1_37(ksched: Ksched) -> None:
    Path("scheduler.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n"
    )
    shown = ksched("config", "migrate", "scheduler.yaml", "--to-kube-version", "1.37", code=0)
    assert "VolumeBinding scores nodes by their room for volumes in Kubernetes 1.37" in shown.err
    assert "apiVersion: kubescheduler.config.k8s.io/v1\n" in shown.out


@pytest.mark.parametrize(("by", "to"), [("1.36", "1.30"), ("1.22", "1.23")])
def test_an_earlier_target_is_refused(by: str, to: str, capsys: pytest.CaptureFixture[str]) -> None:
    version = "v1" if by == "1.36" else "v1beta1"
    Path("scheduler.yaml").write_text(
        f"apiVersion: kubescheduler.config.k8s.io/{version}\nkind: KubeSchedulerConfiguration\n"
    )
    assert run(["config", "migrate", "scheduler.yaml", "--kube-version", by, "--to-kube-version", to]) == 2
    assert f"a file of {by} migrates to v1 of that minor or a later one" in capsys.readouterr().err
