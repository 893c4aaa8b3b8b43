"""Pods that could make room by going: fewer replicas where a controller has them, else the pod itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ksched_cli.api.core import Pod
from ksched_cli.api.meta import OwnerReference, controller_of
from ksched_cli.api.pod_facts import pod_key
from ksched_cli.api.quantity import amount_text
from ksched_cli.api.workloads import Deployment, ReplicaSet, ReplicationController, StatefulSet
from ksched_cli.plan.fixes.values import FixChange, edited, kubectl
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.edits.delete import Delete
from ksched_cli.whatif.edits.lib.edit import Reference
from ksched_cli.whatif.edits.scale import Scale

_SCALED = {each.__name__: each for each in (Deployment, ReplicaSet, StatefulSet, ReplicationController)}
# So many pods of a node are thought of.
_MOST = 2


class Occupants:
    """Who is on which node when the pod is tried, those that were placed before it included."""

    def __init__(self, loaded: Loaded, pod: Pod, on: Mapping[str, Sequence[tuple[str, Mapping[str, int]]]]) -> None:
        self._loaded = loaded
        self._pod = pod
        self._on = on
        self._pods = {pod_key(pod): pod for pod in loaded.of(Pod)}

    def lightest(self, node: str, short: Mapping[str, int]) -> list[FixChange]:
        """The smallest pods of the node each of which would leave enough, one of each owner."""
        enough = [
            (sum(held.get(name, 0) / amount for name, amount in short.items()), key)
            for key, held in self._on.get(node, ())
            if all(name == "pods" or held.get(name, 0) >= amount for name, amount in short.items())
        ]
        changes: dict[str, FixChange] = {}
        for _, key in sorted(enough):
            change = self.remove(key, self._freed(key, node, short))
            if change is not None:
                changes.setdefault(change.text.partition(" (")[0], change)
            if len(changes) == _MOST:
                break
        return list(changes.values())

    def _freed(self, key: str, node: str, short: Mapping[str, int]) -> str:
        held = next(held for each, held in self._on[node] if each == key)
        parts = [f"{amount_text(name, held[name])} {name}" for name in short if held.get(name)]
        return f" ({', '.join(parts)} on {node})" if parts else ""

    def remove(self, key: str, note: str = "") -> FixChange | None:
        """None for a pod that comes back on the same node, is going already, or is of the same controller: it would
        be one replica for another."""
        pod = self._pods.get(key)
        if pod is None or pod.metadata.deletion_timestamp is not None:
            return None
        owner = controller_of(pod.metadata)
        if owner is not None and (owner.kind in ("DaemonSet", "Node") or self._is_own(owner, pod)):
            return None
        scaled = self._scaled(pod, owner) if owner else None
        namespace = pod.metadata.namespace
        if scaled is not None:
            kind, name, replicas = scaled
            reference = Reference(kind, name, namespace)
            return edited(
                f"one replica fewer of {reference}{note}",
                "scale",
                3,
                Scale(reference, replicas - 1),
                kubectl("-n", namespace, "scale", f"{kind.__name__.lower()}/{name}", f"--replicas={replicas - 1}"),
            )
        reference = Reference(Pod, pod.metadata.name, namespace)
        command = kubectl("-n", namespace, "delete", "pod", pod.metadata.name)
        return edited(f"delete {reference}{note}", "delete", 3.5, Delete(reference), command)

    def _is_own(self, owner: OwnerReference, pod: Pod) -> bool:
        mine = controller_of(self._pod.metadata)
        return (
            mine is not None
            and (mine.kind, mine.name) == (owner.kind, owner.name)
            and pod.metadata.namespace == self._pod.metadata.namespace
        )

    def _scaled(self, pod: Pod, owner: OwnerReference) -> tuple[type, str, int] | None:
        """The workload that can be scaled to one pod fewer: from a replica set to its deployment."""
        kind = _SCALED.get(owner.kind)
        if kind is None:
            return None
        item: Any = self._loaded.named(kind, owner.name, pod.metadata.namespace)
        if item is None:
            return None
        above = controller_of(item.metadata)
        if kind is ReplicaSet and above is not None and above.kind == "Deployment":
            deployment = self._loaded.named(Deployment, above.name, pod.metadata.namespace)
            if deployment is not None:
                kind, item = Deployment, deployment
        replicas = item.spec.replicas if item.spec.replicas is not None else 1
        return (kind, item.metadata.name, replicas) if replicas > 0 and item.spec.template is not None else None
