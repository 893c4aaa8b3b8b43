"""`ksched sweep`: many variants of a cluster (`Simulator.sweep`, `plan/sweep/`), on several cores or on Dask. Also
`ksched sweep schema|validate` for sweep files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import Struct, field
from msgspec.structs import asdict, replace

from ksched_cli.cli import options
from ksched_cli.cli.file_commands import add_file_commands
from ksched_cli.cli.groups import AutoscaledRun, takes_groups
from ksched_cli.cli.help_layout import HelpGroup
from ksched_cli.cli.options import DrawOptions
from ksched_cli.cli.showing import SOME_DO_NOT_FIT, show
from ksched_cli.errors import ExpectationFailed, UsageError
from ksched_cli.simulator import Simulator, is_edit_range, is_version_range, swept_edits

if TYPE_CHECKING:
    from ksched_cli.simulator import SweepResult

HELP = """Try many variants of a cluster, each by itself, and show what is worst, how likely each result is, and which
setting is best.

Each option of the first group is a dimension; dimensions multiply. A number A..B of --add-node, --clone-node or
--scale, and --kube-version A..B, is a dimension too. A file SWEEP.yaml has the same words under `dimensions`.

First the setting of the variant is made (version, configuration, edits, order, tie-break) and the pending pods get
their nodes. Then the nodes fail: they are gone at once with their pods, controllers recreate these pods, and the run
goes on until nothing moves. Pending pods of the input that had found a place on a failed node look for another one.

The result of a variant is the worst that happens: safe; evicts others (pods are preempted, and all of them have a
place in the end); loses pods (no controller recreates a pod); no place (a pod has no node in the end, unless it has
none without the failures either; or the pods do not come to rest); error."""

EPILOG = """Examples:

  ksched sweep --fail node --from cluster.json

  ksched sweep --fail node:2 --sample 20000 --seed 1 --from cluster.json

  ksched sweep --fail zone --kube-version 1.30..1.36 --from cluster.json

  ksched sweep --add-node cpu=16,memory=64Gi=0..20 --from cluster.json

  ksched sweep --grid scoring.yaml --orders 20 --from cluster.json

  ksched sweep sweep.yaml --from cluster.json -o jsonl

  ksched sweep --curve cpu --policy a.yaml --policy b.yaml --seeds 1..10 --from cluster.json

  ksched sweep validate sweep.yaml

Exit codes: 0 every variant is safe, 1 some variant is not, 2 the input or the command line is wrong, 3 the cluster
could not be read, 4 an expectation failed."""


class _FileOrCommand(HelpGroup):
    """`sweep FILE` beside `sweep validate FILE`: a first word that is no command is the file."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        # The options behind a command are the command's, --help among them.
        ctx.allow_interspersed_args = not args or args[0] not in self.commands
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        # Older versions of click have no underscore.
        protected = "_protected_args" if hasattr(ctx, "_protected_args") else "protected_args"
        words: list[str] = [*getattr(ctx, protected), *ctx.args]
        if words and words[0] not in self.commands:
            ctx.obj, ctx.args = words, []
            setattr(ctx, protected, [])
        return super().invoke(ctx)


app = typer.Typer(
    cls=_FileOrCommand,
    invoke_without_command=True,
    context_settings={"allow_interspersed_args": True},
    subcommand_metavar="[SWEEP.yaml]",
)


class SweepOptions(Struct, frozen=True):
    """The dimensions of a sweep (`SweepKeywords`), and which of its variants are tried and kept."""

    fail: Annotated[
        str,
        typer.Option(
            metavar="WHAT[:K|NAME]",
            help="Every node, zone, region or value of label=KEY fails; with :2 every pair, with :NAME one of them.",
        ),
    ] = ""
    grid: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Scheduler configurations to try: every combination of the weights, strategies and arguments of a "
            "file.",
        ),
    ] = None
    sample: Annotated[
        int | None, typer.Option(metavar="N", help="Try N of the variants, drawn with --seed; each at most once.")
    ] = None
    keep_worst: Annotated[
        str | None,
        typer.Option(
            "--keep",
            metavar="worst=N",
            help="List N of the worst variants, and keep each with its timeline and the place of every pod: in the "
            "JSON document, and as DIR/worst/VARIANT.json with --out.",
        ),
    ] = None
    curve: Annotated[
        str,
        typer.Option(
            metavar="RESOURCE,...",
            help="Compare policies by how much of these resources is allocated while the pods arrive.",
        ),
    ] = ""
    policies: Annotated[
        list[str],
        typer.Option(
            "--policy",
            metavar="[NAME=]FILE",
            help="With --curve: a KubeSchedulerConfiguration to compare. Repeat it for several.",
        ),
    ] = field(default_factory=list)
    workloads: Annotated[
        list[str],
        typer.Option("--workload", metavar="NAME,...", help="With --curve: workloads of the trace --from openb:DIR."),
    ] = field(default_factory=list)
    seeds: Annotated[
        str,
        typer.Option(
            metavar="A..B", help="With --curve: draw the pods of a trace, or the order of pending pods, by each."
        ),
    ] = ""


