from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ksched_cli.api.core import Pod, Service, TopologySpreadConstraint
from ksched_cli.api.selectors import SelectorError
from ksched_cli.api.workloads import ReplicaSet, ReplicationController, StatefulSet
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.plugins.lib.topology_spread import (
    HARD,
    SOFT,
    SYSTEM_DEFAULTS,
    DefaultSelectors,
    constraints_of,
    default_constraints_of,
    default_selector,
)
from ksched_cli.releases.minors import DEFAULT, RELEASES
from tests.builders import make_pod

WEB = {"matchLabels": {"app": "web"}}
LABELS = {"app": "web", "tier": "1"}


def spread(**fields: Any) -> TopologySpreadConstraint:
    made = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": HARD, "labelSelector": WEB, **fields}
    return msgspec.convert(made, TopologySpreadConstraint)


def thing(kind: Any, name: str = "owner", namespace: str = "default", **spec: Any) -> Any:
    return msgspec.convert({"metadata": {"name": name, "namespace": namespace}, "spec": spec}, kind)


def owned_by(kind: str, version: str, *, controller: bool = True) -> Pod:
    return make_pod("new").label(**LABELS).owner(kind, "owner", apiVersion=version, controller=controller).obj()


# Constraints


def test_only_constraints_of_the_kind_are_compiled() -> None:
    broken = spread(whenUnsatisfiable=SOFT, labelSelector={"matchExpressions": [{"key": "a", "operator": "In"}]})
    assert [each.topology_key for each in constraints_of([spread(), broken], {}, HARD, match_label_keys=True)] == [
        "zone"
    ]
    with pytest.raises(SelectorError):
        constraints_of([spread(), broken], {}, SOFT, match_label_keys=True)


def test_what_a_constraint_leaves_open() -> None:
    (made,) = constraints_of([spread()], {}, HARD, match_label_keys=True)
    assert (made.min_domains, made.honor_affinity, made.honor_taints) == (1, True, False)


def test_what_a_constraint_says() -> None:
    said = spread(minDomains=4, nodeAffinityPolicy="Ignore", nodeTaintsPolicy="Honor")
    (made,) = constraints_of([said], {}, HARD, match_label_keys=True)
    assert (made.min_domains, made.honor_affinity, made.honor_taints) == (4, False, True)


@pytest.mark.parametrize(
    ("fields", "gate", "yes", "no"),
    [
        pytest.param({}, True, [{"app": "web"}, {"app": "web", "rev": "1"}], [{"app": "db"}, {}], id="no keys"),
        pytest.param(
            {"matchLabelKeys": ["rev"]},
            True,
            [{"app": "web", "rev": "2"}],
            [{"app": "web", "rev": "1"}, {"app": "web"}, {"rev": "2"}],
            id="a key narrows",
        ),
        pytest.param(
            {"matchLabelKeys": ["rev"]}, False, [{"app": "web", "rev": "1"}], [{"rev": "2"}], id="not without its gate"
        ),
        pytest.param(
            {"matchLabelKeys": ["rev", "absent"]},
            True,
            [{"app": "web", "rev": "2"}],
            [{"app": "web", "rev": "1"}],
            id="a key that the pod lacks is passed over",
        ),
        pytest.param(
            {"matchLabelKeys": ["rev"], "labelSelector": {}},
            True,
            [{"rev": "2"}, {"rev": "2", "app": "db"}],
            [{"rev": "1"}, {}],
            id="an empty selector takes the keys",
        ),
        pytest.param(
            {"matchLabelKeys": ["rev"], "labelSelector": None},
            True,
            [],
            [{"rev": "2"}, {"app": "web", "rev": "2"}],
            id="no selector matches nothing whatever the keys",
        ),
        pytest.param(
            # What the API server stores under MatchLabelKeysInPodTopologySpreadSelectorMerge.
            {
                "matchLabelKeys": ["rev"],
                "labelSelector": {**WEB, "matchExpressions": [{"key": "rev", "operator": "In", "values": ["2"]}]},
            },
            True,
            [{"app": "web", "rev": "2"}],
            [{"app": "web", "rev": "1"}, {"app": "web"}],
            id="merged by the API server already",
        ),
        pytest.param(
            # The pod was relabelled after the API server had merged: both hold, so nothing matches.
            {
                "matchLabelKeys": ["rev"],
                "labelSelector": {**WEB, "matchExpressions": [{"key": "rev", "operator": "In", "values": ["1"]}]},
            },
            True,
            [],
            [{"app": "web", "rev": "1"}, {"app": "web", "rev": "2"}],
            id="merged with a label that the pod has no more",
        ),
    ],
)
def test_match_label_keys(
    fields: dict[str, Any], gate: bool, yes: list[dict[str, str]], no: list[dict[str, str]]
) -> None:
    (made,) = constraints_of([spread(**fields)], {"app": "web", "rev": "2"}, HARD, match_label_keys=gate)
    assert [made.selector.matches(labels) for labels in (*yes, *no)] == [True] * len(yes) + [False] * len(no)


