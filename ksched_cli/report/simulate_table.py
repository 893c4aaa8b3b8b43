"""Prints a simulation: each pod with its node, the best nodes with their scores, and why other nodes failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TextIO
from urllib.parse import urlsplit

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ksched_cli.api.listing import named
from ksched_cli.plan.results.nodes import FailureGroup, ScoredNode
from ksched_cli.plan.results.outcomes import PluginTiming, PodGroupOutcome, PodOutcome, Simulation
from ksched_cli.plugins.in_tree import column_of
from ksched_cli.releases.minors import DEFAULT
from ksched_cli.releases.plugin_names import NODE_RESOURCES_FIT
from ksched_cli.report.console import make_console, print_hanging
from ksched_cli.report.grid import Column, Grid
from ksched_cli.report.odds import odds_sentence
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.rows import pod_and_node, write_row
from ksched_cli.report.short_names import shows_nodes
from ksched_cli.report.summary_line import BAD, FAIR, GOOD, counted, summary_line
from ksched_cli.report.view.omissions import print_omissions
from ksched_cli.report.visible import shows_visible
from ksched_cli.whatif.changes import GonePod

# Above this many pods, the nodes of each pod are left out.
PODS_WITH_NODES = 40
_SHOWN_GONE = 3
_SHOWN_ALIKE = 4

_COLOURS = {"scheduled": "green", "unschedulable": "red", "error": "red", "skipped": "yellow", "preempts": "yellow"}


_GROUP_RESULTS = {"gated": "held back", "waiting": "waits for victims to leave"}


def write_places(simulation: Simulation, out: TextIO, options: RenderOptions) -> None:
    for outcome in simulation.outcomes:
        write_row(out, *pod_and_node(outcome.pod, outcome.node))


@shows_nodes
@shows_visible
def print_simulation(simulation: Simulation, out: TextIO, options: RenderOptions) -> None:
    """Print the summary line, then each pod."""
    console, wide, headers = make_console(options.width, out), options.wide, options.headers
    print_hanging(console, simulation_summary_line(simulation))
    if by_source := simulation.coverage.get("kubeVersionReadFromSource"):
        console.print(
            Text(f"the rules of Kubernetes {by_source} are read from its source, not held against recordings")
        )
    places = _places(simulation)
    if wide or len(simulation.outcomes) <= PODS_WITH_NODES:
        for alike in _alike(simulation.outcomes, wide, places):
            console.print()
            _print_pods(alike, console, options, places.get(alike[0].pod, ""))
    else:
        console.print()
        console.print(_overview(simulation.outcomes, headers))
    if simulation.gated or simulation.ignored or simulation.refused or simulation.pod_groups or simulation.gone:
        console.print()
    for gated in simulation.gated:
        line = Text.assemble((gated.pod, "bold"), "  ", ("held back", "yellow"), f"  {', '.join(gated.reasons)}")
        print_hanging(console, line)
    print_others(simulation, console)
    print_groups(simulation, console)
    _print_gone(simulation.gone, console)
    _print_odds(simulation, console)
    print_autoscaling(simulation, out, options)
    print_omissions(simulation.coverage, console)
    if simulation.stats.timings:
        console.print()
        console.print(timings_table(simulation.stats.timings, headers))


def print_autoscaling(simulation: Simulation, out: TextIO, options: RenderOptions) -> None:
    """Print the nodes that the cluster's autoscaler adds, and the pods that it cannot help."""
    if simulation.autoscaling is None:
        return
    from ksched_cli.report.sinks.terminal import write_sections
    from ksched_cli.report.view.autoscaling import autoscaling_sections

    assumed = simulation.coverage.get("autoscalerAssumed", ())
    write_sections(autoscaling_sections(simulation.autoscaling, assumed), out, options)


def _places(simulation: Simulation) -> dict[str, str]:
    """Where the cluster's autoscaler has a place for each pod."""
    if simulation.autoscaling is None:
        return {}
    from ksched_cli.report.view.autoscaling import place_texts

    return place_texts(simulation.autoscaling)


def _alike(outcomes: Sequence[PodOutcome], wide: bool, places: Mapping[str, str]) -> Iterator[list[PodOutcome]]:
    """Groups of pods that fail for the same reasons on the same nodes, in the order of the first pod of each."""
    groups: dict[object, list[PodOutcome]] = {}
    for outcome in outcomes:
        same = wide or outcome.result != "unschedulable" or outcome.nominated_node or outcome.preemption
        why = (outcome.failures, outcome.pre_filter, outcome.message, outcome.missing, places.get(outcome.pod))
        key = outcome.pod if same else why
        groups.setdefault(key, []).append(outcome)
    yield from groups.values()


