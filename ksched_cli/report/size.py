"""Renders the nodes to add: as a document, a table and Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ksched_cli.api.listing import named
from ksched_cli.report.console import make_console, print_hanging
from ksched_cli.report.entries import stats_entry
from ksched_cli.report.escaping import escape_markdown
from ksched_cli.report.money import plain_money
from ksched_cli.report.node_table import node_table_entry
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.rows import write_row
from ksched_cli.report.short_names import shows_nodes
from ksched_cli.report.summary_line import BAD, GOOD, counted, summary_line
from ksched_cli.report.view.omissions import omissions, print_omissions
from ksched_cli.report.visible import shows_visible, visible, with_texts
from ksched_cli.sources.own_documents import API_VERSION

if TYPE_CHECKING:
    from ksched_cli.plan.size.derived import DerivedCatalog
    from ksched_cli.plan.size.results import Sizing, UnsizedPod

# The most pods without a node that are shown, and the most shapes with reasons.
_SHOWN, _SHOWN_WIDE = 5, 50
_REASONS = 12

# The document


def sizing_document(found: Sizing, options: RenderOptions) -> dict[str, Any]:
    bound, gap = found.lower_bound, found.gap
    document: dict[str, Any] = {
        "apiVersion": API_VERSION,
        "kind": "Sizing",
        "cost": plain_money(found.cost),
        "lowerBound": None if bound is None else plain_money(bound),
        "gap": None if gap is None else float(gap),
        "unit": found.unit,
        "nodes": [
            {
                "shape": each.shape,
                **({"zone": each.zone} if each.zone else {}),
                "count": each.count,
                "price": plain_money(each.price),
                "cost": plain_money(each.cost),
                **({"spot": True} if each.spot else {}),
                "names": list(each.names),
                "template": dict(each.template),
            }
            for each in found.nodes
        ],
        "pods": [
            {
                "pod": each.pod,
                "workload": each.workload,
                "node": each.node,
                **({"shape": each.shape} if each.shape else {}),
            }
            for each in found.pods
        ],
        "unplaced": [_unplaced_entry(each) for each in found.unplaced],
        "search": {
            "ended": found.ended,
            "seconds": round(found.seconds, 3),
            "timeLimit": found.time_limit,
            "setsTried": found.sets_tried,
            "podsWithTies": found.ties,
        },
        "unusableShapes": dict(found.unusable),
        "heldBack": dict(found.held_back),
        "coverage": dict(found.coverage),
        "stats": stats_entry(found.stats),
        **node_table_entry(found.columns),
    }
    if found.cheaper:
        cheaper = found.cheaper
        document["cheaper"] = {
            "nodes": dict(cheaper.nodes),
            "cost": plain_money(cheaper.cost),
            "pod": cheaper.pod,
            "message": cheaper.message,
        }
    return document


def _unplaced_entry(pod: UnsizedPod) -> dict[str, Any]:
    entry = {"pod": pod.pod, "workload": pod.workload, "message": pod.message, "reasons": dict(pod.reasons)}
    return {key: each for key, each in entry.items() if each}


def catalog_document(found: DerivedCatalog, options: RenderOptions) -> dict[str, Any]:
    return dict(found.document)


def write_sizing_rows(found: Sizing, out: TextIO, options: RenderOptions) -> None:
    for each in found.nodes:
        write_row(out, each.shape, each.zone or "-", str(each.count), plain_money(each.cost))


# The table


@shows_visible
@shows_nodes
def print_sizing(found: Sizing, out: TextIO, options: RenderOptions) -> None:
    console = make_console(options.width, out)
    print_hanging(console, sizing_summary_line(found))
    for line in search_lines(found):
        console.print(Padding(Text(line, style="dim"), (0, 0, 0, 2)))
    if found.nodes:
        console.print()
        console.print(Padding(_nodes_table(found, options.headers), (0, 0, 0, 2)))
    if found.cheaper:
        console.print()
        console.print(Padding(Text(cheaper_line(found)), (0, 0, 0, 2)))
    _print_unplaced(found, console, options.wide)
    if options.wide and found.pods:
        console.print()
        console.print(Padding(_pods_table(found, options.headers), (0, 0, 0, 2)))
    for shape, reason in found.unusable.items():
        console.print(Padding(Text(f"{shape} cannot be used: {reason}", style="yellow"), (0, 0, 0, 2)))
    if found.held_back:
        console.print(Padding(Text(_held_back_line(found.held_back), style="yellow"), (0, 0, 0, 2)))
    print_omissions(found.coverage, console)


def sizing_summary_line(found: Sizing) -> Text:
    """`60 pending pods: all fit with 14 more nodes, 2.93 USD/h, gap 1.2 %`."""
    waiting = len(found.unplaced)
    held = [f"{len(found.held_back):,} held back"] if found.held_back else []
    subject = counted(len(found.pods) + waiting + len(found.held_back), "pending pod")
    more = f"{found.count:,} more {'node' if found.count == 1 else 'nodes'}" if found.nodes else "no more nodes"
    details = [_price(found, found.cost)] if found.nodes else []
    if found.nodes:
        details.append("nothing is proven" if found.gap is None else f"gap {found.gap} %" if found.gap else "proven")
    if not found.pods and not waiting:
        return summary_line(subject, "no node to add", GOOD, held)
    if waiting:
        return summary_line(subject, f"{waiting:,} cannot be placed", BAD, [*held, f"{more} for the others", *details])
    fit = "fits" if len(found.pods) == 1 else "fit" if held else "all fit"
    number = f"{len(found.pods):,} " if held else ""
    return summary_line(subject, f"{number}{fit} with {more}", GOOD, [*held, *details])


def search_lines(found: Sizing) -> Iterator[str]:
    """The proven bound of the cost, and how the search ended."""
    if found.nodes and found.lower_bound is not None:
        bound = f"proven lower bound {_price(found, found.lower_bound)}, gap {found.gap} %"
        yield "proven: no set of nodes of the catalog is cheaper" if found.ended == "optimal" else bound
    if found.nodes and found.lower_bound is None:
        yield "a greedy method chose the nodes: nothing is proven about the cost"
    if found.nodes:
        yield f"searched {found.seconds:.1f} s, {found.sets_tried:,} sets of nodes tried with the scheduler"
    if found.ended == "time":
        yield f"the time limit of {found.time_limit:g} s ended the search: this is the best set found so far"
    if found.ended == "stalled":
        yield "the search ended because it found no cheaper set for 20 % of the time limit"
    if found.ended == "local":
        yield "no cheaper set was found: neither a set of the program nor one that differs from this one by two nodes"
    if found.nodes and found.gap:
        yield "the bound holds for any order of placement; kube-scheduler places one pod after the other and moves none"


def cheaper_line(found: Sizing) -> str:
    """The reason why the next cheaper set fails."""
    cheaper = found.cheaper
    assert cheaper is not None
    nodes = ", ".join(f"{count} {name}" for name, count in cheaper.nodes.items()) or "no new node"
    return f"why not {_price(found, cheaper.cost)} ({nodes}): {cheaper.pod} has no node: {cheaper.message}"


def _price(found: Sizing, amount: Decimal) -> str:
    return f"{plain_money(amount)} {found.unit}".rstrip()


def _nodes_table(found: Sizing, headers: bool) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False, show_header=headers)
    zones = any(each.zone for each in found.nodes)
    for name in ("SHAPE", *(["ZONE"] if zones else [])):
        table.add_column(name)
    for name in ("NODES", "PRICE", "COST", "PODS"):
        table.add_column(name, justify="right", no_wrap=True)
    on = Counter(each.node for each in found.pods)
    for each in found.nodes:
        pods = sum(on[name] for name in each.names)
        shape = f"{each.shape} (spot)" if each.spot else each.shape
        cells = [shape, *([each.zone or "-"] if zones else []), f"{each.count:,}"]
        table.add_row(*cells, plain_money(each.price), plain_money(each.cost), f"{pods:,}")
    kept = sum(1 for each in found.pods if not each.shape)
    if kept:
        table.add_row("nodes of the cluster", *(["-"] if zones else []), "-", "-", "0", f"{kept:,}")
    return table


def _pods_table(found: Sizing, headers: bool) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False, show_header=headers)
    for name in ("POD", "NODE", "SHAPE"):
        table.add_column(name)
    for each in found.pods:
        table.add_row(each.pod, each.node, each.shape or "-")
    return table


def _print_unplaced(found: Sizing, console: Console, wide: bool) -> None:
    shown = _SHOWN_WIDE if wide else _SHOWN
    for pod in found.unplaced[:shown]:
        console.print()
        message = f": {pod.message}" if pod.message else " fits on no shape of the catalog"
        console.print(Padding(Text.assemble((pod.pod, "bold"), message), (0, 0, 0, 2)))
        for shape, reason in list(pod.reasons.items())[:_REASONS]:
            console.print(Padding(Text(f"{shape}: {reason or 'other pods keep it out'}", style="dim"), (0, 0, 0, 4)))
        if len(pod.reasons) > _REASONS:
            console.print(Padding(Text(f"and {len(pod.reasons) - _REASONS} more shapes", style="dim"), (0, 0, 0, 4)))
    if len(found.unplaced) > shown:
        console.print(Padding(Text(f"and {counted(len(found.unplaced) - shown, 'pod')} more (-o json)"), (0, 0, 0, 2)))


def _held_back_line(held_back: Mapping[str, str]) -> str:
    return f"not sized: {named([f'{pod} ({why})' for pod, why in held_back.items()], _SHOWN)}"


# Markdown


def write_sizing_markdown(found: Sizing, out: TextIO, options: RenderOptions) -> None:
    shown = with_texts(found, visible)
    out.write("\n".join([*_markdown(shown), ""]))


def _markdown(found: Sizing) -> Iterator[str]:
    yield f"### ksched size: {escape_markdown(sizing_summary_line(found).plain)}"
    yield ""
    for line in search_lines(found):
        yield f"- {escape_markdown(line)}"
    if found.cheaper:
        yield f"- {escape_markdown(cheaper_line(found))}"
    if found.nodes:
        yield ""
        yield "| shape | zone | nodes | price | cost |"
        yield "|---|---|--:|--:|--:|"
        for each in found.nodes:
            cells = (each.shape, each.zone, str(each.count), plain_money(each.price), plain_money(each.cost))
            yield f"| {' | '.join(map(escape_markdown, cells))} |"
    if found.unplaced:
        yield ""
        yield "| pod without a node | why |"
        yield "|---|---|"
        for pod in found.unplaced:
            why = pod.message or "; ".join(f"{shape}: {reason}" for shape, reason in pod.reasons.items())
            yield f"| {escape_markdown(pod.pod)} | {escape_markdown(why)} |"
    omitted = omissions(found.coverage)
    if omitted:
        yield ""
        yield f"Not taken into account: {escape_markdown('; '.join(omitted))}"
