"""What brought a pod back before queueing hints, and still does where their gate is off (scheduling_queue.go)."""

from __future__ import annotations

from typing import Any

from ksched_cli.api.core import Namespace, Pod
from ksched_cli.cluster.affinity_terms import TermParser
from ksched_cli.engine.queueing.queued_pod import QueuedPod
from ksched_cli.framework.events import ASSIGNED_POD, Action, ClusterEvent
from ksched_cli.framework.handle import Handle
from ksched_cli.releases.engine_rules import EngineRules
from ksched_cli.releases.plugin_names import POD_TOPOLOGY_SPREAD

_COMES_OR_CHANGES = Action.ADD | Action.UPDATE

# The actions that informers of old minors report, by kind.
_REPORTED_BY_INFORMERS = {
    ASSIGNED_POD: Action.ALL,
    "Node": _COMES_OR_CHANGES,
    "PersistentVolume": _COMES_OR_CHANGES,
    "PersistentVolumeClaim": _COMES_OR_CHANGES,
    "CSINode": _COMES_OR_CHANGES,
    "Service": Action.ALL,
    "StorageClass": Action.ADD,
}


def is_reported(event: ClusterEvent) -> bool:
    """Whether old minors made anything of the event."""
    return bool(_REPORTED_BY_INFORMERS.get(event.resource, Action(0)) & event.action)


class NearbyPods:
    """A pod that comes to a node, or changes there, was news for those alone that want to be near it."""

    def __init__(self, handle: Handle) -> None:
        self._parser = TermParser()
        self._catalog = handle.cluster.catalog
        self._resizes = handle.gates.enabled("InPlacePodVerticalScaling")
        # getUnschedulablePodsWithCrossTopologyTerm; before, getUnschedulablePodsWithMatchingAffinityTerm.
        self._spreads = EngineRules.of(handle.release).all_assigned_pods_are_news

    def reaches(self, waiting: QueuedPod, event: ClusterEvent, new: Any) -> bool:
        if event.resource != ASSIGNED_POD or event.action is Action.DELETE or not isinstance(new, Pod):
            return True
        if self._resizes and Action.UPDATE_POD_SCALE_DOWN in event.action:
            return True
        namespace = new.metadata.namespace
        if self._spreads and POD_TOPOLOGY_SPREAD in waiting.rejectors and namespace == waiting.info.namespace:
            return True
        known = self._catalog.get(Namespace, namespace)
        labels = {} if known is None else known.metadata.labels
        return any(
            (namespace in term.namespaces or term.namespace_selector.matches(labels))
            and term.selector.matches(new.metadata.labels)
            for term in self._parser.of(waiting.info).required_affinity
        )
