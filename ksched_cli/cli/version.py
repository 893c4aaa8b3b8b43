"""`ksched version`."""

from __future__ import annotations

import platform

from ksched_cli import __version__
from ksched_cli.cli.printing import print_row

SHORT = "Print the versions."
HELP = "Print the versions of ksched and of the kube-scheduler that it follows."


def version() -> None:
    print_row(f"ksched {__version__}, kube-scheduler 1.36, Python {platform.python_version()}")
