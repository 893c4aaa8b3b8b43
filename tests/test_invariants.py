"""What holds of every whole run, on random clusters."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.framework.preemption.evaluator import Evaluator
from tests.builders import make_pod
from tests.clusters import clusters, nodes, pods
from tests.harness import decide, make_scheduler


@st.composite
def workloads(draw: st.DrawFn) -> tuple[list[Any], list[Any]]:
    """Nodes and pods, some running where they fit at first, some pending."""
    made, running, first = draw(clusters(max_nodes=4, max_running=5))
    pending = [draw(pods(f"p{index}")) for index in range(draw(st.integers(0, 5)))]
    return made, [*running, first, *pending]


@given(workloads())
@settings(max_examples=80, deadline=None)
def test_a_placed_pod_never_overfills_its_node(drawn: Any) -> None:
    scheduler = make_scheduler(*drawn)
    cluster = scheduler.cluster
    for decision in scheduler.run(scheduler.enqueue()):
        if decision.row is None:
            continue
        wanted = [resource for resource, _ in decision.pod.requests]
        used, limit = cluster.usage.requested[:, decision.row], cluster.nodes.allocatable[:, decision.row]
        assert (used[wanted] <= limit[wanted]).all()
        assert cluster.usage.pod_count[decision.row] <= cluster.nodes.allowed_pods[decision.row]


@given(workloads())
@settings(max_examples=80, deadline=None)
def test_no_placed_pod_takes_a_host_port_that_is_in_use(drawn: Any) -> None:
    scheduler = make_scheduler(*drawn)
    cluster = scheduler.cluster
    for decision in scheduler.run(scheduler.enqueue()):
        if decision.row is None:
            continue
        mine = decision.pod.host_ports
        for other in cluster.pods_on(decision.row):
            if other != decision.pod_row:
                for port in cluster.pods.infos[other].host_ports:
                    assert not any(
                        port[1:] == own[1:]
                        and (port.address == own.address or "0.0.0.0" in (port.address, own.address))
                        for own in mine
                    )


@given(workloads())
@settings(max_examples=80, deadline=None)
def test_victims_have_lower_priority_than_their_preemptor(drawn: Any) -> None:
    scheduler = make_scheduler(*drawn)
    for decision in decide(scheduler).values():
        for victim in decision.preemption.victims if decision.preemption else ():
            assert scheduler.cluster.pods.priority[victim] < decision.pod.priority


@given(workloads(), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_the_order_of_pods_in_the_input_does_not_matter(drawn: Any, random: Any) -> None:
    made, all_pods = drawn
    pending = [pod for pod in all_pods if not pod.spec.node_name]
    running = [pod for pod in all_pods if pod.spec.node_name]
    shuffled = list(pending)
    random.shuffle(shuffled)

    def outcome(order: list[Any]) -> dict[str, Any]:
        scheduler = make_scheduler(copy.deepcopy(made), copy.deepcopy([*running, *order]))
        names = scheduler.cluster.nodes.names
        return {
            key: (each.result, None if each.row is None else names[each.row], each.message)
            for key, each in decide(scheduler).items()
        }

    assert outcome(pending) == outcome(shuffled)


@given(workloads())
@settings(max_examples=60, deadline=None)
def test_a_pod_that_does_not_fit_leaves_the_columns_as_they_were(drawn: Any) -> None:
    scheduler = make_scheduler(*drawn)
    usage = scheduler.cluster.usage
    for row in scheduler.enqueue().active:
        before = usage.requested.copy(), usage.nonzero.copy(), usage.pod_count.copy(), [dict(p) for p in usage.pods]
        if scheduler.schedule(row).row is None:
            assert (usage.requested == before[0]).all()
            assert (usage.nonzero == before[1]).all()
            assert (usage.pod_count == before[2]).all()
            assert [list(p) for p in usage.pods] == [list(p) for p in before[3]]


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_the_batched_dry_run_equals_one_node_at_a_time(data: st.DataObject) -> None:
    names = [f"n{index}" for index in range(data.draw(st.integers(1, 4)))]
    made = [data.draw(nodes(name)) for name in names]
    running = [
        data.draw(pods(f"run-{index}", data.draw(st.sampled_from(names))))
        for index in range(data.draw(st.integers(1, 8)))
    ]
    pending = [
        make_pod(f"new-{index}").priority(data.draw(st.integers(9, 10))).requests(cpu=cpu).host_port(80).obj()
        for index, cpu in enumerate(data.draw(st.lists(st.sampled_from(("1", "2500m", "4")), min_size=1, max_size=4)))
    ]
    scheduler = make_scheduler(made, [*running, *pending])
    original = Evaluator.find_candidates
    compared = 0

    def both(self: Evaluator, cycle: Any, pod: Any, *, afresh: bool = False) -> Any:
        nonlocal compared
        batched, single = original(self, cycle, pod), original(self, cycle, pod, afresh=True)
        for row in range(len(names)):
            assert batched.statuses.status(row) == single.statuses.status(row)
        assert [batched.candidate(row) for row in batched.candidates] == [
            single.candidate(row) for row in single.candidates
        ]
        compared += 1
        return batched

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Evaluator, "find_candidates", both)
        failed = [each for each in decide(scheduler).values() if each.result == "unschedulable"]
    assert compared == len(failed)
