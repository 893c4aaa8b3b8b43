"""Pods that an edit of a node sends away."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.listing import named
from ksched_cli.api.meta import controller_of
from ksched_cli.api.pod_facts import is_terminal, pod_key
from ksched_cli.api.workloads import DaemonSet
from ksched_cli.controlplane.controllers.daemon_pods import bound_to
from ksched_cli.controlplane.controllers.gc import blank_copy
from ksched_cli.controlplane.pods import is_active
from ksched_cli.controlplane.store import owner_identity
from ksched_cli.whatif.edits.lib.editor import Editor

MIRROR = "kubernetes.io/config.mirror"
_DAEMON_SET = "DaemonSet"


def warn_of_losses(editor: Editor, leaving: Iterable[Pod], occasion: str) -> None:
    """Pods without a controller, which no controller recreates."""
    lost = [pod for pod in leaving if controller_of(pod.metadata) is None and not is_terminal(pod)]
    names = sorted(pod_key(pod) for pod in lost if MIRROR not in pod.metadata.annotations)
    if names:
        verb, them = ("has", "it is") if len(names) == 1 else ("have", "they are")
        text = f"{named(names)} {verb} no controller: {them} deleted for good when {occasion}"
        editor.plane.warnings.append(text)


def evict_for_drain(editor: Editor, node: str) -> None:
    """As kubectl drain --ignore-daemonsets --force --delete-emptydir-data: pods of DaemonSets and mirror pods stay."""
    leaving = [pod for pod in editor.store.pods_on(node) if not stays_in_a_drain(pod)]
    warn_of_losses(editor, leaving, f"node {node} is drained (kubectl drain needs --force)")
    editor.plane.drainer.evict(leaving)


def stays_in_a_drain(pod: Pod) -> bool:
    """daemonSetFilter and mirrorPodFilter. A finished pod of a DaemonSet goes."""
    if MIRROR in pod.metadata.annotations:
        return True
    owner = controller_of(pod.metadata)
    return owner is not None and owner.kind == _DAEMON_SET and not is_terminal(pod)


def copy_daemon_pods(editor: Editor, node: str, new_nodes: Iterable[str]) -> None:
    """Pods of DaemonSets that are not in the input run on copies of their node, too."""
    for pod in filter(is_active, editor.store.pods_on(node)):
        owner = owner_identity(pod)
        if owner is None or owner[0] != _DAEMON_SET or editor.store.get(DaemonSet, owner[2], owner[1]) is not None:
            continue
        for new_node in new_nodes:
            name = editor.api.successors.new_name(f"{owner[2]}-", owner[1], owner, new_node)
            new = blank_copy(pod, name)
            affinity = bound_to(new.spec.affinity, new_node)
            editor.api.create(replace(new, spec=replace(new.spec, affinity=affinity)), admit=False)
