"""Whatever happens to a cluster, in whichever order: the cache is the one that would be built afresh, every pending pod
is in one queue, and no pod that could be scheduled is left behind."""

from __future__ import annotations

import copy
from contextlib import nullcontext
from importlib.util import find_spec
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ksched_cli.api.core import Namespace, Node, Pod
from ksched_cli.engine.handlers import assigned
from ksched_cli.engine.loop import LoopStep, SchedulingLoop, queue_settings
from ksched_cli.plan.simulate import OutputOptions, outcome_of
from tests.builders import make_node, make_pod
from tests.cluster.test_cache import facts
from tests.harness import make_scheduler
from tests.lanes import examples

ZONE = "topology.kubernetes.io/zone"
NAMES = ("n0", "n1", "n2", "n3")
APPS = ("a", "b")


def near(app: str, *, far: bool = False) -> dict[str, Any]:
    rule = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": ZONE, "namespaceSelector": {}}
    kind = "podAntiAffinity" if far else "podAffinity"
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}}


def spread(app: str) -> dict[str, Any]:
    return {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": ZONE,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": app}},
            }
        ]
    }


WISHES = [{}, *(near(app) for app in APPS), *(near(app, far=True) for app in APPS), *(spread(app) for app in APPS)]


@st.composite
def nodes(draw: st.DrawFn, name: str) -> Node:
    """Few kinds, so that what comes is often what somebody waits for."""
    builder = make_node(name).zone(draw(st.sampled_from(("z0", "z1"))))
    builder.allocatable(cpu=draw(st.sampled_from(("1", "2", "4"))), memory="4Gi", pods=draw(st.sampled_from((1, 4))))
    rare = st.integers(0, 3).map(lambda number: number == 0)
    if draw(rare):
        builder.taint("spot", "true")
    if draw(rare):
        builder.cordoned()
    if draw(st.booleans()):
        builder.label(disk="ssd")
    return builder.obj()


@st.composite
def pods(draw: st.DrawFn, name: str, on: str) -> Pod:
    builder = make_pod(name).label(app=draw(st.sampled_from(APPS))).priority(draw(st.integers(0, 2)))
    builder.requests(cpu=draw(st.sampled_from(("100m", "1", "2")))).spec(**draw(st.sampled_from(WISHES)))
    if draw(st.booleans()):
        builder.uid(f"uid-{name}")
    kind = draw(st.integers(0, 9))
    if kind == 0:
        builder.toleration("spot", "Exists")
    elif kind == 1:
        builder.selector(disk="ssd")
    elif kind == 2 and not on:
        builder.gate("hold")
    elif kind == 3:
        # Not the same port twice: a port is a set, as in Go, and two pods that share one make the history matter.
        builder.host_port(1000 + int(name[1:]))
    return (builder.on(on).phase("Running") if on else builder).obj()


PROBES = [
    make_pod(f"probe-{index}")
    .uid(f"probe-{index}")
    .label(app="a")
    .requests(cpu="100m")
    .priority(-5)
    .spec(preemptionPolicy="Never", **wish)
    .obj()
    for index, wish in enumerate(WISHES)
]


