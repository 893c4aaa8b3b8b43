"""Drains nodes one after the other, each in rounds: what budgets let go is evicted, successors are placed, and those
that have a place give the budgets back what they can go on with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.meta import ObjectMeta
from ksched_cli.api.pod_facts import is_terminal, pod_key
from ksched_cli.api.resource import ResourceClaim
from ksched_cli.api.storage import PersistentVolumeClaim
from ksched_cli.cluster.pods import NOWHERE
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.drain.budgets import TOO_MANY_BUDGETS, Budget, Budgets, is_ready, needs_no_budget
from ksched_cli.plan.drain.filters import Filters, Flags
from ksched_cli.plan.drain.results import BudgetChange, Drain, Evicted, NodeDrain, PodFate, Remark
from ksched_cli.sources.arrivals import claims_for, date
from ksched_cli.sources.controllers.existing import Existing, controller_of
from ksched_cli.sources.controllers.naming import uid_of
from ksched_cli.sources.edits.evictions import remaker, successor
from ksched_cli.sources.loaded import Loaded


def drain(
    scheduler: Scheduler,
    loaded: Loaded,
    existing: Existing,
    nodes: Sequence[str],
    flags: Flags,
) -> Drain:
    """`scheduler` is over `loaded`, in which the nodes are cordoned already; `existing` knows which names are taken.
    What is pending comes first."""
    pending = [decision.result == "scheduled" for decision in scheduler.run(scheduler.enqueue())]
    run = _Run(scheduler, loaded, existing, Filters(flags, loaded))
    drained = run.drain(nodes)
    return Drain(drained, run.budget_changes(), tuple(run.preempted()), len(pending), sum(pending))


@dataclass
class _Leaving:
    """A pod that was evicted, or preempted by a successor, and the one made in its place."""

    pod: Pod
    round: int
    row: int | None = None
    to: str = ""
    why: str = ""
    by: str = ""
    node: str = ""

    @property
    def successor(self) -> bool:
        return self.row is not None


@dataclass
class _Node:
    """The pods of a node by what is to become of them, and how far its drain has come."""

    name: str
    evict: list[Pod] = field(default_factory=list)
    stay: list[tuple[Pod, str]] = field(default_factory=list)
    refused: list[tuple[Pod, str]] = field(default_factory=list)
    warnings: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    left: list[Pod] = field(default_factory=list)
    gone: list[_Leaving] = field(default_factory=list)
    rounds: int = 0

    def stays(self) -> list[PodFate]:
        return [PodFate(pod_key(pod), "stays", why=why) for pod, why in self.stay]

    def remarks(self) -> tuple[Remark, ...]:
        return tuple(Remark(message, tuple(pods)) for message, pods in self.warnings.items())


class _Run:
    def __init__(self, scheduler: Scheduler, loaded: Loaded, existing: Existing, filters: Filters) -> None:
        self._scheduler, self._loaded, self._existing, self._filters = scheduler, loaded, existing, filters
        self._budgets = Budgets(loaded)
        self._concerned: dict[int, Budget] = {}
        self._waiting: list[_Leaving] = []
        self._preempted: list[_Leaving] = []
        self._made = 0
        self._youngest = max(loaded.of(Pod), key=lambda pod: pod.metadata.creation_timestamp or "", default=None)

    # What comes out

    def budget_changes(self) -> tuple[BudgetChange, ...]:
        concerned = sorted((budget.change() for budget in self._concerned.values()), key=lambda each: each.budget)
        return tuple(concerned)

    def preempted(self) -> Iterable[Evicted]:
        return (Evicted(pod_key(each.pod), each.by, each.node, each.to) for each in self._preempted)

    # Nodes

    def drain(self, nodes: Sequence[str]) -> tuple[NodeDrain, ...]:
        """In order; those where something is stuck once more after the others, whose new pods may have helped."""
        going = [self._sort_out(node) for node in nodes]
        for each in going:
            each.left = [] if each.refused else self._in_order(each.evict)
        progressing = True
        while progressing:
            moved = [self._go_on(each) for each in going]
            progressing = any(moved) and any(each.left for each in going)
        return tuple(self._refused(each) if each.refused else self._drained(each) for each in going)

    def _go_on(self, node: _Node) -> bool:
        """Round after round, until nothing more may go; whether anything did."""
        before = node.rounds
        while node.left:
            # A pod may have been preempted in the meantime.
            node.left = [pod for pod in node.left if self._is_there(pod)]
            leaving = self._evict(node.left, node.rounds + 1)
            if not leaving:
                break
            node.rounds += 1
            node.gone += leaving
            out = {id(each.pod) for each in leaving}
            node.left = [pod for pod in node.left if id(pod) not in out]
            self._settle()
        return node.rounds > before

    def _drained(self, node: _Node) -> NodeDrain:
        fates = [self._fate(each) for each in node.gone]
        stuck = [PodFate(pod_key(pod), "stuck", why=self._refusal(pod)) for pod in node.left]
        return NodeDrain(node.name, node.rounds, (*fates, *stuck, *node.stays()), warnings=node.remarks())

    def _sort_out(self, node: str) -> _Node:
        found = _Node(node)
        pods = (pod for pod in self._loaded.of(Pod) if pod.spec.node_name == node and self._is_there(pod))
        for pod in sorted(pods, key=pod_key):
            filtered = self._filters.judge(pod)
            if filtered.verdict == "refuse":
                found.refused.append((pod, filtered.message))
                continue
            if filtered.verdict == "stay":
                found.stay.append((pod, filtered.message))
            else:
                found.evict.append(pod)
            if filtered.message.startswith(("ignoring", "deleting", "daemonsets")):
                found.warnings[filtered.message].append(pod_key(pod))
        return found

    def _is_there(self, pod: Pod) -> bool:
        """Finished pods are listed though the scheduler knows nothing of them."""
        table = self._scheduler.cluster.pods
        row = table.row_of.get(pod.metadata.uid or pod_key(pod))
        return is_terminal(pod) or (row is not None and table.node_row[row] != NOWHERE)

    def _refused(self, node: _Node) -> NodeDrain:
        """kubectl evicts nothing of a node with a pod that it refuses."""
        by_message: dict[str, list[str]] = {}
        for pod, message in node.refused:
            by_message.setdefault(message, []).append(pod_key(pod))
        refusals = tuple(Remark(message, tuple(pods)) for message, pods in by_message.items())
        refused = [PodFate(pod_key(pod), "refused", why=message) for pod, message in node.refused]
        waits = [PodFate(pod_key(pod), "waits") for pod in node.evict]
        return NodeDrain(node.name, 0, (*refused, *waits, *node.stays()), refusals, node.remarks())

    def _fate(self, leaving: _Leaving) -> PodFate:
        key = pod_key(leaving.pod)
        if leaving.row is None:
            return PodFate(key, "gone", leaving.round, why=leaving.why)
        new = self._scheduler.cluster.pods.infos[leaving.row].key
        if leaving.to:
            return PodFate(key, "moves", leaving.round, new, leaving.to)
        return PodFate(key, "unplaced", leaving.round, new, why=leaving.why)

    # A round

    def _in_order(self, pods: Sequence[Pod]) -> list[Pod]:
        """Those that no budget waits for first; of the others unready ones, for which the least is at stake."""
        return sorted(pods, key=lambda pod: (bool(self._covering(pod)), is_ready(pod), pod_key(pod)))

    def _evict(self, pods: Sequence[Pod], number: int) -> list[_Leaving]:
        """What the eviction API lets go, one after the other."""
        leaving = []
        for pod in pods:
            if self._refusal(pod):
                continue
            for budget in self._covering(pod):
                budget.evicted(pod)
            leaving.append(self._leave(pod, number))
        return leaving

    def _covering(self, pod: Pod) -> list[Budget]:
        """The budgets that an eviction of the pod asks."""
        if needs_no_budget(pod):
            return []
        found = self._budgets.covering(pod)
        self._concerned.update((id(budget), budget) for budget in found)
        return found

    def _refusal(self, pod: Pod) -> str:
        covering = self._covering(pod)
        if len(covering) > 1:
            return TOO_MANY_BUDGETS
        return covering[0].refusal(pod) if covering else ""

    def _leave(self, pod: Pod, number: int) -> _Leaving:
        """The pod is gone; its controller makes another."""
        cluster = self._scheduler.cluster
        row = cluster.pods.row_of.get(pod.metadata.uid or pod_key(pod))
        leaving = _Leaving(pod, number, why=_nobody(pod), node=pod.spec.node_name)
        if row is not None:
            self._scheduler.nominator.delete(row)
            cluster.displace(row)
        self._release_claims(pod)
        owner = remaker(pod)
        if owner is None:
            return leaving
        new = successor(pod, owner, self._existing)
        self._made += 1
        new.metadata.uid = uid_of("Pod", new.metadata.namespace, f"{new.metadata.name}/{self._made}")
        date([new], [self._youngest] if self._youngest else [])
        self._youngest = new
        for claim in claims_for(new, self._loaded):
            cluster.catalog.put(claim)
        leaving.row = cluster.register(new)
        self._waiting.append(leaving)
        for budget in self._budgets.covering(new):
            budget.waiting[pod_key(new)] = None
        return leaving

    def _release_claims(self, pod: Pod) -> None:
        """Claims that were the pod's alone go with it, and those that nobody else uses are free again."""
        catalog, metadata = self._scheduler.cluster.catalog, pod.metadata
        if any(volume.ephemeral for volume in pod.spec.volumes):
            for volume in list(catalog.in_namespace(PersistentVolumeClaim, metadata.namespace)):
                if _owned_by(volume.metadata, pod):
                    catalog.remove(volume)
        for claim in list(catalog.in_namespace(ResourceClaim, metadata.namespace)):
            if _owned_by(claim.metadata, pod):
                catalog.remove(claim)
                continue
            users = tuple(each for each in claim.status.reserved_for if each.uid != metadata.uid)
            if len(users) < len(claim.status.reserved_for):
                allocation = claim.status.allocation if users else None
                catalog.put(replace(claim, status=replace(claim.status, reserved_for=users, allocation=allocation)))

    # Successors

    def _settle(self) -> None:
        """Every successor that has no place yet is tried, until nothing changes. One that preempts gets its place when
        its victims are gone."""
        while self._waiting and self._try_all():
            pass
        self._publish()

    def _try_all(self) -> bool:
        by_row = {each.row: each for each in self._waiting}
        victims: list[tuple[int, str]] = []
        for decision in self._scheduler.run(self._scheduler.enqueue(row for row in by_row if row is not None)):
            victims += self._note(by_row[decision.pod_row], decision)
        moved = [each for each in self._waiting if each.to]
        self._waiting = [each for each in self._waiting if not each.to]
        for row, by in victims:
            self._preempt(row, by)
        return bool(moved or victims) and bool(self._waiting)

    def _note(self, leaving: _Leaving, decision: Decision) -> list[tuple[int, str]]:
        """Where the successor goes, or why nowhere; the rows of pods that make room for it."""
        cluster = self._scheduler.cluster
        if decision.row is not None:
            leaving.to, leaving.why = cluster.nodes.names[decision.row], ""
            for budget in self._budgets.covering(decision.pod.pod):
                budget.gained(decision.pod.pod)
            return []
        leaving.why = _message(decision)
        if decision.preemption is None:
            return []
        return [(victim, decision.pod.key) for victim in decision.preemption.victims]

    def _preempt(self, row: int, by: str) -> None:
        cluster = self._scheduler.cluster
        if cluster.pods.node_row[row] == NOWHERE:
            return
        pod, node = cluster.pods.infos[row].pod, cluster.nodes.names[cluster.pods.node_row[row]]
        for budget in self._budgets.covering(pod):
            self._concerned[id(budget)] = budget
            budget.lost(pod)
        leaving = self._leave(pod, 0)
        leaving.by, leaving.node = by, node
        self._preempted.append(leaving)

    def _publish(self) -> None:
        """Preemption looks at what budgets allow."""
        catalog = self._scheduler.cluster.catalog
        for budget in self._concerned.values():
            budget.catch_up()
            status = budget.status()
            if status != budget.item.status:
                budget.item = replace(budget.item, status=status)
                catalog.put(budget.item)


def _message(decision: Decision) -> str:
    """Why no node takes it, without what preemption has to say: it made no room."""
    if decision.diagnosis is None or decision.result == "error" or len(decision.feasible):
        return decision.message
    decision.diagnosis.post_filter_message = ""
    return decision.diagnosis.message()


def _nobody(pod: Pod) -> str:
    """Why no other is made, where none is."""
    if is_terminal(pod):
        return "it is finished"
    if pod.metadata.deletion_timestamp is not None:
        return "it is being deleted already"
    return "nobody makes another"


def _owned_by(metadata: ObjectMeta, pod: Pod) -> bool:
    owner = controller_of(metadata)
    return (
        owner is not None
        and owner.kind == "Pod"
        and (metadata.namespace, owner.name) == (pod.metadata.namespace, pod.metadata.name)
    )
