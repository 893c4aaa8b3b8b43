"""What the API server stores when a manifest is applied to an object that exists: `kubectl apply` on the client side,
or `--server-side` (kubectl/pkg/cmd/apply). `check`, `simulate`, `diff`, `scenario` and `sweep` apply manifests by this.

`--prune` and `--force` are not modelled. An object that kubectl did not apply before has no last-applied annotation:
nothing is deleted then, as kubectl does it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ksched_cli.api.conversion import problems_in
from ksched_cli.api.defaults import fill_in
from ksched_cli.api.workloads import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from ksched_cli.controlplane.merge import LAST_APPLIED, UNREAD, Document, three_way, unread_digest, written
from ksched_cli.controlplane.ownership import apply_server_side, last_applied
from ksched_cli.controlplane.store import Store, identity_of
from ksched_cli.sources.loaded import Loaded, workload_label
from ksched_cli.sources.places import in_workload

WITH_TEMPLATES = (Deployment, StatefulSet, DaemonSet, ReplicaSet, ReplicationController, Job, CronJob)
_NO_OWNERS = "the input has no managedFields of {}, so that conflicts with other managers are not found"
_NO_LAST = "the input has no last-applied annotation of {}, so that fields which left the manifest stay"


class AppliedObject(msgspec.Struct, frozen=True):
    """The typed object that the API server stores, and its document."""

    item: Any
    document: Document


def applied(store: Store, manifests: Loaded, item: Any) -> AppliedObject:
    """What becomes of an object of the manifests. Raises ApplyConflict if other managers own what it changes."""
    live = store.current(item)
    manifest = _manifest(manifests, item)
    if live is None:
        return AppliedObject(item, manifest if manifests.server_side else _noted(manifest, manifest))
    before = store.document(live)
    if manifests.server_side:
        after = apply_server_side(before, manifest, force=manifests.force_conflicts)
    else:
        after = _noted(three_way(last_applied(before), before, manifest), manifest)
    if store.is_whole(live):
        _mark_unread(item, before, after)
    made, mistakes = problems_in({**after, "status": {}} if "status" in after else after, type(item))
    if made is None or mistakes:
        # The objects before have been accepted, so that only a live object that was cut by hand comes here.
        return AppliedObject(item, manifest)
    made.metadata.namespace, made.metadata.name = item.metadata.namespace, item.metadata.name
    if hasattr(live, "status"):
        made.status = live.status
    fill_in(made)
    return AppliedObject(made, after)


def apply_gaps(store: Store, manifests: Loaded) -> Iterator[str]:
    """What of the way in which manifests are applied the input does not show, in one sentence."""
    found = [
        workload_label(item) for items in manifests.objects.values() for item in items if _lacks(store, manifests, item)
    ]
    if found:
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        text = _NO_OWNERS if manifests.server_side else _NO_LAST
        yield f"kubectl apply: {text.format(found[0] + more)}"


def _lacks(store: Store, manifests: Loaded, item: Any) -> bool:
    live = store.current(item)
    if live is None:
        return False
    metadata = store.document(live).get("metadata", {})
    noted = not manifests.server_side and LAST_APPLIED in metadata.get("annotations", {})
    return not noted and not metadata.get("managedFields")


def _manifest(manifests: Loaded, item: Any) -> Document:
    """The manifest as it is written; of an object that stands for another, as it would be."""
    known = manifests.documents.get(identity_of(item))
    if known is None or known.item is not item:
        return written(item)  # type: ignore[no-any-return]
    return msgspec.json.decode(known.written) if isinstance(known.written, bytes) else known.written


def _noted(document: Document, manifest: Document) -> Document:
    """The document with the manifest in its last-applied annotation."""
    metadata = document.get("metadata") or {}
    plain = {**manifest, "metadata": {**(manifest.get("metadata") or {})}}
    annotations = {
        key: each for key, each in (plain["metadata"].get("annotations") or {}).items() if key != LAST_APPLIED
    }
    plain["metadata"]["annotations"] = annotations
    text = msgspec.json.encode(plain, order="deterministic").decode() + "\n"
    return {
        **document,
        "metadata": {**metadata, "annotations": {**(metadata.get("annotations") or {}), LAST_APPLIED: text}},
    }


def _mark_unread(item: Any, before: Document, after: Document) -> None:
    """Let the template differ if it changes in fields that no typed object has, such as `env`."""
    old, new = before, after
    path = in_workload(item, ()) if isinstance(item, WITH_TEMPLATES) else ()
    for step in path:
        if not isinstance(old, dict) or not isinstance(new, dict) or step not in new:
            return
        old, new = old.get(step) or {}, new[step]
    if not path:
        return
    digest = unread_digest(new.get("spec") or {})
    if digest != unread_digest(old.get("spec") or {}):
        metadata = new.get("metadata") or {}
        new["metadata"] = {**metadata, "annotations": {**(metadata.get("annotations") or {}), UNREAD: digest}}
