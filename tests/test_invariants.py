"""What holds of every whole run, on random clusters."""

from __future__ import annotations

import copy
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.api.dynamic_resources import ResourceClaim
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.plugins.default_preemption import Evaluator
from ksched_cli.report.registry import RenderOptions, document_of
from tests.builders import make_node, make_pod, write_list
from tests.clusters import clusters, nodes, pods
from tests.harness import decide, make_scheduler
from tests.lanes import examples, sampled
from tests.plugins.lib.devices.resources import devices, exactly, make_claim, make_class, make_slice
from tests.plugins.storage import claim, volume
from tests.running import prepare
from tests.test_conformance import CASES


@st.composite
def workloads(draw: st.DrawFn) -> tuple[list[Any], list[Any]]:
    """Nodes and pods, some running where they fit at first, some pending."""
    made, running, first = draw(clusters(max_nodes=4, max_running=5))
    pending = [draw(pods(f"p{index}")) for index in range(draw(st.integers(0, 5)))]
    return made, [*running, first, *pending]


@pytest.mark.slow
@given(workloads())
@settings(max_examples=examples(80), deadline=None)
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


@pytest.mark.slow
@given(workloads())
@settings(max_examples=examples(80), deadline=None)
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


@pytest.mark.slow
@given(workloads())
@settings(max_examples=examples(80), deadline=None)
def test_victims_have_lower_priority_than_their_preemptor(drawn: Any) -> None:
    scheduler = make_scheduler(*drawn)
    for decision in decide(scheduler).values():
        for victim in decision.preemption.victims if decision.preemption else ():
            assert scheduler.cluster.pods.priority[victim] < decision.pod.priority


@pytest.mark.slow
@given(workloads(), st.randoms(use_true_random=False))
@settings(max_examples=examples(60), deadline=None)
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


@pytest.mark.slow
@given(workloads())
@settings(max_examples=examples(60), deadline=None)
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


@pytest.mark.slow
@given(st.data())
@settings(max_examples=examples(80), deadline=None)
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


@st.composite
def device_workloads(draw: st.DrawFn) -> tuple[list[Any], list[Any], list[Any]]:
    """Nodes with some devices each, claims for some of them, and pods that share some of the claims."""
    names = [f"n{index}" for index in range(draw(st.integers(1, 3)))]
    made = [make_node(name).allocatable(cpu="4", memory="4Gi", pods=draw(st.integers(1, 4))).obj() for name in names]
    slices = [
        make_slice(f"slice-{name}", devices(*(f"d{index}" for index in range(draw(st.integers(0, 3))))), node=name)
        for name in names
    ]
    claims = [
        make_claim(f"claim-{index}", exactly(count=draw(st.integers(1, 2)))) for index in range(draw(st.integers(1, 5)))
    ]
    waiting = []
    for index in range(draw(st.integers(1, 6))):
        wanted = draw(
            st.lists(st.sampled_from([each.metadata.name for each in claims]), min_size=1, max_size=2, unique=True)
        )
        references = [{"name": name, "resourceClaimName": name} for name in wanted]
        builder = make_pod(f"p{index}").uid(f"uid-p{index}").priority(draw(st.integers(0, 1)))
        waiting.append(builder.requests(cpu=draw(st.sampled_from(("1", "3")))).spec(resourceClaims=references).obj())
    return made, waiting, [make_class(), *slices, *claims]


@pytest.mark.slow
@given(device_workloads())
@settings(max_examples=examples(150), deadline=None)
def test_no_device_is_given_out_twice_and_none_on_another_node(drawn: Any) -> None:
    made, waiting, objects = drawn
    scheduler = make_scheduler(made, waiting, objects=objects)
    decisions = decide(scheduler)
    given_out: Counter[tuple[str, str, str]] = Counter()
    pools: dict[str, set[str]] = {}
    for each in scheduler.cluster.catalog.all(ResourceClaim):
        results = each.status.allocation.devices.results if each.status.allocation else ()
        given_out.update((result.driver, result.pool, result.device) for result in results)
        pools[each.metadata.name] = {result.pool for result in results}
    assert all(times == 1 for times in given_out.values())
    for decision in decisions.values():
        if decision.row is not None:
            node = scheduler.cluster.nodes.names[decision.row]
            for reference in decision.pod.pod.spec.resource_claims:
                assert pools[reference.resource_claim_name] == {node}


@st.composite
def claim_workloads(draw: st.DrawFn) -> tuple[list[Any], list[Any], list[Any]]:
    """Pods that mount claims, some of which one pod at a time may use."""
    names = ["x", "y", "z"]
    alone = draw(st.sets(st.sampled_from(names), min_size=1))
    modes = {name: ("ReadWriteOncePod",) if name in alone else ("ReadWriteMany",) for name in names}
    claims = [claim(name, volume=f"pv-{name}", modes=modes[name]) for name in names]
    volumes = [volume(f"pv-{name}", owner=name, modes=modes[name], phase="Bound") for name in names]
    made = [make_node(f"n{index}").allocatable(cpu="4", memory="4Gi", pods=4).obj() for index in range(2)]
    waiting = []
    for index in range(draw(st.integers(2, 6))):
        wanted = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
        mounts = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in wanted]
        builder = make_pod(f"p{index}").uid(f"uid-p{index}").priority(draw(st.integers(0, 2)))
        waiting.append(builder.requests(cpu="1").spec(volumes=mounts).obj())
    return made, waiting, [*claims, *volumes]


@pytest.mark.slow
@given(claim_workloads())
@settings(max_examples=examples(150), deadline=None)
def test_a_claim_for_one_pod_is_used_by_one_pod(drawn: Any) -> None:
    made, waiting, objects = drawn
    scheduler = make_scheduler(made, waiting, objects=objects)
    decisions = decide(scheduler)
    alone = {each.metadata.name for each in objects if "ReadWriteOncePod" in each.spec.access_modes}
    users: Counter[str] = Counter()
    for decision in decisions.values():
        if decision.row is not None:
            users.update(mount.persistent_volume_claim.claim_name for mount in decision.pod.pod.spec.volumes)
    assert all(users[name] <= 1 for name in alone)
    # The first pod in line has every claim to itself.
    assert next(iter(decisions.values())).row is not None


def simulated(items: list[Any], case: Path, folder: Path) -> dict[str, Any]:
    path = folder / "cluster.json"
    write_list(path, *items)
    config = case / "config.yaml"
    setup = RunOptions([str(path)], config=str(config) if config.exists() else None)
    document = document_of(prepare(setup).simulate(detail=True), RenderOptions("json"))
    del document["stats"]
    return document


@pytest.mark.slow
@pytest.mark.parametrize("case", sampled(CASES, 30))
def test_the_order_of_objects_in_the_input_does_not_matter(case: Path, tmp_path: Path) -> None:
    items = json.loads((case / "cluster.json").read_text())["items"]
    turned = sorted(items, key=lambda item: json.dumps(item)[::-1])
    assert turned != items
    assert simulated(turned, case, tmp_path) == simulated(items, case, tmp_path)
