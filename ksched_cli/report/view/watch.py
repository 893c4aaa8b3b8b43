"""A watched cluster: a line for each piece of news (`News`), and the View of the screen that a terminal shows
(`WatchScreen`). Both have the same sentences.

The screen has the pending pods with their causes and ages, the news of the last minute, what an autoscaler adds, and
the fullest nodes. Ages are computed when the View is made; `WatchedCluster` has what is computed once per moment.
"""

from __future__ import annotations

import datetime
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TextIO

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from ksched_cli.api.object_facts import parse_time
from ksched_cli.errors import counted
from ksched_cli.plan.results.nodes import NodeChanges
from ksched_cli.plan.watch import Answer, Kind, Moment, News, Seen
from ksched_cli.report.registry import RenderOptions, view_of
from ksched_cli.report.sinks.lines import write_json_line, write_row
from ksched_cli.report.view import simulate
from ksched_cli.report.view.model import TONES, Line, Lines, Section, Table, Tone, View, columns
from ksched_cli.report.view.stream import SimulationDocument

_PREPOSITIONS = {Kind.BOUND: "to", Kind.UNSCHEDULABLE: "but nominated for"}

Order = Literal["result", "age", "name"]
ORDERS: tuple[Order, ...] = ("result", "age", "name")
# For how many seconds a piece of news stays on the screen, and how many pieces there are at most.
RECENT, _MOST_NEWS = 60.0, 8
_FULLEST = 6
_RESOURCES = ("cpu", "memory", "pods")
# Stands before the chosen pod.
MARK = ">"
_RANKS = {tone: rank for rank, tone in enumerate(("bad", "warn", "plain", "good"))}
_NEWS_TONES: dict[Kind, Tone] = {
    Kind.UNSCHEDULABLE: "bad",
    Kind.ERROR: "bad",
    Kind.LOST: "bad",
    Kind.PREEMPTS: "warn",
    Kind.HELD_BACK: "warn",
    Kind.BOUND: "good",
    Kind.FITS: "good",
}


def write_entry(news: News, out: TextIO, options: RenderOptions) -> None:
    now = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    write_json_line({"time": now, **to_builtins(news)}, out)


def write_line(news: News, out: TextIO, options: RenderOptions) -> None:
    """`10:02:11  shop/web-1  fits on node-2  (3 of 5 nodes fit)`."""
    write_row(out, f"{time_of_day(time.time())}  {sentence(news)}")
    out.flush()


def time_of_day(seconds: float) -> str:
    return f"{datetime.datetime.fromtimestamp(seconds):%H:%M:%S}"


def sentence(news: News) -> str:
    """`shop/web-1  fits on node-2  (3 of 5 nodes fit)`."""
    if news.kind is Kind.LOST:
        return f"the API server does not answer, trying again: {news.why}"
    if news.kind is Kind.BACK:
        return "the API server answers again"
    where = f" {_PREPOSITIONS.get(news.kind, 'on')} {news.node}" if news.node else ""
    return f"{news.pod}  {news.kind.value}{where}" + (f"  {news.why}" if news.why else "")


# The screen


class WatchedPod(Struct, frozen=True):
    """A pod with its result. `why` is short, `message` whole; `created` is 0 for a pod of a manifest."""

    pod: str
    result: str
    node: str
    why: str
    message: str
    created: float


class WatchedCluster(Struct, frozen=True, eq=False):
    """A moment for the screen. `fullest`: nodes with the share of each resource that is requested, before and after the
    pending pods are placed."""

    pending: Sequence[WatchedPod] = ()
    fullest: Sequence[tuple[str, Sequence[tuple[float, float]]]] = ()
    nodes: int = 0
    autoscaling: Sequence[Section] = ()
    zones: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, moment: Moment) -> WatchedCluster:
        found = moment.simulation
        document = simulate.document(found, RenderOptions("wide"))
        return cls(
            list(_pending(document, moment)),
            _fullest(found.nodes) if found.nodes is not None else (),
            found.stats.nodes,
            list(simulate.autoscaling(document)),
            found.nodes.zones if found.nodes is not None else {},
        )


