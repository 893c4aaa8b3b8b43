"""`ksched explain`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from ksched_cli.cli import options
from ksched_cli.cli.edit_options import EDITS_HELP, EditOptions
from ksched_cli.cli.groups import ClusterOptions, LiveClusterOptions, SchedulerOptions, make_setup, takes_groups
from ksched_cli.cli.options import Output
from ksched_cli.cli.printing import print_row, warn

if TYPE_CHECKING:
    from ksched_cli.engine.scheduler import Scheduler
    from ksched_cli.plan.explain.results import Explanation
    from ksched_cli.sources.loaded import Loaded
    from ksched_cli.wiring import LoadedInput, Prepared, RunOptions

SHORT = "Why a pod is Pending, or why it went where it is."
HELP = """Why this pod is Pending (or why it went there): a sentence, the smallest changes that make it fit, every node
with all plugins that reject it and the numbers behind it, the scores, what preemption looked at, and the events that
would make the scheduler try again. No change is named that was not tried in a run of its own.

The pods before it in the queue are placed first, so that the answer is that of `ksched simulate`. A pod that runs
already is looked at as if it were pending, with its place given back.

"""
HELP += EDITS_HELP

EPILOG = """Examples:

  ksched explain shop/web-1 --from cluster.json

  ksched explain web-1 -n shop --from cluster.json -o json

  ksched explain --from cluster.json -f pod.yaml

  ksched explain shop/web-1 --from cluster.json --node east-1

  ksched explain -n shop -l app=web

  ksched explain shop/web-1 --from cluster.json --clone-node node-2

Exit codes: 0 the pod has a place, 1 it has none, 2 the input or the command line is wrong,
3 the cluster could not be read."""

PodArgument = Annotated[
    Optional[str],  # noqa: UP045  # typer reads the annotation at run time
    typer.Argument(
        metavar="POD",
        help="NAME or NAMESPACE/NAME. Without it a pod of -f, or a pending one that -n and -l select: of several the "
        "first that finds no place.",
        show_default=False,
    ),
]


NodeOption = Annotated[
    str,
    typer.Option(
        "--node", metavar="NODE", help="Also say why not there, and which weight would change that.", show_default=False
    ),
]

NoFixes = Annotated[
    bool,
    typer.Option("--no-fixes", help="Do not look for changes that would make it fit: each is tried, which takes time."),
]


@takes_groups
def explain(
    cluster: ClusterOptions,
    live: LiveClusterOptions,
    scheduler: SchedulerOptions,
    edits: EditOptions,
    pod: PodArgument = None,
    node: NodeOption = "",
    no_fixes: NoFixes = False,
    output: options.OutputOption = Output.TABLE,
    exit_zero: options.ExitZero = False,
    no_headers: options.NoHeaders = False,
) -> None:
    from ksched_cli.wiring import assemble, gather

    setup = make_setup(cluster, live, scheduler, edits)
    gathered = gather(setup, sys.stdin.buffer)
    prepared = assemble(setup, gathered)
    warn(prepared.warnings)
    found = _explained(setup, gathered, prepared, pod, node, fixes=not no_fixes)
    _show(found, prepared.coverage, output, headers=not no_headers)
    raise typer.Exit(1 if found.unplaced and not exit_zero else 0)


def _explained(
    setup: RunOptions, gathered: LoadedInput, prepared: Prepared, pod: str | None, node: str, *, fixes: bool
) -> Explanation:
    from ksched_cli.plan.explain.run import explain as explain_subject
    from ksched_cli.plan.explain.subject import find_refused, find_subject, pick_pod
    from ksched_cli.wiring import make_scheduler

    scheduler = prepared.scheduler
    with scheduler.cluster.undo.trial():
        named = pod or pick_pod(scheduler, gathered.made, gathered.refused, prepared.wanted)
    refused = find_refused(gathered.refused, named, setup.namespace)
    if refused is not None:
        return refused
    subject = find_subject(gathered.loaded, named, setup.namespace)

    def make(loaded: Loaded) -> Scheduler:
        return make_scheduler(setup, loaded, gathered.setting)

    # A pod that has a node is explained in another cluster, in which it waits.
    again = scheduler if subject.loaded is gathered.loaded else make(subject.loaded)
    return explain_subject(subject, make, node, fixes=fixes, scheduler=again)


def _show(found: Explanation, coverage: Mapping[str, Any], output: Output, *, headers: bool) -> None:
    if output in (Output.JSON, Output.YAML):
        from ksched_cli.report.encoding import write_json, write_yaml
        from ksched_cli.report.explain_document import explanation_document

        write = write_json if output is Output.JSON else write_yaml
        write(explanation_document(found, coverage), sys.stdout)
    elif output is Output.NAME:
        print_row(*_name(found))
    else:
        from ksched_cli.report.console import make_console
        from ksched_cli.report.explain import print_explanation

        print_explanation(found, make_console(), wide=output is Output.WIDE, headers=headers)


def _name(found: Explanation) -> tuple[str, str]:
    node = found.outcome.node if found.outcome else ""
    return f"pod/{found.pod}", f"node/{node}" if node else "-"
