"""Deployments in the situations that the tests of kube-controller-manager's deployment controller name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from ksched_cli.api.core import Pod
from ksched_cli.api.workloads import Deployment, ReplicaSet
from ksched_cli.sources.controllers.existing import Existing
from ksched_cli.sources.rollouts.deployments import DeploymentRollout
from ksched_cli.sources.rollouts.proportions import scale
from ksched_cli.sources.rollouts.rollout import Changes
from tests.plan import rollouts as docs


@dataclass
class Sized:
    replicas: int
    desired: int | None
    most: int | None
    age: tuple[str, str]


def sets(sizes: list[int], before: int, surge: int) -> list[Sized]:
    """From the newest to the oldest."""
    return [Sized(size, before, before + surge, (f"2016-0{9 - at}", "")) for at, size in enumerate(sizes)]


# Whether the first is the set of the deployment's template, sizes from the newest to the oldest, replicas and surge
# before and after, sizes after.
SCALES = [
    pytest.param(True, [10], (10, 0), (12, 0), [12], id="normal scaling event: 10 -> 12"),
    pytest.param(True, [10], (10, 0), (5, 0), [5], id="normal scaling event: 10 -> 5"),
    pytest.param(True, [2, 3], (5, 0), (10, 0), [4, 6], id="proportional scaling: 5 -> 10"),
    pytest.param(True, [2, 3], (5, 0), (3, 0), [1, 2], id="proportional scaling: 5 -> 3"),
    pytest.param(True, [8, 1], (9, 0), (4, 0), [4, 0], id="proportional scaling: 9 -> 4"),
    pytest.param(True, [2, 3, 2], (7, 0), (10, 0), [3, 4, 3], id="proportional scaling: 7 -> 10"),
    pytest.param(True, [2, 8, 3], (13, 0), (8, 0), [1, 5, 2], id="proportional scaling: 13 -> 8"),
    pytest.param(True, [1, 1, 1], (3, 0), (4, 0), [2, 1, 1], id="leftover distribution: 3 -> 4"),
    pytest.param(True, [1, 1, 1], (3, 0), (2, 0), [1, 1, 0], id="leftover distribution: 3 -> 2"),
    pytest.param(False, [2, 2], (4, 0), (5, 0), [3, 2], id="proportional scaling (no new rs): 4 -> 5"),
    pytest.param(True, [3, 2, 1], (6, 0), (0, 0), [0, 0, 0], id="proportional scaling: 6 -> 0"),
    pytest.param(True, [0, 0, 0], (6, 0), (6, 0), [6, 0, 0], id="proportional scaling: 0 -> 6"),
    pytest.param(True, [6, 6], (10, 2), (20, 2), [11, 11], id="deployment with surge pods"),
    pytest.param(True, [5, 8], (10, 3), (50, 6), [22, 34], id="change both surge and size"),
    pytest.param(False, [7, 3], (10, 0), (14, 0), [10, 4], id="change both size and template"),
    pytest.param(True, [2, 1], (2, 1), (2, 1), [2, 1], id="saturated but broken new replica set"),
]


@pytest.mark.parametrize(("has_new", "sizes", "before", "after", "expected"), SCALES)
def test_scale(
    has_new: bool, sizes: list[int], before: tuple[int, int], after: tuple[int, int], expected: list[int]
) -> None:
    every = sets(sizes, *before)
    new, old = (every[0], every[1:]) if has_new else (None, every)
    scale(new, old, *after, available=0, rolling=True)
    assert [each.replicas for each in every] == expected


def test_an_available_new_set_leaves_the_old_ones_nothing() -> None:
    new, old = sets([2, 1], 2, 1)
    scale(new, [old], 2, 1, available=2, rolling=True)
    assert (new.replicas, old.replicas) == (2, 0)


def typed(kind: Any, doc: dict[str, Any]) -> Any:
    item = msgspec.convert(doc, kind)
    item.metadata.namespace = "default"
    return item


def rollout(replicas: int, strategy: dict[str, Any], old: tuple[int, int], new: tuple[int, int]) -> DeploymentRollout:
    """Of both sets: how many pods, and how many of them are ready."""
    _, old_set, *old_pods = docs.running_deployment(["n"] * old[0], docs.template(docs.OLD))
    _, new_set, *new_pods = docs.running_deployment(["n"] * new[0], docs.template())
    text = msgspec.json.encode([new_set, *new_pods]).replace(b"w-h", b"w-n").replace(b'hash":"h"', b'hash":"n"')
    new_set, *new_pods = msgspec.json.decode(text)
    for pods, ready in ((old_pods, old[1]), (new_pods, new[1])):
        for pod in pods[ready:]:
            pod["status"]["conditions"][0]["status"] = "False"
    manifest = docs.workload("Deployment", docs.template(), replicas=replicas, strategy=strategy)
    existing = Existing(
        [typed(Pod, pod) for pod in (*old_pods, *new_pods)],
        [typed(ReplicaSet, each) for each in (old_set, new_set)],
        [],
    )
    return DeploymentRollout(typed(Deployment, manifest), existing)


NEW_SETS = [
    pytest.param(10, 0, 10, 0, 0, id="should not scale up"),
    pytest.param(10, 2, 10, 0, 2, id="by the surge"),
    pytest.param(10, 2, 5, 0, 7, id="by what is missing and the surge"),
    pytest.param(10, 2, 10, 2, 2, id="the surge is used up"),
    pytest.param(10, 2, 2, 11, 10, id="should scale down"),
]


@pytest.mark.parametrize(("replicas", "surge", "old", "new", "expected"), NEW_SETS)
def test_reconcile_new_replica_set(replicas: int, surge: int, old: int, new: int, expected: int) -> None:
    made = rollout(replicas, docs.rolling(surge, 0 if surge else "1%"), (old, 0), (new, 0))
    made._shrink_old = lambda new: False  # type: ignore[method-assign]
    made._roll(Changes())
    assert made._new is not None
    assert made._new.replicas == expected


OLD_SETS = [
    pytest.param(10, 0, (10, 10), (0, 0), 9, id="one may go where both come to nothing"),
    pytest.param(10, 2, (10, 10), (0, 0), 8, id="as many as may be missing"),
    pytest.param(10, 2, (10, 8), (0, 0), 8, id="unhealthy ones are cleaned up"),
    pytest.param(10, 2, (10, 9), (0, 0), 8, id="an unhealthy one, and one that is ready"),
    pytest.param(10, 2, (8, 8), (2, 0), 8, id="the unavailable of the new set count"),
]


@pytest.mark.parametrize(("replicas", "unavailable", "old", "new", "expected"), OLD_SETS)
def test_reconcile_old_replica_sets(
    replicas: int, unavailable: int, old: tuple[int, int], new: tuple[int, int], expected: int
) -> None:
    made = rollout(replicas, docs.rolling(0, unavailable), old, new)
    assert made._new is not None
    made._shrink_old(made._new)
    assert [each.replicas for each in made._sets if each is not made._new] == [expected]


def test_a_new_size_that_changes_no_set_does_not_end_the_rollout() -> None:
    made = rollout(2, docs.rolling(1, 0), (2, 2), (0, 0))
    for each in made._sets:
        each.desired = 5 if each is not made._new else None
    assert len(made.sync().born) == 1
