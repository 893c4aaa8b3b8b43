"""The nodes that can be removed or replaced, in their order, and what that saves (`Consolidation` of
`plan/consolidate/`); as `-o commands` the kubectl lines that do it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from ksched_cli.errors import counted, plural
from ksched_cli.plan.consolidate.results import Consolidation, ConsolidationStep, StayingNode
from ksched_cli.report.view.autoscaling import assumed_section
from ksched_cli.report.view.model import (
    Bar,
    Bars,
    Figure,
    Line,
    Section,
    Step,
    Steps,
    Table,
    Tone,
    View,
    columns,
    counting,
)
from ksched_cli.report.view.pods import copies_of
from ksched_cli.report.view.shared import node_map

_TONES: Mapping[str, Tone] = {"remove": "good", "replace": "warn"}
_MAP = "A cell is a node, filled by what pods request of it before the first step and after the last."
# The most moves of a step that are named, and the most nodes of a command.
_MOVES, _NODES = 12, 6


Document = Consolidation


def view(found: Consolidation) -> View:
    """`10 nodes: 5 can be removed and 1 can be replaced, saves 5.2 of 10 USD/h, gap 3 %`."""
    replaced = sum(1 for step in found.steps if step.shape)
    removed = len(found.steps) - replaced
    parts = [f"{removed:,} can be removed"] if removed else []
    parts += [f"{replaced:,} can be replaced"] if replaced else []
    proven = f"gap {found.gap:g} %" if found.gap else "proven"
    cost = _price(found, found.cost_before)
    saved = f"saves {found.saving:f} of {cost}" if parts else f"the cluster costs {cost}"
    tone: Tone = "good" if parts else "plain"
    return View(
        "consolidate",
        counted(found.nodes_before, "node"),
        " and ".join(parts) or "none can be removed",
        tone if parts else "warn",
        [saved, proven],
        notes=[*(Line(text, aside=True) for text in _notes(found)), *_cordoned(found)],
        figures=[
            counting(found.nodes_before, "node", "before"),
            counting(found.nodes_after, "node", "after", tone),
            Figure(_saved(found), f"{found.saving:f}", tone),
        ],
        sections=[
            *_steps(found),
            node_map(found.node_table, _MAP),
            _costs(found),
            *_moves(found),
            *_kept(found),
            *assumed_section(found.coverage.get("autoscalerAssumed", ())),
        ],
        rows=[(f"node/{each.node}", each.shape or "-") for each in found.steps],
        commands=list(_commands(found)),
    )


def _price(found: Consolidation, amount: Decimal) -> str:
    """`0.5 USD/h`, or `2 nodes`: without prices the unit is a node."""
    return counted(int(amount), "node") if found.unit == "nodes" else f"{amount:f} {found.unit}".rstrip()


def _saved(found: Consolidation) -> str:
    """The label of the saving: `node saved`, or `saved, USD/h`."""
    if found.unit == "nodes":
        return f"{plural(int(found.saving), 'node')} saved"
    return f"saved, {found.unit}".rstrip(", ")


def _notes(found: Consolidation) -> Iterator[str]:
    """The proven bound, the conditions, and how the search ended."""
    search = found.search
    if search.ended == "optimal":
        yield "proven: no cluster of these nodes and shapes that holds the pods is cheaper"
    else:
        yield f"proven lower bound {_price(found, found.lower_bound)}, gap {found.gap:g} %"
    conditions = ", ".join(found.conditions)
    if found.unmet:
        yield f"does not hold with {conditions}, although every node stays: {found.unmet}"
    elif conditions:
        yield f"holds with {conditions}"
    yield f"searched {search.seconds:.1f} s, {search.drains_tried:,} drains tried"
    if search.ended == "time":
        yield f"the time limit of {search.time_limit:g} s ended the search: more nodes may be removable"


def _cordoned(found: Consolidation) -> Iterator[Line]:
    if found.cordon:
        text = f"before the first step: kubectl cordon {_some(found.cordon)} (-o commands has all commands)"
        yield Line(text, copied=True)
    if found.uncordon:
        yield Line(f"after the last step: kubectl uncordon {_some(found.uncordon)}", copied=True)


def _some(names: Sequence[str]) -> str:
    more = len(names) - _NODES
    return " ".join(names[:_NODES]) + (f" and {more} more" if more > 0 else "")


def _commands(found: Consolidation) -> Iterator[str]:
    """All commands in the order in which they are run."""
    if found.cordon:
        yield f"kubectl cordon {' '.join(found.cordon)}"
    for step in found.steps:
        yield from step.commands
    if found.uncordon:
        yield f"kubectl uncordon {' '.join(found.uncordon)}"


def _steps(found: Consolidation) -> list[Section]:
    """The steps as a table for a terminal, and with their commands for a page."""
    if not found.steps:
        return []
    shown = columns(
        "Step: number; Node: node; Replaced by; Saves: number; Pods move: number; Rounds: number hides_zeros"
    )
    rows = [
        [at, each.node, each.shape, f"{each.saving:f}", len(each.moves), each.rounds]
        for at, each in enumerate(found.steps, start=1)
    ]
    done = [Step(_title(each), list(_lines(each)), f"saves {_price(found, each.saving)}") for each in found.steps]
    if found.cordon:
        done.insert(0, Step("Cordon first", [Line(f"kubectl cordon {' '.join(found.cordon)}", copied=True)]))
    if found.uncordon:
        done.append(Step("Uncordon in the end", [Line(f"kubectl uncordon {' '.join(found.uncordon)}", copied=True)]))
    return [
        Section("steps", "Nodes that can go", Table(shown, rows), place="terminal"),
        Section("plan", "Step by step", Steps(done), place="wide"),
    ]


def _title(step: ConsolidationStep) -> str:
    if step.shape:
        return f"Replace {step.node} by {step.new_node} ({step.shape})"
    return f"Remove {step.node}"


def _lines(step: ConsolidationStep) -> Iterator[Line]:
    yield from (Line(command, copied=True) for command in step.commands)
    yield from (Line(f"{move.pod} moves to {move.to}", "good") for move in step.moves[:_MOVES])
    if (left := len(step.moves) - _MOVES) > 0:
        yield Line(f"and {counted(left, 'more pod')}", "good")


def _costs(found: Consolidation) -> Section:
    series = "nodes" if found.unit == "nodes" else "cost"
    amounts = {"now": found.cost_before, "after": found.cost_after, "proven lower bound": found.lower_bound}
    rows = [Bar(text, [(series, float(amount))], _price(found, amount)) for text, amount in amounts.items()]
    title = "How many nodes there are" if found.unit == "nodes" else "What the nodes cost"
    return Section("costs", title, Bars(rows), place="page")


def _moves(found: Consolidation) -> list[Section]:
    shown = columns("Pod; Step: badge filters; From: filters; To: filters")
    rows = [[move.pod, step.action, step.node, move.to] for step in found.steps for move in step.moves]
    return [Section("moves", "Where pods go", Table(shown, rows, _TONES), place="page")] if rows else []


def _why(kept: StayingNode) -> str:
    """The reason with the controller in place of the pod: nodes whose copies have no other node share a row."""
    copies = copies_of(kept.pod)
    return f"pods of {copies} have no other node{': ' if kept.message else ''}{kept.message}" if copies else kept.why


def _kept(found: Consolidation) -> list[Section]:
    rows = [[each.node, _why(each)] for each in found.kept]
    table = Table(columns("Node that stays: node same=node; Why: flows filters brief"), rows, most=8, rows_are="reason")
    return [Section("kept", "Nodes that stay", table)] if rows else []
