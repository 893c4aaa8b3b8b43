from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from ksched_cli.plugins.image_locality import ImageLocality, normalized_image_name
from ksched_cli.releases.minors import RELEASES
from tests.builders import make_node, make_pod
from tests.clusters import clusters
from tests.harness import make_bench
from tests.lanes import examples

MB = 1024 * 1024


@pytest.mark.parametrize(
    ("name", "normalized"),
    [
        pytest.param("nginx", "nginx:latest", id="no tag"),
        pytest.param("nginx:1.25", "nginx:1.25", id="tag"),
        pytest.param("registry:5000/nginx", "registry:5000/nginx:latest", id="a port is no tag"),
        pytest.param("registry:5000/nginx:1", "registry:5000/nginx:1", id="port and tag"),
        pytest.param("nginx@sha256:abc", "nginx@sha256:abc", id="digest"),
    ],
)
def test_normalized_image_name(name: str, normalized: str) -> None:
    assert normalized_image_name(name) == normalized


def test_larger_images_score_higher_and_those_that_few_nodes_hold_count_less() -> None:
    nodes = [
        make_node("large").image(900 * MB, "a:v1").obj(),
        make_node("small").image(100 * MB, "b:v1").obj(),
        make_node("none").obj(),
    ]
    pod = make_pod().image("a:v1").container(image="b:v1").obj()
    scores = make_bench(ImageLocality, nodes, pod).scores()
    assert scores == {"large": 100 * (300 - 23) // (2000 - 23), "small": 100 * (33 - 23) // (2000 - 23), "none": 0}


def test_the_size_is_that_of_the_first_node_that_reported_the_image() -> None:
    nodes = [make_node("a").image(500 * MB, "a:v1").obj(), make_node("b").image(900 * MB, "a:v1").obj()]
    scores = make_bench(ImageLocality, nodes, make_pod().image("a:v1").obj()).scores()
    assert scores == {"a": 48, "b": 48}


@pytest.mark.parametrize(
    ("sizes", "score"),
    [
        pytest.param([22], 0, id="too small to matter"),
        pytest.param([23], 0, id="the least that matters"),
        pytest.param([512], 50, id="half way"),
        pytest.param([1000], 100, id="the most that matters"),
        pytest.param([4000], 100, id="more than matters"),
        pytest.param([20, 20], 0, id="small ones add up against twice the ceiling"),
        pytest.param([4000, 10], 100, id="a large and a small one"),
    ],
)
def test_sizes_between_the_thresholds(sizes: list[int], score: int) -> None:
    node, pod = make_node("n"), make_pod()
    for index, size in enumerate(sizes):
        node.image(size * MB, f"app-{index}:v1")
    containers = [{"name": f"c{index}", "image": f"app-{index}:v1"} for index in range(len(sizes))]
    assert make_bench(ImageLocality, [node.obj()], pod.spec(containers=containers).obj()).scores() == {"n": score}


def test_init_containers_and_image_volumes_count() -> None:
    node = make_node("n").image(1000 * MB, "a:v1").image(1000 * MB, "b:v1").obj()
    pod = (
        make_pod().image("x:v1").init(image="a:v1").spec(volumes=[{"name": "v", "image": {"reference": "b:v1"}}]).obj()
    )
    assert make_bench(ImageLocality, [node], pod).scores() == {"n": 100}


@pytest.mark.slow
@given(clusters())
@settings(max_examples=examples(100), deadline=None)
def test_agrees_with_the_plain_reading(drawn: Any) -> None:
    nodes, running, pod = drawn
    images = [
        (node.metadata.name, name, image.size_bytes)
        for node in nodes
        for image in node.status.images
        for name in image.names
    ]
    want = {}
    for node in nodes:
        total = 0
        for container in pod.spec.containers:
            holders = [where for where, name, _ in images if name == container.image]
            if node.metadata.name in holders:
                size = next(size for _, name, size in images if name == container.image)
                total += int(float(size) * (len(holders) / len(nodes)))
        ceiling = 1000 * MB * len(pod.spec.containers)
        want[node.metadata.name] = 100 * (min(max(total, 23 * MB), ceiling) - 23 * MB) // (ceiling - 23 * MB)
    assert make_bench(ImageLocality, nodes, pod, running).scores() == want


def _volumes(*images: str) -> list[dict[str, object]]:
    return [{"name": f"v{at}", "image": {"reference": image}} for at, image in enumerate(images)]


@pytest.mark.parametrize(
    ("images", "volumes", "before", "now"),
    [
        pytest.param(["a:v1"], [], 100, 100, id="a container alone"),
        pytest.param(["none:v1"], ["a:v1"], 100, 49, id="an image is worth as much as a volume as in a container"),
        pytest.param(["a:v1", "none:v1"], [], 49, 49, id="the same in containers"),
        pytest.param(["a:v1"], ["none:v1"], 100, 49, id="a volume that no node holds raises the ceiling, too"),
        pytest.param(["a:v1"], ["b:v1"], 100, 74, id="both"),
    ],
)
def test_image_volumes_by_minor(images: list[str], volumes: list[str], before: int, now: int) -> None:
    """#138951: 1000 MiB for each container and, since 1.37, each image volume make the best score."""
    node = make_node("n").image(1000 * MB, "a:v1").image(500 * MB, "b:v1").obj()
    containers = [{"name": f"c{at}", "image": image} for at, image in enumerate(images)]
    pod = make_pod().spec(containers=containers, volumes=_volumes(*volumes)).obj()
    found = {
        minor: make_bench(ImageLocality, [node], pod, current=RELEASES[minor]).scores()["n"]
        for minor in ("1.36", "1.37")
    }
    assert found == {"1.36": before, "1.37": now}
