"""What people see first: every pod with its node, the best nodes with their scores, and why the others failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TextIO
from urllib.parse import urlsplit

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ksched_cli.plan.node_values import FailureGroup, ScoredNode
from ksched_cli.plan.results import PluginTiming, PodGroupOutcome, PodOutcome, Simulation
from ksched_cli.plugins.in_tree import column_of
from ksched_cli.releases.minors import NEWEST
from ksched_cli.releases.plugin_names import NODE_RESOURCES_FIT
from ksched_cli.report.console import make_console
from ksched_cli.report.omissions import print_omissions
from ksched_cli.report.registry import RenderOptions, renders
from ksched_cli.report.rows import pod_and_node, write_row
from ksched_cli.report.visible import shows_visible
from ksched_cli.whatif.changes import GonePod

# Above this many pods the nodes of each are left out: a page that nobody scrolls through explains nothing.
PODS_WITH_NODES = 40
_SHOWN_GONE = 3

_COLOURS = {"scheduled": "green", "unschedulable": "red", "error": "red", "skipped": "yellow", "preempts": "yellow"}


_GROUP_RESULTS = {"gated": "held back", "waiting": "waits for victims to leave"}


@renders("Simulation", "name")
def write_places(simulation: Simulation, out: TextIO, options: RenderOptions) -> None:
    for outcome in simulation.outcomes:
        write_row(out, *pod_and_node(outcome.pod, outcome.node))


@renders("Simulation", "table", "wide")
@shows_visible
def print_simulation(simulation: Simulation, out: TextIO, options: RenderOptions) -> None:
    """The table and the line that sums it up."""
    console, wide, headers = make_console(options.width, out), options.wide, options.headers
    if simulation.outcomes:
        if wide or len(simulation.outcomes) <= PODS_WITH_NODES:
            for index, outcome in enumerate(simulation.outcomes):
                if index:
                    console.print()
                _print_pod(outcome, console, wide)
        else:
            console.print(_overview(simulation.outcomes, headers))
        console.print()
    for gated in simulation.gated:
        console.print(
            Text.assemble((gated.pod, "bold"), "  ", ("held back", "yellow"), f"  {', '.join(gated.reasons)}")
        )
    print_others(simulation, console)
    print_groups(simulation, console)
    _print_gone(simulation.gone, console)
    if simulation.gated or simulation.ignored or simulation.refused or simulation.pod_groups or simulation.gone:
        console.print()
    console.print(simulation_summary_line(simulation))
    if by_source := simulation.coverage.get("kubeVersionReadFromSource"):
        console.print(
            Text(f"the rules of Kubernetes {by_source} are read from its source, not held against recordings")
        )
    print_omissions(simulation.coverage, console)
    if simulation.stats.timings:
        console.print()
        console.print(timings_table(simulation.stats.timings, headers))


def print_others(simulation: Simulation, console: Console) -> None:
    """Print the pods that the scheduler never sees. The caller has made all texts visible."""
    for ignored in simulation.ignored:
        text = f'  no profile is named "{ignored.scheduler}"'
        console.print(Text.assemble((ignored.pod, "bold"), "  ", ("not ours", "yellow"), text))
    for refused in simulation.refused:
        text = f"  {refused.plugin}: {refused.message}"
        console.print(Text.assemble((refused.pod, "bold"), "  ", ("refused", "bold red"), text))


def print_groups(simulation: Simulation, console: Console) -> None:
    """Print a line for each pod group. The caller has made all texts visible."""
    for group in simulation.pod_groups:
        console.print(_group_line(group))


def _group_line(group: PodGroupOutcome) -> Text:
    """`group shop/train  unschedulable  0 of 4 pods placed, 3 needed  why`."""
    quorum = f", {group.min_count} needed" if group.min_count else ""
    line = Text.assemble("group ", (group.pod_group, "bold"), "  ")
    line.append(_GROUP_RESULTS.get(group.result, group.result), style=_COLOURS.get(group.result, "yellow"))
    line.append(f"  {group.placed} of {group.pods} pods placed{quorum}")
    if group.placement:
        line.append(f" in {group.placement}")
    if group.message:
        line.append(f"  {group.message}", style="dim")
    return line


def timings_table(timings: Sequence[PluginTiming], headers: bool) -> Table:
    """The slowest first. A plugin that is not kube-scheduler's says where it comes from."""
    table = Table(box=None, pad_edge=False, show_header=headers, header_style="dim")
    table.add_column("POINT")
    table.add_column("PLUGIN")
    for column in ("CALLS", "SECONDS", "EACH"):
        table.add_column(column, justify="right")
    for each in sorted(timings, key=lambda each: -each.seconds):
        name = f"{each.plugin} ({each.origin})" if each.origin else each.plugin
        per_call = f"{each.seconds / each.calls * 1e6:.1f} µs" if each.calls else "-"
        table.add_row(each.point, name, str(each.calls), f"{each.seconds:.3f}", per_call)
    return table


