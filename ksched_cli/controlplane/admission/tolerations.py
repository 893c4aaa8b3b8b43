"""DefaultTolerationSeconds: how long a pod stays on a node that is not ready or out of reach."""

from __future__ import annotations

from ksched_cli.api.affinity import Toleration
from ksched_cli.api.core import Pod

_SECONDS = 300
_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_NO_EXECUTE = "NoExecute"


def admit_default_tolerations(pod: Pod) -> None:
    """Tolerations of both taints, for a pod without one of its own."""
    added = tuple(
        Toleration(key=taint, operator="Exists", effect=_NO_EXECUTE, toleration_seconds=_SECONDS)
        for taint in _TAINTS
        if not any(_speaks_of(each, taint) for each in pod.spec.tolerations)
    )
    pod.spec.tolerations += added


def _speaks_of(toleration: Toleration, taint: str) -> bool:
    return toleration.key in ("", taint) and toleration.effect in ("", _NO_EXECUTE)
