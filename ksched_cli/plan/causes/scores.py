"""Two rankings of the same nodes: the plugins whose scores made another node the best."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import accumulate

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.columns import Int64Column, RowColumn
from ksched_cli.config.legacy.policy import family_of
from ksched_cli.framework.scoring import MAX_NODE_SCORE
from ksched_cli.plan.causes.decisions import ABOUT, PodDecisions
from ksched_cli.plan.causes.results import Decider, OnNode
from ksched_cli.plan.causes.way import WayStep
from ksched_cli.plan.rule_changes import rule_changes_about
from ksched_cli.releases.changes import Aspect

_SCORING = ABOUT["score"]


class _Change(Struct, frozen=True, eq=False):
    """What a plugin adds to the total of each node on a part of the way; `aspects` of the rules that can do so."""

    family: str
    delta: Int64Column
    aspects: frozenset[Aspect]
    steps: tuple[WayStep, ...] = ()


class _Ranking:
    """The scores of `rows`, the nodes that fit at both ends of the way. `was` and `now` are the places in `rows` of the
    nodes that are the best by these scores, before and after."""

    def __init__(self, pod: PodDecisions, rows: RowColumn) -> None:
        self.pod, self.rows = pod, rows
        self.scales = [MAX_NODE_SCORE // each.release.max_node_score for each in pod.way.rule_sets]
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

    def change(self, family: str, first: int, last: int, steps: Iterable[WayStep] = ()) -> _Change:
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
        steps, first = self.pod.way.steps((family,), _SCORING), 0
        ends = [each.first for each in steps[1:] if self.scores(each.first) is not None]
        for end in (*ends, self.pod.way.last):
            yield self.change(family, first, end, (each for each in steps if first <= each.first < end))
            first = end

    def needed(self, changes: Iterable[_Change]) -> list[_Change]:
        """The changes without which the old node would have stayed the best, the change that adds most to the lead of
        the new node first. If none is needed because others would do, as many of the largest as it takes."""
        ordered = sorted(changes, key=lambda each: each.delta[self.was] - each.delta[self.now])
        after = self.totals(self.pod.way.last)
        needed = [each for each in ordered if self.best(after - each.delta) == self.was]
        if needed:
            return needed
        totals = accumulate((each.delta for each in ordered), initial=after - sum(each.delta for each in ordered))
        moved = [self.best(each) != self.was for each in totals]
        return ordered[: moved.index(True, 1)]

    def decider(self, family: str) -> Decider:
        """The plugin with the rules of all needed parts of the way."""
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
