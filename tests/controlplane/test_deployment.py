"""Deployments in the situations that the tests of kube-controller-manager's deployment controller name."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.api.core import Pod, PodCondition
from ksched_cli.api.workloads import ReplicaSet
from ksched_cli.controlplane.controllers.deployment import (
    DESIRED,
    MOST,
    DeploymentController,
    find_new_replica_set,
    proportion,
    scaled_value,
)
from tests.builders import make_pod
from tests.controlplane.harness import ControlPlane, make, nodes, rested, started, template

NEW, OLD = "app:v2", "app:v1"


def replica_set(name: str, replicas: int, image: str, created: str, sizes: tuple[int, int] | None = None) -> ReplicaSet:
    """`sizes`: the replicas of the Deployment that the set was last scaled for, and its surge."""
    made = template("web", image)
    made["metadata"]["labels"]["pod-template-hash"] = name
    annotations = {DESIRED: str(sizes[0]), MOST: str(sum(sizes))} if sizes else {}
    owner = {"kind": "Deployment", "name": "web", "uid": "", "controller": True}
    metadata = {
        "name": f"web-{name}",
        "ownerReferences": [owner],
        "annotations": annotations,
        "creationTimestamp": created,
    }
    selector = {"matchLabels": {"app": "web"}}
    found = make("ReplicaSet", f"web-{name}", metadata=metadata, selector=selector, template=made, replicas=replicas)
    assert isinstance(found, ReplicaSet)
    return found


def deployment(replicas: int, surge: Any, unavailable: Any, image: str = NEW) -> Any:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    return make("Deployment", "web", replicas=replicas, strategy=strategy, template=template("web", image))


def controller(plane: ControlPlane) -> DeploymentController:
    (found,) = (each for each in plane.controllers if isinstance(each, DeploymentController))
    return found


def sizes_of(plane: ControlPlane) -> list[int]:
    """From the newest set to the oldest."""
    sets = sorted(plane.store.of(ReplicaSet), key=lambda each: each.metadata.creation_timestamp or "", reverse=True)
    return [each.spec.replicas or 0 for each in sets]


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
    pytest.param(True, [2, 4, 4], (10, 0), (11, 0), [2, 5, 4], id="leftover distribution: 10 -> 11, to the largest"),
    pytest.param(True, [1, 1, 1], (3, 0), (2, 0), [1, 1, 0], id="leftover distribution: 3 -> 2"),
    pytest.param(False, [2, 2], (4, 0), (5, 0), [3, 2], id="proportional scaling (no new rs): 4 -> 5"),
    pytest.param(True, [3, 2, 1], (6, 0), (0, 0), [0, 0, 0], id="proportional scaling: 6 -> 0"),
    pytest.param(True, [0, 0, 0], (6, 0), (6, 0), [6, 0, 0], id="proportional scaling: 0 -> 6"),
    pytest.param(False, [0, 0], (6, 0), (6, 0), [6, 0], id="no active set and no new rs: the newest"),
    pytest.param(True, [6, 6], (10, 2), (20, 2), [11, 11], id="deployment with surge pods"),
    pytest.param(True, [5, 8], (10, 3), (50, 6), [22, 34], id="change both surge and size"),
    pytest.param(False, [7, 3], (10, 0), (14, 0), [10, 4], id="change both size and template"),
    pytest.param(True, [2, 1], (2, 1), (2, 1), [2, 1], id="saturated but broken new replica set"),
]


@pytest.mark.parametrize(("has_new", "sizes", "before", "after", "expected"), SCALES)
def test_scale(
    has_new: bool, sizes: list[int], before: tuple[int, int], after: tuple[int, int], expected: list[int]
) -> None:
    images = [NEW if has_new and at == 0 else f"app:old-{at}" for at in range(len(sizes))]
    sets = [
        replica_set(f"s{at}", size, images[at], f"2016-0{9 - at}-01T00:00:00Z", before) for at, size in enumerate(sizes)
    ]
    item = deployment(after[0], after[1], 1)
    plane = ControlPlane(item, *sets, *pods_of(sets))
    of = controller(plane)
    of._scale(item, of.replica_sets(item))
    assert sizes_of(plane) == expected


@pytest.mark.parametrize(
    ("ready", "desired", "expected"),
    [
        pytest.param(2, 2, [2, 0], id="done: the old one goes"),
        pytest.param(1, 2, [1, 1], id="not available yet"),
        pytest.param(2, 3, [1, 1], id="last scaled for another number"),
    ],
)
def test_scale_where_the_new_set_is_done(ready: int, desired: int, expected: list[int]) -> None:
    new = replica_set("new", 2, NEW, "2016-02-01T00:00:00Z", (desired, 0))
    old = replica_set("old", 1, OLD, "2016-01-01T00:00:00Z", (2, 0))
    item = deployment(2, 0, 1)
    plane = ControlPlane(item, new, old, *pods_of([new, old], ready))
    of = controller(plane)
    of._scale(item, of.replica_sets(item))
    assert sizes_of(plane) == expected


@pytest.mark.parametrize(
    ("before", "most", "total", "allowed", "share"),
    [
        pytest.param(10, 20, 0, 9, 4, id="twice as many"),
        pytest.param(None, 12, 8, 9, 2, id="without the annotation from the status"),
        pytest.param(None, 12, 0, 9, 0, id="from nothing"),
        pytest.param(10, 40, 0, 1, 1, id="no more than allowed"),
        pytest.param(12, 4, 0, -1, -1, id="no fewer than allowed"),
        pytest.param(10, 20, 0, 0, 0, id="none left"),
    ],
)
def test_proportion(before: int | None, most: int, total: int, allowed: int, share: int) -> None:
    """Of a set of four pods."""
    assert proportion(4, before, 10, most, total, allowed) == share


def pods_of(sets: list[ReplicaSet], ready: int = 0) -> list[Pod]:
    """As many pods as each set has replicas; the first so many of each are ready."""
    found = []
    for each in sets:
        for number in range(each.spec.replicas or 0):
            status = "True" if number < ready else "False"
            pod = make_pod(f"{each.metadata.name}-{number}").label(app="web").on("node-1").phase("Running")
            pod.status(conditions=[{"type": "Ready", "status": status}])
            found.append(pod.owner("ReplicaSet", each.metadata.name).obj())
    return found


@pytest.mark.parametrize(
    ("value", "total", "up", "expected"),
    [
        pytest.param(None, 10, True, 0, id="nothing"),
        pytest.param(3, 10, True, 3, id="a number"),
        pytest.param("25%", 10, True, 3, id="a share, rounded up"),
        pytest.param("25%", 10, False, 2, id="a share, rounded down"),
        pytest.param("100%", 7, False, 7, id="all"),
    ],
)
def test_scaled_value(value: int | str | None, total: int, up: bool, expected: int) -> None:
    assert scaled_value(value, total, up=up) == expected


NEW_SETS = [
    pytest.param(10, 0, 10, 0, 0, id="should not scale up"),
    pytest.param(10, 2, 10, 0, 2, id="by the surge"),
    pytest.param(10, 2, 5, 0, 7, id="by what is missing and the surge"),
    pytest.param(10, 2, 10, 2, 2, id="the surge is used up"),
    pytest.param(10, 2, 2, 11, 10, id="should scale down"),
]


@pytest.mark.parametrize(("replicas", "surge", "old", "new", "expected"), NEW_SETS)
def test_reconcile_new_replica_set(replicas: int, surge: int, old: int, new: int, expected: int) -> None:
    item = deployment(replicas, surge, 0 if surge else "1%")
    plane = ControlPlane(item, *two_sets(old, new))
    of = controller(plane)
    of._shrink_old = lambda item, sets, new: None  # type: ignore[method-assign]
    of._roll(item, of.replica_sets(item))
    assert sizes_of(plane)[0] == expected


def two_sets(old: int, new: int) -> list[ReplicaSet]:
    made = replica_set("new", new, NEW, "2016-02-01T00:00:00Z")
    return [made, replica_set("old", old, OLD, "2016-01-01T00:00:00Z")]


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
    item = deployment(replicas, 0, unavailable)
    sets = two_sets(old[0], new[0])
    plane = ControlPlane(item, *sets, *pods_of(sets[:1], new[1]), *pods_of(sets[1:], old[1]))
    of = controller(plane)
    of._shrink_old(item, of.replica_sets(item), sets[0])
    assert sizes_of(plane)[1] == expected


def test_pods_become_available_one_after_the_other() -> None:
    """The second pod was ready five seconds after the first, when the run begins."""
    stamps = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z")
    pods = [started(make_pod(name).label(app="web").owner("ReplicaSet", "web").obj(), "node-1") for name in "ab"]
    for pod, stamp in zip(pods, stamps, strict=True):
        ready = PodCondition("Ready", "True", last_transition_time=stamp)
        pod.metadata.creation_timestamp, pod.status.conditions = stamp, (ready,)
    plane = ControlPlane(*nodes(1), *pods, make("ReplicaSet", "web", replicas=2, minReadySeconds=10))
    plane.api.touch(plane.object("ReplicaSet", "web"))
    replica_sets, found = plane.registry.replica_sets, []
    for seconds in (4, 2, 5):
        plane.run(seconds)
        found.append(replica_sets.status(plane.object("ReplicaSet", "web")).available)
    assert found == [0, 1, 2]


def test_a_replica_set_that_is_deleted_is_created_again() -> None:
    control_plane = rested(*nodes(2), make("Deployment", "web", replicas=2))
    deployment = control_plane.object("Deployment", "web")
    (old,) = control_plane.store.owned(deployment, ReplicaSet)
    control_plane.api.delete(old)
    assert control_plane.store.owned(deployment, ReplicaSet) == []
    control_plane.run()
    assert [each.metadata.name for each in control_plane.store.of(ReplicaSet)] == [old.metadata.name]
    assert len(control_plane.pods()) == 2


def test_recreate_waits_for_the_last_old_pod() -> None:
    plane = rested(*nodes(2), make("Deployment", "web", replicas=2, strategy={"type": "Recreate"}))
    plane.change("Deployment", "web", template=template("web", NEW))
    plane.run(20)
    assert (plane.count("deleted"), plane.count("created")) == (2, 0)
    plane.run()
    assert set(plane.revisions().values()) == {NEW}


@pytest.mark.parametrize(
    ("labels", "spec", "is_found"),
    [
        pytest.param({"pod-template-hash": "1"}, {}, True, id="a copy with the hash"),
        pytest.param({"pod-template-hash": "1"}, {"restartPolicy": "Always"}, True, id="a default that is written"),
        pytest.param({"pod-template-hash": "1"}, {"restartPolicy": "Never"}, False, id="another spec"),
        pytest.param({"pod-template-hash": "1", "more": "x"}, {}, False, id="one more label"),
    ],
)
def test_the_new_replica_set_has_the_template_but_for_the_hash_and_defaults(
    labels: dict[str, str], spec: dict[str, Any], is_found: bool
) -> None:
    made = replica_set("1", 1, NEW, "2016-01-01T00:00:00Z")
    own = template("web", NEW)
    own["metadata"]["labels"] |= labels
    own["spec"] |= spec
    made.spec.template = make("ReplicaSet", "x", template=own).spec.template
    wanted = deployment(1, 1, 0).spec.template
    other, bare = (replica_set(str(year), 1, OLD, f"{year}-01-01T00:00:00Z") for year in (2015, 2014))
    bare.spec.template = None
    assert find_new_replica_set([made, other, bare], wanted) is (made if is_found else None)


def test_the_oldest_of_two_sets_of_one_template_is_the_new_replica_set() -> None:
    young, old = (replica_set(name, 1, NEW, f"{year}-01-01T00:00:00Z") for name, year in (("a", 2016), ("b", 2015)))
    assert find_new_replica_set([young, old], deployment(1, 1, 0).spec.template) is old
