"""One pod at its cycle: what the scheduler of each rule set would do in the same state of the cluster."""

from __future__ import annotations

from dataclasses import dataclass, field

from ksched_cli.cluster.columns import RowColumn
from ksched_cli.cluster.pod_groups import group_of
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.inspection import inspect
from ksched_cli.engine.runtime import Runtime
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.engine.score_table import ScoreTable
from ksched_cli.framework.status import Code
from ksched_cli.plan.causes.way import Way
from ksched_cli.plan.rule_changes import family_of
from ksched_cli.sources.loaded import Loaded
from ksched_cli.world.followers import ChangeLog, FollowingScheduler
from ksched_cli.world.world import World


@dataclass(frozen=True, slots=True)
class NodeVerdict:
    """What a rule set decides about a node; `beyond_help` if no eviction could change it. Without a plugin the search
    did not reach the node. `owner` is the plugin whose reason it is, where that is known."""

    passes: bool
    plugin: str = ""
    reason: str = ""
    beyond_help: bool = False
    owner: str = field(default="", compare=False)

    @property
    def family(self) -> str:
        """The plugin by today's name, whatever the minor calls it."""
        return family_of(self.owner or self.plugin)


class RuleSetSchedulers:
    """The schedulers of the rule sets of a way, in one world: the first is the world's own, the others follow it. Each
    is made when it is needed."""

    def __init__(self, way: Way, loaded: Loaded, world: World) -> None:
        self.way, self.leader = way, world.scheduler
        self._loaded, self._changes = loaded, ChangeLog(world)
        self._followers: dict[int, FollowingScheduler] = {}

    def scheduler(self, rule_set: int) -> Scheduler:
        """The scheduler of a rule set, in the state of the world."""
        return self.leader if rule_set == 0 else self.follower(rule_set).catch_up()

    def follower(self, rule_set: int) -> FollowingScheduler:
        follower = self._followers.get(rule_set)
        if follower is None:
            there = self.way.rule_sets[rule_set]
            follower = FollowingScheduler(self._changes, there.make(self._loaded), there.stored)
            self._followers[rule_set] = follower
        return follower

    def ask(self, rule_set: int, pod_row: int) -> Decision:
        return self.leader.ask(pod_row) if rule_set == 0 else self.follower(rule_set).ask(pod_row)


class Question:
    """What each rule set decides about one pod. Decisions are kept, so that no rule set runs twice. Rows of nodes are
    those of the first rule set."""

    def __init__(self, schedulers: RuleSetSchedulers, pod_row: int) -> None:
        self.way, self.pod_row = schedulers.way, pod_row
        self._schedulers = schedulers
        self._decisions: dict[int, Decision] = {}
        self._cluster = schedulers.leader.cluster

    @property
    def names(self) -> list[str]:
        """The names of the nodes."""
        return self._cluster.nodes.names

    @property
    def name_rank(self) -> RowColumn:
        return self._cluster.nodes.name_rank

    def pod_name(self, pod_row: int) -> str:
        return self._cluster.pods.infos[pod_row].key

    @property
    def in_group(self) -> bool:
        return group_of(self._cluster.pods.infos[self.pod_row]) is not None

    def groups_share_cycle(self, rule_set: int) -> bool:
        return self._schedulers.scheduler(rule_set).schedules_groups

    def held(self, rule_set: int) -> tuple[str, str]:
        """What keeps the pod out of the scheduling queue, in a word, and the plugin that holds it back."""
        queue = self._schedulers.scheduler(rule_set).enqueue([self.pod_row])
        if self.pod_row in queue.gated:
            return "gated", queue.gated[self.pod_row].plugin
        return ("ignored" if self.pod_row in queue.ignored else "error" if queue.failed else ""), ""

    def decision(self, rule_set: int) -> Decision:
        if rule_set not in self._decisions:
            self._decisions[rule_set] = self._schedulers.ask(rule_set, self.pod_row)
        return self._decisions[rule_set]

    @property
    def destination(self) -> str:
        """Where the last rule set sends the pod, if need be after an eviction."""
        decision = self.decision(self.way.last)
        return decision.nominated_node if decision.row is None else self.names[decision.row]

    def scores_of(self, rule_set: int, rows: RowColumn) -> ScoreTable | None:
        asked = self._schedulers.leader if rule_set == 0 else self._schedulers.follower(rule_set)
        return asked.scores_of(self.pod_row, rows)

    def verdict(self, rule_set: int, node_row: int) -> NodeVerdict:
        decision = self.decision(rule_set)
        if decision.result == "error":
            return NodeVerdict(False, self._named_in(rule_set, decision.message), decision.message, True)
        if decision.diagnosis is None or node_row in decision.feasible:
            return NodeVerdict(decision.diagnosis is not None)
        own_row = node_row if rule_set == 0 else int(self._schedulers.follower(rule_set).row_of[node_row])
        status = decision.diagnosis.pre_filter or decision.diagnosis.nodes.status(own_row)
        beyond_help = status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        plugin = status.plugin or self._left_out_by(rule_set, node_row)
        owner = next((each.kind.owner for each in status.reasons), "")
        return NodeVerdict(False, plugin, status.message or "not looked at", beyond_help, owner)

    def _runtime(self, rule_set: int) -> Runtime:
        scheduler = self._schedulers.scheduler(rule_set)
        return scheduler.runtimes[scheduler.cluster.pods.infos[self.pod_row].pod.spec.scheduler_name]

    def _left_out_by(self, rule_set: int, node_row: int) -> str:
        """The plugin whose PreFilter leaves the node out."""
        runtime, name = self._runtime(rule_set), self.names[node_row]
        looked = inspect(runtime, runtime.cluster.pods.infos[self.pod_row])
        left_out = (each for each in looked.pre_filter if each.node_names is not None and name not in each.node_names)
        return next((each.plugin for each in left_out), "")

    def _named_in(self, rule_set: int, message: str) -> str:
        """The plugin that an error message names."""
        plugins = self._runtime(rule_set).profile.plugins
        return next((each.name for each in plugins if f'"{each.name}"' in message), "")
