"""The page of a simulation: what it says, and how it reacts to mouse and keyboard."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.builders import make_node, make_pod, write_list
from tests.cli.transcripts import DEMO
from tests.report.html.opened import NARROW, OpenedPage
from tests.running import Ksched

Opener = Callable[..., OpenedPage]
Maker = Callable[..., Path]
RESULT, NODE = 2, 3


@pytest.fixture
def demo(page_file: Maker, opened: Opener) -> OpenedPage:
    return opened(page_file("simulate", "--from", DEMO))


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Forty nodes in two zones, half of them cordoned, and a hundred pods that fill the others."""
    nodes = [
        make_node(f"node-{number:02d}")
        .label("topology.kubernetes.io/zone", f"zone-{number % 2}")
        .allocatable(cpu="4", memory="8Gi", pods=20)
        .spec(unschedulable=number >= 20)
        .doc()
        for number in range(40)
    ]
    pods = [make_pod(f"web-{number:03d}").requests(cpu="1", memory="1Gi").doc() for number in range(100)]
    return write_list(tmp_path_factory.mktemp("fleet") / "fleet.json", *nodes, *pods)


def test_verdict_and_figures(demo: OpenedPage) -> None:
    assert demo.texts("h1") == ["6 pending pods: 2 unschedulable."]
    assert any("Insufficient cpu" in text for text in demo.texts(".note"))
    figures = dict(zip(demo.texts(".figure dt"), demo.texts(".figure dd"), strict=True))
    assert figures == {"pending pods": "6", "scheduled": "3", "no node": "2", "held back": "1", "nodes": "6"}
    assert demo.column("not-tried", 1) == ["shop/canary-1"]


def test_pods_are_those_of_the_document(demo: OpenedPage, ksched: Ksched) -> None:
    pods = json.loads(ksched("simulate", "--from", DEMO, "-o", "json", code=1).out)["pods"]
    expected = {each["pod"]: each.get("node", "") for each in pods}
    assert dict(zip(demo.column("pods", 1), demo.column("pods", NODE), strict=True)) == expected


def test_the_pod_that_fails_first_is_shown_with_its_failures_by_reason(demo: OpenedPage) -> None:
    detail = demo.page.locator(".detail")
    assert detail.locator("h3").inner_text().startswith("shop/report-1")
    assert "0/6 nodes are available" in detail.inner_text()
    groups = dict(zip(demo.texts(".detail .row .name"), demo.texts(".detail .row .value"), strict=True))
    assert groups["Insufficient cpu"] == "4 nodes"
    detail.locator("summary", has_text="NodeUnschedulable").click()
    # The names are added when the browser reports that the part is open.
    detail.locator(".names li").first.wait_for()
    assert demo.texts(".detail .names li") == ["old-1"]


def test_scores_are_stacked_bars_with_raw_and_normalised_values(demo: OpenedPage) -> None:
    demo.page.get_by_role("button", name="shop/web-1", exact=True).click()
    assert demo.texts(".detail .row .name")[-4:] == ["east-2", "west-1", "east-1", "west-2"]
    segment = demo.page.locator(".detail .row", has_text="east-2").locator(".segment").first
    segment.focus()
    assert demo.texts("#tip p") == ["TaintToleration on east-2", "weighted 300", "normalised 100", "raw 0"]
    demo.page.keyboard.press("Escape")
    assert demo.page.locator("#tip").is_hidden()
    segment.hover()
    assert demo.texts("#tip p")[1:] == ["weighted 300", "normalised 100", "raw 0"]
    demo.page.locator("summary", has_text="Scores as a table").click()
    assert "ImageLocality" in demo.page.locator(".detail table").inner_text()


def test_table_sorts_by_mouse_and_keyboard(demo: OpenedPage) -> None:
    head = demo.page.locator("#pods thead th").first
    head.locator("button").click()
    assert demo.column("pods", 1) == sorted(demo.column("pods", 1))
    assert head.get_attribute("aria-sort") == "ascending"
    head.locator("button").focus()
    demo.page.keyboard.press("Enter")
    assert demo.column("pods", 1) == sorted(demo.column("pods", 1), reverse=True)
    assert head.get_attribute("aria-sort") == "descending"


