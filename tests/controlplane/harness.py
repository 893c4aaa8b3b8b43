"""The control plane without a scheduler: pods are bound by a rule of the test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from ksched_cli.api.core import Namespace, Node, Pod, Taint
from ksched_cli.api.object_facts import is_ready, is_terminal
from ksched_cli.api.workloads import CronJob, DaemonSet, Deployment, Job, PodDisruptionBudget, ReplicaSet, StatefulSet
from ksched_cli.controlplane.api_server import ApiServer
from ksched_cli.controlplane.controllers.daemon_pods import daemon_node_of
from ksched_cli.controlplane.controllers.registry import Controllers
from ksched_cli.controlplane.draws import Choices, Draws
from ksched_cli.controlplane.kubelet import Kubelets, running
from ksched_cli.controlplane.store import Store
from ksched_cli.controlplane.work import Controller, WorkQueue
from ksched_cli.engine.hints import VirtualClock
from ksched_cli.sources.loaded import Loaded
from tests.builders import make_node

# Of pods that were there before the run.
SINCE = "2026-01-01T00:00:00Z"
_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (CronJob, DaemonSet, Deployment, Job, Namespace, PodDisruptionBudget, ReplicaSet, StatefulSet)
}
Place = Callable[[Pod], str]


def make(kind: str, name: str, *, metadata: Any = None, status: Any = None, **spec: Any) -> Any:
    """An object of the namespace `default`, its spec by JSON names. Workloads select and label `app: NAME`."""
    labels = {"app": name}
    document: dict[str, Any] = {"metadata": {"name": name, "namespace": "default", **(metadata or {})}, "spec": spec}
    if kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"):
        spec.setdefault("selector", {"matchLabels": labels})
    if kind in ("DaemonSet", "Deployment", "Job", "ReplicaSet", "StatefulSet"):
        spec.setdefault("template", template(name))
    if status is not None:
        document["status"] = status
    if kind == "Namespace":
        document = {"metadata": {"name": name}}
    return msgspec.convert(document, _KINDS[kind])


def template(name: str, image: str = "app:v1", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "main", "image": image}], **spec}}


def changed(item: Any, **spec: Any) -> Any:
    """The object with other values in its spec, by JSON names."""
    document = msgspec.to_builtins(item.spec)
    return replace(item, spec=msgspec.convert({**document, **spec}, type(item.spec)))


def nodes(count: int) -> list[Node]:
    return [make_node(f"node-{number}").obj() for number in range(1, count + 1)]


def rested(*objects: Any, place: Place | None = None) -> ControlPlane:
    """A control plane over an input at rest: what the controllers make of new workloads."""
    there = [item for item in objects if isinstance(item, Node | Pod)]
    before = ControlPlane(*there, place=place)
    for item in objects:
        if not isinstance(item, Node | Pod):
            before.api.create(item)
    before.run()
    return ControlPlane(*(item for kind in before.store.kinds() for item in before.store.of(kind)), place=place)


def started(pod: Pod, node: str) -> Pod:
    """The pod as it runs on a node since before the run."""
    bound = replace(pod, spec=replace(pod.spec, node_name=node))
    return replace(running(bound, SINCE), metadata=replace(pod.metadata, creation_timestamp=SINCE))


class ControlPlane(Controller):
    """API server, controllers, kubelets, and in the scheduler's place a rule: the node of a pod, empty for Pending.

    Without a rule, pods go to the node with the fewest, DaemonSets' pods to their own.
    """

    def __init__(self, *objects: Any, place: Place | None = None, draws: Choices | None = None) -> None:
        loaded = Loaded()
        for item in objects:
            loaded.add(item)
        clock = VirtualClock()
        api = ApiServer(Store(loaded), clock, Draws(draws))
        super().__init__(api, WorkQueue(clock, lambda: api.version))
        self.place = place or self._fewest
        self.events: list[tuple[float, str, str]] = []
        api.watch(self._seen)
        self.kubelets = Kubelets(api, self.queue)
        self.registry = Controllers(api, self.queue)
        self.controllers = self.registry.all

    # In the scheduler's place

    def keys_to_reconcile(self, old: Any, new: Any) -> tuple[()]:
        return ()

    def reconcile(self, key: tuple[str, str]) -> None:
        pod = self.store.get(Pod, key[1], key[0])
        if pod is None or pod.spec.node_name or pod.metadata.deletion_timestamp or is_terminal(pod):
            return
        node = self.place(pod)
        if node:
            self.api.update(replace(pod, spec=replace(pod.spec, node_name=node)))

    def _seen(self, old: Any, new: Any) -> None:
        if not isinstance(old or new, Pod):
            return
        now = round(self.queue.clock.now, 3)
        if old is None:
            self.events.append((now, "created", new.metadata.name))
            self.queue.add(self, (new.metadata.namespace, new.metadata.name))
        elif old.metadata.deletion_timestamp is None and (new is None or new.metadata.deletion_timestamp is not None):
            self.events.append((now, "deleted", old.metadata.name))
        if old is not None and new is None:
            self.events.append((now, "gone", old.metadata.name))

    def _fewest(self, pod: Pod) -> str:
        nodes = [node.metadata.name for node in self.store.of(Node)]
        return daemon_node_of(pod) or min(nodes, key=lambda name: (len(self.store.pods_on(name)), name), default="")

    # What a test does

    def run(self, seconds: float | None = None) -> ControlPlane:
        """Until rest, or for so many seconds."""
        end = None if seconds is None else self.queue.clock.now + seconds
        for _ in range(10_000):
            while self.queue.work():
                pass
            moment = self.queue.next_moment()
            if moment is None or (end is not None and moment > end):
                break
            self.queue.clock.advance_to(moment)
            self.queue.run_due()
        else:
            raise AssertionError("no rest")
        if end is not None:
            self.queue.clock.advance_to(end)
        return self

    def bind(self, name: str, node: str) -> None:
        pod = self.pod(name)
        self.api.update(replace(pod, spec=replace(pod.spec, node_name=node)))

    def change(self, kind: str, name: str, **spec: Any) -> None:
        """Another spec for the object, by JSON names."""
        self.api.update(changed(self.object(kind, name), **spec))

    def object(self, kind: str, name: str) -> Any:
        found = self.store.get(_KINDS[kind], name, "default")
        assert found is not None, name
        return found

    def taint(self, node: str, *taints: str) -> None:
        """These taints and no others, as KEY:EFFECT."""
        item = self.store.get(Node, node)
        assert item is not None
        new = tuple(Taint(key=each.split(":")[0], effect=each.split(":")[1]) for each in taints)
        self.api.update(replace(item, spec=replace(item.spec, taints=new)))

    def revisions(self) -> dict[str, str]:
        """The image of the first container, by pod: it stands for the revision."""
        return {pod.metadata.name: pod.spec.containers[0].image for pod in self.store.of(Pod)}

    def pod(self, name: str) -> Pod:
        found = self.store.get(Pod, name, "default")
        assert found is not None, name
        return found

    def retry_pending(self) -> None:
        for pod in self.store.of(Pod):
            self.queue.add(self, (pod.metadata.namespace, pod.metadata.name))

    # What a test looks at

    def pods(self) -> dict[str, str]:
        """Node by pod; `+` for one that is ready, `-` for one that is terminating."""
        return {pod.metadata.name: _shown(pod) for pod in sorted(self.store.of(Pod), key=lambda pod: pod.metadata.name)}

    def nodes_of(self, prefix: str) -> list[str]:
        """The nodes of the pods whose names begin so, sorted."""
        return sorted(_shown(pod) for pod in self.store.of(Pod) if pod.metadata.name.startswith(prefix))

    def count(self, what: str) -> int:
        return sum(event[1] == what for event in self.events)


def _shown(pod: Pod) -> str:
    if pod.metadata.deletion_timestamp is not None:
        return f"{pod.spec.node_name}-"
    return f"{pod.spec.node_name}{'+' if is_ready(pod) and not is_terminal(pod) else ''}"
