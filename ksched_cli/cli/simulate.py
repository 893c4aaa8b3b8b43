"""`ksched simulate`: one cycle for each pending pod, or with --settle and --scenario until nothing moves.

Each of the three has a function that runs it, shows the result and returns the exit code.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.cli import options
from ksched_cli.cli.groups import ClusterRun, takes_groups
from ksched_cli.cli.help_layout import OUTPUT, OWN, RARE, Panel
from ksched_cli.cli.options import Detail, DrawOptions
from ksched_cli.cli.showing import SOME_DO_NOT_FIT, ExitRules, collector_off, fail_on_contradictions, show
from ksched_cli.cli.streams import complain, warn
from ksched_cli.errors import ExpectationFailed, UsageError
from ksched_cli.progress import listen
from ksched_cli.simulator import RunOptions, Simulator, settle_limits

if TYPE_CHECKING:
    from ksched_cli.simulator import Limits


# How many of the best nodes are shown, and how many with -o wide and on a page.
_TOP, _TOP_WIDE, _TOP_OF_PAGE = 3, 10, 5
# Characters of a document past which its size is worth a note.
_LARGE = 100_000_000
HELP = """Every pending pod through one scheduling cycle: which nodes fail and why, the scores, the chosen node.

Pods are tried in kube-scheduler's order, each after the placements before it. Nothing is bound. Workloads of -f become
the pods that do not run already."""

EPILOG = """Examples:

  ksched simulate
  kubectl get nodes,pods,namespaces -A -o json > cluster.json
  ksched simulate --from cluster.json --curve cpu,memory
  ksched simulate --from dump/ --config scheduler.yaml -o json --detail full
  helm template shop | ksched simulate --from cluster.json -f -
  ksched simulate --from cluster.json --drain node-1 --clone-node node-2=3
  ksched simulate --from cluster.json --scenario lose-a-zone.yaml
  ksched simulate --from cluster.json -f urgent.yaml --settle --max-time 30m

