"""What explain finds about NodePools of Karpenter: what DaemonSets take, and fixes on the NodePool, each tried."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.api.json_patch import apply_patch
from ksched_cli.cli.main import run
from tests.builders import write_list as write
from tests.cli.karpenter import TYPE, document_of, managed, node_pool, pending, requesting, running_on

LARGE = {
    "name": "large",
    "capacity": {"cpu": "16", "memory": "64Gi", "pods": "50"},
    "offerings": [{"zone": "b", "capacityType": "on-demand", "price": 0.4}],
    "requirements": {
        "node.kubernetes.io/instance-type": ["large"],
        "topology.kubernetes.io/zone": ["b"],
        "karpenter.k8s.aws/instance-cpu": ["16"],
    },
}
IN_A = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}
SMALL_ONLY = {"key": "karpenter.k8s.aws/instance-cpu", "operator": "Lt", "values": ["8"]}
NO_LARGE = {"key": "node.kubernetes.io/instance-type", "operator": "NotIn", "values": ["large"]}
AT_LEAST_TWO = {"key": "node.kubernetes.io/instance-type", "operator": "Exists", "minValues": 2}
GPU = {"key": "gpu", "value": "true", "effect": "NoSchedule"}


def tainted(*taints: dict[str, Any]) -> dict[str, Any]:
    pool = node_pool()
    pool["spec"]["template"]["spec"]["taints"] = list(taints)
    return pool


def node_pool_with_labels(labels: dict[str, str]) -> dict[str, Any]:
    pool = node_pool()
    pool["spec"]["template"]["metadata"] = {"labels": labels}
    return pool


def required(*expressions: dict[str, Any]) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


# A NodePool, the spec of a pod that it does not take, and the fix.
POOL_FIXES = {
    "limit": (node_pool(limits={"cpu": "2"}, template=node_pool()["spec"]["template"]), {}, "raise its limit of cpu from 2 to 5"),
    "memory": (node_pool(limits={"cpu": "100", "memory": "1Gi"}, template=node_pool()["spec"]["template"]), {},
               "raise its limit of memory from 1Gi to 32Gi"),
    "one of two limits": (node_pool(limits={"cpu": "4500m", "memory": "1Gi"}, template=node_pool()["spec"]["template"]), {},
                          "raise its limit of memory from 1Gi to 32Gi"),
    "nodes": (node_pool(limits={"nodes": "0"}, template=node_pool()["spec"]["template"]), {}, "raise its limit of nodes from 0 to 2"),
    "taint": (tainted(GPU), {}, "tolerate its taint gpu=true:NoSchedule in Pod web"),
    "zone": (node_pool(IN_A), {"nodeSelector": {"topology.kubernetes.io/zone": "b"}},
             "allow b in the requirement topology.kubernetes.io/zone"),
    "label": (node_pool(), {"nodeSelector": {"team": "shop"}}, "add the requirement team In shop"),
    "a label beside others": (
        node_pool_with_labels({"size": "big"}),
        {"nodeSelector": {"size": "big", "team": "shop"}, "affinity": required({"key": "gen", "operator": "NotIn", "values": ["1"]})},
        "add the requirement team In shop"),
    "a type and a zone": (node_pool(NO_LARGE, IN_A), requesting("9"),
                          "allow b in the requirement topology.kubernetes.io/zone and "
                          "drop the requirement node.kubernetes.io/instance-type NotIn large"),
    "bound": (node_pool(SMALL_ONLY), requesting("9"),
              "change the requirement karpenter.k8s.aws/instance-cpu Lt 8 to Lt 17"),
    "excluded": (node_pool(NO_LARGE), requesting("9"), "drop the requirement node.kubernetes.io/instance-type NotIn large"),
    "no types": (node_pool({**AT_LEAST_TWO, "minValues": 3}), {}, ""),
    "minValues": (node_pool(AT_LEAST_TWO), requesting("9"), "leave out minValues of node.kubernetes.io/instance-type"),
    "too large": (node_pool(), requesting("99"), ""),
    "two": (tainted(GPU), {"nodeSelector": {"team": "shop"}},
            "tolerate its taint gpu=true:NoSchedule in Pod web and add the requirement team In shop"),
}  # fmt: skip


def test_explain_shows_what_daemon_sets_take(tmp_path: Path, catalog: str, capsys: pytest.CaptureFixture[str]) -> None:
    template = {"metadata": {"labels": {"app": "agent"}}, "spec": requesting("500m")}
    agent = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "shop", "uid": "ds"},
        "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": template},
    }
    cluster = write(tmp_path / "cluster.json", node_pool(), *managed(cpu="1")[:1], agent, pending(**requesting("4")))
    arguments = ("explain", "shop/web", "--no-fixes", "--from", cluster, "--instance-types", catalog)
    (unplaced,) = document_of(capsys, *arguments, code=1)["autoscaling"]["unplaced"]
    assert (unplaced["codes"], unplaced["daemonSets"]) == ({"general": "no-room"}, {"general": {"cpu": "500m"}})
    run(list(arguments))
    assert "no instance type is large enough (DaemonSets take cpu 500m of each)" in " ".join(
        capsys.readouterr().out.split()
    )


@pytest.mark.parametrize("name", POOL_FIXES)
def test_explain_finds_fixes_on_the_node_pool(
    name: str, tmp_path: Path, catalog: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pool, spec, text = POOL_FIXES[name]
    Path(catalog).write_text(json.dumps({"instanceTypes": [TYPE, LARGE]}))
    cluster = write(tmp_path / "cluster.json", pool, *managed(cpu="500m")[:1], pending(**spec))
    arguments = ("explain", "--from", cluster, "--instance-types", catalog)
    found = document_of(capsys, *arguments, code=1)
    fixes = [each for each in found.get("fixes", ()) if each["text"].startswith("NodePool general: ")]
    assert [each["text"].removeprefix("NodePool general: ") for each in fixes] == ([text] if text else [])
    for fix in fixes:
        assert (fix["promise"], fix["node"]) == ({"pods": 1, "of": 1}, "general-1")
        assert [command.split()[0] for command in fix["commands"]] == ["kubectl"] * len(fix["changes"])
        # The changes, carried out on the dump, do what is promised.
        items = json.loads(Path(cluster).read_text())["items"]
        for change in fix["changes"]:
            target = next(each for each in items if each["kind"] == change["target"]["kind"])
            apply_patch(target, change["patch"])
        mended = write(tmp_path / "mended.json", *items)
        again = document_of(capsys, "simulate", "--settle", "--from", mended, "--instance-types", catalog)
        assert [each["name"] for each in again["autoscaling"]["newNodes"]] == ["general-1"]


def test_a_limit_has_room_for_the_largest_types_where_the_cheapest_are_not_enough(
    tmp_path: Path, catalog: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Karpenter counts the first new node as the larger type: with a limit for two small ones the second has no room."""
    larger = {**TYPE["requirements"], "node.kubernetes.io/instance-type": ["middle"]}
    price = [{**TYPE["offerings"][0], "price": 0.3}]
    middle = {
        "name": "middle",
        "capacity": {**TYPE["capacity"], "cpu": "5"},
        "offerings": price,
        "requirements": larger,
    }
    Path(catalog).write_text(json.dumps({"instanceTypes": [TYPE, middle]}))
    pool = node_pool(limits={"cpu": "2"}, template=node_pool()["spec"]["template"])
    items = running_on("old", replicas=2, cpu="3")
    for pod in items[2:]:
        del pod["spec"]["nodeName"]
        pod["status"] = pending()["status"]
    cluster = write(tmp_path / "cluster.json", pool, *managed(cpu="1")[:1], *items)
    arguments = ("explain", "shop/web-1", "--from", cluster, "--instance-types", catalog)
    (fix,) = [each for each in document_of(capsys, *arguments, code=1)["fixes"] if "NodePool" in each["text"]]
    assert (fix["text"], fix["promise"]) == (
        "NodePool general: raise its limit of cpu from 2 to 11",
        {"pods": 2, "of": 2},
    )


