"""The client side of a drain: calls the eviction API until each pod is evicted (kubectl/pkg/drain)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from ksched_cli.api.core import Pod
from ksched_cli.api.pod_facts import pod_key, uid_of_pod
from ksched_cli.api.policy import PodDisruptionBudget
from ksched_cli.cluster.undo import LoggedDict
from ksched_cli.controlplane.api_server import ApiServer
from ksched_cli.controlplane.budgets import needs_no_budget
from ksched_cli.controlplane.pods import is_ready
from ksched_cli.controlplane.store import Identity, identity_of
from ksched_cli.controlplane.work import Timer, Worker, WorkQueue

# What chance decides.
_DRAW = "evictions granted"
# evictPods waits so long after a refusal.
_RETRY_SECONDS = 5.0


class Drainer(Worker):
    """`refused` has the pods that a budget holds, with the last answer of the eviction API; `granted` has the moments
    at which evictions were granted, by uid."""

    def __init__(self, api: ApiServer, queue: WorkQueue) -> None:
        self._api, self._queue = api, queue
        self._deletes, self._grace = False, cast("float | None", None)
        self._uids: dict[Identity, str] = LoggedDict(api.undo)
        self._retries: dict[Identity, Timer] = LoggedDict(api.undo)
        self.refused: dict[Identity, str] = LoggedDict(api.undo)
        self.granted: dict[str, float] = LoggedDict(api.undo)

    def evict(self, pods: Iterable[Pod], *, deletes: bool = False, grace: float | None = None) -> None:
        """Request the eviction of all of these pods at once, of each until it is granted. `deletes`: delete the pods,
        which no budget can refuse. `grace` takes the place of the pods' own grace periods."""
        self._deletes, self._grace = deletes, grace
        ordered = sorted(pods, key=self._turn)
        for pod in ordered if deletes else self._drawn(ordered):
            identity = identity_of(pod)
            self._uids[identity] = uid_of_pod(pod)
            self._queue.add(self, identity)

    def _turn(self, pod: Pod) -> tuple[bool, bool, str]:
        """The API server updates a budget before it deletes the pod: such an eviction comes after those that need no
        budget. Unready pods may need none."""
        needs_budget = not needs_no_budget(pod) and bool(self._api.budgets.covering(pod))
        return needs_budget, is_ready(pod), pod_key(pod)

    def _drawn(self, pods: Sequence[Pod]) -> list[Pod]:
        """The pods in the order of this run: kubectl requests all evictions side by side, and chance decides which of
        them a budget grants that does not allow all."""
        places: dict[Identity, list[int]] = {}
        for at, pod in enumerate(pods):
            covering = self._api.budgets.covering(pod)
            if len(covering) == 1 and not needs_no_budget(pod):
                places.setdefault(identity_of(covering[0]), []).append(at)
        ordered = list(pods)
        for identity, own in places.items():
            budget = self._api.store.get(PodDisruptionBudget, identity[2], identity[1])
            allowed = budget.status.disruptions_allowed if budget is not None else 0
            if 0 < allowed < len(own):
                subject, options = "/".join(identity), [pods[at] for at in own]
                drawn = self._api.draws.in_order(_DRAW, subject, options)
                self._api.draws.note(_DRAW, subject, list(map(pod_key, options)), list(map(pod_key, drawn[:allowed])))
                for at, pod in zip(own, drawn, strict=True):
                    ordered[at] = pod
        return ordered

    def give_up(self) -> None:
        """Request no more evictions."""
        for retry in self._retries.values():
            self._queue.cancel(retry)
        for kept in (self._uids, self._retries, self.refused):
            kept.clear()

    def _request(self, pod: Pod) -> str:
        """Why the pod stays, or an empty string once it goes."""
        if not self._deletes:
            return self._api.evict(pod, grace=self._grace)
        self._api.delete_pod(pod, grace=self._grace, why="evicted")
        return ""

    def reconcile(self, key: Identity) -> None:
        uid = self._uids.get(key)
        pod = self._api.store.pod(key)
        self.refused.pop(key, None)
        self._retries.pop(key, None)
        if pod is None or uid_of_pod(pod) != uid:
            return
        refusal = "" if pod.metadata.deletion_timestamp is not None else self._request(pod)
        if refusal:
            self.refused[key] = refusal
            moment = self._queue.clock.now + _RETRY_SECONDS
            self._retries[key] = self._queue.at(moment, lambda: self._queue.add(self, key), self._api.version)
        else:
            self.granted[uid] = self._queue.clock.now
