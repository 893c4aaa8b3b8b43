"""Which pods are on another node than before, and the rule that moved each (`DiffResult` of `plan/diff.py`). The rules
are found in `plan/reasons/causes.py`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import convert, field

from ksched_cli.controlplane.draws import Draw
from ksched_cli.errors import counted, joined, named
from ksched_cli.plan.diff import NodeChange, OnNode, PodPlace, SpreadChange, Tally
from ksched_cli.plan.results.nodes import NodeUse
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.view.autoscaling import sections_of
from ksched_cli.report.view.documents import DocumentPart, OrdersPart, final_part
from ksched_cli.report.view.ends import doubt, draws_notes
from ksched_cli.report.view.model import Figure, Heading, Line, Lines, Pods, Section, Table, Tone, View, columns
from ksched_cli.report.view.shared import node_map, zone_bars

if TYPE_CHECKING:
    from ksched_cli.plan.diff import DiffResult

ITSELF = "kube-scheduler"
_MOST, _MOST_PODS, _MOST_LINES, _MOST_NODES = 40, 2, 2, 3
# Up to so many pods have a row each; of more pods, those of a workload that moved for one reason share a row.
_FEW = 12
_MAP = (
    "Every node before and after. The filled part is what pods request of it. Choose a pod to see where it was "
    "(dashed) and where it is."
)


class RulePart(DocumentPart, frozen=True, kw_only=True):
    since: str
    gate: str = ""
    text: str


class DeciderPart(DocumentPart, frozen=True, kw_only=True):
    """The name of kube-scheduler itself is absent."""

    plugin: str = ""
    aspect: str
    rules: tuple[RulePart, ...] = ()
    nodes: tuple[OnNode, ...] = ()
    configuration: bool = False


class CausePart(DocumentPart, frozen=True, kw_only=True):
    kind: str
    preemptor: str = ""
    side: str = ""
    deciders: tuple[DeciderPart, ...] = ()
    pods: tuple[str, ...] = ()
    alone: str | None = None


class ChangePart(DocumentPart, frozen=True, kw_only=True):
    kind: str = field(name="change")
    workload: str
    before: PodPlace | None
    after: PodPlace | None
    cause: CausePart | None = None

    @property
    def lost(self) -> bool:
        """Whether the pod is new and has no node."""
        return self.kind == "added" and self.after is not None and not self.after.node

    @property
    def pod(self) -> str:
        either = self.before or self.after
        return either.pod if either is not None else ""


class DiffDocument(DocumentPart, frozen=True, kw_only=True, tag_field="kind", tag="Diff"):
    pods: tuple[ChangePart, ...]
    unchanged: int
    spread: tuple[SpreadChange, ...]
    nodes: tuple[NodeChange, ...]
    total: NodeChange
    final: Any
    finished: Mapping[str, bool]
    draws: tuple[Draw, ...] = ()
    orders: OrdersPart | None = None
    rules: tuple[Tally, ...] | None = None
    autoscaling: Mapping[str, Any] | None = None
    autoscaling_before: Mapping[str, Any] | None = None
    node_table: Any = None
    coverage: Mapping[str, Any]


Document = DiffDocument


def document(found: DiffResult, options: RenderOptions) -> DiffDocument:
    diff, (before, after) = found.diff, found.coverage
    added_before, added = (None if each is None else each.document() for each in found.autoscaling)
    return DiffDocument.like(
        diff,
        pods=convert(diff.changes, tuple[ChangePart, ...], from_attributes=True),
        final=final_part(diff.after),
        finished=diff.after.finished,
        draws=diff.after.draws,
        orders=OrdersPart.of(diff.after),
        autoscaling=added,
        autoscaling_before=added_before,
        node_table=diff.columns,
        coverage={"before": before, "after": after},
    )


# The view

_KINDS: Mapping[str, tuple[str, Tone]] = {
    "newlyFailing": ("newly failing", "bad"),
    "lost": ("new without a node", "bad"),
    "moved": ("moved", "warn"),
    "newlyFitting": ("newly fitting", "good"),
    "added": ("new", "plain"),
    "removed": ("deleted", "plain"),
}
_NOWHERE = {
    "waiting": "waiting for a node",
    "gated": "held back",
    "ignored": "not ours",
    "refused": "refused",
    "nodeGone": "node gone",
}
_LABELS = {"topology.kubernetes.io/zone": "zones", "kubernetes.io/hostname": "nodes"}


def _kind(change: ChangePart) -> str:
    return "lost" if change.lost else change.kind


def view(found: DiffDocument) -> View:
    """`86 pods: 1 newly failing, 1 moved, 2 new, 82 as before`."""
    counts = Counter(map(_kind, found.pods))
    parts = [f"{counts[kind]:,} {word}" for kind, (word, _) in _KINDS.items() if counts[kind]]
    verdict, *details = parts or ["none moves"]
    failing = counts["newlyFailing"] + counts["lost"]
    figures = [Figure(word, f"{counts[kind]:,}", tone) for kind, (word, tone) in _KINDS.items() if counts[kind]]
    doubtful = found.orders is not None and found.orders.workloads
    return View(
        "diff",
        counted(len(found.pods) + found.unchanged, "pod"),
        verdict,
        "bad" if failing else "warn" if parts else "good",
        [*details, f"{found.unchanged:,} as before", *doubt(found.orders)],
        notes=list(draws_notes(found.draws if doubtful else (), found.orders)),
        figures=[*figures, Figure("as before", f"{found.unchanged:,}")],
        sections=[
            *_pods(found.pods),
            node_map(found.node_table, _MAP, lambda names: {"compare": True}),
            *_spread(found.spread),
            *_nodes(found),
            *_rules(found),
            *sections_of(found.autoscaling, found.coverage["after"], found.autoscaling_before),
            zone_bars(found.node_table),
        ],
        rows=[(f"pod/{each.pod}", _KINDS[_kind(each)][0]) for each in found.pods],
    )


def _pods(changes: Sequence[ChangePart]) -> list[Section]:
    """The pods that changed, each with its nodes and the cause."""
    shown = columns(
        "Pod: same=pod; As: wide; Workload: workload filters page; Change: badge filters; Before: same=node; "
        "After: same=node; Why: flows once brief"
    )
    rows, details = [], []
    for change in changes:
        before, after = change.before, change.after
        renamed = after.pod.partition("/")[2] if before and after and before.pod != after.pod else ""
        message = after.message if after is not None and not after.node and (before is None or before.node) else ""
        why = "; ".join(filter(None, (message, *_cause_lines(change))))
        word = _KINDS[_kind(change)][0]
        rows.append([change.pod, renamed, change.workload, word, _where(before), _where(after), why])
        lines = [f"Workload: {change.workload}", *_cause_lines(change, most=None)]
        if renamed:
            lines.insert(1, f"It is {renamed} after.")
        nodes = {"from": before.node if before else "", "to": after.node if after else ""}
        details.append({**nodes, "message": after.message if after else "", "lines": lines})
    table = Table(shown, rows, dict(_KINDS.values()), most=_MOST, rows_are="pod", few=_FEW)
    return [Section("pods", "Pods that changed", Pods(table, details))] if rows else []


def _where(where: PodPlace | None) -> str:
    if where is None:
        return ""
    return where.node or _NOWHERE.get(where.state, "no node")


# Causes


def _cause_lines(change: ChangePart, most: int | None = _MOST_LINES) -> list[str]:
    """`other pods moved ahead of it: a, b`, and a line for each decider."""
    cause = change.cause
    if cause is None:
        return []
    lines = []
    if cause.kind == "preemption":
        lines.append(f"{'before, it was ' if cause.side == 'before' else ''}evicted for {cause.preemptor}")
    elif cause.kind == "others":
        lines.append(_ahead(cause) if cause.pods else "other pods are elsewhere")
    lines += [_decider(each, change, most and _MOST_NODES) for each in cause.deciders]
    if cause.alone is not None and lines:
        lines[-1] += f" (to {cause.alone or 'no node'}, had other pods stayed)"
    if cause.kind == "rule" and cause.pods:
        lines.append(f"and {_ahead(cause)}")
    if most is None or len(lines) <= most:
        return lines
    return [*lines[: most - 1], f"{lines[most - 1]} (and {len(lines) - most} more)"]


def _ahead(cause: CausePart) -> str:
    return f"other pods moved ahead of it: {named(cause.pods, _MOST_PODS)}"


def _decider(decider: DeciderPart, change: ChangePart, most: int | None) -> str:
    """What the decider does on these nodes, or on the first of them."""
    if decider.aspect == "queue":
        states = [side.state for side in (change.before, change.after) if side is not None]
        now = change.after is not None and change.after.state in ("gated", "ignored")
        if "ignored" in states:
            return f"{_who(decider)} {'leaves' if now else 'left'} it to another scheduler"
        return f"{_who(decider)} {'holds it back' if now else 'held it back'}"
    if not decider.nodes:
        return f"{_who(decider)} tries its group as a whole on one side only"
    verb = {"score": "scores", "weight": "weighs"}.get(decider.aspect, "on")
    nothing = "no victim" if decider.aspect == "preemption" else "-"
    shown = [_figure(each, nothing) for each in decider.nodes[:most]]
    left = len(decider.nodes) - len(shown)
    shown += [f"and {counted(left, 'more node')}"] if left else []
    return f"{_who(decider)} {verb} {', '.join(shown)}"


def _who(decider: DeciderPart) -> str:
    # All changed rules together make a score; of several rules of a filter one is enough.
    word = " and " if decider.aspect in ("score", "weight") else " or "
    since = word.join(dict.fromkeys(_when(rule) for rule in decider.rules))
    why = ", ".join(filter(None, (since, "the configuration" if decider.configuration else "")))
    return f"{decider.plugin or ITSELF} ({why})" if why else decider.plugin or ITSELF


def _when(rule: RulePart | Tally) -> str:
    """The minor, and the gate if one decides: `MINOR, gate NAME`."""
    return ", ".join(filter(None, (rule.since, f"gate {rule.gate}" if rule.gate else "")))


def _figure(figure: OnNode, nothing: str) -> str:
    colon = ":" if isinstance(figure.before, str) or isinstance(figure.after, str) else ""
    before, after = (nothing if each is None else str(each) for each in (figure.before, figure.after))
    return f"{figure.node}{colon} {before} -> {after}"


def _rules(found: DiffDocument) -> list[Section]:
    """The rules that changed, with how many pods each moved; rules that moved no pod only with -o wide."""
    if found.rules is None:
        return []
    moving = [each for each in found.rules if each.pods]
    rows: list[list[Any]] = [[each.pods, f"{_title(each)}: {each.text}"] for each in moving]
    causes = [change.cause for change in found.pods if change.cause is not None]
    others = {
        "the configuration": sum(any(each.configuration and not each.rules for each in c.deciders) for c in causes),
        "preemption by others": sum(cause.kind == "preemption" and not cause.deciders for cause in causes),
        "other pods that moved": sum(cause.kind == "others" for cause in causes),
    }
    rows += [[number, title] for title, number in others.items() if number]
    idle = [each for each in found.rules if not each.pods]
    whole = [*rows, *([each.pods, f"{_title(each)}: {each.text}"] for each in idle)]
    sections = []
    if rows or idle:
        table = Table(columns("Pods moved: number; By: flows"), rows, whole=whole)
        place: Any = "everywhere" if rows else "wide"
        sections.append(Section("rules", "Why they moved", table, place=place))
    if idle:
        text = f"{len(idle)} {'more ' if moving else ''}rule{'' if len(idle) == 1 else 's'} changed and moved no pod"
        line = Line(f"{text} (-o wide lists them)", aside=True)
        sections.append(Section("idle-rules", "Other rules", Lines([line]), place="narrow", joined=bool(rows)))
    return sections


def _title(tally: Tally) -> str:
    return f"{', '.join(each or ITSELF for each in tally.plugins)} ({_when(tally)})"


# Nodes


def _spread(changes: Sequence[SpreadChange]) -> list[Section]:
    """The number of pods of each workload in each domain, before and after."""
    rows = []
    for change in changes:
        domains = sorted(change.before.keys() | change.after.keys())
        parts = [_step(domain, change.before.get(domain), change.after.get(domain)) for domain in domains]
        rows.append([change.workload, ", ".join(parts)])
    if not rows:
        return []
    keys = joined(list(dict.fromkeys(_LABELS.get(each.topology_key, each.topology_key) for each in changes)))
    shown = [Heading(f"Spread over {keys}"), Heading("Pods", flows=True)]
    table = Table(shown, rows, most=_MOST, rows_are="workload")
    return [Section("spread", f"Spread of workloads over {keys}", table)]


def _step(domain: str, before: int | None, after: int | None) -> str:
    if before == after:
        return f"{domain} {after}"
    return f"{domain} {'-' if before is None else before} -> {'-' if after is None else after}"


def _nodes(found: DiffDocument) -> list[Section]:
    """The use of the nodes that changed, and of all nodes together."""
    if not found.nodes:
        return []
    sides = [use for change in found.nodes for use in (change.before, change.after) if use]
    others = sorted({name for use in sides for name in use.requested} - {"cpu", "memory"})
    resources = ["cpu", "memory", *others]
    rows = [[_signed(each), *_use(each, resources)] for each in found.nodes]
    tones: dict[int, Tone] = {
        at: "good" if each.before is None else "bad"
        for at, each in enumerate(found.nodes)
        if each.before is None or each.after is None
    }
    amounts = [Heading(name, "number") for name in ("Pods", *resources)]
    shown = [Heading("Use of nodes"), *amounts]
    table = Table(shown, rows, row_tones=tones, most=_MOST, rows_are="node")
    total = Table([Heading("All nodes"), *amounts], [["all nodes", *_use(found.total, resources)]])
    if len(rows) <= _MOST:
        table = Table(shown, [*rows, *total.rows], row_tones=tones, rows_are="node")
        return [Section("use", "Use of nodes", table, place="terminal")]
    return [
        Section("use", "Use of nodes", table, place="terminal"),
        Section("total", "All nodes", total, place="terminal", joined=True),
    ]


def _signed(change: NodeChange) -> str:
    """`+ node-1` for a new node, `- node-1` for one that is gone, `~ node-1` for a change."""
    return f"{'+' if change.before is None else '-' if change.after is None else '~'} {change.node}"


def _use(change: NodeChange, resources: Sequence[str]) -> Iterator[str]:
    sides = [use for use in (change.before, change.after) if use is not None]
    yield _from_to(str(use.pods) for use in sides)
    for name in resources:
        yield _from_to(_percentage(use, name) for use in sides)


def _from_to(values: Iterator[str]) -> str:
    return " -> ".join(dict.fromkeys(values))


def _percentage(use: NodeUse, resource: str) -> str:
    there = use.allocatable.get(resource)
    return f"{100 * use.requested.get(resource, 0) / there:.0f}%" if there else "-"
