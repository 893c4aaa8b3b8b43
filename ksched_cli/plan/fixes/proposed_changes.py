"""What a proposal changes in a world: objects by edits, the template of a workload, or pods that wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.json_patch import patch_pod, patch_template
from ksched_cli.api.pod_facts import is_terminal
from ksched_cli.api.policy import PriorityClass
from ksched_cli.api.workloads import DaemonSet, Deployment, StatefulSet
from ksched_cli.controlplane.admission.priority import admit_priority
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.controlplane.store import owner_identity
from ksched_cli.controlplane.workloads import top_owner
from ksched_cli.plan.explain.subject import Subject
from ksched_cli.plan.fixes.values import Proposal
from ksched_cli.sources.controllers.templates import defaulted
from ksched_cli.whatif.changes import Changes
from ksched_cli.world.world import World

# Controllers that replace their pods when their template changes.
_ROLLING = (Deployment, StatefulSet, DaemonSet)


class ProposedChanges:
    """The changes of proposals for one pod. `owner` is the workload of the pod, `controller` its object, if there is
    one."""

    def __init__(self, subject: Subject, world: World) -> None:
        self._subject, self._world, self._store = subject, world, world.plane.store
        self.owner = top_owner(self._store, subject.pod)
        self.controller: Any = self._store.find(self.owner)

    def make(self, proposal: Proposal) -> bool:
        """Make the changes in the world. Returns whether the workload rolls out another template."""
        template = self._patched_template(proposal) if proposal.operations else None
        self._world.apply(self._change(proposal, template))
        if template is None:
            self._patch_pods(proposal)
        return template is not None

    def deleted_by_hand(self, proposal: Proposal) -> list[Pod]:
        """The pending pods that a person has to delete: the StatefulSet controller waits for a pod that is not ready,
        whatever its template is."""
        if not isinstance(self.controller, StatefulSet) or not proposal.operations:
            return []
        if self._patched_template(proposal) is None:
            return []
        return [pod for pod in self._store.pods_of(self.controller) if not pod.spec.node_name]

    def _change(self, proposal: Proposal, template: Any) -> Callable[[ControlPlane], None]:
        edits = Changes(edits=proposal.edits, namespace=self._subject.pod.metadata.namespace)

        def change(plane: ControlPlane) -> None:
            edits(plane)
            item = plane.store.find(self.owner) if template is not None else None
            if item is None:
                return
            plane.api.update(replace(item, spec=replace(item.spec, template=template)))
            for pod in self.deleted_by_hand(proposal):
                plane.api.delete(pod)

        return change

    def _patched_template(self, proposal: Proposal) -> Any:
        """None if the operations on the pod do not mean the same in the template of its workload."""
        item = self.controller
        if not isinstance(item, _ROLLING) or item.spec.template is None:
            return None
        template = defaulted(item.spec.template)
        if template.spec.containers != self._subject.pod.spec.containers:
            return None
        try:
            return patch_template(template, proposal.operations)
        except LookupError:
            return None

    def _patch_pods(self, proposal: Proposal) -> None:
        """Where no controller rolls out a template, the pods that wait are patched themselves."""
        pods = [self._subject.pod, *self._siblings()] if proposal.operations else []
        patched = [patch_pod(pod, proposal.operations) for pod in pods]
        admit_priority(patched, self._store.of(PriorityClass))
        for pod in patched:
            self._world.requeue(pod)

    def _siblings(self) -> list[Pod]:
        """Pending pods of the same controller."""
        pod = self._subject.pod
        owner = owner_identity(pod)
        others = [each for each in self._subject.loaded.of(Pod) if each is not pod and not each.spec.node_name]
        return [
            each for each in others if owner is not None and owner_identity(each) == owner and not is_terminal(each)
        ]