class World:
    """A loop, and the events that a test lets happen to it."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data
        self.count = 0
        made = [data.draw(nodes(name)) for name in NAMES[:2]]
        scheduler = make_scheduler(made, [])
        # Nobody is brought back because he has waited for long: the hints have to do.
        settings = replace(queue_settings(scheduler), most_in_unschedulable=1e12)
        self.loop = SchedulingLoop(scheduler, settings=settings)
        self.cluster = self.loop.cluster
        for _ in range(4):
            self.new_pod()

    def draw(self, strategy: Any) -> Any:
        return self.data.draw(strategy)

    def live(self) -> list[Pod]:
        pods = self.cluster.pods
        return [info.pod for row, info in enumerate(pods.infos) if row not in pods.gone]

    def some_pod(self) -> Pod | None:
        live = self.live()
        return self.draw(st.sampled_from(live)) if live else None

    # Events

    def node_event(self) -> None:
        name = self.draw(st.sampled_from(NAMES))
        known = name in self.cluster.nodes.row_of
        if known and self.draw(st.integers(0, 3)) == 0:
            self.loop.handlers.delete(self.cluster.nodes.objects[self.cluster.nodes.row_of[name]])
        else:
            self.loop.handlers.put(self.draw(nodes(name)))

    def new_pod(self) -> None:
        self.count += 1
        name = f"p{self.count}"
        on = self.draw(st.sampled_from(("", "", *NAMES)))
        pod = self.draw(pods(name, on))
        self.loop.handlers.put(pod)

    def changed_pod(self) -> None:
        pod = self.some_pod()
        if pod is None:
            return
        new = copy.deepcopy(pod)
        match self.draw(
            st.sampled_from(("label", "label", "label", "smaller", "toleration", "gates", "done", "nothing"))
        ):
            case "label":
                new.metadata.labels = {"app": "b" if pod.metadata.labels.get("app") == "a" else "a"}
            case "smaller":
                new.spec.containers[0].resources = make_pod().requests(cpu="1m").obj().spec.containers[0].resources
            case "toleration":
                new.spec.tolerations = make_pod().toleration("spot", "Exists").obj().spec.tolerations
            case "gates":
                new.spec.scheduling_gates = ()
            case "done":
                new.status.phase = "Succeeded"
        self.loop.handlers.put(new)

    def gone_pod(self) -> None:
        pod = self.some_pod()
        if pod is not None:
            self.loop.handlers.delete(pod)

    def namespace(self) -> None:
        labels = self.draw(st.sampled_from(({}, {"team": "x"})))
        self.loop.handlers.put(Namespace(metadata=replace(make_node("default").obj().metadata, labels=labels)))

    def cycle(self) -> None:
        self.follow(self.loop.step())

    def follow(self, step: LoopStep | None) -> None:
        """Victims are told to leave."""
        for decision in step.decisions if step else ():
            for victim in decision.preemption.victims if decision.preemption else ():
                pod = self.cluster.pods.infos[victim].pod
                leaving = replace(pod.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
                self.loop.handlers.put(replace(pod, metadata=leaving))

    def time(self) -> None:
        self.loop.advance_to(self.loop.clock.now + self.draw(st.sampled_from((1, 5, 40))))

    def settle(self) -> None:
        """Those who were told to leave do so, and whatever then moves may move."""
        for _ in range(1000):
            step = self.loop.step()
            if step is not None:
                self.follow(step)
                continue
            leaving = [pod for pod in self.live() if pod.metadata.deletion_timestamp is not None]
            moment = self.loop.next_moment()
            if leaving:
                self.loop.handlers.delete(leaving[0])
            elif moment is not None and moment < 1e9:
                self.loop.advance_to(moment)
            else:
                return
        raise AssertionError("it never settles")

    # What must hold

    def fresh(self) -> Any:
        """A scheduler that has never seen anything else."""
        pods = self.cluster.pods
        known = [
            assigned(info.pod, self.cluster.nodes.names[pods.node_row[row]]) if pods.node_row[row] >= 0 else info.pod
            for row, info in enumerate(pods.infos)
            if row not in pods.gone
        ]
        return make_scheduler(
            list(self.cluster.nodes.arrival), copy.deepcopy(known), objects=list(self.cluster.catalog.all(Namespace))
        )

    def check(self) -> None:
        fresh = self.fresh()
        assert facts_of_the_living(self.cluster) == facts_of_the_living(fresh.cluster)
        self.check_queues()
        self.check_probe(fresh)

    def check_queues(self) -> None:
        queue, pods = self.loop.queue, self.cluster.pods
        places = [pod.row for pod in queue] + list(queue.in_flight)
        waiting = [row for row, info in enumerate(pods.infos) if row not in pods.gone and not info.pod.spec.node_name]
        skipped = {row for row in waiting if pods.infos[row].pod.metadata.deletion_timestamp is not None}
        assert len(places) == len(set(places))
        assert set(waiting) - skipped <= set(places) <= set(waiting)

    def check_probe(self, fresh: Any) -> None:
        """What plugins remember is what they would find out: a pod of no weight is judged alike."""
        for probe in PROBES:
            answers = []
            for scheduler in (self.loop.scheduler, fresh):
                row = scheduler.cluster.register(copy.deepcopy(probe))
                answers.append(outcome_of(scheduler.schedule(row), scheduler.cluster, OutputOptions(detail=True)))
                scheduler.cluster.remove_pod(row)
            assert answers[0] == answers[1]

    def check_nobody_left_behind(self) -> None:
        for pod in self.loop.queue:
            if not pod.gated:
                fresh = self.fresh()
                row = fresh.cluster.pods.row_of[pod.info.uid]
                assert fresh.schedule(row).result != "scheduled", pod.info.key


def facts_of_the_living(cluster: Any) -> dict[str, Any]:
    """Pods that are gone may still be known by row."""
    found = facts(cluster)
    keys = {info.key for row, info in enumerate(cluster.pods.infos) if row not in cluster.pods.gone}
    for each in found.values():
        each["taken"] &= keys
    return found


@pytest.mark.slow
@given(st.data())
@settings(max_examples=examples(40), deadline=None)
def test_any_history(data: st.DataObject) -> None:
    share = "ksched_cli.engine.answers.ranking._AFRESH_SHARE"
    few = data.draw(st.sampled_from((0, 8)))
    # Without the memory there is nothing to set.
    with patch(share, few) if find_spec("ksched_cli.engine.answers") else nullcontext():
        world = World(data)
        events = (
            world.node_event,
            world.new_pod,
            world.new_pod,
            world.changed_pod,
            world.changed_pod,
            world.gone_pod,
            world.namespace,
            world.cycle,
            world.cycle,
            world.time,
        )
        for event in data.draw(st.lists(st.sampled_from(range(len(events))), min_size=8, max_size=16)):
            events[event]()
            world.check()
        world.settle()
        world.check()
        world.check_nobody_left_behind()
