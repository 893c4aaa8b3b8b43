"""The gates that kube-scheduler's code asks for, minor by minor, as its sources have them: each is known in that minor,
with its default and its lock, and is told of where its other state is not answered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ksched_cli.cli.main import run
from ksched_cli.errors import UsageError
from ksched_cli.releases.gates import MODELLED_SINCE, minor_of
from ksched_cli.releases.minors import RELEASES
from tests.builders import make_node, make_pod, write_list
from tests.lanes import sampled

# Gate, first and last minor with this state, the state, and whether the other one is answered as well.
GATES = (
    ("AttachVolumeLimit", "1.16", "1.16", "on", True),
    ("BalanceAttachedNodeVolumes", "1.16", "1.16", "off", True),
    ("CSIMigration", "1.16", "1.16", "off", True),
    ("CSIMigrationAWS", "1.16", "1.16", "off", True),
    ("CSIMigrationAzureDisk", "1.16", "1.16", "off", True),
    ("CSIMigrationGCE", "1.16", "1.16", "off", True),
    ("CSIMigrationOpenStack", "1.16", "1.16", "off", True),
    ("CSINodeInfo", "1.16", "1.16", "on", True),
    ("EvenPodsSpread", "1.16", "1.17", "off", True),
    ("EvenPodsSpread", "1.18", "1.18", "on", True),
    ("NonPreemptingPriority", "1.16", "1.16", "off", True),
    ("PodOverhead", "1.16", "1.16", "off", True),
    ("ResourceLimitsPriorityFunction", "1.16", "1.16", "off", True),
    ("TaintNodesByCondition", "1.16", "1.16", "on", True),
    ("AttachVolumeLimit", "1.19", "1.20", "locked", True),
    ("BalanceAttachedNodeVolumes", "1.19", "1.20", "off", True),
    ("CSIMigration", "1.19", "1.20", "on", True),
    ("CSIMigrationAWS", "1.19", "1.20", "off", True),
    ("CSIMigrationAzureDisk", "1.19", "1.20", "off", True),
    ("CSIMigrationGCE", "1.19", "1.20", "off", True),
    ("CSIMigrationOpenStack", "1.19", "1.20", "off", True),
    ("CSINodeInfo", "1.19", "1.20", "locked", True),
    ("CSIStorageCapacity", "1.19", "1.20", "off", True),
    ("DefaultPodTopologySpread", "1.19", "1.19", "off", True),
    ("DefaultPodTopologySpread", "1.20", "1.20", "on", True),
    ("EvenPodsSpread", "1.19", "1.20", "locked", True),
    ("GenericEphemeralVolume", "1.19", "1.20", "off", True),
    ("LocalStorageCapacityIsolation", "1.19", "1.20", "on", True),
    ("PodDisruptionBudget", "1.19", "1.20", "on", True),
    ("PodOverhead", "1.19", "1.20", "on", True),
    ("BalanceAttachedNodeVolumes", "1.21", "1.21", "off", True),
    ("CSIMigration", "1.21", "1.24", "on", True),
    ("CSIMigrationAWS", "1.21", "1.22", "off", True),
    ("CSIMigrationAWS", "1.23", "1.24", "on", True),
    ("CSIMigrationAWS", "1.25", "1.26", "locked", True),
    ("CSIMigrationAzureDisk", "1.21", "1.22", "off", True),
    ("CSIMigrationAzureDisk", "1.23", "1.24", "on", True),
    ("CSIMigrationAzureDisk", "1.25", "1.26", "locked", True),
    ("CSIMigrationGCE", "1.21", "1.22", "off", True),
    ("CSIMigrationGCE", "1.23", "1.24", "on", True),
    ("CSIMigrationGCE", "1.25", "1.27", "locked", True),
    ("CSIMigrationOpenStack", "1.21", "1.23", "on", True),
    ("CSIMigrationPortworx", "1.23", "1.30", "off", True),
    ("CSIMigrationPortworx", "1.31", "1.32", "on", True),
    ("CSIMigrationPortworx", "1.33", "1.35", "locked", True),
    ("CSIMigrationRBD", "1.24", "1.30", "off", False),
    ("CSIStorageCapacity", "1.21", "1.23", "on", True),
    ("DRAAdminAccess", "1.32", "1.33", "off", False),
    ("DRAAdminAccess", "1.34", "1.35", "on", True),
    ("DRAAdminAccess", "1.36", "1.36", "locked", True),
    ("DRAConsumableCapacity", "1.34", "1.35", "off", False),
    ("DRAConsumableCapacity", "1.36", "1.36", "on", True),
    ("DRAControlPlaneController", "1.31", "1.31", "off", False),
    ("DRADeviceBindingConditions", "1.34", "1.35", "off", False),
    ("DRADeviceBindingConditions", "1.36", "1.36", "on", True),
    ("DRADeviceTaintRules", "1.35", "1.35", "off", False),
    ("DRADeviceTaintRules", "1.36", "1.36", "off", True),
    ("DRADeviceTaints", "1.33", "1.35", "off", False),
    ("DRADeviceTaints", "1.36", "1.36", "on", True),
    ("DRAExtendedResource", "1.34", "1.35", "off", False),
    ("DRAExtendedResource", "1.36", "1.36", "on", True),
    ("DRAListTypeAttributes", "1.36", "1.36", "off", True),
    ("DRANodeAllocatableResources", "1.36", "1.36", "off", True),
    ("DRAPartitionableDevices", "1.33", "1.35", "off", False),
    ("DRAPartitionableDevices", "1.36", "1.36", "on", True),
    ("DRAPrioritizedList", "1.33", "1.33", "off", False),
    ("DRAPrioritizedList", "1.34", "1.36", "on", True),
    ("DRAResourceClaimDeviceStatus", "1.34", "1.36", "on", True),
    ("DRASchedulerFilterTimeout", "1.34", "1.36", "on", True),
    ("DRAWorkloadResourceClaims", "1.36", "1.36", "off", True),
    ("DefaultPodTopologySpread", "1.21", "1.23", "on", True),
    ("DynamicResourceAllocation", "1.26", "1.33", "off", False),
    ("DynamicResourceAllocation", "1.34", "1.34", "on", True),
    ("DynamicResourceAllocation", "1.35", "1.36", "locked", True),
    ("GangScheduling", "1.35", "1.35", "off", False),
    ("GangScheduling", "1.36", "1.36", "off", True),
    ("GenericEphemeralVolume", "1.21", "1.22", "on", True),
    ("GenericWorkload", "1.35", "1.35", "off", False),
    ("GenericWorkload", "1.36", "1.36", "off", True),
    ("InPlacePodLevelResourcesVerticalScaling", "1.35", "1.35", "off", True),
    ("InPlacePodLevelResourcesVerticalScaling", "1.36", "1.36", "on", True),
    ("InPlacePodVerticalScaling", "1.27", "1.32", "off", False),
    ("InPlacePodVerticalScaling", "1.33", "1.34", "on", True),
    ("InPlacePodVerticalScaling", "1.35", "1.36", "locked", True),
    ("LocalStorageCapacityIsolation", "1.16", "1.18", "on", True),
    ("LocalStorageCapacityIsolation", "1.21", "1.24", "on", True),
    ("MatchLabelKeysInPodTopologySpread", "1.25", "1.26", "off", True),
    ("MatchLabelKeysInPodTopologySpread", "1.27", "1.36", "on", True),
    ("MinDomainsInPodTopologySpread", "1.24", "1.26", "off", True),
    ("MinDomainsInPodTopologySpread", "1.27", "1.29", "on", True),
    ("NodeDeclaredFeatures", "1.35", "1.35", "off", False),
    ("NodeDeclaredFeatures", "1.36", "1.36", "on", True),
    ("NodeInclusionPolicyInPodTopologySpread", "1.25", "1.25", "off", True),
    ("NodeInclusionPolicyInPodTopologySpread", "1.26", "1.32", "on", True),
    ("NodeInclusionPolicyInPodTopologySpread", "1.33", "1.36", "locked", True),
    ("NominatedNodeNameForExpectation", "1.34", "1.34", "off", True),
    ("NominatedNodeNameForExpectation", "1.35", "1.36", "on", True),
    ("OpportunisticBatching", "1.35", "1.36", "on", True),
    ("PodAffinityNamespaceSelector", "1.21", "1.21", "off", True),
    ("PodAffinityNamespaceSelector", "1.22", "1.23", "on", True),
    ("PodDisruptionBudget", "1.21", "1.24", "locked", True),
    ("PodDisruptionConditions", "1.25", "1.25", "off", True),
    ("PodDisruptionConditions", "1.26", "1.30", "on", True),
    ("PodLevelResources", "1.32", "1.33", "off", False),
    ("PodLevelResources", "1.34", "1.36", "on", True),
    ("PodOverhead", "1.21", "1.23", "on", True),
    ("PodSchedulingReadiness", "1.26", "1.26", "off", True),
    ("PodSchedulingReadiness", "1.27", "1.29", "on", True),
    ("PreferNominatedNode", "1.21", "1.21", "off", True),
    ("PreferNominatedNode", "1.22", "1.23", "on", True),
    ("ReadWriteOncePod", "1.22", "1.26", "off", False),
    ("ReadWriteOncePod", "1.27", "1.28", "on", True),
    ("SchedulerAsyncAPICalls", "1.34", "1.36", "off", True),
    ("SchedulerAsyncPreemption", "1.32", "1.32", "off", True),
    ("SchedulerAsyncPreemption", "1.33", "1.36", "on", True),
    ("SchedulerPopFromBackoffQ", "1.33", "1.36", "on", True),
    ("SchedulerQueueingHints", "1.28", "1.31", "off", True),
    ("SchedulerQueueingHints", "1.32", "1.33", "on", True),
    ("SchedulerQueueingHints", "1.34", "1.36", "locked", True),
    ("SidecarContainers", "1.28", "1.28", "off", True),
    ("SidecarContainers", "1.29", "1.32", "on", True),
    ("SidecarContainers", "1.33", "1.36", "locked", True),
    ("StorageCapacityScoring", "1.33", "1.36", "off", True),
    ("TaintTolerationComparisonOperators", "1.35", "1.36", "off", True),
    ("TopologyAwareWorkloadScheduling", "1.36", "1.36", "off", True),
    ("VolumeAttributesClass", "1.31", "1.33", "off", True),
    ("VolumeAttributesClass", "1.34", "1.35", "on", True),
    ("VolumeAttributesClass", "1.36", "1.36", "locked", True),
    ("VolumeCapacityPriority", "1.21", "1.32", "off", True),
    ("VolumeLimitScaling", "1.35", "1.36", "off", True),
    ("WorkloadAwarePreemption", "1.36", "1.36", "off", True),
    ("csiMigrationRBD", "1.23", "1.23", "off", False),
    # 1.37. Of gates whose rules it changed only the default is answered.
    ("CompositePodGroup", "1.37", "1.37", "off", False),
    ("DRAAdminAccess", "1.37", "1.37", "locked", True),
    ("DRAConsumableCapacity", "1.37", "1.37", "on", True),
    ("DRADerivedAttributes", "1.37", "1.37", "off", False),
    ("DRADeviceBindingConditions", "1.37", "1.37", "on", True),
    ("DRADeviceCompatibilityGroups", "1.37", "1.37", "off", False),
    ("DRADeviceTaintRules", "1.37", "1.37", "on", True),
    ("DRADeviceTaints", "1.37", "1.37", "on", True),
    ("DRAExtendedResource", "1.37", "1.37", "locked", True),
    ("DRAFractionalCapacityRange", "1.37", "1.37", "on", True),
    ("DRAListTypeAttributes", "1.37", "1.37", "off", True),
    ("DRANodeAllocatableResources", "1.37", "1.37", "off", False),
    ("DRAOptionalNodeOperations", "1.37", "1.37", "off", False),
    ("DRAPrioritizedList", "1.37", "1.37", "locked", True),
    ("DRAResourceClaimDeviceStatus", "1.37", "1.37", "locked", True),
    ("DRAWorkloadResourceClaims", "1.37", "1.37", "off", False),
    ("GenericWorkload", "1.37", "1.37", "off", False),
    ("InPlacePodVerticalScalingSchedulerPreemption", "1.37", "1.37", "off", False),
    ("InterPodAffinityHostnameFastPath", "1.37", "1.37", "off", True),
    ("NodeDeclaredFeatures", "1.37", "1.37", "locked", True),
    ("PodGroupPreemptionPolicy", "1.37", "1.37", "off", False),
    ("SchedulerPreQueueingHints", "1.37", "1.37", "off", True),
    ("MaxUnavailableStatefulSet", "1.24", "1.34", "off", False),
    ("MaxUnavailableStatefulSet", "1.35", "1.36", "off", True),
    ("MaxUnavailableStatefulSet", "1.37", "1.37", "on", True),
    ("StatefulSetRecreateStrategy", "1.37", "1.37", "off", False),
    ("HPAScaleToZero", "1.16", "1.36", "off", True),
    ("HPAScaleToZero", "1.37", "1.37", "on", True),
    ("StorageCapacityScoring", "1.37", "1.37", "on", True),
    ("TopologyAwareWorkloadScheduling", "1.37", "1.37", "off", False),
    ("VolumeBindMountOptions", "1.37", "1.37", "off", False),
    ("VolumeLimitScaling", "1.37", "1.37", "on", True),
    ("WorkloadWithJob", "1.36", "1.37", "off", False),
)


def cases() -> Iterator[Any]:
    for gate, first, last, state, modelled in GATES:
        for minor in range(minor_of(first), minor_of(last) + 1):
            yield pytest.param(f"1.{minor}", gate, state, modelled, id=f"{gate} in 1.{minor}")


# What has to be set together with a gate, since minors check that.
WITH_IT = {
    "CompositePodGroup": "GenericWorkload=true,TopologyAwareWorkloadScheduling=true",
    "DRADeviceTaints": "DRADeviceTaintRules=false",
    "DRADeviceTaintRules": "DRADeviceTaints=true",
    "DRAResourceClaimDeviceStatus": "DRADeviceBindingConditions=false",
    "DRAWorkloadResourceClaims": "GenericWorkload=true",
    "WorkloadWithJob": "GenericWorkload=true",
    "GangScheduling": "GenericWorkload=true",
    "InPlacePodLevelResourcesVerticalScaling": "NodeDeclaredFeatures=true",
    "MatchLabelKeysInPodTopologySpread": "MatchLabelKeysInPodTopologySpreadSelectorMerge=false",
    "NodeDeclaredFeatures": "InPlacePodLevelResourcesVerticalScaling=false",
    "PodLevelResources": "InPlacePodLevelResourcesVerticalScaling=false",
    "TopologyAwareWorkloadScheduling": "GenericWorkload=true",
    "WorkloadAwarePreemption": "GenericWorkload=true,GangScheduling=true",
}


@pytest.mark.parametrize(("minor", "gate", "state", "modelled"), sampled(cases(), 5))
def test_every_gate_of_every_minor(minor: str, gate: str, state: str, modelled: bool) -> None:
    release = RELEASES[minor]
    known = release.known_gates[gate]
    assert (known.default, known.locked) == (state != "off", state == "locked")
    other = f"{gate}={str(state == 'off').lower()}"
    if state == "locked":
        with pytest.raises(UsageError, match=f"{gate} is locked to true in Kubernetes {minor}"):
            release.gates(other)
        return
    with_it = WITH_IT.get(gate, "") if release.at_least("1.35") else ""
    gates = release.gates(f"{other},{with_it}")
    assert (gate in gates.not_modelled) is not modelled
    assert gates.enabled(gate) is not known.default


def test_what_is_said_of_gates_is_said_of_those_that_decide_something() -> None:
    """Gates that only the API server reads are not in the table."""
    assert set(MODELLED_SINCE) - {gate for gate, *_ in GATES} == {
        "MatchLabelKeysInPodAffinity",
        "MatchLabelKeysInPodTopologySpreadSelectorMerge",
    }


@pytest.mark.parametrize(
    ("minor", "gates", "on", "off"),
    [
        pytest.param("1.36", "AllAlpha=true,DRAWorkloadResourceClaims=false", "StorageCapacityScoring",
                     "DRAWorkloadResourceClaims", id="all alpha but one"),
        pytest.param("1.36", "AllBeta=false,PodLevelResources=true", "PodLevelResources", "NodeDeclaredFeatures",
                     id="no beta but one"),
        pytest.param("1.28", "AllAlpha=true,AllBeta=false", "SidecarContainers", "MinDomainsInPodTopologySpread",
                     id="both"),
        pytest.param("1.36", "AllBeta=false", "DRAPrioritizedList", "PodLevelResources", id="what is GA stays"),
    ],
)  # fmt: skip
def test_gates_of_a_stage(minor: str, gates: str, on: str, off: str) -> None:
    made = RELEASES[minor].gates(gates)
    assert made.enabled(on)
    assert not made.enabled(off)


def test_a_stage_tells_of_all_that_is_not_answered() -> None:
    told = RELEASES["1.31"].gates("AllAlpha=true").not_modelled
    assert told == (
        "DRAControlPlaneController",
        "DynamicResourceAllocation",
        "InPlacePodVerticalScaling",
        "MaxUnavailableStatefulSet",
    )


def test_a_name_that_was_another_in_its_first_minor() -> None:
    assert RELEASES["1.23"].gates("csiMigrationRBD=true").not_modelled == ("csiMigrationRBD",)
    with pytest.raises(UsageError, match=r"csiMigrationRBD .*; it was taken away in 1\.24"):
        RELEASES["1.24"].gates("csiMigrationRBD=true")
    with pytest.raises(UsageError, match=r"CSIMigrationRBD .*; it came with 1\.24"):
        RELEASES["1.23"].gates("CSIMigrationRBD=true")


def test_the_table_tells_of_a_gate_that_is_not_answered(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = write_list(tmp_path / "c.json", make_node("n1").doc(), make_pod("p").doc())
    gates = "DynamicResourceAllocation=true"
    assert run(["simulate", "--from", cluster, "--kube-version", "1.31", "--feature-gates", gates]) == 0
    assert "feature gate DynamicResourceAllocation" in capsys.readouterr().out


@pytest.mark.parametrize("gate", ["GangScheduling", "WorkloadAwarePreemption"])
def test_generic_workload_switches_what_gates_of_1_36_did(gate: str) -> None:
    """#139520."""
    release = RELEASES["1.37"]
    assert [release.gates(each).enabled(gate) for each in ("", "GenericWorkload=true")] == [False, True]
    with pytest.raises(UsageError, match=f"{gate} .*taken away in 1.37, and GenericWorkload switches what it switched"):
        release.gates(f"{gate}=true")


