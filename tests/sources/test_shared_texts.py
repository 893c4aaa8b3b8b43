"""Texts that many pods and nodes have are one object each after loading."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from ksched_cli.api.core import Node, Pod
from ksched_cli.sources.dump import load_dump
from tests.builders import make_node, make_pod, write_list


@pytest.fixture
def loaded(tmp_path: Path) -> tuple[list[Node], list[Pod]]:
    """Three nodes, two of which have equal images, with two pods, read from a file in which every text is written out."""
    makers = [
        make_node(name).label(pool="general-purpose").allocatable(cpu="3920m").image(7, "shop/web:1")
        for name in ("n-1", "n-2", "n-3")
    ]
    makers[2].image(8, "shop/db:1")
    nodes = [each.obj() for each in makers]
    pods = [
        make_pod(f"p-{name}", "shop").label(app="web-frontend").requests(cpu="250m").on("n-1").obj() for name in "ab"
    ]
    items = [_document(item, kind) for kind, made in (("Node", nodes), ("Pod", pods)) for item in made]
    path = tmp_path / "cluster.json"
    write_list(path, *items)
    found = load_dump([str(path)])
    return found.of(Node), found.of(Pod)


def _document(item: Any, kind: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, **msgspec.to_builtins(item)}


def test_pods_share_the_texts_of_their_template(loaded: tuple[list[Node], list[Pod]]) -> None:
    _, (first, second) = loaded
    assert first.metadata.labels["app"] is second.metadata.labels["app"]
    assert first.metadata.namespace is second.metadata.namespace
    assert first.spec.scheduler_name is second.spec.scheduler_name
    requests = [pod.spec.containers[0].resources.requests["cpu"] for pod in (first, second)]
    assert requests == ["250m", "250m"]
    assert requests[0] is requests[1]


def test_pods_share_the_name_with_their_node(loaded: tuple[list[Node], list[Pod]]) -> None:
    nodes, pods = loaded
    assert all(pod.spec.node_name is nodes[0].metadata.name for pod in pods)


def test_nodes_share_label_values_and_quantities(loaded: tuple[list[Node], list[Pod]]) -> None:
    (first, second, _), _ = loaded
    assert first.metadata.labels["pool"] is second.metadata.labels["pool"]
    assert first.status.allocatable["cpu"] is second.status.allocatable["cpu"]


def test_pods_do_not_share_dicts_that_one_of_them_may_change(loaded: tuple[list[Node], list[Pod]]) -> None:
    _, (first, second) = loaded
    first.metadata.labels["app"] = "other"
    assert second.metadata.labels["app"] == "web-frontend"


def test_nodes_share_the_images_that_several_of_them_hold(loaded: tuple[list[Node], list[Pod]]) -> None:
    (first, second, third), _ = loaded
    assert first.status.images[0].names == ("shop/web:1",)
    assert first.status.images is second.status.images
    assert [each.names for each in third.status.images] == [("shop/web:1",), ("shop/db:1",)]
    assert first.status.images[0] is third.status.images[0]
