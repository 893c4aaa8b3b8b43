"""`ksched check -f …`."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ksched_cli.cli import options
from ksched_cli.cli.edit_options import EditOptions
from ksched_cli.cli.groups import ClusterOptions, LiveClusterOptions, SchedulerOptions, make_setup, takes_groups
from ksched_cli.cli.printing import complain, warn
from ksched_cli.cli.running import SOME_DO_NOT_FIT
from ksched_cli.errors import InputError, KschedError, UsageError

if TYPE_CHECKING:
    from ksched_cli.plan.check.results import Check, Finding
    from ksched_cli.plan.check.suppression import Suppressions
    from ksched_cli.wiring import RunOptions

SHORT = "Would these manifests schedule? For CI."
HELP = """Would these manifests schedule? Lays them over the cluster as `kubectl apply` would, and says what is in
the way.

Pods of a workload that exists are replaced along its strategy (maxSurge, maxUnavailable, Recreate, partition,
OrderedReady, Parallel), all workloads side by side; a rollout that would stop is reported with the step it stops at. A
pod that gets a node is taken to become available, and pods of the manifests' Jobs finish. Where Kubernetes leaves a
decision to chance, up to 8 orders are tried. Each finding points at the file, line and field that decides and has
a stable code: `ksched explain-code` tells what it means and what to do.

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


class CheckOutput(StrEnum):
    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    JUNIT = "junit"
    SARIF = "sarif"
    GITHUB = "github"
    MARKDOWN = "markdown"


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
Output = Annotated[
    CheckOutput,
    typer.Option(
        "-o",
        "--output",
        help="table for people, wide with the steps of each rollout, json for programs; for CI junit (Jenkins, "
        "GitLab), sarif (code scanning), github (annotations, and the step's summary) and markdown.",
    ),
]
Files = Annotated[
    list[str],
    typer.Argument(metavar="FILE", help="More manifests, as -f takes them: for globs and hooks.", show_default=False),
]
Restart = Annotated[
    bool, typer.Option("--restart", help="Take every workload as changed, as `kubectl rollout restart` does.")
]


