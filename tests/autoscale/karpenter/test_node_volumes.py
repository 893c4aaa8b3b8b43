"""Volumes of pods on nodes that exist: how many a driver allows, and where they can be."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ksched_cli.api.storage import CSINode, PersistentVolume, PersistentVolumeClaim
from tests.autoscale.karpenter.test_provisioner import HOST, ZONE, decided, node, pool, with_claims


def bound(name: str, **affinity: list[str]) -> tuple[PersistentVolumeClaim, PersistentVolume]:
    """A claim with its volume, of which `zone` and `host` are where it can be."""
    keys = {"zone": ZONE, "host": HOST}
    terms = [
        {"matchExpressions": [{"key": keys[key], "operator": "In", "values": [value]}]}
        for key, values in affinity.items()
        for value in values
    ]
    spec = {
        "claimRef": {"name": name, "namespace": "default"},
        "csi": {"driver": "disks", "volumeHandle": name},
        **({"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if terms else {}),
    }
    own = {
        "metadata": {"name": name, "namespace": "default", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {"volumeName": f"pv-{name}", "storageClassName": ""},
        "status": {"phase": "Bound"},
    }
    volume = {"metadata": {"name": f"pv-{name}"}, "spec": spec}
    return msgspec.convert(own, PersistentVolumeClaim), msgspec.convert(volume, PersistentVolume)


def limited(name: str, *drivers: dict[str, Any]) -> CSINode:
    return msgspec.convert({"metadata": {"name": name}, "spec": {"drivers": drivers}}, CSINode)


@pytest.mark.parametrize(
    ("allocatable", "place"),
    [
        pytest.param({"count": 2}, "a", id="room for two"),
        pytest.param({"count": 1}, "b", id="room for one"),
        pytest.param({}, "new general in any zone", id="no number counts as zero"),
        pytest.param(None, "a", id="no limit"),
    ],
)
def test_a_node_takes_as_many_volumes_as_its_driver_allows(allocatable: Any, place: str) -> None:
    """Node a has a pod with a volume of the driver, and node b has none."""
    driver = {"name": "disks"} | ({} if allocatable is None else {"allocatable": allocatable})
    nodes = [each for name in "ab" for each in (node(name), limited(name, {"name": "none"}, driver))]
    pods = [with_claims("running", "c").on("a"), with_claims("p", "d")]
    objects = [pool(), *nodes, *bound("c"), *bound("d"), *pods]
    assert decided(objects) == [f"{place}: p"]


def test_volumes_of_pods_that_were_added_count() -> None:
    objects = [
        *(pool(), node("a"), limited("a", {"name": "disks", "allocatable": {"count": 1}})),
        *(*bound("c"), *bound("d"), with_claims("first", "c"), with_claims("second", "d"), with_claims("third", "c")),
    ]
    # The third pod shares the volume of the first.
    assert decided(objects) == ["a: first third", "new general in any zone: second"]


@pytest.mark.parametrize(
    ("affinity", "place"),
    [
        pytest.param({"host": ["b"]}, "b: p", id="a host"),
        pytest.param({"host": ["c"], "zone": ["b"]}, "b: p", id="an unknown host, or a zone"),
        pytest.param({"zone": ["a"]}, "a: p", id="a zone"),
        pytest.param(
            {"zone": ["c"]},
            "p: no instance type met the scheduling requirements or had a required offering, ",
            id="a zone without nodes and types",
        ),
    ],
)
def test_a_pod_goes_where_its_volume_is(affinity: dict[str, list[str]], place: str) -> None:
    objects = [pool(), node("a").zone("a"), node("b").zone("b"), *bound("c", **affinity), with_claims("p", "c")]
    (line,) = decided(objects)
    assert line.startswith(place)
