from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.api.core import NodeAllocatableResourceClaimStatus, Pod
from ksched_cli.api.pod_resources import (
    nonzero_requests_of,
    requests_of,
    requests_over_pod_level,
    scoring_requests_of,
)
from ksched_cli.cluster.pod_info import PodInfo, ResourceIndex
from ksched_cli.releases.minors import RELEASES
from tests.builders import make_pod

MI = 1024 * 1024


def cpu(amount: str, **more: Any) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": amount}}, **more}


SIDECAR = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("pod", "milli"),
    [
        pytest.param(make_pod().requests(cpu="1"), 1000, id="one container"),
        pytest.param(make_pod().requests(cpu="1").container(**cpu("500m")), 1500, id="containers add up"),
        pytest.param(make_pod().requests(cpu="1").init(**cpu("3")), 3000, id="the largest init container"),
        pytest.param(
            make_pod().requests(cpu="1").init(**cpu("3")).init(**cpu("2")), 3000, id="init containers do not add up"
        ),
        pytest.param(make_pod().requests(cpu="1").init(**cpu("2", **SIDECAR)), 3000, id="a sidecar stays"),
        pytest.param(
            make_pod().requests(cpu="1").init(**cpu("2", **SIDECAR)).init(**cpu("4")), 6000, id="init beside a sidecar"
        ),
        pytest.param(
            make_pod().requests(cpu="1").init(**cpu("4")).init(**cpu("2", **SIDECAR)),
            4000,
            id="init before the sidecar",
        ),
        pytest.param(make_pod().requests(cpu="1").spec(overhead={"cpu": "250m"}), 1250, id="overhead"),
        pytest.param(make_pod().requests(cpu="1").spec(resources={"requests": {"cpu": "5"}}), 5000, id="pod level"),
        pytest.param(
            make_pod().requests(cpu="1").spec(resources={"requests": {"cpu": "5"}}, overhead={"cpu": "1"}),
            6000,
            id="pod level and overhead",
        ),
        pytest.param(
            make_pod().requests(cpu="0.1m").container(**cpu("0.1m")), 2, id="stored in thousandths, then added up"
        ),
        pytest.param(make_pod().limits(cpu="2"), 2000, id="limits fill requests"),
        pytest.param(make_pod().spec(resources={"limits": {"cpu": "2"}}), 2000, id="pod limits fill pod requests"),
        pytest.param(
            make_pod().requests(cpu="1").spec(resources={"limits": {"cpu": "2"}}),
            1000,
            id="containers' requests come first",
        ),
    ],
)
def test_cpu(pod: Any, milli: int) -> None:
    assert requests_of(pod.obj(), use_status=False)["cpu"] == milli


def resized(spec: str, actual: str, allocated: str, reason: str = "") -> Pod:
    status = {"name": "main", "resources": {"requests": {"cpu": actual}}, "allocatedResources": {"cpu": allocated}}
    pod = make_pod().requests(cpu=spec).status(containerStatuses=[status])
    if reason:
        pod.status(conditions=[{"type": "PodResizePending", "status": "True", "reason": reason}])
    return pod.obj()


@pytest.mark.parametrize(
    ("pod", "milli"),
    [
        pytest.param(resized("1", "2", "2"), 2000, id="shrinking: still holds the larger"),
        pytest.param(resized("3", "2", "2"), 3000, id="growing: will hold the larger"),
        pytest.param(resized("3", "2", "1", "Infeasible"), 2000, id="infeasible: what is wished for does not count"),
        pytest.param(resized("3", "2", "1", "Deferred"), 3000, id="deferred: still wished for"),
    ],
)
def test_a_pod_that_is_resized_in_place(pod: Pod, milli: int) -> None:
    assert requests_of(pod, use_status=True)["cpu"] == milli
    assert requests_of(pod, use_status=False)["cpu"] == int(
        float(pod.spec.containers[0].resources.requests["cpu"]) * 1000
    )


@pytest.mark.parametrize(
    ("pod", "cached", "scored"),
    [
        pytest.param(make_pod(), (100, 200 * MI), (100, 200 * MI), id="asks for nothing"),
        pytest.param(make_pod().requests(cpu="1"), (1000, 200 * MI), (1000, 200 * MI), id="asks for cpu"),
        pytest.param(make_pod().container(), (200, 400 * MI), (200, 400 * MI), id="every container"),
        pytest.param(make_pod().requests(cpu="0"), (0, 200 * MI), (0, 200 * MI), id="zero is an answer"),
        pytest.param(
            make_pod().spec(resources={"requests": {"cpu": "1"}}), (1000, 200 * MI), (100, 200 * MI), id="pod-level cpu"
        ),
        pytest.param(
            make_pod().requests(memory="1Mi").container().spec(resources={"requests": {"cpu": "1"}}),
            (1000, MI),
            (200, 201 * MI),
            id="pod level: no stand-in where a container asks",
        ),
    ],
)
def test_stand_ins_for_scoring(pod: Any, cached: tuple[int, int], scored: tuple[int, int]) -> None:
    made = pod.obj()
    assert nonzero_requests_of(made) == cached
    assert scoring_requests_of(made) == scored


