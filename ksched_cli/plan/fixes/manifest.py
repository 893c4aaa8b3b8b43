"""A JSON patch of a pod as changes of the manifest that the pod comes from: file, line, field and value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ksched_cli.api.core import Pod
from ksched_cli.api.json_patch import Operation, pointer_steps
from ksched_cli.api.workloads import PodTemplate
from ksched_cli.controlplane.store import Store, identity_of
from ksched_cli.controlplane.workloads import owners, top_owner
from ksched_cli.plan.fixes.values import ManifestChange
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.places import Path, Places

_CLASS, _PRIORITY, _POLICY = "/spec/priorityClassName", "/spec/priority", "/spec/preemptionPolicy"


class PodManifest:
    """The object of the manifests that the pod comes from."""

    def __init__(self, places: Places, item: Any) -> None:
        self._places, self._item = places, item

    def changes(self, operations: Sequence[Operation]) -> tuple[ManifestChange, ...]:
        return tuple(self._changes(operations))

    def _changes(self, operations: Sequence[Operation]) -> Iterator[ManifestChange]:
        """A priority class sets the priority and the policy of its pods: a manifest names the class only."""
        paths = {each["path"] for each in operations}
        for each in operations:
            if each["path"] in (_PRIORITY, _POLICY) and _CLASS in paths:
                continue
            if each["path"] == _POLICY and _PRIORITY in paths:
                continue
            if each["path"] == _PRIORITY:
                value = f"(the name of a new PriorityClass with value {each['value']})"
                yield ManifestChange(self._places.of_pod_field(self._item, ("spec", "priorityClassName")), "set", value)
            else:
                yield self._change(each)

    def _change(self, operation: Operation) -> ManifestChange:
        steps = _path(operation["path"])
        appends = operation["op"] == "add" and steps[-1] == "-"
        place = self._places.of_pod_field(self._item, steps[:-1] if appends else steps)
        if operation["op"] == "remove":
            return ManifestChange(place, "delete")
        return ManifestChange(place, "append" if appends else "set", operation["value"])


def manifest_of(pod: Pod, store: Store, manifests: Sequence[Loaded]) -> PodManifest | None:
    """None if the pod comes from no manifest. The last manifest wins, as the last one that is applied does."""
    wanted = {identity_of(pod), top_owner(store, pod), *owners(store, pod)}
    for loaded in reversed(manifests):
        for items in loaded.objects.values():
            for item in items:
                if identity_of(item) in wanted or _is_of_template(pod, item):
                    return PodManifest(Places(loaded), item)
    return None


def _is_of_template(pod: Pod, item: Any) -> bool:
    """No controller owns the pod that is made of a PodTemplate."""
    return (
        isinstance(item, PodTemplate)
        and not pod.metadata.owner_references
        and item.metadata.namespace == pod.metadata.namespace
        and pod.metadata.name.startswith(f"{item.metadata.name}-")
    )


def _path(pointer: str) -> Path:
    """Steps of a path in a manifest, where positions in lists are numbers."""
    return tuple(int(step) if step.isdigit() else step for step in pointer_steps(pointer))