def _print_gone(gone: Sequence[GonePod], console: Console) -> None:
    """The pods that edits have deleted, by the reason why."""
    by_why: dict[str, list[str]] = {}
    for pod in gone:
        by_why.setdefault(pod.why or "deleted", []).append(pod.pod)
    for why, names in by_why.items():
        more = len(names) - _SHOWN_GONE
        shown = ", ".join(names[:_SHOWN_GONE]) + (f" and {more} more" if more > 0 else "")
        count = f"{len(names)} pod{'' if len(names) == 1 else 's'} deleted"
        console.print(Text.assemble((count, "yellow"), f"  {why}: {shown}"))


def simulation_summary_line(simulation: Simulation) -> Text:
    """How many pods went where, in one line."""
    counts = Counter(_verdict(outcome) for outcome in simulation.outcomes)
    parts = [
        f"{counts[verdict]} {words}"
        for verdict, words in (
            ("scheduled", "scheduled"),
            ("preempts", "need to preempt"),
            ("unschedulable", "unschedulable"),
            ("error", "in error"),
            ("skipped", "being deleted"),
        )
        if counts[verdict]
    ]
    parts += [f"{len(simulation.gated)} held back"] if simulation.gated else []
    parts += [f"{len(simulation.ignored)} of other schedulers"] if simulation.ignored else []
    parts += [f"{len(simulation.refused)} refused"] if simulation.refused else []
    parts += [f"{len(simulation.gone)} deleted"] if simulation.gone else []
    nodes = simulation.stats.nodes
    text = ", ".join(parts) if parts else "no pending pods"
    good = not simulation.unplaced and not simulation.refused
    where = f"{nodes} node{'' if nodes == 1 else 's'}"
    version = simulation.coverage.get("kubeVersion", NEWEST.version)
    where += f", Kubernetes {version}" if version != NEWEST.version else ""
    return Text(f"{text} ({where})", style="bold green" if good else "bold red")


def _verdict(outcome: PodOutcome) -> str:
    return "preempts" if outcome.nominated_node else outcome.result


def _print_pod(outcome: PodOutcome, console: Console, wide: bool) -> None:
    console.print(_headline(outcome), soft_wrap=False)
    if outcome.top:
        console.print(Padding(_scores(outcome, console, wide), (0, 0, 0, 2)))
    if outcome.failures:
        console.print(Padding(_failures(outcome.failures, wide), (0, 0, 0, 2)))
    if outcome.pre_filter:
        failure = outcome.pre_filter
        console.print(Padding(Text(f"{failure.plugin}: {', '.join(failure.reasons)}", style="red"), (0, 0, 0, 2)))
    elif outcome.result == "error" or (
        outcome.result == "unschedulable" and (outcome.feasible_nodes or not outcome.failures)
    ):
        console.print(Padding(Text(outcome.message, style="red"), (0, 0, 0, 2)))
    if wide and outcome.message and outcome.failures:
        console.print(Padding(Text(outcome.message, style="dim"), (0, 0, 0, 2)))
    if outcome.missing:
        text = f"could be otherwise: {', '.join(outcome.missing)} could not be read"
        console.print(Padding(Text(text, style="yellow"), (0, 0, 0, 2)))


def _headline(outcome: PodOutcome) -> Text:
    verdict = _verdict(outcome)
    line = Text.assemble((outcome.pod, "bold"), "  ")
    colour = _COLOURS[verdict]
    fit = f"{outcome.feasible_nodes} of {outcome.total_nodes} nodes fit"
    if verdict == "scheduled":
        line.append(f"-> {outcome.node}", style=f"bold {colour}")
        line.append(f"  {fit}{_tie_note(outcome)}", style="dim")
    elif outcome.preemption and outcome.nominated_node:
        line.append(f"preempts on {outcome.preemption.node}", style=f"bold {colour}")
        victims = ", ".join(outcome.preemption.victims)
        broken = outcome.preemption.pdb_violations
        line.append(f"  evicting {victims}" + (f" ({broken} against a PodDisruptionBudget)" if broken else ""))
    elif verdict == "preempts":
        line.append(f"waits for {outcome.nominated_node}", style=f"bold {colour}")
        line.append("  until other pods of its group have a place")
    elif verdict == "skipped":
        line.append("being deleted, not tried", style=colour)
    else:
        line.append(verdict, style=f"bold {colour}")
        line.append(f"  {fit}", style="dim")
        if outcome.preemption:
            line.append(f"  evicted {', '.join(outcome.preemption.victims)} in vain", style="yellow")
    return line


