"""`check`: manifests rolled out over a loaded cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace as replace_fields
from functools import cached_property
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Namespace, Pod
from ksched_cli.controlplane.store import Store
from ksched_cli.errors import Problem
from ksched_cli.plan.check.checker import Checker
from ksched_cli.plan.check.inputs import input_findings, nothing_checked
from ksched_cli.plan.check.results import Check, Finding
from ksched_cli.plan.check.scales import Bound, Scaled, scale_edits, scaled_workloads, with_bound
from ksched_cli.plan.check.suppression import NOTHING_ACCEPTED, Suppressions, annotations_of, suppress
from ksched_cli.plan.codes import PREEMPTS
from ksched_cli.plan.coverage import with_job_gaps
from ksched_cli.plan.loaded_input import LoadedInput
from ksched_cli.plan.node_columns import NodeChanges
from ksched_cli.plan.prepared import PreparedRun
from ksched_cli.sources.input_codes import NOTHING_CHECKED
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.places import Places
from ksched_cli.whatif.changes import Changes
from ksched_cli.whatif.manifests import WORKLOADS, in_order, refused_changes
from ksched_cli.whatif.namespaces import unknown_namespaces
from ksched_cli.whatif.other_schedulers import left_to_other_schedulers


class ManifestCheck(Struct, frozen=True, dict=True):
    """Manifests of these files, which are not applied yet. `replicas`: the number of replicas of workloads with an
    autoscaler. `namespace` selects the workloads that are shown. `allow_empty`: it is no finding that nothing was
    checked."""

    source: LoadedInput
    changes: Changes
    files: Sequence[str]
    namespace: str
    replicas: str = "current"
    accepted: Suppressions = NOTHING_ACCEPTED
    allow_empty: bool = False

    def run(self) -> Check:
        source, prepared, manifests = self.source, self._prepared, self.changes.manifests
        manifests.findings += unknown_namespaces(source.loaded.of(Namespace), source.loaded.of(Pod), manifests)
        # They are findings now: applying the manifests does not warn of them again.
        manifests.assume_namespaces()
        _leave_out_refused(source.loaded, manifests)
        started = time.perf_counter()
        # `wanted` goes by metadata, which workloads have as well.
        wanted = cast(Callable[[Any], bool], source.wanted)
        missing = tuple(source.loaded.missing)
        checker = Checker(prepared.scheduler, source.loaded, Places(manifests), missing)
        first, *others = self._bounds
        found = checker.check(self._changes(first), wanted)
        workloads = found.workloads
        for bound in others:
            more = checker.check(self._changes(bound), wanted).workloads
            workloads = with_bound(workloads, more, self._scaled, bound)
        stats = prepared.stats(sum(each.pods for each in workloads), time.perf_counter() - started)
        coverage = with_job_gaps(prepared.coverage, manifests)
        if found.gaps:
            coverage["admissionNotModelled"] = [*coverage.get("admissionNotModelled", []), *found.gaps]
        refused = (f"pod {each.pod} is refused: {each.message}" for each in source.refused)
        reported = {finding.message.lower() for each in workloads for finding in each.findings}
        own = (text for text in found.warnings if text.lower() not in reported)
        warnings = (*source.loaded.warnings, *source.spec.warnings, *refused, *own)
        evicted = tuple(pod for each in found.losses for pod in each.evicted)
        inputs = input_findings(self._problems(bool(workloads)))
        annotated, mistakes = annotations_of(in_order(manifests))
        warnings = (*warnings, *mistakes)
        nodes = NodeChanges(prepared.nodes, found.nodes)
        whole = Check(
            workloads,
            evicted,
            coverage,
            stats,
            warnings,
            found.losses,
            found.world,
            inputs,
            evicted_anyway=found.evicted_anyway,
            nodes=nodes,
        )
        partial = len(workloads) < len(self._items)
        return suppress(whole, replace(self.accepted, annotated=annotated), partial=partial)

    @cached_property
    def _prepared(self) -> PreparedRun:
        return PreparedRun.of(self.source)

    def _problems(self, checked: bool) -> list[Problem]:
        """What is wrong with the files, and that nothing was checked unless that is meant."""
        manifests = self.changes.manifests
        problems = list(manifests.findings)
        is_wrong = any(problem.level == "error" for problem in problems)
        if not checked and not is_wrong and not self.allow_empty:
            problems.append(nothing_checked(manifests, self._items, self.files, self.namespace))
        if checked and not self.allow_empty:
            problems += left_to_other_schedulers(manifests, self.source.spec.configuration, NOTHING_CHECKED)
        return problems

    @cached_property
    def _items(self) -> list[Any]:
        return [item for item in in_order(self.changes.manifests) if isinstance(item, (Pod, *WORKLOADS))]

    @cached_property
    def _scaled(self) -> list[Scaled]:
        return list(scaled_workloads(self._items, self.source.loaded, self.changes.manifests))

    @property
    def _bounds(self) -> Sequence[Bound]:
        """The number of replicas that the check is about comes first. Other bounds add warnings."""
        if not self._scaled:
            return ("current",)
        every: Mapping[str, Sequence[Bound]] = {"all": ("current", "min", "max"), "current": ("current", "max")}
        return every.get(self.replicas) or (cast(Bound, self.replicas),)

    def _changes(self, bound: Bound) -> Changes:
        return replace(self.changes, edits=(*scale_edits(self._scaled, bound), *self.changes.edits))


def _leave_out_refused(cluster: Loaded, manifests: Loaded) -> None:
    """An object that the API server does not take in the place of the live one is a finding; the rest is checked."""
    live = Loaded({kind: cluster.of(kind) for kind in manifests.objects})
    refused = list(refused_changes(Store(live), manifests))
    manifests.findings += [problem for _, problem in refused]
    out = {id(item) for item, _ in refused}
    for kind in {type(item) for item, _ in refused}:
        manifests.discard(kind, lambda item: id(item) in out)


def with_errors(found: Check, *, preemptions: bool, warnings: bool) -> Check:
    """The same with findings of these sorts as errors."""

    def counts(finding: Finding) -> bool:
        return (preemptions and finding.code == PREEMPTS) or (warnings and finding.level == "warning")

    def stricter(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
        return tuple(replace(each, level="error") if counts(each) else each for each in findings)

    workloads = tuple(replace(each, findings=stricter(each.findings)) for each in found.workloads)
    return replace_fields(found, workloads=workloads)
