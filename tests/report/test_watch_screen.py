"""The screen of `ksched watch` and its lines, for clusters that are built by hand."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from msgspec.structs import replace

from ksched_cli.plan.watch import Answer, Kind, Moment, News
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.sinks import terminal
from ksched_cli.report.sinks.screen import listed
from ksched_cli.report.view.model import Line, Lines, Section, Table, View, columns
from ksched_cli.report.view.watch import (
    MARK,
    WatchedCluster,
    WatchedPod,
    WatchScreen,
    sentence,
    time_of_day,
    view,
    write_entry,
)
from ksched_cli.simulator import Simulator
from tests.builders import make_node, make_pod

NOW = 1_000_000_000.0


def printed(screen: WatchScreen) -> list[str]:
    out = io.StringIO()
    terminal.write_view(view(screen), out, RenderOptions("wide", width=110))
    return [line.rstrip() for line in out.getvalue().replace("\x1b", "^").splitlines()]


def pod(name: str, result: str, node: str = "", why: str = "", created: float = 0.0) -> WatchedPod:
    return WatchedPod(name, result, node, why, why, created)


PENDING = [
    pod("shop/fits", "scheduled", "n-1", "more free than n-2", NOW - 5),
    pod("shop/new", "scheduled", "n-1", created=NOW),
    pod("shop/young", "unschedulable", why="2 nodes lack cpu", created=NOW - 60),
    pod("shop/file", "unschedulable", why="2 nodes lack cpu"),
    pod("shop/old", "error", why="broken", created=NOW - 600),
    pod("shop/held", "held back", why="waiting for a gate", created=NOW - 7200),
]
LIST = [
    "   POD         RESULT         AGE  WHY",
    "   shop/old    error          10m  broken",
    "   shop/young  unschedulable  60s  2 nodes lack cpu",
    "   shop/file   unschedulable       2 nodes lack cpu",
    ">  shop/held   held back      2h   waiting for a gate",
    "   shop/fits   scheduled      5s   n-1: more free than n-2",
    "   shop/new    scheduled      0s   n-1",
]


def test_a_screen_with_everything() -> None:
    fullest = [("n-1", [(0.4, 0.6), (0.5, 0.5), (0.0, 0.125)]), ("n-2", [(0.1, 0.1)] * 3)]
    cluster = WatchedCluster(PENDING, fullest, nodes=2)
    news = [(NOW - 61, News(Kind.FITS, "shop/past", "n-1"))]
    news += [(NOW - 60 + number, News(Kind.FITS, f"shop/p{number}", "n-1")) for number in range(9)]
    screen = WatchScreen(
        cluster, NOW, news, chosen="shop/held", lost="it is gone; the data is 20s old", warnings=["a warning"]
    )
    assert printed(screen) == [
        f"6 pending pods: 1 error, 2 unschedulable, 1 held back, 2 scheduled (2 nodes, {time_of_day(NOW)})",
        "the API server does not answer: it is gone; the data is 20s old",
        "a warning",
        "",
        *LIST,
        "",
        "shop/held: waiting for a gate",
        "",
        "The last minute (9 changes)",
        "TIME      NEWS",
        *(f"{time_of_day(NOW - 60 + number)}  shop/p{number}  fits on n-1" for number in range(8, 0, -1)),
        "",
        "Fullest nodes, now -> with the pending pods",
        "NODE  CPU           MEMORY  PODS",
        "n-1   40 % -> 60 %  50 %    0 % -> 12 %",
        "n-2   10 %          10 %    10 %",
    ]
    assert view(screen).tone == "warn"


@pytest.mark.parametrize(
    ("screen", "tone", "lines"),
    [
        pytest.param(WatchScreen(words="web"), "good", ["pending pods: none (0 nodes, {now})", "", "no pod is pending"], id="an empty cluster"),
        pytest.param(
            WatchScreen(WatchedCluster(PENDING[:2], nodes=1), words="web"),
            "good",
            ["2 pending pods: 2 scheduled (1 node, {now})", "", 'no pending pod has "web"'],
            id="a filter without a pod",
        ),
        pytest.param(
            WatchScreen(WatchedCluster([pod("shop/lone", "not ours")], nodes=1), chosen="shop/lone"),
            "warn",
            ["1 pending pod: 1 not ours (1 node, {now})", "", "   POD        RESULT", ">  shop/lone  not ours"],
            id="a chosen pod without a message",
        ),
        pytest.param(WatchScreen(asked="shop/a"), "plain", ["shop/a: looking for the cause ..."], id="a question"),
        pytest.param(
            WatchScreen(asked="shop/a", answer=Answer("shop/a", mistake="there is no pod shop/a")),
            "bad",
            ["shop/a: there is no pod shop/a"],
            id="an answer that is a mistake",
        ),
    ],
)  # fmt: skip
def test_screens(screen: WatchScreen, tone: str, lines: list[str]) -> None:
    screen = replace(screen, now=NOW)
    assert printed(screen) == [line.format(now=time_of_day(NOW)) for line in lines]
    assert view(screen).tone == tone


def test_an_explanation_on_the_screen() -> None:
    cluster = [make_node("n-1").allocatable(cpu="1", pods="9").doc(), make_pod("big").requests(cpu="2").doc()]
    found = Simulator.load(cluster).explain("default/big")
    screen = WatchScreen(asked="default/big", answer=Answer("default/big", found))
    assert printed(screen)[0].startswith("default/big: unschedulable")


@pytest.mark.parametrize(
    ("kind", "tone"),
    [
        (Kind.UNSCHEDULABLE, "bad"), (Kind.ERROR, "bad"), (Kind.LOST, "bad"), (Kind.PREEMPTS, "warn"),
        (Kind.HELD_BACK, "warn"), (Kind.BOUND, "good"), (Kind.FITS, "good"), (Kind.GONE, "plain"),
    ],
)  # fmt: skip
def test_the_tones_of_news(kind: Kind, tone: str) -> None:
    (section,) = [each for each in view(WatchScreen(news=[(0.0, News(kind, "a"))])).sections if each.name == "news"]
    table: Any = section.content
    assert table.row_tones == {0: tone}


@pytest.mark.parametrize(
    ("news", "text"),
    [
        (News(Kind.FITS, "shop/a", "n-1", "1 of 2 nodes fit"), "shop/a  fits on n-1  1 of 2 nodes fit"),
        (News(Kind.BOUND, "shop/a", "n-1"), "shop/a  bound to n-1"),
        (News(Kind.UNSCHEDULABLE, "shop/a", "n-1", "too big"), "shop/a  unschedulable but nominated for n-1  too big"),
        (News(Kind.GONE, "shop/a"), "shop/a  gone"),
        (News(Kind.LOST, why="refused"), "the API server does not answer, trying again: refused"),
        (News(Kind.BACK), "the API server answers again"),
    ],
    ids=lambda value: value.kind.value if isinstance(value, News) else "",
)  # fmt: skip
def test_a_line_of_news(news: News, text: str) -> None:
    assert sentence(news) == text


def test_news_as_json() -> None:
    out = io.StringIO()
    write_entry(News(Kind.FITS, "shop/a", "n-1"), out, RenderOptions("json"))
    entry = json.loads(out.getvalue())
    assert entry.pop("time")
    assert entry == {"kind": "fits", "pod": "shop/a", "node": "n-1"}


def test_the_fullest_nodes() -> None:
    """The six with the highest share of any resource; of nodes that are as full, the first by name."""
    nodes = [make_node(f"n-{number}").allocatable(cpu="10", memory="10Gi", pods="10").doc() for number in range(8)]
    nodes.append(make_node("none").allocatable(pods="0").doc())
    running = [
        make_pod("cpu").requests(cpu="9").on("n-7").doc(),
        make_pod("memory").requests(cpu="1", memory="5Gi").on("n-6").doc(),
        make_pod("small").requests(cpu="2", memory="2Gi").on("n-5").doc(),
        make_pod("half").requests(cpu="5").on("n-4").doc(),
    ]
    new = make_pod("new").requests(cpu="4", memory="1Gi").spec(nodeSelector={"kubernetes.io/hostname": "n-5"}).doc()
    nodes[5]["metadata"]["labels"] = {"kubernetes.io/hostname": "n-5", "topology.kubernetes.io/zone": "z"}
    screen = WatchScreen().after(Moment(Simulator.load([*nodes, *running, new]).simulate(), {}, ()), NOW)
    assert screen.cluster.fullest == [
        ("n-7", ((0.9, 0.9), (0.0, 0.0), (0.1, 0.1))),
        ("n-5", ((0.2, 0.6), (0.2, 0.3), (0.1, 0.2))),
        ("n-4", ((0.5, 0.5), (0.0, 0.0), (0.1, 0.1))),
        ("n-6", ((0.1, 0.1), (0.5, 0.5), (0.1, 0.1))),
        ("n-0", ((0.0, 0.0),) * 3),
        ("n-1", ((0.0, 0.0),) * 3),
    ]
    assert screen.cluster.zones["n-5"] == "z"


@pytest.mark.parametrize(
    ("pods", "chosen", "sizes", "height", "lines"),
    [
        pytest.param(3, 1, (2,), 9, "head:all _ POD p0 >p1 p2 _ a0 a1", id="room for all"),
        pytest.param(3, 1, (2,), 8, "head:all _ POD p0 >p1 p2 _ a0", id="a section that is cut"),
        pytest.param(3, 1, (2,), 7, "head:all _ POD p0 >p1 p2", id="no empty line without a line below"),
        pytest.param(10, 4, (3,), 17, "head:all _ POD p0 p1 p2 p3 >p4 p5 p6 p7 p8 p9 _ a0 a1 a2", id="a list that just fits"),
        pytest.param(11, 4, (3,), 17, "head:all _ POD p0 p1 p2 p3 >p4 p5 p6 p7 p8 and2more _ a0 a1 a2", id="a row too many"),
        pytest.param(20, 0, (3,), 12, "head:all _ POD >p0 p1 p2 p3 and16more _ a0 a1 a2", id="the first is chosen"),
        pytest.param(20, 10, (3,), 12, "head:all _ POD p8 p9 >p10 p11 and16more _ a0 a1 a2", id="one between is chosen"),
        pytest.param(20, 19, (3,), 12, "head:all _ POD p16 p17 p18 >p19 and16more _ a0 a1 a2", id="the last is chosen"),
        pytest.param(20, -1, (3,), 12, "head:all _ POD p0 p1 p2 p3 and16more _ a0 a1 a2", id="none is chosen"),
        pytest.param(20, 10, (1,), 8, "head:all _ POD p9 >p10 p11 and17more", id="the list has six lines"),
        pytest.param(
            20, 10, (2, 9, 2), 24,
            "head:all _ POD p6 p7 p8 p9 >p10 p11 p12 p13 and12more _ a0 a1 _ b0 b1 b2 b3 b4 _ c0 c1",
            id="half for the list, and short sections whole",
        ),
        pytest.param(
            20, 10, (9, 2, 9), 24,
            "head:all _ POD p6 p7 p8 p9 >p10 p11 p12 p13 and12more _ a0 a1 a2 _ b0 b1 _ c0 c1 c2 c3",
            id="long sections share what is left",
        ),
        pytest.param(20, 10, (1, 1, 9), 11, "head:all _ POD p9 >p10 p11 and17more _ b0 _ c0", id="a section without room"),
        pytest.param(4, 0, (9, 9, 9), 16, "head:all _ POD >p0 p1 p2 p3 _ a0 a1 _ b0 b1 _ c0 c1", id="a short list"),
    ],
)  # fmt: skip
def test_the_lines_of_a_list(pods: int, chosen: int, sizes: tuple[int, ...], height: int, lines: str) -> None:
    """A list of pods above sections of so many sentences, in so many lines; `_` is an empty line."""
    rows = [(MARK if number == chosen else " ", f"p{number}") for number in range(pods)]
    sections = [Section("pods", "Pods", Table(columns(": text; Pod"), rows, few=pods))]
    for name, size in zip("abc", sizes, strict=False):
        sections.append(Section(name, name, Lines([Line(f"{name}{number}") for number in range(size)])))
    found = listed(View("watch", "head", "all", "good", sections=sections), MARK, 40, height, RenderOptions())
    assert ["".join(line.plain.split()) or "_" for line in found] == lines.split()
