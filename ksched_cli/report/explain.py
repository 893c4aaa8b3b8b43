"""Prints an explanation: the sentence first, then the nodes, the scores and the events that the scheduler waits for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace as replace_fields
from typing import TextIO

from msgspec.structs import replace
from rich.text import Text

from ksched_cli.api.listing import named
from ksched_cli.plan.explain.results import ExplainResult, Explanation, PluginAnswer, PreemptionStudy
from ksched_cli.plan.explain.summary import RejectingNodes, by_distance, describe_node, group_nodes, nodes_text
from ksched_cli.plan.reasons.fixes.values import Fix, ManifestChange
from ksched_cli.plan.results.nodes import Score, ScoredNode
from ksched_cli.plugins.in_tree import column_of
from ksched_cli.report.console import make_console, print_hanging
from ksched_cli.report.grid import Column, Grid
from ksched_cli.report.money import plain_money
from ksched_cli.report.odds import odds_sentence
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.rows import pod_and_node, write_row
from ksched_cli.report.short_names import shows_nodes
from ksched_cli.report.summary_line import FAIR, GOOD, summary_line
from ksched_cli.report.visible import shows_visible
from ksched_cli.report.workload_counts import by_workload

# The numbers of rows that are shown without -o wide.
NODES, SCORED, CANDIDATES = 20, 5, 3

_COLOURS = {"scheduled": "green", "preempts": "yellow", "held back": "yellow", "ignored": "yellow", "skipped": "yellow"}


def write_place(result: ExplainResult, out: TextIO, options: RenderOptions) -> None:
    found = result.explanation
    write_row(out, *pod_and_node(found.pod, found.outcome.node if found.outcome else ""))


@shows_nodes
def print_explanation(result: ExplainResult, out: TextIO, options: RenderOptions) -> None:
    found = result.explanation
    if options.wide:
        groups = [describe_node(node) for node in by_distance(found.nodes) if node.rejections]
    else:
        groups = group_nodes(found.nodes)
    # The nodes are shown in groups, and have more texts than all else.
    _print_explanation((replace(result, explanation=replace_fields(found, nodes=())), groups), out, options)


@shows_visible
def _print_explanation(
    shown: tuple[ExplainResult, Sequence[RejectingNodes]], out: TextIO, options: RenderOptions
) -> None:
    result, groups = shown
    console, found = make_console(options.width, out), result.explanation
    print_hanging(console, _headline(found, options))
    if found.standing != "refused":
        requests = ", ".join(f"{name} {amount}" for name, amount in found.asks.items()) or "nothing"
        console.print(Text(f"requests {requests}; priority {found.priority}", style="dim"))
    console.print()
    for sentence in found.summary:
        console.print(Text(sentence))
    if result.odds is not None:
        console.print(Text(odds_sentence(result.odds, found.pod)))
    for note in found.notes:
        console.print(Text(note, style="dim"))
    for line in found.focus.text if found.focus else ():
        console.print(Text(line, style="bold"))
    sections = (
        _fixes(found, options),
        _helping_node(result),
        _answers(found),
        _rejections(groups, options),
        _scores(found, options),
        _preemption(found, options),
        _retries(found, options),
    )
    for section in sections:
        for index, part in enumerate(section):
            if not index:
                console.print()
            console.print(part)


def _helping_node(result: ExplainResult) -> Iterator[Text]:
    """The lines about the cheapest node of the catalog that would help."""
    node = result.helping_node
    if node is None:
        return
    if node.shape:
        price = f"{plain_money(node.price)} {node.unit}".rstrip()
        yield Text.assemble("The cheapest node that would help: ", (node.shape, "bold"), f" for {price}.")
        return
    yield Text("No single node of the catalog would help:")
    for shape, reason in node.reasons.items():
        yield Text(f"  {shape}: {reason}", style="dim")


def _headline(found: Explanation, options: RenderOptions) -> Text:
    """`shop/web-1: unschedulable, 0 of 12 nodes fit`."""
    outcome = found.outcome
    if outcome is None or found.standing == "gated":
        verdict = "held back" if found.standing == "gated" else found.standing
        return summary_line(found.pod, verdict, f"bold {_COLOURS.get(verdict, 'red')}")
    fit = [f"{outcome.feasible_nodes} of {outcome.total_nodes} nodes fit"]
    in_zone = options.nodes.with_zone
    if found.standing == "running":
        return summary_line(found.pod, f"runs on {in_zone(found.node)}", GOOD, fit)
    if outcome.node:
        return summary_line(found.pod, f"scheduled on {in_zone(outcome.node)}", GOOD, fit)
    if outcome.nominated_node:
        return summary_line(found.pod, f"preempts on {in_zone(outcome.nominated_node)}", FAIR, fit)
    return summary_line(found.pod, outcome.result, f"bold {_COLOURS.get(outcome.result, 'red')}", fit)


def _answers(found: Explanation) -> Iterator[Text]:
    """The results of PreEnqueue and PreFilter that restrict the pod, and the problems of Filter."""
    for point, answers in (("PreEnqueue", found.pre_enqueue), ("PreFilter", found.pre_filter)):
        for answer in answers:
            text = _answer(answer)
            if text:
                yield Text(f"{point} {answer.plugin}: {text}", style="red" if answer.rejects else "")
    for plugin, problem in found.problems.items():
        yield Text(f"Filter {plugin}: {problem}", style="red")


def _answer(answer: PluginAnswer) -> str:
    if answer.rejects:
        return ", ".join(answer.reasons)
    if answer.nodes is None:
        return ""
    return f"leaves only {', '.join(answer.nodes[:5]) or 'no node'}" + (" and others" if len(answer.nodes) > 5 else "")


def _rejections(groups: Sequence[RejectingNodes], options: RenderOptions) -> Iterator[Grid | Text]:
    """The table of the nodes that reject the pod, those with the fewest problems first. Nodes with equal problems share
    a row, and each plugin has a line."""
    if not groups:
        return
    table = Grid(
        Column("NODE" if all(len(each.nodes) == 1 for each in groups) else "NODES"),
        Column("ZONE", hides_zeros=True),
        Column("REJECTED BY", style="red", optional=not options.wide),
        Column("WHY", flows=True),
        headers=options.headers,
    )
    for group in groups[: None if options.wide else NODES]:
        zones = sorted({options.nodes.zone(node) for node in group.nodes})
        names = group.nodes[0] if len(group.nodes) == 1 else nodes_text(len(group.nodes))
        where = zones[0] if len(zones) == 1 else f"{len(zones)} zones"
        for index, (plugin, why) in enumerate(group.rejections):
            table.add("" if index else names, "" if index else where, plugin, why)
    yield table
    if len(groups) > NODES and not options.wide:
        yield Text(f"and {len(groups) - NODES} more: -o wide shows every node", style="dim")


def _scores(found: Explanation, options: RenderOptions) -> Iterator[Grid | Text]:
    """The table with the raw, normalised and weighted score of each plugin by node, and their total. A plugin that
    gives 0 to every node is left out."""
    outcome = found.outcome
    if outcome is None or not outcome.top:
        return
    shown = outcome.top if options.wide else outcome.top[:SCORED]
    plugins = [
        plugin
        for plugin in outcome.top[0].scores
        if options.wide or any(each.scores[plugin] != Score(0, 0, 0) for each in outcome.top)
    ]
    best = next(each.total for each in outcome.top if each.node == outcome.node)
    table = Grid(
        Column("NODE"),
        Column("ZONE", hides_zeros=True),
        Column("TOTAL", right=True),
        Column("BEHIND", right=True, hides_zeros=True),
        Column("SCORES: RAW > NORMALISED > WEIGHTED", flows=True),
        headers=options.headers,
    )
    for scored in shown:
        chosen = scored.node == outcome.node
        behind = "" if chosen else str(best - scored.total)
        zone, figures = options.nodes.zone(scored.node), _figures(scored, plugins)
        table.add(scored.node, zone, str(scored.total), behind, figures, style="green" if chosen else "")
    yield table
    if len(shown) < len(outcome.top):
        yield Text(f"and {nodes_text(len(outcome.top) - len(shown))} more: -o wide shows them", style="dim")


def _figures(scored: ScoredNode, plugins: Sequence[str]) -> str:
    """The scores of a node. If raw, normalised and weighted score are equal, the number is shown once."""
    parts = []
    for plugin in plugins:
        score = scored.scores[plugin]
        steps = [score.raw, score.normalized, score.weighted]
        numbers = str(score.raw) if len(set(steps)) == 1 else ">".join(map(str, steps))
        parts.append(f"{column_of(plugin)} {numbers}")
    return ", ".join(parts)


def _fixes(found: Explanation, options: RenderOptions) -> Iterator[Grid | Text]:
    """The changes that help, with flags of ksched, lines of the manifest, a JSON patch, and kubectl commands."""
    fixes = found.fixes
    if fixes is None:
        return
    if not fixes.found:
        tried = fixes.why_none or f"{fixes.tried} {'was' if fixes.tried == 1 else 'were'} tried and none works"
        yield Text(f"Changes that would make it fit{f' on {fixes.on}' if fixes.on else ''}: {tried}.")
        return
    where = f" on {fixes.on} (it may still go elsewhere)" if fixes.on else ""
    yield Text(f"Changes that make it fit{where}, the smallest first; each was tried in a run of its own:")
    table = Grid(Column(right=True), Column(flows=True))
    for number, fix in enumerate(fixes.found, start=1):
        table.add(f" {number}", Text.assemble((fix.text, "bold"), f"  -> {fix.node}{_costs(fix)}"))
        for line in (*fix.flags, *map(_manifest_line, fix.manifest), *_patch(fix), *fix.commands):
            table.add("", Text(line, style="dim"))
    yield table
    if fixes.note and any(True for fix in fixes.found for _ in _patch(fix)):
        yield Text(fixes.note, style="dim")


def _costs(fix: Fix) -> str:
    """The consequences of a fix for other pods."""
    evicting = f", evicting {by_workload(fix.victims, fix.workloads)}" if fix.victims else ""
    if fix.lost:
        evicting += f"; no controller recreates {named(fix.lost)}"
    if fix.left_out:
        evicting += f"; without a node then: {by_workload(fix.left_out, fix.workloads)}"
    return evicting


def _manifest_line(change: ManifestChange) -> str:
    """`web.yaml:18: spec.template.spec.priorityClassName: high`."""
    place = change.place
    where = f"{place.source}:{place.line}" if place.line is not None else place.source
    if change.action == "delete":
        return f"{where}: delete {place.path}"
    value = change.value if isinstance(change.value, str) else json.dumps(change.value)
    return f"{where}: {place.path}: {'add ' if change.action == 'append' else ''}{value}"


def _patch(fix: Fix) -> Iterator[str]:
    """The JSON patch, unless the lines of the manifest or a kubectl command show the same change."""
    if fix.patch and not fix.manifest and not any("--type=json" in each for each in fix.commands):
        yield f"patch {json.dumps(list(fix.patch))}"


def _preemption(found: Explanation, options: RenderOptions) -> Iterator[Grid | Text]:
    """The candidates for preemption, best first, and why other nodes are no candidates."""
    study = found.preemption
    if study is None:
        return
    if study.ineligible:
        yield Text(f"Preemption: {study.ineligible}")
        return
    if not study.candidates:
        tried = len(study.others)
        yield Text(
            f"Preemption helps nowhere: {nodes_text(tried)} tried, {nodes_text(study.beyond_help)} with problems "
            "that no eviction solves."
        )
    else:
        yield from _candidates(study, options)
    if study.others:
        yield _vain(study, options)


def _vain(study: PreemptionStudy, options: RenderOptions) -> Grid:
    """The table of nodes where preemption did not help. Nodes with the same cause share a row."""
    table = Grid(Column(), Column(flows=True))
    by_cause: dict[str, list[str]] = {}
    for node, why in study.others.items():
        by_cause.setdefault(node if options.wide else why, []).append(node)
    for nodes in by_cause.values():
        names = nodes[0] if len(nodes) == 1 else nodes_text(len(nodes))
        table.add(f"  {names}", study.others[nodes[0]])
    return table


def _candidates(study: PreemptionStudy, options: RenderOptions) -> Iterator[Grid | Text]:
    titles = (Column("PREEMPTION ON"), Column("VICTIMS", flows=True), Column("CHOSEN, OR WHY NOT", flows=True))
    table = Grid(*titles, headers=options.headers)
    shown = study.candidates if options.wide else study.candidates[:CANDIDATES]
    for each in shown:
        victims = named(each.victims, len(each.victims) if options.wide else 2)
        table.add(each.node, victims, each.why, style="yellow" if each.why == "chosen" else "")
    yield table
    if len(shown) < len(study.candidates):
        yield Text(f"and {nodes_text(len(study.candidates) - len(shown))} more: -o wide shows them", style="dim")


def _retries(found: Explanation, options: RenderOptions) -> Iterator[Grid | Text]:
    """The events that each plugin waits for; without -o wide only the kinds of their objects."""
    if not found.retries:
        return
    if not options.wide:
        kinds = dict.fromkeys(event.partition(" ")[0] for retry in found.retries for event in retry.events)
        if any(each.islower() for each in kinds):
            yield Text("kube-scheduler tries it again after anything that happens")
        else:
            yield Text(f"kube-scheduler tries it again after changes of: {', '.join(kinds) or 'nothing'}")
        return
    yield Text("kube-scheduler tries it again when one of these happens:")
    table = Grid(Column(), Column(flows=True))
    for retry in found.retries:
        table.add(f"  {retry.plugin}", ", ".join(retry.events) or "nothing that the plugin names")
    yield table
