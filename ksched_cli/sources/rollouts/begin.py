"""The rollouts that `kubectl apply` sets off: manifests against the cluster as it was before them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.selectors import compile_selector, selector_from_map
from ksched_cli.api.workloads import (
    DaemonSet,
    Deployment,
    Job,
    PodTemplateSpec,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from ksched_cli.sources.controllers.existing import Existing, active
from ksched_cli.sources.controllers.expand import WORKLOADS, expand
from ksched_cli.sources.controllers.made import Made
from ksched_cli.sources.controllers.naming import uid_of
from ksched_cli.sources.controllers.templates import copied, defaulted
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.manifests import in_order, put_objects
from ksched_cli.sources.rollouts import daemon_sets
from ksched_cli.sources.rollouts.daemon_sets import DaemonSetRollout
from ksched_cli.sources.rollouts.deployments import DeploymentRollout
from ksched_cli.sources.rollouts.rollout import Rollout, members_of
from ksched_cli.sources.rollouts.simple import Count, Once
from ksched_cli.sources.rollouts.stateful_sets import StatefulSetRollout

# What `kubectl rollout restart` writes into a template, to make it another one.
_RESTARTED = "kubectl.kubernetes.io/restartedAt"

_Identity = tuple[type[Struct], str, str]


def begin(cluster: Loaded, manifests: Loaded, *, restart: bool = False) -> list[Rollout]:
    """Lay the manifests over the cluster, pods left out, and say what their controllers have to do. `restart`: every
    workload is taken to have another template than before."""
    return _Beginning(cluster, manifests, restart).rollouts()


class _Beginning:
    def __init__(self, cluster: Loaded, manifests: Loaded, restart: bool) -> None:
        kinds = (Deployment, StatefulSet, DaemonSet, ReplicaSet, ReplicationController)
        self._before: dict[_Identity, Any] = {_identity(item): item for kind in kinds for item in cluster.of(kind)}
        put_objects(cluster, manifests)
        self._cluster, self._manifests, self._restart = cluster, manifests, restart
        self._existing = Existing(cluster.of(Pod), cluster.of(ReplicaSet), cluster.of(Node))
        self._existing.names.update((pod.metadata.namespace, pod.metadata.name) for pod in manifests.of(Pod))
        self._pods = {_identity(pod): pod for pod in cluster.of(Pod)}

    def rollouts(self) -> list[Rollout]:
        found = [self._begin(item) for item in in_order(self._manifests) if isinstance(item, (Pod, *WORKLOADS))]
        for rollout in found:
            self._cluster.warnings += rollout.doubts
        return found

    def _begin(self, item: Any) -> Rollout:
        rollout = _BEGINNINGS.get(type(item), _Beginning._once)(self, item)
        rollout.manifest = item
        return rollout

    def _deployment(self, item: Deployment) -> Rollout:
        before = self._before.get(_identity(item))
        pods = list(self._existing.deployment_pods(item.metadata, compile_selector(item.spec.selector)))
        item = self._with_live_fields(item, before, pods)
        if before is not None and item.spec.strategy is None:
            item.spec.strategy = before.spec.strategy
        current = "" if self._changed(item, before) else _newest(pods)
        rollout = DeploymentRollout(item, self._existing, current)
        if pods and before is None and not self._existing.replica_sets_of(item.metadata):
            self._warn_of_unknown(rollout, "deployments,replicasets")
        return rollout

    def _stateful_set(self, item: StatefulSet) -> Rollout:
        before = self._before.get(_identity(item))
        pods = self._existing.pods_of("StatefulSet", item.metadata, compile_selector(item.spec.selector))
        item = self._with_live_fields(item, before, pods)
        if before is not None:
            item.spec.update_strategy = item.spec.update_strategy or before.spec.update_strategy
            item.spec.pod_management_policy = item.spec.pod_management_policy or before.spec.pod_management_policy
        revision = "" if before is None or self._restart else before.status.update_revision
        rollout = StatefulSetRollout(item, pods, self._existing, before.spec.template if before else None)
        rollout.mark(changed=self._changed(item, before), update_revision=revision)
        if rollout.members and before is None:
            self._warn_of_unknown(rollout, "statefulsets")
        return rollout

    def _daemon_set(self, item: DaemonSet) -> Rollout:
        before = self._before.get(_identity(item))
        item = copied(item)
        self._touch(item)
        if before is not None:
            item.spec.update_strategy = item.spec.update_strategy or before.spec.update_strategy
        members = members_of(self._existing.pods_of("DaemonSet", item.metadata, compile_selector(item.spec.selector)))
        for member in members:
            member.revision = daemon_sets.OLD if self._changed(item, before) else daemon_sets.NEW
        rollout = DaemonSetRollout(item, members, self._existing)
        if members and before is None:
            self._warn_of_unknown(rollout, "daemonsets")
        return rollout

    def _count(self, item: ReplicaSet | ReplicationController) -> Rollout:
        if isinstance(item, ReplicaSet):
            selector = compile_selector(item.spec.selector)
        else:
            template = item.spec.template or PodTemplateSpec()
            selector = selector_from_map(item.spec.selector or template.metadata.labels)
        pods = self._existing.pods_of(type(item).__name__, item.metadata, selector)
        before = self._before.get(_identity(item))
        return Count(self._with_live_fields(item, before, pods), members_of(pods), self._existing)

    def _pod(self, item: Pod) -> Rollout:
        """One that waits is made anew, as it is written now; one that runs stays, for apply cannot move it."""
        before = self._pods.get(_identity(item))
        item.metadata.uid = item.metadata.uid or uid_of("Pod", item.metadata.namespace, item.metadata.name)
        if before is None or not before.spec.node_name:
            self._cluster.discard(Pod, lambda pod: _identity(pod) == _identity(item))
            return Once(item, Made([item]))
        rollout = Once(item, Made(), members_of([before]))
        rollout.notes.append(f"{rollout.label} is on node {before.spec.node_name} already: it stays there")
        return rollout

    def _once(self, item: Any) -> Rollout:
        """Jobs have pods already, if they have been applied before."""
        made = expand(item, self._existing)
        owned = self._existing.owned_by("Job", item.metadata) if isinstance(item, Job) else []
        return Once(item, made, members_of(owned))

    def _with_live_fields(self, item: Any, before: Any, pods: list[Pod]) -> Any:
        """`kubectl apply` leaves the number of replicas alone where the manifest has none: an autoscaler sets it."""
        item = copied(item)
        if item.spec.replicas is None:
            item.spec.replicas = before.spec.replicas if before is not None else len(active(pods)) or 1
        self._touch(item)
        return item

    def _touch(self, item: Any) -> None:
        if self._restart and not isinstance(item, ReplicaSet | ReplicationController):
            item.spec.template.metadata.annotations[_RESTARTED] = "now"

    def _changed(self, item: Any, before: Any) -> bool:
        """Whether the template is another one, as far as it is read. An input without the workload does not tell."""
        return before is None or defaulted(item.spec.template) != defaulted(before.spec.template)

    def _warn_of_unknown(self, rollout: Rollout, kinds: str) -> None:
        text = f"{rollout.label} has pods, but the cluster's input does not have it: all of them are taken as outdated"
        rollout.doubts.append(f"{text} (add {kinds} to the dump)")


_BEGINNINGS: Mapping[type[Struct], Callable[[_Beginning, Any], Rollout]] = {
    Deployment: _Beginning._deployment,
    StatefulSet: _Beginning._stateful_set,
    DaemonSet: _Beginning._daemon_set,
    ReplicaSet: _Beginning._count,
    ReplicationController: _Beginning._count,
    Pod: _Beginning._pod,
}


def _identity(item: Any) -> _Identity:
    return type(item), item.metadata.namespace, item.metadata.name


def _newest(pods: list[Pod]) -> str:
    """The replica set of the youngest pods, where pods are all that is known."""
    owners: Counter[str] = Counter()
    stamps: dict[str, str] = {}
    for pod in pods:
        name = next((owner.name for owner in pod.metadata.owner_references if owner.controller), "")
        owners[name] += 1
        stamps[name] = max(stamps.get(name, ""), pod.metadata.creation_timestamp or "")
    return max(owners, key=lambda name: (stamps[name], owners[name]), default="")
