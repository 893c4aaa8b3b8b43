"""Where claims allow the node of a pod, which claims Karpenter refuses, and how many volumes of a driver count."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ksched_cli.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from ksched_cli.autoscale.karpenter.volumes import ClaimedVolumes, MissingObjectError
from tests.builders import make_pod

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
BOUND = {"pv.kubernetes.io/bind-completed": "yes"}


def claim(name: str, volume: str = "", of_class: str = "", **more: Any) -> PersistentVolumeClaim:
    metadata = {"name": name, "namespace": "default", **more.pop("metadata", {})}
    spec = {"volumeName": volume, "storageClassName": of_class}
    return msgspec.convert({"metadata": metadata, "spec": spec, **more}, PersistentVolumeClaim)


def volume(
    name: str, *terms: dict[str, list[str]], source: dict[str, Any] | None = None, **metadata: Any
) -> PersistentVolume:
    required = [
        {"matchExpressions": [{"key": k, "operator": "In", "values": v} for k, v in each.items()]} for each in terms
    ]
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": required}}} if terms else {}
    spec = {"claimRef": {"name": "c"}, **affinity, **(source or {"csi": {"driver": "d", "volumeHandle": "h"}})}
    return msgspec.convert({"metadata": {"name": name, **metadata}, "spec": spec}, PersistentVolume)


def storage_class(
    name: str, *zones: list[str], mode: str = "WaitForFirstConsumer", provisioner: str = "d"
) -> StorageClass:
    terms = [{"matchLabelExpressions": [{"key": ZONE, "values": each}]} for each in zones]
    document = {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode}
    return msgspec.convert({**document, "allowedTopologies": terms}, StorageClass)


def of_pod(*claims: str) -> Any:
    volumes = [{"name": f"v{at}", "persistentVolumeClaim": {"claimName": each}} for at, each in enumerate(claims)]
    return make_pod("p").spec(volumes=[{"name": "empty", "emptyDir": {}}, *volumes]).obj()


def claimed(*objects: Any) -> ClaimedVolumes:
    return ClaimedVolumes(
        {("default", each.metadata.name): each for each in objects if isinstance(each, PersistentVolumeClaim)},
        {each.metadata.name: each for each in objects if isinstance(each, PersistentVolume)},
        {each.metadata.name: each for each in objects if isinstance(each, StorageClass)},
    )


A, B = {ZONE: ["a"]}, {ZONE: ["b"]}


@pytest.mark.parametrize(
    ("objects", "claims", "wanted"),
    [
        pytest.param([claim("c", "v"), volume("v", A)], "c", [f"{ZONE} In [a]"], id="a bound volume"),
        pytest.param([claim("c", "v"), volume("v", A, B)], "c", [f"{ZONE} In [a]", f"{ZONE} In [b]"], id="two terms"),
        pytest.param([claim("c", "v"), volume("v")], "c", [], id="a volume for every node"),
        pytest.param([claim("c")], "c", [], id="neither volume nor class"),
        pytest.param(
            [claim("c", of_class="k"), storage_class("k", ["a", "b"])], "c", [f"{ZONE} In [a b]"], id="a class"
        ),
        pytest.param([claim("c", of_class="k"), storage_class("k")], "c", [], id="a class for every node"),
        pytest.param(
            [claim("c", "v"), volume("v", {HOST: ["n"], **A}, source={"local": {"path": "/d"}})],
            "c",
            [f"{ZONE} In [a]"],
            id="a local volume without its host",
        ),
        pytest.param(
            [claim("c", "v"), volume("v", {HOST: ["n"]}, A, source={"hostPath": {"path": "/d"}})],
            "c",
            ["", f"{ZONE} In [a]"],
            id="a term that has only the host",
        ),
        pytest.param(
            [claim("c", "v"), volume("v", {}, source={"local": {"path": "/d"}})], "c", [], id="a term without rules"
        ),
        pytest.param(
            [claim("c", "v"), volume("v", {HOST: ["n"]})], "c", [f"{HOST} In [n]"], id="the host of another volume"
        ),
        pytest.param(
            [claim("c", "v"), volume("v", A, B), claim("e", "w"), volume("w", B)],
            "c e",
            [f"{ZONE} In [b]"],
            id="two volumes that share a zone",
        ),
        pytest.param(
            [claim("c", "v"), volume("v", A), claim("e"), claim("f", "w"), volume("w", A)],
            "e c e f",
            [f"{ZONE} In [a]"],
            id="a claim without rules before and between",
        ),
        pytest.param(
            [claim("c", "v"), volume("v", A), claim("e", "w"), volume("w", B)],
            "c e",
            [f"{ZONE} DoesNotExist"],
            id="two volumes that share no zone",
        ),
    ],
)
def test_alternatives_of_the_volumes_of_a_pod(objects: list[Any], claims: str, wanted: list[str]) -> None:
    pod = of_pod(*claims.split())
    found = claimed(*objects).of(pod)
    # The text of requirements leaves out the host.
    texts = [", ".join(str(each[key]) for key in sorted(each)) for each in found.alternatives]
    assert (texts, found.is_missing) == (wanted, False)


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([], id="no claim"),
        pytest.param([claim("c", "v")], id="no volume"),
        pytest.param([claim("c", of_class="k")], id="no class"),
    ],
)
def test_a_missing_object_switches_the_rules_of_volumes_off(objects: list[Any]) -> None:
    volumes = claimed(*objects)
    assert volumes.of(of_pod("c")).is_missing
    with pytest.raises(MissingObjectError):
        volumes.requirements(of_pod("c"))


@pytest.mark.parametrize(
    ("objects", "problem"),
    [
        pytest.param([claim("c", "v", metadata={"annotations": BOUND}), volume("v")], "", id="bound"),
        pytest.param([claim("c", of_class="k"), storage_class("k")], "", id="waits for its first pod"),
        pytest.param([], '"c" not found', id="no claim"),
        pytest.param(
            [claim("c", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})], "claim is being deleted", id="deleted"
        ),
        pytest.param([claim("c", "v", status={"phase": "Lost"})], "bound to non-existent persistentvolume", id="lost"),
        pytest.param([claim("c", "v")], 'persistentvolumes "v" not found', id="no volume"),
        pytest.param(
            [claim("c", "v", metadata={"annotations": BOUND}), volume("v", deletionTimestamp="2026-01-01T00:00:00Z")],
            "persistentvolume is being deleted",
            id="a volume that is being deleted",
        ),
        pytest.param([claim("c", "v"), volume("v")], "considered unbound", id="not bound completely"),
        pytest.param([claim("c")], "must define a storage class", id="no class named"),
        pytest.param([claim("c", of_class="k")], "failed to get storage class", id="no class"),
        pytest.param(
            [claim("c", of_class="k"), storage_class("k", mode="Immediate")], "must be bound", id="binds at once"
        ),
    ],
)
def test_which_claims_are_refused(objects: list[Any], problem: str) -> None:
    found = claimed(*objects, claim("bound", "b", metadata={"annotations": BOUND}), volume("b")).problem(
        of_pod("bound", "c")
    )
    assert problem in found
    assert bool(found) is bool(problem)


def test_claims_count_for_the_driver_of_their_volume_or_class() -> None:
    volumes = claimed(
        *(claim("csi", "v"), volume("v"), claim("ebs", "w"), claim("nfs", "x"), claim("lost", "y")),
        volume("w", source={"awsElasticBlockStore": {"volumeID": "i"}}),
        volume("x", source={"nfs": {"server": "s", "path": "/"}}),
        *(
            claim("new", of_class="k"),
            storage_class("k"),
            claim("none", of_class="gone"),
            claim("old", of_class="in-tree"),
        ),
        storage_class("in-tree", provisioner="kubernetes.io/gce-pd"),
    )
    pod = of_pod("missing", "csi", "ebs", "nfs", "lost", "new", "none", "old")
    assert {driver: sorted(claims) for driver, claims in volumes.claims_by_driver(pod).items()} == {
        "d": ["default/csi", "default/new"],
        "ebs.csi.aws.com": ["default/ebs"],
        "pd.csi.storage.gke.io": ["default/old"],
    }
