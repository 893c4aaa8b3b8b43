"""The DaemonSet controller (pkg/controller/daemon)."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.selectors import selector_of_controller
from ksched_cli.api.workloads import DaemonSet, RollingUpdate
from ksched_cli.cluster.undo import LoggedDict
from ksched_cli.controlplane.api_server import ApiServer, Refusal
from ksched_cli.controlplane.controllers.daemon_nodes import DaemonAction, DaemonNodes, DaemonStatus, allows_surge
from ksched_cli.controlplane.controllers.daemon_pods import bound_to, daemon_spec, daemon_tolerations
from ksched_cli.controlplane.controllers.deployment import scaled_value
from ksched_cli.controlplane.controllers.revisions import REVISION_LABEL, RevisionHistory
from ksched_cli.controlplane.store import Identity, identity_of, owner_identity
from ksched_cli.controlplane.work import Controller, WorkQueue
from ksched_cli.sources.controllers.templates import owner_reference, stamp

ON_DELETE = "OnDelete"
# BurstReplicas: no more pods are created or deleted in one reconcile.
_BURST = 250
# A draw among very many nodes has only so many more options than are taken.
_MORE_OPTIONS = 16


class DaemonSetController(Controller):
    """Keys are identities of DaemonSets, and of nodes that have changed."""

    informers = (DaemonSet, Pod, Node)
    serves = (DaemonSet,)

    def __init__(self, api: ApiServer, queue: WorkQueue) -> None:
        super().__init__(api, queue)
        self.history = RevisionHistory(self.store, DaemonSet, lambda item, digest: digest)
        self._nodes: dict[Identity, DaemonNodes] = LoggedDict(api.undo)

    def concerned(self, old: Any, new: Any) -> Iterable[Identity]:
        item = old if new is None else new
        if isinstance(item, DaemonSet):
            if new is None:
                self.history.forget(identity_of(item))
                self._nodes.pop(identity_of(item), None)
            return (identity_of(item),)
        if isinstance(item, Pod):
            return self._owners(item)
        if isinstance(item, Node) and (old is None or new is None or _has_changed(old, new)):
            for nodes in self._nodes.values():
                nodes.node_changed(item.metadata.name)
            return () if new is None else (identity_of(new),)
        return ()

    def _owners(self, pod: Pod) -> Iterator[Identity]:
        """The set that controls the pod; for a pod without a controller, the sets that would adopt it."""
        owner = owner_identity(pod)
        owners = self.adopters(pod) if owner is None else [owner] if owner[0] == "DaemonSet" else []
        for identity in owners:
            nodes = self._nodes.get(identity)
            if nodes is not None:
                nodes.pod_changed(pod)
            yield identity

    def adopters(self, pod: Pod) -> list[Identity]:
        """The sets that would adopt a pod without a controller."""
        found = (each for each in self.store.of(DaemonSet) if each.metadata.namespace == pod.metadata.namespace)
        return [identity_of(each) for each in found if _selects(each, pod)]

    def reconcile(self, key: Identity) -> None:
        if key[0] == "Node":
            self._sync_node(key[2])
            return
        item = self.store.get(DaemonSet, key[2], key[1])
        if item is None or item.metadata.deletion_timestamp is not None or item.spec.template is None:
            return
        if not selector_of_controller(item.spec.selector).matches(item.spec.template.metadata.labels):
            # The API server accepts no such set. It would create pods without end, for it would find none of them.
            return
        nodes = self._nodes_of(item)
        self._look(item, nodes)
        try:
            # What has been created or deleted is seen in the next reconcile (SatisfiedExpectations).
            if not self._manage(item, nodes) and _strategy(item) != ON_DELETE:
                self._roll(item, nodes)
        finally:
            self._look(item, nodes)
            self.api.statuses.set(item, nodes.status)

    def prepare(self) -> None:
        """Look at all nodes before a mark, so that trials look only at those that they change."""
        for item in self.store.of(DaemonSet):
            if item.spec.template is not None:
                self._nodes_of(item).look(self.api.now())

    def _look(self, item: DaemonSet, nodes: DaemonNodes) -> None:
        due = nodes.look(self.api.now())
        if due is not None:
            self.queue.add_after(self, identity_of(item), due - self.api.now())

    def _sync_node(self, name: str) -> None:
        """syncNodeUpdate: which DaemonSets have something to do on the node."""
        node = self.store.get(Node, name)
        if node is None:
            return
        served = {owner_identity(pod) for pod in self.store.pods_on(name)}
        for item in self.store.of(DaemonSet):
            if item.spec.template is None:
                continue
            runs, goes_on = self._nodes_of(item).verdict(node)
            has_pod = identity_of(item) in served
            status = self.api.statuses.get(item)
            wrong = has_pod and isinstance(status, DaemonStatus) and status.misscheduled > 0
            if (runs and not has_pod) or (has_pod and not goes_on) or wrong:
                self.queue.add(self, identity_of(item))

    def _nodes_of(self, item: DaemonSet) -> DaemonNodes:
        identity = identity_of(item)
        known = self._nodes.get(identity)
        if known is None or not known.is_of(item):
            nodes = DaemonNodes(self.store, item, daemon_spec(item), self.history, self.claimed(item))
            known = self._nodes[identity] = nodes
        return known

    def claimed(self, item: DaemonSet) -> list[Pod]:
        """getDaemonPods: its own, and those without a controller that it adopts."""
        selector = selector_of_controller(item.spec.selector)
        own = [pod for pod in self.store.pods_of(item) if selector.matches(pod.metadata.labels)]
        orphans = (pod for pod in self.store.orphans(item.metadata.namespace) if not pod.metadata.deletion_timestamp)
        return [*own, *(pod for pod in orphans if selector.matches(pod.metadata.labels))]

    def status(self, item: DaemonSet) -> DaemonStatus:
        """DaemonSetStatus as of now."""
        nodes = self._nodes_of(item)
        self._look(item, nodes)
        return nodes.status

    # manage

    def _manage(self, item: DaemonSet, nodes: DaemonNodes) -> bool:
        """Create and delete pods so that the right nodes have one. Returns whether there was something to do."""
        missing, wrong = nodes.found[DaemonAction.MISSING], nodes.found[DaemonAction.WRONG]
        if not missing and not wrong:
            return False
        self._sync_nodes(item, sorted(missing), _pods(wrong))
        return True

    # rollingUpdate

    def _roll(self, item: DaemonSet, nodes: DaemonNodes) -> None:
        """Without surge, old pods are deleted: those that are unavailable, and as many others as may be unavailable.
        With surge, new pods come beside old ones, which go when the new ones are available."""
        desired = nodes.status.desired
        replaced, updated = nodes.found[DaemonAction.REPLACE], nodes.found[DaemonAction.UPDATE]
        surge, unavailable = surge_and_unavailable(item, desired)
        if not surge:
            chosen = self._some(item, updated, unavailable - nodes.unsettled)
            self._sync_nodes(item, (), [*_pods(replaced), *(pod for name in chosen for pod in updated[name])])
            return
        elsewhere = nodes.found[DaemonAction.ELSEWHERE]
        spare = self._some(item, elsewhere, nodes.serving - desired)
        allowed = [*sorted(replaced), *self._some(item, updated, surge - nodes.unsettled)]
        leaving = [*_pods(nodes.found[DaemonAction.OVER]), *(pod for name in spare for pod in elsewhere[name])]
        self._sync_nodes(item, allowed, leaving)

    def _some(self, item: DaemonSet, found: Mapping[str, object], count: int) -> list[str]:
        """So many of the nodes. Go takes them in the order of a map: which ones is a draw."""
        if count <= 0 or not found:
            return []
        if count >= len(found):
            return sorted(found)
        options = [(name, name) for name in heapq.nsmallest(count + _MORE_OPTIONS, found)]
        return self.api.draws.take("nodes of a rollout", "/".join(identity_of(item)), options, count)

    # syncNodes

    def _sync_nodes(self, item: DaemonSet, missing: Iterable[str], wrong: Iterable[Pod]) -> None:
        for pod in list(wrong)[:_BURST]:
            self.api.delete(pod, why=f"DaemonSet {item.metadata.name} does not want the pod any more")
        self._create_on(item, list(missing)[:_BURST])

    def _create_on(self, item: DaemonSet, names: list[str]) -> None:
        """Go takes the nodes in the order of a map. Which one is first matters if not all pods are created."""
        draws, subject = self.api.draws, "/".join(identity_of(item))
        options, others = names[:_MORE_OPTIONS], names[_MORE_OPTIONS:]
        ordered = draws.in_order("first nodes", subject, options)
        created: list[str] = []
        try:
            for name in (*ordered, *others):
                self._create(item, name)
                created.append(name)
        except Refusal:
            if len(options) > 1 and len(created) < len(options):
                draws.note("first nodes", subject, options, created)
            raise

    def _create(self, item: DaemonSet, node: str) -> None:
        metadata, template = item.metadata, item.spec.template
        assert template is not None
        name = self.api.successors.new_name(f"{metadata.name}-", metadata.namespace, identity_of(item), node)
        pod = stamp(template, metadata.namespace, name, owner_reference("DaemonSet", "apps/v1", metadata))
        pod.metadata.labels[REVISION_LABEL] = self.history.update_revision(item).name
        pod.spec.tolerations = daemon_tolerations(pod.spec)
        pod.spec.affinity = bound_to(pod.spec.affinity, node)
        try:
            self.api.create(pod)
        except Refusal as refusal:
            self.api.refused(item, pod, refusal)
            raise


def _has_changed(old: Node, new: Node) -> bool:
    """shouldIgnoreNodeUpdate, the other way round."""
    return old.metadata.labels != new.metadata.labels or old.spec.taints != new.spec.taints


def _selects(item: DaemonSet, pod: Pod) -> bool:
    return selector_of_controller(item.spec.selector).matches(pod.metadata.labels)


def _pods(found: Mapping[str, tuple[Pod, ...]]) -> list[Pod]:
    return [pod for name in sorted(found) for pod in found[name]]


def _strategy(item: DaemonSet) -> str:
    return item.spec.update_strategy.type if item.spec.update_strategy else ""


def _rolling(item: DaemonSet) -> RollingUpdate:
    strategy = item.spec.update_strategy
    return (strategy.rolling_update if strategy is not None else None) or RollingUpdate()


def _unavailable(item: DaemonSet, desired: int) -> int:
    """UnavailableCount. SetDefaults_DaemonSet: one."""
    value = _rolling(item).max_unavailable
    return scaled_value(1 if value is None else value, desired, up=True)


def surge_and_unavailable(item: DaemonSet, desired: int) -> tuple[int, int]:
    """updatedDesiredNodeCounts: where neither is allowed, one pod at a time may be unavailable."""
    surge = scaled_value(_rolling(item).max_surge, desired, up=True) if allows_surge(item) else 0
    unavailable = _unavailable(item, desired)
    return surge, unavailable if surge or unavailable else 1
