"""Where each pending pod goes, the best nodes with their scores, and why other nodes failed (`Simulation`).

The document is in `stream.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any
from urllib.parse import urlsplit

from ksched_cli.errors import counted, named, predicate
from ksched_cli.plan.results.nodes import Failure, FailureGroup
from ksched_cli.plugins.in_tree import column_of
from ksched_cli.releases.minors import DEFAULT
from ksched_cli.releases.plugin_names import NODE_RESOURCES_FIT, NODE_UNSCHEDULABLE, TAINT_TOLERATION
from ksched_cli.report.view.documents import value_of
from ksched_cli.report.view.model import (
    TONES,
    Figure,
    Heading,
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
    short_reasons,
)
from ksched_cli.report.view.pods import PodDetails, PodPart, copies_of
from ksched_cli.report.view.shared import curve_sections, node_map, odds_sentence, pod_odds, zone_bars
from ksched_cli.report.view.stream import SimulationDocument
from ksched_cli.report.view.stream import document as document

# Above this many pods, the second node of each pod is left out.
PODS_WITH_NODES = 40
# Up to so many pods, a terminal shows the nodes of each; of more pods only with -o wide.
_FEW_PODS = 3
# Of more pods, those that are alike share a row; of fewer pods, the copies of one workload.
_MANY = 20
_SHOWN_GONE, _SHOWN_ALIKE = 3, 4
_GROUP_RESULTS = {"gated": "held back", "waiting": "waits for victims to leave"}
_TAINTED = "are tainted"
# Plugins that keep pods away from nodes of other pools, and no plugin: nodes that PreFilter excludes.
_OF_OTHERS = (TAINT_TOLERATION, NODE_UNSCHEDULABLE, "")
MAP_INTRO = (
    "A cell is a node. The filled part is what pods request of it; the darker band on top is what this run adds. "
    "Choose a pod to see by colour which nodes have room for it and why the others have none."
)


Document = SimulationDocument


# The view


def view(found: SimulationDocument) -> View:
    """`8 pending pods: 4 unschedulable, 1 scheduled, 2 preempt, 1 held back (12 nodes)`."""
    counts = Counter([each.verdict for each in found.pods])
    subject, verdict, tone, details = _verdict(found, counts)
    version = found.coverage.get("kubeVersion", DEFAULT.version)
    context = counted(found.stats.nodes, "node")
    context += f", Kubernetes {version}" if version != DEFAULT.version else ""
    return View(
        "simulate",
        subject,
        verdict,
        tone,
        details,
        context,
        notes=list(_notes(found)),
        figures=_figures(found, counts),
        sections=[
            *_each_pod(found),
            *not_tried(found),
            *groups(found),
            *_gone(found),
            *_odds(found),
            *autoscaling(found),
            *curve_sections(found.curve),
            node_map(found.node_table, MAP_INTRO, partial(placed_data, found.pods)),
            *preemptions(found.pods),
            *pod_odds("odds", found.odds.pods if found.odds else ()),
            *timings(found),
            zone_bars(found.node_table),
        ],
        rows=lambda: chain(
            [pod_and_node(each.pod, each.node) for each in found.pods],
            [pod_and_node(pod, "") for pod in found.gated],
        ),
    )


def _verdict(found: SimulationDocument, counts: Counter[str]) -> tuple[str, str, Tone, list[str]]:
    preempts = "preempts" if counts["preempts"] == 1 else "preempt"
    bad = _words(
        (counts["unschedulable"] - found.provisioned, "unschedulable"),
        (counts["error"], "in error"),
        (len(found.refused), "refused"),
    )
    good = _words(
        (found.provisioned, "on nodes that Karpenter adds or expects"),
        (counts["scheduled"], "scheduled"),
        (counts["preempts"], preempts),
        (counts["skipped"], "being deleted"),
        (len(found.gated), "held back"),
        (len(found.ignored), "of other schedulers"),
    )
    gone = [f"{counted(len(found.deleted), 'running pod')} deleted"] if found.deleted else []
    verdict, *details = [*bad, *good] or ["none"]
    tone: Tone = "bad" if bad else "warn" if counts["preempts"] or found.gated else "good"
    total = found.total
    return counted(total, "pending pod") if total else "pending pods", verdict, tone, [*details, *gone]


def _words(*counts: tuple[int, str]) -> list[str]:
    return [f"{count} {words}" for count, words in counts if count]


def _notes(found: SimulationDocument) -> Iterator[Line]:
    if by_source := found.coverage.get("kubeVersionReadFromSource"):
        yield Line(f"the rules of Kubernetes {by_source} are read from its source, not held against recordings")
    reasons: Counter[str] = Counter()
    reason, before = "", None
    for each in found.failed():
        if before is None or not _shares_row(each, before):
            reason = _main_reason(each)
        before = each
        if reason:
            reasons[reason] += 1
    if len(found.pods) > _FEW_PODS:
        yield from _unread_kinds(found)
    if reasons:
        causes = [f"{reason} ({counted(pods, 'pod')})" for reason, pods in reasons.most_common(3)]
        yield Line(f"What rejects most nodes: {', '.join(causes)}.", place="page")


def _unread_kinds(found: SimulationDocument) -> Iterator[Line]:
    """The pods whose result depends on objects that could not be read. Of few pods, the step of each names them."""
    pods: dict[tuple[str, ...], list[str]] = {}
    for each in found.pods:
        if each.missing:
            pods.setdefault(tuple(each.missing), []).append(each.pod)
    for kinds, names in pods.items():
        text = f"could be otherwise: {', '.join(kinds)} could not be read ({named(names, _SHOWN_ALIKE)})"
        yield Line(text, "warn", place="narrow")


def _figures(found: SimulationDocument, counts: Counter[str]) -> list[Figure]:
    failing = found.failing
    figures = [
        counting(found.total, "pending pod"),
        Figure("scheduled", f"{counts['scheduled']:,}", "good" if counts["scheduled"] else "plain"),
        Figure("no node", f"{failing:,}", "bad" if failing else "plain"),
    ]
    more: Sequence[tuple[int, str, Tone]] = [
        (found.provisioned, "on new nodes", "warn"),
        (counts["preempts"], "waiting for victims", "warn"),
        (len(found.gated), "held back", "warn"),
        (len(found.refused), "refused", "bad"),
        (counts["skipped"], "being deleted", "plain"),
        (len(found.ignored), "of other schedulers", "plain"),
    ]
    figures += [Figure(label, f"{number:,}", tone) for number, label, tone in more if number]
    return [*figures, counting(found.stats.nodes, "node")]


# Pods


def _each_pod(found: SimulationDocument) -> list[Section]:
    """A row for each pod; of a few pods, and with -o wide, the best nodes of each and why the others failed."""
    few = len(found.pods) <= _FEW_PODS
    sections = []
    if found.pods:
        place: Place = "screen" if few else "deep"
        sections.append(Section("each", "Each pod", lambda: Steps([*_steps(found)]), place=place))
        if not few:
            sections.append(Section("rows", "Pods", lambda: _table(found), place="narrow"))
    return [*sections, pods_section(found.pods, found.node_table, "Pods", found.failure_kinds)]


def _table(found: SimulationDocument) -> Table:
    shown = columns("Pod: same=pod; Copies of: workload page; Result: badge filters; Node: node; Fit; Why: flows")
    # Results of very many pods have no second node.
    leads = len(found.pods) <= PODS_WITH_NODES
    rows: list[tuple[Any, ...]] = []
    before: PodPart | None = None
    for number, each in enumerate(found.pods):
        place_of = found.place(each)
        name = found.names[number] if found.names else each.pod
        if before is not None and not place_of and _shares_row(each, before):
            of, previous = copies_of(name), rows[-1][1]
            rows.append((name, previous if of == previous else of, *rows[-1][2:]))
        else:
            result, node, why = result_of(each, place_of, leads=leads)
            fit = f"{each.feasible_nodes}/{each.total_nodes}" if each.result != "skipped" else ""
            rows.append((name, copies_of(name), result, node, fit, why))
        before = None if place_of else each
    return Table(shown, rows, rows_are="pod", few=_MANY, copies=True)


def _shares_row(pod: PodPart, before: PodPart) -> bool:
    """Whether the pod is a copy of the pod before it that fails alike: both have the very same failures."""
    return (
        pod.result == "unschedulable"
        and pod.failures is before.failures
        and bool(pod.failures)
        and pod.message is before.message
        and not pod.nominated_node
    )


def result_of(pod: PodPart, place: str, *, leads: bool = True) -> tuple[str, str, str]:
    """The result of a pod, its node and why. `place`: the node that the autoscaler has for it."""
    if place:
        return "new node", "", place
    return pod.verdict, pod.node or pod.nominated_node, _why(pod, leads=leads)


def _why(pod: PodPart, *, leads: bool = True) -> str:
    """`total 463, 24 more than west-1` (with `leads`), or the problems: `4 nodes lack cpu, 1 is cordoned`."""
    if pod.result == "scheduled":
        best = pod.best
        if not best:
            return "the only node that fits"
        text = f"total {best[0].total}"
        if pod.tie_count > 1:
            return f"{text}{_tie_note(pod)}"
        second = next((each for each in best if each.node != pod.node), None) if leads else None
        return f"{text}, {best[0].total - second.total} more than {second.node}" if second else text
    if pod.preemption and pod.nominated_node:
        return _evicts(pod)
    if pod.pre_filter:
        return ", ".join(pod.pre_filter.reasons)
    return problem_counts(pod.groups()) or pod.message


def problem_counts(groups: Sequence[FailureGroup]) -> str:
    """`5 nodes lack cpu, 3 are tainted, 1 is cordoned`.

    A taint is named if all tainted nodes have it. Taints, cordons and the nodes that PreFilter excludes stand last,
    because a person can seldom change them. -o wide and --detail nodes have the reasons of kube-scheduler."""
    if not all(group.problems for group in groups):
        return short_reasons((group.nodes, reason) for group in groups for reason in group.reasons)
    taints = {problem for group in groups if group.plugin == TAINT_TOLERATION for problem in group.problems}
    counts: Counter[tuple[bool, str]] = Counter()
    for group in groups:
        together = group.plugin == TAINT_TOLERATION and len(taints) > 1
        for problem in (_TAINTED,) if together else group.problems:
            counts[group.plugin in _OF_OTHERS, problem] += group.nodes
    order = sorted(counts, key=lambda each: (each[0], -counts[each]))
    parts = [f"{counts[each]} {predicate(each[1], counts[each])}" for each in order]
    if parts:
        first = counts[order[0]]
        parts[0] = f"{counted(first, 'node')} {predicate(order[0][1], first)}"
    return ", ".join(parts)


def _main_reason(pod: PodPart) -> str:
    """The reason of most nodes, or the reason of PreFilter."""
    if pod.pre_filter:
        return pod.pre_filter.reasons[0] if pod.pre_filter.reasons else ""
    groups = pod.groups()
    return groups[0].reasons[0] if groups and groups[0].reasons else pod.message


def _evicts(pod: PodPart) -> str:
    assert pod.preemption is not None
    broken = pod.preemption.pdb_violations
    against = f" ({broken} against a PodDisruptionBudget)" if broken else ""
    return f"evicting {', '.join(pod.preemption.victims)}{against}"


def _tie_note(pod: PodPart) -> str:
    others = [name for name in pod.ties if name != pod.node][:2]
    if not others:
        return ""
    more = pod.tie_count - 1 - len(others)
    return f", tied with {', '.join(others)}" + (f" and {more} more" if more > 0 else "")


def _steps(found: SimulationDocument) -> Iterator[Step]:
    """Each pod with its nodes; pods that fail for the same reasons on the same nodes together."""
    groups: dict[Any, list[PodPart]] = {}
    for pod in found.pods:
        alike = pod.result == "unschedulable" and not pod.nominated_node and not pod.preemption
        key: Any = pod.pod
        if alike:
            failures = tuple((each.plugin, each.reasons, each.nodes) for each in pod.groups())
            key = (failures, pod.pre_filter, pod.message, pod.missing, found.place(pod))
        groups.setdefault(key, []).append(pod)
    for first, *others in groups.values():
        lines = [Line(f"also {named([each.pod for each in others], _SHOWN_ALIKE)}")] if others else []
        yield _step(first, lines, found.place(first))


def _step(pod: PodPart, lines: list[Line], place: str) -> Step:
    result, about = _headline(pod)
    result = f"on {place}" if place else result
    groups = pod.groups()
    blocks: list[Table | Lines] = [_scores(pod)] if pod.best else []
    blocks += [_failures(groups)] if groups else []
    unexplained = pod.result == "unschedulable" and (pod.feasible_nodes or not groups)
    after = []
    if pod.pre_filter:
        after.append(Line(f"{pod.pre_filter.plugin}: {', '.join(pod.pre_filter.reasons)}", "bad"))
    elif pod.result == "error" or unexplained:
        after.append(Line(pod.message, "bad"))
    if pod.missing:
        after.append(Line(f"could be otherwise: {', '.join(pod.missing)} could not be read", "warn"))
    return Step(
        pod.pod, lines, about, result, TONES.get(pod.verdict, "plain"), [*blocks, *([Lines(after)] if after else [])]
    )


def _headline(pod: PodPart) -> tuple[str, str]:
    fit = f"{pod.feasible_nodes} of {pod.total_nodes} nodes fit"
    if pod.verdict == "scheduled":
        return f"on {pod.node}", f"{fit}{_tie_note(pod)}"
    if pod.preemption and pod.nominated_node:
        return f"preempts on {pod.preemption.node}", _evicts(pod)
    if pod.verdict == "preempts":
        return f"waits for {pod.nominated_node or 'a place'}", "until other pods of its group have a place"
    if pod.verdict == "skipped":
        return "being deleted", "not tried"
    vain = f", evicted {', '.join(pod.preemption.victims)} in vain" if pod.preemption else ""
    return pod.verdict, f"{fit}{vain}"


def _scores(pod: PodPart) -> Table:
    """The best nodes with a column for each plugin. A plugin that gives 0 to each node is left out."""
    best = pod.best
    plugins = [name for name in best[0].scores if any(each.scores[name].weighted for each in best)]
    shown = [Heading("Node", "node"), Heading("Total", "number")]
    shown += [Heading(short_plugin(column_of(name)), "number") for name in plugins]
    rows = [[each.node, each.total, *(each.scores[name].weighted for name in plugins)] for each in best]
    tones: dict[int, Tone] = {at: "good" for at, each in enumerate(best) if each.node == pod.node}
    return Table(shown, rows, row_tones=tones)


def _failures(groups: Sequence[FailureGroup]) -> Table:
    shown = columns("Nodes: number; Rejected by; Why: flows")
    rows = []
    for group in groups:
        who = named(group.examples)
        where = f" ({who})" if group.nodes <= len(group.examples) else ""
        hopeless = group.plugin == NODE_RESOURCES_FIT and group.code == "UnschedulableAndUnresolvable"
        text = f"{', '.join(group.reasons)}{', even if empty' if hopeless else ''}{where}"
        rows.append([group.nodes, short_plugin(group.plugin) or "PreFilter", text])
    return Table(shown, rows)


def short_plugin(plugin: str) -> str:
    """The name of a plugin; the host and path of an extender's URL, without the domain of the host."""
    if "://" not in plugin:
        return plugin
    parts = urlsplit(plugin)
    host = parts.netloc.rpartition("@")[2]
    label = host.partition(".")[0]
    return f"{host if label.isdigit() else label}{parts.path}"


