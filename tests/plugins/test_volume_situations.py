"""Situations with several claims, disks that a driver has taken over, and published capacity, plugin by plugin."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.plugins.lib.volumes import SELECTED_NODE
from ksched_cli.plugins.node_volume_limits import NodeVolumeLimits
from ksched_cli.plugins.volume_binding import VolumeBinding
from ksched_cli.plugins.volume_restrictions import VolumeRestrictions
from ksched_cli.plugins.volume_zone import VolumeZone
from tests.builders import make_node, make_pod
from tests.harness import Bench, make_bench
from tests.plugins.storage import (
    attachment,
    claim,
    csi_driver,
    csi_node,
    pool,
    storage_class,
    volume,
    with_claims,
    with_volumes,
)

AFFINITY = "node(s) didn't match PersistentVolume's node affinity"
BIND = "node(s) didn't find available persistent volumes to bind"
SPACE = "node(s) did not have enough free storage"
EXISTS = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
STATIC, DYNAMIC = storage_class(provisioner="kubernetes.io/no-provisioner"), storage_class("made")
NODES = [make_node("a").zone("a").obj(), make_node("b").zone("b").obj()]
GENERIC = {"name": "v0", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
OWNED = {"ownerReferences": [{"kind": "Pod", "name": "pod", "uid": "uid-pod", "controller": True}]}


def reasons(pod: Any, *objects: Any, nodes: Any = NODES) -> dict[str, tuple[str, ...]]:
    made = make_bench(VolumeBinding, nodes, pod, objects=objects)
    return {name: texts for name, (_, texts) in made.statuses().items()}


@pytest.mark.parametrize(
    ("names", "objects", "expected"),
    [
        pytest.param("xy", [claim("x"), claim("y"), volume("p", zone="a"), volume("q", zone="a")], {"b": (BIND,)},
                     id="a volume each"),
        pytest.param("xy", [claim("x"), claim("y", size="9Gi"), volume("p", zone="a"), volume("q", zone="a")],
                     {"a": (BIND,), "b": (BIND,)}, id="a volume for one of two"),
        pytest.param("xy", [claim("x", volume="p"), volume("p", owner="x"), claim("y"), volume("q", zone="a")],
                     {"b": (BIND,)}, id="one bound, one not"),
        pytest.param("xy", [claim("x", volume="p"), volume("p", owner="x"), claim("y")], {"a": (BIND,), "b": (BIND,)},
                     id="one bound, nothing for the other"),
        pytest.param("xy", [claim("x", volume="p"), volume("p", zone="a", owner="x"), claim("y"), volume("q", zone="b")],
                     {"a": (BIND,), "b": (AFFINITY,)}, id="one bound and one not, on different nodes"),
        pytest.param("xy", [claim("x"), volume("p", owner="x", zone="a"), claim("y"), volume("q", zone="a")],
                     {"b": (BIND,)}, id="one promised, one free"),
        pytest.param("xy", [claim("x", cls="made"), claim("y"), volume("q", zone="a")], {"b": (BIND,)},
                     id="one made, one found"),
        pytest.param("xy", [claim("x", volume="p"), volume("p", zone="a"), claim("y", cls="made")], {"b": (AFFINITY,)},
                     id="one bound, one made"),
        pytest.param("xy", [claim("x"), volume("p"), claim("y", cls="made", annotations={SELECTED_NODE: "a"})],
                     {"b": (BIND,)}, id="one found, one promised to a node"),
        pytest.param("xy", [claim("x", cls="made"), claim("y", cls="full"), storage_class("full", provisioner="csi.full"),
                            csi_driver("csi.full")], {"a": (SPACE,), "b": (SPACE,)}, id="one made, no space for one"),
        pytest.param("xy", [claim("x", volume="p"), volume("p"), claim("y", volume="gone")],
                     {"a": (EXISTS,), "b": (EXISTS,)}, id="one bound, one to a volume that is gone"),
    ],
)  # fmt: skip
def test_several_claims(names: str, objects: list[Any], expected: dict[str, tuple[str, ...]]) -> None:
    assert reasons(with_claims(*names), STATIC, DYNAMIC, *objects) == expected


@pytest.mark.parametrize(
    ("pod", "objects", "message"),
    [
        pytest.param(with_claims("x", "y"), [claim("x", volume="p"), volume("p")],
                     'persistentvolumeclaim "y" not found', id="one of two is missing"),
        pytest.param(with_claims("x", "y"), [claim("x", cls="now"), claim("y", volume="p"), volume("p")],
                     "pod has unbound immediate PersistentVolumeClaims", id="one immediate, one bound"),
        pytest.param(with_claims("x", "y"), [claim("x", cls="now"), claim("y")],
                     "pod has unbound immediate PersistentVolumeClaims", id="one immediate, one that waits"),
        pytest.param(with_volumes(GENERIC), [],
                     'waiting for ephemeral volume controller to create the persistentvolumeclaim "pod-v0"',
                     id="the claim of an ephemeral volume is not there yet"),
        pytest.param(with_volumes(GENERIC), [claim("pod-v0")],
                     "PVC default/pod-v0 was not created for pod default/pod (pod is not owner)",
                     id="the claim of an ephemeral volume is another's"),
    ],
)  # fmt: skip
def test_pods_that_no_node_can_help(pod: Any, objects: list[Any], message: str) -> None:
    made = make_bench(VolumeBinding, NODES, pod, objects=[STATIC, storage_class("now", mode="Immediate"), *objects])
    assert made.pre_filter().message == message


def test_the_claim_of_an_ephemeral_volume_waits_like_any_other() -> None:
    objects = [DYNAMIC, claim("pod-v0", cls="made", meta=OWNED)]
    assert reasons(with_volumes(GENERIC), *objects) == {}


# Published capacity

EVERYWHERE: dict[str, Any] = {}


def published(capacity: str | None, largest: str | None = None, topology: Any = None, cls: str = "made") -> Any:
    found = pool("a", capacity, largest, cls)
    if topology is not None:
        found.node_topology = type(found.node_topology)(match_labels=topology)
    return found


def nowhere(capacity: str) -> Any:
    found = pool("a", capacity, cls="made")
    found.node_topology = None
    return found


@pytest.mark.parametrize(
    ("pools", "free"),
    [
        pytest.param([published("1Gi", topology=EVERYWHERE)], "ab", id="reached from everywhere"),
        pytest.param([published("1Gi")], "a", id="reached from one node"),
        pytest.param([pool("b", "1Gi", cls="made"), pool("a", "1Mi", cls="made")], "b", id="several pools"),
        pytest.param([], "", id="nothing published"),
        pytest.param([published("1Gi", topology={"topology.kubernetes.io/zone": "c"})], "", id="on other nodes"),
        pytest.param([published("1Gi", cls="late")], "", id="of another class"),
        pytest.param([published("1Mi")], "", id="too little"),
        pytest.param([published("1Gi", "1Mi")], "", id="too little for one volume"),
        pytest.param([published("0")], "", id="none"),
        pytest.param([published("1Gi", "0")], "", id="none for one volume"),
        pytest.param([published(None)], "", id="not known"),
        pytest.param([nowhere("1Gi")], "", id="reached from nowhere"),
    ],
)
def test_published_capacity(pools: list[Any], free: str) -> None:
    expected = {name: (SPACE,) for name in "ab" if name not in free}
    assert reasons(with_claims("data"), DYNAMIC, csi_driver(), claim(cls="made"), *pools) == expected


# Disks that a driver has taken over

GCE_ZONE, EBS_ZONE = "topology.gke.io/zone", "topology.ebs.csi.aws.com/zone"
ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
REGION, BETA_REGION = "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"
PD: dict[str, Any] = {"gcePersistentDisk": {"pdName": "disk"}}


def only_in(*wanted: tuple[str, str]) -> dict[str, Any]:
    expressions = [{"key": key, "operator": "In", "values": [value]} for key, value in wanted]
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}}


@pytest.mark.parametrize(
    ("spec", "labels", "node_labels", "migrated", "reached"),
    [
        pytest.param({**PD, **only_in((ZONE, "z"))}, {}, {GCE_ZONE: "z"}, "kubernetes.io/gce-pd", True,
                     id="by the driver's label"),
        pytest.param({**PD, **only_in((ZONE, "z"))}, {}, {GCE_ZONE: "y", ZONE: "z"}, "kubernetes.io/gce-pd", False,
                     id="by the driver's label only"),
        pytest.param({**PD, **only_in((ZONE, "z"))}, {}, {GCE_ZONE: "z"}, "", False, id="not migrated on the node"),
        pytest.param({**PD, **only_in((ZONE, "z"))}, {}, {ZONE: "z"}, None, True, id="no CSINode"),
        pytest.param({**PD, **only_in((BETA_ZONE, "z"), (BETA_REGION, "r"))}, {}, {GCE_ZONE: "z", REGION: "r"},
                     "kubernetes.io/gce-pd", True, id="beta labels"),
        pytest.param({**PD, **only_in((ZONE, "z"), (BETA_REGION, "r"))}, {}, {GCE_ZONE: "z", BETA_REGION: "r"},
                     "kubernetes.io/gce-pd", True, id="the beta label of a region beside a zone's of today"),
        pytest.param(PD, {ZONE: "y__z"}, {GCE_ZONE: "z"}, "kubernetes.io/gce-pd", True, id="by the volume's label"),
        pytest.param(PD, {BETA_ZONE: "y"}, {GCE_ZONE: "z"}, "kubernetes.io/gce-pd", False, id="another zone by label"),
        pytest.param({**PD, **only_in((REGION, "r"))}, {ZONE: "z"}, {GCE_ZONE: "z", REGION: "r"},
                     "kubernetes.io/gce-pd", True, id="affinity and label add up"),
        pytest.param(PD, {}, {}, "kubernetes.io/gce-pd", True, id="a volume that says nothing"),
        pytest.param({"awsElasticBlockStore": {"volumeID": "v"}, **only_in((ZONE, "z"))}, {}, {EBS_ZONE: "z"},
                     "kubernetes.io/aws-ebs", True, id="another driver"),
        pytest.param({"azureDisk": {"diskName": "d", "diskURI": "d"}, **only_in((ZONE, "z"))}, {}, {ZONE: "z"},
                     "kubernetes.io/azure-disk", True, id="a driver that keeps the labels"),
    ],
)  # fmt: skip
def test_where_a_migrated_volume_is(
    spec: dict[str, Any], labels: dict[str, str], node_labels: dict[str, str], migrated: str | None, reached: bool
) -> None:
    node = make_node("n")
    for key, value in node_labels.items():
        node.label(key, value)
    objects = [claim(volume="pv"), volume(labels=labels, **spec)]
    if migrated is not None:
        objects.append(csi_node("n", 1, migrated=migrated))
    expected = {} if reached else {"n": (AFFINITY,)}
    assert reasons(with_claims("data"), *objects, nodes=[node.obj()]) == expected


EXCEEDED = ("Unschedulable", ("node(s) exceed max volume count",))
EBS, EBS_DRIVER = "kubernetes.io/aws-ebs", "ebs.csi.aws.com"


def disk(name: str) -> dict[str, Any]:
    return {"name": name, "awsElasticBlockStore": {"volumeID": f"aws://z/{name}"}}


def ebs(name: str) -> Any:
    return volume(f"pv-{name}", awsElasticBlockStore={"volumeID": f"aws://z/vol-{name}"})


def limits(pod: Any, *objects: Any, running: Any = ()) -> Bench:
    common = [claim(name, volume=f"pv-{name}") for name in "abc"]
    return make_bench(NodeVolumeLimits, [make_node("n").obj()], pod, running, objects=[*common, *objects])


MIGRATED = csi_node("n", 1, EBS_DRIVER, EBS)
CSI_VOLUMES = [volume(f"pv-{name}", csi={"driver": EBS_DRIVER, "volumeHandle": f"vol-{name}"}) for name in "abc"]


@pytest.mark.parametrize(
    ("pod", "objects", "running", "exceeded"),
    [
        pytest.param(with_claims("a", "b"), [ebs("a"), ebs("b"), MIGRATED], [], True, id="claims on disks"),
        pytest.param(with_claims("a"), [ebs("a"), ebs("b"), MIGRATED], ["b"], True, id="a running pod's disk"),
        pytest.param(with_claims("a"), [ebs("a"), *CSI_VOLUMES[1:], MIGRATED], ["b"], True,
                     id="a disk, and the driver's own volume"),
        pytest.param(with_claims("a"), [*CSI_VOLUMES[:1], ebs("b"), MIGRATED], ["b"], True,
                     id="the driver's own volume, and a disk"),
        pytest.param(with_volumes(disk("vol-x")), [ebs("a"), MIGRATED], ["a"], True, id="a disk in the pod"),
        pytest.param(with_volumes(disk("vol-a")), [ebs("a"), MIGRATED], ["a"], False, id="the same disk by two names"),
        pytest.param(with_claims("a", "b"), [ebs("a"), ebs("b"), csi_node("n", 1, EBS_DRIVER)], [], True,
                     id="disks on a node that does not say so"),
        pytest.param(with_claims("x", "y"), [claim("x", cls="ebs"), claim("y", cls="ebs"),
                                             storage_class("ebs", provisioner=EBS), MIGRATED], [], True,
                     id="claims that will get disks"),
        pytest.param(with_claims("x", "y"), [claim("x", cls="gone"), claim("y", cls="gone"), MIGRATED], [], False,
                     id="claims without their class"),
        pytest.param(with_claims("x", "y"), [claim("x", cls="late", volume="gone"), claim("y", cls="late"),
                                             storage_class("late", provisioner=EBS_DRIVER), MIGRATED], [], True,
                     id="a volume that is gone counts by its class"),
        pytest.param(with_claims("a", "b"), [volume("pv-a", vsphereVolume={"volumePath": "p"}),
                                             volume("pv-b", vsphereVolume={"volumePath": "q"}),
                                             csi_node("n", 1, "csi.vsphere.vmware.com", "kubernetes.io/vsphere-volume")],
                     [], False, id="disks whose migration is not counted"),
        pytest.param(with_claims("a"), [*CSI_VOLUMES, MIGRATED, attachment("t", "n", "pv-b", EBS_DRIVER)], [], True,
                     id="an attachment without a pod"),
        pytest.param(with_volumes({"name": "s", "secret": {"secretName": "s"}}, GENERIC),
                     [claim("pod-v0", volume="pv-a", meta=OWNED), *CSI_VOLUMES, MIGRATED], ["b"], True,
                     id="an ephemeral volume"),
    ],
)  # fmt: skip
def test_volumes_that_count(pod: Any, objects: list[Any], running: list[str], exceeded: bool) -> None:
    others = [with_claims(*running, pod="r", node="n")] if running else []
    assert limits(pod, *objects, running=others).statuses() == ({"n": EXCEEDED} if exceeded else {})


def test_an_ephemeral_volume_without_its_claim() -> None:
    text = 'looking up PVC default/pod-v0: persistentvolumeclaim "pod-v0" not found'
    assert limits(with_volumes(GENERIC), MIGRATED).statuses() == {"n": ("UnschedulableAndUnresolvable", (text,))}


@pytest.mark.parametrize(
    ("pod", "skipped"),
    [
        pytest.param(with_volumes({"name": "s", "secret": {"secretName": "s"}}), True, id="a secret"),
        pytest.param(with_volumes({"name": "c", "configMap": {"name": "c"}}), True, id="a config map"),
        pytest.param(with_claims("a"), False, id="a claim"),
        pytest.param(with_volumes(GENERIC), False, id="an ephemeral volume"),
        pytest.param(with_volumes(disk("d")), False, id="a disk that could be migrated"),
    ],
)
def test_which_pods_are_counted(pod: Any, skipped: bool) -> None:
    assert (limits(pod).pre_filter().skipped if skipped else not limits(pod).pre_filter().skip) is True


# Disks and claims for one


@pytest.mark.parametrize(
    "source",
    [
        pytest.param({"emptyDir": {}}, id="an empty directory"),
        pytest.param({"gcePersistentDisk": {"pdName": "d"}}, id="gce"),
        pytest.param({"awsElasticBlockStore": {"volumeID": "d"}}, id="ebs"),
        pytest.param({"iscsi": {"iqn": "d", "targetPortal": "p"}}, id="iscsi"),
        pytest.param({"rbd": {"monitors": ["m"], "image": "d"}}, id="rbd"),
    ],
)
def test_a_node_without_pods_has_every_disk_free(source: dict[str, Any]) -> None:
    made = make_bench(VolumeRestrictions, [make_node("n").obj()], with_volumes({"name": "v", **source}))
    assert made.statuses() == {}
    assert bool(getattr(made.pre_filter(), "skipped", False)) is ("emptyDir" in source)


def test_two_claims_for_one_pod_are_one_reason() -> None:
    only = {"modes": ("ReadWriteOncePod",)}
    objects = [claim("x", volume="p", **only), claim("y", volume="q", **only)]
    running = [with_claims("x", "y", pod="r", node="n")]
    made = make_bench(VolumeRestrictions, [make_node("n").obj()], with_claims("x", "y"), running, objects=objects)
    reason = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
    assert made.statuses() == {"n": ("Unschedulable", (reason,))}


# Zones by label


@pytest.mark.parametrize(
    ("volume_labels", "node_labels", "passes"),
    [
        pytest.param({ZONE: "a", REGION: "r"}, {ZONE: "a"}, False, id="the node has no region"),
        pytest.param({BETA_ZONE: "a"}, {BETA_ZONE: "a", "uselessLabel": "x"}, True, id="beta zone"),
        pytest.param({BETA_REGION: "r"}, {BETA_REGION: "s"}, False, id="another beta region"),
        pytest.param({REGION: "r"}, {REGION: "r", ZONE: "b"}, True, id="the region alone"),
        pytest.param({REGION: "r"}, {REGION: "s", ZONE: "b"}, False, id="another region"),
        pytest.param({BETA_ZONE: "a"}, {ZONE: "b"}, False, id="beta volume in another zone"),
        pytest.param({BETA_ZONE: "a__b"}, {BETA_ZONE: "b"}, True, id="one of several beta zones"),
        pytest.param({BETA_ZONE: "a__b"}, {BETA_ZONE: "c"}, False, id="none of several beta zones"),
    ],
)
def test_zones(volume_labels: dict[str, str], node_labels: dict[str, str], passes: bool) -> None:
    node = make_node("n")
    for key, value in node_labels.items():
        node.label(key, value)
    objects = [claim(volume="pv"), volume(labels=volume_labels)]
    made = make_bench(VolumeZone, [node.obj()], with_claims("data"), objects=objects)
    assert (made.statuses() == {}) is passes


def test_a_pod_without_volumes_has_no_zone() -> None:
    assert make_bench(VolumeZone, [make_node("n").obj()], make_pod().obj()).pre_filter().skipped
