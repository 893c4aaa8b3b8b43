"""Through all texts of an object, asking for each name what it is to be called."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from ksched_cli.sources.redaction.fields import (
    ANNOTATION_ROLES,
    EMPTIED,
    EMPTIED_OF,
    KIND_ROLES,
    LABEL_ROLES,
    NAMES,
    NAMES_OF,
    NODE_SELECTOR_ANNOTATION,
    PLAIN,
    PLAIN_OF,
    PLAIN_VALUES,
    Role,
)

S = TypeVar("S", bound=Struct)
Rename = Callable[[Role, str], str]

_STORAGE_QUOTA = ".storageclass.storage.k8s.io/"
_ZONE_SEPARATOR = "__"
_NUMERIC = ("Gt", "Lt")


class Walk:
    """`rename` gives the name's place; `numeric` are the labels and taints that are compared as numbers."""

    def __init__(self, rename: Rename, numeric: Collection[str]) -> None:
        self._rename = rename
        self._numeric = numeric

    def object(self, item: S, kind: str = "") -> S:
        """The object with every text seen to."""
        kind = kind or type(item).__name__
        changed = {
            field: self._field(item, kind, field, getattr(item, field)) for field in type(item).__struct_fields__
        }
        return msgspec.structs.replace(item, **changed)

    def _field(self, item: Struct, kind: str, field: str, value: Any) -> Any:
        if value is None or isinstance(value, bool | int | float):
            return value
        own = type(item).__name__
        special = _SPECIAL.get((own, field))
        if special is not None:
            return special(self, item, kind, value)
        role = NAMES_OF.get((own, field)) or (NAMES.get(field) if _is_text(value) else None)
        if role is not None:
            return self._named(role, value)
        if (own, field) in EMPTIED_OF or (field in EMPTIED and _is_text(value)):
            return type(value)()
        if field in PLAIN or (own, field) in PLAIN_OF:
            return value if _is_text(value) else self._value(value, kind, field)
        return type(value)() if isinstance(value, str) else self._value(value, kind, field)

    def _value(self, value: Any, kind: str, field: str) -> Any:
        if isinstance(value, Struct):
            # The metadata of an object bears its name; those of templates within it bear none.
            return self.object(value, kind if field == "metadata" else "")
        if isinstance(value, tuple | list):
            return type(value)(self._value(each, kind, field) for each in value)
        if isinstance(value, dict):
            return {key: self._value(each, kind, field) for key, each in value.items()}
        return value

    def _named(self, role: Role, value: Any) -> Any:
        if isinstance(value, str):
            return self._rename(role, value) if value else value
        if isinstance(value, dict):
            return {self._rename(role, name): each for name, each in value.items()}
        return type(value)(self._rename(role, each) for each in value)

    def name(self, item: Any, kind: str, name: str) -> str:
        """ObjectMeta.name, OwnerReference.name: by the kind that it is the name of."""
        role = KIND_ROLES.get(getattr(item, "kind", "") or kind, Role.OBJECT)
        return name if role is None or not name else self._rename(role, name)

    def label_value(self, key: str, value: str) -> str:
        role = LABEL_ROLES.get(key, Role.VALUE)
        if role is None or value in PLAIN_VALUES or key in self._numeric:
            return value
        # The label of a volume may list several zones.
        return _ZONE_SEPARATOR.join(self._rename(role, part) for part in value.split(_ZONE_SEPARATOR))

    def labels(self, _item: Struct, _kind: str, labels: Mapping[str, str]) -> dict[str, str]:
        return {key: self.label_value(key, value) for key, value in labels.items()}

    def annotations(self, _item: Struct, _kind: str, annotations: Mapping[str, str]) -> dict[str, str]:
        kept: dict[str, str] = {}
        for key, text in annotations.items():
            if key == NODE_SELECTOR_ANNOTATION:
                kept[key] = ",".join(self._assignment(each) for each in text.split(","))
            elif key in ANNOTATION_ROLES:
                role = ANNOTATION_ROLES[key]
                kept[key] = text if role is None or not text else self._rename(role, text)
        return kept

    def _assignment(self, text: str) -> str:
        key, sign, value = text.partition("=")
        return f"{key}{sign}{self.label_value(key.strip(), value.strip())}" if sign else text

    def values(self, item: Any, _kind: str, values: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self.label_value(item.key, value) for value in values)

    def taint_value(self, item: Any, _kind: str, value: str) -> str:
        return self.label_value(item.key, value)

    def class_values(self, _item: Struct, _kind: str, values: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self._rename(Role.CLASS, value) for value in values)

    def quota(self, _item: Struct, _kind: str, amounts: Mapping[str, Any]) -> dict[str, Any]:
        """The name of a storage class is part of what a quota counts."""
        return {self._counted(name): amount for name, amount in amounts.items()}

    def _counted(self, name: str) -> str:
        storage_class, mark, rest = name.partition(_STORAGE_QUOTA)
        return f"{self._rename(Role.CLASS, storage_class)}{mark}{rest}" if mark else name


_SPECIAL: Mapping[tuple[str, str], Callable[[Walk, Any, str, Any], Any]] = {
    ("ObjectMeta", "name"): Walk.name,
    ("OwnerReference", "name"): Walk.name,
    ("ObjectMeta", "labels"): Walk.labels,
    ("ObjectMeta", "annotations"): Walk.annotations,
    ("PodSpec", "node_selector"): Walk.labels,
    ("RuntimeClassScheduling", "node_selector"): Walk.labels,
    ("LabelSelector", "match_labels"): Walk.labels,
    ("ServiceSpec", "selector"): Walk.labels,
    ("ReplicationControllerSpec", "selector"): Walk.labels,
    ("LabelSelectorRequirement", "values"): Walk.values,
    ("NodeSelectorRequirement", "values"): Walk.values,
    ("TopologySelectorLabelRequirement", "values"): Walk.values,
    ("ScopedResourceSelectorRequirement", "values"): Walk.class_values,
    ("Toleration", "value"): Walk.taint_value,
    ("Taint", "value"): Walk.taint_value,
    ("DeviceToleration", "value"): Walk.taint_value,
    ("DeviceTaint", "value"): Walk.taint_value,
    ("ResourceQuotaSpec", "hard"): Walk.quota,
    ("ResourceQuotaStatus", "hard"): Walk.quota,
    ("ResourceQuotaStatus", "used"): Walk.quota,
}


def _is_text(value: Any) -> bool:
    """A text or several; not objects, which have fields of their own."""
    if isinstance(value, str):
        return True
    if isinstance(value, tuple | list):
        return all(isinstance(each, str) for each in value)
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())


def numeric_keys(value: Any) -> set[str]:
    """Keys that Gt or Lt compares anywhere in an object."""
    found: set[str] = set()
    if isinstance(value, Struct):
        if getattr(value, "operator", "") in _NUMERIC:
            found.add(getattr(value, "key", ""))
        for field in value.__struct_fields__:
            found |= numeric_keys(getattr(value, field))
    elif isinstance(value, tuple | list):
        for each in value:
            found |= numeric_keys(each)
    elif isinstance(value, dict):
        for each in value.values():
            found |= numeric_keys(each)
    return found
