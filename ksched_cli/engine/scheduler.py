"""The scheduler (scheduler.go, profile/profile.go): profiles over one cluster, a queue, and one cycle per pod. It does
not bind pods, and time does not pass: `engine/loop.py` runs a scheduler on a virtual clock."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from ksched_cli.api.defaults import DEFAULT_SCHEDULER
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import RowColumn
from ksched_cli.cluster.pod_groups import GroupKey, PodGroups, group_of
from ksched_cli.cluster.undo import LoggedDict
from ksched_cli.config.model import SchedulerConfiguration, default_weights, expand_profile, leave_to_extenders
from ksched_cli.engine.cycle.runtime import Runtime
from ksched_cli.engine.cycle.schedule_one import Cycle, CycleContext, LocalVerdict
from ksched_cli.engine.decision import Decision, ScoreTable, TieBreak, lowest_name
from ksched_cli.engine.nominator import NominatedPods
from ksched_cli.engine.pending import PendingQueue, enqueue, hold_back_groups, let_in, pending
from ksched_cli.engine.registry import Profile, Registry
from ksched_cli.engine.waiting import WaitingPods
from ksched_cli.framework.handle import PreemptingExtenders
from ksched_cli.releases.engine_rules import EngineRules
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import DEFAULT, Release

if TYPE_CHECKING:
    from ksched_cli.engine.extenders.client import Extenders
    from ksched_cli.engine.gang import GroupCycle, GroupDecision
    from ksched_cli.engine.timings import Timings

try:
    from ksched_cli.engine.answers.answers import Answers
except ModuleNotFoundError:
    # The only place that imports the memory: without its folder every result is the same, and slower.
    Answers = None  # type: ignore[assignment, misc]


class SchedulerHandle(Struct, frozen=True):
    """framework.Handle for every plugin of every profile."""

    cluster: Cluster
    gates: FeatureGates
    nominator: NominatedPods
    sampling: bool
    scheduler_names: frozenset[str] = frozenset({DEFAULT_SCHEDULER})
    release: Release = DEFAULT
    extenders: PreemptingExtenders | None = None
    waiting: WaitingPods = field(default_factory=WaitingPods)


class Turn(Struct, frozen=True):
    """Pods that have one cycle together: one pod, or all of a group's."""

    group: GroupKey | None
    rows: list[int]