def _pending(document: SimulationDocument, moment: Moment) -> Iterator[WatchedPod]:
    for each in document.pods:
        result, node, why = simulate.result_of(each, document.place(each))
        yield WatchedPod(each.pod, result, node, why, each.message or why, _created(moment, each.pod))
    for pod, result, why in simulate.pods_not_tried(document):
        yield WatchedPod(pod, result, "", why, why, _created(moment, pod))


def _created(moment: Moment, pod: str) -> float:
    stamp = moment.created.get(pod, "")
    return parse_time(stamp) if stamp else 0.0


def _fullest(nodes: NodeChanges) -> Sequence[tuple[str, Sequence[tuple[float, float]]]]:
    """The nodes with the highest share of one resource."""
    names = nodes.after.table.names
    shares = []
    for resource in _RESOURCES:
        whole, after = nodes.after.amounts(resource)
        before = dict(zip(nodes.before.table.names, nodes.before.amounts(resource)[1], strict=True))
        amounts = zip(names, after, whole, strict=True)
        shares.append([(before.get(name, 0) / (of or 1), taken / (of or 1)) for name, taken, of in amounts])
    rows = zip(names, zip(*shares, strict=True), strict=True)
    return sorted(rows, key=lambda row: (-max(after for _, after in row[1]), row[0]))[:_FULLEST]


_NOTHING = WatchedCluster()


class WatchScreen(Struct, frozen=True, eq=False):
    """What the screen shows. `news` with the time of each; `now` in seconds since the epoch; `words`: pods whose name,
    result or cause has them; `chosen`: a pod; `lost`: why the data is old; `asked`: the pod that is explained in place
    of the list, with its `answer` as soon as there is one."""

    cluster: WatchedCluster = _NOTHING
    now: float = 0.0
    news: Sequence[tuple[float, News]] = ()
    order: Order = "result"
    words: str = ""
    chosen: str = ""
    lost: str = ""
    warnings: Sequence[str] = ()
    asked: str = ""
    answer: Answer | None = None

    def after(self, seen: Seen, now: float) -> WatchScreen:
        """With what was seen of the cluster. Of the first moment all is new, so that nothing has changed."""
        if isinstance(seen, Answer):
            return replace(self, answer=seen) if seen.pod == self.asked else self
        recent = [each for each in self.news if now - each[0] <= RECENT]
        if isinstance(seen, Moment):
            changes = [(now, each) for each in seen.news] if self.cluster is not _NOTHING else []
            return replace(self, cluster=WatchedCluster.of(seen), news=[*recent, *changes]).choose(0)
        return replace(self, news=[*recent, (now, seen)], lost=seen.why if seen.kind is Kind.LOST else "")

    def choose(self, step: int) -> WatchScreen:
        """With the pod that stands so many rows below the chosen one; the first if the chosen one is not listed."""
        pods = [each.pod for each in self.pods]
        at = pods.index(self.chosen) + step if self.chosen in pods else 0
        return replace(self, chosen=pods[min(max(at, 0), len(pods) - 1)] if pods else "")

    @property
    def pods(self) -> list[WatchedPod]:
        """The pods that the screen lists, in its order."""
        words = self.words.lower().split()
        found = [
            each
            for each in self.cluster.pending
            if all(word in f"{each.pod} {each.result} {each.node} {each.message}".lower() for word in words)
        ]
        return sorted(found, key=self._place)

    def _place(self, pod: WatchedPod) -> tuple[Any, ...]:
        if self.order == "name":
            return (pod.pod,)
        oldest = (pod.created or self.now, pod.pod)
        return (_RANKS[TONES.get(pod.result, "plain")], *oldest) if self.order == "result" else oldest


