"""`explain`: why a pod is Pending, or why it went where it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ksched_cli.plan.explain.pick import pick_named, pick_pod
from ksched_cli.plan.explain.results import ExplainResult
from ksched_cli.plan.explain.run import explain
from ksched_cli.plan.explain.subject import find_refused, find_subject
from ksched_cli.plan.loaded_input import LoadedInput
from ksched_cli.plan.named_pods import find_named_pods
from ksched_cli.plan.prepared import PreparedRun
from ksched_cli.sources.loaded import Loaded

if TYPE_CHECKING:
    from ksched_cli.plan.size.shapes import ShapeCatalog


def explain_pod(
    source: LoadedInput,
    pod: str | None,
    namespace: str,
    *,
    node: str = "",
    fixes: bool = True,
    manifests: Sequence[Loaded] = (),
    catalog: ShapeCatalog | None = None,
) -> ExplainResult:
    """The pod that is named, or the first pod without a place of what is named. Without a name: a pod of the manifests,
    or the first pending pod that finds no place. Fixes of a pod that comes from one of the manifests are changes of
    that manifest. With a catalog: which node would help."""
    prepared = PreparedRun.of(source)
    scheduler = prepared.scheduler
    found, note = find_refused(source.refused, pod, namespace) if pod is not None else None, ""
    if found is None:
        with scheduler.cluster.undo.trial():
            picked = (
                pick_named(scheduler, find_named_pods(source.loaded, pod, namespace))
                if pod is not None
                else pick_pod(scheduler, source.made, source.refused, source.wanted)
            )
        note = picked.note
        found = find_refused(source.refused, picked.key, "")
    if found is None:
        subject = find_subject(source.loaded, picked.key)
        # A pod that has a node is explained in another cluster, in which it waits.
        again = scheduler if subject.loaded is source.loaded else source.scheduler(subject.loaded)
        found = explain(subject, source.scheduler, node, fixes=fixes, scheduler=again, manifests=manifests)
    if note:
        found = replace(found, notes=(note, *found.notes))
    helping = None
    if catalog is not None and found.unplaced:
        from ksched_cli.plan.size.helping import find_helping_node

        helping = find_helping_node(source, catalog, found.pod)
    return ExplainResult(found, prepared.coverage, source.warnings, helping_node=helping)
