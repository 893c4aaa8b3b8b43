"""Why a pod is on another node under other rules: the rule, the pods that moved before it, or a preemption.

`find_rule_path` gives the steps from the rules of one side of a comparison to those of the other (`RulePath`).
`trace` replays the world of one side, and at the cycle of each pod in question the schedulers of the other rule sets
decide in the same state. `deciders` finds the plugin whose verdict or score made the difference, `RulePath.decisive`
the step that matters, and `with_causes` gives each change its cause."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_fields
from functools import cache, cached_property
from itertools import accumulate, count, pairwise

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.cluster.columns import Int64Column, RowColumn
from ksched_cli.cluster.pod_groups import group_of
from ksched_cli.config.legacy.policy import family_of
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.inspection import inspect
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.errors import KschedError
from ksched_cli.framework.scoring import MAX_NODE_SCORE
from ksched_cli.framework.status import Code
from ksched_cli.plan.diff.diff import FITS, Cause, Decider, Diff, OnNode, PodChange, Side, Tally
from ksched_cli.plan.reference.versions import GATE_RULES, MINOR_RULES, Rules, rule_changes_about, rules_that_differ
from ksched_cli.plan.run.loaded_input import InputMaker, SchedulerSpec, scheduler_maker
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.releases.changes import Aspect, RuleChange
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import RELEASES
from ksched_cli.releases.plugin_names import DEFAULT_PREEMPTION
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.unread import as_stored
from ksched_cli.world.followers import ChangeLog, FollowingScheduler
from ksched_cli.world.world import World


class RuleSet(Rules, Struct, frozen=True):
    """All rules of one scheduler: a minor with gates and a configuration. `make` returns a scheduler with these rules,
    `stored` a new pod with the fields that they read; `configuration` numbers the configurations."""

    configuration: int
    make: Callable[[Loaded], Scheduler]
    stored: Callable[[Pod], Pod]


class RulePathStep(Struct, frozen=True):
    """The difference between the rule set number `first` and the next one."""

    first: int
    rules: tuple[RuleChange, ...]
    configuration: bool


class RulePath:
    """The rule sets from one side of a comparison to the other, minor by minor and gate by gate. A minor that does not
    accept the configuration is left out. `last` is the number of the last rule set."""

    def __init__(self, rule_sets: Sequence[RuleSet]) -> None:
        self.rule_sets, self.last = rule_sets, len(rule_sets) - 1
        self.steps = cache(self._steps)

    @property
    def back(self) -> RulePath:
        return RulePath(self.rule_sets[::-1])

    @property
    def rules(self) -> tuple[RuleChange, ...]:
        """The rules that differ between the two ends."""
        return rules_that_differ(self.rule_sets[0], self.rule_sets[-1])

    @cached_property
    def _all_steps(self) -> list[RulePathStep]:
        return [
            RulePathStep(first, rules_that_differ(one, other), one.configuration != other.configuration)
            for first, (one, other) in enumerate(pairwise(self.rule_sets))
        ]

    def _steps(self, plugins: tuple[str, ...], aspects: frozenset[Aspect]) -> list[RulePathStep]:
        """The steps that may change what these plugins do, each with the rules about them; at least one step."""
        found = []
        for step in self._all_steps:
            rules = dict.fromkeys(rule for each in plugins for rule in rule_changes_about(step.rules, each, aspects))
            if rules or step.configuration:
                found.append(replace(step, rules=tuple(rules)))
        return found or [RulePathStep(0, (), configuration=False)]

    def decisive(
        self, plugins: tuple[str, ...], aspects: frozenset[Aspect], result: Callable[[int], object]
    ) -> RulePathStep:
        """The step of these plugins after which a rule set has the `result` of the last one, found by bisection. A
        single step needs no result."""
        steps = self.steps(plugins, aspects)
        return steps[bisect_left(steps[:-1], True, key=lambda step: result(step.first + 1) == result(self.last))]


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

    def __init__(self, rule_path: RulePath, follower: Callable[[int], FollowingScheduler], row: int) -> None:
        self.rule_path, self.follower, self.row = rule_path, follower, row
        self.ends = (0, rule_path.last)
        self.cluster = follower(0).scheduler.cluster
        self.info = self.cluster.pods.infos[row]
        self.decision = cache(lambda rule_set: follower(rule_set).ask(row))

    @property
    def destination(self) -> str:
        """Where the last rule set sends the pod, if need be after an eviction."""
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
            narrowing = (each for each in found.pre_filter if each.node_names is not None)
            plugin = next((each.plugin for each in narrowing if name not in (each.node_names or ())), "")
        owner = next((each.kind.owner for each in status.reasons), "")
        beyond_help = status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        return NodeVerdict(status.message or "not looked at", plugin, family_of(owner or plugin), beyond_help)

    def decider(
        self, plugin: str, aspect: Aspect, families: tuple[str, ...], result: Callable[[int], object], *nodes: OnNode
    ) -> Decider:
        """The plugin with the rules of these families that make the `result` of a rule set that of the last one."""
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
    """Only one side tries the pod, or only one side tries its pod group as a whole. The other pods of a group decide
    as well, so that the cycles of the group cannot be compared for one pod."""
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
    found = pod.decider(DEFAULT_PREEMPTION, "preemption", plugins, lambda each: _result(pod.decision(each)), *evicting)
    # The rules of preemption itself are the likely ones, if the step changes some.
    own = rule_changes_about(found.rules, DEFAULT_PREEMPTION, ABOUT["preemption"])
    return replace(found, rules=own or found.rules)


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


@dataclass
class PodTrace:
    """What decides otherwise at the first cycle of the pod where something does, and where to: None if one side does
    not try the pod. `cycles` are the numbers of the pod's first cycle and of this one, or of its last."""

    deciders: tuple[Decider, ...] = ()
    destination: str | None = None
    cycles: tuple[int, ...] = ()


