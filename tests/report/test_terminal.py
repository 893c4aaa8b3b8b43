"""Tables on a terminal: names and zones of nodes, limits without -o wide, and places of sections."""

from __future__ import annotations

import io
from typing import Any

import pytest

from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.sinks.terminal import cell_text, fold_command, write_view
from ksched_cli.report.view.model import Heading, Line, Lines, NodeTitle, Section, Step, Steps, Table, View, columns
from ksched_cli.report.visible import ShownNodes

LONG = ".eu-west-1.compute.internal"
ZONES = {f"n-1{LONG}": "a", f"n-2{LONG}": "b", f"n-3{LONG}": "a", "other": ""}


def written(view: View, form: str = "table", nodes: ShownNodes | None = None, width: int = 100) -> list[str]:
    out = io.StringIO()
    write_view(view, out, RenderOptions(form, width=width, nodes=nodes or ShownNodes.shortened(ZONES)))
    return out.getvalue().splitlines()


def drained(**more: Any) -> View:
    first, second, third, other = ZONES
    rows = [
        ["a", first, 1200],
        ["b", [second], 1],
        ["c", [first, third], 2],
        ["d", [first, second, third], 3],
        ["e", other, 0],
        ["f", None, 0],
    ]
    table = Table(columns("Pod; Node: node; Pods: number"), rows, most=5, rows_are="pod")
    steps = Steps([Step(NodeTitle(first), [Line(f"to {second}")], "1 pod", "drained"), Step(NodeTitle(other))], most=1)
    sections = [Section("pods", "Pods", table), Section("rounds", "Rounds", steps, titled=True)]
    return View(
        "drain", NodeTitle(second), "safe", "good", [f"as {third}"], "4 nodes", first, sections=sections, **more
    )


def test_names_of_nodes_are_short_and_have_their_zones() -> None:
    assert written(drained(omitted=["events", "plugins"])) == [
        "n-2 (b): safe (a), as n-3 (4 nodes)",
        "",
        "POD  NODE           ZONE      PODS",
        "a    n-1            a        1,200",
        "b    n-2            b            1",
        "c    n-1, n-3       a            2",
        "d    n-1, n-2, n-3  2 zones      3",
        "e    other                       0",
        "and 1 more pod (-o wide shows all)",
        "",
        "Rounds",
        "n-1 (a): drained, 1 pod",
        "  to n-2",
        "and 1 more step (-o wide shows all)",
        "not taken into account: events; plugins",
        "node names without .eu-west-1.compute.internal (-o wide shows them in full)",
    ]


@pytest.mark.parametrize(
    ("place", "table", "wide"),
    [
        ("everywhere", True, True), ("page", False, False), ("terminal", True, True), ("wide", False, True),
        ("narrow", True, False), ("screen", True, True), ("deep", False, True), ("paper", False, False),
    ],
)  # fmt: skip
def test_where_a_section_and_a_note_are_shown(place: Any, table: bool, wide: bool) -> None:
    sections = [Section("one", "", Lines([Line("a section")]), place=place)]
    view = View("drain", "n", "safe", "good", notes=[Line("a note", place=place)], sections=sections)
    shown = ["n: safe", "a note", "", "a section"]
    assert written(view) == (shown if table else shown[:1])
    assert written(view, "wide") == (shown if wide else shown[:1])


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (None, "text", ""), (0.125, "share", "12.5 %"), (1, "share", "100.0 %"), (1200, "number", "1,200"),
        (1.5, "number", "1.5"), (9.87654, "number", "9.877"), (10.0, "number", "10"), (1234.567, "number", "1,234.57"),
        (-12.5, "number", "-12.5"), ("a", "text", "a"), (["a", "b"], "list", "a, b"),
    ],
)  # fmt: skip
def test_values_as_text(value: Any, kind: Any, text: str) -> None:
    assert cell_text(value, Heading("x", kind)) == text


@pytest.mark.parametrize(
    ("line", "width", "lines"),
    [
        ("kubectl cordon n-1", 18, ["kubectl cordon n-1"]),
        ("kubectl cordon n-1", 17, ["kubectl cordon \\", "  n-1"]),
        ("not a command at all", 5, ["not a command at all"]),
        ("kubectl label n-1 'a b' \"c d\"", 22, ["kubectl label n-1 \\", "  'a b' \"c d\""]),
        ("kubectl apply -f 'my \"long file.yaml'", 20, ["kubectl apply -f \\", "  'my \"long file.yaml'"]),
        ("echo '{\"a b\": [1, 2]}' | kubectl", 17, ['echo \'{"a b": [1,', "  2]}' | kubectl"]),
        ("kubectl patch n -p '[1, 2]'", 22, ["kubectl patch n -p \\", "  '[1, 2]'"]),
    ],
)
def test_a_command_is_folded_as_a_shell_reads_it(line: str, width: int, lines: list[str]) -> None:
    assert fold_command(line, width).split("\n") == lines


