"""PodDisruptionBudgets as the eviction API and the disruption controller keep them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.meta import OwnerReference
from ksched_cli.api.pod_facts import is_terminal, pod_key
from ksched_cli.api.policy import PodDisruptionBudget, PodDisruptionBudgetStatus
from ksched_cli.api.selectors import Selector, SelectorError, compile_selector
from ksched_cli.api.workloads import Deployment, ReplicaSet, ReplicationController, StatefulSet
from ksched_cli.plan.drain.results import BudgetChange
from ksched_cli.sources.controllers.existing import controller_of
from ksched_cli.sources.loaded import Loaded

TOO_MANY_BUDGETS = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
_ALWAYS_ALLOW = "AlwaysAllow"
_CONTROLLERS: Mapping[str, type[ReplicaSet | StatefulSet | ReplicationController]] = {
    "ReplicaSet": ReplicaSet,
    "StatefulSet": StatefulSet,
    "ReplicationController": ReplicationController,
}


def is_ready(pod: Pod) -> bool:
    """podutil.IsPodReady; of a pod that comes without any conditions, whether it runs."""
    if not pod.status.conditions:
        return bool(pod.spec.node_name) and pod.status.phase in ("Running", "")
    return any(each.type == "Ready" and each.status == "True" for each in pod.status.conditions)


def needs_no_budget(pod: Pod) -> bool:
    """canIgnorePDB: nobody counts on it any more, or not yet."""
    return is_terminal(pod) or pod.status.phase == "Pending" or pod.metadata.deletion_timestamp is not None


class Budget:
    """One budget as the drain goes on: evictions take from it, successors that have a place give back."""

    def __init__(self, item: PodDisruptionBudget, selector: Selector, status: PodDisruptionBudgetStatus) -> None:
        self.item, self._selector = item, selector
        self.desired, self._expected = status.desired_healthy, status.expected_pods
        self.healthy, self.allowed = status.current_healthy, status.disruptions_allowed
        self._before = self.healthy, self.allowed
        self._lowest = self.healthy
        self._stale = False
        self.waiting: dict[str, None] = {}

    @property
    def name(self) -> str:
        return self.item.metadata.name

    def covers(self, pod: Pod) -> bool:
        return self.item.metadata.namespace == pod.metadata.namespace and self._selector.matches(pod.metadata.labels)

    def refusal(self, pod: Pod) -> str:
        """Why the eviction API keeps the pod, or nothing (EvictionREST.Create and checkAndDecrement)."""
        if not is_ready(pod) and self._lets_unready_go():
            return ""
        if self.allowed > 0:
            return ""
        if self.healthy <= self.desired:
            numbers = f"needs {self.desired} healthy pods and has {self.healthy} currently"
            text = f"The disruption budget {self.name} {numbers}"
        else:
            text = f"The disruption budget {self.name} does not allow evicting pods currently"
        return f"{text}: {', '.join(self.waiting)} {_WAIT[len(self.waiting) > 1]} for a place" if self.waiting else text

    def _lets_unready_go(self) -> bool:
        policy = self.item.spec.unhealthy_pod_eviction_policy
        return policy == _ALWAYS_ALLOW or (self.healthy >= self.desired > 0)

    def evicted(self, pod: Pod) -> None:
        """An eviction that the budget let through. One that did not count takes nothing away."""
        if is_ready(pod):
            self.allowed -= 1
            self.healthy -= 1
        elif not self._lets_unready_go():
            self.allowed -= 1
        self._stale = True
        self._lowest = min(self._lowest, self.healthy)

    def lost(self, pod: Pod) -> None:
        """The scheduler preempted it, which asks no budget."""
        if is_ready(pod):
            self.healthy -= 1
            self._lowest = min(self._lowest, self.healthy)
            self._sync()

    def gained(self, pod: Pod) -> None:
        """A new pod runs and counts as ready."""
        self.waiting.pop(pod_key(pod), None)
        self.healthy += 1
        self._sync()

    def catch_up(self) -> None:
        """The disruption controller comes by after pods have left: an unready one took nothing away in the end."""
        if self._stale:
            self._sync()

    def _sync(self) -> None:
        """updatePdbStatus."""
        self._stale = False
        self.allowed = max(0, self.healthy - self.desired) if self._expected > 0 else 0

    def status(self) -> PodDisruptionBudgetStatus:
        return replace(self.item.status, disruptions_allowed=self.allowed, current_healthy=self.healthy)

    def change(self) -> BudgetChange:
        healthy, allowed = self._before
        return BudgetChange(
            f"{self.item.metadata.namespace}/{self.name}",
            self.desired,
            healthy,
            self.healthy,
            allowed,
            self.allowed,
            self._lowest,
        )


_WAIT = ("waits", "wait")


class Budgets:
    """All budgets of a cluster."""

    def __init__(self, loaded: Loaded) -> None:
        pods = [pod for pod in loaded.of(Pod) if not is_terminal(pod)]
        scales = _Scales(loaded, pods)
        self.all = [
            Budget(item, selector, _status(item, selector, pods, scales))
            for item in loaded.of(PodDisruptionBudget)
            if (selector := _selector(item)) is not None
        ]

    def covering(self, pod: Pod) -> list[Budget]:
        return [budget for budget in self.all if budget.covers(pod)]


def _selector(item: PodDisruptionBudget) -> Selector | None:
    """One that cannot be read matches nothing."""
    try:
        return compile_selector(item.spec.selector)
    except SelectorError:
        return None


def _status(
    item: PodDisruptionBudget, selector: Selector, pods: Sequence[Pod], scales: _Scales
) -> PodDisruptionBudgetStatus:
    """As the disruption controller left it; where it has not come by yet, as it would."""
    known = item.status
    if known.expected_pods or known.current_healthy or known.desired_healthy or known.disruptions_allowed:
        return known
    covered = [
        pod
        for pod in pods
        if pod.metadata.namespace == item.metadata.namespace and selector.matches(pod.metadata.labels)
    ]
    expected, desired = _expectation(item, covered, scales)
    healthy = sum(
        is_ready(pod) and pod.metadata.deletion_timestamp is None and pod.metadata.name not in known.disrupted_pods
        for pod in covered
    )
    allowed = max(0, healthy - desired) if expected > 0 else 0
    return replace(
        known, expected_pods=expected, desired_healthy=desired, current_healthy=healthy, disruptions_allowed=allowed
    )


def _expectation(item: PodDisruptionBudget, covered: Sequence[Pod], scales: _Scales) -> tuple[int, int]:
    """getExpectedPodCount: how many pods there should be, and how many of them healthy."""
    spec = item.spec
    if spec.max_unavailable is not None:
        expected = scales.total(covered)
        return expected, max(0, expected - _scaled(spec.max_unavailable, expected))
    if isinstance(spec.min_available, int):
        return len(covered), spec.min_available
    if spec.min_available is not None:
        expected = scales.total(covered)
        return expected, _scaled(spec.min_available, expected)
    return 0, 0


def _scaled(value: int | str, total: int) -> int:
    """intstr.GetScaledValueFromIntOrPercent, rounded up."""
    if isinstance(value, int):
        return value
    number = value.removesuffix("%")
    return math.ceil(int(number) * total / 100) if number.isdecimal() else 0


@dataclass(frozen=True)
class _Owner:
    kind: str
    namespace: str
    name: str


class _Scales:
    """How many pods each controller wants. Where a dump has not got the controller, as many as it has."""

    def __init__(self, loaded: Loaded, pods: Iterable[Pod]) -> None:
        self._loaded = loaded
        owners = (_owner(pod.metadata.namespace, controller_of(pod.metadata)) for pod in pods)
        self._found = Counter(owner for owner in owners if owner is not None)

    def total(self, covered: Iterable[Pod]) -> int:
        """getExpectedScale: the sum over the controllers of these pods; those without one do not count."""
        scales: dict[_Owner, int] = {}
        for pod in covered:
            owner = _owner(pod.metadata.namespace, controller_of(pod.metadata))
            if owner is not None and owner not in scales:
                top, scale = self._scale(owner)
                scales[top] = scale if scale is not None else scales.get(top, 0) + self._found[owner]
        return sum(scales.values())

    def _scale(self, owner: _Owner) -> tuple[_Owner, int | None]:
        kind = _CONTROLLERS.get(owner.kind)
        item = self._loaded.named(kind, owner.name, owner.namespace) if kind else None
        if item is None:
            return owner, None
        above = _owner(owner.namespace, controller_of(item.metadata))
        if isinstance(item, ReplicaSet) and above is not None and above.kind == "Deployment":
            deployment = self._loaded.named(Deployment, above.name, above.namespace)
            if deployment is not None:
                return above, _replicas(deployment.spec.replicas)
        return owner, _replicas(item.spec.replicas)


def _owner(namespace: str, reference: OwnerReference | None) -> _Owner | None:
    return _Owner(reference.kind, namespace, reference.name) if reference else None


def _replicas(replicas: int | None) -> int:
    return 1 if replicas is None else replicas