def find_rule_path(
    maker: InputMaker, before: RunOptions, after: RunOptions, start: SchedulerSpec, end: SchedulerSpec
) -> RulePath:
    """From minor to minor under the configuration and gates of the older side; at last to the gates, and the
    configuration, of the newer one."""
    if start.release.minor > end.release.minor:
        # A gate has its own rules from the first minor that has it.
        return find_rule_path(maker, after, before, end, start).back
    rule_sets, here = [_rule_set(maker, before, start)], start
    for setup in _minors(before, after, start, end):
        there = _setting(maker, setup)
        if there is None:
            continue
        stops = list(_gate_by_gate(maker, here.gates, setup, there))
        if any(each.of_fields and here.release.minor < each.minor <= there.release.minor for each in MINOR_RULES):
            # A minor that has more fields of pods: its rules come first, without these fields.
            rule_sets.append(_rule_set(maker, *stops[0], fields=here))
        rule_sets += [_rule_set(maker, *stop) for stop in stops]
        here = there
    rule_sets.append(_rule_set(maker, after, end, configuration=int(before.config != after.config)))
    return RulePath(rule_sets)


def _minors(before: RunOptions, after: RunOptions, start: SchedulerSpec, end: SchedulerSpec) -> Iterator[RunOptions]:
    """The setups that the rule path passes: what a minor changes by itself comes first, then what its gates switch."""
    for each in RELEASES.values():
        if start.release.minor < each.minor < end.release.minor:
            yield replace(before, kube_version=each.version)
    yield replace(before, kube_version=end.release.version, feature_gates=after.feature_gates)


def _rule_set(
    maker: InputMaker,
    setup: RunOptions,
    setting: SchedulerSpec,
    configuration: int = 0,
    fields: SchedulerSpec | None = None,
) -> RuleSet:
    """`fields` is the setting whose API server stores the pods, if it is another one."""
    known, make = fields or setting, scheduler_maker(maker.maker(setup), setting)

    def stored(pod: Pod) -> Pod:
        return as_stored(as_stored([pod], setting.release, setting.gates), known.release, known.gates)[0]

    def without_new_fields(loaded: Loaded) -> Scheduler:
        copy = loaded.copied()
        copy.set_all(Pod, as_stored(loaded.of(Pod), known.release, known.gates))
        return make(copy)

    own = without_new_fields if fields else make
    return RuleSet(setting.release, setting.gates, known.release, configuration, own, stored)


