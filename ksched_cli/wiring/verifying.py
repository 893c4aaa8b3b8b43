"""The modelled scheduler beside the one of the cluster."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, BinaryIO

from msgspec.structs import replace as changed

from ksched_cli.wiring import Setup, assemble, gather, make_scheduler

if TYPE_CHECKING:
    from ksched_cli.api.core import Pod
    from ksched_cli.config.model import SchedulerConfiguration
    from ksched_cli.plan.verify_results import Verification

GONE = "pods that are gone, of which there are FailedScheduling events"


@dataclass(frozen=True)
class Verified:
    verification: Verification
    coverage: dict[str, Any]
    warnings: tuple[str, ...]


def verify(setup: Setup, stdin: BinaryIO | None = None) -> Verified:
    """What runs is tried again in a cluster of its own; what is pending, in the cluster as it is."""
    from ksched_cli.api.core import Node, Pod
    from ksched_cli.plan.verdicts import newest_events, pending_pods
    from ksched_cli.plan.verify import placed_pods, replay
    from ksched_cli.plan.verify_results import Verification

    gathered = gather(replace(setup, events=True), stdin)
    prepared = assemble(setup, gathered)
    pods = [pod for pod in gathered.loaded.of(Pod) if prepared.wanted(pod)]
    nodes = frozenset(node.metadata.name for node in gathered.loaded.of(Node))
    schedulers = frozenset(prepared.scheduler.runtimes)
    placed, left_out = placed_pods(pods, schedulers, nodes)

    again = gathered.loaded.copied()
    tried = {id(each.pod) for each in placed}
    again.objects[Pod] = [_unplaced(pod) if id(pod) in tried else pod for pod in again.of(Pod) if _counts(pod, tried)]
    setting = replace(gathered.setting, configuration=_without_post_filter(gathered.setting.configuration))
    checked = tuple(replay(make_scheduler(setup, again, setting), placed))

    simulation = prepared.simulate()
    outcomes = {outcome.pod: outcome for outcome in simulation.outcomes}
    gated = {each.pod: each for each in simulation.gated}
    events, gone = newest_events(gathered.loaded.failures, gathered.loaded.of(Pod), gathered.wanted)
    pending, waiting = pending_pods(pods, events, schedulers, outcomes, gated)
    left_out = Counter(left_out) + waiting + Counter({GONE: gone})
    return Verified(Verification(checked, tuple(pending), left_out), _coverage(prepared.coverage), prepared.warnings)


def _coverage(coverage: dict[str, Any]) -> dict[str, Any]:
    """Without events there are still the conditions."""
    missing = coverage.get("missing", {})
    if "Event" not in missing:
        return coverage
    reason = f"{missing['Event']}: verdicts are those of the PodScheduled conditions"
    return {**coverage, "missing": {**missing, "Event": reason}}


def _counts(pod: Pod, tried: set[int]) -> bool:
    """Pods that wait now were not there then, or not in the way."""
    return bool(pod.spec.node_name) or id(pod) in tried


def _unplaced(pod: Pod) -> Pod:
    return changed(
        pod, spec=changed(pod.spec, node_name=""), status=changed(pod.status, phase="Pending", nominated_node_name="")
    )


def _without_post_filter(configuration: SchedulerConfiguration) -> SchedulerConfiguration:
    from ksched_cli.config.model import PluginRef, PluginSet

    none = PluginSet(disabled=(PluginRef("*"),))
    profiles = (
        changed(profile, plugins=changed(profile.plugins, post_filter=none)) for profile in configuration.profiles
    )
    return changed(configuration, profiles=tuple(profiles))
