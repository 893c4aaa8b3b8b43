"""What `kubectl apply` makes of a manifest, the live object and the last manifest: a three-way strategic merge
(strategicpatch.CreateThreeWayMergePatch on the client, StrategicMergePatch on the server), as one function.

Objects are documents, as JSON has them: the typed objects of ksched lack fields. How a field is merged is data:
`merge_rules.txt` has the strategies of the API's types, `known_fields.txt` the types of fields. Not done: directives
such as `$patch` in a manifest, and the failures of kubectl where a key of a list is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

import msgspec
from msgspec import NODEFAULT, Struct

from ksched_cli.api.conversion import Path
from ksched_cli.api.core import Container, PodSpec
from ksched_cli.api.quantity import QuantityError, nano_value
from ksched_cli.api.validation.fields import fields_of, type_of

Document: TypeAlias = dict[str, Any]
_ByKey: TypeAlias = Mapping[str, list[Document]]

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
# In the annotations of a template: a digest of the fields that no typed object has.
UNREAD = "ksched.dev/unread-fields"
_RETAIN_KEYS, _REPLACE, _TEXTS = "!", "replace", "merge"
# What a field holds whose content is not known.
_ANYTHING = "o"


@cache
def _rules() -> Mapping[str, Mapping[str, tuple[str, str]]]:
    # With tempfile and random, which a simulation without changes does not need.
    from importlib.resources import files

    text = files("ksched_cli.api").joinpath("merge_rules.txt").read_text(encoding="utf-8")
    found = {}
    for line in text.splitlines():
        name, *fields = line.split()
        found[name] = {
            field: (server, client)
            for field, _, rule in (each.partition("=") for each in fields)
            for server, _, client in [rule.partition("|")]
        }
    return found


def rules_of(holds: str, field: str) -> tuple[str, str]:
    """How server-side apply and `kubectl apply` merge a field of a type; empty texts for the usual way."""
    return _rules().get(holds, {}).get(field, ("", ""))


def held_by(holds: str, field: str) -> str:
    """What a field of a type holds, in the notation of known_fields.txt."""
    if holds[:1] == "%":
        return holds[1:]
    try:
        return fields_of(holds).get(field, _ANYTHING)
    except KeyError:
        return _ANYTHING


def holds_of(document: Document) -> str:
    """The type of an object's document."""
    return type_of(document.get("apiVersion", ""), document.get("kind", "")) or _ANYTHING


def default_of(holds: str, field: str) -> Any:
    """What the API server stores in a field of a type that is not set; None for most fields."""
    return _DEFAULTS.get(holds, {}).get(field)


def three_way(last: Document, live: Document, manifest: Document) -> Document:
    """The object after `kubectl apply`: fields of the manifest are set, fields that only the last manifest has are
    deleted, and all others stay as they are."""
    return _merge(holds_of(manifest), last, live, manifest)


def _merge(holds: str, last: Document, live: Document, new: Document, retains: bool = False) -> Document:
    out = {key: value for key, value in live.items() if key in new or key not in last}
    if retains and any(value is not None for value in new.values()):
        out = {key: value for key, value in out.items() if new.get(key) is not None}
    for key, value in new.items():
        there, before = live.get(key), last.get(key)
        held, (_, strategy) = held_by(holds, key), rules_of(holds, key)
        if value is None:
            out.pop(key, None)
        elif isinstance(value, dict) and isinstance(there, dict) and strategy != _REPLACE:
            out[key] = _merge(held, before if isinstance(before, dict) else {}, there, value, strategy == _RETAIN_KEYS)
        elif isinstance(value, list) and isinstance(there, list) and strategy:
            out[key] = _merge_lists(held[1:], strategy, before if isinstance(before, list) else [], there, value)
        else:
            out[key] = without_nulls(value)
    return out


def _merge_lists(holds: str, strategy: str, last: list[Any], live: list[Any], new: list[Any]) -> list[Any]:
    """Elements are merged by their keys. Elements that only the live object has keep their places among the others."""
    name = strategy.rstrip(_RETAIN_KEYS)
    if name == _TEXTS:
        return interleaved([each for each in live if each not in new and each not in last], new, live)
    if not all(isinstance(each, dict) and name in each for each in (*last, *live, *new)):
        return [without_nulls(each) for each in new]
    before, there, after = (_by_key(name, each) for each in (last, live, new))
    if any(len(found) > 1 for side in (before, there, after) for found in side.values()):
        merged = [each for key in after for each in _merge_repeated(holds, name, key, before, there, after)]
        if [each[name] for each in live] == [each[name] for each in new] and all(each in live for each in merged):
            return live
    else:
        retains = strategy.endswith(_RETAIN_KEYS)
        merged = [
            _merge(holds, before.get(key, [{}])[0], there[key][0], each, retains)
            if key in there
            else without_nulls(each)
            for key, (each,) in after.items()
        ]
    rest = [each for each in live if str(each[name]) not in after and str(each[name]) not in before]
    return interleaved(rest, merged, live, lambda each: str(each[name]))


