"""The decision about a pod that finds no node where a copy of it has just found none, without another cycle.

The copies share the diagnosis of the first one: what a long queue of pods without a node costs does not grow with the
number of nodes.
"""

from __future__ import annotations

from collections.abc import Hashable

from ksched_cli.cluster.pod_groups import group_of
from ksched_cli.engine.cycle import Cycle
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.runtime import Runtime


class RepeatedFailure:
    """The last decision of a cycle that found no node, and the state of the cluster in which that was."""

    def __init__(self, cycle: Cycle) -> None:
        self._cycle = cycle
        self._cluster = cycle.cluster
        self._last: Decision | None = None
        self._runtime: Runtime | None = None
        self._state: Hashable = None

    def keep(self, runtime: Runtime, decision: Decision) -> None:
        """Remember the decision if a copy of the pod would get the same one, and nothing else would come of it."""
        fails = decision.result == "unschedulable" and decision.preemption is None and not decision.nominated_node
        kept = fails and decision.diagnosis is not None and self._cycle.fails_alike(runtime, decision.pod)
        self._last, self._runtime = decision if kept else None, runtime
        self._state = self._state_now() if kept else None

    def of(self, runtime: Runtime, pod_row: int) -> Decision | None:
        """The decision about this pod; None if it has to have a cycle."""
        last, pod = self._last, self._cluster.pods.infos[pod_row]
        if last is None or runtime is not self._runtime or self._state_now() != self._state:
            return None
        if pod.template != last.pod.template or pod.pod.metadata.deletion_timestamp is not None:
            return None
        if self._cycle.nominator.node_of(pod_row) or group_of(pod) is not None:
            return None
        pod.share_template(last.pod)
        return Decision(
            pod_row, pod, "unschedulable", feasible=last.feasible, diagnosis=last.diagnosis, message=last.message
        )

    def _state_now(self) -> Hashable:
        cluster, cycle = self._cluster, self._cycle
        versions = len(cluster.journal), cluster.structure, cluster.catalog.version, cluster.undo.epoch
        return versions, cycle.placement is None, cycle.skips_post_filter
