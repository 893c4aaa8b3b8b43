"""The one memory of a runtime: answers of its plugins by signature, repaired for the nodes that have changed.

`Depends` of a plugin lists what its answers depend on. A template is the pod without name, uid and times. Templates
whose plugins return equal signatures share one `Search`, the result of PreFilter and Filter for every node. When the
next pod of such a template comes, the filters run again for the rows that the cluster's journal has since then, and for
the rows that a plugin returns which depends on pods anywhere. Scores are in `ranking.py`.

Everything is kept in `Cluster.derived`, so that a change of nodes or a roll back drops or restores it.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Hashable, Sequence
from itertools import takewhile
from typing import Any

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import NOWHERE, BoolColumn, RowColumn, rows_in_any
from ksched_cli.cluster.pod_groups import group_of
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.answers.ranking import FixedScores, Ranking, SharedColumns, keep_latest
from ksched_cli.engine.cycle.runtime import CycleState, Runtime
from ksched_cli.engine.decision import Decision, ScoreTable, best_rows
from ksched_cli.engine.faults import CycleError
from ksched_cli.engine.nominator import NominatedPods
from ksched_cli.framework.depends import ANYWHERE, Depends
from ksched_cli.framework.diagnosis import NodeStatuses
from ksched_cli.framework.interfaces import FilterPlugin, Plugin, PreFilterPlugin, PreFilterResult
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import Status

# How much memory the results of all templates may take together, and how much one takes per node.
_BYTES = 96 * 2**20
_BYTES_PER_NODE = 32
# After so many results in a row that no later pod had a use for, only results of templates with copies are kept.
_UNUSED = 4
# So many results of filters that only the node object matters to are kept.
_GROUNDS = 64


def most_templates(nodes: int) -> int:
    """How many templates have a result that is kept."""
    return max(_BYTES // (_BYTES_PER_NODE * max(nodes, 1)), 2)


class MovingPlugin(Struct):
    """A plugin that depends on pods anywhere, and the version that its state is of."""

    plugin: Plugin
    depends: Depends
    version: Hashable


class Search(Struct):
    """The result of the Filter plugins in force for all pods with one tuple of signatures. `state` has the states
    that PreFilter returned, `followers` are the plugins that depend on pods anywhere. `feasible` is None for all nodes.
    `closed` are nodes that a filter at the front rejects for which only the node object matters, None for no node;
    `open_filters` are the filters after it. `position` is the length of the journal when the search was made or
    repaired."""

    state: CycleState
    followers: list[MovingPlugin]
    statuses: NodeStatuses
    feasible: RowColumn | None
    closed: BoolColumn | None
    open_filters: tuple[FilterPlugin[Any], ...]
    position: int


class FixedAnswers(Struct):
    """The answers of the plugins for which only the node object matters, for all pods that sign alike for them: those
    of PreFilter, of the filters at the front, and the scores. `binds_alike`: the plugins from Reserve on are among
    them. `whole`: PreFilter of all of them has run."""

    plugins: set[str]
    binds_alike: bool
    pre_filter: dict[str, PreFilterResult[Any] | Status]
    whole: bool = False
    ground: Ground | None = None
    scores: FixedScores | None = None


class TemplateAnswers(Struct):
    """What is known of the pods of one template. `skipping` are the plugins that depend on pods anywhere and return
    SKIP from PreFilter. `failure` is the decision about a pod that found no node, at `failed_at`. `copies_count`: to
    count copies is all that plugins need. So many copies are placed at once: `run`."""

    search: Search
    state: CycleState
    skipping: list[MovingPlugin]
    depends: dict[str, Depends | None]
    fixed: FixedAnswers
    ranking: Ranking | None = None
    failure: Decision | None = None
    failed_at: Hashable = None
    copies_count: bool | None = None
    run: int = 1


class Ground(Struct, frozen=True):
    """The result of the filters at the front for which only the node object matters; `passed` is None for all nodes."""

    statuses: NodeStatuses
    passed: RowColumn | None


class Kept(Struct):
    """Everything that is kept for one structure of the cluster."""

    templates: OrderedDict[tuple[int, bytes], TemplateAnswers]
    searches: OrderedDict[Hashable, Search]
    fixed: OrderedDict[Hashable, FixedAnswers]
    grounds: OrderedDict[Hashable, Ground]
    columns: SharedColumns


class Answers:
    """The memory of one runtime (schedule_one.Memory)."""

    def __init__(self, runtime: Runtime, cluster: Cluster, nominator: NominatedPods) -> None:
        self._runtime = runtime
        self._cluster = cluster
        self._nominator = nominator
        profile = runtime.profile
        self._profile = profile
        plugins = (*profile.pre_filter, *profile.filter, *profile.pre_score, *profile.score, *profile.after_scoring)
        self._plugins: tuple[Plugin, ...] = tuple({each.name: each for each in plugins}.values())
        self._binding_names = {each.name for each in profile.after_scoring}
        self._unused = 0
        self._counted = 0
        self._copies: Counter[bytes] = Counter()
        # Copies have one template in memory.
        self._known: dict[bytes, bytes] = {}
        # The pod that is in its cycle, everything that is kept of the cluster as it is, what the pod's plugins depend
        # on, the answers that need only the node objects, the signatures of its filters, and what is kept of its
        # template.
        self._pod: PodInfo | None = None
        self._kept = self._nothing_kept()
        self._depends: dict[str, Depends | None] = {}
        self._fixed = FixedAnswers(set(), False, {})
        self._signed: Hashable = None
        self._template: TemplateAnswers | None = None
        self._search: Search | None = None
        # The versions that were read in that cycle, by plugin.
        self._versions: dict[str, Hashable] = {}
        # The state of the cluster before that cycle, and whether any decision about a pod without a node is kept.
        self._token: Hashable = None
        self._has_failures = False

    def _nothing_kept(self) -> Kept:
        columns = SharedColumns(self._runtime, self._cluster)
        return Kept(OrderedDict(), OrderedDict(), OrderedDict(), OrderedDict(), columns)

    # PreFilter and Filter

    def recall(self, info: PodInfo, state: CycleState) -> Search | None:
        """The search for the pod's template as of now."""
        kept = self._kept = self._cluster.derived(self, self._nothing_kept)
        key = self._cluster.catalog.version, info.parts.template
        template = kept.templates.get(key)
        self._pod, self._template, self._search, self._versions = info, None, None, {}
        if template is None:
            self._begin(kept, info, state)
            return None
        search, state.depends = template.search, template.depends
        self._depends, self._fixed = template.depends, template.fixed
        if search.followers and self._nominator.nodes():
            return None
        if not self._holds(kept, search, info, template.skipping):
            return None
        kept.templates.move_to_end(key)
        self._template, self._unused = template, 0
        mine = template.state
        state.filter_states, state.skip_filter, state.in_force = (
            dict(mine.filter_states),
            mine.skip_filter,
            mine.in_force,
        )
        for follower in search.followers:
            state.filter_states[follower.plugin.name] = search.state.filter_states[follower.plugin.name]
        state.binds_alike, state.trial_rules = template.fixed.binds_alike, search.state.trial_rules
        return search

    def _begin(self, kept: Kept, info: PodInfo, state: CycleState) -> None:
        """Look up what the plugins depend on, and the answers of those for which only the node object matters."""
        try:
            depends = {each.name: each.depends(info) for each in self._plugins}
        except Exception:
            # The plugin that fails is blamed.
            depends = {each.name: self._runtime.depends(each, info) for each in self._plugins}
        state.depends = self._depends = depends
        signed = [
            (name, each.signature)
            for name, each in depends.items()
            if each is not None and each.on == "node" and each.signature is not None
        ]
        key = self._cluster.catalog.version, tuple(signed)
        fixed = kept.fixed.get(key)
        if fixed is None:
            names = {name for name, _ in signed}
            fixed = keep_latest(kept.fixed, key, FixedAnswers(names, self._binding_names <= names, {}), _GROUNDS)
        self._fixed = fixed
        state.pre_filter = fixed.pre_filter.copy()
        state.binds_alike = fixed.whole and fixed.binds_alike

    def _skips_again(self, follower: MovingPlugin, info: PodInfo) -> bool:
        """Whether PreFilter of a plugin that has returned SKIP does so again."""
        assert isinstance(follower.plugin, PreFilterPlugin)
        answer = self._runtime.pre_filter(follower.plugin, info)
        return not isinstance(answer, PreFilterResult) and answer.skipped

    def _is_as_before(self, follower: MovingPlugin) -> bool:
        """Whether the version of what the plugin depends on is the same. Without a version that is not known."""
        if follower.depends.version is None:
            return False
        before, now = follower.version, follower.depends.version()
        follower.version = self._versions[follower.plugin.name] = now
        return now == before

    def filter(self, state: CycleState, info: PodInfo, statuses: NodeStatuses) -> NodeRows:
        """The search of pods that sign alike, or a search in which filters at the front for which only the node object
        matters run once for all pods that sign alike."""
        runtime, cluster, fixed, kept = self._runtime, self._cluster, self._fixed, self._kept
        in_force = runtime.in_force(state)
        if not fixed.whole:
            answers = state.pre_filter.items()
            fixed.pre_filter, fixed.whole = {name: each for name, each in answers if name in fixed.plugins}, True
        self._signed = self._signatures(in_force, info)
        self._search = search = kept.searches.get(self._signed)
        may_serve = search is not None and not (search.followers and self._nominator.nodes())
        if search is not None and may_serve and self._holds(kept, search, info, ()):
            statuses.copy_from(search.statuses)
            return NodeRows(cluster, search.feasible)
        self._search = None
        length, plugins = 0, fixed.plugins
        while length < len(in_force) and in_force[length].name in plugins:
            length += 1
        if not length or self._profile.checks_all_filters:
            return runtime.run_filter_with_nominated(in_force, state, info, NodeRows(cluster), statuses)
        ground = fixed.ground
        if ground is None:
            ground = fixed.ground = self._ground_of(kept, state, info, in_force[:length])
        statuses.copy_from(ground.statuses)
        nodes = NodeRows(cluster, ground.passed)
        if not len(nodes):
            return nodes
        return runtime.run_filter_with_nominated(in_force[length:], state, info, nodes, statuses)

    def _ground_of(self, kept: Kept, state: CycleState, info: PodInfo, front: Sequence[FilterPlugin[Any]]) -> Ground:
        key = self._signatures(front, info)
        ground = kept.grounds.get(key)
        if ground is None:
            cluster = self._cluster
            found = NodeStatuses(len(cluster.nodes))
            passed = self._runtime.run_filter(front, state, info, NodeRows(cluster), found)
            ground = keep_latest(kept.grounds, key, Ground(found, None if passed.whole else passed.rows), _GROUNDS)
        return ground

    def _signatures(self, plugins: Sequence[Plugin], info: PodInfo) -> Hashable | None:
        """The tuple of the plugins' signatures; None where one does not sign."""
        found: list[Hashable] = [self._cluster.catalog.version, info.priority]
        for plugin in plugins:
            depends = self._depends[plugin.name]
            if depends is None or depends.signature is None:
                return None
            found += (plugin.name, depends.signature)
        return tuple(found)

    def keep(self, state: CycleState, info: PodInfo, statuses: NodeStatuses, feasible: RowColumn) -> None:
        """Keep the result right after filters have run over all nodes, if another pod is likely to use it."""
        search, signatures = self._search, self._signed
        if signatures is None or (search is None and not self._may_return(info, feasible)):
            return
        runtime, depends, kept = self._runtime, self._depends, self._kept
        in_force, pre_filter = runtime.in_force(state), self._profile.pre_filter
        if self._profile.checks_all_filters or self._signatures(pre_filter, info) is None:
            return
        mine = CycleState(dict(state.filter_states), {}, set(state.skip_filter), set())
        most = most_templates(len(statuses))
        mine.in_force = in_force
        if search is None:
            states = CycleState(dict(state.filter_states), {}, mine.skip_filter, set())
            made = self._make_search(states, in_force, statuses, feasible)
            search = keep_latest(kept.searches, signatures, made, most)
        skipping = [follower for follower in self._followers(pre_filter) if follower.plugin not in in_force]
        key = self._cluster.catalog.version, info.parts.template
        answers = TemplateAnswers(search, mine, skipping, depends, self._fixed)
        self._template = keep_latest(kept.templates, key, answers, most)

    def _make_search(
        self, states: CycleState, in_force: tuple[FilterPlugin[Any], ...], statuses: NodeStatuses, feasible: RowColumn
    ) -> Search:
        front = {each.name for each in takewhile(lambda each: each.name in self._fixed.plugins, in_force)}
        closed = None
        if not front.isdisjoint(statuses.unschedulable_plugins()):
            by_kind = np.array([each.plugin in front for each in statuses.kinds.values], dtype=np.bool_)
            closed = statuses.failed & by_kind.take(statuses.kind_ids)
        return Search(
            states,
            self._followers(in_force),
            statuses.copy(),
            None if len(feasible) == len(statuses) else feasible,
            closed,
            in_force[len(front) :],
            len(self._cluster.journal),
        )

    def _followers(self, plugins: Sequence[Plugin]) -> list[MovingPlugin]:
        """Those of the plugins that depend on pods anywhere, as of now."""
        return [
            MovingPlugin(each, depends, depends.version() if depends.version is not None else None)
            for each in plugins
            if (depends := self._depends[each.name]) is not None and depends.on == ANYWHERE
        ]

    def _drop(self, kept: Kept, search: Search) -> None:
        for key in [key for key, each in kept.searches.items() if each is search]:
            del kept.searches[key]
        for name in [name for name, each in kept.templates.items() if each.search is search]:
            del kept.templates[name]

    def _may_return(self, info: PodInfo, feasible: RowColumn) -> bool:
        """Whether a pod of the template is likely to have another cycle. Where every pod has a template of its own,
        results would be kept in vain. A pod that no node fits is tried again."""
        if not len(feasible):
            return True
        self._unused += 1
        return self._unused <= _UNUSED or self._has_copies(info)

    def _has_copies(self, info: PodInfo) -> bool:
        """Whether other pods of the pod's template have been without a node. Each row of the pod table is counted once,
        also one that a roll back takes back: no decision depends on the number."""
        pods = self._cluster.pods
        if self._counted != len(pods.infos):
            first = self._counted if self._counted <= len(pods.infos) else 0
            self._counted = len(pods.infos)
            for row in (pods.node_row[first:] == NOWHERE).nonzero()[0].tolist():
                if first + row not in pods.gone:
                    parts = pods.infos[first + row].parts
                    parts.template = self._known.setdefault(parts.template, parts.template)
                    self._copies[parts.template] += 1
        return self._copies[info.parts.template] > 1

    # Repair

    def _holds(self, kept: Kept, search: Search, info: PodInfo, skipping: Sequence[MovingPlugin]) -> bool:
        """Whether the search can be brought up to date, and the plugins that skipped it skip it again. Else it is
        dropped, also where a plugin fails: the plugin fails again in a cycle of its own."""
        try:
            holds = self._repair(search, info)
            for follower in skipping:
                holds = holds and (self._is_as_before(follower) or self._skips_again(follower, info))
        except CycleError:
            self._drop(kept, search)
            raise
        if not holds:
            self._drop(kept, search)
        return holds

    def _repair(self, search: Search, info: PodInfo) -> bool:
        """Bring the search up to date; False where PreFilter now returns something of another kind."""
        touched = self._cluster.journal[search.position :]
        changed: list[RowColumn] = []
        for follower in search.followers:
            if self._is_as_before(follower) or (follower.depends.version is None and not touched):
                continue
            rows = self._pre_filter_again(search, follower.plugin, info)
            if rows is None:
                return False
            if len(rows):
                changed.append(rows)
        if not touched and not changed:
            return True
        rows = np.array(sorted(set(touched)) if len(touched) > 1 else touched, dtype=np.int64)
        if changed:
            rows = rows_in_any(len(search.statuses), (rows, *changed))
        search.position = len(self._cluster.journal)
        if search.closed is not None:
            rows = rows[~search.closed[rows]]
        if not len(rows):
            return True
        statuses = search.statuses
        before, nodes = statuses.codes.take(rows), NodeRows(self._cluster, rows)
        # Statuses that come out as they were leave what was summed up of them.
        found = NodeStatuses(len(statuses)) if np.count_nonzero(before) else statuses
        self._runtime.run_filter_with_nominated(search.open_filters, search.state, info, nodes, found)
        if found is not statuses:
            statuses.follow(found, rows)
        if np.count_nonzero((before == 0) != (statuses.codes.take(rows) == 0)):
            feasible = (statuses.codes == 0).nonzero()[0]
            search.feasible = None if len(feasible) == len(statuses) else feasible
        return True

    def _pre_filter_again(self, search: Search, plugin: Plugin, info: PodInfo) -> RowColumn | None:
        """The rows that differ for the plugin's filter; None where its PreFilter returns something of another kind."""
        state, name = search.state, plugin.name
        if plugin not in self._profile.pre_filter:
            return self._cluster.nodes.all_rows
        assert isinstance(plugin, PreFilterPlugin)
        answer = self._runtime.pre_filter(plugin, info)
        if not isinstance(answer, PreFilterResult) or answer.skip or answer.node_names is not None:
            return None
        before, state.filter_states[name] = state.filter_states[name], answer.state
        assert isinstance(plugin, FilterPlugin)
        found = plugin.changed_rows(info, before, answer.state)
        return self._cluster.nodes.all_rows if found is None else found

    # Scores

    def score(self, state: CycleState, info: PodInfo, feasible: RowColumn) -> ScoreTable:
        """The scores of the feasible nodes."""
        template, whole = self._template, len(feasible) == len(self._cluster.nodes.objects)
        rows = None if whole else feasible
        if template is None or (rows is not None and rows is not template.search.feasible):
            return self._rank(state, info, rows, is_kept=self._has_copies(info)).table(info)
        # A ranking about which a plugin fails is dropped.
        ranking, template.ranking = template.ranking, None
        if ranking is None or not ranking.repair(state, info, rows, template.search.statuses, self._versions):
            ranking = self._rank(state, info, rows, is_kept=True)
        table = ranking.table(info)
        template.ranking = ranking
        return table

    def _rank(self, state: CycleState, info: PodInfo, rows: RowColumn | None, *, is_kept: bool) -> Ranking:
        ranking = Ranking(self._kept.columns, state, info, self._depends, rows, self._fixed.scores, is_kept=is_kept)
        self._fixed.scores = ranking.fixed_scores
        return ranking

    def place_copies(self, pod_row: int, most: int) -> list[int]:
        """Place copies of a placed pod, which have no row of their own, and return their nodes in the order of their
        cycles; none where a copy needs a cycle.

        Of the best nodes each takes a copy, up to one that scores as much with its copy: it takes the next one, too.
        Until then no other node changes, which is seen afterwards; copies that came after a change are taken back."""
        cluster, info = self._cluster, self._cluster.pods.infos[pod_row]
        before = self._scores_for_copy(info)
        template = self._template
        if before is None or template is None or template.ranking is None:
            return []
        ranking, fixed_sum = template.ranking, template.ranking.fixed_sum
        # Two nodes are left, so that scores decide.
        size = min(most, template.run, len(before.rows) - 2) if ranking.is_local else 1
        rows = best_rows(before, cluster.nodes)[: max(size, 1)]
        found: list[int] = rows.tolist()
        cluster.place_copies(pod_row, found)
        if len(found) == 1:
            template.run = 2
            return found
        kept = 1
        try:
            after = self._scores_for_copy(info)
        except CycleError:
            after = None
        if after is not None and template.ranking is ranking and ranking.fixed_sum is fixed_sum:
            totals = np.full(len(cluster.nodes.objects), -1, dtype=np.int64)
            totals[after.rows] = after.totals
            as_good = (totals[rows] >= before.totals.max()).nonzero()[0]
            kept = as_good.item(0) + 1 if len(as_good) else len(found)
        if kept < len(found):
            cluster.place_copies(pod_row, found[kept:], -1)
        template.run = 2 * kept if kept == len(found) else 1
        return found[:kept]

    def _scores_for_copy(self, info: PodInfo) -> ScoreTable | None:
        """The scores for one more copy of a placed pod; None where it needs a cycle."""
        state = CycleState()
        if self._nominator.nodes() or self.recall(info, state) is None or self._template is None:
            return None
        template, all_rows = self._template, self._cluster.nodes.all_rows
        feasible = all_rows if template.search.feasible is None else template.search.feasible
        if template.copies_count is None:
            template.copies_count = all(
                depends is not None and depends.signature is not None and depends.on != "pods on the node"
                for depends in template.depends.values()
            )
        if not template.copies_count or not state.binds_alike or len(feasible) < 2:
            return None
        return self.score(state, info, feasible)

    # Failures that repeat

    def repeated(self, pod_row: int, info: PodInfo, token: Hashable) -> Decision | None:
        """The decision about a copy of the pod that found no node, if nothing has changed since (`token` is equal)."""
        self._pod, self._token = None, (token, self._cluster.undo.epoch, len(self._cluster.journal))
        if not self._has_failures:
            return None
        kept, key = (
            self._cluster.derived(self, self._nothing_kept),
            (self._cluster.catalog.version, info.parts.template),
        )
        template = kept.templates.get(key)
        last = template.failure if template is not None else None
        if template is None or last is None or template.failed_at != self._token:
            return None
        if info.pod.metadata.deletion_timestamp is not None or self._nominator.node_of(pod_row):
            return None
        # One copy of equal templates is enough.
        info.parts.template = last.pod.parts.template
        return Decision(
            pod_row,
            info,
            "unschedulable",
            feasible=last.feasible,
            diagnosis=last.diagnosis,
            message=last.message,
            repeats=last,
        )

    def note_failure(self, decision: Decision, token: Hashable) -> None:
        """Keep the decision if the pod has no node, its cycle has changed nothing, and copies of it fail alike."""
        template, info = self._template, decision.pod
        fails = decision.result == "unschedulable" and decision.preemption is None and not decision.nominated_node
        if (
            template is None
            or self._pod is not info
            or not fails
            or decision.diagnosis is None
            or group_of(info) is not None
        ):
            return
        for plugin in self._profile.post_filter:
            depends = self._runtime.depends(plugin, info)
            if depends is None or depends.signature is None:
                return
        now = token, self._cluster.undo.epoch, len(self._cluster.journal)
        key = self._cluster.catalog.version, info.parts.template
        if now == self._token and self._kept.templates.get(key) is template:
            template.failure, template.failed_at, self._has_failures = decision, now, True
