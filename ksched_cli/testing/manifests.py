"""Which workloads manifests have, so that pytest can make a test of each. Nothing is applied, and no cluster is
read."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ksched_cli.api.core import Pod
from ksched_cli.errors import InputError, Problem
from ksched_cli.simulator import ManifestReading
from ksched_cli.sources.files import SUFFIXES
from ksched_cli.sources.loaded import workload_label
from ksched_cli.sources.manifests import load_manifests
from ksched_cli.whatif.manifests import WORKLOADS
from ksched_cli.whatif.order import in_order


def workload_labels(paths: Sequence[str], namespace: str) -> list[str]:
    """The workloads in the order of the files, as `check` names them. InputError if there are none."""
    loaded = load_manifests(paths, None, ManifestReading(namespace=namespace))
    found = [workload_label(item) for item in in_order(loaded) if isinstance(item, (Pod, *WORKLOADS))]
    if not found:
        raise InputError(Problem("there are no workloads in it", ", ".join(paths)))
    return found


def with_folders(paths: Sequence[str], *, recursive: bool) -> tuple[str, ...]:
    """The paths; with `recursive` every folder in and below them that has manifests."""
    if not recursive:
        return tuple(paths)
    found: list[str] = []
    for path in paths:
        found += sorted(
            folder for folder, _, files in os.walk(path) if any(name.endswith(SUFFIXES) for name in files)
        ) or [path]
    return tuple(found)
