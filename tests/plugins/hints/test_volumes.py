"""Queueing hints of the plugins that look at volumes."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ksched_cli.framework.events import ASSIGNED_POD_DELETE, Action, ClusterEvent
from ksched_cli.plugins.node_volume_limits import NodeVolumeLimits
from ksched_cli.plugins.volume_binding import VolumeBinding
from ksched_cli.plugins.volume_restrictions import VolumeRestrictions
from ksched_cli.plugins.volume_zone import VolumeZone
from tests.builders import make_node, make_pod
from tests.plugins.hints.asking import CASE, case, hint
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


def added(kind: str) -> ClusterEvent:
    return ClusterEvent(kind, Action.ADD)


def updated(kind: str) -> ClusterEvent:
    return ClusterEvent(kind, Action.UPDATE)


CLAIM, VOLUME, CLASS = "PersistentVolumeClaim", "PersistentVolume", "StorageClass"
ELSEWHERE = claim(meta={"name": "data", "namespace": "other"})
MOUNTING = with_claims("data")
EPHEMERAL = with_volumes({"name": "scratch", "ephemeral": {}})
SCRATCH = claim("pod-scratch")
PLAIN = make_pod("pod").obj()


def disk(name: str = "d", read_only: bool = False, pod: str = "pod", node: str = "") -> Any:
    return with_volumes({"name": "v", "gcePersistentDisk": {"pdName": name, "readOnly": read_only}}, pod=pod, node=node)


def in_other_namespace(pod: Any) -> Any:
    return replace(pod, metadata=replace(pod.metadata, namespace="other"))


def two_disks(*names: str, pod: str = "pod", node: str = "") -> Any:
    return with_volumes(*({"name": each, "gcePersistentDisk": {"pdName": each}} for each in names), pod=pod, node=node)


GONE = {"pod": "q", "node": "n"}
TEMPORARY = {"name": "t", "emptyDir": {}}


@pytest.mark.parametrize(
    CASE,
    [
        case("its-claim-comes", MOUNTING, added(CLAIM), None, claim("data"), True),
        case("another-claim-comes", MOUNTING, added(CLAIM), None, claim("else"), False),
        case("a-claim-of-another-namespace", MOUNTING, added(CLAIM), None, ELSEWHERE, False),
        case("the-claim-of-an-ephemeral-volume", EPHEMERAL, added(CLAIM), None, SCRATCH, False),
        case("a-pod-with-the-claim-goes", MOUNTING, ASSIGNED_POD_DELETE, with_claims("data", **GONE), None, True),
        case("a-pod-with-another-claim-goes", MOUNTING, ASSIGNED_POD_DELETE, with_claims("x", **GONE), None, False),
        case(
            "a-pod-of-another-namespace-goes",
            MOUNTING,
            ASSIGNED_POD_DELETE,
            in_other_namespace(with_claims("data", **GONE)),
            None,
            False,
        ),
        case("a-pod-with-the-disk-goes", disk(), ASSIGNED_POD_DELETE, disk(**GONE), None, True),
        case(
            "one-disk-of-two-is-free", two_disks("d", "e"), ASSIGNED_POD_DELETE, two_disks("x", "d", **GONE), None, True
        ),
        case("a-pod-with-another-disk-goes", disk(), ASSIGNED_POD_DELETE, disk("e", **GONE), None, False),
        case(
            "both-only-read-the-disk", disk(read_only=True), ASSIGNED_POD_DELETE, disk("d", True, **GONE), None, False
        ),
        case("a-node-comes", MOUNTING, added("Node"), None, make_node("n"), True),
    ],
)
def test_volume_restrictions(pod: Any, event: Any, old: Any, new: Any, expected: bool, options: Any) -> None:
    assert hint(VolumeRestrictions, pod, event, old, new, options) is expected


EBS = {"name": "v", "awsElasticBlockStore": {"volumeID": "vol-1"}}
NEBULOUS = with_volumes(EBS)


def two_limits(first: int, second: int) -> Any:
    node = csi_node("n", first, "a")
    node.spec.drivers = (*node.spec.drivers, *csi_node("n", second, "b").spec.drivers)
    return node


@pytest.mark.parametrize(
    CASE,
    [
        case("a-csi-node-comes", MOUNTING, added("CSINode"), None, csi_node("n", 1), True),
        case("a-limit-rises", MOUNTING, updated("CSINode"), csi_node("n", 1), csi_node("n", 2), True),
        case("a-limit-falls", MOUNTING, updated("CSINode"), csi_node("n", 2), csi_node("n", 1), False),
        case("a-limit-stays", MOUNTING, updated("CSINode"), csi_node("n", 2), csi_node("n", 2), False),
        case("a-limit-is-set", MOUNTING, updated("CSINode"), csi_node("n", None), csi_node("n", 1), True),
        case("a-limit-is-gone", MOUNTING, updated("CSINode"), csi_node("n", 1), csi_node("n", None), False),
        case("one-of-two-limits-rises", MOUNTING, updated("CSINode"), two_limits(1, 1), two_limits(1, 2), True),
        case("a-driver-comes", MOUNTING, updated("CSINode"), csi_node("n", 1, "a"), csi_node("n", 1, "b"), True),
        case("a-pod-with-a-claim-goes", MOUNTING, ASSIGNED_POD_DELETE, with_claims("x", **GONE), None, True),
        case(
            "a-pod-with-an-ephemeral-volume-goes",
            MOUNTING,
            ASSIGNED_POD_DELETE,
            with_volumes({"name": "s", "ephemeral": {}}, **GONE),
            None,
            True,
        ),
        case("a-pod-with-a-migrated-disk-goes", MOUNTING, ASSIGNED_POD_DELETE, disk(**GONE), None, True),
        case(
            "a-pod-with-a-disk-and-another-volume-goes",
            MOUNTING,
            ASSIGNED_POD_DELETE,
            with_volumes(TEMPORARY, EBS, **GONE),
            None,
            True,
        ),
        case("a-pod-without-volumes-goes", MOUNTING, ASSIGNED_POD_DELETE, make_pod("q").on("n"), None, False),
        case(
            "a-pod-with-other-volumes-goes",
            MOUNTING,
            ASSIGNED_POD_DELETE,
            with_volumes({"name": "v", "emptyDir": {}}, **GONE),
            None,
            False,
        ),
        case("a-pending-pod-goes", MOUNTING, ASSIGNED_POD_DELETE, with_claims("x", pod="q"), None, False),
        case("its-claim-comes", MOUNTING, added(CLAIM), None, claim("data"), True),
        case("one-of-its-claims-comes", with_claims("first", "data"), added(CLAIM), None, claim("data"), True),
        case("the-claim-of-its-ephemeral-volume", EPHEMERAL, added(CLAIM), None, SCRATCH, True),
        case("another-claim-comes", MOUNTING, added(CLAIM), None, claim("else"), False),
        case("a-claim-of-another-namespace", MOUNTING, added(CLAIM), None, ELSEWHERE, False),
        case(
            "something-is-detached",
            MOUNTING,
            ClusterEvent("VolumeAttachment", Action.DELETE),
            attachment("a", "n", "pv"),
            None,
            True,
        ),
        case(
            "of-the-disk-s-driver",
            NEBULOUS,
            ClusterEvent("VolumeAttachment", Action.DELETE),
            attachment("a", "n", "pv", "ebs.csi.aws.com"),
            None,
            True,
        ),
        case(
            "of-the-driver-of-one-of-its-volumes",
            with_volumes(TEMPORARY, EBS),
            ClusterEvent("VolumeAttachment", Action.DELETE),
            attachment("a", "n", "pv", "ebs.csi.aws.com"),
            None,
            True,
        ),
        case(
            "of-another-driver",
            NEBULOUS,
            ClusterEvent("VolumeAttachment", Action.DELETE),
            attachment("a", "n", "pv"),
            None,
            False,
        ),
        case(
            "without-any-volume",
            PLAIN,
            ClusterEvent("VolumeAttachment", Action.DELETE),
            attachment("a", "n", "pv"),
            None,
            False,
        ),
    ],
)
def test_node_volume_limits(pod: Any, event: Any, old: Any, new: Any, expected: bool, options: Any) -> None:
    assert hint(NodeVolumeLimits, pod, event, old, new, options) is expected


def topologies(*values: str) -> Any:
    return storage_class(allowedTopologies=[{"matchLabelExpressions": [{"key": "zone", "values": list(values)}]}])


INLINE = with_volumes({"name": "v", "csi": {"driver": "csi.example"}})
TWO_INLINE = with_volumes({"name": "a", "csi": {"driver": "other"}}, {"name": "v", "csi": {"driver": "csi.example"}})
CAPACITY = "CSIStorageCapacity"


@pytest.mark.parametrize(
    CASE,
    [
        case("its-claim-comes", MOUNTING, added(CLAIM), None, claim("data"), True),
        case("its-claim-changes", MOUNTING, updated(CLAIM), claim("data"), claim("data"), True),
        case("the-claim-of-its-ephemeral-volume", EPHEMERAL, added(CLAIM), None, SCRATCH, True),
        case("another-claim-comes", MOUNTING, added(CLAIM), None, claim("else"), False),
        case("a-claim-of-another-namespace", MOUNTING, updated(CLAIM), ELSEWHERE, ELSEWHERE, False),
        case("one-of-its-claims-comes", with_claims("first", "data"), added(CLAIM), None, claim("data"), True),
        case("a-class-comes", MOUNTING, added(CLASS), None, storage_class(), True),
        case("a-class-has-other-topologies", MOUNTING, updated(CLASS), topologies("a"), topologies("a", "b"), True),
        case(
            "a-class-changes-otherwise",
            MOUNTING,
            updated(CLASS),
            storage_class(),
            storage_class(reclaimPolicy="x"),
            False,
        ),
        case("a-volume-comes", MOUNTING, added(VOLUME), None, volume(), True),
        case("a-volume-changes", MOUNTING, updated(VOLUME), volume(), volume(size="2Gi"), True),
        case("a-node-comes", MOUNTING, added("Node"), None, make_node("n"), True),
        case("a-csi-node-comes", MOUNTING, added("CSINode"), None, csi_node("n", 1), True),
        case(
            "another-plugin-is-migrated",
            MOUNTING,
            updated("CSINode"),
            csi_node("n", 1),
            csi_node("n", 1, migrated="kubernetes.io/aws-ebs"),
            True,
        ),
        case("a-csi-node-changes-otherwise", MOUNTING, updated("CSINode"), csi_node("n", 1), csi_node("n", 2), False),
        case(
            "a-driver-publishes-no-longer",
            INLINE,
            updated("CSIDriver"),
            csi_driver(),
            csi_driver(publishes=False),
            True,
        ),
        case("one-of-two-drivers", TWO_INLINE, updated("CSIDriver"), csi_driver(), csi_driver(publishes=False), True),
        case("a-driver-publishes-now", INLINE, updated("CSIDriver"), csi_driver(publishes=False), csi_driver(), False),
        case("a-driver-is-as-before", INLINE, updated("CSIDriver"), csi_driver(), csi_driver(), False),
        case(
            "another-driver",
            INLINE,
            updated("CSIDriver"),
            csi_driver("other"),
            csi_driver("other", publishes=False),
            False,
        ),
        case(
            "a-pod-without-inline-volumes",
            MOUNTING,
            updated("CSIDriver"),
            csi_driver(),
            csi_driver(publishes=False),
            False,
        ),
        case("a-pool-comes", MOUNTING, added(CAPACITY), None, pool("a", "1Gi"), True),
        case("a-pool-grows", MOUNTING, updated(CAPACITY), pool("a", "1Gi"), pool("a", "2Gi"), True),
        case("a-pool-shrinks", MOUNTING, updated(CAPACITY), pool("a", "2Gi"), pool("a", "1Gi"), False),
        case("a-pool-says-something-at-last", MOUNTING, updated(CAPACITY), pool("a", None), pool("a", "1Gi"), True),
        case("a-pool-says-nothing-now", MOUNTING, updated(CAPACITY), pool("a", "1Gi"), pool("a", None), False),
        case(
            "the-largest-volume-counts",
            MOUNTING,
            updated(CAPACITY),
            pool("a", "1Gi", "1Gi"),
            pool("a", "9Gi", "1Gi"),
            False,
        ),
        case("larger-volumes", MOUNTING, updated(CAPACITY), pool("a", "9Gi", "1Gi"), pool("a", "9Gi", "2Gi"), True),
    ],
)
def test_volume_binding(pod: Any, event: Any, old: Any, new: Any, expected: bool, options: Any) -> None:
    assert hint(VolumeBinding, pod, event, old, new, options) is expected


ZONE = "topology.kubernetes.io/zone"


def zoned(*zones: str, **more: str) -> Any:
    return volume(labels={ZONE: "__".join(zones), **more} if zones else dict(more))


@pytest.mark.parametrize(
    CASE,
    [
        case("its-claim-comes", MOUNTING, added(CLAIM), None, claim("data"), True),
        case("its-claim-changes", MOUNTING, updated(CLAIM), claim("data"), claim("data", volume="pv"), True),
        case("another-claim", MOUNTING, added(CLAIM), None, claim("else"), False),
        case("a-claim-of-another-namespace", MOUNTING, added(CLAIM), None, ELSEWHERE, False),
        case("the-claim-of-its-ephemeral-volume", EPHEMERAL, added(CLAIM), None, SCRATCH, False),
        case("a-class-that-waits", MOUNTING, added(CLASS), None, storage_class(), True),
        case("a-class-that-binds-at-once", MOUNTING, added(CLASS), None, storage_class(mode="Immediate"), False),
        case("a-volume-comes", MOUNTING, added(VOLUME), None, zoned("a"), True),
        case("a-volume-in-another-zone", MOUNTING, updated(VOLUME), zoned("a"), zoned("b"), True),
        case("a-volume-gets-a-zone", MOUNTING, updated(VOLUME), zoned(), zoned("b"), True),
        case("a-volume-in-more-zones", MOUNTING, updated(VOLUME), zoned("a"), zoned("a", "b"), True),
        case("the-same-zones-otherwise", MOUNTING, updated(VOLUME), zoned("a", "b"), zoned("b", "a"), False),
        case("other-labels", MOUNTING, updated(VOLUME), zoned("a"), zoned("a", x="1"), False),
        case("a-node-comes", MOUNTING, added("Node"), None, make_node("n"), True),
    ],
)
def test_volume_zone(pod: Any, event: Any, old: Any, new: Any, expected: bool, options: Any) -> None:
    assert hint(VolumeZone, pod, event, old, new, options) is expected
