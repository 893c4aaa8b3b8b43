"""What happens at one moment is a draw: which of several controllers begins, and whose new pod is Ready first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from ksched_cli.controlplane.draws import FIRST_CONTROLLER, FIRST_READY
from ksched_cli.plan.run.options import RunOptions
from tests.builders import make_node, make_workload, write_list
from tests.plan.rollouts import rolling
from tests.running import settle


def deployment(name: str, cpu: str, replicas: int = 1, surge: int = 1, **pod: Any) -> dict[str, Any]:
    """`surge` 0: one pod may be unavailable in its place."""
    strategy = rolling(surge, 1 - surge)
    pod = {"terminationGracePeriodSeconds": 0, **pod}
    metadata = {"namespace": "default", "uid": f"u-{name}"}
    requests = {"cpu": cpu}
    return make_workload(
        "Deployment", name, requests=requests, pod=pod, metadata=metadata, replicas=replicas, strategy=strategy
    )


def running(item: dict[str, Any], *nodes: str) -> list[dict[str, Any]]:
    """The Deployment with its ReplicaSet and a pod on each of these nodes."""
    name, template = item["metadata"]["name"], item["spec"]["template"]
    labels = {**template["metadata"]["labels"], "pod-template-hash": "h"}
    template = {"metadata": {"labels": labels}, "spec": template["spec"]}
    replica_set = {**item, "kind": "ReplicaSet", "metadata": owned(f"{name}-h", "Deployment", name)}
    replica_set["spec"] = {"replicas": len(nodes), "selector": {"matchLabels": labels}, "template": template}
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**owned(f"{name}-h-{at}", "ReplicaSet", f"{name}-h"), "labels": labels},
            "spec": {**template["spec"], "nodeName": node},
            "status": status,
        }
        for at, node in enumerate(nodes)
    ]
    return [item, replica_set, *pods]


def owned(name: str, kind: str, owner: str) -> dict[str, Any]:
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": f"u-{owner}", "controller": True}
    return {"name": name, "namespace": "default", "uid": f"u-{name}", "ownerReferences": [reference]}


def node(name: str, cpu: str, **labels: str) -> dict[str, Any]:
    return make_node(name).allocatable(cpu=cpu, memory="8Gi", pods=10).label(**labels).doc()


def spares(value: str) -> dict[str, Any]:
    """The spare node of this name, or any node that is no spare one."""
    own = [{"matchExpressions": [{"key": "spare", "operator": "In", "values": [value]}]}]
    own += [{"matchExpressions": [{"key": "spare", "operator": "DoesNotExist"}]}]
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": own}}}
    }


def one_free_node() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The new pod of b fits on n3 alone. If a begins, its new pod is there, and n1 is too small for b."""
    cluster = [node("n1", "2"), node("n2", "2"), node("n3", "3")]
    cluster += [*running(deployment("a", "2"), "n1"), *running(deployment("b", "2"), "n2")]
    return cluster, [deployment("a", "2", priority=0), deployment("b", "3", priority=0)]


def two_spare_nodes() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The first new pods are Ready together. The old pod of a leaves n1, which the second pod of b needs, and which
    the second pod of a takes unless n4 is free: the old pod of b leaves n4."""
    disliked = node("n1", "3")
    disliked["spec"] = {"taints": [{"key": "k", "effect": "PreferNoSchedule"}]}
    cluster = [disliked, node("n4", "2"), node("s1", "2", spare="a"), node("s2", "3", spare="b")]
    cluster += [*running(deployment("a", "3"), "n1"), *running(deployment("b", "2"), "n4")]
    return cluster, [deployment("a", "2", 2, 0, **spares("a")), deployment("b", "3", 2, 0, **spares("b"))]


def with_room() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    cluster, manifests = one_free_node()
    return [*cluster, node("n4", "4")], manifests


def without_hope() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """No node takes the new pods of b in any order."""
    cluster, _ = one_free_node()
    return cluster, [deployment("a", "2", priority=0), deployment("b", "9")]


def of_one_workload() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The template of a stays as it is."""
    cluster, manifests = one_free_node()
    return cluster, [deployment("a", "2"), manifests[1]]


BOTH = "Deployment/default/a, Deployment/default/b"


@pytest.mark.parametrize(
    ("case", "draws", "unplaced", "orders"),
    [
        pytest.param(one_free_node, [FIRST_CONTROLLER], ["b"], (2, 1), id="two controllers"),
        pytest.param(two_spare_nodes, [FIRST_CONTROLLER, FIRST_READY], ["b"], (3, 2), id="two Ready pods"),
        pytest.param(with_room, [], [], None, id="room for all"),
        pytest.param(without_hope, [], ["b"], None, id="orders that end alike"),
        pytest.param(of_one_workload, [], [], None, id="one controller"),
    ],
)
def test_what_happens_at_one_moment(
    case: Any, draws: list[str], unplaced: list[str], orders: tuple[int, int] | None, tmp_path: Path
) -> None:
    cluster, manifests = case()
    given = write_list(tmp_path / "c.json", *cluster), write_list(tmp_path / "m.json", *manifests)
    found = settle(RunOptions(sources=[given[0]], filenames=[given[1]]))
    assert [each.pod.removeprefix("default/")[0] for each in found.unplaced] == unplaced
    assert [(each.what, each.subject) for each in found.draws] == [(what, BOTH) for what in draws]
    assert (None if found.orders is None else (found.orders.tried, found.orders.finished)) == orders


@pytest.mark.slow
@pytest.mark.parametrize("turned", [False, True], ids=["a first", "b first"])
def test_check_is_as_uncertain_in_either_order_of_the_files(
    turned: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order of the files is no promise: kube-controller-manager works on several workloads side by side."""
    monkeypatch.setenv("COLUMNS", "200")
    cluster, manifests = one_free_node()
    given = (
        write_list(tmp_path / "c.json", *cluster),
        write_list(tmp_path / "m.json", *manifests[:: -1 if turned else 1]),
    )
    run(["check", "--from", given[0], "-f", given[1]])
    shown = capsys.readouterr().out
    assert shown.startswith("2 workloads: all fit in some orders only, 1 warning")
    assert "finishes in 1 of 2 orders" in shown
    names = ("b", "a") if turned else ("a", "b")
    both = ", ".join(f"Deployment/default/{name}" for name in names)
    assert f"chance decides once (first controller of {both})" in shown
    run(["check", "--from", given[0], "-f", given[1], "-o", "json"])
    (b,) = [each for each in json.loads(capsys.readouterr().out)["workloads"] if each["workload"].endswith("/b")]
    assert b["orders"] == {"tried": 2, "finished": 1}