Exit codes: 0 every pod fits, 1 some pod does not, 2 the input or the command line is wrong,
3 the cluster could not be read, 4 an expectation failed."""


class SettleOptions(Struct, frozen=True):
    """Whether to settle, and when to give up."""

    panel: ClassVar[Panel] = Panel(OWN, {"settle"})
    settle: Annotated[
        bool,
        typer.Option(
            "--settle",
            help="Go on until nothing moves: victims leave, controllers make new pods for them, backoff passes on a "
            "virtual clock. Shows the timeline and where every pod is in the end.",
        ),
    ] = False
    max_time: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="Stop --settle after so much virtual time. It is written 90s or 1h30m; without it: 1h.",
        ),
    ] = None
    max_cycles: Annotated[
        int | None, typer.Option(metavar="N", help="Stop --settle after N cycles. Without it: 100000.")
    ] = None

    def limits(self) -> Limits:
        return settle_limits(self.max_time, self.max_cycles)

    def contradictions(self) -> Iterator[str]:
        if not self.settle and (self.max_time is not None or self.max_cycles is not None):
            yield "--max-time and --max-cycles are limits of --settle: give that too"


@takes_groups
def simulate(
    given: ClusterRun,
    settle_options: SettleOptions,
    draws: DrawOptions,
    output: Annotated[str, options.FormatOption("Simulation")] = "table",
    detail: options.DetailOption = options.Detail.SUMMARY,
    timings: Annotated[
        bool,
        typer.Option(
            "--timings", help="Also show how long each plugin took, by extension point.", rich_help_panel=OUTPUT + RARE
        ),
    ] = False,
    curve: Annotated[
        str,
        typer.Option(
            "--curve",
            metavar="RESOURCE,...",
            help="Show how much of these resources is allocated while the pods arrive, and when pods start to fail.",
            rich_help_panel=OUTPUT + RARE,
        ),
    ] = "",
    exit_zero: options.ExitZero = False,
    fail_on: options.FailOnOption = [],  # noqa: B006  # typer takes the default from here and never changes it
    no_headers: options.NoHeaders = False,
) -> None:
    own = [*settle_options.contradictions(), *fail_on_contradictions(fail_on, exit_zero=exit_zero)]
    if draws and (settle_options.settle or given.edits.scenario is not None):
        own.append("--orders and --ties go with one cycle for each pod, not with --settle or --scenario")
    curves = [each.strip() for each in curve.split(",") if each.strip()]
    if curves and (settle_options.settle or given.edits.scenario is not None):
        own.append("--curve goes with one cycle for each pod, not with --settle or --scenario")
    if output == "svg" and not curves:
        own.append("-o svg is the picture of --curve: name its resources")
    run = replace(given.read(*own), timings=timings)
    exit_rules, headers = ExitRules(fail_on, exit_zero), not no_headers
    if run.scenario is not None:
        code = run_scenario_and_show(run, settle_options, exit_rules, output, headers=headers)
    elif settle_options.settle:
        code = settle_and_show(run, settle_options, exit_rules, output, detail, headers=headers)
    else:
        code = simulate_and_show(run, exit_rules, output, detail, draws, headers=headers, curve=curves)
    raise typer.Exit(code)


def simulate_and_show(
    run: RunOptions,
    exit_rules: ExitRules,
    output: str,
    detail: options.Detail,
    draws: DrawOptions | None = None,
    *,
    headers: bool = True,
    curve: Sequence[str] = (),
) -> int:
    """The exit code. JSON is written pod by pod: a document of a million verdicts is never held in memory."""
    streamed = output in ("json", "html")
    if streamed and sys.stdout.isatty():
        # A progress bar and a document that is written meanwhile do not fit on one terminal.
        listen(None)
    with collector_off():
        simulator = Simulator.of(run)
        draws = draws or DrawOptions()
        prepared = simulator.prepared(orders=draws.orders or 0, ties=draws.ties or 0)
    warn(prepared.source.warnings)
    full, answers, top = _depth(output, detail)
    if streamed:
        stream = prepared.stream(detail=full, top=top, stop_on_interrupt=True, curve=curve)
        show(stream, output, node_answers=answers)
        if stream.characters > _LARGE:
            size = stream.characters / 1e6
            complain(f"the document has {size:,.0f} MB; without --detail full it is much smaller")
        found = stream.finish()
    else:
        brief_above = _brief_above(output)
        found = prepared.simulate(detail=full, top=top, stop_on_interrupt=True, brief_above=brief_above, curve=curve)
        show(found, output, headers=headers, node_answers=answers, zones=simulator.zones)
    if "interrupted" in found.coverage:
        # The pods that had their cycle by then are shown.
        raise KeyboardInterrupt
    return exit_rules.of_cycles(found)


def _depth(output: str, detail: Detail) -> tuple[bool, bool, int]:
    """Whether outcomes have every node and plugin, whether nodes answer in short form, and how many of the best nodes
    are shown. The map of nodes on a page needs their answers."""
    answers = output == "html" or detail is Detail.NODES
    top = _TOP_OF_PAGE if answers else _TOP_WIDE if output == "wide" else _TOP
    return answers or detail is Detail.FULL, answers, top


def _brief_above(output: str) -> int | None:
    """Above how many pods the format shows a line for each and no more; None if it shows more of all."""
    from ksched_cli.report.view.simulate import PODS_WITH_NODES

    return {"table": PODS_WITH_NODES, "name": 0}.get(output)


def settle_and_show(
    run: RunOptions, settle_options: SettleOptions, exit_rules: ExitRules, output: str, detail: Detail, *, headers: bool
) -> int:
    """The exit code."""
    full, answers, top = _depth(output, detail)
    limits, simulator = settle_options.limits(), Simulator.of(run)
    found = simulator.settle(limits, detail=full, top=top)
    warnings, zones = found.simulation.warnings, simulator.zones
    show(found, output, warnings=warnings, headers=headers, node_answers=answers, zones=zones)
    return exit_rules.of_end(found)


def run_scenario_and_show(
    run: RunOptions, settle_options: SettleOptions, exit_rules: ExitRules, output: str, *, headers: bool
) -> int:
    """All steps, with the timeline if it is wanted; the exit code of a failed expectation comes first."""
    if output == "name":
        raise UsageError("a scenario is shown as table, wide, json or yaml, not as name")
    assert run.scenario is not None
    simulator = Simulator.of(run)
    found = simulator.scenario(run.scenario, settle_options.limits())
    warnings, timeline = list(found.warnings), settle_options.settle or output == "html"
    if not found.settled and not settle_options.settle:
        from ksched_cli.report.view.ends import SettledPart

        end = SettledPart.of(found.settle_result.world)
        warnings.append("\n".join((end.text, *end.faults)))
    show(found, output, warnings=warnings, headers=headers, timeline=timeline, zones=simulator.zones)
    if found.failed:
        return ExpectationFailed.exit_code
    return SOME_DO_NOT_FIT if not found.settled and not exit_rules.exit_zero else 0
