"""Prints a check: each workload with its findings and the place of each finding."""

from __future__ import annotations

from dataclasses import replace
from typing import TextIO

from rich.padding import Padding
from rich.text import Text

from ksched_cli.api.listing import joined, named
from ksched_cli.plan.check.results import Check, Finding, WorkloadCheck
from ksched_cli.report.console import make_console, print_hanging
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.settle import span
from ksched_cli.report.short_names import shows_nodes
from ksched_cli.report.summary_line import BAD, FAIR, GOOD, counted, summary_line
from ksched_cli.report.view.omissions import print_omissions
from ksched_cli.report.visible import shows_visible

# The first line names up to this many workloads that lose pods.
_PAYERS = 2
_NAMED = 4
_ALL_FIT = ("fits", "all fit")
_COLOURS = {"fits": "green", "fails": "red", "warns": "yellow", "held back": "yellow", "ignored": "yellow"}
_LEVELS = {"error": "red", "warning": "yellow", "note": "cyan"}


def print_check(check: Check, out: TextIO, options: RenderOptions) -> None:
    """Print the workloads. The pods of the world are left out, so their texts need no escapes."""
    _print_check(replace(check, world=None), out, options)


@shows_nodes
@shows_visible
def _print_check(check: Check, out: TextIO, options: RenderOptions) -> None:
    """Print the summary line, then the workloads in the order of the manifests."""
    console = make_console(options.width, out)
    print_hanging(console, check_summary_line(check))
    if check.losses and check.workloads:
        print_hanging(console, Text(payers(check), style="bold yellow"))
    if check.evicted_anyway and check.workloads:
        print_hanging(console, Text(evicted_anyway(check), style="dim"))
    codes = sorted({finding.code for finding in check.findings if finding.level == "error"})
    if codes:
        print_hanging(console, Text(f"what to do: ksched explain-code {' '.join(codes)}", style="dim"))
    if check.workloads or check.inputs:
        console.print()
    for finding in check.inputs:
        console.print(_finding(finding))
        console.print(Padding(_explanation(finding), (0, 0, 0, 2)))
    for workload in check.workloads:
        console.print(_headline(workload))
        if options.wide and workload.rollout:
            console.print(Padding(_steps(workload), (0, 0, 0, 2)))
        for finding in workload.findings:
            console.print(Padding(_finding(finding), (0, 0, 0, 2)))
            console.print(Padding(_explanation(finding), (0, 0, 0, 4)))
        if workload.missing:
            console.print(Padding(Text(f"could be otherwise: {unread(workload)}", style="yellow"), (0, 0, 0, 2)))
    print_omissions(check.coverage, console)


def payers(check: Check) -> str:
    """The workloads that lose pods: `fits only by evicting running pods: DaemonSet shop/logs: 2 evicted against
    PodDisruptionBudget shop/logs, 2 Pending in the end`."""
    fits = not any(workload.result in ("fails", "ignored") for workload in check.workloads)
    what = "fits only by evicting running pods" if fits else "running pods are evicted"
    return f"{what}: {'; '.join(loss.sentence for loss in check.losses)}"


def evicted_anyway(check: Check) -> str:
    names = named(check.evicted_anyway, _NAMED)
    return f"pending pods of the cluster evict {names} with or without the manifests"


def _headline(workload: WorkloadCheck) -> Text:
    line = Text.assemble((workload.workload, "bold"), "  ", (workload.result, f"bold {_COLOURS[workload.result]}"))
    line.append(f"  {progress(workload)}", style="dim")
    return line


def unread(workload: WorkloadCheck) -> str:
    return f"{', '.join(workload.missing)} could not be read"


def progress(workload: WorkloadCheck) -> str:
    """`2 of 3 pods have a node, 1 old pod is left, after 4 steps`."""
    if not workload.pods and not workload.old:
        return "no pods"
    has = "has" if 1 in (workload.pods, workload.running) else "have"
    text = f"{workload.running} of {counted(workload.pods, 'pod')} {has} a node"
    if workload.old:
        text += f", {counted(workload.old, 'old pod')} left"
    if workload.rollout:
        text += f", after {counted(len(workload.steps), 'step')}"
    return f"{text}, {workload.orders}" if workload.orders else text


