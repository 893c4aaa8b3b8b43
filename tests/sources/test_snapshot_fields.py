"""Every text field of every kind holds a marker; a table states which markers survive in which snapshot, and why."""

from __future__ import annotations

import gzip
import json
import os
import types
import typing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Struct

from ksched_cli.api.decode import KINDS
from ksched_cli.api.workloads import Deployment
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.simulator import Simulator
from ksched_cli.sources.dump import load_dump
from ksched_cli.sources.own_documents import write_snapshot
from ksched_cli.sources.redaction.redact import redact
from ksched_cli.sources.redaction.unread import is_read
from ksched_cli.sources.redaction.walk import NAMES, NAMES_OF, PLAIN, PLAIN_OF, REASONS
from ksched_cli.sources.templates import defaulted
from tests.builders import loaded_of, make_pod, write_list

EXPECTED = Path(__file__).with_name("snapshot_fields.txt")
ALL_KINDS = sorted(set(KINDS.values()), key=lambda kind: kind.__name__)
# Text fields that nothing in ksched reads. They are in no snapshot.
UNREAD = frozenset(
    {
        "provider_id",
        "path",
        "hostname",
        "subdomain",
        "node_id",
        "parameters",
        "volume_attributes",
        "handler",
        "storage_policy_name",
        "secret_name",
        "secret_namespace",
        "volumes_in_use",
        "resize",
        "fs_type",
        "caching_mode",
        "schedule",
        "topology_keys",
        "medium",
        "request_name",
        "volume_path",
        "share_name",
        "resource_name",
    }
)
UNREAD_OF = frozenset(
    {
        ("ContainerPort", "name"),
        ("NodeCondition", "reason"),
        ("ContainerExtendedResourceRequest", "container_name"),
        ("ISCSIVolumeSource", "target_portal"),
        ("AzureDiskVolumeSource", "kind"),
        ("TypedLocalObjectReference", "api_group"),
        ("TypedLocalObjectReference", "kind"),
        ("TypedLocalObjectReference", "name"),
    }
)
# The message and reason of other conditions are left out.
READ_CONDITION = {("PodCondition", "type"): "PodScheduled"}
VALID = {**READ_CONDITION, ("Pod", "phase"): "Pending"}


def marker(own: str, field: str) -> str:
    return f"marker.example/{own}.{field}/"


def filled(kind: type[Struct], depth: int = 0) -> dict[str, Any]:
    """A document of the kind with a marker in each text field."""
    document: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        value = VALID.get((kind.__name__, field.name)) or sample(field.type, marker(kind.__name__, field.name), depth)
        if value is not None:
            document[field.encode_name] = value
    return document


def sample(annotation: Any, text: str, depth: int) -> Any:
    if annotation is str:
        return text
    if isinstance(annotation, type) and issubclass(annotation, Struct):
        return filled(annotation, depth + 1)
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return next((value for part in parts if (value := sample(part, text, depth)) is not None), None)
    if origin is dict:
        value = sample(parts[1], text, depth)
        return {"key": text if parts[1] is Any else value} if value is not None or parts[1] is Any else None
    if origin in (tuple, list):
        value = sample(parts[0], text, depth)
        return None if value is None else [value]
    return None


def snapshot_text(source: str, *, redacted: bool) -> str:
    return gzip.decompress(
        Simulator.of(RunOptions([source], allow_empty=True)).snapshot("", redacted=redacted).data
    ).decode()


def why(own: str, field: str, in_plain: bool, in_redacted: bool) -> str:
    if not in_plain:
        return "nothing reads it"
    if in_redacted:
        return "vocabulary, or a name that the help of --redact says stays"
    if (own, field) in NAMES_OF or field in NAMES:
        return "a name: has a pseudonym"
    return "replaced, reduced or left out by a rule of its own"


