"""Histories with claims, devices, disks and services against a scheduler that computes everything again for each pod: every
plugin of the default profile takes part, in several minors."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ksched_cli.api.core import Node, Pod, Service
from ksched_cli.api.storage import PersistentVolumeClaim
from ksched_cli.releases.minors import nearest_release
from tests.builders import make_node, make_pod
from tests.clusters import ZONES, pods
from tests.engine.answers.test_answers import BACK, FORK, STEPS, History, Step, templates
from tests.engine.answers.test_reuse import HOST, ZONE
from tests.harness import make_scheduler
from tests.lanes import examples
from tests.plugins.lib.devices.resources import GPU, exactly, make_claim, on_node, pod_with
from tests.plugins.storage import claim, csi_driver, csi_node, pool, storage_class, volume, with_claims, with_volumes

DEVICE_CLAIMS = ("gpu-0", "gpu-1", "both")
VOLUME_CLAIMS = ("late", "wide", "in-z0", "handle-0", "handle-1", "alone", "labelled", "missing")
OBJECTS = (
    GPU,
    on_node("n0", "d0", "d1"),
    on_node("n1", "d0"),
    make_claim("gpu-0", exactly()),
    make_claim("gpu-1", exactly()),
    make_claim("both", exactly(count=2)),
    storage_class(),
    csi_driver(),
    pool("z0", "5Gi"),
    pool("z1", "1Gi"),
    csi_node("n0", 1),
    csi_node("n1", 0),
    claim("late"),
    claim("wide", size="3Gi"),
    claim("in-z0", volume="pv-z0"),
    claim("handle-0", volume="pv-0"),
    claim("handle-1", volume="pv-1"),
    claim("alone", volume="pv-2", modes=("ReadWriteOncePod",)),
    claim("labelled", volume="pv-3"),
    volume("pv-3", labels={ZONE: "z1"}, owner="labelled"),
    volume("pv-z0", zone="z0", owner="in-z0"),
    volume("pv-0", handle="h0", owner="handle-0"),
    volume("pv-1", handle="h1", owner="handle-1"),
    volume("pv-2", handle="h2", owner="alone", modes=("ReadWriteOncePod",)),
    msgspec.convert(
        {"metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": {"app": "app-0"}}}, Service
    ),
)


def with_disks(*disks: str) -> Pod:
    """A pod with disks of the cloud that limits of disks count."""
    volumes = [{"name": disk, "awsElasticBlockStore": {"volumeID": disk}} for disk in disks]
    return with_volumes(*volumes)


@st.composite
def kinds(draw: st.DrawFn) -> list[Pod]:
    own = st.one_of(
        st.sampled_from(DEVICE_CLAIMS).map(lambda name: pod_with("x", name)),
        st.lists(st.sampled_from(VOLUME_CLAIMS), min_size=1, max_size=2, unique=True).map(
            lambda each: with_claims(*each)
        ),
        st.lists(st.sampled_from("abc"), min_size=1, max_size=2, unique=True).map(lambda each: with_disks(*each)),
        st.just(make_pod("x").label("app", "app-0").requests(cpu="100m").obj()),
        pods("kind"),
    )
    return draw(st.lists(own, min_size=2, max_size=5)) + draw(templates())[:1]


@st.composite
def histories(draw: st.DrawFn, more: tuple[str, ...] = ()) -> tuple[list[Node], list[Pod], list[Step]]:
    made = []
    for index in range(draw(st.integers(2, 5))):
        builder = make_node(f"n{index}").allocatable(cpu="4", memory="8Gi", pods=draw(st.integers(2, 6)))
        made.append(builder.label(HOST, f"n{index}").label(ZONE, draw(st.sampled_from(ZONES))).obj())
    steps = st.tuples(st.sampled_from((*STEPS, *more, "claim", FORK, BACK)), st.integers(0, 11))
    return made, draw(kinds()), draw(st.lists(steps, min_size=8, max_size=24))


class ClaimHistory(History):
    """A history in a cluster with claims and devices. The step "claim" writes to a claim."""

    def __init__(self, made: list[Node], kinds: list[Pod], minor: str, *, reuse: bool) -> None:
        super().__init__(made, kinds, reuse=reuse)
        objects = copy.deepcopy(OBJECTS)
        self.scheduler = make_scheduler(
            copy.deepcopy(made), [], objects=objects, reuse=reuse, current=nearest_release(minor)
        )

    def take(self, step: Step) -> Any:
        if step[0] != "claim":
            return super().take(step)
        catalog = self.scheduler.cluster.catalog
        found = catalog.get(PersistentVolumeClaim, VOLUME_CLAIMS[step[1] % 2], "default")
        assert found is not None
        annotations = {**found.metadata.annotations, "step": str(step[1])}
        catalog.put(replace(found, metadata=replace(found.metadata, annotations=annotations)))
        return None


MINORS = ["1.37", "1.30", *(pytest.param(minor, marks=pytest.mark.slow) for minor in ("1.34", "1.23", "1.19"))]


@pytest.mark.slow
@pytest.mark.parametrize("minor", MINORS)
def test_every_step_has_the_same_outcome_as_without_reuse(minor: str) -> None:
    @given(histories())
    @settings(max_examples=examples(60), deadline=None)
    def check(drawn: tuple[list[Node], list[Pod], list[Step]]) -> None:
        made, kinds, steps = drawn
        repaired, afresh = (ClaimHistory(made, kinds, minor, reuse=reuse) for reuse in (True, False))
        forks = 0
        for step in steps:
            if step[0] in (FORK, BACK):
                if step[0] == BACK and not forks:
                    continue
                forks += 1 if step[0] == FORK else -1
                for each in (repaired, afresh):
                    each.fork() if step[0] == FORK else each.back()
                continue
            outcome = repaired.take(step)
            assert outcome == afresh.take(step), step
            if outcome is not None:
                event(outcome.result)
                for group in outcome.failures:
                    event(group.plugin)

    check()
