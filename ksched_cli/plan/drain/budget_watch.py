"""How PodDisruptionBudgets change while nodes are drained."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ksched_cli.api.core import Pod
from ksched_cli.api.policy import PodDisruptionBudget
from ksched_cli.controlplane.api_server import ApiServer
from ksched_cli.controlplane.budgets import needs_no_budget
from ksched_cli.controlplane.store import Identity, identity_of
from ksched_cli.plan.drain.results import BudgetChange


class BudgetWatch:
    """A watch: it remembers each budget's status at the start and the fewest healthy pods since then."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api
        budgets = api.store.of(PodDisruptionBudget)
        self._before = {identity_of(item): item.status for item in budgets}
        self._lowest = {identity_of(item): item.status.current_healthy for item in budgets}
        if budgets:
            api.watch(self._changed)

    def _changed(self, old: Any, new: Any) -> None:
        if isinstance(new, PodDisruptionBudget) and identity_of(new) in self._lowest:
            lowest = self._lowest[identity_of(new)]
            self._lowest[identity_of(new)] = min(lowest, new.status.current_healthy)

    def changes(self, pods: Iterable[Pod]) -> tuple[BudgetChange, ...]:
        """The budgets that cover one of these pods, by name."""
        if not self._before:
            return ()
        covering = (item for pod in pods if not needs_no_budget(pod) for item in self._api.budgets.covering(pod))
        found = {identity_of(item): item for item in covering}
        return tuple(self._change(identity, item) for identity, item in sorted(found.items()))

    def _change(self, identity: Identity, item: PodDisruptionBudget) -> BudgetChange:
        before, now = self._before[identity], item.status
        return BudgetChange(
            f"{item.metadata.namespace}/{item.metadata.name}",
            now.desired_healthy,
            before.current_healthy,
            now.current_healthy,
            before.disruptions_allowed,
            now.disruptions_allowed,
            self._lowest[identity],
        )
