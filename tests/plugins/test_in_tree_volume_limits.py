"""EBSLimits, GCEPDLimits, AzureDiskLimits and CinderLimits."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.storage import CSINode, PersistentVolume
from ksched_cli.framework.rows import NodeRows
from ksched_cli.plugins.in_tree_volume_limits import AzureDiskLimits, CinderLimits, EBSLimits, GCEPDLimits
from ksched_cli.plugins.lib.volumes import AttachedVolumes
from ksched_cli.releases.minors import RELEASES
from tests.builders import make_node, make_pod
from tests.harness import make_bench
from tests.lanes import examples
from tests.plugins.storage import claim, storage_class, with_claims

TOO_MANY = ("Unschedulable", ("node(s) exceed max volume count",))
OLD = RELEASES["1.28"]
# The plugin, the volume source of a disk, and the resource by which a node gives its limit.
KINDS: dict[str, tuple[Any, Any, str]] = {
    "EBSLimits": (EBSLimits, lambda id: {"awsElasticBlockStore": {"volumeID": id}}, "attachable-volumes-aws-ebs"),
    "GCEPDLimits": (GCEPDLimits, lambda id: {"gcePersistentDisk": {"pdName": id}}, "attachable-volumes-gce-pd"),
    "AzureDiskLimits": (
        AzureDiskLimits,
        lambda id: {"azureDisk": {"diskName": id, "diskURI": f"/{id}"}},
        "attachable-volumes-azure-disk",
    ),
    "CinderLimits": (CinderLimits, lambda id: {"cinder": {"volumeID": id}}, "attachable-volumes-cinder"),
}


def with_disks(name: str, kind: str, disks: list[str], on: str = "") -> Pod:
    source = KINDS[kind][1]
    volumes = [{"name": f"v{index}", **source(disk)} for index, disk in enumerate(disks)]
    builder = make_pod(name).spec(volumes=volumes)
    return (builder.on(on).phase("Running") if on else builder).obj()


def limited(kind: str, name: str, limit: int) -> Node:
    node = make_node(name).obj()
    node.status.allocatable[KINDS[kind][2]] = str(limit)
    return node


@given(data=st.data(), kind=st.sampled_from(sorted(KINDS)))
@settings(max_examples=examples(60), deadline=None)
def test_agrees_with_a_reading_of_the_rule_node_by_node(data: st.DataObject, kind: str) -> None:
    disks = st.lists(st.sampled_from(("a", "b", "c", "d")), max_size=3)
    limits = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
    held = [data.draw(st.lists(disks, max_size=2)) for _ in limits]
    wanted = data.draw(disks)
    nodes = [limited(kind, f"n{index}", limit) for index, limit in enumerate(limits)]
    running = [
        with_disks(f"run-{index}-{at}", kind, own, on=f"n{index}")
        for index, pods in enumerate(held)
        for at, own in enumerate(pods)
    ]
    made = make_bench(KINDS[kind][0], nodes, with_disks("new", kind, wanted), running, current=OLD)
    full = {
        f"n{index}"
        for index, limit in enumerate(limits)
        if wanted and len({*wanted, *(disk for own in held[index] for disk in own)}) > limit
    }
    assert made.statuses() == dict.fromkeys(full, TOO_MANY)


@pytest.mark.parametrize(
    ("kind", "labels", "limit"),
    [
        pytest.param("EBSLimits", {}, 39, id="EBS"),
        pytest.param("EBSLimits", {"node.kubernetes.io/instance-type": "m5.large"}, 25, id="EBS on Nitro"),
        pytest.param("EBSLimits", {"beta.kubernetes.io/instance-type": "t3.small"}, 25, id="EBS by the beta label"),
        pytest.param("EBSLimits", {"node.kubernetes.io/instance-type": "m4.large"}, 39, id="EBS on Xen"),
        pytest.param("GCEPDLimits", {}, 16, id="GCE"),
        pytest.param("AzureDiskLimits", {}, 16, id="Azure"),
        pytest.param("CinderLimits", {}, 256, id="Cinder"),
    ],
)
def test_limits_where_the_node_says_nothing(kind: str, labels: dict[str, str], limit: int) -> None:
    node = make_node("n")
    for key, value in labels.items():
        node.label(key, value)
    for count in (limit, limit + 1):
        pod = with_disks("new", kind, [f"d{index}" for index in range(count)])
        statuses = make_bench(KINDS[kind][0], [node.obj()], pod, current=OLD).statuses()
        assert statuses == ({} if count == limit else {"n": TOO_MANY})


@pytest.mark.parametrize(
    ("minor", "label", "limit"),
    [
        ("1.16", "node.kubernetes.io/instance-type", 39),
        ("1.16", "beta.kubernetes.io/instance-type", 25),
        ("1.17", "node.kubernetes.io/instance-type", 25),
        ("1.17", "beta.kubernetes.io/instance-type", 25),
    ],
)
def test_the_label_of_an_instance_type_by_minor(minor: str, label: str, limit: int) -> None:
    node = make_node("n").label(label, "m5.large").obj()
    pod = with_disks("new", "EBSLimits", [f"d{index}" for index in range(26)])
    statuses = make_bench(EBSLimits, [node], pod, current=RELEASES[minor]).statuses()
    assert statuses == ({} if limit > 26 else {"n": TOO_MANY})


def test_the_claim_of_a_running_pod_may_be_gone() -> None:
    """A claim that the pod has beside it counts."""
    running = [with_claims("gone", "there", pod="r", node="n"), with_disks("s", "EBSLimits", ["b"], on="n")]
    objects = [claim("there", cls="ebs"), storage_class("ebs", provisioner="kubernetes.io/aws-ebs")]
    for limit, statuses in ((2, {"n": TOO_MANY}), (3, {})):
        nodes = [limited("EBSLimits", "n", limit)]
        pod = with_disks("new", "EBSLimits", ["a"])
        made = make_bench(EBSLimits, nodes, pod, running, objects=objects, current=OLD)
        assert made.statuses() == statuses


def test_a_node_whose_volumes_are_migrated_is_left_to_the_driver() -> None:
    csi = msgspec.convert(
        {
            "metadata": {
                "name": "n",
                "annotations": {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/gce-pd"},
            }
        },
        CSINode,
    )
    nodes, pod = [limited("GCEPDLimits", "n", 0)], with_disks("new", "GCEPDLimits", ["a"])
    assert make_bench(GCEPDLimits, nodes, pod, objects=[csi], current=OLD).statuses() == {}
    # In 1.21 the gate of the migration was off.
    old = RELEASES["1.21"]
    assert make_bench(GCEPDLimits, nodes, pod, objects=[csi], current=old).statuses() == {"n": TOO_MANY}
    gates = "CSIMigrationGCE=true"
    assert make_bench(GCEPDLimits, nodes, pod, objects=[csi], current=old, gates=gates).statuses() == {}


@pytest.mark.parametrize(
    ("minor", "gates", "left"),
    [
        pytest.param("1.28", "", True, id="since its gate is gone any CSINode will do"),
        pytest.param("1.24", "CSIMigration=false", False, id="the gate of all was longer there"),
        pytest.param("1.23", "", False, id="before that the node had to list it"),
    ],
)
def test_a_node_that_lists_nothing(minor: str, gates: str, left: bool) -> None:
    csi, pod = msgspec.convert({"metadata": {"name": "n"}}, CSINode), with_disks("new", "CinderLimits", ["a"])
    nodes = [limited("CinderLimits", "n", 0)]
    made = make_bench(CinderLimits, nodes, pod, objects=[csi], current=RELEASES[minor], gates=gates)
    assert made.statuses() == ({} if left else {"n": TOO_MANY})


def test_claims_count_as_their_volume_or_as_one_that_will_be_made() -> None:
    bound = msgspec.convert(
        {"metadata": {"name": "pv"}, "spec": {"gcePersistentDisk": {"pdName": "a"}}}, PersistentVolume
    )
    objects = [
        bound,
        claim("bound", volume="pv"),
        claim("waiting", cls="gce"),
        storage_class("gce", provisioner="kubernetes.io/gce-pd"),
        claim("other", cls="late"),
        storage_class(),
    ]
    volumes = [{"name": n, "persistentVolumeClaim": {"claimName": n}} for n in ("bound", "waiting", "other")]
    pod = make_pod("new").spec(volumes=volumes).obj()
    for limit, full in ((2, False), (1, True)):
        made = make_bench(GCEPDLimits, [limited("GCEPDLimits", "n", limit)], pod, objects=objects, current=OLD)
        assert made.statuses() == ({"n": TOO_MANY} if full else {})


@pytest.mark.parametrize(
    ("minor", "code"),
    [
        pytest.param("1.30", "UnschedulableAndUnresolvable", id="since 1.30 a refusal"),
        pytest.param("1.28", "Error", id="before that an error"),
        pytest.param("1.22", None, id="long ago nothing"),
    ],
)
def test_a_claim_that_is_not_there(minor: str, code: str | None) -> None:
    pod = make_pod("new").spec(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "gone"}}]).obj()
    statuses = make_bench(GCEPDLimits, [make_node("n").obj()], pod, current=RELEASES[minor]).statuses()
    text = 'looking up PVC default/gone: persistentvolumeclaim "gone" not found'
    assert statuses == ({"n": (code, (text,))} if code else {})


@pytest.mark.parametrize("minor", ["1.30", "1.22"])
def test_a_claim_without_a_name_is_an_error(minor: str) -> None:
    pod = make_pod("new").spec(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": ""}}]).obj()
    statuses = make_bench(GCEPDLimits, [make_node("n").obj()], pod, current=RELEASES[minor]).statuses()
    assert statuses == {"n": ("Error", ("PersistentVolumeClaim had no name",))}


@pytest.mark.parametrize(
    ("minor", "statuses"),
    [
        pytest.param("1.23", {"n": TOO_MANY}, id="since 1.23 they count"),
        pytest.param("1.22", {}, id="before that they did not"),
    ],
)
def test_the_disks_of_ephemeral_volumes(minor: str, statuses: dict[str, Any]) -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "new", "uid": "u", "controller": True}
    objects = [
        claim("new-v", cls="gce", meta={"ownerReferences": [owner]}),
        storage_class("gce", provisioner="kubernetes.io/gce-pd"),
    ]
    volumes = [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]
    pod = make_pod("new").uid("u").spec(volumes=volumes).obj()
    nodes = [limited("GCEPDLimits", "n", 0)]
    made = make_bench(GCEPDLimits, nodes, pod, objects=objects, current=RELEASES[minor])
    assert made.statuses() == statuses
    # A claim after it counts in every minor.
    volumes.append({"name": "w", "persistentVolumeClaim": {"claimName": "own"}})
    pod = make_pod("new").uid("u").spec(volumes=volumes).obj()
    objects.append(claim("own", cls="gce"))
    made = make_bench(GCEPDLimits, nodes, pod, objects=objects, current=RELEASES[minor])
    assert made.statuses() == {"n": TOO_MANY}


def test_what_a_limit_noted_is_rolled_back_and_ends_with_a_change_of_the_node() -> None:
    cluster = make_bench(GCEPDLimits, [make_node(name).obj() for name in "ab"], make_pod().obj(), current=OLD).cluster
    nodes = NodeRows(cluster)
    noted = AttachedVolumes.of(cluster)
    noted.note(0, 5, 1)
    with cluster.undo.trial():
        noted.note(0, 3, 2)
        noted.note(1, 2, 2)
        assert AttachedVolumes.of(cluster).at(nodes).tolist() == [[3, 2], [2, 2]]
    assert AttachedVolumes.of(cluster).at(nodes).tolist() == [[5, 0], [1, 0]]
    assert AttachedVolumes.of(cluster).at(NodeRows(cluster, np.array([1]))).tolist() == [[0], [0]]
    noted.note(1, 4, 3)
    cluster.add_pod(make_pod("run").on("a").obj())
    assert AttachedVolumes.of(cluster).at(nodes).tolist() == [[0, 4], [0, 3]]