def pods_section(
    tried: Sequence[PodPart], nodes: Any, title: str = "Pods", kinds: Sequence[Failure] | None = None
) -> Section:
    """The table of the pods that were tried for a page, pods without a node first, with the details of each. `nodes` is
    the part of a document, `kinds` are the failures that `nodeAnswers` of the pods refer to."""

    def pods() -> Pods:
        order = sorted(range(len(tried)), key=lambda number: bool(tried[number].node))
        shown = columns(
            "Pod: same=pod; Copies of: workload terminal; Alike: terminal; Result: badge filters; Node; "
            "Nodes that fit: number; Main reason: filters flows"
        )
        rows = [_page_row(tried[number]) for number in order]
        # The details are in the order of the document: `like` of the answers is the number of a pod in it.
        details = PodDetails((value_of(nodes) or {}).get("names", ()), kinds)
        made = [details.of(number, each) for number, each in enumerate(tried)]
        return Pods(Table(shown, rows), made, details.legend, order)

    return Section("pods", title, pods, place="page")


def _page_row(pod: PodPart) -> list[Any]:
    why = "" if pod.verdict in ("scheduled", "skipped") else _main_reason(pod)
    # Copies share a row if each node answers them alike.
    alike = pod.message if pod.verdict == "unschedulable" else pod.pod
    node = pod.node or pod.nominated_node
    return [pod.pod, copies_of(pod.pod), alike, pod.verdict, node, pod.feasible_nodes, why]


