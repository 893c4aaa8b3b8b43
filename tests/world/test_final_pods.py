"""The pods at the end of a run: in one order, whether they moved or not."""

from __future__ import annotations

import pickle
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.object_facts import is_terminal, pod_key
from ksched_cli.api.workloads import PodDisruptionBudget
from ksched_cli.controlplane.store import identity_of
from ksched_cli.world.results import FinalPod, FinalPods, StoredPods, TimelineEvent, UnmovedPods, first_lives
from ksched_cli.world.world import World
from tests.lanes import examples
from tests.test_one_world import CLASSES, budget, node, workload
from tests.world.test_roll_back import RUN, Step, begun, changes, clusters, take

GONE, NEW, OTHER = FinalPod("d/b", "Pod/d/b", "gone"), FinalPod("d/b", "Pod/d/b", "scheduled"), FinalPod("d/e", "", "")
UNMOVED = [("d/f", "Set/d/f", "n"), ("d/a", "Pod/d/a", "m")]
BEGIN = "begin"


def one_by_one(world: World) -> list[FinalPod]:
    """What the recorder's final pods must be, with a look at each pod of the store."""
    there = (pod for pod in world.plane.store.of(Pod) if not is_terminal(pod) and world.wanted(pod))
    gone = [each for each in world.recorder.final(moved_only=True).others if each.state == "gone"]
    return sorted([*gone, *map(world.recorder.final_of, there)], key=lambda each: (each.pod, each.state != "gone"))


def test_all_pods_come_in_the_order_of_their_names_gone_pods_first() -> None:
    final = FinalPods.of([OTHER, NEW, GONE], UnmovedPods.of(UNMOVED))
    assert [(each.pod, each.state) for each in final] == [
        ("d/a", "running"),
        ("d/b", "gone"),
        ("d/b", "scheduled"),
        ("d/e", ""),
        ("d/f", "running"),
    ]
    assert len(final) == 5
    assert final[0] == FinalPod("d/a", "Pod/d/a", "running", "m", moved=False)
    assert final[1:3] == (GONE, NEW)
    assert list(final.only(lambda pod: pod.state == "gone")) == [final[0], GONE, final[4]]


def test_none() -> None:
    assert (list(FinalPods()), len(FinalPods.of([], UnmovedPods.of([])))) == ([], 0)


def test_unmoved_pods_are_equal_if_their_columns_are() -> None:
    unmoved = UnmovedPods.of(UNMOVED)
    assert (unmoved, hash(unmoved)) == (UnmovedPods.of(UNMOVED[::-1]), hash(UnmovedPods.of(UNMOVED[::-1])))
    assert unmoved != UnmovedPods.of(UNMOVED[1:])
    assert pickle.loads(pickle.dumps(unmoved)) == unmoved


def test_a_pod_to_which_nothing_happened(tmp_path: Path) -> None:
    world = begun([*CLASSES, node("n0", 2), workload("Deployment", "a", 1, 1, 0)], tmp_path)
    world.run()
    world.begin_record()
    world.run()
    (pod,) = world.plane.store.of(Pod)
    expected = FinalPod(f"shop/{pod.metadata.name}", "Deployment/shop/a", "running", "n0", moved=False)
    assert world.recorder.final_of(pod) == expected
    assert list(world.recorder.final(moved_only=False)) == [expected]
    assert list(world.recorder.final(moved_only=True)) == []


def test_budgets_that_did_not_allow_a_preemption(tmp_path: Path) -> None:
    """One disruption is allowed. The status of the budget does not count the first victim before it is written anew."""
    items = [*CLASSES, node("n0", 4), workload("Deployment", "a", 2, 1, 0), budget("a", "maxUnavailable", 1)]
    world = begun(items, tmp_path)
    world.run()
    first, second = world.plane.store.of(Pod)
    (item,) = world.plane.store.of(PodDisruptionBudget)
    for pod in (first, second):
        world.recorder.note_preempted(pod, "shop/x")
    world.plane.api.update(replace(item, status=replace(item.status, expected_pods=3)))
    for pod in (first, second):
        world.recorder.note_preempted(pod, "shop/x")
    assert [each.budgets for each in world.recorder.preempted] == [(), ("shop/a",), (), ("shop/a",)]