def _by_key(name: str, items: list[Document]) -> dict[str, list[Document]]:
    found: dict[str, list[Document]] = {}
    for each in items:
        found.setdefault(str(each[name]), []).append(each)
    return found


def _merge_repeated(holds: str, name: str, key: str, before: _ByKey, there: _ByKey, after: _ByKey) -> list[Document]:
    """The elements of a key that several elements have, with kubectl's known defects: it compares the elements one by
    one (diffListsOfMaps), but the server puts each difference into the first of them (mergeSliceWithoutSpecialElements)
    and deletes them all with one (deleteMatchingEntries)."""
    last, live, wanted = (side.get(key, []) for side in (before, there, after))
    found = [] if len(last) > len(wanted) else list(live)
    for number, each in enumerate(wanted):
        old = live[number] if number < len(live) else {}
        change = _change(last[number] if number < len(last) else {}, old, each)
        if change and found:
            found[0] = _merge(holds, {}, found[0], change)
        elif change:
            found.append(without_nulls({name: each[name], **change}))
    return found


def _change(last: Document, old: Document, new: Document) -> Document:
    """The fields of `new` that differ from those of `old`, and with None those that only `last` has."""
    found: Document = {field: None for field in last if field not in new}
    for field, value in new.items():
        there, before = old.get(field), last.get(field)
        if isinstance(value, dict) and isinstance(there, dict):
            value = _change(before if isinstance(before, dict) else {}, there, value)
            there = {}
        if value != there:
            found[field] = value
    return found


def interleaved(
    left: Sequence[Any], right: Sequence[Any], order: Sequence[Any], key: Callable[[Any], Any] = lambda each: each
) -> list[Any]:
    """Both lists in one, each in its order: an element of `left` comes first where `order` has it before the next of
    `right` (mergeSortedSlice)."""
    places: dict[Any, int] = {}
    for number, each in enumerate(order):
        places.setdefault(key(each), number)
    found: list[Any] = []
    i = j = 0
    while i < len(left) or j < len(right):
        if j >= len(right):
            takes_left = True
        elif i >= len(left):
            takes_left = False
        else:
            takes_left = key(right[j]) in places and places[key(left[i])] < places[key(right[j])]
        found.append(left[i] if takes_left else right[j])
        i, j = (i + 1, j) if takes_left else (i, j + 1)
    return found


def without_nulls(value: Any) -> Any:
    """The value without nulls in its maps."""
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


# Documents of typed objects


def written(item: Any) -> Any:
    """The document of a typed object: fields that have their defaults are left out."""
    if isinstance(item, Struct):
        found = {}
        for name, field, default in _fields_of(type(item)):
            value = getattr(item, name)
            if value != default:
                found[field] = written(value)
        return found
    if isinstance(item, dict):
        return {key: written(each) for key, each in item.items()}
    return [written(each) for each in item] if isinstance(item, list | tuple) else item


@cache
def _fields_of(kind: type[Struct]) -> tuple[tuple[str, str, Any], ...]:
    """The attribute, the name in documents and the default of each field."""
    return tuple(
        (each.name, each.encode_name, each.default if each.default_factory is NODEFAULT else each.default_factory())
        for each in msgspec.structs.fields(kind)
    )


def overlaid(document: Any, old: Any, new: Any) -> Any:
    """The document with what differs between an old and a new version of its typed object."""
    if isinstance(old, dict) and isinstance(new, dict) and isinstance(document, dict):
        out = {key: value for key, value in document.items() if key in new or key not in old}
        for key, value in new.items():
            if key not in old:
                out[key] = value
            elif value != old[key]:
                out[key] = overlaid(document.get(key), old[key], value)
        return out
    lists = isinstance(old, list) and isinstance(new, list) and isinstance(document, list)
    if lists and len(old) == len(new) == len(document):
        return [overlaid(*each) for each in zip(document, old, new, strict=True)]
    return new


# Fields of a template that no typed object has


