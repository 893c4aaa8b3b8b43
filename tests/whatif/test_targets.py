"""The pods that a name means: of a workload, of a namespace, or under a pattern."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ksched_cli.api.core import Namespace
from ksched_cli.api.workloads import Deployment, ReplicaSet
from ksched_cli.controlplane.store import top_owner
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.edits.lib.arguments import EditMistake
from ksched_cli.whatif.edits.lib.targets import pods_meant, reference
from tests.builders import loaded_of, make_pod, make_workload


def made(kind: type[Any], name: str, namespace: str, **metadata: Any) -> Any:
    document = make_workload(kind.__name__, name, metadata={"namespace": namespace, **metadata})
    return msgspec.convert(document, kind)


def space(name: str) -> Namespace:
    return msgspec.convert({"metadata": {"name": name}}, Namespace)


def hashed(name: str, namespace: str, owner: str, digest: str) -> Any:
    return make_pod(name, namespace).owner("ReplicaSet", owner).label("pod-template-hash", digest).obj()


BY_SHOP = {"ownerReferences": [{"kind": "Deployment", "name": "shop", "controller": True}]}


def cluster() -> Loaded:
    """Pods of a Deployment that the input has (shop), and of one that it lacks (web)."""
    return loaded_of(
        space("a"),
        space("empty"),
        made(Deployment, "shop", "a"),
        made(ReplicaSet, "shop-1", "a", **BY_SHOP),
        make_pod("done", "a").phase("Succeeded").obj(),
        hashed("shop-1-x", "a", "shop-1", "1"),
        hashed("web-7-x", "a", "web-7", "7"),
        hashed("web-8-x", "a", "web-8", "7"),
        hashed("web-7-y", "b", "web-7", "7"),
        make_pod("own-7-z", "b").owner("StatefulSet", "own-7").label("pod-template-hash", "7").obj(),
        make_pod("alone", "b").obj(),
    )


@pytest.mark.parametrize(
    ("text", "namespace", "names"),
    [
        pytest.param("namespace/a", "", ["shop-1-x", "web-7-x", "web-8-x"], id="unfinished pods of a namespace"),
        pytest.param("namespace/b", "", ["web-7-y", "own-7-z", "alone"], id="a namespace that only pods show"),
        pytest.param("namespace/empty", "", [], id="a namespace without pods"),
        pytest.param("pod/*-x", "", ["shop-1-x", "web-7-x", "web-8-x"], id="a pattern"),
        pytest.param("pod/web-7-*", "", ["web-7-x", "web-7-y"], id="a pattern in all namespaces"),
        pytest.param("pod/b/web-7-*", "", ["web-7-y"], id="a pattern in one namespace"),
        pytest.param("pod/web-7-y", "a", ["web-7-y"], id="a name that another namespace has"),
        pytest.param("deployment/shop", "", ["shop-1-x"], id="a Deployment by its ReplicaSet"),
        pytest.param("deployment/shop", "a", ["shop-1-x"], id="a Deployment in the namespace of kubectl"),
        pytest.param("deployment/a/shop", "b", ["shop-1-x"], id="a Deployment in its namespace"),
        pytest.param("rs/shop-1", "", ["shop-1-x"], id="a ReplicaSet"),
        pytest.param("deployment/web", "", ["web-7-x", "web-7-y"], id="a Deployment that the hash of its pods shows"),
        pytest.param("deployment/b/web", "", ["web-7-y"], id="that of one namespace"),
        pytest.param("rs/web-8", "", ["web-8-x"], id="a ReplicaSet that is not in the input"),
        pytest.param("sts/own-7", "", ["own-7-z"], id="a StatefulSet with a hash is no Deployment"),
    ],
)
def test_pods(text: str, namespace: str, names: list[str]) -> None:
    assert [pod.metadata.name for pod in pods_meant(cluster(), reference(text), namespace)] == names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("namespace/emptty", 'there is no Namespace "emptty" in the input (did you mean empty?)', id="namespace"),
        pytest.param("pod/b/shop*", 'there is no Pod "shop*" in namespace "b" in the input', id="pattern"),
        pytest.param("deployment/own", 'there is no Deployment "own" in the input', id="hash of another kind"),
        pytest.param("deployment/web-8", 'there is no Deployment "web-8" in the input', id="name without the hash"),
    ],
)  # fmt: skip
def test_what_no_pod_is_meant_by(text: str, message: str) -> None:
    with pytest.raises(EditMistake) as caught:
        pods_meant(cluster(), reference(text), "")
    assert message in f"{caught.value} ({caught.value.hint})"


def test_the_namespace_of_kubectl_comes_first() -> None:
    twice = loaded_of(
        made(Deployment, "shop", "a"),
        made(Deployment, "shop", "b"),
        hashed("shop-1-x", "a", "shop-1", "1"),
        hashed("shop-1-y", "b", "shop-1", "1"),
    )
    assert [pod.metadata.name for pod in pods_meant(twice, reference("deployment/shop"), "b")] == ["shop-1-y"]
    assert len(pods_meant(twice, reference("deployment/shop"), "")) == 2
    assert len(pods_meant(twice, reference("deployment/shop"), "c")) == 2, "kubectl's namespace has no pods"


@pytest.mark.parametrize(
    ("pod", "owner"),
    [
        pytest.param("shop-1-x", ("Deployment", "a", "shop"), id="by the owner of its owner"),
        pytest.param("web-7-x", ("Deployment", "a", "web"), id="by the hash"),
        pytest.param("web-8-x", ("ReplicaSet", "a", "web-8"), id="by its owner"),
        pytest.param("alone", ("Pod", "b", "alone"), id="by itself"),
    ],
)
def test_the_uppermost_controller(pod: str, owner: tuple[str, str, str]) -> None:
    loaded = cluster()
    (found,) = pods_meant(loaded, reference(f"pod/{pod}"), "")
    assert top_owner(loaded, found) == owner
