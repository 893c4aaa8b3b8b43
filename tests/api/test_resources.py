from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.api.core import Pod
from ksched_cli.api.resources import nonzero_requests_of, requests_of, scoring_requests_of
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
        pytest.param(make_pod().requests(cpu="0.1m").container(**cpu("0.1m")), 1, id="sums are rounded and not terms"),
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
    assert nonzero_requests_of(made, use_status=True) == cached
    assert scoring_requests_of(made) == scored
