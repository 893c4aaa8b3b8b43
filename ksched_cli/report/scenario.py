"""A scenario step by step: what was done, what came of it, and whether that was expected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ksched_cli.plan.expectations import CheckedExpectation
from ksched_cli.plan.results import PodOutcome
from ksched_cli.plan.scenario_results import ScenarioResult, ScenarioRun, StepResult
from ksched_cli.report.console import make_console
from ksched_cli.report.entries import API_VERSION, end_entries
from ksched_cli.report.registry import RenderOptions, documents, renders
from ksched_cli.report.settle import print_settlement, settlement_entries
from ksched_cli.report.simulate_document import pod_entry
from ksched_cli.report.visible import shows_visible

KIND = "ScenarioResult"
_SHOWN = 5


@renders("ScenarioRun", "table", "wide")
def print_scenario(run: ScenarioRun, out: TextIO, options: RenderOptions) -> None:
    console = make_console(options.width, out)
    if options.timeline:
        print_settlement(run.settlement.world, console, wide=options.wide, headers=options.headers)
        console.print()
    _print_steps(run.result, console, options.wide)


@shows_visible
def _print_steps(result: ScenarioResult, console: Console, wide: bool) -> None:
    for number, step in enumerate(result.steps, start=1):
        _print_step(number, step, console, wide)
        console.print()
    console.print(_summary(result))


def _print_step(number: int, step: StepResult, console: Console, wide: bool) -> None:
    console.print(Text(f"{number}. {step.name}", style="bold"))
    body = Table(box=None, padding=(0, 2, 0, 0), show_header=False, pad_edge=False)
    body.add_column(no_wrap=True, min_width=6)
    body.add_column(ratio=1)
    for edit in step.edits:
        body.add_row(Text("  ~", style="cyan"), edit)
    for text in step.warnings:
        body.add_row(Text("  !", style="yellow"), text)
    body.add_row("", _came_of(step))
    lines = [_pod_line(outcome) for outcome in step.pods if wide or not outcome.node]
    for mark, line in _some(lines, wide):
        body.add_row(mark, line)
    for each in step.checks:
        _add_check(body, each, wide)
    console.print(body)


def _came_of(step: StepResult) -> Text:
    """`3 pods placed, 1 without a node`."""
    placed = sum(bool(outcome.node) for outcome in step.pods)
    parts = [f"{placed} pod{'' if placed == 1 else 's'} placed"] if step.pods else ["no pending pods"]
    missing = len(step.pods) - placed
    parts += [f"{missing} without a node"] if missing else []
    parts += [f"{len(step.preempting)} by preemption"] if step.preempting else []
    parts += [f"{len(step.gated)} held back"] if step.gated else []
    parts += [f"{len(step.refused)} refused"] if step.refused else []
    return Text(", ".join(parts), style="dim")


def _pod_line(outcome: PodOutcome) -> tuple[Text, str]:
    if outcome.node:
        return Text("  +", style="green"), f"{outcome.pod} -> {outcome.node}"
    return Text("  -", style="red"), f"{outcome.pod}: {outcome.message or outcome.result}"


def _add_check(body: Table, each: CheckedExpectation, wide: bool) -> None:
    if each.ok:
        body.add_row(Text("  ok", style="green"), each.text)
        return
    body.add_row(Text("  FAIL", style="bold red"), f"{each.text} (line {each.line})")
    for line in _some(each.against, wide):
        body.add_row("", Text(f"- {line}", style="red"))


def _some(lines: Sequence[Any], wide: bool) -> list[Any]:
    """The first few, and how many more there are."""
    if wide or len(lines) <= _SHOWN:
        return list(lines)
    more: Any = f"and {len(lines) - _SHOWN} more (-o wide shows them)"
    return [*lines[:_SHOWN], more if isinstance(lines[0], str) else ("", more)]


def _summary(result: ScenarioResult) -> Text:
    checks, failed = len(result.checks), len(result.failed)
    if failed:
        return Text(f"{result.name}: {failed} of {checks} expectations failed", style="bold red")
    what = f"all {checks} expectations hold" if checks > 1 else f"{checks} expectation holds" if checks else "done"
    return Text(f"{result.name}: {what}", style="bold green")


@documents("ScenarioRun")
def scenario_document(run: ScenarioRun, options: RenderOptions) -> dict[str, Any]:
    """With the timeline where it is wanted."""
    result = run.result
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "name": result.name,
        "source": result.source,
        "held": not result.failed,
        "steps": [_step_entry(step) for step in result.steps],
        **(settlement_entries if options.timeline else end_entries)(run.settlement.world),
    }


def _step_entry(step: StepResult) -> dict[str, Any]:
    return {
        "name": step.name,
        "line": step.line,
        "edits": list(step.edits),
        "pods": [pod_entry(outcome) for outcome in step.pods],
        "gated": [each.pod for each in step.gated],
        "refused": [{"pod": each.pod, "plugin": each.plugin, "message": each.message} for each in step.refused],
        "preempting": [pod_entry(outcome) for outcome in step.preempting],
        "warnings": list(step.warnings),
        "expectations": [
            {"text": each.text, "line": each.line, "held": each.ok, "against": list(each.against)}
            for each in step.checks
        ],
    }
