"""A world that is rolled back is the world as it was, and goes on like one in which nothing was tried."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ksched_cli.api.core import Pod
from ksched_cli.errors import KschedError
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.report.view.ends import WorldPart
from ksched_cli.sources.dump import load_dump
from ksched_cli.sources.manifests import load_manifests
from ksched_cli.sources.read_options import ManifestReading
from ksched_cli.whatif.changes import Changes
from ksched_cli.whatif.edits.lib.edit import parse_edits
from ksched_cli.wiring import scheduler_spec
from ksched_cli.world.results import Limits
from ksched_cli.world.world import World
from tests.builders import write_list
from tests.lanes import examples
from tests.running import make_scheduler
from tests.test_one_world import CLASSES, KINDS, Change, amounts, budget, node, priorities, workload
from tests.world.object_graph import graph_of

LIMITS = Limits(max_time=600.0, max_cycles=500)
# A step of a history: a change, or one of these words.
RUN, FORK, BACK = "run", "fork", "back"
APPS = ("a", "b", "c")
Step = Change | str


@st.composite
def clusters(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Nodes and workloads whose pods are not there yet, with budgets and a quota."""
    items = [*CLASSES, *(node(f"n{number}", draw(st.integers(2, 4))) for number in range(draw(st.integers(2, 4))))]
    for app in APPS:
        items.append(workload(draw(st.sampled_from(KINDS)), app, draw(amounts), draw(amounts), draw(priorities)))
        if draw(st.booleans()):
            items.append(budget(app, draw(st.sampled_from(["minAvailable", "maxUnavailable"])), draw(amounts)))
    if draw(st.booleans()):
        spec = {"hard": {"requests.cpu": str(draw(st.integers(3, 9)))}}
        metadata = {"name": "most", "namespace": "shop"}
        items.append({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": spec})
    return items


names = st.sampled_from(["n0", "n1", "n2", "n0-1"])
workloads = st.builds(workload, st.sampled_from(KINDS), st.sampled_from([*APPS, "d"]), amounts, amounts, priorities)
changes: st.SearchStrategy[Change] = st.one_of(
    st.tuples(st.sampled_from(["cordon", "uncordon", "drain", "remove-node", "clone-node"]), names),
    st.tuples(st.just("taint"), st.builds("{}=t=v:{}".format, names, st.sampled_from(["NoSchedule", "NoExecute"]))),
    st.tuples(st.just("label"), st.builds("{}=zone={}".format, names, st.sampled_from("xy"))),
    st.tuples(st.just("scale"), st.builds("deployment/shop/{}={}".format, st.sampled_from(APPS), st.integers(0, 5))),
    st.tuples(st.just("delete"), st.builds("{}/shop/{}".format, st.sampled_from(KINDS), st.sampled_from(APPS))),
    workloads,
)
histories = st.lists(st.one_of(changes, st.sampled_from([RUN, RUN, FORK, BACK, BACK])), min_size=4, max_size=14)


def begun(items: list[dict[str, Any]], folder: Path, **options: Any) -> World:
    """A world of the nodes, to which the workloads have been applied."""
    there = [item for item in items if item["kind"] in ("Node", "PriorityClass", "ResourceQuota")]
    setup = RunOptions(objects=there, **options)
    loaded = load_dump((), objects=there)
    world = World(make_scheduler(setup, loaded, scheduler_spec(setup)), loaded)
    made = [item for item in items if item not in there]
    world.apply(Changes(load_manifests([write_list(folder / "workloads.json", *made)], None, ManifestReading("shop"))))
    return world


def take(world: World, step: Step, folder: Path) -> None:
    """A change that cannot be made stops half-way, in every world at the same point."""
    if step == RUN:
        world.run(Limits(world.clock.now + LIMITS.max_time, world.cycles + LIMITS.max_cycles))
        return
    try:
        if isinstance(step, dict):
            world.apply(
                Changes(load_manifests([write_list(folder / "step.json", step)], None, ManifestReading("shop")))
            )
        elif isinstance(step, tuple):
            edits, problems = parse_edits([step])
            assert not problems
            world.apply(Changes(edits=edits, namespace="shop"))
    except KschedError:
        pass


def document(world: World) -> dict[str, Any]:
    """How the world goes on."""
    limits = Limits(world.clock.now + LIMITS.max_time, world.cycles + LIMITS.max_cycles)
    return WorldPart.of(world.result(world.run(limits))).entry()


def check_unchanged(before: dict[str, Any], after: dict[str, Any]) -> None:
    different = [path for path in before.keys() | after.keys() if before.get(path) != after.get(path)]
    told = {path: (before.get(path), after.get(path)) for path in sorted(different)[:8]}
    assert not told


def test_a_trial_that_begins_again_is_rolled_back_first(tmp_path: Path) -> None:
    world = begun([*CLASSES, node("n0", 2), workload("Deployment", "a", 1, 1, 0)], tmp_path)
    world.run()
    before = len(world.plane.store.of(Pod))
    edits, _ = parse_edits([("scale", "deployment/shop/a=2")])
    trial = world.trial(Changes(edits=edits, namespace="shop"))
    for _ in range(2):
        trial.begin()
        world.run()
        assert len(world.plane.store.of(Pod)) == before + 1
    trial.roll_back()
    assert len(world.plane.store.of(Pod)) == before


def test_a_trial_whose_second_change_fails_takes_the_first_back(tmp_path: Path) -> None:
    world = begun([*CLASSES, node("n0", 2), workload("Deployment", "a", 1, 1, 0)], tmp_path)
    world.run()
    edits, _ = parse_edits([("scale", "deployment/shop/a=2")])

    def fail(plane: object) -> None:
        raise KschedError("no")

    with pytest.raises(KschedError), world.trial(Changes(edits=edits, namespace="shop"), fail):
        pass
    world.run()
    assert len(world.plane.store.of(Pod)) == 1


@pytest.mark.slow
@given(items=clusters(), steps=st.lists(st.one_of(workloads, workloads, changes), min_size=2, max_size=6))
@settings(max_examples=examples(60), deadline=None)
def test_a_world_that_runs_after_each_change_is_as_one_without_reuse(
    items: list[dict[str, Any]], steps: list[Change]
) -> None:
    documents = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        for reuse in (True, False):
            world = begun(items, folder, reuse=reuse)
            for step in steps:
                take(world, step, folder)
                take(world, RUN, folder)
            documents.append(document(world))
    assert documents[0] == documents[1]


@pytest.mark.parametrize("reuse", [True, False])
@pytest.mark.parametrize("tried", [True, False])
def test_of_two_pods_that_started_together_the_later_one_is_preempted(tried: bool, reuse: bool, tmp_path: Path) -> None:
    """The pods of c preempt those of a and b, and start. Then a is updated and is the strongest. The start times are
    the same whether or not preemption has looked at the pods before they started."""
    apps = [("Deployment", "a", 1, 1, 0), ("StatefulSet", "b", 1, 1, 0), ("Deployment", "c", 2, 1, 10)]
    items = [*CLASSES, node("n0", 2), node("n1", 2), *(workload(*each) for each in apps)]
    world = begun(items, tmp_path, reuse=reuse)
    for step in (("cordon", "n0"), RUN, workload("Deployment", "a", 1, 1, 100)):
        take(world, step, tmp_path)
    if tried:
        with world.trial():
            pass
    take(world, ("cordon", "n0"), tmp_path)
    events = [event for event in document(world)["timeline"] if event["event"] in ("Cycle", "Preempted")]
    scheduled = [event["pod"] for event in events if event.get("decision") == "scheduled"]
    preempted = [event["pod"] for event in events if event["event"] == "Preempted"]
    _, later = (pod for pod in scheduled if pod.startswith("shop/c-"))
    assert preempted[0] == "shop/b-0"
    assert preempted[1].startswith("shop/a-")
    assert preempted[2:] == [later]


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"reuse": False}, {"tie_break": "random", "seed": 5}], ids=str)
@given(items=clusters(), history=histories, last=changes)
@example(
    # A count of a pod that fails twice is set to the value it has when it is not set.
    items=[*CLASSES, node("n0", 2), node("n1", 2), *(workload("Deployment", app, 1, 1, 0) for app in APPS)],
    history=[("cordon", "n0"), RUN, FORK, ("cordon", "n1"), RUN],
    last=("cordon", "n0"),
)
@settings(max_examples=examples(25))
def test_a_rolled_back_world_is_as_before_and_goes_on_like_one_built_anew(
    options: dict[str, Any], items: list[dict[str, Any]], history: list[Step], last: Change
) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        world = begun(items, folder, **options)
        stays: list[Step] = []
        trials: list[tuple[ExitStack, dict[str, Any]]] = []
        for step in [*history, *[BACK] * history.count(FORK)]:
            if step == FORK:
                world.plane.prepare()
                stack = ExitStack()
                trials.append((stack, graph_of(world)))
                stack.enter_context(world.trial())
            elif step == BACK:
                if trials:
                    stack, before = trials.pop()
                    stack.close()
                    check_unchanged(before, graph_of(world))
            else:
                take(world, step, folder)
                if not trials:
                    stays.append(step)
        anew = begun(items, folder, **options)
        for step in (*stays, last):
            take(anew, step, folder)
        take(world, last, folder)
        assert document(world) == document(anew)
