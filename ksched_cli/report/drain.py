"""What draining came to: the document, and the tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO, get_args

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ksched_cli.plan.drain.results import (
    BudgetChange,
    DrainOutcome,
    DrainResult,
    DrainTrial,
    Evicted,
    Fate,
    NodeDrain,
    PodFate,
    Remark,
)
from ksched_cli.report.console import make_console
from ksched_cli.report.entries import API_VERSION, end_entries, stats_entry
from ksched_cli.report.omissions import print_omissions
from ksched_cli.report.registry import RenderOptions, documents, renders
from ksched_cli.report.rows import write_row
from ksched_cli.report.settle import ending_line
from ksched_cli.report.visible import shows_visible, visible

if TYPE_CHECKING:
    from ksched_cli.plan.drain.drain import DrainTrials

# The document


@documents("DrainTrials")
def drain_document(found: DrainTrials, options: RenderOptions) -> dict[str, Any]:
    """One drain, or a list of them where every node or zone was drained by itself."""
    if found.each is None:
        body = {"kind": "Drain", **_drain(next(iter(found.trials)).drain)}
    else:
        entries = [{"name": trial.name, **_drain(trial.drain)} for trial in found.trials]
        body = {"kind": "DrainList", "each": found.each, "trials": entries}
    return {"apiVersion": API_VERSION, **body, "coverage": dict(found.coverage), "stats": stats_entry(found.stats)}


@renders("DrainTrials", "name")
def write_outcomes(found: DrainTrials, out: TextIO, options: RenderOptions) -> None:
    for trial in found.trials:
        write_row(out, trial.name, trial.drain.outcome)
        out.flush()


def _drain(drain: DrainResult) -> dict[str, Any]:
    return {
        "result": drain.outcome,
        **({"reason": reason} if (reason := _reason(drain)) else {}),
        "safe": drain.safe,
        "drained": drain.drained,
        "nodes": [_node(node) for node in drain.nodes],
        "budgets": [_budget(budget) for budget in drain.budgets],
        "preempted": [_evicted(each) for each in drain.preempted],
        "pending": {"pods": drain.pending, "placed": drain.pending_placed},
        **end_entries(drain.world),
    }


def _evicted(each: Evicted) -> dict[str, Any]:
    return _present(pod=each.pod, node=each.node, by=each.by, successor=each.successor, to=each.to)


def _node(node: NodeDrain) -> dict[str, Any]:
    return {
        "node": node.node,
        "drained": node.drained,
        "rounds": node.rounds,
        "refusals": [_remark(each) for each in node.refusals],
        "warnings": [_remark(each) for each in node.warnings],
        "pods": [
            _present(pod=pod.pod, fate=pod.fate, round=pod.round, successor=pod.successor, to=pod.to, message=pod.why)
            for pod in node.pods
        ],
    }


def _remark(remark: Remark) -> dict[str, Any]:
    return {"message": remark.message, "pods": list(remark.pods)}


def _present(**entry: Any) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if value not in ("", 0)}


def _budget(budget: BudgetChange) -> dict[str, Any]:
    return {
        "budget": budget.budget,
        "desiredHealthy": budget.desired,
        "currentHealthy": {"before": budget.healthy_before, "lowest": budget.lowest, "after": budget.healthy_after},
        "disruptionsAllowed": {"before": budget.allowed_before, "after": budget.allowed_after},
    }


# The tables

_PODS: Mapping[Fate, tuple[str, str]] = {
    "moves": ("moves", "move"),
    "unplaced": ("finds no place", "find no place"),
    "gone": ("is gone for good", "are gone for good"),
    "stuck": ("is stuck", "are stuck"),
    "refused": ("is refused", "are refused"),
    "waits": ("waits", "wait"),
    "stays": ("stays", "stay"),
}


@renders("DrainTrials", "table", "wide")
def print_trials(found: DrainTrials, out: TextIO, options: RenderOptions) -> None:
    console = make_console(options.width, out)
    if found.each and not options.wide:
        _print_summary(found, found.each, console, options.headers)
    else:
        for index, trial in enumerate(found.trials):
            if index:
                console.print()
            _print_drain(trial.drain, console, options.headers)
    print_omissions(found.coverage, console)


@shows_visible
def _print_drain(drain: DrainResult, console: Console, headers: bool) -> None:
    """Node by node: each pod with its round and where it goes."""
    for index, node in enumerate(drain.nodes):
        if index:
            console.print()
        _print_node(node, console, headers)
    if drain.preempted:
        console.print()
        console.print(Text("\n").join(_preempted(drain.preempted)))
    if drain.budgets:
        console.print()
        console.print(_budgets(drain.budgets, headers))
    if drain.pending:
        console.print()
        console.print(Text(f"{drain.pending} pods waited for a node before: {drain.pending_placed} found one first"))
    if not drain.world.settled:
        console.print()
        console.print(ending_line(drain.world))
    console.print()
    result = Text.assemble("result: ", (drain.outcome, f"bold {_colour(drain.outcome)}"))
    if len(drain.nodes) > 1:
        result.append(f" ({_counts(pod for node in drain.nodes for pod in node.pods) or 'no pods'})")
    console.print(result)


def _print_node(node: NodeDrain, console: Console, headers: bool) -> None:
    console.print(_headline(node))
    for refusal in node.refusals:
        console.print(Padding(Text(str(refusal), style="red"), (0, 0, 0, 2)))
    for warning in node.warnings:
        console.print(Padding(Text(str(warning), style="yellow"), (0, 0, 0, 2)))
    shown = [pod for pod in node.pods if pod.fate not in ("stays", "refused")]
    if shown and not node.refusals:
        console.print()
        table = _table(headers, "ROUND", "POD")
        table.add_column("GOES TO", ratio=1)
        for pod in shown:
            table.add_row(str(pod.round or "-"), pod.pod, _destination(pod))
        console.print(Padding(table, (0, 0, 0, 2)))


def _headline(node: NodeDrain) -> Text:
    if node.refusals:
        return Text.assemble(
            (node.node, "bold"), ": ", ("kubectl drain would refuse", "bold red"), ", nothing is evicted"
        )
    counted = _counts(pod for pod in node.pods if pod.fate != "stays")
    if not counted:
        return Text.assemble((node.node, "bold"), ": ", ("nothing to evict", "bold green"))
    word = "in" if node.drained else "after"
    rounds = f" {word} {node.rounds} round{'' if node.rounds == 1 else 's'}" if node.rounds else ""
    verdict = ("drained", "bold green") if node.drained else ("not drained", "bold red")
    return Text.assemble((node.node, "bold"), ": ", verdict, f"{rounds}: {counted}")


def _counts(pods: Iterable[PodFate]) -> str:
    """`5 move, 1 is stuck`."""
    counts = Counter(pod.fate for pod in pods)
    return ", ".join(f"{counts[fate]} {words[counts[fate] > 1]}" for fate, words in _PODS.items() if counts[fate])


def _destination(pod: PodFate) -> Text:
    if pod.fate == "moves":
        name = pod.successor.partition("/")[2]
        same = pod.successor == pod.pod
        return Text.assemble((pod.to, "green"), "" if same else f", as {name}")
    if pod.fate == "gone":
        return Text(f"gone: {pod.why}", style="yellow")
    if pod.fate == "unplaced":
        return Text.assemble(("no place", "red"), f": {pod.why}")
    return Text.assemble(("stuck", "red"), f": {pod.why}")


def _preempted(evicted: Sequence[Evicted]) -> list[Text]:
    return [
        Text.assemble(
            (each.pod, "bold"),
            f" is preempted on {each.node} by {each.by} and ",
            _end_of(each),
        )
        for each in evicted
    ]


def _end_of(each: Evicted) -> tuple[str, str]:
    if each.to:
        return f"moves to {each.to}", ""
    return ("finds no place" if each.successor else "is gone for good"), "red"


def _budgets(budgets: Sequence[BudgetChange], headers: bool) -> Table:
    table = _table(headers, "BUDGET")
    for column in ("NEEDS", "HEALTHY", "LOWEST", "IN THE END", "ALLOWS"):
        table.add_column(column, justify="right")
    for each in budgets:
        numbers = (each.desired, each.healthy_before, each.lowest, each.healthy_after, each.allowed_after)
        table.add_row(each.budget, *map(str, numbers))
    return table


def _table(headers: bool, *columns: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False, show_header=headers)
    for column in columns:
        table.add_column(column, no_wrap=True, justify="right" if column == "ROUND" else "left")
    return table


def _numbers(drain: DrainResult) -> dict[str, int]:
    """By the heading of their column."""
    counts = Counter(pod.fate for node in drain.nodes for pod in node.pods)
    return {
        "ROUNDS": sum(node.rounds for node in drain.nodes),
        "MOVE": counts["moves"],
        "EVICTED": len(drain.preempted),
        "LOST": len(drain.lost) + len(drain.preempted_for_good),
        "NO PLACE": counts["unplaced"] + len(drain.homeless),
        "STUCK": counts["stuck"],
    }


def _print_summary(found: DrainTrials, each: str, console: Console, headers: bool) -> None:
    """One line a trial, and how many are safe. Many trials are printed one by one, as soon as each is known."""
    names = found.trials.names
    if len(names) <= _MOST_IN_TABLE:
        safe = _print_table(list(found.trials), each, console, headers)
    else:
        safe = _print_lines(found.trials, max(map(len, (*map(visible, names), each))), each, console, headers)
    console.print()
    console.print(Text(f"{safe} of {len(names)} {each}s can be drained safely, each by itself"))


def _print_lines(trials: Iterable[DrainTrial], width: int, each: str, console: Console, headers: bool) -> int:
    """All columns, each as wide as its content may be. Returns how many trials are safe."""
    safe = 0
    for number, trial in enumerate(trials):
        numbers = _numbers(trial.drain)
        if headers and not number:
            line = "  ".join((f"{each.upper():<{width}}", f"{'RESULT':<{_OUTCOME_WIDTH}}", *numbers, "WHY"))
            console.print(Text(line, style="dim"), soft_wrap=True)
        outcome = trial.drain.outcome
        console.print(
            Text.assemble(
                f"{visible(trial.name):<{width}}  ",
                (f"{outcome:<{_OUTCOME_WIDTH}}", _colour(outcome)),
                *(f"  {count:>{len(name)}}" for name, count in numbers.items()),
                f"  {visible(_reason(trial.drain))}",
            ),
            soft_wrap=True,
        )
        console.file.flush()
        safe += trial.drain.safe
    return safe


@shows_visible
def _print_table(trials: Sequence[DrainTrial], each: str, console: Console, headers: bool) -> int:
    """A number that is 0 in every trial has no column. Returns how many trials are safe."""
    counts = [_numbers(trial.drain) for trial in trials]
    columns = [name for name in counts[0] if name in ("ROUNDS", "MOVE") or any(each[name] for each in counts)]
    table = _table(headers, each.upper(), "RESULT")
    for column in columns:
        table.add_column(column, justify="right")
    table.add_column("WHY", ratio=1)
    for trial, numbers in zip(trials, counts, strict=True):
        result = trial.drain.outcome
        shown = (str(numbers[name]) for name in columns)
        table.add_row(trial.name, Text(result, style=_colour(result)), *shown, _reason(trial.drain))
    console.print(table)
    return sum(trial.drain.safe for trial in trials)


# More trials than these are not gathered for a table.
_MOST_IN_TABLE = 20
_OUTCOME_WIDTH = max(map(len, get_args(DrainOutcome)))


def _colour(result: DrainOutcome) -> str:
    return {"safe": "green", "evicts others": "yellow"}.get(result, "red")


def _reason(drain: DrainResult) -> str:
    """The first cause of the outcome: a refusal, a stuck pod, a pod without a place, a lost pod, a preempted pod."""
    for node in drain.nodes:
        for refusal in node.refusals:
            more = f" and {len(refusal.pods) - 1} more" if len(refusal.pods) > 1 else ""
            return f"{refusal.message}: {refusal.pods[0]}{more}"
    for fate in ("stuck", "unplaced"):
        found = [pod for node in drain.nodes for pod in node.pods if pod.fate == fate]
        if found:
            return f"{found[0].pod}: {found[0].why}"
    if not drain.homeless and not drain.world.settled:
        return str(ending_line(drain.world))
    if drain.lost and not drain.homeless:
        return f"{drain.lost[0].pod}: {drain.lost[0].why}"
    for preempted in (drain.homeless, drain.preempted_for_good, drain.preempted):
        for each in preempted:
            return f"{each.pod} is preempted on {each.node} by {each.by} and {_end_of(each)[0]}"
    return ""
