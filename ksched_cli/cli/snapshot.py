"""`ksched snapshot`."""

from __future__ import annotations

import datetime
import json
import os
import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

from ksched_cli.cli import options
from ksched_cli.cli.groups import LiveClusterOptions, shown_progress, takes_groups
from ksched_cli.errors import UsageError

SHORT = "Put what scheduling reads of a cluster into one file."
HELP = """What scheduling reads of a cluster in one compressed file, which every command reads with --from.

The same objects make the same bytes, in whatever order they come. Environment variables, commands, secrets and
managed fields are not in it.

--redact also replaces names, label values and images by numbered pseudonyms, and drops annotations. Every selector
matches what it did, and pods go to the same nodes. Keys of labels and taints, and the names of resources, drivers,
device classes, devices and schedulers stay."""

EPILOG = """Examples:

  ksched snapshot -o cluster.ksched.gz

  ksched snapshot --from cluster.json -o cluster.ksched.gz

  ksched snapshot --from dump/ --from more.tgz -o cluster.ksched.gz

  kubectl get nodes,pods,namespaces -A -o json | ksched snapshot --from - > cluster.ksched.gz

  ksched snapshot --redact --redact-names names.json -o share.ksched.gz

  ksched simulate --from cluster.ksched.gz

Exit codes: 0 the file is written, 2 the input or the command line is wrong, 3 the cluster
could not be read."""

Out = Annotated[
    Optional[str],  # noqa: UP045  # typer reads the annotation at run time
    typer.Option("-o", "--output", metavar="FILE", help="Where to write; without it, and with -, to stdout."),
]
Redact = Annotated[bool, typer.Option("--redact", help="Replace names, label values and images, for sharing.")]
RedactNames = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(metavar="FILE", help="Where to write who is who, for yourself."),
]


@takes_groups
def snapshot(
    live: LiveClusterOptions,
    sources: options.From = [],  # noqa: B006  # typer takes the default from here and never changes it
    output: Out = None,
    redact: Redact = False,
    redact_names: RedactNames = None,
) -> None:
    if redact_names is not None and not redact:
        raise UsageError("--redact-names goes with --redact: without it the names are in the snapshot")
    to_stdout = output in (None, "-")
    if to_stdout and sys.stdout.isatty():
        raise UsageError("a snapshot is not for the terminal to show: give a file with -o, or redirect stdout")
    from ksched_cli.wiring import Setup
    from ksched_cli.wiring.snapshots import take_snapshot

    setup = Setup(sources=sources, live=live.read(), progress=shown_progress())
    taken = take_snapshot(setup, sys.stdin.buffer, _time(), redacted=redact)
    if redact_names is not None:
        _write(redact_names, json.dumps(taken.names, indent=1, ensure_ascii=False).encode() + b"\n")
    if output is None or to_stdout:
        sys.stdout.buffer.write(taken.data)
        return
    _write(output, taken.data)
    for warning in taken.warnings:
        print(f"ksched: warning: {warning}", file=sys.stderr)  # noqa: T201
    held = ", ".join(f"{number} {kind}" for kind, number in taken.counts.items())
    print(f"{output}: {len(taken.data) / 1024:.1f} KiB; {held}")  # noqa: T201
    if taken.not_read:
        listed = ", ".join(f"{number} {kind}" for kind, number in taken.not_read.items())
        print(f"not in it: {listed}")  # noqa: T201


def _write(path: str, data: bytes) -> None:
    try:
        Path(path).write_bytes(data)
    except OSError as problem:
        raise UsageError(f"cannot write {path}: {(problem.strerror or str(problem)).lower()}") from None


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
