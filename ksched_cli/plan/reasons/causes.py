"""Why a pod is on another node under other rules: the rule, the pods that moved before it, or a preemption.

`trace` replays the world of one side, and at the cycle of each pod in question the schedulers of the other rule sets of
a `RulePath` decide in the same state. `deciders` finds the plugin whose verdict or score made the difference,
`RulePath.decisive` the step that matters, and `with_causes` gives each change its cause. Pods of a pod group have one
cycle: `GroupDecisions` compares what becomes of the group, and `RulePath.needed` finds the rule. Rules that change when
a pod is tried, and not what is decided then, are not found."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_fields
from functools import cache, partial
from itertools import accumulate, count

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.cluster.columns import Int64Column, RowColumn
from ksched_cli.cluster.pod_groups import group_of, group_preemptor
from ksched_cli.config.legacy.policy import family_of
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.inspection import inspect
from ksched_cli.framework.scoring import MAX_NODE_SCORE
from ksched_cli.framework.status import Code
from ksched_cli.plan.diff import FITS, Cause, Decider, Diff, OnNode, PodChange, Side, Tally
from ksched_cli.plan.reasons.rule_path import RulePath, RulePathStep
from ksched_cli.plan.reference.versions import rule_changes_about
from ksched_cli.releases.changes import Aspect
from ksched_cli.releases.plugin_names import DEFAULT_PREEMPTION
from ksched_cli.sources.loaded import Loaded
from ksched_cli.world.shadow import ChangeLog, ShadowScheduler
from ksched_cli.world.world import World

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
    the numbers of the first and the last rule set. Rows of nodes are those of the first rule set. `group` are those
    about the pods that share its cycle."""

    def __init__(
        self, rule_path: RulePath, follower: Callable[[int], ShadowScheduler], row: int, group: GroupDecisions
    ) -> None:
        self.rule_path, self.follower, self.row, self.group = rule_path, follower, row, group
        self.ends = (0, rule_path.last)
        self.cluster = follower(0).scheduler.cluster
        self.info = self.cluster.pods.infos[row]
        self.decision = cache(lambda rule_set: follower(rule_set).decide_dry(row))

    def destination(self) -> str | None:
        """Where the last rule set sends the pod, if need be after an eviction. None if its group waits for victims, and
        another cycle decides."""
        if self.queued(self.rule_path.last)[0] == "group":
            end = self.group.outcome(self.rule_path.last)
            return None if end is None else end.nodes.get(self.row, None if end.waits else "")
        decision = self.decision(self.rule_path.last)
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
            plugin = decision.failed_plugin
            return NodeVerdict(decision.message, plugin, family_of(plugin), beyond_help=True)
        if decision.diagnosis is None or node_row in decision.feasible:
            return NodeVerdict("" if decision.diagnosis is None else FITS)
        status = decision.diagnosis.pre_filter or decision.diagnosis.nodes.status(int(follower.row_of[node_row]))
        plugin = status.plugin
        if not plugin:
            name, found = self.cluster.nodes.names[node_row], inspect(runtime, runtime.cluster.pods.infos[self.row])
            names = ((each.plugin, each.node_names) for each in found.pre_filter)
            plugin = next((each for each, kept in names if kept is not None and name not in kept), "")
        owner = next((each.kind.owner for each in status.reasons), "")
        beyond_help = status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        return NodeVerdict(status.message or "not looked at", plugin, family_of(owner or plugin), beyond_help)

    def decider(
        self, plugin: str, aspect: Aspect, families: tuple[str, ...], result: Callable[[int], object], *nodes: OnNode
    ) -> Decider:
        """The plugin with the rules that make the `result` of a rule set that of the last one, those of these families
        if they do."""
        step = self.rule_path.decisive(families, ABOUT[aspect], result)
        return Decider(plugin, aspect, step.rules, nodes, step.configuration)


_SCORING = ABOUT["score"]


class _Change(Struct, frozen=True, eq=False):
    """What a plugin adds to the total of each node on a part of the rule path; `aspects` of the rules that can do
    so."""

    family: str
    delta: Int64Column
    aspects: frozenset[Aspect]
    steps: tuple[RulePathStep, ...] = ()


