"""Whether `kubectl rollout status` would call a workload complete (polymorphichelpers/rollout_status.go)."""

from __future__ import annotations

from typing import Any

from ksched_cli.api.workloads import DaemonSet, Deployment, StatefulSet
from ksched_cli.controlplane.controllers.registry import Controllers
from ksched_cli.controlplane.controllers.replicaset import wanted_replicas

ON_DELETE = "OnDelete"


def is_complete(controllers: Controllers, item: Any) -> bool | None:
    """None for kinds and strategies without a rollout status in kubectl."""
    if isinstance(item, Deployment):
        return _deployment(controllers, item)
    if isinstance(item, StatefulSet):
        return _stateful_set(controllers, item)
    if isinstance(item, DaemonSet):
        return _daemon_set(controllers, item)
    return None


def _deployment(controllers: Controllers, item: Deployment) -> bool:
    sets = controllers.deployments.replica_sets(item)
    new = controllers.deployments.new_replica_set(item, sets)
    statuses = {each.metadata.name: controllers.replica_sets.status(each) for each in sets}
    updated = statuses[new.metadata.name].replicas if new is not None else 0
    total = sum(each.replicas for each in statuses.values())
    available = sum(each.available for each in statuses.values())
    return wanted_replicas(item) <= updated and total <= updated <= available


def _stateful_set(controllers: Controllers, item: StatefulSet) -> bool | None:
    update = item.spec.update_strategy
    if update is not None and update.type == ON_DELETE:
        return None
    status = controllers.stateful_sets.status(item)
    wanted = wanted_replicas(item)
    if status.ready < wanted:
        return False
    partition = (update.rolling_update.partition if update and update.rolling_update else None) or 0
    if partition:
        return status.updated_replicas >= wanted - partition
    return status.update_revision == status.current_revision


def _daemon_set(controllers: Controllers, item: DaemonSet) -> bool | None:
    if item.spec.update_strategy is not None and item.spec.update_strategy.type == ON_DELETE:
        return None
    status = controllers.daemon_sets.status(item)
    return status.updated >= status.desired and status.available >= status.desired
