"""The sums of a pod are those of its containers, whichever way they are added up."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ksched_cli.api.core import ContainerStatus, NodeAllocatableResourceClaimStatus, Pod, ResourceRequirements
from ksched_cli.api.pod_resources import nonzero_requests_of
from ksched_cli.cluster.pod_info import CPU, PodInfo, ResourceIndex
from tests.builders import make_pod

cpu = st.sampled_from(["0", "1m", "100m", "0.0001", "1500m", "3"])
memory = st.sampled_from(["0", "1", "100Mi", "1500m", "3Gi"])


@given(st.lists(st.fixed_dictionaries({}, optional={"cpu": cpu, "memory": memory}), min_size=1, max_size=3))
def test_what_scores_count_has_a_default_where_a_container_names_no_request(containers: list[dict[str, str]]) -> None:
    first, *others = containers
    builder = make_pod("web").requests(**first)
    for requests in others:
        builder.container(resources={"requests": requests})
    pod = builder.obj()
    assert PodInfo(pod, ResourceIndex()).parts.sums.nonzero == nonzero_requests_of(pod)


BIG = ResourceRequirements(requests={"cpu": "4"})
SIDECAR: dict[str, Any] = {"name": "side", "restartPolicy": "Always"}
POD = make_pod("web").requests(cpu="1").init(**SIDECAR).obj()


def _more_of(**parts: Any) -> Pod:
    return replace(POD, spec=replace(POD.spec, **parts))


def _holding(**parts: Any) -> Pod:
    return replace(POD, status=replace(POD.status, **parts))


@pytest.mark.parametrize(
    ("changed", "cpu"),
    [
        pytest.param(_more_of(containers=make_pod("web").requests(cpu="4").obj().spec.containers), 4000, id="containers"),
        pytest.param(
            _more_of(init_containers=make_pod("web").init(resources={"requests": {"cpu": "4"}}).obj().spec.init_containers),
            4000, id="init containers",
        ),
        pytest.param(_more_of(overhead={"cpu": "1"}), 2000, id="overhead"),
        pytest.param(_more_of(resources=BIG), 4000, id="requests of the pod as a whole"),
        pytest.param(_holding(container_statuses=(ContainerStatus("main", {"cpu": "4"}, BIG),)), 4000, id="resized"),
        pytest.param(
            _holding(init_container_statuses=(ContainerStatus("side", {"cpu": "3"}, BIG),)), 5000, id="a resized sidecar"
        ),
        pytest.param(
            _holding(
                node_allocatable_resource_claim_statuses=(NodeAllocatableResourceClaimStatus("c", ("main",), {"cpu": "3"}),)
            ),
            4000, id="a claim",
        ),
        pytest.param(_holding(phase="Running"), 1000, id="no amount"),
    ],
)  # fmt: skip
def test_a_later_version_counts_with_its_own_amounts(changed: Pod, cpu: int) -> None:
    _check_counts(POD, changed, 1000, cpu)


def test_pods_of_equal_containers_may_differ_in_what_counts_beside_them() -> None:
    index = ResourceIndex()
    pods = [
        make_pod("plain"),
        make_pod("init").init(resources={"requests": {"cpu": "5"}}),
        make_pod("overhead").spec(overhead={"cpu": "1"}),
        make_pod("whole").spec(resources={"requests": {"cpu": "3"}}),
        make_pod("smaller").spec(resources={"requests": {"cpu": "2500m"}}),
    ]
    counted = [PodInfo(pod.requests(cpu="1").obj(), index).parts.sums.requests for pod in pods]
    assert [dict(each)[CPU] for each in counted] == [1000, 5000, 2000, 3000, 2500]


def test_a_later_version_counts_as_it_is_resized_as_a_whole() -> None:
    whole = _more_of(resources=ResourceRequirements(requests={"cpu": "2"}))
    _check_counts(whole, replace(whole, status=_holding(resources=BIG).status), 2000, 4000)


def _check_counts(before: Pod, after: Pod, cpu_before: int, cpu_after: int) -> None:
    """One version follows the other, and then the other way round."""
    for old, new, expected in ((before, after, cpu_after), (after, before, cpu_before)):
        info = PodInfo(old, ResourceIndex())
        assert info.parts.sums
        later = info.later(new)
        assert dict(later.parts.sums.requests)[CPU] == expected
        assert later.parts.sums == PodInfo(new, info.parts.resources).parts.sums
