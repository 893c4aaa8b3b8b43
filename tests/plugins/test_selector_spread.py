"""SelectorSpread, in 1.21 with the gate DefaultPodTopologySpread off."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.api.core import Pod, Service
from ksched_cli.plugins.selector_spread import SelectorSpread
from ksched_cli.releases.minors import RELEASES
from tests.builders import make_node, make_pod
from tests.harness import make_bench
from tests.lanes import examples

OLD = RELEASES["1.21"]
SERVICE = msgspec.convert(
    {"metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": {"app": "a"}}}, Service
)


def labelled(name: str, app: str, on: str = "") -> Pod:
    builder = make_pod(name).label("app", app)
    return (builder.on(on).phase("Running") if on else builder).obj()


@given(
    placed=st.lists(
        st.tuples(st.sampled_from(("", "z0", "z1")), st.lists(st.sampled_from("ab"), max_size=4)),
        min_size=2,
        max_size=5,
    )
)
@settings(max_examples=examples(80), deadline=None)
def test_agrees_with_the_plain_reading(placed: list[tuple[str, list[str]]]) -> None:
    nodes, running = [], []
    for index, (zone, apps) in enumerate(placed):
        node = make_node(f"n{index}")
        nodes.append((node.zone(zone) if zone else node).obj())
        running += [labelled(f"run-{index}-{at}", app, on=f"n{index}") for at, app in enumerate(apps)]
    made = make_bench(SelectorSpread, nodes, labelled("new", "a"), running, objects=[SERVICE], current=OLD)
    counts = [apps.count("a") for _, apps in placed]
    assert made.scores() == {f"n{index}": count for index, count in enumerate(counts)}
    assert made.scores(normalized=True) == {f"n{index}": each for index, each in enumerate(plainly(placed, counts))}


def plainly(placed: list[tuple[str, list[str]]], counts: list[int]) -> list[int]:
    zones: dict[str, int] = {}
    for (zone, _), count in zip(placed, counts, strict=True):
        if zone:
            zones[zone] = zones.get(zone, 0) + count
    most, fullest = max(counts), max(zones.values(), default=0)
    found = []
    for (zone, _), count in zip(placed, counts, strict=True):
        score = 100.0 * ((most - count) / most) if most else 100.0
        if zone:
            share = 100.0 * ((fullest - zones[zone]) / fullest) if fullest else 100.0
            score = score * (1.0 - 2.0 / 3.0) + 2.0 / 3.0 * share
        found.append(int(score))
    return found


def test_a_pod_with_constraints_of_its_own_is_left_to_them() -> None:
    constraint: dict[str, Any] = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    pod = make_pod("new").label("app", "a").spec(topologySpreadConstraints=[constraint]).obj()
    running = [labelled("run", "a", on="n")]
    made = make_bench(SelectorSpread, [make_node("n").obj()], pod, running, objects=[SERVICE], current=OLD)
    assert made.scores(normalized=True) == {"n": 0}


def test_a_pod_of_no_service_scores_alike_everywhere() -> None:
    nodes = [make_node("a").obj(), make_node("b").obj()]
    made = make_bench(SelectorSpread, nodes, labelled("new", "x"), [labelled("run", "x", on="a")], current=OLD)
    assert made.scores(normalized=True) == {"a": 100, "b": 100}
