"""Renders the result of a sweep: as a document and as tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TextIO

import msgspec
from rich.console import Console
from rich.text import Text

from ksched_cli.plan.results.nodes import NodeChanges
from ksched_cli.plan.sweep.run import SweepResult, SweepStats
from ksched_cli.plan.sweep.statistics import FigureRange, PodOdds, SettingSummary, Share, VariantRow
from ksched_cli.plan.sweep.trials import VariantEnd
from ksched_cli.report.console import Column, Grid, make_console, print_hanging
from ksched_cli.report.odds import odds_of_pod, percent_text, share_entry
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.settle import settlement_entries
from ksched_cli.report.short_names import print_note
from ksched_cli.report.summary_line import BAD, FAIR, GOOD, counted, summary_line
from ksched_cli.report.usage_bars import sparkline
from ksched_cli.report.view.documents import node_table_entry
from ksched_cli.report.view.omissions import print_omissions
from ksched_cli.report.visible import shows_visible
from ksched_cli.sources.own_documents import API_VERSION

if TYPE_CHECKING:
    from ksched_cli.plan.sweep.run import SweepRun

_SHOWN_PODS, _SHOWN_NODES = 20, 3
_COLOURS = {"safe": "green", "evicts others": "yellow"}
# Figures that are equal for every sweep have no line in the table.
_TITLES = {
    "placed": "pods placed",
    "unschedulable": "pods without a node",
    "lost": "pods lost",
    "preempted": "pods preempted",
    "evicted": "pods that lost their node",
    "nodes": "nodes",
    "nodesUsed": "nodes used",
    "spread": "spread of requested cpu, %",
    "strandedMilliCpu": "stranded cpu, cores",
    "strandedMemory": "stranded memory, GiB",
}
_UNITS = {"spread": 100, "strandedMilliCpu": 1000, "strandedMemory": 1 << 30}

# The document


def sweep_document(run: SweepRun, options: RenderOptions) -> dict[str, Any]:
    found = run.result()
    return {
        "apiVersion": API_VERSION,
        "kind": "SweepResult",
        "name": found.sweep.name,
        "result": found.outcome,
        "safe": found.safe,
        "dimensions": found.dimensions,
        "product": found.product,
        "variants": found.variants,
        **({"seed": found.sweep.seed, "sample": found.sweep.sample} if found.sweep.sample else {}),
        "base": msgspec.to_builtins(found.base.figures),
        "outcomes": {name: share_entry(each) for name, each in found.outcomes.items()},
        **(
            {"failedExpectations": {text: share_entry(each) for text, each in found.failed.items()}}
            if found.failed
            else {}
        ),
        "figures": _figures(found.figures),
        "worst": [msgspec.to_builtins(row) for row in found.worst],
        **({"kept": [variant_document(each) for each in found.kept]} if found.kept else {}),
        "settings": [_setting(each) for each in found.settings],
        "pods": [odds_of_pod(each) for each in found.pods],
        **({"worstByFailure": dict(found.failures)} if found.failures else {}),
        **node_table_entry(NodeChanges(found.columns, found.columns)),
        "coverage": dict(found.coverage),
        "stats": _stats(found.stats),
    }


def variant_document(end: VariantEnd) -> dict[str, Any]:
    """The document of one variant in full."""
    row = msgspec.to_builtins(end.row)
    whole = settlement_entries(end.world) if end.world is not None else {}
    return {"apiVersion": API_VERSION, "kind": "SweepVariant", **row, **whole}


def _figures(figures: Mapping[str, FigureRange]) -> dict[str, Any]:
    return {
        name: {"least": each.least, "mean": round(each.mean, 4), "most": each.most} for name, each in figures.items()
    }


def _setting(each: SettingSummary) -> dict[str, Any]:
    outcomes = {name: share_entry(share) for name, share in each.outcomes.items()}
    return {**each.at, "paretoFront": each.best, "outcomes": outcomes, "figures": _figures(each.figures)}


def _stats(stats: SweepStats) -> dict[str, Any]:
    return {
        "nodes": stats.nodes,
        "executor": stats.executor,
        "workers": stats.workers,
        "resumed": stats.resumed,
        "loadSeconds": round(stats.load_seconds, 4),
        "seconds": round(stats.seconds, 4),
        "variantsPerSecond": round(stats.rate, 1),
        "peakMiB": round(stats.peak_mib, 1),
    }


# The tables


def print_sweep(run: SweepRun, out: TextIO, options: RenderOptions) -> None:
    found = options.nodes.shown(run.result())
    console = make_console(options.width, out)
    print_hanging(console, _headline(found))
    console.print()
    _print_outcomes(found, console, options.headers)
    _print_figures(found, console, options.headers)
    _print_settings(found.settings, console, options.headers)
    _print_worst(found.worst, console, options.headers)
    _print_pods(found, console, options)
    print_omissions(found.coverage, console)
    if options.nodes.suffix:
        print_note(out, options)


@shows_visible
def _print_outcomes(found: SweepResult, console: Console, headers: bool) -> None:
    numbers = ("VARIANTS", "SHARE", *(("95 % INTERVAL",) if found.is_drawn else ()))
    table = Grid(Column("RESULT"), *_numbers(*numbers), headers=headers)
    shares = [(Text(name, style=_colour(name)), each) for name, each in found.outcomes.items()]
    shares += [(Text(f"failed: {text}", style="red"), each) for text, each in found.failed.items()]
    for text, each in shares:
        table.add(text, f"{each.count:,}", percent_text(each.share), *((_interval(each),) if found.is_drawn else ()))
    console.print(table)


@shows_visible
def _print_figures(found: SweepResult, console: Console, headers: bool) -> None:
    """Print the figures, except those that are 0 in every variant and in the base."""
    base = msgspec.to_builtins(found.base.figures)
    table = Grid(Column("FIGURE"), *_numbers("NOW", "LEAST", "MEAN", "MOST"), headers=headers)
    for name, each in found.figures.items():
        now = base[name]
        if each.most or now:
            table.add(_TITLES[name], *(_amount(name, value) for value in (now, each.least, each.mean, each.most)))
    console.print()
    console.print(table)


@shows_visible
def _print_settings(settings: Iterable[SettingSummary], console: Console, headers: bool) -> None:
    """Print one line for each setting; * marks the Pareto front."""
    shown = list(settings)
    if len(shown) < 2:
        return
    numbers = _numbers("SAFE", "NO NODE", "PREEMPTED", "NODES", "USED", "SPREAD %")
    table = Grid(Column("SETTING"), Column(), *numbers, headers=headers)
    for each in shown:
        safe = each.outcomes.get("safe")
        figures = each.figures
        names = ("unschedulable", "preempted", "nodes", "nodesUsed", "spread")
        amounts = (_amount(name, figures[name].mean) for name in names) if figures else ("-" for _ in names)
        table.add(at_text(each.at), "*" if each.best else "", percent_text(safe.share if safe else 0.0), *amounts)
    console.print()
    console.print(table)
    means = [each.figures["unschedulable"].mean if each.figures else 0.0 for each in shown]
    if line := sparkline(means, console):
        console.print(
            Text.assemble("pods without a node, setting by setting: ", (line, "red"), f" (most {max(means):g})")
        )
    console.print(Text("* no other setting is as good in every column from NO NODE on and better in one", style="dim"))


@shows_visible
def _print_worst(worst: Iterable[VariantRow], console: Console, headers: bool) -> None:
    rows = list(worst)
    if not rows:
        return
    counts = _numbers("LOST NODE", "NO NODE", "LOST")
    table = Grid(Column("WORST VARIANTS"), Column("RESULT"), *counts, Column("WHY", flows=True), headers=headers)
    for row in rows:
        figures = row.figures
        numbers = (figures.evicted, figures.unschedulable, figures.lost) if figures else ("-", "-", "-")
        why = row.error or row.reason or "; ".join(row.failed)
        table.add(at_text(row.at), Text(row.outcome, style=_colour(row.outcome)), *map(str, numbers), why)
    console.print()
    console.print(table)


@shows_visible
def _print_pods(found: SweepResult, console: Console, options: RenderOptions) -> None:
    """Print the pods whose result or node differs between variants, those most often without a node first."""
    pods = [each for each in found.pods if each.variants > 1]
    pods.sort(key=lambda each: (-_without_node(each).share, each.pod))
    shown = pods if options.wide else pods[:_SHOWN_PODS]
    if not shown:
        return
    numbers = ("VARIANTS", "WITHOUT A NODE", *(("95 % INTERVAL",) if found.is_drawn else ()))
    table = Grid(Column("POD"), *_numbers(*numbers), Column("NODES", flows=True), headers=options.headers)
    for each in shown:
        without = _without_node(each)
        nodes = ", ".join(f"{name} {percent_text(share.share)}" for name, share in each.nodes[:_SHOWN_NODES])
        more = f" and {len(each.nodes) - _SHOWN_NODES} more" if len(each.nodes) > _SHOWN_NODES else ""
        interval = (_interval(without),) if found.is_drawn else ()
        table.add(each.pod, f"{each.variants:,}", percent_text(without.share), *interval, nodes + more)
    console.print()
    console.print(table)
    if len(pods) > len(shown):
        console.print(Text(f"and {len(pods) - len(shown):,} more pods: -o wide shows all", style="dim"))


def _without_node(each: PodOdds) -> Share:
    placed = dict(each.results).get("scheduled")
    return Share(each.variants - (placed.count if placed else 0), each.variants)


_PLURAL = {"evicts others": "evict others", "loses pods": "lose pods", "failed expectation": "fail an expectation"}


@shows_visible
def _headline(found: SweepResult) -> Text:
    """`12 variants: 6 safe, 1 no place, 5 evict others (9 variants/s, in-process, 1 worker)`."""
    counts = {name: each.count for name, each in found.outcomes.items()}
    safe = counts.pop("safe", 0)
    others = [
        f"{count:,} {_PLURAL.get(name, name) if count > 1 else name}" for name, count in reversed(list(counts.items()))
    ]
    style = GOOD if not counts else FAIR if found.outcome == "evicts others" else BAD
    drawn = f", drawn from {found.product:,}" if found.variants < found.product else ""
    stats = found.stats
    speed = f"{stats.rate:,.0f} variants/s, {stats.executor}, {counted(stats.workers, 'worker')}"
    return summary_line(f"{counted(found.variants, 'variant')}{drawn}", f"{safe:,} safe", style, others, speed)


def at_text(at: Mapping[str, Any]) -> str:
    """`node-1, node-2` or `order 3, tie 1`: the place of a variant in the dimensions."""
    return ", ".join(_part(key, value) for key, value in at.items()) or "as it is"


def _part(key: str, value: Any) -> str:
    if key == "fail":
        return " + ".join(value)
    if isinstance(value, dict):
        return ", ".join(f"{name}={each}" for name, each in value.items())
    return f"{'' if key == 'kubeVersion' else key} {value}".strip()


def _amount(name: str, value: float) -> str:
    unit = _UNITS.get(name)
    if unit is not None:
        return f"{value / unit:,.2f}"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def _interval(each: Share) -> str:
    low, high = each.interval
    return f"{low * 100:.1f} - {high * 100:.1f} %"


def _colour(outcome: str) -> str:
    return _COLOURS.get(outcome, "red")


def _numbers(*titles: str) -> Iterator[Column]:
    return (Column(title, right=True) for title in titles)
