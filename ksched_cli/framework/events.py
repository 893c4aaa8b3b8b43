"""Cluster events that may make a rejected pod schedulable (fwk.ClusterEvent, fwk.ActionType), with the labels that
kube-scheduler prints. Which event a change is, is decided in `engine/handlers.py`."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Flag, auto
from functools import cache

from msgspec import Struct


class Action(Flag):
    """fwk.ActionType. The order counts: an event is compared with what a plugin registered by number as well."""

    ADD = auto()
    DELETE = auto()
    UPDATE_NODE_ALLOCATABLE = auto()
    UPDATE_NODE_LABEL = auto()
    UPDATE_NODE_TAINT = auto()
    UPDATE_NODE_CONDITION = auto()
    UPDATE_NODE_ANNOTATION = auto()
    UPDATE_NODE_DECLARED_FEATURE = auto()
    UPDATE_POD_LABEL = auto()
    UPDATE_POD_SCALE_DOWN = auto()
    UPDATE_POD_TOLERATION = auto()
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = auto()
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = auto()
    UPDATE = (
        UPDATE_NODE_ALLOCATABLE
        | UPDATE_NODE_LABEL
        | UPDATE_NODE_TAINT
        | UPDATE_NODE_CONDITION
        | UPDATE_NODE_ANNOTATION
        | UPDATE_NODE_DECLARED_FEATURE
        | UPDATE_POD_LABEL
        | UPDATE_POD_SCALE_DOWN
        | UPDATE_POD_TOLERATION
        | UPDATE_POD_SCHEDULING_GATES_ELIMINATED
        | UPDATE_POD_GENERATED_RESOURCE_CLAIM
    )
    ALL = ADD | DELETE | UPDATE

    @property
    def go_name(self) -> str:
        """As kube-scheduler prints it."""
        return _go_name(self)


@cache
def _go_name(action: Action) -> str:
    if action == Action.ALL:
        return "All"
    named = action & ~Action.UPDATE if Action.UPDATE in action else action
    names = [(flag.name or "").title().replace("_", "") for flag in named]
    return "/".join(names + ["Update"] * (named != action))


# Plugins register for Pod; the events that arrive are distinguished.
POD, ASSIGNED_POD, UNSCHEDULED_POD = "Pod", "AssignedPod", "UnschedulablePod"
WILDCARD = "*"


class ClusterEvent(Struct, frozen=True, cache_hash=True):
    """Something that happens to objects of a kind ("Pod", "AssignedPod", "Node", "PersistentVolumeClaim", ...)."""

    resource: str
    action: Action
    custom_label: str = ""

    def __str__(self) -> str:
        return f"{self.resource} {self.action.go_name}"

    @property
    @cache  # noqa: B019  # there are few events
    def label(self) -> str:
        """ClusterEvent.Label, without the kind's API group."""
        return self.custom_label or f"{self.resource}{self.action.go_name}"

    @property
    def wildcard(self) -> bool:
        """ClusterEventIsWildCard."""
        return self.resource == WILDCARD and self.action == Action.ALL

    def matches(self, incoming: ClusterEvent) -> bool:
        """MatchClusterEvents: the event that came in is this one or a more specific one."""
        if self.wildcard:
            return True
        about = self.resource in (WILDCARD, incoming.resource) or (
            self.resource == POD and incoming.resource in (ASSIGNED_POD, UNSCHEDULED_POD)
        )
        return about and bool(self.action & incoming.action) and incoming.action.value <= self.action.value


def matches_any(incoming: ClusterEvent, registered: Iterable[ClusterEvent]) -> bool:
    """MatchAnyClusterEvent."""
    return any(event.matches(incoming) for event in registered)


def with_subtype(label: str) -> str:
    """The label with subtypes of pods: UnscheduledPod without a node, TargetPod for an update of a pod that waits."""
    rest = label.removeprefix(UNSCHEDULED_POD)
    return label if rest == label else f"{'TargetPod' if rest.startswith('Update') else 'UnscheduledPod'}{rest}"


ASSIGNED_POD_ADD = ClusterEvent(ASSIGNED_POD, Action.ADD)
ASSIGNED_POD_DELETE = ClusterEvent(ASSIGNED_POD, Action.DELETE)
UNSCHEDULED_POD_ADD = ClusterEvent(UNSCHEDULED_POD, Action.ADD)
UNSCHEDULED_POD_UPDATE = ClusterEvent(UNSCHEDULED_POD, Action.UPDATE)
UNSCHEDULED_POD_DELETE = ClusterEvent(UNSCHEDULED_POD, Action.DELETE)

ANYTHING = ClusterEvent(WILDCARD, Action.ALL)

# What a plugin that registers for nothing is woken by (framework.UnrollWildCardResource).
EVERY_EVENT = tuple(
    ClusterEvent(resource, Action.ALL)
    for resource in (
        POD,
        "Node",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "CSINode",
        "CSIDriver",
        "CSIStorageCapacity",
        "StorageClass",
        "ResourceClaim",
        "DeviceClass",
        "PodGroup",
    )
)