@pytest.mark.parametrize(
    ("workload", "topology", "accepted"),
    [
        pytest.param(True, True, True, id="all enabled"),
        pytest.param(False, True, False, id="missing workload"),
        pytest.param(True, False, False, id="missing topology"),
    ],
)
def test_what_composite_pod_groups_need(workload: bool, topology: bool, accepted: bool) -> None:
    """TestSchedulerFeatureGateDependencies of kube-scheduler/pkg/features."""
    gates = f"CompositePodGroup=true,GenericWorkload={workload},TopologyAwareWorkloadScheduling={topology}"
    if accepted:
        assert RELEASES["1.37"].gates(gates).enabled("CompositePodGroup")
    else:
        with pytest.raises(UsageError, match="depends on features that are disabled"):
            RELEASES["1.37"].gates(gates)


@pytest.mark.parametrize(
    ("minor", "names", "gang"),
    [
        pytest.param("1.37", {"GenericWorkload"}, True, id="with the gates that it switches"),
        pytest.param("1.37", set(), False, id="no gate"),
        pytest.param("1.36", {"GenericWorkload"}, False, id="before it switched others"),
        pytest.param("1.36", {"GangScheduling"}, True, id="by name"),
    ],
)
def test_gates_with_some_values_of_others(minor: str, names: set[str], gang: bool) -> None:
    given = "GenericWorkload={0}" if minor == "1.37" else "GenericWorkload={0},GangScheduling={0}"
    on, off = (RELEASES[minor].gates(given.format(state)) for state in ("true", "false"))
    found = off.with_values_of(on, names)
    assert found.enabled("GenericWorkload") is ("GenericWorkload" in names)
    assert found.enabled("GangScheduling") is gang
    assert not off.enabled("GangScheduling")