def _tie_note(outcome: PodOutcome) -> str:
    others = [name for name in outcome.ties[:3] if name != outcome.node][:2]
    if not others:
        return ""
    more = len(outcome.ties) - 1 - len(others)
    shown = ", ".join(others) + (f" and {more} more" if more > 0 else "")
    return f", tied with {shown}"


def _scores(outcome: PodOutcome, console: Console, wide: bool) -> Table | Text:
    """The best nodes by total, one column a plugin; a sentence a node where the columns are too many."""
    plugins = list(outcome.top[0].scores)
    names = plugins if wide else [_by_host(column_of(plugin)) for plugin in plugins]
    longest = max(len(scored.node) for scored in outcome.top)
    width = 2 + longest + 7 + sum(len(name) + 2 for name in names)
    if width > console.width:
        return Text("\n").join(_sentence(scored, names, outcome) for scored in outcome.top)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    table.add_column("NODE", no_wrap=True)
    table.add_column("TOTAL", justify="right")
    for name in names:
        table.add_column(name, justify="right")
    for scored in outcome.top:
        weighted = [str(scored.scores[plugin].weighted) for plugin in plugins]
        style = "green" if scored.node == outcome.node else ""
        table.add_row(scored.node, str(scored.total), *weighted, style=style)
    return table


def _sentence(scored: ScoredNode, names: Sequence[str], outcome: PodOutcome) -> Text:
    parts = (f"{name} {score.weighted}" for name, score in zip(names, scored.scores.values(), strict=True))
    style = "green" if scored.node == outcome.node else ""
    return Text(f"{scored.node}  {scored.total} = {' + '.join(parts)}", style=style)


def _failures(failures: Sequence[FailureGroup], wide: bool) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False, pad_edge=False)
    table.add_column(justify="right", style="red", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for group in failures:
        nodes = f"{group.nodes} node{'' if group.nodes == 1 else 's'}"
        more = group.nodes - len(group.examples)
        who = ", ".join(group.examples) + (f" and {more} more" if more else "")
        where = f" ({who})" if wide or group.nodes <= len(group.examples) else ""
        table.add_row(nodes, _by_host(group.failure.plugin) or "PreFilter", f"{_reasons(group)}{where}")
    return table


def _by_host(plugin: str) -> str:
    """An extender is named by its URL, which in a cluster is longer than anything that can be said beside it: its host,
    without what all hosts of a cluster have in common, and the path. Plugins are as they are."""
    if "://" not in plugin:
        return plugin
    parts = urlsplit(plugin)
    host = parts.netloc.rpartition("@")[2]
    label = host.partition(".")[0]
    return f"{host if label.isdigit() else label}{parts.path}"


def _reasons(group: FailureGroup) -> str:
    """The same shortage is another matter on a node that would be too small if it were empty."""
    text = ", ".join(group.failure.reasons)
    hopeless = group.failure.plugin == NODE_RESOURCES_FIT and group.failure.code == "UnschedulableAndUnresolvable"
    return f"{text}, even if empty" if hopeless else text


def _overview(outcomes: Sequence[PodOutcome], headers: bool) -> Table:
    """One line a pod."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False, show_header=headers)
    table.add_column("POD", no_wrap=True)
    table.add_column("RESULT", no_wrap=True)
    table.add_column("NODE", no_wrap=True)
    table.add_column("FIT", justify="right", no_wrap=True)
    table.add_column("WHY", ratio=1)
    for outcome in outcomes:
        verdict = _verdict(outcome)
        node = outcome.node or outcome.nominated_node or "-"
        fit = f"{outcome.feasible_nodes}/{outcome.total_nodes}"
        table.add_row(outcome.pod, Text(verdict, style=_COLOURS[verdict]), node, fit, _why(outcome))
    return table


def _why(outcome: PodOutcome) -> str:
    if outcome.result == "scheduled":
        return f"total {outcome.top[0].total}{_tie_note(outcome)}" if outcome.top else "the only node that fits"
    if outcome.pre_filter:
        return ", ".join(outcome.pre_filter.reasons)
    counts: Counter[str] = Counter()
    for group in outcome.failures:
        for reason in group.failure.reasons:
            counts[reason] += group.nodes
    return ", ".join(f"{count} {reason}" for reason, count in counts.most_common()) or outcome.message
