"""What has been decided is carried out: in the next run it is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from ksched_cli.api.core import Pod
from ksched_cli.api.pod_facts import pod_key
from ksched_cli.api.resource import ResourceClaim
from ksched_cli.plan.aftermath import play_out
from ksched_cli.sources.loaded import Loaded
from ksched_cli.wiring import Setup, gather, scheduler_maker

CORPUS = Path(__file__).parents[2] / "fixtures" / "conformance" / "1.36"


def placed(loaded: Loaded) -> dict[str, str]:
    return {pod_key(pod): pod.spec.node_name for pod in loaded.of(Pod) if pod.spec.node_name}


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in sorted(CORPUS.glob("*-01"))])
def test_what_is_placed_stays_placed(case: Path) -> None:
    setup = Setup(sources=[str(case / "cluster.json")])
    gathered = gather(setup)
    make = scheduler_maker(setup, gathered.setting)
    before = placed(gathered.loaded)
    first = play_out(gathered.loaded, make)
    assert placed(gathered.loaded) == before
    after = placed(first.loaded)
    victims = {name for outcome in first.preempting if outcome.preemption for name in outcome.preemption.victims}
    assert {**{pod: node for pod, node in before.items() if pod not in victims}, **after} == after
    for outcome in first.outcomes.values():
        assert after.get(outcome.pod, "") == outcome.node
    # Whoever has a node is not tried again, and devices are theirs.
    second = play_out(first.loaded, make)
    assert not second.outcomes.keys() & after.keys()
    allocated = {claim.metadata.name for claim in first.loaded.of(ResourceClaim) if claim.status.allocation}
    assert allocated <= {claim.metadata.name for claim in second.loaded.of(ResourceClaim) if claim.status.allocation}
