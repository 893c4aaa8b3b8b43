"""Which rules a kind has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ksched_cli.api.label_names import domain_problems
from ksched_cli.api.validation import others, pods, volumes, workloads
from ksched_cli.api.validation.fields import FieldErrors
from ksched_cli.api.validation.names import NameRule, dns_label, metadata

_Rule = Callable[[Mapping[str, Any]], FieldErrors]

_RULES: Mapping[str, _Rule] = {
    "Pod": pods.pod,
    "PodTemplate": workloads.pod_template,
    "Deployment": workloads.deployment,
    "ReplicaSet": workloads.replica_set,
    "StatefulSet": workloads.stateful_set,
    "DaemonSet": workloads.daemon_set,
    "ReplicationController": workloads.replication_controller,
    "Job": workloads.job,
    "CronJob": workloads.cron_job,
    "PersistentVolumeClaim": volumes.claim,
    "PersistentVolume": volumes.volume,
    "StorageClass": volumes.storage_class,
    "Service": others.service,
    "PodDisruptionBudget": others.disruption_budget,
    "PriorityClass": others.priority_class,
    "RuntimeClass": others.runtime_class,
    "HorizontalPodAutoscaler": others.autoscaler,
    "Node": others.node,
}
# Names of all other kinds are DNS subdomains.
_LABEL_NAMES = ("Namespace", "Service", "StatefulSet")


def validate(document: Mapping[str, Any], kind: str) -> FieldErrors:
    """Everything that makes the API server refuse to create the object, as far as it does not depend on others."""
    rule: NameRule = dns_label if kind in _LABEL_NAMES else domain_problems
    yield from metadata(document, rule)
    if kind in _RULES:
        yield from _RULES[kind](document)