def test_wide_shows_every_row_and_step() -> None:
    lines = written(drained(), "wide", ShownNodes(ZONES))
    assert [line.split()[0] for line in lines[3:9]] == ["a", "b", "c", "d", "e", "f"]
    assert lines[-1] == "other"
    assert not [line for line in lines if " more " in line]


@pytest.mark.parametrize(
    ("heads", "row", "table", "wide"),
    [
        pytest.param(
            "Pod; Owner: optional; Why: flows",
            ["a", "Deployment/web", "one two three four five six seven"],
            ["POD  WHY", "a    one two three four five six seven"],
            ["POD  OWNER           WHY", "a    Deployment/web  one two three four", " " * 21 + "five six seven"],
            id="a column",
        ),
        pytest.param(
            "Pod; Node: node optional; Why: flows",
            ["a", "n", "one two three four five six seven"],
            ["POD  NODE  WHY", "a    n     one two three four five six", "           seven"],
            ["POD  NODE  WHY", "a    n     one two three four five six", "           seven"],
            id="of a node only its zone",
        ),
        pytest.param(
            "Pod; Node: node; Why: flows",
            ["a", "n", "one two three four five six seven"],
            ["POD  NODE  WHY", "a    n     one two three four five six", "           seven"],
            ["POD  NODE  WHY", "a    n     one two three four five six", "           seven"],
            id="the zone of a node behind other columns",
        ),
        pytest.param(
            "Node: node; Why: flows",
            ["n", "one two three four five six"],
            ["NODE  ZONE              WHY", "n     a-long-zone-name  one two three", " " * 24 + "four five six"],
            ["NODE  ZONE              WHY", "n     a-long-zone-name  one two three", " " * 24 + "four five six"],
            id="not the zone of the node that a row is about",
        ),
    ],
)
def test_optional_columns_give_way(heads: str, row: list[str], table: list[str], wide: list[str]) -> None:
    view = View("drain", "", "", "plain", sections=[Section("pods", "", Table(columns(heads), [row]), joined=True)])
    nodes = ShownNodes({"n": "a-long-zone-name"})
    assert written(view, "table", nodes, 40) == table
    assert written(view, "wide", nodes, 40) == wide


def test_commands_are_folded_where_they_do_not_fit_beside_the_number_of_a_step() -> None:
    command = "kubectl uncordon " + "n" * 40
    view = View("fix", "", "", "plain", sections=[Section("do", "", Lines([Line(command, copied=True)]), joined=True)])
    assert written(view, width=len(command) + 6) == [command]
    assert written(view, width=len(command) + 5) == ["kubectl uncordon \\", "  " + "n" * 40]


@pytest.mark.parametrize(
    ("title", "kind", "shown"),
    [
        ("twelve-chars", "number", ["TWELVE-CHARS"]),
        ("thirteen-char", "number", ["THIRTEEN-", "     CHAR"]),
        ("example.com/gpu", "number", ["EXAMPLE.COM/", "         GPU"]),
        ("thirteen-char", "text", ["THIRTEEN-CHAR"]),
    ],
)
def test_a_long_title_of_numbers_is_broken(title: str, kind: Any, shown: list[str]) -> None:
    table = Table([Heading("Node"), Heading(title, kind)], [["n", 1]])
    view = View("size", "", "", "plain", sections=[Section("x", "", table, joined=True)])
    assert [line[6:] for line in written(view)[: len(shown)]] == shown


@pytest.mark.parametrize(
    ("nodes", "shown"),
    [
        (["n" * 30], "n" * 30),
        (["n-one", "n-two", "n-tri1"], "n-one, n-two, n-tri1"),
        (["n-one", "n-two", "n-tri12"], "3 nodes"),
        (["n" * 20, "m"], "2 nodes"),
    ],
)
def test_several_nodes_are_named_in_twenty_letters(nodes: list[str], shown: str) -> None:
    table = Table(columns("Pod; Node: node"), [["a", nodes]])
    view = View("drain", "", "", "plain", sections=[Section("x", "", table, joined=True)])
    assert written(view)[1] == f"a    {shown}"


def test_numbers_of_steps_are_below_each_other() -> None:
    steps = Steps([Step(f"step {number}", [Line("so")]) for number in range(1, 11)], numbered=True)
    lines = written(View("explain", "", "", "plain", sections=[Section("x", "", steps, joined=True)]))
    assert [*lines[:2], *lines[-2:]] == ["  1  step 1", "     so", " 10  step 10", "     so"]


@pytest.mark.parametrize(
    ("letters", "lines"),
    [
        pytest.param(18, ["n-1", "  one {word}"], id="it just fits"),
        pytest.param(19, ["n-1", "  one", "    {word}"], id="the rest is indented further"),
    ],
)
def test_a_long_line_below_a_step(letters: int, lines: list[str]) -> None:
    steps = Steps([Step("n-1", [Line(f"one {'w' * letters}")])])
    view = View("drain", "", "", "plain", sections=[Section("x", "", steps, joined=True)])
    assert written(view, width=24) == [line.format(word="w" * letters) for line in lines]
