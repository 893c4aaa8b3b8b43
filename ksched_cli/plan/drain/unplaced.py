"""Why pods have no node, in kube-scheduler's words and without what preemption adds: it has made no room."""

from __future__ import annotations

from ksched_cli.cluster.undo import LoggedDict, UndoLog
from ksched_cli.engine.decision import Decision


class UnplacedReasons:
    """Called with each decision of a world; `of` has the reason of the last one of each pod, by uid."""

    def __init__(self, undo: UndoLog) -> None:
        self.of: dict[str, str] = LoggedDict(undo)

    def __call__(self, decision: Decision) -> None:
        if decision.row is None:
            by_filters = decision.diagnosis is not None and decision.result != "error" and not len(decision.feasible)
            filters = decision.diagnosis.filter_message() if by_filters and decision.diagnosis else ""
            self.of[decision.pod.uid] = filters or decision.message
