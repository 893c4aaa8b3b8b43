"""The page of `diff`: the pods that move, and the rule that moved each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ksched_cli.api.listing import joined, named
from ksched_cli.report.html.model import Figure, Page, PageSection, Tone, headings, table
from ksched_cli.report.html.nodes import node_columns, node_map, zone_bars
from ksched_cli.report.html.pods import pods_section
from ksched_cli.report.html.words import capitalised, count

_KINDS: Mapping[str, tuple[str, Tone]] = {
    "newlyFailing": ("newly failing", "bad"),
    "lost": ("new, without a node", "bad"),
    "newlyFitting": ("newly fitting", "good"),
    "moved": ("moved", "warn"),
    "added": ("new", "plain"),
    "removed": ("gone", "plain"),
}
_STATES = {
    "waiting": "waiting for a node",
    "gated": "held back",
    "ignored": "of another scheduler",
    "refused": "refused",
}
_MOST_PODS = 5


def page(document: Mapping[str, Any]) -> Page:
    tone, verdict = _verdict(document)
    sections = [
        *node_map(document, intro=_MAP, compare=True),
        *_pods(document["pods"]),
        *_rules(document.get("rules", [])),
        *_spread(document["spread"]),
        *zone_bars(document),
    ]
    notes = [f"{count(document['unchanged'], 'pod')} {'is' if document['unchanged'] == 1 else 'are'} as before."]
    counts = Counter(map(_kind, document["pods"]))
    figures = [Figure(word, f"{counts[kind]:,}", tone) for kind, (word, tone) in _KINDS.items() if counts[kind]]
    figures.append(Figure("as before", f"{document['unchanged']:,}"))
    return Page("diff", tone, verdict, notes, figures, sections, node_columns(document))


_MAP = (
    "Every node before and after. The filled part is what pods request of it. Choose a pod to see where it was "
    "(dashed) and where it is."
)


def _kind(change: Mapping[str, Any]) -> str:
    lost = change["change"] == "added" and not change["after"].get("node")
    return "lost" if lost else str(change["change"])


def _verdict(document: Mapping[str, Any]) -> tuple[Tone, str]:
    """`1 pod newly failing, 2 pods moved.`"""
    counts = Counter(map(_kind, document["pods"]))
    parts = [(counts[kind], word) for kind, (word, _) in _KINDS.items() if counts[kind]]
    if not parts:
        return "good", "No pod moves."
    (first, word), *others = parts
    text = joined([f"{count(first, 'pod')} {word}", *(f"{number:,} {word}" for number, word in others)])
    bad = counts["newlyFailing"] + counts["lost"]
    return "bad" if bad else "warn" if counts["moved"] else "good", f"{text}."


def _pods(changes: Sequence[Mapping[str, Any]]) -> list[PageSection]:
    if not changes:
        return []
    columns = headings("Pod; Change: badge filters; Before; After; Because of: filters wide")
    rows, details = [], []
    for change in changes:
        before, after = change["before"] or {}, change["after"] or {}
        word, _ = _KINDS[_kind(change)]
        lines = list(_cause_lines(change.get("cause")))
        name = before.get("pod") or after["pod"]
        rows.append([name, word, _where(before), _where(after), _because(change.get("cause"))])
        if before and after and before["pod"] != after["pod"]:
            lines.insert(0, f"It is {after['pod']} after.")
        detail = {"from": before.get("node", ""), "to": after.get("node", ""), "message": after.get("message", "")}
        details.append({**detail, "lines": [f"Workload: {change['workload']}", *lines]})
    tones = dict(_KINDS.values())
    return [pods_section("pods", "Pods that changed", columns, rows, details, tones=tones)]


def _where(side: Mapping[str, Any]) -> str:
    if not side:
        return ""
    return side.get("node") or _STATES.get(side["state"], "no node")


def _because(cause: Mapping[str, Any] | None) -> str:
    """The plugins that decide differently, or `other pods moved`."""
    if cause is None:
        return ""
    if cause["kind"] == "preemption":
        return "preemption"
    names = [each["plugin"] or "kube-scheduler" for each in cause.get("deciders", [])]
    return joined(list(dict.fromkeys(names))) if names else "other pods moved"


def _cause_lines(cause: Mapping[str, Any] | None) -> Iterator[str]:
    """The rules that decide differently, with the figures of nodes."""
    if cause is None:
        return
    if cause.get("preemptor"):
        yield f"{'Before, it was evicted' if cause.get('side') == 'before' else 'Evicted'} for {cause['preemptor']}."
    for decider in cause.get("deciders", []):
        who = decider["plugin"] or "kube-scheduler"
        for rule in decider.get("rules", []):
            since = f" (since {rule['since']})" if rule.get("since") else ""
            yield f"{who}{since}: {rule['text']}"
        if decider.get("configuration"):
            yield f"{who}: the configuration differs."
        for node in decider.get("nodes", []):
            before, after = (_figure(node.get(side)) for side in ("before", "after"))
            yield f"{who} on {node['node']}: {before} before, {after} after."
    if pods := cause.get("pods"):
        yield f"Other pods moved ahead of it: {named(pods, _MOST_PODS)}."
    if "alone" in cause:
        yield f"Had other pods stayed, it would be on {cause['alone'] or 'no node'}."


def _figure(value: Any) -> str:
    return "nothing" if value in (None, "") else f"{value:,}" if isinstance(value, int) else str(value)


def _rules(rules: Sequence[Mapping[str, Any]]) -> list[PageSection]:
    columns = headings("Rule: wide; Since; Plugins: list; Pods that moved: number")
    rows = [
        [
            each["text"],
            each.get("since", ""),
            [plugin or "kube-scheduler" for plugin in each.get("plugins", [])],
            each["pods"],
        ]
        for each in rules
    ]
    return [table("rules", "Rules that differ", columns, rows)] if rows else []


def _spread(spread: Sequence[Mapping[str, Any]]) -> list[PageSection]:
    """The number of pods of each workload in each domain, before and after."""
    rows = [
        [each["workload"], each["topologyKey"], domain, each["before"].get(domain, 0), each["after"].get(domain, 0)]
        for each in spread
        for domain in sorted({*each["before"], *each["after"]})
    ]
    columns = headings("Workload: filters; Spread over; Domain; Pods before: number; Pods after: number")
    title = capitalised("spread of workloads")
    return [table("spread", title, columns, rows)] if rows else []