def fields_of(kind: Any, seen: set[type[Struct]]) -> typing.Iterator[tuple[str, str]]:
    for part in typing.get_args(kind) or (kind,):
        if part is not kind:
            yield from fields_of(part, seen)
        elif isinstance(part, type) and issubclass(part, Struct) and part not in seen:
            seen.add(part)
            for field in msgspec.structs.fields(part):
                yield part.__name__, field.name
                yield from fields_of(field.type, seen)


@pytest.mark.slow
def test_which_text_survives_and_why() -> None:
    loaded = loaded_of(*(msgspec.convert(filled(kind), kind) for kind in ALL_KINDS))
    given = json.dumps([filled(kind) for kind in ALL_KINDS])
    plain, redacted = (gzip.decompress(write_snapshot(each, "")).decode() for each in (loaded, redact(loaded).loaded))
    seen: set[type[Struct]] = set()
    lines = []
    for own, field in sorted(each for kind in ALL_KINDS for each in fields_of(kind, seen)):
        if marker(own, field) in given:
            survives = marker(own, field) in plain, marker(own, field) in redacted
            words = ["kept" if each else "gone" for each in survives]
            lines.append(f"{own}.{field}  plain {words[0]}, redacted {words[1]}: {why(own, field, *survives)}")
    assert len(lines) > 180
    if os.environ.get("UPDATE_GOLDEN"):
        EXPECTED.write_text("".join(f"{line}\n" for line in lines))
    assert lines == EXPECTED.read_text().splitlines()


def test_no_annotation_survives_but_those_on_the_list(tmp_path: Path) -> None:
    """The copy of the manifest that kubectl apply keeps holds environment variables and commands."""
    pod = make_pod("web").doc()
    pod["metadata"]["annotations"] = {
        "kubectl.kubernetes.io/last-applied-configuration": '{"env": [{"name": "PASSWORD", "value": "hunter2"}]}',
        "controller.kubernetes.io/pod-deletion-cost": "7",
    }
    volume = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "fast", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": "x",
        "parameters": {"adminSecret": "hunter2"},
    }
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "annotations": {"cost-center": "hunter2"}}}
    path = tmp_path / "cluster.json"
    write_list(path, pod, volume, node)
    text = snapshot_text(str(path), redacted=False)
    assert "hunter2" not in text
    kept = {item["kind"]: item["metadata"]["annotations"] for item in json.loads(text)["items"]}
    assert kept == {
        "Node": {},
        "Pod": {"controller.kubernetes.io/pod-deletion-cost": "7"},
        "StorageClass": {"storageclass.kubernetes.io/is-default-class": "true"},
    }


def deployment(**annotations: str) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"app": "web"}, "annotations": annotations},
        "spec": {"containers": [{"name": "c", "image": "web:1", "ports": [{"containerPort": 80, "name": "http"}]}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    }


@pytest.mark.parametrize(("checksum", "same"), [("one", True), ("two", False)])
def test_a_changed_template_is_recognised_by_what_was_left_out(checksum: str, same: bool, tmp_path: Path) -> None:
    path, manifest = tmp_path / "cluster.json", tmp_path / "web.json"
    path.write_text(json.dumps(deployment(checksum="one")))
    manifest.write_text(json.dumps(deployment(checksum=checksum)))
    taken = tmp_path / "cluster.ksched.gz"
    taken.write_bytes(Simulator.of(RunOptions([str(path)], allow_empty=True)).snapshot("").data)
    assert b"one" not in gzip.decompress(taken.read_bytes())
    live, given = (load_dump([str(each)]).of(Deployment)[0].spec.template for each in (taken, manifest))
    assert live is not None
    assert given is not None
    assert (defaulted(live) == defaulted(given)) is same


def test_the_tables_have_no_field_twice() -> None:
    assert not NAMES.keys() & PLAIN
    assert not NAMES_OF.keys() & PLAIN_OF
    assert "" not in REASONS


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
        (own, field) for own, field in texts if is_read(own, field) or (own, field) in UNREAD_OF or field in UNREAD
    }
    assert texts - spoken_for == set()
