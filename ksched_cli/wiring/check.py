"""What `check` is put together from."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, BinaryIO, cast

from ksched_cli.api.core import Namespace, Pod
from ksched_cli.controlplane.store import Store
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.errors import Problem
from ksched_cli.plan.check.checker import Checker, MakeRun
from ksched_cli.plan.check.inputs import input_findings, nothing_checked
from ksched_cli.plan.check.results import Check
from ksched_cli.plan.check.run import CheckRun
from ksched_cli.plan.check.scales import Bound, Scaled, scale_edits, scaled_workloads, with_bound
from ksched_cli.plan.check.suppression import NOTHING_ACCEPTED, Suppressions, annotations_of, suppress
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.manifests import load_manifests
from ksched_cli.sources.places import Places
from ksched_cli.whatif.changes import Changes
from ksched_cli.whatif.edits.scale import Scale
from ksched_cli.whatif.manifests import WORKLOADS, in_order, refused_changes
from ksched_cli.whatif.namespaces import unknown_namespaces
from ksched_cli.wiring import LoadedInput, Prepared, RunOptions, assemble, gather, scheduler_maker
from ksched_cli.wiring.emptiness import check_nodes


@dataclass(frozen=True)
class PreparedCheck:
    """A cluster with a scheduler over it, and manifests that are not applied yet."""

    setup: RunOptions
    gathered: LoadedInput
    prepared: Prepared
    manifests: Loaded
    changes: Changes
    replicas: str = "current"
    accepted: Suppressions = NOTHING_ACCEPTED

    def run(self) -> Check:
        prepared, loaded = self.prepared, self.gathered.loaded
        started = time.perf_counter()
        # `wanted` goes by metadata, which workloads have as well.
        told = cast(Callable[[Any], bool], self.gathered.wanted)
        first, *others = self._bounds
        found = self._checker(first).check(told)
        workloads = found.workloads
        for bound in others:
            workloads = with_bound(workloads, self._checker(bound).check(told).workloads, self._scaled, bound)
        stats = prepared.stats(sum(each.pods for each in workloads), time.perf_counter() - started)
        coverage = prepared.coverage
        if found.gaps:
            coverage["admissionNotModelled"] = [*coverage.get("admissionNotModelled", []), *found.gaps]
        refused = (f"pod {each.pod} is refused: {each.message}" for each in self.gathered.refused)
        said = {finding.message.lower() for each in workloads for finding in each.findings}
        own = (text for text in found.warnings if text.lower() not in said)
        warnings = (*loaded.warnings, *self.gathered.setting.warnings, *refused, *own)
        evicted = tuple(pod for each in found.losses for pod in each.evicted)
        inputs = input_findings(self._problems(bool(workloads)))
        annotated, mistakes = annotations_of(in_order(self.manifests))
        warnings = (*warnings, *mistakes)
        whole = Check(workloads, evicted, coverage, stats, warnings, found.losses, found.world, inputs)
        return suppress(whole, replace(self.accepted, annotated=annotated))

    def _problems(self, checked: bool) -> list[Problem]:
        """What is wrong with the files, and that nothing was checked unless that is meant."""
        problems = list(self.manifests.findings)
        is_wrong = any(problem.level == "error" for problem in problems)
        if not checked and not is_wrong and not self.setup.allow_empty:
            problems.append(nothing_checked(self.manifests, self._items, self.setup.filenames, self.setup.namespace))
        return problems

    @cached_property
    def _items(self) -> list[Any]:
        return [item for item in in_order(self.manifests) if isinstance(item, (Pod, *WORKLOADS))]

    @cached_property
    def _scaled(self) -> list[Scaled]:
        return list(scaled_workloads(self._items, self.gathered.loaded, self.manifests))

    @property
    def _bounds(self) -> Sequence[Bound]:
        """The number of replicas that the check is about comes first. Other bounds add warnings."""
        if not self._scaled:
            return ("current",)
        every: Mapping[str, Sequence[Bound]] = {"all": ("current", "min", "max"), "current": ("current", "max")}
        return every.get(self.replicas) or (cast(Bound, self.replicas),)

    def _checker(self, bound: Bound) -> Checker:
        changes = replace(self.changes, edits=(*scale_edits(self._scaled, bound), *self.changes.edits))
        return Checker(self._make_runs(changes), Places(self.manifests), tuple(self.gathered.loaded.missing))

    def _make_runs(self, changes: Changes) -> MakeRun:
        """The first run has the scheduler that is there already, each further one a scheduler of its own."""
        again, loaded = scheduler_maker(self.setup, self.gathered.setting), self.gathered.loaded
        return lambda choices: CheckRun(next(self._first, None) or again(loaded), loaded, changes, choices)

    @cached_property
    def _first(self) -> Iterator[Scheduler]:
        return iter((self.prepared.scheduler,))


def prepare_check(
    setup: RunOptions, stdin: BinaryIO | None = None, *, restart: bool = False, replicas: str = "current"
) -> PreparedCheck:
    """Read the cluster, which edits and a scenario may change, and the manifests of the setup. Workloads of both can be
    scaled, so that scaling comes after the manifests."""
    scales = tuple(edit for edit in setup.edits if isinstance(edit, Scale))
    others = tuple(edit for edit in setup.edits if not isinstance(edit, Scale))
    gathered = gather(replace(setup.without_manifests(), allow_empty=True, edits=others), stdin)
    namespace = setup.namespace or gathered.loaded.namespace
    reading = replace(setup.reading, namespace=namespace, collects=True)
    manifests = load_manifests(setup.filenames, stdin, reading)
    check_nodes(setup, gathered.loaded, manifests)
    manifests.findings += unknown_namespaces(gathered.loaded.of(Namespace), manifests)
    # They are findings now: applying the manifests does not warn of them again.
    manifests.assume_namespaces()
    _leave_out_refused(gathered.loaded, manifests)
    changes = Changes(manifests, scales, namespace=namespace, restart=restart)
    return PreparedCheck(setup, gathered, assemble(setup, gathered), manifests, changes, replicas)


def _leave_out_refused(cluster: Loaded, manifests: Loaded) -> None:
    """An object that the API server does not take in the place of the live one is a finding; the rest is checked."""
    refused = list(refused_changes(Store(cluster), manifests))
    manifests.findings += [problem for _, problem in refused]
    out = {id(item) for item, _ in refused}
    for kind in {type(item) for item, _ in refused}:
        manifests.discard(kind, lambda item: id(item) in out)


def run_check(setup: RunOptions, stdin: BinaryIO | None = None, *, restart: bool = False) -> Check:
    """The manifests of the setup rolled out over its cluster."""
    return prepare_check(setup, stdin, restart=restart).run()
