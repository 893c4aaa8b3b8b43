from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.plugins.volume_zone import VolumeZone
from tests.builders import make_node
from tests.harness import make_bench
from tests.lanes import examples
from tests.plugins.storage import claim, storage_class, volume, with_claims

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
CONFLICT = ("UnschedulableAndUnresolvable", ("node(s) had no available volume zone",))


@pytest.mark.parametrize(
    ("volume_labels", "node_labels", "passes"),
    [
        pytest.param({ZONE: "a"}, {ZONE: "a"}, True, id="the zone"),
        pytest.param({ZONE: "a"}, {ZONE: "b"}, False, id="another zone"),
        pytest.param({ZONE: "a__b"}, {ZONE: "b"}, True, id="one of several zones"),
        pytest.param({ZONE: "a__"}, {ZONE: "b"}, True, id="a list with an empty entry is left out"),
        pytest.param({ZONE: "a"}, {}, True, id="a node without any of the labels"),
        pytest.param({ZONE: "a"}, {REGION: "r"}, False, id="a node with another of the labels"),
        pytest.param({ZONE: "a", REGION: "r"}, {ZONE: "a", REGION: "s"}, False, id="all labels must agree"),
        pytest.param({BETA_ZONE: "a"}, {ZONE: "a"}, True, id="beta volume on a GA node"),
        pytest.param({BETA_ZONE: "a"}, {BETA_ZONE: "b", ZONE: "a"}, False, id="the node's beta label is asked first"),
        pytest.param({ZONE: "a"}, {BETA_ZONE: "a"}, False, id="GA volume on a beta node"),
        pytest.param({BETA_REGION: "r"}, {REGION: "r"}, True, id="beta region"),
    ],
)
def test_filter(volume_labels: dict[str, str], node_labels: dict[str, str], passes: bool) -> None:
    node = make_node("n")
    for key, value in node_labels.items():
        node.label(key, value)
    made = make_bench(
        VolumeZone, [node.obj()], with_claims("data"), objects=[claim(volume="pv"), volume(labels=volume_labels)]
    )
    assert made.statuses() == ({} if passes else {"n": CONFLICT})


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        pytest.param([], 'persistentvolumeclaim "data" not found', id="no claim"),
        pytest.param([claim(volume="pv")], 'persistentvolume "pv" not found', id="no volume"),
        pytest.param([claim(cls=None)], "PersistentVolumeClaim had no pv name and storageClass name", id="no class"),
        pytest.param([claim()], 'storageclass.storage.k8s.io "late" not found', id="class is missing"),
        pytest.param(
            [claim(), storage_class(mode=None)],
            'VolumeBindingMode not set for StorageClass "late"',
            id="class without a mode",
        ),
        pytest.param(
            [claim(), storage_class(mode="Immediate")], "PersistentVolume had no name", id="should have been bound"
        ),
    ],
)
def test_pods_that_no_node_can_help(objects: list[Any], message: str) -> None:
    status = make_bench(VolumeZone, [make_node().obj()], with_claims("data"), objects=objects).pre_filter()
    assert (status.code.go_name, status.message) == ("UnschedulableAndUnresolvable", message)


def test_a_claim_without_a_name() -> None:
    status = make_bench(VolumeZone, [make_node().obj()], with_claims("")).pre_filter()
    assert (status.code.go_name, status.message) == (
        "UnschedulableAndUnresolvable",
        "PersistentVolumeClaim had no name",
    )


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([claim(), storage_class()], id="the claim waits for a node"),
        pytest.param([claim(volume="pv"), volume()], id="the volume has no such labels"),
    ],
)
def test_skips(objects: list[Any]) -> None:
    assert make_bench(VolumeZone, [make_node().obj()], with_claims("data"), objects=objects).pre_filter().skipped


def test_a_volume_counts_after_a_claim_that_waits_for_a_node() -> None:
    objects = [claim("late"), storage_class(), claim(volume="pv"), volume(labels={ZONE: "a"})]
    made = make_bench(VolumeZone, [make_node("n").zone("b").obj()], with_claims("late", "data"), objects=objects)
    assert made.statuses() == {"n": CONFLICT}


def test_looks_the_volumes_up_itself_when_pre_filter_is_off() -> None:
    objects = [claim(volume="pv"), volume(labels={ZONE: "a"})]
    made = make_bench(VolumeZone, [make_node("n").zone("b").obj()], with_claims("data"), objects=objects)
    verdict = made.plugin.filter(None, made.pod, made.nodes())
    assert verdict.status(0).texts == CONFLICT[1]


@pytest.mark.parametrize(
    ("region", "detail"),
    [
        pytest.param("r", {"pv": {ZONE: ["a", "b"]}}, id="in its region"),
        pytest.param("s", {"pv": {ZONE: ["a", "b"], REGION: ["r"]}}, id="in another region, too"),
    ],
)
def test_explain_names_the_volume_with_its_zones_and_region(region: str, detail: dict[str, Any]) -> None:
    objects = [claim(volume="pv"), volume(labels={ZONE: "b__a", REGION: "r"})]
    node = make_node("n").zone("c").label(REGION, region).obj()
    made = make_bench(VolumeZone, [node], with_claims("data"), objects=objects)
    assert made.plugin.explain(made.state(), made.pod, made.nodes(), 0) == detail


ALL_LABELS = (ZONE, REGION, BETA_ZONE, BETA_REGION)
labelled = st.dictionaries(st.sampled_from(ALL_LABELS), st.sampled_from(("a", "b", "c")))
listed = st.dictionaries(st.sampled_from(ALL_LABELS), st.sampled_from(("a", "b", "a__b", " a __c", "b__", "")))


def agrees(node: dict[str, str], volumes: list[dict[str, str]]) -> bool:
    """The rule for one node, label by label."""
    if not any(key in node for key in ALL_LABELS):
        return True
    for labels in volumes:
        for key, text in labels.items():
            zones = [zone.strip() for zone in text.split("__")]
            if "" in zones:
                continue
            successor = {BETA_ZONE: ZONE, BETA_REGION: REGION}.get(key, key)
            value = node.get(key, node.get(successor))
            if value is None or value not in zones:
                return False
    return True


@pytest.mark.slow
@given(st.lists(labelled, min_size=1, max_size=5), st.lists(listed, min_size=1, max_size=3))
@settings(max_examples=examples(300), deadline=None)
def test_agrees_with_a_reading_of_the_rule_node_by_node(
    nodes: list[dict[str, str]], volumes: list[dict[str, str]]
) -> None:
    made_nodes = []
    for index, labels in enumerate(nodes):
        builder = make_node(f"n{index}")
        for key, value in labels.items():
            builder.label(key, value)
        made_nodes.append(builder.obj())
    names = [f"c{index}" for index in range(len(volumes))]
    objects = [claim(name, volume=f"pv-{name}") for name in names]
    objects += [volume(f"pv-{name}", labels=labels) for name, labels in zip(names, volumes, strict=True)]
    made = make_bench(VolumeZone, made_nodes, with_claims(*names), objects=objects)
    # What the node object says counts: the builder may add labels of its own.
    refused = {node.metadata.name for node in made_nodes if not agrees(dict(node.metadata.labels), volumes)}
    assert made.statuses() == dict.fromkeys(refused, CONFLICT)
