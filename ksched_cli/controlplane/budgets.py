"""PodDisruptionBudgets: what the eviction API checks (pkg/registry/core/pod/storage/eviction.go), and the status that
the disruption controller writes (pkg/controller/disruption). The status is brought up to date without the delay that
the controller has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.object_facts import is_ready, is_terminal
from ksched_cli.api.selectors import Selector, selector_of_controller
from ksched_cli.api.workloads import (
    Deployment,
    PodDisruptionBudget,
    PodDisruptionBudgetStatus,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
    scaled_value,
    wanted_replicas,
)
from ksched_cli.controlplane.store import Identity, Store, identity_of, owner_identity

TOO_MANY_BUDGETS = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
_ALWAYS_ALLOW = "AlwaysAllow"
_SCALED: Mapping[str, type[ReplicaSet | StatefulSet | ReplicationController]] = {
    "ReplicaSet": ReplicaSet,
    "StatefulSet": StatefulSet,
    "ReplicationController": ReplicationController,
}
# Kinds of Kubernetes that do not implement the scale subresource.
_UNSCALABLE = ("DaemonSet", "Job", "Node")


class _NoScaleError(Exception):
    """The disruption controller cannot compute how many pods there should be."""


def needs_no_budget(pod: Pod) -> bool:
    """canIgnorePDB: the pod is finished, pending or terminating."""
    return is_terminal(pod) or pod.status.phase == "Pending" or pod.metadata.deletion_timestamp is not None


class Budgets:
    """The budgets of a cluster, and the eviction API's side of them (EvictionREST.Create and checkAndDecrement)."""

    def __init__(self, store: Store, update: Callable[[PodDisruptionBudget], object]) -> None:
        self._store, self._update = store, update
        self._selectors: dict[int, tuple[PodDisruptionBudget, Selector]] = {}
        for item in self._store.of(PodDisruptionBudget):
            if _has_no_status(item.status):
                self._store.put(replace(item, status=computed_status(self._store, item, self.covered(item))))

    def covering(self, pod: Pod) -> list[PodDisruptionBudget]:
        return [item for item in self._store.catalog.all(PodDisruptionBudget) if self.covers(item, pod)]

    def covers(self, item: PodDisruptionBudget, pod: Pod) -> bool:
        selector = self._selector(item)
        same_namespace = item.metadata.namespace == pod.metadata.namespace
        return same_namespace and selector.matches(pod.metadata.labels)

    def covered(self, item: PodDisruptionBudget) -> list[Pod]:
        return [pod for pod in self._store.of(Pod) if self.covers(item, pod) and not is_terminal(pod)]

    def _selector(self, item: PodDisruptionBudget) -> Selector:
        known = self._selectors.get(id(item.spec))
        if known is None:
            selector = selector_of_controller(item.spec.selector)
            # The item is kept so that the id of its spec stays its own.
            known = self._selectors[id(item.spec)] = item, selector
        return known[1]

    def refusal(self, pod: Pod) -> str:
        """Why the eviction API would refuse to evict the pod now, or an empty string."""
        return self._check(pod)[0]

    def take(self, pod: Pod) -> str:
        """Like `refusal`; an eviction that is allowed and counts is taken from the budget."""
        refusal, item = self._check(pod)
        if item is not None and not refusal:
            allowed = item.status.disruptions_allowed - 1
            self._update(replace(item, status=replace(item.status, disruptions_allowed=allowed)))
        return refusal

    def _check(self, pod: Pod) -> tuple[str, PodDisruptionBudget | None]:
        """`refusal`, and the budget that the eviction counts in."""
        covering = [] if needs_no_budget(pod) else self.covering(pod)
        if len(covering) > 1:
            return TOO_MANY_BUDGETS, None
        if not covering or not _counts(covering[0], pod):
            return "", None
        return _shortage(covering[0]), covering[0]


def _counts(item: PodDisruptionBudget, pod: Pod) -> bool:
    """Whether evicting the pod takes from the budget. The policy decides whether a pod that is not ready does."""
    if is_ready(pod):
        return True
    if item.spec.unhealthy_pod_eviction_policy == _ALWAYS_ALLOW:
        return False
    return not item.status.current_healthy >= item.status.desired_healthy > 0


def _shortage(item: PodDisruptionBudget) -> str:
    status = item.status
    if status.disruptions_allowed > 0:
        return ""
    if status.current_healthy <= status.desired_healthy:
        numbers = f"needs {status.desired_healthy} healthy pods and has {status.current_healthy} currently"
        return f"The disruption budget {item.metadata.name} {numbers}"
    return f"The disruption budget {item.metadata.name} does not allow evicting pods currently"


def _has_no_status(status: PodDisruptionBudgetStatus) -> bool:
    """The disruption controller has not written it yet."""
    return not (status.expected_pods or status.current_healthy or status.desired_healthy or status.disruptions_allowed)


def computed_status(store: Store, item: PodDisruptionBudget, covered: Sequence[Pod]) -> PodDisruptionBudgetStatus:
    """DisruptionController.trySync, or failSafe."""
    try:
        expected, desired = _expectation(store, item, covered)
    except _NoScaleError:
        return replace(item.status, disruptions_allowed=0)
    healthy = sum(
        is_ready(pod)
        and pod.metadata.deletion_timestamp is None
        and pod.metadata.name not in item.status.disrupted_pods
        for pod in covered
    )
    allowed = max(0, healthy - desired) if expected > 0 else 0
    return replace(
        item.status,
        expected_pods=expected,
        desired_healthy=desired,
        current_healthy=healthy,
        disruptions_allowed=allowed,
    )


def _expectation(store: Store, item: PodDisruptionBudget, covered: Sequence[Pod]) -> tuple[int, int]:
    """getExpectedPodCount: how many pods there should be, and how many of them healthy."""
    spec = item.spec
    if spec.max_unavailable is not None:
        expected = _expected_scale(store, covered)
        return expected, max(0, expected - scaled_value(spec.max_unavailable, expected, up=True))
    if isinstance(spec.min_available, int):
        return len(covered), spec.min_available
    if spec.min_available is not None:
        expected = _expected_scale(store, covered)
        return expected, scaled_value(spec.min_available, expected, up=True)
    return 0, 0


def _expected_scale(store: Store, covered: Iterable[Pod]) -> int:
    """getExpectedScale: the sum over the controllers of these pods. Pods without a controller do not count. A
    controller that is not in the input counts as many pods as it has."""
    scales: dict[Identity, int] = {}
    owners = Counter(owner for pod in covered if (owner := owner_identity(pod)) is not None)
    for owner in owners:
        top, scale = _scale(store, owner)
        scales[top] = scale if scale is not None else scales.get(top, 0) + len(store.pods_of_identity(owner))
    return sum(scales.values())


def _scale(store: Store, owner: Identity) -> tuple[Identity, int | None]:
    if owner[0] in _UNSCALABLE:
        raise _NoScaleError
    kind = _SCALED.get(owner[0])
    item: Any = store.get(kind, owner[2], owner[1]) if kind else None
    if item is None:
        return owner, None
    above = owner_identity(item)
    if isinstance(item, ReplicaSet) and above is not None and above[0] == "Deployment":
        deployment = store.get(Deployment, above[2], above[1])
        if deployment is not None:
            return identity_of(deployment), wanted_replicas(deployment)
    return owner, wanted_replicas(item)
