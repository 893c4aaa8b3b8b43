"""What-if edits: each does what kubectl and the controllers would do, to a copy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from ksched_cli.api.core import Node, Pod, Taint
from ksched_cli.api.decode import KINDS
from ksched_cli.api.dynamic_resources import ResourceClaim, ResourceSlice
from ksched_cli.api.storage import CSINode, PersistentVolumeClaim, VolumeAttachment
from ksched_cli.api.workloads import DaemonSet, Deployment, ReplicaSet, ResourceQuota, StatefulSet
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.changes import ChangedCluster
from ksched_cli.whatif.edits.lib.edit import Edit, parse_edits
from ksched_cli.whatif.edits.node_fields import Cordon
from ksched_cli.whatif.edits.nodes import AddNode
from tests.builders import loaded_of, make_node, make_pod
from tests.whatif.changing import edited_by as apply

KIND_NAMED = {kind.__name__: kind for kind in KINDS.values()}


def obj(kind: str, name: str, namespace: str = "default", **fields: Any) -> Any:
    metadata = {"name": name, "namespace": namespace, **fields.pop("metadata", {})}
    return msgspec.convert({"metadata": metadata, **fields}, KIND_NAMED[kind])


def workload(kind: str, name: str, replicas: int | None = None, **fields: Any) -> Any:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "main"}]}}
    counted = {} if replicas is None else {"replicas": replicas}
    labels = {"app": name}
    selector = labels if kind == "ReplicationController" else {"matchLabels": labels}
    spec = {"selector": selector, "template": template, **counted}
    return obj(kind, name, spec=spec, **fields)


def edits(*flags: str) -> list[Edit]:
    """`"cordon n"` as `--cordon n`."""
    parsed, problems = parse_edits((flag.partition(" ")[0], flag.partition(" ")[2]) for flag in flags)
    assert problems == []
    return parsed


def edited(loaded: Loaded, *flags: str) -> ChangedCluster:
    """The cluster with the edits; what was loaded must be what it was."""
    before = _everything(loaded)
    done = apply(loaded, edits(*flags))
    assert _everything(loaded) == before
    return done


def _everything(loaded: Loaded) -> bytes:
    objects = {kind.__name__: items for kind, items in loaded.objects.items() if items}
    return msgspec.json.encode([objects, loaded.warnings, loaded.gaps])


def where(done: ChangedCluster) -> dict[str, str]:
    """Node of each pod, by name; generated ends of names are left out."""
    return {pod.metadata.name: pod.spec.node_name for pod in done.loaded.of(Pod)}


def node_of(done: ChangedCluster, name: str) -> Node:
    found = done.loaded.get(Node, name)
    assert found is not None
    return found


# Nodes


def test_cordon_and_uncordon() -> None:
    cluster = loaded_of(make_node("a").obj(), make_node("b").taint("x").cordoned().obj())
    done = edited(cluster, "cordon a", "cordon a", "uncordon b")
    assert node_of(done, "a").spec.unschedulable
    assert node_of(done, "a").spec.taints == (Taint("node.kubernetes.io/unschedulable", "", "NoSchedule"),)
    assert not node_of(done, "b").spec.unschedulable
    assert node_of(done, "b").spec.taints == (Taint("x", "", "NoSchedule"),)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        pytest.param(["taint n=new:NoExecute"], ["k=v:NoSchedule", "k=w:NoExecute", "new=:NoExecute"], id="added"),
        pytest.param(["taint n=k=z:NoSchedule"], ["k=w:NoExecute", "k=z:NoSchedule"], id="another value"),
        pytest.param(["taint n=k=z:PreferNoSchedule"], ["k=v:NoSchedule", "k=w:NoExecute", "k=z:PreferNoSchedule"], id="another effect"),
        pytest.param(["taint n=k-"], [], id="removed by key"),
        pytest.param(["taint n=k:NoExecute-"], ["k=v:NoSchedule"], id="removed by key and effect"),
        pytest.param(["taint n=k=w:NoExecute-"], ["k=v:NoSchedule"], id="removed, with its value"),
        pytest.param(["taint n=example.com/k=v:NoSchedule", "taint n=k-"], ["example.com/k=v:NoSchedule"], id="one after the other"),
    ],
)  # fmt: skip
def test_taint(flags: list[str], expected: list[str]) -> None:
    cluster = loaded_of(make_node("n").taint("k", "v").taint("k", "w", "NoExecute").obj())
    taints = node_of(edited(cluster, *flags), "n").spec.taints
    assert [f"{taint.key}={taint.value}:{taint.effect}" for taint in taints] == expected


def test_label() -> None:
    done = edited(
        loaded_of(make_node("n").label(disk="hdd", old="yes").obj()), "label n=disk=ssd", "label n=a/b=", "label n=old-"
    )
    assert node_of(done, "n").metadata.labels == {"kubernetes.io/hostname": "n", "disk": "ssd", "a/b": ""}


def test_a_clone_is_new_and_empty() -> None:
    old = (
        make_node("n")
        .zone("z")
        .label(disk="ssd")
        .taint("dedicated", "x")
        .taint("node.kubernetes.io/not-ready")
        .image(9, "i")
    )
    done = edited(
        loaded_of(old.cordoned().obj(), make_node("n-clone-1").obj(), make_pod("p").on("n").obj()), "clone-node n=2"
    )
    for name in ("n-clone-2", "n-clone-3"):
        node = node_of(done, name)
        assert node.metadata.labels == {
            "kubernetes.io/hostname": name,
            "topology.kubernetes.io/zone": "z",
            "topology.kubernetes.io/region": "region",
            "disk": "ssd",
        }
        assert [taint.key for taint in node.spec.taints] == ["dedicated"]
        assert not node.spec.unschedulable
        assert not node.status.images
        assert node.status.allocatable == {"cpu": "4", "memory": "16Gi", "pods": "110"}
    assert where(done) == {"p": "n"}


def test_a_clone_has_drivers_and_devices_of_its_own() -> None:
    drivers = obj("CSINode", "n", "", spec={"drivers": [{"name": "d", "nodeID": "x", "allocatable": {"count": 3}}]})
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    devices = obj(
        "ResourceSlice", "s", "", spec={"driver": "d", "nodeName": "n", "pool": pool, "devices": [{"name": "gpu"}]}
    )
    done = edited(loaded_of(make_node("n").obj(), drivers, devices), "clone-node n")
    own = done.loaded.get(CSINode, "n-clone-1")
    assert own is not None
    assert own.spec == drivers.spec
    assert [(each.spec.node_name, each.spec.pool.name) for each in done.loaded.of(ResourceSlice)] == [
        ("n", "n"),
        ("n-clone-1", "n-clone-1"),
    ]


@pytest.mark.parametrize(
    ("text", "names", "allocatable", "zone"),
    [
        pytest.param("cpu=2,memory=1Gi", ["new-node"], {"cpu": "2", "memory": "1Gi", "pods": "110"}, None, id="words"),
        pytest.param("cpu=2", ["new-node"], {"cpu": "2", "pods": "110"}, None, id="one word"),
        pytest.param("cpu=2=2", ["new-node-1", "new-node-2"], {"cpu": "2", "pods": "110"}, None, id="one word, two nodes"),
        pytest.param("name=x,pods=5,a.b/gpu=1,zone=z=1", ["x"], {"pods": "5", "a.b/gpu": "1"}, "z", id="all sorts"),
        pytest.param("cpu=0.0001,memory=0", ["new-node"], {"cpu": "1m", "memory": "0", "pods": "110"}, None, id="hardly anything"),
        pytest.param("name=n,zone=z", ["n-1"], {"pods": "110"}, "z", id="the name is taken"),
    ],
)  # fmt: skip
def test_add_node_in_words(text: str, names: list[str], allocatable: dict[str, str], zone: str | None) -> None:
    done = edited(loaded_of(make_node("n").obj()), f"add-node {text}")
    added = [node for node in done.loaded.of(Node) if node.metadata.name != "n"]
    assert [node.metadata.name for node in added] == names
    assert all(node.status.allocatable == allocatable for node in added)
    assert all(node.metadata.labels.get("topology.kubernetes.io/zone") == zone for node in added)
    assert all(node.metadata.labels["kubernetes.io/hostname"] == node.metadata.name for node in added)


@pytest.mark.parametrize(
    ("text", "system", "arch"),
    [
        pytest.param("cpu=2", "linux", "amd64", id="as most machines"),
        pytest.param("cpu=2,os=windows", "windows", "amd64", id="another system"),
        pytest.param("arch=arm64,cpu=2", "linux", "arm64", id="another architecture"),
    ],
)
def test_a_new_node_has_the_labels_of_every_kubelet(text: str, system: str, arch: str) -> None:
    done = edited(loaded_of(make_node("n").obj()), f"add-node {text}")
    (added,) = (node for node in done.loaded.of(Node) if node.metadata.name != "n")
    labels = added.metadata.labels
    assert [labels[f"{beta}kubernetes.io/os"] for beta in ("", "beta.")] == [system, system]
    assert [labels[f"{beta}kubernetes.io/arch"] for beta in ("", "beta.")] == [arch, arch]


def test_add_node_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "node.json"
    file.write_bytes(msgspec.json.encode(make_node("big").allocatable(cpu="64").label(disk="ssd").doc()))
    done = edited(loaded_of(make_node("n").obj()), f"add-node {file}=2", f"add-node {file}")
    assert [node.metadata.name for node in done.loaded.of(Node)] == ["n", "big-1", "big-2", "big"]
    assert node_of(done, "big-2").status.allocatable == {"cpu": "64"}
    assert node_of(done, "big-2").metadata.labels == {"kubernetes.io/hostname": "big-2", "disk": "ssd"}


def test_a_node_as_a_value() -> None:
    cluster = loaded_of()
    done = apply(cluster, [AddNode(make_node("x").obj(), 2), Cordon("x-1")])
    assert node_of(done, "x-1").spec.unschedulable
    assert [str(edit) for edit in (AddNode(make_node("x").obj(), 2), Cordon("x-1"))] == [
        "--add-node x=2",
        "--cordon x-1",
    ]


# Who leaves


def pods_of_every_sort(node: str = "n") -> list[Pod]:
    """On one node: of each controller one, and those without."""
    claim = {
        "name": "scratch",
        "ephemeral": {"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "1Gi"}}}}},
    }
    return [
        make_pod("web-1").owner("ReplicaSet", "web").on(node).spec(volumes=[claim]).obj(),
        make_pod("db-0").owner("StatefulSet", "db").on(node).obj(),
        make_pod("job-x").owner("Job", "job").on(node).obj(),
        make_pod("log-x").owner("DaemonSet", "log").on(node).obj(),
        make_pod("kube-proxy").owner("Node", node).on(node).obj(),
        make_pod("bare").on(node).obj(),
        make_pod("done").owner("Job", "job").on(node).phase("Succeeded").obj(),
        make_pod("leaving").owner("ReplicaSet", "web").on(node).terminating().obj(),
        make_pod("elsewhere").owner("ReplicaSet", "web").on("m").obj(),
    ]  # fmt: skip


def _mirrored(pods: list[Pod]) -> list[Pod]:
    for pod in pods:
        if pod.metadata.name == "kube-proxy":
            pod.metadata.annotations = {"kubernetes.io/config.mirror": "x"}
    return pods


def _sorts(done: ChangedCluster) -> dict[str, str]:
    """By the pod's name, generated ones by their owner's."""
    return {
        name if name in ("db-0", "log-x", "kube-proxy", "elsewhere") else name.split("-")[0] + "-?": node
        for name, node in where(done).items()
    }


@pytest.mark.parametrize(
    ("flag", "stay"),
    [
        pytest.param("remove-node n", {}, id="a node that is removed"),
        pytest.param("drain n", {"log-x": "n", "kube-proxy": "n", "leaving-?": "n"}, id="a node that is drained"),
        # The taint eviction controller deletes finished pods too; a pod of an unknown DaemonSet comes back, Pending.
        pytest.param("taint n=x:NoExecute", {"kube-proxy": "n", "log-?": "", "leaving-?": "n"}, id="a NoExecute taint"),
    ],
)
def test_who_leaves_a_node_and_who_comes_back(flag: str, stay: dict[str, str]) -> None:
    claim = obj(
        "PersistentVolumeClaim",
        "web-1-scratch",
        metadata={"ownerReferences": [{"kind": "Pod", "name": "web-1", "controller": True}]},
    )
    done = edited(loaded_of(make_node("n").obj(), make_node("m").obj(), claim, *_mirrored(pods_of_every_sort())), flag)
    assert _sorts(done) == {"web-?": "", "db-0": "", "job-?": "", "elsewhere": "m", **stay}
    # The claim of the ephemeral volume went with its pod, and the new pod has one of its own.
    (scratch,) = done.loaded.of(PersistentVolumeClaim)
    assert scratch.metadata.name.startswith("web-")
    assert scratch.metadata.name != "web-1-scratch"
    assert "bare has no controller" in " ".join(done.loaded.warnings) or flag.startswith("taint")


def test_a_removed_node_takes_what_belongs_to_it_along() -> None:
    done = edited(
        loaded_of(
            make_node("n").obj(),
            make_node("m").obj(),
            obj("CSINode", "n", ""),
            obj("VolumeAttachment", "v", "", spec={"nodeName": "n"}),
            obj("ResourceSlice", "s", "", spec={"nodeName": "n"}),
        ),
        "remove-node n",
    )
    assert [node.metadata.name for node in done.loaded.of(Node)] == ["m"]
    assert not any(done.loaded.of(kind) for kind in (CSINode, VolumeAttachment, ResourceSlice))


@pytest.mark.parametrize(
    ("toleration", "stays"),
    [
        pytest.param({"key": "x", "operator": "Exists"}, True, id="tolerates it"),
        pytest.param({"key": "x", "operator": "Exists", "tolerationSeconds": 300}, False, id="for a while"),
        pytest.param({"key": "y", "operator": "Exists"}, False, id="tolerates another"),
    ],
)
def test_a_no_execute_taint_evicts_those_that_do_not_tolerate_it_for_ever(
    toleration: dict[str, Any], stays: bool
) -> None:
    pod = make_pod("p").owner("ReplicaSet", "rs").on("n").spec(tolerations=[toleration]).obj()
    done = edited(loaded_of(make_node("n").obj(), pod), "taint n=x:NoExecute")
    assert (where(done) == {"p": "n"}) is stays
    assert len(where(done)) == 1


def test_an_evicted_pods_devices_are_free() -> None:
    uses = [{"name": name, "resourceClaimName": name} for name in ("alone", "shared")]
    pods = [
        make_pod(name).owner("ReplicaSet", "rs").on("n").uid(name).spec(resourceClaims=uses).obj()
        for name in ("a", "b")
    ]
    used = [{"resource": "pods", "name": name, "uid": name} for name in ("a", "b")]
    alone = obj("ResourceClaim", "alone", status={"allocation": {}, "reservedFor": used[:1]})
    shared = obj("ResourceClaim", "shared", status={"allocation": {}, "reservedFor": [*used, {"uid": "c"}]})
    done = edited(loaded_of(make_node("n").obj(), *pods, alone, shared), "drain n")
    claims = {claim.metadata.name: claim.status for claim in done.loaded.of(ResourceClaim)}
    assert claims["alone"].allocation is None
    assert claims["shared"].allocation is not None
    assert [consumer.uid for consumer in claims["shared"].reserved_for] == ["c"]


def test_new_pods_are_younger_than_all_others() -> None:
    pods = [make_pod("p").owner("ReplicaSet", "rs").on("n"), make_pod("q").created("2026-01-02T00:00:00Z")]
    done = edited(
        loaded_of(make_node("n").obj(), *(pod.created("2026-01-02T00:00:00Z").obj() for pod in pods)), "drain n"
    )
    stamps = [pod.metadata.creation_timestamp for pod in done.loaded.of(Pod)]
    assert stamps == ["2026-01-02T00:00:00Z", "2026-01-02T00:00:01Z"]


# DaemonSets


def test_daemon_sets_run_on_new_nodes() -> None:
    log = workload("DaemonSet", "log")
    running = make_pod("log-x").label(app="log").owner("DaemonSet", "log").on("n").obj()
    # A copy needs no admission: the class may be missing.
    copied = make_pod("net-x").spec(priorityClassName="gone").priority(5)
    only_pods = copied.owner("DaemonSet", "net").on("n").obj()
    done = edited(loaded_of(make_node("n").obj(), log, running, only_pods), "clone-node n", "add-node cpu=1")
    new = [pod for pod in done.loaded.of(Pod) if not pod.spec.node_name]
    bound = sorted((pod.metadata.name.split("-")[0], _bound_to(pod)) for pod in new)
    # Of a DaemonSet that the input does not hold only its pods can be copied.
    assert bound == [("log", "n-clone-1"), ("log", "new-node"), ("net", "n-clone-1")]


def _bound_to(pod: Pod) -> str:
    affinity = pod.spec.affinity
    assert affinity is not None
    assert affinity.node_affinity is not None
    required = affinity.node_affinity.required_during_scheduling_ignored_during_execution
    assert required is not None
    return required.node_selector_terms[0].match_fields[0].values[0]


def test_a_daemon_set_that_looks_at_one_node_fills_up_the_others() -> None:
    log = workload("DaemonSet", "log")
    done = edited(loaded_of(make_node("n").obj(), make_node("m").obj(), log), "cordon n")
    assert [name.partition("-")[0] for name in where(done)] == ["log", "log"]


def test_a_label_can_bring_a_daemon_pod() -> None:
    log: DaemonSet = workload("DaemonSet", "log")
    assert log.spec.template is not None
    log.spec.template.spec.node_selector = {"disk": "ssd"}
    cluster = loaded_of(make_node("n").obj(), log)
    assert where(edited(cluster, "cordon n")) == {}
    assert len(where(edited(cluster, "label n=disk=ssd"))) == 1


def test_a_label_can_take_a_daemon_pod_away() -> None:
    log: DaemonSet = workload("DaemonSet", "log")
    assert log.spec.template is not None
    log.spec.template.spec.node_selector = {"disk": "ssd"}
    running = make_pod("log-x").label(app="log").owner("DaemonSet", "log").on("n").obj()
    cluster = loaded_of(make_node("n").label(disk="ssd").obj(), log, running)
    assert where(edited(cluster, "label n=disk=hdd")) == {}
    assert where(edited(cluster, "taint n=a:NoSchedule")) == {"log-x": "n"}


# Workloads


def test_a_name_without_a_namespace_is_looked_for_in_kubectls_first() -> None:
    pods = [make_pod("p", namespace).on("n").obj() for namespace in ("a", "b")]
    done = apply(loaded_of(make_node("n").obj(), *pods), edits("delete pod/p"), namespace="b")
    assert [pod.metadata.namespace for pod in done.loaded.of(Pod)] == ["a"]


def replicas(name: str, count: int, **of: str) -> list[Pod]:
    kind = of.get("kind", "ReplicaSet")
    return [
        make_pod(f"{name}-{index}").label(app=name).owner(kind, of.get("owner", name)).on("n").obj()
        for index in range(count)
    ]


@pytest.mark.parametrize(
    ("kind", "flag", "left", "new"),
    [
        pytest.param("ReplicaSet", "rs/web=5", 3, 2, id="more of a ReplicaSet"),
        pytest.param("ReplicaSet", "replicasets.apps/default/web=1", 1, 0, id="fewer"),
        pytest.param("ReplicaSet", "rs/web=3", 3, 0, id="as many"),
        pytest.param("ReplicationController", "rc/web=4", 3, 1, id="ReplicationController"),
        pytest.param("StatefulSet", "sts/web=5", 3, 2, id="more of a StatefulSet"),
        pytest.param("StatefulSet", "sts/web=0", 0, 0, id="none of a StatefulSet"),
    ],
)
def test_scale(kind: str, flag: str, left: int, new: int) -> None:
    item: Any = workload(kind, "web", 3)
    done = edited(loaded_of(make_node("n").obj(), item, *replicas("web", 3, kind=kind)), f"scale {flag}")
    nodes = list(where(done).values())
    assert (nodes.count("n"), nodes.count("")) == (left, new)
    (changed,) = done.loaded.of(KIND_NAMED[kind])
    assert changed.spec.replicas == left + new  # type: ignore[attr-defined]  # of every kind here


def test_scaling_a_stateful_set_removes_the_highest_and_fills_gaps() -> None:
    pods = [pod for pod in replicas("db", 5, kind="StatefulSet") if pod.metadata.name != "db-1"]
    done = edited(loaded_of(make_node("n").obj(), workload("StatefulSet", "db", 5), *pods), "scale sts/db=3")
    assert where(done) == {"db-0": "n", "db-1": "", "db-2": "n"}
    assert done.loaded.of(StatefulSet)[0].spec.replicas == 3


@pytest.mark.parametrize("template", ["same", "none"])
def test_scale_a_deployment(template: str) -> None:
    """By way of the one replica set that it has, also where only that is in the input."""
    deployment: Deployment = workload("Deployment", "web", 2)
    owner = [{"kind": "Deployment", "name": "web", "controller": True}]
    assert deployment.spec.template is not None
    its_template = msgspec.to_builtins(deployment.spec.template)
    its_template["metadata"]["labels"] = {"app": "web", "pod-template-hash": "abc"}
    owned_set = obj(
        "ReplicaSet",
        "web-abc",
        metadata={"ownerReferences": owner},
        spec={
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web", "pod-template-hash": "abc"}},
            "template": its_template,
        },
    )
    pods = replicas("web", 2, owner="web-abc")
    for pod in pods:
        pod.metadata.labels["pod-template-hash"] = "abc"
    items = [make_node("n").obj(), owned_set, *pods, *([] if template == "none" else [deployment])]
    grown = edited(loaded_of(*items), "scale deploy/web=4")
    assert sorted(where(grown).values()) == ["", "", "n", "n"]
    assert len(grown.loaded.of(ReplicaSet)) == 1
    assert all(pod.metadata.owner_references[0].name == "web-abc" for pod in grown.loaded.of(Pod))
    assert len(where(edited(loaded_of(*items), "scale deploy/web=1"))) == 1


def replica_set(name: str, replicas: int | None, created: str, owner: str, namespace: str = "default") -> Any:
    """A ReplicaSet of an owner, `KIND/NAME`, that the input lacks."""
    kind, _, above = owner.partition("/")
    owners = [{"kind": kind, "name": above, "controller": True}]
    metadata = {"ownerReferences": owners, "creationTimestamp": created, "namespace": namespace}
    return workload("ReplicaSet", name, replicas, metadata=metadata)


@pytest.mark.parametrize(
    ("flag", "scaled"),
    [
        pytest.param("deploy/web=4", "web-b", id="the newest of the largest sets of a Deployment"),
        pytest.param("deploy/one=4", "one-a", id="a set without replicas has one"),
        pytest.param("deploy/default/web=4", "web-b", id="in its namespace"),
        pytest.param("rs/of-a-rollout=4", "of-a-rollout", id="of an owner that ksched does not know"),
    ],
)
def test_which_replica_set_is_scaled(flag: str, scaled: str) -> None:
    sets = [
        replica_set("web-a", 2, "2026-01-01T00:00:00Z", "Deployment/web"),
        replica_set("web-b", 2, "2026-02-01T00:00:00Z", "Deployment/web"),
        replica_set("web-c", 0, "2026-03-01T00:00:00Z", "Deployment/web"),
        replica_set("one-a", None, "2026-01-01T00:00:00Z", "Deployment/one"),
        replica_set("one-b", 0, "2026-02-01T00:00:00Z", "Deployment/one"),
        replica_set("of-a-rollout", 1, "2026-01-01T00:00:00Z", "Rollout/x"),
        replica_set("web-z", 9, "2026-01-01T00:00:00Z", "Deployment/web"),
    ]
    sets[-1].spec.template = None
    done = edited(loaded_of(make_node("n").obj(), *sets), f"scale {flag}")
    assert [each.metadata.name for each in done.loaded.of(ReplicaSet) if each.spec.replicas == 4] == [scaled]


def test_the_sets_of_a_deployment_that_are_scaled_are_in_its_namespace() -> None:
    sets = [replica_set("web-a", 2, "2026-01-01T00:00:00Z", "Deployment/web", space) for space in ("a", "b")]
    done = edited(loaded_of(make_node("n").obj(), *sets), "scale deploy/b/web=4")
    assert [(each.metadata.namespace, each.spec.replicas) for each in done.loaded.of(ReplicaSet)] == [
        ("a", 2),
        ("b", 4),
    ]


def test_new_pods_go_through_admission() -> None:
    quota: ResourceQuota = obj("ResourceQuota", "q", spec={"hard": {"pods": "2"}})
    done = edited(
        loaded_of(make_node("n").obj(), workload("ReplicaSet", "web", 1), quota, *replicas("web", 1)), "scale rs/web=4"
    )
    assert len(done.refused) == 2
    assert {refused.plugin for refused in done.refused} == {"ResourceQuota"}
    assert len(where(done)) == 2


def test_delete() -> None:
    owner = {"ownerReferences": [{"kind": "Deployment", "name": "web", "controller": True}]}
    items = [
        make_node("n").obj(),
        workload("Deployment", "web", 2),
        workload("ReplicaSet", "web", 2, metadata=owner),
        *replicas("web", 2),
        make_pod("other").on("n").obj(),
        make_pod("far", "elsewhere").on("n").obj(),
        obj("Namespace", "elsewhere", ""),
    ]
    assert where(edited(loaded_of(*items), "delete deploy/web")) == {"other": "n", "far": "n"}
    assert where(edited(loaded_of(*items), "delete pod/other")) == {"web-0": "n", "web-1": "n", "far": "n"}
    assert where(edited(loaded_of(*items), "delete namespace/elsewhere")) == {"web-0": "n", "web-1": "n", "other": "n"}
    # What a controller owns comes back: the pod, or all pods of the replica set.
    assert sorted(where(edited(loaded_of(*items), "delete pod/web-0")).values()) == ["", "n", "n", "n"]
    assert sorted(where(edited(loaded_of(*items), "delete rs/web")).values()) == ["", "", "n", "n"]
    assert where(edited(loaded_of(*items[:1], *items[2:]), "delete rs/web")) == {"other": "n", "far": "n"}
