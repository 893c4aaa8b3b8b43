"""Renders the nodes that can be removed: as a document, a table and Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TextIO

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ksched_cli.report.console import make_console, print_hanging
from ksched_cli.report.entries import stats_entry
from ksched_cli.report.escaping import escape_markdown
from ksched_cli.report.money import plain_money
from ksched_cli.report.node_table import node_table_entry
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.rows import write_row
from ksched_cli.report.short_names import shows_nodes
from ksched_cli.report.summary_line import FAIR, GOOD, counted, summary_line
from ksched_cli.report.view.omissions import omissions, print_omissions
from ksched_cli.report.visible import shows_visible, visible, with_texts
from ksched_cli.sources.own_documents import API_VERSION

if TYPE_CHECKING:
    from ksched_cli.plan.consolidate.results import Consolidation, ConsolidationStep

# The numbers of reasons and of nodes on a line that are shown for nodes that stay.
_REASONS = 8
_NODES = 6


def consolidation_document(found: Consolidation, options: RenderOptions) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": "Consolidation",
        "costBefore": plain_money(found.cost_before),
        "costAfter": plain_money(found.cost_after),
        "saving": plain_money(found.saving),
        "lowerBound": plain_money(found.lower_bound),
        "gap": float(found.gap),
        "unit": found.unit,
        "nodesBefore": found.nodes_before,
        "nodesAfter": found.nodes_after,
        "cordon": list(found.cordon),
        "steps": [_step_entry(each) for each in found.steps],
        "uncordon": list(found.uncordon),
        "kept": [{"node": each.node, "why": each.why} for each in found.kept],
        "conditions": list(found.conditions),
        "search": {
            "ended": found.ended,
            "seconds": round(found.seconds, 3),
            "timeLimit": found.time_limit,
            "drainsTried": found.tried,
        },
        "coverage": dict(found.coverage),
        "stats": stats_entry(found.stats),
        **node_table_entry(found.columns),
    }


def _step_entry(step: ConsolidationStep) -> dict[str, Any]:
    new = {"shape": step.shape, "newNode": step.new_node} if step.shape else {}
    return {
        "node": step.node,
        "action": "replace" if step.shape else "remove",
        **new,
        "saving": plain_money(step.saving),
        "uncordon": list(step.uncordon),
        "rounds": step.rounds,
        "commands": list(step.commands),
        "moves": [{"pod": each.pod, "successor": each.successor, "to": each.to} for each in step.moves],
    }


def write_removed_nodes(found: Consolidation, out: TextIO, options: RenderOptions) -> None:
    for each in found.steps:
        write_row(out, f"node/{each.node}", each.shape or "-")


@shows_visible
@shows_nodes
def print_consolidation(found: Consolidation, out: TextIO, options: RenderOptions) -> None:
    console = make_console(options.width, out)
    print_hanging(console, consolidation_summary_line(found))
    for line in consolidation_lines(found):
        console.print(Padding(Text(line, style="dim"), (0, 0, 0, 2)))
    if found.steps:
        console.print()
        console.print(Padding(_steps_table(found, options), (0, 0, 0, 2)))
    if options.wide:
        for step in found.steps:
            console.print()
            console.print(Padding(Text(f"{step.node}: {' && '.join(step.commands)}"), (0, 0, 0, 2)))
            for move in step.moves:
                console.print(Padding(Text(f"{move.pod} -> {move.to}", style="dim"), (0, 0, 0, 4)))
    if found.kept:
        console.print()
        for line in kept_lines(found, None if options.wide else _REASONS):
            console.print(Padding(Text(line, style="dim"), (0, 0, 0, 2)))
    print_omissions(found.coverage, console)


def consolidation_summary_line(found: Consolidation) -> Text:
    """`10 nodes: 5 can be removed and 1 replaced, saves 5.2 of 10 USD/h, gap 3 %`."""
    replaced = sum(1 for step in found.steps if step.shape)
    removed = len(found.steps) - replaced
    parts = [f"{removed:,} can be removed"] if removed else []
    parts += [f"{replaced:,} can be replaced"] if replaced else []
    proven = f"gap {found.gap} %" if found.gap else "proven"
    subject, cost = counted(found.nodes_before, "node"), _price(found, found.cost_before)
    if not parts:
        return summary_line(subject, "none can be removed", FAIR, [f"the cluster costs {cost}", proven])
    saving = f"saves {plain_money(found.saving)} of {cost}"
    return summary_line(subject, " and ".join(parts), GOOD, [saving, proven])


def consolidation_lines(found: Consolidation) -> Iterator[str]:
    """The proven bound, the conditions, and how the search ended."""
    if found.ended == "optimal":
        yield "proven: no cluster of these nodes and shapes that holds the pods is cheaper"
    else:
        yield f"proven lower bound {_price(found, found.lower_bound)}, gap {found.gap} %"
    if found.conditions:
        yield f"holds with {', '.join(found.conditions)}"
    yield f"searched {found.seconds:.1f} s, {found.tried:,} drains tried"
    if found.ended == "time":
        yield f"the time limit of {found.time_limit:g} s ended the search: more nodes may be removable"
    if found.cordon:
        yield f"before the first step: kubectl cordon {_some(found.cordon)}"
    if found.uncordon:
        yield f"after the last step: kubectl uncordon {_some(found.uncordon)}"


def kept_lines(found: Consolidation, most: int | None) -> Iterator[str]:
    """The reasons why nodes stay, the most frequent one first."""
    reasons = Counter(each.why for each in found.kept)
    for why, count in reasons.most_common(most):
        names = [each.node for each in found.kept if each.why == why]
        yield f"{_some(names)} {'stays' if count == 1 else 'stay'}: {why}"
    if most is not None and len(reasons) > most:
        yield f"and {len(reasons) - most} more reasons (-o wide)"


def _some(names: list[str] | tuple[str, ...]) -> str:
    more = len(names) - _NODES
    return " ".join(names[:_NODES]) + (f" and {more} more" if more > 0 else "")


def _price(found: Consolidation, amount: Decimal) -> str:
    return f"{plain_money(amount)} {found.unit}".rstrip()


def _steps_table(found: Consolidation, options: RenderOptions) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False, show_header=options.headers)
    table.add_column("STEP", justify="right")
    table.add_column("NODE")
    table.add_column("REPLACED BY")
    for name in ("SAVES", "PODS MOVE", "ROUNDS"):
        table.add_column(name, justify="right", no_wrap=True)
    for number, step in enumerate(found.steps, 1):
        cells = (plain_money(step.saving), f"{len(step.moves):,}", str(step.rounds))
        table.add_row(str(number), step.node, step.shape or "-", *cells)
    return table


def write_consolidation_markdown(found: Consolidation, out: TextIO, options: RenderOptions) -> None:
    out.write("\n".join([*_markdown(with_texts(found, visible)), ""]))


def _markdown(found: Consolidation) -> Iterator[str]:
    yield f"### ksched consolidate: {escape_markdown(consolidation_summary_line(found).plain)}"
    yield ""
    yield from (f"- {escape_markdown(line)}" for line in consolidation_lines(found))
    if found.steps:
        yield ""
        yield "| step | node | replaced by | saves | pods move |"
        yield "|--:|---|---|--:|--:|"
        for number, step in enumerate(found.steps, 1):
            cells = (str(number), step.node, step.shape, plain_money(step.saving), str(len(step.moves)))
            yield f"| {' | '.join(map(escape_markdown, cells))} |"
    if found.kept:
        yield ""
        yield from (f"- {escape_markdown(line)}" for line in kept_lines(found, _REASONS))
    omitted = omissions(found.coverage)
    if omitted:
        yield ""
        yield f"Not taken into account: {escape_markdown('; '.join(omitted))}"
