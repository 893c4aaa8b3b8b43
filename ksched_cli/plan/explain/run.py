"""Explain one pod: run the queue up to it, look at it with every plugin on every node, and run its cycle."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ksched_cli.api.core import Node
from ksched_cli.api.pod_resources import requests_of
from ksched_cli.api.quantity import amount_text
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.inspection import InspectedStatus, Inspection, inspect
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.framework.interfaces import Plugin
from ksched_cli.framework.status import Status
from ksched_cli.plan.explain.focus import focus_on
from ksched_cli.plan.explain.preempting import study_preemption
from ksched_cli.plan.explain.results import (
    ExplainedNode,
    Explanation,
    Margin,
    PluginAnswer,
    Rejection,
    Retry,
    Standing,
)
from ksched_cli.plan.explain.subject import Subject
from ksched_cli.plan.explain.summary import explanation_notes, summarise
from ksched_cli.plan.explain.trial import decide, row_of, run_up_to
from ksched_cli.plan.fixes.propose import FixSituation
from ksched_cli.plan.fixes.search import find_fixes
from ksched_cli.plan.node_columns import NodeChanges, NodeColumns
from ksched_cli.plan.results import PodOutcome
from ksched_cli.plan.rules import own_figures, parts_of
from ksched_cli.plan.selector_typos import selector_typos
from ksched_cli.plan.simulate import OutputOptions, outcome_of
from ksched_cli.sources.loaded import Loaded

Occupants = Mapping[str, Sequence[tuple[str, Mapping[str, int]]]]
Make = Callable[[Loaded], Scheduler]


def explain(
    subject: Subject,
    make: Make,
    node: str = "",
    *,
    fixes: bool = True,
    scheduler: Scheduler | None = None,
    manifests: Sequence[Loaded] = (),
) -> Explanation:
    """`make` gives a scheduler over the objects, fresh each time; `scheduler` is one that has placed nothing yet.
    `node`: why not there. `fixes`: look for changes with which a pod that has no place finds one."""
    scheduler = scheduler or make(subject.loaded)
    profiles = tuple(sorted(scheduler.runtimes))
    with scheduler.cluster.undo.trial():
        found, on = _look(subject, scheduler)
    found = replace(
        found, summary=(*summarise(found, profiles), *_typos(found, subject)), notes=explanation_notes(found)
    )
    if node and found.outcome is not None:
        weights = scheduler.runtimes[found.scheduler].profile.weights
        found = focus_on(found, node, weights, lambda *change: _placed_with(subject, make, *change))
    on_node = node if found.focus and found.focus.rejections else ""
    if fixes and (found.unplaced or on_node):
        situation = FixSituation(subject, found, on, profiles, on_node, manifests)
        found = replace(found, fixes=find_fixes(situation, scheduler))
    return found


def _typos(found: Explanation, subject: Subject) -> Iterator[str]:
    """A sentence for each label that the pod requires, that no node has, and that is near to one of a node."""
    labels = [node.metadata.labels for node in subject.loaded.of(Node)] if found.unplaced else []
    for text in selector_typos(subject.pod, labels):
        yield f"{text[0].upper()}{text[1:]}"


def _look(subject: Subject, scheduler: Scheduler) -> tuple[Explanation, Occupants]:
    """Everything that one run finds, and where each pod was when the pod was tried."""
    facts = _facts(subject, scheduler)
    if subject.pod.spec.scheduler_name not in scheduler.runtimes:
        return Explanation(**facts, standing="ignored"), {}
    pod_row, runtime = row_of(subject, scheduler), scheduler.runtimes[subject.pod.spec.scheduler_name]
    queue = scheduler.enqueue([pod_row] if subject.runs_on else None)
    if pod_row in queue.failed:
        outcome = PodOutcome(subject.key, "error", message=queue.failed[pod_row], scheduler=facts["scheduler"])
        return Explanation(**facts, standing="pending", outcome=outcome), {}
    standing: Standing = "running" if subject.runs_on else "gated" if pod_row in queue.gated else "pending"
    approach = run_up_to(scheduler, queue, pod_row)
    # A runtime may have been made anew for each pod.
    inspection = inspect(scheduler.runtimes[runtime.profile.scheduler_name], scheduler.cluster.pods.infos[pod_row])
    nodes, before = _nodes(inspection, scheduler), NodeColumns.of(scheduler.cluster)
    preemption, on = study_preemption(scheduler.rehearse(pod_row)), _occupants(scheduler)
    decision = next(each for each in scheduler.take(approach.turn) if each.pod_row == pod_row)
    scheduler.close()
    outcome = outcome_of(decision, scheduler.cluster, OutputOptions(detail=True, top=len(scheduler.cluster.nodes)))
    found = Explanation(
        **facts,
        standing=standing,
        outcome=outcome,
        queue=None if subject.runs_on else approach.place,
        pre_enqueue=tuple(_answer(each) for each in inspection.pre_enqueue),
        pre_filter=tuple(_answer(each) for each in inspection.pre_filter),
        problems={each.plugin.name: each.problem for each in inspection.filters if each.problem},
        nodes=_with_what_else(nodes, decision, scheduler),
        runner_up=runner_up(outcome),
        retries=_retries(inspection, decision),
        preemption=preemption,
        columns=NodeChanges(before, NodeColumns.of(scheduler.cluster)),
    )
    return found, on


def _occupants(scheduler: Scheduler) -> Occupants:
    cluster = scheduler.cluster
    names, infos = cluster.resources.names, cluster.pods.infos
    return {
        node: [
            (infos[pod].key, {names[resource]: amount for resource, amount in infos[pod].requests})
            for pod in cluster.pods_on(row)
        ]
        for row, node in enumerate(cluster.nodes.names)
    }


def _placed_with(subject: Subject, make: Make, plugin: str, weight: int) -> str:
    """The pod's node when a plugin of its profile weighs so much, for the pods before it as well."""
    scheduler = make(subject.loaded)
    scheduler.reweigh(subject.pod.spec.scheduler_name, plugin, weight)
    decision = decide(scheduler, subject)
    scheduler.close()
    row = None if decision is None else decision.row
    return "" if row is None else scheduler.cluster.nodes.names[row]


