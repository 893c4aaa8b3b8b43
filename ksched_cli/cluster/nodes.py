"""The node table: one row per node, in kube-scheduler's listing order, with labels, taints and images as columns.

The row order is the round robin over zones of cache.nodeTree. Labels are columns of value ids: string work is done
once per distinct value, and each distinct requirement of a node selector is evaluated once for all nodes. Image
states are those of cache.imageStates. What pods take from nodes is in `pods.py`.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from copy import copy
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ksched_cli.api.core import Node, NodeSelectorTerm, Taint
from ksched_cli.api.quantity import milli_value
from ksched_cli.api.quantity import value as quantity_value
from ksched_cli.api.selectors import (
    CompiledTerm,
    RequiredNodeAffinity,
    Requirement,
    SelectorError,
    compile_node_selector_term,
    holds_for_name,
)
from ksched_cli.cluster.columns import NOWHERE, BoolColumn, IdColumn, Int64Column, RowColumn, Vocabulary
from ksched_cli.cluster.pod_info import CPU, ResourceIndex, is_scalar
from ksched_cli.releases.engine_rules import ZoneRules
from ksched_cli.releases.minors import DEFAULT, Release

_ZONE, _REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
_BETA_ZONE, _BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"


def zone_key(labels: Mapping[str, str], release: Release = DEFAULT) -> tuple[str, str]:
    """utilnode.GetZoneKey: (region, zone), the beta labels first because old volumes still carry them. The
    oldest minors have no others."""
    if not ZoneRules.of(release).labels_without_beta:
        return labels.get(_BETA_REGION, ""), labels.get(_BETA_ZONE, "")
    zone = labels.get(_BETA_ZONE, labels.get(_ZONE, ""))
    region = labels.get(_BETA_REGION, labels.get(_REGION, ""))
    return region, zone


def listing_order(zones: IdColumn) -> RowColumn:
    """nodeTree.list for the zones of the nodes in the order they were added, as indexes of these: one node of each zone
    in turn, zones and nodes in the order they were added."""
    if not len(zones):
        return np.empty(0, dtype=np.int64)
    count, places = len(zones), np.arange(len(zones))
    first = np.full(int(zones.max()) + 1, count)
    # Of several places that are written to one zone, the last one stays: the first node.
    first[zones[::-1]] = places[::-1]
    came = first[zones]
    by_zone = np.argsort(_narrow(came), kind="stable")
    begins = np.diff(came[by_zone], prepend=-1) != 0
    turn = places - np.maximum.accumulate(np.where(begins, places, 0))
    order: RowColumn = by_zone[np.argsort(_narrow(turn), kind="stable")]
    return order


def _narrow(numbers: RowColumn) -> NDArray[np.integer[Any]]:
    """Small numbers in 16 bits, which numpy sorts in linear time."""
    return numbers.astype(np.int16) if int(numbers.max()) <= np.iinfo(np.int16).max else numbers


ABSENT = 0

# While there are so many rows for each of some values, the rows are looked up value by value.
_ROWS_PER_VALUE = 200


class LabelColumn:
    """One label key over all nodes: ids[row] indexes `values`, and id 0 means the node has no such label. Values are
    numbered in the order in which the rows have them."""

    __slots__ = ("_rows_by_value", "ids", "values")

    def __init__(self, ids: IdColumn, values: list[str | None]) -> None:
        self.ids = ids
        self.values = values
        self._rows_by_value: tuple[RowColumn, RowColumn] | None = None

    @classmethod
    def of(cls, labels: Iterable[str | None], size: int) -> LabelColumn:
        """The column of the value in each row, None where the label is absent."""
        given = list(labels)
        values = list(dict.fromkeys([None, *given]))
        number = {value: index for index, value in enumerate(values)}
        return cls(np.fromiter(map(number.__getitem__, given), dtype=np.int32, count=size), values)

    @property
    def present(self) -> BoolColumn:
        present: BoolColumn = self.ids != ABSENT
        return present

    def where(self, holds: Callable[[str | None], bool]) -> BoolColumn:
        """Which rows satisfy a condition on the value (None where the label is absent), computed once per value."""
        verdicts = np.fromiter((holds(value) for value in self.values), dtype=np.bool_, count=len(self.values))
        return verdicts[self.ids]

    def rows_of(self, values: Collection[int]) -> RowColumn:
        """The rows with one of these values, in ascending order. No value occurs twice."""
        if not values:
            return np.empty(0, dtype=np.int64)
        if len(values) * _ROWS_PER_VALUE > len(self.ids):
            wanted = np.zeros(len(self.values), dtype=np.bool_)
            wanted[list(values)] = True
            return wanted.take(self.ids, mode="clip").nonzero()[0]
        if self._rows_by_value is None:
            counts = np.bincount(self.ids, minlength=len(self.values))
            self._rows_by_value = self.ids.argsort(kind="stable"), np.append(0, counts.cumsum())
        rows, starts = self._rows_by_value
        found = [rows[starts[value] : starts[value + 1]] for value in values]
        return found[0] if len(found) == 1 else np.sort(np.concatenate(found), kind="stable")

    def moved(self, source: RowColumn, others: Mapping[int, str | None]) -> LabelColumn:
        """The column whose rows are these rows of this one, and have `others` where `source` is NOWHERE."""
        values = list(self.values)
        ids = self.ids[source] if len(self.ids) else np.zeros(len(source), dtype=np.int32)
        known = {value: number for number, value in enumerate(values)} if others else {}
        for row, value in others.items():
            ids[row] = known.setdefault(value, len(values))
            if ids[row] == len(values):
                values.append(value)
        rows = np.arange(len(ids))
        first = np.full(len(values), len(ids))
        # Of several rows that are written to one entry, the last one stays: the first row.
        first[ids[::-1]] = rows[::-1]
        first[ABSENT] = -1
        used = np.concatenate([[ABSENT], ids[first[ids] == rows]])
        number = np.zeros(len(values), dtype=np.int32)
        number[used] = np.arange(len(used))
        return LabelColumn(number[ids], np.fromiter(values, dtype=object, count=len(values))[used].tolist())


class LabelColumns:
    """Columns made when a key is first used. All are dropped when the labels of any node change."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._columns: dict[str, LabelColumn] = {}

    def column(self, key: str) -> LabelColumn:
        found = self._columns.get(key)
        if found is None:
            values = [node.metadata.labels.get(key) for node in self._nodes]
            found = self._columns[key] = LabelColumn.of(values, len(self._nodes))
        return found

    def keys(self) -> Set[str]:
        """The labels that have a column by now."""
        return self._columns.keys()

    def take_over(self, before: LabelColumns, source: RowColumn) -> None:
        """Make the columns that `before` has, from these rows of it and from the labels where `source` is NOWHERE."""
        new = np.nonzero(source == NOWHERE)[0].tolist()
        for key, column in before._columns.items():
            self._columns[key] = column.moved(source, {row: self._nodes[row].metadata.labels.get(key) for row in new})


