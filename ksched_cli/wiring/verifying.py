"""The modelled scheduler beside the one of the cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, BinaryIO

from msgspec.structs import replace as changed

from ksched_cli.wiring import RunOptions, assemble, gather, make_scheduler
from ksched_cli.wiring.emptiness import check_namespace

if TYPE_CHECKING:
    from ksched_cli.api.core import Pod
    from ksched_cli.config.model import SchedulerConfiguration
    from ksched_cli.engine.scheduler import Scheduler
    from ksched_cli.plan.verify.evidence import Evidence
    from ksched_cli.plan.verify.history import History
    from ksched_cli.plan.verify.results import Verification
    from ksched_cli.sources.loaded import Loaded
    from ksched_cli.wiring.reading import LoadedInput

GONE = "pods that are gone, of which there are FailedScheduling events"


@dataclass(frozen=True)
class VerifyResult:
    verification: Verification
    coverage: dict[str, Any]
    warnings: tuple[str, ...]


def verify(setup: RunOptions, stdin: BinaryIO | None = None) -> VerifyResult:
    """What runs is tried again in a cluster of its own; what is pending, in the cluster as it is."""
    from ksched_cli.api.core import Node, Pod
    from ksched_cli.plan.verify.pending import newest_events, pending_pods
    from ksched_cli.plan.verify.replay import replay
    from ksched_cli.plan.verify.results import Verification

    gathered = gather(replace(setup, events=True), stdin)
    check_namespace(setup, gathered.loaded)
    prepared = assemble(setup, gathered)
    loaded = gathered.loaded
    pods = [pod for pod in loaded.of(Pod) if prepared.wanted(pod)]
    history = _history(loaded, pods, prepared.scheduler.runtimes)
    evidence = _evidence(loaded, history)
    checked = tuple(replay(_past(setup, gathered, history), history, loaded.of(Node), evidence))

    simulation = prepared.simulate()
    outcomes = {outcome.pod: outcome for outcome in simulation.outcomes}
    gated = {each.pod: each for each in simulation.gated}
    events, gone = newest_events(loaded.failures, loaded.of(Pod), gathered.wanted)
    pending, waiting = pending_pods(pods, events, prepared.scheduler.runtimes, outcomes, gated, evidence)
    left_out = history.left_out + waiting + Counter({GONE: gone})
    return VerifyResult(
        Verification(checked, tuple(pending), left_out), _coverage(prepared.coverage), prepared.warnings
    )


def _history(loaded: Loaded, wanted: Sequence[Pod], schedulers: Collection[str]) -> History:
    from ksched_cli.api.core import Node, Pod
    from ksched_cli.plan.verify.history import read_history

    nodes = frozenset(node.metadata.name for node in loaded.of(Node))
    ids = frozenset(map(id, wanted))
    return read_history(loaded.of(Pod), ids, schedulers, nodes, loaded.bindings, loaded.preemptions)


def _evidence(loaded: Loaded, history: History) -> Evidence:
    from ksched_cli.api.core import Node, Pod
    from ksched_cli.api.workloads import ReplicaSet
    from ksched_cli.plan.verify.evidence import gather_evidence

    return gather_evidence(loaded.of(Node), loaded.of(Pod), loaded.of(ReplicaSet), loaded.bindings, history)


def _past(setup: RunOptions, gathered: LoadedInput, history: History) -> Scheduler:
    """A scheduler of the cluster as it was before the first of the placements: all pods of the history are pending."""
    from ksched_cli.api.core import Node, Pod
    from ksched_cli.plan.verify.history import first_nodes

    loaded = gathered.loaded.copied()
    loaded.set_all(Pod, [_unplaced(each.pod) for each in (*history.tried, *history.others)])
    loaded.set_all(Node, first_nodes(history, loaded.of(Node)))
    configuration = _without_post_filter(gathered.setting.configuration)
    return make_scheduler(setup, loaded, replace(gathered.setting, configuration=configuration))


def _coverage(coverage: dict[str, Any]) -> dict[str, Any]:
    """Without events there are still the conditions."""
    missing = coverage.get("missing", {})
    if "Event" not in missing:
        return coverage
    reason = f"{missing['Event']}: verdicts are those of the PodScheduled conditions"
    return {**coverage, "missing": {**missing, "Event": reason}}


def _unplaced(pod: Pod) -> Pod:
    return changed(
        pod,
        metadata=changed(pod.metadata, deletion_timestamp=None),
        spec=changed(pod.spec, node_name=""),
        status=changed(pod.status, phase="Pending", nominated_node_name=""),
    )


def _without_post_filter(configuration: SchedulerConfiguration) -> SchedulerConfiguration:
    from ksched_cli.config.model import PluginRef, PluginSet

    none = PluginSet(disabled=(PluginRef("*"),))
    profiles = (
        changed(profile, plugins=changed(profile.plugins, post_filter=none)) for profile in configuration.profiles
    )
    return changed(configuration, profiles=tuple(profiles))