def _facts(subject: Subject, scheduler: Scheduler) -> dict[str, Any]:
    requests = requests_of(subject.pod, use_status=False)
    info = scheduler.cluster.pods.infos[row_of(subject, scheduler)]
    return {
        "pod": subject.key,
        "asks": {name: amount_text(name, amount) for name, amount in requests.items() if amount},
        "priority": info.priority,
        "scheduler": subject.pod.spec.scheduler_name,
        "node": subject.runs_on,
        "nominated": subject.pod.status.nominated_node_name,
    }


def _answer(answer: InspectedStatus) -> PluginAnswer:
    nodes = None if answer.node_names is None else tuple(sorted(answer.node_names))
    return PluginAnswer(answer.plugin, answer.status.code.go_name, answer.status.texts, nodes)


def _nodes(inspection: Inspection, scheduler: Scheduler) -> tuple[ExplainedNode, ...]:
    """Every node by name, with all plugins that reject it."""
    table = scheduler.cluster.nodes
    rejections: list[list[Rejection]] = [[] for _ in range(len(table))]
    for judgement in inspection.filters:
        for row in np.nonzero(judgement.statuses.codes)[0].tolist():
            detail, beside = inspection.detail(judgement, row), bool(judgement.beside[row])
            rejections[row] += _rejections(judgement.statuses.status(row), detail, beside)
    return tuple(
        ExplainedNode(table.names[row], tuple(rejections[row])) for row in np.argsort(table.name_rank).tolist()
    )


def _with_what_else(
    nodes: Sequence[ExplainedNode], decision: Decision, scheduler: Scheduler
) -> tuple[ExplainedNode, ...]:
    """Nodes that no filter rejects and the cycle did: by an extender, or when the pod was about to be bound."""
    diagnosis, row_of = decision.diagnosis, scheduler.cluster.nodes.row_of

    def with_status(node: ExplainedNode) -> ExplainedNode:
        if node.rejections or diagnosis is None or diagnosis.pre_filter is not None:
            return node
        status = diagnosis.nodes.status(row_of[node.name])
        if status.ok or not status.plugin:
            return node
        return ExplainedNode(node.name, (Rejection(status.plugin, status.code.go_name, status.reasons, {}),))

    return tuple(with_status(node) for node in nodes)


def _rejections(status: Status, detail: Mapping[str, Any], beside: bool) -> Iterator[Rejection]:
    """One, or one for each rule that a predicate went by."""
    for part, reasons in parts_of(status):
        own = own_figures(status, part, detail)
        yield Rejection(status.plugin, status.code.go_name, reasons, own, beside, part)


def runner_up(outcome: PodOutcome) -> Margin | None:
    """The best of the nodes that were not chosen, and by how much it lags."""
    if not outcome.node or len(outcome.top) < 2:
        return None
    chosen = next(each for each in outcome.top if each.node == outcome.node)
    other = next(each for each in outcome.top if each.node != outcome.node)
    ahead = {plugin: score.weighted - other.scores[plugin].weighted for plugin, score in chosen.scores.items()}
    return Margin(other.node, chosen.total - other.total, {plugin: by for plugin, by in ahead.items() if by})


def _retries(inspection: Inspection, decision: Decision) -> tuple[Retry, ...]:
    """What the plugins that are to blame for the rejection wait for, in the profile's order."""
    blamed = set(decision.diagnosis.unschedulable_plugins) if decision.diagnosis and decision.row is None else set()
    blamed |= {each.plugin for each in inspection.pre_enqueue if not each.status.ok}
    plugins = (plugin for plugin in inspection.runtime.profile.plugins if plugin.name in blamed)
    return tuple(Retry(plugin.name, _events_of(plugin)) for plugin in plugins)


def _events_of(plugin: Plugin) -> tuple[str, ...]:
    if any(event.wildcard for event in plugin.events_to_register()):
        return ("anything that happens",)
    return tuple(str(event) for event in plugin.events)
