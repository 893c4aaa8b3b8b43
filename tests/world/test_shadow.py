"""A scheduler that is asked decides as it would, and nothing comes of it; one that follows a world is in its state."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ksched_cli.api.dynamic_resources import ResourceClaim
from ksched_cli.api.storage import PersistentVolume, PersistentVolumeClaim
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.sources.dump import load_dump
from ksched_cli.sources.loaded import Loaded
from ksched_cli.wiring import scheduler_spec
from ksched_cli.world.shadow import ChangeLog, ShadowScheduler
from ksched_cli.world.world import World
from tests.builders import make_node, make_pod
from tests.lanes import sampled
from tests.running import load, make_scheduler
from tests.test_conformance import CORPUS
from tests.world.test_roll_back import take

CASES = [
    CORPUS / name
    for name in ("volumes-03", "dra-05", "preemption-01", "nominated-02", "pdb-03", "ports-01", "mixed-02")
]


def setup_of(case: Path) -> RunOptions:
    config = case / "config.yaml"
    return RunOptions(sources=[str(case / "cluster.json")], config=str(config) if config.exists() else None)


def schedulers(case: Path, count: int) -> tuple[list[Scheduler], Loaded]:
    source = load(setup_of(case))
    return [source.scheduler() for _ in range(count)], source.loaded


def state_of(scheduler: Scheduler) -> list[Any]:
    """Everything that a decision can depend on."""
    cluster = scheduler.cluster
    kinds = (PersistentVolume, PersistentVolumeClaim, ResourceClaim)
    objects = [
        sorted((each.metadata.namespace, each.metadata.name, repr(each)) for each in cluster.catalog.all(kind))
        for kind in kinds
    ]  # type: ignore[attr-defined]
    return [
        cluster.pods.node_row.tolist(),
        [cluster.pods_on(row) for row in range(len(cluster.nodes))],
        cluster.usage.requested.tolist(),
        cluster.pods.terminating.tolist(),
        sorted(cluster.preempted),
        list(scheduler.nominator.known().items()),
        objects,
    ]


def answer_of(decision: Decision) -> list[Any]:
    scores = decision.scores
    return [
        decision.result,
        decision.row,
        decision.ties.tolist(),
        decision.feasible.tolist(),
        decision.message,
        decision.nominated_node,
        decision.preemption,
        None if scores is None else {name: column.tolist() for name, column in scores.weighted.items()},
        None if decision.diagnosis is None else [decision.diagnosis.nodes.status(row) for row in range(len(decision.diagnosis.nodes))],
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_asked_first_it_decides_the_same(case: Path) -> None:
    (asked, plain), _ = schedulers(case, 2)
    turns = list(asked.turns(asked.enqueue()))
    assert turns
    for turn in turns:
        before = state_of(asked)
        foretold = answer_of(asked.decide_dry(turn.rows[0]))
        assert state_of(asked) == before
        decided = answer_of(asked.take(turn)[0])
        assert decided == answer_of(plain.take(turn)[0])
        assert foretold == decided
    assert state_of(asked) == state_of(plain)


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("case", sampled(CASES, 3))
def test_a_follower_is_in_the_state_of_its_world(case: Path, every: int) -> None:
    """At each cycle until rest, with victims that leave and pods that controllers create, however often it is asked."""
    (leader, scheduler), loaded = schedulers(case, 2)
    asked = []

    def compare(rows: Sequence[int]) -> None:
        asked.extend(rows)
        if len(asked) % every == 0:
            assert state_of(follower.catch_up()) == state_of(leader)
            assert answer_of(follower.decide_dry(rows[0])) == answer_of(leader.decide_dry(rows[0]))

    world = World(leader, loaded, trying=compare)
    follower = ShadowScheduler(ChangeLog(world), scheduler, lambda pod: pod)
    assert world.run() == "settled"
    assert len(asked) == world.cycles > 0
    assert state_of(follower.catch_up()) == state_of(leader)


def followed(*items: Any, kube_version: str = "1.36") -> tuple[World, ShadowScheduler]:
    """A world, and a follower of 1.36."""
    leads, follows = (RunOptions(objects=items, kube_version=minor) for minor in (kube_version, "1.36"))
    loaded = load_dump((), objects=items)
    world = World(make_scheduler(leads, loaded, scheduler_spec(leads)), loaded)
    follower = make_scheduler(follows, load_dump((), objects=items), scheduler_spec(follows))
    return world, ShadowScheduler(ChangeLog(world), follower, lambda pod: pod)


def test_a_follower_sees_nodes_come_and_go(tmp_path: Path) -> None:
    nodes = [make_node(name).zone(name[0]).doc() for name in ("a1", "b1", "b2")]
    pod = make_pod("p").requests(cpu="1").doc()
    world, follower = followed(*nodes, pod)
    for step in [("clone-node", "b2"), ("remove-node", "a1"), ("remove-node", "b1"), ("clone-node", "b2")]:
        take(world, step, tmp_path)
        world.queue.work()
        row = world.cluster.pods.row_of["default/p"]
        assert answer_of(follower.decide_dry(row)) == answer_of(world.scheduler.decide_dry(row))
        assert [follower.scheduler.cluster.nodes.names[at] for at in follower.row_of] == world.cluster.nodes.names


def test_a_follower_has_the_fields_that_the_minor_of_the_world_drops(tmp_path: Path) -> None:
    """Before 1.28 there are no sidecars: the init container ends, and its cpu is free again."""
    sidecar = {"name": "s", "image": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "2"}}}
    pod = make_pod("p").requests(cpu="1").spec(initContainers=[sidecar]).doc()
    world, follower = followed(make_node("n").allocatable(cpu="8", pods="10").doc(), kube_version="1.27")
    take(world, pod, tmp_path)
    world.run()
    cpu = [cluster.usage.requested[0].tolist() for cluster in (world.cluster, follower.catch_up().cluster)]
    assert cpu == [[2000], [3000]]


def test_a_follower_counts_a_victim_as_terminating_before_it_is_evicted() -> None:
    node = make_node("n").allocatable(cpu="2", pods="10")
    victim = make_pod("victim").uid("victim").requests(cpu="2").on("n").priority(1)
    urgent = make_pod("urgent").uid("urgent").requests(cpu="2").priority(9)
    world, follower = followed(node.doc(), victim.doc(), urgent.doc())
    terminating: list[Any] = []

    def compare(decision: Decision) -> None:
        both = world.scheduler, follower.catch_up()
        terminating.append([each.cluster.pods.names_of(np.flatnonzero(each.cluster.pods.terminating)) for each in both])

    world.listeners.append(compare)
    world.run()
    assert terminating[0] == [("default/victim",)] * 2


def test_scores_of_some_nodes_are_those_of_a_pod_that_fits_no_others() -> None:
    (scheduler,), _ = schedulers(CORPUS / "scoring-00", 1)
    for turn in scheduler.turns(scheduler.enqueue()):
        decision = scheduler.decide_dry(turn.rows[0])
        if decision.scores is not None:
            again = scheduler.scores_of(turn.rows[0], decision.feasible)
            assert again is not None
            assert np.array_equal(again.totals, decision.scores.totals)
            one = scheduler.scores_of(turn.rows[0], decision.feasible[:1])
            assert one is not None
            assert one.rows.tolist() == decision.feasible[:1].tolist()
        scheduler.take(turn)
