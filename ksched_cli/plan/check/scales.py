"""Workloads at the bounds of their autoscalers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.workloads import Deployment, ReplicaSet, StatefulSet
from ksched_cli.plan.check.results import Finding, WorkloadCheck
from ksched_cli.plan.codes import AUTOSCALER_BOUND, all_codes
from ksched_cli.sources.autoscalers import Autoscaler
from ksched_cli.sources.custom.labels import resource_of, workload_label
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.edits.lib.edit import Reference
from ksched_cli.whatif.edits.scale import Scale

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
    """The workloads that an autoscaler of the manifests, or else of the cluster, scales."""
    found = {
        (each.target_kind, each.namespace, each.target_name): each
        for each in (*cluster.autoscalers, *manifests.autoscalers)
    }
    for item in items:
        identity = resource_of(item) or (type(item).__name__, item.metadata.namespace, item.metadata.name)
        autoscaler = found.get(identity)
        if autoscaler is not None and isinstance(item, Deployment | ReplicaSet | StatefulSet):
            live = cluster.named(type(item), item.metadata.name, item.metadata.namespace)
            given = item.spec.replicas if item.spec.replicas is not None else live.spec.replicas if live else 1
            yield Scaled(item, autoscaler, 1 if given is None else given)


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
