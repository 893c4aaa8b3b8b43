"""`ksched version`."""

from __future__ import annotations

import platform

from ksched_cli import __version__
from ksched_cli.cli.printing import print_row
from ksched_cli.releases import NEWEST_VERSION

SHORT = "Print the versions."
HELP = "Print the versions of ksched and of the kube-scheduler that it follows."


def version() -> None:
    print_row(f"ksched {__version__}, kube-scheduler {NEWEST_VERSION}, Python {platform.python_version()}")
