"""`ksched diff`."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from ksched_cli.cli import options
from ksched_cli.cli.edit_options import EDITS_HELP, EditOptions
from ksched_cli.cli.groups import ClusterOptions, LiveClusterOptions, SchedulerOptions, make_setup, takes_groups
from ksched_cli.cli.printing import warn
from ksched_cli.cli.running import SOME_DO_NOT_FIT
from ksched_cli.errors import ExpectationFailed, UsageError

if TYPE_CHECKING:
    from ksched_cli.wiring import RunOptions
    from ksched_cli.wiring.comparison import DiffResult

SHORT = "What moves between two clusters, configurations or versions."
HELP = (
    """Where each pod goes before and after a change: what moves, fails, fits, comes and goes, how workloads are spread
and nodes are used.

The two sides differ by whatever is given twice: --from and --to, --config and --to-config, --kube-version and
--to-kube-version, --feature-gates and --to-feature-gates, -f and --to-filename. Manifests and what-if edits are then on
both sides. When nothing is given twice, they are the change: before is the cluster without them, after is with them.

Pending pods are placed on both sides, and where they preempt, victims leave and their successors are placed too. Pods
that run already stay where they are. A pod with a generated name is taken for the one of its workload that it replaces.

Where versions, gates or configurations are all that differs, each pod is told together with the rule that moved it: on
the side before, every pod of interest is also tried by the rules after, with all others in the same place. A pod that
would stay there follows from others that moved. Not with --scenario and --allow-extenders.

"""
    + EDITS_HELP
)

EPILOG = """Examples:

  ksched diff --from cluster.json --drain node-1

  ksched diff --from cluster.json -f deployment.yaml

  ksched diff --from yesterday.ksched.gz --to today.ksched.gz

  ksched diff --from cluster.json --config now.yaml --to-config new.yaml --expect-no-change

  ksched diff --from cluster.json --kube-version 1.33 --to-kube-version 1.36

Exit codes: 0 no pod is worse off, 1 some pod has no node that had one or is new, 2 the input or the command line is
wrong, 3 the cluster could not be read, 4 something changes and --expect-no-change was given."""


class DiffOutput(StrEnum):
    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    MARKDOWN = "markdown"


def _text(flag: str, metavar: str, text: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(flag, metavar=metavar, help=text, show_default=False)
    return option


@dataclass(frozen=True)
class AfterOptions:
    """The other side; what is not given is as before."""

    to: Annotated[list[str], _text("--to", "SOURCE", "The cluster after; as --from, and also as often.")] = field(
        default_factory=list
    )
    to_config: Annotated[
        Optional[str],  # noqa: UP045  # typer reads the annotation at run time
        _text("--to-config", "FILE", "The KubeSchedulerConfiguration after."),
    ] = None
    to_kube_version: Annotated[str, _text("--to-kube-version", "X.Y", "The version of kube-scheduler after.")] = ""
    to_feature_gates: Annotated[
        str, _text("--to-feature-gates", "A=true,B=false", "The feature gates after that differ from their default.")
    ] = ""
    to_filename: Annotated[
        list[str], _text("--to-filename", "FILE", "The manifests after; as -f, and also as often.")
    ] = field(default_factory=list)

    @property
    def given(self) -> bool:
        return bool(self.to or self.to_config or self.to_kube_version or self.to_feature_gates or self.to_filename)


Output = Annotated[
    DiffOutput,
    typer.Option("-o", "--output", help="table, wide for all of it, json and yaml for programs, markdown."),
]
ExpectNoChange = Annotated[bool, typer.Option("--expect-no-change", help="Exit with 4 when some pod's place changes.")]


@takes_groups
def diff(
    cluster: ClusterOptions,
    after: AfterOptions,
    live: LiveClusterOptions,
    scheduler: SchedulerOptions,
    edits: EditOptions,
    output: Output = DiffOutput.TABLE,
    expect_no_change: ExpectNoChange = False,
    exit_zero: options.ExitZero = False,
) -> None:
    setup = make_setup(cluster, live, scheduler, edits)
    from ksched_cli.wiring.comparison import compare

    compared = compare(*_sides(setup, after), sys.stdin.buffer)
    warn(compared.warnings)
    _show(compared, output)
    if expect_no_change and compared.diff.changes:
        raise typer.Exit(ExpectationFailed.exit_code)
    raise typer.Exit(SOME_DO_NOT_FIT if compared.diff.failing and not exit_zero else 0)


def _sides(setup: RunOptions, after: AfterOptions) -> tuple[RunOptions, RunOptions]:
    """Before and after."""
    if not after.given:
        if not (setup.has_manifests or setup.edits or setup.edit_problems or setup.scenario):
            raise UsageError(
                "there is nothing to compare with: give a change, such as --drain NODE or -f FILE, "
                "or the other side with --to, --to-config, --to-kube-version, --to-feature-gates or --to-filename"
            )
        return replace(setup.without_manifests(), edits=(), edit_problems=(), scenario=None), setup
    other = replace(
        setup,
        sources=after.to or setup.sources,
        filenames=after.to_filename or setup.filenames,
        config=after.to_config or setup.config,
        kube_version=after.to_kube_version or setup.kube_version,
        feature_gates=after.to_feature_gates or setup.feature_gates,
    )
    stdin = [
        flag
        for flag, given in (
            ("--from -", setup.sources),
            ("--to -", after.to),
            ("-f -", setup.filenames),
            ("--to-filename -", after.to_filename),
        )
        if "-" in given
    ]
    if len(stdin) > 1:
        raise UsageError(f"{' and '.join(stdin)}: stdin can be read once: give the others as files")
    return setup, other


def _show(compared: DiffResult, output: DiffOutput) -> None:
    from ksched_cli.report import diff as report

    if output is DiffOutput.MARKDOWN:
        report.print_markdown(compared.diff, sys.stdout)
    elif output in (DiffOutput.JSON, DiffOutput.YAML):
        from ksched_cli.report.encoding import write_json, write_yaml

        document = report.diff_document(compared.diff, compared.coverage)
        if output is DiffOutput.YAML:
            write_yaml(document, sys.stdout)
        else:
            write_json(document, sys.stdout)
    else:
        from ksched_cli.report.console import make_console

        report.print_diff(compared.diff, make_console(), wide=output is DiffOutput.WIDE)
