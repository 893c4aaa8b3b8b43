"""What runs already: the cluster's pods by the controller that they belong to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import count

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.meta import ObjectMeta, controller_of
from ksched_cli.api.pod_facts import is_terminal
from ksched_cli.api.selectors import Selector
from ksched_cli.api.workloads import ReplicaSet
from ksched_cli.sources.controllers.naming import generated

_Owner = tuple[str, str, str]


class Existing:
    """The cluster as the controllers' informers show it."""

    def __init__(self, pods: Iterable[Pod], replica_sets: Iterable[ReplicaSet], nodes: Iterable[Node]) -> None:
        self.nodes = sorted(nodes, key=lambda node: node.metadata.name)
        self.names: set[tuple[str, str]] = set()
        self._owned: defaultdict[_Owner, list[Pod]] = defaultdict(list)
        # Names in the order in which they were met: a dict is an ordered set.
        self._sets_with_pods: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._orphans: defaultdict[str, list[Pod]] = defaultdict(list)
        self._replica_sets: defaultdict[_Owner, list[ReplicaSet]] = defaultdict(list)
        for pod in pods:
            self._add(pod)
        for replica_set in replica_sets:
            owner = controller_of(replica_set.metadata)
            if owner is not None:
                key = owner.kind, replica_set.metadata.namespace, owner.name
                self._replica_sets[key].append(replica_set)

    def _add(self, pod: Pod) -> None:
        namespace = pod.metadata.namespace
        self.names.add((namespace, pod.metadata.name))
        owner = controller_of(pod.metadata)
        if owner is None:
            self._orphans[namespace].append(pod)
        else:
            self._owned[owner.kind, namespace, owner.name].append(pod)
            if owner.kind == "ReplicaSet":
                self._sets_with_pods[namespace].setdefault(owner.name)

    def new_name(self, base: str, namespace: str, *seed: object) -> str:
        """A generated name that no pod has, taken from now on. The API server would have the controller try again."""
        for attempt in count():
            name = generated(base, namespace, *seed, attempt)
            if (namespace, name) not in self.names:
                break
        self.names.add((namespace, name))
        return name

    def pods_of(self, kind: str, metadata: ObjectMeta, selector: Selector) -> list[Pod]:
        """PodControllerRefManager.ClaimPods: its own that the selector matches, and those without a controller that
        it would adopt. Finished pods are among them."""
        owned = self._owned.get((kind, metadata.namespace, metadata.name), ())
        return [
            *(pod for pod in owned if selector.matches(pod.metadata.labels)),
            *(pod for pod in self._orphans.get(metadata.namespace, ()) if _adoptable(pod, selector)),
        ]

    def owned_by(self, kind: str, metadata: ObjectMeta) -> list[Pod]:
        """By owner reference alone."""
        return self._owned.get((kind, metadata.namespace, metadata.name), [])

    def replica_sets_of(self, metadata: ObjectMeta) -> list[ReplicaSet]:
        return self._replica_sets.get(("Deployment", metadata.namespace, metadata.name), [])

    def deployment_pods(self, metadata: ObjectMeta, selector: Selector) -> Iterator[Pod]:
        """Pods of its replica sets. A dump without those still shows whose they are: they are called after the
        deployment and the hash in the pod's label."""
        known = {each.metadata.name for each in self.replica_sets_of(metadata)}
        for name in self._sets_with_pods.get(metadata.namespace, ()):
            for pod in self._owned["ReplicaSet", metadata.namespace, name]:
                called = f"{metadata.name}-{pod.metadata.labels.get('pod-template-hash', '')}"
                if (name in known or name == called) and selector.matches(pod.metadata.labels):
                    yield pod


def _adoptable(pod: Pod, selector: Selector) -> bool:
    return pod.metadata.deletion_timestamp is None and selector.matches(pod.metadata.labels)


def active(pods: Iterable[Pod]) -> list[Pod]:
    """controller.FilterActivePods: neither finished nor on their way out."""
    return [pod for pod in pods if not is_terminal(pod) and pod.metadata.deletion_timestamp is None]
