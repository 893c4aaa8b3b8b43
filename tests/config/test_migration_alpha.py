"""Files of the time of predicates, v1alpha1 and Policies of 1.16, said in v1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.config.migrate import Migration, migrate
from tests.config.migrations import (
    OLD_WEIGHTS,
    POLICY,
    SHAPE,
    config_of,
    configuration,
    migrated,
    minor,
    own,
    profiles_of,
    read,
    score,
    told,
)
from tests.config.test_minors import GROUP

LABELS = {"labelsPresence": {"labels": ["ssd"], "presence": True}}
EXTENDER = {"urlPrefix": "http://e", "filterVerb": "f", "enableHttps": True, "nodeCacheCapable": False}


def alpha(**fields: Any) -> Migration:
    return migrated(configuration("v1alpha1", **fields), by="1.16")


def test_a_provider() -> None:
    migration = alpha(
        schedulerName="mine",
        algorithmSource={"provider": "ClusterAutoscalerProvider"},
        hardPodAffinitySymmetricWeight=10,
        bindTimeoutSeconds=300,
        disablePreemption=True,
        percentageOfNodesToScore=50,
        enableProfiling=True,
        enableContentionProfiling=True,
        leaderElection={"leaderElect": True, "resourceLock": "leases", "lockObjectName": "mine"},
        clientConnection={"kubeconfig": "/k"},
    )
    assert migration.whole
    assert migration.document == {
        "apiVersion": f"{GROUP}/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": True, "resourceLock": "leases", "resourceName": "mine"},
        "clientConnection": {"kubeconfig": "/k"},
        "percentageOfNodesToScore": 50,
        "profiles": [
            {
                "schedulerName": "mine",
                "plugins": {
                    "multiPoint": {"disabled": [{"name": "DefaultPreemption"}]},
                    **score(*OLD_WEIGHTS[:2], ("PodTopologySpread", 1), *OLD_WEIGHTS[2:]),
                },
                "pluginConfig": [
                    *config_of("VolumeBinding", bindTimeoutSeconds=300),
                    *config_of("InterPodAffinity", hardPodAffinityWeight=10),
                    *config_of("NodeResourcesFit", scoringStrategy={"type": "MostAllocated"}),
                ],
            }
        ],
    }
    read(migration.document, minor("1.36"))


def test_a_policy_beside_the_file(tmp_path: Path) -> None:
    priorities = [{"name": "Zones", "weight": 2, "argument": {"serviceAntiAffinity": {"label": "zone"}}}]
    labels = {"name": "CheckNodeLabelPresence", "argument": LABELS}
    inside = {**POLICY, "predicates": [{"name": "MatchNodeSelector"}, labels, {"name": "PodFitsPorts"}]}
    (tmp_path / "policy.json").write_text(json.dumps({**inside, "priorities": priorities, "extenders": [EXTENDER]}))
    document = configuration("v1alpha1", algorithmSource={"policy": {"file": {"path": "/etc/kubernetes/policy.json"}}})
    old, new = minor("1.16"), minor("1.36")
    migration = migrate(json.dumps(document), str(tmp_path / "c.yaml"), old, new, {})
    (profile,) = profiles_of(migration)
    assert [each["name"] for each in profile["pluginConfig"]] == ["NodeAffinity"]
    assert migration.document["extenders"] == [{"urlPrefix": "http://e", "filterVerb": "f", "enableHTTPS": True}]
    assert "ServiceAffinity went away with Kubernetes 1.23" in "\n".join(told(migration))
    assert '"PodFitsPorts" never runs' in "\n".join(told(migration))


def test_plugins_of_ones_own_in_v1alpha1() -> None:
    there = {"Mine": ("filter", "permit"), "Binder": ("bind",), "Sorter": ("queueSort",)}
    document = configuration(
        "v1alpha1",
        plugins={
            "queueSort": {"enabled": [{"name": "Sorter"}]},
            "filter": {"enabled": [{"name": "Mine"}]},
            "bind": {"enabled": [{"name": "Binder"}]},
        },
        pluginConfig=config_of("Mine", a=1),
    )
    migration = migrate(json.dumps(document), "c.yaml", own("1.16", **there), own("1.36", **there), {})
    (profile,) = profiles_of(migration)
    assert profile["plugins"]["filter"] == {"enabled": [{"name": "Mine"}]}
    assert profile["plugins"]["bind"] == {
        "enabled": [{"name": "Binder"}, {"name": "DefaultBinder"}],
        "disabled": [{"name": "*"}],
    }
    assert profile["plugins"]["queueSort"]["enabled"] == [{"name": "Sorter"}]
    assert profile["pluginConfig"] == config_of("Mine", a=1)


@pytest.mark.parametrize(
    ("fields", "said", "lost"),
    [
        pytest.param(
            {}, "leader election knows leases only, no endpoints, its default then", False, id="a default lock"
        ),
        pytest.param(
            {"leaderElection": {"resourceLock": "configmaps"}}, "leases only, no configmaps (", True, id="a lock"
        ),
        pytest.param({}, "profiling was off by default", False, id="profiling"),
        pytest.param({"metricsBindAddress": "0.0.0.0:10251"}, "nothing is served at", True, id="an address"),
        pytest.param({}, "by the default constraints of PodTopologySpread now", False, id="spreading"),
    ],
)
def test_what_is_told_of_v1alpha1(fields: dict[str, Any], said: str, lost: bool) -> None:
    notes = alpha(**fields).notes
    assert [note.lost for note in notes if said in str(note.problem)] == [lost]


@pytest.mark.parametrize(
    ("fields", "gates", "said", "lost"),
    [
        pytest.param(
            {},
            "TaintNodesByCondition=false",
            "CheckNodeCondition went away with Kubernetes 1.17",
            False,
            id="conditions",
        ),
        pytest.param(
            {},
            "ResourceLimitsPriorityFunction=true",
            "ResourceLimitsPriority went away with Kubernetes 1.20",
            True,
            id="limits",
        ),
        pytest.param(
            {
                "priorities": [
                    {"name": name, "weight": 1, "argument": {"requestedToCapacityRatioArguments": {"shape": SHAPE}}}
                    for name in "ab"
                ]
            },
            "",
            "there is one shape of RequestedToCapacityRatio for a profile now",
            True,
            id="two shapes",
        ),
    ],
)
def test_what_is_told_of_an_old_policy(fields: dict[str, Any], gates: str, said: str, lost: bool) -> None:
    notes = migrated({**POLICY, **fields}, gates, by="1.16").notes
    assert {note.lost for note in notes if said in str(note.problem)} == {lost}


def shape_of(score: int) -> list[dict[str, int]]:
    return [{"utilization": 0, "score": score}, {"utilization": 100, "score": 10}]


@pytest.mark.parametrize(
    ("weights", "kept", "lost"),
    [
        pytest.param([1], 0, [], id="one shape"),
        pytest.param([1, 3], 1, [True], id="the second weighs more"),
        pytest.param([3, 1], 0, [True], id="the first weighs more"),
        pytest.param([2, 2], 0, [True], id="the first of two alike"),
    ],
)
def test_the_shape_of_most_weight_is_kept(weights: list[int], kept: int, lost: list[bool]) -> None:
    priorities = [
        {"name": f"r{at}", "weight": weight, "argument": {"requestedToCapacityRatioArguments": {"shape": shape_of(at)}}}
        for at, weight in enumerate(weights)
    ]
    migration = migrated({**POLICY, "priorities": priorities}, by="1.16")
    (profile,) = profiles_of(migration)
    ratio = {"requestedToCapacityRatio": {"shape": shape_of(kept)}}
    strategy = {"type": "RequestedToCapacityRatio", **ratio}
    assert profile["pluginConfig"] == config_of("NodeResourcesFit", scoringStrategy=strategy)
    assert [note.lost for note in migration.notes if "there is one shape" in str(note.problem)] == lost


def test_constraints_of_pods_are_obeyed_whatever_a_policy_names() -> None:
    (profile,) = profiles_of(migrated({**POLICY, "predicates": [{"name": "GeneralPredicates"}]}, by="1.16"))
    disabled = {each["name"] for each in profile["plugins"]["multiPoint"]["disabled"]}
    assert "VolumeZone" in disabled
    assert "PodTopologySpread" not in disabled


def test_a_preference_of_labels_is_lost() -> None:
    argument = {"labelPreference": {"label": "old", "presence": False}}
    notes = migrated({**POLICY, "priorities": [{"name": "Old", "weight": 5, "argument": argument}]}, by="1.16").notes
    assert [note.lost for note in notes if "NodeLabel went away" in str(note.problem)] == [True]


@pytest.mark.parametrize(
    ("given", "written"),
    [
        pytest.param({"leaderElect": False}, {"leaderElect": False}, id="no election"),
        pytest.param({"leaderElect": True, "resourceLock": "leases"}, None, id="leases"),
        pytest.param(
            {"resourceLock": "leases", "lockObjectNamespace": "a", "lockObjectName": "b"},
            {"resourceLock": "leases", "resourceNamespace": "a", "resourceName": "b"},
            id="the old names",
        ),
        pytest.param(
            {"resourceLock": "leases", "lockObjectName": "b", "resourceName": "c"},
            {"resourceLock": "leases", "resourceName": "c"},
            id="both names",
        ),
    ],
)
def test_a_lock_that_stays(given: dict[str, Any], written: dict[str, Any] | None) -> None:
    migration = alpha(leaderElection=given)
    assert migration.document["leaderElection"] == (written or given)
    assert "leases only" not in "\n".join(told(migration))
