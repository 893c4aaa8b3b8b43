"""Stored documents with rare cases, and what a terminal, Markdown, a page and a picture show of each."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec import structs, to_builtins

from ksched_cli.controlplane.draws import Draw
from ksched_cli.report.registry import RenderOptions, stored_view
from ksched_cli.report.sinks import markdown, terminal
from ksched_cli.report.sinks.html import Provenance, page_html, provenance
from ksched_cli.report.sinks.page import page_of
from ksched_cli.report.sinks.svg import chart_data, chart_svg, write_svg
from ksched_cli.report.view import simulate
from ksched_cli.report.view.documents import OrdersPart, decoded
from ksched_cli.report.view.ends import doubt, draws_text, final_pods_section
from ksched_cli.report.view.model import Chart, Section, Series, Step, Steps, Table, View, columns
from ksched_cli.report.view.shared import zone_bars
from ksched_cli.report.view.stream import SimulationDocument
from tests.cli.transcripts import same_as_golden

DOCUMENTS = sorted((Path(__file__).parent / "documents").glob("*.yaml"))


@pytest.mark.parametrize("path", [pytest.param(each, id=each.stem) for each in DOCUMENTS])
def test_a_document_is_shown(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    view = stored_view({"apiVersion": "ksched/v1", **yaml.safe_load(path.read_text())})
    page = to_builtins(page_of(view), enc_hook=str)
    page["sections"] = [{key: value for key, value in each.items() if value} for each in page["sections"]]
    parts = {
        "wide": written(terminal.write_view, view, RenderOptions("wide", width=100)),
        "name": "".join(f"{' '.join(row)}\n" for row in (view.rows() if callable(view.rows) else view.rows)),
        "commands": "".join(f"{line}\n" for line in view.commands),
        "markdown": written(markdown.write_view, view),
        "page": yaml.safe_dump(page, default_flow_style=None, width=118, sort_keys=False, allow_unicode=True),
        "svg": written(write_svg, view),
    }
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = written(terminal.write_view, view, RenderOptions("table", width=100))
    parts = {"table in colours": coloured.replace("\x1b[", "["), **parts}
    shown = "".join(f"--- {form}\n{text}" for form, text in parts.items() if text)
    same_as_golden(f"view-{path.stem}", shown, columns=None)


def written(write: Any, view: View, *options: RenderOptions) -> str:
    out = io.StringIO()
    write(view, out, *options)
    return out.getvalue()


def test_texts_of_a_page_are_no_markup() -> None:
    checked = {"pod": "shop/<i>", "agreement": "rejected", "actual": "<b>", "answer": "a & b"}
    document = {
        "apiVersion": "ksched/v1",
        "kind": "Verification",
        "compared": 1,
        "agreeing": 0,
        "order": {},
        "placements": [checked],
        "pending": [],
        "leftOut": {},
        "coverage": {"notRead": {"<u>": 1}},
        "run": {"command": "ksched verify --from '<s>'"},
    }
    page = page_html(document)
    assert not [tag for tag in ("<i>", "<b>", "<u>", "<s>") if tag in page]
    for text in ("shop/&lt;i&gt;", "is on &lt;b&gt;; ksched: a &amp; b", "&lt;u&gt; (1)", "&#39;&lt;s&gt;&#39;"):
        assert text in page


def test_the_end_of_a_page() -> None:
    found = provenance(
        {
            "run": {"command": "ksched diff", "version": "1", "time": "now"},
            "coverage": {
                "before": {"kubeVersion": "1.35", "notRead": {"Secret": 1200, "Role": [1, "x"]}},
                "after": {"own": ["a", "b"], "pluginsNotModelled": ["Own"]},
            },
            "stats": {"nodes": 1200, "pods": 3, "loadSeconds": 0.126, "scheduleSeconds": 2, "peakMiB": 1234.5},
            "warnings": ["w"],
        }
    )
    assert found == Provenance(
        "ksched diff",
        "1",
        "now",
        [
            ("Before: Answers as Kubernetes", "1.35"),
            ("Before: Kinds that were not read", "Secret (1,200), Role (1, x)"),
            ("After: own", "a, b"),
            ("After: Plugins that are not modelled", "Own"),
        ],
        [
            ("Nodes", "1,200"),
            ("Pods", "3"),
            ("Loading", "0.13 s"),
            ("Scheduling", "2.00 s"),
            ("Memory", "1,234 MiB"),
        ],
        ["w"],
    )
    assert provenance({"coverage": {"kubeVersion": "1.35"}, "stats": {"pods": 0}}) == Provenance(
        "", "", "", [("Answers as Kubernetes", "1.35")], [("Pods", "0")], []
    )


WEB = {"pod": "shop/web-2", "workload": "Deployment/shop/web", "attempts": 1}
CHECK_OF_ORDERS = next(path for path in DOCUMENTS if path.stem == "check-orders")


@pytest.mark.parametrize(
    ("orders", "verdict"),
    [
        pytest.param([(3, 3), (3, 3)], "all fit", id="in every order"),
        pytest.param([(3, 3), (1, 3)], "all fit in some orders only", id="one in one order"),
        pytest.param([None, (2, 3)], "all fit in some orders only", id="one has no order"),
        pytest.param([(0, 3), None], "1 fits, errors of 1 ignored", id="in no order"),
    ],
)
def test_workloads_that_fit_in_some_orders(orders: list[tuple[int, int] | None], verdict: str) -> None:
    document = {"apiVersion": "ksched/v1", **yaml.safe_load(CHECK_OF_ORDERS.read_text())}
    for workload, found in zip(document["workloads"], orders, strict=True):
        workload["orders"] = found and {"finished": found[0], "tried": found[1]}
        workload["result"] = "ignored" if found and not found[0] else "fits"
    assert stored_view(document).verdict == verdict


@pytest.mark.parametrize(
    ("change", "verdict", "tone"),
    [
        pytest.param({}, "1 scheduled", "good", id="all have a node"),
        pytest.param({"refused": [{"pod": "shop/r", "plugin": "x", "message": "m"}]}, "1 refused", "bad", id="refused"),
        pytest.param({"final": [{**WEB, "state": "unschedulable"}]}, "1 unschedulable", "bad", id="no node"),
        pytest.param({"final": [{**WEB, "state": "gone"}]}, "1 deleted", "warn", id="deleted"),
        pytest.param(
            {"settled": {"ending": "max-time", "seconds": 9, "cycles": 1}}, "1 scheduled", "bad", id="no rest"
        ),
    ],
)
def test_the_tone_of_a_run_to_rest(change: dict[str, Any], verdict: str, tone: str) -> None:
    path = next(each for each in DOCUMENTS if each.stem == "settle-ends")
    shown = stored_view({"apiVersion": "ksched/v1", **yaml.safe_load(path.read_text()), **change})
    assert (shown.verdict, shown.tone) == (verdict, tone)


@pytest.mark.parametrize(
    ("checks", "settled", "verdict", "tone", "details"),
    [
        pytest.param(0, None, "done", "good", ["1 step"], id="expects nothing"),
        pytest.param(1, None, "1 expectation holds", "good", ["1 step"], id="one"),
        pytest.param(2, None, "all 2 expectations hold", "good", ["1 step"], id="two"),
        pytest.param(2, "settled", "all 2 expectations hold", "good", ["1 step"], id="at rest"),
        pytest.param(
            2,
            "max-time",
            "all 2 expectations hold",
            "bad",
            ["1 step", "not settled: stopped after 31s (--max-time), 12 cycles"],
            id="not at rest",
        ),
    ],
)
def test_the_verdict_on_a_scenario_that_holds(
    checks: int, settled: str | None, verdict: str, tone: str, details: list[str]
) -> None:
    path = next(each for each in DOCUMENTS if each.stem == "scenario-held")
    found = {"apiVersion": "ksched/v1", **yaml.safe_load(path.read_text())}
    found["steps"][0]["expectations"] *= checks
    found["settled"] = settled and {**found["settled"], "ending": settled}
    shown = stored_view(found)
    assert (shown.verdict, shown.tone, shown.details) == (verdict, tone, details)


@pytest.mark.parametrize(
    ("finished", "workloads", "detail", "text"),
    [
        pytest.param(None, None, [], "once (node of a): other orders may end otherwise", id="not tried"),
        pytest.param(4, {}, [], "once (node of a): 4 orders were tried and end alike", id="alike"),
        pytest.param(0, {"w": 0}, [], "every pod has a node in 0 of 4 orders, w loses other pods", id="in none"),
        pytest.param(1, {"w": 1}, ["fits in 1 of 4 orders"], "a node in 1 of 4 orders, w in 1", id="in one"),
        pytest.param(3, {"w": 3}, ["fits in 3 of 4 orders"], "a node in 3 of 4 orders, w in 3", id="in all but one"),
        pytest.param(4, {"w": 4}, [], "a node in 4 of 4 orders, w loses other pods", id="in each other pods"),
    ],
)
def test_orders_of_a_run_that_ends_in_several_ways(
    finished: int | None, workloads: dict[str, int] | None, detail: list[str], text: str
) -> None:
    orders = OrdersPart(tried=4, finished=finished, workloads=workloads)
    assert doubt(orders) == detail
    assert draws_text([Draw("node", "a", ("n-1", "n-2"), ("n-1",))], orders).endswith(text)


def test_a_terminal_shows_short_reasons_of_the_pods_without_a_node() -> None:
    reasons = {"a": "2 nodes lack cpu", "c": "not its reason"}
    states = {"a": "unschedulable", "b": "pending", "c": "gone"}
    final = [{"pod": pod, "workload": pod, "state": state, "message": "long"} for pod, state in states.items()]
    table = final_pods_section(final, reasons=reasons).content
    assert isinstance(table, Table)
    assert [row[-1] for row in table.rows] == ["2 nodes lack cpu", "long", "long"]
    assert table.whole is not None
    assert [row[-1] for row in table.whole] == ["long"] * 3


@pytest.mark.parametrize(("steps", "intro"), [(60, ""), (61, "The first 60 of 61 steps; ")], ids=str)
def test_a_page_has_sixty_steps_of_rollouts(steps: int, intro: str) -> None:
    document = {"apiVersion": "ksched/v1", **yaml.safe_load(CHECK_OF_ORDERS.read_text())}
    document["workloads"][1]["steps"] *= steps
    (shown,) = [each for each in stored_view(document).sections if each.name == "steps"]
    assert len(shown.content.steps) == 60
    assert shown.intro.startswith(intro)
    assert bool(shown.intro) is bool(intro)


USE = {"pods": 1, "requested": {"cpu": "1"}, "allocatable": {"cpu": "4"}}
NEW_NODE = {"nodePool": "p", "pods": [], "instanceTypes": [], "requirements": {}, "requests": {}}


def moved(number: int) -> dict[str, Any]:
    before, after = (
        {"pod": f"shop/p{number}", "state": "placed", "node": name} for name in (f"a{number}", f"b{number}")
    )
    return {"change": "moved", "workload": f"Pod/shop/p{number}", "before": before, "after": after}


@pytest.mark.parametrize(
    ("document", "key", "most", "entry", "more"),
    [
        ("explain", "rejectionGroups", 20, lambda n: {"nodes": [f"n{n}"], "rejections": [{"plugin": "F", "text": "t"}]}, "row"),
        ("explain", "preemptionStudy.candidates", 3, lambda n: {"node": f"n{n}", "victims": [], "pdbViolations": 0, "highestPriority": 0, "why": "x"}, "node"),
        ("explain", "autoscaling.newNodes", 20, lambda n: {**NEW_NODE, "name": f"n{n}", "cheapest": {"instanceType": "x", "price": 1.0}}, "node"),
        ("explain", "autoscaling.unplaced", 10, lambda n: {"pod": f"p{n}", "stage": "solve", "message": f"m{n}"}, "reason"),
        ("verify", "placements", 20, lambda n: {"pod": f"p{n}", "agreement": "rejected", "actual": "n", "answer": "x"}, "difference"),
        ("verify", "pending", 20, lambda n: {"pod": f"p{n}", "agreement": "fits", "actual": "x", "answer": "n"}, "difference"),
        ("size-unplaced", "unplaced", 20, lambda n: {"pod": f"p{n}", "message": f"m{n}"}, "pod"),
        ("consolidate", "kept", 8, lambda n: {"node": f"n{n}", "why": f"w{n}"}, "reason"),
        ("sweep-one", "pods", 20, lambda n: {"pod": f"p{n}", "variants": 1, "results": {"scheduled": {"variants": 1, "share": 1, "low": 0, "high": 1}}, "nodes": {}}, "pod"),
        ("diff", "pods", 40, moved, "pod"),
        ("diff", "nodes", 40, lambda n: {"node": f"n{n}", "before": USE, "after": None}, "node"),
        ("diff", "spread", 40, lambda n: {"workload": f"w{n}", "topologyKey": "z", "before": {"a": n}, "after": {"a": n + 1}}, "workload"),
    ],
)  # fmt: skip
def test_a_terminal_shows_the_first_of_a_long_list(document: str, key: str, most: int, entry: Any, more: str) -> None:
    path = next(each for each in DOCUMENTS if each.stem == document)
    *parents, last = key.split(".")
    for number in (most, most + 1):
        found = {"apiVersion": "ksched/v1", **yaml.safe_load(path.read_text())}
        parent = found
        for step in parents:
            parent = parent[step]
        parent[last] = [entry(at) for at in range(number)]
        shown = written(terminal.write_view, stored_view(found), RenderOptions("table", width=300))
        assert (f"and 1 more {more} (-o wide shows all)" in shown) is (number > most)


@pytest.mark.parametrize(("shapes", "pods", "left"), [(10, 10, False), (10, 11, True), (21, 0, True)])
def test_a_terminal_shows_twenty_shapes_and_pods_that_were_left_out(shapes: int, pods: int, left: bool) -> None:
    path = next(each for each in DOCUMENTS if each.stem == "size-unplaced")
    found = {"apiVersion": "ksched/v1", **yaml.safe_load(path.read_text()), "unplaced": []}
    found["unusableShapes"] = {f"shape-{number}": f"reason {number}" for number in range(shapes)}
    found["heldBack"] = {f"shop/p{number}": f"gate {number}" for number in range(pods)}
    shown = written(terminal.write_view, stored_view(found), RenderOptions("table", width=300))
    assert ("and 1 more row (-o wide shows all)" in shown) is left


@pytest.mark.parametrize(
    ("node", "ties", "tied", "text"),
    [
        ("n-2", ["n-2", "n-3"], 2, "tied with n-3"),
        ("n-2", ["n-1", "n-2", "n-3"], 3, "tied with n-1, n-3"),
        ("n-2", ["n-1", "n-2", "n-3"], 4, "tied with n-1, n-3 and 1 more"),
        ("n-9", ["n-1", "n-2", "n-3"], 5, "tied with n-1, n-2 and 2 more"),
    ],
    ids=["two nodes", "three nodes", "four nodes", "a node that is not among the first three"],
)
def test_two_other_nodes_with_the_same_score_are_named(node: str, ties: list[str], tied: int, text: str) -> None:
    path = next(each for each in DOCUMENTS if each.stem == "simulate")
    found = {"apiVersion": "ksched/v1", **yaml.safe_load(path.read_text())}
    found["pods"][0] |= {"node": node, "ties": ties, "tied": tied}
    shown = written(terminal.write_view, stored_view(found), RenderOptions("wide", width=300))
    assert re.findall("tied with .*", shown)[0].rstrip() == text


def test_a_page_counts_several_nodes_of_a_cell() -> None:
    rows = [["none", []], ["one", ["n-1"]], ["two", ["n-1", "n-2"]], ["name", "n-1"]]
    table = Table(columns("Pod; Node: node"), rows)
    page = page_of(View("a", "b", "c", "good", sections=[Section("pods", "Pods", table)]))
    assert page.sections[0].data["rows"] == [["none", ""], ["one", "n-1"], ["two", "2 nodes"], ["name", "n-1"]]


@pytest.mark.parametrize(("nodes", "heads"), [(40, 0), (41, 1)], ids=str)
def test_the_total_of_a_short_list_of_nodes_is_its_last_row(nodes: int, heads: int) -> None:
    path = next(each for each in DOCUMENTS if each.stem == "diff")
    found = {"apiVersion": "ksched/v1", **yaml.safe_load(path.read_text())}
    found["nodes"] = [{"node": f"n{number}", "before": USE, "after": None} for number in range(nodes)]
    shown = written(terminal.write_view, stored_view(found), RenderOptions("table", width=300))
    assert shown.count("ALL NODES") == heads
    assert shown.count("all nodes") == 1


@pytest.mark.parametrize(("zones", "shown"), [(0, False), (1, False), (2, True), (40, True), (41, False)], ids=str)
def test_a_page_has_bars_of_up_to_forty_zones(zones: int, shown: bool) -> None:
    amounts = {side: [1000] * zones for side in ("allocatable", "before", "after")}
    names = [f"z-{number}" for number in range(zones)]
    table = {"names": names, "zones": names, "resources": {"cpu": amounts, "memory": amounts}}
    assert (zone_bars(table).content is not None) is shown


def test_a_large_cluster_has_a_row_for_each_reason() -> None:
    """The reason of the nodes that take most replicas together is the first."""
    nodes = [
        {"node": f"n-{number:02}", "fits": {"web": 1}, "free": {}, "plugin": "Fit", "reasons": ["Insufficient cpu"], "runsOut": ["cpu"]}
        for number in range(40)
    ]  # fmt: skip
    nodes.append(
        {
            "node": "big",
            "fits": {"web": 3},
            "free": {},
            "plugin": "Fit",
            "reasons": ["Too many pods"],
            "runsOut": ["pods"],
        }
    )
    shapes = [{"name": "web", "manifest": "Deployment shop/web", "perSet": 1, "fits": 43, "requests": {}}]
    pending = {"placed": 0, "unplaced": 0, "heldBack": 0}
    found = {"shapes": shapes, "sets": 43, "end": {"by": "full"}, "nodes": nodes, "free": {}, "pending": pending}
    rows = []
    for found["nodes"] in (nodes, nodes[1:]):
        document = {"apiVersion": "ksched/v1", "kind": "Capacity", "capacities": [found], "coverage": {}}
        lines = written(terminal.write_view, stored_view(document), RenderOptions("table", width=200)).splitlines()
        rows.append([line.split("  ")[0] for line in lines[4:]])
    assert rows == [["40 nodes", "big"], ["big", "39 nodes"]]


@pytest.mark.parametrize(
    ("fullest", "worst", "begins"),
    [
        pytest.param((1, range(1, 101)), None, 0, id="one policy"),
        pytest.param(
            (1, range(1, 101)), (1, [each * 0.69 for each in range(1, 101)]), 50, id="10 % below the worst end"
        ),
        pytest.param((1, range(1, 101)), (1, [each * 0.7 for each in range(1, 101)]), 60, id="a round percent"),
        pytest.param(
            (1, range(1, 121)), (21, [each * 0.69 for each in range(21, 101)]), 50, id="curves of other lengths"
        ),
        pytest.param((70, range(70, 101)), (60, [60] * 41), 0, id="there already where both begin"),
        pytest.param((1, range(1, 11)), (20, range(20, 31)), 0, id="nowhere together"),
    ],
)
def test_where_a_chart_of_policies_begins(fullest: Any, worst: Any, begins: int) -> None:
    curves = []
    for policy, (first, mean) in {"full": fullest, **({"worst": worst} if worst else {})}.items():
        values = {"mean": list(mean), "least": list(mean), "most": list(mean), "failed": [0] * len(mean)}
        curves.append(
            {"policy": policy, "workload": "", "resource": "cpu", "runs": 1, "first": first, "unusable": {}, **values}
        )
    stats = {"executor": "x", "workers": 1, "resumed": 0, "seconds": 1, "cpuSeconds": {}, "peakMiB": 1}
    document = {"apiVersion": "ksched/v1", "kind": "CurveSweep", "resources": ["cpu"], "policies": ["full", "worst"]}
    document |= {"workloads": [], "seeds": [1], "runs": 2, "curves": curves, "stats": stats}
    (chart,) = [each.content for each in stored_view(document).sections if each.name == "chart-0"]
    assert chart.x_from == begins


@pytest.mark.parametrize(
    ("ends", "places"),
    [
        pytest.param([0, 100], [358, 18], id="far from each other"),
        pytest.param([0, 0, 0, 100], [328, 343, 358, 18], id="three at the bottom"),
        pytest.param([100, 100, 0], [18, 33, 358], id="two at the top"),
        pytest.param([50, 49, 0, 100], [188, 203, 358, 18], id="two that are near"),
    ],
)
def test_names_of_lines_are_apart(ends: list[float], places: list[float]) -> None:
    lines = [Series(f"s{number}", [(0, 0), (1, end)]) for number, end in enumerate(ends)]
    picture = chart_svg(chart_data(Chart(lines, "x", "y")))
    found = re.findall(r'name" x="[\d.]+" y="([\d.]+)" fill="[^"]+">s(\d)<', picture)
    assert {int(name): float(y) for y, name in found} == dict(enumerate(places))


@pytest.mark.parametrize(
    ("change", "shares"),
    [
        pytest.param({}, True, id="a copy"),
        pytest.param({"nominated_node": "n-1"}, False, id="it waits for victims"),
        pytest.param({"result": "error"}, False, id="another result"),
        pytest.param({"failures": ()}, False, id="no failures"),
        pytest.param({"place": "new-1"}, False, id="a new node takes it"),
    ],
)
def test_only_pods_that_fail_alike_share_the_texts_of_a_row(change: dict[str, Any], shares: bool) -> None:
    """The second of two pods whose cycle found the same failures: the texts of its row need not be made again."""
    path = next(each for each in DOCUMENTS if each.stem == "simulate")
    found: Any = decoded({"apiVersion": "ksched/v1", **yaml.safe_load(path.read_text())}, SimulationDocument)
    places = {"shop/big-2": change["place"]} if "place" in change else {}
    first = next(each for each in found.pods if each.pod == "shop/big-1")
    second = structs.replace(first, pod="shop/big-2", **({} if places else change))
    pods = (first, second, *found.pods[:3])
    (rows,) = [
        each.content
        for each in simulate.view(structs.replace(found, pods=pods, places=places)).sections
        if each.name == "rows"
    ]
    assert isinstance(rows, Table)
    assert (rows.rows[1][2:] == rows.rows[0][2:]) is shares


def test_pods_that_fail_alike_are_one_step() -> None:
    """Not those that wait for victims, nor those whose victims left in vain."""
    path = next(each for each in DOCUMENTS if each.stem == "simulate")
    found: Any = decoded({"apiVersion": "ksched/v1", **yaml.safe_load(path.read_text())}, SimulationDocument)
    tried = [each for each in found.pods if each.pod in ("shop/big-1", "shop/vain", "shop/gang-1")]
    pods = [structs.replace(each, pod=f"{each.pod}-{copy}") for each in tried for copy in ("a", "b", "c")]
    (steps,) = [
        each.content.steps for each in simulate.view(structs.replace(found, pods=pods)).sections if each.name == "each"
    ]
    assert {step.title: [line.text for line in step.lines] for step in steps} == {
        "shop/big-1-a": ["also shop/big-1-b, shop/big-1-c"],
        **{f"{name}-{copy}": [] for name in ("shop/vain", "shop/gang-1") for copy in ("a", "b", "c")},
    }


@pytest.mark.parametrize(("number", "folded"), [(10, False), (11, True)])
def test_a_page_folds_a_section_of_many_steps(number: int, folded: bool) -> None:
    steps = Steps([Step(f"step {each}") for each in range(number)])
    page = page_of(View("a", "b", "c", "good", sections=[Section("steps", "Steps", steps)]))
    assert page.sections[0].folded is folded


def test_the_use_of_all_nodes_follows_a_long_list_of_nodes() -> None:
    path = next(each for each in DOCUMENTS if each.stem == "diff")
    document = {"apiVersion": "ksched/v1", **yaml.safe_load(path.read_text())}
    document["nodes"] = [{"node": f"n{number}", "before": USE, "after": None} for number in range(41)]
    lines = written(terminal.write_view, stored_view(document), RenderOptions("table", width=100)).splitlines()
    at = lines.index("and 1 more node (-o wide shows all)")
    assert lines[at + 1].startswith("ALL NODES ")
