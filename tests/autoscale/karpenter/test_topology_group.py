"""Domains that a topology rule allows, and how Karpenter's text lists them."""

from __future__ import annotations

import numpy as np
import pytest

from ksched_cli.api.core import LabelSelector
from ksched_cli.autoscale.karpenter.messages import TopologyError
from ksched_cli.autoscale.karpenter.requirements import LabelRequirement
from ksched_cli.autoscale.karpenter.topology_group import AFFINITY, ANTI_AFFINITY, GroupSpec, TopologyGroup

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


def zones(text: str) -> LabelRequirement:
    """The zones that the letters name; every zone for `*`."""
    return LabelRequirement.of(ZONE, "Exists") if text == "*" else LabelRequirement.of(ZONE, "In", text)


@pytest.mark.parametrize(
    ("running", "selects", "of_pod", "of_node", "allowed"),
    [
        pytest.param("b", True, "*", "ab", "b", id="where the others are"),
        pytest.param("b", True, "a", "ab", "a", id="none of the others is where the pod may be"),
        pytest.param("b", True, "ab", "a", "", id="the others are where the node cannot be"),
        pytest.param("b", False, "a", "ab", "", id="the pod is not one of them"),
        pytest.param("", True, "*", "c", "ac", id="the first: the zone of the node and one of the pod"),
        pytest.param("", True, "*", "bc", "ab?", id="the first: a zone of the node and one of the pod"),
        pytest.param("", True, "b", "bc", "b", id="the first: the zone of the pod"),
        pytest.param("", True, "ab", "abc", "a?", id="the first: a zone of both"),
        pytest.param("", True, "a", "b", "a", id="the first: the only zone of the pod"),
        pytest.param("", False, "*", "ab", "", id="there are none"),
    ],
)
def test_zones_of_a_pod_affinity(running: str, selects: bool, of_pod: str, of_node: str, allowed: str) -> None:
    """A question mark: the zones are drawn from equally good ones."""
    selector = LabelSelector({"app": "web"})
    group = TopologyGroup(GroupSpec(AFFINITY, ZONE, frozenset({"default"}), selector), "abc", 0)
    for zone in running:
        group.record(zone)
    found, is_drawn = group.next_domain(selects=selects, pod_domains=zones(of_pod), node_domains=zones(of_node))
    assert "".join(sorted(found.values)) + "?" * is_drawn == allowed


@pytest.mark.parametrize(
    ("running", "of_pod", "of_node", "allowed"),
    [
        pytest.param("b", "*", "abc", "ac", id="the empty zones"),
        pytest.param("b", "ab", "bc", "", id="no empty zone of both"),
        pytest.param("b", "ac", "bc", "c", id="the empty zone of both"),
    ],
)
def test_zones_of_a_pod_anti_affinity(running: str, of_pod: str, of_node: str, allowed: str) -> None:
    selector = LabelSelector({"app": "web"})
    group = TopologyGroup(GroupSpec(ANTI_AFFINITY, ZONE, frozenset({"default"}), selector), "abc", 0)
    group.record(running)
    found, is_drawn = group.next_domain(selects=True, pod_domains=zones(of_pod), node_domains=zones(of_node))
    assert ("".join(sorted(found.values)), is_drawn) == (allowed, False)


def test_hosts_that_were_added_later_are_empty() -> None:
    group = TopologyGroup(GroupSpec(ANTI_AFFINITY, HOSTNAME, frozenset({"default"}), None), (), 0)
    last = len(group.on_host) - 1
    group.record("host", last)
    hosts = np.array([last - 1, last, last + 1])
    assert [*group.allowed_hosts(hosts, selects=True, pod_domains=None)] == [True, False, True]
    far = 5 * last
    group.record("far", far)
    hosts = np.array([last, far - 1, far, far + 1])
    assert [*group.allowed_hosts(hosts, selects=True, pod_domains=None)] == [False, True, False, True]


@pytest.mark.parametrize(("count", "ending"), [(25, "24: 1, podDomains"), (26, "24: 1 and 1 other(s), podDomains")])
def test_25_domains_are_shown(count: int, ending: str) -> None:
    counts = {f"{at:02}": 1 for at in range(count)}
    assert ending in str(TopologyError(AFFINITY, ZONE, lambda: counts, zones("*"), zones("*")))