def view(found: WatchScreen) -> View:
    """`12 pending pods: 4 unschedulable, 8 scheduled (5 nodes, 10:02:11)`, with the pods as the first section; of a pod
    that is asked about the View of `explain`."""
    if found.asked:
        return _explanation(found)
    cluster, pods = found.cluster, found.pods
    counts = Counter(each.result for each in cluster.pending)
    results = sorted(counts, key=lambda result: (_RANKS[TONES.get(result, "plain")], result))
    verdict, *details = [f"{counts[result]} {result}" for result in results] or ["none"]
    tone: Tone = TONES.get(results[0], "plain") if results else "good"
    notes = [Line(f"the API server does not answer: {found.lost}", "bad")] if found.lost else []
    return View(
        "watch",
        counted(len(cluster.pending), "pending pod") if cluster.pending else "pending pods",
        verdict,
        "warn" if found.lost else tone,
        details,
        f"{counted(cluster.nodes, 'node')}, {time_of_day(found.now)}",
        notes=[*notes, *(Line(each, "warn") for each in found.warnings)],
        sections=[
            _pods_section(found, pods),
            *_chosen_section(found, pods),
            *_news_section(found),
            *cluster.autoscaling,
            *_nodes_section(cluster),
        ],
    )


def _explanation(found: WatchScreen) -> View:
    answer = found.answer
    if answer is None:
        return View("explain", found.asked, "looking for the cause ...", "plain")
    if answer.result is None:
        return View("explain", found.asked, answer.mistake, "bad")
    explained: View = view_of(answer.result, RenderOptions())
    return explained


def _pods_section(found: WatchScreen, pods: Sequence[WatchedPod]) -> Section:
    heads = columns(": text; Pod; Result: badge; Age; Why")
    rows = [
        (
            MARK if each.pod == found.chosen else " ",
            each.pod,
            each.result,
            age(found.now - each.created) if each.created else "",
            f"{each.node}: {each.why}" if each.node and each.why else each.node or each.why,
        )
        for each in pods
    ]
    if rows:
        return Section("pods", "Pending pods", Table(heads, rows, few=len(rows)))
    text = f'no pending pod has "{found.words}"' if found.words and found.cluster.pending else "no pod is pending"
    return Section("pods", "Pending pods", Lines([Line(text)]))


def _chosen_section(found: WatchScreen, pods: Sequence[WatchedPod]) -> Iterator[Section]:
    """The whole message of the chosen pod: its row may be cut."""
    for each in pods:
        if each.pod == found.chosen and each.message:
            yield Section("chosen", "Chosen", Lines([Line(f"{each.pod}: {each.message}")]))


def _news_section(found: WatchScreen) -> Iterator[Section]:
    recent = [(at, news) for at, news in found.news if found.now - at <= RECENT]
    if not recent:
        return
    shown = recent[: -_MOST_NEWS - 1 : -1]
    rows = [(time_of_day(at), sentence(news)) for at, news in shown]
    tones = {number: _NEWS_TONES.get(news.kind, "plain") for number, (_, news) in enumerate(shown)}
    title = f"The last minute ({counted(len(recent), 'change')})"
    yield Section("news", title, Table(columns("Time; News"), rows, row_tones=tones, few=len(rows)), titled=True)


def _nodes_section(cluster: WatchedCluster) -> Iterator[Section]:
    if not cluster.fullest:
        return
    heads = columns("Node; Cpu; Memory; Pods")
    rows = [(name, *(_share(*each) for each in shares)) for name, shares in cluster.fullest]
    yield Section(
        "nodes", "Fullest nodes, now -> with the pending pods", Table(heads, rows, few=len(rows)), titled=True
    )


def _share(before: float, after: float) -> str:
    """`40 %`, or `40 % -> 60 %`."""
    return " -> ".join(dict.fromkeys(f"{100 * each:.0f} %" for each in (before, after)))


def age(seconds: float) -> str:
    """The age as kubectl shows it: `45s`, `12m`, `3h`, `2d`."""
    for size, unit, until in ((1, "s", 120), (60, "m", 120 * 60), (3600, "h", 48 * 3600)):
        if seconds < until:
            return f"{max(int(seconds), 0) // size}{unit}"
    return f"{int(seconds) // 86400}d"
