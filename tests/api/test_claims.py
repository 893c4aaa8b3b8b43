"""To which pods and pod groups a claim belongs."""

from __future__ import annotations

import msgspec
import pytest

from ksched_cli.api.core import PodResourceClaimStatus
from ksched_cli.api.dynamic_resources import (
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimTemplate,
    consumer_group,
    consumer_pod,
    is_controlled_by_group,
    is_reserved_for,
    reserved,
)
from ksched_cli.sources.templates import templated_claims
from tests.builders import make_pod

POD, OTHER = make_pod("a").uid("ua").obj(), make_pod("b").uid("ub").obj()


@pytest.mark.parametrize(
    ("consumers", "group", "expected"),
    [
        pytest.param([], "", False, id="no consumers"),
        pytest.param([consumer_pod(OTHER)], "", False, id="another pod"),
        pytest.param([consumer_pod(OTHER), consumer_pod(POD)], "", True, id="the pod after another"),
        pytest.param([consumer_group("g", "ug")], "g", True, id="its group"),
        pytest.param([consumer_group("h", "uh")], "g", False, id="another group"),
        pytest.param([consumer_group("", "ug")], "", False, id="a pod without a group"),
        pytest.param([consumer_pod(make_pod("g").uid("ug").obj())], "g", False, id="a pod with the name of the group"),
    ],
)
def test_for_whom_a_claim_is_reserved(
    consumers: list[ResourceClaimConsumerReference], group: str, expected: bool
) -> None:
    claim = ResourceClaim()
    for each in consumers:
        claim = reserved(claim, each)
    assert is_reserved_for(claim, POD, group) is expected


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        pytest.param(
            {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "name": "g"}, True, id="the group"
        ),
        pytest.param(
            {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "name": "h"}, False, id="another"
        ),
        pytest.param({"apiVersion": "v1", "kind": "Pod", "name": "g"}, False, id="a pod"),
        pytest.param(
            {"apiVersion": "scheduling.x-k8s.io/v1", "kind": "PodGroup", "name": "g"}, False, id="a custom kind"
        ),
        pytest.param(None, False, id="no controller"),
    ],
)
def test_which_group_controls_a_claim(owner: dict[str, str] | None, expected: bool) -> None:
    owners = [{**owner, "uid": "u", "controller": True}] if owner else []
    claim = msgspec.convert({"metadata": {"name": "c", "ownerReferences": owners}}, ResourceClaim)
    assert is_controlled_by_group(claim, "g") is expected


def test_the_claims_that_are_made_for_a_pod() -> None:
    references = [
        {"name": name, "resourceClaimTemplateName": of} for name, of in (("a", "t"), ("b", "none"), ("c", "t"))
    ]
    pod = make_pod("p").spec(resourceClaims=references).obj()
    pod.status.resource_claim_statuses = (PodResourceClaimStatus("a", "made"),)
    template = msgspec.convert({"spec": {"metadata": {"annotations": {"k": "v"}}}}, ResourceClaimTemplate)
    (made,) = templated_claims(pod, {(pod.metadata.namespace, "t"): template})
    assert made.metadata.annotations == {"k": "v", "resource.kubernetes.io/pod-claim-name": "c"}
    assert made.metadata.name.startswith("p-c-")
    names = [(each.name, each.resource_claim_name) for each in pod.status.resource_claim_statuses]
    assert names == [("a", "made"), ("c", made.metadata.name)]
