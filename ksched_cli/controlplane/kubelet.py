"""The kubelets: a bound pod becomes Ready, a deleted pod is removed after its grace period.

The kubelet of a node whose condition Ready is Unknown does neither: its pods do not become Ready, and deleted pods stay
Terminating until something deletes them with a grace period of 0. Such a kubelet does not come back in a run.

A kubelet may refuse a pod that is bound to its node (pkg/kubelet/lifecycle/predicate.go). `kubelet_refusal` has its
reason; the world goes on as if the pod ran, since its controller would make pods that are refused without end.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.core import Node, Pod, PodCondition, controller_of
from ksched_cli.api.object_facts import is_terminal, kubelet_reports, uid_of_pod
from ksched_cli.api.quantity import parse_quantity
from ksched_cli.api.selectors import RequiredNodeAffinity, SelectorError
from ksched_cli.api.workloads import Job, ReplicaSet
from ksched_cli.cluster.undo import LoggedDict
from ksched_cli.controlplane.admission.quantities import Amount, pod_requests
from ksched_cli.controlplane.api_server import ApiServer, grace_seconds
from ksched_cli.controlplane.draws import FIRST_READY
from ksched_cli.controlplane.store import Identity, owner_identity
from ksched_cli.controlplane.work import WorkQueue
from ksched_cli.releases.plugin_names import NODE_AFFINITY

# How long a bound pod takes to become Ready. No input contains it; readiness probes are not modelled.
START_SECONDS = 0.2
# The label of pods of StatefulSets and DaemonSets.
_REVISION = "controller-revision-hash"


class Kubelets:
    """All kubelets. Each node that exists has one; it works if the node reports."""

    def __init__(self, api: ApiServer, queue: WorkQueue) -> None:
        self._api, self._store, self._queue = api, api.store, queue
        # When terminating pods will be gone, by uid.
        self.ends: dict[str, float] = LoggedDict(api.undo)
        # By moment: the workloads of which pods start then that are rolled out, and those that start last.
        self._rollouts: dict[float, tuple[str, ...]] = LoggedDict(api.undo)
        self._waiting: dict[float, tuple[str, ...]] = LoggedDict(api.undo)
        # Without a scheduler no time passes for the pods of the input: those that terminate hold their room.
        for pod in () if api.places_everything else self._store.of(Pod):
            if pod.metadata.deletion_timestamp is not None and not is_terminal(pod):
                self._end(pod)
        api.watch(self._changed)

    def _changed(self, old: Any, new: Any) -> None:
        if not isinstance(new, Pod):
            return
        if new.metadata.deletion_timestamp is not None:
            if (old is None or old.metadata.deletion_timestamp is None) and not is_terminal(new):
                self._end(new)
        elif new.spec.node_name and (old is None or not old.spec.node_name) and not is_terminal(new):
            moment, rollout = self._queue.clock.now + START_SECONDS, self._rollout_of(new)
            if rollout is None:
                self._queue.at(moment, lambda: self._start(new))
                return
            name, known = "/".join(rollout), self._rollouts.get(moment, ())
            if name not in known:
                self._rollouts[moment] = (*known, name)
            self._queue.at(moment, lambda: self._start_in_turn(new, moment, name), is_alone=True)

    def _rollout_of(self, pod: Pod) -> Identity | None:
        """The workload if the pod takes the place of one of an earlier template. Kubelets report one pod after the
        other, and the controller goes on with its rollout after the first, before the next is Ready."""
        owner = controller_of(pod.metadata)
        if owner is None:
            return None
        identity = owner.kind, pod.metadata.namespace, owner.name
        if owner.kind != "ReplicaSet":
            first = self._store.first_of(identity) or pod
            is_new = first.metadata.labels.get(_REVISION) != pod.metadata.labels.get(_REVISION)
            return identity if is_new else None
        own = self._store.get(ReplicaSet, owner.name, pod.metadata.namespace)
        above = owner_identity(own) if own is not None else None
        sets = self._store.owned_by_identity(above, ReplicaSet) if above is not None else ()
        return above if any(each.spec.replicas and each.metadata.name != owner.name for each in sets) else None

    def _start_in_turn(self, pod: Pod, moment: float, workload: str) -> None:
        """Chance decides which of the workloads that are rolled out has a Ready pod first, if pods of several start at
        one moment. A workload whose turn comes later waits until the others have had theirs."""
        workloads = self._rollouts.pop(moment, ())
        if len(workloads) > 1:
            first = self._api.draws.at_once(FIRST_READY, workloads)[0]
            self._waiting[moment] = workloads[: workloads.index(first)]
        if workload not in self._waiting.get(moment, ()):
            self._start(pod)
            return
        self._queue.at(moment, lambda: self._start(pod), is_alone=True)

    def _start(self, pod: Pod) -> None:
        """Running and Ready, if the pod and its node are still there."""
        current = self._store.same_pod(pod)
        if current is None or current.metadata.deletion_timestamp or is_terminal(current):
            return
        if self.has_kubelet(current):
            self._api.replace(current, running(current, self._api.timestamp()))

    def _end(self, pod: Pod) -> None:
        """The containers stop when the grace period is over at the latest, and the pod goes. A pod whose node is gone
        is left to the pod garbage collector, and a pod whose node does not report stays."""
        uid = uid_of_pod(pod)
        grace = self._api.graces.get(uid, grace_seconds(pod))
        moment = self._queue.clock.now + (grace if pod.spec.node_name else 0.0)
        self.ends[uid] = moment
        self._queue.at(moment, lambda: self._remove(pod))

    def _remove(self, pod: Pod) -> None:
        current = self._store.same_pod(pod)
        if current is None:
            return
        if not current.spec.node_name or self.has_kubelet(current):
            self._api.delete_pod(current, grace=0)

    def has_kubelet(self, pod: Pod) -> bool:
        """Whether the node of the pod exists and its kubelet reports."""
        node = self._store.get(Node, pod.spec.node_name)
        return node is not None and kubelet_reports(node)

    def finish_jobs(self, jobs: Iterable[Job] | None = None) -> bool:
        """Complete every pod of these Jobs that runs, by default of all. Returns whether there was one."""
        done = [
            pod
            for job in (self._store.of(Job) if jobs is None else jobs)
            for pod in self._store.pods_of(job)
            if pod.status.phase == "Running" and pod.metadata.deletion_timestamp is None
        ]
        for pod in done:
            self._api.update(replace(pod, status=replace(pod.status, phase="Succeeded", conditions=())))
        return bool(done)


def running(pod: Pod, since: str) -> Pod:
    """The pod with the status of one that runs and is Ready since then."""
    conditions = _running_since(since)
    if pod.status.conditions:
        others = (each for each in pod.status.conditions if each.type not in ("Ready", "PodScheduled"))
        conditions = (*others, *conditions)
    status = replace(pod.status, phase="Running", start_time=since, nominated_node_name="", conditions=conditions)
    return Pod(pod.metadata, pod.spec, status)


@lru_cache(maxsize=16)
def _running_since(since: str) -> tuple[PodCondition, ...]:
    """The conditions of all pods that become Ready at this time."""
    return tuple(PodCondition(each, "True", last_transition_time=since) for each in ("PodScheduled", "Ready"))


_OS_LABEL = "kubernetes.io/os"


def kubelet_refusal(pod: Pod, node: Node, others: Iterable[Pod] | None) -> str:
    """Why the kubelet of the node does not admit the pod (predicateAdmitHandler.Admit); empty if it does. `others` are
    the pods that run there; None for a pod that kube-scheduler has placed, which does not check the os."""
    own = node.metadata.labels.get(_OS_LABEL, "")
    wanted = pod.spec.node_selector.get(_OS_LABEL, own)
    if own and wanted != own:
        return "PodOSSelectorNodeLabelDoesNotMatch: the kubernetes.io/os label does not match the node's"
    if own and pod.spec.os is not None and pod.spec.os.name not in ("", own):
        return f"PodOSNotSupported: the pod is for {pod.spec.os.name}, and the node has {own}"
    if others is None:
        return ""
    requests, taken = _requests(pod), [_requests(each) for each in others]
    there = {**node.status.capacity, **node.status.allocatable}
    for name, request in {"pods": Fraction(1), **requests}.items():
        used = sum((each.get(name, Fraction(0)) for each in taken), Fraction(0)) if name != "pods" else len(taken)
        # The kubelet leaves out extended resources that its node does not have.
        if name in there and request and used + request > (room := parse_quantity(there[name])):
            figures = f"requested: {_text(request)}, used: {_text(used)}, capacity: {_text(room)}"
            return f"OutOf{name}: node didn't have enough resource: {name}, {figures}"
    try:
        if not RequiredNodeAffinity.of(pod.spec).selects(node):
            return f"{NODE_AFFINITY}: node(s) didn't match Pod's node affinity/selector"
    except SelectorError as mistake:
        return f"{NODE_AFFINITY}: {mistake}"
    # A pod that does not tolerate a taint with NoExecute is deleted by the taint eviction controller.
    return ""


def _requests(pod: Pod) -> dict[str, Fraction]:
    found = {name: amount.value for name, amount in pod_requests(pod).items()}
    for name, quantity in pod.spec.overhead.items():
        found[name] = found.get(name, Fraction(0)) + parse_quantity(quantity)
    return found


def _text(amount: Fraction | int) -> str:
    return str(Amount(Fraction(amount)))
