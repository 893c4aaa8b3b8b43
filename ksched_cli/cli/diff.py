"""`ksched diff`: what a change moves (`Simulator.compare`). Exit code 1 if a pod has no node that had one or is new, 4
if --expect-no-change does not hold."""

from __future__ import annotations

from typing import Annotated

import typer
from msgspec import Struct, field
from msgspec.structs import replace

from ksched_cli.cli import options
from ksched_cli.cli.groups import ClusterRun, takes_groups
from ksched_cli.cli.showing import SOME_DO_NOT_FIT, show
from ksched_cli.errors import ExpectationFailed, UsageError
from ksched_cli.simulator import RunOptions, Simulator

HELP = """Where each pod goes before and after a change: what moves, fails, fits, comes and goes, how workloads are
spread and nodes are used.

The two sides differ by whatever is given twice: --from and --to, --config and --to-config, --kube-version and
--to-kube-version, --feature-gates and --to-feature-gates, -f and --to-filename. Manifests and what-if edits are then on
both sides. When nothing is given twice, they are the change: before is the cluster without them, after is with them.

Pending pods are placed on both sides, and where they preempt, victims leave and their successors are placed too. Pods
that run already stay where they are. A pod with a generated name is taken for the one of its workload that it replaces.

Where versions, gates or configurations are all that differs, each pod is shown together with the rule that moved it: on
the side before, every pod of interest is also tried by the rules after, with all others in the same place. A pod that
would stay there follows from others that moved. Not with --scenario and --allow-extenders."""

EPILOG = """Examples:

  ksched diff --from cluster.json --drain node-1
  ksched diff --from cluster.json -f deployment.yaml
  ksched diff --from yesterday.ksched.gz --to today.ksched.gz
  ksched diff --from cluster.json --config now.yaml --to-config new.yaml --expect-no-change
  ksched diff --from cluster.json --kube-version 1.33 --to-kube-version 1.36

Exit codes: 0 no pod is worse off, 1 some pod has no node that had one or is new, 2 the input or the command line is
wrong, 3 the cluster could not be read, 4 something changes and --expect-no-change was given."""


class AfterOptions(Struct, frozen=True):
    """Options of the side after the change; without one, that side has what the side before has."""

    to: Annotated[
        list[str], typer.Option(metavar="SOURCE", help="The cluster after; as --from, and also as often.")
    ] = field(default_factory=list)
    to_config: Annotated[str, typer.Option(metavar="FILE", help="The KubeSchedulerConfiguration after.")] = ""
    to_kube_version: Annotated[str, typer.Option(metavar="X.Y", help="The version of kube-scheduler after.")] = ""
    to_feature_gates: Annotated[
        str, typer.Option(metavar="A=true,B=false", help="The feature gates after that differ from their default.")
    ] = ""
    to_filename: Annotated[
        list[str], typer.Option(metavar="FILE", help="The manifests after; as -f, and also as often.")
    ] = field(default_factory=list)

    @property
    def given(self) -> bool:
        return bool(self.to or self.to_config or self.to_kube_version or self.to_feature_gates or self.to_filename)


@takes_groups
def diff(
    given: ClusterRun,
    after: AfterOptions,
    output: Annotated[str, options.FormatOption("DiffResult")] = "table",
    expect_no_change: Annotated[
        bool, typer.Option("--expect-no-change", help="Exit with 4 when some pod's place changes.")
    ] = False,
    exit_zero: options.ExitZero = False,
) -> None:
    found = Simulator.compare(*_sides(given.read(), after))
    show(found, output, warnings=found.warnings, zones=found.zones)
    if expect_no_change and found.diff.changes:
        raise typer.Exit(ExpectationFailed.exit_code)
    raise typer.Exit(SOME_DO_NOT_FIT if found.diff.failing and not exit_zero else 0)


def _sides(run: RunOptions, after: AfterOptions) -> tuple[RunOptions, RunOptions]:
    """Before and after."""
    if not after.given:
        if not (run.has_manifests or run.edits or run.scenario):
            raise UsageError(
                "there is nothing to compare with: give a change, such as --drain NODE or -f FILE, "
                "or the other side with --to, --to-config, --to-kube-version, --to-feature-gates or --to-filename"
            )
        return replace(run.without_manifests(), edits=(), scenario=None), run
    other = replace(
        run,
        sources=after.to or run.sources,
        filenames=after.to_filename or run.filenames,
        keeps_documents=run.keeps_documents or bool(after.to_filename),
        config=after.to_config or run.config,
        kube_version=after.to_kube_version or run.kube_version,
        feature_gates=after.to_feature_gates or run.feature_gates,
    )
    given = {"--from": run.sources, "--to": after.to, "-f": run.filenames, "--to-filename": after.to_filename}
    stdin = [f"{flag} -" for flag, paths in given.items() if "-" in paths]
    if len(stdin) > 1:
        raise UsageError(f"{' and '.join(stdin)}: stdin can be read once: give the others as files")
    return replace(run, keeps_documents=other.keeps_documents), other