def placed_data(pods: Iterable[PodPart], names: list[str]) -> dict[str, Any]:
    """The data of a map: the pods that the run placed, by the number of their node."""
    place = {name: number for number, name in enumerate(names)}
    found: dict[int, list[str]] = {}
    for each in pods:
        if each.node in place:
            found.setdefault(place[each.node], []).append(each.pod)
    return {"placed": found}


def reasons_of(pods: Iterable[PodPart]) -> dict[str, str]:
    """In short why the pods without a node have none."""
    return {each.pod: _why(each) for each in pods if each.verdict in ("unschedulable", "error")}


# The rest


def not_tried(found: SimulationDocument, *, gated: bool = True) -> list[Section]:
    shown = columns("Not tried: same=pod; Copies of: workload page; Result: badge filters; Why: flows")
    rows = [(pod, copies_of(pod), result, why) for pod, result, why in pods_not_tried(found, gated=gated)]
    table = Table(shown, rows, rows_are="pod", few=_MANY, copies=True)
    return [Section("not-tried", "Pods that were not tried", table)] if rows else []


def pods_not_tried(found: SimulationDocument, *, gated: bool = True) -> list[tuple[str, str, str]]:
    """The pods that had no cycle, each with its result and why; without those that are `gated`, where another table has
    them."""
    reasons = found.reasons
    if gated and found.gated and not reasons:
        final = value_of(found.final) or ()
        reasons = {each["pod"]: each.get("message", "") for each in final if each["state"] == "gated"}
    rows = [(pod, "held back", reasons.get(pod, "")) for pod in (found.gated if gated else ())]
    for pod in found.ignored:
        scheduler = found.schedulers.get(pod)
        name = f'"{scheduler}"' if scheduler is not None else "as its scheduler"
        rows.append((pod, "not ours", f"no profile is named {name}"))
    return [*rows, *((each.pod, "refused", f"{each.plugin}: {each.message}") for each in found.refused)]


