"""The tools with which an edit reads and changes a control plane, and the pods that an edit of a node sends away."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import count
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.core import Node, Pod, Taint, controller_of
from ksched_cli.api.object_facts import is_active, is_terminal, pod_key
from ksched_cli.api.workloads import DaemonSet
from ksched_cli.controlplane.controllers.daemon_pods import bound_to
from ksched_cli.controlplane.controllers.gc import blank_copy
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.controlplane.store import owner_identity
from ksched_cli.errors import named
from ksched_cli.whatif.edits.lib.arguments import EditMistake


class Editor:
    """Writes the changes of edits to the API server. `namespace` is the first one to search for names without one."""

    def __init__(self, plane: ControlPlane, namespace: str = "") -> None:
        self.plane = plane
        self.api, self.store = plane.api, plane.store
        self.namespace = namespace

    def node(self, name: str) -> Node:
        """The node. Raises EditMistake with similar names if there is none."""
        found = self.store.get(Node, name)
        if found is None:
            names = [node.metadata.name for node in self.store.of(Node)]
            raise EditMistake(f'there is no node "{name}"', name_hint(name, names))
        return found

    def taints_without(self, node: Node, key: str, effect: str) -> tuple[Taint, ...]:
        """The taints of the node except those of the key and the effect; without an effect, except all of the key."""
        return tuple(each for each in node.spec.taints if each.key != key or effect not in ("", each.effect))

    def respec(self, node: Node, **fields: Any) -> None:
        """Update fields of the spec of the stored node."""
        self.api.replace(node, replace(node, spec=replace(node.spec, **fields)))

    def relabel(self, node: Node, labels: dict[str, str]) -> None:
        """Update the labels of the node."""
        self.api.update(replace(node, metadata=replace(node.metadata, labels=labels)))

    def new_node_names(self, base: str, wanted: int) -> list[str]:
        """`base-1`, `base-2`, ...: the first names that no node has."""
        taken = {node.metadata.name for node in self.store.of(Node)}
        free = (name for number in count(1) if (name := f"{base}-{number}") not in taken)
        return [next(free) for _ in range(wanted)]


def name_hint(name: str, names: Iterable[str]) -> str:
    """A hint at names that may have been meant."""
    known = sorted(set(names))
    close = difflib.get_close_matches(name, known, 3, 0.6)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"the input has {named(known, 5)}" if known else ""


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