def _gate_by_gate(
    maker: InputMaker, gates: FeatureGates, setup: RunOptions, there: SchedulerSpec
) -> Iterator[tuple[RunOptions, SchedulerSpec]]:
    """The setups from `gates` to those of `there`: each switches one more gate that has rules."""
    known = there.release.known_gates.items()
    switched = sorted(
        name for name, gate in known if not gate.locked and gates.enabled(name) != there.gates.enabled(name)
    )
    ruled = [name for name in switched if name in GATE_RULES]
    others = [name for name in switched if name not in GATE_RULES]
    for done in range(len(ruled)):
        # Gates without rules switch with the last one, or with the first one where they depend on others.
        for left in ([*ruled[done:], *others], ruled[done:]):
            kept = ",".join(f"{name}={str(gates.enabled(name)).lower()}" for name in left)
            stop = replace(setup, feature_gates=f"{setup.feature_gates},{kept}")
            setting = _setting(maker, stop)
            if setting is not None:
                yield stop, setting
                break
    yield setup, there


def _setting(maker: InputMaker, setup: RunOptions) -> SchedulerSpec | None:
    try:
        return maker.scheduler_spec(setup)
    except KschedError:
        return None


Traces = defaultdict[str, PodTrace]


def trace(
    rule_path: RulePath, loaded: Loaded, pods: Collection[str], places: Mapping[str, str] | None = None
) -> Traces:
    """Run the world of the first rule set until rest, and compare the two ends of the rule path for these pods.
    `places` has the node of each pod or an empty string: deciders count only if they send the pod there."""
    traces, numbers = Traces(PodTrace), count()

    @cache
    def follower(rule_set: int) -> FollowingScheduler:
        own = rule_path.rule_sets[rule_set]
        return FollowingScheduler(log, own.make(loaded) if rule_set else world.scheduler, own.stored)

    def compare(row: int) -> None:
        name = world.cluster.pods.infos[row].key
        if name in pods and not traces[name].deciders:
            pod = PodDecisions(rule_path, follower, row)
            found = deciders(pod)
            destination = pod.destination if found and found[0].nodes else None
            if destination is None or places is None or destination == places[name]:
                traces[name].deciders, traces[name].destination = found, destination

    def trying(rows: Sequence[int]) -> None:
        for row in rows:
            traced, number = traces[world.cluster.pods.infos[row].key], next(numbers)
            if not traced.deciders:
                traced.cycles = (traced.cycles or (number,))[0], number
            compare(row)

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
        forth = trace(rule_path, loaded, pods.union(*(each.values() for each in evictors)))
        left = {
            change.after.pod: change.before.node
            for change in changes
            if change.before and change.after and not forth[change.before.pod].deciders
        }
        # Some rules only decide otherwise in the state after, once other pods have moved or hold other devices.
        back = trace(rule_path.back, loaded, left, left) if left else Traces(PodTrace)
        assigned = _Assignment(everything, forth, back, evictors)
        changes = tuple(replace(each, cause=assigned.cause(each)) for each in changes)
    return replace_fields(found, changes=changes, rules=_tallies(changes, rule_path))


def _tallies(changes: Sequence[PodChange], rule_path: RulePath) -> tuple[Tally, ...]:
    """Every rule that changed, with how many of these pods it moved, most first."""
    causes = [change.cause for change in changes if change.cause is not None]
    moved = Counter(rule for cause in causes for rule in {rule for each in cause.deciders for rule in each.rules})
    # A gate that was on for some minors in between has rules that are the same at both ends.
    tallies = [Tally(rule, moved[rule]) for rule in dict.fromkeys((*rule_path.rules, *moved))]
    return tuple(sorted(tallies, key=lambda each: -each.pods))


def _evictors(side: Side) -> Mapping[str, str]:
    """By victim the pod that evicts it."""
    found = ((outcome.pod, outcome.preemption) for outcome in side.settle_result.preempting)
    return {victim: pod for pod, preemption in found if preemption is not None for victim in preemption.victims}


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
