"""The DaemonSet pods that each node will have: what they request and which host ports they hold.

Mirrors getDaemonSetPods (provisioner.go), getDaemonOverhead, getDaemonHostPortUsage and isDaemonPodCompatible
(scheduler.go). The overhead is that of a NodePool, not of an instance type. Karpenter changes the pods while it
compares them: they tolerate PreferNoSchedule from the first NodePool on, and terms of required node affinity that a
NodePool does not meet are gone for all that come later.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from msgspec.structs import replace

from ksched_cli.api.core import Container, Pod, controller_of
from ksched_cli.api.workloads import DaemonSet, PodTemplateSpec
from ksched_cli.autoscale.karpenter.host_ports import HostPortUsage, PodKey, held_ports_of
from ksched_cli.autoscale.karpenter.preferences import Wishes
from ksched_cli.autoscale.karpenter.requirements import LabelRequirements
from ksched_cli.autoscale.karpenter.resources import requests_for_pods
from ksched_cli.autoscale.karpenter.taints import Taints, untolerated, with_preferences_tolerated


class DaemonPod:
    """The pod of a DaemonSet. A DaemonSet without a pod has one made of its template, which has no name."""

    def __init__(self, daemon_set: DaemonSet, live: Pod | None) -> None:
        template = (daemon_set.spec.template or PodTemplateSpec()).spec
        self.pod = live if live is not None else _from_template(daemon_set)
        self.key: PodKey = (self.pod.metadata.namespace, self.pod.metadata.name) if live is not None else ("", "")
        self.amounts = requests_for_pods([self.pod])
        self.has_claims = any(
            each.resources.claims for each in self.pod.spec.containers + self.pod.spec.init_containers
        )
        wishes, of_template = Wishes.of(self.pod.spec), Wishes.of(template)
        # The controller replaces the node affinity of its pods by one for a node.
        self._wishes = wishes if of_template.required is None else replace(wishes, required=of_template.required)

    def is_compatible(self, taints: Taints, requirements: LabelRequirements, known: frozenset[str]) -> bool:
        """isDaemonPodCompatible: the terms of node affinity are tried in turn, and those that fail are dropped."""
        tolerations = with_preferences_tolerated(self._wishes.tolerations)
        if tolerations is not None:
            self._wishes = replace(self._wishes, tolerations=tolerations)
        if untolerated(taints, self._wishes.tolerations):
            return False
        while not requirements.is_compatible(self._wishes.strict_requirements(), known):
            if self._wishes.required is None or len(self._wishes.required) <= 1:
                return False
            self._wishes = replace(self._wishes, required=self._wishes.required[1:])
        return True

    def runs_on(self, taints: Taints, labels: LabelRequirements) -> bool:
        """isDaemonPodCompatibleWithNode: the first term of node affinity only."""
        return not untolerated(taints, self._wishes.tolerations) and labels.is_compatible(
            self._wishes.strict_requirements()
        )


def _from_template(daemon_set: DaemonSet) -> Pod:
    """PodForDaemonSet: limits count as requests where there are none."""
    spec = (daemon_set.spec.template or PodTemplateSpec()).spec
    containers, init = ([_with_limits(each) for each in given] for given in (spec.containers, spec.init_containers))
    return Pod(spec=replace(spec, containers=tuple(containers), init_containers=tuple(init)))


def _with_limits(container: Container) -> Container:
    resources = container.resources
    requests = {**resources.limits, **resources.requests}
    return replace(container, resources=replace(resources, requests=requests))


def daemon_pods(daemon_sets: Iterable[DaemonSet], pods: Iterable[Pod]) -> list[DaemonPod]:
    """One pod for each DaemonSet: its newest, or one of its template."""
    newest: dict[tuple[str, str], Pod] = {}
    for pod in pods:
        owner = controller_of(pod.metadata)
        if owner is not None and owner.kind == "DaemonSet":
            key = (pod.metadata.namespace, owner.uid or owner.name)
            if key not in newest or _created(pod) > _created(newest[key]):
                newest[key] = pod
    found = []
    for each in daemon_sets:
        meta = each.metadata
        live = newest.get((meta.namespace, meta.uid)) if meta.uid else None
        found.append(DaemonPod(each, live or newest.get((meta.namespace, meta.name))))
    return [each for each in found if not each.has_claims]


def _created(pod: Pod) -> datetime:
    return datetime.fromisoformat((pod.metadata.creation_timestamp or "0001-01-01T00:00:00Z").replace("Z", "+00:00"))


def reserved_ports(daemons: Iterable[DaemonPod]) -> HostPortUsage:
    """The host ports of these pods. Pods without a name overwrite one another."""
    usage = HostPortUsage()
    for each in daemons:
        usage.set(each.key, held_ports_of(each.pod))
    return usage