class Scheduler:
    """Answers for one cluster under one configuration. Placements accumulate in the cluster."""

    def __init__(
        self,
        cluster: Cluster,
        configuration: SchedulerConfiguration,
        registry: Registry,
        release: Release,
        gates: FeatureGates,
        points: Mapping[str, Collection[str]],
        *,
        tie_break: TieBreak = lowest_name,
        sampling: bool = False,
        timings: Timings | None = None,
        extenders: Extenders | None = None,
    ) -> None:
        """Without `extenders` those of the configuration are not called, and `extenders_skipped` lists them."""
        self.cluster = cluster
        self.timings = timings
        self.nominator = NominatedPods(cluster)
        self._registry = registry
        self._profiles = [
            leave_to_extenders(expand_profile(entry, release, gates, points), configuration.extenders, release)
            for entry in configuration.profiles
        ]
        names = frozenset(profile.scheduler_name for profile in self._profiles)
        waiting = WaitingPods(cluster.undo)
        self.handle = SchedulerHandle(cluster, gates, self.nominator, sampling, names, release, extenders, waiting)
        self.extenders = extenders
        self.extenders_skipped = () if extenders else configuration.extenders
        self.configuration = configuration
        self.gates_not_modelled = gates.not_modelled
        self.not_modelled = tuple(name for name in default_weights(release, gates) if name not in registry)
        self.runtimes = self._make_runtimes()
        # Its ties, its nodes and the start of its next search may be set from outside.
        self.cycle = Cycle(
            cluster,
            self.nominator,
            tie_break=tie_break,
            sampling=sampling,
            percentage_of_nodes_to_score=configuration.percentage_of_nodes_to_score or 0,
            extenders=extenders,
            extenders_judge=any(each.filter_verb or each.prioritize_verb for each in configuration.extenders),
            prefers_nominated_node=gates.enabled("PreferNominatedNode"),
        )
        self.groups = PodGroups(cluster, names)
        self._group_cycle = _group_cycle(self.cycle, self.groups, release, gates)
        self.group_decisions: dict[GroupKey, GroupDecision] = LoggedDict(cluster.undo)
        self._nominate_known()

    @property
    def schedules_groups(self) -> bool:
        """Whether the pods of a group share one cycle."""
        return self._group_cycle is not None

    @property
    def holds_back_groups(self) -> bool:
        """Whether one pod that is held back holds back all of its group."""
        return self.schedules_groups and EngineRules.of(self.cluster.release).gated_pods_hold_back_groups

    def _make_runtimes(self) -> dict[str, Runtime]:
        """A runtime with plugins of its own for every profile, by scheduler name."""
        runtimes: dict[str, Runtime] = {}
        for each in self._profiles:
            profile = Profile(each, self._registry, self.handle)
            runtime = Runtime(profile, self.cluster, self.nominator, self.timings)
            if Answers is not None and self.cluster.reuse:
                runtime.memory = Answers(runtime, self.cluster, self.nominator)
            runtimes[profile.scheduler_name] = runtime
        return runtimes

    def reweigh(self, scheduler_name: str, plugin: str, weight: int) -> None:
        """Set the weight of a plugin of one profile, before anything is scheduled."""
        self._profiles = [
            replace(each, score_weights={**each.score_weights, plugin: weight})
            if each.scheduler_name == scheduler_name
            else each
            for each in self._profiles
        ]
        self.runtimes = self._make_runtimes()

    def dry_search(self, pod_row: int) -> CycleContext | None:
        """The input of PostFilter in a cycle of the pod now; None if the cycle finds a node."""
        return self.cycle.dry_search(self._runtime_of(pod_row), pod_row)

    def judge_locally(self, pod_row: int, rows: RowColumn) -> LocalVerdict:
        """Which of the nodes the filters that look at one node alone leave to the pod, and why not the others."""
        return self.cycle.judge_locally(self._runtime_of(pod_row), pod_row, rows)

    def decide_dry(self, pod_row: int) -> Decision:
        """The decision that the pod's cycle would reach now; it is not applied."""
        return self.cycle.decide_dry(self._runtime_of(pod_row), pod_row)

    def place_copies(self, pod_row: int, most: int) -> list[int]:
        """Place up to so many copies of a pod that has its node, and return their nodes, in the order of their cycles.
        None is placed where a copy needs a cycle of its own. The copies take what the pod takes, and are no pods that
        can be found."""
        cycle, memory = self.cycle, self._runtime_of(pod_row).memory
        is_plain = self.extenders is None and not cycle.sampling and cycle.waiting is None and cycle.placement is None
        if memory is None or not is_plain or cycle.tie_break is not lowest_name:
            return []
        return memory.place_copies(pod_row, most)

    def scores_of(self, pod_row: int, rows: RowColumn) -> ScoreTable | None:
        """How these nodes would score for the pod, had it no others to go to; None where that cannot be computed."""
        return self.cycle.scores_of(self._runtime_of(pod_row), pod_row, rows)

    def sample_size(self, pod_row: int) -> int:
        """How many feasible nodes kube-scheduler looks for in the pod's cycle, by percentageOfNodesToScore."""
        return self.cycle.sample_size(self._runtime_of(pod_row), len(self.cluster.nodes))

    def _runtime_of(self, pod_row: int) -> Runtime:
        if not self.cluster.reuse:
            self._forget()
        return self.runtimes[self.cluster.pods.infos[pod_row].pod.spec.scheduler_name]

    def _forget(self) -> None:
        """Drop everything that plugins and the cache have derived from the columns and the catalog."""
        self.cluster.forget_derived()
        self.runtimes = self._make_runtimes()

    def _nominate_known(self) -> None:
        """Nominate the pods whose status names a node that an earlier preemption cleared."""
        gated_too = EngineRules.of(self.cluster.release).gated_pods_keep_nominations
        for row in pending(self.cluster):
            info = self.cluster.pods.infos[row]
            node, runtime = info.pod.status.nominated_node_name, self.runtimes.get(info.pod.spec.scheduler_name)
            if node and runtime is not None and (gated_too or runtime.run_pre_enqueue(info) is None):
                self.nominator.add(row, node)

    def enqueue(self, rows: Iterable[int] | None = None) -> PendingQueue:
        """The queue of all pending pods, or of these."""
        queue = enqueue(self.cluster, pending(self.cluster) if rows is None else rows, self.runtimes)
        if self.holds_back_groups:
            hold_back_groups(queue, self.groups, self.cluster, self.runtimes)
        return queue

    def let_in(self, queue: PendingQueue, pod_row: int) -> None:
        """Put a pod that is held back where it would be if it were not, with its group if that waits as a whole."""
        rows = [pod_row]
        if self.holds_back_groups and (key := group_of(self.cluster.pods.infos[pod_row])) is not None:
            rows = [each for each in self.groups.pending(key) if each in queue.gated]
        let_in(queue, rows, self.cluster, self.runtimes)

    def run(self, queue: PendingQueue) -> Iterator[Decision]:
        """One cycle per pod or pod group, in order; each decision is taken with the ones before it in force."""
        for row, message in queue.failed.items():
            yield Decision(row, self.cluster.pods.infos[row], "error", message=message)
        if self._group_cycle is None:
            yield from map(self.schedule, queue.active)
            return
        for turn in self.turns(queue):
            yield from self.take(turn)

    def run_up_to(self, queue: PendingQueue, pod_row: int) -> tuple[list[Decision], Turn]:
        """The decisions before the turn that this pod of the queue has a part in, and that turn, not yet taken."""
        before: list[Decision] = []
        for turn in self.turns(queue):
            if pod_row in turn.rows:
                return before, turn
            before += self.take(turn)
        raise AssertionError("the pod is in the queue")

    def turns(self, queue: PendingQueue) -> Iterator[Turn]:
        """The pods that share a cycle: each by itself, or a group with all its pods when the first is due."""
        if self._group_cycle is None:
            return (Turn(None, [row]) for row in queue.active)
        return _entities(self.cluster, queue)

    def take(self, turn: Turn) -> list[Decision]:
        """The turn's one cycle."""
        if turn.group is None or self._group_cycle is None:
            return [self.schedule(turn.rows[0])]
        return self.schedule_group(turn.rows)

    def schedule(self, pod_row: int) -> Decision:
        """The pod's one cycle. A copy of a pod that has just found no node needs none."""
        if self.timings is not None:
            self.timings.begin_cycle()
        runtime = self._runtime_of(pod_row)
        memory = runtime.memory
        if memory is None or self.extenders is not None or self.cycle.sampling:
            return self.cycle.schedule_one(runtime, pod_row)
        token = self.cycle.placement is None, self.cycle.skips_post_filter
        decision = memory.repeated(pod_row, self.cluster.pods.infos[pod_row], token)
        if decision is None:
            decision = self.cycle.schedule_one(runtime, pod_row)
            if decision.row is None:
                memory.note_failure(decision, token)
        return decision

    def schedule_group(self, rows: Sequence[int]) -> list[Decision]:
        """The one cycle of a pod group, for those of its pods that wait."""
        infos = self.cluster.pods.infos
        key = group_of(infos[rows[0]])
        assert self._group_cycle is not None
        assert key is not None
        if self.timings is not None:
            self.timings.begin_cycle()
        if EngineRules.of(self.cluster.release).completing_pod_is_first:
            rows = self.groups.in_order_of_attempts(key, rows)
        if not self.cluster.reuse:
            self._forget()
        runtimes = [self.runtimes[infos[row].pod.spec.scheduler_name] for row in rows]
        decided = self.group_decisions[key] = self._group_cycle.schedule(key, runtimes, rows)
        return decided.decisions

    def ask_group(self, rows: Sequence[int]) -> GroupDecision:
        """The decision that the cycle of a pod group would reach now, for these of its pods; it is not applied."""
        key = group_of(self.cluster.pods.infos[rows[0]])
        assert key is not None
        with self.cluster.undo.trial(), self.cycle.dry():
            self.schedule_group(rows)
            return self.group_decisions[key]

    def tries_rest_at_once(self, pod_row: int) -> bool:
        """Whether the group of the pod has just found its places, and its other pods need not wait."""
        key = group_of(self.cluster.pods.infos[pod_row])
        decided = self.group_decisions.get(key) if key is not None else None
        if decided is None or decided.result != "scheduled":
            return False
        return EngineRules.of(self.cluster.release).rest_of_group_is_tried_at_once

    def let_permit_wait(self) -> WaitingPods:
        """Let pods wait where Permit plugins hold them, until `conclude`. Returns the pods that wait."""
        self.cycle.waiting = self.handle.waiting
        return self.handle.waiting


