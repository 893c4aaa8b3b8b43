"""The Job and CronJob controllers."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ksched_cli.api.core import Pod, Toleration
from ksched_cli.api.workloads import JOB_INDEX, Job
from ksched_cli.controlplane.controllers.job import (
    FAILURE_COUNT,
    IGNORED_COUNT,
    JobController,
    JobState,
    completions_of,
)
from ksched_cli.plan.run.coverage import job_gaps
from tests.builders import loaded_of
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


@pytest.mark.parametrize(
    ("spec", "completions"),
    [({}, 1), ({"completions": 3}, 3), ({"parallelism": 2}, None), ({"parallelism": 2, "completions": 3}, 3)],
)
def test_completions_are_one_unless_parallelism_alone_is_set(spec: dict[str, int], completions: int | None) -> None:
    assert completions_of(_job(**spec)) == completions


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
    assert sorted((pod.metadata.annotations[JOB_INDEX], pod.status.phase) for pod in pods) == [
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


@pytest.mark.parametrize("mode", ["NonIndexed", "Indexed"])
@pytest.mark.parametrize(("policy", "waits"), [("TerminatingOrFailed", False), ("Failed", True)])
def test_pod_replacement_policy(policy: str, waits: bool, mode: str) -> None:
    item = _job(parallelism=1, completions=1, podReplacementPolicy=policy, completionMode=mode)
    control_plane = rested(*nodes(2), item)
    (name,) = control_plane.pods()
    control_plane.api.delete(control_plane.pod(name))
    control_plane.run(29)
    assert (control_plane.count("created") == 0) == waits
    assert _running(control_plane.run()) == 1
    (again,) = (control_plane.pod(each) for each in control_plane.pods())
    control_plane.api.update(replace(again, status=replace(again.status, phase="Failed")))
    assert _running(control_plane.run()) == 1, "a failed pod that stays holds no place"
    assert _state(control_plane).failed == 2


@pytest.mark.parametrize("spec", [{"suspend": True}, {"parallelism": 0}])
@pytest.mark.parametrize("completions", [{"completions": 4}, {}], ids=["completions", "work queue"])
def test_pods_that_the_job_takes_back_have_not_failed(spec: dict[str, Any], completions: dict[str, int]) -> None:
    control_plane = rested(*nodes(2), _job(parallelism=2, **completions))
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


def test_all_pending_pods_go_where_all_have_to() -> None:
    control_plane = rested(*nodes(1), _job(parallelism=1, completions=4))
    control_plane.place = lambda pod: ""
    control_plane.change("Job", "batch", parallelism=3)
    control_plane.run()
    control_plane.change("Job", "batch", parallelism=1)
    assert list(control_plane.run().pods().values()) == ["node-1+"]
    assert control_plane.api.draws.made == []


def test_one_success_is_enough_for_a_work_queue() -> None:
    control_plane = rested(*nodes(1), _job(parallelism=1))
    assert _state(control_plane).finished == ""
    control_plane.kubelets.finish_jobs()
    assert _state(control_plane.run()).finished == "Complete"


def test_a_success_counts_once_and_ends_the_back_off() -> None:
    control_plane = rested(*nodes(2), _job(parallelism=2, completions=5))
    first, second = (control_plane.pod(name) for name in control_plane.pods())
    control_plane.api.delete(first, grace=0)
    control_plane.run(5)
    done = replace(second, status=replace(second.status, phase="Succeeded"))
    control_plane.api.update(done)
    control_plane.api.update(replace(done, metadata=replace(done.metadata, annotations={"seen": "yes"})))
    control_plane.run()
    assert _state(control_plane).succeeded == 1
    failed_at = control_plane.queue.clock.now
    control_plane.api.delete(_unfinished(control_plane)[0], grace=0)
    control_plane.run()
    created = [moment - failed_at for moment, what, _ in control_plane.events if what == "created"]
    assert created[-1] == pytest.approx(10, abs=0.01)


def _unfinished(control_plane: ControlPlane) -> list[Pod]:
    pods = (control_plane.pod(name) for name in control_plane.pods())
    return [pod for pod in pods if pod.status.phase != "Succeeded"]


@pytest.mark.parametrize("condition", ["Complete", "Failed"])
def test_a_finished_job_stays_finished(condition: str) -> None:
    status = {"conditions": [{"type": condition, "status": "True"}]}
    control_plane = ControlPlane(*nodes(1), make("Job", "batch", template=_TEMPLATE, parallelism=2, status=status))
    control_plane.change("Job", "batch", parallelism=3)
    assert control_plane.run().pods() == {}


def test_a_job_that_is_created_again_begins_anew() -> None:
    control_plane = rested(*nodes(1), _job())
    control_plane.kubelets.finish_jobs()
    control_plane.api.delete(control_plane.run().object("Job", "batch"))
    control_plane.run()
    control_plane.api.create(_job())
    assert _running(control_plane.run()) == 1


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


DISRUPTED = [{"type": "DisruptionTarget"}]


def _policy(action: str) -> dict[str, Any]:
    codes = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
    return {"rules": [codes, {"action": action, "onPodConditions": DISRUPTED}]}


@pytest.mark.parametrize(
    ("action", "failed", "finished"),
    [
        pytest.param("Ignore", 0, "", id="the failure is not counted"),
        pytest.param("Count", 1, "", id="the failure counts"),
        pytest.param("FailJob", 1, "Failed", id="the failure ends the Job"),
    ],
)
def test_pod_failure_policy_of_an_evicted_pod(action: str, failed: int, finished: str) -> None:
    job = _job(parallelism=1, completions=1, backoffLimit=3, podFailurePolicy=_policy(action))
    control_plane = rested(*nodes(2), job)
    assert control_plane.api.evict(control_plane.pod(next(iter(control_plane.pods())))) == ""
    control_plane.run()
    state = _state(control_plane)
    assert (state.failed, state.finished) == (failed, finished)
    assert state.active == (0 if finished else 1)


@pytest.mark.parametrize("seconds", [pytest.param(0, id="at once"), pytest.param(5, id="after its toleration")])
def test_an_eviction_by_a_taint_is_a_disruption(seconds: int) -> None:
    control_plane = rested(*nodes(2), _job(parallelism=1, completions=1, podFailurePolicy=_policy("Ignore")))
    pod = control_plane.pod(next(iter(control_plane.pods())))
    tolerations = (Toleration(key="a", operator="Exists", toleration_seconds=seconds),)
    control_plane.api.update(replace(pod, spec=replace(pod.spec, tolerations=tolerations)))
    control_plane.place = lambda pod: "node-2"
    control_plane.taint("node-1", "a:NoExecute")
    assert _state(control_plane.run()) == JobState(active=1, succeeded=0, failed=0, finished="")
    assert control_plane.count("deleted") == 1


def test_a_rule_for_disruptions_is_not_for_a_pod_that_is_deleted_by_hand() -> None:
    control_plane = rested(*nodes(2), _job(parallelism=1, completions=1, podFailurePolicy=_policy("Ignore")))
    control_plane.api.delete(control_plane.pod(next(iter(control_plane.pods()))))
    assert _state(control_plane.run()).failed == 1


def test_of_pods_that_are_alike_the_one_to_delete_is_a_draw() -> None:
    control_plane = rested(*nodes(2), _job(parallelism=4))
    control_plane.place = lambda pod: ""
    first, *others = (control_plane.pod(name) for name in control_plane.pods())
    control_plane.api.update(replace(first, spec=replace(first.spec, node_name="")))
    control_plane.change("Job", "batch", parallelism=2)
    control_plane.run()
    (draw,) = control_plane.api.draws.made
    assert sorted(draw.options) == sorted(each.metadata.name for each in others)
    assert {*control_plane.pods()} == {*draw.options} - {*draw.taken}
    assert len(draw.taken) == 1


def _indexed(**spec: Any) -> Any:
    return _job(parallelism=3, completions=3, completionMode="Indexed", **spec)


def _pod_of(control_plane: ControlPlane, index: int) -> Any:
    """The pod of the index that has not finished."""
    pods = (control_plane.pod(name) for name in control_plane.pods())
    return next(
        pod
        for pod in pods
        if pod.metadata.annotations[JOB_INDEX] == str(index) and pod.status.phase in ("Running", "Pending")
    )


def test_an_index_fails_after_its_own_limit_and_the_others_go_on() -> None:
    control_plane = rested(*nodes(2), _indexed(backoffLimitPerIndex=1))
    for failures in ("0", "1"):
        pod = _pod_of(control_plane, 1)
        assert pod.metadata.annotations[FAILURE_COUNT] == failures
        control_plane.api.delete(pod)
        control_plane.run()
    assert _running(control_plane) == 2
    assert _state(control_plane).finished == ""
    control_plane.kubelets.finish_jobs()
    state = _state(control_plane.run())
    assert (state.succeeded, state.failed, state.finished) == (2, 2, "Failed")


def test_an_index_waits_after_its_own_failures_only() -> None:
    control_plane = rested(*nodes(2), _indexed(backoffLimitPerIndex=5))
    started = control_plane.queue.clock.now
    control_plane.api.delete(_pod_of(control_plane, 0), grace=0)
    control_plane.run(15)
    control_plane.api.delete(_pod_of(control_plane, 0), grace=0)
    control_plane.run(2)
    control_plane.api.delete(_pod_of(control_plane, 2), grace=0)
    control_plane.run()
    created = [moment - started for moment, what, _ in control_plane.events if what == "created" and moment > started]
    # 10 s after the first failure of index 0, 20 s after its second at 15 s, 10 s after that of index 2 at 17 s.
    assert created == [pytest.approx(10, abs=0.1), pytest.approx(27, abs=0.1), pytest.approx(35, abs=0.1)]


def test_an_index_is_ready_when_its_own_back_off_is_over() -> None:
    control_plane = rested(*nodes(2), _indexed(backoffLimitPerIndex=5))
    control_plane.api.delete(_pod_of(control_plane, 0), grace=0)
    control_plane.run(0.5)
    control_plane.api.delete(_pod_of(control_plane, 2), grace=0)
    control_plane.run()
    created = [moment for moment, what, _ in control_plane.events if what == "created"]
    assert created == [pytest.approx(10, abs=0.1), pytest.approx(10.5, abs=0.1)]


def test_failures_that_a_rule_ignores_count_for_the_back_off_of_the_index_only() -> None:
    control_plane = rested(*nodes(2), _indexed(backoffLimitPerIndex=0, podFailurePolicy=_policy("Ignore")))
    waits = []
    for number in range(2):
        pod, failed_at = _pod_of(control_plane, 1), control_plane.queue.clock.now
        assert pod.metadata.annotations.get(IGNORED_COUNT, "0") == str(number)
        assert pod.metadata.annotations[FAILURE_COUNT] == "0"
        control_plane.api.evict(pod, grace=0)
        control_plane.run()
        waits += [moment - failed_at for moment, what, _ in control_plane.events[-1:] if what == "created"]
    assert waits == [pytest.approx(10, abs=0.1), pytest.approx(20, abs=0.1)]
    assert _state(control_plane) == JobState(active=3, succeeded=0, failed=0, finished="")


def test_fewer_pods_of_an_indexed_job_have_different_indexes() -> None:
    control_plane = rested(*nodes(2), _indexed())
    twin = _pod_of(control_plane, 1)
    control_plane.api.create(replace(twin, metadata=replace(twin.metadata, name="twin", uid="twin")))
    assert len(control_plane.run().pods()) == 3
    control_plane.change("Job", "batch", parallelism=1)
    assert len(control_plane.run().pods()) == 1


def test_an_indexed_job_of_a_file_without_completions_has_no_index() -> None:
    control_plane = ControlPlane(*nodes(1))
    control_plane.api.create(_job(parallelism=2, completionMode="Indexed"))
    assert control_plane.run().pods() == {}


def test_more_failed_indexes_than_allowed_end_the_job() -> None:
    control_plane = rested(*nodes(2), _indexed(backoffLimitPerIndex=0, maxFailedIndexes=1))
    control_plane.api.delete(_pod_of(control_plane, 0))
    assert _state(control_plane.run()).finished == ""
    control_plane.api.delete(_pod_of(control_plane, 1))
    state = _state(control_plane.run())
    assert (state.active, state.finished) == (0, "Failed")


def test_a_rule_may_fail_the_index_at_once() -> None:
    control_plane = rested(*nodes(2), _indexed(backoffLimitPerIndex=9, podFailurePolicy=_policy("FailIndex")))
    control_plane.api.evict(_pod_of(control_plane, 2))
    assert _running(control_plane.run()) == 2


@pytest.mark.parametrize(
    ("rules", "done", "finished"),
    [
        pytest.param([{"succeededIndexes": "0"}], [0], "Complete", id="the index of the leader"),
        pytest.param([{"succeededIndexes": "0"}], [1], "", id="another index"),
        pytest.param([{"succeededIndexes": "0-2", "succeededCount": 2}], [0, 2], "Complete", id="so many of these"),
        pytest.param([{"succeededCount": 2}], [1], "", id="too few"),
        pytest.param([{"succeededCount": 2}], [1, 2], "Complete", id="so many"),
        pytest.param([{"succeededCount": 2}, {"succeededIndexes": "0"}], [0], "Complete", id="the second rule"),
    ],
)
def test_success_policy(rules: list[dict[str, Any]], done: list[int], finished: str) -> None:
    control_plane = rested(*nodes(2), _indexed(successPolicy={"rules": rules}))
    for index in done:
        pod = _pod_of(control_plane, index)
        control_plane.api.update(replace(pod, status=replace(pod.status, phase="Succeeded")))
    control_plane.run()
    assert _state(control_plane).finished == finished
    assert _running(control_plane) == (0 if finished else 3 - len(done))


def test_failed_indexes_of_the_input_stay_failed() -> None:
    status = {"failedIndexes": "0,1", "completedIndexes": "", "failed": 2}
    spec = {"parallelism": 3, "completions": 3, "completionMode": "Indexed", "backoffLimitPerIndex": 0}
    control_plane = ControlPlane(*nodes(2))
    control_plane.api.create(make("Job", "batch", template=_TEMPLATE, status=status, **spec))
    control_plane.run()
    assert [control_plane.pod(name).metadata.annotations[JOB_INDEX] for name in control_plane.pods()] == ["2"]


def test_coverage_names_the_fields_of_jobs_that_no_run_takes_into_account() -> None:
    loaded = loaded_of(_job(activeDeadlineSeconds=60), make("Job", "plain", template=_TEMPLATE))
    assert job_gaps(loaded) == ["Job default/batch: activeDeadlineSeconds"]
    loaded.objects[Job][0].spec.pod_failure_policy = _job(podFailurePolicy=_policy("Ignore")).spec.pod_failure_policy
    assert job_gaps(loaded) == ["Job default/batch: activeDeadlineSeconds, podFailurePolicy.onExitCodes"]
