"""`ksched report`: writes the page of a JSON document that ksched has printed. It computes no result again."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ksched_cli.cli import options
from ksched_cli.cli.groups import takes_groups
from ksched_cli.cli.showing import show

HELP = """The page that -o html makes, from a document that -o json has stored: one file that opens from disk, needs no
server for anything, and works with the keyboard, in dark and light, on a phone and on paper.

A document of `ksched simulate` colours the nodes for a chosen pod if it was made with --detail nodes or full. Without
it the page has examples of nodes only."""

EPILOG = """Examples:

  ksched simulate --from cluster.json -o json --detail nodes > run.json
  ksched report run.json > run.html
  ksched drain node-1 --from cluster.json -o json | ksched report - > drain.html

Exit codes: 0 the page is written, 2 the file is not a document that has a page."""

DocumentArgument = Annotated[str, typer.Argument(metavar="DOCUMENT", help="A file in JSON or YAML, or - for stdin.")]
Output = Annotated[str, options.FormatOption("StoredDocument")]


@takes_groups
def report(document: DocumentArgument, output: Output = "html") -> None:
    from ksched_cli.report.sinks.html import read_document

    show(read_document(document, sys.stdin.buffer), output)
