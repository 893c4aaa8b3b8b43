"""Amounts of resources as people and manifests have them, texts that a terminal would obey, and a line of news."""

from __future__ import annotations

import io
import json

import pytest

from ksched_cli import Simulator
from ksched_cli.plan.results.amounts import Amounts
from ksched_cli.plan.watch import Kind, News
from ksched_cli.report.amounts import at_most, at_most_all, in_cores, short, short_all
from ksched_cli.report.encoding import json_text
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.view.watch import write_line
from tests.builders import make_node, make_pod

MEBI = 1 << 20


@pytest.mark.parametrize(
    ("resource", "amount", "quantity"),
    [
        ("memory", MEBI - 1, "1048575"),
        ("memory", MEBI, "1Mi"),
        ("memory", 3 * MEBI - 1, "2Mi"),
        ("ephemeral-storage", MEBI + 1, "1Mi"),
        ("cpu", 1333, "1333m"),
        ("cpu", MEBI + 1, "1048577m"),
        ("example.com/gpu", MEBI + 1, "1048577"),
    ],
)
def test_the_most_that_a_manifest_may_have(resource: str, amount: int, quantity: str) -> None:
    assert at_most(resource, amount) == quantity


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 999, "999m"),
        ("cpu", 1000, "1"),
        ("cpu", 41_650, "41.6"),
        ("cpu", 1_234_000, "1,234"),
        ("memory", 1023, "1023"),
        ("memory", 1024, "1Ki"),
        ("memory", 1536 * MEBI, "1.5Gi"),
        ("memory", 5000 << 60, "5000Ei"),
        ("example.com/gpu", 1200, "1,200"),
    ],
)
def test_short_amounts(resource: str, amount: int, text: str) -> None:
    assert short(resource, amount) == text


def test_amounts_of_several_resources() -> None:
    amounts = Amounts.of_document({"cpu": "1500m", "memory": "2Mi", "pods": "0"})
    assert amounts == {"cpu": 1500, "memory": 2 * MEBI, "pods": 0}
    assert amounts.document() == {"cpu": "1500m", "memory": "2Mi", "pods": "0"}
    assert (short_all(amounts), at_most_all(amounts)) == ("cpu 1.5, memory 2Mi", "cpu 1500m, memory 2Mi")
    assert [in_cores(each) for each in (0, 250, 999, 1000, 41_700)] == ["0", "0.25", "0.999", "1", "41.7"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("\x7f", '"\\u007f"', id="delete"),
        pytest.param("é漢", '"é漢"', id="letters"),
        pytest.param("a\x9bb\u202e", '"a\\u009bb\\u202e"', id="what a terminal obeys"),
        pytest.param("##vso[x]", '"\\u0023#vso[x]"', id="a command of a log"),
        pytest.param("#", '"#"', id="a single sign"),
    ],
)
def test_json_that_no_terminal_obeys(text: str, shown: str) -> None:
    found = json_text(text)
    assert json.loads(found) == text
    assert found == shown


def test_a_line_of_news_is_shown_at_once() -> None:
    shown: list[str] = []
    out = io.StringIO()
    out.flush = lambda: shown.append(out.getvalue())  # type: ignore[method-assign]
    write_line(News(Kind.FITS, "shop/web", "n1", "1 of 2 nodes fit"), out, RenderOptions())
    (line,) = shown
    assert line[8:] == "  shop/web  fits on n1  1 of 2 nodes fit\n"
    assert line[2] == line[5] == ":"


def test_the_outcome_of_a_pod_by_its_name() -> None:
    names = [("a", "shop"), ("a", "test"), *((f"p{number}", "shop") for number in range(4))]
    pods = [make_pod(name, namespace).doc() for name, namespace in names]
    found = Simulator.load(make_node("n").doc(), *pods).simulate()
    assert found.pod("p1").pod == found.pod("shop/p1").pod == "shop/p1"
    with pytest.raises(KeyError, match="several pods are named a: shop/a, test/a'"):
        found.pod("a")
    with pytest.raises(KeyError, match=r"no pod that was tried is named x: shop/a, shop/p0, .*, shop/p3, \.\.\."):
        found.pod("x")
    few = Simulator.load(make_node("n").doc(), *pods[:5]).simulate()
    with pytest.raises(KeyError, match="is named x: shop/a, shop/p0, shop/p1, shop/p2, test/a'"):
        few.pod("x")
