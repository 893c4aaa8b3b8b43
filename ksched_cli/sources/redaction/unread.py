"""Removes the text that nothing in ksched reads from objects, as every snapshot holds them.

`fields` is the allow-list. A text field that it does not name is reset to its default.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any, TypeVar

import msgspec
from msgspec import NODEFAULT, Struct

from ksched_cli.api.avoided_pods import AVOID_PODS_ANNOTATION, avoided_controllers, avoiding
from ksched_cli.api.core import ObjectMeta, PodCondition
from ksched_cli.api.dynamic_resources import DeviceCapacity
from ksched_cli.api.workloads import PodTemplateSpec
from ksched_cli.sources.redaction import walk as fields
from ksched_cli.sources.redaction.walk import SPECIAL

S = TypeVar("S", bound=Struct)
_Change = Callable[[Any], Any]


def without_unread(item: S) -> S:
    """The object without unread text; the same object if it has none."""
    changes = {}
    for field, change in _changes_of(type(item)):
        value = getattr(item, field)
        if value is not None and (changed := change(value)) is not value:
            changes[field] = changed
    if not changes:
        return item
    reduced = msgspec.structs.replace(item, **changes)
    if isinstance(reduced, PodTemplateSpec):
        _mark(item, reduced)
    return reduced


def is_read(own: str, field: str) -> bool:
    """Whether the text field of the type is on the allow-list."""
    pair = (own, field)
    by_type = pair in fields.NAMES_OF or pair in fields.PLAIN_OF or pair in SPECIAL
    return by_type or field in fields.NAMES or field in fields.PLAIN or field in fields.HIDDEN


@cache
def _changes_of(kind: type[Struct]) -> tuple[tuple[str, _Change], ...]:
    """The fields that hold unread text at any depth, each with its change. Most of an object need not be visited."""
    changes = ((field.name, _change_of(kind, field)) for field in msgspec.structs.fields(kind))
    return tuple((name, change) for name, change in changes if change is not None)


def _change_of(kind: type[Struct], field: msgspec.structs.FieldInfo) -> _Change | None:
    if field.type is ObjectMeta:
        return partial(_with_read_annotations, fields.ANNOTATIONS.get(kind.__name__, {}))
    if kind is DeviceCapacity and field.name == "request_policy":
        return _policy
    structs = [each for each in _types_in(field.type) if isinstance(each, type) and issubclass(each, Struct)]
    if structs:
        return _inside if any(each is PodCondition or _changes_of(each) for each in structs) else None
    if str not in _types_in(field.type) or is_read(kind.__name__, field.name):
        return None
    return partial(_cleared, _default(field))


def _types_in(annotation: Any) -> Iterator[Any]:
    """The types in an annotation such as `dict[str, tuple[T, ...]] | None`, without keys of dicts."""
    parts = typing.get_args(annotation)
    if not parts:
        yield annotation
    # Keys of a dict of texts are part of its content. Keys of other dicts are labels, resources or drivers.
    keyed = typing.get_origin(annotation) is dict and parts[1] is not str
    for part in parts[1:] if keyed else parts:
        yield from _types_in(part)


def _default(field: msgspec.structs.FieldInfo) -> Any:
    return field.default if field.default is not NODEFAULT else field.default_factory()


def _cleared(default: Any, value: Any) -> Any:
    return value if value == default else default


def _inside(value: Any) -> Any:
    """The value without unread text in its structs; the same value if none changes."""
    if isinstance(value, PodCondition):
        is_read = value.type in fields.READ_CONDITIONS
        return value if is_read else msgspec.structs.replace(value, reason="", message="")
    if isinstance(value, Struct):
        return without_unread(value)
    if isinstance(value, dict):
        changed = {key: _inside(each) for key, each in value.items()}
        return changed if any(changed[key] is not value[key] for key in value) else value
    if isinstance(value, tuple | list):
        reduced = [_inside(each) for each in value]
        return type(value)(reduced) if any(new is not old for new, old in zip(reduced, value, strict=True)) else value
    return value


def _policy(policy: dict[str, Any]) -> dict[str, Any]:
    return {key: policy[key] for key in policy if key in fields.POLICY_KEYS}


def _with_read_annotations(read: Mapping[str, object], metadata: ObjectMeta) -> ObjectMeta:
    annotations = metadata.annotations
    if not annotations or (annotations.keys() <= read.keys() and AVOID_PODS_ANNOTATION not in annotations):
        return metadata
    kept = {key: text for key, text in annotations.items() if key in read}
    if AVOID_PODS_ANNOTATION in kept:
        controllers = avoided_controllers(kept[AVOID_PODS_ANNOTATION])
        kept[AVOID_PODS_ANNOTATION] = avoiding((each.kind, each.uid) for each in controllers)
    return msgspec.structs.replace(metadata, annotations=kept)


def _mark(template: Struct, reduced: PodTemplateSpec) -> None:
    """Add a digest of the removed text to the annotations of the reduced template, which are not shared."""
    left_out = list(_differences(template, reduced, ""))
    # Imported here: it brings OpenSSL, 4 MiB.
    import hashlib

    digest = hashlib.sha256(msgspec.json.encode(left_out, order="deterministic")).hexdigest()[:16]
    annotations = {**reduced.metadata.annotations, fields.LEFT_OUT_ANNOTATION: digest}
    reduced.metadata = msgspec.structs.replace(reduced.metadata, annotations=annotations)


def _differences(before: Any, after: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The parts of a value that the reduced value lacks, each with its path."""
    if before is after:
        return
    if isinstance(before, Struct):
        for field in type(before).__struct_fields__:
            yield from _differences(getattr(before, field), getattr(after, field), f"{path}.{field}")
    elif isinstance(before, tuple) and len(before) == len(after):
        for number, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _differences(one, other, f"{path}[{number}]")
    elif isinstance(before, dict):
        yield path, {key: text for key, text in before.items() if after.get(key) != text}
    else:
        yield path, before
