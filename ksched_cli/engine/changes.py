"""What an update changed, as the events that plugins register for (framework/events.go)."""

from __future__ import annotations

from collections.abc import Mapping

from ksched_cli.api.core import Node, NodeStatus, Pod
from ksched_cli.api.pod_resources import requests_of
from ksched_cli.api.quantity import nano_value
from ksched_cli.cluster.pod_info import takes_the_same
from ksched_cli.framework.events import ASSIGNED_POD, UNSCHEDULED_POD, Action, ClusterEvent
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.plugin_names import NODE_DECLARED_FEATURES

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
