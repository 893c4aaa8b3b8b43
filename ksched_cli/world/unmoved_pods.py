"""The pods to which nothing happened in a run: most pods of a large cluster, of which few results show any."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TypeAlias

from ksched_cli.api.core import Pod
from ksched_cli.api.pod_facts import pod_key
from ksched_cli.controlplane.store import Identity, KeptObjects
from ksched_cli.controlplane.workloads import WorkloadNames

# Names, workloads and nodes.
Columns: TypeAlias = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]


class UnmovedPods:
    """Pods that had their node before the run and to which nothing happened, as columns in the order of `pods`. The
    columns are made when they are read first."""

    def __init__(self, make: Callable[[], Columns] = lambda: ((), (), ())) -> None:
        self._make = make

    @classmethod
    def of(cls, found: Iterable[tuple[str, str, str]]) -> UnmovedPods:
        """The pods with these names, workloads and nodes."""
        columns = _sorted(found)
        return cls(lambda: columns)

    @cached_property
    def columns(self) -> Columns:
        return self._make()

    @property
    def pods(self) -> tuple[str, ...]:
        return self.columns[0]

    @property
    def workloads(self) -> tuple[str, ...]:
        return self.columns[1]

    @property
    def nodes(self) -> tuple[str, ...]:
        return self.columns[2]

    def converted(self, convert: Callable[[str], str]) -> UnmovedPods:
        """The same pods with converted texts."""

        def make() -> Columns:
            pods, workloads, nodes = (tuple(map(convert, column)) for column in self.columns)
            return pods, workloads, nodes

        return UnmovedPods(make)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnmovedPods) and self.columns == other.columns

    def __hash__(self) -> int:
        return hash(self.columns)

    def __reduce__(self) -> tuple[Callable[..., UnmovedPods], tuple[object, ...]]:
        return _with_columns, self.columns


class StoredPods(UnmovedPods):
    """Unmoved pods that are known as objects: `table` has them by identity. `workload_of` must name the workloads as
    they were at the end of the run, whatever has happened since then."""

    def __init__(self, find: Callable[[], dict[Identity, Pod]], workload_of: Callable[[Pod], str]) -> None:
        super().__init__(self._columns_of_table)
        self._find, self.workload_of = find, workload_of

    @cached_property
    def table(self) -> Mapping[Identity, Pod]:
        return self._find()

    @classmethod
    def all_but(cls, left_out: Iterable[Identity], kept: KeptObjects) -> StoredPods:
        """The kept pods but these, whose workloads are named as the kept objects have them."""

        def find() -> dict[Identity, Pod]:
            pods = dict(kept.pods)
            for identity in left_out:
                del pods[identity]
            return pods

        return cls(find, WorkloadNames(kept))

    def left_out_of(self, kept: KeptObjects) -> tuple[Identity, ...] | None:
        """The kept pods that are not among these. None if some of these are others than the kept pods."""
        table = self.table
        left_out = tuple(identity for identity, pod in kept.pods.items() if table.get(identity) is not pod)
        return left_out if len(kept.pods) - len(left_out) == len(table) else None

    def _columns_of_table(self) -> Columns:
        return _sorted((pod_key(pod), self.workload_of(pod), pod.spec.node_name) for pod in self.table.values())


def _sorted(found: Iterable[tuple[str, str, str]]) -> Columns:
    rows = sorted(found)
    pods, workloads, nodes = zip(*rows, strict=True) if rows else ((), (), ())
    return pods, workloads, nodes


def _with_columns(*columns: tuple[str, ...]) -> UnmovedPods:
    pods, workloads, nodes = columns
    return UnmovedPods(lambda: (pods, workloads, nodes))
