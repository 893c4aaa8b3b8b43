"""Tables of a scheduling trace (CSV) as nodes and pods.

Traces are published as two tables: machines, and the tasks that arrived. A mapping defines which column becomes which
field; `openb` is the one of Alibaba's GPU trace of 2023, and users write others in YAML. A field is a text in which
`{column}` stands for the cell of that row. A field whose cells are all empty is left out of the object.

The order of rows is the order of arrival unless `arrival` names a column, or the rows are shuffled by a seed. A seed
also draws a number in front of each name of a node: kube-scheduler draws among nodes with equal scores, and ksched
takes the lowest name. `fill` states how large a node and a pod are (a product of columns and numbers); with it, pods
are drawn again or left out until the pods together are as large as a share of the nodes. Lifetimes of pods are not
modelled: no pod ends.
"""

from __future__ import annotations

import csv
import datetime
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from ksched_cli.api.yaml_reader import read_documents
from ksched_cli.errors import InputError, Problem, UsageError

Row = Mapping[str, str]
# The line of the table and its cells.
NumberedRow = tuple[int, dict[str, str]]
_COLUMN = re.compile(r"\{([^{}]+)\}")
_FIRST_ARRIVAL = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)


class NodeFields(Struct, frozen=True, forbid_unknown_fields=True):
    """Texts with `{column}` in them."""

    name: str
    resources: dict[str, str]
    labels: dict[str, str] = {}


