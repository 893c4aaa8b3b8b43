"""`ksched drain`: what becomes of the pods of drained nodes (`Simulator.drain_nodes`, `plan/drain/`), with the flags of
kubectl drain. Exit code 1 if a result is not "safe"."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated, Any, ClassVar

import typer
from msgspec import Struct
from msgspec.structs import asdict

from ksched_cli.cli import options
from ksched_cli.cli.groups import AutoscaledRun, takes_groups
from ksched_cli.cli.help_layout import OWN, Panel
from ksched_cli.cli.showing import SOME_DO_NOT_FIT, collector_off, show
from ksched_cli.cli.streams import warn
from ksched_cli.errors import UsageError
from ksched_cli.simulator import Simulator, parse_seconds

HELP = """What `kubectl drain` would do: which pods it evicts in which order, where each goes, which have no place,
which a PodDisruptionBudget holds, and which pods make it refuse. Nothing is evicted.

The nodes are cordoned and drained in the order in which they are named. kubectl requests the eviction of all pods of a
node at once, and every 5 s again for pods whose budget refuses. Controllers create new pods, which are scheduled and
count as ready 0.2 s later, so that budgets may allow more. A round is a moment at which evictions were granted. The
next node follows when nothing moves any more; a node with stuck pods is tried again after the others. A node with a
pod that kubectl refuses (see --force, --ignore-daemonsets, --delete-emptydir-data) stays as it is. With --timeout, a
node that takes longer is given up. Evictions never take a budget below what it needs; preemption by a new pod may.

The result is the worst that happens: safe; evicts others (pods of other nodes are preempted, and all of them have a
place in the end); loses pods (no controller recreates an evicted or preempted pod); no place (a recreated pod finds
no node, a pending pod has a node without the drain and none with it, or the pods do not come to rest); blocked
(kubectl refuses to drain, a budget holds a pod, or a pod stays Terminating because its node is Unknown). Where chance
may decide it, such as a tie between nodes, other orders are tried: up to 8 of a single drain, 3 of each of many. "no
place, in 1 of 3 orders (safe in 2)" is the worst.

The cluster's pending pods are placed first, with --each once for all trials: in each trial the pods that took a place
on its nodes look for another one. A budget without status, and a pod without conditions, are taken as the controllers
would: a pod that runs is ready. -o name prints each trial as soon as its result is known."""

EPILOG = """Examples:

  ksched drain node-1 --from cluster.json --ignore-daemonsets
  ksched drain node-1 node-2 --from cluster.json --ignore-daemonsets --force
  ksched drain node-1 --ignore-daemonsets --delete-emptydir-data --force --timeout 5m
  ksched drain -l pool=old --from cluster.json --ignore-daemonsets -o json
  ksched drain --each zone --from cluster.json --ignore-daemonsets --force

Exit codes: 0 every result is "safe", 1 some result is not, 2 the input or the command line is wrong, 3 the cluster
could not be read."""


class Each(StrEnum):
    NODE = "node"
    ZONE = "zone"


class DrainOptions(Struct, frozen=True):
    """The keywords of `Simulator.drain_nodes`, most of them with the names of kubectl's options."""

    selector: Annotated[
        str, typer.Option("-l", "--selector", metavar="QUERY", help="Drain the nodes with these labels.")
    ] = ""
    each: Annotated[
        Each | None,
        typer.Option("--each", help="Drain every node, or every zone, by itself, and sum it up in one table."),
    ] = None
    force: Annotated[
        bool, typer.Option("--force", help="Evict pods that no controller makes anew; those of lost DaemonSets, too.")
    ] = False
    ignore_daemonsets: Annotated[
        bool, typer.Option("--ignore-daemonsets", help="Leave the pods of DaemonSets where they are.")
    ] = False
    delete_emptydir_data: Annotated[
        bool,
        typer.Option(
            "--delete-emptydir-data",
            "--delete-local-data",
            help="Evict pods with emptyDir volumes, whose data is lost. The second name is kubectl's old one.",
        ),
    ] = False
    pod_selector: Annotated[str, typer.Option(metavar="QUERY", help="Evict pods with these labels only.")] = ""
    disable_eviction: Annotated[
        bool, typer.Option("--disable-eviction", help="Delete the pods: no PodDisruptionBudget is checked.")
    ] = False
    grace_period: Annotated[
        int,
        typer.Option(
            metavar="SECONDS", help="How long each pod has to end. A negative number: as long as the pod itself names."
        ),
    ] = -1
    timeout: Annotated[
        str, typer.Option(metavar="TIME", help="kubectl gives a node up after this, as 30s or 5m. 0s: never.")
    ] = "0s"
    ignore_pending: Annotated[bool, typer.Option("--ignore-pending", help="Drain as if no pods were pending.")] = False

    def keywords(self) -> dict[str, Any]:
        grace_period = None if self.grace_period < 0 else self.grace_period
        timeout = parse_seconds(self.timeout, "--timeout") or None
        return {**asdict(self), "grace_period": grace_period, "timeout": timeout}


class DryRunStrategy(StrEnum):
    NONE = "none"
    CLIENT = "client"
    SERVER = "server"


class KubectlOptions(Struct, frozen=True):
    """Options of kubectl drain that are seldom given. The first two change nothing: its line can be pasted."""

    panel: ClassVar[Panel] = Panel(OWN, set())
    dry_run: Annotated[
        DryRunStrategy, typer.Option("--dry-run", help="Of kubectl; it changes nothing, for nothing is ever evicted.")
    ] = DryRunStrategy.NONE
    chunk_size: Annotated[
        int, typer.Option("--chunk-size", metavar="N", help="Of kubectl; it changes nothing here.")
    ] = 500
    skip_wait_for_delete_timeout: Annotated[
        int,
        typer.Option(metavar="SECONDS", help="Do not wait for pods that should be gone for longer than this. 0: wait."),
    ] = 0


@takes_groups
def drain(
    given: AutoscaledRun,
    of_kubectl: KubectlOptions,
    wanted: DrainOptions,
    nodes: Annotated[
        list[str] | None, typer.Argument(metavar="NODE", help="The nodes to drain, in this order.")
    ] = None,
    output: Annotated[str, options.FormatOption("DrainReport")] = "table",
    exit_zero: options.ExitZero = False,
    no_headers: options.NoHeaders = False,
) -> None:
    if nodes and wanted.selector:
        raise UsageError("cannot specify both a node name and a --selector option")
    if not (nodes or wanted.selector or wanted.each):
        raise UsageError("say which nodes to drain: NODE..., -l QUERY, or --each node for all in turn")
    # Imported here: the help of the command needs no results.
    from ksched_cli.report.view.drain import show_trial

    with collector_off():
        simulator = Simulator.of(given.read())
    as_rows = output == "name"
    warn(simulator.warnings)
    found = simulator.drain_nodes(
        *(nodes or ()),
        **wanted.keywords(),
        skip_wait_for_delete_timeout=of_kubectl.skip_wait_for_delete_timeout,
        every_pod=output in ("json", "yaml") and wanted.each is None,
        done=lambda trial: show_trial(trial, sys.stdout if as_rows else None),
        partial=output not in ("json", "yaml", "html"),
    )
    if not as_rows:
        show(found, output, headers=not no_headers, zones=simulator.zones)
    if found.was_interrupted:
        raise KeyboardInterrupt
    safe = all(trial.drain.safe for trial in found.trials)
    raise typer.Exit(0 if safe or exit_zero else SOME_DO_NOT_FIT)
