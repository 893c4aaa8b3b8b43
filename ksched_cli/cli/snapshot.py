"""`ksched snapshot`: writes all of a cluster that scheduling reads to a file (`Simulator.snapshot`,
`plan/snapshot.py`), with --redact under other names."""

from __future__ import annotations

import datetime
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.cli.groups import LiveClusterOptions, SourceOptions, refuse, shown_progress, takes_groups
from ksched_cli.cli.streams import OutputFile, check_outputs, print_row, warn, write_files
from ksched_cli.errors import UsageError
from ksched_cli.simulator import Simulator

if TYPE_CHECKING:
    from ksched_cli.simulator import SnapshotResult

HELP = """Writes everything that scheduling reads of a cluster to one compressed file, which --from reads.

The same objects make the same bytes, in whatever order they come. A snapshot holds only fields on an allow-list.
Environment variables, commands, secrets, managed fields, the parameters of StorageClasses and volumes, and all
annotations that ksched does not read are not in it. A digest stands for such annotations of a pod template, so that
a changed template is still recognised.

--redact also replaces names, label values, images, host addresses, scheduling gates, device attribute strings, and
the groups and kinds of custom resources by numbered pseudonyms. Every selector still matches the same objects, and
pods go to the same nodes. --config FILE --redact-config OUT redacts the configuration with the same pseudonyms.

These stay: keys of labels and taints; label values that are numbers and are compared with Gt or Lt; names of
resources, drivers, device classes, devices, counters and schedulers; versions of devices and kubelets. If a CEL
expression looks into strings, as with startsWith or matches, all device attribute strings and CEL literals stay."""

EPILOG = """Examples:

  ksched snapshot -o cluster.ksched.gz
  ksched snapshot --from cluster.json -o cluster.ksched.gz
  ksched snapshot --from dump/ --from more.tgz -o cluster.ksched.gz
  kubectl get nodes,pods,namespaces -A -o json | ksched snapshot --from - > cluster.ksched.gz
  ksched snapshot --redact --redact-names names.json -o share.ksched.gz
  ksched snapshot --redact --config scheduler.yaml --redact-config share.yaml -o share.ksched.gz
  ksched simulate --from cluster.ksched.gz

Exit codes: 0 the file is written, 2 the input or the command line is wrong, 3 the cluster
could not be read."""


class RedactionOptions(Struct, frozen=True):
    """Whether and how names are replaced."""

    redact: Annotated[bool, typer.Option("--redact", help="Replace names, label values and images, for sharing.")] = (
        False
    )
    redact_names: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Where to write the names behind the pseudonyms; only you may read the file."
        ),
    ] = None
    config: Annotated[
        str | None, typer.Option(metavar="FILE", help="A KubeSchedulerConfiguration to redact along with the cluster.")
    ] = None
    redact_config: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where to write the redacted configuration.")
    ] = None

    def contradictions(self) -> Iterator[str]:
        if self.redact_names is not None and not self.redact:
            yield "--redact-names goes with --redact: without it the names are in the snapshot"
        if (self.config is None) != (self.redact_config is None):
            yield "--config and --redact-config go together: one is read, the other is written"
        if self.config is not None and not self.redact:
            yield "--redact-config goes with --redact: both use the same pseudonyms"


@takes_groups
def snapshot(
    live: LiveClusterOptions,
    cluster: SourceOptions,
    redaction: RedactionOptions,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FILE", help="Where to write; without it, and with -, to stdout."),
    ] = None,
) -> None:
    refuse([*live.contradictions(), *redaction.contradictions()])
    path, config = None if output == "-" else output, redaction.config
    if path is None and sys.stdout.isatty():
        raise UsageError("a snapshot is not for the terminal to show: give a file with -o, or redirect stdout")
    outputs = [each for each in (path, redaction.redact_config, redaction.redact_names) if each is not None]
    check_outputs(outputs, [*cluster.sources, *([config] if config else [])])
    run = replace(
        cluster.read(),
        live=live.read(),
        progress=shown_progress(),
        stdin=sys.stdin.buffer,
        keeps_documents=False,
        config=config,
    )
    taken = Simulator.of(run).snapshot(_time(), redacted=redaction.redact)
    if path is None:
        sys.stdout.buffer.write(taken.data)
    write_files(list(_files(taken, path, redaction)))
    warn(taken.warnings)
    if path is not None:
        _print_summary(taken, path)


def _files(taken: SnapshotResult, path: str | None, redaction: RedactionOptions) -> Iterator[OutputFile]:
    """The names come last: there are none without a snapshot."""
    if path is not None:
        yield OutputFile(path, taken.data)
    if redaction.redact_config is not None:
        from ksched_cli.report.encoding import yaml_text

        yield OutputFile(redaction.redact_config, yaml_text(taken.config).encode())
    if redaction.redact_names is not None:
        from ksched_cli.report.encoding import json_text

        yield OutputFile(redaction.redact_names, f"{json_text(taken.names, indent=1)}\n".encode(), private=True)


def _print_summary(taken: SnapshotResult, path: str) -> None:
    held = ", ".join(f"{number} {kind}" for kind, number in taken.counts.items())
    print_row(f"{path}: {len(taken.data) / 1024:.1f} KiB; {held}")
    if taken.not_read:
        listed = ", ".join(f"{number} {kind}" for kind, number in taken.not_read.items())
        print_row(f"not in it: {listed}")


def _time() -> str:
    """Now, or the time that builds set to get the same bytes again."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch is None:
        now = datetime.datetime.now(datetime.UTC)
    elif epoch.isdigit():
        now = datetime.datetime.fromtimestamp(int(epoch), datetime.UTC)
    else:
        raise UsageError(f"SOURCE_DATE_EPOCH={epoch}: not a number of seconds")
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")