def test_table_filters_searches_and_turns_pages(fleet: str, page_file: Maker, opened: Opener) -> None:
    shown = opened(page_file("simulate", "--from", fleet))
    assert len(shown.column("pods", 1)) == 20
    assert shown.texts("#pods .pager span") == ["1 to 20 of 81"]
    shown.page.get_by_role("button", name="Last").press("Enter")
    assert shown.texts("#pods .pager span") == ["81 to 81 of 81"]
    assert shown.texts("#pods .info") == ["81 rows for 100"]
    shown.page.locator("#pods select").first.select_option(label="scheduled (80)")
    assert shown.texts("#pods .info") == ["80 of 81 rows"]
    assert set(shown.column("pods", RESULT)) == {"scheduled"}
    shown.page.locator("#pods input[type=search]").fill("WEB-01")
    assert shown.texts("#pods .info") == ["10 of 81 rows"]
    shown.page.locator("#pods input[type=search]").fill("nothing like it")
    assert shown.texts("#pods tbody tr") == ["No row matches."]


def test_copies_that_fail_alike_are_one_row_and_each_is_found(fleet: str, page_file: Maker, opened: Opener) -> None:
    page = page_file("simulate", "--from", fleet)
    shown = opened(page)
    assert shown.column("pods", 1)[0] == "20 pods of default/web-*"
    shown.page.locator("#pods input[type=search]").fill("web-095")
    assert shown.column("pods", 1) == ["20 pods of default/web-*"]
    shown.page.locator(".detail details.names summary").click()
    shown.page.locator(".detail details.names button", has_text="web-095").click()
    assert shown.texts(".detail h3")[0].startswith("default/web-095")
    again = opened(page, anchor="#pods=default/web-097")
    assert again.texts(".detail h3")[0].startswith("default/web-097")


def test_arrow_keys_choose_pods_and_the_address_names_the_chosen_one(
    demo: OpenedPage, page_file: Maker, opened: Opener
) -> None:
    demo.page.locator("#pods tbody button").first.focus()
    demo.page.keyboard.press("ArrowDown")
    assert demo.texts(".detail h3")[0].startswith("shop/db-0")
    assert demo.page.locator("tr.chosen button").get_attribute("aria-pressed") == "true"
    assert demo.texts("#nodes .choice") == ["Colours show the answer of each node to shop/db-0."]
    anchor = demo.page.url.partition("#")[2]
    again = opened(page_file("simulate", "--from", DEMO), anchor=f"#{anchor}")
    assert again.texts(".detail h3")[0].startswith("shop/db-0")


def test_node_map_reacts_to_the_keyboard(demo: OpenedPage) -> None:
    demo.page.locator("canvas").first.focus()
    assert demo.texts("#tip p")[:2] == ["east-1", "zone eu-east"]
    demo.page.keyboard.press("ArrowRight")
    lines = demo.texts("#tip p")
    assert lines[0] == "east-2"
    assert "cpu: 0m \N{RIGHTWARDS ARROW} 500m of 4 (13 %)" in lines
    assert lines[-1] == "Insufficient cpu"
    assert demo.page.locator("#live").text_content() == ", ".join(lines)
    demo.page.keyboard.press("Enter")
    assert demo.texts(".nodeinfo h3") == ["east-2"]
    assert "Placed here by this run: shop/web-1" in demo.texts(".nodeinfo")[0]
    demo.page.keyboard.press("End")
    assert demo.texts("#tip p")[0] == "old-1"
    assert "cordoned" in demo.texts("#tip p")


def test_node_map_reacts_to_the_mouse(demo: OpenedPage) -> None:
    canvas = demo.page.locator("canvas").nth(1)
    canvas.hover(position={"x": 10, "y": 10})
    assert demo.texts("#tip p")[0] == "gpu-1"
    canvas.click(position={"x": 10, "y": 10})
    assert demo.texts(".nodeinfo h3") == ["gpu-1"]
    before = pixels(demo)
    demo.page.get_by_label("Filled by").select_option("memory")
    assert "memory" in demo.texts("#nodes figcaption")[0]
    assert pixels(demo) != before


