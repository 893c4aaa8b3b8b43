"""Pods of DaemonSets on nodes that are new or have changed."""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.api.core import Pod
from ksched_cli.api.workloads import DaemonSet
from ksched_cli.sources.arrivals import date, let_in, unpack
from ksched_cli.sources.controllers.daemon_sets import bound_to, daemon_set, selects
from ksched_cli.sources.controllers.existing import active, controller_of
from ksched_cli.sources.edits.editor import Editor
from ksched_cli.sources.edits.evictions import blank_copy, forget


def copy_daemon_pods(editor: Editor, node: str, new_nodes: Sequence[str]) -> None:
    """What runs on every node runs on new ones too, also when the input holds only the pods of a DaemonSet."""
    known = {(each.metadata.namespace, each.metadata.name) for each in editor.loaded.of(DaemonSet)}
    existing = editor.existing()
    pods = []
    for pod in active(editor.pods_on(node)):
        owner = controller_of(pod.metadata)
        if owner is None or owner.kind != "DaemonSet" or (pod.metadata.namespace, owner.name) in known:
            continue
        for new_node in new_nodes:
            name = existing.new_name(f"{owner.name}-", pod.metadata.namespace, new_node)
            new = blank_copy(pod, name)
            new.spec.affinity = bound_to(new.spec.affinity, new_node)
            pods.append(new)
    _take_in(editor, pods)


def run_daemon_sets(editor: Editor) -> None:
    """DaemonSetsController.manage for the nodes that edits have changed; the others are as they were read."""
    if not editor.changed_nodes or not editor.loaded.of(DaemonSet):
        return
    _stop_where_they_may_not_run(editor)
    existing = editor.existing()
    existing.nodes = [node for node in existing.nodes if node.metadata.name in editor.changed_nodes]
    pods: list[Pod] = []
    for each in sorted(editor.loaded.of(DaemonSet), key=lambda item: (item.metadata.namespace, item.metadata.name)):
        if each.spec.template is not None:
            made = daemon_set(each, existing)
            made.notes.clear()
            pods += unpack(editor.loaded, made)
    _take_in(editor, pods)


def _stop_where_they_may_not_run(editor: Editor) -> None:
    """NodeShouldRunDaemonPod: a pod whose node it does not select any more is deleted; taints of NoExecute evict by
    themselves, and others let it run on."""
    nodes = {name: editor.node(name) for name in editor.changed_nodes}
    sets = {(each.metadata.namespace, each.metadata.name): each for each in editor.loaded.of(DaemonSet)}
    leaving = []
    for pod in active(editor.loaded.of(Pod)):
        owner, node = controller_of(pod.metadata), nodes.get(pod.spec.node_name)
        if node is None or owner is None or owner.kind != "DaemonSet":
            continue
        daemons = sets.get((pod.metadata.namespace, owner.name))
        template = daemons.spec.template if daemons else None
        if template is not None and not selects(template.spec, node):
            leaving.append(pod)
    forget(editor, leaving)


def _take_in(editor: Editor, pods: list[Pod]) -> None:
    if not pods:
        return
    date(pods, editor.loaded.of(Pod))
    editor.refused += let_in(editor.loaded, pods)
