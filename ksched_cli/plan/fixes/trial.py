"""A proposal tried in a world with controllers until nothing moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.json_patch import patch_pod, patch_template
from ksched_cli.api.pod_facts import is_terminal
from ksched_cli.api.workloads import DaemonSet, Deployment, StatefulSet
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.controlplane.store import Store, owner_identity
from ksched_cli.controlplane.workloads import top_owner
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.errors import KschedError
from ksched_cli.plan.explain.subject import Subject
from ksched_cli.plan.fixes.values import Proposal
from ksched_cli.sources.controllers.templates import defaulted
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.changes import Changes
from ksched_cli.world.results import FinalPod, WorldResult
from ksched_cli.world.world import World

Make = Callable[[Loaded], Scheduler]
# Controllers that replace their pods when their template changes.
_ROLLING = (Deployment, StatefulSet, DaemonSet)
NOTHING = Proposal(())


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
    """Each trial has a world of its own. `node` is the only node that the pod is to fit on."""

    def __init__(self, subject: Subject, node: str, make: Make) -> None:
        self._subject, self._node, self._make = subject, node, make
        store = Store(subject.loaded)
        self._owner = top_owner(store, subject.pod)
        self._workload = "/".join(self._owner)
        self._controller: Any = store.find(self._owner)

    def run(self, proposal: Proposal) -> TrialResult | None:
        """None if the proposal cannot be carried out."""
        try:
            loaded, template = self._patched(proposal)
            scheduler = self._make(loaded)
            accepted: list[Decision] = []
            world = World(scheduler, loaded, decided=lambda each: accepted.extend(self._accepting(each, scheduler)))
            world.apply(self._changes(proposal, template))
            result = world.result(world.run())
        except (KschedError, LookupError, msgspec.ValidationError):
            return None
        scheduler.close()
        own = tuple(pod for pod in result.final if pod.workload == self._workload and pod.state != "gone")
        ours = {f"preempted by {pod.pod}" for pod in result.final if pod.workload == self._workload}
        preempted = tuple(pod.pod for pod in result.final if pod.state == "gone" and pod.why in ours)
        survives = any(self._subject.key in (pod.pod, pod.replaces) or template is not None for pod in own)
        return TrialResult(result, own, survives, preempted, bool(accepted))

    def _accepting(self, decision: Decision, scheduler: Scheduler) -> list[Decision]:
        """The decision, if it is of a pod of the workload and would do with the wanted node."""
        row = scheduler.cluster.nodes.row_of.get(self._node)
        owner = owner_identity(decision.pod.pod)
        mine = decision.pod.uid == self._subject.uid or (owner and owner == owner_identity(self._subject.pod))
        accepts = decision.row is not None and (decision.row == row or row in decision.feasible)
        return [decision] if mine and accepts else []

    def _patched(self, proposal: Proposal) -> tuple[Loaded, Any]:
        """The cluster to begin with, and the new template of the workload. Where no controller rolls out a template,
        the pods that wait are patched themselves."""
        loaded = self._subject.loaded
        if not proposal.operations:
            return loaded, None
        template = self._patched_template(proposal)
        if template is not None:
            return loaded, template
        loaded = loaded.copied()
        for pod in [self._subject.pod, *self._siblings()]:
            loaded.put(patch_pod(pod, proposal.operations))
        return loaded, None

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

    def _changes(self, proposal: Proposal, template: Any) -> Callable[[ControlPlane], None]:
        edits = Changes(edits=proposal.edits, namespace=self._subject.pod.metadata.namespace)

        def change(plane: ControlPlane) -> None:
            edits(plane)
            item = plane.store.find(self._owner) if template is not None else None
            if item is None:
                return
            plane.api.update(replace(item, spec=replace(item.spec, template=template)))
            if isinstance(item, StatefulSet):
                # The controller waits for a pod that is not ready, whatever its template is.
                for pod in plane.store.pods_of(item):
                    if not pod.spec.node_name:
                        plane.api.delete(pod)

        return change
