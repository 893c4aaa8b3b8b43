"""Prints a simulation: each pod with its node, the best nodes with their scores, and why other nodes failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.text import Text

from ksched_cli.plan.results.outcomes import PluginTiming, PodGroupOutcome, Simulation
from ksched_cli.report.console import Column, Grid, print_hanging
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.short_names import shows_nodes
from ksched_cli.report.visible import shows_visible

if TYPE_CHECKING:
    from ksched_cli.plan.scenario import ScenarioRun

_COLOURS = {"scheduled": "green", "unschedulable": "red", "error": "red", "skipped": "yellow", "preempts": "yellow"}


_GROUP_RESULTS = {"gated": "held back", "waiting": "waits for victims to leave"}


@shows_nodes
@shows_visible
def print_autoscaling(simulation: Simulation | ScenarioRun, out: TextIO, options: RenderOptions) -> None:
    """Print the nodes that the cluster's autoscaler adds, and the pods that it cannot help."""
    if simulation.autoscaling is None:
        return
    from ksched_cli.report.sinks.terminal import write_sections
    from ksched_cli.report.view.autoscaling import autoscaling_sections

    assumed = simulation.coverage.get("autoscalerAssumed", ())
    write_sections(autoscaling_sections(simulation.autoscaling, assumed), out, options)


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
