"""The decisions about pods of a queue, of which runs of copies are placed without a cycle for each."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import takewhile

from ksched_cli.cluster.cache import Cluster
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.pod_run import PodRun

# Totals of a run are computed before its first pod is placed.
_LONGEST = 4096
# The start of a run takes as long as some cycles, and longer the more nodes there are.
FEWEST, NODES_FOR_ONE_MORE = 20, 100


class CopyRuns:
    """`schedule` is the cycle of one pod; `run_of` returns where the copies of a pod go that has just had its cycle."""

    def __init__(
        self, cluster: Cluster, schedule: Callable[[int], Decision], run_of: Callable[[int], PodRun | None]
    ) -> None:
        self._cluster = cluster
        self._schedule = schedule
        self._run_of = run_of
        # After how many cycles of the template a run is tried, and how many there were since the last try.
        self._template = b""
        self._patience, self._waited = 1, 0

    def decisions(self, pod_rows: Sequence[int]) -> Iterator[Decision]:
        """The decision about each pod, in order."""
        index = 0
        while index < len(pod_rows):
            decision = self._schedule(pod_rows[index])
            index += 1
            yield decision
            if decision.result == "scheduled" and self._pays(decision, pod_rows, index):
                for copied in self._run_after(decision, pod_rows, index):
                    index += 1
                    yield copied

    def _pays(self, decision: Decision, pod_rows: Sequence[int], index: int) -> bool:
        """Whether so many copies come next that a run of them is faster than cycles."""
        last = index - 1 + max(FEWEST, len(self._cluster.nodes) // NODES_FOR_ONE_MORE)
        return last < len(pod_rows) and all(self._is_copy(pod_rows[each], decision) for each in (index, last))

    def _run_after(self, decision: Decision, pod_rows: Sequence[int], index: int) -> Iterator[Decision]:
        """Decisions about the copies that come next, as far as no cycle is needed."""
        if self._template != decision.pod.template:
            self._template, self._patience, self._waited = decision.pod.template, 1, 0
        self._waited += 1
        if self._waited < self._patience:
            return
        following = pod_rows[index : index + _LONGEST]
        copies = list(takewhile(lambda row: self._is_copy(row, decision), following))
        run = self._run_of(decision.pod_row)
        found = [] if run is None else run.placements(len(copies))
        self._patience, self._waited = (1 if found else 2 * self._patience), 0
        state = self._state()
        for pod_row, placement in zip(copies, found, strict=False):
            if self._state() != state:
                # The reader of the last decision has changed something.
                return
            self._cluster.place(pod_row, placement.row)
            state = self._state()
            pod = self._cluster.pods.infos[pod_row]
            yield Decision(pod_row, pod, "scheduled", placement.row, found=placement)

    def _is_copy(self, pod_row: int, decision: Decision) -> bool:
        pod = self._cluster.pods.infos[pod_row]
        return pod.template == decision.pod.template and pod.pod.metadata.deletion_timestamp is None

    def _state(self) -> Hashable:
        cluster = self._cluster
        return len(cluster.journal), cluster.structure, cluster.catalog.version, cluster.undo.epoch
