"""The cluster as it is once what was decided has happened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.core import Pod, PodCondition, PodStatus
from ksched_cli.api.pod_facts import pod_key
from ksched_cli.api.resource import ResourceClaim
from ksched_cli.api.storage import PersistentVolume, PersistentVolumeClaim
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.place import place
from ksched_cli.plan.results import GatedPod, IgnoredPod, PodOutcome
from ksched_cli.sources.edits.editor import Editor
from ksched_cli.sources.edits.evictions import evict
from ksched_cli.sources.loaded import Loaded

# What a binding changes besides the pod.
_BOUND_WITH_PODS: tuple[type[Any], ...] = (PersistentVolume, PersistentVolumeClaim, ResourceClaim)
# Victims are always of lower priority than whom they left for, so that it ends by itself well before.
MAX_ROUNDS = 100

Make = Callable[[Loaded], Scheduler]


@dataclass(frozen=True)
class Aftermath:
    """The cluster once every pending pod has been tried: the last cycle of each by name, every cycle that preempted,
    and the scheduler as it was left."""

    loaded: Loaded
    scheduler: Scheduler
    outcomes: Mapping[str, PodOutcome]
    gated: tuple[GatedPod, ...]
    ignored: tuple[IgnoredPod, ...]
    preempting: tuple[PodOutcome, ...]


def play_out(loaded: Loaded, make: Make) -> Aftermath:
    """Every pending pod; again for as long as preemption makes room, and new pods for it to be filled."""
    outcomes: dict[str, PodOutcome] = {}
    preempting: list[PodOutcome] = []
    for _ in range(MAX_ROUNDS):
        scheduler = make(loaded)
        placement = place(scheduler)
        tried = list(placement.outcomes)
        outcomes |= {outcome.pod: outcome for outcome in tried}
        loaded = carried_out(loaded, scheduler, tried)
        new = [outcome for outcome in tried if outcome.preemption and outcome.preemption.victims]
        preempting += new
        if not new:
            break
    there = {pod_key(pod) for pod in loaded.of(Pod)}
    kept = {pod: outcome for pod, outcome in outcomes.items() if pod in there}
    return Aftermath(loaded, scheduler, kept, placement.gated, placement.ignored, tuple(preempting))


def carried_out(loaded: Loaded, scheduler: Scheduler, outcomes: Iterable[PodOutcome]) -> Loaded:
    """Placed pods run on their nodes with their volumes and devices; victims have left, and their controllers have
    made others. Whoever they left for is still to be placed. What was loaded stays as it is."""
    editor = Editor(loaded)
    catalog = scheduler.cluster.catalog
    for kind in _BOUND_WITH_PODS:
        editor.loaded.set_all(kind, catalog.all(kind))
    told = {outcome.pod: outcome for outcome in outcomes}
    victims = {name for outcome in told.values() if outcome.preemption for name in outcome.preemption.victims}
    for pod in list(editor.loaded.of(Pod)):
        outcome = told.get(pod_key(pod))
        if outcome is not None and outcome.node:
            editor.loaded.put(_running(pod, outcome.node))
        elif outcome is not None and outcome.nominated_node:
            status = replace(pod.status, nominated_node_name=outcome.nominated_node)
            editor.loaded.put(replace(pod, status=status))
    leaving = [pod for pod in editor.loaded.of(Pod) if pod_key(pod) in victims]
    if leaving:
        evict(editor, leaving)
    return editor.loaded


def _running(pod: Pod, node: str) -> Pod:
    """Bound, started and ready as soon as it was made: when else, nobody knows."""
    since = pod.metadata.creation_timestamp
    ready = PodCondition("Ready", "True", last_transition_time=since)
    status: PodStatus = replace(
        pod.status, phase="Running", start_time=since, nominated_node_name="", conditions=(ready,)
    )
    return replace(pod, spec=replace(pod.spec, node_name=node), status=status)
