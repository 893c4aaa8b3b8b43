"""The Job and CronJob controllers."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ksched_cli.controlplane.controllers.job import JobController, JobState
from ksched_cli.controlplane.controllers.job_pods import INDEX
from tests.controlplane.harness import ControlPlane, make, nodes, rested

_TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "app:v1"}]}}


def _job(**spec: Any) -> Any:
    return make("Job", "batch", template=_TEMPLATE, **spec)


def _state(control_plane: ControlPlane) -> JobState:
    controller = next(each for each in control_plane.controllers if isinstance(each, JobController))
    return controller.state(control_plane.object("Job", "batch"))


def _running(control_plane: ControlPlane) -> int:
    return sum(node.endswith("+") for node in control_plane.pods().values())


@pytest.mark.parametrize(
    ("spec", "pods"),
    [
        ({}, 1),
        ({"parallelism": 3}, 3),
        ({"completions": 5}, 1),
        ({"parallelism": 3, "completions": 2}, 2),
        ({"parallelism": 2, "completions": 5}, 2),
        ({"parallelism": 2, "completions": 5, "suspend": True}, 0),
        ({"parallelism": 0, "completions": 5}, 0),
    ],
)
def test_so_many_at_a_time(spec: dict[str, Any], pods: int) -> None:
    control_plane = ControlPlane(*nodes(2))
    control_plane.api.create(_job(**spec))
    assert len(control_plane.run().pods()) == pods


def test_completions_come_in_waves() -> None:
    control_plane = rested(*nodes(2), _job(parallelism=2, completions=5))
    waves = []
    while control_plane.kubelets.finish_jobs():
        control_plane.run()
        waves.append(_running(control_plane))
    assert waves == [2, 1, 0]
    assert _state(control_plane) == JobState(active=0, succeeded=5, failed=0, finished="Complete")


def test_completions_that_were_counted_before_the_input_count() -> None:
    item = make("Job", "batch", template=_TEMPLATE, parallelism=2, completions=5, status={"succeeded": 4})
    control_plane = ControlPlane(*nodes(2), item)
    control_plane.change("Job", "batch", parallelism=3)
    assert len(control_plane.run().pods()) == 1


def test_a_work_queue_is_empty_once_a_pod_has_succeeded() -> None:
    control_plane = rested(*nodes(2), _job(parallelism=3))
    first, second, _ = (control_plane.pod(name) for name in control_plane.pods())
    control_plane.api.update(replace(first, status=replace(first.status, phase="Succeeded")))
    control_plane.api.delete(second)
    assert _running(control_plane.run()) == 1
    control_plane.kubelets.finish_jobs()
    assert _running(control_plane.run()) == 0
    assert _state(control_plane).finished == "Complete"


def test_indexes_that_are_missing_are_made_the_lowest_first() -> None:
    control_plane = rested(*nodes(2), _job(parallelism=2, completions=4, completionMode="Indexed"))
    control_plane.kubelets.finish_jobs()
    control_plane.run()
    pods = [control_plane.pod(name) for name in control_plane.pods()]
    assert sorted((pod.metadata.annotations[INDEX], pod.status.phase) for pod in pods) == [
        ("0", "Succeeded"),
        ("1", "Succeeded"),
        ("2", "Running"),
        ("3", "Running"),
    ]


def test_a_lost_pod_is_replaced_after_the_back_off() -> None:
    control_plane = rested(*nodes(2), _job(parallelism=1, completions=1))
    moments = []
    for _ in range(2):
        started = control_plane.queue.clock.now
        running = next(name for name, node in control_plane.pods().items() if node.endswith("+"))
        control_plane.api.delete(control_plane.pod(running), grace=0)
        control_plane.run()
        created = [moment for moment, what, _ in control_plane.events if what == "created"]
        moments.append(created[-1] - started)
    assert moments == [pytest.approx(10, abs=0.01), pytest.approx(20, abs=0.01)]
    assert _state(control_plane).failed == 2


@pytest.mark.parametrize(("limit", "running", "finished"), [(0, 0, "Failed"), (1, 2, "")])
def test_backoff_limit(limit: int, running: int, finished: str) -> None:
    control_plane = rested(*nodes(2), _job(parallelism=2, completions=2, backoffLimit=limit))
    control_plane.api.delete(control_plane.pod(next(iter(control_plane.pods()))))
    assert _running(control_plane.run()) == running
    assert _state(control_plane).finished == finished


@pytest.mark.parametrize(("policy", "waits"), [("TerminatingOrFailed", False), ("Failed", True)])
def test_pod_replacement_policy(policy: str, waits: bool) -> None:
    control_plane = rested(*nodes(2), _job(parallelism=1, completions=1, podReplacementPolicy=policy))
    control_plane.api.delete(control_plane.pod(next(iter(control_plane.pods()))))
    control_plane.run(29)
    assert (control_plane.count("created") == 0) == waits
    assert _running(control_plane.run()) == 1


@pytest.mark.parametrize("spec", [{"suspend": True}, {"parallelism": 0}])
def test_pods_that_the_job_takes_back_have_not_failed(spec: dict[str, Any]) -> None:
    control_plane = rested(*nodes(2), _job(parallelism=2, completions=4))
    control_plane.change("Job", "batch", **spec)
    assert control_plane.run().pods() == {}
    assert _state(control_plane) == JobState(active=0, succeeded=0, failed=0, finished="")


def test_pending_pods_go_before_those_that_run() -> None:
    control_plane = rested(*nodes(1), _job(parallelism=1, completions=4))
    control_plane.place = lambda pod: ""
    control_plane.change("Job", "batch", parallelism=2)
    control_plane.run()
    control_plane.change("Job", "batch", parallelism=1)
    assert list(control_plane.run().pods().values()) == ["node-1+"]


@pytest.mark.parametrize("condition", ["Complete", "Failed"])
def test_a_finished_job_stays_finished(condition: str) -> None:
    status = {"conditions": [{"type": condition, "status": "True"}]}
    control_plane = ControlPlane(*nodes(1), make("Job", "batch", template=_TEMPLATE, parallelism=2, status=status))
    control_plane.change("Job", "batch", parallelism=3)
    assert control_plane.run().pods() == {}


@pytest.mark.parametrize(("suspend", "pods"), [(False, 2), (True, 0)])
def test_a_new_cron_job_runs_once(suspend: bool, pods: int) -> None:
    control_plane = ControlPlane(*nodes(1))
    run = {"spec": {"parallelism": 2, "completions": 2, "template": _TEMPLATE}}
    control_plane.api.create(make("CronJob", "nightly", schedule="0 3 * * *", suspend=suspend, jobTemplate=run))
    assert len(control_plane.run().pods()) == pods


def test_a_cron_job_of_the_input_is_left_alone() -> None:
    run = {"spec": {"template": _TEMPLATE}}
    item = make("CronJob", "nightly", schedule="0 3 * * *", jobTemplate=run)
    control_plane = ControlPlane(*nodes(1), item)
    control_plane.change("CronJob", "nightly", schedule="0 4 * * *")
    assert control_plane.run().pods() == {}
