"""Which DaemonSets count on new nodes of Karpenter."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ksched_cli.api.workloads import DaemonSet
from tests.autoscale.karpenter.test_provisioner import ZONE, agent, agent_elsewhere, decided, pool, waiting
from tests.builders import term


def with_terms(daemon_set: Any, *terms: Any) -> Any:
    """The DaemonSet with these terms of node affinity."""
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    daemon_set["spec"]["template"]["spec"]["affinity"] = {"nodeAffinity": required}
    return daemon_set


POOL = pool("general", {"key": ZONE, "operator": "In", "values": ["a", "b"]})
IN_X, IN_A = term((ZONE, "In", ["x"])), term((ZONE, "In", ["a"]))
OF_ITS_NODE = agent_elsewhere("live", "3500m", uid="ds").node_affinity(
    term(fields=(("metadata.name", "In", ["elsewhere"]),))
)


@pytest.mark.parametrize(
    ("objects", "counts"),
    [
        pytest.param([POOL, agent("3500m")], True, id="everywhere"),
        pytest.param([POOL, with_terms(agent("3500m"), IN_X)], False, id="another zone"),
        pytest.param([POOL, with_terms(agent("3500m"), IN_X, IN_A)], True, id="the second term fits"),
        pytest.param([POOL, with_terms(agent("3500m"), IN_X, IN_X)], False, id="no term fits"),
        pytest.param([POOL, with_terms(agent(), IN_A), OF_ITS_NODE], True, id="the affinity is that of the template"),
        pytest.param([POOL, with_terms(agent(), IN_X), OF_ITS_NODE], False, id="that of its template leaves it out"),
        pytest.param([pool(taint="NoSchedule"), agent("3500m")], False, id="a taint"),
        pytest.param([pool(taint="PreferNoSchedule"), agent("3500m")], True, id="a mild taint"),
    ],
)
def test_which_daemon_sets_take_room_of_a_new_node(objects: list[Any], counts: bool) -> None:
    given = [msgspec.convert(each, DaemonSet) if isinstance(each, dict) else each for each in objects]
    (line,) = decided([*given, waiting().toleration("dedicated", "Exists")])
    assert line.startswith("new general") is not counts