def _print_odds(simulation: Simulation, console: Console) -> None:
    """Print a sentence for each pod that was tried."""
    if simulation.odds is None:
        return
    console.print()
    for outcome in simulation.outcomes:
        print_hanging(console, Text(odds_sentence(simulation.odds, outcome.pod)))


def print_others(simulation: Simulation, console: Console) -> None:
    """Print the pods that the scheduler never sees. The caller has made all texts visible."""
    for ignored in simulation.ignored:
        text = f'  no profile is named "{ignored.scheduler}"'
        print_hanging(console, Text.assemble((ignored.pod, "bold"), "  ", ("not ours", "yellow"), text))
    for refused in simulation.refused:
        text = f"  {refused.plugin}: {refused.message}"
        print_hanging(console, Text.assemble((refused.pod, "bold"), "  ", ("refused", "bold red"), text))


def print_groups(simulation: Simulation, console: Console) -> None:
    """Print a line for each pod group. The caller has made all texts visible."""
    for group in simulation.pod_groups:
        print_hanging(console, _group_line(group))


def _group_line(group: PodGroupOutcome) -> Text:
    """`group shop/train  unschedulable  0 of 4 pods placed, 3 needed  why`."""
    quorum = f", {group.min_count} needed" if group.min_count else ""
    line = Text.assemble("group ", (group.pod_group, "bold"), "  ")
    line.append(_GROUP_RESULTS.get(group.result, group.result), style=_COLOURS.get(group.result, "yellow"))
    line.append(f"  {group.placed} of {group.pods} pods placed{quorum}")
    if group.placement:
        line.append(f" in {group.placement}")
    if group.victims:
        line.append(f"  evicting {', '.join(group.victims)}")
    if group.message:
        line.append(f"  {group.message}", style="dim")
    return line


def timings_table(timings: Sequence[PluginTiming], headers: bool) -> Grid:
    """The table of timings, the slowest first. A plugin from outside kube-scheduler is shown with its origin."""
    numbers = (Column(title, right=True) for title in ("CALLS", "SECONDS", "EACH"))
    table = Grid(Column("POINT"), Column("PLUGIN"), *numbers, headers=headers)
    for each in sorted(timings, key=lambda each: -each.seconds):
        name = f"{each.plugin} ({each.origin})" if each.origin else each.plugin
        per_call = f"{each.seconds / each.calls * 1e6:.1f} µs" if each.calls else "-"
        table.add(each.point, name, str(each.calls), f"{each.seconds:.3f}", per_call)
    return table


def _print_gone(gone: Sequence[GonePod], console: Console) -> None:
    """Print the pods that edits have deleted, by reason."""
    by_why: dict[str, list[str]] = {}
    for pod in gone:
        by_why.setdefault(pod.why or "deleted", []).append(pod.pod)
    for why, names in by_why.items():
        text = f"  {why}: {named(names, _SHOWN_GONE)}"
        print_hanging(console, Text.assemble((f"{counted(len(names), 'pod')} deleted", "yellow"), text))


def simulation_summary_line(simulation: Simulation) -> Text:
    """`8 pending pods: 4 unschedulable, 1 scheduled, 2 preempt, 1 held back (12 nodes)`."""
    counts = Counter(_verdict(outcome) for outcome in simulation.outcomes)
    provisioned = sum(outcome.unplaced and outcome.pod in simulation.provisioned for outcome in simulation.outcomes)
    bad = _counted_words(
        (counts["unschedulable"] - provisioned, "unschedulable"),
        (counts["error"], "in error"),
        (len(simulation.refused), "refused"),
    )
    good = _counted_words(
        (provisioned, "on nodes that Karpenter adds or expects"),
        (counts["scheduled"], "scheduled"),
        (counts["preempts"], "preempts" if counts["preempts"] == 1 else "preempt"),
        (counts["skipped"], "being deleted"),
        (len(simulation.gated), "held back"),
        (len(simulation.ignored), "of other schedulers"),
    )
    total = len(simulation.outcomes) + len(simulation.gated) + len(simulation.ignored) + len(simulation.refused)
    gone = [f"{counted(len(simulation.gone), 'running pod')} deleted"] if simulation.gone else []
    version = simulation.coverage.get("kubeVersion", DEFAULT.version)
    context = counted(simulation.stats.nodes, "node")
    context += f", Kubernetes {version}" if version != DEFAULT.version else ""
    parts = [*bad, *good] or ["none"]
    style = BAD if bad else FAIR if counts["preempts"] or simulation.gated else GOOD
    return summary_line(
        counted(total, "pending pod") if total else "pending pods", parts[0], style, [*parts[1:], *gone], context
    )