def groups(found: SimulationDocument) -> list[Section]:
    shown = columns(
        "Pod group; Result; Placed; Needed: number hides_zeros; Placement; Evicting: list flows; Why: flows"
    )
    rows = [
        [
            each.pod_group,
            _GROUP_RESULTS.get(each.result, each.result),
            f"{each.placed} of {each.pods}",
            each.min_count,
            each.placement,
            list(each.preemption.victims) if each.preemption else [],
            each.message,
        ]
        for each in found.pod_groups
    ]
    return [Section("groups", "Pod groups", Table(shown, rows))] if rows else []


def _gone(found: SimulationDocument) -> list[Section]:
    """The pods that edits have deleted, by reason."""
    by_why: dict[str, list[str]] = {}
    for pod, why in found.deleted.items():
        by_why.setdefault(why or "deleted", []).append(pod)
    lines = [
        Line(f"{counted(len(names), 'pod')} deleted  {why}: {named(names, _SHOWN_GONE)}", "warn")
        for why, names in by_why.items()
    ]
    return [Section("gone", "Pods that the edits deleted", Lines(lines))] if lines else []


def _odds(found: SimulationDocument) -> list[Section]:
    """A sentence for each pod that was tried."""
    if found.odds is None:
        return []
    lines = [Line(odds_sentence(found.odds, each.pod)) for each in found.pods]
    return [Section("chances", "Where pods go in other orders", Lines(lines), place="terminal")]


