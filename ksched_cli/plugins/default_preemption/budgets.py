"""PodDisruptionBudgets that an eviction would violate (filterPodsWithPDBViolation)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ksched_cli.api.policy import PodDisruptionBudget
from ksched_cli.api.selectors import Selector, SelectorError, compile_selector
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import BoolColumn, RowColumn
from ksched_cli.plugins.default_preemption.rules import DefaultPreemptionRules


class PreemptionBudgets:
    """The budgets of a cluster; where they are not `heeded` there are none. Which of them cover a pod is computed once
    for every set of labels."""

    def __init__(self, cluster: Cluster, *, heeded: bool = True) -> None:
        self._cluster = cluster
        self._heeded = heeded
        self._version = -1
        self._selectors: list[tuple[str, Selector]] = []
        self._allowed: list[int] = []
        self._disrupted: list[frozenset[str]] = []
        self._covering: dict[tuple[int, int], tuple[int, ...]] = {}
        self._counting = DefaultPreemptionRules.of(cluster.release).counting_of_evictions

    def violating(self, pod_rows: RowColumn, owner: RowColumn) -> BoolColumn:
        """Whose eviction goes beyond what a budget allows, when those before it of the same owner leave as well."""
        self._read()
        violating = np.zeros(len(pod_rows), dtype=np.bool_)
        if not self._allowed:
            return violating
        left, whose = self._allowed.copy(), -1
        for index, (pod_row, node) in enumerate(zip(pod_rows.tolist(), owner.tolist(), strict=True)):
            if node != whose:
                left, whose = self._allowed.copy(), node
            violating[index] = self._counted(pod_row, left)
        return violating

    def _counted(self, pod_row: int, left: list[int]) -> bool:
        """Whether the pod's eviction violates a budget. What it uses of the budgets is taken from `left`."""
        violates = False
        for budget in self._covering_pod(pod_row):
            if self._counting == "all":
                left[budget] -= 1
                violates |= left[budget] < 0
            elif left[budget] <= 0:
                return True
            elif self._counting == "up to the first":
                left[budget] -= 1
        return violates

    def violating_units(self, units: Iterable[Sequence[int]]) -> list[bool]:
        """The same for units of pods that leave together. A pod counts up to the first budget that it violates, and a
        unit up to its first such pod (filterVictimsWithPDBViolation)."""
        self._read()
        left = self._allowed.copy()

        def violates(pod_row: int) -> bool:
            for budget in self._covering_pod(pod_row):
                left[budget] -= 1
                if left[budget] < 0:
                    return True
            return False

        return [any(map(violates, unit)) for unit in units]

    def _read(self) -> None:
        catalog = self._cluster.catalog
        if self._version == catalog.version:
            return
        self._version = catalog.version
        self._selectors, self._allowed, self._disrupted, self._covering = [], [], [], {}
        listed = catalog.all(PodDisruptionBudget) if self._heeded else ()
        # kube-scheduler takes them in the order of a map, which counts where a pod violates one of several.
        for budget in sorted(listed, key=lambda each: (each.metadata.namespace, each.metadata.name)):
            try:
                selector = compile_selector(budget.spec.selector)
            except SelectorError:
                continue
            if not selector.everything:
                self._selectors.append((budget.metadata.namespace, selector))
                self._allowed.append(budget.status.disruptions_allowed)
                self._disrupted.append(frozenset(budget.status.disrupted_pods))

    def _covering_pod(self, pod_row: int) -> tuple[int, ...]:
        """Budgets that count the pod: those that list it as disrupted do not count it twice."""
        pods = self._cluster.pods
        key = int(pods.namespace[pod_row]), int(pods.label_set[pod_row])
        covering = self._covering.get(key)
        if covering is None:
            info = pods.infos[pod_row]
            covering = self._covering[key] = tuple(
                index
                for index, (namespace, selector) in enumerate(self._selectors if info.labels else ())
                if namespace == info.namespace and selector.matches(info.labels)
            )
        if self._counting != "all":
            return covering
        name = pods.infos[pod_row].name
        return tuple(budget for budget in covering if name not in self._disrupted[budget])
