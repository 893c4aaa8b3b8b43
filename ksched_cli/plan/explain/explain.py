"""`explain`: why a pod is Pending, or why it went where it is.

The queue runs up to the pod. Then every plugin is asked about every node, preemption is studied, and the pod has its
cycle. `focus_on` explains one node: what rejects it, or how far its score lags behind and which weight would change
that. Fixes come from `plan/reasons/fixes/`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import structs

from ksched_cli.api.core import Namespace, Node, Pod
from ksched_cli.api.object_facts import full_node_name, uid_of_pod
from ksched_cli.api.pod_resources import requests_of
from ksched_cli.api.quantity import amount_text
from ksched_cli.api.storage import PersistentVolumeClaim, StorageClass
from ksched_cli.api.workloads import PriorityClass
from ksched_cli.cluster.catalog import mounted_claims
from ksched_cli.engine.cycle.schedule_one import CycleContext
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.faults import plugin_faults
from ksched_cli.engine.inspection import InspectedStatus, Inspection, inspect
from ksched_cli.engine.pending import PendingQueue
from ksched_cli.engine.scheduler import Scheduler, Turn
from ksched_cli.errors import UsageError, named
from ksched_cli.framework.events import EVERY_EVENT
from ksched_cli.framework.interfaces import Plugin
from ksched_cli.framework.status import Status
from ksched_cli.plan.explain.pods import (
    Subject,
    closest_names,
    find_missing_pods,
    find_named_pods,
    find_refused,
    find_subject,
    pick_named,
    pick_pod,
)
from ksched_cli.plan.explain.results import (
    ExplainedNode,
    ExplainResult,
    Explanation,
    Margin,
    NodeFocus,
    PluginAnswer,
    PreemptionCandidate,
    PreemptionStudy,
    QueuePlace,
    Rejection,
    Standing,
    WeightChange,
    explanation_notes,
    summarise,
)
from ksched_cli.plan.reasons.fixes.propose import FixSituation
from ksched_cli.plan.reasons.fixes.search import find_fixes
from ksched_cli.plan.reasons.pod_affinity import unmatched_terms
from ksched_cli.plan.reasons.rules import own_figures, parts_of
from ksched_cli.plan.reasons.typos import as_sentence, selector_typos
from ksched_cli.plan.reasons.volume_places import volume_places
from ksched_cli.plan.results.nodes import NodeChanges, NodeColumns, ScoredNode
from ksched_cli.plan.results.outcomes import PodOutcome
from ksched_cli.plan.run.loaded_input import LoadedInput
from ksched_cli.plan.run.run import Run
from ksched_cli.plan.simulate import OutputOptions, outcome_of
from ksched_cli.sources.loaded import Loaded

if TYPE_CHECKING:
    from ksched_cli.autoscale.karpenter.decision import Provisioning
    from ksched_cli.plan.reasons.fixes.values import Fix
    from ksched_cli.plan.size.catalog import ShapeCatalog


# Where the pod goes when a plugin has that weight: (plugin, weight) to the node's name, or to nothing.
Placed = Callable[[str, int], str]


def focus_on(found: Explanation, name: str, weights: Mapping[str, int], placed: Placed) -> Explanation:
    name = full_node_name(name, [each.name for each in found.nodes])
    node = next((each for each in found.nodes if each.name == name), None)
    if node is None:
        known = [each.name for each in found.nodes]
        near = closest_names(name, known) or sorted(known)[:5]
        raise UsageError(
            f"--node {name}: there is no such node; {'there is ' + ', '.join(near) if near else 'none is'}"
        )
    outcome = found.outcome
    assert outcome is not None
    focus = NodeFocus(name, node.rejections, chosen=outcome.node == name)
    if not focus.rejections and not focus.chosen and outcome.top:
        focus = _lagging(focus, outcome, weights, placed)
    return replace(found, focus=structs.replace(focus, text=tuple(_text(focus, outcome))))


def _lagging(focus: NodeFocus, outcome: PodOutcome, weights: Mapping[str, int], placed: Placed) -> NodeFocus:
    own = next(each for each in outcome.top if each.node == focus.node)
    chosen = next(each for each in outcome.top if each.node == outcome.node)
    margin = _margin(chosen.node, chosen, own)
    rank = 1 + sum(each.total > own.total for each in outcome.top)
    return structs.replace(focus, rank=rank, behind=margin, weights=tuple(_weights(own, outcome.top, weights, placed)))


def _weights(
    own: ScoredNode, scored: Sequence[ScoredNode], weights: Mapping[str, int], placed: Placed
) -> Iterator[WeightChange]:
    """By plugin the weight nearest to the present one with which the node comes out first, the smallest change first.
    Other pods are weighed differently too, so each is tried."""
    changes = []
    for plugin in own.scores:
        weight = weights.get(plugin, 1)
        needed = _needed(own, scored, plugin, weight)
        if needed is not None:
            changes.append(WeightChange(plugin, weight, needed))
    for change in sorted(changes, key=lambda each: (abs(each.new_weight - each.weight), each.plugin)):
        if placed(change.plugin, change.new_weight) == own.node:
            yield change


def _needed(own: ScoredNode, scored: Sequence[ScoredNode], plugin: str, weight: int) -> int | None:
    """total + change * normalised must be more than that of every other node, or as much with the lower name."""
    least, most = 1 - weight, 10**6
    for other in scored:
        if other.node == own.node:
            continue
        gap = other.total - own.total + (0 if own.node < other.node else 1)
        lead = own.scores[plugin].normalized - other.scores[plugin].normalized
        # The change has to be such that gap <= change * lead.
        if lead > 0:
            least = max(least, -(-gap // lead))
        elif lead < 0:
            most = min(most, -gap // -lead)
        elif gap > 0:
            return None
    return weight + min(max(least, 0), most) if least <= most else None


def _text(focus: NodeFocus, outcome: PodOutcome) -> Iterator[str]:
    if focus.rejections:
        yield f"Not on {focus.node}: {'; '.join(each.describe() for each in focus.rejections)}."
        return
    if focus.chosen:
        yield f"{focus.node} is where it goes."
        return
    if focus.behind is None:
        yield f"{focus.node} fits, and was not asked: nothing is scored."
        return
    if focus.behind.total == 0:
        yield f"{focus.node} fits and has the same score as {focus.behind.node}: of equals the lowest name is taken."
    else:
        by = ", ".join(f"{plugin} {-each:+d}" for plugin, each in focus.behind.by_plugin.items())
        yield (
            f"{focus.node} fits and is number {focus.rank} of {len(outcome.top)}, {focus.behind.total} behind "
            f"{focus.behind.node} ({by})."
        )
    for change in focus.weights:
        yield f"With weight {change.new_weight} instead of {change.weight} for {change.plugin} it goes to {focus.node}."
    if not focus.weights:
        yield f"No other weight of a single plugin takes it to {focus.node}."


Figures = Mapping[str, Any]


def study_preemption(context: CycleContext | None) -> PreemptionStudy | None:
    """None where a node fits, and where no plugin of the profile preempts."""
    if context is None:
        return None
    for plugin in context.runtime.profile.post_filter:
        with plugin_faults(plugin.name, "explain"):
            detail = plugin.explain_post_filter(context.state.filter_states.get(plugin.name), context.pod, context)
        if detail:
            return _study(detail)
    return None


def _study(detail: Mapping[str, Any]) -> PreemptionStudy:
    if "ineligible" in detail:
        return PreemptionStudy(detail["ineligible"], _candidates(detail.get("ifAllowed", ())) or None)
    return PreemptionStudy(
        candidates=_candidates(detail["candidates"]),
        others={node: "; ".join(reasons) for node, reasons in detail["others"].items()},
        beyond_help=detail["beyondHelp"],
    )


def _candidates(figures: Sequence[Figures]) -> tuple[PreemptionCandidate, ...]:
    return tuple(_candidate(each, figures[0]) for each in figures)


def _candidate(figures: Figures, best: Figures) -> PreemptionCandidate:
    return PreemptionCandidate(
        figures["node"],
        tuple(figures["victims"]),
        figures["pdbViolations"],
        figures["highestPriority"],
        _why(figures, best),
    )


def _why(figures: Figures, best: Figures) -> str:
    """The first criterion in which it is not as good as the best."""
    if figures is best:
        return "chosen"
    for better, text in _CRITERIA:
        if better(best) != better(figures):
            return text(figures, best)
    return f"as good as {best['node']}: kube-scheduler takes any of them"


def _started(figures: Figures) -> float:
    """The later the better: what has not started yet is the best victim."""
    return float("inf") if figures["highestStarted"] is None else float(figures["highestStarted"])


_CRITERIA: tuple[tuple[Callable[[Figures], Any], Callable[[Figures, Figures], str]], ...] = (
    (
        lambda each: each["pdbViolations"],
        lambda each, best: (
            f"breaks PodDisruptionBudgets {each['pdbViolations']} times, {best['node']} {best['pdbViolations']} times"
        ),
    ),
    (
        lambda each: each["highestPriority"],
        lambda each, best: (
            f"a victim has priority {each['highestPriority']}, on {best['node']} none over {best['highestPriority']}"
        ),
    ),
    (
        lambda each: each["sumOfPriorities"],
        lambda each, best: f"its victims weigh more by their number and priorities than those of {best['node']}",
    ),
    (
        lambda each: len(each["victims"]),
        lambda each, best: f"{len(each['victims'])} victims, {best['node']} {len(best['victims'])}",
    ),
    (_started, lambda each, best: f"its most important victim has run longer than that of {best['node']}"),
)


def run_up_to(scheduler: Scheduler, queue: PendingQueue, pod_row: int) -> tuple[Turn, QueuePlace]:
    """The turn that the pod has a part in, and where in the queue that is. A pod that is held back has the turn that it
    would have if it were let in."""
    if pod_row in queue.gated:
        scheduler.let_in(queue, pod_row)
    before, turn = scheduler.run_up_to(queue, pod_row)
    placed = sum(each.row is not None for each in before)
    position = len(before) + 1 + turn.rows.index(pod_row)
    return turn, QueuePlace(position, len(queue.active), placed)


Occupants = Mapping[str, Sequence[tuple[str, Mapping[str, int]]]]


def explain(
    subject: Subject,
    run: Run,
    node: str = "",
    *,
    fixes: bool = True,
    manifests: Sequence[Loaded] = (),
    arguments: Sequence[str] = (),
) -> Explanation:
    """`run` is a run of the subject's cluster that has placed nothing yet. `node`: why not there. `fixes`: look for
    changes with which a pod that has no place finds one."""
    scheduler = run.scheduler
    profiles = tuple(sorted(scheduler.runtimes))
    with scheduler.cluster.undo.trial():
        found, on = _look(subject, scheduler)
    found = replace(
        found,
        summary=(
            *_ending(subject),
            *summarise(found, profiles),
            *_typos(found, subject),
            *_claims(found, subject),
            *_policy(found, subject),
        ),
        notes=explanation_notes(found),
    )
    if node and found.outcome is not None:
        weights = scheduler.runtimes[found.scheduler].profile.weights
        found = focus_on(found, node, weights, lambda *change: _placed_with(subject, run.source.scheduler(), *change))
    on_node = node if found.focus and found.focus.rejections else ""
    if fixes and (found.unplaced or on_node):
        situation = FixSituation(subject, found, on, profiles, on_node, manifests, arguments)
        found = replace(found, fixes=find_fixes(situation, run))
    return found


def _ending(subject: Subject) -> Iterator[str]:
    """Whatever a scheduler decides, the pods of a namespace that is being deleted go."""
    if subject.ends_with_namespace:
        namespace = subject.pod.metadata.namespace
        yield f"Namespace {namespace} is being deleted: this pod is deleted too, and no new pod can be created there."


def _policy(found: Explanation, subject: Subject) -> Iterator[str]:
    """That preemption would help the pod if its preemptionPolicy allowed it."""
    study = found.preemption
    if study is None or not study.if_allowed:
        return
    name, best = subject.pod.spec.priority_class_name, study.if_allowed[0]
    of_class = subject.loaded.get(PriorityClass, name)
    by_class = of_class is not None and of_class.preemption_policy == "Never"
    whose = f"of its PriorityClass {name}" if by_class else "of the pod"
    yield (
        f"The preemptionPolicy {whose} is Never, so that it evicts no pod: otherwise it would fit on {best.node} "
        f"when {named(best.victims, 5)} {'leaves' if len(best.victims) == 1 else 'leave'}."
    )


def _claims(found: Explanation, subject: Subject) -> Iterator[str]:
    """A sentence for each claim of the pod that has no volume because of its class, or a volume where no node is."""
    if not found.unplaced:
        return
    loaded = subject.loaded
    for place in volume_places(subject.pod, loaded.get, loaded.of(Node)):
        if place.is_empty:
            yield as_sentence(str(place))
    for name in mounted_claims(subject.pod):
        claim = loaded.get(PersistentVolumeClaim, name, subject.pod.metadata.namespace)
        if claim is None or claim.metadata.deletion_timestamp is not None or claim.spec.volume_name:
            continue
        class_name = claim.spec.storage_class_name or ""
        of_class = loaded.get(StorageClass, class_name)
        if class_name and of_class is None:
            yield f"Claim {name} names StorageClass {class_name}, which does not exist."
        elif of_class is not None and of_class.volume_binding_mode == "Immediate":
            yield (
                f"Claim {name} has no volume yet: the provisioner {of_class.provisioner} of class {class_name} makes "
                "it before the pod is scheduled. The events of the claim have the reason."
            )


def _typos(found: Explanation, subject: Subject) -> Iterator[str]:
    """A sentence for each label that the pod requires, that no node has, and that is near to one of a node, and for
    each pod that it requires and that is not there."""
    if not found.unplaced:
        return
    pod, loaded = subject.pod, subject.loaded
    typos = selector_typos(pod, [node.metadata.labels for node in loaded.of(Node)])
    for each in (*typos, *unmatched_terms(pod, loaded.of(Pod), loaded.of(Namespace))):
        yield as_sentence(str(each))


def _look(subject: Subject, scheduler: Scheduler) -> tuple[Explanation, Occupants]:
    """Everything that one run finds, and where each pod was when the pod was tried."""
    facts = _facts(subject, scheduler)
    if subject.pod.spec.scheduler_name not in scheduler.runtimes:
        return Explanation(**facts, standing="ignored"), {}
    pod_row, runtime = _row_of(subject, scheduler), scheduler.runtimes[subject.pod.spec.scheduler_name]
    queue = scheduler.enqueue([pod_row] if subject.runs_on else None)
    if pod_row in queue.failed:
        outcome = PodOutcome(subject.key, "error", message=queue.failed[pod_row], scheduler=facts["scheduler"])
        return Explanation(**facts, standing="pending", outcome=outcome), {}
    standing: Standing = "running" if subject.runs_on else "gated" if pod_row in queue.gated else "pending"
    turn, place = run_up_to(scheduler, queue, pod_row)
    # A runtime may have been made anew for each pod.
    inspection = inspect(scheduler.runtimes[runtime.profile.scheduler_name], scheduler.cluster.pods.infos[pod_row])
    nodes, before = _nodes(inspection, scheduler), NodeColumns.of(scheduler.cluster)
    preemption, on = study_preemption(scheduler.dry_search(pod_row)), _occupants(scheduler)
    decision = _decide(scheduler, turn, pod_row)
    outcome = outcome_of(decision, scheduler.cluster, OutputOptions(detail=True, top=len(scheduler.cluster.nodes)))
    found = Explanation(
        **facts,
        standing=standing,
        outcome=outcome,
        queue=None if subject.runs_on else place,
        pre_enqueue=tuple(_answer(each) for each in _held_back(inspection, queue.gated.get(pod_row))),
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


def _placed_with(subject: Subject, scheduler: Scheduler, plugin: str, weight: int) -> str:
    """The pod's node when a plugin of its profile weighs so much, for the pods before it as well."""
    scheduler.reweigh(subject.pod.spec.scheduler_name, plugin, weight)
    pod_row = _row_of(subject, scheduler)
    queue = scheduler.enqueue([pod_row] if subject.runs_on else None)
    turn, _ = run_up_to(scheduler, queue, pod_row)
    decision = _decide(scheduler, turn, pod_row)
    return "" if decision.row is None else scheduler.cluster.nodes.names[decision.row]


