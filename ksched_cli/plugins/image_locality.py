"""ImageLocality: scores nodes that already hold the pod's images (imagelocality/image_locality.go). It reads
status.images of the nodes: the kubelet may list only a part of the images that a node holds. It rejects no node."""

from __future__ import annotations

from typing import Any

import numpy as np

from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.nodes import Image
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.depends import Depends
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interfaces import ScorePlugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.plugins.lib.spec import Spec
from ksched_cli.releases.changes import ReleaseRules, Rule

_MIB = 1024 * 1024
MIN_THRESHOLD = 23 * _MIB
MAX_CONTAINER_THRESHOLD = 1000 * _MIB


class ImageLocalityRules(ReleaseRules, plugins="ImageLocality"):
    counts_init_containers = Rule(
        "1.30",
        "score",
        "Images of init containers count, too; before, only those of containers, and scores rose with these alone.",
    )
    counts_image_volumes = Rule(
        "1.36", "score", "Images that the pod mounts as volumes count, too; before, they did not."
    )
    counts_volumes_in_ceiling = Rule(
        "1.37",
        "score",
        "Image volumes raise how large images have to be for the best score, as containers do; before, they did not, "
        "so that an image scored more as a volume than as a container.",
    )
    ceiling_grows_with_containers = Rule(
        "1.19",
        "score",
        "How large images have to be for the best score grows with the number of containers; before, it was as for "
        "one container.",
    )
    counts_holders_of_today = Rule(
        "1.29",
        "score",
        "An image counts by how many nodes hold it now; before, by how many did when the node was added.",
    )
    notes = (Rule("1.17", "score", "Nodes score 0 to 100; before, 0 to 10."),)


class ImageLocality(ScorePlugin[None]):
    name = "ImageLocality"
    column = "Images"
    summary = "Prefers nodes that hold the pod's images, the more the larger they are and the wider they are spread."

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self._rules = ImageLocalityRules.of(handle.release)

    def score(self, state: None, info: PodInfo, nodes: NodeRows) -> Int64Column:
        table, ceiling = nodes.cluster.nodes, MAX_CONTAINER_THRESHOLD * self._containers(info)
        images = [] if nodes.bare else [*filter(None, map(table.images.find, self._image_names(info)))]
        scaled = [self._scaled(image, nodes) for image in images]
        scores = np.zeros(len(table), dtype=np.int64)
        if len(images) == 1:
            # Most pods have one image. Nodes without it have the least score.
            scores[images[0].rows] = self._of_sums(np.asarray(scaled[0]), ceiling)
        elif images:
            for image, more in zip(images, scaled, strict=True):
                scores[image.rows] += more
            scores = self._of_sums(scores, ceiling)
        return nodes.take(scores)

    def _of_sums(self, sums: Int64Column, ceiling: int) -> Int64Column:
        """calculatePriority."""
        # A pod whose ceiling is below the floor cannot be made through the API; Go takes the floor first all the same.
        clipped = np.where(sums < MIN_THRESHOLD, MIN_THRESHOLD, np.minimum(sums, ceiling))
        return self.handle.release.max_node_score * (clipped - MIN_THRESHOLD) // (ceiling - MIN_THRESHOLD)

    def depends(self, info: PodInfo) -> Depends:
        return Depends("node", (tuple(self._image_names(info)), self._containers(info)))

    def _image_names(self, info: PodInfo) -> list[str]:
        """The images that the pod pulls, with repetitions."""
        spec, rules = info.pod.spec, self._rules
        containers = (*spec.init_containers, *spec.containers) if rules.counts_init_containers else spec.containers
        names = [container.image for container in containers]
        if rules.counts_image_volumes:
            names += [volume.image.reference for volume in spec.volumes if volume.image is not None]
        return list(map(normalized_image_name, names))

    def _containers(self, info: PodInfo) -> int:
        """How many containers, and since 1.37 image volumes, raise the ceiling of the score."""
        rules, spec = self._rules, info.pod.spec
        if not rules.ceiling_grows_with_containers:
            return 1
        volumes = sum(volume.image is not None for volume in spec.volumes) if rules.counts_volumes_in_ceiling else 0
        return len(spec.containers) + (len(spec.init_containers) if rules.counts_init_containers else 0) + volumes

    def _scaled(self, image: Image, nodes: NodeRows) -> int | Int64Column:
        """The size times the share of nodes that hold the image, so that few nodes do not attract all pods."""
        table = nodes.cluster.nodes
        if self._rules.counts_holders_of_today:
            return scaled(image.size, len(image.rows), len(table))
        # A node kept the number of holders that there were when it was added itself.
        held = np.argsort(np.argsort(table.arrival_rank[image.rows])) + 1
        return np.array([scaled(image.size, holders, len(table)) for holders in held.tolist()], dtype=np.int64)


def normalized_image_name(name: str) -> str:
    """A name without a tag means the latest; a colon before the last slash is a registry's port."""
    return f"{name}:latest" if name.rfind(":") <= name.rfind("/") else name


def scaled(size: int, holders: int, total_nodes: int) -> int:
    """scaledImageScore."""
    return int(float(size) * (holders / total_nodes))


SPEC = Spec(plugins=(ImageLocality,))
