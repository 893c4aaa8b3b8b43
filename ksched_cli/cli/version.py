"""`ksched version`."""

from __future__ import annotations

import platform

import typer

from ksched_cli import __version__

SHORT = "Print the versions."
HELP = "Print the versions of ksched and of the kube-scheduler that it follows."


def version() -> None:
    typer.echo(f"ksched {__version__}, kube-scheduler 1.36, Python {platform.python_version()}")
