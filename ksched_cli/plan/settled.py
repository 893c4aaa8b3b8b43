"""The cluster as it is once what was decided has happened."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ksched_cli.api.core import Pod, PodCondition, PodStatus
from ksched_cli.api.pod_facts import pod_key
from ksched_cli.api.resource import ResourceClaim
from ksched_cli.api.storage import PersistentVolume, PersistentVolumeClaim
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.results import PodOutcome
from ksched_cli.sources.edits.editor import Editor
from ksched_cli.sources.edits.evictions import evict
from ksched_cli.sources.loaded import Loaded

# What a binding changes besides the pod.
_BOUND_WITH_PODS = (PersistentVolume, PersistentVolumeClaim, ResourceClaim)


def settled(loaded: Loaded, scheduler: Scheduler, outcomes: Iterable[PodOutcome]) -> Loaded:
    """Placed pods run on their nodes with their volumes and devices; victims have left, and their controllers have
    made others. Whoever they left for is still to be placed. What was loaded stays as it is."""
    editor = Editor(loaded)
    catalog = scheduler.cluster.catalog
    for kind in _BOUND_WITH_PODS:
        if editor.loaded.of(kind):
            editor.loaded.objects[kind] = list(catalog.all(kind))
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
