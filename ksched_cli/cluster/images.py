"""Which nodes hold which image, and how large it is (cache.imageStates)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ksched_cli.api.core import Node
from ksched_cli.cluster.columns import RowColumn


class Image:
    """One image name: its size as the first node that reported it says, and the rows of the nodes that hold it."""

    __slots__ = ("rows", "size")

    def __init__(self, size: int, rows: RowColumn) -> None:
        self.size = size
        self.rows = rows


class ImageIndex:
    """Inverted: image name to nodes. The size is shared by all nodes, as in kube-scheduler's cache."""

    def __init__(self, nodes: Iterable[Node], arrival: Iterable[Node]) -> None:
        sizes: dict[str, int] = {}
        for node in arrival:
            for image in node.status.images:
                for name in image.names:
                    sizes.setdefault(name, image.size_bytes)
        holders: dict[str, dict[int, None]] = {}
        for row, node in enumerate(nodes):
            for image in node.status.images:
                for name in image.names:
                    holders.setdefault(name, {})[row] = None
        self._images = {
            name: Image(sizes[name], np.fromiter(rows, dtype=np.int64, count=len(rows)))
            for name, rows in holders.items()
        }

    def find(self, name: str) -> Image | None:
        return self._images.get(name)

    def __len__(self) -> int:
        return len(self._images)
