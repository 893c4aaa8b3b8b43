"""Random clusters for properties: small enough to be shrunk, odd enough to be worth it."""

from __future__ import annotations

from typing import Any

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

cpus = st.integers(0, 5000).map(lambda milli: f"{milli}m")
memories = st.integers(0, 9000).map(lambda mebi: f"{mebi}Mi")


@st.composite
def nodes(draw: st.DrawFn, name: str) -> Node:
    builder = make_node(name).allocatable(
        cpu=draw(cpus), memory=draw(memories), pods=draw(st.integers(0, 6)), example_com__gpu=draw(st.integers(0, 3))
    )
    if draw(st.booleans()):
        builder.zone(draw(st.sampled_from(ZONES)))
    for key in ("disk", "gen"):
        if draw(st.booleans()):
            builder.label(key, draw(st.sampled_from(LABEL_VALUES)))
    for taint in draw(st.lists(st.sampled_from(TAINTS), max_size=2, unique=True)):
        builder.taint(*taint)
    for image in draw(st.lists(st.sampled_from(IMAGES), max_size=3, unique=True)):
        # Nodes agree on an image's size: where they do not, kube-scheduler goes by whichever it heard of first.
        builder.image((IMAGES.index(image) + 1) * 700_000_000, image)
    if draw(st.integers(0, 5)) == 0:
        builder.cordoned()
    return builder.obj()


@st.composite
def pods(draw: st.DrawFn, name: str, on: str = "") -> Pod:
    builder = make_pod(name).image(draw(st.sampled_from(IMAGES))).priority(draw(st.integers(-1, 2)))
    requests: dict[str, Any] = {}
    for resource, amounts in (("cpu", cpus), ("memory", memories), ("example_com__gpu", st.integers(0, 2))):
        if draw(st.booleans()):
            requests[resource] = draw(amounts)
    builder.requests(**requests)
    if draw(st.integers(0, 2)) == 0:
        builder.host_port(draw(st.sampled_from(PORTS)), address=draw(st.sampled_from(("", "10.0.0.1", "10.0.0.2"))))
    if on:
        return builder.on(on).phase("Running").obj()
    return _with_wishes(draw, builder)


def _with_wishes(draw: st.DrawFn, builder: Any) -> Pod:
    if draw(st.booleans()):
        builder.toleration(
            "spot", draw(st.sampled_from(("Equal", "Exists"))), "true", draw(st.sampled_from(("", "NoSchedule")))
        )
    if draw(st.integers(0, 3)) == 0:
        builder.selector(disk=draw(st.sampled_from(LABEL_VALUES)))
    if draw(st.integers(0, 2)) == 0:
        builder.node_affinity(*draw(st.lists(terms(), min_size=1, max_size=2)))
    for _ in range(draw(st.integers(0, 2))):
        builder.prefers(draw(st.integers(1, 100)), draw(terms()))
    return builder.obj()


@st.composite
def terms(draw: st.DrawFn) -> dict[str, Any]:
    operator = draw(st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")))
    key = draw(st.sampled_from(("disk", "gen", "topology.kubernetes.io/zone")))
    if operator in ("Exists", "DoesNotExist"):
        return term((key, operator, []))
    if operator in ("Gt", "Lt"):
        return term((key, operator, [str(draw(st.integers(0, 20)))]))
    return term((key, operator, draw(st.lists(st.sampled_from(LABEL_VALUES), min_size=1, max_size=2))))


@st.composite
def clusters(draw: st.DrawFn, max_nodes: int = 6, max_running: int = 8) -> tuple[list[Node], list[Pod], Pod]:
    """Nodes, the pods that run on them, and a pending pod."""
    names = [f"n{index}" for index in range(draw(st.integers(1, max_nodes)))]
    made = [draw(nodes(name)) for name in names]
    count = draw(st.integers(0, max_running))
    running = [draw(pods(f"run-{index}", draw(st.sampled_from(names)))) for index in range(count)]
    return made, running, draw(pods("new"))
