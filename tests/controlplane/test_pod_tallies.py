"""The kept counts of an owner's pods are those of its pods, whenever they are counted first."""

from __future__ import annotations

from random import Random

import pytest
from msgspec.structs import replace

from ksched_cli.api.core import LabelSelector, ObjectMeta, Pod
from ksched_cli.api.object_facts import is_active, is_ready
from ksched_cli.api.selectors import selector_of_controller
from ksched_cli.api.workloads import PodTemplateSpec, ReplicaSet, ReplicaSetSpec
from ksched_cli.controlplane.store import Store
from ksched_cli.sources.loaded import Loaded
from tests.builders import make_pod

WANTED = LabelSelector({"app": "web"})
SELECTOR = selector_of_controller(WANTED)
SET = ReplicaSet(ObjectMeta("web", "default"), ReplicaSetSpec(1, WANTED, PodTemplateSpec()))


def pod(random: Random) -> Pod:
    made = make_pod(f"p-{random.randrange(6)}").label(app=random.choice(("web", "db")))
    made = made.on("n").phase(random.choice(("Running", "Failed"))) if random.random() < 0.6 else made
    found = made.obj()
    assert isinstance(found, Pod)
    return found


def read(store: Store) -> list[Pod]:
    """The active pods that the set would adopt, pod by pod."""
    return [each for each in store.of(Pod) if is_active(each) and SELECTOR.matches(each.metadata.labels)]


def change(store: Store, random: Random) -> None:
    here = store.of(Pod)
    kind = random.randrange(5)
    if kind == 0:
        store.put(SET)
    elif kind == 1 and store.current(SET) is not None:
        store.remove(SET)
    elif kind == 2 and here:
        store.remove(random.choice(here))
    elif kind == 3 and here:
        old = random.choice(here)
        store.put(replace(old, metadata=replace(old.metadata, deletion_timestamp="2026-01-01T00:00:00Z")))
    else:
        store.put(pod(random))


@pytest.mark.parametrize("seed", range(60))
def test_counts_are_those_of_the_pods(seed: int) -> None:
    """The set, without which nothing is counted, comes and goes, in trials and outside of them."""
    random = Random(seed)
    store = Store(Loaded({Pod: list({each.metadata.name: each for each in map(pod, [random] * 4)}.values())}))

    def check() -> None:
        if store.current(SET) is not None or random.random() < 0.2:
            found = read(store)
            assert store.count_active(SET, SELECTOR) == (len(found), sum(map(is_ready, found)))
            assert store.active_orphans("default", SELECTOR) == found

    def some(depth: int) -> None:
        for _ in range(random.randrange(1, 6)):
            if depth < 3 and random.random() < 0.3:
                with store.undo.trial():
                    some(depth + 1)
            else:
                change(store, random)
            check()

    for _ in range(4):
        some(0)