def _decide(scheduler: Scheduler, turn: Turn, pod_row: int) -> Decision:
    """The last cycle of a scheduler, that of this pod."""
    return next(each for each in scheduler.take(turn) if each.pod_row == pod_row)


def _facts(subject: Subject, scheduler: Scheduler) -> dict[str, Any]:
    requests = requests_of(subject.pod, use_status=False)
    info = scheduler.cluster.pods.infos[_row_of(subject, scheduler)]
    return {
        "pod": subject.key,
        "asks": {name: amount_text(name, amount) for name, amount in requests.items() if amount},
        "priority": info.priority,
        "scheduler": subject.pod.spec.scheduler_name,
        "node": subject.runs_on,
        "waiting": tuple(_why_not_running(subject)) if subject.runs_on else (),
        "nominated": subject.pod.status.nominated_node_name,
    }


def _row_of(subject: Subject, scheduler: Scheduler) -> int:
    return scheduler.cluster.pods.row_of[uid_of_pod(subject.pod)]


def _why_not_running(subject: Subject) -> Iterator[str]:
    """Why a pod that is bound does not run."""
    if subject.loaded.of(Node) and subject.loaded.get(Node, subject.runs_on) is None:
        yield "the input does not have this node"
    yield from _waiting_containers(subject.pod)


