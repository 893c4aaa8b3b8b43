"""What draining nodes did: one drain of some nodes, or each node or zone by itself (`DrainReport` of `plan/drain/`).
Pods with a problem come first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TextIO, get_args

from ksched_cli.controlplane.draws import Draw
from ksched_cli.errors import counted, named
from ksched_cli.plan.drain.drain import DrainReport
from ksched_cli.plan.drain.results import (
    BudgetChange,
    DrainOutcome,
    DrainResult,
    Evicted,
    Fate,
    GroupDrain,
    NodeDrain,
    PodFate,
    QueuedPods,
)
from ksched_cli.progress import note
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.sinks.lines import write_row
from ksched_cli.report.view.autoscaling import sections_of
from ksched_cli.report.view.documents import DocumentPart, OrdersPart, final_part
from ksched_cli.report.view.ends import draws_notes, draws_text, ending_text, final_pods_section
from ksched_cli.report.view.model import (
    TONES,
    Figure,
    Line,
    NodeTitle,
    Pods,
    Section,
    Step,
    Steps,
    Table,
    Tone,
    View,
    columns,
    counting,
)
from ksched_cli.report.view.pods import copies_of
from ksched_cli.report.view.shared import node_groups, node_map, results_text, zone_bars
from ksched_cli.report.visible import visible

# The document


class DrainPart(DocumentPart, frozen=True, kw_only=True):
    """One drain. `name` is that of the node or zone if each is drained by itself. `ending`: how the run ended, if it
    did not come to rest."""

    name: str = ""
    result: DrainOutcome
    reason: str = ""
    safe: bool
    orders: OrdersPart | None = None
    drained: bool
    nodes: tuple[NodeDrain, ...]
    budgets: tuple[BudgetChange, ...]
    preempted: tuple[Evicted, ...]
    displaced: tuple[PodFate, ...] = ()
    pending: QueuedPods
    ending: str = ""
    final: Any
    finished: dict[str, bool]
    draws: tuple[Draw, ...] = ()
    autoscaling: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, drain: DrainResult, name: str = "") -> DrainPart:
        return cls.like(drain, name=name, **_parts(drain))


class DrainDocument(DrainPart, tag_field="kind", tag="Drain", frozen=True, kw_only=True):
    """`drain` of some nodes together."""

    node_table: Any = None
    coverage: Mapping[str, Any]
    stats: Any = None


class DrainListDocument(DocumentPart, tag_field="kind", tag="DrainList", frozen=True, kw_only=True):
    """`drain` of each node or zone by itself."""

    each: Literal["node", "zone"]
    trials: tuple[DrainPart, ...]
    node_table: Any = None
    coverage: Mapping[str, Any]
    stats: Any = None


Document = DrainDocument | DrainListDocument


def document(found: DrainReport, options: RenderOptions) -> Document:
    rest: dict[str, Any] = {"node_table": found.nodes, "coverage": found.coverage, "stats": found.stats}
    if found.each is None:
        drain = found.trials[0].drain
        return DrainDocument.like(drain, **_parts(drain), **rest)
    trials = tuple(DrainPart.of(trial.drain, trial.name) for trial in found.trials)
    return DrainListDocument(each=found.each, trials=trials, **rest)


def _parts(drain: DrainResult) -> dict[str, Any]:
    """The values of the fields of a DrainPart that the result has in another form."""
    world = drain.world
    orders = OrdersPart.of(world)
    if drain.orders and orders is None:
        orders = OrdersPart(
            tried=sum(drain.orders.values()), outcomes={str(name): number for name, number in drain.orders.items()}
        )
    return {
        "result": drain.outcome,
        "reason": _reason(drain),
        "orders": orders,
        "ending": "" if world.settled else _ending(drain),
        "final": final_part(world),
        "finished": dict(world.finished),
        "draws": world.draws,
    }


def show_trial(trial: GroupDrain, out: TextIO | None = None) -> None:
    """Show one trial while the others run: as a row of -o name in `out`, else in a line above the progress bar."""
    if out is None:
        note(visible("  ".join((trial.name, trial.drain.outcome, _reason(trial.drain)))))
    else:
        write_row(out, trial.name, trial.drain.outcome)
        out.flush()


def _ending(drain: DrainResult) -> str:
    world = drain.world
    text = ending_text(world.ending, world.seconds, world.cycles, world.period, world.oscillating)
    return "; ".join((text, *world.faults))


def _reason(drain: DrainResult) -> str:
    """The first cause of the outcome: chance, a refusal, a stuck pod, a pod without a node, a lost pod, a preempted
    pod."""
    if drain.orders:
        doubt = _doubt(drain.outcome, drain.orders)[0]
        return f"{doubt}: {draws_text(drain.world.draws, OrdersPart.of(drain.world))}"
    for node in drain.nodes:
        for refusal in node.refusals:
            return f"{refusal.message}: {named(refusal.pods, 1)}"
    if late := [node.node for node in drain.nodes if node.timed_out]:
        return f"the --timeout is over before all pods of {late[0]} have left"
    for fate in ("stuck", "unplaced"):
        found = [pod for node in drain.nodes for pod in node.pods if pod.fate == fate]
        if found:
            return f"{found[0].pod}: {found[0].why}"
    if not drain.homeless and drain.displaced:
        pod = drain.displaced[0]
        return f"{pod.pod} {_LOSES_PLACE}: {pod.why}"
    if not drain.homeless and not drain.world.settled:
        return _ending(drain)
    if drain.lost and not drain.homeless:
        return f"{drain.lost[0].pod}: {drain.lost[0].why}"
    for preempted in (drain.homeless, drain.preempted_for_good, drain.preempted):
        if preempted:
            each = preempted[0]
            return f"{each.pod} is preempted on {each.node} by {each.by} and {_end_of(each)}"
    return ""


_LOSES_PLACE = "would have a node without the drain, and has none with it"


def _end_of(each: Evicted) -> str:
    if each.to:
        return f"moves to {each.to}"
    return "finds no place" if each.successor else "is deleted for good"


# The view

_FATES: Mapping[Fate, tuple[str, str, Tone]] = {
    "moves": ("moves", "move", "good"),
    "unplaced": ("finds no place", "find no place", "bad"),
    "gone": ("is deleted for good", "are deleted for good", "bad"),
    "stuck": ("is stuck", "are stuck", "bad"),
    "refused": ("is refused", "are refused", "bad"),
    "waits": ("waits", "wait", "plain"),
    "stays": ("stays", "stay", "plain"),
}
_MAP = (
    "A cell is a node, filled by what pods request of it. Choose a pod to see where it was (dashed) and where it goes."
)


def view(found: Document) -> View:
    return _list(found) if isinstance(found, DrainListDocument) else _single(found)


def _single(found: DrainDocument) -> View:
    nodes = found.nodes
    doubt = _doubt(found.result, found.orders.outcomes if found.orders else {})
    pods = [pod for node in nodes for pod in node.pods if pod.fate != "stays"]
    subject: str
    if len(nodes) == 1:
        subject, details = NodeTitle(nodes[0].node), [*doubt, *_came_of(nodes[0])]
        notes = list(_remarks(nodes[0]))
    else:
        subject, details = counted(len(nodes), "node"), [*doubt, _counts(pods) or "nothing to evict"]
        notes = []
    if found.reason and not nodes[0].refusals:
        notes.insert(0, Line(found.reason, place="page"))
    if found.pending.pods:
        notes.append(Line(pending_line(found.pending.pods, found.pending.placed)))
    if found.ending:
        notes.append(Line(found.ending, "bad"))
    return View(
        "drain",
        subject,
        found.result,
        TONES[found.result],
        details,
        notes=[*notes, *draws_notes(found.draws if found.orders else (), found.orders)],
        figures=list(_figures(nodes, found)),
        sections=[
            *_by_node(nodes),
            node_map(found.node_table, _MAP),
            *_pods(nodes),
            *_preempted(found.preempted),
            *_displaced(found.displaced),
            *_budgets(found.budgets),
            *sections_of(found.autoscaling, found.coverage),
            final_pods_section(found.final),
            zone_bars(found.node_table),
        ],
        rows=[(" ".join(node.node for node in nodes), found.result)],
        shows_use="changed nodes",
    )


def _doubt(result: str, outcomes: Mapping[Any, int]) -> list[str]:
    """`in 1 of 3 orders (safe in 2)`, if chance decides the outcome."""
    if not outcomes:
        return []
    others = ", ".join(f"{name} in {count}" for name, count in outcomes.items() if name != result)
    return [f"in {outcomes[result]} of {sum(outcomes.values())} orders ({others})"]


def _came_of(node: NodeDrain) -> list[str]:
    if node.refusals:
        return ["kubectl drain would refuse", "nothing is evicted"]
    counts = _counts(pod for pod in node.pods if pod.fate != "stays")
    if not counts:
        return ["nothing to evict"]
    if node.timed_out:
        return ["kubectl drain would give up", "its --timeout is over before all pods have left", counts]
    word = "in" if node.drained else "after"
    rounds = f" {word} {counted(node.rounds, 'round')}" if node.rounds else ""
    return [f"{'drained' if node.drained else 'not drained'}{rounds}", counts]


def _counts(pods: Iterable[PodFate]) -> str:
    """`5 pods move, 1 is stuck`."""
    counts = Counter(pod.fate for pod in pods)
    found = [(counts[fate], words[counts[fate] > 1]) for fate, words in _FATES.items() if counts[fate]]
    return ", ".join(f"{number if at else counted(number, 'pod')} {word}" for at, (number, word) in enumerate(found))


def _remarks(node: NodeDrain) -> Iterator[Line]:
    for remarks, tone in ((node.refusals, "bad"), (node.warnings, "warn")):
        yield from (Line(str(each), tone) for each in remarks)  # type: ignore[arg-type]


def pending_line(pods: int, placed: int) -> str:
    """`7 pending pods in the queue; 1 of them is scheduled before the evicted pods.`."""
    scheduled = "1 of them is" if placed == 1 else f"{placed:,} of them are"
    if pods == 1:
        scheduled = "it is" if placed else "it is not"
    return f"{counted(pods, 'pending pod')} in the queue; {scheduled} scheduled before the evicted pods."


def _figures(nodes: Sequence[NodeDrain], found: DrainPart) -> Iterator[Figure]:
    counts = Counter(pod.fate for node in nodes for pod in node.pods)
    yield counting(len(nodes), "node")
    yield counting(sum(node.rounds for node in nodes), "round")
    labels: Mapping[Fate, str] = {
        "moves": "move",
        "unplaced": "no place",
        "gone": "deleted for good",
        "stuck": "stuck",
        "refused": "refused",
    }
    for fate, label in labels.items():
        if counts[fate]:
            yield Figure(label, f"{counts[fate]:,}", _FATES[fate][2])
    if found.preempted:
        yield Figure("others preempted", f"{len(found.preempted):,}", "warn")
    if found.displaced:
        yield Figure("pending pods without their node", f"{len(found.displaced):,}", "bad")


def _by_node(nodes: Sequence[NodeDrain]) -> list[Section]:
    """What became of each of several nodes."""
    if len(nodes) == 1:
        return []
    steps = []
    for node in nodes:
        verdict, *details = _came_of(node)
        tone: Tone = "good" if node.drained else "bad"
        steps.append(Step(NodeTitle(node.node), list(_remarks(node)), ", ".join(details), verdict, tone))
    return [Section("by-node", "Node by node", Steps(steps, steps_are="node"))]


def _pods(nodes: Sequence[NodeDrain]) -> list[Section]:
    """The pods of the drained nodes, those with a problem first. Pods that stay are on the page only."""
    found = [(node.node, pod) for node in nodes for pod in node.pods if not node.refusals or pod.fate != "waits"]
    found.sort(key=lambda each: (_FATES[each[1].fate][2] != "bad", each[1].fate == "stays"))
    shown = columns(
        f"Pod; What happens: badge filters; Round: number; From: filters {'everywhere' if len(nodes) > 1 else 'page'}; "
        "To: node; As: wide; Why: flows brief"
    )
    tones = {words[0]: words[2] for words in _FATES.values()}
    rows = [
        [each.pod, _FATES[each.fate][0], each.round or "", node, each.to, _renamed(each), each.why]
        for node, each in found
    ]
    details = [{"from": node, "to": each.to, "message": each.why, "lines": _recreated(each)} for node, each in found]
    evicted = [row for row, (_, each) in zip(rows, found, strict=True) if each.fate not in ("stays", "refused")]
    title = "Pods of the drained nodes"
    sections = [Section("evicted", title, Table(shown, evicted, tones), place="terminal")] if evicted else []
    page = Pods(_page_table(rows, tones), details)
    return [*sections, Section("pods", title, page, place="page")] if rows else sections


def _page_table(rows: Sequence[Sequence[Any]], tones: Mapping[str, Tone]) -> Table:
    """The same pods for a page, where copies with one reason share a row."""
    shown = columns(
        "Pod: same=pod; Copies of: workload terminal; Alike: terminal; What happens: badge filters; Round: number; "
        "From: filters; To: node; As: same=pod; Why: flows brief"
    )
    return Table(shown, [[row[0], copies_of(row[0]), row[6] or row[0], *row[1:]] for row in rows], tones)


def _renamed(pod: PodFate) -> str:
    """The name of the pod that a controller makes in its place, if it has another one."""
    return pod.successor.partition("/")[2] if pod.successor != pod.pod else ""


def _recreated(pod: PodFate) -> list[str]:
    return [f"Its controller makes {pod.successor} in its place."] if pod.successor else []


def _budgets(budgets: Sequence[BudgetChange]) -> list[Section]:
    shown = columns("Budget; Needs: number; Healthy: number; Lowest: number; In the end: number; Allows: number")
    rows = [
        [
            each.budget,
            each.desired_healthy,
            each.current_healthy.before,
            each.current_healthy.lowest,
            each.current_healthy.after,
            each.disruptions_allowed.after,
        ]
        for each in budgets
    ]
    return [Section("budgets", "Disruption budgets", Table(shown, rows))] if rows else []


def _preempted(preempted: Sequence[Evicted]) -> list[Section]:
    shown = columns("Preempted; On: node; By; Then")
    rows = [[each.pod, each.node, each.by, _end_of(each)] for each in preempted]
    tones: dict[int, Tone] = {at: "bad" for at, each in enumerate(preempted) if not each.to}
    title = "Pods of other nodes that are preempted"
    return [Section("preempted", title, Table(shown, rows, row_tones=tones))] if rows else []


def _displaced(displaced: Sequence[PodFate]) -> list[Section]:
    rows = [[each.pod, each.why] for each in displaced]
    title = "Pods that would have a node without the drain, and have none with it"
    return [Section("displaced", title, Table(columns("Pod; Why: flows brief"), rows), titled=True)] if rows else []


# Each node or zone by itself


def _list(found: DrainListDocument) -> View:
    """`12 nodes, each drained by itself: 8 safe, 2 evict others, 1 no place, 1 blocked`."""
    trials, each = found.trials, found.each
    results = Counter(trial.result for trial in trials)
    worst: list[DrainOutcome] = [name for name in reversed(get_args(DrainOutcome)) if results[name]]
    others = [results_text(results[name], name) for name in worst if name != "safe"]
    result_of = {node.node: trial.result for trial in trials for node in trial.nodes}
    numbers = ("Rounds", "Move", "Evicted", "Lost", "No place", "Stuck", "Refused", "New nodes")
    shown = columns(
        f"{each.capitalize()}: {'node' if each == 'node' else 'text'}; Result: badge filters; "
        f"{'; '.join(f'{name}: number hides_zeros' for name in numbers)}; Why: flows brief"
    )
    order = sorted(trials, key=lambda trial: get_args(DrainOutcome).index(trial.result), reverse=True)
    rows = [[trial.name, trial.result, *_numbers(trial), trial.reason] for trial in order]
    return View(
        f"drain --each {each}",
        f"{counted(len(trials), each)}, each drained by itself",
        f"{results['safe']} safe",
        "good" if not others else "warn" if worst[0] == "evicts others" else "bad",
        others,
        figures=[Figure(name, f"{number:,}", TONES[name]) for name, number in results.most_common()],
        sections=[
            node_map(
                found.node_table,
                "The colour of a node is the result of its drain.",
                lambda names: node_groups(names, result_of, "safe"),
            ),
            Section("trials", f"Each {each} drained by itself", Table(shown, rows)),
        ],
        rows=[(trial.name, trial.result) for trial in trials],
    )


def _numbers(trial: DrainPart) -> Iterator[int]:
    """The numbers of a trial in the order of their columns."""
    pods = [pod for node in trial.nodes for pod in node.pods]
    counts = Counter(pod.fate for pod in pods)
    homeless = sum(1 for each in trial.preempted if each.successor and not each.to)
    yield sum(node.rounds for node in trial.nodes)
    yield counts["moves"]
    yield len(trial.preempted)
    yield sum(pod.lost for pod in pods) + sum(1 for each in trial.preempted if not each.successor)
    yield counts["unplaced"] + homeless + len(trial.displaced)
    yield counts["stuck"]
    yield counts["refused"]
    # Nodes that the autoscaler adds for pending pods do not count.
    new = {each["name"] for each in (trial.autoscaling or {}).get("newNodes", ())}
    yield len(new & {pod.to for pod in pods})