@app.callback()
@takes_groups
def sweep(
    ctx: typer.Context,
    given: AutoscaledRun,
    draws: DrawOptions,
    wanted: SweepOptions,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", help="Worker processes; without it, one for each core where that is worth it."),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Run the variants on the Dask cluster of this scheduler (tcp://HOST:8786), or on a local one: local.",
        ),
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="Append each row to DIR/rows.jsonl as soon as it is there.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the rows of --out: variants that are there are not run again.")
    ] = False,
    output: Annotated[str, options.FormatOption("SweepRun CurveSweep")] = "table",
    exit_zero: options.ExitZero = False,
    no_headers: options.NoHeaders = False,
) -> None:
    if ctx.invoked_subcommand is not None:
        return
    files: list[str] = ctx.obj or []
    if len(files) > 1:
        raise UsageError(f"one sweep file at a time: {', '.join(files)}")
    words = {**asdict(wanted), **asdict(draws), "seed": given.scheduler.seed, "keep_worst": _kept(wanted.keep_worst)}
    simulator = Simulator.of(_without_ranges(given, words).read())
    if dask is not None and workers is not None:
        raise UsageError("--dask and --workers contradict each other: Dask has its own workers")
    file = files[0] if files else None
    found = simulator.sweep(file, workers=workers or 0, dask=dask, out=out, resume=resume, **words)
    _check_format(found, output)
    show(found, output, warnings=found.warnings, headers=not no_headers, zones=simulator.zones)
    result: Any = found.result()
    if wanted.curve:
        raise typer.Exit(SOME_DO_NOT_FIT if result.errors and not exit_zero else 0)
    if out is not None and result.kept:
        _write_kept(result, Path(out) / "worst")
    if result.failed:
        raise typer.Exit(ExpectationFailed.exit_code)
    raise typer.Exit(0 if result.safe or exit_zero else SOME_DO_NOT_FIT)


def _check_format(found: object, output: str) -> None:
    """Raise UsageError for a format of the other kind of sweep."""
    from ksched_cli.report.registry import formats_of

    known = formats_of(type(found).__name__)
    if output not in known:
        raise UsageError(f"-o {output}: this sweep has {', '.join(known)}")


def _kept(keep: str | None) -> int | None:
    if keep is None:
        return None
    what, _, number = keep.partition("=")
    if what != "worst" or not number.isdecimal() or len(number) > 9:
        raise UsageError(f"--keep {keep}: write worst=N")
    return int(number)


def _write_kept(result: SweepResult, folder: Path) -> None:
    from ksched_cli.cli.streams import OutputFile, write_files
    from ksched_cli.report.encoding import json_text
    from ksched_cli.report.view.sweep import variant_document

    folder.mkdir(exist_ok=True)
    documents = {f"{end.row.variant}.json": json_text(variant_document(end), indent=2) for end in result.kept}
    write_files([OutputFile(str(folder / name), f"{text}\n".encode()) for name, text in documents.items()])


def _without_ranges(given: AutoscaledRun, words: dict[str, Any]) -> AutoscaledRun:
    """The options without those that are dimensions, which go to the words."""
    scheduler, edits = given.scheduler, given.edits
    if is_version_range(scheduler.kube_version):
        words["kube_version"] = scheduler.kube_version
        scheduler = replace(scheduler, kube_version="auto")
    for flag in swept_edits():
        name = flag.replace("-", "_")
        texts: list[str] = getattr(edits, name)
        words[name] = tuple(text for text in texts if is_edit_range(text))
        edits = replace(edits, **{name: [text for text in texts if not is_edit_range(text)]})  # type: ignore[type-var]
    return replace(given, scheduler=scheduler, edits=edits)


add_file_commands(
    app,
    kind="sweep",
    names="nodes and workloads",
    example="failures.yaml",
    validate=Simulator.validate_sweep,
)