def _counted_words(*counts: tuple[int, str]) -> list[str]:
    return [f"{count} {words}" for count, words in counts if count]


def _verdict(outcome: PodOutcome) -> str:
    return "preempts" if outcome.nominated_node or outcome.group_victims else outcome.result


def _print_pods(alike: Sequence[PodOutcome], console: Console, options: RenderOptions, place: str) -> None:
    """Print the block of one pod, or of several that fail alike."""
    outcome, wide = alike[0], options.wide
    print_hanging(console, _headline(outcome, options, place))
    if len(alike) > 1:
        others = named([each.pod for each in alike[1:]], _SHOWN_ALIKE)
        print_hanging(console, Text(f"  also {others}", style="bold"))
    if outcome.top:
        console.print(Padding(_scores(outcome, console, options), (0, 0, 0, 2)))
    if outcome.failures:
        console.print(Padding(_failures(outcome.failures, wide), (0, 0, 0, 2)))
    unexplained = outcome.result == "unschedulable" and (outcome.feasible_nodes or not outcome.failures)
    if outcome.pre_filter:
        failure = outcome.pre_filter
        console.print(Padding(Text(f"{failure.plugin}: {', '.join(failure.reasons)}", style="red"), (0, 0, 0, 2)))
    elif outcome.result == "error" or unexplained:
        console.print(Padding(Text(outcome.message, style="red"), (0, 0, 0, 2)))
    if wide and outcome.message and outcome.failures:
        console.print(Padding(Text(outcome.message, style="dim"), (0, 0, 0, 2)))
    if outcome.missing:
        text = f"could be otherwise: {', '.join(outcome.missing)} could not be read"
        console.print(Padding(Text(text, style="yellow"), (0, 0, 0, 2)))


def _headline(outcome: PodOutcome, options: RenderOptions, place: str) -> Text:
    verdict = _verdict(outcome)
    line = Text.assemble((outcome.pod, "bold"), "  ")
    colour = _COLOURS[verdict]
    fit = f"{outcome.feasible_nodes} of {outcome.total_nodes} nodes fit"
    if verdict == "scheduled":
        line.append(f"-> {outcome.node}", style=f"bold {colour}")
        line.append(f"{_in_zone(outcome.node, options)}  {fit}{_tie_note(outcome)}", style="dim")
    elif outcome.preemption and outcome.nominated_node:
        line.append(f"preempts on {outcome.preemption.node}", style=f"bold {colour}")
        line.append(_in_zone(outcome.preemption.node, options), style="dim")
        victims = ", ".join(outcome.preemption.victims)
        broken = outcome.preemption.pdb_violations
        line.append(f"  evicting {victims}" + (f" ({broken} against a PodDisruptionBudget)" if broken else ""))
    elif verdict == "preempts":
        line.append(f"waits for {outcome.nominated_node or 'a place'}", style=f"bold {colour}")
        line.append("  until other pods of its group have a place")
    elif verdict == "skipped":
        line.append("being deleted, not tried", style=colour)
    else:
        line.append(f"-> {place}" if place else verdict, style=f"bold {'yellow' if place else colour}")
        line.append(f"  {fit}", style="dim")
        if outcome.preemption:
            line.append(f"  evicted {', '.join(outcome.preemption.victims)} in vain", style="yellow")
    return line


def _in_zone(node: str, options: RenderOptions) -> str:
    zone = options.nodes.zone(node)
    return f" ({zone})" if zone else ""


def _tie_note(outcome: PodOutcome) -> str:
    others = [name for name in outcome.ties[:3] if name != outcome.node][:2]
    if not others:
        return ""
    more = len(outcome.ties) - 1 - len(others)
    shown = ", ".join(others) + (f" and {more} more" if more > 0 else "")
    return f", tied with {shown}"


