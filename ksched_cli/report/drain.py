"""Renders the result of draining nodes: as a document and as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO, get_args

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ksched_cli.api.listing import named
from ksched_cli.plan.drain.drain import DrainTrials
from ksched_cli.plan.drain.results import (
    BudgetChange,
    DrainOutcome,
    DrainResult,
    DrainTrial,
    Evicted,
    Fate,
    NodeDrain,
    PodFate,
)
from ksched_cli.progress import note
from ksched_cli.report.console import make_console, print_hanging
from ksched_cli.report.entries import end_entries, entry_of, filled, stats_entry
from ksched_cli.report.grid import Column, Grid
from ksched_cli.report.node_table import node_table_entry
from ksched_cli.report.omissions import print_omissions
from ksched_cli.report.registry import RenderOptions, documents, renders
from ksched_cli.report.rows import write_row
from ksched_cli.report.settle import draws_line, ending_line
from ksched_cli.report.short_names import print_note
from ksched_cli.report.summary_line import BAD, FAIR, GOOD, counted, pending_line, summary_line
from ksched_cli.report.usage_bars import print_usage
from ksched_cli.report.visible import shows_visible, visible
from ksched_cli.sources.own_documents import API_VERSION

# The document


@documents("DrainTrials", "html")
def drain_document(found: DrainTrials, options: RenderOptions) -> dict[str, Any]:
    """The document of one drain, or of a list of trials with `each`."""
    if found.each is None:
        body = {"kind": "Drain", **_drain(next(iter(found.trials)).drain)}
    else:
        entries = [{"name": trial.name, **_drain(trial.drain)} for trial in found.trials]
        body = {"kind": "DrainList", "each": found.each, "trials": entries}
    rest = {**node_table_entry(found.nodes), "coverage": dict(found.coverage), "stats": stats_entry(found.stats)}
    return {"apiVersion": API_VERSION, **body, **rest}


@renders("DrainTrials", "name")
def write_outcomes(found: DrainTrials, out: TextIO, options: RenderOptions) -> None:
    for trial in found.trials:
        write_row(out, trial.name, trial.drain.outcome)
        out.flush()


def _drain(drain: DrainResult) -> dict[str, Any]:
    displaced = [filled({**entry_of(each, "pod successor"), "message": each.why}) for each in drain.displaced]
    return {
        "result": drain.outcome,
        **({"reason": reason} if (reason := _reason(drain)) else {}),
        "safe": drain.safe,
        **({"orders": {"tried": sum(drain.orders.values()), "outcomes": dict(drain.orders)}} if drain.orders else {}),
        "drained": drain.drained,
        "nodes": [_node(node) for node in drain.nodes],
        "budgets": [_budget(budget) for budget in drain.budgets],
        "preempted": [filled(entry_of(each, "pod node by successor to")) for each in drain.preempted],
        **({"displaced": displaced} if displaced else {}),
        "pending": {
            "pods": drain.pending,
            "placed": drain.pending_placed,
            **({"copiesLeftOut": drain.left_out} if drain.left_out else {}),
        },
        **end_entries(drain.world),
    }


def _node(node: NodeDrain) -> dict[str, Any]:
    return {
        **entry_of(node, "node drained rounds"),
        **({"timedOut": True} if node.timed_out else {}),
        "refusals": [entry_of(each, "message pods") for each in node.refusals],
        "warnings": [entry_of(each, "message pods") for each in node.warnings],
        "pods": [filled({**entry_of(pod, "pod fate round successor to"), "message": pod.why}) for pod in node.pods],
    }


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
    "gone": ("is deleted for good", "are deleted for good"),
    "stuck": ("is stuck", "are stuck"),
    "refused": ("is refused", "are refused"),
    "waits": ("waits", "wait"),
    "stays": ("stays", "stay"),
}


@renders("DrainTrials", "table", "wide")
def print_trials(found: DrainTrials, out: TextIO, options: RenderOptions) -> None:
    """Of an interrupted command the trials that are done. While the others run, the newest stand above the bar."""
    console = make_console(options.width, out)
    done: list[DrainTrial] = []
    try:
        for trial in found.trials:
            done.append(options.nodes.shown(trial))
            note(visible("  ".join((trial.name, trial.drain.outcome, _reason(trial.drain)))))
    except KeyboardInterrupt:
        if done:
            _print_trials(done, found.each, console, options)
        raise
    _print_trials(done, found.each, console, options)
    print_omissions(found.coverage, console)
    if options.nodes.suffix:
        print_note(out, options)


def _print_trials(trials: Sequence[DrainTrial], each: str | None, console: Console, options: RenderOptions) -> None:
    """How many of several trials are safe, and one row a trial; each trial in full if it is a single one, and with -o
    wide."""
    if each:
        print_hanging(console, _trials_line(Counter(trial.drain.outcome for trial in trials), each))
        console.print()
    if each and not options.wide:
        console.print(_trials_table(trials, each, options))
        return
    for index, trial in enumerate(trials):
        if index:
            console.print()
        _print_drain(trial.drain, console, options)
        print_usage(console, trial.changes, options.nodes, headers=options.headers)


@shows_visible
def _print_drain(drain: DrainResult, console: Console, options: RenderOptions) -> None:
    """Print the summary line, then each pod of each node with its round and its new node."""
    print_hanging(console, _drain_line(drain, options))
    for node in drain.nodes:
        if len(drain.nodes) > 1:
            console.print()
            print_hanging(console, _node_line(node, options))
        _print_node(node, console, options)
    if drain.preempted:
        console.print()
        for each in drain.preempted:
            print_hanging(console, Text.assemble((each.pod, "bold"), f" {_preempted(each)} and ", _end_of(each)))
    if drain.displaced:
        console.print()
        for pod in drain.displaced:
            print_hanging(console, Text.assemble((pod.pod, "bold"), f" {_LOSES_PLACE}: {pod.why}"))
    if drain.budgets:
        console.print()
        console.print(_budgets(drain.budgets, options.headers))
    if drain.pending:
        console.print()
        console.print(Text(pending_line(drain.pending, drain.pending_placed)))
    if drain.orders:
        console.print()
        print_hanging(console, Text(draws_line(drain.world), style="yellow"))
    if not drain.world.settled:
        console.print()
        console.print(ending_line(drain.world))


def _drain_line(drain: DrainResult, options: RenderOptions) -> Text:
    """`node-1 (zone-a): safe, drained in 1 round, 3 pods move`."""
    if len(drain.nodes) == 1:
        node = drain.nodes[0]
        style = f"bold {_colour(drain.outcome)}"
        details = [*_doubt(drain), *_came_of(node)]
        return summary_line(options.nodes.with_zone(node.node), drain.outcome, style, details)
    pods = _counts(pod for node in drain.nodes for pod in node.pods if pod.fate != "stays") or "nothing to evict"
    subject = counted(len(drain.nodes), "node")
    return summary_line(subject, drain.outcome, f"bold {_colour(drain.outcome)}", [*_doubt(drain), pods])


def _doubt(drain: DrainResult) -> list[str]:
    """`in 1 of 3 orders (safe in 2)`, if chance decides the outcome."""
    if not drain.orders:
        return []
    others = ", ".join(f"{name} in {count}" for name, count in drain.orders.items() if name != drain.outcome)
    return [f"in {drain.orders[drain.outcome]} of {sum(drain.orders.values())} orders ({others})"]


def _node_line(node: NodeDrain, options: RenderOptions) -> Text:
    """The summary line of one of several nodes."""
    verdict, *details = _came_of(node)
    return summary_line(options.nodes.with_zone(node.node), verdict, GOOD if node.drained else BAD, details)


def _came_of(node: NodeDrain) -> list[str]:
    if node.refusals:
        return ["kubectl drain would refuse", "nothing is evicted"]
    counts = _counts(pod for pod in node.pods if pod.fate != "stays")
    if not counts:
        return ["nothing to evict"]
    if node.timed_out:
        return ["kubectl drain would give up", "its --timeout is over before all pods have left", counts]
    word = "in" if node.drained else "after"
    rounds = f" {word} {counted(node.rounds, 'round')}" if node.rounds else ""
    return [f"{'drained' if node.drained else 'not drained'}{rounds}", counts]


def _print_node(node: NodeDrain, console: Console, options: RenderOptions) -> None:
    for refusal in node.refusals:
        print_hanging(console, Text(f"  {refusal}", style="red"))
    for warning in node.warnings:
        print_hanging(console, Text(f"  {warning}", style="yellow"))
    shown = [pod for pod in node.pods if pod.fate not in ("stays", "refused")]
    if shown and not node.refusals:
        console.print()
        titles = (Column("ROUND", right=True), Column("POD"), Column("GOES TO", flows=True))
        table = Grid(*titles, headers=options.headers)
        for pod in shown:
            table.add(str(pod.round or "-"), pod.pod, _destination(pod, options))
        console.print(Padding(table, (0, 0, 0, 2)))


def _counts(pods: Iterable[PodFate]) -> str:
    """`5 pods move, 1 is stuck`."""
    counts = Counter(pod.fate for pod in pods)
    found = [f"{counts[fate]} {words[counts[fate] > 1]}" for fate, words in _PODS.items() if counts[fate]]
    if found:
        count, words = found[0].split(" ", 1)
        found[0] = f"{counted(int(count), 'pod')} {words}"
    return ", ".join(found)


def _destination(pod: PodFate, options: RenderOptions) -> Text:
    if pod.fate == "moves":
        name = pod.successor.partition("/")[2]
        same = pod.successor == pod.pod
        return Text.assemble((options.nodes.with_zone(pod.to), "green"), "" if same else f", as {name}")
    if pod.fate == "gone":
        return Text(f"deleted for good: {pod.why}", style="yellow")
    if pod.fate == "unplaced":
        return Text.assemble(("no place", "red"), f": {pod.why}")
    return Text.assemble(("stuck", "red"), f": {pod.why}")


def _preempted(each: Evicted) -> str:
    return f"is preempted on {each.node} by {each.by}"


def _end_of(each: Evicted) -> tuple[str, str]:
    if each.to:
        return f"moves to {each.to}", ""
    return ("finds no place" if each.successor else "is deleted for good"), "red"


_LOSES_PLACE = "would have a node without the drain, and has none with it"


def _budgets(budgets: Sequence[BudgetChange], headers: bool) -> Grid:
    titles = ("NEEDS", "HEALTHY", "LOWEST", "IN THE END", "ALLOWS")
    table = Grid(Column("BUDGET"), *(Column(title, right=True) for title in titles), headers=headers)
    for each in budgets:
        numbers = (each.desired, each.healthy_before, each.lowest, each.healthy_after, each.allowed_after)
        table.add(each.budget, *map(str, numbers))
    return table


def _numbers(drain: DrainResult) -> dict[str, int]:
    """The numbers of a trial by the heading of their column."""
    counts = Counter(pod.fate for node in drain.nodes for pod in node.pods)
    return {
        "ROUNDS": sum(node.rounds for node in drain.nodes),
        "MOVE": counts["moves"],
        "EVICTED": len(drain.preempted),
        "LOST": len(drain.lost) + len(drain.preempted_for_good),
        "NO PLACE": counts["unplaced"] + len(drain.homeless) + len(drain.displaced),
        "STUCK": counts["stuck"],
    }


_PLURAL: Mapping[DrainOutcome, str] = {"evicts others": "evict others", "loses pods": "lose pods"}


def _trials_line(outcomes: Counter[DrainOutcome], what: str) -> Text:
    """`12 nodes, each by itself: 8 safe, 2 evict others, 1 no place, 1 blocked`."""
    worst_first: list[DrainOutcome] = [each for each in reversed(get_args(DrainOutcome)) if outcomes[each]]
    safe = f"{outcomes['safe']} safe"
    others = [f"{outcomes[each]} {_PLURAL.get(each, each)}" for each in worst_first if each != "safe"]
    style = GOOD if not others else FAIR if worst_first[0] == "evicts others" else BAD
    return summary_line(f"{counted(outcomes.total(), what)}, each drained by itself", safe, style, others)


def _trials_table(trials: Sequence[DrainTrial], each: str, options: RenderOptions) -> Grid:
    """The table of all trials, without columns that are 0 in every trial."""
    counts = [_numbers(trial.drain) for trial in trials]
    numbers = (Column(name, right=True, hides_zeros=True) for name in counts[0])
    table = Grid(
        Column(each.upper()),
        Column("ZONE", hides_zeros=True),
        Column("RESULT"),
        *numbers,
        Column("WHY", flows=True),
        headers=options.headers,
    )
    for trial, found in zip(trials, counts, strict=True):
        result = Text(trial.drain.outcome, style=_colour(trial.drain.outcome))
        zone = options.nodes.zone(trial.name) if each == "node" else ""
        name, zone, why = map(visible, (trial.name, zone, _reason(trial.drain)))
        table.add(name, zone, result, *map(str, found.values()), why)
    return table


def _colour(result: DrainOutcome) -> str:
    return {"safe": "green", "evicts others": "yellow"}.get(result, "red")


def _reason(drain: DrainResult) -> str:
    """The first cause of the outcome: chance, a refusal, a stuck pod, a pod without a node, a lost pod, a preempted
    pod."""
    if drain.orders:
        return f"{_doubt(drain)[0]}: {draws_line(drain.world)}"
    for node in drain.nodes:
        for refusal in node.refusals:
            return f"{refusal.message}: {named(refusal.pods, 1)}"
    if late := [node.node for node in drain.nodes if node.timed_out]:
        return f"the --timeout is over before all pods of {late[0]} have left"
    for fate in ("stuck", "unplaced"):
        found = [pod for node in drain.nodes for pod in node.pods if pod.fate == fate]
        if found:
            return f"{found[0].pod}: {found[0].why}"
    if not drain.homeless and drain.displaced:
        pod = drain.displaced[0]
        return f"{pod.pod} {_LOSES_PLACE}: {pod.why}"
    if not drain.homeless and not drain.world.settled:
        return str(ending_line(drain.world))
    if drain.lost and not drain.homeless:
        return f"{drain.lost[0].pod}: {drain.lost[0].why}"
    for preempted in (drain.homeless, drain.preempted_for_good, drain.preempted):
        for each in preempted:
            return f"{each.pod} {_preempted(each)} and {_end_of(each)[0]}"
    return ""
