"""The short form of the answers of nodes says the same as the full one."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.report.view.pods import NodeAnswers
from ksched_cli.simulator import Simulator
from tests.builders import make_node, make_pod
from tests.cli.transcripts import DEMO
from tests.running import Ksched


def unpacked(pods: list[dict[str, Any]], nodes: int) -> list[list[int]]:
    """The answers of each pod, -1 where a node was not looked at."""
    found: list[list[int]] = []
    for entry in pods:
        answers = list(found[entry["like"]]) if "like" in entry else [-1] * nodes
        for number, ranges in entry["nodes"].items():
            for each in ranges.split(","):
                first, _, last = each.partition("-")
                answers[int(first) : int(last or first) + 1] = [int(number)] * (int(last or first) + 1 - int(first))
        found.append(answers)
    return found


@settings(deadline=None)
@given(st.integers(1, 12).flatmap(lambda nodes: st.lists(st.lists(st.integers(-1, 4), min_size=nodes, max_size=nodes))))
def test_packed_answers_are_the_same(columns: list[list[int]]) -> None:
    answers = NodeAnswers()
    packed = [answers.pack_column(number, np.array(each, dtype=np.int32)) for number, each in enumerate(columns)]
    assert unpacked(packed, len(columns[0]) if columns else 0) == columns


@pytest.mark.parametrize("words", [("--from", DEMO), ("--from", DEMO, "--settle")])
def test_a_document_with_node_answers_says_what_the_full_one_says(words: tuple[str, ...], ksched: Ksched) -> None:
    documents = []
    for detail in ("nodes", "full"):
        documents.append(json.loads(ksched("simulate", *words, "-o", "json", "--detail", detail, code=1).out))
    short, full = documents
    names, kinds = short["nodeTable"]["names"], short["failureKinds"]
    packed = [entry.get("nodeAnswers", {"nodes": {}}) for entry in short["pods"]]
    for entry, answers in zip(full["pods"], unpacked(packed, len(names)), strict=True):
        filters = {name: kinds[answer - 1] for name, answer in zip(names, answers, strict=True) if answer > 0}
        assert filters == entry.get("filters", {})
        feasible = {name for name, answer in zip(names, answers, strict=True) if answer == 0}
        assert feasible == set(entry.get("feasible", []))


def test_an_answer_is_told_by_what_differs_from_an_earlier_one() -> None:
    """`like` has the number of the nearest pod, if it is nearer than no answer at all; equal pods are of one kind."""
    answers = NodeAnswers()
    columns = {
        (0, 0, 1, 1, 0, 1): {"nodes": {"0": "0-1,4", "1": "2-3,5"}},
        (0, 0, 1, 2, 0, 1): {"like": 0, "nodes": {"2": "3"}},
        (-1, -1, -1, -1, -1, 3): {"nodes": {"3": "5"}},
        (0, 0, 1, 2, 0, 2): {"like": 2, "nodes": {"2": "5"}},
    }
    first, *others = columns.items()
    again = (first[0], {"like": 0, "nodes": {}})
    for number, (column, entry) in enumerate([first, again, *others]):
        assert answers.pack_column(number, np.array(column, dtype=np.int32)) == entry


@pytest.mark.parametrize(
    ("names", "nodes"),
    [
        pytest.param(["a", "b"], {"0": "0", "1": "1"}, id="the nodes of the cluster"),
        pytest.param(None, {"0": "0", "1": "1"}, id="no names"),
        pytest.param(["b", "x", "a"], {"0": "2", "1": "0"}, id="another order, and one node more"),
        pytest.param(["x", "a"], {"0": "1"}, id="one node less"),
        pytest.param(["x", "y"], {}, id="other nodes"),
    ],
)
def test_answers_are_in_the_order_of_the_document(names: list[str] | None, nodes: dict[str, str]) -> None:
    cluster = [make_node(name).allocatable(cpu=cpu, pods="9").doc() for name, cpu in (("a", "4"), ("b", "1"))]
    found = Simulator.load(*cluster, make_pod("p").requests(cpu="2").doc()).simulate()
    detail = found.outcomes[0].detail
    assert detail is not None
    assert NodeAnswers(names).pack(0, detail) == {"nodes": nodes}
