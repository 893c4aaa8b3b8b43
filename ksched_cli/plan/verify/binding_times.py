"""When a pod was bound, and which field of the cluster has that time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

from msgspec import Struct

from ksched_cli.api.core import Pod, PodCondition
from ksched_cli.api.pod_facts import POD_SCHEDULED, parse_time
from ksched_cli.sources.events import ScheduledPod

# The kubelet sets these conditions, so that they are at least as late as the binding.
_BY_KUBELET = frozenset({"PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready"})


class TimeSource(StrEnum):
    """Fields with the time of a pod's binding, the best first."""

    EVENT = "Scheduled event"
    CONDITION = "PodScheduled condition"
    KUBELET = "status set by the kubelet"
    CREATION = "creationTimestamp"
    NONE = "nothing"


class BindingTime(Struct, frozen=True):
    """`seconds` since the epoch. `exact` times have microseconds, all others are cut to the second."""

    seconds: float
    source: TimeSource
    stamp: str = ""
    exact: bool = False

    @property
    def second(self) -> int:
        return int(self.seconds)

    @property
    def known(self) -> bool:
        """Whether the time is that of the binding. A creation is not: the pod may have waited."""
        return self.source not in (TimeSource.CREATION, TimeSource.NONE)


def condition_of(pod: Pod) -> PodCondition | None:
    return next((each for each in pod.status.conditions if each.type == POD_SCHEDULED), None)


def newest_bindings(events: Iterable[ScheduledPod]) -> dict[str, ScheduledPod]:
    """The last Scheduled event of each pod, by uid, or by `namespace/name` if the event has no uid."""
    newest: dict[str, ScheduledPod] = {}
    for event in sorted(events, key=lambda each: each.at):
        newest[event.uid or event.key] = event
    return newest


def binding_time(pod: Pod, events: Mapping[str, ScheduledPod]) -> BindingTime:
    """The time of the pod's binding from the best source. Times before the pod's creation are left out."""
    metadata = pod.metadata
    created = parse_time(metadata.creation_timestamp) if metadata.creation_timestamp else 0.0
    event = events.get(metadata.uid) or events.get(f"{metadata.namespace}/{metadata.name}")
    if event is not None and event.node != pod.spec.node_name:
        event = None
    for found in _candidates(pod, event):
        if found.seconds >= created:
            return found
    source = TimeSource.CREATION if created else TimeSource.NONE
    return BindingTime(created, source, metadata.creation_timestamp or "")


def _candidates(pod: Pod, event: ScheduledPod | None) -> Iterator[BindingTime]:
    if event is not None and event.exact:
        yield BindingTime(event.at, TimeSource.EVENT, event.stamp, exact=True)
    condition = condition_of(pod)
    if condition is not None and condition.status == "True" and condition.last_transition_time:
        stamp = condition.last_transition_time
        yield BindingTime(parse_time(stamp), TimeSource.CONDITION, stamp)
    if event is not None:
        yield BindingTime(event.at, TimeSource.EVENT, event.stamp)
    stamps = [each.last_transition_time for each in pod.status.conditions if each.type in _BY_KUBELET]
    known = [(parse_time(stamp), stamp) for stamp in (pod.status.start_time, *stamps) if stamp]
    yield from (BindingTime(at, TimeSource.KUBELET, stamp) for at, stamp in sorted(known))
