"""A redacted snapshot: no name of the cluster is left in it, and every pod goes where it went."""

from __future__ import annotations

import gzip
import json
import typing
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from msgspec import Struct

from ksched_cli.api.kinds import KINDS
from ksched_cli.cli.main import run
from ksched_cli.sources.redaction.fields import (
    EMPTIED,
    EMPTIED_OF,
    NAMES,
    NAMES_OF,
    PLAIN,
    PLAIN_OF,
    TOGETHER,
    Role,
)
from ksched_cli.wiring import Setup, prepare
from ksched_cli.wiring.snapshots import take_snapshot
from tests.builders import make_node, make_pod

CORPUS = Path(__file__).parents[2] / "fixtures" / "conformance" / "1.36"
SUBJECTS = sorted({path.name.rpartition("-")[0] for path in CORPUS.iterdir() if path.is_dir()})


def by_values_of_labels(case: Path) -> bool:
    """Whether the configuration itself names labels' values, which it would have to be redacted for, too."""
    config = case / "config.yaml"
    return config.exists() and any(word in config.read_text() for word in ("addedAffinity", "matchLabels"))


CASES = [
    case for subject in SUBJECTS for case in sorted(CORPUS.glob(f"{subject}-*"))[:4] if not by_values_of_labels(case)
]


def placements(source: str, case: Path) -> list[tuple[str, str, str, tuple[str, ...], tuple[str, ...]]]:
    config = case / "config.yaml"
    simulation = prepare(Setup([source], config=str(config) if config.exists() else None)).simulate()
    return [
        (
            each.pod,
            each.result,
            each.node or each.nominated_node,
            each.ties,
            each.preemption.victims if each.preemption else (),
        )
        for each in simulation.outcomes
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_same_placements_under_the_renaming(case: Path, tmp_path: Path) -> None:
    source = str(case / "cluster.json")
    taken = take_snapshot(Setup([source]), None, "", redacted=True)
    path = tmp_path / "redacted.gz"
    path.write_bytes(taken.data)
    nodes, namespaces, pods = (taken.names.get(role, {}) for role in (Role.NODE, Role.NAMESPACE, Role.POD))

    def renamed(key: str) -> str:
        namespace, _, name = key.partition("/")
        return f"{namespaces[namespace]}/{pods[name]}"

    before = [
        (renamed(pod), result, nodes.get(node, ""), tuple(nodes[tie] for tie in ties), tuple(map(renamed, victims)))
        for pod, result, node, ties, victims in placements(source, case)
    ]
    assert before
    assert placements(str(path), case) == before


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_name_is_left(case: Path) -> None:
    taken = take_snapshot(Setup([str(case / "cluster.json")]), None, "", redacted=True)
    texts = set(_texts(json.loads(gzip.decompress(taken.data))["items"]))
    left = texts - {pseudonym for names in taken.names.values() for pseudonym in names.values()}
    # Claims of several kinds have names of their own, which may be words of Kubernetes as well: a container called main.
    told = {name for role, names in taken.names.items() if role not in _WORDS for name in names if name in left}
    assert told <= _KEPT


_WORDS = (Role.LOCAL, Role.CONTAINER, Role.VALUE)
_KEPT = {"system-cluster-critical", "system-node-critical"}


def _texts(value: Any) -> typing.Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)


def _texts_of(kind: Any, seen: set[type[Struct]]) -> typing.Iterator[tuple[str, str]]:
    if isinstance(kind, type) and issubclass(kind, Struct):
        if kind in seen:
            return
        seen.add(kind)
        for field in msgspec.structs.fields(kind):
            if str in _leaves(field.type):
                yield kind.__name__, field.name
            yield from _texts_of(field.type, seen)
    for part in typing.get_args(kind):
        yield from _texts_of(part, seen)


def _leaves(kind: Any) -> set[Any]:
    parts = typing.get_args(kind)
    if typing.get_origin(kind) is dict:
        parts = parts[1:] if parts[1] is not str else parts
    return {kind} if not parts else set().union(*map(_leaves, parts))


def test_every_text_of_every_kind_is_spoken_for() -> None:
    seen: set[type[Struct]] = set()
    texts = {each for kind in set(KINDS.values()) for each in _texts_of(kind, seen)}
    assert len(texts) > 150
    spoken_for = {
        (own, field)
        for own, field in texts
        if (own, field) in {*NAMES_OF, *PLAIN_OF, *EMPTIED_OF, *TOGETHER} or field in {*NAMES, *PLAIN, *EMPTIED}
    }
    assert texts - spoken_for == set()


POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "payroll",
        "namespace": "finance",
        "labels": {"team": "accounts"},
        "annotations": {"owner": "carol@example.com"},
    },
    "spec": {
        "containers": [
            {"name": "ledger", "image": "registry.corp/ledger", "env": [{"name": "PASSWORD", "value": "hunter2"}], "command": ["run-books"]}
        ],
        "volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}}],
        "nodeSelector": {"disk": "ssd-vault"},
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["8"]}]}
        ]}}},
    },
}  # fmt: skip


def write(tmp_path: Path) -> str:
    node = make_node("rack-7.corp").label(disk="ssd-vault", cores="16").doc()
    node["status"]["images"] = [{"names": ["registry.corp/ledger:latest"], "sizeBytes": 10}]
    items = [
        node,
        POD,
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "payroll-scratch", "namespace": "finance"},
        },
    ]
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml.safe_dump_all([*items, make_pod("batch", "finance").doc()]))
    return str(path)


def test_what_a_redacted_snapshot_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, names = tmp_path / "share.gz", tmp_path / "names.json"
    assert run(["snapshot", "--from", write(tmp_path), "--redact", "--redact-names", str(names), "-o", str(out)]) == 0
    text = gzip.decompress(out.read_bytes()).decode()
    for word in (
        "payroll",
        "finance",
        "accounts",
        "carol",
        "corp",
        "ledger",
        "hunter2",
        "run-books",
        "vault",
        "scratch",
    ):
        assert word not in text
    document = json.loads(text)
    assert document["redacted"] is True
    items = {item["kind"]: item for item in document["items"] if item["metadata"]["name"] != "pod-1"}
    pod = items["Pod"]
    assert items["PersistentVolumeClaim"]["metadata"]["name"] == f"pod-2-{pod['spec']['volumes'][0]['name']}"
    assert items["Node"]["metadata"]["labels"] == {
        "disk": pod["spec"]["nodeSelector"]["disk"],
        "cores": "16",
        "kubernetes.io/hostname": "node-1",
    }
    assert items["Node"]["status"]["images"][0]["names"] == [pod["spec"]["containers"][0]["image"]]
    assert json.loads(names.read_text())["pod"] == {"batch": "pod-1", "payroll": "pod-2"}


def test_names_without_redaction_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["snapshot", "--from", write(tmp_path), "--redact-names", "x", "-o", "y"]) == 2
    assert "--redact-names goes with --redact" in capsys.readouterr().err