def preemptions(pods: Sequence[PodPart]) -> list[Section]:
    """A row for each victim."""
    rows = [
        [pod.pod, pod.preemption.node, victim, pod.preemption.pdb_violations]
        for pod in pods
        if pod.preemption
        for victim in pod.preemption.victims or [""]
    ]
    intro = "The victims leave the node, and the pod takes their place. One row for each victim."
    table = Table(columns("Pod; Node; Victim; Budgets violated: number"), rows)
    return [Section("preemption", "Preemption", table, intro, place="page")] if rows else []


def autoscaling(found: SimulationDocument) -> Iterator[Section]:
    """The nodes that the cluster's autoscaler adds, and the pods that it cannot help."""
    if found.autoscaling is None:
        return
    from ksched_cli.report.view.autoscaling import autoscaling_sections, sections_of

    if isinstance(found.autoscaling, dict):
        yield from sections_of(found.autoscaling, found.coverage)
    else:
        yield from autoscaling_sections(found.autoscaling, found.coverage.get("autoscalerAssumed", ()))


def timings(found: SimulationDocument) -> list[Section]:
    """The slowest first. A plugin from outside kube-scheduler is shown with its origin, and one that is asked for every
    pod is named with the time that it took."""
    shown = columns("Point; Plugin; Calls: number; Remembered: number; Seconds: number; Each: number")
    rows = [
        [
            each.point,
            f"{each.plugin} ({each.origin})" if each.origin else each.plugin,
            each.calls,
            each.remembered or "",
            f"{each.seconds:.3f}",
            f"{each.seconds / each.calls * 1e6:.1f} µs" if each.calls else "-",
        ]
        for each in sorted(found.stats.timings, key=lambda each: -each.seconds)
    ]
    sections = [Section("timings", "Time of plugins", Table(shown, rows), place="terminal")] if rows else []
    slow: dict[str, float] = {}
    for each in found.stats.timings:
        if each.asked_for_every_pod:
            slow[each.plugin] = slow.get(each.plugin, 0.0) + each.seconds
    lines = [
        Line(f"{name} has no `depends`: ksched asks it about every pod, which took {seconds:.3f} s.")
        for name, seconds in slow.items()
    ]
    if lines:
        sections.append(Section("asked", "Asked for every pod", Lines(lines), place="terminal"))
    return sections