# SetDefaults of pkg/apis/core/v1, for such fields.
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "Container": {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"},
    "Probe": {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
    "HTTPGetAction": {"path": "/", "scheme": "HTTP"},
    "ObjectFieldSelector": {"apiVersion": "v1"},
    "ContainerPort": {"protocol": "TCP"},
    "PodSpec": {
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "restartPolicy": "Always",
        "preemptionPolicy": "PreemptLowerPriority",
        "terminationGracePeriodSeconds": 30,
        "schedulerName": "default-scheduler",
    },
    "SecretVolumeSource": {"defaultMode": 420},
    "ConfigMapVolumeSource": {"defaultMode": 420},
    "DownwardAPIVolumeSource": {"defaultMode": 420},
    "ProjectedVolumeSource": {"defaultMode": 420},
    "ServiceAccountTokenProjection": {"expirationSeconds": 3600},
    "PersistentVolumeClaim": {"apiVersion": "v1", "kind": "PersistentVolumeClaim"},
    "PersistentVolumeClaimSpec": {"volumeMode": "Filesystem"},
    "PersistentVolumeSpec": {"volumeMode": "Filesystem"},
    "StatefulSetSpec": {"podManagementPolicy": "OrderedReady"},
    "JobSpec": {"completionMode": "NonIndexed"},
    "PodFailurePolicyOnPodConditionsPattern": {"status": "True"},
    "PriorityClass": {"preemptionPolicy": "PreemptLowerPriority"},
    "CSIDriverSpec": {"attachRequired": True, "volumeLifecycleModes": ["Persistent"]},
    "StorageClass": {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
    "ExactDeviceRequest": {"allocationMode": "ExactCount"},
    "DeviceSubRequest": {"allocationMode": "ExactCount"},
    "DeviceToleration": {"operator": "Equal"},
    "RBDVolumeSource": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "ISCSIVolumeSource": {"iscsiInterface": "default"},
    "AzureDiskVolumeSource": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
}
_POD_SPEC = "PodSpec"
_READ = {
    _POD_SPEC: {each.encode_name for each in msgspec.structs.fields(PodSpec)} - {"containers", "initContainers"},
    "Container": {each.encode_name for each in msgspec.structs.fields(Container)} - {"name"},
}
# The API server mirrors them.
_MIRRORED = {"serviceAccount": "serviceAccountName"}
# Fields that Go does not distinguish from absent ones when they are false or 0.
_PLAIN = frozenset(
    (
        *(
            "chapAuthDiscovery",
            "chapAuthSession",
            "hostIPC",
            "hostNetwork",
            "hostPID",
            "hostPort",
            "initialDelaySeconds",
            "port",
            "readOnly",
            "stdin",
        ),
        *("stdinOnce", "tty"),
    )
)


def typed_fields(holds: str) -> frozenset[str]:
    """The fields of a type that its typed object has."""
    return frozenset(_READ[holds])


def unread_digest(spec: Document) -> str:
    """A digest of the fields of a pod spec that no typed object has, with the API server's defaults."""
    # Imported here: it brings OpenSSL, 4 MiB that most commands do not need.
    import hashlib

    plain = [_canonical(_POD_SPEC, spec), [_canonical("Volume", each) for each in spec.get("volumes") or ()]]
    return hashlib.sha256(msgspec.json.encode(plain, order="deterministic")).hexdigest()[:16]


def differences(holds: str, before: Any, after: Any) -> Iterator[Path]:
    """The fields in which two values of a type differ for the API server (equality.Semantic.DeepEqual), with its
    defaults."""
    return _differing(_canonical(holds, before, {}), _canonical(holds, after, {}), ())


def _differing(old: Any, new: Any, path: Path) -> Iterator[Path]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys((*new, *old)):
            yield from _differing(old.get(key), new.get(key), (*path, key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new) and _all_objects(new):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _differing(one, other, (*path, index))
    elif old != new:
        yield path


def _all_objects(items: list[Any]) -> bool:
    return all(isinstance(each, dict) for each in items)


def _canonical(holds: str, value: Any, known: Mapping[str, Collection[str]] = _READ) -> Any:
    """The value as the API server stores it, without the fields of `known`: those that typed objects have."""
    if isinstance(value, dict):
        read = known.get(holds, ())
        full = {**_DEFAULTS.get(holds, {}), **{key: each for key, each in value.items() if key not in _MIRRORED}}
        if holds == "Container":
            full.setdefault("imagePullPolicy", _pull_policy(value.get("image") or ""))
        if full.get("allocationMode") == "ExactCount":
            full.setdefault("count", 1)
        if holds == _POD_SPEC and "serviceAccountName" not in value and value.get("serviceAccount"):
            full["serviceAccountName"] = value["serviceAccount"]
        found = {key: _canonical(held_by(holds, key), each, known) for key, each in full.items() if key not in read}
        plain = {key: each for key, each in found.items() if each not in (None, "", [], {}) or each is False}
        return {key: each for key, each in plain.items() if each or key not in _PLAIN}
    if isinstance(value, list):
        return [_canonical(holds[1:], each, known) for each in value]
    if holds == "q" and value is not None:
        try:
            return nano_value(value)
        except QuantityError:
            return value
    return int(value) if isinstance(value, float) and value == int(value) else value


def _pull_policy(image: str) -> str:
    tag = image.partition("@")[0].rpartition("/")[2].partition(":")[2]
    return "Always" if tag == "latest" or (not tag and "@" not in image) else "IfNotPresent"
