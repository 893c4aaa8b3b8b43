"""Minors: which there are, the gates of each, and what is said of a version or a gate that is not there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ksched_cli.errors import UsageError
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.releases import NEWEST_VERSION
from ksched_cli.releases.default_plugins import plugin_names
from ksched_cli.releases.gates import GATE_HISTORY, FeatureGates, minor_of
from ksched_cli.releases.minors import (
    DEFAULT,
    FIXES,
    RELEASES,
    Release,
    latest,
    minor_in,
    minor_named,
    nearest_release,
    newest_minor_in,
    releases_between,
    releases_from,
)
from ksched_cli.releases.pod_security import PodSecurityPolicy
from ksched_cli.wiring import scheduler_spec


@pytest.mark.parametrize(
    ("written", "minor"),
    [
        pytest.param("1.36", "1.36", id="a minor"),
        pytest.param("v1.35.6", "1.35", id="as a server says it"),
        pytest.param("1.35+", "1.35", id="a minor with a vendor's plus"),
        pytest.param("v1.36.3-eks-1234abc", "1.36", id="a vendor's build"),
        pytest.param("v1.36.3+rke2r1", "1.36", id="build metadata"),
        pytest.param(" 1.36 ", "1.36", id="blanks around it"),
    ],
)
def test_versions_as_they_are_written(written: str, minor: str) -> None:
    assert nearest_release(written).version == minor
    assert minor_in(written) == nearest_release(written).minor


@pytest.mark.parametrize(("version", "expected"), [("1.9", True), ("1.29", True), ("1.30", False)])
def test_a_release_is_at_least_itself(version: str, expected: bool) -> None:
    assert RELEASES["1.29"].at_least(version) is expected
    assert nearest_release("1.29.1").at_least(version) is expected


@pytest.mark.parametrize(
    ("written", "answered"),
    [
        pytest.param("1.29.1", "1.29.1", id="it lacks later fixes"),
        pytest.param("v1.36.2", "1.36.2", id="device search before 1.36.3"),
        pytest.param("v1.37.1", "1.37", id="the newest minor"),
        pytest.param("v1.29.1-eks-1234abc", "1.29.1", id="a vendor's build"),
        pytest.param("1.29", "1.29", id="a minor is its latest patch"),
        pytest.param("1.29.11", "1.29", id="it has every fix"),
        pytest.param("1.22.0", "1.22", id="no fix is known"),
        pytest.param("1.29.0+", "1.29.0", id="the first"),
    ],
)
def test_a_patch_that_lacks_a_fix_is_a_release_of_its_own(written: str, answered: str) -> None:
    found = nearest_release(written)
    assert found.version == answered
    assert found.minor == minor_in(written)
    assert found.known_gates == RELEASES[f"1.{found.minor}"].known_gates


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("1.16", "1.17"),
        ("1.9", "1.16"),
        ("1.36.1", "1.36.2"),
        ("1.36.2", "1.36"),
        ("1.36", "1.37"),
        ("1.29.11", "1.30.1"),
    ],
)
def test_releases_are_ordered_by_minor_and_patch(earlier: str, later: str) -> None:
    """A minor without a patch is its latest one."""
    first, second = (
        Release(each, patch=int(each.split(".")[2])) if each.count(".") == 2 else Release(each)
        for each in (earlier, later)
    )
    assert second.is_later_than(first)
    assert not first.is_later_than(second)
    assert not first.is_later_than(first)
    assert latest((second, first)) is latest((first, second)) is second


def test_ranges_of_minors() -> None:
    first, last = RELEASES["1.33"], RELEASES["1.36"]
    assert [each.version for each in releases_between(first, last)] == ["1.34", "1.35"]
    assert [each.version for each in releases_from(first, last)] == ["1.33", "1.34", "1.35", "1.36"]
    assert [*releases_from(last, first)] == [*releases_between(first, first)] == []
    assert latest(()) is DEFAULT


def test_minors_that_are_named() -> None:
    assert minor_named("v1.99.3") == Release("1.99")
    assert minor_named("new") is None
    assert newest_minor_in(["v1.9.0", "v1.36.3", "broken", "v1.34.1-eks-1"]) == "1.36"
    assert newest_minor_in(["", "broken"]) == ""
    assert RELEASES["1.36"].is_minor_of("v1.36.2")
    assert not RELEASES["1.36"].is_minor_of("v1.35.2")


@pytest.mark.parametrize(
    ("before", "since", "holds"),
    [
        pytest.param(7, 8, lambda policy: policy.has_check("allowPrivilegeEscalation"), id="privilege escalation"),
        pytest.param(18, 19, lambda policy: policy.has_check("seccompProfile_baseline"), id="seccomp"),
        pytest.param(21, 22, lambda policy: policy.has_check("capabilities_restricted"), id="capabilities"),
        pytest.param(22, 23, lambda policy: policy.has_check("runAsUser"), id="root"),
        pytest.param(24, 25, lambda policy: policy.exempts_windows, id="pods of Windows"),
        pytest.param(26, 27, lambda policy: "net.ipv4.ip_local_reserved_ports" in policy.sysctls, id="a sysctl"),
        pytest.param(30, 31, lambda policy: "container_engine_t" in policy.selinux_types, id="a type of SELinux"),
        pytest.param(33, 34, lambda policy: policy.has_check("hostProbesAndHostLifecycle"), id="hosts of probes"),
        pytest.param(34, 35, lambda policy: policy.exempts_user_namespaces, id="user namespaces"),
        pytest.param(36, 37, lambda policy: "net.ipv4.tcp_notsent_lowat" in policy.sysctls, id="a sysctl of 1.37"),
    ],
)
def test_policies_of_pod_security(before: int, since: int, holds: Callable[[PodSecurityPolicy], bool]) -> None:
    """An API server takes its newest policy for a later version."""
    assert not holds(PodSecurityPolicy.of(before, 37))
    assert holds(PodSecurityPolicy.of(since, 37))
    assert not holds(PodSecurityPolicy.of(since, before))
    assert not holds(PodSecurityPolicy.of(None, before))
    assert PodSecurityPolicy.of(0, 37).has_check("privileged")


def test_a_fix_reaches_patches_of_minors_before_its_own() -> None:
    for fix in FIXES:
        assert fix.patch_of, fix
        assert max(fix.patch_of) < minor_of(fix.since), fix
        for minor, patch in fix.patch_of.items():
            release = RELEASES[f"1.{minor}"]
            assert release.has(fix)
            assert nearest_release(f"1.{minor}.{patch}").has(fix)
            assert not nearest_release(f"1.{minor}.{patch - 1}").has(fix)


@pytest.mark.parametrize(
    ("minor", "answered"),
    [pytest.param("1.99", NEWEST_VERSION, id="future"), pytest.param("1.2", min(RELEASES), id="long ago")],
)
def test_a_minor_that_is_not_modelled_is_answered_by_the_nearest_only_if_a_cluster_has_it(
    minor: str, answered: str
) -> None:
    spec = scheduler_spec(RunOptions(), f"v{minor}.0")
    assert spec.release.version == answered
    assert spec.warnings == (
        f"Kubernetes v{minor}.0 is not modelled; the answers are those of {answered}, the nearest that is",
    )
    with pytest.raises(
        UsageError, match=f"--kube-version {minor}: this minor is not modelled .the nearest is {answered};"
    ):
        scheduler_spec(RunOptions(kube_version=minor))


def test_the_server_decides_where_the_user_does_not() -> None:
    assert scheduler_spec(RunOptions(), "v1.35.2").release.version == "1.35.2"
    assert scheduler_spec(RunOptions(kube_version="1.36"), "v1.35.2").release.version == "1.36"
    assert scheduler_spec(RunOptions()).release is DEFAULT
    assert scheduler_spec(RunOptions(), "v1.35.2").warnings == ()
    strange = scheduler_spec(RunOptions(), "canary")
    assert strange.release is DEFAULT
    assert "Kubernetes canary is not modelled" in strange.warnings[0]


@pytest.mark.parametrize("written", ["", "one", "1", "2.1", "1.x", "1.36,1.35", "latest", "1.3\uff16"])
def test_what_is_no_version_is_refused(written: str) -> None:
    with pytest.raises(UsageError, match=r"write it as 1[.]36, or auto; modelled are "):
        nearest_release(written)


@pytest.mark.parametrize(
    ("minor", "gates", "complaint"),
    [
        pytest.param(
            "1.36", "NoSuchGate=true", "has no feature gate NoSuchGate that scheduling depends on$", id="unknown"
        ),
        pytest.param(
            "1.35",
            "TopologyAwareWorkloadScheduling=true",
            "1.35 has no feature gate TopologyAwareWorkloadScheduling .*; it came with 1.36",
            id="came later",
        ),
        pytest.param(
            "1.35",
            "MinDomainsInPodTopologySpread=false",
            "it was taken away in 1.32 and what it switched is on for good",
            id="taken away, on",
        ),
        pytest.param(
            "1.35", "VolumeCapacityPriority=true", "taken away in 1.33 .* is off for good", id="taken away, off"
        ),
        pytest.param("1.35", "SidecarContainers=false", "is locked to true in Kubernetes 1.35", id="locked"),
        pytest.param(
            "1.35", "GangScheduling=true", "depends on features that are disabled: .GenericWorkload.", id="needs"
        ),
        pytest.param("1.35", "NodeDeclaredFeatures", "write it as Name=true or Name=false", id="without a value"),
        pytest.param("1.35", "NodeDeclaredFeatures=1", "write it as Name=true or Name=false", id="not a truth"),
    ],
)
def test_gates_that_cannot_be_set(minor: str, gates: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        RELEASES[minor].gates(gates)


def test_all_mistaken_gates_are_told_at_once() -> None:
    with pytest.raises(UsageError) as refused:
        RELEASES["1.35"].gates("NoSuchGate=true,SidecarContainers=false,X")
    assert [problem.path for problem in refused.value.problems] == [
        "--feature-gates NoSuchGate=true",
        "--feature-gates SidecarContainers=false",
        "--feature-gates X",
    ]


@pytest.mark.parametrize(
    ("minor", "gate", "on"),
    [
        pytest.param("1.36", "NodeDeclaredFeatures", True, id="beta, on"),
        pytest.param("1.35", "NodeDeclaredFeatures", False, id="alpha"),
        pytest.param("1.35", "TopologyAwareWorkloadScheduling", False, id="not there yet"),
        pytest.param("1.35", "MinDomainsInPodTopologySpread", True, id="graduated and gone"),
        pytest.param("1.35", "VolumeCapacityPriority", False, id="gone and never on"),
    ],
)
def test_gates_by_default(minor: str, gate: str, on: bool) -> None:
    assert RELEASES[minor].gates().enabled(gate) is on


def test_the_histories_of_gates_go_forward_and_end_where_they_are_gone() -> None:
    for gate, history in GATE_HISTORY.items():
        minors = [Release(version).minor for version in history]
        assert minors == sorted(set(minors)), gate
        assert None not in list(history.values())[:-1], gate
        assert next(iter(history.values())) is not None, gate


def test_a_gate_that_is_set_as_it_is_anyway_changes_nothing() -> None:
    merge = "MatchLabelKeysInPodTopologySpreadSelectorMerge"
    gates: FeatureGates = RELEASES["1.36"].gates(f"PodLevelResources=true,{merge}=false")
    assert gates.not_modelled == (merge,)


def test_a_gate_is_told_where_it_is_not_modelled_as_in_that_minor() -> None:
    gang = "GenericWorkload=true,GangScheduling=true"
    assert RELEASES["1.35"].gates(gang).not_modelled == ("GangScheduling", "GenericWorkload")
    assert RELEASES["1.36"].gates(gang).not_modelled == ()


@pytest.mark.parametrize(
    ("plugin", "minor", "there"),
    [
        pytest.param("EBSLimits", "1.30", True, id="its last minor"),
        pytest.param("EBSLimits", "1.31", False, id="after its last minor"),
        pytest.param("NodeResourcesLeastAllocated", "1.22", True, id="of a configuration version that is read"),
        pytest.param("NodeResourcesLeastAllocated", "1.23", False, id="of one that is not read any more"),
        pytest.param("DynamicResources", "1.25", False, id="before its gate"),
        pytest.param("DynamicResources", "1.26", True, id="with a gate that is off"),
    ],
)
def test_the_names_of_the_default_plugins_of_a_minor(plugin: str, minor: str, there: bool) -> None:
    assert (plugin in plugin_names(RELEASES[minor])) is there
