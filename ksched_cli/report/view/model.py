"""A result for people, without a layout: a verdict, details, figures, and sections of blocks.

`view(result)` of the modules beside this one makes a View, and the sinks of `report/sinks/` write it: as a table for a
terminal, as Markdown, as a page. A View has the words; a sink decides about width, colour, the number of rows and the
names of nodes. All texts are plain: a sink makes them visible, escapes them and shortens the names of nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

from msgspec import Struct, field

from ksched_cli.errors import plural

Tone = Literal["good", "warn", "bad", "plain"]
# node: the name of a node; terminals add a column with its zone. badge: its tone is that of the table for its value.
# share: a number from 0 to 1. list: several values. workload: the workload of the pod of the row.
ColumnKind = Literal["text", "number", "badge", "share", "list", "node", "workload"]
# terminal: not on a page. wide: on a page, and on a terminal with -o wide. narrow: on a terminal without it, and in
# Markdown. screen: on a terminal only; deep: there, with -o wide. paper: on a page and in Markdown.
Place = Literal["everywhere", "page", "terminal", "wide", "narrow", "screen", "deep", "paper"]
Cell: TypeAlias = "str | int | float | Sequence[str] | None"


class NodeTitle(str):
    """The name of a node in a summary line: a terminal adds its zone."""

    __slots__ = ()


class Line(Struct, frozen=True):
    """A sentence. `aside`: it is less important. `copied`: people copy it, so that it is never shortened. `indent`: how
    far it stands under the line before."""

    text: str
    tone: Tone = "plain"
    aside: bool = False
    copied: bool = False
    place: Place = "everywhere"
    indent: int = 0


class Figure(Struct, frozen=True):
    """A number with its label, for the top of a page."""

    label: str
    value: str
    tone: Tone = "plain"


class Heading(Struct, frozen=True):
    """A column of a table.

    `flows`: its cells are wrapped. `filters`: a page lets the reader choose one of its values. `hides_zeros`: the
    column is left out if all its values are 0 or empty; without it, if all are empty. `optional`: a terminal leaves it
    out if that saves lines, or the zone of a node. `same`: rows that differ in such columns only become one row that
    counts them as this noun. `once`: a terminal refers to an earlier row with the same long text. `brief`: a
    terminal without -o wide, and Markdown, show of kube-scheduler's messages what each node lacks, and not the
    preemption that was tried in vain."""

    name: str
    kind: ColumnKind = "text"
    flows: bool = False
    filters: bool = False
    hides_zeros: bool = False
    optional: bool = False
    place: Place = "everywhere"
    same: str = ""
    once: bool = False
    brief: bool = False


def columns(text: str) -> list[Heading]:
    """The columns that a line declares, each with its kind and the attributes that hold: `Pod; Why: list flows`. A name
    that comes from the input is a Heading of its own."""
    return [_heading(*each.partition(":")[::2]) for each in text.split(";")]


def _heading(name: str, words: str) -> Heading:
    attributes: dict[str, Any] = {}
    for word in words.split():
        if word in get_args(ColumnKind):
            attributes["kind"] = word
        elif word in get_args(Place):
            attributes["place"] = word
        else:
            attribute, _, value = word.partition("=")
            attributes[attribute] = value or True
    return Heading(name.strip(), **attributes)


_OF_TONES: Mapping[Tone, str] = {
    "good": "scheduled, running, safe, fits",
    "warn": "nominated, waiting, gated, held back, leaving, pending, preempts, new node, skipped, not ours, "
    "evicts others, warns, ignored",
    "bad": "unschedulable, error, refused, fails, none fits, loses pods, no place, blocked, lost",
    "plain": "gone, deleted",
}
# The tone of each word for what becomes of a pod, a workload, a drain or a variant.
TONES: Mapping[str, Tone] = {word: tone for tone, words in _OF_TONES.items() for word in words.split(", ")}


class Table(Struct, frozen=True):
    """Rows of cells. `tones`: of the values of badges. `row_tones`: of rows, by number. A terminal shows `most` rows
    without -o wide, and names what it leaves out as `rows_are`. `whole`: the rows with -o wide and on a page, if `rows`
    are groups of them. A table of up to `few` rows keeps rows apart that are alike; with `copies`, except those of one
    workload."""

    columns: Sequence[Heading]
    rows: Sequence[Sequence[Any]]
    tones: Mapping[str, Tone] = field(default_factory=lambda: TONES)
    row_tones: Mapping[int, Tone] = field(default_factory=dict)
    most: int | None = None
    rows_are: str = "row"
    whole: Sequence[Sequence[Any]] | None = None
    few: int = 2
    copies: bool = False


class Pods(Struct, frozen=True):
    """A table of pods with the details of each for a page. `data` has the legends of the details; `order` the number of
    the details of each row; `alone`: the details of a single pod, without the table."""

    table: Table
    details: Sequence[Mapping[str, Any]]
    data: Mapping[str, Any] = field(default_factory=dict)
    order: Sequence[int] | None = None
    alone: bool = False


class Step(Struct, frozen=True):
    """One of several things with a title: a round of a drain, a change to try, a workload. `result` is a word with a
    tone behind the title, `about` more on the same line. `lines` follow, then `blocks`, which a page leaves out."""

    title: str
    lines: Sequence[Line] = ()
    about: str = ""
    result: str = ""
    tone: Tone = "plain"
    blocks: Sequence[Table | Lines] = ()


class Steps(Struct, frozen=True):
    """Things in their order. `numbered`: a terminal writes their numbers. `dense`: no empty lines between them."""

    steps: Sequence[Step]
    numbered: bool = False
    dense: bool = False
    most: int | None = None
    steps_are: str = "step"


class Lines(Struct, frozen=True):
    """Sentences below each other."""

    lines: Sequence[Line]


class Facts(Struct, frozen=True):
    """Names with texts, or with several texts below each other."""

    pairs: Sequence[tuple[str, str | Sequence[str]]]


class Bar(Struct, frozen=True):
    """A bar of segments: the name of the series and its amount. `text` is written behind it."""

    label: str
    segments: Sequence[tuple[str, float]]
    text: str = ""


class Bars(Struct, frozen=True):
    """Stacked bars. `whole` is the amount of a full bar, 1 where the amounts are shares; without it the longest bar is
    full. `colours` by series, as numbers of the colours of the page; without it every series has its own."""

    rows: Sequence[Bar]
    whole: float | None = None
    colours: Mapping[str, int] = field(default_factory=dict)


class Series(Struct, frozen=True):
    """A line of a chart. `band` has the least and the most value at some places."""

    label: str
    points: Sequence[tuple[float, float]]
    band: Sequence[tuple[float, float, float]] = ()


class Chart(Struct, frozen=True):
    """Lines over a common axis, from `x_from` on. A page and a file show it; terminals and Markdown do not."""

    series: Sequence[Series]
    x_title: str
    y_title: str
    x_from: float = 0.0


class Spark(Struct, frozen=True):
    """A row of values between `label` and `about`, as a line of characters on a terminal with colours; nothing
    elsewhere."""

    label: str
    values: Sequence[float]
    about: str = ""


class NodeMap(Struct, frozen=True):
    """The map of the nodes of the View. `data` is for the code of the page."""

    data: Mapping[str, Any] = field(default_factory=dict)


class Timeline(Struct, frozen=True):
    """Events on a virtual clock: as a table, and `data` as lanes for a page."""

    table: Table
    data: Mapping[str, Any] = field(default_factory=dict)


Block: TypeAlias = Table | Pods | Steps | Lines | Facts | Bars | Spark | Chart | NodeMap | Timeline


class Section(Struct, frozen=True):
    """A part of a View. Sections of a View have different names. `block` may be a function that returns it, or None to
    leave the section out: it is called where the section is shown. `titled`: a terminal writes the title, too;
    `joined`: it has no empty line before the section. `folded`: a page and Markdown show it when the reader opens
    it."""

    name: str
    title: str
    block: Block | Callable[[], Block | None]
    intro: str = ""
    place: Place = "everywhere"
    titled: bool = False
    joined: bool = False
    folded: bool = False

    @property
    def content(self) -> Block | None:
        return self.block() if callable(self.block) else self.block


def _no_nodes() -> dict[str, Any] | None:
    return None


class View(Struct, frozen=True):
    """A result for people. `subject: verdict, detail, detail (context)` is its first line; a terminal adds the zone of
    `node` to the verdict. A list of reference has an empty subject and no first line.

    `rows` are those of -o name, `commands` those of -o commands. `nodes` returns the nodes of the map, which few
    formats show; `shows_use`: a terminal with colours has bars of the use of these."""

    command: str
    subject: str
    verdict: str
    tone: Tone
    details: Sequence[str] = ()
    context: str = ""
    node: str = ""
    notes: Sequence[Line] = ()
    figures: Sequence[Figure] = ()
    sections: Sequence[Section] = ()
    rows: Sequence[Sequence[str]] | Callable[[], Iterable[Sequence[str]]] = ()
    commands: Sequence[str] = ()
    omitted: Sequence[str] = ()
    shows_use: Literal["", "every node", "changed nodes"] = ""
    nodes: Callable[[], dict[str, Any] | None] = field(default=_no_nodes)

    @property
    def first_line(self) -> str:
        """`4 workloads: 1 fails, 2 errors (6 nodes)`."""
        context = f" ({self.context})" if self.context else ""
        return f"{self.subject}: {', '.join((self.verdict, *self.details))}{context}"


def counting(number: int, noun: str, rest: str = "", tone: Tone = "plain") -> Figure:
    """The figure of a number of things: `1` with the label `node to add`, or `2` with `nodes to add`."""
    return Figure(f"{plural(number, noun)} {rest}".rstrip(), f"{number:,}", tone)


# Reasons of nodes of other pools, which reject every pod. The other reasons stand before them.
_OF_OTHERS = ("tainted", "cordoned", "excluded")


def short_reasons(reasons: Iterable[tuple[int, str]]) -> str:
    """`5 Insufficient cpu, 3 tainted, 1 cordoned` of the reasons of kube-scheduler with the number of their nodes.

    Each is about nodes, so `node(s)` goes. A taint is named if all tainted nodes have this one. Taints, cordons and the
    nodes that PreFilter excludes stand last, because a person can seldom change them."""
    counts: Counter[str] = Counter()
    taints: Counter[str] = Counter()
    for nodes, reason in reasons:
        short = _short_reason(reason)
        (taints if short.startswith("tainted") else counts)[short] += nodes
    if taints:
        counts[next(iter(taints)) if len(taints) == 1 else "tainted"] = taints.total()
    order = sorted(counts, key=lambda each: (each.startswith(_OF_OTHERS), -counts[each]))
    return ", ".join(f"{counts[each]} {each}" for each in order)


def _short_reason(reason: str) -> str:
    text = reason.removeprefix("node(s) ")
    if text.startswith(("had untolerated taint", "had taint")):
        _, found, taint = text.partition("{")
        return f"tainted {{{taint.partition('}')[0]}}}" if found else "tainted"
    if text == "were unschedulable":
        return "cordoned"
    _, found, plugins = text.partition("didn't satisfy plugin(s) [")
    return f"excluded by {plugins.rstrip(']')}" if found else text


def pod_and_node(pod: str, node: str) -> tuple[str, str]:
    """A row of -o name."""
    return f"pod/{pod}", f"node/{node}" if node else "-"
