"""The order of manifests: what a pod names must come before it, as `kubectl apply` creates one object after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from tests.builders import make_node, make_pod, make_workload, write_list

NODE = make_node("n").allocatable(cpu="8", memory="8Gi", pods=20).doc()
CLASS = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 5}
RUNTIME = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "kata"}, "handler": "kata"}
ACCOUNT = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "web", "namespace": "default"}}
DEFAULT = {**ACCOUNT, "metadata": {"name": "default", "namespace": "default"}}


LIMIT = {
    "apiVersion": "v1",
    "kind": "LimitRange",
    "metadata": {"name": "small", "namespace": "default"},
    "spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}}]},
}
QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "none", "namespace": "default"},
    "spec": {"hard": {"pods": "0"}},
}
LARGE = make_pod("large").limits(cpu="2").doc()


def pod(name: str = "p", **spec: Any) -> dict[str, Any]:
    return make_pod(name).spec(**spec).doc()


HIGH, KATA, WEB = {"priorityClassName": "high"}, {"runtimeClassName": "kata"}, {"serviceAccountName": "web"}


@pytest.mark.parametrize(
    ("cluster", "manifests", "refused"),
    [
        pytest.param([], [CLASS, pod(**HIGH)], "", id="class, pod"),
        pytest.param([], [pod(**HIGH), CLASS], "no PriorityClass with name high was found", id="pod, class"),
        pytest.param(
            [], [pod("q"), pod(**HIGH), CLASS], "no PriorityClass with name high was found", id="pod, pod, class"
        ),
        pytest.param(
            [],
            [pod(**HIGH), CLASS, pod("q", **HIGH)],
            "no PriorityClass with name high was found",
            id="pod, class, pod",
        ),
        pytest.param([], [pod(), CLASS, pod("q", **HIGH)], "", id="another pod, class, pod"),
        pytest.param([CLASS], [pod(**HIGH), CLASS], "", id="a class of the cluster"),
        pytest.param([], [make_workload("Deployment", pod=HIGH), CLASS], "", id="a controller tries again"),
        pytest.param([], [RUNTIME, pod(**KATA)], "", id="runtime, pod"),
        pytest.param([], [pod(**KATA), RUNTIME], 'RuntimeClass "kata" not found', id="pod, runtime"),
        pytest.param([RUNTIME], [pod(**KATA), RUNTIME], "", id="a runtime of the cluster"),
        pytest.param([DEFAULT], [ACCOUNT, pod(**WEB)], "", id="account, pod"),
        pytest.param([DEFAULT], [pod(**WEB), ACCOUNT], 'serviceaccount "web" not found', id="pod, account"),
        pytest.param([DEFAULT, ACCOUNT], [pod(**WEB), ACCOUNT], "", id="an account of the cluster"),
        pytest.param([], [pod(**WEB), ACCOUNT], "", id="a cluster that lists no accounts"),
        pytest.param([], [LIMIT, LARGE], "maximum cpu usage per Container is 1", id="limit, pod"),
        pytest.param([], [LARGE, LIMIT], "", id="pod, limit"),
        pytest.param([], [pod(), LIMIT, LARGE], "maximum cpu usage per Container is 1", id="another pod, limit, pod"),
        pytest.param(
            [],
            [make_pod("far", "far").doc(), LIMIT, LARGE],
            "maximum cpu usage per Container is 1",
            id="a far pod, limit, pod",
        ),
        pytest.param([LIMIT], [LARGE, LIMIT], "maximum cpu usage per Container is 1", id="a limit of the cluster"),
        pytest.param([], [QUOTA, pod()], "exceeded quota: none", id="quota, pod"),
        pytest.param([], [pod(), QUOTA], "", id="pod, quota"),
    ],
)
@pytest.mark.parametrize("command", [["check", "-o", "json"], ["simulate"]], ids=["check", "simulate"])
def test_what_a_pod_names_comes_before_it(
    cluster: list[Any],
    manifests: list[Any],
    refused: str,
    command: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    dump = write_list(tmp_path / "c.json", NODE, *cluster)
    files = write_list(tmp_path / "m.json", *manifests)
    code = run([*command, "--from", dump, "-f", files])
    shown = " ".join(capsys.readouterr().out.replace('\\"', '"').split())
    assert code == (1 if refused else 0), shown
    assert refused in shown
