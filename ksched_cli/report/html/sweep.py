"""The page of `sweep`: how often each result occurs, which settings are best, and which variants are worst."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ksched_cli.api.listing import joined
from ksched_cli.report.html.model import Bar, Figure, Page, PageSection, Tone, bars, counting, facts, headings, table
from ksched_cli.report.html.nodes import RESULT_COLOURS, node_columns, node_groups, node_map
from ksched_cli.report.html.words import capitalised, count

_RESULTS: Mapping[str, Tone] = {"safe": "good", "evicts others": "warn"}
_WORDS = {
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
_OF_SETTING = ("paretoFront", "outcomes", "figures")
_MOST_BARS = 30


def page(document: Mapping[str, Any]) -> Page:
    outcomes, variants = document["outcomes"], document["variants"]
    safe = outcomes.get("safe", {}).get("variants", 0)
    tone: Tone = "good" if document["safe"] else "bad" if safe == 0 or document["result"] not in _RESULTS else "warn"
    sections = [
        _outcomes(document),
        *_map(document),
        *_settings(document["settings"]),
        *_figures(document),
        *_worst(document["worst"]),
        *pod_odds("pods", document["pods"]),
        facts("dimensions", "What was varied", list(_dimensions(document))),
    ]
    figures = [counting(variants, "variant")]
    figures += [Figure(name, f"{each['variants']:,}", _RESULTS.get(name, "bad")) for name, each in outcomes.items()]
    verdict = f"{safe:,} of {count(variants, 'variant')} are safe." if variants != 1 else _single(document["result"])
    return Page("sweep", tone, verdict, list(_notes(document)), figures, sections, node_columns(document))


def _map(document: Mapping[str, Any]) -> list[PageSection]:
    """The map of the nodes, coloured by the worst result of the variants in which each node fails."""
    worst = document.get("worstByFailure")
    found = document.get("nodeTable")
    if not worst or not found:
        return []
    pairs = zip(found["names"], found["zones"], strict=True)
    results = {node: worst.get(node) or worst[zone] for node, zone in pairs if node in worst or zone in worst}
    intro = "A cell is a node, filled by what pods request of it. The colour is the worst result of the variants in "
    return node_map(document, intro=f"{intro}which the node fails.", **node_groups(document, results, "safe"))


def _single(result: str) -> str:
    return f"The variant ends as: {result}."


def _notes(document: Mapping[str, Any]) -> Iterator[str]:
    if document["variants"] < document["product"]:
        drawn = f"{document['variants']:,} of {document['product']:,}"
        yield f"{drawn} variants were drawn (seed {document.get('seed', 0)})."
    if document["worst"]:
        worst = document["worst"][0]
        why = worst.get("error") or worst.get("reason") or "; ".join(worst.get("failed", []))
        yield f"The worst is {_at(worst['at'])}{f': {why}' if why else ''}"


def _at(at: Mapping[str, Any]) -> str:
    """`fail west-2, addNode 3`."""
    return ", ".join(f"{name} {_text(value)}" for name, value in at.items()) or "the cluster as it is"


def _text(value: Any) -> str:
    return ", ".join(map(_text, value)) if isinstance(value, list) else str(value)


def _outcomes(document: Mapping[str, Any]) -> PageSection:
    rows = [Bar(name, [(name, each["share"])], _share(each, document)) for name, each in document["outcomes"].items()]
    rows += [
        Bar(f"failed: {text}", [("failed expectation", each["share"])], _share(each, document))
        for text, each in document.get("failedExpectations", {}).items()
    ]
    return bars("outcomes", "How often each result occurs", rows, whole=1.0, colours=RESULT_COLOURS)


def _share(each: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    """The number of variants, and the 95 % interval if the variants were drawn."""
    drawn = document["variants"] < document["product"] or {"orders", "ties"} & document["dimensions"].keys()
    interval = f" ({100 * each['low']:.1f} to {100 * each['high']:.1f} %)" if drawn else ""
    return f"{each['variants']:,}, {100 * each['share']:.1f} %{interval}"


def _settings(settings: Sequence[Mapping[str, Any]]) -> list[PageSection]:
    """Bars of the share of safe variants by setting, and a table with all figures."""
    if len(settings) < 2:
        return []
    names = [_at({key: value for key, value in each.items() if key not in _OF_SETTING}) for each in settings]
    rows = [
        Bar(name, [(outcome, share["share"]) for outcome, share in each["outcomes"].items()], _safe(each))
        for name, each in zip(names, settings, strict=True)
    ]
    columns = headings("Setting; Pareto front: badge filters; Safe: share")
    columns += headings("; ".join(f"{capitalised(_WORDS[name])}: number" for name in settings[0]["figures"]))
    cells = [
        [name, "best" if each["paretoFront"] else "", each["outcomes"].get("safe", {}).get("share", 0.0), *_means(each)]
        for name, each in zip(names, settings, strict=True)
    ]
    intro = (
        "Means over the variants of a setting. On the Pareto front no other setting is as good in every figure and "
        "better in one."
    )
    return [
        bars("by-setting", "Results by setting", rows[:_MOST_BARS], whole=1.0, colours=RESULT_COLOURS),
        table("settings", "Settings", columns, cells, intro=intro, tones={"best": "good"}),
    ]


def _safe(setting: Mapping[str, Any]) -> str:
    return f"{100 * setting['outcomes'].get('safe', {}).get('share', 0.0):.0f} % safe"


def _means(setting: Mapping[str, Any]) -> list[float]:
    return [_amount(name, each["mean"]) for name, each in setting["figures"].items()]


def _amount(name: str, value: float) -> float:
    return round(value / _UNITS.get(name, 1), 2)


def _figures(document: Mapping[str, Any]) -> list[PageSection]:
    columns = headings("Figure; Now: number; Least: number; Mean: number; Most: number")
    rows = [
        [
            _WORDS[name],
            *(_amount(name, value) for value in (document["base"][name], each["least"], each["mean"], each["most"])),
        ]
        for name, each in document["figures"].items()
        if each["most"] or document["base"][name]
    ]
    return [table("figures", "Figures over all variants", columns, rows)] if rows else []


def _worst(worst: Sequence[Mapping[str, Any]]) -> list[PageSection]:
    columns = headings(
        "Variant; Result: badge filters; Lost their node: number; No node: number; Lost: number; Why: wide"
    )
    rows = []
    for each in worst:
        numbers = (
            [each["figures"][name] for name in ("evicted", "unschedulable", "lost")]
            if each.get("figures")
            else ["", "", ""]
        )
        why = each.get("error") or each.get("reason") or "; ".join(each.get("failed", []))
        rows.append([_at(each["at"]), each["outcome"], *numbers, why])
    tones = {each["outcome"]: _RESULTS.get(each["outcome"], "bad") for each in worst}
    return [table("worst", "Worst variants", columns, rows, tones=tones)] if rows else []


def pod_odds(name: str, pods: Sequence[Mapping[str, Any]]) -> list[PageSection]:
    """The table of how often each pod is on each node, and how often it has none."""
    columns = headings("Pod; Variants: number; Has a node: share; Results: wide; Nodes: wide")
    rows = [
        [each["pod"], each["variants"], _placed(each), _odds(each["results"]), _odds(each["nodes"])] for each in pods
    ]
    rows.sort(key=lambda row: row[2])
    return [table(name, "How often each pod goes where", columns, rows)] if rows else []


def _placed(pod: Mapping[str, Any]) -> float:
    return sum((float(each["share"]) for each in pod["nodes"].values()), 0.0)


def _odds(shares: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {100 * each['share']:.0f} %" for name, each in shares.items())


def _dimensions(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, values in document["dimensions"].items():
        several = isinstance(values, list) and values
        yield capitalised(name), joined(list(map(_text, values))) if several else _text(values)
    stats = document["stats"]
    rate = f"{count(stats['variantsPerSecond'], 'variant')} per second"
    yield "Ran on", f"{count(stats['workers'], 'worker')} ({stats['executor']}), {rate}"
