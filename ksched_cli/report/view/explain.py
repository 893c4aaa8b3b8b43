"""Why a pod is where it is, node by node and plugin by plugin, and which changes would move it (`ExplainResult`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from ksched_cli.errors import counted, joined, named
from ksched_cli.plan.explain import results
from ksched_cli.plan.explain.results import group_nodes
from ksched_cli.plan.reasons.fixes.values import Fix
from ksched_cli.plan.results.nodes import Score, ScoredNode
from ksched_cli.plan.results.outcomes import DrawOdds
from ksched_cli.plan.size.results import HelpingNode
from ksched_cli.plugins.in_tree import column_of
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.view.autoscaling import sections_of
from ksched_cli.report.view.documents import DocumentPart, value_of
from ksched_cli.report.view.model import (
    TONES,
    Facts,
    Figure,
    Line,
    Lines,
    Place,
    Pods,
    Section,
    Step,
    Steps,
    Table,
    Tone,
    View,
    columns,
    counting,
    pod_and_node,
)
from ksched_cli.report.view.pods import PodDetails, PodPart
from ksched_cli.report.view.shared import node_map, odds_sentence, pod_odds

_MOST_NODES, _MOST_SCORES, _MOST_CANDIDATES = 20, 5, 3


class RejectionPart(DocumentPart, frozen=True, kw_only=True):
    plugin: str
    code: str
    reasons: tuple[str, ...]
    detail: Mapping[str, Any]
    text: str
    beside_nominated: bool = False

    @classmethod
    def of(cls, each: results.Rejection) -> RejectionPart:
        return cls.like(each, reasons=each.texts, text=each.describe(), beside_nominated=each.beside)


class FocusPart(DocumentPart, frozen=True, kw_only=True):
    node: str
    chosen: bool
    text: tuple[str, ...]
    rank: int | None = None
    behind: int | None = None
    by_plugin: Mapping[str, int] | None = None
    weights: tuple[results.WeightChange, ...] | None = None

    @classmethod
    def of(cls, focus: results.NodeFocus) -> FocusPart:
        if not focus.behind:
            return cls(node=focus.node, chosen=focus.chosen, text=focus.text)
        return cls.like(focus, behind=focus.behind.total, by_plugin=focus.behind.by_plugin)


class ExplanationDocument(PodPart, frozen=True, kw_only=True, tag_field="kind", tag="Explanation"):
    """The entry of the pod as in `simulate`, with its explanation. Amounts of cpu are in thousandths."""

    standing: str
    runs_on: str = ""
    waiting: tuple[str, ...] = ()
    asks: Mapping[str, str] = msgspec.field(default_factory=dict)
    priority: int
    scheduler: str = ""
    summary: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    queue: results.QueuePlace | None = None
    pre_enqueue_answers: tuple[results.PluginAnswer, ...] = ()
    pre_filter_answers: tuple[results.PluginAnswer, ...] = ()
    rejections: Mapping[str, tuple[RejectionPart, ...]] = msgspec.field(default_factory=dict)
    problems: Mapping[str, str] = msgspec.field(default_factory=dict)
    runner_up: results.Margin | None = None
    why_not: FocusPart | None = None
    preemption_study: results.PreemptionStudy | None = None
    fixes: tuple[Fix, ...] = ()
    fixes_on: str = ""
    fixes_tried: int | None = None
    helping_node: HelpingNode | None = None
    retried_on: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    rejection_groups: tuple[results.RejectingNodes, ...] = ()
    why_no_fix: str = ""
    about_patches: str = ""
    node_table: Any = None
    odds: DrawOdds | None = None
    autoscaling: Mapping[str, Any] | None = None
    coverage: Mapping[str, Any]


Document = ExplanationDocument
# Fields of the result that the document has as they are.
_SAME = ("standing", "waiting", "asks", "priority", "scheduler", "summary", "notes", "queue", "problems", "runner_up")


def document(result: results.ExplainResult, options: RenderOptions) -> ExplanationDocument:
    found = result.explanation
    fixes = found.fixes
    all_fixes = sorted((*result.pool_fixes, *(fixes.found if fixes else ())), key=lambda each: each.cost)
    make: Callable[..., ExplanationDocument] = partial(ExplanationDocument, pod=found.pod, result=found.standing)
    if found.outcome is not None:
        make = partial(ExplanationDocument.of, found.outcome)
    return make(
        **{name: getattr(found, name) for name in _SAME},
        runs_on=found.node,
        pre_enqueue_answers=found.pre_enqueue,
        pre_filter_answers=found.pre_filter,
        rejections={
            node.name: tuple(map(RejectionPart.of, node.rejections)) for node in found.nodes if node.rejections
        },
        why_not=FocusPart.of(found.focus) if found.focus else None,
        preemption_study=found.preemption,
        fixes=tuple(all_fixes),
        fixes_on=fixes.on if fixes else "",
        fixes_tried=fixes.tried if fixes else None,
        helping_node=result.helping_node,
        retried_on=found.retries,
        rejection_groups=tuple(group_nodes(found.nodes)),
        why_no_fix=fixes.why_none if fixes else "",
        about_patches=fixes.note if fixes else "",
        node_table=found.columns,
        odds=result.odds,
        autoscaling=result.autoscaling.document() if result.autoscaling is not None else None,
        coverage=result.coverage,
    )


# The view


def view(found: ExplanationDocument) -> View:
    """`shop/web-1: unschedulable, 0 of 12 nodes fit`."""
    verdict, tone = _verdict(found)
    tried = found.total_nodes and found.standing != "gated"
    feasible, whole = found.feasible_nodes, found.total_nodes
    requests = ", ".join(f"{name} {amount}" for name, amount in found.asks.items()) or "nothing"
    notes = [Line(f"requests {requests}; priority {found.priority}", aside=True)]
    notes = [*(notes if found.standing != "refused" else []), *map(Line, found.summary)]
    if found.odds is not None:
        notes.append(Line(odds_sentence(found.odds, found.pod)))
    notes += [Line(text, aside=True) for text in found.notes]
    notes += [Line(text, "warn") for text in (found.why_not.text if found.why_not else ())]
    figures = (
        [Figure(f"of {counted(whole, 'node')} fit", f"{feasible:,}", "good" if feasible else "bad")] if whole else []
    )
    if found.queue:
        figures.append(Figure(f"of {counted(found.queue.pods, 'pod')} in the queue", f"{found.queue.position:,}"))
    if found.fixes:
        figures.append(counting(len(found.fixes), "possible change", tone="good"))
    return View(
        "explain",
        found.pod,
        verdict,
        tone,
        [f"{feasible} of {whole} nodes fit"] if tried else [],
        node=found.runs_on or (found.node or found.nominated_node if found.standing != "gated" else ""),
        notes=notes,
        figures=figures,
        sections=[
            *_fixes(found),
            *sections_of(found.autoscaling, found.coverage),
            *_helping_node(found),
            *_weights(found),
            *_answers(found),
            *_rejections(found),
            *_scores(found),
            *_preemption(found),
            *_retries(found),
            node_map(
                found.node_table,
                "The colour of a node is its answer to the pod. The darker band is what the pod would take.",
            ),
            _pod(found),
            *pod_odds("odds", [each for each in (found.odds.pods if found.odds else ()) if each.pod == found.pod]),
            *_facts(found),
        ],
        rows=[pod_and_node(found.pod, found.node)],
    )


def _verdict(found: ExplanationDocument) -> tuple[str, Tone]:
    if found.standing == "gated":
        return "held back", "warn"
    if found.standing in ("ignored", "refused"):
        return found.standing, TONES[found.standing]
    if found.standing == "running":
        if found.waiting:
            return f"bound to {found.runs_on}; {'; '.join(found.waiting)}", "warn"
        return f"runs on {found.runs_on}", "good"
    if found.node:
        return f"scheduled on {found.node}", "good"
    if found.nominated_node:
        return f"preempts on {found.nominated_node}", "warn"
    return found.result, TONES.get(found.result, "bad")


def _fixes(found: ExplanationDocument) -> list[Section]:
    """The changes that help, with flags of ksched, lines of the manifest, a JSON patch, and kubectl commands."""
    if found.fixes_tried is None:
        return []
    on = f" on {found.fixes_on}" if found.fixes_on else ""
    if not found.fixes:
        number = found.fixes_tried
        tried = found.why_no_fix or f"{number} {'was' if number == 1 else 'were'} tried and none works"
        text = f"Changes that would make it fit{on}: {tried}."
        return [Section("fixes", f"Changes that would make it fit{on}", Lines([Line(text)]))]
    where = f"{on} (it may still go elsewhere)" if on else ""
    title = f"Changes that make it fit{where}, the smallest first; each was tried by itself:"
    steps = [Step(each.text, list(_fix_lines(each)), f"-> {_promise(each)}{_costs(each)}") for each in found.fixes]
    sections = [Section("fixes", title, Steps(steps, numbered=True), titled=True)]
    if found.about_patches:
        sections.append(Section("patches", "Not tried", Lines([Line(found.about_patches, aside=True)]), joined=True))
    return sections


def _promise(fix: Fix) -> str:
    """`22 of 22 pods have a node, this one node-1`."""
    promise = fix.promise
    if promise is None or promise.of <= 1:
        return fix.node
    own = f", this one {fix.node}" if fix.node else ""
    return f"{promise.pods} of {promise.of} pods have a node{own}"


def _costs(fix: Fix) -> str:
    """The consequences of a fix for other pods."""
    text = f", evicting {by_workload(fix.victims, fix.workloads)}" if fix.victims else ""
    if fix.lost:
        text += f"; no controller recreates {named(fix.lost)}"
    if fix.left_out:
        text += f"; without a node then: {by_workload(fix.left_out, fix.workloads)}"
    return text


def _fix_lines(fix: Fix) -> Iterator[Line]:
    """The lines of the manifest if the pod comes from one, else the commands."""
    if fix.note:
        yield Line(f"{fix.note}.", aside=True)
    for text in (*map(str, fix.manifest), *fix.commands):
        yield Line(text, copied=True)


def _helping_node(found: ExplanationDocument) -> list[Section]:
    """The cheapest node of the catalog that would help."""
    node = found.helping_node
    if node is None:
        return []
    if node.shape:
        lines = [Line(f"The cheapest node that would help: {node.shape} for {f'{node.price} {node.unit}'.rstrip()}.")]
    else:
        lines = [Line("No single node of the catalog would help:")]
        lines += [Line(f"{shape}: {reason}", aside=True) for shape, reason in node.reasons.items()]
    return [Section("helping-node", "A node that would help", Lines(lines))]


def _weights(found: ExplanationDocument) -> list[Section]:
    focus = found.why_not
    lines = [
        Line(f"{each.plugin} with weight {each.new_weight} instead of {each.weight} would choose it")
        for each in (focus.weights if focus else None) or ()
    ]
    return [Section("why-not", f"Why not {focus.node}", Lines(lines), place="page")] if focus and lines else []


def _answers(found: ExplanationDocument) -> list[Section]:
    """The results of PreEnqueue and PreFilter that restrict the pod, and the problems of Filter."""
    lines = []
    points = (("PreEnqueue", found.pre_enqueue_answers), ("PreFilter", found.pre_filter_answers))
    for point, answers in points:
        by_reasons: dict[tuple[str, ...], list[str]] = {}
        for answer in answers:
            if answer.rejects:
                by_reasons.setdefault(answer.reasons, []).append(answer.plugin)
        for reasons, plugins in by_reasons.items():
            lines.append(Line(f"{point} {', '.join(plugins)}: {', '.join(reasons)}", "bad"))
        for answer in answers:
            if not answer.rejects and answer.nodes is not None:
                leaves = f"leaves only {named(answer.nodes, 5)}" if answer.nodes else "leaves no node"
                lines.append(Line(f"{point} {answer.plugin}: {leaves}"))
    lines += [Line(f"Filter {plugin}: {problem}", "bad") for plugin, problem in found.problems.items()]
    return [Section("answers", "Results for the pod as a whole", Lines(lines))] if lines else []


def _rejections(found: ExplanationDocument) -> list[Section]:
    """The nodes that reject the pod, those with the fewest problems first. Nodes with equal problems share a row, and
    each plugin has a line; -o wide has every node."""
    groups = found.rejection_groups
    if not groups:
        return []
    rows: list[list[Any]] = []
    for group in groups:
        for at, each in enumerate(group.rejections):
            rows.append(["" if at else list(group.nodes), each.plugin, each.text])
    order = [node for group in groups for node in group.nodes]
    whole = [[node, each.plugin, each.text] for node in order for each in found.rejections.get(node, ())]
    single = all(len(each.nodes) == 1 for each in groups)
    shown = columns(f"{'Node' if single else 'Nodes'}: node; Rejected by: filters optional; Why: flows")
    return [Section("rejections", "Why nodes are rejected", Table(shown, rows, whole=whole, most=_MOST_NODES))]


def _scores(found: ExplanationDocument) -> list[Section]:
    """The raw, normalised and weighted score of each plugin by node, and their total. A plugin that gives 0 to every
    node is left out."""
    best = found.best
    if not best:
        return []
    plugins = [name for name in best[0].scores if any(each.scores[name] != Score(0, 0, 0) for each in best)]
    top = next((each.total for each in best if each.node == found.node), best[0].total)
    rows = [
        [each.node, each.total, "" if each.node == found.node else top - each.total, _score_text(each, plugins)]
        for each in best
    ]
    tones: dict[int, Tone] = {at: "good" for at, each in enumerate(best) if each.node == found.node}
    shown = columns("Node: node; Total: number; Behind: number hides_zeros; Scores, raw > normalised > weighted: flows")
    table = Table(shown, rows, row_tones=tones, most=_MOST_SCORES, rows_are="node")
    return [Section("scores", "Scores of the nodes that fit", table, place="terminal")]


def _score_text(scored: ScoredNode, plugins: Sequence[str]) -> str:
    """The scores of a node. If raw, normalised and weighted score are equal, the number is shown once."""
    parts = []
    for plugin in plugins:
        score = scored.scores[plugin]
        steps = [score.raw, score.normalized, score.weighted]
        numbers = str(score.raw) if len(set(steps)) == 1 else ">".join(map(str, steps))
        parts.append(f"{column_of(plugin)} {numbers}")
    return ", ".join(parts)


def _preemption(found: ExplanationDocument) -> list[Section]:
    """The candidates for preemption, best first, and why other nodes are no candidates."""
    study = found.preemption_study
    if study is None:
        return []
    if study.ineligible:
        return [Section("preemption", "Preemption", Lines([Line(f"Preemption: {study.ineligible}")]))]
    candidates, others = study.candidates or (), study.others or {}
    sections = []
    if candidates:
        rows = [
            [each.node, list(each.victims), each.pdb_violations, each.highest_priority, each.why] for each in candidates
        ]
        tones: dict[int, Tone] = {at: "warn" for at, each in enumerate(candidates) if each.why == "chosen"}
        shown = columns(
            "Preemption on; Victims: list flows; Budgets violated: number wide hides_zeros; "
            "Highest priority: number wide; Chosen, or why not: flows"
        )
        table = Table(shown, rows, row_tones=tones, most=_MOST_CANDIDATES, rows_are="node")
        sections.append(Section("preemption", "Preemption, node by node", table))
    else:
        text = f"Preemption helps nowhere: {counted(len(others), 'node')} tried, "
        text += f"{counted(study.beyond_help or 0, 'node')} with problems that no eviction solves."
        sections.append(Section("preemption", "Preemption", Lines([Line(text)])))
    if others:
        table = Table(columns("Node: node same=node; Why no preemption: flows"), [*map(list, others.items())], most=6)
        place: Place = "wide" if candidates else "everywhere"
        title = "Nodes where preemption does not help"
        sections.append(Section("no-preemption", title, table, place=place, joined=not candidates))
    return sections


def _retries(found: ExplanationDocument) -> list[Section]:
    """The events that each plugin waits for; without -o wide only the kinds of their objects."""
    if not found.retried_on:
        return []
    kinds = dict.fromkeys(event.partition(" ")[0] for events in found.retried_on.values() for event in events)
    text = f"kube-scheduler tries it again after changes of: {', '.join(kinds) or 'nothing'}"
    if any(each.islower() for each in kinds):
        text = "kube-scheduler tries it again after anything that happens"
    rows = [
        [plugin, ", ".join(events) or "nothing that the plugin names"] for plugin, events in found.retried_on.items()
    ]
    table = Table(columns("Plugin; Tried again when one of these happens: flows"), rows)
    return [
        Section("retried", "What makes the scheduler try again", Lines([Line(text)]), place="narrow"),
        Section("retries", "What makes the scheduler try again", table, place="wide"),
    ]


def _pod(found: ExplanationDocument) -> Section:
    """The pod with its details, for a page."""

    def pods() -> Pods:
        details = PodDetails((value_of(found.node_table) or {}).get("names", ()))
        detail = details.of(0, found)
        result = found.verdict if found.standing == "pending" else found.standing
        shown = Table(columns("Pod; Result: badge"), [[found.pod, result]])
        return Pods(shown, [detail], details.legend, [0], alone=True)

    return Section("pod", "The pod", pods, place="page")


def _facts(found: ExplanationDocument) -> list[Section]:
    pairs = [("Scheduler", found.scheduler)]
    if margin := found.runner_up:
        by = joined([f"{plugin} {amount:+,}" for plugin, amount in margin.by_plugin.items()] or ["nothing"])
        pairs.append(("Next best node", f"{margin.node}, behind by {margin.total:,}: {by}"))
    pairs = [pair for pair in pairs if pair[1]]
    return [Section("facts", "More about the pod", Facts(pairs), place="page")] if pairs else []


def by_workload(pods: Iterable[str], workloads: Mapping[str, str]) -> str:
    """`2 of Deployment batch/reports, shop/debug`: the number of pods of each workload. A pod without a controller has
    its own name."""
    found = Counter(workloads.get(pod, f"Pod/{pod}") for pod in pods)
    return ", ".join(_part(workload, number) for workload, number in sorted(found.items()))


def _part(workload: str, number: int) -> str:
    kind, _, name = workload.partition("/")
    return name if kind == "Pod" else f"{number} of {kind} {name}"
