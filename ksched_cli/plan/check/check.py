"""`check`: manifests rolled out over a loaded cluster, and what is in their way.

`Checker` runs the manifests in trials of one world, in other orders too where a draw matters.
Workloads with an autoscaler are also checked at the bounds of its range."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace as replace_fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Namespace, Pod
from ksched_cli.api.object_facts import pod_key
from ksched_cli.api.workloads import Deployment, ReplicaSet, ResourceQuota, StatefulSet
from ksched_cli.controlplane.admission.chain import ADMISSION_KINDS, COUNTED_KINDS
from ksched_cli.controlplane.draws import Choices
from ksched_cli.controlplane.store import Store
from ksched_cli.engine.decision import Decision
from ksched_cli.errors import Problem
from ksched_cli.plan.check.findings import check_workloads
from ksched_cli.plan.check.results import (
    NO_STATS,
    Check,
    Finding,
    Losses,
    WorkloadCheck,
    input_findings,
    nothing_checked,
)
from ksched_cli.plan.check.suppression import NOTHING_ACCEPTED, Suppressions, annotations_of, suppress
from ksched_cli.plan.check.workloads import CheckRun, autoscaled, evicted_anyway
from ksched_cli.plan.reasons.codes import AUTOSCALER_BOUND, PREEMPTS, all_codes
from ksched_cli.plan.results.nodes import NodeChanges
from ksched_cli.plan.run.coverage import with_manifest_gaps
from ksched_cli.plan.run.loaded_input import LoadedInput
from ksched_cli.plan.run.orders import FIRST_ORDER, decisive_runs, decisive_ties
from ksched_cli.plan.run.run import Run
from ksched_cli.sources.loaded import NOTHING_CHECKED, Autoscaler, Loaded, resource_of, workload_label
from ksched_cli.sources.places import Places
from ksched_cli.whatif.changes import Changes
from ksched_cli.whatif.edits.lib.edit import Reference
from ksched_cli.whatif.edits.workloads import Scale
from ksched_cli.whatif.manifests import WORKLOADS, left_to_other_schedulers, refused_changes
from ksched_cli.whatif.order import in_order, unknown_namespaces
from ksched_cli.world.results import Orders
from ksched_cli.world.world import World

if TYPE_CHECKING:
    from ksched_cli.autoscale.karpenter.decision import Provisioning


def _results(workloads: Sequence[WorkloadCheck]) -> list[str]:
    return [each.result for each in workloads]


def in_all_orders(runs: Sequence[Sequence[WorkloadCheck]]) -> tuple[WorkloadCheck, ...]:
    """Each workload with the number of orders in which it finishes. What is in its way in some orders only becomes a
    warning. The first run comes first."""
    return tuple(_verdict(outcomes) for outcomes in zip(*runs, strict=True))


def _verdict(outcomes: Sequence[WorkloadCheck]) -> WorkloadCheck:
    first, tried = outcomes[0], len(outcomes)
    failing = [each for each in outcomes if each.result == "fails"]
    orders = Orders(tried, tried - len(failing))
    if not failing:
        return replace(first, orders=orders)
    if len(failing) == tried:
        findings = tuple(
            _in_words(each, f" (in all {tried} orders that were tried)", "error") for each in first.findings
        )
        return replace(first, findings=findings, orders=orders)
    errors = (each for each in failing[0].findings if each.level == "error")
    others = (each for each in first.findings if each.level != "error")
    doubtful = [replace(each, level="warning", message=f"{orders}; in the others {each.message}") for each in errors]
    # The counts are those of an order that does not finish: that is what the warnings are about.
    return replace(failing[0], findings=(*doubtful, *others), orders=orders)


def _in_words(finding: Finding, more: str, level: str) -> Finding:
    return replace(finding, message=finding.message + more) if finding.level == level else finding


class Checker:
    """Checks manifests in trials of one world."""

    def __init__(self, run: Run, places: Places, missing: Sequence[str] = ()) -> None:
        self._run, self._places, self._missing = run, places, missing
        self._manifests: CheckRun | None = None
        run.matters = self._is_own
        run.observe(self._decided)
        # Rolled back when the world before it is needed again.
        self._trial = run.trial()

    def _is_own(self, decision: Decision) -> bool:
        return self._manifests is not None and self._manifests.is_own(decision.pod.pod)

    def _decided(self, decision: Decision) -> None:
        if self._manifests is not None and self._manifests.is_own(decision.pod.pod):
            self._manifests.decided(decision)

    def _run_to_end(self, changes: Changes, choices: Choices) -> CheckRun:
        """The run at its end."""
        self._trial.begin()
        found = self._manifests = CheckRun(self._run.world, changes)
        try:
            self._run.in_order(lambda _: found.begin(), choices)
        finally:
            self._manifests = None
        return found

    def _without_manifests(self) -> World:
        self._trial.roll_back()
        return self._run.world

    def check(self, changes: Changes, wanted: Callable[[Any], bool] = lambda item: True) -> Check:
        """Run the manifests to their end. Where a draw mattered, try other orders too. The warnings are those of the
        API server and of a world that does not come to rest; there are no `stats`."""
        run = self._run_to_end(changes, FIRST_ORDER)
        items, result, added = run.items, run.result, self._run.provisioned()
        # What fails without the manifests, too.
        as_before = {id(item) for item in items if run.is_as_before(item)}
        losses, own, warnings = Losses(run.world), run.preemptors(), tuple(run.warnings())
        coverage = with_manifest_gaps(self._run.coverage, changes.manifests, gaps=run.gaps())
        workloads: Sequence[WorkloadCheck] = check_workloads(run, self._places, self._missing)
        failed = any(each.result == "fails" for each in workloads)
        others = self._run.draw_watch.others(self._run.world, failed=failed)
        if others:
            first = _results(workloads)
            tried = decisive_runs(first, others, [self._again(changes, each.choices) for each in others], _results)
            ties = decisive_ties(first, [(each, _results(found)) for each, found in tried])
            result = replace(result, draws=(*result.draws, *ties))
            workloads = in_all_orders([workloads, *(found for _, found in tried)]) if tried else workloads
        shown = tuple(
            _with_pool_reasons(each, added)
            for item, each in zip(items, workloads, strict=True)
            if wanted(item) and not (each.result == "fails" and id(item) in as_before)
        )
        anyway = evicted_anyway(self._without_manifests, losses, own)
        caused = tuple(losses.caused_by(without=anyway))
        return Check(
            shown,
            tuple(pod for each in caused for pod in each.evicted),
            coverage,
            NO_STATS,
            warnings,
            caused,
            result,
            evicted_anyway=tuple(pod_key(each.pod) for each in anyway),
            nodes=NodeChanges(self._run.nodes, run.nodes),
            autoscaling=added,
        )

    def _again(self, changes: Changes, choices: Choices) -> Sequence[WorkloadCheck]:
        return check_workloads(self._run_to_end(changes, choices), self._places, self._missing)


def _with_pool_reasons(found: WorkloadCheck, added: Provisioning | None) -> WorkloadCheck:
    """The workload, with the reasons why the autoscaler adds no node behind the message of each finding."""
    unplaced = added.unplaced if added is not None else ()
    reasons = {each.pod.removeprefix(f"{found.namespace}/"): each.summary for each in unplaced}
    findings = []
    for each in found.findings:
        own = list(dict.fromkeys(reasons[pod] for pod in each.pods if pod in reasons))
        text = f"{each.message} Karpenter adds no node: {'; '.join(own)}." if own else each.message
        findings.append(replace(each, message=text))
    return replace(found, findings=tuple(findings)) if reasons else found


Bound = Literal["min", "current", "max"]
_FIELDS: Mapping[Bound, tuple[str, str]] = {
    "min": ("minReplicas", "minReplicaCount"),
    "max": ("maxReplicas", "maxReplicaCount"),
}


class Scaled(Struct, frozen=True):
    """A workload of the manifests with its autoscaler, and the number of replicas before any metric."""

    item: Any
    autoscaler: Autoscaler
    given: int

    @property
    def label(self) -> str:
        return workload_label(self.item)

    def at(self, bound: Bound) -> int:
        numbers = {"min": self.autoscaler.least, "current": self.autoscaler.within(self.given)}
        return numbers.get(bound, self.autoscaler.most)

    def edit(self, bound: Bound) -> Scale | None:
        """The edit that brings the workload there; None where it is there already."""
        number, metadata = self.at(bound), self.item.metadata
        if number == self.item.spec.replicas:
            return None
        return Scale(Reference(type(self.item), metadata.name, metadata.namespace), number)


def scaled_workloads(items: Sequence[Any], cluster: Loaded, manifests: Loaded) -> Iterator[Scaled]:
    """The workloads that an autoscaler of the manifests, or else of the cluster, scales; also those of the cluster that
    one of the manifests scales."""
    written = {(type(item).__name__, item.metadata.namespace, item.metadata.name) for item in items}
    there = autoscaled(manifests, cluster.get)
    items = [*items, *(item for item, by in there if (by.target_kind, by.namespace, by.target_name) not in written)]
    found = {
        (each.target_kind, each.namespace, each.target_name): each
        for each in (*cluster.autoscalers, *manifests.autoscalers)
    }
    for item in items:
        identity = resource_of(item) or (type(item).__name__, item.metadata.namespace, item.metadata.name)
        autoscaler = found.get(identity)
        if autoscaler is not None and isinstance(item, Deployment | ReplicaSet | StatefulSet):
            live = cluster.get(type(item), item.metadata.name, item.metadata.namespace)
            numbers = (each.spec.replicas for each in (item, live) if each is not None)
            yield Scaled(item, autoscaler, next((each for each in numbers if each is not None), 1))


def scale_edits(scaled: Sequence[Scaled], bound: Bound) -> list[Scale]:
    edits = (each.edit(bound) for each in scaled)
    return [edit for edit in edits if edit is not None]


def with_bound(
    workloads: Sequence[WorkloadCheck], at_bound: Sequence[WorkloadCheck], scaled: Sequence[Scaled], bound: Bound
) -> tuple[WorkloadCheck, ...]:
    """The workloads, with a warning for each that an autoscaler scales and that does not fit at the bound."""
    numbers = {each.label: each for each in scaled}
    there = {each.workload: each for each in at_bound}
    return tuple(
        replace(each, findings=(*each.findings, *_findings(each, there[each.workload], numbers[each.workload], bound)))
        if each.workload in numbers and each.workload in there
        else each
        for each in workloads
    )


def _findings(workload: WorkloadCheck, at_bound: WorkloadCheck, scaled: Scaled, bound: Bound) -> Iterator[Finding]:
    errors = [finding for finding in at_bound.findings if finding.level == "error"]
    if workload.result == "fails" or not errors:
        return
    code, name = all_codes()[AUTOSCALER_BOUND], _FIELDS[bound][scaled.autoscaler.is_keda]
    where = f"at {name} {scaled.at(bound)} of {scaled.autoscaler.label}"
    for finding in errors:
        yield replace(
            finding,
            code=code.code,
            name=code.name,
            title=code.title,
            level="warning",
            message=f"{where}: {finding.message} ({finding.code})",
        )


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
        source, run, manifests = self.source, Run(self.source), self.changes.manifests
        manifests.findings += unknown_namespaces(source.loaded.of(Namespace), source.loaded.of(Pod), manifests)
        # They are findings now: applying the manifests does not warn of them again.
        manifests.assume_namespaces()
        _leave_out_refused(source.loaded, manifests)
        started = time.perf_counter()
        # `wanted` goes by metadata, which workloads have as well.
        wanted = cast(Callable[[Any], bool], source.wanted)
        checker = Checker(run, Places(manifests), tuple(source.loaded.missing))
        first, *others = self._bounds
        found = checker.check(self._changes(first), wanted)
        workloads = found.workloads
        for bound in others:
            more = checker.check(self._changes(bound), wanted).workloads
            workloads = with_bound(workloads, more, self._scaled, bound)
        refused = (f"pod {each.pod} is refused: {each.message}" for each in source.refused)
        reported = {finding.message.lower() for each in workloads for finding in each.findings}
        own = (text for text in found.warnings if text.lower() not in reported)
        annotated, mistakes = annotations_of(in_order(manifests))
        warnings = (*source.loaded.warnings, *source.spec.warnings, *refused, *own, *mistakes)
        inputs = input_findings(self._problems(bool(workloads)))
        stats = run.stats(sum(each.pods for each in workloads), time.perf_counter() - started)
        whole = replace_fields(found, workloads=workloads, stats=stats, warnings=warnings, inputs=inputs)
        partial = len(workloads) < len(self._items)
        return suppress(whole, replace(self.accepted, annotated=annotated), partial=partial)

    def _problems(self, checked: bool) -> list[Problem]:
        """What is wrong with the files, and that nothing was checked unless that is meant."""
        manifests = self.changes.manifests
        problems = list(manifests.findings)
        is_wrong = any(problem.level == "error" for problem in problems)
        # Objects that change what admission and the scheduler decide were validated and applied.
        has_policy = not self._items and bool(len(manifests) or manifests.autoscalers or manifests.documents)
        if not checked and not has_policy and not is_wrong and not self.allow_empty:
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
    kinds = {*manifests.objects, *ADMISSION_KINDS, *(COUNTED_KINDS if cluster.of(ResourceQuota) else ())}
    live = Loaded(
        {kind: cluster.of(kind) for kind in kinds},
        documents=cluster.documents,
        service_ranges=cluster.service_ranges,
        api_server_flags=cluster.api_server_flags,
    )
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
