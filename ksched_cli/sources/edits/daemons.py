"""Pods of DaemonSets on nodes that are new or have changed."""

from __future__ import annotations

from ksched_cli.api.core import Pod
from ksched_cli.api.pod_facts import is_terminal
from ksched_cli.api.workloads import DaemonSet
from ksched_cli.sources.arrivals import date, let_in, unpack
from ksched_cli.sources.controllers.daemon_sets import bound_to, daemon_set
from ksched_cli.sources.controllers.existing import controller_of
from ksched_cli.sources.edits.editor import Editor
from ksched_cli.sources.edits.evictions import blank_copy


def copy_daemon_pods(editor: Editor, node: str, new_node: str) -> None:
    """What runs on every node runs on the new one too, also when the input holds only the pods of a DaemonSet."""
    known = {(each.metadata.namespace, each.metadata.name) for each in editor.loaded.of(DaemonSet)}
    existing = editor.existing()
    pods = []
    for pod in editor.pods_on(node):
        owner = controller_of(pod.metadata)
        if owner is None or owner.kind != "DaemonSet" or (pod.metadata.namespace, owner.name) in known:
            continue
        if is_terminal(pod) or pod.metadata.deletion_timestamp is not None:
            continue
        name = existing.new_name(f"{owner.name}-", pod.metadata.namespace, new_node)
        new = blank_copy(pod, name)
        new.spec.affinity = bound_to(new.spec.affinity, new_node)
        pods.append(new)
    _take_in(editor, pods)


def run_daemon_sets(editor: Editor) -> None:
    """DaemonSetsController.manage for the nodes that edits have changed; the others are as they were read."""
    if not editor.changed_nodes:
        return
    existing = editor.existing()
    existing.nodes = [node for node in existing.nodes if node.metadata.name in editor.changed_nodes]
    pods: list[Pod] = []
    for each in sorted(editor.loaded.of(DaemonSet), key=lambda item: (item.metadata.namespace, item.metadata.name)):
        if each.spec.template is not None:
            made = daemon_set(each, existing)
            made.notes.clear()
            pods += unpack(editor.loaded, made)
    _take_in(editor, pods)


def _take_in(editor: Editor, pods: list[Pod]) -> None:
    date(pods, editor.loaded.of(Pod))
    editor.refused += let_in(editor.loaded, pods)
