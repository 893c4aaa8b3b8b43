"""How failures are reported: the scheduler's own reasons for finding no place, and plugins that break, which spoil
one pod's cycle and not the run."""

from __future__ import annotations

from collections import Counter
from types import TracebackType
from typing import NoReturn

import numpy as np

from ksched_cli.errors import KschedError
from ksched_cli.framework.reasons import ReasonCode, ReasonKind, ReasonTable
from ksched_cli.framework.status import Code
from ksched_cli.framework.verdict import Verdict


class CycleError(KschedError):
    """The cycle ended in an error; its text is the pod's message. `plugin` is the one that failed, if one did. Outside
    of any cycle it is the end of the run."""

    def __init__(self, text: str, plugin: str = "") -> None:
        super().__init__(text)
        self.plugin = plugin


class ExtenderError(CycleError):
    """The extender could not be called, or its answer cannot be used; the text is kube-scheduler's where it has one."""


class PluginFault(CycleError):
    """A plugin raised, or answered in a shape that cannot be used."""

    def __init__(self, plugin: str, point: str, what: str) -> None:
        super().__init__(f'plugin "{plugin}" failed at {point}: {what}', plugin)


def error_text(problem: BaseException) -> str:
    """An exception in a line, with what was noted on its way, such as the node that was looked at."""
    text = f"{type(problem).__name__}: {problem}" if str(problem) else type(problem).__name__
    notes = getattr(problem, "__notes__", ())
    return f"{text} ({', '.join(notes)})" if notes else text


def errors_in(verdict: Verdict) -> list[str]:
    """One text for each row that a filter failed on."""
    failed = np.nonzero(verdict.codes == int(Code.ERROR))[0]
    return [verdict.status(int(index)).message for index in failed]


def aggregate(errors: Counter[str]) -> str:
    """CreateAggregateFromMessageCountMap. Go lists them in any order, and here it is that of their texts."""
    texts = [f"{text} (repeated {count} times)" if count > 1 else text for text, count in sorted(errors.items())]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def raise_plugin_fault(problem: Exception, plugin: str, point: str) -> NoReturn:
    """Raise whatever went wrong in a call of a plugin as the plugin's fault, by name."""
    if isinstance(problem, KschedError):
        raise problem
    raise PluginFault(plugin, point, error_text(problem)) from problem


class plugin_faults:  # noqa: N801  # used as a function: with plugin_faults(...)
    """`raise_plugin_fault` for each exception inside the block. Where calls are many, that function costs two calls
    less."""

    __slots__ = ("plugin", "point")

    def __init__(self, plugin: str, point: str) -> None:
        self.plugin = plugin
        self.point = point

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(problem, Exception) and not isinstance(problem, KschedError):
            raise_plugin_fault(problem, self.plugin, self.point)


_NO_NODES = ReasonCode(
    "KS118",
    "no-nodes",
    "the cluster has no nodes",
    "There is not a single Node in the input.",
    ("add nodes to the dump",),
)
_CONFLICTING = ReasonCode(
    "KS119",
    "conflicting-restrictions",
    "no node meets all that the pod requires",
    "Several plugins each leave some nodes, and none is left by all of them: for example a volume that is on one node "
    "and a node affinity for another.",
    ("loosen one of them",),
)
_GROUP = ReasonCode(
    "KS152",
    "pod-group-unschedulable",
    "the pod group as a whole has no place",
    "Fewer of its pods found a node than the gang needs, or no placement has room for it.",
    ("lower minCount", "make room"),
)
_GROUP_GATED = ReasonCode(
    "KS153",
    "pod-group-held-back",
    "the pod is held back with another of its pod group",
    "A pod group waits as a whole: as long as one of its pods is held back, none is tried.",
    ("let that pod in", "delete that pod"),
    level="note",
)


class EngineReasons(ReasonTable):
    no_nodes = ReasonKind("no nodes available to schedule pods", _NO_NODES)
    # PreFilter plugins that narrowed the nodes down: one that left none, several that left none in common, and those
    # that left out one node.
    left_no_node = ReasonKind("node(s) didn't satisfy plugin {plugins}", _CONFLICTING)
    left_none_in_common = ReasonKind("node(s) didn't satisfy plugin(s) [{plugins}] simultaneously", _CONFLICTING)
    left_out = ReasonKind(
        "node(s) didn't satisfy plugin(s) [{plugins}]", _CONFLICTING, problem="are ruled out by {plugins}"
    )
    filtered_out = ReasonKind("node is filtered out by the prefilter result", _CONFLICTING)
    group_unplaced = ReasonKind("{message}", _GROUP)
    no_group_preemption = ReasonKind(
        "default preemption plugin is not registered, workload aware preemption is disabled", _GROUP
    )
    no_placements = ReasonKind("no feasible placements found", _GROUP)
    group_gated = ReasonKind("pod {pod} of its pod group is held back: {message}", _GROUP_GATED)
