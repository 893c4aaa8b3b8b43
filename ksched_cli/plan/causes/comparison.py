"""Two decisions about one pod in one state, by two sets of rules: what made the difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from ksched_cli.engine.decision import Decision
from ksched_cli.plan.causes.decisions import ABOUT, NodeVerdict, PodDecisions
from ksched_cli.plan.causes.results import Decider, OnNode
from ksched_cli.plan.causes.scores import score_deciders
from ksched_cli.plan.rule_changes import rule_changes_about
from ksched_cli.releases.plugin_names import DEFAULT_PREEMPTION


def deciders(pod: PodDecisions) -> tuple[Decider, ...]:
    """What decides otherwise at the end of the way than at its beginning, in the same state of the cluster; empty if
    both decide the same."""
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