def test_the_promise_of_a_fix_is_for_the_whole_workload(
    tmp_path: Path, catalog: str, capsys: pytest.CaptureFixture[str]
) -> None:
    template = node_pool()["spec"]["template"]
    template["spec"]["taints"] = [GPU]
    pool = node_pool(limits={"cpu": "4"}, template=template)
    items = running_on("old", replicas=6, cpu="3")
    for pod in items[3:]:
        del pod["spec"]["nodeName"]
        pod["status"] = pending()["status"]
    cluster = write(tmp_path / "cluster.json", pool, *managed()[:1], *items)
    arguments = ("explain", "shop/web-1", "--from", cluster, "--instance-types", catalog)
    (fix,) = [each for each in document_of(capsys, *arguments, code=1)["fixes"] if "NodePool" in each["text"]]
    assert (
        fix["text"]
        == "NodePool general: tolerate its taint gpu=true:NoSchedule in ReplicaSet web and raise its limit of cpu from 4 to 24"
    )
    assert fix["promise"] == {"pods": 6, "of": 6}
    waiting = sorted(
        each["metadata"]["name"] for each in items if each["kind"] == "Pod" and not each["spec"].get("nodeName")
    )
    # A ReplicaSet leaves its pods as they are: those that wait are deleted, and come again with the toleration.
    assert [(each["op"], *each["target"].values()) for each in fix["changes"]] == [
        ("patch", "NodePool", "general"),
        ("patch", "ReplicaSet", "shop", "web"),
        *(("delete", "Pod", "shop", name) for name in waiting),
    ]
    assert fix["commands"][2] == f"kubectl -n shop delete pod {' '.join(waiting)}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strategy", "promise"),
    [
        pytest.param({"maxUnavailable": 1}, {"pods": 2, "of": 2}, id="the node of the old pod takes a new one"),
        pytest.param({"maxSurge": 1, "maxUnavailable": 0}, {"pods": 2, "of": 3}, id="the limit stops the rollout"),
    ],
)
def test_the_promise_of_a_fix_counts_the_pods_of_the_rollout(
    strategy: dict[str, Any], promise: dict[str, int], tmp_path: Path, catalog: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A new template of a Deployment replaces the pods that run, too, and the NodePool allows one node more."""
    pool = tainted(GPU)
    pool["spec"]["limits"] = {"cpu": "8"}
    namespace, replica_set, *pods = running_on("old", replicas=2, cpu="3")
    del pods[1]["spec"]["nodeName"]
    pods[1]["status"] = pending()["status"]
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "d", "controller": True}
    rolling = {"type": "RollingUpdate", "rollingUpdate": strategy}
    deployment = {
        **replica_set,
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "uid": "d"},
        "spec": {**replica_set["spec"], "strategy": rolling},
    }
    replica_set["metadata"]["ownerReferences"] = [owner]
    items = (pool, *managed(), namespace, deployment, replica_set, *pods)
    cluster = write(tmp_path / "cluster.json", *items)
    arguments = ("--from", cluster, "--instance-types", catalog)
    (fix,) = [
        each
        for each in document_of(capsys, "explain", "shop/web-1", *arguments, code=1)["fixes"]
        if "NodePool" in each["text"]
    ]
    assert (fix["text"], fix["promise"]) == (
        "NodePool general: tolerate its taint gpu=true:NoSchedule in Deployment web",
        promise,
    )
    # The change, applied as a manifest, does what is promised.
    (change,) = fix["changes"]
    manifest = write(tmp_path / "web.json", apply_patch(json.loads(json.dumps(deployment)), change["patch"]))
    settled = document_of(
        capsys, "simulate", "--settle", *arguments, "-f", manifest, code=promise["of"] - promise["pods"]
    )
    own = [each for each in settled["final"] if each["workload"] == "Deployment/shop/web" and each["state"] != "gone"]
    assert {"pods": sum(bool(each.get("node")) for each in own), "of": len(own)} == promise
