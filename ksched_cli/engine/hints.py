"""Which pods an event may help: by the events that plugins registered for, and by their queueing hints
(backend/queue.PriorityQueue.isPodWorthRequeuing).

A `QueuedPod` is a pod on its way through the queues (framework.QueuedPodInfo). The time of `VirtualClock` passes when
`advance_to` is called. `NearbyPods` is the rule that brought a pod back before queueing hints, and still does where
their gate is off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from math import inf
from typing import Any, NamedTuple

from ksched_cli.api.core import Namespace, Pod
from ksched_cli.api.object_facts import is_same_pod
from ksched_cli.cluster.affinity_terms import TermParser
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.undo import Logged, LoggedList, UndoLog
from ksched_cli.engine.decision import EXTENDER
from ksched_cli.framework.events import ASSIGNED_POD, Action, ClusterEvent, matches_any
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interfaces import Plugin
from ksched_cli.framework.status import Status
from ksched_cli.releases.engine_rules import EngineRules
from ksched_cli.releases.minors import DEFAULT
from ksched_cli.releases.plugin_names import NODE_RESOURCES_FIT, POD_TOPOLOGY_SPREAD


class VirtualClock(Logged):
    """Seconds since the start of the run."""

    def __init__(self, now: float = 0.0, undo: UndoLog | None = None) -> None:
        self.undo = undo or UndoLog()
        self.now = now

    def advance_to(self, moment: float) -> None:
        """Forwards only."""
        self.now = max(self.now, moment)


class QueuedPod(Logged):
    """`timestamp` is when the pod came to the queue, anew after every attempt, and `flushed` when it was last taken for
    having stayed too long; of pods that came at the same moment the lowest `turn` came first. What it was rejected by
    decides which events may bring it back; a pod without any was not rejected, something went wrong with it. What is
    not set has the value of the class."""

    row: int
    info: PodInfo
    timestamp: float
    flushed: float = -inf
    turn: int = 0
    attempts: int = 0
    unschedulable_count: int = 0
    consecutive_errors: int = 0
    first_tried: float | None = None
    backoff_expiration: float | None = None
    unschedulable_plugins: frozenset[str] = frozenset()
    pending_plugins: frozenset[str] = frozenset()
    # What PreEnqueue holds it back with.
    gate: Status | None = None
    gating_events: tuple[ClusterEvent, ...] = ()

    def __init__(self, row: int, info: PodInfo, timestamp: float, **others: Any) -> None:
        self.row, self.info, self.timestamp = row, info, timestamp
        for name, value in others.items():
            setattr(self, name, value)

    @property
    def waits_since(self) -> float:
        """Since when it has stayed among the unschedulable pods, or since the last flush took it."""
        return max(self.timestamp, self.flushed)

    @property
    def gated(self) -> bool:
        """PreEnqueue holds it back."""
        return self.gate is not None

    @property
    def gating_plugin(self) -> str:
        return self.gate.plugin if self.gate is not None else ""

    @property
    def gating_message(self) -> str:
        return self.gate.message if self.gate is not None else ""

    @property
    def rejectors(self) -> frozenset[str]:
        return self.unschedulable_plugins | self.pending_plugins

    @property
    def backoff_count(self) -> int:
        """How many attempts the backoff is reckoned by: those that failed by an error count on their own."""
        return self.consecutive_errors or self.unschedulable_count


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
        return any(term.matches(new, labels) for term in self._parser.of(waiting.info).required_affinity)


_NODE_TAINT = ClusterEvent("Node", Action.UPDATE_NODE_TAINT)


class Strategy(IntEnum):
    """queueingStrategy."""

    SKIP = 0
    AFTER_BACKOFF = 1
    IMMEDIATELY = 2


class Registration(NamedTuple):
    """The events that a plugin registered for. `skips_hint`: its hint is not called."""

    event: ClusterEvent
    plugin: Plugin
    skips_hint: bool = False


def registrations(plugins: Iterable[Plugin]) -> tuple[Registration, ...]:
    """buildQueueingHintMap for one profile."""
    found: list[Registration] = []
    for plugin in plugins:
        events = plugin.events_to_register()
        found += [Registration(event, plugin) for event in events]
        of_nodes = Action(0)
        for event in events:
            if event.resource == "Node":
                of_nodes |= event.action
        if Action.ADD in of_nodes and Action.UPDATE_NODE_TAINT not in of_nodes:
            # kube-scheduler does this too, since its own checks may keep the news of a new node from a plugin.
            found.append(Registration(_NODE_TAINT, plugin, skips_hint=True))
    return tuple(found)


class _Extender(Plugin):
    """Stands for the extenders, which have no hints: every event wakes the pods that they rejected."""

    name = EXTENDER


class Hints:
    """The registrations of all profiles. `handle` is what the plugins have."""

    def __init__(self, by_profile: Mapping[str, Iterable[Plugin]], handle: Handle | None = None) -> None:
        # Whether plugins give hints. Else every event that one registered for is worth a try, and any during a cycle.
        self.enabled = handle is None or handle.gates.enabled("SchedulerQueueingHints")
        rules = EngineRules.of(DEFAULT if handle is None else handle.release)
        # Plugins register for nothing: every event is news.
        self._every_event_counts = not rules.events_reach_some_plugins
        # One plugin alone registers.
        self._only_fit_registers = not rules.every_plugin_names_events
        sees_all_pods = self.enabled and rules.all_assigned_pods_are_news
        self._nearby = None if handle is None or sees_all_pods else NearbyPods(handle)
        # Else a pod that met an error waits for an event.
        self.errors_back_off = self.enabled or rules.errors_back_off
        extender = () if handle is None or handle.extenders is None else (_Extender(None, handle),)
        self._by_profile = {name: registrations([*extender, *plugins]) for name, plugins in by_profile.items()}
        self._interest: dict[ClusterEvent, bool] = {}
        self._known: dict[tuple[str, ClusterEvent], tuple[tuple[str, Registration], ...]] = {}
        # Hints that failed, for the warnings: the pod is tried again as if the hint had returned Queue.
        self.faults: list[str] = LoggedList(UndoLog() if handle is None else handle.cluster.undo)

    def of_interest(self, event: ClusterEvent) -> bool:
        """isEventOfInterest."""
        known = self._interest.get(event)
        if known is None:
            every = (each.event for found in self._by_profile.values() for each in found)
            wanted = is_reported(event) if self._only_fit_registers else matches_any(event, every)
            known = self._interest[event] = event.wildcard or wanted
        return known

    def reaches(self, pod: QueuedPod, event: ClusterEvent, new: Any) -> bool:
        """Whether the pod is looked at at all."""
        return self._nearby is None or self._nearby.reaches(pod, event, new)

    def events_of(self, plugin: str) -> tuple[ClusterEvent, ...]:
        """What a plugin has registered for, in whichever profile."""
        every = (each for found in self._by_profile.values() for each in found)
        return tuple(dict.fromkeys(each.event for each in every if each.plugin.name == plugin))

    def worth_requeuing(self, pod: QueuedPod, event: ClusterEvent, old: Any, new: Any) -> Strategy:
        """isPodWorthRequeuing: calls only the plugins that rejected the pod. One that waits for something
        (Pending) sends the pod straight to the active queue."""
        rejectors = pod.rejectors
        if not rejectors:
            return Strategy.AFTER_BACKOFF
        if event.wildcard:
            for_another = new is not None and not is_same_pod(new, pod.info.pod)
            return Strategy.SKIP if for_another else Strategy.AFTER_BACKOFF
        if self._every_event_counts or (self._only_fit_registers and rejectors != {NODE_RESOURCES_FIT}):
            return Strategy.AFTER_BACKOFF
        best = Strategy.SKIP
        for name, registered in self._matching(pod.info.pod.spec.scheduler_name, event):
            if name not in rejectors:
                continue
            if self.enabled and not registered.skips_hint and not self._call_hint(registered, pod, old, new):
                continue
            if name in pod.pending_plugins:
                return Strategy.IMMEDIATELY
            best = Strategy.AFTER_BACKOFF
            if not pod.pending_plugins:
                return best
        return best

    def _matching(self, profile: str, event: ClusterEvent) -> Sequence[tuple[str, Registration]]:
        """Worked out once: the same few events come for thousands of pods."""
        known = self._known.get((profile, event))
        if known is None:
            registered = self._by_profile.get(profile, ())
            known = tuple((each.plugin.name, each) for each in registered if each.event.matches(event))
            self._known[profile, event] = known
        return known

    def _call_hint(self, registered: Registration, pod: QueuedPod, old: Any, new: Any) -> bool:
        try:
            return registered.plugin.is_schedulable_after(registered.event, pod.info, old, new)
        except Exception as problem:  # whatever a plugin raises: an error counts as yes, as in kube-scheduler
            self.faults.append(
                f'queueing hint of plugin "{registered.plugin.name}" failed for {pod.info.key} at {registered.event}: '
                f"{type(problem).__name__}: {problem}"
            )
            return True