def test_sums_are_rounded_and_not_terms() -> None:
    halves = {"resources": {"requests": {"memory": "500m"}}}
    assert requests_of(make_pod().requests(memory="500m").container(**halves).obj(), use_status=False)["memory"] == 1


def test_resources_only_an_init_container_asks_for_count_too() -> None:
    pod = make_pod().requests(cpu="1").init(resources={"requests": {"example.com/gpu": "2"}}).obj()
    assert requests_of(pod, use_status=False) == {"cpu": 1000, "example.com/gpu": 2}


def test_a_pod_level_request_stands_for_cpu_memory_and_huge_pages_alone() -> None:
    own = {"requests": {"cpu": "2", "hugepages-2Mi": "4Mi", "example.com/gpu": "8"}}
    asked = {"cpu": "1", "memory": "1Mi", "example__com": "1"}
    pod = make_pod().requests(**asked).spec(resources=own).obj()
    assert requests_of(pod, use_status=False) == {
        "cpu": 2000,
        "memory": MI,
        "hugepages-2Mi": 4 * MI,
        "example/com": 1,
    }


def test_a_sidecar_that_is_resized_counts_as_a_container_and_an_init_container_does_not() -> None:
    def status(name: str) -> dict[str, Any]:
        return {"name": name, "resources": {"requests": {"cpu": "5"}}, "allocatedResources": {"cpu": "5"}}

    sidecar = make_pod().requests(cpu="1").init(**cpu("1", **SIDECAR)).status(initContainerStatuses=[status("i0")])
    passing = make_pod().requests(cpu="1").init(**cpu("1")).status(initContainerStatuses=[status("i0")])
    assert requests_of(sidecar.obj(), use_status=True)["cpu"] == 6000
    assert requests_of(passing.obj(), use_status=True)["cpu"] == 1000


def test_pod_level_requests_that_are_resized() -> None:
    held = {"requests": {"cpu": "3"}}
    pod = make_pod().spec(resources={"requests": {"cpu": "2"}}).status(resources=held, allocatedResources={"cpu": "1"})
    assert [requests_of(pod.obj(), use_status=True, by_sums=each)["cpu"] for each in (False, True)] == [3000, 3000]
    assert requests_of(pod.obj(), use_status=False)["cpu"] == 2000


def held(name: str, allocated: str = "", actuated: str = "") -> dict[str, Any]:
    """The status of a container."""
    status: dict[str, Any] = {"name": name}
    if allocated:
        status["allocatedResources"] = {"cpu": allocated}
    if actuated:
        status["resources"] = {"requests": {"cpu": actuated}}
    return status


def test_since_1_37_the_status_of_a_pod_adds_what_its_spec_does_not_request() -> None:
    actuated = {"requests": {"cpu": "3", "memory": "1Mi", "example.com/gpu": "1"}}
    pod = make_pod().spec(resources={"requests": {"cpu": "2"}}).status(resources=actuated).obj()
    found = [requests_of(pod, use_status=True, by_sums=by_sums) for by_sums in (False, True)]
    assert found == [{"cpu": 3000}, {"cpu": 3000, "memory": MI}]


TAKEN = {"nodeAllocatableResourceClaimStatuses": [{"resourceClaimName": "c", "resources": {"cpu": "1", "memory": "1"}}]}
WHOLE = make_pod().requests(cpu="1").spec(resources={"requests": {"cpu": "1"}}).doc()


@pytest.mark.parametrize(
    ("status", "over"),
    [
        pytest.param({}, [], id="as much as the pod"),
        pytest.param(TAKEN, ["cpu"], id="a claim takes more"),
        pytest.param({**TAKEN, "resources": {"requests": {"cpu": "9"}}}, ["cpu"], id="the pod had more before"),
        pytest.param({"containerStatuses": [held("main", actuated="9")]}, [], id="a container had more before"),
    ],
)
def test_what_containers_and_claims_need_beyond_the_pod(status: dict[str, Any], over: list[str]) -> None:
    assert requests_over_pod_level(msgspec.convert({**WHOLE, "status": status}, Pod)) == over


