"""`kubectl apply --server-side`: who owns which field, and what the API server makes of a manifest
(structured-merge-diff's merge/update.go, managedfields/internal, kubectl's migration from client-side apply).

An owner is an entry of `metadata.managedFields`. A field is a path of elements as FieldsV1 writes them: `f:spec`,
`k:{"name":"web"}`, `v:"text"`. All entries count as written in the version of the manifest. Not done: lists that have
two elements of one key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, TypeAlias

from msgspec import Struct

from ksched_cli.controlplane.merge import LAST_APPLIED, Document, held_by, holds_of, rules_of, without_nulls

FieldPath: TypeAlias = tuple[str, ...]

MANAGER = "kubectl"
_APPLY, _UPDATE = "Apply", "Update"
_LAST_APPLIED_PATH = ("f:metadata", "f:annotations", f"f:{LAST_APPLIED}")
# Metadata that no manager owns (stripMeta).
_NOT_OWNED_METADATA = frozenset(
    {
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "generation",
        "managedFields",
        "resourceVersion",
        "deletionTimestamp",
    }
)
_KEY_DEFAULTS = {"protocol": "TCP"}


class ApplyConflict(Exception):
    """Other managers own fields that the manifest would change."""


class _Owner(Struct):
    """An entry of managedFields, and its fields."""

    entry: Document
    fields: frozenset[FieldPath]

    @property
    def identity(self) -> tuple[str, str, str]:
        entry = self.entry
        return entry.get("manager", ""), entry.get("operation", ""), entry.get("subresource", "")

    def __str__(self) -> str:
        """As the API server names a manager in a conflict (printManager)."""
        manager, operation, subresource = self.identity
        text = json.dumps(manager) + (f" with subresource {json.dumps(subresource)}" if subresource else "")
        if operation != _UPDATE:
            return text
        text += f" using {self.entry.get('apiVersion', '')}"
        return f"{text} at {_utc(self.entry['time'])}" if self.entry.get("time") else text


def apply_server_side(live: Document, manifest: Document, *, force: bool) -> Document:
    """The object after the manifest is applied, with its new owners. Raises ApplyConflict unless `force`.

    An object that client-side apply has written is migrated: what its last manifest set belongs to kubectl's
    server-side apply afterwards, so that fields which left the manifest are deleted (csaupgrade)."""
    config = _config(manifest)
    holds = holds_of(manifest)
    owners = list(_owners(live))
    try:
        merged, owners = _apply(holds, live, config, owners, force=force)
    except _Conflicts as found:
        allowed = _set_by_last_applied(holds, live)
        left = [(owner, path) for owner, path in found.conflicts if path not in allowed]
        if left:
            raise ApplyConflict(_conflict_text(left)) from None
        merged, owners = _apply(holds, live, config, owners, force=True)
    old = [each for each in owners if each.identity[1] == _UPDATE and _LAST_APPLIED_PATH in each.fields]
    if old:
        fields = frozenset[FieldPath]().union(*(each.fields for each in old))
        kept = [each for each in owners if each not in old]
        owners = [_Owner(each.entry, each.fields | fields) if _is_own(each) else each for each in kept]
        merged, owners = _apply(holds, merged, config, owners, force=True)
    metadata = {**merged.get("metadata", {}), "managedFields": [_written(each) for each in owners]}
    return {**merged, "metadata": metadata}


class _Conflicts(Exception):
    def __init__(self, conflicts: list[tuple[_Owner, FieldPath]]) -> None:
        super().__init__()
        self.conflicts = conflicts


def _apply(
    holds: str, live: Document, config: Document, owners: list[_Owner], *, force: bool
) -> tuple[Document, list[_Owner]]:
    """Updater.Apply: merge, prune what the manager owned and no longer sets, and find conflicts."""
    merged = _merge(holds, "", live, config)
    own = _Owner({"manager": MANAGER, "operation": _APPLY, "apiVersion": config.get("apiVersion", "")}, _fields(config))
    last = next((each.fields for each in owners if _is_own(each)), frozenset())
    others = [each for each in owners if not _is_own(each)]
    if last:
        claimed = _with_parents(own.fields.union(*(each.fields for each in others)))
        merged = _without(holds, "", merged, (), _with_parents(last) - claimed)
    before, after = dict(_members(holds, "", live, ())), dict(_members(holds, "", merged, ()))
    changed = {path for path, value in after.items() if path not in before or before[path] != value}
    conflicts = [(each, path) for each in others for path in sorted(each.fields & changed)]
    if conflicts and not force:
        raise _Conflicts(conflicts)
    lost = changed | (before.keys() - after.keys())
    others = [_Owner(each.entry, each.fields - lost) for each in others]
    return merged, [own, *(each for each in others if each.fields)]


def _is_own(owner: _Owner) -> bool:
    return owner.identity == (MANAGER, _APPLY, "")


def _conflict_text(conflicts: list[tuple[_Owner, FieldPath]]) -> str:
    """getConflictMessage."""
    if len(conflicts) == 1:
        owner, path = conflicts[0]
        return f"Apply failed with 1 conflict: conflict with {owner}: {_path_text(path)}"
    lines: dict[str, list[str]] = {}
    for owner, path in conflicts:
        lines.setdefault(str(owner), []).append(f"- {_path_text(path)}")
    parts = [text for owner in sorted(lines) for text in (f"conflicts with {owner}:", *lines[owner])]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(parts)


def _path_text(path: FieldPath) -> str:
    return "".join(map(_element_text, path))


def _element_text(element: str) -> str:
    kind, _, text = element.partition(":")
    if kind == "f":
        return f".{text}"
    if kind == "k":
        return f"[{','.join(f'{name}={json.dumps(value)}' for name, value in json.loads(text).items())}]"
    return f"[={text}]"


def _utc(time: str) -> str:
    return datetime.fromisoformat(time).strftime("%Y-%m-%dT%H:%M:%SZ")


def _set_by_last_applied(holds: str, live: Document) -> frozenset[FieldPath]:
    """The fields that have the values of the last-applied annotation, which kubectl may take over without a conflict
    (allowedConflictsFromLastApplied)."""
    last = last_applied(live)
    if last.get("apiVersion") != live.get("apiVersion", last.get("apiVersion")):
        return frozenset()
    now = dict(_members(holds, "", live, ()))
    return frozenset(path for path, value in _members(holds, "", _config(last), ()) if now.get(path, ...) == value)


def last_applied(live: Document) -> Document:
    """The manifest that `kubectl apply` noted in the object; empty without the annotation."""
    text = (live.get("metadata") or {}).get("annotations", {}).get(LAST_APPLIED)
    try:
        found = json.loads(text) if text else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


# Owners and FieldsV1


def _owners(live: Document) -> Iterator[_Owner]:
    for entry in (live.get("metadata") or {}).get("managedFields") or ():
        yield _Owner(entry, frozenset(_paths(entry.get("fieldsV1") or {}, ())))


def _paths(fields: Document, path: FieldPath) -> Iterator[FieldPath]:
    for element, inner in fields.items():
        if element == ".":
            yield path
            continue
        here = (*path, _normal(element))
        if inner:
            yield from _paths(inner, here)
        else:
            yield here


def _normal(element: str) -> str:
    kind, _, text = element.partition(":")
    return f"{kind}:{_json(json.loads(text))}" if kind in ("k", "v") else element


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _written(owner: _Owner) -> Document:
    fields: Document = {}
    for path in sorted(owner.fields):
        here = fields
        for element in path:
            here = here.setdefault(element, {})
        if any(other[: len(path)] == path and other != path for other in owner.fields):
            here["."] = {}
    return {**owner.entry, "fieldsType": "FieldsV1", "fieldsV1": fields}


def _with_parents(paths: Iterable[FieldPath]) -> frozenset[FieldPath]:
    """The paths, and all fields around them (EnsureNamedFieldsAreMembers)."""
    found = set(paths)
    for path in tuple(found):
        found.update(path[:length] for length in range(1, len(path)) if path[length - 1].startswith("f:"))
    return frozenset(found)


# Documents by their fields


def _config(manifest: Document) -> Document:
    """What a manager owns of a manifest."""
    config = {key: value for key, value in manifest.items() if key != "status"}
    if isinstance(config.get("metadata"), dict):
        config["metadata"] = {key: value for key, value in config["metadata"].items() if key not in _NOT_OWNED_METADATA}
    return config


def _fields(config: Document) -> frozenset[FieldPath]:
    """ToFieldSet: leaves, entries of maps and elements of lists."""
    found = _members(holds_of(config), "", config, ())
    return frozenset(path for path, _ in found if path[0] not in ("f:apiVersion", "f:kind"))


def _members(holds: str, rule: str, value: Any, path: FieldPath) -> Iterator[tuple[FieldPath, Any]]:
    """The members of a value, each with its value: leaves, and elements of lists, whose value is Ellipsis. No map has
    entries with members of their own, outside of lists that are one value."""
    if isinstance(value, dict) and value and rule != "atomic" and holds != "o":
        for key, each in value.items():
            yield from _members(held_by(holds, key), rules_of(holds, key)[0], each, (*path, f"f:{key}"))
    elif isinstance(value, list) and rule and rule != "atomic":
        for each in value:
            here = (*path, _element(rule, each))
            if rule != "set":
                yield from _members(holds[1:], "", each, here)
            yield here, ...
    elif path:
        yield path, value


def _element(rule: str, value: Any) -> str:
    if not isinstance(value, dict):
        return f"v:{_json(value)}"
    keys = {name: value.get(name, _KEY_DEFAULTS.get(name)) for name in rule.split(",")}
    return f"k:{_json({name: each for name, each in keys.items() if each is not None})}"


def _merge(holds: str, rule: str, live: Any, config: Any) -> Any:
    """The live value with that of the manifest: maps by fields, lists by elements, all else from the manifest."""
    if isinstance(live, dict) and isinstance(config, dict) and rule != "atomic" and holds != "o":
        out = dict(live)
        for key, value in config.items():
            if value is None:
                out.pop(key, None)
            else:
                out[key] = _merge(held_by(holds, key), rules_of(holds, key)[0], live.get(key), value)
        return out
    if isinstance(live, list) and isinstance(config, list) and rule and rule != "atomic":
        return _merge_lists(holds, rule, live, config)
    return without_nulls(config)


def _merge_lists(holds: str, rule: str, live: list[Any], config: list[Any]) -> list[Any]:
    """Elements of the manifest in its order, those of the live list at their places between them (visitListItems)."""
    there = {_element(rule, each): each for each in live}
    wanted = {_element(rule, each): each for each in config}
    out: list[Any] = []
    rest = iter(wanted.items())
    done: set[str] = set()
    for name, each in there.items():
        if name not in wanted:
            out.append(each)
            continue
        while name not in done and (found := next(rest, None)) is not None:
            done.add(found[0])
            out.append(_merge(holds[1:], "", there.get(found[0]), found[1]))
    return [*out, *without_nulls([each for _, each in rest])]


def _without(holds: str, rule: str, value: Any, path: FieldPath, gone: frozenset[FieldPath]) -> Any:
    """The value without these fields."""
    if isinstance(value, dict) and rule != "atomic" and holds != "o":
        return {
            key: _without(held_by(holds, key), rules_of(holds, key)[0], each, (*path, f"f:{key}"), gone)
            for key, each in value.items()
            if (*path, f"f:{key}") not in gone
        }
    if isinstance(value, list) and rule and rule != "atomic":
        places = [(each, (*path, _element(rule, each))) for each in value]
        return [_without(holds[1:], "", each, here, gone) for each, here in places if here not in gone]
    return value