Ignore = Annotated[
    list[str],
    typer.Option(
        "--ignore",
        metavar="CODE",
        help="Accept the findings with this code or name: they are counted only.",
        show_default=False,
    ),
]
Baseline = Annotated[
    str,
    typer.Option("--baseline", metavar="FILE", help="Accept the findings of this file.", show_default=False),
]
WriteBaseline = Annotated[
    str,
    typer.Option(
        "--write-baseline",
        metavar="FILE",
        help="Write the findings of today into this file for --baseline, and exit with 0.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class AcceptedOptions:
    """Which findings are accepted."""

    ignore: Ignore = field(default_factory=list)
    baseline: Baseline = ""
    write_baseline: WriteBaseline = ""

    def read(self) -> Suppressions:
        from ksched_cli.cli.explain_code import find_codes
        from ksched_cli.plan.check.suppression import Suppressions, read_baseline

        codes = frozenset(each.code for each in find_codes(self.ignore))
        known = read_baseline(self.baseline) if self.baseline else frozenset[str]()
        return Suppressions(codes, baseline=known, baseline_source=self.baseline)


@takes_groups
def check(
    cluster: ClusterOptions,
    live: LiveClusterOptions,
    scheduler: SchedulerOptions,
    edits: EditOptions,
    accepted: AcceptedOptions,
    files: Files = [],  # noqa: B006  # typer takes the default from here and never changes it
    output: Output = CheckOutput.TABLE,
    restart: Restart = False,
    replicas: Replicas = ReplicaBound.CURRENT,
    exit_zero: options.ExitZero = False,
    fail_on: options.FailOnOption = [],  # noqa: B006
) -> None:
    cluster = replace(cluster, filenames=[*cluster.filenames, *files])
    try:
        if not cluster.has_manifests:
            raise UsageError("say which manifests: -f FILE, -f DIRECTORY, -f -, -k DIRECTORY or --helm CHART")
        if exit_zero and fail_on:
            raise UsageError("--exit-zero and --fail-on contradict each other: give one of them")
        setup = make_setup(cluster, live, scheduler, edits)
        setup = replace(setup, reading=replace(setup.reading, optional=tuple(files)))
        done = stricter(_checked(setup, restart, replicas, accepted), fail_on)
    except KschedError as mistake:
        if output not in (CheckOutput.TABLE, CheckOutput.WIDE):
            from ksched_cli.plan.check.inputs import check_not_run

            show(check_not_run(mistake.problems), output)
        raise
    show(done, output)
    if done.is_input_wrong:
        raise typer.Exit(InputError.exit_code)
    if accepted.write_baseline:
        raise typer.Exit(0)
    bad = done.count("error") or (options.FailOn.WARNING in fail_on and (done.warnings or done.count("warning")))
    raise typer.Exit(SOME_DO_NOT_FIT if bad and not exit_zero else 0)


def _checked(setup: RunOptions, restart: bool, replicas: ReplicaBound, accepted: AcceptedOptions) -> Check:
    from ksched_cli.wiring.check import prepare_check

    suppressions = accepted.read()
    # What is read stays to the end: the collector need not go through it while it comes in, nor later.
    gc.disable()
    prepared = prepare_check(setup, sys.stdin.buffer, restart=restart, replicas=replicas)
    gc.freeze()
    gc.enable()
    found = replace(prepared, accepted=suppressions).run()
    warn(found.warnings)
    if accepted.write_baseline:
        _write_baseline(found, accepted.write_baseline)
    return found


def _write_baseline(found: Check, path: str) -> None:
    from ksched_cli.plan.check.suppression import baseline_document
    from ksched_cli.report.encoding import json_text

    document = baseline_document(found)
    try:
        Path(path).write_text(json_text(document, indent=2) + "\n", encoding="utf-8")
    except OSError as problem:
        raise UsageError(f"--write-baseline {path}: {(problem.strerror or str(problem)).lower()}") from None
    complain(f"{len(document['findings'])} findings are in the baseline {path}")


def stricter(done: Check, fail_on: Sequence[options.FailOn]) -> Check:
    """What --fail-on names is an error, in every output."""
    from ksched_cli.plan.codes import PREEMPTS

    def counts(finding: Finding) -> bool:
        preempts = options.FailOn.PREEMPTION in fail_on and finding.code == PREEMPTS
        return preempts or (options.FailOn.WARNING in fail_on and finding.level == "warning")

    workloads = tuple(
        replace(
            workload,
            findings=tuple(replace(each, level="error") if counts(each) else each for each in workload.findings),
        )
        for workload in done.workloads
    )
    return replace(done, workloads=workloads)


def show(done: Check, output: CheckOutput) -> None:
    if output in _TEXTS:
        sys.stdout.writelines(_TEXTS[output](done))
        return
    from ksched_cli.report.check_table import print_check
    from ksched_cli.report.console import make_console

    print_check(done, make_console(), steps=output is CheckOutput.WIDE)


def _json(done: Check) -> Iterator[str]:
    from ksched_cli.report.check_document import check_document
    from ksched_cli.report.encoding import json_text

    yield json_text(check_document(done), indent=2) + "\n"


def _junit(done: Check) -> Iterator[str]:
    from ksched_cli.report.junit import junit_text

    yield junit_text(done)


def _sarif(done: Check) -> Iterator[str]:
    from ksched_cli.report.encoding import json_text
    from ksched_cli.report.sarif import sarif_document

    yield json_text(sarif_document(done), indent=2) + "\n"


def _markdown(done: Check) -> Iterator[str]:
    from ksched_cli.report.markdown import markdown_text

    yield markdown_text(done)


def _github(done: Check) -> Iterator[str]:
    """The annotations, and all of it into the summary of the step."""
    from ksched_cli.report.github import github_lines

    yield from (f"{line}\n" for line in github_lines(done))
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        try:
            with open(summary, "a", encoding="utf-8") as file:
                file.writelines(_markdown(done))
        except OSError as problem:
            warn([f"cannot write the step summary {summary}: {(problem.strerror or str(problem)).lower()}"])


_TEXTS: Mapping[CheckOutput, Callable[[Check], Iterator[str]]] = {
    CheckOutput.JSON: _json,
    CheckOutput.JUNIT: _junit,
    CheckOutput.SARIF: _sarif,
    CheckOutput.GITHUB: _github,
    CheckOutput.MARKDOWN: _markdown,
}