_no_rows = partial(array, "q")
# How many indexes in a row are made of the one before.
_MOST_STEPS = 8


class Image(NamedTuple):
    """One image name: its size as the first node reports it, and the rows of the nodes that hold it."""

    size: int
    rows: RowColumn


class ImageIndex:
    """Inverted: image name to nodes. The size is shared by all nodes, as in kube-scheduler's cache. An index that is
    made of the one before looks up an image when it is needed."""

    def __init__(self, nodes: NodeTable, before: NodeTable | None, source: RowColumn) -> None:
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


Amounts = tuple[tuple[str, str | int | float], ...]


class NodeTable:
    """The node objects as columns. What pods take from them is in `Usage`.

    Rows are dense and follow `nodeTree.list`, so that row order is the order in which kube-scheduler looks at nodes.
    Whatever changes a node makes a new table; rows may then have other numbers. A table takes over from `before` what
    that has about the same node objects.
    """

    def __init__(
        self,
        arrival: Sequence[Node] | None,
        resources: ResourceIndex,
        release: Release,
        before: NodeTable | None = None,
        kept: RowColumn | None = None,
        *,
        storage_counts: bool = True,
    ) -> None:
        """`kept` has the row of each node in the table before, where that is known; without `arrival` those are all.
        Without `storage_counts` no node has ephemeral storage; a table with one `before` does as that."""
        self._release = release
        self._storage_counts: bool = storage_counts if before is None else before._storage_counts
        self._arrival: tuple[Node, ...] | None = tuple(arrival) if arrival is not None else None
        self._zone_keys: Vocabulary[tuple[str, str]] = before._zone_keys if before is not None else Vocabulary()
        kept = _rows_of_the_same(arrival or (), before) if kept is None else kept
        zones = self._zones_of_arrival(kept, before)
        # For each row how many nodes were added before it.
        self.arrival_rank: RowColumn = listing_order(zones)
        self._zone: IdColumn = zones[self.arrival_rank]
        # The row that each node has in the table before, NOWHERE for those that are new or have changed.
        self.source: RowColumn = kept[self.arrival_rank]
        source = self.source
        self.objects: list[Node] = self._nodes_of_rows(before)
        self.all_rows: RowColumn = np.arange(len(self.objects), dtype=np.int64)
        self.name_column = self._names_of_rows(before, source)
        self.names: list[str] = self.name_column.tolist()
        self.row_of: dict[str, int] = dict(zip(self.names, range(len(self.names)), strict=True))
        self.labels = LabelColumns(self.objects)
        if before is not None:
            self.labels.take_over(before.labels, source)
        self.images = ImageIndex(self, before, source)
        self.taint_sets: Vocabulary[tuple[Taint, ...]] = before.taint_sets if before is not None else Vocabulary()
        self.unschedulable: BoolColumn = np.zeros(len(self.objects), dtype=np.bool_)
        self.taint_set: IdColumn = np.zeros(len(self.objects), dtype=np.int32)
        self.allowed_pods: Int64Column = np.zeros(len(self.objects), dtype=np.int64)
        self.allocatable: Int64Column = np.zeros((0, len(self.objects)), dtype=np.int64)
        self._read_nodes(resources, before, source)
        self.name_rank: RowColumn = self._ranked_names(before, source)

    @property
    def arrival(self) -> tuple[Node, ...]:
        """The nodes in the order in which they were added."""
        if self._arrival is None:
            places = np.empty(len(self), dtype=np.int64)
            places[self.arrival_rank] = self.all_rows
            self._arrival = tuple(self.objects[row] for row in places.tolist())
        return self._arrival

    def _zones_of_arrival(self, kept: RowColumn, before: NodeTable | None) -> IdColumn:
        zones = np.empty(len(kept), dtype=np.int32)
        if before is not None:
            zones[:] = before._zone[kept] if len(before) else -1
        new = np.nonzero(kept == NOWHERE)[0]
        labels = (self.arrival[place].metadata.labels for place in new.tolist())
        zones[new] = [self._zone_keys.id(zone_key(each, self._release)) for each in labels]
        return zones

    def _nodes_of_rows(self, before: NodeTable | None) -> list[Node]:
        if self._arrival is None:
            assert before is not None
            return before._object_column[self.source].tolist()  # type: ignore[no-any-return]
        arrived = np.fromiter(self._arrival, dtype=object, count=len(self._arrival))
        return arrived[self.arrival_rank].tolist()  # type: ignore[no-any-return]

    @cached_property
    def _object_column(self) -> NDArray[np.object_]:
        return np.fromiter(self.objects, dtype=object, count=len(self.objects))

    def _names_of_rows(self, before: NodeTable | None, source: RowColumn) -> NDArray[np.object_]:
        """As an array, so that a row costs no Python where `before` has the node."""
        if before is None or not len(before):
            return np.fromiter((node.metadata.name for node in self.objects), dtype=object, count=len(self.objects))
        names = before.name_column[source]
        for row in np.nonzero(source == NOWHERE)[0].tolist():
            names[row] = self.objects[row].metadata.name
        return names

    def _ranked_names(self, before: NodeTable | None, source: RowColumn) -> RowColumn:
        rank = np.empty(len(self.objects), dtype=np.int64)
        if before is not None and not (source == NOWHERE).any():
            # How many of the ranks before are still there, up to each.
            still = np.zeros(len(before), dtype=np.int64)
            still[before.name_rank[source]] = 1
            rank = still.cumsum()[before.name_rank[source]] - 1
        else:
            rank[sorted(range(len(self.names)), key=self.names.__getitem__)] = self.all_rows
        return rank

    def __len__(self) -> int:
        return len(self.objects)

    def without(self, names: Collection[str], resources: ResourceIndex) -> NodeTable:
        """The table of all nodes but these."""
        there = np.ones(len(self), dtype=np.bool_)
        there[[self.row_of[name] for name in names]] = False
        rows = np.empty(len(self), dtype=np.int64)
        rows[self.arrival_rank] = self.all_rows
        stays = there[rows]
        return NodeTable(None, resources, self._release, self, rows[stays])

    def new_rows(self, before: NodeTable) -> RowColumn:
        """For each row of the table before the row of the node in this one, NOWHERE where the node is gone."""
        new = np.full(len(before), NOWHERE, dtype=np.int64)
        here = np.nonzero(self.source != NOWHERE)[0]
        new[self.source[here]] = here
        for row in np.nonzero(new == NOWHERE)[0].tolist():
            new[row] = self.row_of.get(before.names[row], NOWHERE)
        return new

    def only_spec_differs(self, node: Node) -> bool:
        """Whether this version of a node differs in nothing but its spec, of all that is in the columns."""
        old = self.objects[self.row_of[node.metadata.name]]
        if (old.metadata.labels, old.status.allocatable) != (node.metadata.labels, node.status.allocatable):
            return False
        return old.status.images == node.status.images

    def with_own_specs(self) -> NodeTable:
        """A copy whose specs can be set without a change of this table."""
        table = copy(self)
        table.objects = self.objects.copy()
        table.unschedulable, table.taint_set = self.unschedulable.copy(), self.taint_set.copy()
        return table

    def set_spec_of(self, node: Node) -> None:
        """Take in this version of a node, of which only the spec differs. Only for a table that nothing else has."""
        row = self.row_of[node.metadata.name]
        self._arrival = None
        self.__dict__.pop("_object_column", None)
        self.objects[row] = node
        self.unschedulable[row] = node.spec.unschedulable
        self.taint_set[row] = self.taint_sets.id(tuple(node.spec.taints))

    @cached_property
    def names_in_order(self) -> list[str]:
        """The names sorted: `name_rank` of a row is its place in them."""
        return sorted(self.names)

    @cached_property
    def rows_follow_names(self) -> bool:
        """Whether the rows are in the order of the names, as they often are."""
        return bool(np.array_equal(self.name_rank, self.all_rows))

    @cached_property
    def zones(self) -> IdColumn:
        """For each row the number of its zone, -1 where it has none (utilnode.GetZoneKey)."""
        known: dict[int, int] = {}
        keys = self._zone_keys.values
        numbers = (known.setdefault(zone, len(known)) if any(keys[zone]) else -1 for zone in self._zone.tolist())
        return np.fromiter(numbers, dtype=np.int32, count=len(self._zone))

    def _read_nodes(self, resources: ResourceIndex, before: NodeTable | None, source: RowColumn) -> None:
        """Fill the columns: from the table before, and from the objects of nodes that it does not have."""
        new = np.nonzero(source == NOWHERE)[0]
        nodes = [self.objects[row] for row in new.tolist()]
        self.unschedulable[new] = [node.spec.unschedulable for node in nodes]
        self.taint_set[new] = [self.taint_sets.id(tuple(node.spec.taints)) for node in nodes]
        # Nodes of one instance type have the same amounts.
        kinds: Vocabulary[Amounts] = Vocabulary()
        kind = np.array([kinds.id(tuple(node.status.allocatable.items())) for node in nodes], dtype=np.int64)
        cells = [self._cells(each, resources) for each in kinds.values]
        self.widen(len(resources))
        allowed = np.array([pods for pods, _ in cells], dtype=np.int64)
        amounts = np.zeros((len(self.allocatable), len(kinds)), dtype=np.int64)
        for number, (_, found) in enumerate(cells):
            for resource, amount in found:
                amounts[resource, number] = amount
        self.allowed_pods[new] = allowed[kind]
        self.allocatable[:, new] = amounts[:, kind]
        if before is not None:
            here = np.nonzero(source != NOWHERE)[0]
            there = source[here]
            self.unschedulable[here] = before.unschedulable[there]
            self.taint_set[here] = before.taint_set[there]
            self.allowed_pods[here] = before.allowed_pods[there]
            self.allocatable[: len(before.allocatable), here] = before.allocatable[:, there]

    def _cells(self, allocatable: Amounts, resources: ResourceIndex) -> tuple[int, list[tuple[int, int]]]:
        """How many pods a node takes, and its other amounts, each with the row of the resource."""
        pods, found = 0, []
        for name, quantity in allocatable:
            if name == "pods":
                pods = quantity_value(quantity)
            elif name == "cpu":
                found.append((CPU, milli_value(quantity)))
            elif name == "ephemeral-storage" and not self._storage_counts:
                continue
            elif name in ("memory", "ephemeral-storage") or is_scalar(name):
                found.append((resources.row(name), quantity_value(quantity)))
        return pods, found

    def widen(self, resources: int) -> None:
        """Room for resources that some pod requests and no node has."""
        missing = resources - self.allocatable.shape[0]
        if missing > 0:
            empty = np.zeros((missing, len(self)), dtype=np.int64)
            self.allocatable = np.concatenate([self.allocatable, empty])


