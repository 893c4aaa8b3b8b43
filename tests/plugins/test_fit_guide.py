"""How NodeResourcesFit proposes to lower requests, and what it says about nodes that lack a resource."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.plugins.node_resources_fit import NodeResourcesFitReasons
from ksched_cli.plugins.node_resources_fit.guide import FitGuide, lower_requests
from ksched_cli.releases.minors import NEWEST
from tests.builders import make_pod

GPU, PAGES = "example.com/gpu", "hugepages-2Mi"
FIRST = "/spec/containers/0/resources/"


def pod(requests: dict[str, str], limits: dict[str, str], *more: dict[str, str]) -> Any:
    """One container with these requests and limits, and more with requests."""
    made = make_pod()
    made.data["spec"]["containers"][0]["resources"] = {"requests": requests, "limits": limits}
    for each in more:
        made.container(resources={"requests": each})
    return made.obj()


@pytest.mark.parametrize(
    ("pod", "resource", "free", "text", "cost", "operations"),
    [
        pytest.param(
            pod({"cpu": "4"}, {}), "cpu", 1500, "from 4 to 1500m", 3.625, {FIRST + "requests/cpu": "1500m"},
            id="a request without a limit",
        ),
        pytest.param(
            pod({"cpu": "4", "memory": "1Gi"}, {"cpu": "4"}), "cpu", 1000, "from 4 to 1", 3.75,
            {FIRST + "requests/cpu": "1"}, id="one of two requests is like its limit",
        ),
        pytest.param(
            pod({"cpu": "4", "memory": "1Gi"}, {"cpu": "4", "memory": "1Gi"}), "cpu", 1000, "from 4 to 1", 3.75,
            {FIRST + "requests": {"cpu": "1", "memory": "1Gi"}}, id="the limits may be the requests",
        ),
        pytest.param(
            pod({"cpu": "1", GPU: "4"}, {GPU: "4"}), GPU, 2, "from 4 to 2", 3.5,
            {FIRST + "requests/example.com~1gpu": "2", FIRST + "limits/example.com~1gpu": "2"},
            id="an extended resource with its limit",
        ),
        pytest.param(
            pod({"cpu": "1", PAGES: "4Mi"}, {PAGES: "4Mi"}), PAGES, 2**21, "from 4Mi to 2Mi", 3.5,
            {FIRST + "requests/hugepages-2Mi": "2Mi", FIRST + "limits/hugepages-2Mi": "2Mi"},
            id="huge pages with their limit",
        ),
        pytest.param(
            pod({"memory": "2Mi"}, {}), "memory", 2**20 + 1, "from 2Mi to 1Mi", 3.5, {FIRST + "requests/memory": "1Mi"},
            id="whole mebibytes",
        ),
        pytest.param(
            pod({"memory": "1000"}, {}), "memory", 600, "from 1000 to 600", 3.4, {FIRST + "requests/memory": "600"},
            id="less than a mebibyte",
        ),
        pytest.param(
            pod({"cpu": "3"}, {}, {"cpu": "1"}), "cpu", 1000, "from 4 to 1", 3.75,
            {FIRST + "requests/cpu": "750m", FIRST.replace("0", "1") + "requests/cpu": "250m"},
            id="each container keeps a quarter",
        ),
        pytest.param(
            pod({"cpu": "1", GPU: "1"}, {}, {GPU: "1"}), GPU, 1, None, 0, {}, id="each container keeps one device"
        ),
        pytest.param(
            pod({"cpu": "1", GPU: "2"}, {}), GPU, 1, "from 2 to 1", 3.5, {FIRST + "requests/example.com~1gpu": "1"},
            id="one of two devices",
        ),
        pytest.param(
            pod({"cpu": "2.0005"}, {}), "cpu", 501, "from 2001m to 501m", 3 + 1500 / 2001,
            {FIRST + "requests/cpu": "501m"}, id="a request is rounded up",
        ),
    ],
)  # fmt: skip
def test_how_a_request_is_lowered(
    pod: Any, resource: str, free: int, text: str | None, cost: float, operations: dict[str, Any]
) -> None:
    found = lower_requests(pod, {resource: free})
    assert [each.text for each in found] == ([f"lower the {resource} request {text}"] if text else [])
    assert [each.cost for each in found] == ([pytest.approx(cost)] if text else [])
    assert {each["path"]: each["value"] for change in found for each in change.operations} == operations


def amounts(asked: int, allocatable: int) -> dict[str, int]:
    return {"asked": asked, "allocatable": allocatable, "free": 0, "short": asked}


@pytest.mark.parametrize(
    ("figures", "limits", "brief"),
    [
        pytest.param(
            {"pods": amounts(1, 0), "cpu": amounts(4000, 3920), "memory": amounts(2**20, 2**20)},
            "The pod requests cpu 4; the closest node has 3920m in all.", "short by 1 pod, 4 cpu and 1Mi memory",
            id="too little cpu in all",
        ),
        pytest.param({"pods": amounts(2, 1)}, "", "short by 2 pods", id="full"),
        pytest.param({"cpu": amounts(4000, 4000)}, "", "short by 4 cpu", id="in use"),
    ],
)  # fmt: skip
def test_words_for_the_closest_node(figures: Any, limits: str, brief: str) -> None:
    assert (FitGuide().describe_limits(figures), FitGuide().describe_briefly(figures)) == (limits, brief)


@pytest.mark.parametrize(
    ("resources", "unresolvable", "other"),
    [
        pytest.param(["cpu", GPU], True, True, id="the node has no such devices"),
        pytest.param(["cpu", GPU], False, False, id="its devices are in use"),
        pytest.param(["cpu", "memory"], True, False, id="the node is too small"),
    ],
)
def test_only_some_nodes_have_devices(resources: list[str], unresolvable: bool, other: bool) -> None:
    lacking = NodeResourcesFitReasons.of(NEWEST)
    reasons = [lacking.insufficient(resource=each) for each in resources]
    assert FitGuide().is_other_kind_of_node(reasons, unresolvable=unresolvable) is other