def test_an_empty_selector_is_everything_and_none_is_nothing() -> None:
    empty, none = constraints_of(
        [spread(labelSelector={}), spread(labelSelector=None)], {}, HARD, match_label_keys=True
    )
    assert (empty.selector.everything, none.selector.everything, none.selector.nothing) == (True, False, True)


# Default selectors

SERVICE = thing(Service, "s", selector={"app": "web"})
BY_TIER = {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}


@pytest.mark.parametrize(
    ("pod", "objects", "yes", "no"),
    [
        pytest.param(
            make_pod().label(**LABELS).obj(),
            [SERVICE, thing(Service, "t", selector={"tier": "1"})],
            [LABELS],
            [{"app": "web"}, {"tier": "1"}],
            id="all services together",
        ),
        pytest.param(
            make_pod().label(**LABELS).obj(),
            [SERVICE, thing(Service, "t", selector={"tier": "2"})],
            [{"app": "web"}],
            [{"tier": "1"}],
            id="only services that select the pod",
        ),
        pytest.param(
            make_pod().label(**LABELS).obj(),
            [SERVICE, thing(Service, "t", "other", selector={"tier": "1"})],
            [{"app": "web"}],
            [{"tier": "1"}],
            id="only services of the namespace",
        ),
        pytest.param(
            owned_by("ReplicaSet", "apps/v1"),
            [SERVICE, thing(ReplicaSet, selector=BY_TIER)],
            [{"app": "web", "tier": "9"}],
            [{"app": "web"}, {"tier": "1"}],
            id="service and ReplicaSet",
        ),
        pytest.param(
            owned_by("StatefulSet", "apps/v1"),
            [SERVICE, thing(StatefulSet, selector=BY_TIER)],
            [{"app": "web", "tier": "9"}],
            [{"app": "web"}, {"tier": "1"}],
            id="service and StatefulSet",
        ),
        pytest.param(
            owned_by("ReplicationController", "v1"),
            [SERVICE, thing(ReplicationController, selector={"tier": "1"})],
            [LABELS],
            [{"app": "web"}, {"tier": "1"}],
            id="service and ReplicationController",
        ),
        pytest.param(
            owned_by("ReplicationController", "v1"),
            [SERVICE],
            [{"app": "web"}],
            [{"tier": "1"}],
            id="a ReplicationController that is not there leaves the service",
        ),
        pytest.param(
            owned_by("ReplicaSet", "apps/v1"),
            [SERVICE, thing(ReplicaSet, namespace="other", selector=BY_TIER)],
            [{"app": "web"}],
            [{"tier": "1"}],
            id="a ReplicaSet of another namespace is not the owner",
        ),
        pytest.param(
            owned_by("ReplicaSet", "apps/v1", controller=False),
            [SERVICE, thing(ReplicaSet, selector=BY_TIER)],
            [{"app": "web"}],
            [{"tier": "1"}],
            id="an owner that does not control the pod",
        ),
        pytest.param(
            owned_by("ReplicaSet", "extensions/v1beta1"),
            [SERVICE, thing(ReplicaSet, selector=BY_TIER)],
            [{"app": "web"}],
            [{"tier": "1"}],
            id="a ReplicaSet of another API group",
        ),
        pytest.param(
            owned_by("ReplicaSet", "apps/v1"),
            [SERVICE, thing(ReplicaSet)],
            [{"app": "web"}],
            [{"tier": "1"}],
            id="a ReplicaSet without a selector adds nothing",
        ),
        pytest.param(
            owned_by("ReplicaSet", "apps/v1"),
            [SERVICE, thing(ReplicaSet, selector={"matchExpressions": [{"key": "a", "operator": "In"}]})],
            [{"app": "web"}],
            [{"tier": "1"}],
            id="a selector that cannot be compiled adds nothing",
        ),
    ],
)
def test_default_selector(pod: Pod, objects: list[Any], yes: list[dict[str, str]], no: list[dict[str, str]]) -> None:
    selector = default_selector(pod, Catalog(objects))
    assert [selector.matches(labels) for labels in (*yes, *no)] == [True] * len(yes) + [False] * len(no)


