"""Two rankings of the same nodes: the plugins whose scores made another node the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ksched_cli.cluster.columns import Int64Column, RowColumn
from ksched_cli.engine.score_table import ScoreTable
from ksched_cli.framework.scoring import MAX_NODE_SCORE
from ksched_cli.plan.causes.results import Decider, OnNode
from ksched_cli.plan.causes.stage import Situation
from ksched_cli.plan.causes.stations import Span
from ksched_cli.plan.rule_changes import Aspect, family_of, rule_changes_about

_SCORING: frozenset[Aspect] = frozenset({"score", "weight", "fields"})


@dataclass
class _Column:
    """What a plugin, or one whose work it does, gives each node."""

    normalized: Int64Column
    weighted: Int64Column
    scale: int = 1


@dataclass
class _Change:
    """What a plugin adds to each node's total, or takes from it, on a part of the way."""

    family: str
    span: Span
    delta: Int64Column
    aspects: frozenset[Aspect]


class _Ranking:
    """Of the nodes that both sides look at, with where the pod was and where it would go now, as places in `rows`."""

    def __init__(self, situation: Situation, rows: RowColumn, was: int) -> None:
        self._situation = situation
        self.rows = rows
        self._rank = situation.name_rank[rows]
        self._tables: dict[int, dict[str, _Column] | None] = {}
        self.was = int(np.nonzero(rows == was)[0][0])
        self.now = self.was

    def best(self, totals: Int64Column) -> int:
        first = np.lexsort((self._rank, -totals))
        return int(first[0])

    def columns(self, station: int) -> dict[str, _Column] | None:
        if station not in self._tables:
            self._tables[station] = self._score(station)
        return self._tables[station]

    def _score(self, station: int) -> dict[str, _Column] | None:
        at_an_end = station in (0, self._situation.route.last)
        table = self._situation.decision(station).scores if at_an_end else None
        if table is None or not np.array_equal(np.sort(table.rows), self.rows):
            table = self._situation.scores_of(station, self.rows)
        # Priorities gave a tenth of what plugins give.
        scale = MAX_NODE_SCORE // self._situation.route.stations[station].rules.release.max_node_score
        return None if table is None else _by_family(table, scale)

    def totals(self, station: int) -> Int64Column:
        columns = self.columns(station) or {}
        return sum((each.weighted for each in columns.values()), np.zeros(len(self.rows), dtype=np.int64))

    def of(self, station: int, family: str) -> _Column:
        nothing = np.zeros(len(self.rows), dtype=np.int64)
        return (self.columns(station) or {}).get(family, _Column(nothing, nothing))


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


def score_deciders(situation: Situation, common: RowColumn, was: int) -> tuple[Decider, ...]:
    """Those without which the pod would still go where it went; none where the scores of the `common` nodes are not
    what moved it."""
    last = situation.route.last
    ranking = _Ranking(situation, common, was)
    if ranking.columns(0) is None or ranking.columns(last) is None:
        return ()
    before, after = ranking.totals(0), ranking.totals(last)
    ranking.now = ranking.best(after)
    if ranking.best(before) != ranking.was or ranking.now == ranking.was:
        return ()
    families = dict.fromkeys([*(ranking.columns(last) or {}), *(ranking.columns(0) or {})])
    whole = Span(0, last, (), configuration=False)
    moving = _needed(ranking, before, after, [_change(ranking, family, whole) for family in families])
    parts = {change.family: _parts(situation, ranking, change, after) for change in moving}
    return tuple(_told(situation, ranking, family, own) for family, own in parts.items())


def _parts(situation: Situation, ranking: _Ranking, change: _Change, after: Int64Column) -> list[_Change]:
    """Where on the way the plugin changed so that it matters, as far as it can be asked in between."""
    spans: list[Span] = []
    for span in situation.route.spans((change.family,), _SCORING):
        if spans and ranking.columns(span.first) is None:
            spans[-1] = spans[-1].and_then(span)
        else:
            spans.append(span)
    return _needed(ranking, after - change.delta, after, [_change(ranking, change.family, span) for span in spans])


def _change(ranking: _Ranking, family: str, span: Span) -> _Change:
    before, after = ranking.of(span.first, family), ranking.of(span.last, family)
    return _Change(family, span, after.weighted - before.weighted, _aspects(before, after))


def _aspects(before: _Column, after: _Column) -> frozenset[Aspect]:
    """What a rule would have to be about."""
    if np.array_equal(before.normalized, after.normalized):
        return frozenset({"weight"})
    weights = {each.weighted.sum() / each.normalized.sum() for each in (before, after) if each.normalized.any()}
    return _SCORING if len(weights) > 1 else _SCORING - {"weight"}


def _needed(ranking: _Ranking, before: Int64Column, after: Int64Column, changes: Sequence[_Change]) -> list[_Change]:
    """What adds most to the lead of the new node first. Where none is needed because others would do, as many of the
    largest as it takes."""

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


def _told(situation: Situation, ranking: _Ranking, family: str, parts: Sequence[_Change]) -> Decider:
    rules = dict.fromkeys(rule for each in parts for rule in rule_changes_about(each.span.rules, family, each.aspects))
    aspect: Aspect = "weight" if all(each.aspects == {"weight"} for each in parts) else "score"
    shown = tuple(_on_node(situation, ranking, family, at) for at in (ranking.was, ranking.now))
    return Decider(family, aspect, tuple(rules), shown, any(each.span.configuration for each in parts))


def _on_node(situation: Situation, ranking: _Ranking, family: str, at: int) -> OnNode:
    figures = []
    for station in (0, situation.route.last):
        column = (ranking.columns(station) or {}).get(family)
        figures.append(None if column is None else int(column.weighted[at]) // column.scale)
    return OnNode(situation.names[int(ranking.rows[at])], figures[0], figures[1])
