"""Objects by the names that people give them, KIND/NAME as kubectl accepts it, and the pods of workloads. A name that
several namespaces have must be given with its namespace, unless the namespace of the command has it."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from msgspec import Struct

from ksched_cli.api.core import Namespace, Pod, metadata_of
from ksched_cli.api.decode import KINDS
from ksched_cli.api.object_facts import is_terminal
from ksched_cli.controlplane.admission.chain import HasObjects
from ksched_cli.controlplane.store import owners, top_owner
from ksched_cli.errors import did_you_mean
from ksched_cli.sources.custom.workloads import stand_in_kind
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.edits.lib.arguments import EditMistake
from ksched_cli.whatif.edits.lib.edit import Reference
from ksched_cli.whatif.edits.lib.editor import name_hint

_SHORT = {
    "Deployment": "deploy",
    "ReplicaSet": "rs",
    "StatefulSet": "sts",
    "ReplicationController": "rc",
    "DaemonSet": "ds",
    "CronJob": "cj",
    "Pod": "po",
    "Node": "no",
    "Namespace": "ns",
    "Service": "svc",
    "PersistentVolume": "pv",
    "PersistentVolumeClaim": "pvc",
    "PodDisruptionBudget": "pdb",
    "PriorityClass": "pc",
    "StorageClass": "sc",
    "ResourceQuota": "quota",
    "LimitRange": "limits",
}
_BY_NAME: dict[str, type[Struct]] = {}


def _plural(kind: str) -> str:
    """`priorityclasses`: the name of the resource."""
    return f"{kind.lower()}{'es' if kind.endswith('s') else 's'}"


for _version, _name in KINDS:
    _kind, _lower, _several = KINDS[_version, _name], _name.lower(), _plural(_name)
    _group = _version.rpartition("/")[0]
    _BY_NAME |= dict.fromkeys((_lower, _several, _SHORT.get(_name, _lower)), _kind)
    _BY_NAME |= dict.fromkeys((f"{_lower}.{_group}", f"{_several}.{_group}"), _kind)


def kind_named(name: str) -> type[Struct]:
    """The kind, given in singular, plural, short or with its group. A custom kind with pods is its workload."""
    found = _BY_NAME.get(name.lower()) or stand_in_kind(name)
    if found is None:
        raise EditMistake(f"there is no kind {name}", did_you_mean(name.lower(), _BY_NAME))
    return found


def reference(text: str) -> Reference:
    """The reference that KIND/NAME or KIND/NAMESPACE/NAME gives."""
    parts = text.split("/")
    if len(parts) not in (2, 3) or not all(parts):
        raise EditMistake(f"{text!r} does not say what", "write KIND/NAME or KIND/NAMESPACE/NAME")
    return Reference(kind_named(parts[0]), parts[-1], parts[1] if len(parts) == 3 else "")


def matching(loaded: HasObjects, target: Reference, namespace: str) -> list[Any]:
    """Without a namespace: the one in kubectl's, else all."""
    items: list[Any] = loaded.of(target.kind)
    found = [
        item
        for item in items
        if item.metadata.name == target.name and target.namespace in ("", item.metadata.namespace)
    ]
    if len(found) > 1:
        return [item for item in found if item.metadata.namespace == namespace] or found
    return found


def find(loaded: HasObjects, target: Reference, namespace: str) -> Any:
    """The one object that is meant."""
    found = matching(loaded, target, namespace)
    if len(found) == 1:
        return found[0]
    kind = target.kind.__name__
    if found:
        places = " or ".join(sorted(f"{kind.lower()}/{each.metadata.namespace}/{target.name}" for each in found))
        raise EditMistake(f'there are {len(found)} of {kind} "{target.name}"', f"write {places}")
    where = f' in namespace "{target.namespace}"' if target.namespace else ""
    hint = name_hint(target.name, (metadata_of(each).name for each in loaded.of(target.kind)))
    hint = hint or f"the input has none: add {_plural(kind)} to it"
    raise EditMistake(f'there is no {kind} "{target.name}"{where} in the input', hint)


def pods_meant(loaded: Loaded, target: Reference, namespace: str) -> list[Pod]:
    """The unfinished pods of a workload or a namespace, or those with the name, in which * matches any text. The
    workload itself may be missing in the input."""
    pods = [pod for pod in loaded.of(Pod) if not is_terminal(pod)]
    if target.kind is Namespace:
        inside = [pod for pod in pods if pod.metadata.namespace == target.name]
        return inside or [] if loaded.get(Namespace, target.name) else _found(inside, loaded, target, namespace)
    places = {target.namespace} if target.namespace else {pod.metadata.namespace for pod in pods}
    if not target.namespace and namespace in places and matching(loaded, target, namespace):
        places = {item.metadata.namespace for item in matching(loaded, target, namespace)}
    near = [pod for pod in pods if pod.metadata.namespace in places]
    if target.kind is Pod:
        return _found([pod for pod in near if fnmatchcase(pod.metadata.name, target.name)], loaded, target, namespace)
    its = [
        pod
        for pod in near
        if (target.kind.__name__, pod.metadata.namespace, target.name) in (*owners(loaded, pod), top_owner(loaded, pod))
    ]
    return its if matching(loaded, target, namespace) else _found(its, loaded, target, namespace)


def _found(pods: list[Pod], loaded: Loaded, target: Reference, namespace: str) -> list[Pod]:
    if not pods:
        find(loaded, target, namespace)
    return pods
