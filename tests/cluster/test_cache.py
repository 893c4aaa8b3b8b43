"""The columns after any history are those of a cluster built afresh."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ksched_cli.api.core import Node, NodeSelectorTerm
from ksched_cli.api.selectors import SelectorError
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.catalog import Catalog, problem_of_claims
from ksched_cli.cluster.nodes import zone_key
from ksched_cli.cluster.pod_info import EPHEMERAL_STORAGE, MEMORY
from tests.builders import NodeBuilder, make_node, make_pod, term
from tests.clusters import IMAGES, nodes, pods
from tests.lanes import examples
from tests.plugins.storage import claim

OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "new", "uid": "u", "controller": True}
LABELS = ("disk", "gen", "topology.kubernetes.io/zone")


def listed(arrival: list[Node]) -> list[str]:
    """The names in the order of nodeTree.list, node by node."""
    zones: dict[tuple[str, str], list[str]] = {}
    for node in arrival:
        zones.setdefault(zone_key(node.metadata.labels), []).append(node.metadata.name)
    turns = range(max(map(len, zones.values()), default=0))
    return [members[turn] for turn in turns for members in zones.values() if turn < len(members)]


def facts(cluster: Cluster) -> dict[str, Any]:
    """Everything by name, so that row numbers do not matter."""
    names, resources = cluster.nodes.names, cluster.resources.names
    taken = [cluster.usage.ports.conflicts(info.host_ports, len(names)) for info in cluster.pods.infos]
    return {
        name: {
            "allocatable": {
                r: int(cluster.nodes.allocatable[i, row])
                for i, r in enumerate(resources)
                if cluster.nodes.allocatable[i, row]
            },
            "requested": {
                r: int(cluster.usage.requested[i, row])
                for i, r in enumerate(resources)
                if cluster.usage.requested[i, row]
            },
            "nonzero": cluster.usage.nonzero[:, row].tolist(),
            "unschedulable": bool(cluster.nodes.unschedulable[row]),
            "taints": cluster.nodes.taint_sets.values[cluster.nodes.taint_set[row]],
            "pods": sorted(cluster.pods.infos[pod].key for pod in cluster.pods_on(row)),
            "count": int(cluster.usage.pod_count[row]),
            "labels": {
                key: (column.values[column.ids[row]], column.values)
                for key in LABELS
                for column in [cluster.nodes.labels.column(key)]
            },
            "images": {
                name: (image.size, bool((image.rows == row).any()), len(image.rows))
                for name in IMAGES
                if (image := cluster.nodes.images.find(name)) is not None
            },
            "allowed": int(cluster.nodes.allowed_pods[row]),
            "zone": int(cluster.nodes.zones[row]),
            "rank": (int(cluster.nodes.name_rank[row]), int(cluster.nodes.arrival_rank[row])),
            "taken": {
                info.key for info, mask in zip(cluster.pods.infos, taken, strict=True) if len(mask) and mask[row]
            },
        }
        for row, name in enumerate(names)
    }


def described(name: str, *images: tuple[int, str], zone: str = "z", **labels: str) -> NodeBuilder:
    made = make_node(name).zone(zone).label(**labels).allocatable(cpu="4", memory="8Gi", pods="10")
    for size, image in images:
        made.image(size, image)
    return made


def test_a_history_equals_a_fresh_build() -> None:
    """Nodes go, change and come, while the columns of the table before are in use."""
    first, second = IMAGES[:2]
    arrival = [
        described("a", (100, first), disk="ssd").taint("spot"),
        described("b", (200, first), (300, second), disk="hdd", zone="y"),
        described("c", (400, first), disk="ssd").allocatable(example_com__gpu="2"),
        described("d", (500, second), zone="x"),
        described("e", (600, second), gen="2").cordoned(),
    ]
    running = [make_pod(f"on-{name}").requests(cpu="1").host_port(80).on(name).obj() for name in "abcde"]
    cluster = Cluster([each.obj() for each in arrival], running)
    steps: list[Callable[[], None]] = [
        lambda: cluster.remove_node("b"),
        lambda: cluster.update_node(described("c", (700, second), disk="nvme").taint("new").obj()),
        lambda: cluster.add_node(described("f", (800, first), disk="hdd", zone="y").obj()),
        lambda: cluster.update_node(
            replace(cluster.nodes.objects[cluster.nodes.row_of["d"]], spec=arrival[0].obj().spec)
        ),
        lambda: cluster.remove_node("a"),
        lambda: cluster.add_nodes([described("b", (900, first)).obj(), described("a", disk="tape").obj()]),
    ]
    for step in steps:
        facts(cluster)
        step()
        fresh = Cluster(list(cluster.nodes.arrival), running)
        assert cluster.nodes.names == fresh.nodes.names
        assert facts(cluster) == facts(fresh)


@pytest.mark.slow
@given(st.data())
@settings(max_examples=examples(100), deadline=None)
def test_any_history_equals_a_fresh_build(data: st.DataObject) -> None:
    names = [f"n{index}" for index in range(4)]
    objects = {name: data.draw(nodes(name)) for name in names}
    running = [data.draw(pods(f"r{index}", data.draw(st.sampled_from(names)))) for index in range(4)]
    for index, pod in enumerate(running):
        # A port is a set, as in Go: two pods that share one on the same node would make the history matter.
        for container in pod.spec.containers:
            container.ports = tuple(replace(port, host_port=1000 + index) for port in container.ports)
    cluster = Cluster(list(objects.values()), running)
    assert cluster.nodes.names == listed(list(objects.values()))
    # The columns that a later table takes over.
    facts(cluster)
    present = dict(objects)
    for _ in range(data.draw(st.integers(1, 6))):
        name = data.draw(st.sampled_from(names))
        if name in present and data.draw(st.booleans()):
            del present[name]
            cluster.remove_node(name)
        elif name in present:
            new, old = data.draw(nodes(name)), present[name]
            present[name] = replace(old, spec=new.spec) if data.draw(st.booleans()) else new
            cluster.update_node(present[name])
        else:
            present[name] = data.draw(nodes(name))
            cluster.add_node(present[name])
        if data.draw(st.booleans()):
            facts(cluster)
    fresh = Cluster(list(cluster.nodes.arrival), running)
    assert cluster.nodes.names == fresh.nodes.names
    assert facts(cluster) == facts(fresh)


def test_place_and_displace_undo_each_other() -> None:
    cluster = Cluster([make_node("a").obj()])
    row = cluster.register(make_pod("p").requests(cpu="1", example_com__gpu=2).host_port(80).obj())
    before = facts(cluster)
    cluster.place(row, 0)
    assert facts(cluster)["a"]["requested"] == {"cpu": 1000, "example.com/gpu": 2}
    assert cluster.displace(row) == 0
    assert facts(cluster) == before
    assert cluster.journal == [0, 0]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_finished_pods_hold_nothing(phase: str) -> None:
    cluster = Cluster([make_node("a").obj()], [make_pod("p").requests(cpu="1").on("a").phase(phase).obj()])
    assert cluster.usage.pod_count.tolist() == [0]


def test_a_terminating_pod_still_holds_its_place() -> None:
    cluster = Cluster([make_node("a").obj()], [make_pod("p").requests(cpu="1").on("a").terminating().obj()])
    assert cluster.usage.pod_count.tolist() == [1]
    assert cluster.pods.terminating.tolist() == [True]


def test_a_pod_on_an_unknown_node_counts_once_the_node_is_there() -> None:
    cluster = Cluster([make_node("a").obj()], [make_pod("p").requests(cpu="1").on("b").obj()])
    assert cluster.usage.pod_count.tolist() == [0]
    cluster.add_node(make_node("b").obj())
    assert cluster.usage.pod_count[cluster.nodes.row_of["b"]] == 1


def test_nodes_are_listed_zone_by_zone_in_turn() -> None:
    arrival = [
        make_node("a1").zone("a").obj(),
        make_node("a2").zone("a").obj(),
        make_node("b1").zone("b").obj(),
        make_node("none").obj(),
        make_node("a3").zone("a").obj(),
        make_node("beta")
        .label("failure-domain.beta.kubernetes.io/zone", "b")
        .label("failure-domain.beta.kubernetes.io/region", "region")
        .obj(),
    ]
    assert Cluster(arrival).nodes.names == listed(arrival) == ["a1", "b1", "none", "a2", "beta", "a3"]


def test_a_label_column_answers_by_value() -> None:
    cluster = Cluster([make_node("a").label(x="1").obj(), make_node("b").obj(), make_node("c").label(x="2").obj()])
    column = cluster.nodes.labels.column("x")
    np.testing.assert_array_equal(column.present, [True, False, True])
    np.testing.assert_array_equal(column.where(lambda value: value == "2"), [False, False, True])


@pytest.mark.parametrize("counts", [True, False])
def test_ephemeral_storage_that_does_not_count(counts: bool) -> None:
    sized = {"ephemeral-storage": "8", "memory": "4"}
    cluster = Cluster([make_node("a").allocatable(**sized).obj()], storage_counts=counts)
    cluster.add_node(make_node("b").allocatable(**sized).obj())
    cluster.update_node(make_node("a").allocatable(**sized).label("new").obj())
    assert cluster.nodes.allocatable[MEMORY].tolist() == [4, 4]
    assert cluster.nodes.allocatable[EPHEMERAL_STORAGE].tolist() == ([8, 8] if counts else [0, 0])


def test_specs_that_change_together() -> None:
    """One new table has all changes. It is another one than before the block, after it, and after each mark."""
    made = [make_node(name).obj() for name in "abc"]
    first, second, third = (replace(node, spec=replace(node.spec, unschedulable=True)) for node in made)
    cluster = Cluster(made)
    before = cluster.nodes
    with cluster.undo.trial():
        with cluster.specs_change_together():
            cluster.update_node(first)
            together, structure = cluster.nodes, cluster.structure
            cluster.update_node(second)
            assert cluster.nodes is together
            assert cluster.structure != structure
            with cluster.undo.trial():
                cluster.update_node(third)
                assert cluster.nodes is not together
                assert cluster.nodes.unschedulable.tolist() == [True, True, True]
            assert cluster.nodes is together
            assert together.unschedulable.tolist() == [True, True, False]
        cluster.update_node(third)
        assert together.unschedulable.tolist() == [True, True, False]
        assert list(cluster.nodes.arrival) == [first, second, third]
    assert cluster.nodes is before
    assert (before.objects, before.unschedulable.tolist()) == (made, [False, False, False])


def test_a_version_that_takes_as_much_makes_the_pod_the_latest_of_its_node() -> None:
    bound = [make_pod(name).requests(cpu="1").on("n").obj() for name in ("a", "b")]
    cluster = Cluster([make_node("n").obj()], bound)
    first, second = (cluster.pods.row_of[pod.metadata.uid or f"default/{pod.metadata.name}"] for pod in bound)
    requested, journal = cluster.usage.requested.copy(), len(cluster.journal)
    metadata = replace(bound[0].metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    with cluster.undo.trial():
        cluster.update_pod(first, replace(bound[0], metadata=metadata))
        assert cluster.pods_on(0) == [second, first]
        assert cluster.pods.terminating[first]
        assert (cluster.usage.requested == requested).all()
        assert cluster.usage.pod_count.tolist() == [2]
        assert len(cluster.journal) > journal
    assert cluster.pods_on(0) == [first, second]
    assert not cluster.pods.terminating[first]


def test_a_roll_back_restores_the_notes_of_plugins() -> None:
    cluster = Cluster([make_node("n").obj()])
    cluster.notes("devices")["pod"] = 1
    with cluster.undo.trial():
        cluster.notes("devices")["pod"] = 2
        cluster.notes("devices")["other"] = 3
        assert cluster.notes("devices") == {"pod": 2, "other": 3}
    assert cluster.notes("devices") == {"pod": 1}
    assert cluster.notes("licences") == {}


def test_the_first_pod_of_a_uid_counts() -> None:
    pods = [
        make_pod("a").uid("1").requests(cpu="1").on("n").obj(),
        make_pod("b").uid("2").requests(cpu="2").on("n").obj(),
        make_pod("c").uid("1").requests(cpu="3").on("n").obj(),
    ]
    cluster, plain = Cluster([make_node("n").obj()], pods), Cluster([make_node("n").obj()], pods[:2])
    assert cluster.pods_on(0) == [0, 1]
    assert [info.key for info in cluster.pods.infos] == ["default/a", "default/b"]
    assert facts(cluster) == facts(plain)
    assert len(cluster.moves) == 0


@pytest.mark.parametrize(
    ("claims", "problem"),
    [
        pytest.param([], 'persistentvolumeclaim "new-v" not found', id="no claim"),
        pytest.param(
            [claim("new-v", meta={"deletionTimestamp": "2026-01-01T00:00:00Z"})],
            'persistentvolumeclaim "new-v" is being deleted',
            id="a claim that is being deleted",
        ),
        pytest.param(
            [claim("new-v")], 'persistentvolumeclaim "new-v" was not created for the pod', id="somebody else's"
        ),
        pytest.param([claim("new-v", meta={"ownerReferences": [OWNER]})], None, id="its own"),
    ],
)
def test_what_is_wrong_with_the_claims_of_a_pod(claims: list[Any], problem: str | None) -> None:
    """The second of two volumes; the first is fine."""
    volumes = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
    ]
    pod = make_pod("new").uid("u").spec(volumes=volumes).obj()
    assert problem_of_claims(pod, Catalog([claim("data"), *claims])) == problem


def test_facts_of_a_pod_for_plugins() -> None:
    pod = make_pod("p").requests(cpu="250m").container(resources={"requests": {"memory": "1Gi"}}).obj()
    cluster = Cluster([make_node("n").obj()], [pod])
    info = cluster.pods.infos[0]
    # A container without a request counts as 100m of cpu and 200 MiB of memory.
    assert (info.nonzero_cpu, info.nonzero_memory) == (350, 2**30 + 200 * 2**20)
    assert repr(info) == "PodInfo(default/p)"
    assert not hasattr(info.parts, "nothing")


def test_copies_count_until_they_are_taken_back() -> None:
    cluster = Cluster([make_node(name).obj() for name in "ab"])
    pod = cluster.register(make_pod("p").requests(cpu="1").obj())
    with cluster.undo.trial():
        cluster.place_copies(pod, [0, 0, 1])
        assert cluster.usage.copies[pod].tolist() == [2, 1]
        assert cluster.usage.pod_count.tolist() == [2, 1]
        cluster.place_copies(pod, [0], -1)
        assert cluster.usage.copies[pod].tolist() == [1, 1]
        assert cluster.usage.requested[0].tolist() == [1000, 1000]
        assert cluster.pods_on(0) == []
    assert cluster.usage.copies == {}
    assert cluster.usage.pod_count.tolist() == [0, 0]
    cluster.place_copies(pod, [1])
    cluster.place_copies(pod, [1], -1)
    assert cluster.usage.copies == {}
    assert [(info.name, row, amount) for info, row, amount in cluster.moves[-2:]] == [("p", 1, 1), ("p", 1, -1)]


def test_moves_list_a_pod_that_comes_and_goes_again() -> None:
    cluster = Cluster([make_node(name).obj() for name in "ab"])
    pod = cluster.register(make_pod("p").requests(cpu="1").obj())
    with cluster.undo.trial():
        cluster.place(pod, 1)
        assert [(info.name, row, amount) for info, row, amount in cluster.moves[-1:]] == [("p", 1, 1)]
    assert [(info.name, row, amount) for info, row, amount in cluster.moves[-2:]] == [("p", 1, 1), ("p", 1, -1)]


def test_a_pod_that_a_trial_has_registered_is_unknown_after_it() -> None:
    cluster = Cluster([make_node("n").obj()])
    with cluster.undo.trial():
        cluster.register(make_pod("tried").uid("tried").obj())
        assert "tried" in cluster.pods.row_of
    assert "tried" not in cluster.pods.row_of
    assert cluster.register(make_pod("next").uid("next").obj()) == 0


def test_a_version_that_names_a_new_resource() -> None:
    bound = make_pod("p").on("n").obj()
    cluster = Cluster([make_node("n").obj()], [bound])
    cluster.update_pod(0, make_pod("p").on("n").requests(example_com__fpga=1).obj())
    assert facts(cluster)["n"]["requested"] == {"example.com/fpga": 1}


def test_a_port_that_was_freed_stays_free_when_rows_move() -> None:
    """Of two wanted ports nothing has ever taken the first."""
    cluster = Cluster([make_node(name).obj() for name in "abc"])
    first, second = (cluster.register(make_pod(f"p{port}").host_port(port).obj()) for port in (80, 443))
    wanted = make_pod("wanted").host_port(8080).host_port(80).host_port(443)
    ports = cluster.pods.infos[cluster.register(wanted.obj())].host_ports
    for pod in (first, second):
        cluster.place(pod, 2)
    assert cluster.usage.ports.conflicts(ports, 3).tolist() == [False, False, True]
    cluster.displace(first)
    cluster.remove_node("a")
    assert cluster.usage.ports.conflicts(ports, 2).tolist() == [False, True]
    cluster.displace(second)
    cluster.remove_node("b")
    assert cluster.usage.ports.conflicts(ports, 1).tolist() == [False]


def test_a_pod_that_loses_its_node_waits_in_its_new_version() -> None:
    bound = make_pod("p").requests(cpu="1").on("n").obj()
    cluster = Cluster([make_node("n").obj()], [bound])
    cluster.unbind(0, make_pod("p").label(app="web").requests(example_com__fpga=1).obj())
    assert cluster.usage.pod_count.tolist() == [0]
    assert cluster.pods.infos[0].labels == {"app": "web"}
    cluster.place(0, 0)
    assert facts(cluster)["n"]["requested"] == {"example.com/fpga": 1}


def test_nodes_that_leave_together_leave_at_the_end() -> None:
    cluster = Cluster([make_node(name).obj() for name in "abcd"])
    with cluster.leaving_together():
        cluster.remove_node("a")
        cluster.remove_node("c")
        assert cluster.nodes.names == ["a", "b", "c", "d"]
    assert cluster.nodes.names == ["b", "d"]
    cluster.remove_node("d")
    assert cluster.nodes.names == ["b"]


def test_any_term_that_cannot_be_compiled_is_an_error() -> None:
    good, bad = (msgspec.convert(term(("gen", "Gt", [value])), NodeSelectorTerm) for value in ("1", "x"))
    selection = Cluster([make_node("n").obj()]).selection
    selection.check([good])
    with pytest.raises(SelectorError, match=r"nodeSelectorTerms\[1\]"):
        selection.check([good, bad])