def _group_cycle(
    cycle: Cycle,
    groups: PodGroups,
    release: Release,
    gates: FeatureGates,
) -> GroupCycle | None:
    rules = EngineRules.of(release)
    if not rules.groups_share_a_cycle or not gates.enabled("GenericWorkload"):
        return None
    # Imported here: most clusters are of minors without it.
    from ksched_cli.engine.gang import GroupCycle
    from ksched_cli.engine.quorum import QuorumCycle

    kind = QuorumCycle if rules.quorum_ends_cycle else GroupCycle
    return kind(
        cycle,
        groups,
        placements=gates.enabled("TopologyAwareWorkloadScheduling"),
        preempts=gates.enabled("WorkloadAwarePreemption"),
    )


def _entities(cluster: Cluster, queue: PendingQueue) -> Iterator[Turn]:
    """Pods by themselves, and a group with all its pods when the first of them is due (podGroupInfoForPod)."""
    infos = cluster.pods.infos
    groups: dict[GroupKey, list[int]] = {}
    for row in queue.active:
        key = group_of(infos[row])
        if key is not None:
            groups.setdefault(key, []).append(row)
    for row in queue.active:
        key = group_of(infos[row])
        if key is None:
            yield Turn(None, [row])
        elif key in groups:
            yield Turn(key, groups.pop(key))
