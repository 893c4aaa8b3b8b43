"""Where every pod is after one cycle of each pending pod.

A run of a world has a recorder for this (`world/recorder.py`); one cycle for each pod needs no world."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from ksched_cli.api.core import Pod
from ksched_cli.cluster.columns import NOWHERE
from ksched_cli.controlplane.store import Store
from ksched_cli.controlplane.workloads import workload_name
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.results.outcomes import GatedPod, PodOutcome
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.changes import GonePod
from ksched_cli.world.results import FinalPod


def final_pods(
    scheduler: Scheduler,
    outcomes: Mapping[str, PodOutcome],
    gated: Iterable[GatedPod],
    gone: Iterable[GonePod],
    wanted: Callable[[Pod], bool],
) -> tuple[FinalPod, ...]:
    """Every pod of the cluster, and the pods that the changes before the cycles have deleted. `outcomes` has, by key,
    the pods that have no node after their cycle."""
    store = Store(Loaded(), scheduler.cluster.catalog)
    held_back = {each.pod: each for each in gated}
    infos = scheduler.cluster.pods.infos
    rows = (row for row, info in enumerate(infos) if row not in scheduler.cluster.pods.gone and wanted(info.pod))
    there = _pods_there(rows, scheduler, store, outcomes, held_back)
    deleted = (FinalPod(each.pod, each.workload, "gone", why=each.why) for each in gone)
    return tuple(sorted([*there, *deleted], key=lambda pod: (pod.pod, pod.state != "gone")))


def _pods_there(
    rows: Iterable[int],
    scheduler: Scheduler,
    store: Store,
    outcomes: Mapping[str, PodOutcome],
    gated: Mapping[str, GatedPod],
) -> Iterator[FinalPod]:
    cluster = scheduler.cluster
    names, node_row = cluster.nodes.names, cluster.pods.node_row
    for row in rows:
        info = cluster.pods.infos[row]
        workload, had_node = workload_name(store, info.pod), info.pod.spec.node_name
        if node_row[row] != NOWHERE or had_node:
            node = had_node or names[node_row[row]]
            leaving = bool(cluster.pods.terminating[row])
            state = "leaving" if leaving else "running" if had_node else "scheduled"
            yield FinalPod(info.key, workload, state, node, moved=leaving or not had_node)
        elif info.key in gated:
            held = gated[info.key]
            yield FinalPod(info.key, workload, "gated", message=", ".join(held.reasons), gated_by=held.plugin)
        elif info.pod.spec.scheduler_name not in scheduler.runtimes:
            yield FinalPod(info.key, workload, "ignored")
        else:
            yield _without_node(info.key, workload, outcomes.get(info.key))


def _without_node(pod: str, workload: str, outcome: PodOutcome | None) -> FinalPod:
    if outcome is None:
        return FinalPod(pod, workload, "pending")
    state = "nominated" if outcome.nominated_node else outcome.result
    return FinalPod(
        pod,
        workload,
        state,
        nominated_node=outcome.nominated_node,
        message=outcome.message,
        unschedulable_plugins=outcome.unschedulable_plugins,
    )