def _scores(outcome: PodOutcome, console: Console, options: RenderOptions) -> Grid | Text:
    """The best nodes with a column for each plugin; a sentence for each node if the columns are too wide. A plugin that
    gives 0 to each node is left out."""
    plugins = [plugin for plugin in outcome.top[0].scores if any(each.scores[plugin].weighted for each in outcome.top)]
    names = plugins if options.wide else [_by_host(column_of(plugin)) for plugin in plugins]
    width = 2 + max(len(scored.node) for scored in outcome.top) + 7 + sum(len(name) + 2 for name in names)
    if width > console.width:
        return Text("\n").join(_sentence(scored, plugins, names, outcome) for scored in outcome.top)
    table = Grid(Column("NODE"), Column("TOTAL", right=True), *(Column(name, right=True) for name in names))
    for scored in outcome.top:
        weighted = [str(scored.scores[plugin].weighted) for plugin in plugins]
        table.add(scored.node, str(scored.total), *weighted, style="green" if scored.node == outcome.node else "")
    return table


def _sentence(scored: ScoredNode, plugins: Sequence[str], names: Sequence[str], outcome: PodOutcome) -> Text:
    parts = (f"{name} {scored.scores[plugin].weighted}" for name, plugin in zip(names, plugins, strict=True))
    style = "green" if scored.node == outcome.node else ""
    return Text(f"{scored.node}  {scored.total} = {' + '.join(parts)}", style=style)


def _failures(failures: Sequence[FailureGroup], wide: bool) -> Grid:
    table = Grid(Column(right=True, style="red"), Column(), Column(flows=True))
    for group in failures:
        more = group.nodes - len(group.examples)
        who = ", ".join(group.examples) + (f" and {more} more" if more else "")
        where = f" ({who})" if wide or group.nodes <= len(group.examples) else ""
        table.add(counted(group.nodes, "node"), _by_host(group.failure.plugin) or "PreFilter", _reasons(group) + where)
    return table


def _by_host(plugin: str) -> str:
    """The name of a plugin; the host and path of an extender's URL, without the domain of the host."""
    if "://" not in plugin:
        return plugin
    parts = urlsplit(plugin)
    host = parts.netloc.rpartition("@")[2]
    label = host.partition(".")[0]
    return f"{host if label.isdigit() else label}{parts.path}"


def _reasons(group: FailureGroup) -> str:
    """The reasons of a failure, with a note for nodes that would be too small even if they were empty."""
    text = ", ".join(group.failure.reasons)
    hopeless = group.failure.plugin == NODE_RESOURCES_FIT and group.failure.code == "UnschedulableAndUnresolvable"
    return f"{text}, even if empty" if hopeless else text


def _overview(outcomes: Sequence[PodOutcome], headers: bool) -> Grid:
    """The table with one line for each pod. Many consecutive copies of a pod that fail alike share a line."""
    fixed = (Column("POD"), Column("RESULT"), Column("NODE"), Column("FIT", right=True))
    table = Grid(*fixed, Column("WHY", flows=True), headers=headers)
    verdicts = {verdict: Text(verdict, style=style) for verdict, style in _COLOURS.items()}
    fit, why, before = "", "", None
    for run in _runs_of_copies(outcomes):
        first = run[0]
        if before is None or not _fail_alike(first, before):
            fit, why, before = f"{first.feasible_nodes}/{first.total_nodes}", _why(first), first
        names, text = [each.pod for each in run], why
        if len(run) > PODS_WITH_NODES:
            names, text = names[:1], f"{why}; {len(run) - 1:,} more copies fail alike"
        for name in names:
            table.add(name, verdicts[_verdict(first)], first.node or first.nominated_node or "-", fit, text)
    return table


def _runs_of_copies(outcomes: Sequence[PodOutcome]) -> Iterator[list[PodOutcome]]:
    """The pods in runs: consecutive copies that fail alike, or a single pod."""
    run: list[PodOutcome] = []
    base = ""
    for outcome in outcomes:
        if run and _fail_alike(outcome, run[0]) and outcome.pod.rpartition("-")[0] == base:
            run.append(outcome)
            continue
        if run:
            yield run
        run, base = [outcome], outcome.pod.rpartition("-")[0]
    if run:
        yield run


def _fail_alike(outcome: PodOutcome, other: PodOutcome) -> bool:
    """Whether both pods have the same failures and no other details."""
    return (
        bool(outcome.failures)
        and outcome.unplaced
        and other.unplaced
        and outcome.result == other.result
        and (outcome.failures is other.failures or outcome.failures == other.failures)
        and outcome.feasible_nodes == other.feasible_nodes
        and outcome.pre_filter is other.pre_filter is None
        and outcome.missing == other.missing
    )


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
