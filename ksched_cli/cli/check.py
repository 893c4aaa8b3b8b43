"""`ksched check -f …`: what is in the way of a rollout of manifests (`Simulator.check`). Exit code 1 if a finding is an
error."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct, field
from msgspec.structs import replace

from ksched_cli.cli import options
from ksched_cli.cli.groups import ClusterRun, takes_groups
from ksched_cli.cli.showing import ExitRules, collector_off, fail_on_contradictions, show
from ksched_cli.cli.streams import complain, warn
from ksched_cli.errors import InputError, KschedError, UsageError
from ksched_cli.simulator import Simulator

if TYPE_CHECKING:
    from ksched_cli.simulator import Check, Suppressions

HELP = """Would these manifests schedule? Lays them over the cluster as `kubectl apply` would, and shows what is in
the way.

Pods of a workload that exists are replaced along its strategy (maxSurge, maxUnavailable, Recreate, partition,
OrderedReady, Parallel), all workloads side by side; a rollout that would stop is reported with the step it stops at. A
pod that gets a node is taken to become available, and pods of the manifests' Jobs finish. Where Kubernetes leaves a
decision to chance, up to 8 orders are tried. Each finding points at the file, line and field that decides and has
a stable code: `ksched explain-code` explains it and lists what to do.

Findings can be accepted: the annotation ksched.dev/ignore: "KS203: reason" of an object or its pod template, --ignore
CODE, or a baseline file. Accepted findings are counted ("2 findings ignored") and fail nothing. An error in the input,
such as an object that the API server refuses, cannot be accepted: it was not checked.

A workload is replaced when its template differs in what scheduling reads. A change of environment, command or probes is
not seen: --restart takes every workload as changed."""

EPILOG = """Examples:

  ksched check -f deploy/
  ksched check --from cluster.ksched.gz deploy/web.yaml deploy/db.yaml
  kustomize build overlays/prod | ksched check --from cluster.ksched.gz -f -
  ksched check --from cluster.ksched.gz -f deploy/ -o sarif > ksched.sarif
  ksched check --from cluster.ksched.gz -f deploy/ -o github --fail-on warning
  ksched check --from cluster.ksched.gz -f deploy/ --restart -o wide

Exit codes: 0 everything fits, 1 something does not, 2 the input or the command line is wrong,
3 the cluster could not be read."""


class ReplicaBound(StrEnum):
    MIN = "min"
    CURRENT = "current"
    MAX = "max"
    ALL = "all"


Replicas = Annotated[
    ReplicaBound,
    typer.Option(
        help="How many pods a workload with an autoscaler has: minReplicas, its current number with a warning if "
        "maxReplicas does not fit, maxReplicas, or all three."
    ),
]
Files = Annotated[
    list[str] | None, typer.Argument(metavar="FILE", help="More manifests, as -f takes them: for globs and hooks.")
]
Restart = Annotated[
    bool, typer.Option("--restart", help="Take every workload as changed, as `kubectl rollout restart` does.")
]


class AcceptedOptions(Struct, frozen=True):
    """Which findings are accepted."""

    ignore: Annotated[
        list[str],
        typer.Option(
            "--ignore", metavar="CODE", help="Accept the findings with this code or name: they are counted only."
        ),
    ] = field(default_factory=list)
    baseline: Annotated[str, typer.Option("--baseline", metavar="FILE", help="Accept the findings of this file.")] = ""
    write_baseline: Annotated[
        str,
        typer.Option(
            "--write-baseline",
            metavar="FILE",
            help="Write the findings of today into this file for --baseline, and exit with 0.",
        ),
    ] = ""

    def read(self) -> Suppressions:
        return Simulator.suppressions(self.ignore, self.baseline)


@takes_groups
def check(
    given: ClusterRun,
    accepted: AcceptedOptions,
    files: Files = None,
    output: Annotated[str, options.FormatOption("Check")] = "table",
    restart: Restart = False,
    replicas: Replicas = ReplicaBound.CURRENT,
    exit_zero: options.ExitZero = False,
    fail_on: options.FailOnOption = [],  # noqa: B006
) -> None:
    files = files or []
    given = replace(given, cluster=replace(given.cluster, filenames=[*given.cluster.filenames, *files]))
    try:
        run = given.read(*fail_on_contradictions(fail_on, exit_zero=exit_zero))
        if not run.has_manifests:
            raise UsageError("say which manifests: -f FILE, -f DIRECTORY, -f -, -k DIRECTORY or --helm CHART")
        # Workloads of the manifests can be scaled, so that scaling comes after them.
        scales = [each for each in run.edits if each[0] == "scale"]
        others = [each for each in run.edits if each[0] != "scale"]
        suppressions = accepted.read()
        with collector_off():
            simulator = Simulator.of(replace(run.without_manifests(), edits=others, allow_empty=True))
        found = simulator.check(
            *run.filenames,
            reading=replace(run.reading, optional=tuple(files)),
            edits=scales,
            restart=restart,
            replicas=replicas.value,
            fail_on=fail_on,
            accepted=suppressions,
            allow_empty=run.allow_empty,
        )
    except KschedError as mistake:
        if output not in ("table", "wide"):
            show(Simulator.check_not_run(mistake.problems), output)
        raise
    warn(found.warnings)
    if accepted.write_baseline:
        _write_baseline(found, accepted.write_baseline)
    show(found, output, zones=simulator.zones)
    if output == "github":
        _append_step_summary(found)
    if found.is_input_wrong:
        raise typer.Exit(InputError.exit_code)
    if accepted.write_baseline:
        raise typer.Exit(0)
    raise typer.Exit(ExitRules(fail_on, exit_zero).of_check(found))


def _write_baseline(found: Check, path: str) -> None:
    from ksched_cli.report.encoding import json_text

    document = Simulator.baseline(found)
    try:
        Path(path).write_text(json_text(document, indent=2) + "\n", encoding="utf-8")
    except OSError as problem:
        raise UsageError(f"--write-baseline {path}: {(problem.strerror or str(problem)).lower()}") from None
    complain(f"{len(document['findings'])} findings are in the baseline {path}")


def _append_step_summary(found: object) -> None:
    """GitHub Actions shows the file on the page of the run."""
    from ksched_cli.report.registry import RenderOptions, render

    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        try:
            with open(summary, "a", encoding="utf-8") as file:
                render(found, file, RenderOptions("markdown"))
        except OSError as problem:
            warn([f"cannot write the step summary {summary}: {(problem.strerror or str(problem)).lower()}"])
