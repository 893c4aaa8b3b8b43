"""A check for people: every workload with what is in its way, and where that is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from rich.padding import Padding
from rich.text import Text

from ksched_cli.plan.check.results import Check, Finding, WorkloadCheck
from ksched_cli.report.console import make_console
from ksched_cli.report.omissions import print_omissions
from ksched_cli.report.registry import RenderOptions, renders
from ksched_cli.report.settle import span
from ksched_cli.report.visible import shows_visible

_NAMED = 4
_COLOURS = {"fits": "green", "fails": "red", "warns": "yellow", "held back": "yellow", "ignored": "yellow"}
_LEVELS = {"error": "red", "warning": "yellow", "note": "cyan"}


@renders("Check", "table")
@renders("Check", "wide", help="with the steps of each rollout")
@shows_visible
def print_check(check: Check, out: TextIO, options: RenderOptions) -> None:
    """Workloads in the order of the manifests, then the line that sums it up."""
    console = make_console(options.width, out)
    if check.losses:
        console.print(Text(payers(check), style="bold yellow"))
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
    if check.workloads or check.inputs:
        console.print()
    console.print(check_summary_line(check))
    codes = sorted({finding.code for finding in check.findings if finding.level == "error"})
    if codes:
        console.print(Text(f"what to do: ksched explain-code {' '.join(codes)}", style="dim"))
    print_omissions(check.coverage, console)


def payers(check: Check) -> str:
    """Who pays for the room, and against which budget: `fits only by evicting running pods: DaemonSet shop/logs: 2
    evicted against PodDisruptionBudget shop/logs, 2 Pending in the end`."""
    fits = not any(workload.result == "fails" for workload in check.workloads)
    what = "fits only by evicting running pods" if fits else "running pods are evicted"
    return f"{what}: {'; '.join(loss.sentence for loss in check.losses)}"


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
    text = f"{workload.running} of {_counted(workload.pods, 'pod')} {has} a node"
    if workload.old:
        text += f", {_counted(workload.old, 'old pod')} left"
    if workload.rollout:
        text += f", after {_counted(len(workload.steps), 'step')}"
    return f"{text}, {workload.orders}" if workload.orders else text


def _finding(finding: Finding) -> Text:
    """As compilers do it: the line that a terminal can open, what it is, and below it the rest."""
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


def said(finding: Finding) -> str:
    """The message with the workload that it is about."""
    return f"{finding.workload}: {finding.message}" if finding.workload else finding.message


def spot(finding: Finding) -> str:
    """`deploy/web.yaml:12`."""
    place = finding.place
    return f"{place.source}:{place.line}" if place.line is not None else place.source


def _steps(workload: WorkloadCheck) -> Text:
    lines = []
    for number, step in enumerate(workload.steps, start=1):
        parts = [f"{len(step.made)} made"] if step.made else []
        parts += [f"placed {_some([f'{pod} on {node}' for pod, node in step.placed.items()])}"] if step.placed else []
        parts += [f"gone {_some(step.removed)}"] if step.removed else []
        lines.append(f"step {number} ({span(step.seconds)}): {'; '.join(parts)}")
    return Text("\n".join(lines), style="dim")


def _some(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def check_summary_line(check: Check) -> Text:
    failing = check.is_input_wrong or any(workload.result == "fails" for workload in check.workloads)
    return Text(check_summary(check), style="bold red" if failing else "bold green")


def check_summary(check: Check) -> str:
    """`1 of 4 workloads fails: 2 errors, 1 warning (6 nodes)`."""
    total = len(check.workloads)
    failing = sum(workload.result == "fails" for workload in check.workloads)
    nodes = _counted(check.stats.nodes, "node")
    if not total:
        if check.is_input_wrong:
            return f"nothing was checked: {_counted(check.count('error'), 'error')} in the input ({nodes})"
        return f"nothing to place: no pods or workloads in the manifests ({nodes})"
    verdict = f"{failing} of {total} workloads {'fails' if failing == 1 else 'fail'}" if failing else ""
    verdict = verdict or f"all {total} workloads fit"
    if total == 1:
        verdict = "the workload fails" if failing else "the workload fits"
    if not failing and any(each.orders and each.orders.finished < each.orders.tried for each in check.workloads):
        verdict += " in some orders only"
    if check.is_input_wrong:
        verdict = f"the input is wrong in part; of the rest, {verdict}"
    counts = [_counted(check.count(level), level) for level in ("error", "warning") if check.count(level)]
    evicted = [f"{_counted(len(check.evicted), 'pod')} evicted"] if check.evicted else []
    ignored = [counted_ignored(check)] if check.ignored else []
    said = ", ".join([*counts, *evicted, *ignored])
    return f"{verdict}{': ' + said if said else ''} ({nodes})"


def counted_ignored(check: Check) -> str:
    """`2 findings ignored`."""
    return f"{_counted(len(check.ignored), 'finding')} ignored"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
