"""DaemonSet: a pod a node, replaced in place or with a surge (pkg/controller/daemon)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from ksched_cli.api.core import Node
from ksched_cli.api.workloads import DaemonSet, RollingUpdate, UpdateStrategy
from ksched_cli.sources.controllers.daemon_sets import DaemonPods, node_of
from ksched_cli.sources.controllers.existing import Existing
from ksched_cli.sources.rollouts.rollout import Birth, Changes, Member, Rollout
from ksched_cli.sources.rollouts.scaling import release, scaled

OLD, NEW = "old", "new"
ON_DELETE = "OnDelete"


@dataclass
class _Plan:
    """What rollingUpdate collects on its way over the nodes."""

    unavailable: int = 0
    surge: int = 0
    available: int = 0
    replaced_anyway: list[Member] = field(default_factory=list)
    candidates: list[Member] = field(default_factory=list)
    no_longer: list[Member] = field(default_factory=list)
    surge_anyway: list[str] = field(default_factory=list)
    surge_candidates: list[str] = field(default_factory=list)


class DaemonSetRollout(Rollout):
    strategy: Sequence[str] = ("spec", "updateStrategy")

    def __init__(self, item: DaemonSet, members: list[Member], existing: Existing) -> None:
        super().__init__(item, members)
        self._pods = DaemonPods(item, existing)
        self._nodes: Sequence[Node] = existing.nodes
        self._eligible = {node.metadata.name for node in self._nodes if self._pods.should_run(node)}
        self._tolerable = {node.metadata.name for node in self._nodes if self._pods.may_stay(node)}
        update = item.spec.update_strategy or UpdateStrategy()
        rolling = update.rolling_update or RollingUpdate()
        self._on_delete = update.type == ON_DELETE
        self._surge = 0 if self._on_delete else scaled(rolling.max_surge, len(self._eligible), up=True)
        unavailable = 1 if rolling.max_unavailable is None else rolling.max_unavailable
        self._unavailable = scaled(unavailable, len(self._eligible), up=True)
        if not self._surge and not self._unavailable:
            self._unavailable = 1
        self._births: dict[str, Birth] = {}
        if not self._eligible and not members:
            self.warnings.append(f"{self.label} runs on none of the nodes: it makes no pods")
        if self._on_delete and any(member.revision == OLD for member in members):
            self.notes.append(f"{self.label} replaces a pod only when it is deleted (OnDelete)")

    # manage, and rollingUpdate after it

    def sync(self) -> Changes:
        changes = Changes()
        on_node: defaultdict[str, list[Member]] = defaultdict(list)
        for member in self.members:
            on_node[node_of(member.pod)].append(member)
        for node in self._nodes:
            self._manage(node.metadata.name, on_node.get(node.metadata.name, []), changes)
        if not self._on_delete:
            self._roll(on_node, changes)
        return changes

    def _manage(self, node: str, pods: list[Member], changes: Changes) -> None:
        """podsShouldBeOnNode."""
        staying = [member for member in pods if not member.leaving]
        if node in self._eligible and not pods:
            changes.born.append(self._birth(node))
        elif node not in self._tolerable:
            changes.leaving += release(staying)
        elif not self._surge:
            changes.leaving += release(sorted(staying, key=_age)[1:])
        elif not staying and node in self._eligible:
            changes.born.append(self._birth(node))
        elif len(staying) > 1:
            changes.leaving += release(_excess(staying))

    def _roll(self, on_node: dict[str, list[Member]], changes: Changes) -> None:
        plan = _Plan(unavailable=len(changes.born))
        for node in sorted(on_node):
            staying = [member for member in on_node[node] if not member.leaving]
            new = next((member for member in staying if member.revision == NEW), None)
            old = next((member for member in staying if member.revision == OLD), None)
            if self._surge:
                self._look_surging(plan, node, new, old)
            else:
                self._look(plan, new, old)
        if self._surge:
            extra = max(min(plan.available - len(self._eligible), len(plan.no_longer)), 0)
            changes.leaving += release([*plan.replaced_anyway, *plan.no_longer[:extra]])
            nodes = [*plan.surge_anyway, *plan.surge_candidates[: max(self._surge - plan.surge, 0)]]
            changes.born += [self._birth(node) for node in nodes]
        else:
            room = max(self._unavailable - plan.unavailable, 0)
            changes.leaving += release([*plan.replaced_anyway, *plan.candidates[:room]])

    def _look(self, plan: _Plan, new: Member | None, old: Member | None) -> None:
        """Without a surge the old pod goes first. One that is not available goes in any case."""
        if (new is None) == (old is None):
            plan.unavailable += 1
        elif new is not None:
            plan.unavailable += not new.available
        elif old is not None and not old.available:
            plan.replaced_anyway.append(old)
            plan.unavailable += 1
        elif old is not None:
            plan.candidates.append(old)

    def _look_surging(self, plan: _Plan, node: str, new: Member | None, old: Member | None) -> None:
        """With a surge the new pod comes first, and the old one goes when it is available."""
        first = old or new
        plan.available += first is not None and first.available
        if old is None:
            return
        if new is not None:
            if new.available:
                plan.replaced_anyway.append(old)
            else:
                plan.surge += 1
        elif node not in self._eligible:
            (plan.no_longer if old.available else plan.replaced_anyway).append(old)
        else:
            (plan.surge_candidates if old.available else plan.surge_anyway).append(node)

    def _birth(self, node: str) -> Birth:
        if node not in self._births:
            self._births[node] = Birth(self._pods.make(node), NEW)
        return self._births[node]

    def join(self, birth: Birth) -> Member:
        self._births = {node: each for node, each in self._births.items() if each is not birth}
        return super().join(birth)

    # What is asked for

    @property
    def wanted(self) -> int:
        return len(self._eligible)

    def missing(self) -> int:
        return len(self._eligible - {node_of(member.pod) for member in self.staying()})

    @property
    def manner(self) -> str:
        return f"maxSurge {self._surge}, maxUnavailable {self._unavailable}"

    def outdated(self) -> list[Member]:
        return [
            member
            for member in self.staying()
            if node_of(member.pod) not in self._tolerable or (member.revision == OLD and not self._on_delete)
        ]


def _excess(staying: list[Member]) -> list[Member]:
    """Of several pods on a node an old and a new one may stay while the new one is not yet available and the old one
    is."""
    staying = sorted(staying, key=_age)
    new = [member for member in staying if member.revision == NEW]
    old = [member for member in staying if member.revision == OLD]
    excess = [*new[1:], *old[1:]]
    if new and old and (new[0].available or not old[0].available):
        excess.append(old[0])
    return excess


def _age(member: Member) -> tuple[str, str]:
    return member.pod.metadata.creation_timestamp or "", member.name
