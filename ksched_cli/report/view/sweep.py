"""How often each result occurs among the variants of a sweep, and which are worst (`SweepRun` of `plan/sweep/`). The
row of each variant is in jsonl, csv and parquet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import structs, to_builtins

from ksched_cli.errors import capitalised, counted, joined
from ksched_cli.plan.results.outcomes import PodOdds, Share
from ksched_cli.plan.sweep.run import SweepResult, SweepRun
from ksched_cli.plan.sweep.statistics import VariantRow
from ksched_cli.plan.sweep.trials import VariantEnd
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.view.documents import value_of
from ksched_cli.report.view.ends import WorldPart
from ksched_cli.report.view.model import (
    TONES,
    Bar,
    Bars,
    Facts,
    Figure,
    Heading,
    Line,
    Lines,
    Section,
    Spark,
    Table,
    Tone,
    View,
    columns,
    counting,
)
from ksched_cli.report.view.shared import (
    RESULT_COLOURS,
    node_groups,
    node_map,
    pod_odds,
    results_text,
)
from ksched_cli.sources.decoding import API_VERSION

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
# The document has figures as whole numbers of small units.
_UNITS = {"spread": 100, "strandedMilliCpu": 1000, "strandedMemory": 1 << 30}
# Figures in the table of settings: column and figure.
_OF_SETTINGS = {
    "No node": "unschedulable",
    "Preempted": "preempted",
    "Nodes": "nodes",
    "Used": "nodesUsed",
    "Spread %": "spread",
}
_NOT_OF_PLACE = ("paretoFront", "outcomes", "figures")
_MOST_PODS, _MOST_NODES, _MOST_BARS = 20, 3, 30


Document = SweepResult


def document(run: SweepRun, options: RenderOptions) -> SweepResult:
    """The result, with the kept variants as documents."""
    found = run.result()
    return structs.replace(found, kept=tuple(map(variant_document, found.kept)))


def variant_document(end: VariantEnd) -> dict[str, Any]:
    """The document of one variant in full."""
    whole = WorldPart.of(end.world).entry() if end.world is not None else {}
    return {"apiVersion": API_VERSION, "kind": "SweepVariant", **to_builtins(end.row), **whole}


# The view


def view(found: SweepResult) -> View:
    """`12 variants: 6 safe, 1 no place, 5 evict others (9 variants/s, in-process, 1 worker)`."""
    counts = {name: each.variants for name, each in found.outcomes.items()}
    safe = counts.pop("safe", 0)
    others = [results_text(number, name) for name, number in counts.items()][::-1]
    tone: Tone = "good" if not counts else "warn" if found.outcome == "evicts others" else "bad"
    drawn = f", drawn from {found.product:,}" if found.variants < found.product else ""
    stats = found.stats
    speed = f"{stats.variants_per_second:,.0f} variants/s, {stats.executor}, {counted(stats.workers, 'worker')}"
    return View(
        "sweep",
        f"{counted(found.variants, 'variant')}{drawn}",
        f"{safe:,} safe",
        tone,
        others,
        speed,
        notes=list(_notes(found)),
        figures=[
            counting(found.variants, "variant"),
            *(Figure(name, f"{each.variants:,}", TONES.get(name, "bad")) for name, each in found.outcomes.items()),
        ],
        sections=[
            *_outcomes(found),
            *_figures(found),
            *_map(found),
            *_settings(found),
            *_worst(found.worst),
            *_pods(found),
            Section("dimensions", "What was varied", Facts(list(_dimensions(found))), place="page"),
        ],
    )


def _notes(found: SweepResult) -> Iterator[Line]:
    if found.variants < found.product:
        drawn = f"{found.variants:,} of {found.product:,}"
        yield Line(f"{drawn} variants were drawn (seed {found.seed or 0}).", place="page")
    if found.worst:
        worst = found.worst[0]
        yield Line(f"The worst is {at_text(worst.at)}: {_why(worst)}", place="page")


def at_text(at: Mapping[str, Any]) -> str:
    """`node-1 + node-2` or `order 3, tie 1`: the place of a variant in the dimensions."""
    return ", ".join(_part(key, value) for key, value in at.items()) or "as it is"


def _part(key: str, value: Any) -> str:
    if key == "fail":
        return " + ".join(value)
    if isinstance(value, dict):
        return ", ".join(f"{name}={each}" for name, each in value.items())
    return f"{'' if key == 'kubeVersion' else key} {value}".strip()


def _why(row: VariantRow) -> str:
    return row.error or row.reason or "; ".join(row.failed) or row.outcome


def _outcomes(found: SweepResult) -> Iterator[Section]:
    """A row for each result, of several variants; bars on a page."""
    shown = columns("Result: badge; Variants: number; Share: share; 95 % interval")[: 4 if found.is_drawn else 3]
    named = [(name, each) for name, each in found.outcomes.items()]
    named += [(f"failed: {text}", each) for text, each in found.failed.items()]
    if found.variants > 1:
        rows = [[name, each.variants, each.share, each.interval_text][: len(shown)] for name, each in named]
        tones: Mapping[str, Tone] = {**TONES, **{name: "bad" for name, _ in named if name not in found.outcomes}}
        yield Section("results", "How often each result occurs", Table(shown, rows, tones), place="terminal")
    bars = [
        Bar(name, [(name if name in found.outcomes else "failed expectation", each.share)], _share(each, found))
        for name, each in named
    ]
    yield Section("outcomes", "How often each result occurs", Bars(bars, 1.0, RESULT_COLOURS), place="page")


def _share(each: Share, found: SweepResult) -> str:
    """The number of variants, and the 95 % interval if the variants were drawn."""
    interval = f" ({100 * each.low:.1f} to {100 * each.high:.1f} %)" if found.is_drawn else ""
    return f"{each.variants:,}, {100 * each.share:.1f} %{interval}"


def _figures(found: SweepResult) -> list[Section]:
    """The figures, except those that are 0 in every variant and in the base. Of one variant, before and after."""
    base = to_builtins(found.base)
    names = [name for name, each in found.figures.items() if each.most or base[name]]
    if found.variants == 1:
        shown = columns("Figure; Before: number; After: number")
        rows = [[_TITLES[name], _amount(name, base[name]), _amount(name, found.figures[name].most)] for name in names]
    else:
        shown = columns("Figure; Now: number; Least: number; Mean: number; Most: number")
        rows = [
            [_TITLES[name], *(_amount(name, each) for each in (base[name], of.least, of.mean, of.most))]
            for name in names
            for of in [found.figures[name]]
        ]
    return [Section("figures", "Figures over all variants", Table(shown, rows))] if rows else []


def _amount(name: str, value: float) -> str:
    if name in _UNITS:
        return f"{value / _UNITS[name]:,.2f}"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def _map(found: SweepResult) -> list[Section]:
    """The map of the nodes, coloured by the worst result of the variants in which each node fails."""
    worst = found.failures
    if not worst:
        return []

    def groups(names: list[str]) -> dict[str, Any]:
        zones = (value_of(found.node_table) or {}).get("zones", [])
        pairs = zip(names, zones, strict=True)
        results = {node: worst.get(node) or worst[zone] for node, zone in pairs if node in worst or zone in worst}
        return node_groups(names, results, "safe")

    intro = "A cell is a node, filled by what pods request of it. The colour is the worst result of the variants in "
    return [node_map(found.node_table, f"{intro}which the node fails.", groups)]


def _settings(found: SweepResult) -> Iterator[Section]:
    """One row for each setting, and bars of the share of safe variants on a page."""
    settings = found.settings
    if len(settings) < 2:
        return
    names = [at_text({key: value for key, value in each.items() if key not in _NOT_OF_PLACE}) for each in settings]
    safe = [each["outcomes"].get("safe", {}).get("share", 0.0) for each in settings]
    bars = [
        Bar(name, [(outcome, of["share"]) for outcome, of in each["outcomes"].items()], f"{100 * share:.0f} % safe")
        for name, each, share in zip(names, settings, safe, strict=True)
    ]
    title = "Results by setting"
    yield Section("by-setting", title, Bars(bars[:_MOST_BARS], 1.0, RESULT_COLOURS), place="page")
    brief = [Heading("Setting"), Heading("", place="terminal"), Heading("Pareto front", "badge", True, place="page")]
    brief += [Heading("Safe", "share"), *(Heading(name, "number", place="terminal") for name in _OF_SETTINGS)]
    brief += [Heading(capitalised(_TITLES[name]), "number", place="page") for name in _TITLES]
    rows = []
    for name, each, share in zip(names, settings, safe, strict=True):
        best, figures = each["paretoFront"], each["figures"]
        cells = [_mean(figures, of) for of in (*_OF_SETTINGS.values(), *_TITLES)]
        rows.append([name, "*" if best else "", "best" if best else "", share, *cells])
    intro = (
        "Means over the variants of a setting. On the Pareto front no other setting is as good in every figure and "
        "better in one."
    )
    yield Section("settings", "Settings", Table(brief, rows, {"best": "good"}), intro)
    missing = [each["figures"].get("unschedulable", {}).get("mean", 0.0) for each in settings]
    about = f"(most {max(missing):g})"
    spark = Spark("pods without a node, setting by setting:", missing, about)
    yield Section("trend", "Pods without a node by setting", spark, place="screen", joined=True)
    star = Line("* no other setting is as good in every column from NO NODE on and better in one", aside=True)
    yield Section("star", "Settings on the Pareto front", Lines([star]), place="terminal", joined=True)


def _mean(figures: Mapping[str, Any], name: str) -> str:
    return _amount(name, float(figures[name]["mean"])) if name in figures else "-"


def _worst(worst: Sequence[VariantRow]) -> list[Section]:
    """The worst variants; those that end alike share a row."""
    shown = columns(
        "Worst variants: same=variant; Result: badge filters; Lost node: number; No node: number; Lost: number; "
        "Why: flows brief"
    )
    rows = []
    for each in worst:
        figures = each.figures
        numbers = [figures.evicted, figures.unschedulable, figures.lost] if figures else ["-", "-", "-"]
        rows.append([at_text(each.at), each.outcome, *numbers, _why(each)])
    tones: dict[str, Tone] = {each.outcome: TONES.get(each.outcome, "bad") for each in worst}
    return [Section("worst", "Worst variants", Table(shown, rows, tones))] if rows else []


def _pods(found: SweepResult) -> Iterator[Section]:
    """Of one variant, every pod to which something happens; of several, the pods whose result or node differs between
    them, those most often without a node first."""
    if found.variants == 1:
        shown = columns("Pod; Result: badge filters; Node: node")
        rows = [[each.pod, next(iter(each.results)), next(iter(each.nodes), "")] for each in found.pods]
        order = sorted(rows, key=lambda row: (row[1] == "scheduled", row[0]))
        yield Section("pods", "Pods", Table(shown, order, most=_MOST_PODS, rows_are="pod"))
        return
    pods = [each for each in found.pods if each.variants > 1]
    pods.sort(key=lambda each: (each.placed / each.variants, each.pod))
    if pods:
        interval = "95 % interval; " if found.is_drawn else ""
        shown = columns(f"Pod; Variants: number; Without a node: share; {interval}Nodes: flows")
        table = Table(shown, [_pod_row(each, drawn=found.is_drawn) for each in pods], most=_MOST_PODS, rows_are="pod")
        yield Section("odds", "How often each pod goes where", table, place="terminal")
    yield from pod_odds("pods", found.pods)


def _pod_row(each: PodOdds, *, drawn: bool) -> list[Any]:
    without = Share.of(each.variants - each.placed, each.variants)
    shares = list(each.nodes.items())
    nodes = ", ".join(f"{name} {share.percent}" for name, share in shares[:_MOST_NODES])
    more = f" and {len(shares) - _MOST_NODES} more" if len(shares) > _MOST_NODES else ""
    return [each.pod, each.variants, without.share, *([without.interval_text] if drawn else []), nodes + more]


def _dimensions(found: SweepResult) -> Iterator[tuple[str, str]]:
    for name, values in found.dimensions.items():
        several = isinstance(values, list) and values
        yield capitalised(name), joined([_value(each) for each in values]) if several else _value(values)
    stats = found.stats
    speed = f"{stats.variants_per_second:,} variants per second"
    yield "Ran on", f"{counted(stats.workers, 'worker')} ({stats.executor}), {speed}"


def _value(value: Any) -> str:
    return ", ".join(map(_value, value)) if isinstance(value, list | tuple) else str(value)
