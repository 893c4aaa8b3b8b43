"""The sums of a pod are those of its containers, whichever way they are added up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.api.pod_resources import nonzero_requests_of
from ksched_cli.cluster.pod_info import PodInfo, ResourceIndex
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
