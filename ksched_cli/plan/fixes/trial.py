"""A proposal tried in a world with controllers until nothing moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.json_patch import patch_pod, patch_template
from ksched_cli.api.pod_facts import is_terminal, pod_key
from ksched_cli.api.policy import PriorityClass
from ksched_cli.api.workloads import DaemonSet, Deployment, StatefulSet
from ksched_cli.controlplane.admission.priority import admit_priority
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.controlplane.store import identity_of, owner_identity
from ksched_cli.controlplane.workloads import top_owner
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.errors import KschedError
from ksched_cli.forks import Fork, forks_at_once
from ksched_cli.plan.explain.subject import Subject
from ksched_cli.plan.fixes.values import Proposal
from ksched_cli.sources.controllers.templates import defaulted
from ksched_cli.whatif.changes import Changes
from ksched_cli.world.results import Ending, FinalPod, WorldResult
from ksched_cli.world.world import World

# So many answers, one for each pending pod and node, make a run worth a copy of this process.
_WORTH_ANSWERS = 500_000
# Controllers that replace their pods when their template changes.
_ROLLING = (Deployment, StatefulSet, DaemonSet)


@dataclass(frozen=True)
class TrialResult:
    """What the world came to. `own` are the pods of the workload that are there in the end, `survives`: the pod or one
    in its place is among them; `preempted` are the pods that left for one of them, and `accepts_node`: one of them was
    on the wanted node, or could have been."""

    world: WorldResult
    own: tuple[FinalPod, ...]
    survives: bool
    preempted: tuple[str, ...]
    accepts_node: bool

    @property
    def fits(self) -> bool:
        """Whether every pod of the workload has a node."""
        return self.world.settled and self.survives and all(pod.node for pod in self.own)


class FixTrials:
    """One world for all trials, each of which begins with the cluster as it was read. `node` is the only node that the
    pod is to fit on."""

    def __init__(self, subject: Subject, node: str, scheduler: Scheduler) -> None:
        self._subject, self._node, self._scheduler = subject, node, scheduler
        self._accepted: list[Decision] = []
        self._world = World(scheduler, subject.loaded, decided=self._decided)
        self.store = self._world.plane.store
        self._owner = top_owner(self.store, subject.pod)
        self._workload = "/".join(self._owner)
        self._controller: Any = self.store.find(self._owner)
        owners = {owner_identity(pod) for pod in self.store.of(Pod) if top_owner(self.store, pod) == self._owner}
        self._owners = [each for each in owners if each is not None]
        # The run without any change, beside the trials.
        self._fork: Fork[TrialResult] | None = None

    @cached_property
    def unchanged(self) -> TrialResult:
        """What the world comes to without any change."""
        return self._run_unchanged() if self._fork is None else self._fork.result()

    def _run_unchanged(self) -> TrialResult:
        self._accepted = []
        with self._world.trial():
            return self._result(self._world.run(), rolls_out=False)

    def begin(self) -> None:
        """Begin the run without any change on another core, if it takes long. `end` comes after the trials."""
        answers = sum(1 for _ in self._world.loop.queue) * len(self._world.cluster.nodes)
        if answers >= _WORTH_ANSWERS and forks_at_once():
            self._world.plane.prepare()
            self._fork = Fork(self._run_unchanged)

    def end(self) -> None:
        if self._fork is not None:
            self._fork.stop()

    def run(self, proposal: Proposal) -> TrialResult | None:
        """None if the proposal cannot be carried out."""
        self._accepted = []
        with self._world.trial():
            try:
                template = self._patched_template(proposal) if proposal.operations else None
                self._world.apply(self._change(proposal, template))
                if template is None:
                    self._patch_pods(proposal)
                return self._result(self._world.run(), rolls_out=template is not None)
            except (KschedError, LookupError, msgspec.ValidationError):
                return None

    def _result(self, ending: Ending, *, rolls_out: bool) -> TrialResult:
        result = self._world.result(ending, moved_only=True)
        own = tuple(map(self._world.recorder.final_of, self._own_pods()))
        ours = {f"preempted by {pod.pod}" for pod in (*own, *result.final) if pod.workload == self._workload}
        preempted = tuple(pod.pod for pod in result.final if pod.state == "gone" and pod.why in ours)
        survives = any(self._subject.key in (pod.pod, pod.replaces) or rolls_out for pod in own)
        return TrialResult(result, own, survives, preempted, bool(self._accepted))

    def _own_pods(self) -> list[Pod]:
        """The pods of the workload, and of what the workload owns by now."""
        if owner_identity(self._subject.pod) is None:
            found = [self.store.current(self._subject.pod)]
            return [pod for pod in found if pod is not None and not is_terminal(pod)]
        dependents = self.store.dependents(self._controller) if self._controller is not None else []
        owners = dict.fromkeys([self._owner, *self._owners, *map(identity_of, dependents)])
        pods = [pod for owner in owners for pod in self.store.pods_of_identity(owner) if not is_terminal(pod)]
        return sorted(pods, key=pod_key)

    def _decided(self, decision: Decision) -> None:
        """Keep the decision if it is of a pod of the workload and would do with the wanted node."""
        row = self._scheduler.cluster.nodes.row_of.get(self._node)
        owner = owner_identity(decision.pod.pod)
        mine = decision.pod.uid == self._subject.uid or (owner and owner == owner_identity(self._subject.pod))
        if mine and decision.row is not None and (decision.row == row or row in decision.feasible):
            self._accepted.append(decision)

    def _patch_pods(self, proposal: Proposal) -> None:
        """Where no controller rolls out a template, the pods that wait are patched themselves."""
        pods = [self._subject.pod, *self._siblings()] if proposal.operations else []
        patched = [patch_pod(pod, proposal.operations) for pod in pods]
        admit_priority(patched, self.store.of(PriorityClass))
        for pod in patched:
            self._world.requeue(pod)

    def _patched_template(self, proposal: Proposal) -> Any:
        """None if the operations on the pod do not mean the same in the template of its workload."""
        item = self._controller
        if not isinstance(item, _ROLLING) or item.spec.template is None:
            return None
        template = defaulted(item.spec.template)
        if template.spec.containers != self._subject.pod.spec.containers:
            return None
        try:
            return patch_template(template, proposal.operations)
        except LookupError:
            return None

    def _siblings(self) -> list[Pod]:
        """Pending pods of the same controller."""
        pod = self._subject.pod
        owner = owner_identity(pod)
        others = [each for each in self._subject.loaded.of(Pod) if each is not pod and not each.spec.node_name]
        return [
            each for each in others if owner is not None and owner_identity(each) == owner and not is_terminal(each)
        ]

    def _change(self, proposal: Proposal, template: Any) -> Callable[[ControlPlane], None]:
        edits = Changes(edits=proposal.edits, namespace=self._subject.pod.metadata.namespace)

        def change(plane: ControlPlane) -> None:
            edits(plane)
            item = plane.store.find(self._owner) if template is not None else None
            if item is None:
                return
            plane.api.update(replace(item, spec=replace(item.spec, template=template)))
            for pod in self.deleted_by_hand(proposal):
                plane.api.delete(pod)

        return change

    def deleted_by_hand(self, proposal: Proposal) -> list[Pod]:
        """The pending pods that a person has to delete: the StatefulSet controller waits for a pod that is not ready,
        whatever its template is."""
        if not isinstance(self._controller, StatefulSet) or not proposal.operations:
            return []
        if self._patched_template(proposal) is None:
            return []
        return [pod for pod in self.store.pods_of(self._controller) if not pod.spec.node_name]
