"""What `sweep --curve` compares: how full the cluster gets under each policy, with bands over the seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ksched_cli.errors import counted
from ksched_cli.plan.sweep.curves import CurveSweep, CurveSweepResult, MeanCurve
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.view.model import (
    Chart,
    Facts,
    Figure,
    Line,
    Section,
    Series,
    Table,
    Tone,
    View,
    columns,
    counting,
)
from ksched_cli.report.view.shared import ALLOCATED, ARRIVED, of_no_use

# So many percent below the end of the worst policy a chart begins.
_BELOW = 10
_AT = 100


Document = CurveSweepResult


def document(sweep: CurveSweep, options: RenderOptions) -> CurveSweepResult:
    return sweep.result()


def view(found: CurveSweepResult) -> View:
    """`60 runs: FGD allocates the most of example.com/gpu (95.4 %), 10 seeds`."""
    groups = _groups(found)
    verdict, tone = _verdict(found, groups)
    details = [counted(len(found.seeds), "seed")] if len(found.seeds) > 1 else []
    details += [f"{counted(len(found.errors), 'run')} failed"] if found.errors else []
    stats = found.stats
    figures = [counting(found.runs, "run"), counting(len(found.policies), "policy")]
    if len(found.policies) != 1:
        figures[1] = Figure("policies", str(len(found.policies)))
    seconds = stats.cpu_seconds
    facts = [(policy, f"{each:.1f} s of the processor for a run") for policy, each in seconds.items()]
    facts += [("Ran on", f"{counted(stats.workers, 'worker')} ({stats.executor})")]
    return View(
        "sweep",
        counted(found.runs, "run"),
        verdict,
        tone,
        details,
        notes=[Line(f"{_at(each.at)}: {each.error}", "bad") for each in found.errors[:10]],
        figures=figures,
        sections=[*_sections(groups), Section("time", "Time", Facts(facts), place="page")],
        rows=[[each.policy, each.workload or "-", each.resource, f"{each.end:.2f}"] for each in found.curves],
    )


def _at(at: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in at.items())


def _groups(found: CurveSweepResult) -> list[list[MeanCurve]]:
    """The curves of one workload and resource each."""
    groups: dict[tuple[str, str], list[MeanCurve]] = {}
    for each in found.curves:
        groups.setdefault((each.workload, each.resource), []).append(each)
    return list(groups.values())


def _verdict(found: CurveSweepResult, groups: Sequence[Sequence[MeanCurve]]) -> tuple[str, Tone]:
    if found.errors or not groups:
        return "some runs failed", "bad"
    best = [max(group, key=lambda each: each.end) for group in groups]
    first = best[0]
    if len(found.policies) == 1:
        return f"{first.end:.1f} % of {first.resource} is allocated in the end", "plain"
    if len(groups) == 1:
        return f"{first.policy} allocates the most of {first.resource} ({first.end:.1f} %)", "plain"
    wins = sum(each.policy == first.policy for each in best)
    return f"{first.policy} allocates the most in {wins} of {len(groups)} comparisons", "plain"


def _sections(groups: Sequence[Sequence[MeanCurve]]) -> Iterator[Section]:
    for number, group in enumerate(groups):
        of = f" ({group[0].workload})" if group[0].workload else ""
        title = f"{group[0].resource}{of}"
        ranked = sorted(group, key=lambda each: -each.end)
        yield Section(f"policies-{number}", title, _table(ranked), titled=len(groups) > 1)
        intro = (
            "The mean over the seeds, and behind it the least and the most, when so much of the resource has arrived."
        )
        series = [Series(each.policy, _points(each), _band(each)) for each in ranked]
        chart = Chart(series, ARRIVED, ALLOCATED, _before_the_ends(group))
        yield Section(f"chart-{number}", f"{title} under each policy", chart, intro, place="page")


def _points(curve: MeanCurve) -> list[tuple[float, float]]:
    return [(curve.first + number, share) for number, share in enumerate(curve.mean)]


def _band(curve: MeanCurve) -> list[tuple[float, float, float]]:
    if curve.runs < 2:
        return []
    pairs = zip(curve.least, curve.most, strict=True)
    return [(curve.first + number, low, high) for number, (low, high) in enumerate(pairs)]


def _before_the_ends(group: Sequence[MeanCurve]) -> float:
    """The round percent from which on a chart shows the ends of the curves large: there the fullest policy is some
    percent below the end of the worst one."""
    if len(group) < 2:
        return 0
    least = min(each.end for each in group) - _BELOW
    first = max(each.first for each in group)
    for percent in range(first, min(each.last for each in group) + 1):
        if max(each.mean[percent - each.first] for each in group) >= least:
            return percent // 10 * 10 if percent > first else 0
    return 0


def _table(ranked: Sequence[MeanCurve]) -> Table:
    """A row for each policy, the one that allocates most first."""
    shown = columns(
        "Policy; Runs: number wide; Allocated %: number; Least: number; Most: number; At 100 %: number; "
        "First failure at %: number; No node: number; Of no use %: number wide; Most of it: wide"
    )
    rows: list[list[Any]] = []
    for each in ranked:
        rows.append(
            [
                each.policy,
                each.runs,
                each.end,
                each.least[-1] if each.runs > 1 else "",
                each.most[-1] if each.runs > 1 else "",
                each.at(_AT),
                each.first_failure,
                each.failed[-1],
                *of_no_use({reason: shares[-1] for reason, shares in each.unusable.items()}),
            ]
        )
    return Table(shown, rows, rows_are="policy")
