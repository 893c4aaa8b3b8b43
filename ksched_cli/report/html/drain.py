"""The pages of `drain`: nodes that are drained together, or each by itself."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ksched_cli.api.listing import joined
from ksched_cli.report.html.ends import draws, final_pods
from ksched_cli.report.html.model import Figure, Heading, Page, Section, Step, Tone, counting, headings, steps, table
from ksched_cli.report.html.nodes import node_columns, node_groups, node_map, zone_bars
from ksched_cli.report.html.pods import pods_section
from ksched_cli.report.html.words import capitalised, count
from ksched_cli.report.summary_line import pending_line

_RESULTS: Mapping[str, Tone] = {
    "safe": "good",
    "evicts others": "warn",
    "loses pods": "bad",
    "no place": "bad",
    "blocked": "bad",
}
_FATES: Mapping[str, Tone] = {
    "moves": "good",
    "stays": "plain",
    "waits": "plain",
    "gone": "bad",
    "unplaced": "bad",
    "stuck": "bad",
    "refused": "bad",
}
_WORDS = {
    "moves": "moves",
    "stays": "stays",
    "waits": "waits",
    "gone": "is deleted for good",
    "unplaced": "finds no node",
    "stuck": "is held by its budget",
    "refused": "is refused",
}
_TITLES = {
    "safe": "{} can be drained safely",
    "evicts others": "{} can be drained, but pods of other nodes are preempted",
    "loses pods": "Draining {} loses pods for good",
    "no place": "Draining {} leaves pods without a node",
    "blocked": "{} cannot be drained",
}


def page(document: Mapping[str, Any]) -> Page:
    """The page of a single drain."""
    nodes, result = document["nodes"], document["result"]
    names = [each["node"] for each in nodes]
    who = f"Node {names[0]}" if len(names) == 1 else f"{len(names):,} nodes"
    title = _TITLES[result]
    subject = who if title.startswith("{}") else who[0].lower() + who[1:]
    sections = [
        *_rounds(nodes),
        *node_map(document, intro=_MAP),
        *_pods(nodes),
        *_budgets(document["budgets"]),
        *_preempted(document["preempted"]),
        *_displaced(document.get("displaced", ())),
        *final_pods(document),
        *zone_bars(document),
    ]
    notes = [*([document["reason"]] if document.get("reason") else []), *_pending(document)]
    verdict = f"{title.format(subject)}."
    figures = _figures(nodes, document["preempted"])
    if displaced := document.get("displaced"):
        figures.append(Figure("pending pods without their node", f"{len(displaced):,}", "bad"))
    return Page(
        "drain", _RESULTS[result], verdict, [*notes, *draws(document)], figures, sections, node_columns(document)
    )


_MAP = (
    "A cell is a node, filled by what pods request of it. Choose a pod to see where it was (dashed) and where it goes."
)


def _pending(document: Mapping[str, Any]) -> Iterator[str]:
    pending = document["pending"]
    if pending["pods"]:
        yield pending_line(pending["pods"], pending["placed"])


def _figures(nodes: Sequence[Mapping[str, Any]], preempted: Sequence[Any]) -> list[Figure]:
    counts = Counter(pod["fate"] for node in nodes for pod in node["pods"])
    found = [counting(len(nodes), "node"), counting(sum(each["rounds"] for each in nodes), "round")]
    labels = {"moves": "move", "unplaced": "no node", "gone": "gone for good", "stuck": "held by budgets"}
    labels["refused"] = "refused"
    found += [Figure(label, f"{counts[fate]:,}", _FATES[fate]) for fate, label in labels.items() if counts[fate]]
    return [*found, *([Figure("others preempted", f"{len(preempted):,}", "warn")] if preempted else [])]


def _rounds(nodes: Sequence[Mapping[str, Any]]) -> list[Section]:
    """The evictions of each round."""
    return [steps("rounds", "Round by round", [step for node in nodes for step in _node_steps(node)])] if nodes else []


def _node_steps(node: Mapping[str, Any]) -> Iterator[Step]:
    refused: list[tuple[Tone, str]] = [
        ("bad", f"{each['message']}: {', '.join(each['pods'])}") for each in node["refusals"]
    ]
    if refused:
        yield Step(node["node"], refused, "kubectl drain would refuse, nothing is evicted")
        return
    rounds: defaultdict[int, list[tuple[Tone, str]]] = defaultdict(list)
    for pod in node["pods"]:
        if pod["fate"] != "stays":
            rounds[pod.get("round", 0)].append((_FATES[pod["fate"]], _fate(pod)))
    held = rounds.pop(0, [])
    if not rounds and not held:
        yield Step(node["node"], (), "nothing to evict")
    for number, lines in sorted(rounds.items()):
        yield Step(f"{node['node']}, round {number}", lines, count(len(lines), "eviction"))
    if held:
        yield Step(f"{node['node']}, in the end", held, "not evicted")


def _fate(pod: Mapping[str, Any]) -> str:
    """`shop/web-1 moves to west-1, as web-2`."""
    text = f"{pod['pod']} {_WORDS[pod['fate']]}"
    if pod.get("to"):
        text += f" to {pod['to']}"
    if pod.get("successor", pod["pod"]) != pod["pod"]:
        text += f", as {pod['successor'].partition('/')[2]}"
    return f"{text}: {pod['message']}" if pod.get("message") else text


def _pods(nodes: Sequence[Mapping[str, Any]]) -> list[Section]:
    found = [(node["node"], pod) for node in nodes for pod in node["pods"]]
    found.sort(key=lambda each: (_FATES[each[1]["fate"]] != "bad", each[1]["fate"] == "stays"))
    columns = headings("Pod; What happens: badge filters; Round: number; From: filters; To; Why: wide")
    tones = {_WORDS[fate]: tone for fate, tone in _FATES.items()}
    rows = [
        [pod["pod"], _WORDS[pod["fate"]], pod.get("round", ""), node, pod.get("to", ""), pod.get("message", "")]
        for node, pod in found
    ]
    details = [
        {"from": node, "to": pod.get("to", ""), "message": pod.get("message", ""), "lines": _successor(pod)}
        for node, pod in found
    ]
    return [pods_section("pods", "Pods of the drained nodes", columns, rows, details, tones=tones)] if rows else []


def _successor(pod: Mapping[str, Any]) -> list[str]:
    return [f"Its controller makes {pod['successor']} in its place."] if pod.get("successor") else []


def _budgets(budgets: Sequence[Mapping[str, Any]]) -> list[Section]:
    names = ("Budget", "Needs", "Healthy before", "Lowest", "In the end", "Allows before", "Allows in the end")
    columns = [Heading(name, "number" if at else "text") for at, name in enumerate(names)]
    rows = [
        [each["budget"], each["desiredHealthy"], *_sides(each["currentHealthy"]), *_sides(each["disruptionsAllowed"])]
        for each in budgets
    ]
    return [table("budgets", "Disruption budgets", columns, rows)] if rows else []


def _sides(amounts: Mapping[str, Any]) -> list[Any]:
    return [amounts[key] for key in ("before", "lowest", "after") if key in amounts]


def _preempted(preempted: Sequence[Mapping[str, Any]]) -> list[Section]:
    columns = headings("Pod; Node; Preempted by; Goes to")
    rows = [
        [
            each["pod"],
            each["node"],
            each["by"],
            each.get("to") or ("no node" if each.get("successor") else "gone for good"),
        ]
        for each in preempted
    ]
    return [table("preempted", "Pods of other nodes that are preempted", columns, rows)] if rows else []


def _displaced(displaced: Sequence[Mapping[str, Any]]) -> list[Section]:
    rows = [[each["pod"], each.get("message", "")] for each in displaced]
    columns = headings("Pod; Why: wide")
    return [table("displaced", "Pods that would have a node without the drain", columns, rows)] if rows else []


def list_page(document: Mapping[str, Any]) -> Page:
    """The page of a drain of each node or zone by itself."""
    trials, each = document["trials"], document["each"]
    results = Counter(trial["result"] for trial in trials)
    safe = results["safe"]
    tone: Tone = "good" if safe == len(trials) else "bad" if safe == 0 else "warn"
    others = [_summary(results[result], *verbs) for result, verbs in _SUMMARY.items() if results[result]]
    verdict = f"{safe:,} of {count(len(trials), each)} can be drained safely, each by itself."
    groups = {name: trial["result"] for trial in trials for name in [node["node"] for node in trial["nodes"]]}
    sections = [
        *node_map(
            document, intro="The colour of a node is the result of its drain.", **node_groups(document, groups, "safe")
        ),
        _trials(trials, each),
    ]
    figures = [Figure(result, f"{number:,}", _RESULTS[result]) for result, number in results.most_common()]
    notes = [f"{capitalised(joined(others))}."] if others else []
    return Page(f"drain --each {each}", tone, verdict, notes, figures, sections, node_columns(document))


_SUMMARY = {
    "evicts others": ("makes", "make", "the scheduler preempt pods of other nodes"),
    "loses pods": ("loses", "lose", "pods that no controller recreates"),
    "no place": ("leaves", "leave", "pods without a node"),
    "blocked": ("is", "are", "blocked by kubectl or by a budget"),
}


def _summary(number: int, singular: str, plural: str, rest: str) -> str:
    return f"{number:,} {singular if number == 1 else plural} {rest}"


def _trials(trials: Sequence[Mapping[str, Any]], each: str) -> Section:
    names = ("Rounds", "Move", "Preempted", "Gone for good", "No node", "Held")
    columns = [Heading(each.capitalize()), Heading("Result", "badge", filters=True)]
    columns += [*(Heading(name, "number", hides_zeros=True) for name in names), Heading("Why", wide=True)]
    order = sorted(trials, key=lambda trial: list(_RESULTS).index(trial["result"]), reverse=True)
    return table(
        "trials", f"Each {each} drained by itself", columns, [_trial(trial) for trial in order], tones=_RESULTS
    )


def _trial(trial: Mapping[str, Any]) -> list[Any]:
    counts = Counter(pod["fate"] for node in trial["nodes"] for pod in node["pods"])
    rounds = sum(node["rounds"] for node in trial["nodes"])
    unplaced = counts["unplaced"] + len(trial.get("displaced", ()))
    fates = (counts["gone"], unplaced, counts["stuck"] + counts["refused"])
    return [
        trial["name"],
        trial["result"],
        rounds,
        counts["moves"],
        len(trial["preempted"]),
        *fates,
        trial.get("reason", ""),
    ]
