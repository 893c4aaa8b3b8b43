"""An explanation for people: the sentence first, then the nodes, the scores and what the scheduler waits for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TextIO

from rich.table import Table
from rich.text import Text

from ksched_cli.framework.rejections import named
from ksched_cli.plan.explain.results import ExplainResult, Explanation, PluginAnswer, PreemptionStudy, Rejection
from ksched_cli.plan.explain.summary import by_distance, nodes_text
from ksched_cli.plan.fixes.values import Fix, ManifestChange
from ksched_cli.plan.node_values import ScoredNode
from ksched_cli.plugins.in_tree import column_of
from ksched_cli.report.console import make_console
from ksched_cli.report.registry import RenderOptions, renders
from ksched_cli.report.rows import pod_and_node, write_row
from ksched_cli.report.visible import shows_visible

# So many nodes are shown before -o wide is needed for more.
NODES = 20

_COLOURS = {"scheduled": "green", "preempts": "yellow", "held back": "yellow", "ignored": "yellow", "skipped": "yellow"}


@renders("ExplainResult", "name")
def write_place(result: ExplainResult, out: TextIO, options: RenderOptions) -> None:
    found = result.explanation
    write_row(out, *pod_and_node(found.pod, found.outcome.node if found.outcome else ""))


@renders("ExplainResult", "table", "wide")
@shows_visible
def print_explanation(result: ExplainResult, out: TextIO, options: RenderOptions) -> None:
    console, found, wide, headers = make_console(options.width, out), result.explanation, options.wide, options.headers
    console.print(_headline(found))
    if found.standing != "refused":
        console.print(_asks(found))
    console.print()
    for sentence in found.summary:
        console.print(Text(sentence))
    for note in found.notes:
        console.print(Text(note, style="dim"))
    for line in found.focus.text if found.focus else ():
        console.print(Text(line, style="bold"))
    sections = (
        _fixes(found),
        _answers(found),
        _rejections(found, wide, headers),
        _scores(found, wide, headers),
        _preemption(found, wide, headers),
        _retries(found),
    )
    for section in sections:
        for index, part in enumerate(section):
            if not index:
                console.print()
            console.print(part)


def _asks(found: Explanation) -> Text:
    asks = ", ".join(f"{name} {amount}" for name, amount in found.asks.items()) or "nothing"
    return Text(f"asks for {asks}; priority {found.priority}", style="dim")


def _headline(found: Explanation) -> Text:
    line = Text.assemble((found.pod, "bold"), "  ")
    outcome = found.outcome
    if outcome is None or found.standing == "gated":
        verdict = "held back" if found.standing == "gated" else found.standing
        return line.append(verdict, style=f"bold {_COLOURS.get(verdict, 'red')}")
    fit = f"  {outcome.feasible_nodes} of {outcome.total_nodes} nodes fit"
    if found.standing == "running":
        return line.append(f"runs on {found.node}", style="bold green").append(fit, style="dim")
    if outcome.node:
        return line.append(f"-> {outcome.node}", style="bold green").append(fit, style="dim")
    if outcome.nominated_node:
        return line.append(f"preempts on {outcome.nominated_node}", style="bold yellow").append(fit, style="dim")
    return line.append(outcome.result, style=f"bold {_COLOURS.get(outcome.result, 'red')}").append(fit, style="dim")


def _table(headers: bool) -> Table:
    return Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False, show_header=headers)


def _answers(found: Explanation) -> Iterator[Text]:
    """What PreEnqueue and PreFilter said where that is more than "go on"."""
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


def _rejections(found: Explanation, wide: bool, headers: bool) -> Iterator[Table | Text]:
    """The nodes that are rejected, those with the least in the way first; one line a plugin."""
    rejected = [node for node in by_distance(found.nodes) if node.rejections]
    if not rejected:
        return
    shown = rejected if wide else rejected[:NODES]
    table = _table(headers)
    table.add_column("NODE", no_wrap=True)
    table.add_column("REJECTED BY", no_wrap=True)
    table.add_column("WHY", ratio=1)
    for node in shown:
        for index, rejection in enumerate(node.rejections):
            table.add_row("" if index else node.name, _plugin(rejection), rejection.describe())
    yield table
    if len(shown) < len(rejected):
        yield Text(f"and {len(rejected) - len(shown)} more nodes: -o wide shows them", style="dim")


def _plugin(rejection: Rejection) -> Text:
    return Text(rejection.plugin, style="red")


def _scores(found: Explanation, wide: bool, headers: bool) -> Iterator[Table | Text]:
    """One block a node: raw, normalised and weighted by plugin. The weighted add up to the total."""
    outcome = found.outcome
    if outcome is None or not outcome.top:
        return
    shown = outcome.top if wide else outcome.top[:NODES]
    plugins = list(outcome.top[0].scores)
    best = next(each.total for each in outcome.top if each.node == outcome.node)
    table = _table(headers)
    table.add_column("NODE", no_wrap=True)
    table.add_column("TOTAL", justify="right", no_wrap=True)
    table.add_column("BEHIND", justify="right", no_wrap=True)
    table.add_column("SCORES: RAW > NORMALISED > WEIGHTED", ratio=1)
    for scored in shown:
        chosen = scored.node == outcome.node
        behind = "" if chosen else str(best - scored.total)
        table.add_row(
            scored.node, str(scored.total), behind, _figures(scored, plugins), style="green" if chosen else ""
        )
    yield table
    if len(shown) < len(outcome.top):
        yield Text(f"and {len(outcome.top) - len(shown)} more nodes: -o wide shows them", style="dim")


def _figures(scored: ScoredNode, plugins: Sequence[str]) -> str:
    """A plugin where raw, normalised and weighted are one number shows it once."""
    parts = []
    for plugin in plugins:
        score = scored.scores[plugin]
        steps = [score.raw, score.normalized, score.weighted]
        numbers = str(score.raw) if len(set(steps)) == 1 else ">".join(map(str, steps))
        parts.append(f"{column_of(plugin)} {numbers}")
    return ", ".join(parts)


def _fixes(found: Explanation) -> Iterator[Table | Text]:
    """What to do, and how: by ksched's own flags, by a JSON patch of the pod, by kubectl."""
    fixes = found.fixes
    if fixes is None:
        return
    if not fixes.found:
        tried = fixes.why_none or f"{fixes.tried} {'was' if fixes.tried == 1 else 'were'} tried and none works"
        yield Text(f"Changes that would make it fit{f' on {fixes.on}' if fixes.on else ''}: {tried}.")
        return
    where = f" on {fixes.on} (it may still go elsewhere)" if fixes.on else ""
    yield Text(f"Changes that make it fit{where}, the smallest first; each was tried in a run of its own:")
    table = _table(headers=False)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(ratio=1)
    for number, fix in enumerate(fixes.found, start=1):
        table.add_row(f" {number}", Text.assemble((fix.text, "bold"), f"  -> {fix.node}{_costs(fix)}"))
        for line in (*fix.flags, *map(_manifest_line, fix.manifest), *_patch(fix), *fix.commands):
            table.add_row("", Text(line, style="dim"))
    yield table
    if fixes.note and any(True for fix in fixes.found for _ in _patch(fix)):
        yield Text(fixes.note, style="dim")


