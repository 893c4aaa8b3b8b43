"""Renders a scenario: its steps, their results, and whether the expectations hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from ksched_cli.api.listing import named
from ksched_cli.plan.results.outcomes import PodOutcome
from ksched_cli.plan.scenario import CheckedExpectation, ScenarioResult, ScenarioRun, StepResult
from ksched_cli.report.console import Column, Grid, make_console, print_hanging
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.settle import draws_line, ending_line, print_settlement, settlement_entries
from ksched_cli.report.short_names import print_note
from ksched_cli.report.simulate_document import pod_entry
from ksched_cli.report.simulate_table import print_autoscaling
from ksched_cli.report.summary_line import BAD, GOOD, counted, summary_line
from ksched_cli.report.view.documents import end_entries, entry_of, node_table_entry, orders_entries
from ksched_cli.report.visible import shows_visible
from ksched_cli.sources.own_documents import API_VERSION

KIND = "ScenarioResult"
_SHOWN, _NAMED = 5, 3


def print_scenario(run: ScenarioRun, out: TextIO, options: RenderOptions) -> None:
    console, nodes = make_console(options.width, out), options.nodes
    _print_steps(nodes.shown(run.result), console, options.wide)
    if options.timeline:
        console.print()
        world = nodes.shown(run.settlement.world)
        console.print(ending_line(world))
        console.print()
        print_settlement(world, console, wide=options.wide, headers=options.headers)
    print_autoscaling(run, out, options)
    if nodes.suffix:
        print_note(out, options)


@shows_visible
def _print_steps(result: ScenarioResult, console: Console, wide: bool) -> None:
    print_hanging(console, _summary(result))
    quotes: dict[str, int] = {}
    for number, step in enumerate(result.steps, start=1):
        console.print()
        _print_step(number, step, console, wide, quotes)


def _print_step(number: int, step: StepResult, console: Console, wide: bool, quotes: dict[str, int]) -> None:
    """Print a step. `quotes` has the messages that were printed before, each with its step."""
    console.print(Text(f"{number}. {step.name}", style="bold"))
    body = Grid(Column(), Column(flows=True))
    for edit in step.edits:
        body.add(Text("  ~", style="cyan"), edit)
    for text in step.warnings:
        body.add(Text("  !", style="yellow"), text)
    body.add("      ", _came_of(step))
    placed = [outcome for outcome in step.pods if outcome.node and wide]
    for mark, line in (*_failing(step, number, wide, quotes), *map(_placed_line, placed)):
        body.add(mark, line)
    if step.end.doubtful:
        body.add(Text("  ?", style="yellow"), draws_line(step.end))
    for each in step.checks:
        _add_check(body, each, wide, quotes)
    console.print(body)


def _failing(step: StepResult, number: int, wide: bool, quotes: dict[str, int]) -> Iterator[tuple[Text, str]]:
    """The pods without a node, grouped by message. A message is quoted once."""
    by_message: dict[str, list[str]] = {}
    for outcome in step.pods:
        if not outcome.node:
            by_message.setdefault(outcome.message or outcome.result, []).append(outcome.pod)
    groups = list(by_message.items())
    shown = groups if wide else groups[:_SHOWN]
    for message, pods in shown:
        before = quotes.setdefault(message, number)
        why = message if before == number else f"for the same reasons as in step {before}"
        yield Text("  -", style="red"), f"{named(pods, len(pods) if wide else _NAMED)}: {why}"
    left = sum(len(pods) for _, pods in groups[len(shown) :])
    if left:
        yield Text(), f"and {counted(left, 'pod')} more (-o wide shows them)"


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


def _placed_line(outcome: PodOutcome) -> tuple[Text, str]:
    return Text("  +", style="green"), f"{outcome.pod} -> {outcome.node}"


def _add_check(body: Grid, each: CheckedExpectation, wide: bool, quotes: Mapping[str, int]) -> None:
    if each.ok:
        body.add(Text("  ok", style="green"), each.text)
        return
    body.add(Text("  FAIL", style="bold red"), f"{each.text} (line {each.line})")
    lines = [_without_quote(line, quotes) for line in each.against]
    shown = lines if wide else lines[:_SHOWN]
    for line in shown:
        body.add("", Text(f"- {line}", style="red"))
    if len(shown) < len(lines):
        body.add("", f"and {len(lines) - len(shown)} more (-o wide shows them)")


def _without_quote(line: str, quotes: Mapping[str, int]) -> str:
    """`shop/web-1: no node, for the reasons above` for a message that was printed before; else the line."""
    pod, _, message = line.partition(": ")
    return f"{pod}: no node, for the reasons above" if message in quotes else line


def _summary(result: ScenarioResult) -> Text:
    """`lose-a-zone: 1 of 3 expectations failed, in step 3`."""
    checks, failed = len(result.checks), len(result.failed)
    if failed:
        steps = [str(number) for number, step in enumerate(result.steps, start=1) if not step.held]
        where = [f"in step{'' if len(steps) == 1 else 's'} {', '.join(steps)}"]
        return summary_line(result.name, f"{failed} of {counted(checks, 'expectation')} failed", BAD, where)
    what = f"all {checks} expectations hold" if checks > 1 else f"{checks} expectation holds" if checks else "done"
    return summary_line(result.name, what, GOOD, [counted(len(result.steps), "step")])


def scenario_document(run: ScenarioRun, options: RenderOptions) -> dict[str, Any]:
    """The document; with the timeline if the options want it."""
    result = run.result
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        **entry_of(result, "name source"),
        "held": not result.failed,
        "steps": [_step_entry(step) for step in result.steps],
        **(settlement_entries if options.timeline else end_entries)(run.settlement.world),
        **({"autoscaling": run.autoscaling.document()} if run.autoscaling is not None else {}),
        **node_table_entry(run.nodes),
    }


def _step_entry(step: StepResult) -> dict[str, Any]:
    return {
        **entry_of(step, "name line edits"),
        "pods": [pod_entry(outcome) for outcome in step.pods],
        "gated": [each.pod for each in step.gated],
        "refused": [entry_of(each, "pod plugin message") for each in step.refused],
        "preempting": [pod_entry(outcome) for outcome in step.preempting],
        "warnings": list(step.warnings),
        "expectations": [_check_entry(each) for each in step.checks],
        **orders_entries(step.end),
    }


def _check_entry(each: CheckedExpectation) -> dict[str, Any]:
    entry = {"text": each.text, "line": each.line, "held": each.ok, "against": list(each.against)}
    if each.orders is not None:
        entry["orders"] = {"tried": each.orders.tried, "held": each.orders.finished}
    return entry
