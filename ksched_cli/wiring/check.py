"""What `check` is put together from."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, BinaryIO, cast

from ksched_cli.plan.check import check
from ksched_cli.plan.check_results import Check
from ksched_cli.sources.manifests import load_manifests
from ksched_cli.sources.places import Places
from ksched_cli.sources.rollouts.api_server import ApiServer
from ksched_cli.sources.rollouts.begin import begin
from ksched_cli.wiring import Setup, assemble, gather


def run_check(setup: Setup, stdin: BinaryIO | None = None, *, restart: bool = False) -> Check:
    """The manifests of the setup rolled out over its cluster, which edits and a scenario may have changed before."""
    gathered = gather(replace(setup, filenames=()), stdin)
    # It goes by metadata, which workloads have as well.
    told = cast(Callable[[Any], bool], gathered.wanted)
    loaded = gathered.loaded
    manifests = load_manifests(setup.filenames, stdin, setup.namespace or loaded.namespace)
    rollouts = begin(loaded, manifests, restart=restart)
    server = ApiServer(loaded, {each.item.metadata.namespace for each in rollouts})
    prepared = assemble(setup, gathered)
    started = time.perf_counter()
    done = check(prepared.scheduler, rollouts, server, Places(manifests), told, loaded.missing)
    stats = prepared.stats(done.pods, time.perf_counter() - started)
    refused = (f"pod {each.pod} is refused: {each.message}" for each in gathered.refused)
    warnings = (*loaded.warnings, *gathered.setting.warnings, *refused)
    return Check(done.workloads, done.evicted, prepared.coverage, stats, warnings)
