"""The disruption controller (pkg/controller/disruption): it keeps the status of PodDisruptionBudgets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.pod_facts import is_terminal
from ksched_cli.api.policy import PodDisruptionBudget
from ksched_cli.cluster.undo import LoggedDict, LoggedIndex
from ksched_cli.controlplane.api_server import ApiServer
from ksched_cli.controlplane.budgets import computed_status
from ksched_cli.controlplane.store import Identity, identity_of
from ksched_cli.controlplane.work import Controller, WorkQueue


class DisruptionController(Controller):
    """Keys are identities of PodDisruptionBudgets."""

    informers = (PodDisruptionBudget, Pod)
    serves = (PodDisruptionBudget,)

    def __init__(self, api: ApiServer, queue: WorkQueue) -> None:
        super().__init__(api, queue)
        # The pods that a budget covers, of those budgets that were reconciled: a dict is an ordered set.
        self._covered: dict[Identity, dict[Identity, None]] = LoggedDict(api.undo)
        self._budgets: LoggedIndex[str, Identity, None] = LoggedIndex(api.undo)
        for item in self.store.of(PodDisruptionBudget):
            self._budgets.put(item.metadata.namespace, identity_of(item), None)

    def concerned(self, old: Any, new: Any) -> Iterable[Identity]:
        item = old if new is None else new
        if isinstance(item, PodDisruptionBudget):
            return self._changed(old, new)
        if isinstance(item, Pod):
            return self._covering(old, new)
        return ()

    def _changed(self, old: PodDisruptionBudget | None, new: PodDisruptionBudget | None) -> Iterable[Identity]:
        """A status that this controller or the eviction API has written needs no second look."""
        if old is not None and new is not None and old.spec is new.spec:
            return ()
        item = new or old
        assert item is not None
        identity = identity_of(item)
        self._covered.pop(identity, None)
        if new is None:
            self._budgets.drop(item.metadata.namespace, identity)
            return ()
        self._budgets.put(item.metadata.namespace, identity, None)
        return (identity,)

    def _covering(self, old: Pod | None, new: Pod | None) -> Iterator[Identity]:
        """addPod, updatePod and deletePod: the budgets of the pod's old and new labels."""
        pod = new or old
        assert pod is not None
        for identity in self._budgets.get(pod.metadata.namespace, ()):
            item = self.store.get(PodDisruptionBudget, identity[2], identity[1])
            if item is None:
                continue
            was, is_now = (each is not None and self.api.budgets.covers(item, each) for each in (old, new))
            if was or is_now:
                covered = self._covered.get(identity)
                if covered is not None and is_now:
                    covered[identity_of(pod)] = None
                elif covered is not None:
                    covered.pop(identity_of(pod), None)
                yield identity

    def reconcile(self, key: Identity) -> None:
        """trySync."""
        item = self.store.get(PodDisruptionBudget, key[2], key[1])
        if item is None:
            return
        if key not in self._covered:
            found = dict.fromkeys(map(identity_of, self.api.budgets.covered(item)))
            self._covered[key] = LoggedDict(self.api.undo, found)
        there = (self.store.get(Pod, each[2], each[1]) for each in self._covered[key])
        pods = [pod for pod in there if pod is not None and not is_terminal(pod)]
        self.api.update(replace(item, status=computed_status(self.store, item, pods)))
