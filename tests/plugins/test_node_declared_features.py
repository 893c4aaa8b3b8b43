from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.plugins.node_declared_features import NEEDED_BY, NodeDeclaredFeatures
from tests.builders import make_node, make_pod
from tests.harness import make_bench

RESTARTS = {"restartPolicyRules": [{"action": "RestartAllContainers"}]}
ISOLATED = {"hostNetwork": True, "hostUsers": False}


@pytest.mark.parametrize(
    ("pod", "needed"),
    [
        pytest.param(make_pod(), set(), id="nothing"),
        pytest.param(
            make_pod().container(**RESTARTS), {"RestartAllContainersOnContainerExits"}, id="restarts all containers"
        ),
        pytest.param(
            make_pod().init(**RESTARTS), {"RestartAllContainersOnContainerExits"}, id="an init container does"
        ),
        pytest.param(
            make_pod().spec(**ISOLATED), {"UserNamespacesHostNetworkSupport"}, id="user namespace, host network"
        ),
        pytest.param(make_pod().spec(hostNetwork=True), set(), id="host network alone"),
        pytest.param(make_pod().spec(hostUsers=False), set(), id="user namespace alone"),
    ],
)
def test_what_a_pod_needs(pod: Any, needed: set[str]) -> None:
    answer = make_bench(NodeDeclaredFeatures, [make_node().obj()], pod.obj()).pre_filter()
    assert (set() if getattr(answer, "skipped", False) else set(answer.state)) == needed


def test_switched_off_by_its_gate() -> None:
    gates = "NodeDeclaredFeatures=false,InPlacePodLevelResourcesVerticalScaling=false"
    made = make_bench(NodeDeclaredFeatures, [], make_pod().spec(**ISOLATED).obj(), gates=gates)
    assert made.pre_filter().skipped


@given(st.lists(st.sets(st.sampled_from(sorted(NEEDED_BY))), min_size=1, max_size=4), st.booleans(), st.booleans())
def test_agrees_with_the_plain_reading(declared: list[set[str]], restarts: bool, isolated: bool) -> None:
    pod = make_pod().container(**(RESTARTS if restarts else {})).spec(**(ISOLATED if isolated else {}))
    nodes = [make_node(f"n{index}").status(declaredFeatures=sorted(each)).obj() for index, each in enumerate(declared)]
    needed = {name for name, wanted in zip(sorted(NEEDED_BY), (restarts, isolated), strict=True) if wanted}
    made = make_bench(NodeDeclaredFeatures, nodes, pod.obj())
    assert set(made.statuses()) == {f"n{index}" for index, each in enumerate(declared) if needed - each}


def test_explain_names_what_is_missing() -> None:
    made = make_bench(NodeDeclaredFeatures, [make_node().obj()], make_pod().spec(**ISOLATED).obj())
    assert made.plugin.explain(made.state(), made.pod, made.nodes(), 0) == {
        "missing": ["UserNamespacesHostNetworkSupport"]
    }
