"""v1alpha1 and v1alpha2 of the first minors with plugins."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ksched_cli.config.legacy.algorithm import with_first_fields
from ksched_cli.config.load import load_config
from ksched_cli.config.model import ResolvedProfile, expand_profile
from ksched_cli.errors import ConfigError
from ksched_cli.releases.minors import GROUP, RELEASES
from tests.config.test_minors import points, resolved


def profiles(minor: str, version: str, **fields: Any) -> list[ResolvedProfile]:
    release = RELEASES[minor]
    document = {"kind": "KubeSchedulerConfiguration", "apiVersion": f"{GROUP}/{version}", **fields}
    loaded = load_config(json.dumps(document), "given", release, release.gates(), points(release))
    return [expand_profile(each, release, release.gates(), points(release)) for each in loaded.profiles]


def mistakes(minor: str, version: str, **fields: Any) -> dict[str, str]:
    with pytest.raises(ConfigError) as refused:
        profiles(minor, version, **fields)
    return {problem.path: problem.message for problem in refused.value.problems}


@pytest.mark.parametrize(("minor", "version"), [("1.17", "v1alpha1"), ("1.18", "v1alpha1"), ("1.18", "v1alpha2")])
def test_a_file_that_sets_nothing_is_the_default(minor: str, version: str) -> None:
    (mine,) = profiles(minor, version)
    assert (mine.points, mine.score_weights, mine.args) == (
        resolved(minor).points,
        resolved(minor).score_weights,
        resolved(minor).args,
    )


def test_spreading_is_a_default_of_the_minor_that_has_its_gate_on() -> None:
    assert "PodTopologySpread" not in resolved("1.17").points["filter"]
    assert resolved("1.18").points["filter"][-2:] == ("InterPodAffinity", "PodTopologySpread")
    assert resolved("1.18").score_weights["PodTopologySpread"] == 1
    assert resolved("1.18").score_weights["DefaultPodTopologySpread"] == 1


@pytest.mark.parametrize(("minor", "version"), [("1.17", "v1alpha1"), ("1.18", "v1alpha2")])
def test_preemption_can_be_off(minor: str, version: str) -> None:
    assert [each.points["postFilter"] for each in profiles(minor, version, disablePreemption=True)] == [()]
    assert profiles(minor, version, disablePreemption=False)[0].points["postFilter"] == ("DefaultPreemption",)


def test_settings_of_v1alpha1_are_those_of_one_profile() -> None:
    (mine,) = profiles(
        "1.17",
        "v1alpha1",
        schedulerName="mine",
        hardPodAffinitySymmetricWeight=7,
        bindTimeoutSeconds=5,
        leaderElection={"lockObjectName": "x"},
        plugins={"score": {"disabled": [{"name": "ImageLocality"}]}, "postFilter": {"disabled": [{"name": "*"}]}},
    )
    assert mine.scheduler_name == "mine"
    assert "ImageLocality" not in mine.points["score"]
    assert mine.points["preScore"] == ()
    assert mine.args["InterPodAffinity"].hard_pod_affinity_weight == 7
    assert mine.args["VolumeBinding"].bind_timeout_seconds == 5


def test_the_provider_of_the_autoscaler_prefers_full_nodes() -> None:
    (mine,) = profiles("1.18", "v1alpha1", algorithmSource={"provider": "ClusterAutoscalerProvider"})
    usual = set(resolved("1.18").points["score"])
    assert set(mine.points["score"]) == usual - {"NodeResourcesLeastAllocated"} | {"NodeResourcesMostAllocated"}
    assert mine.score_weights["NodeResourcesMostAllocated"] == 1


def test_several_profiles_of_v1alpha2() -> None:
    named = profiles("1.18", "v1alpha2", profiles=[{"schedulerName": "a"}, {"schedulerName": "b"}])
    assert [each.scheduler_name for each in named] == ["a", "b"]


@pytest.mark.parametrize("minor", ["1.16", "1.17"])
def test_several_profiles_of_a_later_version_are_refused(minor: str) -> None:
    said = mistakes(minor, "v1", profiles=[{"schedulerName": "a"}, {"schedulerName": "b"}])
    assert said == {"profiles": f"Kubernetes {minor} has one profile, and this configuration has 2"}


@pytest.mark.parametrize("minor", ["1.17", "1.18"])
def test_volume_binding_is_a_filter_in_the_first_minors_with_plugins(minor: str) -> None:
    """The scheduler itself reserved and bound volumes, so that no profile lists the plugin there."""
    listed = {point for point, names in resolved(minor).points.items() if "VolumeBinding" in names}
    assert listed == {"filter"}
    assert points(RELEASES[minor])["VolumeBinding"] == ("filter",)
    assert {point for point, names in resolved("1.19").points.items() if "VolumeBinding" in names} == {
        *("preFilter", "filter", "reserve", "preBind")
    }


def test_what_a_gate_enables_comes_last_in_1_18() -> None:
    on = resolved("1.18").points
    assert [on[point][-1] for point in ("preFilter", "filter", "preScore", "score")] == ["PodTopologySpread"] * 4


@pytest.mark.parametrize(
    ("version", "fields", "path", "said"),
    [
        ("v1alpha2", {"disablePreemption": "yes"}, "disablePreemption", "expected true or false"),
        ("v1alpha2", {"bindTimeoutSeconds": -1}, "bindTimeoutSeconds", "expected a number of seconds"),
        (
            "v1alpha2",
            {"profiles": [{"plugins": {"unreserve": {"enabled": [{"name": "x"}]}}}]},
            "profiles[0].plugins.unreserve",
            "not modelled",
        ),
        ("v1alpha2", {"schedulerName": "x"}, "schedulerName", "no such field"),
        ("v1alpha1", {"profiles": []}, "profiles", "no such field"),
        ("v1alpha1", {"plugins": {"preScore": {}}}, "plugins.preScore", "no such field"),
        ("v1alpha1", {"hardPodAffinitySymmetricWeight": 101}, "hardPodAffinitySymmetricWeight", "[0-100]"),
        ("v1alpha1", {"algorithmSource": {"provider": "x"}}, "algorithmSource.provider", "there is no provider"),
        (
            "v1alpha1",
            {"algorithmSource": {"policy": {"file": {"path": "p"}}}},
            "algorithmSource.policy",
            "give --config the Policy itself",
        ),
    ],
    ids=lambda each: each if isinstance(each, str) and each.startswith("v1") else None,
)
def test_what_is_refused(version: str, fields: dict[str, Any], path: str, said: str) -> None:
    assert said in mistakes("1.18", version, **fields)[path]


@pytest.mark.parametrize("weight", [0, 1, 100])
def test_the_bounds_of_numbers(weight: int) -> None:
    (mine,) = profiles("1.17", "v1alpha1", hardPodAffinitySymmetricWeight=weight, bindTimeoutSeconds=0)
    assert mine.args["InterPodAffinity"].hard_pod_affinity_weight == weight


def test_a_minor_without_v1alpha2_refuses_its_fields() -> None:
    assert "disablePreemption" in mistakes("1.19", "v1beta1", disablePreemption=True)


def with_preemption(*, on: bool) -> dict[str, Any]:
    enabled = [{"name": "DefaultPreemption"}] if on else []
    return {"plugins": {"postFilter": {"enabled": enabled}}, "pluginConfig": []}


@pytest.mark.parametrize(
    ("preempts", "disables"),
    [
        pytest.param([False, False, False], True, id="none"),
        pytest.param([True, True, True], False, id="all"),
        pytest.param([False, True, True], None, id="all but the first"),
        pytest.param([False, False, True], None, id="the last alone"),
    ],
)
def test_one_field_for_all_profiles_only_if_they_agree(preempts: list[bool], disables: bool | None) -> None:
    given = [with_preemption(on=each) for each in preempts]
    written = with_first_fields({"apiVersion": f"{GROUP}/v1alpha2", "profiles": given})
    assert written.get("disablePreemption") is disables
    kept = ["postFilter" in each["plugins"] for each in written["profiles"]]
    assert kept == [disables is None] * 3


SHAPE = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
RATIO = "RequestedToCapacityRatio"


@pytest.mark.parametrize(
    ("score", "args", "said"),
    [
        pytest.param(["NodeResourcesFit"], None, "NodeResourcesFit cannot score beside NodeResourcesLeastAllocated",
                     id="two that score resources"),
        pytest.param([], None, "", id="the default"),
        pytest.param([RATIO], None, f"{RATIO} cannot do without a shape among its arguments", id="no shape"),
        pytest.param([RATIO], {"shape": SHAPE, "resources": [{"name": "cpu", "weight": -1}]},
                     "the weight -1 of cpu is not in the valid range [1, inf)", id="a weight below one"),
        pytest.param([RATIO], {"shape": SHAPE, "resources": [{"name": "cpu", "weight": 1}]}, "", id="one"),
        pytest.param([RATIO], {"shape": SHAPE, "resources": [{"name": "cpu", "weight": 101}]}, "", id="no upper bound"),
    ],
)  # fmt: skip
def test_plugins_that_score_resources_in_v1beta1(score: list[str], args: dict[str, Any] | None, said: str) -> None:
    own = {"plugins": {"score": {"enabled": [{"name": name} for name in score]}}}
    own |= {"pluginConfig": [{"name": RATIO, "args": args}]} if args else {}
    if said:
        assert said in mistakes("1.22", "v1beta1", profiles=[own]).values()
    else:
        assert profiles("1.22", "v1beta1", profiles=[own])
