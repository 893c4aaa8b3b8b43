"""Two decisions about one pod in one state, by two sets of rules: what made the difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from ksched_cli.engine.decision import Decision
from ksched_cli.plan.causes.results import FITS, Decider, Figure, OnNode
from ksched_cli.plan.causes.scores import score_deciders
from ksched_cli.plan.causes.stage import Situation, Verdict
from ksched_cli.plan.causes.stations import Span
from ksched_cli.plan.rule_changes import Aspect, RuleChange, rule_changes_about

_PASSING: frozenset[Aspect] = frozenset({"filter", "fields", "search"})
_EVICTING: frozenset[Aspect] = frozenset({"preemption", "filter", "fields"})
_PREEMPTION = "DefaultPreemption"


def deciders(situation: Situation) -> tuple[Decider, ...]:
    """What decides otherwise at the end of the way than at its beginning, the pod and all others being equal; nothing
    where the answer is the same."""
    before, after = situation.decision(0), situation.decision(situation.route.last)
    if _answer(before) == _answer(after):
        return ()
    if before.row is None and after.row is None:
        return _by_preemption(situation, before, after)
    if before.row is None or after.row is None:
        row = after.row if before.row is None else before.row
        assert row is not None
        return (_by_filter(situation, row),)
    return _by_other_node(situation, before.row, after.row)


Answer = tuple[int | None, str, tuple[int, ...]]


def _answer(decision: Decision) -> Answer:
    victims = tuple(sorted(decision.preemption.victims)) if decision.preemption else ()
    return decision.row, decision.nominated_node, victims


# Filters


def _by_filter(situation: Situation, node_row: int) -> Decider:
    """A node that takes the pod on one side only."""
    before, after = situation.verdict(0, node_row), situation.verdict(situation.route.last, node_row)
    refusing = after if before.passes else before

    def refused(verdict: Verdict) -> bool:
        return not verdict.passes and verdict.family == refusing.family

    spans = situation.route.spans((refusing.family,), _PASSING)
    span = where_it_changes(spans, lambda station: refused(situation.verdict(station, node_row)))
    shown = OnNode(situation.names[node_row], _said(before), _said(after))
    aspect: Aspect = "filter" if refusing.plugin else "search"
    return Decider(refusing.plugin, aspect, span.rules, (shown,), span.configuration)


def _said(verdict: Verdict) -> Figure:
    return FITS if verdict.passes else verdict.reason


def where_it_changes(spans: Sequence[Span], of: Callable[[int], object]) -> Span:
    """The last part of the way on which it changes; the only one is not looked at any closer."""
    if len(spans) == 1:
        return spans[0]
    return next((span for span in reversed(spans) if of(span.first) != of(span.last)), spans[-1])


# Other nodes


def _by_other_node(situation: Situation, was: int, now: int) -> tuple[Decider, ...]:
    before, after = situation.decision(0), situation.decision(situation.route.last)
    if was not in after.feasible:
        return (_by_filter(situation, was),)
    common = np.intersect1d(before.feasible, after.feasible)
    by_scores = score_deciders(situation, common, was)
    # Were it for the scores alone, it would go to another node, or it would stay.
    if now not in before.feasible:
        return (_by_filter(situation, now), *by_scores)
    return by_scores or _by_company(situation, before, after)


def _by_company(situation: Situation, before: Decision, after: Decision) -> tuple[Decider, ...]:
    """Both nodes take the pod on both sides, and would rank as before, but that scores are normalised over others."""
    found = [_by_filter(situation, row) for row in np.setxor1d(before.feasible, after.feasible).tolist()]
    most = Counter(each.plugin for each in found).most_common(1)
    return tuple(each for each in found if each.plugin == most[0][0])[:1] if most else ()


# Preemption


def _by_preemption(situation: Situation, before: Decision, after: Decision) -> tuple[Decider, ...]:
    row_of = {name: row for row, name in enumerate(situation.names)}
    nodes = dict.fromkeys(filter(None, (before.nominated_node, after.nominated_node)))
    for name in nodes:
        by_code = _by_code(situation, row_of[name])
        if by_code is not None:
            return (by_code,)
    rejecting = {situation.verdict(end, row_of[name]).family for name in nodes for end in (0, situation.route.last)}
    plugins = (_PREEMPTION, *sorted(rejecting), "")
    spans = situation.route.spans(plugins, _EVICTING)
    span = where_it_changes(spans, lambda station: _answer(situation.decision(station)))
    shown = tuple(OnNode(name, _evicting(situation, before, name), _evicting(situation, after, name)) for name in nodes)
    return (Decider(_PREEMPTION, "preemption", _most_likely(span.rules), shown, span.configuration),)


def _by_code(situation: Situation, node_row: int) -> Decider | None:
    """A node that is beyond help on one side only, by the filter that says so."""
    before, after = situation.verdict(0, node_row), situation.verdict(situation.route.last, node_row)
    if before.beyond_help == after.beyond_help:
        return None
    hopeless = before if before.beyond_help else after
    spans = situation.route.spans((hopeless.family,), _EVICTING)
    span = where_it_changes(spans, lambda station: situation.verdict(station, node_row).beyond_help)
    shown = OnNode(situation.names[node_row], _helped(before), _helped(after))
    return Decider(hopeless.plugin, "preemption", span.rules, (shown,), span.configuration)


def _helped(verdict: Verdict) -> str:
    return f"{verdict.reason}, {'beyond help' if verdict.beyond_help else 'preemption may help'}"


def _evicting(situation: Situation, decision: Decision, node: str) -> Figure:
    if decision.preemption is None or decision.nominated_node != node:
        return None
    return f"evicts {', '.join(sorted(map(situation.pod_name, decision.preemption.victims)))}"


def _most_likely(rules: tuple[RuleChange, ...]) -> tuple[RuleChange, ...]:
    """Those of preemption itself, if one of them changed just where the answer did."""
    return rule_changes_about(rules, _PREEMPTION, _EVICTING) or rules
