"""A pod that is gone gives back what it held."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ksched_cli.api.resource import ResourceClaim
from ksched_cli.engine.removal import remove_pod
from tests.builders import make_node, make_pod
from tests.harness import make_scheduler, placed


def claim(users: list[str], owner: str = "") -> ResourceClaim:
    document: dict[str, Any] = {
        "metadata": {"name": "c", "namespace": "default"},
        "status": {
            "allocation": {"devices": {"results": [{"driver": "d", "pool": "p", "device": "x", "request": "r"}]}},
            "reservedFor": [{"resource": "pods", "name": user, "uid": user} for user in users],
        },
    }
    if owner:
        document["metadata"]["ownerReferences"] = [{"kind": "Pod", "name": owner, "uid": owner, "controller": True}]
    return msgspec.convert(document, ResourceClaim)


@pytest.mark.parametrize(
    ("held", "users", "allocated"),
    [
        pytest.param(claim(["a"]), [], False, id="the last user gives the devices back"),
        pytest.param(claim(["a", "b"]), ["b"], True, id="others go on using them"),
        pytest.param(claim(["b"]), ["b"], True, id="somebody else's claim"),
        pytest.param(claim(["a"], owner="a"), None, None, id="a claim made for the pod goes with it"),
    ],
)
def test_claims(held: ResourceClaim, users: list[str] | None, allocated: bool | None) -> None:
    pod = make_pod("a").uid("a").on("n").obj()
    scheduler = make_scheduler([make_node("n").obj()], [pod], objects=[held])
    remove_pod(scheduler, 0)
    found = scheduler.cluster.catalog.get(ResourceClaim, "c", "default")
    assert (found is None) == (users is None)
    if found is not None:
        assert [user.uid for user in found.status.reserved_for] == users
        assert (found.status.allocation is not None) == allocated


def test_room() -> None:
    filler, waiting = make_pod("filler").requests(cpu="4").on("n").obj(), make_pod("waiting").requests(cpu="4").obj()
    scheduler = make_scheduler([make_node("n").obj()], [filler, waiting])
    assert placed(scheduler) == {"default/waiting": ""}
    remove_pod(scheduler, 0)
    assert [decision.row for decision in scheduler.run(scheduler.enqueue([1]))] == [0]


def test_a_pod_that_waited_for_its_victims_waits_no_longer() -> None:
    pods = [make_pod("low").on("n").requests(cpu="4").obj(), make_pod("high").priority(9).requests(cpu="4").obj()]
    scheduler = make_scheduler([make_node("n").obj()], pods)
    placed(scheduler)
    assert scheduler.nominator.node_of(1) == "n"
    remove_pod(scheduler, 1)
    assert scheduler.nominator.node_of(1) == ""
