"""Pods that have to leave, and those that controllers make in their place."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from msgspec.structs import replace

from ksched_cli.api.core import Pod, PodStatus, Taint
from ksched_cli.api.meta import ObjectMeta, OwnerReference
from ksched_cli.api.pod_facts import is_terminal, pod_key
from ksched_cli.api.resource import ResourceClaim
from ksched_cli.api.storage import PersistentVolumeClaim
from ksched_cli.api.tolerations import tolerates
from ksched_cli.sources.arrivals import date, put_pods
from ksched_cli.sources.controllers.existing import Existing, controller_of
from ksched_cli.sources.controllers.naming import uid_of
from ksched_cli.sources.controllers.templates import copied
from ksched_cli.sources.edits.editor import Editor

MIRROR = "kubernetes.io/config.mirror"
_DAEMON_SET = "DaemonSet"
_STATEFUL_SET = "StatefulSet"
_SHOWN = 3


def leave_with_nodes(editor: Editor, nodes: Collection[str]) -> None:
    """All pods of nodes that are gone. Those of a controller are made anew, but for a DaemonSet's."""
    leaving = [pod for pod in editor.loaded.of(Pod) if pod.spec.node_name in nodes]
    named = f"node {next(iter(nodes))} is" if len(nodes) == 1 else f"{len(nodes)} nodes are"
    _warn_of_losses(editor, leaving, f"{named} removed")
    evict(editor, leaving)


def evict_for_drain(editor: Editor, node: str) -> None:
    """As kubectl drain --ignore-daemonsets --force --delete-emptydir-data: pods of DaemonSets and mirror pods stay."""
    leaving = [pod for pod in editor.pods_on(node) if not stays_in_a_drain(pod)]
    _warn_of_losses(editor, leaving, f"node {node} is drained (kubectl drain asks for --force)")
    evict(editor, leaving)


def _warn_of_losses(editor: Editor, leaving: Iterable[Pod], occasion: str) -> None:
    """Pods that nobody makes anew."""
    lost = [pod for pod in leaving if controller_of(pod.metadata) is None and not is_terminal(pod)]
    names = sorted(pod_key(pod) for pod in lost if MIRROR not in pod.metadata.annotations)
    if names:
        shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
        them = "it is" if len(names) == 1 else "they are"
        verb = "has" if len(names) == 1 else "have"
        editor.loaded.warnings.append(f"{shown} {verb} no controller: {them} gone when {occasion}")


def stays_in_a_drain(pod: Pod) -> bool:
    """daemonSetFilter and mirrorPodFilter. A DaemonSet's finished pod goes."""
    if MIRROR in pod.metadata.annotations:
        return True
    owner = controller_of(pod.metadata)
    return owner is not None and owner.kind == _DAEMON_SET and not is_terminal(pod)


def evict_by_taint(editor: Editor, node: str, taints: Sequence[Taint]) -> None:
    """The taint eviction controller. A pod that tolerates for some seconds only leaves too, be it later; the kubelet
    keeps mirror pods."""
    harsh = [taint for taint in taints if taint.effect == "NoExecute"]
    leaving = [
        pod for pod in editor.pods_on(node) if MIRROR not in pod.metadata.annotations and not _tolerates_all(pod, harsh)
    ]
    evict(editor, [pod for pod in leaving if not is_terminal(pod)])


def _tolerates_all(pod: Pod, taints: Iterable[Taint]) -> bool:
    return all(
        any(each.toleration_seconds is None and tolerates(each, taint) for each in pod.spec.tolerations)
        for taint in taints
    )


def evict(editor: Editor, pods: Sequence[Pod]) -> None:
    """Take the pods away, and put new pending ones in the place of those that a controller makes anew."""
    if not pods:
        return
    forget(editor, pods)
    existing = editor.existing()
    successors = [successor(pod, owner, existing) for pod in pods if (owner := remaker(pod)) is not None]
    date(successors, (*editor.loaded.of(Pod), *pods))
    put_pods(editor.loaded, successors)


def remaker(pod: Pod) -> OwnerReference | None:
    """The controller that makes another pod instead. A DaemonSet makes one for the same node only, and a pod that is on
    its way out has a successor already unless that needs its name."""
    owner = controller_of(pod.metadata)
    if owner is None or owner.kind in (_DAEMON_SET, "Node") or is_terminal(pod):
        return None
    if pod.metadata.deletion_timestamp is not None and owner.kind != _STATEFUL_SET:
        return None
    return owner


def successor(pod: Pod, owner: OwnerReference, existing: Existing) -> Pod:
    """What the pod was when it was made, under a name of its own unless its controller gives the same again."""
    metadata = pod.metadata
    name = metadata.name
    if owner.kind != _STATEFUL_SET:
        base = metadata.generate_name or f"{owner.name}-"
        name = existing.new_name(base, metadata.namespace, name)
    return blank_copy(pod, name)


def blank_copy(pod: Pod, name: str) -> Pod:
    """The pod as it was before anything happened to it."""
    new = copied(pod)
    new.metadata = ObjectMeta(
        name,
        new.metadata.namespace,
        new.metadata.generate_name,
        uid_of("Pod", new.metadata.namespace, name),
        new.metadata.labels,
        new.metadata.annotations,
        owner_references=new.metadata.owner_references,
    )
    new.spec.node_name = ""
    new.status = PodStatus(phase="Pending")
    return new


def forget(editor: Editor, pods: Sequence[Pod]) -> None:
    """The pods and the claims that were theirs alone."""
    editor.remove(pods)
    names = {(pod.metadata.namespace, pod.metadata.name) for pod in pods}
    editor.loaded.discard(PersistentVolumeClaim, lambda claim: _owned_by_one_of(claim.metadata, names))
    editor.loaded.discard(ResourceClaim, lambda claim: _owned_by_one_of(claim.metadata, names))
    uids = {pod.metadata.uid for pod in pods}
    for claim in list(editor.loaded.of(ResourceClaim)):
        left = tuple(each for each in claim.status.reserved_for if each.uid not in uids)
        if len(left) < len(claim.status.reserved_for):
            # The resource claim controller frees the devices of a claim that nobody uses any more.
            allocation = claim.status.allocation if left else None
            status = replace(claim.status, reserved_for=left, allocation=allocation)
            editor.loaded.put(replace(claim, status=status))


def _owned_by_one_of(metadata: ObjectMeta, pods: set[tuple[str, str]]) -> bool:
    owner = controller_of(metadata)
    return owner is not None and owner.kind == "Pod" and (metadata.namespace, owner.name) in pods
