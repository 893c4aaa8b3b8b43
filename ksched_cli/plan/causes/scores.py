"""Two rankings of the same nodes: the plugins whose scores made another node the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ksched_cli.cluster.columns import Int64Column, RowColumn
from ksched_cli.engine.score_table import ScoreTable
from ksched_cli.framework.scoring import MAX_NODE_SCORE
from ksched_cli.plan.causes.question import Question
from ksched_cli.plan.causes.results import Decider, OnNode
from ksched_cli.plan.causes.way import WayStep
from ksched_cli.plan.rule_changes import Aspect, family_of, rule_changes_about

_SCORING: frozenset[Aspect] = frozenset({"score", "weight", "fields"})


@dataclass
class _Column:
    """What a plugin, by its name of today, gives each node. Priorities gave a tenth: `scale` makes up for it."""

    normalized: Int64Column
    weighted: Int64Column
    scale: int = 1


@dataclass(frozen=True, eq=False)
class _Change:
    """What a plugin adds to the total of each node on a part of the way."""

    family: str
    delta: Int64Column
    aspects: frozenset[Aspect]
    steps: tuple[WayStep, ...] = ()


class _Ranking:
    """Of the nodes that both sides look at. `was` and `now` are the nodes of the pod, as places in `rows`."""

    def __init__(self, question: Question, rows: RowColumn, was: int) -> None:
        self._question = question
        self.rows = rows
        self._rank = question.name_rank[rows]
        self._tables: dict[int, dict[str, _Column] | None] = {}
        self.was = self.now = int(np.nonzero(rows == was)[0][0])

    def best(self, totals: Int64Column) -> int:
        return int(np.lexsort((self._rank, -totals))[0])

    def columns(self, rule_set: int) -> dict[str, _Column] | None:
        if rule_set not in self._tables:
            self._tables[rule_set] = self._score(rule_set)
        return self._tables[rule_set]

    def _score(self, rule_set: int) -> dict[str, _Column] | None:
        way = self._question.way
        table = self._question.decision(rule_set).scores if rule_set in (0, way.last) else None
        if table is None or not np.array_equal(np.sort(table.rows), self.rows):
            table = self._question.scores_of(rule_set, self.rows)
        scale = MAX_NODE_SCORE // way.rule_sets[rule_set].rules.release.max_node_score
        return None if table is None else _by_family(table, scale)

    def totals(self, rule_set: int) -> Int64Column:
        columns = self.columns(rule_set) or {}
        return sum((each.weighted for each in columns.values()), np.zeros(len(self.rows), dtype=np.int64))

    def of(self, rule_set: int, family: str) -> _Column:
        nothing = np.zeros(len(self.rows), dtype=np.int64)
        return (self.columns(rule_set) or {}).get(family, _Column(nothing, nothing))

    def change(self, family: str, first: int, last: int) -> _Change:
        before, after = self.of(first, family), self.of(last, family)
        return _Change(family, after.weighted - before.weighted, _aspects(before, after))

    def parts(self, family: str) -> list[_Change]:
        """The way in parts with one step each. A rule set that cannot score these nodes is passed by."""
        parts: list[list[WayStep]] = []
        for step in self._question.way.steps((family,), _SCORING):
            if parts and self.columns(step.first) is None:
                parts[-1].append(step)
            else:
                parts.append([step])
        ends = [0, *(part[0].first for part in parts[1:]), self._question.way.last]
        changes = [self.change(family, *between) for between in pairwise(ends)]
        return [replace(change, steps=tuple(part)) for change, part in zip(changes, parts, strict=True)]


def _by_family(table: ScoreTable, scale: int) -> dict[str, _Column]:
    order = np.argsort(table.rows)
    found: dict[str, _Column] = {}
    for plugin, weighted in table.weighted.items():
        own = _Column(table.normalized[plugin][order] * scale, weighted[order] * scale, scale)
        known = found.get(family_of(plugin))
        if known is not None:
            own = _Column(known.normalized + own.normalized, known.weighted + own.weighted, scale)
        found[family_of(plugin)] = own
    return found


def score_deciders(question: Question, common: RowColumn, was: int) -> tuple[Decider, ...]:
    """The plugins without which the pod would still go where it went; empty if the scores of the `common` nodes are
    not what moved it."""
    last = question.way.last
    ranking = _Ranking(question, common, was)
    if ranking.columns(0) is None or ranking.columns(last) is None:
        return ()
    before, after = ranking.totals(0), ranking.totals(last)
    ranking.now = ranking.best(after)
    if ranking.best(before) != ranking.was or ranking.now == ranking.was:
        return ()
    families = dict.fromkeys([*(ranking.columns(last) or {}), *(ranking.columns(0) or {})])
    moving = _needed(ranking, before, after, [ranking.change(family, 0, last) for family in families])
    return tuple(
        _decider(question, ranking, _needed(ranking, after - each.delta, after, ranking.parts(each.family)))
        for each in moving
    )


def _needed(ranking: _Ranking, before: Int64Column, after: Int64Column, changes: Sequence[_Change]) -> list[_Change]:
    """The changes without which the pod would have stayed, what adds most to the lead of the new node first. If none
    is needed because others would do, as many of the largest as it takes."""

    def gain(change: _Change) -> int:
        return int(change.delta[ranking.now] - change.delta[ranking.was])

    ordered = sorted(changes, key=gain, reverse=True)
    needed = [change for change in ordered if ranking.best(after - change.delta) == ranking.was]
    if needed:
        return needed
    totals = before
    for change in ordered:
        needed.append(change)
        totals = totals + change.delta
        if ranking.best(totals) != ranking.was:
            break
    return needed


def _decider(question: Question, ranking: _Ranking, parts: Sequence[_Change]) -> Decider:
    """A plugin, by what changed it on these parts of the way."""
    family = parts[0].family
    steps = [(step, part.aspects) for part in parts for step in part.steps]
    rules = dict.fromkeys(rule for step, aspects in steps for rule in rule_changes_about(step.rules, family, aspects))
    shown = tuple(_on_node(question, ranking, family, at) for at in (ranking.was, ranking.now))
    aspect: Aspect = "weight" if all(aspects == {"weight"} for _, aspects in steps) else "score"
    return Decider(family, aspect, tuple(rules), shown, any(step.configuration for step, _ in steps))


def _aspects(before: _Column, after: _Column) -> frozenset[Aspect]:
    """What a rule has to be about to explain the change."""
    if np.array_equal(before.normalized, after.normalized):
        return frozenset({"weight"})
    weights = {each.weighted.sum() / each.normalized.sum() for each in (before, after) if each.normalized.any()}
    return _SCORING if len(weights) > 1 else _SCORING - {"weight"}


def _on_node(question: Question, ranking: _Ranking, family: str, at: int) -> OnNode:
    figures = []
    for rule_set in (0, question.way.last):
        column = (ranking.columns(rule_set) or {}).get(family)
        figures.append(None if column is None else int(column.weighted[at]) // column.scale)
    return OnNode(question.names[int(ranking.rows[at])], figures[0], figures[1])
