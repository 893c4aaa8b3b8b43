"""Handlers of cluster events: they update the cache and wake the queue (eventhandlers.go).

Every change of the cluster comes through here: of a watch, of a step of a scenario, or of a world that binds and
evicts pods. Objects are passed as the API server has them; the old version is that of the catalog. What an update
changed is computed as the events that plugins register for (framework/events.go); `node_check` (preCheckForNode)
looks at a node before its event wakes pods.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.core import Node, NodeStatus, Pod
from ksched_cli.api.object_facts import is_terminal, pod_priority, uid_of_pod
from ksched_cli.api.pod_resources import requests_of
from ksched_cli.api.quantity import nano_value
from ksched_cli.api.selectors import RequiredNodeAffinity, SelectorError, find_untolerated
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import NOWHERE
from ksched_cli.cluster.pod_info import CPU, EPHEMERAL_STORAGE, MEMORY, PodInfo, takes_the_same
from ksched_cli.cluster.undo import Logged
from ksched_cli.engine.scheduling_queue import PreCheck, SchedulingQueue
from ksched_cli.engine.waiting import WaitingPods
from ksched_cli.framework.events import (
    ASSIGNED_POD,
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    UNSCHEDULED_POD,
    UNSCHEDULED_POD_ADD,
    Action,
    ClusterEvent,
)
from ksched_cli.releases.engine_rules import EngineRules
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.plugin_names import GANG_SCHEDULING, NODE_DECLARED_FEATURES

_GENERAL_UPDATES = {each: ClusterEvent(each, Action.UPDATE) for each in (ASSIGNED_POD, UNSCHEDULED_POD)}


def pod_changes(old: Pod, new: Pod, gates: FeatureGates) -> list[ClusterEvent]:
    """PodSchedulingPropertiesChange: a general update where nothing that plugins register for by name has changed."""
    resource = ASSIGNED_POD if new.spec.node_name else UNSCHEDULED_POD
    is_other_spec = new.spec is not old.spec
    found = [
        (Action.UPDATE_POD_LABEL, new.metadata.labels != old.metadata.labels),
        (Action.UPDATE_POD_SCALE_DOWN, _scaled_down(old, new)),
        (
            Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
            is_other_spec and bool(old.spec.scheduling_gates) and not new.spec.scheduling_gates,
        ),
        # The API lets tolerations be added only.
        (
            Action.UPDATE_POD_TOLERATION,
            is_other_spec and len(new.spec.tolerations) != len(old.spec.tolerations),
        ),
        (
            Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM,
            new.status is not old.status
            and gates.enabled("DynamicResourceAllocation")
            and _claims(new) != _claims(old),
        ),
    ]
    events = [ClusterEvent(resource, action) for action, changed in found if changed]
    return events or [_GENERAL_UPDATES[resource]]


def _scaled_down(old: Pod, new: Pod) -> bool:
    if takes_the_same(old, new):
        return False
    before, after = (requests_of(pod, use_status=True) for pod in (old, new))
    return any(name not in after or amount > after[name] for name, amount in before.items())


def _claims(pod: Pod) -> tuple[object, object]:
    return frozenset(pod.status.resource_claim_statuses), pod.status.extended_resource_claim_status


def node_changes(old: Node, new: Node, gates: FeatureGates) -> list[ClusterEvent]:
    """NodeSchedulingPropertiesChange: nothing for an update that cannot matter, such as a heartbeat."""
    before, now = old.status, new.status
    is_other_status = before is not now
    is_other_metadata = old.metadata is not new.metadata
    found = [
        # Cordoning makes nothing schedulable; the end of it counts as a change of taints.
        (Action.UPDATE_NODE_TAINT, old.spec.unschedulable and not new.spec.unschedulable),
        (Action.UPDATE_NODE_ALLOCATABLE, is_other_status and _amounts(before) != _amounts(now)),
        (Action.UPDATE_NODE_LABEL, is_other_metadata and old.metadata.labels != new.metadata.labels),
        (Action.UPDATE_NODE_TAINT, old.spec.taints != new.spec.taints),
        (Action.UPDATE_NODE_CONDITION, is_other_status and _conditions(before) != _conditions(now)),
        (
            Action.UPDATE_NODE_ANNOTATION,
            is_other_metadata and old.metadata.annotations != new.metadata.annotations,
        ),
        (
            Action.UPDATE_NODE_DECLARED_FEATURE,
            is_other_status
            and gates.enabled(NODE_DECLARED_FEATURES)
            and before.declared_features != now.declared_features,
        ),
    ]
    return [ClusterEvent("Node", action) for action, changed in found if changed]


def _amounts(status: NodeStatus) -> dict[str, int]:
    return {name: nano_value(quantity) for name, quantity in status.allocatable.items()}


def _conditions(status: NodeStatus) -> Mapping[str, str]:
    return {condition.type: condition.status for condition in status.conditions}


def node_check(cluster: Cluster, node: str, gates: FeatureGates) -> PreCheck | None:
    """The check of the minor for this node; None where it has none, or where queueing hints stand in for it."""
    rules = EngineRules.of(cluster.release)
    row = cluster.nodes.row_of[node]
    effects = rules.taints_checked_before_waking
    if not effects or (rules.hints_replace_node_check and gates.enabled("SchedulerQueueingHints")):
        return None
    return lambda info: (
        _has_room(cluster, info, row)
        and _is_wanted(cluster, info, row)
        and not cluster.usage.ports.conflicts(info.host_ports, len(cluster.nodes))[row]
        and find_untolerated(cluster.nodes.objects[row].spec.taints, info.pod.spec.tolerations, effects) is None
    )


def _has_room(cluster: Cluster, info: PodInfo, row: int) -> bool:
    """noderesources.Fits."""
    nodes, usage = cluster.nodes, cluster.usage
    if usage.pod_count[row] + 1 > nodes.allowed_pods[row]:
        return False
    free = nodes.allocatable[:, row] - usage.requested[:, row]
    # Without amounts of zero.
    requests = dict(info.incoming_requests)
    if requests and EngineRules.of(cluster.release).overcommitted_node_has_no_room:
        # These amounts are compared even if the pod requests none of them.
        requests = {CPU: 0, MEMORY: 0, EPHEMERAL_STORAGE: 0, **requests}
    return all(amount <= free[resource] for resource, amount in requests.items())


def _is_wanted(cluster: Cluster, info: PodInfo, row: int) -> bool:
    """GetRequiredNodeAffinity(pod).Match: an affinity that cannot be read matches nothing."""
    try:
        return RequiredNodeAffinity.of(info.pod.spec).selects(cluster.nodes.objects[row])
    except SelectorError:
        return False


OnEvent = Callable[[ClusterEvent, Any], None]


class EventHandlers(Logged):
    """`add`, `update` and `delete` take objects of any kind. `changes` counts the changes so far, `on_event` is
    called with each event and its object, except for events of pods that wait."""

    def __init__(
        self,
        cluster: Cluster,
        queue: SchedulingQueue,
        waiting: WaitingPods,
        gates: FeatureGates,
        scheduler_names: Collection[str],
        on_event: OnEvent,
    ) -> None:
        self.undo = cluster.undo
        self.changes = 0
        self._cluster = cluster
        self._queue = queue
        self._waiting = waiting
        self._gates = gates
        self._scheduler_names = scheduler_names
        self._on_event = on_event
        rules = EngineRules.of(cluster.release)
        self._nominations_wake = rules.ended_nomination_wakes_pods
        self._all_node_changes_wake = rules.all_node_changes_wake_pods

    def put(self, item: Any) -> None:
        """Add an object, or update the one that has this name."""
        self.changed(self._listed(item), item)

    def delete(self, item: Any) -> None:
        """An object that is gone; nothing happens if it was not there."""
        old = self._listed(item)
        if old is not None:
            self.changed(old, None)

    def _listed(self, item: Any) -> Any:
        """The object that the catalog has under this name; of pods and nodes the cluster has the old version."""
        if isinstance(item, Pod | Node):
            return item
        return self._cluster.catalog.get(type(item), item.metadata.name, item.metadata.namespace)

    def changed(self, old: Any, new: Any) -> None:
        """A change with both versions of the object; the catalog may have the new one already."""
        item, catalog = old if new is None else new, self._cluster.catalog
        if isinstance(item, Pod):
            row = self._cluster.pods.row_of.get(uid_of_pod(item))
            if new is not None:
                self._add_pod(item)
            elif row is not None:
                self._delete_pod(row, self._cluster.pods.infos[row].pod)
        elif isinstance(item, Node):
            change = self._delete_node if new is None else self._add_node
            change(item)
        else:
            action = Action.DELETE if new is None else Action.ADD if old is None else Action.UPDATE
            store = catalog.remove if new is None else catalog.put
            store(item)
            self._publish(ClusterEvent(type(item).__name__, action), old, new)

    def _publish(self, event: ClusterEvent, old: Any, new: Any, check: PreCheck | None = None) -> None:
        self.changes += 1
        if event.resource == "CSINode" and not self._gates.enabled("CSINodeInfo"):
            return
        self._on_event(event, old if new is None else new)
        self._queue.move_all(event, old, new, check)

    # Nodes

    def _add_node(self, node: Node) -> None:
        row = self._cluster.nodes.row_of.get(node.metadata.name)
        if row is not None:
            self._update_node(self._cluster.nodes.objects[row], node)
            return
        self._cluster.add_node(node)
        check = node_check(self._cluster, node.metadata.name, self._gates)
        self._publish(ClusterEvent("Node", Action.ADD), None, node, check)

    def _update_node(self, old: Node, new: Node) -> None:
        self._cluster.update_node(new)
        self.changes += 1
        events = node_changes(old, new, self._gates)
        if not self._all_node_changes_wake:
            # These minors report one change of a node per update, and no change of annotations.
            events = [each for each in events if each.action is not Action.UPDATE_NODE_ANNOTATION][:1]
        check = node_check(self._cluster, new.metadata.name, self._gates) if events else None
        for event in events:
            self._publish(event, old, new, check)

    def _delete_node(self, node: Node) -> None:
        name = node.metadata.name
        row = self._cluster.nodes.row_of.get(name)
        if row is None:
            return
        # The event comes first, as in kube-scheduler: a hint may read the node once more.
        self._publish(ClusterEvent("Node", Action.DELETE), self._cluster.nodes.objects[row], None)
        self._cluster.remove_node(name)

    # Pods

    def _ours(self, pod: Pod) -> bool:
        """responsibleForPod."""
        return pod.spec.scheduler_name in self._scheduler_names

    def _is_assumed(self, row: int) -> bool:
        """Whether the scheduler has chosen a node, and the API server has no binding yet."""
        pods = self._cluster.pods
        return pods.node_of(row) != NOWHERE and not pods.infos[row].pod.spec.node_name

    def _add_pod(self, pod: Pod) -> None:
        row = self._cluster.pods.row_of.get(uid_of_pod(pod))
        if row is not None:
            self._update_pod(row, self._cluster.pods.infos[row].pod, pod)
        elif is_terminal(pod):
            # The scheduler's informer does not list it, and one that ends is as good as deleted.
            return
        elif pod.spec.node_name:
            self._cluster.add_pod(pod)
            self._publish(ASSIGNED_POD_ADD, None, pod)
        else:
            row = self._cluster.register(pod)
            if self._ours(pod):
                self._add_to_queue(row, self._cluster.pods.infos[row])

    def _add_to_queue(self, row: int, info: PodInfo) -> None:
        self._queue.add(row, info)
        if self._gates.enabled(GANG_SCHEDULING):
            self.changes += 1
            self._queue.move_all(UNSCHEDULED_POD_ADD, None, info.pod)

    def _update_pod(self, row: int, old: Pod, new: Pod) -> None:
        if is_terminal(new):
            self._delete_pod(row, old)
        elif old.spec.node_name and _only_became_ready(old, new):
            self._cluster.bind(row, new)
        elif old.spec.node_name:
            self._cluster.update_pod(row, new)
            for event in pod_changes(old, new, self._gates):
                self._publish(event, old, new)
        elif new.spec.node_name:
            self._bound(row, old, new)
        elif self._ours(old):
            self._update_pending(row, old, new)
        else:
            self._cluster.update_pod(row, new)

    def _bound(self, row: int, old: Pod, new: Pod) -> None:
        """addAssignedPodToCache: confirm an assumed pod, or add a pod that another scheduler has bound."""
        where = self._cluster.nodes.row_of.get(new.spec.node_name)
        confirmed = where is not None and self._cluster.pods.node_of(row) == where and _same_but_bound(old, new)
        if confirmed:
            self._cluster.bind(row, new)
        else:
            held = self._waiting.get(self._cluster.pods.infos[row].uid)
            if held is not None:
                held.reject("", "the pod has been bound by somebody else")
            self._cluster.update_pod(row, new)
        self._publish(ASSIGNED_POD_ADD, None, new)
        if not confirmed and self._ours(old):
            # An assumed pod waits in no queue.
            self._queue.delete(row)

    def _update_pending(self, row: int, old: Pod, new: Pod) -> None:
        """updatePodInSchedulingQueue."""
        assumed = self._is_assumed(row)
        if assumed:
            new = _with_claims_of(old, new)
        if old == new:
            return
        self._cluster.update_pod(row, new)
        self.changes += 1
        if assumed:
            if new.metadata.deletion_timestamp is not None and old.metadata.deletion_timestamp is None:
                self._let_go(row)
            return
        self._queue.update(row, self._cluster.pods.infos[row], old, pod_changes(old, new, self._gates))
        before = old.status.nominated_node_name
        if before and before != new.status.nominated_node_name and self._nominations_wake:
            # Weaker pods have treated it as if it were there already.
            self._publish(ASSIGNED_POD_DELETE, old, None, _not_stronger_than(old))

    def _delete_pod(self, row: int, pod: Pod) -> None:
        if pod.spec.node_name:
            self._cluster.remove_pod(row)
            self._publish(ASSIGNED_POD_DELETE, pod, None)
            return
        if not self._ours(pod):
            self._cluster.remove_pod(row)
            return
        self._queue.delete(row)
        self.changes += 1
        if self._is_assumed(row):
            self._let_go(row)
            self._cluster.pods.forget(row)
            return
        self._cluster.remove_pod(row)
        if pod.status.nominated_node_name and self._nominations_wake:
            self._publish(ASSIGNED_POD_DELETE, pod, None, _not_stronger_than(pod))

    def _let_go(self, row: int) -> None:
        """handleAssumedPodDeletion: a pod that waits is rejected and cleans up after itself when its turn comes."""
        info = self._cluster.pods.infos[row]
        node = self._cluster.nodes.names[self._cluster.pods.node_of(row)]
        held = self._waiting.get(info.uid)
        if held is None or not held.reject("", "removed"):
            self._cluster.displace(row)
        self._publish(ASSIGNED_POD_DELETE, assigned(info.pod, node), None)


def assigned(pod: Pod, node: str) -> Pod:
    """The pod as it is when it is on the node."""
    return replace(pod, spec=replace(pod.spec, node_name=node))


def _with_claims_of(assumed: Pod, new: Pod) -> Pod:
    """The pod with what its claims take of the node: the API server stores that when the pod is bound."""
    entries = assumed.status.node_allocatable_resource_claim_statuses
    if new.status.node_allocatable_resource_claim_statuses == entries:
        return new
    return replace(new, status=replace(new.status, node_allocatable_resource_claim_statuses=entries))


def _same_but_bound(old: Pod, new: Pod) -> bool:
    return new.metadata == old.metadata and new.spec == replace(old.spec, node_name=new.spec.node_name)


def _only_became_ready(old: Pod, new: Pod) -> bool:
    """Nothing has changed that a plugin reads: the kubelet has started the pod."""
    if old.metadata != new.metadata or old.spec != new.spec:
        return False
    status = replace(
        new.status,
        phase=old.status.phase,
        start_time=old.status.start_time,
        conditions=old.status.conditions,
        nominated_node_name=old.status.nominated_node_name,
    )
    return old.status == status


def _not_stronger_than(pod: Pod) -> PreCheck:
    """getLEPriorityPreCheck."""
    most = pod_priority(pod)
    return lambda info: info.priority <= most
