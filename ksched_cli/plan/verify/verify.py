"""`verify`: the modelled scheduler compared with the one of the cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from msgspec.structs import replace as changed

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.workloads import ReplicaSet
from ksched_cli.config.model import PluginRef, PluginSet, SchedulerConfiguration
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.loaded_input import LoadedInput
from ksched_cli.plan.prepared import PreparedRun
from ksched_cli.plan.verify.evidence import gather_evidence
from ksched_cli.plan.verify.history import History, first_nodes, read_history
from ksched_cli.plan.verify.pending import PresentCluster, newest_events, pending_pods
from ksched_cli.plan.verify.replay import replay
from ksched_cli.plan.verify.results import Verification
from ksched_cli.sources.loaded import Loaded

GONE = "pods that are gone, of which there are FailedScheduling events"


class VerifyResult(Struct, frozen=True):
    verification: Verification
    coverage: Mapping[str, Any]
    warnings: tuple[str, ...]


def verify_input(source: LoadedInput) -> VerifyResult:
    """Schedule running pods again in a past cluster, and pending pods in the present cluster, and compare."""
    prepared, loaded = PreparedRun.of(source), source.loaded
    pods = [pod for pod in loaded.of(Pod) if source.wanted(pod)]
    runtimes = prepared.scheduler.runtimes
    history = _history(loaded, pods, runtimes)
    evidence = gather_evidence(loaded.of(Node), loaded.of(Pod), loaded.of(ReplicaSet), loaded.bindings, history)
    checked = tuple(replay(_past(source, history), history, loaded.of(Node), evidence))

    present = PresentCluster(prepared.place(detail=False, top=1))
    events, gone = newest_events(loaded.failures, loaded.of(Pod), source.wanted)
    pending, waiting = pending_pods(pods, events, runtimes, present, evidence)
    if prepared.scheduler.extenders is not None:
        # The coverage has how often each extender was called.
        present.run_to_the_end()
    left_out = history.left_out + waiting + Counter({GONE: gone})
    return VerifyResult(Verification(checked, tuple(pending), left_out), _coverage(prepared.coverage), source.warnings)


def _history(loaded: Loaded, wanted: Sequence[Pod], schedulers: Collection[str]) -> History:
    nodes = frozenset(node.metadata.name for node in loaded.of(Node))
    ids = frozenset(map(id, wanted))
    return read_history(loaded.of(Pod), ids, schedulers, nodes, loaded.bindings, loaded.preemptions)


def _past(source: LoadedInput, history: History) -> Scheduler:
    """A scheduler of the cluster as it was before the first of the placements: all pods of the history are pending."""
    loaded = source.loaded.copied()
    loaded.set_all(Pod, [_unplaced(each.pod) for each in (*history.tried, *history.others)])
    loaded.set_all(Node, first_nodes(history, loaded.of(Node)))
    spec = replace(source.spec, configuration=_without_post_filter(source.spec.configuration))
    return source.make_scheduler(loaded, spec)


def _coverage(coverage: Mapping[str, Any]) -> Mapping[str, Any]:
    """The coverage with a note that the PodScheduled conditions stand in for unread events."""
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
    none = PluginSet(disabled=(PluginRef("*"),))
    profiles = (
        changed(profile, plugins=changed(profile.plugins, post_filter=none)) for profile in configuration.profiles
    )
    return changed(configuration, profiles=tuple(profiles))
