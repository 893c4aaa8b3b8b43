"""DefaultTolerationSeconds: how long a pod stays on a node that is not ready or out of reach."""

from __future__ import annotations

from ksched_cli.api.affinity import Toleration
from ksched_cli.api.core import Pod

_SECONDS = 300
_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_NO_EXECUTE = "NoExecute"


def admit_default_tolerations(pod: Pod) -> None:
    """Add a toleration of each of both taints that the pod does not tolerate."""
    added = tuple(
        Toleration(key=taint, operator="Exists", effect=_NO_EXECUTE, toleration_seconds=_SECONDS)
        for taint in _TAINTS
        if not any(each.key in ("", taint) and each.effect in ("", _NO_EXECUTE) for each in pod.spec.tolerations)
    )
    pod.spec.tolerations += added