def _finding(finding: Finding) -> Text:
    """The line of a finding as compilers print it: a place that a terminal can open, the level, the code and the
    title."""
    text = Text()
    text.append(f"{spot(finding)}: " if finding.place.source else "", style="dim")
    text.append(finding.level, style=f"bold {_LEVELS[finding.level]}")
    text.append(f" {finding.code}", style="bold")
    text.append(f": {finding.title}")
    return text


def _explanation(finding: Finding) -> Text:
    text = Text(finding.message)
    if finding.place.path:
        text.append(f"\nfield: {finding.place.path}", style="dim")
    return text


def finding_text(finding: Finding) -> str:
    """The message, after the name of its workload."""
    return f"{finding.workload}: {finding.message}" if finding.workload else finding.message


def spot(finding: Finding) -> str:
    """`deploy/web.yaml:12`."""
    place = finding.place
    return f"{place.source}:{place.line}" if place.line is not None else place.source


def _steps(workload: WorkloadCheck) -> Text:
    lines = []
    for number, step in enumerate(workload.steps, start=1):
        parts = [f"{len(step.made)} created"] if step.made else []
        placed = [f"{pod} on {node}" for pod, node in step.placed.items()]
        parts += [f"placed {named(placed, _NAMED)}"] if placed else []
        parts += [f"deleted {named(step.removed, _NAMED)}"] if step.removed else []
        lines.append(f"step {number} ({span(step.seconds)}): {'; '.join(parts)}")
    return Text("\n".join(lines), style="dim")


def _evicted(check: Check) -> str:
    """`3 pods evicted of Deployment batch/crawler and Deployment batch/reports`."""
    workloads = [loss.workload.replace("/", " ", 1) for loss in check.losses]
    more = len(workloads) - _PAYERS
    shown = workloads if more <= 0 else [*workloads[:_PAYERS], counted(more, "more workload")]
    return f"{counted(len(check.evicted), 'pod')} evicted{f' of {joined(shown)}' if shown else ''}"


def check_summary_line(check: Check) -> Text:
    """`4 workloads: 1 fails, 2 errors, 1 warning (6 nodes)`."""
    total, failing = len(check.workloads), sum(workload.result == "fails" for workload in check.workloads)
    subject, context = counted(total, "workload"), counted(check.stats.nodes, "node")
    counts = [counted(check.count(level), level) for level in ("error", "warning") if check.count(level)]
    counts += [_evicted(check)] if check.evicted and total else []
    counts += [counted_ignored(check)] if check.ignored else []
    if not total and not check.is_input_wrong:
        return summary_line("nothing to place", "no pods or workloads in the manifests", FAIR, (), context)
    if check.is_input_wrong:
        rest = [] if not total else [f"{failing} of the rest {'fails' if failing == 1 else 'fail'}"]
        verdict = "the input is wrong in part" if total else "nothing was checked, the input is wrong"
        return summary_line(subject, verdict, BAD, [*rest, *counts], context)
    if failing:
        return summary_line(subject, f"{failing} {'fails' if failing == 1 else 'fail'}", BAD, counts, context)
    verdict = _fits(check)
    if any(each.orders and 0 < each.orders.finished < each.orders.tried for each in check.workloads):
        verdict += " in some orders only"
    return summary_line(subject, verdict, GOOD if verdict in _ALL_FIT and not counts else FAIR, counts, context)


def _fits(check: Check) -> str:
    """`all fit`, unless errors of a workload are ignored or a workload is held back: `3 fit, errors of 1 ignored`."""
    results = [workload.result for workload in check.workloads]
    ignored, held, total = results.count("ignored"), results.count("held back"), len(results)
    if not ignored and not held:
        return _ALL_FIT[total > 1]
    fit = total - ignored - held
    parts = [f"{fit} {'fits' if fit == 1 else 'fit'}"] if fit else []
    parts += [f"{held} held back"] if held else []
    parts += [f"errors of {ignored} ignored"] if ignored else []
    return ", ".join(parts)


def check_summary(check: Check) -> str:
    """The summary line for formats without colours."""
    return check_summary_line(check).plain


def counted_ignored(check: Check) -> str:
    """`2 findings ignored`."""
    return f"{counted(len(check.ignored), 'finding')} ignored"
