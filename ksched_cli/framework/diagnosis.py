"""Why a pod did not fit: every node's first failure, and the sentence that kube-scheduler makes of it
(fwk.NodeToStatus, framework.Diagnosis and FitError). Statuses are columns, so that 5,000 nodes with one reason cost as
much as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct, field

from ksched_cli.cluster.columns import BoolColumn, CodeColumn, IdColumn, RowColumn, Vocabulary, distinct, equal
from ksched_cli.framework.status import SUCCESS, Code, Status
from ksched_cli.framework.verdict import Verdict
from ksched_cli.releases.engine_rules import Wording
from ksched_cli.releases.minors import DEFAULT

T = TypeVar("T")

# As a plain number: numpy takes its time with members of an enum.
_SUCCESS = int(Code.SUCCESS)


class NodeStatuses:
    """One status per node of the cluster: plugin, code and reasons of the first failing plugin (NodeToStatus). Nodes
    share few statuses: `kind_ids[row]` indexes `kinds`, and counts where `codes[row]` is not SUCCESS.

    A node that was never looked at, because PreFilter had ruled it out, is *absent* and has the common status.
    `unknown_nodes` are names that an extender gave and no node has; kube-scheduler counts them all the same.

    What is summed up of all nodes is kept until a status changes, and copies share it: pods of one template that fit
    nowhere get the same message as long as nothing changes.
    """

    codes: CodeColumn
    kind_ids: IdColumn
    kinds: Vocabulary[Status]
    absent: BoolColumn
    absent_status: Status
    unknown_nodes: dict[str, Status]
    _summed_up: dict[Hashable, Any]
    _is_shared: bool

    def __init__(self, size: int) -> None:
        self.copy_from(_all_feasible(size))

    @classmethod
    def _of_columns(cls, size: int) -> NodeStatuses:
        """No node has a status, in columns of its own."""
        made = cls.__new__(cls)
        made.codes = np.zeros(size, dtype=np.int8)
        made.kind_ids = np.zeros(size, dtype=np.int32)
        made.kinds = Vocabulary()
        made.kinds.id(SUCCESS)
        made.absent = np.zeros(size, dtype=np.bool_)
        made.absent_status, made.unknown_nodes = SUCCESS, {}
        # Whether another one may have the same columns.
        made._summed_up, made._is_shared = {}, False
        return made

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` makes of all statuses, as long as they are these."""
        found: T | None = self._summed_up.get(key)
        if found is None:
            found = self._summed_up[key] = make()
        return found

    def _change(self) -> None:
        """Called before every change: copies share columns and sums until one of them changes."""
        self._summed_up = {}
        if self._is_shared:
            self._is_shared = False
            self.codes, self.kind_ids, self.absent = self.codes.copy(), self.kind_ids.copy(), self.absent.copy()
            self.kinds, self.unknown_nodes = self.kinds.copy(), dict(self.unknown_nodes)

    def __len__(self) -> int:
        return len(self.codes)

    def record(self, plugin: str, rows: RowColumn, verdict: Verdict) -> None:
        """Charge the rows that the verdict rejects to the plugin."""
        rejected = (verdict.codes != _SUCCESS).nonzero()[0]
        if not len(rejected):
            return
        self._change()
        where, codes = rows.take(rejected), verdict.codes.take(rejected)
        self.codes[where] = codes
        # Each list of reasons may come with several codes.
        ids = verdict.reason_ids.take(rejected) * np.int32(len(Code)) + codes
        if len(ids) == 1 or not np.count_nonzero(ids != ids[0]):
            self.kind_ids[where] = self.kinds.id(_status_of(verdict, plugin, ids.item(0)))
            return
        numbers, number_of = distinct(ids)
        kinds = [_status_of(verdict, plugin, number) for number in numbers.tolist()]
        self.kind_ids[where] = np.array(list(map(self.kinds.id, kinds)), dtype=np.int32)[number_of]

    def copy(self) -> NodeStatuses:
        twin = NodeStatuses.__new__(NodeStatuses)
        twin.copy_from(self)
        return twin

    def copy_from(self, other: NodeStatuses) -> None:
        """Take all statuses of the other, and drop one's own."""
        self.codes, self.kind_ids, self.kinds = other.codes, other.kind_ids, other.kinds
        self.absent, self.absent_status, self.unknown_nodes = other.absent, other.absent_status, other.unknown_nodes
        self._is_shared = other._is_shared = True
        self._summed_up = other._summed_up

    def set(self, row: int, status: Status) -> None:
        self._change()
        self.absent[row] = False
        self.codes[row] = status.code
        self.kind_ids[row] = self.kinds.id(status)

    def set_unknown_node(self, name: str, status: Status) -> None:
        self._change()
        self.unknown_nodes[name] = status

    def take_over(self, other: NodeStatuses, rows: RowColumn) -> None:
        """Take the statuses of these rows from the other."""
        self._change()
        kinds = np.array(list(map(self.kinds.id, other.kinds.values)), dtype=np.int32)
        self.absent[rows] = False
        self.codes[rows] = other.codes[rows]
        self.kind_ids[rows] = kinds[other.kind_ids[rows]]

    def follow(self, other: NodeStatuses, rows: RowColumn) -> None:
        """Take over the other's statuses of these rows, successes included. Sums stay if nothing changes."""
        codes = other.codes.take(rows)
        failing = rows[codes != _SUCCESS]
        kinds = self.kinds.find_all(other.kinds.values)[other.kind_ids.take(failing)]
        if not (equal(codes, self.codes.take(rows)) and equal(kinds, self.kind_ids.take(failing))):
            self.forget(rows)
            self.take_over(other, failing)

    def set_absent(self, rows: BoolColumn, status: Status) -> None:
        self._change()
        self.absent |= rows
        self.absent_status = status

    def forget(self, rows: RowColumn) -> None:
        """Clear the status of rows that kube-scheduler does not reach, or that are filtered again."""
        self._change()
        self.codes[rows] = _SUCCESS

    def status(self, row: int) -> Status:
        if self.absent[row]:
            return self.absent_status
        return self.kinds.values[self.kind_ids[row]] if self.codes[row] != _SUCCESS else SUCCESS

    @property
    def failed(self) -> BoolColumn:
        """Nodes with a status of their own."""
        failed: BoolColumn = self.codes != _SUCCESS
        return failed

    def rows_with(self, code: Code) -> RowColumn:
        """NodesForStatusCode: rows of that code, absent ones by their common status."""
        there = self.absent_status.code is code
        return self.once(code, lambda: np.where(self.absent, there, self.codes == int(code)).nonzero()[0])

    def unschedulable_plugins(self) -> frozenset[str]:
        found: frozenset[str] | None = self._summed_up.get("plugins")
        if found is None:
            found = self._summed_up["plugins"] = frozenset([status.plugin for status, _ in self._own_groups()]) - {""}
        return found

    def reason_counts(self) -> Counter[str]:
        """How many nodes give each reason; a node with several reasons counts once for each."""
        counts: Counter[str] = Counter()
        for status, rows in self.groups():
            for text in status.texts:
                counts[text] += len(rows)
        counts.update(text for status in self.unknown_nodes.values() for text in status.texts)
        return +counts

    def groups(self) -> Sequence[tuple[Status, RowColumn]]:
        """Each distinct failure with the rows that have it, by the first of these rows, absent nodes last."""
        own, absent = self._own_groups(), np.nonzero(self.absent)[0]
        return (*own, (self.absent_status, absent)) if len(absent) else own

    def _own_groups(self) -> Sequence[tuple[Status, RowColumn]]:
        return self.once("own groups", self._grouped)

    def _grouped(self) -> Sequence[tuple[Status, RowColumn]]:
        rows = (self.codes != _SUCCESS).nonzero()[0]
        rows = rows[~self.absent.take(rows)] if np.count_nonzero(self.absent) else rows
        ids = self.kind_ids.take(rows)
        if not len(rows):
            return ()
        if not np.count_nonzero(ids != ids[0]):
            return ((self.kinds.values[ids[0]], rows),)
        groups = [(self.kinds.values[kind], rows.compress(ids == kind)) for kind in distinct(ids)[0].tolist()]
        return sorted(groups, key=lambda group: group[1].item(0))


