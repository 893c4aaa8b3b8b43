"""Fields that hang on a gate: with it off a pod is as if it did not have them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ksched_cli.api.core import Pod
from ksched_cli.releases.minors import RELEASES
from ksched_cli.sources.unread import as_stored
from tests.builders import make_pod

EPHEMERAL = make_pod("p").spec(volumes=[{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}])
RESIZED = make_pod("p").spec(resources={"requests": {"cpu": "1"}}).status(resources={"requests": {"cpu": "2"}})

CLAIMING = make_pod().status(
    nodeAllocatableResourceClaimStatuses=[{"resourceClaimName": "c", "containers": ["main"], "resources": {"cpu": "1"}}]
)
STORING = make_pod("p").requests(cpu="1", **{"ephemeral-storage": "1Gi"})
FIRST_STORING = make_pod("p").init(resources={"requests": {"ephemeral-storage": "1Gi"}})
NO_STORAGE = "LocalStorageCapacityIsolation=false"


def ephemeral(pod: Pod) -> bool:
    return any(volume.ephemeral is not None for volume in pod.spec.volumes)


def resized(pod: Pod) -> bool:
    return pod.status.resources is not None


def claims(pod: Pod) -> bool:
    return bool(pod.status.node_allocatable_resource_claim_statuses)


def stores(pod: Pod) -> bool:
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    return any("ephemeral-storage" in each.resources.requests for each in containers)


@pytest.mark.parametrize(
    ("made", "has", "minor", "gates", "kept"),
    [
        pytest.param(EPHEMERAL, ephemeral, "1.22", "", True, id="ephemeral volumes"),
        pytest.param(EPHEMERAL, ephemeral, "1.22", "GenericEphemeralVolume=false", False, id="without them"),
        pytest.param(EPHEMERAL, ephemeral, "1.36", "", True, id="now for good"),
        pytest.param(RESIZED, resized, "1.36", "", True, id="a pod that is resized as a whole"),
        pytest.param(
            RESIZED, resized, "1.36", "InPlacePodLevelResourcesVerticalScaling=false", False, id="where none is"
        ),
        pytest.param(RESIZED, resized, "1.35", "", False, id="before it was on"),
        pytest.param(CLAIMING, claims, "1.36", "DRANodeAllocatableResources=true", True, id="claims of node resources"),
        pytest.param(CLAIMING, claims, "1.36", "", False, id="claims of node resources without the gate"),
        pytest.param(CLAIMING, claims, "1.35", "", False, id="claims of node resources before the gate"),
        pytest.param(STORING, stores, "1.24", "", True, id="storage"),
        pytest.param(STORING, stores, "1.24", NO_STORAGE, False, id="storage without its gate"),
        pytest.param(STORING, stores, "1.19", NO_STORAGE, False, id="storage without its gate in 1.19"),
        pytest.param(STORING, stores, "1.18", NO_STORAGE, True, id="storage before the gate decided"),
        pytest.param(FIRST_STORING, stores, "1.20", NO_STORAGE, False, id="storage of init containers"),
        pytest.param(FIRST_STORING, stores, "1.19", NO_STORAGE, True, id="storage of init containers in 1.19"),
    ],
)
def test_fields(made: Any, has: Any, minor: str, gates: str, kept: bool) -> None:
    pod = made.obj()
    (stored,) = as_stored([pod], RELEASES[minor], RELEASES[minor].gates(gates))
    assert has(stored) is kept
    assert has(pod)
    assert (stored is pod) is kept


@pytest.mark.parametrize(
    ("term", "minor", "has_selector", "namespaces"),
    [
        pytest.param({"namespaceSelector": {}}, "1.36", True, (), id="a selector"),
        pytest.param({"namespaceSelector": {}}, "1.21", False, ("",), id="the gate is off: no namespace at all"),
        pytest.param({"namespaceSelector": {}, "namespaces": ["a"]}, "1.21", False, ("a",), id="namespaces beside it"),
        pytest.param({}, "1.21", False, (), id="the namespace of the pod"),
        pytest.param({"namespaceSelector": {}}, "1.20", False, (), id="an unknown field: the namespace of the pod"),
    ],
)
def test_selectors_of_namespaces(
    term: dict[str, Any], minor: str, has_selector: bool, namespaces: tuple[str, ...]
) -> None:
    terms = [{"topologyKey": "zone", "labelSelector": {}, **term}]
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    pod = make_pod().spec(affinity=affinity).obj()
    (stored,) = as_stored([pod], RELEASES[minor], RELEASES[minor].gates())
    assert stored.spec.affinity is not None
    assert stored.spec.affinity.pod_affinity is not None
    (found,) = stored.spec.affinity.pod_affinity.required_during_scheduling_ignored_during_execution
    assert (found.namespace_selector is not None, found.namespaces) == (has_selector, namespaces)


GATED: dict[str, tuple[dict[str, Any], str]] = {
    "PodLevelResources": ({"resources": {"requests": {"cpu": "1"}}}, "1.34"),
    "PodSchedulingReadiness": ({"schedulingGates": [{"name": "a/b"}]}, "1.27"),
    "PodOverhead": ({"overhead": {"cpu": "1"}}, "1.18"),
    "NonPreemptingPriority": ({"preemptionPolicy": "Never"}, "1.19"),
}
NEVER = make_pod().spec(initContainers=[{"name": "s", "restartPolicy": "Always"}])
SPREAD = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}
SPREAD |= {"minDomains": 2, "matchLabelKeys": ["a"], "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"}


@pytest.mark.parametrize("gate", GATED)
def test_a_field_goes_with_its_gate(gate: str) -> None:
    fields, minor = GATED[gate]
    pod, plain = make_pod("p").spec(**fields).obj(), make_pod("p").obj()
    release = RELEASES[minor]
    assert as_stored([pod], release, release.gates(f"{gate}=true")) == [pod]
    assert as_stored([pod], release, release.gates(f"{gate}=false"))[0].spec == plain.spec


@pytest.mark.parametrize(("minor", "policy"), [("1.27", None), ("1.28", "Always")])
def test_sidecars_come_with_1_28(minor: str, policy: str | None) -> None:
    (stored,) = as_stored([NEVER.obj()], RELEASES[minor], RELEASES[minor].gates())
    assert stored.spec.init_containers[0].restart_policy == policy


@pytest.mark.parametrize(
    ("gate", "lost"),
    [
        ("MinDomainsInPodTopologySpread", {"min_domains": None}),
        ("NodeInclusionPolicyInPodTopologySpread", {"node_affinity_policy": None, "node_taints_policy": None}),
        ("MatchLabelKeysInPodTopologySpread", {"match_label_keys": ()}),
    ],
)
def test_a_field_of_spreading_goes_with_its_gate(gate: str, lost: dict[str, Any]) -> None:
    pod = make_pod().spec(topologySpreadConstraints=[SPREAD]).obj()
    (given,) = pod.spec.topology_spread_constraints
    (stored,) = as_stored([pod], RELEASES["1.27"], RELEASES["1.27"].gates(f"{gate}=false"))
    assert stored.spec.topology_spread_constraints == (msgspec.structs.replace(given, **lost),)