def _waiting_containers(pod: Pod) -> Iterator[str]:
    for each in (*pod.status.init_container_statuses, *pod.status.container_statuses):
        reason = each.state.waiting.reason if each.state is not None and each.state.waiting is not None else ""
        # Others of its containers wait for an init container without a problem of their own.
        if reason and reason not in ("PodInitializing", "ContainerCreating"):
            yield f"waits: {reason} (container {each.name})"


def _held_back(inspection: Inspection, gate: Status | None) -> Iterator[InspectedStatus]:
    """What PreEnqueue returns for the pod, and what its group is held back with if that is another pod's."""
    yield from inspection.pre_enqueue
    if gate is not None and all(each.status.ok for each in inspection.pre_enqueue):
        yield InspectedStatus(gate.plugin, gate)


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
    if diagnosis is None or diagnosis.pre_filter is not None:
        return tuple(nodes)
    found = []
    for node in nodes:
        status = None if node.rejections else diagnosis.nodes.status(row_of[node.name])
        if status is None or status.ok or not status.plugin:
            found.append(node)
        else:
            own = Rejection(status.plugin, status.code.go_name, status.reasons, {})
            found.append(ExplainedNode(node.name, (own,)))
    return tuple(found)


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
    return _margin(other.node, chosen, other)


def _margin(named: str, ahead: ScoredNode, behind: ScoredNode) -> Margin:
    """How far one node is ahead of another, by plugin. The margin is about the `named` one of them."""
    by = {plugin: score.weighted - behind.scores[plugin].weighted for plugin, score in ahead.scores.items()}
    return Margin(named, ahead.total - behind.total, {plugin: each for plugin, each in by.items() if each})


