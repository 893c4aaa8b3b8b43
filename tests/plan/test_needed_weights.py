"""The weight with which a node comes out first, held against all weights tried one after the other."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.plan.explain.explain import _needed as needed_weight
from ksched_cli.plan.results.nodes import Score, ScoredNode
from tests.lanes import examples

OWN = "m"


def scored(name: str, normalized: int, rest: int, weight: int) -> ScoredNode:
    """A node by the score of the plugin and what all other plugins give it."""
    score = Score(normalized, normalized, normalized * weight)
    return ScoredNode(name, normalized * weight + rest, {"plugin": score})


def nearest_by_trial(nodes: dict[str, tuple[int, int]], weight: int) -> int | None:
    """Ties go to the lower name."""
    for tried in sorted(range(1, 400), key=lambda tried: abs(tried - weight)):
        if min(nodes, key=lambda name: (-nodes[name][0] * tried - nodes[name][1], name)) == OWN:
            return tried
    return None


def by_rule(nodes: dict[str, tuple[int, int]], weight: int) -> int | None:
    listed = [scored(name, *scores, weight) for name, scores in nodes.items()]
    return needed_weight(next(each for each in listed if each.node == OWN), listed, "plugin", weight)


SCORES = st.tuples(st.integers(0, 20), st.integers(0, 60))


@given(st.dictionaries(st.sampled_from("abxyz"), SCORES, max_size=4), SCORES, st.integers(1, 9))
@settings(max_examples=examples(200), deadline=None)
def test_it_is_the_nearest_weight_of_all(others: dict[str, tuple[int, int]], own: tuple[int, int], weight: int) -> None:
    nodes = {**others, OWN: own}
    assert by_rule(nodes, weight) == nearest_by_trial(nodes, weight)


@pytest.mark.parametrize(
    ("nodes", "needed"),
    [
        pytest.param({"m": (10, 0), "a": (5, 30)}, 7, id="more weight, a tie lost by name"),
        pytest.param({"m": (10, 0), "z": (5, 30)}, 6, id="more weight, a tie won by name"),
        pytest.param({"m": (6, 0), "a": (5, 30)}, 31, id="more weight for a lead of one"),
        pytest.param({"m": (5, 10), "z": (10, 0)}, 2, id="less weight, a tie won by name"),
        pytest.param({"m": (5, 10), "a": (10, 0)}, 1, id="less weight, a tie lost by name"),
        pytest.param({"m": (5, 4), "z": (10, 0)}, None, id="no weight from 1 on is low enough"),
        pytest.param({"m": (5, 0), "z": (5, 1)}, None, id="the plugin gives both the same"),
        pytest.param({"m": (5, 1), "a": (5, 0)}, 3, id="first already"),
        pytest.param(
            {"a": (5, 0), "m": (10, 0), "z": (5, 30)}, 6, id="the node itself and one behind before one ahead"
        ),
        pytest.param({"m": (10, 0), "a": (5, 30), "z": (20, 0)}, None, id="one wants more weight and one wants less"),
    ],
)
def test_weight_instead_of_three(nodes: dict[str, tuple[int, int]], needed: int | None) -> None:
    assert by_rule(nodes, 3) == needed
