"""Which of several pods is explained."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from msgspec import Struct

from ksched_cli.api.core import Pod
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.errors import Problem, UsageError
from ksched_cli.plan.named_pods import NamedPods
from ksched_cli.plan.results import RefusedPod


class PickedPod(Struct, frozen=True):
    """The pod to explain, and why it is this one."""

    key: str
    note: str = ""


def pick_named(scheduler: Scheduler, named: NamedPods) -> PickedPod:
    """Of several pods the first pending one that finds no place; the first one where none is pending."""
    if len(named.keys) == 1:
        return PickedPod(named.keys[0], f"It is the only pod of {named.workload}." if named.workload else "")
    waiting, unplaced = _waiting(scheduler, set(named.keys))
    count = f"{named.workload} has {len(named.keys)} pods"
    if len(waiting) == 1:
        return PickedPod(waiting[0], f"{count}: this one is pending.")
    if unplaced:
        return PickedPod(unplaced[0], f"{count}, and {_find_no_place(len(unplaced))}: this is the first of them.")
    if waiting:
        return PickedPod(waiting[0], f"{count}, {len(waiting)} pending: this is the first of them.")
    return PickedPod(min(named.keys), f"{count}, none of them pending: this is the first one by name.")


def _find_no_place(count: int) -> str:
    return f"{count} find{'s' if count == 1 else ''} no place"


def pick_pod(
    scheduler: Scheduler, made: Sequence[str], refused: Sequence[RefusedPod], wanted: Callable[[Pod], bool]
) -> PickedPod:
    """Without a name: of the pods that manifests make, or else of the pending ones that are wanted, the first that
    finds no place, or the first of all; of none one that was refused, or a running one that is wanted."""
    infos = [info for info in scheduler.cluster.pods.infos if info is not None]
    queue = scheduler.enqueue()
    candidates = {scheduler.cluster.pods.infos[row].key for row in (*queue.active, *queue.gated)}
    chosen = {each.key for each in infos if each.key in candidates and wanted(each.pod)}
    chosen &= set(made) if made else chosen
    if not chosen:
        if refused:
            return PickedPod(refused[0].pod)
        return _running(infos, wanted)
    waiting, unplaced = _waiting(scheduler, chosen)
    if len(waiting) == 1:
        return PickedPod(waiting[0])
    if unplaced:
        found = f"Of {len(waiting)} pending pods {_find_no_place(len(unplaced))}"
        return PickedPod(unplaced[0], f"{found}: this is the first of them. Name a pod to explain another one.")
    return PickedPod(waiting[0], f"All of {len(waiting)} pending pods find a place: this is the first of them.")


def _running(infos: Sequence[PodInfo], wanted: Callable[[Pod], bool]) -> PickedPod:
    """The first running pod that -n and -l select."""
    keys = sorted(each.key for each in infos if wanted(each.pod))
    if not keys or len(keys) == len(infos):
        raise UsageError(
            Problem("no pod is pending", hint="name a pod or a workload, or give -f FILE with a manifest of it")
        )
    return PickedPod(keys[0], f"None of the {len(keys)} selected pods is pending: this is the first one by name.")


def _waiting(scheduler: Scheduler, keys: Collection[str]) -> tuple[list[str], list[str]]:
    """Of these pods the pending ones in the order of the queue, and those of them that find no place."""
    infos, queue = scheduler.cluster.pods.infos, scheduler.enqueue()
    waiting = [infos[row].key for row in (*queue.active, *queue.gated) if infos[row].key in keys]
    if len(waiting) < 2:
        return waiting, waiting
    placed = {each.pod.key for each in scheduler.run(queue) if each.row is not None or each.nominated_node}
    return waiting, [key for key in waiting if key not in placed]
