"""When the spread of pods may let a pod through that it kept out (PodTopologySpread's queueing hints)."""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.pod_facts import holds_place, is_same_pod
from ksched_cli.plugins.lib.topology_spread import SpreadConstraint


def counts_for(other: Pod, pod: Pod) -> bool:
    """involvedInTopologySpreading: the pod itself, or one of its namespace that has a place."""
    if is_same_pod(other, pod):
        return True
    return holds_place(other) and other.metadata.namespace == pod.metadata.namespace


def spread_pod_may_help(constraints: Sequence[SpreadConstraint], pod: Pod, old: Pod | None, new: Pod | None) -> bool:
    """Whether the event of a pod changes which pods a constraint counts (isSchedulableAfterPodChange)."""
    if old is None or new is None:
        changed = new or old
        return changed is not None and any(each.selector.matches(changed.metadata.labels) for each in constraints)
    tolerates_more = is_same_pod(new, pod) and new.spec.tolerations != old.spec.tolerations
    if tolerates_more and any(each.honor_taints for each in constraints):
        return True
    before, now = old.metadata.labels, new.metadata.labels
    return any(each.selector.matches(before) != each.selector.matches(now) for each in constraints)


def spread_node_may_help(constraints: Sequence[SpreadConstraint], old: Node | None, new: Node | None) -> bool:
    """A node with all topology keys came, left, moved to another domain or got other taints."""
    was, now = _has_keys(constraints, old), _has_keys(constraints, new)
    if old is None or new is None or was != now:
        return was or now
    before, after = old.metadata.labels, new.metadata.labels
    moved = any(before.get(each.topology_key, "") != after.get(each.topology_key, "") for each in constraints)
    return now and (moved or old.spec.taints != new.spec.taints)


def _has_keys(constraints: Sequence[SpreadConstraint], node: Node | None) -> bool:
    return node is not None and all(each.topology_key in node.metadata.labels for each in constraints)
