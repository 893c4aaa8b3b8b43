"""What the provisioner costs: the nodes of Karpenter's benchmark, and work that does not grow with the square of claims."""

from __future__ import annotations

import cProfile
import pstats

import pytest

from tests.benchmarks.autoscaling import NODES, decide, instance_types, pods


@pytest.mark.parametrize(
    ("mix", "count"),
    [
        ("plain", 1000),
        ("diverse", 500),
        pytest.param("diverse", 1000, marks=pytest.mark.slow),
        ("preferences", 500),
        pytest.param("preferences", 1000, marks=pytest.mark.slow),
    ],
)
def test_nodes_are_as_many_as_karpenter_made(mix: str, count: int) -> None:
    found = decide(pods(mix, count), instance_types())
    assert (len(found.new_nodes), found.unplaced) == (NODES[mix, count], [])


@pytest.mark.parametrize("mix", ["diverse", "preferences"])
def test_calls_for_a_pod_do_not_grow_with_the_claims(mix: str) -> None:
    few, many = (_calls(mix, count) / count for count in (100, 400))
    # Four times the claims: calls that are made once are shared by more pods.
    assert many < 1.1 * few


def _calls(mix: str, count: int) -> int:
    pending, types = pods(mix, count), instance_types(50)
    profile = cProfile.Profile()
    profile.runcall(decide, pending, types)
    return pstats.Stats(profile).total_calls  # type: ignore[attr-defined,no-any-return]
