"""Renders what moves, with terraform's signs: + is new, - is deleted, ~ is changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace as replace_fields
from typing import Any, TextIO

from msgspec.structs import replace
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ksched_cli.plan.diff.compare import DiffResult
from ksched_cli.plan.diff.diff import Diff, NodeChange, PodChange, SpreadChange, Whereabouts
from ksched_cli.plan.results.nodes import NodeUse
from ksched_cli.report.amounts import exact_all
from ksched_cli.report.causes import cause_entry, cause_lines, markdown_rules, print_rules, tally_entry
from ksched_cli.report.console import make_console, print_hanging
from ksched_cli.report.entries import end_entries, entry_of, filled
from ksched_cli.report.escaping import escape_markdown
from ksched_cli.report.grid import Column, Grid
from ksched_cli.report.node_table import node_table_entry
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.settle import doubt, draws_line
from ksched_cli.report.short_names import shows_nodes
from ksched_cli.report.summary_line import BAD, FAIR, GOOD, counted, summary_line
from ksched_cli.report.visible import shows_visible, visible, with_texts
from ksched_cli.sources.own_documents import API_VERSION
from ksched_cli.world.results import FinalPods

KIND = "Diff"
_SHOWN = 40
_COLOURS = {"+": "green", "-": "red", "~": "yellow", "!": "bold red"}
_LABELS = {"topology.kubernetes.io/zone": "zones", "kubernetes.io/hostname": "nodes"}


def print_diff(found: DiffResult, out: TextIO, options: RenderOptions) -> None:
    """Print the pods that changed. Other pods and nodes are left out, so their texts need no escapes."""
    after = replace(found.diff.after, final=FinalPods(), timeline=())
    _print_diff(replace(found, diff=replace_fields(found.diff, after=after, columns=None), zones={}), out, options)


@shows_nodes
@shows_visible
def _print_diff(found: DiffResult, out: TextIO, options: RenderOptions) -> None:
    console, diff, wide = make_console(options.width, out), found.diff, options.wide
    print_hanging(console, _summary_line(diff))
    console.print()
    if diff.changes:
        console.print(Text("Pods", style="bold"))
        shown = diff.changes if wide else diff.changes[:_SHOWN]
        _print_pods(shown, console, wide=wide)
        _print_left(len(diff.changes) - len(shown), "pods", console)
        console.print()
    if diff.spread:
        what = _LABELS.get(diff.spread[0].topology_key, diff.spread[0].topology_key)
        console.print(Text(f"Spread over {what}", style="bold"))
        spread = diff.spread if wide else diff.spread[:_SHOWN]
        console.print(_spread(spread))
        _print_left(len(diff.spread) - len(spread), "workloads", console)
        console.print()
    if diff.nodes:
        nodes = diff.nodes if wide else diff.nodes[:_SHOWN]
        console.print(_nodes(nodes, diff.total))
        _print_left(len(diff.nodes) - len(nodes), "nodes", console)
        console.print()
    if diff.after.orders is not None and diff.after.doubtful:
        print_hanging(console, Text(draws_line(diff.after), style="yellow"))
    print_rules(diff, console, wide=wide)


def _print_left(left: int, what: str, console: Console) -> None:
    if left:
        console.print(f"  and {left} more {what} (-o wide shows them)")


def _print_pods(changes: Sequence[PodChange], console: Console, *, wide: bool) -> None:
    """Print each pod with its sign and its nodes. A message that the pod before has is not repeated."""
    width = max(cell_len(_name(change)) for change in changes) + 4
    aligned = width + 2 + max(cell_len(_way(change)) for change in changes) <= console.width
    quoted = ""
    for change in changes:
        sign = sign_of(change)
        line = Text.assemble((f"  {sign} ", _COLOURS[sign]), (_name(change), "bold"))
        line.pad_right(width - line.cell_len if aligned else 0)
        line.append(f"  {_way(change)}")
        message = change.after.message if change.fails and change.after is not None else ""
        if message and message == quoted:
            line.append(", for the same reasons")
        print_hanging(console, line, 6)
        if message and message != quoted:
            console.print(Padding(Text(message, style="red"), (0, 0, 0, 6)))
        quoted = message or quoted
        for text in cause_lines(change, wide=wide):
            console.print(Padding(Text(text, style="dim"), (0, 0, 0, 6)))


def sign_of(change: PodChange | NodeChange) -> str:
    return "+" if change.before is None else "-" if change.after is None else "~"


def _name(change: PodChange) -> str:
    """The name of the pod, with that of its successor if they differ."""
    either = change.before or change.after
    assert either is not None
    if change.before and change.after and change.before.pod != change.after.pod:
        return f"{change.before.pod} (as {change.after.pod.partition('/')[2]})"
    return either.pod


def _way(change: PodChange) -> str:
    if change.before is None:
        assert change.after is not None
        return f"-> {_where(change.after)}"
    if change.after is None:
        return f"was on {change.before.node}" if change.before.node else f"was {_where(change.before)}"
    return f"{_where(change.before)} -> {_where(change.after)}"


_NOWHERE = {"waiting": "waiting for a node", "gated": "held back", "ignored": "not ours", "refused": "refused"}


def _where(where: Whereabouts) -> str:
    return where.node or _NOWHERE.get(where.state, "no node")


def _spread(changes: Sequence[SpreadChange]) -> Grid:
    table = Grid(Column(), Column(flows=True))
    for change in changes:
        domains = sorted(change.before.keys() | change.after.keys())
        parts = [_step(domain, change.before.get(domain), change.after.get(domain)) for domain in domains]
        table.add(f"  {change.workload}", ", ".join(parts))
    return table


def _step(domain: str, before: int | None, after: int | None) -> str:
    if before == after:
        return f"{domain} {after}"
    return f"{domain} {'-' if before is None else before} -> {'-' if after is None else after}"


def _nodes(changes: Sequence[NodeChange], total: NodeChange) -> Grid:
    resources = _resources(changes)
    titles = (name.upper().replace("-", "-\n").replace("/", "/\n") for name in ("pods", *resources))
    table = Grid(Column("USE OF NODES"), *(Column(title, right=True) for title in titles))
    for change in changes:
        sign = sign_of(change)
        table.add(Text.assemble(f"  {sign} ", change.node, style=_COLOURS[sign]), *_use(change, resources))
    table.add("    all nodes", *_use(total, resources), style="bold")
    return table


def _resources(changes: Sequence[NodeChange]) -> list[str]:
    """cpu, memory, and the other resources that pods request on these nodes."""
    requested = {name for change in changes for use in (change.before, change.after) if use for name in use.requested}
    return ["cpu", "memory", *sorted(requested - {"cpu", "memory"})]


def _use(change: NodeChange, resources: Sequence[str]) -> Iterator[str]:
    sides = [use for use in (change.before, change.after) if use is not None]
    yield _from_to(str(use.pods) for use in sides)
    for name in resources:
        yield _from_to(_percentage(use, name) for use in sides)


def _from_to(values: Iterable[str]) -> str:
    return " -> ".join(dict.fromkeys(values))


def _percentage(use: NodeUse, resource: str) -> str:
    there = use.allocatable.get(resource, 0)
    return f"{100 * use.requested.get(resource, 0) / there:.0f}%" if there else "-"


def _summary_line(diff: Diff) -> Text:
    """`86 pods: 1 newly failing, 1 moved, 2 new, 82 as before`."""
    counts = Counter[str](change.kind for change in diff.changes)
    lost = sum(change.kind == "added" and change.fails for change in diff.changes)
    words = {
        "newlyFailing": "newly failing",
        "moved": "moved",
        "newlyFitting": "newly fitting",
        "added": f"new ({lost} without a node)" if lost else "new",
        "removed": "deleted",
    }
    parts = [f"{counts[kind]} {text}" for kind, text in words.items() if counts[kind]]
    verdict, *details = parts or ["none moves"]
    details = [*details, f"{diff.unchanged} as before", *doubt(diff.after)]
    pods = counted(len(diff.changes) + diff.unchanged, "pod")
    return summary_line(pods, verdict, BAD if diff.failing else FAIR if parts else GOOD, details)


def write_markdown(found: DiffResult, out: TextIO, options: RenderOptions) -> None:
    """Write Markdown for a comment on a pull request."""
    diff = with_texts(found.diff, lambda text: escape_markdown(visible(text)))
    lines = [f"**{_summary_line(diff).plain}**", ""]
    if diff.changes:
        why = (" why |", "---|") if diff.rules is not None else ("", "")
        lines += [f"| | pod | before | after |{why[0]}", f"|---|---|---|---|{why[1]}"]
        lines += [_markdown_pod(change) for change in diff.changes]
        lines.append("")
    if diff.spread:
        lines += ["| workload | domain | pods before | after |", "|---|---|---|---|"]
        for each in diff.spread:
            for domain in sorted(each.before.keys() | each.after.keys()):
                was, now = each.before.get(domain, "-"), each.after.get(domain, "-")
                lines.append(f"| {each.workload} | {domain} | {was} | {now} |")
        lines.append("")
    if diff.nodes:
        resources = _resources(diff.nodes)
        lines += [f"| node | pods | {' | '.join(resources)} |", f"|---{'|---' * (len(resources) + 1)}|"]
        for change in (*diff.nodes, diff.total):
            lines.append(f"| {change.node or '**all nodes**'} | {' | '.join(_use(change, resources))} |")
        lines.append("")
    lines += markdown_rules(diff)
    out.write("\n".join(lines))


def _markdown_pod(change: PodChange) -> str:
    before = _where(change.before) if change.before else ""
    after = _where(change.after) if change.after else ""
    if change.fails and change.after is not None and change.after.message:
        after = f"**{after}**: {change.after.message}"
    name = _name(change)
    text = "<br>".join(cause_lines(change, wide=True))
    why = f" {text} |" if change.cause is not None else ""
    return f"| `{sign_of(change)}` | {name} | {before} | {after} |{why}"


def diff_document(found: DiffResult, options: RenderOptions) -> dict[str, Any]:
    diff, (before, after) = found.diff, found.coverage
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "pods": [
            {
                "change": change.kind,
                "workload": change.workload,
                "before": _where_entry(change.before),
                "after": _where_entry(change.after),
                **({"cause": cause_entry(change.cause)} if change.cause is not None else {}),
            }
            for change in diff.changes
        ],
        "unchanged": diff.unchanged,
        "spread": [entry_of(each, "workload topologyKey before after") for each in diff.spread],
        "nodes": [{"node": each.node, **_use_entries(each)} for each in diff.nodes],
        "total": _use_entries(diff.total),
        **end_entries(diff.after),
        **({"rules": [tally_entry(each) for each in diff.rules]} if diff.rules is not None else {}),
        **node_table_entry(diff.columns),
        "coverage": {"before": dict(before), "after": dict(after)},
    }


def _where_entry(where: Whereabouts | None) -> dict[str, str] | None:
    if where is None:
        return None
    return filled(entry_of(where, "pod state node message"))


def _use_entries(change: NodeChange) -> dict[str, Any]:
    return {"before": _use_entry(change.before), "after": _use_entry(change.after)}


def _use_entry(use: NodeUse | None) -> dict[str, Any] | None:
    if use is None:
        return None
    return {"pods": use.pods, "requested": exact_all(use.requested), "allocatable": exact_all(use.allocatable)}