@given(st.lists(st.tuples(st.integers(0, 5000), st.booleans()), max_size=5), st.integers(0, 5000))
def test_init_containers_never_lower_what_the_containers_ask(inits: list[tuple[int, bool]], milli: int) -> None:
    pod = make_pod().requests(cpu=f"{milli}m")
    for amount, is_sidecar in inits:
        pod.init(**cpu(f"{amount}m", **(SIDECAR if is_sidecar else {})))
    asked = requests_of(pod.obj(), use_status=False)["cpu"]
    stays = milli + sum(amount for amount, is_sidecar in inits if is_sidecar)
    passes = max(
        (
            amount + sum(before for before, stayed in inits[:at] if stayed)
            for at, (amount, is_sidecar) in enumerate(inits)
            if not is_sidecar
        ),
        default=0,
    )
    assert asked == max(stays, passes)


def in_place(*spec: str, statuses: list[dict[str, Any]], **status: Any) -> Pod:
    """A pod with containers c1, c2 ... that request this much cpu."""
    containers = [{"name": f"c{at}", **(cpu(amount) if amount else {})} for at, amount in enumerate(spec, 1)]
    return make_pod().spec(containers=containers).status(containerStatuses=statuses, **status).obj()


INFEASIBLE = {"conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]}


@pytest.mark.parametrize(
    ("pod", "before", "now"),
    [
        pytest.param(in_place("", statuses=[held("c1", actuated="2")]), 2000, 2000, id="actuated alone"),
        pytest.param(
            in_place("1", "2", statuses=[held("c1", "2"), held("c2", "1")]), 3000, 3000, id="allocated, not actuated"
        ),
        pytest.param(
            in_place("1", "2", statuses=[held("c1", "2", "2"), held("c2", "1", "1")]),
            4000,
            3000,
            id="the largest of sums, not the sum of the largest",
        ),
        pytest.param(in_place("1", statuses=[held("c1", "6", "5")]), 6000, 6000, id="one container"),
        pytest.param(
            in_place("10", statuses=[held("c1", actuated="6")], **INFEASIBLE), 6000, 6000, id="an infeasible resize"
        ),
        pytest.param(
            in_place("10", statuses=[held("c1", "3")], **INFEASIBLE), 10000, 3000, id="infeasible, allocated alone"
        ),
        pytest.param(
            in_place("1", statuses=[], allocatedResources={"cpu": "4"}, resources={"requests": {"cpu": "3"}}),
            1000,
            4000,
            id="the status of the pod",
        ),
        pytest.param(
            in_place("1", statuses=[held("c1", "6", "5")], resources={"requests": {"cpu": "3"}}),
            6000,
            6000,
            id="the status of the pod without what is allocated",
        ),
    ],
)
def test_a_resized_pod_counts_by_sums_since_1_37(pod: Pod, before: int, now: int) -> None:
    """#140047, with cases of TestAggregateContainerRequestsAndLimits (component-helpers/resource)."""
    found = [requests_of(pod, use_status=True, by_sums=by_sums).get("cpu") for by_sums in (False, True)]
    assert found == [before, now]


@pytest.mark.parametrize(
    ("pod", "milli"),
    [
        pytest.param(
            in_place("1", statuses=[], allocatedResources={"cpu": "4"}, resources={"requests": {"cpu": "3"}}),
            6000,
            id="added to the spec and not to the status of the pod",
        ),
        pytest.param(
            in_place("1", statuses=[held("c1", "3", "4")]),
            8000,
            id="added to what is allocated and not to the actuated",
        ),
    ],
)
def test_claims_count_with_the_sums_that_lack_them(pod: Pod, milli: int) -> None:
    entries = (NodeAllocatableResourceClaimStatus("c", resources={"cpu": "5"}), NodeAllocatableResourceClaimStatus())
    pod.status.node_allocatable_resource_claim_statuses = entries
    assert requests_of(pod, use_status=True, with_claims=True, by_sums=True)["cpu"] == milli


def test_the_cache_of_1_37_counts_by_sums() -> None:
    pod = in_place("1", "2", statuses=[held("c1", "2", "2"), held("c2", "1", "1")])
    found = {version: PodInfo(pod, ResourceIndex(), RELEASES[version]).requests for version in ("1.36", "1.37")}
    assert {version: dict(each).popitem()[1] for version, each in found.items()} == {"1.36": 4000, "1.37": 3000}


@pytest.mark.parametrize(("with_claims", "milli"), [(False, 1000), (True, 3000)])
def test_what_devices_take_of_the_node_counts_where_it_is_asked_for(with_claims: bool, milli: int) -> None:
    entries = [{"resourceClaimName": "c", "resources": {"cpu": "2"}}, {"resourceClaimName": "d", "resources": {}}]
    pod = make_pod().requests(cpu="1").status(nodeAllocatableResourceClaimStatuses=entries).obj()
    assert requests_of(pod, use_status=False, with_claims=with_claims)["cpu"] == milli
