"""The path of the field of a pod that decides, and that a person would change first."""

from __future__ import annotations

from collections.abc import Mapping

from ksched_cli.api.core import Pod
from ksched_cli.api.quantity import largest_request
from ksched_cli.framework.reasons import FieldPath, ReasonCode
from ksched_cli.plan.deciding import RejectionCause
from ksched_cli.plan.rules import kind_of

_SPEC: FieldPath = ("spec",)
# Of codes that come without a reason of a plugin.
_FIELDS: Mapping[str, FieldPath] = {
    "KS109": ("spec", "nodeName"),
    "KS202": ("spec", "schedulerName"),
    "KS203": ("spec", "priorityClassName"),
    "KS204": ("spec", "priorityClassName"),
    "KS303": ("spec", "priorityClassName"),
    "KS304": ("spec", "runtimeClassName"),
    "KS305": ("spec", "nodeSelector"),
}


def field_of(cause: RejectionCause, pod: Pod) -> FieldPath:
    """The deciding field, or the pod's spec if no field decides."""
    for reason in cause.reasons:
        kind = kind_of(reason)
        if kind.field is not None and cause.code in (kind.code, kind.unresolvable_code):
            return kind.field(pod, cause.reasons, cause.detail)
    return _FIELDS.get(cause.code.code, _SPEC)


def refused_field(code: ReasonCode, message: str, pod: Pod) -> FieldPath:
    """The field that admission refuses: the resource that the message names first, if it names one."""
    if code.code not in ("KS301", "KS302"):
        return _FIELDS.get(code.code, _SPEC)
    names = dict.fromkeys(
        name for each in (*pod.spec.containers, *pod.spec.init_containers) for name in each.resources.requests
    )
    found = sorted((message.find(name), name) for name in names if name in message)
    return largest_request(pod, found[0][1]) if found else ("spec", "containers")
