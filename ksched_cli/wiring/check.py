"""What `check` is put together from."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, cast

from ksched_cli.plan.check.checker import Checker, MakeRun
from ksched_cli.plan.check.results import Check
from ksched_cli.plan.check.run import CheckRun
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.manifests import load_manifests
from ksched_cli.sources.places import Places
from ksched_cli.whatif.changes import Changes
from ksched_cli.wiring import LoadedInput, Prepared, RunOptions, assemble, gather, scheduler_maker


@dataclass(frozen=True)
class PreparedCheck:
    """A cluster with a scheduler over it, and manifests that are not applied yet."""

    setup: RunOptions
    gathered: LoadedInput
    prepared: Prepared
    manifests: Loaded
    changes: Changes

    def run(self) -> Check:
        prepared, loaded = self.prepared, self.gathered.loaded
        started = time.perf_counter()
        # `wanted` goes by metadata, which workloads have as well.
        told = cast(Callable[[Any], bool], self.gathered.wanted)
        found = Checker(self._make_runs(), Places(self.manifests), tuple(loaded.missing)).check(told)
        stats = prepared.stats(sum(each.pods for each in found.workloads), time.perf_counter() - started)
        coverage = prepared.coverage
        if found.gaps:
            coverage["admissionNotModelled"] = [*coverage.get("admissionNotModelled", []), *found.gaps]
        refused = (f"pod {each.pod} is refused: {each.message}" for each in self.gathered.refused)
        said = {finding.message.lower() for each in found.workloads for finding in each.findings}
        own = (text for text in found.warnings if text.lower() not in said)
        warnings = (*loaded.warnings, *self.gathered.setting.warnings, *refused, *own)
        evicted = tuple(pod for each in found.losses for pod in each.evicted)
        return Check(found.workloads, evicted, coverage, stats, warnings, found.losses, found.world)

    def _make_runs(self) -> MakeRun:
        """The first run has the scheduler that is there already, each further one a scheduler of its own."""
        again = scheduler_maker(self.setup, self.gathered.setting)
        schedulers, loaded = iter((self.prepared.scheduler,)), self.gathered.loaded
        return lambda choices: CheckRun(next(schedulers, None) or again(loaded), loaded, self.changes, choices)


def prepare_check(setup: RunOptions, stdin: BinaryIO | None = None, *, restart: bool = False) -> PreparedCheck:
    """Read the cluster, which edits and a scenario may change, and the manifests of the setup."""
    gathered = gather(replace(setup, filenames=()), stdin)
    namespace = setup.namespace or gathered.loaded.namespace
    manifests = load_manifests(setup.filenames, stdin, namespace)
    changes = Changes(manifests, namespace=namespace, restart=restart)
    return PreparedCheck(setup, gathered, assemble(setup, gathered), manifests, changes)


def run_check(setup: RunOptions, stdin: BinaryIO | None = None, *, restart: bool = False) -> Check:
    """The manifests of the setup rolled out over its cluster."""
    return prepare_check(setup, stdin, restart=restart).run()
