"""Claims, classes and slices in a line each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.dynamic_resources import DeviceClass, ResourceClaim, ResourceSlice
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.plugins.lib.devices.allocator import Allocator
from ksched_cli.plugins.lib.devices.claims import ClaimTracker
from ksched_cli.plugins.lib.devices.inventory import Features, Inventory
from ksched_cli.releases.minors import DEFAULT, Release
from tests.builders import make_node, make_pod

DRIVER = "dra.example.com"
Document = dict[str, Any]


def selectors(*expressions: str) -> list[Document]:
    return [{"cel": {"expression": expression}} for expression in expressions]


def make_class(name: str = "gpu", *expressions: str, **spec: Any) -> DeviceClass:
    document = {"metadata": {"name": name}, "spec": {"selectors": selectors(*expressions), **spec}}
    return msgspec.convert(document, DeviceClass)


# The class of every request that names no other.
GPU = make_class()


def device(name: str, **fields: Any) -> Document:
    """Attributes are given by `attributes={"model": "a"}`, capacity by `capacity={"memory": "1Gi"}`."""
    kinds = {bool: "bool", int: "int", str: "string"}
    attributes = {key: {kinds[type(value)]: value} for key, value in fields.pop("attributes", {}).items()}
    capacity = {
        key: value if isinstance(value, dict) else {"value": value} for key, value in fields.pop("capacity", {}).items()
    }
    return {"name": name, "attributes": attributes, "capacity": capacity, **fields}


def devices(*names: str, **fields: Any) -> list[Document]:
    return [device(name, **fields) for name in names]


def make_slice(
    name: str,
    made: Sequence[Document] = (),
    *,
    node: str = "",
    pool: str = "",
    driver: str = DRIVER,
    generation: int = 1,
    count: int = 1,
    **spec: Any,
) -> ResourceSlice:
    """For a node if one is named, else as `spec` says, which may be `allNodes=True`."""
    document: Document = {
        "metadata": {"name": name},
        "spec": {
            "driver": driver,
            "pool": {"name": pool or node or name, "generation": generation, "resourceSliceCount": count},
            "devices": list(made),
            **({"nodeName": node} if node else {}),
            **spec,
        },
    }
    return msgspec.convert(document, ResourceSlice)


def on_node(node: str, *names: str, **fields: Any) -> ResourceSlice:
    """The devices of one node, in a pool of its own."""
    return make_slice(f"slice-{node}", devices(*names, **fields), node=node)


def exactly(name: str = "r", device_class: str = "gpu", count: int = 1, **more: Any) -> Document:
    return {"name": name, "exactly": {"deviceClassName": device_class, "count": count, **more}}


def everything(name: str = "r", device_class: str = "gpu", **more: Any) -> Document:
    return {"name": name, "exactly": {"deviceClassName": device_class, "allocationMode": "All", **more}}


def first_of(name: str, *alternatives: Document) -> Document:
    """Alternatives are made with `alternative`."""
    return {"name": name, "firstAvailable": list(alternatives)}


def alternative(name: str, device_class: str = "gpu", count: int = 1, **more: Any) -> Document:
    return {"name": name, "deviceClassName": device_class, "count": count, **more}


def make_claim(name: str, *requests: Document, constraints: Sequence[Document] = (), **more: Any) -> ResourceClaim:
    document: Document = {
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", **more.pop("metadata", {})},
        "spec": {"devices": {"requests": list(requests), "constraints": list(constraints)}},
        **more,
    }
    return msgspec.convert(document, ResourceClaim)


def pod_with(name: str, *claims: str, template: bool = False, statuses: Any = (), **requests: str) -> Pod:
    """A pod that refers to the claims, or has them made from templates of these names."""
    field = "resourceClaimTemplateName" if template else "resourceClaimName"
    references = [{"name": f"c{at}", field: claim} for at, claim in enumerate(claims)]
    made = make_pod(name).uid(f"uid-{name}").spec(resourceClaims=references).requests(**requests)
    return made.status(resourceClaimStatuses=list(statuses)).obj()


def claim_of(cluster: Cluster, name: str) -> ResourceClaim:
    """As the cluster has it now."""
    found = cluster.catalog.get(ResourceClaim, name, "default")
    assert found is not None
    return found


def allocated(*names: str, driver: str = DRIVER, pool: str = "node", **more: Any) -> Document:
    """A claim status with these devices."""
    results = [{"request": "r", "driver": driver, "pool": pool, "device": name, **more} for name in names]
    return {"allocation": {"devices": {"results": results}}}


def make_allocator(
    nodes: Sequence[Node], objects: Sequence[Any], features: Features | None = None, release: Release = DEFAULT
) -> tuple[Cluster, Allocator]:
    features = features or Features()
    cluster = Cluster(nodes, catalog=Catalog(objects), release=release)
    tracker = ClaimTracker(cluster.catalog, shareable=features.consumable)
    return cluster, Allocator(Inventory(cluster, features), tracker.allocated())


def allocate(
    claims: Sequence[ResourceClaim],
    objects: Sequence[Any],
    features: Features | None = None,
    node: Node | None = None,
    release: Release = DEFAULT,
) -> list[list[str]] | None:
    """Per claim `request=device` of what was picked on the node."""
    _, allocator = make_allocator([node or make_node("node").obj()], objects, features, release)
    picks = allocator.allocate(0, claims)
    if picks is None:
        return None
    return [[f"{pick.request.full_name}={pick.device.name}" for pick in found] for found in picks]
