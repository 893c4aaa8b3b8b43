"""Pods that name their node: the kubelet admits them or not, kube-scheduler never looks at them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from ksched_cli.controlplane.kubelet import kubelet_refusal
from tests.builders import make_node, make_object, make_pod, make_workload, write_list

LINUX = make_node("n1").allocatable(cpu="4", memory="8Gi", pods=3).label("kubernetes.io/os", "linux").doc()
TAINTED = {
    **make_node("n2").allocatable(cpu="4", memory="8Gi", pods=3).doc(),
    "spec": {"taints": [{"key": "x", "effect": "NoSchedule"}]},
}
OLD = make_pod("old").requests(cpu="2").doc()
OLD["spec"]["nodeName"] = "n1"


def checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *manifests: Any, dump: tuple[Any, ...] = (LINUX, TAINTED, OLD)
) -> tuple[int, list[tuple[str, str]]]:
    write_list(tmp_path / "c.json", *dump)
    write_list(tmp_path / "m.json", *manifests)
    code = run(["check", "--from", str(tmp_path / "c.json"), "-f", str(tmp_path / "m.json"), "-o", "json"])
    found = json.loads(capsys.readouterr().out)["findings"]
    return code, [(each["code"], each["message"].partition(":")[0]) for each in found]


def bound(node: str = "n1", cpu: str = "1", name: str = "p", **spec: Any) -> dict[str, Any]:
    pod = make_pod(name).requests(cpu=cpu).doc()
    pod["spec"] |= {"nodeName": node, **spec}
    return pod


def test_the_overhead_of_a_runtime_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runtime = make_object("RuntimeClass", "sandbox", handler="h", overhead={"podFixed": {"cpu": "1m"}})
    pods = [bound(cpu=cpu, runtimeClassName="sandbox") for cpu in ("1999m", "2")]
    assert [checked(tmp_path, capsys, pod, dump=(LINUX, OLD, runtime)) for pod in pods] == [
        (0, []),
        (1, [("KS205", "OutOfcpu")]),
    ]


def test_pods_without_a_resource_take_nothing_of_it() -> None:
    node = make_node("n").allocatable(cpu="4", example_com__gpu="1", memory="8Gi", pods=3).obj()
    wants = make_pod("p").requests(example_com__gpu="1").obj()
    assert kubelet_refusal(wants, node, [make_pod("other").requests(cpu="1").obj()]) == ""
    assert kubelet_refusal(wants, node, [wants]).startswith("OutOfexample.com/gpu")
    assert kubelet_refusal(make_pod("q").spec(overhead={"memory": "8Gi"}).obj(), node, []) == ""


@pytest.mark.parametrize(
    ("pod", "reason"),
    [
        pytest.param(bound(cpu="2"), "", id="all that is left"),
        pytest.param(bound(cpu="2001m"), "OutOfcpu", id="more than is left"),
        pytest.param(bound(nodeSelector={"kubernetes.io/os": "linux"}), "", id="the node's label"),
        pytest.param(bound(nodeSelector={"disk": "ssd"}), "NodeAffinity", id="another label"),
        pytest.param(
            bound(nodeSelector={"kubernetes.io/os": "windows"}), "PodOSSelectorNodeLabelDoesNotMatch", id="the os label"
        ),
        pytest.param(bound(os={"name": "linux"}), "", id="the node's operating system"),
        pytest.param(bound(os={"name": "windows"}), "PodOSNotSupported", id="another operating system"),
        pytest.param(bound("n2"), "", id="NoSchedule is the scheduler's"),
    ],
)
def test_a_pod_that_names_its_node(
    pod: dict[str, Any], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = checked(tmp_path, capsys, pod)
    assert (code, found) == ((1, [("KS205", reason)]) if reason else (0, []))


def test_pods_count_one_after_the_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pods = [bound(cpu="1", name=name) for name in ("a", "b", "c")]
    code, found = checked(tmp_path, capsys, *pods)
    # Two CPUs are left. The third pod has no place, and the node has no more than three pods.
    assert (code, found) == (1, [("KS205", "OutOfpods")])


def test_kube_scheduler_does_not_look_at_the_operating_system_of_a_pod(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One of two nodes has another one."""
    workload = make_workload("Deployment", pod={"os": {"name": "windows"}}, replicas=2)
    other = make_node("n2").label(**{"kubernetes.io/os": "windows"}).allocatable(cpu="4", memory="8Gi", pods=3).doc()
    assert checked(tmp_path, capsys, workload, dump=(LINUX, other)) == (0, [("KS206", "1 of 2 pods")])
    assert checked(tmp_path, capsys, workload, dump=(LINUX,)) == (0, [("KS206", "2 of 2 pods")])
    assert checked(tmp_path, capsys, make_workload("Deployment"), dump=(LINUX,)) == (0, [])


def test_a_pod_that_runs_already_is_not_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    running = bound(cpu="3")
    running["status"] = {"phase": "Running"}
    code, found = checked(tmp_path, capsys, bound(cpu="3"), dump=(LINUX, running))
    assert (code, found) == (0, [("KS405", "Pod default/p is on node n1 already")])


@pytest.mark.parametrize(
    ("cpu", "finding"),
    [
        pytest.param("2001m", ("KS205", "OutOfcpu"), id="that the kubelet refuses"),
        pytest.param("2", ("KS408", "the pod has failed, and no controller makes another"), id="of its own"),
    ],
)
def test_a_pod_that_has_failed(
    cpu: str, finding: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = {**bound(cpu=cpu), "status": {"phase": "Failed", "reason": "OutOfcpu"}}
    assert checked(tmp_path, capsys, bound(cpu=cpu), dump=(LINUX, OLD, failed)) == (1, [finding])


def test_a_pod_that_has_succeeded_is_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = {**bound(), "status": {"phase": "Succeeded"}}
    assert checked(tmp_path, capsys, bound(), dump=(LINUX, done)) == (0, [])


def test_a_node_that_does_not_exist_is_no_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_list(tmp_path / "c.json", LINUX)
    write_list(tmp_path / "m.json", bound("nowhere"))
    assert run(["check", "--from", str(tmp_path / "c.json"), "-f", str(tmp_path / "m.json")]) == 1
    assert "0 of 1 pod has a node" in capsys.readouterr().out
