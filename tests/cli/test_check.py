"""`check` and `explain-code` as a person and as CI run them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from tests.builders import make_node, make_object, make_pod, make_workload, write_list
from tests.cli.inputs import autoscaler
from tests.cli.transcripts import ROOT, same_as_golden
from tests.running import Ksched

CLUSTER, DEPLOY = "fixtures/check/cluster.yaml", "fixtures/check/deploy"
NODE, FITS = make_node("n").doc(), make_pod("p").doc()
TOO_LARGE = make_pod("large").requests(cpu="9").doc()
SETTINGS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "b"}}
POD_TEMPLATE = make_object("PodTemplate", "t", template={"spec": TOO_LARGE["spec"]})
HIGH = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 10}
PREEMPTS = make_pod("important").requests(cpu="4").spec(priorityClassName="high").doc()
FILLER = make_pod("filler").requests(cpu="4").priority(0).on("n").doc()


@pytest.fixture(autouse=True)
def _no_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)


def owned(name: str) -> dict[str, object]:
    pod = make_pod(name).label(app="low").requests(cpu="2").priority(0).on("n").phase("Running")
    return pod.owner("ReplicaSet", "low", uid="u").status(conditions=[{"type": "Ready", "status": "True"}]).doc()


@pytest.mark.parametrize(
    ("allowed", "against"),
    [
        pytest.param(None, "", id="no budget"),
        pytest.param(2, "", id="the budget allows it"),
        pytest.param(1, " against PodDisruptionBudget default/low", id="the budget allows one of them"),
    ],
)
def test_the_first_lines_tell_who_pays_and_against_which_budget(
    allowed: int | None, against: str, tmp_path: Path, ksched: Ksched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "low", "namespace": "default"},
        "spec": {"maxUnavailable": allowed, "selector": {"matchLabels": {"app": "low"}}},
        "status": {"disruptionsAllowed": allowed, "currentHealthy": 2, "desiredHealthy": 2, "expectedPods": 2},
    }
    objects = [NODE, HIGH, owned("low-1"), owned("low-2"), *([budget] if allowed else [])]
    arguments = ["--from", write_list(tmp_path / "c.json", *objects), "-f", write_list(tmp_path / "m.json", PREEMPTS)]
    lines = ksched("check", *arguments, code=0).out.splitlines()
    sentence = f"ReplicaSet default/low: 2 evicted{against}, 2 Pending in the end"
    assert lines[0] == "1 workload: fits, 1 warning, 2 pods evicted of ReplicaSet default/low (1 node)"
    assert lines[1] == f"fits only by evicting running pods: {sentence}"
    (loss,) = json.loads(ksched("check", *arguments, "-o", "json").out)["losses"]
    assert loss.get("budgets", []) == (["default/low"] if against else [])


def without_times(text: str) -> str:
    """Times, memory and the version differ from run to run."""
    text = re.sub(r'("command": "[^"\n]*",\n +"version": )"[^"]*"(,\n +"time": )"[^"]*"', r'\1""\2""', text)
    return re.sub(r'("(?:loadSeconds|scheduleSeconds|peakMiB)": |time=")[\d.]+', r"\g<1>0", text)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        pytest.param("check", ["check"], 1, id="table"),
        pytest.param("check-wide", ["check", "-o", "wide"], 1, id="wide"),
        pytest.param("check-json", ["check", "-o", "json"], 1, id="json"),
    ],
)
def test_transcript(name: str, arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*arguments, "--from", CLUSTER, "-f", DEPLOY]) == code
    same_as_golden(
        name, without_times(capsys.readouterr().out), columns=80 if name in ("check", "check-wide") else None
    )


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        pytest.param("check-help", ["check", "--help"], id="help of check"),
        pytest.param("explain-code", ["explain-code", "KS401", "untolerated-taint"], id="two codes"),
        pytest.param("explain-code-all", ["explain-code"], id="all codes"),
        pytest.param("explain-code-help", ["explain-code", "--help"], id="help of explain-code"),
    ],
)
def test_transcript_without_a_cluster(name: str, arguments: list[str], ksched: Ksched) -> None:
    same_as_golden(name, ksched(*arguments, code=0).out)


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        pytest.param("KS199", "did you mean KS201 or KS202?", id="near numbers"),
        pytest.param("KS174", "did you mean KS164?", id="ten away"),
        pytest.param("KS175", "`ksched explain-code` lists them all", id="eleven away"),
        pytest.param("KS118x", "did you mean KS118?", id="a letter too many"),
        pytest.param("taint-untolerated", "did you mean untolerated-taint or not-rendered or claim-not-found?", id="words"),
        pytest.param("zzz", "`ksched explain-code` lists them all", id="nothing near"),
    ],
)  # fmt: skip
def test_a_hint_at_the_code_that_may_be_meant(code: str, hint: str, ksched: Ksched) -> None:
    shown = " ".join(ksched("explain-code", "KS101", code, code=2).err.split())
    assert shown == f"ksched: there is no code {code} ({hint})"


@pytest.mark.parametrize(
    ("items", "options", "code"),
    [
        pytest.param([FITS], [], 0, id="everything fits"),
        pytest.param([FITS, TOO_LARGE], [], 1, id="something does not"),
        pytest.param([POD_TEMPLATE], [], 1, id="the pod of a PodTemplate does not"),
        pytest.param([TOO_LARGE], ["--exit-zero"], 0, id="told to say zero"),
        pytest.param([HIGH, PREEMPTS], [], 0, id="preemption is a warning"),
        pytest.param([HIGH, PREEMPTS], ["--fail-on", "preemption"], 1, id="which may count"),
        pytest.param([HIGH, PREEMPTS], ["--fail-on", "warning"], 1, id="as any warning may"),
        pytest.param([FITS], ["--fail-on", "warning", "--fail-on", "preemption"], 0, id="none there"),
        pytest.param([make_pod("held").gate("x").doc()], ["--fail-on", "warning"], 0, id="a gate is a note"),
        pytest.param([TOO_LARGE], ["--clone-node", "n=2"], 1, id="an edit that does not help"),
        pytest.param([TOO_LARGE], ["--add-node", "cpu=16,memory=4Gi"], 0, id="an edit that does"),
        pytest.param([make_workload("Deployment", "web", replicas=1)], ["--scale", "deployment/web=999"], 1, id="too many replicas"),
        pytest.param([make_workload("Deployment", "web", replicas=999)], ["--scale", "deployment/web=1"], 0, id="fewer replicas"),
        pytest.param([HIGH], [], 0, id="a change of policy only"),
        pytest.param([SETTINGS], [], 2, id="nothing to place"),
        pytest.param([SETTINGS], ["--allow-empty"], 0, id="nothing to place, and that is meant"),
    ],
)  # fmt: skip
def test_exit_codes(items: list[object], options: list[str], code: int, tmp_path: Path) -> None:
    running = [FILLER] if PREEMPTS in items else []
    cluster, manifests = write_list(tmp_path / "c.json", NODE, *running), write_list(tmp_path / "m.json", *items)
    assert run(["check", "--from", cluster, "-f", manifests, *options]) == code


@pytest.mark.parametrize(
    ("own", "there", "cpu", "pods", "codes"),
    [
        pytest.param(2, 3, "1", 2, [], id="the manifest has a number"),
        pytest.param(None, 3, "1", 3, [], id="the cluster has the number"),
        pytest.param(None, None, "1", 1, [], id="neither has a number"),
        pytest.param(2, None, "2", 2, ["KS409"], id="too few nodes at the maximum"),
        pytest.param(4, None, "2", 4, ["KS101"], id="too few nodes anyway"),
    ],
)
def test_the_bounds_of_an_autoscaler(
    own: int | None, there: int | None, cpu: str, pods: int, codes: list[str], tmp_path: Path, ksched: Ksched
) -> None:
    """From 1 to 4 replicas; another workload of the manifests has no autoscaler."""

    def web(replicas: int | None) -> dict[str, Any]:
        number = {} if replicas is None else {"replicas": replicas}
        return make_workload("Deployment", "web", requests={"cpu": cpu}, **number)

    other = make_pod("other").requests(cpu="100m").doc()
    node = make_node("n").allocatable(cpu="5", memory="8Gi", pods=20).doc()
    cluster = write_list(tmp_path / "c.json", node, *([web(there)] if there is not None else []))
    manifests = write_list(tmp_path / "m.json", web(own), autoscaler(1, 4), other)
    found = json.loads(ksched("check", "--from", cluster, "-f", manifests, "-o", "json").out)
    assert [each["pods"] for each in found["workloads"]] == [pods, 1]
    assert [each["code"] for each in found["findings"]] == codes
    assert len(found["coverage"]["autoscalersNotModelled"]) == 1


@pytest.mark.parametrize(
    ("seconds", "result", "findings"),
    [
        pytest.param(4, "fails", ["KS408"], id="for some seconds"),
        pytest.param(None, "fits", [], id="for ever"),
    ],
)
def test_pods_that_are_evicted_again_and_again(
    seconds: int | None, result: str, findings: list[str], tmp_path: Path, ksched: Ksched
) -> None:
    """The only node has a NoExecute taint, which the pods tolerate."""
    toleration = {"key": "bad", "operator": "Exists", "effect": "NoExecute"}
    toleration |= {} if seconds is None else {"tolerationSeconds": seconds}
    web = make_workload("Deployment", "web", replicas=1, pod={"tolerations": [toleration]})
    node = make_node("n").allocatable(cpu="4", memory="8Gi", pods=200).taint("bad", "", "NoExecute").doc()
    given = ["--from", write_list(tmp_path / "c.json", node), "-f", write_list(tmp_path / "m.json", web)]
    found = json.loads(ksched("check", *given, "-o", "json", "--exit-zero").out)
    assert [each["result"] for each in found["workloads"]] == [result]
    assert [each["code"] for each in found["findings"]] == findings
    assert all(re.search(r"the same happens to \S+ again every \d+ s", each["message"]) for each in found["findings"])


def quota(pods: int) -> dict[str, Any]:
    hard = {"pods": str(pods)}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard}}


@pytest.mark.parametrize(
    ("policy", "wanted", "expected", "finding"),
    [
        pytest.param(autoscaler(2, 4), 1, ("warns", 2, 2), "at maxReplicas 4", id="an autoscaler that adds a pod"),
        pytest.param(autoscaler(4, 4), 1, ("fails", 3, 4), "1 of 4 pods without a place", id="one that adds too many"),
        pytest.param(autoscaler(1, 1, keda=True), 3, ("fits", 1, 1), "", id="one that takes pods away"),
        pytest.param(autoscaler(1, 3), 2, ("fits", 2, 2), "", id="one that changes nothing"),
        pytest.param(autoscaler(5, 5), 2, ("fails", 3, 5), "2 of 5 pods without a place", id="more than one too many"),
        pytest.param(quota(9), 3, ("fits", 3, 3), "", id="a quota that gives way"),
        pytest.param(quota(9), 4, ("fails", 3, 4), "1 of 4 pods without a place", id="more than the nodes hold"),
        pytest.param(quota(1), 3, None, "", id="a quota that stays"),
        pytest.param(quota(9), 1, None, "", id="a quota of workloads with all their pods"),
        pytest.param({**quota(9), "metadata": {"name": "q", "namespace": "b"}}, 3, None, "", id="another namespace"),
    ],
)
def test_policy_alone_changes_workloads_of_the_cluster(
    policy: dict[str, Any],
    wanted: int,
    expected: tuple[str, int, int] | None,
    finding: str,
    tmp_path: Path,
    ksched: Ksched,
) -> None:
    """A ReplicaSet of the cluster has one pod under a quota of one pod, or as many as it wants under an autoscaler;
    three fit on the node. It is checked although no manifest has it."""
    scales = policy["kind"] != "ResourceQuota"
    if scales:
        target = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web"}
        policy = {**policy, "spec": {**policy["spec"], "scaleTargetRef": target}}
    running = wanted if scales else 1
    web = make_workload("ReplicaSet", "web", requests={"cpu": "1"}, replicas=wanted)
    web["metadata"] |= {"uid": "u", "namespace": "default"}
    made = [make_pod(f"web-{n}").label(app="web").requests(cpu="1").on("n").phase("Running") for n in range(running)]
    pods = [each.owner("ReplicaSet", "web", apiVersion="apps/v1", uid="u").doc() for each in made]
    node = make_node("n").allocatable(cpu="3", memory="8Gi", pods=20).doc()
    spaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each}} for each in ("default", "b")]
    items = [node, *spaces, {**web, "status": {"replicas": running}}, *pods, *([] if scales else [quota(1)])]
    manifests = write_list(tmp_path / "m.json", policy)
    given = ["--from", write_list(tmp_path / "c.json", *items), "-f", manifests]
    found = json.loads(ksched("check", *given, "-o", "json", "--exit-zero").out)
    checked = [(each["result"], each["running"], each["pods"]) for each in found["workloads"]]
    assert checked == ([expected] if expected else [])
    assert [each["file"] for each in found["findings"]] == [manifests] * bool(finding)
    assert all(finding in each["message"] for each in found["findings"])


def test_files_may_follow_without_the_flag(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [write_list(tmp_path / f"{name}.json", make_pod(name).doc()) for name in ("a", "b", "c")]
    assert run(["check", "--from", write_list(tmp_path / "n.json", NODE), "-f", *files, "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["workloads"]
    assert [each["workload"] for each in found] == ["Pod default/a", "Pod default/b", "Pod default/c"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "told"),
    [
        pytest.param([], ["batch/report", "batch/train", "shop/db", "shop/web", "shop/api"], id="all"),
        pytest.param(["-n", "shop"], ["shop/db", "shop/web", "shop/api"], id="a namespace"),
        pytest.param(["-A"], ["batch/report", "batch/train", "shop/db", "shop/web", "shop/api"], id="all namespaces"),
        pytest.param(["-l", "tier=front"], ["shop/web"], id="labels"),
    ],
)
def test_which_workloads_are_told(options: list[str], told: list[str], ksched: Ksched) -> None:
    found = json.loads(ksched("check", "--from", CLUSTER, "-f", DEPLOY, "-o", "json", *options).out)["workloads"]
    assert [each["workload"].split()[1] for each in found] == told


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(["--from", CLUSTER], "say which manifests: -f FILE", id="no manifests"),
        pytest.param(["--from", "-", "-f", "-"], "--from - and -f - cannot both read stdin", id="stdin twice"),
        pytest.param(["--from", "-", "-"], "--from - and -f - cannot both read stdin", id="stdin twice, without -f"),
        pytest.param(["--from", CLUSTER, "-f", DEPLOY, "-n", "a", "-A"], "-n and -A contradict", id="-n and -A"),
        pytest.param(["--from", CLUSTER, "-f", DEPLOY, "-o", "xml"], "'xml' is not one of", id="no such output"),
        pytest.param(["--from", CLUSTER, "-f", DEPLOY, "--fail-on", "x"], "'x' is not one of", id="no such --fail-on"),
        pytest.param(
            ["--from", CLUSTER, "-f", DEPLOY, "--exit-zero", "--fail-on", "warning"],
            "--exit-zero and --fail-on contradict each other",
            id="never fail, and fail on warnings",
        ),
    ],
)
def test_mistakes(arguments: list[str], expected: str, ksched: Ksched) -> None:
    captured = ksched("check", *arguments, code=2)
    assert captured.out == ""
    assert expected in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("http://x/y.yaml", "URLs are not read", id="URL"),
        pytest.param(f"{DEPLOY}/wbe.yaml", "did you mean fixtures/check/deploy/web.yaml?", id="a name misspelt"),
    ],
)
def test_files_that_cannot_be_read_are_findings(name: str, expected: str, ksched: Ksched) -> None:
    captured = ksched("check", "--from", CLUSTER, "-f", name, code=2)
    assert expected in " ".join(captured.out.split())
    assert captured.err == ""


def test_every_mistake_in_the_manifests_is_told_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = [make_pod(name).requests(cpu="lots").doc() for name in ("a", "b")]
    assert run(["check", "--from", CLUSTER, "-f", write_list(tmp_path / "m.json", *broken)]) == 2
    assert capsys.readouterr().out.count("lots") == 2


def test_strategies_that_cannot_be_read(tmp_path: Path, ksched: Ksched) -> None:
    text = (ROOT / DEPLOY / "web.yaml").read_text().replace("maxSurge: 1", "maxSurge: 1 or so")
    text = text.replace("maxUnavailable: 0", "maxUnavailable: -1").replace(
        "  strategy:", "  strategy:\n    type: Rolling"
    )
    (tmp_path / "m.yaml").write_text(text)
    told = " ".join(ksched("check", "--from", CLUSTER, "-f", str(tmp_path / "m.yaml"), code=2).out.split())
    assert 'spec.strategy.type: Unsupported value: "Rolling": supported values: "Recreate", "RollingUpdate"' in told
    assert 'spec.strategy.rollingUpdate.maxSurge: Invalid value: "1 or so": a valid percent string must be' in told
    assert "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: -1: must be greater than or equal to 0" in told


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        pytest.param(["KS140"], ["no code KS140", "KS141"], id="the nearest code"),
        pytest.param(["node-selecter"], ["did you mean node-selector"], id="the nearest name"),
        pytest.param(["KS104", "zzz", "rollout-deadlok"], ["no code zzz", "rollout-deadlock"], id="all at once"),
    ],
)
def test_unknown_codes(codes: list[str], expected: list[str], ksched: Ksched) -> None:
    told = ksched("explain-code", *codes, code=2)
    assert told.out == ""
    assert [text for text in expected if text not in told.err] == []


def test_codes_as_json(ksched: Ksched) -> None:
    found = json.loads(ksched("explain-code", "-o", "json").out)
    assert found[0]["code"] == "KS001"
    assert set(found[0]) == {"code", "name", "level", "title", "meaning", "advice", "plugins"}


def test_a_request_that_is_larger_than_every_node_has_its_figures(ksched: Ksched) -> None:
    eks, job = ROOT / "fixtures" / "clusters" / "eks.yaml", ROOT / "fixtures" / "check" / "deploy" / "batch.json"
    findings = json.loads(ksched("check", "--from", str(eks), "-f", str(job), "-o", "json", code=1).out)["findings"]
    (message,) = [each["message"] for each in findings if each["code"] == "KS104"]
    assert message.endswith("The pod requests cpu 4; the closest node has 3920m in all.")
