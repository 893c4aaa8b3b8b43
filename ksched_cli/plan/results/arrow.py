"""Results as columns for notebooks (pyarrow, an optional dependency): one table of pods, one of pods and nodes, and the
rows of a sweep. The only importer of `pyarrow`."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec
import numpy as np

from ksched_cli.errors import UsageError
from ksched_cli.plan.results.nodes import Failure
from ksched_cli.plan.sweep.statistics import FIGURES, VariantRow

if TYPE_CHECKING:
    from ksched_cli.plan.results.nodes import NodeDetail
    from ksched_cli.plan.results.outcomes import PodOutcome


_BATCH = 10_000
_KINDS = ("raw", "normalized", "weighted")


def pods_table(outcomes: Iterable[PodOutcome]) -> Any:
    """A pyarrow.Table with a row for each pod that was tried."""
    pa = _pyarrow()
    rows = [_pod_row(outcome) for outcome in outcomes]
    schema = pa.schema(
        [
            *((name, pa.string()) for name in ("namespace", "name", "result", "node", "nominated_node")),
            *((name, pa.int64()) for name in ("total", "ties", "feasible_nodes", "total_nodes")),
            ("unschedulable_plugins", pa.list_(pa.string())),
            *((name, pa.string()) for name in ("message", "scheduler", "pod_group")),
        ]
    )
    return pa.Table.from_pylist(rows, schema=schema)


def write_variants(rows: Iterable[VariantRow], out: BinaryIO) -> None:
    """Write the rows of a sweep as Parquet, some thousand at a time. Coordinates are JSON."""
    pa = _pyarrow()
    from pyarrow.parquet import ParquetWriter

    pod = pa.struct([(name, pa.string()) for name in ("pod", "result", "node")])
    texts = [(name, pa.string()) for name in ("at", "outcome", "reason", "error")]
    lists = [("failed", pa.list_(pa.string())), ("pods", pa.list_(pod))]
    schema = pa.schema([("variant", pa.int64()), *texts, *((name, pa.int64()) for name in FIGURES), *lists])
    waiting = iter(rows)
    with ParquetWriter(out, schema) as writer:
        while part := list(islice(waiting, _BATCH)):
            batch = [{**row.columns, "pods": [msgspec.structs.asdict(pod) for pod in row.pods]} for row in part]
            writer.write_batch(pa.RecordBatch.from_pylist(batch, schema=schema))


def _pod_row(outcome: PodOutcome) -> dict[str, Any]:
    namespace, _, name = outcome.pod.partition("/")
    totals = (each.total for each in outcome.top if each.node == outcome.node)
    return {
        "namespace": namespace,
        "name": name,
        "result": outcome.result,
        "node": outcome.node or None,
        "nominated_node": outcome.nominated_node or None,
        "total": next(totals, None),
        "ties": len(outcome.ties),
        "feasible_nodes": outcome.feasible_nodes,
        "total_nodes": outcome.total_nodes,
        "unschedulable_plugins": list(outcome.unschedulable_plugins),
        "message": outcome.message,
        "scheduler": outcome.scheduler,
        "pod_group": outcome.pod_group or None,
    }


def nodes_table(outcomes: Iterable[PodOutcome]) -> Any:
    """A pyarrow.Table with a row for each pod and node: whether the pod fits, the first failure, the total and the
    scores of each plugin. Outcomes are read one by one."""
    pa = _pyarrow()
    parts = [_nodes_part(pa, outcome, outcome.detail) for outcome in outcomes if outcome.detail is not None]
    if not parts:
        return pa.table({"pod": pa.array([], pa.string()), "node": pa.array([], pa.string())})
    return pa.concat_tables(parts, promote_options="default")


def _nodes_part(pa: Any, outcome: PodOutcome, detail: NodeDetail) -> Any:
    names, failures = detail.node_names, [Failure("", "", ())]
    numbers = detail.numbers_of_failures(lambda failure: _numbered(failures, failure))
    if outcome.pre_filter is not None:
        numbers = np.full(len(names), _numbered(failures, outcome.pre_filter), dtype=np.int32)
    failed = pa.array(np.maximum(numbers, 0), mask=numbers <= 0)
    columns: dict[str, Any] = {
        "pod": pa.DictionaryArray.from_arrays(np.zeros(len(names), dtype=np.int32), [outcome.pod]),
        "node": pa.array(list(names), pa.string()),
        # A node that the cycle did not look at has no value.
        "feasible": pa.array(numbers == 0, mask=numbers < 0),
        "plugin": pa.DictionaryArray.from_arrays(failed, [each.plugin for each in failures]),
        "code": pa.DictionaryArray.from_arrays(failed, [each.code for each in failures]),
        "reasons": pa.DictionaryArray.from_arrays(failed, ["; ".join(each.reasons) for each in failures]),
    }
    missing, totals, scores = detail.scores_by_name()
    columns["total"] = pa.array(totals, mask=missing)
    for plugin, kinds in scores.items():
        for kind, column in zip(_KINDS, kinds, strict=True):
            columns[f"{plugin}.{kind}"] = pa.array(column, mask=missing)
    return pa.table(columns)


def _numbered(failures: list[Failure], failure: Failure) -> int:
    if failure not in failures:
        failures.append(failure)
    return failures.index(failure)


def as_frame(table: Any) -> Any:
    """The table as a pandas.DataFrame."""
    if find_spec("pandas") is None:
        raise UsageError("to_pandas needs pandas: pip install 'ksched-cli[arrow]'")
    return table.to_pandas()


def _pyarrow() -> Any:
    if find_spec("pyarrow") is None:
        raise UsageError("to_arrow needs pyarrow: pip install 'ksched-cli[arrow]'")
    import pyarrow

    return pyarrow
