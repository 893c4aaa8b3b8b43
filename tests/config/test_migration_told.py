"""What a migration tells: defaults that changed, and what cannot be said any more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from ksched_cli.config.migrate import migrate
from ksched_cli.errors import ConfigError
from ksched_cli.plan.reference.config import reader_of
from ksched_cli.releases import DEFAULT_VERSION
from tests.config.migrations import (
    POLICY,
    SHAPE,
    config_of,
    configuration,
    migrated,
    minor,
    profiles_of,
    read,
    score,
    told,
)
from tests.lanes import sampled

NEW_SINCE_1_22 = (
    "on by default now, and not in Kubernetes 1.22: DynamicResources, NodeDeclaredFeatures and SchedulingGates"
)


def test_what_is_told_of_defaults() -> None:
    assert told(migrated(POLICY)) == [
        "AzureDiskLimits, EBSLimits and GCEPDLimits went away with Kubernetes 1.31 "
        "(NodeVolumeLimits counts in-tree volumes as those of their CSI drivers)",
        "NodePreferAvoidPods went away with Kubernetes 1.23 (taint nodes with PreferNoSchedule instead of annotating them)",
        f"{NEW_SINCE_1_22} (disable in plugins.multiPoint what is not wanted)",
        "default weights of Kubernetes 1.22 are written out: InterPodAffinity 1 (now 2), NodeAffinity 1 (now 2), "
        "TaintToleration 1 (now 3) (take them out to have those of today)",
        "filters run in the order of v1: of several that reject a node, another may be named (where pods go is the same)",
    ]
    assert migrated(POLICY).whole
    assert told(migrated(configuration("v1"))) == []


@pytest.mark.parametrize("runs", [True, False])
def test_arguments_of_what_the_profile_does_not_run(runs: bool) -> None:
    profile = {"pluginConfig": config_of("NodeLabel", presentLabels=["ssd"])}
    if runs:
        profile["plugins"] = {"filter": {"enabled": [{"name": "NodeLabel"}]}}
    said = "arguments of NodeLabel are left out: the profile does not run what they are for"
    assert any(said in each for each in told(migrated(configuration("v1beta1", profiles=[profile])))) is not runs


def test_new_plugins_stay_off_where_the_profile_lists_all() -> None:
    everything_off = {"disabled": [{"name": "*"}], "enabled": [{"name": "PrioritySort"}, {"name": "DefaultBinder"}]}
    migration = migrated(configuration("v1beta3", profiles=[{"plugins": {"multiPoint": everything_off}}]))
    assert profiles_of(migration)[0]["plugins"] == {"multiPoint": everything_off}
    assert "left off, for the profile lists all that it runs" in told(migration)[0]


def test_a_new_plugin_that_is_off_by_name_stays_off() -> None:
    off = {"multiPoint": {"disabled": [{"name": "DynamicResources"}]}}
    assert profiles_of(migrated(configuration("v1beta3", profiles=[{"plugins": off}])))[0]["plugins"] == off


@pytest.mark.parametrize(
    ("document", "said"),
    [
        pytest.param(
            configuration("v1beta1", profiles=[{"plugins": {"filter": {"enabled": [{"name": "ServiceAffinity"}]}}}]),
            "c.yaml:1: profiles[0].plugins.filter.enabled[0]: ServiceAffinity went away with Kubernetes 1.23 "
            "(give the pods podAffinity or topologySpreadConstraints)",
            id="a plugin",
        ),
        pytest.param(
            configuration(
                "v1beta1",
                profiles=[
                    {
                        "plugins": {
                            "filter": {"enabled": [{"name": "NodeLabel"}], "disabled": [{"name": "NodeAffinity"}]}
                        },
                        "pluginConfig": config_of("NodeLabel", presentLabels=["ssd"]),
                    }
                ],
            ),
            "NodeLabel went away with Kubernetes 1.23, and NodeAffinity, which can ask for labels, is off",
            id="labels that nobody can ask for",
        ),
        pytest.param(
            configuration(
                "v1beta1",
                profiles=[
                    {
                        "plugins": {
                            "filter": {
                                "enabled": [{"name": "CinderLimits"}],
                                "disabled": [{"name": "NodeVolumeLimits"}],
                            }
                        }
                    }
                ],
            ),
            "CinderLimits went away with Kubernetes 1.31",
            id="a limit that nothing counts now",
        ),
        pytest.param(
            configuration("v1beta1", profiles=[{"plugins": score(("NodeResourcesMostAllocated", 5))}]),
            "profiles[0].plugins.score.enabled[0]: NodeResourcesMostAllocated (5) and NodeResourcesLeastAllocated (1) "
            "are strategies of NodeResourcesFit now, which has one: NodeResourcesMostAllocated is kept",
            id="two strategies",
        ),
        pytest.param(
            configuration("v1beta1", profiles=[{"plugins": score(("NodeResourcesMostAllocated", 1))}]),
            "NodeResourcesMostAllocated (1) and NodeResourcesLeastAllocated (1) are strategies of NodeResourcesFit now, "
            "which has one: NodeResourcesMostAllocated is kept",
            id="two strategies of one weight, of which one is the default",
        ),
        pytest.param(
            {
                **POLICY,
                "priorities": [
                    {"name": "z", "weight": 1, "argument": {"serviceAntiAffinity": {"label": "zone"}}},
                    {"name": "NodePreferAvoidPodsPriority", "weight": 1},
                ],
            },
            "priorities[1]: NodePreferAvoidPods went away",
            id="a priority of another weight",
        ),
        pytest.param(
            {**POLICY, "alwaysCheckAllPredicates": True},
            "alwaysCheckAllPredicates: the other filters",
            id="checking all",
        ),
        pytest.param(
            configuration("v1beta1", healthzBindAddress="10.0.0.1:10251"),
            "healthzBindAddress: nothing is served at 10.0.0.1:10251",
            id="an address",
        ),
        pytest.param(
            configuration("v1beta1", leaderElection={"resourceLock": "endpoints"}),
            "leaderElection.resourceLock: leader election knows leases only, no endpoints",
            id="a lock",
        ),
        pytest.param(
            {
                **POLICY,
                "priorities": [
                    {
                        "name": "r",
                        "weight": 1,
                        "argument": {
                            "requestedToCapacityRatioArguments": {
                                "shape": SHAPE,
                                "resources": [{"name": "cpu", "weight": 101}],
                            }
                        },
                    }
                ],
            },
            f"Kubernetes {DEFAULT_VERSION} does not take scoringStrategy.resources[0].weight of NodeResourcesFit",
            id="a weight beyond what is valid now",
        ),
    ],
)
def test_what_cannot_be_said(document: dict[str, Any], said: str) -> None:
    migration = migrated(document)
    assert not migration.whole
    assert said in "\n".join(str(note.problem) for note in migration.notes if note.lost)
    assert read(migration.document, minor("1.36")).profiles


LABELS, SPREADS = "NodeLabel", "SelectorSpread"
FILTERS = {"filter": {"enabled": [{"name": LABELS}]}}


@pytest.mark.parametrize(
    ("plugin", "plugins", "args", "lost"),
    [
        pytest.param(
            LABELS, score((LABELS, 2)), config_of(LABELS, presentLabelsPreference=["a"]), [True], id="preferred"
        ),
        pytest.param(
            LABELS, score((LABELS, 2)), config_of(LABELS, absentLabelsPreference=["a"]), [True], id="disliked"
        ),
        pytest.param(LABELS, score((LABELS, 2)), config_of(LABELS, presentLabels=["a"]), [], id="none is preferred"),
        pytest.param(LABELS, FILTERS, config_of(LABELS, presentLabelsPreference=["a"]), [], id="does not score"),
        pytest.param(
            SPREADS,
            score((SPREADS, 5)),
            config_of("PodTopologySpread", defaultingType="System"),
            [False],
            id="by default",
        ),
        pytest.param(
            SPREADS,
            score((SPREADS, 5)),
            config_of("PodTopologySpread", defaultingType="List"),
            [True],
            id="by no default",
        ),
        pytest.param(SPREADS, score((SPREADS, 5), disabled=("PodTopologySpread",)), [], [True], id="by no plugin"),
    ],
)
def test_what_other_plugins_do_now_is_not_lost(
    plugin: str, plugins: dict[str, Any], args: list[dict[str, Any]], lost: list[bool]
) -> None:
    migration = migrated(configuration("v1beta1", profiles=[{"plugins": plugins, "pluginConfig": args}]))
    assert [note.lost for note in migration.notes if f"{plugin} went away" in str(note.problem)] == lost


def test_a_limit_that_another_plugin_counts_now_is_not_lost() -> None:
    plugins = {"filter": {"enabled": [{"name": "CinderLimits"}]}}
    assert migrated(configuration("v1beta1", profiles=[{"plugins": plugins}])).whole


@pytest.mark.parametrize(
    ("document", "gates", "expected"),
    [
        pytest.param(
            configuration("v1beta2"),
            "DefaultPodTopologySpread=false",
            {"defaultingType": "System"},
            id="a plugin did it",
        ),
        pytest.param(
            configuration("v1beta2", profiles=[{"plugins": score(disabled=("SelectorSpread",))}]),
            "DefaultPodTopologySpread=false",
            {"defaultingType": "List"},
            id="nobody did it",
        ),
    ],
)
def test_a_gate_of_the_old_minor(document: dict[str, Any], gates: str, expected: dict[str, Any]) -> None:
    """Spreading of pods without constraints was up to a gate."""
    migration = migrated(document, gates, by="1.23")
    (given,) = read(migration.document, minor("1.36")).profiles
    assert minor("1.36").resolve(given).args["PodTopologySpread"].defaulting_type == expected["defaultingType"]


def test_arguments_that_hang_on_a_gate() -> None:
    document = configuration("v1beta2", profiles=[{"pluginConfig": config_of("VolumeBinding", shape=SHAPE)}])
    migration = migrated(document, "VolumeCapacityPriority=true")
    assert (
        f"Kubernetes {DEFAULT_VERSION} does not take shape of VolumeBinding: remove it, or turn on"
        in told(migration)[0]
    )
    assert "pluginConfig" not in profiles_of(migration)[0]


@pytest.mark.parametrize(
    ("shape", "written"),
    [(SHAPE, {"shape": SHAPE}), ([{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}], {})],
    ids=["kept", "the default of the new gate"],
)
def test_a_shape_where_a_gate_of_the_new_minor_reads_it(shape: list[dict[str, int]], written: dict[str, Any]) -> None:
    args = config_of("VolumeBinding", shape=shape, bindTimeoutSeconds=5)
    document = configuration("v1beta2", profiles=[{"pluginConfig": args}])
    old, new = minor("1.27", "VolumeCapacityPriority=true"), minor("1.36", "StorageCapacityScoring=true")
    (profile,) = profiles_of(migrate(json.dumps(document), "c.yaml", old, new, {}))
    assert profile["pluginConfig"] == config_of("VolumeBinding", bindTimeoutSeconds=5, **written)


WHOLE_FILES = [
    configuration(
        "v1beta2",
        leaderElection={"leaderElect": True},
        healthzBindAddress="",
        profiles=[
            {
                "plugins": score(("ImageLocality", 2), disabled=("*",)),
                "pluginConfig": config_of("NodeResourcesFit", ignoredResources=["a.b/c"]),
            }
        ],
        extenders=[{"urlPrefix": "http://e", "managedResources": [{"name": "example.com/gpu"}]}],
    ),
    configuration("v1alpha1", algorithmSource={"provider": "DefaultProvider"}, leaderElection={"leaderElect": True}),
    {
        **POLICY,
        "predicates": [{"name": "a", "argument": {"labelsPresence": {"labels": ["ssd"], "presence": True}}}],
        "priorities": [{"name": "b", "weight": 1, "argument": {"labelPreference": {"label": "ssd", "presence": True}}}],
        "extenders": [{"urlPrefix": "http://e", "httpTimeout": 5}],
        "hardPodAffinitySymmetricWeight": 3,
    },
]


def places(value: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if here:
        yield here
    for key, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(each, (*here, key))


@pytest.mark.slow
@pytest.mark.parametrize("document", WHOLE_FILES, ids=["v1beta2", "v1alpha1", "policy"])
@pytest.mark.parametrize(
    "other", sampled((pytest.param(each, id=repr(each)) for each in (None, [], {}, "", -1, [None])), 3)
)
def test_whatever_is_in_a_place_is_refused_or_said(document: dict[str, Any], other: Any) -> None:
    for place in places(document):
        damaged = deepcopy(document)
        inner = damaged
        for step in place[:-1]:
            inner = inner[step]
        inner[place[-1]] = other
        try:
            migration = migrated(damaged, by=reader_of(damaged).version)
        except ConfigError:
            continue
        assert migrated(migration.document).document == migration.document


@pytest.mark.parametrize(
    ("weight", "priorities", "is_told"),
    [
        pytest.param(5, ["LeastRequestedPriority"], True, id="another priority"),
        pytest.param(5, ["LeastRequestedPriority", "InterPodAffinityPriority"], False, id="its priority second"),
        pytest.param(5, None, False, id="the default priorities"),
        pytest.param(0, ["LeastRequestedPriority"], False, id="no weight"),
    ],
)
def test_a_weight_without_its_priority_decides_nothing(
    weight: int, priorities: list[str] | None, is_told: bool
) -> None:
    named = {"priorities": [{"name": name, "weight": 1} for name in priorities]} if priorities else {}
    found = told(migrated({**POLICY, "hardPodAffinitySymmetricWeight": weight, **named}))
    text = "this weight decides nothing, for InterPodAffinityPriority is not among the priorities"
    assert any(text in each for each in found) is is_told
