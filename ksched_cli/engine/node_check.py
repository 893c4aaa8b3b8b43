"""The quick look at a node before news of it wake a pod (preCheckForNode and AdmissionCheck)."""

from __future__ import annotations

from ksched_cli.api.selectors import RequiredNodeAffinity, SelectorError
from ksched_cli.api.tolerations import find_untolerated
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import CPU, EPHEMERAL_STORAGE, MEMORY
from ksched_cli.engine.queueing.scheduling_queue import PreCheck
from ksched_cli.releases.engine_rules import EngineRules
from ksched_cli.releases.gates import FeatureGates


def node_check(cluster: Cluster, node: str, gates: FeatureGates) -> PreCheck | None:
    """The check of the minor for this node; None where it has none, or where queueing hints stand in for it."""
    rules = EngineRules.of(cluster.release)
    row = cluster.nodes.row_of[node]
    effects = rules.taints_checked_before_waking
    if not effects or (rules.hints_replace_node_check and gates.enabled("SchedulerQueueingHints")):
        return None
    return lambda pod: (
        _has_room(cluster, pod, row)
        and _is_wanted(cluster, pod, row)
        and not cluster.usage.ports.conflicts(pod.host_ports, len(cluster.nodes))[row]
        and find_untolerated(cluster.nodes.objects[row].spec.taints, pod.pod.spec.tolerations, effects) is None
    )


def _has_room(cluster: Cluster, pod: PodInfo, row: int) -> bool:
    """noderesources.Fits."""
    nodes, usage = cluster.nodes, cluster.usage
    if usage.pod_count[row] + 1 > nodes.allowed_pods[row]:
        return False
    free = nodes.allocatable[:, row] - usage.requested[:, row]
    requests = dict(pod.incoming_requests)
    if any(requests.values()) and EngineRules.of(cluster.release).overcommitted_node_has_no_room:
        # These amounts are compared even if the pod requests none of them.
        requests = {CPU: 0, MEMORY: 0, EPHEMERAL_STORAGE: 0, **requests}
        return all(amount <= free[resource] for resource, amount in requests.items())
    return all(amount <= free[resource] for resource, amount in requests.items() if amount > 0)


def _is_wanted(cluster: Cluster, pod: PodInfo, row: int) -> bool:
    """GetRequiredNodeAffinity(pod).Match: an affinity that cannot be read matches nothing."""
    try:
        return RequiredNodeAffinity.of(pod.pod.spec).selects(cluster.nodes.objects[row])
    except SelectorError:
        return False
