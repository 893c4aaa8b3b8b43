"""Random clusters for properties: small enough to be shrunk, odd enough to be worth it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any, TypeVar

from hypothesis import strategies as st

from ksched_cli.api.core import Node, Pod
from tests.builders import make_node, make_pod, term

ZONES = ("z0", "z1", "z2")
LABEL_VALUES = ("a", "b", "5", "17")
TAINTS = (
    ("spot", "true", "NoSchedule"),
    ("spot", "true", "PreferNoSchedule"),
    ("soft", "", "PreferNoSchedule"),
    ("gone", "x", "NoExecute"),
)
IMAGES = tuple(f"registry.local/app-{index}:v1" for index in range(4))
PORTS = (80, 443)
T = TypeVar("T")


def sets_of(values: Sequence[T], most: int) -> st.SearchStrategy[tuple[T, ...]]:
    """None of the values in half of the draws, else up to `most` of them in any order. One draw is several times faster
    than a list of draws, and most of the time of a property goes into draws."""
    found = [each for size in range(1, most + 1) for each in permutations(values, size)]
    return st.sampled_from([()] * len(found) + found)


def maybe(values: Sequence[T]) -> st.SearchStrategy[T | None]:
    """None in half of the draws, else one of the values."""
    return st.sampled_from([None] * len(values) + [*values])


cpus = st.integers(0, 5000).map(lambda milli: f"{milli}m")
memories = st.integers(0, 9000).map(lambda mebi: f"{mebi}Mi")
# Strategies that are made once: making one takes as long as drawing from it.
# Amount and unit of a request. A pod has none where the amount is negative.
_REQUESTS = {
    "cpu": (st.integers(-5000, 5000), "m"),
    "memory": (st.integers(-9000, 9000), "Mi"),
    "example_com__gpu": (st.integers(-3, 2), ""),
}
_GPUS, _MOST_PODS, _PRIORITIES = st.integers(0, 3), st.integers(0, 6), st.integers(-1, 2)
_BOOLEANS, _ONE_IN_6, _ONE_IN_4, _ONE_IN_3 = st.booleans(), st.integers(0, 5), st.integers(0, 3), st.integers(0, 2)
_MAYBE_ZONE, _MAYBE_VALUE = maybe(ZONES), maybe(LABEL_VALUES)
_TAINTS, _IMAGES, _IMAGE = sets_of(TAINTS, 2), sets_of(IMAGES, 3), st.sampled_from(IMAGES)
_PORTS = st.sampled_from([(port, address) for port in PORTS for address in ("", "10.0.0.1", "10.0.0.2")])
_TOLERATIONS = st.sampled_from(
    [(operator, effect) for operator in ("Equal", "Exists") for effect in ("", "NoSchedule")]
)
_VALUE, _VALUES = st.sampled_from(LABEL_VALUES), st.lists(st.sampled_from(LABEL_VALUES), min_size=1, max_size=2)
_OPERATOR = st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
_KEY = st.sampled_from(("disk", "gen", "topology.kubernetes.io/zone"))
_NUMBER, _WEIGHT = st.integers(0, 20).map(str), st.integers(1, 100)


@st.composite
def nodes(draw: st.DrawFn, name: str) -> Node:
    builder = make_node(name).allocatable(
        cpu=draw(cpus), memory=draw(memories), pods=draw(_MOST_PODS), example_com__gpu=draw(_GPUS)
    )
    if zone := draw(_MAYBE_ZONE):
        builder.zone(zone)
    for key in ("disk", "gen"):
        if value := draw(_MAYBE_VALUE):
            builder.label(key, value)
    for taint in draw(_TAINTS):
        builder.taint(*taint)
    for image in draw(_IMAGES):
        # Nodes agree on an image's size: where they do not, kube-scheduler goes by whichever it heard of first.
        builder.image((IMAGES.index(image) + 1) * 700_000_000, image)
    if draw(_ONE_IN_6) == 0:
        builder.cordoned()
    return builder.obj()


@st.composite
def pods(draw: st.DrawFn, name: str, on: str = "") -> Pod:
    builder = make_pod(name).image(draw(_IMAGE)).priority(draw(_PRIORITIES))
    amounts = ((resource, draw(amount), unit) for resource, (amount, unit) in _REQUESTS.items())
    builder.requests(**{resource: f"{amount}{unit}" for resource, amount, unit in amounts if amount >= 0})
    if draw(_ONE_IN_3) == 0:
        port, address = draw(_PORTS)
        builder.host_port(port, address=address)
    if on:
        return builder.on(on).phase("Running").obj()
    return _with_wishes(draw, builder)


def _with_wishes(draw: st.DrawFn, builder: Any) -> Pod:
    if draw(_BOOLEANS):
        operator, effect = draw(_TOLERATIONS)
        builder.toleration("spot", operator, "true", effect)
    if draw(_ONE_IN_4) == 0:
        builder.selector(disk=draw(_VALUE))
    if draw(_ONE_IN_3) == 0:
        builder.node_affinity(*draw(_LISTS_OF_TERMS))
    for _ in range(draw(_ONE_IN_3)):
        builder.prefers(draw(_WEIGHT), draw(_TERMS))
    return builder.obj()


@st.composite
def terms(draw: st.DrawFn) -> dict[str, Any]:
    operator, key = draw(_OPERATOR), draw(_KEY)
    if operator in ("Exists", "DoesNotExist"):
        return term((key, operator, []))
    if operator in ("Gt", "Lt"):
        return term((key, operator, [draw(_NUMBER)]))
    return term((key, operator, draw(_VALUES)))


_TERMS = terms()
_LISTS_OF_TERMS = st.lists(_TERMS, min_size=1, max_size=2)


@st.composite
def clusters(draw: st.DrawFn, max_nodes: int = 6, max_running: int = 8) -> tuple[list[Node], list[Pod], Pod]:
    """Nodes, the pods that run on them, and a pending pod."""
    names = [f"n{index}" for index in range(draw(st.integers(1, max_nodes)))]
    made = [draw(nodes(name)) for name in names]
    count = draw(st.integers(0, max_running))
    running = [draw(pods(f"run-{index}", draw(st.sampled_from(names)))) for index in range(count)]
    return made, running, draw(pods("new"))