def _status_of(verdict: Verdict, plugin: str, number: int) -> Status:
    """The plugin's status of this list of reasons with this code, which are one number."""
    reason, code = divmod(number, len(Code))
    return Status(Code(code), verdict.reasons[reason], plugin)


@lru_cache(maxsize=16)
def _all_feasible(size: int) -> NodeStatuses:
    """What statuses of so many nodes begin with. Most stay so, and share these columns."""
    blank = NodeStatuses._of_columns(size)
    for column in (blank.codes, blank.kind_ids, blank.absent):
        column.flags.writeable = False
    return blank


class Diagnosis(Struct):
    """framework.Diagnosis: what a cycle learnt on the way to its answer."""

    nodes: NodeStatuses
    pre_filter: Status | None = None
    # The plugins that count besides those of `nodes`. The latter count if `blames_nodes` is set.
    blamed: frozenset[str] = frozenset()
    blames_nodes: bool = False
    pending_plugins: set[str] = field(default_factory=set)
    post_filter_message: str = ""
    # How many nodes were looked at where that is not all of the cluster's (the nodes of a placement).
    placement_nodes: int | None = None
    wording: Wording = field(default_factory=lambda: Wording.of(DEFAULT))

    @property
    def total_nodes(self) -> int:
        """NumAllNodes."""
        return len(self.nodes.codes) if self.placement_nodes is None else self.placement_nodes

    @property
    def unschedulable_plugins(self) -> frozenset[str]:
        """UnschedulablePlugins. They are collected here: of a pod that has a node, few callers need them."""
        return self.blamed | self.nodes.unschedulable_plugins() if self.blames_nodes else self.blamed

    def add_plugin_status(self, status: Status) -> None:
        """Diagnosis.AddPluginStatus."""
        if status.rejected and status.plugin:
            self.blamed |= {status.plugin}
        if status.code is Code.PENDING and status.plugin:
            self.pending_plugins.add(status.plugin)

    def message(self) -> str:
        """FitError.Error: the text of the FailedScheduling event."""
        text = self.filter_message()
        if self.post_filter_message and self.wording.post_filter:
            text += f" {self.post_filter_message}{self.wording.post_filter_end}"
        return text

    def filter_message(self) -> str:
        """The message without what PostFilter plugins add to it."""
        text = f"0/{self.total_nodes} nodes are available:"
        by_pre_filter = self.pre_filter.message if self.pre_filter is not None and self.wording.pre_filter else ""
        if by_pre_filter:
            text += f" {by_pre_filter}."
        else:
            counts = self.nodes.reason_counts
            histogram = self.nodes.once("histogram", lambda: sorted(f"{n} {text}" for text, n in counts().items()))
            if histogram or not self.wording.pre_filter:
                text += f" {', '.join(histogram)}."
        return text
