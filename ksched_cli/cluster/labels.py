"""Node labels by column: string work once per distinct value, then a gather by id."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ksched_cli.cluster.columns import BoolColumn, IdColumn, Vocabulary

ABSENT = 0


class LabelColumn:
    """One label key over all nodes: ids[row] indexes `values`, and id 0 means the node has no such label."""

    __slots__ = ("_vocabulary", "ids")

    def __init__(self, labels: Sequence[Mapping[str, str]], key: str) -> None:
        self._vocabulary: Vocabulary[str | None] = Vocabulary()
        self._vocabulary.id(None)
        self.ids: IdColumn = np.fromiter(
            (self._vocabulary.id(entry.get(key)) for entry in labels), dtype=np.int32, count=len(labels)
        )

    @property
    def values(self) -> list[str | None]:
        return self._vocabulary.values

    @property
    def present(self) -> BoolColumn:
        present: BoolColumn = self.ids != ABSENT
        return present

    def where(self, holds: Callable[[str | None], bool]) -> BoolColumn:
        """Which rows satisfy a condition on the value (None where the label is absent), asked once per value."""
        verdicts = np.fromiter((holds(value) for value in self.values), dtype=np.bool_, count=len(self.values))
        return verdicts[self.ids]


class LabelColumns:
    """Columns made when a key is first asked for. Thrown away as a whole when any node's labels change."""

    def __init__(self, labels: Sequence[Mapping[str, str]]) -> None:
        self._labels = labels
        self._columns: dict[str, LabelColumn] = {}

    def column(self, key: str) -> LabelColumn:
        found = self._columns.get(key)
        if found is None:
            found = self._columns[key] = LabelColumn(self._labels, key)
        return found
