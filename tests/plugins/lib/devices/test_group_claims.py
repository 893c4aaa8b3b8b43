"""Claims that the pods of a group share: for whom they are reserved, and when the group gives them up."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ksched_cli.api.core import Pod
from ksched_cli.api.workloads import PodGroup
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.cluster.pod_groups import PodGroups
from ksched_cli.plugins.lib.devices.claims import ClaimError
from ksched_cli.plugins.lib.devices.node_search import GroupClaims
from tests.builders import make_node, make_pod
from tests.plugins.lib.devices.resources import allocated, claim_of, make_claim

OF_GROUP = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "uid-g"}
OF_POD = {"resource": "pods", "name": "other", "uid": "uid-other"}
OWNER = {
    "apiVersion": "scheduling.k8s.io/v1alpha2",
    "kind": "PodGroup",
    "name": "g",
    "uid": "uid-g",
    "controller": True,
}
Names = dict[str, str]


def named(**claims: str) -> list[Names]:
    return [{"name": name, "resourceClaimName": claim} for name, claim in claims.items()]


def from_template(name: str, template: str) -> Names:
    return {"name": name, "resourceClaimTemplateName": template}


def sharing(claims: list[Names], made: list[Names] | None = None) -> PodGroup:
    metadata = {"name": "g", "namespace": "default", "uid": "uid-g"}
    spec = {"schedulingPolicy": {"basic": {}}, "resourceClaims": claims}
    return msgspec.convert(
        {"metadata": metadata, "spec": spec, "status": {"resourceClaimStatuses": made or []}}, PodGroup
    )


def member(claims: list[Names], made: list[Names] | None = None) -> Pod:
    pod = make_pod("p").uid("uid-p").spec(schedulingGroup={"podGroupName": "g"}, resourceClaims=claims)
    return pod.status(resourceClaimStatuses=made or []).obj()


@pytest.mark.parametrize(
    ("of_pod", "of_group", "enabled", "expected"),
    [
        pytest.param(named(x="c"), named(x="c"), True, "g", id="both list the claim"),
        pytest.param(named(x="c"), named(y="c"), True, "p", id="under another name"),
        pytest.param(named(y="d", x="c"), named(z="e", x="c"), True, "g", id="beside others"),
        pytest.param(named(y="d", x="c"), named(y="d"), True, "p", id="only the other one is the group's"),
        pytest.param([from_template("x", "t")], [from_template("x", "t")], True, "g", id="made from a template"),
        pytest.param([from_template("x", "t")], [from_template("x", "u")], True, "p", id="from another template"),
        pytest.param(named(x="c"), named(x="c"), False, "p", id="without the gate"),
    ],
)
def test_for_whom_a_claim_is_reserved(of_pod: list[Names], of_group: list[Names], enabled: bool, expected: str) -> None:
    claims = GroupClaims(Catalog([sharing(of_group)]), enabled=enabled)
    assert claims.consumer(member(of_pod, named(x="c")), make_claim("c")).name == expected


@pytest.mark.parametrize(
    ("groups", "claims", "fails"),
    [
        pytest.param([], named(x="c"), True, id="no group"),
        pytest.param([], [], False, id="no group, and no claim"),
        pytest.param([sharing([])], named(x="c"), False, id="the group is there"),
    ],
)
def test_the_group_of_a_pod_with_claims_has_to_exist(groups: list[Any], claims: list[Names], fails: bool) -> None:
    found = GroupClaims(Catalog(groups), enabled=True)
    if fails:
        with pytest.raises(ClaimError, match=r'podgroup\.scheduling\.k8s\.io "g" not found'):
            found.check(member(claims))
    else:
        found.check(member(claims))


def taken(name: str = "c", *users: dict[str, str], owner: dict[str, Any] | None = None, free: bool = False) -> Any:
    status = {} if free else allocated("d")
    metadata = {} if owner is None else {"ownerReferences": [owner]}
    return make_claim(name, status={**status, "reservedFor": list(users or (OF_GROUP,))}, metadata=metadata)


@pytest.mark.parametrize(
    ("group", "claims", "given_up"),
    [
        pytest.param(sharing(named(x="c")), [taken()], "c", id="a claim by name"),
        pytest.param(sharing(named(n="none", x="c")), [taken()], "c", id="after a claim that is not there"),
        pytest.param(sharing(named(d="d", x="c")), [taken("d", free=True), taken()], "c", id="after a free one"),
        pytest.param(
            sharing([from_template("x", "t")], named(x="c")), [taken(owner=OWNER)], "c", id="made from a template"
        ),
        pytest.param(
            sharing([from_template("x", "t")], named(x="c")),
            [taken(owner={**OWNER, "name": "other"})],
            None,
            id="made for another group",
        ),
        pytest.param(sharing([from_template("x", "t")]), [taken()], None, id="not made yet"),
        pytest.param(sharing(named(x="c")), [taken(free=True)], None, id="without devices"),
        pytest.param(sharing(named(x="c")), [taken("c", OF_POD)], None, id="reserved for another pod"),
        pytest.param(sharing([]), [taken()], None, id="no claim of the group"),
    ],
)
def test_a_group_without_a_pod_on_a_node_gives_up_a_claim(group: Any, claims: list[Any], given_up: str | None) -> None:
    pod = member([])
    cluster = Cluster([make_node("n").obj()], [pod], Catalog([group, *claims]))
    before = {claim.metadata.name: claim.status.reserved_for for claim in claims}
    found = GroupClaims(cluster.catalog, enabled=True)
    assert found.unreserve(pod, PodGroups(cluster, ["default-scheduler"])) is (given_up is not None)
    after = {name: claim_of(cluster, name).status.reserved_for for name in before}
    assert after == {name: () if name == given_up else users for name, users in before.items()}


@pytest.mark.parametrize(
    ("node", "enabled", "given_up"),
    [
        pytest.param("", True, True, id="no pod has a node"),
        pytest.param("n", True, False, id="a pod has a node"),
        pytest.param("", False, False, id="without the gate"),
    ],
)
def test_claims_are_kept_for_pods_on_nodes(node: str, enabled: bool, given_up: bool) -> None:
    other = make_pod("other").spec(schedulingGroup={"podGroupName": "g"})
    other = other.on(node) if node else other
    cluster = Cluster([make_node("n").obj()], [other.obj()], Catalog([sharing(named(x="c")), taken()]))
    claims = GroupClaims(cluster.catalog, enabled=enabled)
    assert claims.unreserve(member([]), PodGroups(cluster, ["default-scheduler"])) is given_up
