"""Devices that stand for resources of their node, on drawn clusters: against a plain reading of the Go source, and what
holds of whole runs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.harness import decide, make_scheduler
from tests.plugins.lib.devices.resources import GPU, exactly, make_claim, on_node
from tests.plugins.test_node_resource_claims import (
    GATE,
    HOPELESS,
    SHORT,
    claiming,
    counting,
    mapping,
    node,
    refused,
    used,
)


def plain_refusal(
    free_devices: int, devices_wanted: int, taken: dict[str, int], own: dict[str, int], node_: Any
) -> Any:
    """nodeFitsResources after a search for equal devices: code and reasons, or None. Amounts are in the units that
    the cache counts."""
    if devices_wanted > free_devices:
        return HOPELESS, ("cannot allocate all claims",)
    if not taken:
        return None
    reasons, hopeless = [], False
    for name in ("cpu", "memory"):
        demand = own[name] + devices_wanted * taken.get(name, 0)
        if demand > 0 and demand > node_["allocatable"][name] - node_["requested"][name]:
            reasons.append(f"Insufficient {name}")
            hopeless = hopeless or demand > node_["allocatable"][name]
    return (HOPELESS if hopeless else SHORT, tuple(reasons)) if reasons else None


AMOUNTS = st.fixed_dictionaries({"cpu": st.integers(0, 3000), "memory": st.integers(0, 5)})
NODES = st.lists(
    st.fixed_dictionaries(
        {
            "allocatable": st.fixed_dictionaries({"cpu": st.integers(0, 6000), "memory": st.integers(0, 12)}),
            "requests": AMOUNTS,
            "claims": AMOUNTS,
            "devices": st.integers(0, 3),
            "mapped": st.fixed_dictionaries({}, optional={"cpu": st.integers(1, 2500), "memory": st.integers(1, 4)}),
        }
    ),
    min_size=1,
    max_size=4,
)


def quantities(amounts: dict[str, int]) -> dict[str, Any]:
    return {name: f"{amount}m" if name == "cpu" else str(amount) for name, amount in amounts.items()}


@given(NODES, AMOUNTS, st.integers(1, 2))
def test_every_node_is_judged_as_by_a_plain_reading(drawn: Any, own: dict[str, int], count: int) -> None:
    nodes: list[Any] = []
    running: list[Any] = []
    objects: list[Any] = []
    expected: dict[str, Any] = {}
    for at, each in enumerate(drawn):
        name = f"n{at}"
        nodes.append(node(name, **quantities(each["allocatable"])))
        running.append(counting(f"r{at}", name, **quantities(each["claims"])).requests(**quantities(each["requests"])))
        mapped = mapping(**quantities(each["mapped"]))
        objects.append(on_node(name, *(f"d{number}" for number in range(each["devices"])), **mapped))
        held_ = {key: each["requests"][key] + each["claims"][key] for key in own}
        refusal = plain_refusal(each["devices"], count, each["mapped"], own, {**each, "requested": held_})
        if refusal is not None:
            expected[name] = refusal
    pod, claim = claiming("p", "c", **quantities(own)).obj(), make_claim("c", exactly(count=count))
    assert refused(nodes, pod, claim, *objects, running=[each.obj() for each in running]) == expected


# Per pod what it requests, how many devices, and its priority.
WANTED = st.lists(st.tuples(AMOUNTS, st.integers(0, 2), st.integers(-1, 1)), min_size=1, max_size=6)


def cluster_of(drawn: Any, wanted: Any, **options: Any) -> Any:
    """A scheduler over the drawn nodes, each with a pod of priority 0 that runs there, and the wanted pods."""
    nodes: list[Any] = []
    pods: list[Any] = []
    objects: list[Any] = [GPU]
    for at, each in enumerate(drawn):
        nodes.append(node(f"n{at}", **quantities(each["allocatable"])))
        names = [f"d{number}" for number in range(each["devices"])]
        objects.append(on_node(f"n{at}", *names, **mapping(**quantities(each["mapped"]))))
        running = counting(f"r{at}", f"n{at}", **quantities(each["claims"])).requests(**quantities(each["requests"]))
        pods.append(running.priority(0).obj())
    for at, (own, count, priority) in enumerate(wanted):
        claims = [f"c{at}"] if count else []
        objects += [make_claim(claim, exactly(count=count)) for claim in claims]
        pods.append(claiming(f"p{at}", *claims, **quantities(own)).priority(priority).obj())
    return make_scheduler(nodes, pods, objects=objects, gates=GATE, **options)


def outcomes(scheduler: Any) -> dict[str, Any]:
    names_of = scheduler.cluster.pods.names_of
    return {
        key: (each.row, each.message, each.nominated_node, each.preemption and names_of(each.preemption.victims))
        for key, each in decide(scheduler).items()
    }


@given(NODES, WANTED)
def test_nodes_count_what_their_pods_and_claims_take(drawn: Any, wanted: Any) -> None:
    scheduler = cluster_of(drawn, wanted)
    found = outcomes(scheduler)
    for row, each in enumerate(drawn):
        there = [at for at in range(len(wanted)) if found[f"default/p{at}"][0] == row]
        for name in ("cpu", "memory"):
            new = sum(wanted[at][0][name] + wanted[at][1] * each["mapped"].get(name, 0) for at in there)
            total = each["requests"][name] + each["claims"][name] + new
            assert used(scheduler.cluster, name, row) == total
            assert not new or total <= each["allocatable"][name]


@pytest.mark.slow
@given(NODES, WANTED)
def test_what_is_kept_between_cycles_changes_nothing(drawn: Any, wanted: Any) -> None:
    assert outcomes(cluster_of(drawn, wanted)) == outcomes(cluster_of(drawn, wanted, reuse=False))


@given(NODES, WANTED)
def test_a_roll_back_takes_the_amounts_back(drawn: Any, wanted: Any) -> None:
    scheduler = cluster_of(drawn, wanted)
    cluster = scheduler.cluster
    before, pods = cluster.usage.requested.copy(), [info.pod for info in cluster.pods.infos]
    with cluster.undo.trial():
        decide(scheduler)
    assert cluster.usage.requested[: len(before)].tolist() == before.tolist()
    assert [info.pod for info in cluster.pods.infos] == pods
