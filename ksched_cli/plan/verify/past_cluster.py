"""The cluster of a replay: pods are scheduled again and put where they are in truth."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.columns import RowColumn
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.verify.history import BindingSecond, Placed
from ksched_cli.plan.verify.results import Agreement


class ReplayAnswer(Struct, frozen=True):
    """The node that was chosen, or the reason why the pod's node was rejected. `unseen`: there were more feasible nodes
    than kube-scheduler looks for."""

    agreement: Agreement
    text: str
    unseen: bool = False


class PastCluster:
    """The scheduler's cluster has all pods as pending, and its profiles have no PostFilter: no pod is evicted for a
    pod that runs."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._cluster = scheduler.cluster
        self._row_of = {info.key: row for row, info in enumerate(self._cluster.pods.infos)}

    @property
    def repeatable(self) -> bool:
        """Whether a pod can be tried any number of times: sampling goes on from where it stopped, and extenders are
        other people's servers."""
        return not self._scheduler.handle.sampling and self._scheduler.extenders is None

    def advance(self, step: BindingSecond) -> None:
        """What happened up to the step's second, but for the pods that are tried in it."""
        self._cluster.add_nodes(step.arriving)
        for placed in step.others:
            self.put(placed)
        for key in step.terminating:
            self._cluster.terminate(self._row_of[key])
        for key in step.left:
            self._cluster.displace(self._row_of[key])
        self.hide(step.hidden)

    def hide(self, names: Collection[str]) -> None:
        """These nodes are no candidates, and all others are."""
        nodes = self._cluster.nodes
        hidden = [nodes.row_of[name] for name in names]
        self._scheduler.look_only_at(np.delete(nodes.all_rows, hidden) if hidden else None)

    def decide(self, placed: Placed) -> Decision:
        """What the pod's cycle comes to now."""
        row, nominator = self._row_of[placed.key], self._scheduler.nominator
        if placed.nominated:
            nominator.add(row, placed.node)
        if self.repeatable:
            decision = self._scheduler.ask(row)
        else:
            decision = self._scheduler.schedule(row)
            self._cluster.displace(row)
        nominator.delete(row)
        return decision

    def answer(self, decision: Decision, placed: Placed) -> ReplayAnswer:
        """How the decision compares with the node that the pod is on."""
        if decision.result == "error":
            return ReplayAnswer(Agreement.ERROR, decision.message)
        there = self._cluster.nodes.row_of[placed.node]
        if decision.row is not None and (decision.row == there or _is_among(there, decision.ties)):
            return ReplayAnswer(Agreement.SAME, placed.node)
        if decision.row is not None and _is_among(there, decision.feasible):
            unseen = len(decision.feasible) > self._scheduler.sample_size(decision.pod_row)
            return ReplayAnswer(Agreement.OTHER_NODE, self._cluster.nodes.names[decision.row], unseen)
        assert decision.diagnosis is not None
        status = decision.diagnosis.pre_filter or decision.diagnosis.nodes.status(there)
        return ReplayAnswer(Agreement.REJECTED, f"{status.plugin}: {status.message}")

    def best_nodes(self, placed: Placed) -> frozenset[str]:
        """The node that the pod would go to now, and those as good."""
        decision = self.decide(placed)
        rows = decision.ties.tolist() or ([] if decision.row is None else [decision.row])
        return frozenset(self._cluster.nodes.names[row] for row in rows)

    def put(self, placed: Placed) -> None:
        """Count the pod on its node."""
        self._cluster.place(self._row_of[placed.key], self._cluster.nodes.row_of[placed.node])

    def take_back(self, placed: Placed) -> None:
        self._cluster.displace(self._row_of[placed.key])


def _is_among(row: int, rows: RowColumn) -> bool:
    return bool(np.count_nonzero(rows == row))