def test_which_pods_are_not_among_the_unmoved_ones(tmp_path: Path) -> None:
    """An answer is possible as long as the unmoved pods are the stored ones."""
    world = begun([*CLASSES, node("n0", 4), workload("Deployment", "a", 2, 1, 0)], tmp_path)
    world.run()
    store, api = world.plane.store, world.plane.api
    first, second = sorted(store.of(Pod), key=pod_key)
    unmoved = StoredPods.all_but([identity_of(first)], store.kept())
    assert unmoved.columns == ((pod_key(second),), ("Deployment/shop/a",), ("n0",))
    assert unmoved.left_out_of(store.kept()) == (identity_of(first),)
    for pod, expected in ((first, (identity_of(first),)), (second, None)):
        api.update(replace(pod, metadata=replace(pod.metadata, labels={**pod.metadata.labels, "new": "yes"})))
        assert unmoved.left_out_of(store.kept()) == expected


def events_of(*made: tuple[str, str]) -> list[TimelineEvent]:
    return [TimelineEvent(float(at), event, pod) for at, (event, pod) in enumerate(made)]


GOES = "AssignedPodDelete"


def test_first_lives_of_pods_that_come_again_without_end() -> None:
    """d takes the place of c, c that of b and b that of a; s-0 of a StatefulSet keeps its name."""
    timeline = events_of(
        ("Cycle", "a"), (GOES, "a"), ("Cycle", "b"), (GOES, "b"),
        ("Cycle", "c"), ("NodeAdd", ""), (GOES, "c"), ("Cycle", "d"), ("Cycle", "x"), (GOES, "x"), ("Cycle", "s-0"),
    )  # fmt: skip
    pods = [
        FinalPod("a", "", "gone"),
        FinalPod("b", "", "gone", replaces="a"),
        FinalPod("c", "", "gone", replaces="b"),
        FinalPod("d", "", "pending", replaces="c"),
        FinalPod("s-0", "", "gone", replaces="s-0"),
        FinalPod("s-0", "", "pending", replaces="s-0"),
        FinalPod("x", "", "gone"),
    ]
    events, final = first_lives(timeline, FinalPods.of(pods, UnmovedPods()))
    assert events == [event for event in timeline if event.pod not in ("c", "d")]
    assert [(each.pod, each.state, each.replaces) for each in final] == [
        ("a", "gone", ""),
        ("d", "pending", "a"),
        ("s-0", "pending", "s-0"),
        ("x", "gone", ""),
    ]


def test_first_lives_of_pods_that_take_each_others_names() -> None:
    """p follows q, which follows r, which follows q."""
    pods = [FinalPod(name, "", "pending", replaces=before) for name, before in ("pq", "qr", "rq")]
    timeline = events_of((GOES, "p"), ("Cycle", "q"), ("Cycle", "r"))
    events, _ = first_lives(timeline, FinalPods.of(pods, UnmovedPods()))
    assert events == timeline


@pytest.mark.slow
@given(
    items=clusters(),
    steps=st.lists(st.one_of(changes, st.sampled_from([RUN, RUN, BEGIN])), min_size=4, max_size=12),
    tries=st.booleans(),
)
@settings(max_examples=examples(60), deadline=None)
def test_final_pods_are_as_they_were_when_the_run_ended(
    items: list[dict[str, Any]], steps: list[Step], tries: bool
) -> None:
    found: list[tuple[FinalPods, list[FinalPod]]] = []
    with TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        world = begun(items, folder)
        take(world, RUN, folder)
        world.begin_record()
        if tries:
            world.plane.prepare()
            stack.enter_context(world.trial())
        for step in steps:
            if step == BEGIN:
                world.begin_record()
            else:
                take(world, step, folder)
            found.append((world.recorder.final(moved_only=False), one_by_one(world)))
    for final, expected in found:
        assert list(final) == expected