class PodFields(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    requests: dict[str, str]
    limits: dict[str, str] = {}
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    namespace: str = "default"
    node_selector: dict[str, str] = msgspec.field(default={}, name="nodeSelector")
    scheduler_name: str = msgspec.field(default="default-scheduler", name="schedulerName")
    arrival: str = ""


class Fill(Struct, frozen=True, forbid_unknown_fields=True):
    """Products such as `num_gpu * gpu_milli`."""

    node: str
    pod: str


class TraceMapping(Struct, frozen=True, forbid_unknown_fields=True):
    nodes: NodeFields
    pods: PodFields
    fill: Fill | None = None


OPENB = TraceMapping(
    nodes=NodeFields(
        name="{sn}",
        resources={
            "cpu": "{cpu_milli}m",
            "memory": "{memory_mib}Mi",
            "pods": "1001",
            "alibabacloud.com/gpu-count": "{gpu}",
        },
        labels={"alibabacloud.com/gpu-card-model": "{model}"},
    ),
    pods=PodFields(
        name="{name}",
        namespace="paib-gpu",
        requests={"cpu": "{cpu_milli}m", "memory": "{memory_mib}Mi"},
        annotations={
            "alibabacloud.com/gpu-count": "{num_gpu}",
            "alibabacloud.com/gpu-milli": "{gpu_milli}",
            "alibabacloud.com/gpu-card-model": "{gpu_spec}",
        },
        arrival="{creation_time}",
    ),
    fill=Fill(node="gpu * 1000", pod="num_gpu * gpu_milli"),
)
BUILT_IN = {"openb": OPENB}
_OPENB_NODES, _OPENB_PODS = "openb_node_list_gpu_node.csv", "openb_pod_list_{}.csv"


class TraceSource(Struct, frozen=True):
    """A trace that a source names: `openb:DIR?workload=cpu050&seed=42&fill=1.3`, where DIR has the published tables, or
    `trace:NODES.csv,PODS.csv?mapping=FILE`."""

    text: str
    nodes: str
    pods: str
    mapping: str
    seed: int | None = None
    fill: float | None = None

    def read(self) -> dict[str, Any]:
        """The List of nodes and pods."""
        return read_trace(self.nodes, self.pods, read_mapping(self.mapping), seed=self.seed, fill=self.fill)


def trace_source(text: str) -> TraceSource:
    """The trace of a text that begins with `openb:` or `trace:`. UsageError for a mistake in it."""
    kind, _, rest = text.partition(":")
    path, _, query = rest.partition("?")
    words = _words(text, query, ("workload", "seed", "fill") if kind == "openb" else ("mapping", "seed", "fill"))
    seed, fill = words.pop("seed", None), words.pop("fill", None)
    if seed is not None and not seed.isdecimal():
        raise UsageError(Problem(f"seed is {seed!r}, not a whole number", text))
    if fill is not None and (not _is_number(fill) or float(fill) <= 0):
        raise UsageError(Problem(f"fill is {fill!r}, not a number above 0", text))
    numbers = (int(seed) if seed is not None else None, float(fill) if fill is not None else None)
    if kind == "openb":
        folder = next((each for each in (Path(path), Path(path) / "csv") if (each / _OPENB_NODES).is_file()), None)
        if folder is None:
            raise UsageError(Problem(f"there is no {_OPENB_NODES} in this folder", path or text))
        workload = words.get("workload", "default")
        pods = folder / _OPENB_PODS.format(workload)
        if not pods.is_file():
            known = ", ".join(sorted(_workload_of(each) for each in folder.glob(_OPENB_PODS.format("*"))))
            raise UsageError(
                Problem(f"there is no workload {workload} in this folder", str(folder), hint=f"it has {known}")
            )
        return TraceSource(text, str(folder / _OPENB_NODES), str(pods), kind, *numbers)
    nodes, comma, pods_path = path.partition(",")
    if not comma:
        raise UsageError(Problem("a trace has two tables", text, hint="write trace:NODES.csv,PODS.csv?mapping=FILE"))
    return TraceSource(text, nodes, pods_path, words.get("mapping", "openb"), *numbers)


def _workload_of(path: Path) -> str:
    before, after = _OPENB_PODS.split("{}")
    return path.name.removeprefix(before).removesuffix(after)


def _words(text: str, query: str, known: Sequence[str]) -> dict[str, str]:
    """`seed=42&fill=1.3`, each key once."""
    found: dict[str, str] = {}
    for part in filter(None, query.split("&")):
        key, equals, value = part.partition("=")
        if key not in known or not equals or key in found:
            raise UsageError(Problem(f"{part!r} is none of {', '.join(f'{each}=...' for each in known)}", text))
        found[key] = value
    return found


def with_words(text: str, **words: str) -> str:
    """The text of a trace source with these words in place of its own."""
    path, _, query = text.partition("?")
    found = dict(part.partition("=")[::2] for part in query.split("&") if part) | words
    return f"{path}?{'&'.join(f'{key}={value}' for key, value in found.items())}"


def read_mapping(name: str) -> TraceMapping:
    """A built-in mapping, or the one of a YAML file."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    path = Path(name)
    if not path.is_file():
        raise UsageError(f"{name}: neither a file nor a built-in mapping ({', '.join(BUILT_IN)})")
    documents = [found.value for found in read_documents(path.read_bytes(), name)]
    if len(documents) != 1:
        raise InputError(Problem(f"{len(documents)} documents in it, not one mapping", name))
    try:
        return msgspec.convert(documents[0], TraceMapping)
    except msgspec.ValidationError as wrong:
        raise InputError(Problem(str(wrong), name)) from None


def read_trace(
    nodes: str, pods: str, mapping: TraceMapping, *, seed: int | None = None, fill: float | None = None
) -> dict[str, Any]:
    """A List of the nodes and the pending pods, one second between arrivals.

    With `seed` the order of the pods, and which of equal nodes has the lowest name, are drawn by it. With `fill` pods
    are drawn again, or left out, until together they are as large as `fill` times the nodes.
    """
    node_rows, pod_rows = _rows(nodes), _rows(pods)
    sizes = mapping.fill if fill is not None else None
    if fill is not None and sizes is None:
        raise UsageError("--fill: the mapping does not state how large nodes and pods are (its key `fill`)")
    used_of_nodes = [mapping.nodes.name, *mapping.nodes.resources.values(), *mapping.nodes.labels.values()]
    pod = mapping.pods
    texts = (pod.requests, pod.limits, pod.labels, pod.annotations, pod.node_selector)
    used_of_pods = [pod.name, pod.namespace, pod.arrival, *(text for each in texts for text in each.values())]
    problems = [
        *_missing(nodes, node_rows, used_of_nodes, sizes.node if sizes else ""),
        *_missing(pods, pod_rows, used_of_pods, sizes.pod if sizes else ""),
    ]
    if problems:
        raise InputError(problems)
    arrived = _in_order(pods, pod_rows, pod.arrival, seed)
    if fill is not None and sizes is not None:
        target = fill * sum(_size(nodes, line, row, sizes.node) for line, row in node_rows)
        arrived = _filled(arrived, [_size(pods, line, row, sizes.pod) for line, row in arrived], target, seed or 0)
    items = [_node(row, mapping.nodes) for _, row in node_rows]
    if seed is not None:
        _shuffle_names([item["metadata"] for item in items], seed)
    items += [_pod(row, pod, number) for number, (_, row) in enumerate(arrived)]
    return {"apiVersion": "v1", "kind": "List", "items": items}


def _rows(path: str) -> list[NumberedRow]:
    """Each row with its line."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            rows = [(reader.line_num, row) for row in reader]
    except OSError as problem:
        raise UsageError(f"cannot read {path}: {(problem.strerror or str(problem)).lower()}") from None
    except (csv.Error, UnicodeDecodeError) as broken:
        raise InputError(Problem(f"not a table of comma-separated values: {broken}", path)) from None
    if not rows:
        raise InputError(Problem("the table has no rows", path, hint="the first line names the columns"))
    ragged = [Problem("the row has another number of cells than the first line", path, line)
              for line, row in rows if None in row or None in row.values()]  # fmt: skip
    if ragged:
        raise InputError(ragged[:10])
    return rows


def _missing(path: str, rows: list[NumberedRow], texts: Iterable[str], product: str) -> Iterator[Problem]:
    there = rows[0][1].keys()
    wanted = {column for text in texts for column in _COLUMN.findall(text)}
    wanted |= {factor for factor in _factors(product) if not _is_number(factor)}
    for column in sorted(wanted - there):
        yield Problem(f"no column {column}", path, 1, hint=f"its columns are {', '.join(there)}")


def _factors(product: str) -> list[str]:
    return [factor.strip() for factor in product.split("*") if factor.strip()]


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def _size(path: str, line: int, row: Row, product: str) -> float:
    size = 1.0
    for factor in _factors(product):
        text = factor if _is_number(factor) else row[factor]
        if not _is_number(text):
            raise InputError(Problem(f"column {factor} has {text!r}, not a number", path, line))
        size *= float(text)
    return size


def _in_order(path: str, rows: list[NumberedRow], arrival: str, seed: int | None) -> list[NumberedRow]:
    if seed is not None:
        shuffled = list(rows)
        random.Random(seed).shuffle(shuffled)
        return shuffled
    if not arrival:
        return rows
    times = []
    for line, row in rows:
        text = _filled_in(arrival, row)
        if not _is_number(text):
            raise InputError(Problem(f"the time of arrival is {text!r}, not a number of seconds", path, line))
        times.append(float(text))
    return [row for _, row in sorted(zip(times, rows, strict=True), key=lambda each: each[0])]


def _filled(rows: list[NumberedRow], sizes: list[float], target: float, seed: int) -> list[NumberedRow]:
    """Draws with replacement from all rows until the next one would be too much, or leaves rows out at random."""
    drawn, total = random.Random(f"fill {seed}"), sum(sizes)
    if not any(sizes):
        raise UsageError("--fill: the pods have no size")
    if total > target:
        left = list(range(len(rows)))
        while total > target:
            total -= sizes[left.pop(drawn.randrange(len(left)))]
        return [rows[place] for place in left]
    filled, copies = list(rows), 0
    while True:
        place = drawn.randrange(len(rows))
        if total + sizes[place] > target:
            return filled
        line, row = rows[place]
        filled.append((line, {**row, _COPY: f"-copy-{copies}"}))
        total += sizes[place]
        copies += 1


# What the name of a pod that was drawn again ends in. No column of a table has an empty name.
_COPY = ""


def _filled_in(text: str, row: Row) -> str:
    return _COLUMN.sub(lambda found: row[found[1]].strip(), text)


def _fields(texts: Mapping[str, str], row: Row) -> dict[str, str]:
    """Without fields whose columns are all empty."""
    found = {}
    for key, text in texts.items():
        columns = _COLUMN.findall(text)
        if not columns or any(row[column].strip() for column in columns):
            found[key] = _filled_in(text, row)
    return found


def _node(row: Row, fields: NodeFields) -> dict[str, Any]:
    name = _filled_in(fields.name, row)
    resources = _fields(fields.resources, row)
    standard = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": standard | _fields(fields.labels, row)},
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _shuffle_names(nodes: list[dict[str, Any]], seed: int) -> None:
    """Put a number in front of each name, which decides among nodes with equal scores."""
    ranks = list(range(len(nodes)))
    random.Random(f"nodes {seed}").shuffle(ranks)
    width = len(str(len(nodes)))
    for rank, metadata in zip(ranks, nodes, strict=True):
        metadata["name"] = metadata["labels"]["kubernetes.io/hostname"] = f"{rank:0{width}}-{metadata['name']}"


def _pod(row: Row, fields: PodFields, number: int) -> dict[str, Any]:
    requests, limits = _fields(fields.requests, row), _fields(fields.limits, row)
    metadata: dict[str, Any] = {
        "name": _filled_in(fields.name, row) + row.get(_COPY, ""),
        "namespace": _filled_in(fields.namespace, row),
        "creationTimestamp": (_FIRST_ARRIVAL + datetime.timedelta(seconds=number)).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    for key, texts in (("labels", fields.labels), ("annotations", fields.annotations)):
        if found := _fields(texts, row):
            metadata[key] = found
    resources = {"requests": requests} | ({"limits": limits} if limits else {})
    spec: dict[str, Any] = {
        "schedulerName": fields.scheduler_name,
        "containers": [{"name": "main", "image": "trace", "resources": resources}],
    }
    if selector := _fields(fields.node_selector, row):
        spec["nodeSelector"] = selector
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}
