"""Whatever is edited: the input stays, names stay unique, and the numbers are those that were asked for."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.api.core import Node, Pod, Taint
from ksched_cli.api.object_facts import is_active
from ksched_cli.api.workloads import ReplicaSet
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.edits.lib.edit import Edit, Reference
from ksched_cli.whatif.edits.lib.editor import stays_in_a_drain
from ksched_cli.whatif.edits.node_fields import Cordon, Drain, LabelNode, TaintNode, Uncordon
from ksched_cli.whatif.edits.nodes import CloneNode, RemoveNode
from ksched_cli.whatif.edits.workloads import Delete, Scale
from tests.builders import loaded_of, make_node, make_pod
from tests.lanes import examples
from tests.whatif.changing import attempted
from tests.whatif.test_edits import workload

NODES = ("a", "b", "c")
KINDS = ("ReplicaSet", "StatefulSet", "DaemonSet", "Job", "")
node_names = st.sampled_from(NODES)


def tainted(node: str, effect: str) -> TaintNode:
    return TaintNode(node, Taint("k", "v", effect))


one_edit: st.SearchStrategy[Edit] = st.one_of(
    st.builds(Cordon, node_names),
    st.builds(Uncordon, node_names),
    st.builds(Drain, node_names),
    st.builds(RemoveNode, node_names),
    st.builds(CloneNode, node_names, st.integers(1, 3)),
    st.builds(LabelNode, node_names, st.just("disk"), st.sampled_from(["ssd", "hdd"])),
    st.builds(tainted, node_names, st.sampled_from(["NoSchedule", "NoExecute"])),
    st.builds(Scale, st.just(Reference(ReplicaSet, "web")), st.integers(0, 6)),
    st.builds(Delete, st.builds(Reference, st.just(Pod), st.integers(0, 9).map(lambda number: f"p-{number}"))),
)  # fmt: skip


@st.composite
def clusters(draw: st.DrawFn) -> Loaded:
    items: list[Any] = [make_node(name).obj() for name in NODES]
    items += [workload("ReplicaSet", "web", 3), workload("DaemonSet", "log")]
    for number in range(draw(st.integers(0, 9))):
        kind = draw(st.sampled_from(KINDS))
        pod = make_pod(f"p-{number}").label(app="web").on(draw(st.sampled_from([*NODES, ""])))
        if kind:
            pod = pod.owner(kind, {"ReplicaSet": "web", "DaemonSet": "log"}.get(kind, "other"))
        if draw(st.booleans()) and draw(st.booleans()):
            pod = pod.terminating()
        items.append(pod.obj())
    return loaded_of(*items)


def encoded(loaded: Loaded) -> bytes:
    return msgspec.json.encode({kind.__name__: items for kind, items in loaded.objects.items() if items})


@settings(max_examples=examples(150), deadline=None)
@given(clusters(), st.lists(one_edit, max_size=5))
def test_the_input_stays_and_names_are_unique(loaded: Loaded, edits: list[Edit]) -> None:
    before = encoded(loaded)
    after = attempted(loaded, edits).loaded
    assert encoded(loaded) == before
    for kind, items in after.objects.items():
        names = [(item.metadata.namespace, item.metadata.name) for item in items]
        assert len(names) == len(set(names)), kind
    nodes = {node.metadata.name for node in after.of(Node)}
    assert all(pod.spec.node_name in nodes for pod in after.of(Pod) if pod.spec.node_name)
    assert encoded(attempted(loaded, edits).loaded) == encoded(after)


@settings(max_examples=examples(50), deadline=None)
@given(clusters(), st.integers(0, 8))
def test_a_scaled_set_has_as_many_pods_as_were_asked_for(loaded: Loaded, replicas: int) -> None:
    after = attempted(loaded, [Scale(Reference(ReplicaSet, "web"), replicas)]).loaded
    owned_pods = [
        pod
        for pod in filter(is_active, after.of(Pod))
        if any(owner.name == "web" for owner in pod.metadata.owner_references)
    ]
    adopted = [pod for pod in filter(is_active, after.of(Pod)) if not pod.metadata.owner_references]
    assert len(owned_pods) + len(adopted) == replicas


@settings(max_examples=examples(50), deadline=None)
@given(clusters(), node_names)
def test_a_drained_node_keeps_only_what_a_drain_leaves(loaded: Loaded, name: str) -> None:
    before = sum(map(_counts, loaded.of(Pod)))
    after = attempted(loaded, [Drain(name)]).loaded
    left = [pod for pod in after.of(Pod) if pod.spec.node_name == name and pod.metadata.deletion_timestamp is None]
    assert all(map(stays_in_a_drain, left))
    # Everyone else comes back, and the DaemonSet fills up on the node that was edited.
    assert sum(map(_counts, after.of(Pod))) >= before


def _counts(pod: Pod) -> bool:
    """An active pod of a controller. The ReplicaSet is left out: it brings its pods to its own number."""
    return is_active(pod) and any(owner.name != "web" for owner in pod.metadata.owner_references)


@settings(max_examples=examples(30))
@given(clusters(), node_names)
def test_uncordon_takes_back_a_cordon(loaded: Loaded, name: str) -> None:
    after = attempted(loaded, [Cordon(name), Cordon(name), Uncordon(name)]).loaded
    assert msgspec.json.encode(after.of(Node)) == msgspec.json.encode(loaded.of(Node))
