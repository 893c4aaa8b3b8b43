"""Two decisions about one pod in one state, by two sets of rules: what made the difference."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ksched_cli.engine.decision import Decision
from ksched_cli.plan.causes.question import NodeVerdict, Question
from ksched_cli.plan.causes.results import FITS, Decider, Figure, OnNode
from ksched_cli.plan.causes.scores import score_deciders
from ksched_cli.plan.rule_changes import Aspect, RuleChange, rule_changes_about
from ksched_cli.releases.plugin_names import DEFAULT_PREEMPTION

_PASSING: frozenset[Aspect] = frozenset({"filter", "fields", "search"})
_EVICTING: frozenset[Aspect] = frozenset({"preemption", "filter", "fields"})
_HOLDING: frozenset[Aspect] = frozenset({"queue", "fields"})
_SEARCHING: frozenset[Aspect] = frozenset({"search"})


def deciders(question: Question) -> tuple[Decider, ...]:
    """What decides otherwise at the end of the way than at its beginning, in the same state of the cluster; empty if
    the answer is the same."""
    last = question.way.last
    if question.held(0) != question.held(last) or any(question.held(0)):
        return _by_queue(question)
    if question.in_group and (question.groups_share_cycle(0) or question.groups_share_cycle(last)):
        # The other pods of the group decide as well: the one pod cannot be tried alone.
        return _by_group(question)
    before, after = question.decision(0), question.decision(last)
    if _answer(before) == _answer(after):
        return ()
    if before.row is None and after.row is None:
        return _by_preemption(question, before, after)
    if before.row is None or after.row is None:
        row = after.row if before.row is None else before.row
        assert row is not None
        return (_by_filter(question, row),)
    return _by_other_node(question, before.row, after.row)


Answer = tuple[int | None, str, tuple[int, ...]]


def _answer(decision: Decision) -> Answer:
    victims = tuple(sorted(decision.preemption.victims)) if decision.preemption else ()
    return decision.row, decision.nominated_node, victims


# Queue


def _by_queue(question: Question) -> tuple[Decider, ...]:
    """One of the sides does not try the pod."""
    (was, held_before), (now, held_after) = question.held(0), question.held(question.way.last)
    if was == now or "error" in (was, now):
        return ()
    if "ignored" in (was, now):
        return (Decider("", "queue", configuration=True),)
    plugin = held_before or held_after
    steps = question.way.steps((plugin,), _HOLDING)
    step = question.way.decisive(steps, lambda rule_set: question.held(rule_set)[0])
    return (Decider(plugin, "queue", step.rules, configuration=step.configuration),)


def _by_group(question: Question) -> tuple[Decider, ...]:
    """Groups share a cycle on one side only."""
    if question.groups_share_cycle(0) == question.groups_share_cycle(question.way.last):
        return ()
    step = question.way.decisive(question.way.steps(("",), _SEARCHING), question.groups_share_cycle)
    return (Decider("", "search", step.rules, configuration=step.configuration),)


# Filters


def _by_filter(question: Question, node_row: int) -> Decider:
    """Only one side lets the pod onto the node."""
    before, after = question.verdict(0, node_row), question.verdict(question.way.last, node_row)
    refusing = after if before.passes else before

    def refused(verdict: NodeVerdict) -> bool:
        return not verdict.passes and verdict.family == refusing.family

    steps = question.way.steps((refusing.family,), _PASSING)
    step = question.way.decisive(steps, lambda rule_set: refused(question.verdict(rule_set, node_row)))
    shown = OnNode(question.names[node_row], _said(before), _said(after))
    aspect: Aspect = "filter" if refusing.plugin else "search"
    return Decider(refusing.plugin, aspect, step.rules, (shown,), step.configuration)


def _said(verdict: NodeVerdict) -> Figure:
    return FITS if verdict.passes else verdict.reason


# Other nodes


def _by_other_node(question: Question, was: int, now: int) -> tuple[Decider, ...]:
    before, after = question.decision(0), question.decision(question.way.last)
    if was not in after.feasible:
        return (_by_filter(question, was),)
    common = np.intersect1d(before.feasible, after.feasible)
    by_scores = score_deciders(question, common, was)
    # By the scores alone the pod would go to another node, or it would stay.
    if now not in before.feasible:
        return (_by_filter(question, now), *by_scores)
    return by_scores or _by_company(question, before, after)


def _by_company(question: Question, before: Decision, after: Decision) -> tuple[Decider, ...]:
    """Both sides let the pod onto both nodes and rank the two alike: scores are normalised over other nodes."""
    found = [_by_filter(question, row) for row in np.setxor1d(before.feasible, after.feasible).tolist()]
    most = Counter(each.plugin for each in found).most_common(1)
    return tuple(each for each in found if each.plugin == most[0][0])[:1] if most else ()


# Preemption


def _by_preemption(question: Question, before: Decision, after: Decision) -> tuple[Decider, ...]:
    row_of = {name: row for row, name in enumerate(question.names)}
    nodes = dict.fromkeys(filter(None, (before.nominated_node, after.nominated_node)))
    for name in nodes:
        by_code = _by_code(question, row_of[name])
        if by_code is not None:
            return (by_code,)
    rejecting = {question.verdict(end, row_of[name]).family for name in nodes for end in (0, question.way.last)}
    plugins = (DEFAULT_PREEMPTION, *sorted(rejecting), "")
    steps = question.way.steps(plugins, _EVICTING)
    step = question.way.decisive(steps, lambda rule_set: _answer(question.decision(rule_set)))
    shown = tuple(OnNode(name, _evicting(question, before, name), _evicting(question, after, name)) for name in nodes)
    return (Decider(DEFAULT_PREEMPTION, "preemption", _most_likely(step.rules), shown, step.configuration),)


def _by_code(question: Question, node_row: int) -> Decider | None:
    """Only on one side could no eviction help on the node: the filter that decides so."""
    before, after = question.verdict(0, node_row), question.verdict(question.way.last, node_row)
    if before.beyond_help == after.beyond_help:
        return None
    hopeless = before if before.beyond_help else after
    steps = question.way.steps((hopeless.family,), _EVICTING)
    step = question.way.decisive(steps, lambda rule_set: question.verdict(rule_set, node_row).beyond_help)
    shown = OnNode(question.names[node_row], _helped(before), _helped(after))
    return Decider(hopeless.plugin, "preemption", step.rules, (shown,), step.configuration)


def _helped(verdict: NodeVerdict) -> str:
    return f"{verdict.reason}, {'beyond help' if verdict.beyond_help else 'preemption may help'}"


def _evicting(question: Question, decision: Decision, node: str) -> Figure:
    if decision.preemption is None or decision.nominated_node != node:
        return None
    return f"evicts {', '.join(sorted(map(question.pod_name, decision.preemption.victims)))}"


def _most_likely(rules: tuple[RuleChange, ...]) -> tuple[RuleChange, ...]:
    """The rules of preemption itself, if the step changes one of them."""
    return rule_changes_about(rules, DEFAULT_PREEMPTION, _EVICTING) or rules