class _Ranking:
    """The scores of `rows`, the nodes that fit at both ends of the rule path. `was` and `now` are the places in
    `rows` of the nodes that are the best by these scores, before and after."""

    def __init__(self, pod: PodDecisions, rows: RowColumn) -> None:
        self.pod, self.rows = pod, rows
        self.scales = [MAX_NODE_SCORE // each.release.max_node_score for each in pod.rule_path.rule_sets]
        self.scores = cache(self._scores)
        self._name_rank = pod.cluster.nodes.name_rank[rows]
        self._nothing = np.zeros((2, len(rows)), dtype=np.int64)
        self.was, self.now = (self.best(self.totals(rule_set)) for rule_set in pod.ends)

    def _scores(self, rule_set: int) -> Mapping[str, Int64Column] | None:
        """By plugin of today's name: two rows, the normalized and the weighted score of each node. None if the rule set
        cannot score these nodes. Scores of priorities are at most 10 and count ten times."""
        table = self.pod.decision(rule_set).scores if rule_set in self.pod.ends else None
        if table is None or not np.array_equal(np.sort(table.rows), self.rows):
            table = self.pod.follower(rule_set).scores_of(self.pod.row, self.rows)
        if table is None:
            return None
        order = np.argsort(table.rows)
        found: dict[str, Int64Column] = {}
        for plugin, weighted in table.weighted.items():
            own, family = np.stack((table.normalized[plugin], weighted))[:, order], family_of(plugin)
            found[family] = found.get(family, self._nothing) + own * self.scales[rule_set]
        return found

    def totals(self, rule_set: int) -> Int64Column:
        totals: Int64Column = sum((self.scores(rule_set) or {}).values(), self._nothing)[1]
        return totals

    def best(self, totals: Int64Column) -> int:
        return int(np.lexsort((self._name_rank, -totals))[0])

    def change(self, family: str, first: int, last: int, steps: Iterable[RulePathStep] = ()) -> _Change:
        before, after = ((self.scores(each) or {}).get(family, self._nothing) for each in (first, last))
        if np.array_equal(before[0], after[0]):
            aspects = frozenset[Aspect]({"weight"})
        else:
            weights = {weighted.sum() / normal.sum() for normal, weighted in (before, after) if normal.any()}
            aspects = _SCORING if len(weights) > 1 else _SCORING - {"weight"}
        return _Change(family, after[1] - before[1], aspects, tuple(steps))

    def parts(self, family: str) -> Iterator[_Change]:
        """The changes of a plugin step by step. A step to a rule set that cannot score these nodes has no change of its
        own."""
        steps, first = self.pod.rule_path.steps((family,), _SCORING), 0
        ends = [each.first for each in steps[1:] if self.scores(each.first) is not None]
        for end in (*ends, self.pod.rule_path.last):
            yield self.change(family, first, end, (each for each in steps if first <= each.first < end))
            first = end

    def needed(self, changes: Iterable[_Change]) -> list[_Change]:
        """The changes without which the old node would have stayed the best, the change that adds most to the lead of
        the new node first. If none is needed because others would do, as many of the largest as it takes."""
        ordered = sorted(changes, key=lambda each: each.delta[self.was] - each.delta[self.now])
        after = self.totals(self.pod.rule_path.last)
        needed = [each for each in ordered if self.best(after - each.delta) == self.was]
        if needed:
            return needed
        totals = accumulate((each.delta for each in ordered), initial=after - sum(each.delta for each in ordered))
        moved = [self.best(each) != self.was for each in totals]
        return ordered[: moved.index(True, 1)]

    def decider(self, family: str) -> Decider:
        """The plugin with the rules of all needed parts of the rule_path."""
        steps = [(step, part.aspects) for part in self.needed(self.parts(family)) for step in part.steps]
        rules = (rule for step, aspects in steps for rule in rule_changes_about(step.rules, family, aspects))
        aspect: Aspect = "weight" if all(aspects == {"weight"} for _, aspects in steps) else "score"
        nodes = tuple(self._on_node(family, at) for at in (self.was, self.now))
        configuration = any(step.configuration for step, _ in steps)
        return Decider(family, aspect, tuple(dict.fromkeys(rules)), nodes, configuration)

    def _on_node(self, family: str, at: int) -> OnNode:
        scores = ((self.scales[end], (self.scores(end) or {}).get(family)) for end in self.pod.ends)
        figures = (None if own is None else int(own[1][at]) // scale for scale, own in scores)
        return OnNode(self.pod.cluster.nodes.names[int(self.rows[at])], *figures)


def score_deciders(pod: PodDecisions, common: RowColumn, was: int) -> tuple[Decider, ...]:
    """The plugins without which the pod would still go where it went; empty if the scores of the `common` nodes are
    not what moved it."""
    ranking = _Ranking(pod, common)
    before, after = map(ranking.scores, pod.ends)
    if before is None or after is None or common[ranking.was] != was or ranking.now == ranking.was:
        return ()
    changes = [ranking.change(family, *pod.ends) for family in dict.fromkeys((*after, *before))]
    return tuple(ranking.decider(each.family) for each in ranking.needed(changes))


def deciders(pod: PodDecisions) -> tuple[Decider, ...]:
    """What decides otherwise at the end of the rule path than at its beginning, in the same state of the cluster;
    empty if both decide the same."""
    (was, plugin_before), (now, plugin_after) = map(pod.queued, pod.ends)
    if was == now == "group":
        return pod.group.deciders(pod.row)
    if was or now:
        return _by_queue(pod, was, now, plugin_before or plugin_after)
    before, after = map(pod.decision, pod.ends)
    if _result(before) == _result(after):
        return ()
    row = after.row if before.row is None else before.row
    if row is None:
        return (_by_preemption(pod, before, after),)
    if before.row is None or after.row is None or before.row not in after.feasible:
        return (_by_filter(pod, row),)
    by_scores = score_deciders(pod, np.intersect1d(before.feasible, after.feasible), before.row)
    # By the scores alone the pod would go to another node, or it would stay.
    if after.row not in before.feasible:
        return (_by_filter(pod, after.row), *by_scores)
    return by_scores or _by_company(pod, np.setxor1d(before.feasible, after.feasible).tolist())


def _result(decision: Decision) -> object:
    return decision.row, decision.nominated_node, decision.preemption and sorted(decision.preemption.victims)


def _by_queue(pod: PodDecisions, was: str, now: str, plugin: str) -> tuple[Decider, ...]:
    """Only one side tries the pod, or only one side tries its pod group as a whole."""
    if was == now or "error" in (was, now):
        return ()
    if "ignored" in (was, now):
        return (Decider("", "queue", configuration=True),)
    if "gated" in (was, now):
        return (pod.decider(plugin, "queue", (plugin,), lambda each: pod.queued(each)[0] == "gated"),)
    return (pod.decider("", "search", ("",), lambda each: pod.queued(each)[0] == "group"),)


def _by_filter(pod: PodDecisions, node_row: int) -> Decider:
    """The plugin that rejects the node on one side only."""
    before, after = (pod.verdict(end, node_row) for end in pod.ends)
    plugin, family = (after.plugin, after.family) if before.passes else (before.plugin, before.family)

    def rejects(rule_set: int) -> bool:
        verdict = pod.verdict(rule_set, node_row)
        return not verdict.passes and verdict.family == family

    shown = OnNode(pod.cluster.nodes.names[node_row], before.reason, after.reason)
    return pod.decider(plugin, "filter" if plugin else "search", (family,), rejects, shown)


def _by_company(pod: PodDecisions, node_rows: Sequence[int]) -> tuple[Decider, ...]:
    """The plugin that rejects most of the nodes that fit on one side only. Both sides let the pod onto its two nodes
    and rank the two alike, but scores are normalised over other nodes."""
    found = [_by_filter(pod, row) for row in node_rows]
    most = Counter(each.plugin for each in found).most_common(1)
    return tuple(each for each in found if each.plugin == most[0][0])[:1]


def _by_preemption(pod: PodDecisions, before: Decision, after: Decision) -> Decider:
    """A filter, if on one side only no eviction could help on a nominated node; else preemption itself."""
    names, row_of = (before.nominated_node, after.nominated_node), pod.cluster.nodes.row_of
    verdicts = {name: [pod.verdict(end, row_of[name]) for end in pod.ends] for name in names if name}
    for name, (first, second) in verdicts.items():
        if first.beyond_help != second.beyond_help:
            return _by_code(pod, row_of[name], first, second)
    plugins = (DEFAULT_PREEMPTION, *sorted({each.family for both in verdicts.values() for each in both}), "")
    evicting = (OnNode(name, _evicting(pod, before, name), _evicting(pod, after, name)) for name in verdicts)
    return pod.decider(DEFAULT_PREEMPTION, "preemption", plugins, lambda each: _result(pod.decision(each)), *evicting)


def _by_code(pod: PodDecisions, node_row: int, before: NodeVerdict, after: NodeVerdict) -> Decider:
    hopeless = before if before.beyond_help else after
    texts = (
        f"{each.reason}, {'beyond help' if each.beyond_help else 'preemption may help'}" for each in (before, after)
    )
    shown = OnNode(pod.cluster.nodes.names[node_row], *texts)
    family = (hopeless.family,)
    return pod.decider(
        hopeless.plugin, "preemption", family, lambda each: pod.verdict(each, node_row).beyond_help, shown
    )


def _evicting(pod: PodDecisions, decision: Decision, node: str) -> str | None:
    if decision.preemption is None or decision.nominated_node != node:
        return None
    return f"evicts {', '.join(sorted(pod.cluster.pods.infos[row].key for row in decision.preemption.victims))}"


class GroupOutcome(Struct, frozen=True):
    """What a rule set decides about a pod group: its result, the victims by node, and the nodes of its pods by row,
    also those that they are nominated to."""

    result: str
    victims: Mapping[str, tuple[str, ...]]
    nodes: Mapping[int, str]

    @property
    def waits(self) -> bool:
        return self.result == "waiting"

    def at(self, row: int, node: str) -> str:
        """What becomes of the pod on this node."""
        if self.nodes.get(row) == node:
            return "nominated" if self.waits else "placed"
        if row in self.nodes:
            return "not chosen"
        return _GROUP_RESULTS.get(self.result, "not placed")


_GROUP_RESULTS = {
    "unschedulable": "group is unschedulable",
    "waiting": "group waits for victims",
    "error": "group is in error",
}


class GroupDecisions:
    """The decisions of all rule sets about the pods that share a cycle, in the present state of the world, each
    computed once."""

    def __init__(self, rule_path: RulePath, follower: Callable[[int], ShadowScheduler], rows: Sequence[int]) -> None:
        self.rule_path, self.follower, self.rows = rule_path, follower, rows
        self.outcome = cache(self._outcome)
        self._step = cache(self._found_step)

    def _outcome(self, rule_set: int) -> GroupOutcome | None:
        """None if the rule set has no cycle for this group."""
        decision = self.follower(rule_set).ask_group(self.rows)
        if decision is None:
            return None
        cluster = self.follower(rule_set).scheduler.cluster
        names, victims = cluster.nodes.names, defaultdict(list)
        # Pods that preempt by themselves have victims of their own.
        alone = (row for each in decision.decisions if each.preemption for row in each.preemption.victims)
        for row in (*decision.victims, *alone):
            victims[names[cluster.pods.node_row[row]]].append(cluster.pods.infos[row].key)
        nodes = {
            each.pod_row: each.nominated_node if each.row is None else names[each.row] for each in decision.decisions
        }
        return GroupOutcome(
            decision.result,
            {node: tuple(sorted(victims[node])) for node in sorted(victims)},
            {row: node for row, node in nodes.items() if node},
        )

    def _found_step(self, part: str, row: int | None) -> RulePathStep:
        """The step that changes a part of the outcome, or the node of this pod."""

        def result(rule_set: int) -> object:
            found = self.outcome(rule_set)
            if found is None or part != "nodes":
                return found and getattr(found, part)
            return sorted(found.nodes.values()) if row is None else found.nodes.get(row)

        return self.rule_path.needed(result)

    def deciders(self, row: int | None = None) -> tuple[Decider, ...]:
        """The rules that make another result of the group, or choose other victims, or else another node for the
        pod; without a pod for any of the group."""
        before, after = self.outcome(0), self.outcome(self.rule_path.last)
        if before is None or after is None:
            return ()
        nodes = [
            OnNode(node, before.at(each, node), after.at(each, node))
            for each in (self.rows if row is None else [row])
            if before.nodes.get(each) != after.nodes.get(each)
            for node in dict.fromkeys((before.nodes.get(each), after.nodes.get(each)))
            if node
        ]
        evicting = [
            OnNode(node, *(_evicts(each.victims.get(node, ())) for each in (before, after)))
            for node in sorted({**before.victims, **after.victims})
            if before.victims.get(node) != after.victims.get(node)
        ]
        if not nodes and not evicting:
            return ()
        if before.result != after.result:
            step = self._step("result", None)
        elif evicting:
            step, nodes = self._step("victims", None), evicting
        else:
            step = self._step("nodes", row)
        aspect: Aspect = "preemption" if evicting or before.waits or after.waits else "search"
        shown = tuple(evicting or nodes) if row is None else tuple(nodes or evicting)
        found = [Decider(rule.plugins[0], aspect, (rule,), shown) for rule in step.rules]
        return tuple(found) or (Decider("", aspect, nodes=shown, configuration=step.configuration),)


def _evicts(victims: Sequence[str]) -> str | None:
    return f"evicts {', '.join(victims)}" if victims else None


@dataclass
class PodTrace:
    """What decides otherwise at the first cycle of the pod where something does, and where to: None if one side does
    not try the pod. `cycles` are the numbers of the pod's first cycle and of this one, or of its last."""

    deciders: tuple[Decider, ...] = ()
    destination: str | None = None
    cycles: tuple[int, ...] = ()


Traces = defaultdict[str, PodTrace]


def trace_causes(
    rule_path: RulePath, loaded: Loaded, pods: Collection[str], places: Mapping[str, str] | None = None
) -> Traces:
    """Run the world of the first rule set until rest, and compare the two ends of the rule path for these pods.
    `places` has the node of each pod or an empty string: deciders count only if they send the pod there."""
    traces, numbers = Traces(PodTrace), count()

    @cache
    def follower(rule_set: int) -> ShadowScheduler:
        own = rule_path.rule_sets[rule_set]
        return ShadowScheduler(log, own.make(loaded) if rule_set else world.scheduler, own.stored)

    def compare(name: str, find: Callable[[], tuple[Decider, ...]], destination: Callable[[], str | None]) -> None:
        traced, number = traces[name], next(numbers)
        if traced.deciders:
            return
        traced.cycles = (traced.cycles or (number,))[0], number
        if name in pods:
            found = find()
            there = destination() if found and found[0].nodes else None
            if there is None or places is None or there == places[name]:
                traced.deciders, traced.destination = found, there

    def trying(rows: Sequence[int]) -> None:
        group, infos = GroupDecisions(rule_path, follower, rows), world.cluster.pods.infos
        if group_of(infos[rows[0]]) is not None:
            # The whole group may be the preemptor of a pod.
            compare(group_preemptor(infos[rows[0]]), group.deciders, lambda: None)
        for row in rows:
            pod = PodDecisions(rule_path, follower, row, group)
            compare(infos[row].key, partial(deciders, pod), pod.destination)

    world = World(rule_path.rule_sets[0].make(loaded), loaded, trying=trying)
    log = ChangeLog(world)
    world.run()
    return traces


def with_causes(found: Diff, everything: Diff, rule_path: RulePath, loaded: Loaded, before: Side, after: Side) -> Diff:
    """`everything` also has the changes of pods that the result leaves out. Both sides began with `loaded`."""
    changes = found.changes
    if changes:
        evictors = _evictors(before), _evictors(after)
        pods = {name for change in changes for name in change.pods}
        forth = trace_causes(rule_path, loaded, pods.union(*(each.values() for each in evictors)))
        left = {
            change.after.pod: change.before.node
            for change in changes
            if change.before and change.after and not forth[change.before.pod].deciders
        }
        # Some rules only decide otherwise in the state after, once other pods have moved or hold other devices.
        back = trace_causes(rule_path.back, loaded, left, left) if left else Traces(PodTrace)
        assigned = _Assignment(everything, forth, back, evictors)
        changes = tuple(replace(each, cause=assigned.cause(each)) for each in changes)
    return replace_fields(found, changes=changes, rules=_tallies(changes, rule_path))


def _tallies(changes: Sequence[PodChange], rule_path: RulePath) -> tuple[Tally, ...]:
    """Every rule that changed, with how many of these pods it moved, most first."""
    causes = [change.cause for change in changes if change.cause is not None]
    moved = Counter(rule for cause in causes for rule in {rule for each in cause.deciders for rule in each.rules})
    # A gate that was on for some minors in between has rules that are the same at both ends.
    tallies = [
        Tally(
            since=rule.since,
            gate=rule.gate,
            text=rule.text,
            plugins=rule.plugins,
            aspects=tuple(sorted(rule.aspects)),
            pods=moved[rule],
        )
        for rule in dict.fromkeys((*rule_path.rules, *moved))
    ]
    return tuple(sorted(tallies, key=lambda each: -each.pods))


def _evictors(side: Side) -> Mapping[str, str]:
    """By victim the pod, or the pod group, that evicts it."""
    found = ((outcome.pod, outcome.preemption) for outcome in side.settle_result.preempting)
    evictors = {victim: pod for pod, preemption in found if preemption is not None for victim in preemption.victims}
    gone = {pod.pod: pod.preempted_by for pod in side.settle_result.world.final.others if pod.preempted_by}
    return gone | evictors


class _Assignment:
    def __init__(self, everything: Diff, forth: Traces, back: Traces, evictors: Sequence[Mapping[str, str]]) -> None:
        self._forth, self._back, self._evictors = forth, back, evictors
        # In each trace the changes by the first cycle that had to do with them.
        self._in_order = [(each, self._by_first_cycle(everything.changes, each)) for each in (forth, back)]

    def _by_first_cycle(self, changes: Sequence[PodChange], traces: Traces) -> list[tuple[int, PodChange]]:
        cycles = ((self._cycles(each, traces), each) for each in changes)
        return sorted(((min(own), each) for own, each in cycles if own), key=lambda each: (each[0], each[1].pods))

    def cause(self, change: PodChange) -> Cause:
        for traced in (self._forth[name] for name in change.pods):
            if traced.deciders:
                there = change.after.node if change.after else ""
                alone = None if traced.destination == there else traced.destination
                return Cause("rule", traced.deciders, alone=alone)
        # The pod is evicted on one side only; on the other it is still there by its name.
        before, after = self._evictors
        was, now = (side.pod if side else "" for side in (change.before, change.after))
        if was in after and was not in before:
            return Cause("preemption", self._forth[after[was]].deciders, after[was], "after")
        if now in before and now not in after:
            return Cause("preemption", self._forth[before[now]].deciders, before[now], "before")
        ahead = self._ahead(change)
        for traced in (self._back[name] for name in change.pods):
            # The pod would have stayed without the rule, and it would have stayed without the pods that moved.
            if traced.deciders:
                return Cause("rule", tuple(each.back for each in traced.deciders), pods=ahead)
        return Cause("others", pods=ahead)

    def _ahead(self, change: PodChange) -> tuple[str, ...]:
        """The pods that moved before this pod's last cycle; only those that left or took one of its nodes, if any."""
        ahead: list[PodChange] = []
        for traces, in_order in self._in_order:
            last = max(self._cycles(change, traces), default=0)
            earlier = in_order[: bisect_left(in_order, last, key=lambda each: each[0])]
            ahead += (other for _, other in earlier if not self._involved(other).intersection(change.pods))
        near = [each for each in ahead if not each.nodes.isdisjoint(change.nodes)]
        return tuple(dict.fromkeys(each.pods[0] for each in near or ahead))

    def _cycles(self, change: PodChange, traces: Traces) -> list[int]:
        return [cycle for name in self._involved(change) if name in traces for cycle in traces[name].cycles]

    def _involved(self, change: PodChange) -> set[str]:
        """The pod and the pods that evicted it."""
        evictors = (evicted[name] for name in change.pods for evicted in self._evictors if name in evicted)
        return {*change.pods, *evictors}
