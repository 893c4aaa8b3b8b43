"""One pod at its cycle: what the scheduler of each rule set would do in the same state of the cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from msgspec import Struct

from ksched_cli.cluster.pod_groups import group_of
from ksched_cli.config.legacy.policy import family_of
from ksched_cli.engine.inspection import inspect
from ksched_cli.framework.status import Code
from ksched_cli.plan.causes.results import FITS, Decider, OnNode
from ksched_cli.plan.causes.way import Way
from ksched_cli.releases.changes import Aspect
from ksched_cli.world.followers import FollowingScheduler

# The rules that can change a decision are about these aspects.
ABOUT: Mapping[Aspect, frozenset[Aspect]] = {
    "queue": frozenset({"queue", "fields"}),
    "filter": frozenset({"filter", "fields", "search"}),
    "search": frozenset({"filter", "fields", "search"}),
    "preemption": frozenset({"preemption", "filter", "fields"}),
    "score": frozenset({"score", "weight", "fields"}),
}


class NodeVerdict(Struct, frozen=True):
    """What a rule set decides about a node; `beyond_help` if no eviction could change it. Without a plugin the search
    did not reach the node. `family` is today's name of the plugin whose reason it is."""

    reason: str
    plugin: str = ""
    family: str = ""
    beyond_help: bool = False

    @property
    def passes(self) -> bool:
        return self.reason == FITS


class PodDecisions:
    """The decisions of all rule sets about one pod in the present state of the world, each computed once. `ends` are
    the numbers of the first and the last rule set. Rows of nodes are those of the first rule set."""

    def __init__(self, way: Way, follower: Callable[[int], FollowingScheduler], row: int) -> None:
        self.way, self.follower, self.row = way, follower, row
        self.ends = (0, way.last)
        self.cluster = follower(0).scheduler.cluster
        self.info = self.cluster.pods.infos[row]
        self.decision = cache(lambda rule_set: follower(rule_set).ask(row))

    @property
    def destination(self) -> str:
        """Where the last rule set sends the pod, if need be after an eviction."""
        decision = self.decision(self.way.last)
        return decision.nominated_node if decision.row is None else self.cluster.nodes.names[decision.row]

    def queued(self, rule_set: int) -> tuple[str, str]:
        """How the queue treats the pod: "gated" with the plugin that holds it back, "ignored", "error", "group" if the
        cycle is that of its pod group, or an empty string."""
        scheduler = self.follower(rule_set).catch_up()
        queue = scheduler.enqueue([self.row])
        if self.row in queue.gated:
            return "gated", queue.gated[self.row].plugin
        if queue.ignored or queue.failed:
            return "ignored" if queue.ignored else "error", ""
        return "group" if scheduler.schedules_groups and group_of(self.info) is not None else "", ""

    def verdict(self, rule_set: int, node_row: int) -> NodeVerdict:
        decision, follower = self.decision(rule_set), self.follower(rule_set)
        runtime = follower.scheduler.runtimes[self.info.pod.spec.scheduler_name]
        if decision.result == "error":
            names = (each.name for each in runtime.profile.plugins)
            plugin = next((name for name in names if f'"{name}"' in decision.message), "")
            return NodeVerdict(decision.message, plugin, family_of(plugin), beyond_help=True)
        if decision.diagnosis is None or node_row in decision.feasible:
            return NodeVerdict("" if decision.diagnosis is None else FITS)
        status = decision.diagnosis.pre_filter or decision.diagnosis.nodes.status(int(follower.row_of[node_row]))
        plugin = status.plugin
        if not plugin:
            name, found = self.cluster.nodes.names[node_row], inspect(runtime, runtime.cluster.pods.infos[self.row])
            narrowing = (each for each in found.pre_filter if each.node_names is not None)
            plugin = next((each.plugin for each in narrowing if name not in (each.node_names or ())), "")
        owner = next((each.kind.owner for each in status.reasons), "")
        beyond_help = status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        return NodeVerdict(status.message or "not looked at", plugin, family_of(owner or plugin), beyond_help)

    def decider(
        self, plugin: str, aspect: Aspect, families: tuple[str, ...], result: Callable[[int], object], *nodes: OnNode
    ) -> Decider:
        """The plugin with the rules of these families that make the `result` of a rule set that of the last one."""
        step = self.way.decisive(families, ABOUT[aspect], result)
        return Decider(plugin, aspect, step.rules, nodes, step.configuration)
