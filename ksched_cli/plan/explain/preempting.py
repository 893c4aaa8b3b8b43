"""What preemption would choose from, and by which of its criteria."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ksched_cli.engine.cycle import CycleContext
from ksched_cli.plan.explain.results import PreemptionCandidate, PreemptionStudy

Figures = Mapping[str, Any]


def study_preemption(context: CycleContext | None) -> PreemptionStudy | None:
    """None where a node fits, and where no plugin of the profile preempts."""
    if context is None:
        return None
    for plugin in context.runtime.profile.post_filter:
        with context.runtime.calling(plugin.name, "explain"):
            detail = plugin.explain_post_filter(context.state.filter_states.get(plugin.name), context.pod, context)
        if detail:
            return _study(detail)
    return None


def _study(detail: Mapping[str, Any]) -> PreemptionStudy:
    if "ineligible" in detail:
        return PreemptionStudy(ineligible=detail["ineligible"])
    candidates: Sequence[Figures] = detail["candidates"]
    return PreemptionStudy(
        "",
        tuple(_candidate(each, candidates[0]) for each in candidates),
        {node: "; ".join(reasons) for node, reasons in detail["others"].items()},
        detail["beyondHelp"],
    )


def _candidate(figures: Figures, best: Figures) -> PreemptionCandidate:
    return PreemptionCandidate(
        figures["node"],
        tuple(figures["victims"]),
        figures["pdbViolations"],
        figures["highestPriority"],
        _why(figures, best),
    )


def _why(figures: Figures, best: Figures) -> str:
    """The first criterion in which it is not as good as the best."""
    if figures is best:
        return "chosen"
    for better, text in _CRITERIA:
        if better(best) != better(figures):
            return text(figures, best)
    return f"as good as {best['node']}: kube-scheduler takes any of them"


def _started(figures: Figures) -> float:
    """The later the better: what has not started yet is the best victim."""
    return float("inf") if figures["highestStarted"] is None else float(figures["highestStarted"])


_CRITERIA: tuple[tuple[Callable[[Figures], Any], Callable[[Figures, Figures], str]], ...] = (
    (
        lambda each: each["pdbViolations"],
        lambda each, best: (
            f"breaks PodDisruptionBudgets {each['pdbViolations']} times, {best['node']} {best['pdbViolations']} times"
        ),
    ),
    (
        lambda each: each["highestPriority"],
        lambda each, best: (
            f"a victim has priority {each['highestPriority']}, on {best['node']} none over {best['highestPriority']}"
        ),
    ),
    (
        lambda each: each["sumOfPriorities"],
        lambda each, best: f"its victims weigh more by their number and priorities than those of {best['node']}",
    ),
    (
        lambda each: len(each["victims"]),
        lambda each, best: f"{len(each['victims'])} victims, {best['node']} {len(best['victims'])}",
    ),
    (_started, lambda each, best: f"its most important victim has run longer than that of {best['node']}"),
)
