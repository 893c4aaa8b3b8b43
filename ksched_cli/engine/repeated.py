"""The decisions about pods that find no node where copies of them have just found none, without another cycle.

The copies share the diagnosis of the first one: the cost of a long queue of pods without a node does not grow with the
number of nodes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

from msgspec import Struct

from ksched_cli.cluster.pod_groups import group_of
from ksched_cli.engine.cycle import Cycle
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.lane import most_templates
from ksched_cli.engine.runtime import Runtime


class KeptFailure(Struct):
    """`is_shared` is None until the first copy."""

    runtime: Runtime
    decision: Decision
    is_shared: bool | None = None


class RepeatedFailures:
    """The last decision about each template without a node, and the state of the cluster in which all of them were."""

    def __init__(self, cycle: Cycle) -> None:
        self._cycle = cycle
        self._cluster = cycle.cluster
        self._kept: OrderedDict[tuple[Runtime, bytes], KeptFailure] = OrderedDict()
        self._latest: KeptFailure | None = None
        self._state: Hashable = None

    def keep(self, runtime: Runtime, decision: Decision) -> None:
        """Remember the decision if the pod has no node and its cycle has changed nothing else. `of` comes before the
        cycle."""
        fails = decision.result == "unschedulable" and decision.preemption is None and not decision.nominated_node
        if not fails or decision.diagnosis is None or self._state_now() != self._state:
            return
        kept = self._kept
        kept[runtime, decision.pod.template] = KeptFailure(runtime, decision)
        if len(kept) > most_templates(len(self._cluster.nodes)):
            kept.popitem(last=False)

    def of(self, runtime: Runtime, pod_row: int) -> Decision | None:
        """The decision about this pod; None if it has to have a cycle."""
        state = self._state_now()
        if state != self._state:
            self._kept.clear()
            self._latest, self._state = None, state
        pod = self._cluster.pods.infos[pod_row]
        found = self._latest
        if found is None or found.decision.pod.parts is not pod.parts or found.runtime is not runtime:
            found = self._latest = self._kept.get((runtime, pod.template)) if self._kept else None
            if found is None or group_of(pod) is not None:
                return None
            pod.share_template(found.decision.pod)
        if pod.pod.metadata.deletion_timestamp is not None or self._cycle.nominator.node_of(pod_row):
            return None
        if found.is_shared is None:
            found.is_shared = self._cycle.fails_alike(runtime, pod)
        if not found.is_shared:
            return None
        last = found.decision
        return Decision(
            pod_row,
            pod,
            "unschedulable",
            feasible=last.feasible,
            diagnosis=last.diagnosis,
            message=last.message,
            repeats=last,
        )

    def _state_now(self) -> Hashable:
        cluster, cycle = self._cluster, self._cycle
        versions = len(cluster.journal), cluster.structure, cluster.catalog.version, cluster.undo.epoch
        return versions, cycle.placement is None, cycle.skips_post_filter
