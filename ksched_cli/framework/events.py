"""Cluster events that may make a rejected pod schedulable (fwk.ClusterEvent)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Flag, auto


class Action(Flag):
    """fwk.ActionType."""

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
    UPDATE_OTHER = auto()
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
        | UPDATE_OTHER
    )
    ALL = ADD | DELETE | UPDATE


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """Something that happens to objects of a kind ("Pod", "AssignedPod", "Node", "PersistentVolumeClaim", ...)."""

    resource: str
    action: Action

    def __str__(self) -> str:
        names = "Update" if self.action == Action.UPDATE else "/".join(_readable(flag) for flag in self.action)
        return f"{self.resource} {names}"


def _readable(flag: Action) -> str:
    return "".join(word.capitalize() for word in (flag.name or "").split("_"))