def test_the_system_defaults_are_soft_hosts_then_zones() -> None:
    selectors = DefaultSelectors(Catalog([SERVICE]))
    pod = make_pod().label(app="web").obj()
    made = default_constraints_of(SYSTEM_DEFAULTS, pod, selectors, SOFT)
    assert [(each.topology_key, each.max_skew) for each in made] == [
        ("kubernetes.io/hostname", 3),
        ("topology.kubernetes.io/zone", 5),
    ]
    assert default_constraints_of(SYSTEM_DEFAULTS, pod, selectors, HARD) == ()


def test_policies_of_default_constraints_hold() -> None:
    default = spread(labelSelector=None, nodeTaintsPolicy="Honor", minDomains=2)
    selectors = DefaultSelectors(Catalog([SERVICE]))
    (made,) = default_constraints_of([default], make_pod().label(app="web").obj(), selectors, HARD)
    assert (made.honor_taints, made.min_domains) == (True, 2)
    assert made.selector.matches({"app": "web"})


def test_default_selectors_follow_the_catalog() -> None:
    catalog = Catalog()
    selectors, pod = DefaultSelectors(catalog), make_pod().label(app="web").obj()
    assert selectors.of(pod).everything
    catalog.put(SERVICE)
    assert not selectors.of(pod).everything
    assert selectors.of(pod) is selectors.of(make_pod("twin").label(app="web").obj())
    catalog.remove(SERVICE)
    assert selectors.of(pod).everything


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(make_pod(namespace="other").label(app="web").obj(), id="namespace"),
        pytest.param(make_pod().label(app="db").obj(), id="labels"),
    ],
)
def test_default_selectors_tell_pods_apart(other: Pod) -> None:
    selectors = DefaultSelectors(Catalog([SERVICE]))
    assert not selectors.of(make_pod().label(app="web").obj()).everything
    assert selectors.of(other).everything


def test_default_selectors_tell_owners_apart() -> None:
    selectors = DefaultSelectors(Catalog([thing(ReplicaSet, selector=BY_TIER)]))
    assert selectors.of(make_pod().label(**LABELS).obj()).everything
    assert not selectors.of(owned_by("ReplicaSet", "apps/v1")).everything


BROKEN = {"matchExpressions": [{"key": "app", "operator": "Like", "values": []}]}


@pytest.mark.parametrize(
    ("owners", "labels"),
    [
        pytest.param([], {}, id="none"),
        pytest.param([thing(ReplicaSet, selector=BROKEN), thing(StatefulSet, selector=WEB)], {"app": "web"}, id="after one that cannot be read"),
        pytest.param([thing(ReplicaSet, "a", selector=None), thing(ReplicaSet, "b", selector=WEB)], {"app": "web"}, id="after one without a selector"),
        pytest.param([thing(ReplicaSet, "a", selector={}), thing(ReplicaSet, "b", selector=WEB)], {"app": "web"}, id="after one that selects everything"),
        pytest.param([thing(ReplicaSet, "a", selector={"matchLabels": {"app": "x"}}), thing(ReplicaSet, "b", selector=WEB)], {"app": "web"}, id="after one of other pods"),
        pytest.param([thing(ReplicaSet, selector=WEB, namespace="other")], {}, id="of another namespace"),
        pytest.param([thing(ReplicaSet, "a", selector=WEB), thing(StatefulSet, "b", selector={"matchLabels": {"tier": "1"}})], {"app": "web", "tier": "1"}, id="two"),
    ],
)  # fmt: skip
def test_up_to_1_21_every_controller_that_selects_the_pod_counts(owners: list[Any], labels: dict[str, str]) -> None:
    pod = make_pod("new").label(**LABELS).obj()
    found = default_selector(pod, Catalog(owners), RELEASES["1.21"])
    assert {each.key: each.values for each in found.requirements} == {key: (value,) for key, value in labels.items()}
    assert default_selector(pod, Catalog(owners), RELEASES["1.22"]).everything


def test_a_pod_that_nothing_selects_is_not_spread_by_default() -> None:
    pod = make_pod("new").label(**LABELS).obj()
    service = thing(Service, selector={"app": "web"})
    for objects, count in (([], 0), ([service], 2)):
        selectors = DefaultSelectors(Catalog(objects), DEFAULT)
        assert len(default_constraints_of(SYSTEM_DEFAULTS, pod, selectors, SOFT)) == count
