"""The short form of the answers of nodes says the same as the full one."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.report.view.pods import NodeAnswers
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
