"""Workloads to pods, each as its controller does it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from ksched_cli.api.workloads import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    PodTemplate,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from ksched_cli.sources.controllers.daemon_sets import daemon_set
from ksched_cli.sources.controllers.existing import Existing
from ksched_cli.sources.controllers.job_pods import cron_job, job
from ksched_cli.sources.controllers.made import Made
from ksched_cli.sources.controllers.replicas import deployment, replica_set, replication_controller
from ksched_cli.sources.controllers.stateful_sets import stateful_set
from ksched_cli.sources.controllers.templates import stamp


def pod_template(item: PodTemplate, existing: Existing) -> Made:
    """No controller makes pods of these; one, to see where it would go."""
    namespace = item.metadata.namespace
    name = existing.new_name(f"{item.metadata.name}-", namespace)
    return Made([stamp(item.template, namespace, name, None)])


_CONTROLLERS: Mapping[type[Struct], Callable[[Any, Existing], Made]] = {
    Deployment: deployment,
    ReplicaSet: replica_set,
    StatefulSet: stateful_set,
    DaemonSet: daemon_set,
    ReplicationController: replication_controller,
    Job: job,
    CronJob: cron_job,
    PodTemplate: pod_template,
}
WORKLOADS = tuple(_CONTROLLERS)


def expand_workload(item: Struct, existing: Existing) -> Made:
    """The pods that are missing of a workload."""
    return _CONTROLLERS[type(item)](item, existing)
