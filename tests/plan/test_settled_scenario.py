"""Steps as events: whatever an edit does, the cache is afterwards as one that was made of the edited cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.pod_facts import is_terminal, pod_key
from ksched_cli.plan.place import Telling
from ksched_cli.plan.settle import Settling
from ksched_cli.plan.settled_scenario import as_it_is, tell_changes
from ksched_cli.sources.edits.apply import apply
from ksched_cli.wiring import Setup, assemble, gather, read_edits

CORPUS = Path(__file__).parents[2] / "fixtures" / "conformance" / "1.36"
EDITS = [
    [("cordon", "{node}")],
    [("add-node", "cpu=8,memory=32Gi,zone=z"), ("taint", "{node}=team=a:NoExecute")],
    [("remove-node", "{node}")],
    [("drain", "{node}"), ("clone-node", "{other}=2")],
    [("label", "{node}=disk=ssd")],
]


@pytest.mark.parametrize("case", ["mixed-01", "volumes-02", "podaffinity-00", "dra-03"])
@pytest.mark.parametrize("edits", EDITS, ids=lambda edits: "+".join(flag for flag, _ in edits))
def test_told_as_events_an_edit_leads_to_the_edited_cluster(case: str, edits: list[tuple[str, str]]) -> None:
    setup = Setup([str(CORPUS / case / "cluster.json")])
    gathered = gather(setup)
    names = sorted(node.metadata.name for node in gathered.loaded.of(Node))
    wanted, problems = read_edits((flag, text.format(node=names[0], other=names[1])) for flag, text in edits)
    scheduler = assemble(setup, gathered).scheduler
    run = Settling(scheduler, Telling())
    before = as_it_is(gathered.loaded, scheduler)
    edited = apply(before, wanted, problems).loaded
    tell_changes(run.loop.handlers, before, edited)
    after = as_it_is(edited, scheduler)
    for kind in edited.objects:
        if kind is Pod:
            # A pod whose node is gone stays known to the cache until somebody deletes it.
            assert {pod_key(each) for each in after.of(Pod)} == {pod_key(each) for each in edited.of(Pod)}
        else:
            key = lambda each: (each.metadata.namespace, each.metadata.name)  # noqa: E731
            assert sorted(after.of(kind), key=key) == sorted(edited.of(kind), key=key)
    cluster = scheduler.cluster
    placed = {
        pod_key(each): each.spec.node_name
        for each in edited.of(Pod)
        if each.spec.node_name in cluster.nodes.row_of and not is_terminal(each)
    }
    counted = {
        info.key: cluster.nodes.names[cluster.pods.node_row[row]]
        for row, info in enumerate(cluster.pods.infos)
        if cluster.pods.node_row[row] >= 0 and row not in cluster.pods.gone
    }
    assert counted == placed