def _costs(fix: Fix) -> str:
    """What becomes of other pods."""
    evicting = f", evicting {named(fix.victims)}" if fix.victims else ""
    if fix.lost:
        evicting += f"; no controller recreates {named(fix.lost)}"
    if fix.left_out:
        evicting += f"; then {named(fix.left_out)} {'finds' if len(fix.left_out) == 1 else 'find'} no place"
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
    """Where the manifest or a command of kubectl has it, once is enough."""
    if fix.patch and not fix.manifest and not any("--type=json" in each for each in fix.commands):
        yield f"patch {json.dumps(list(fix.patch))}"


def _preemption(found: Explanation, wide: bool, headers: bool) -> Iterator[Table | Text]:
    """The candidates from the best to the worst, and why the others are none."""
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
        yield _candidates(study, wide, headers)
    table = _table(headers=False)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    shown = list(study.others.items()) if wide else list(study.others.items())[:NODES]
    for node, why in shown:
        table.add_row(f"  {node}", why)
    if shown:
        yield table


def _candidates(study: PreemptionStudy, wide: bool, headers: bool) -> Table:
    table = _table(headers)
    table.add_column("PREEMPTION ON", no_wrap=True)
    table.add_column("VICTIMS", ratio=1)
    table.add_column("CHOSEN, OR WHY NOT", ratio=1)
    for each in study.candidates if wide else study.candidates[:NODES]:
        victims = named(each.victims, len(each.victims) if wide else 3)
        table.add_row(each.node, victims, each.why, style="yellow" if each.why == "chosen" else "")
    return table


def _retries(found: Explanation) -> Iterator[Table | Text]:
    if not found.retries:
        return
    yield Text("The scheduler tries it again when one of these happens:")
    table = _table(headers=False)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for retry in found.retries:
        table.add_row(f"  {retry.plugin}", ", ".join(retry.events) or "nothing that the plugin names")
    yield table
