"""Objects as the command line names them: KIND/NAME, the kind as kubectl accepts it."""

from __future__ import annotations

from msgspec import Struct

from ksched_cli.api.kinds import KINDS
from ksched_cli.api.listing import did_you_mean
from ksched_cli.sources.custom.workloads import stand_in_kind
from ksched_cli.whatif.edits.lib.arguments import EditMistake
from ksched_cli.whatif.edits.lib.edit import Reference

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
for _version, _name in KINDS:
    _kind, _lower = KINDS[_version, _name], _name.lower()
    _plural = f"{_lower}es" if _lower.endswith("s") else f"{_lower}s"
    _group = _version.rpartition("/")[0]
    _BY_NAME |= dict.fromkeys((_lower, _plural, _SHORT.get(_name, _lower)), _kind)
    _BY_NAME |= dict.fromkeys((f"{_lower}.{_group}", f"{_plural}.{_group}"), _kind)


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
