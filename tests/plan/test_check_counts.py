"""What `check` counts: evictions that the manifests cause, pods of the new template, workloads that fit. Which field it
names of several."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ksched_cli.controlplane.store import Identity
from ksched_cli.plan.check.findings import LivesByOwner, waves_of
from ksched_cli.plan.check.results import is_of
from ksched_cli.report.registry import RenderOptions, view_of
from ksched_cli.report.view.check import check_summary
from ksched_cli.world.recorder import PodLife
from tests.builders import make_pod
from tests.plan.rollouts import OLD, checked, nodes, rolling, running_deployment, running_set, template, workload


def pending(name: str, cpu: str, priority: int = 1000) -> dict[str, Any]:
    return make_pod(name).requests(cpu=cpu).spec(priority=priority).doc()


def running(name: str, node: str, cpu: str, priority: int = 0) -> dict[str, Any]:
    return make_pod(name).requests(cpu=cpu).spec(priority=priority).on(node).doc()


def test_evictions_by_pending_pods_of_the_cluster_are_not_held_against_the_manifests(tmp_path: Path) -> None:
    cluster = [*nodes("4", "4"), running("victim", "n0", "4"), running("keeper", "n1", "3", 5000), pending("vip", "3")]
    found = checked(tmp_path, cluster, make_pod("new").requests(cpu="1").doc())
    assert [each.result for each in found.workloads] == ["fits"]
    assert (found.evicted, found.losses) == ((), ())
    assert found.evicted_anyway == ("default/victim",)
    assert check_summary(found) == "1 workload: fits (2 nodes)"


def test_evictions_that_follow_from_the_manifests_are_held_against_them(tmp_path: Path) -> None:
    """The manifest takes the free room on n1 from the pending pod, which evicts a pod on n0 instead."""
    new = make_pod("new").requests(cpu="3").spec(priorityClassName="system-cluster-critical").doc()
    cluster = [*nodes("4", "4"), running("victim", "n0", "4"), pending("vip", "3")]
    new["metadata"]["namespace"] = "kube-system"
    found = checked(tmp_path, cluster, new)
    assert (found.evicted, found.evicted_anyway) == (("default/victim",), ())
    notes = [each.text for each in view_of(found, RenderOptions()).notes]
    assert notes[0].startswith("fits only by evicting running pods: Pod default/victim")


def test_the_eviction_of_another_pod_of_one_workload_is_held_against_the_manifests(tmp_path: Path) -> None:
    """Without the manifest the pending pod evicts web-1. The manifest fills the node of web-1, and web-2 is evicted."""
    web = [
        make_pod(f"web-{number}").requests(cpu=cpu).owner("ReplicaSet", "web") for number, cpu in ((1, "3"), (2, "4"))
    ]
    cluster = [*nodes("4", "4"), *(each.on(f"n{at}").doc() for at, each in enumerate(web)), pending("vip", "4")]
    new = make_pod("new", "kube-system").requests(cpu="1").spec(priorityClassName="system-cluster-critical").doc()
    found = checked(tmp_path, cluster, new)
    assert (found.evicted, found.evicted_anyway) == (("default/web-2",), ())
    assert checked(tmp_path, cluster, make_pod("none").gate("g").doc()).evicted_anyway == ("default/web-1",)


def test_an_eviction_by_a_pod_of_the_manifests_counts_although_a_pending_pod_would_evict_too(tmp_path: Path) -> None:
    cluster = [*nodes("4"), running("victim", "n0", "4"), pending("vip", "3")]
    new = make_pod("new").requests(cpu="3").spec(priorityClassName="system-cluster-critical").doc()
    new["metadata"]["namespace"] = "kube-system"
    found = checked(tmp_path, cluster, new)
    assert (found.evicted, found.evicted_anyway) == (("default/victim",), ())


def test_old_pods_without_a_node_are_not_counted_among_the_wanted_ones(tmp_path: Path) -> None:
    """One of three old pods waits for a node, and so do new ones: the message counts the new ones only."""
    running_ones = running_deployment(["n0", "n1", "n2"], template(OLD, cpu="2"))
    del running_ones[-1]["spec"]["nodeName"]
    running_ones[-1]["status"] = {"phase": "Pending"}
    new = workload("Deployment", template(cpu="2"), replicas=3, strategy=rolling(3, 0))
    found = checked(tmp_path, [*nodes("2", "2"), *running_ones], new)
    (only,) = found.workloads
    (error,) = [each for each in only.findings if each.level == "error"]
    assert (len(error.pods), only.old) == (3, 3)
    assert "3 of 3 pods without a place" in error.message


def test_an_old_pod_that_a_stateful_set_waits_for_is_called_old(tmp_path: Path) -> None:
    cluster = [*nodes("2", "2"), *running_set(["n0", "n1"], template(OLD, cpu="2"))]
    del cluster[-1]["spec"]["nodeName"]
    cluster[-1]["spec"]["nodeSelector"] = {"disk": "fast"}
    cluster[-1]["status"] = {"phase": "Pending"}
    found = checked(tmp_path, cluster, workload("StatefulSet", template(cpu="1"), replicas=2))
    (only,) = found.workloads
    (error,) = [each for each in only.findings if each.level == "error"]
    assert "1 old pod without a place" in error.message
    assert "of 2 pods" not in error.message


@pytest.mark.parametrize(
    ("paused", "expected"),
    [
        pytest.param(("w",), "2 workloads: 1 fits, 1 held back (1 node)", id="one of two"),
        pytest.param((), "2 workloads: all fit (1 node)", id="none"),
    ],
)
def test_a_workload_that_is_held_back_does_not_fit(paused: tuple[str, ...], expected: str, tmp_path: Path) -> None:
    deployment = workload("Deployment", template(), replicas=1, **({"paused": True} if paused else {}))
    found = checked(tmp_path, nodes("4"), make_pod("p").requests(cpu="1").doc(), deployment)
    assert check_summary(found) == expected


def test_waves_are_those_of_the_pods_of_the_owners() -> None:
    """The third pod waits, and the last one is of another workload."""
    made = [("a", "w", 0.0), ("b", "w", 5.0), ("c", "w", None), ("d", "w", 5.5), ("e", "other", 9.0)]
    pods = [(make_pod(name).owner("Job", owner).obj(), moment) for name, owner, moment in made]
    lives = [PodLife(pod, created=0.0, bound=moment) for pod, moment in pods]
    assert waves_of(lives, {("Job", "default", "w")}, [3.0, 7.0]) == 2
    assert waves_of(lives, {("Job", "default", "w")}, [3.0, 5.0]) == 2
    assert waves_of(lives, {("Job", "default", "none")}, [3.0]) == 0


def test_lives_by_owner_are_those_that_the_owners_control_or_are() -> None:
    pods = [make_pod("a"), make_pod("b").owner("ReplicaSet", "web-1"), make_pod("c").owner("ReplicaSet", "web-2")]
    pods += [make_pod("d", "shop").owner("ReplicaSet", "web-1"), make_pod("e").owner("ReplicaSet", "web-1")]
    lives = [PodLife(each.obj(), created=0.0) for each in pods]
    sets = [("ReplicaSet", "default", f"web-{number}") for number in (1, 2)]
    every: list[set[Identity]] = [
        set(),
        {sets[0]},
        {*sets},
        {("Pod", "default", "a")},
        {("Pod", "default", "b"), sets[0]},
    ]
    for owners in every:
        assert LivesByOwner(lives).of(owners) == [each for each in lives if is_of(each.pod, owners)]


# Which of several terms, volumes and the like of a pod `check` names as the field that decides


TERMS = [
    {"topologyKey": "rack", "labelSelector": {"matchLabels": {"app": "none"}}},
    {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "cache"}}},
]
VOLUMES = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in ("there", "gone")]
THERE = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "there", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeName": "v"},
}


@pytest.mark.parametrize(
    ("cluster", "spec", "place"),
    [
        pytest.param(
            make_pod("cache").label(app="cache").on("n0").doc(),
            {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": TERMS}}},
            "requiredDuringSchedulingIgnoredDuringExecution[1].topologyKey",
            id="no node has the topology key of the first term",
        ),
        pytest.param(THERE, {"volumes": VOLUMES}, "spec.volumes[1]", id="the first claim is there"),
        pytest.param(
            THERE, {"nodeSelector": {"disk": "ssd", "gpu": "yes"}}, "spec.nodeSelector.disk", id="no node has a label"
        ),
        pytest.param(
            THERE,
            {"nodeSelector": {"kubernetes.io/hostname": "n0", "gpu": "yes"}},
            "spec.nodeSelector.gpu",
            id="a node has the first label",
        ),
    ],
)
def test_the_one_of_two_that_decides(cluster: Any, spec: dict[str, Any], place: str, tmp_path: Path) -> None:
    new = workload("Deployment", template(cpu="1", **spec), replicas=1)
    (own,) = checked(tmp_path, [*nodes("2"), cluster], new).workloads
    (found,) = own.findings
    assert found.place.path.endswith(place)
