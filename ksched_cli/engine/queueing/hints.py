"""Which pods an event may help: by the events that plugins registered for, and by their queueing hints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from ksched_cli.api.pod_facts import is_same_pod
from ksched_cli.cluster.undo import LoggedList, UndoLog
from ksched_cli.engine.queueing.before_hints import NearbyPods, is_reported
from ksched_cli.engine.queueing.queued_pod import QueuedPod
from ksched_cli.framework.diagnosis import EXTENDER
from ksched_cli.framework.events import Action, ClusterEvent, matches_any
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interfaces import Plugin
from ksched_cli.releases.engine_rules import EngineRules
from ksched_cli.releases.minors import DEFAULT
from ksched_cli.releases.plugin_names import NODE_RESOURCES_FIT

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
        self.asks = handle is None or handle.gates.enabled("SchedulerQueueingHints")
        rules = EngineRules.of(DEFAULT if handle is None else handle.release)
        # Plugins register for nothing: every event is news.
        self._every_event_counts = not rules.events_reach_some_plugins
        # One plugin alone registers.
        self._only_fit_registers = not rules.every_plugin_names_events
        sees_all_pods = self.asks and rules.all_assigned_pods_are_news
        self._nearby = None if handle is None or sees_all_pods else NearbyPods(handle)
        # Else a pod that met an error waits for an event.
        self.errors_back_off = self.asks or rules.errors_back_off
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
            if self.asks and not registered.skips_hint and not self._ask(registered, pod, old, new):
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

    def _ask(self, registered: Registration, pod: QueuedPod, old: Any, new: Any) -> bool:
        try:
            return registered.plugin.is_schedulable_after(registered.event, pod.info, old, new)
        except Exception as problem:  # whatever a plugin raises: an error counts as yes, as in kube-scheduler
            self.faults.append(
                f'queueing hint of plugin "{registered.plugin.name}" failed for {pod.info.key} at {registered.event}: '
                f"{type(problem).__name__}: {problem}"
            )
            return True
