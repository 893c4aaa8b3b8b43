"""Sections that several results share: the map of nodes and the use of zones, draws, and curves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ksched_cli.errors import counted
from ksched_cli.plan.results.outcomes import Curve, DrawOdds, PodOdds, Share
from ksched_cli.report.amounts import short
from ksched_cli.report.view.documents import value_of
from ksched_cli.report.view.model import Bar, Bars, Chart, Line, Lines, NodeMap, Section, Series, Table, columns

# Above this many zones no bars are drawn.
_MOST_ZONES = 40
_BEFORE, _ADDED, _FREED = "requested before", "added by the run", "freed by the run"
_COLOURS = {_BEFORE: 7, _ADDED: 0, _FREED: 6}

_PLURAL = {"evicts others": "evict others", "loses pods": "lose pods", "failed expectation": "fail an expectation"}
# The colours of results on every page, as numbers of the colours of style.css.
RESULT_COLOURS = {
    "safe": 0,
    "evicts others": 2,
    "loses pods": 3,
    "no place": 1,
    "blocked": 5,
    "error": 5,
    "failed expectation": 6,
}


def results_text(number: int, result: str) -> str:
    """`1 loses pods`, `2 lose pods`, `3 no place`."""
    return f"{number:,} {_PLURAL.get(result, result) if number > 1 else result}"


def node_map(part: Any, intro: str, data: Callable[[list[str]], dict[str, Any]] | None = None) -> Section:
    """The map of the nodes. `data` returns what the code of the map needs, from the names of the nodes."""

    def made() -> NodeMap | None:
        found = value_of(part)
        if not found or not found["names"]:
            return None
        return NodeMap(data(found["names"]) if data is not None else {})

    return Section("nodes", "Nodes", made, intro, place="page")


def node_groups(names: list[str], results: Mapping[str, str], best: str) -> dict[str, Any]:
    """The data of a map that is coloured by a result of each node. `best` has the first colour."""
    texts = [best, *dict.fromkeys(result for result in results.values() if result != best)]
    answers = [texts.index(results[name]) if name in results else -1 for name in names]
    colours = {text: RESULT_COLOURS[text] for text in texts if text in RESULT_COLOURS}
    return {"groups": {"texts": texts, "answers": answers, "colours": colours}}


def zone_bars(part: Any) -> Section:
    """The share of cpu and memory of each zone that is requested, before and by the run."""

    def bars() -> Bars | None:
        found = value_of(part)
        zones = sorted(set(found["zones"])) if found else []
        if not found or not 1 < len(zones) <= _MOST_ZONES:
            return None
        return Bars([_zone_bar(found, zone, each) for zone in zones for each in ("cpu", "memory")], 1.0, _COLOURS)

    intro = "Share of what the nodes of a zone have."
    return Section("zones", "Use of zones", bars, intro, place="page")


def _zone_bar(found: Mapping[str, Any], zone: str, resource: str) -> Bar:
    amounts = found["resources"][resource]
    rows = [number for number, each in enumerate(found["zones"]) if each == zone]
    before, after = (sum(amounts[side][row] or 0 for row in rows) for side in ("before", "after"))
    whole = sum(amounts["allocatable"][row] for row in rows) or 1
    segments = [(_BEFORE, min(before, after) / whole)]
    if after > before:
        segments.append((_ADDED, (after - before) / whole))
    elif before > after:
        segments.append((_FREED, (before - after) / whole))
    text = f"{100 * after / whole:.0f} % of {short(resource, whole)}"
    return Bar(f"{zone or 'no zone'}: {resource}", segments, text)


def odds_sentence(odds: DrawOdds, pod: str) -> str:
    """`shop/web-1 goes to node-3 in 71.0 % of 200 tie-breaks, never stays Pending`."""
    orders, ties = counted(odds.orders, "arrival order"), counted(odds.ties, "tie-break")
    draws = f"{orders} with {ties} each" if odds.orders and odds.ties else orders if odds.orders else ties
    found = next((each for each in odds.pods if each.pod == pod), None)
    if found is None:
        return f"nothing happens to {pod} in {draws}"
    if not found.nodes:
        return f"{pod} goes to no node in {draws}"
    (node, share), *others = found.nodes.items()
    pending = 1 - found.placed / found.variants
    stays = f"stays Pending in {pending * 100:.1f} %" if pending > 0 else "never stays Pending"
    if not others and share.variants == found.variants:
        return f"{pod} goes to {node} in all of {draws}, {stays}"
    more = sum(each.variants for _, each in others) / found.variants
    elsewhere = f", to {counted(len(others), 'other node')} in {more * 100:.1f} %" if others else ""
    return f"{pod} goes to {node} in {share.percent} of {draws}{elsewhere}, {stays}"


def pod_odds(name: str, pods: Sequence[PodOdds]) -> list[Section]:
    """The table of how often each pod is on each node, and how often it has none."""
    shown = columns("Pod; Variants: number; Has a node: share; Results: flows; Nodes: flows")
    rows = [
        [each.pod, each.variants, each.placed / each.variants, _shares(each.results), _shares(each.nodes)]
        for each in sorted(pods, key=lambda each: each.placed / each.variants)
    ]
    title = "How often each pod goes where"
    return [Section(name, title, Table(shown, rows, most=20, rows_are="pod"), place="page")] if rows else []


def _shares(shares: Mapping[str, Share]) -> str:
    return ", ".join(f"{name} {100 * each.share:.0f} %" for name, each in shares.items())


ARRIVED, ALLOCATED = "percent of the capacity that has arrived", "percent allocated"
# Rows of the table of a curve.
_STEP, _NEAR_THE_END = 10, 90


def curve_sections(curves: Sequence[Curve]) -> Iterator[Section]:
    """A chart of all resources, and for each a table and what it comes to."""
    if not curves:
        return
    lines = [Line(sentence(each)) for each in curves]
    yield Section("curve", "How full the cluster gets", Lines(lines), place="everywhere")
    chart = Chart([Series(each.resource, _points(each, each.allocated_at)) for each in curves], ARRIVED, ALLOCATED)
    intro = "For each resource the share that is allocated when so much of it has arrived."
    yield Section("curve-chart", "Allocated while pods arrive", chart, intro, place="page")
    for number, each in enumerate(curves):
        title = f"While {each.resource} arrives"
        yield Section(f"curve-{number}", title, _table(each), titled=True, folded=True)
        if each.unusable_at:
            free = [Series(name, _points(each, shares)) for name, shares in each.unusable_at.items()]
            about = "Percent of the capacity that is free and of no use to typical pods, by what its node lacks."
            chart = Chart(free, ARRIVED, "percent free and of no use")
            yield Section(f"curve-unusable-{number}", f"What of {each.resource} cannot be used", chart, about, "page")


def sentence(curve: Curve) -> str:
    """`cpu: 92.1 % allocated when 130.0 % have arrived; the first pod fails at 88.2 % (shop/web-1)`."""
    text = f"{curve.resource}: {curve.allocated:.1f} % allocated when {curve.arrived:.1f} % have arrived"
    failure = curve.first_failure
    if failure is None:
        return f"{text}; no pod fails"
    first = f"arrives at {failure.arrived:.1f} % ({failure.pod})"
    return f"{text}; the first of {counted(curve.failed, 'pod')} without a node {first}"


def _points(curve: Curve, shares: Sequence[float]) -> list[tuple[float, float]]:
    return [(curve.first + number, share) for number, share in enumerate(shares)]


def _table(curve: Curve) -> Table:
    """A row for every tenth percent, and the last one."""
    names = list(curve.unusable_at)
    shown = columns("Arrived %: number; Allocated %: number; No node: number; Of no use %: number; Most of it")
    last = len(curve.allocated_at) - 1
    rows: list[list[Any]] = []
    for number in range(last + 1):
        percent = curve.first + number
        if percent % _STEP and number not in (0, last):
            continue
        parts = {name: curve.unusable_at[name][number] for name in names}
        rows.append([percent, curve.allocated_at[number], curve.failed_at[number], *of_no_use(parts)])
    return Table(shown, rows, rows_are="point")


def of_no_use(parts: Mapping[str, float]) -> tuple[float, str]:
    """The percent that is free and of no use, and the part of it that is most: `cpu 12.3 %`."""
    most = max(parts, key=parts.__getitem__, default="")
    return round(sum(parts.values()), 2), f"{most} {parts[most]:.1f} %" if most and parts[most] else ""
