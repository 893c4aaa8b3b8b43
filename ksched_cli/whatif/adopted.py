"""Pods of a custom resource that run already: the workload that stands for the resource takes them over."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ksched_cli.api.selectors import selector_of_controller
from ksched_cli.api.workloads import ReplicaSet
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.controlplane.store import identity_of
from ksched_cli.sources.controllers.templates import owner_reference
from ksched_cli.sources.custom.labels import resource_of


def adopt(plane: ControlPlane, item: Any) -> None:
    """Make the workload the controller of the pods and ReplicaSets of its custom resource that its selector matches."""
    resource, store = resource_of(item), plane.store
    if resource is None or resource == identity_of(item) or getattr(item.spec, "selector", None) is None:
        return
    selector = selector_of_controller(item.spec.selector)
    owned: list[Any] = [*store.owned_by_identity(resource, ReplicaSet), *store.pods_of_identity(resource)]
    for each in owned:
        if selector.matches(each.metadata.labels):
            owner = owner_reference(type(item).__name__, "apps/v1", item.metadata)
            plane.api.update(replace(each, metadata=replace(each.metadata, owner_references=(owner,))))
