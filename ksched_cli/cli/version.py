"""`ksched version`: prints the versions of ksched, of Python and of the newest modelled minor."""

from __future__ import annotations

import platform

from ksched_cli.cli.streams import print_row
from ksched_cli.releases import NEWEST_VERSION

HELP = "Print the versions of ksched and of the kube-scheduler that it follows."


def version() -> None:
    from ksched_cli.build_info import BUILD

    made = f" (commit {BUILD.commit[:9]} of {BUILD.date})" if BUILD.commit else ""
    print_row(f"ksched {BUILD.version}{made}, kube-scheduler {NEWEST_VERSION}, Python {platform.python_version()}")