def _rows_of_the_same(arrival: Sequence[Node], before: NodeTable | None) -> RowColumn:
    """The row of each node object in the table before, NOWHERE where that does not have this object."""
    if before is None:
        return np.full(len(arrival), NOWHERE, dtype=np.int64)
    row_of, objects = before.row_of, before.objects
    rows = (row_of.get(node.metadata.name, NOWHERE) for node in arrival)
    return np.fromiter(
        (row if row >= 0 and objects[row] is node else NOWHERE for row, node in zip(rows, arrival, strict=True)),
        dtype=np.int64,
        count=len(arrival),
    )


class NodeSelection:
    """The nodes that selectors select. It lives as long as one node table."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._terms: dict[CompiledTerm, BoolColumn] = {}

    def matching(self, wanted: RequiredNodeAffinity) -> BoolColumn:
        """Nodes that satisfy both; terms that cannot be compiled match nothing (LazyErrorNodeSelector)."""
        mask = np.ones(len(self._nodes), dtype=np.bool_)
        for key, value in wanted.node_selector:
            mask &= self.requirement(Requirement(key, "In", (value,)))
        if wanted.terms is not None:
            mask &= self.terms_mask(wanted.terms)
        return mask

    def terms_mask(self, terms: Iterable[NodeSelectorTerm]) -> BoolColumn:
        """Nodes that match any of the terms."""
        mask = np.zeros(len(self._nodes), dtype=np.bool_)
        for term in terms:
            try:
                compiled = compile_node_selector_term(term)
            except SelectorError:
                continue
            if compiled is not None:
                mask |= self._term(compiled)
        return mask

    def check(self, terms: Iterable[NodeSelectorTerm], path: str = "nodeSelectorTerms") -> None:
        """SelectorError if any of the terms cannot be compiled; what is wrong with all of them (NewNodeSelector)."""
        problems: list[tuple[str, str]] = []
        for index, term in enumerate(terms):
            try:
                compile_node_selector_term(term)
            except SelectorError as problem:
                problems += problem.under(f"{path}[{index}]").problems
        if problems:
            raise SelectorError(*problems)

    def requirement(self, requirement: Requirement) -> BoolColumn:
        """Nodes whose label satisfies the requirement."""
        return self._nodes.labels.column(requirement.key).where(requirement.holds)

    def _term(self, term: CompiledTerm) -> BoolColumn:
        mask = self._terms.get(term)
        if mask is None:
            mask = np.ones(len(self._nodes), dtype=np.bool_)
            for requirement in term.labels:
                mask &= self.requirement(requirement)
            for field in term.fields:
                mask &= np.array([holds_for_name(field, name) for name in self._nodes.names], dtype=np.bool_)
            self._terms[term] = mask
        return mask
