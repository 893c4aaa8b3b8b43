"""Which nodes hold which image, and how large it is (cache.imageStates)."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Protocol

import numpy as np

from ksched_cli.api.core import Node
from ksched_cli.cluster.columns import NOWHERE, RowColumn

_no_rows = partial(array, "q")
# How many indexes in a row are made of the one before.
_MOST_STEPS = 8


class Image:
    """One image name: its size as the first node reports it, and the rows of the nodes that hold it."""

    __slots__ = ("rows", "size")

    def __init__(self, size: int, rows: RowColumn) -> None:
        self.size = size
        self.rows = rows


class NodesWithImages(Protocol):
    """What the index reads of a node table (NodeTable)."""

    @property
    def objects(self) -> Sequence[Node]: ...

    @property
    def arrival_rank(self) -> RowColumn: ...

    @property
    def images(self) -> ImageIndex: ...


class ImageIndex:
    """Inverted: image name to nodes. The size is shared by all nodes, as in kube-scheduler's cache. An index that is
    made of the one before looks up an image when it is needed."""

    def __init__(self, nodes: NodesWithImages, before: NodesWithImages | None, source: RowColumn) -> None:
        """`source`: for each row the row of the same node object before, or NOWHERE."""
        self._objects, self._arrival_rank = nodes.objects, nodes.arrival_rank
        self._images: dict[str, Image | None] = {}
        known: ImageIndex | None = before.images if before is not None else None
        self._before = known if known is not None and known._steps < _MOST_STEPS else None
        self._steps: int = 0 if self._before is None else self._before._steps + 1
        rows = np.nonzero(source == NOWHERE)[0] if self._before is not None else np.arange(len(source))
        # The rows that hold an image, among the nodes that the index before does not have.
        self._new = _rows_by_name(self._objects, rows)
        if self._before is not None:
            self._new_row = np.full(len(self._before._objects), NOWHERE, dtype=np.int64)
            there = source != NOWHERE
            self._new_row[source[there]] = np.nonzero(there)[0]

    def find(self, name: str) -> Image | None:
        if name not in self._images:
            rows = self._rows(name)
            self._images[name] = Image(self._size(name, rows), rows) if len(rows) else None
        return self._images[name]

    def _rows(self, name: str) -> RowColumn:
        new = np.sort(np.array(self._new.get(name, ()), dtype=np.int64), kind="stable")
        image = self._before.find(name) if self._before is not None else None
        if image is None:
            return new
        moved = self._new_row[image.rows]
        return np.sort(np.concatenate([moved[moved != NOWHERE], new]))

    def _size(self, name: str, rows: RowColumn) -> int:
        first = int(rows[self._arrival_rank[rows].argmin()])
        images = self._objects[first].status.images
        return next(image.size_bytes for image in images if name in image.names)


def _rows_by_name(objects: Sequence[Node], rows: RowColumn) -> dict[str, array[int]]:
    """The rows of the nodes that hold an image, by its name. Nodes that were read share equal lists of images."""
    alike: dict[int, array[int]] = defaultdict(_no_rows)
    for row in rows.tolist():
        alike[id(objects[row].status.images)].append(row)
    holders: dict[str, array[int]] = defaultdict(_no_rows)
    for held in alike.values():
        for name in {name for image in objects[held[0]].status.images for name in image.names}:
            holders[name].extend(held)
    return dict(holders)