def test_legend_counts_the_answers_and_highlights_a_group(demo: OpenedPage) -> None:
    assert demo.texts("#nodes .legend button") == [
        "Insufficient cpu (4)",
        "node(s) had untolerated taint(s) (1)",
        "node(s) were unschedulable (1)",
    ]
    before = pixels(demo)
    button = demo.page.locator("#nodes .legend button").first
    button.press("Enter")
    assert button.get_attribute("aria-pressed") == "true"
    assert pixels(demo) != before
    demo.page.get_by_role("button", name="shop/web-1", exact=True).click()
    assert demo.texts("#nodes .legend button")[0] == "has room (4)"


def test_table_of_nodes_has_what_the_map_shows(demo: OpenedPage) -> None:
    demo.page.locator("#nodes summary").click()
    demo.page.wait_for_selector("#nodes tbody tr")
    rows = [row.split("\t") for row in demo.texts("#nodes tbody tr")]
    assert [row[0] for row in rows] == ["east-1", "east-2", "gpu-1", "old-1", "west-1", "west-2"]
    assert rows[2][1:3] == ["eu-west", "node(s) had untolerated taint(s)"]


def pixels(shown: OpenedPage) -> str:
    found: str = shown.page.evaluate("document.querySelector('canvas').toDataURL()")
    return found


def test_colours_follow_the_scheme(page_file: Maker, opened: Opener) -> None:
    light, dark = (opened(page_file("simulate", "--from", DEMO), scheme=scheme) for scheme in ("light", "dark"))
    assert pixels(light) != pixels(dark)
    light.page.emulate_media(color_scheme="dark")
    light.page.wait_for_function(
        "expected => document.querySelector('canvas').toDataURL() === expected", arg=pixels(dark)
    )


def test_map_and_detail_on_a_phone(page_file: Maker, opened: Opener) -> None:
    shown = opened(page_file("simulate", "--from", DEMO), size=NARROW)
    assert not shown.wider_than_the_window
    boxes = [shown.page.locator(each).bounding_box() for each in ("#pods .scroll", ".detail")]
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert boxes[1]["y"] >= boxes[0]["y"] + boxes[0]["height"]


def test_preemption_from_victim_to_preemptor(tmp_path: Path, page_file: Maker, opened: Opener) -> None:
    node = make_node("n1").allocatable(cpu="4", memory="8Gi", pods=20).doc()
    low = make_pod("low").requests(cpu="3").on("n1").doc()
    high = make_pod("high").requests(cpu="2").spec(priority=1000).doc()
    shown = opened(page_file("simulate", "--from", write_list(tmp_path / "c.json", node, low, high)))
    assert shown.texts("h1") == ["1 pending pod: 1 preempts."]
    assert shown.texts("#preemption tbody tr") == ["default/high\tn1\tdefault/low\t0"]
    assert "On n1 it evicts 1 pod" in shown.texts(".detail")[0]


@pytest.mark.parametrize("command", [("simulate",), ("explain", "shop/web-1")])
def test_how_often_each_pod_goes_where(command: tuple[str, ...], page_file: Maker, opened: Opener) -> None:
    shown = opened(page_file(*command, "--from", DEMO, "--ties", "5"))
    rows = dict(zip(shown.column("odds", 1), shown.column("odds", 5), strict=True))
    assert "east-2" in rows["shop/web-1"]


def test_a_cluster_without_pending_pods(tmp_path: Path, page_file: Maker, opened: Opener) -> None:
    node: Any = make_node("n1").allocatable(cpu="4", memory="8Gi", pods=20).doc()
    shown = opened(page_file("simulate", "--from", write_list(tmp_path / "c.json", node)))
    assert shown.texts("h1") == ["pending pods: none."]
    assert shown.texts("#pods tbody tr") == ["There are none."]