def _retries(inspection: Inspection, decision: Decision) -> dict[str, tuple[str, ...]]:
    """What the plugins that are to blame for the rejection wait for, in the profile's order."""
    blamed = set(decision.diagnosis.unschedulable_plugins) if decision.diagnosis and decision.row is None else set()
    blamed |= {each.plugin for each in inspection.pre_enqueue if not each.status.ok}
    plugins = (plugin for plugin in inspection.runtime.profile.plugins if plugin.name in blamed)
    return {plugin.name: _events_of(plugin) for plugin in plugins}


def _events_of(plugin: Plugin) -> tuple[str, ...]:
    events = plugin.events_to_register()
    if events is EVERY_EVENT or any(event.wildcard for event in events):
        return ("anything that happens",)
    return tuple(map(str, events))


def explain_pod(
    source: LoadedInput,
    pod: str | None,
    namespace: str,
    *,
    node: str = "",
    fixes: bool = True,
    manifests: Sequence[Loaded] = (),
    catalog: ShapeCatalog | None = None,
    arguments: Sequence[str] = (),
) -> ExplainResult:
    """The pod that is named, or the first pod without a place of what is named. Without a name: a pod of the manifests,
    or the first pending pod that finds no place. Fixes of a pod that comes from one of the manifests are changes of
    that manifest. With a catalog: which node would help."""
    missing = find_missing_pods(source, pod, namespace) if pod is not None else None
    if missing is not None:
        source, pod, namespace = missing.source, missing.pod, ""
    run = Run(source)
    scheduler = run.scheduler
    found, note = find_refused(source.refused, pod, namespace) if pod is not None else None, ""
    if found is None:
        with scheduler.cluster.undo.trial():
            picked = (
                pick_named(scheduler, find_named_pods(source.loaded, pod, namespace))
                if pod is not None
                else pick_pod(scheduler, source.made, source.refused, source.wanted)
            )
        note = picked.note
        found = find_refused(source.refused, picked.key, "")
    if found is None:
        subject = find_subject(source.loaded, picked.key)
        # A pod that has a node is explained in another cluster, in which it waits.
        own = run if subject.loaded is source.loaded else Run(structs.replace(source, loaded=subject.loaded))
        found = explain(subject, own, node, fixes=fixes, manifests=manifests, arguments=arguments)
    if missing is not None:
        note = missing.note
    if note:
        found = replace(found, notes=(note, *found.notes))
    helping = None
    if catalog is not None and found.unplaced:
        from ksched_cli.plan.size.classes import find_helping_node

        helping = find_helping_node(source, catalog, found.pod)
    added: Provisioning | None = None
    pool_fixes: tuple[Fix, ...] = ()
    if source.autoscaler is not None and found.unplaced:
        added = source.autoscaler.answer(source.loaded, (found.pod,), (found.pod,)).about(found.pod)
        if fixes and not node:
            from ksched_cli.plan.explain.pool_fixes import find_pool_fixes

            pool_fixes = find_pool_fixes(source, found.pod, added)
    return ExplainResult(found, run.coverage, source.warnings, None, helping, added, pool_fixes)
