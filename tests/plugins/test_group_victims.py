"""Workload-aware preemption: which pods leave for a whole pod group."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ksched_cli.api.workloads import PodGroupSpec
from ksched_cli.cli.main import run
from ksched_cli.config.model import KubeSchedulerProfile, PluginRef, Plugins, PluginSet, SchedulerConfiguration
from ksched_cli.releases.minors import RELEASES
from tests.builders import make_node, make_pod, write_list
from tests.harness import decide, make_scheduler
from tests.pod_groups import GANG, group, member

GATES = f"{GANG},WorkloadAwarePreemption=true"


def running(name: str, node: str, *, of: str = "", priority: int = 0, second: int = 1) -> Any:
    made = member(name, of) if of else make_pod(name).requests(cpu="1")
    return made.priority(priority).on(node).started(f"2026-01-01T00:00:{second:02d}Z").obj()


def gang(count: int = 2, priority: int = 100) -> list[Any]:
    return [member(f"p{index}").priority(priority).obj() for index in range(1, count + 1)]


def pod_group(name: str = "g", *, min_count: int | None = 2, priority: int | None = 100, mode: str = "") -> Any:
    made = group(name, min_count=min_count)
    made.spec.priority, made.spec.disruption_mode = priority, mode
    return made


def victims(pods: list[Any], *objects: Any, cpus: tuple[int, ...] = (1, 1)) -> tuple[list[str], str]:
    nodes = [make_node(f"n{index}").allocatable(cpu=cpu, pods=10).obj() for index, cpu in enumerate(cpus, 1)]
    scheduler = make_scheduler(nodes, pods, objects=list(objects), gates=GATES)
    decide(scheduler)
    decision = next(each for key, each in scheduler.group_decisions.items() if key.name == "g")
    return sorted(name.partition("/")[2] for name in scheduler.cluster.pods.names_of(decision.victims)), decision.result


def test_as_few_pods_leave_as_the_group_needs() -> None:
    pods = [running("old", "n1"), running("young", "n2", second=9), running("third", "n3", second=5), *gang()]
    assert victims(pods, pod_group(), cpus=(1, 1, 1)) == (["third", "young"], "waiting")


def test_pods_of_the_priority_of_the_group_stay() -> None:
    pods = [running("same", "n1", priority=100), running("less", "n2"), *gang()]
    assert victims(pods, pod_group()) == ([], "unschedulable")


def test_the_priority_is_that_of_the_group_and_not_of_its_pods() -> None:
    pods = [running("one", "n1"), running("other", "n2"), *gang(priority=100)]
    assert victims(pods, pod_group(priority=None)) == ([], "unschedulable")


@pytest.mark.parametrize(
    ("mode", "leaving"),
    [
        pytest.param("PodGroup", ["w1", "w2"], id="a group that is disrupted as a whole"),
        pytest.param("Pod", ["alone", "w2"], id="pod by pod"),
    ],
)
def test_a_group_may_be_one_victim(mode: str, leaving: list[str]) -> None:
    """A pod by itself is less important than a group, and so leaves first where the group's pods leave one by one."""
    pods = [running("alone", "n3"), running("w1", "n1", of="w"), running("w2", "n2", of="w", second=2), *gang()]
    found = victims(pods, pod_group(), pod_group("w", min_count=None, priority=0, mode=mode), cpus=(1, 1, 1))
    assert found == (leaving, "waiting")


@pytest.mark.parametrize(("priority", "leaving"), [(1, ["w1", "w2"]), (0, [])])
def test_a_group_without_a_priority_has_the_lowest_that_is_not_negative(priority: int, leaving: list[str]) -> None:
    pods = [running("w1", "n1", of="w"), running("w2", "n2", of="w"), *gang()]
    weak = pod_group("w", min_count=None, priority=None, mode="PodGroup")
    assert victims(pods, pod_group(priority=priority), weak)[0] == leaving


def test_pods_that_never_preempt_hold_the_group_back() -> None:
    pods = [running("one", "n1"), running("other", "n2"), *gang()]
    pods[-1].spec.preemption_policy = "Never"
    assert victims(pods, pod_group()) == ([], "unschedulable")


@pytest.mark.parametrize(
    ("version", "gates", "api", "nodes"),
    [
        # The pod that completes the quorum goes first.
        ("1.36", GATES, "v1alpha2", ("n2", "n1")),
        ("1.37", "GenericWorkload=true", "v1beta1", ("n1", "n2")),
    ],
)
def test_victims_leave_and_the_group_comes(
    version: str, gates: str, api: str, nodes: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The priority of the group comes from its PriorityClass where the dump has none."""
    items = [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 100},
        {
            "apiVersion": f"scheduling.k8s.io/{api}",
            "kind": "PodGroup",
            "metadata": {"name": "g", "namespace": "default"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, "priorityClassName": "high"},
        },
        *(make_node(name).allocatable(cpu=1, pods=10).doc() for name in ("n1", "n2")),
        *(make_pod(f"old{n}").requests(cpu="1").on(f"n{n}").doc() for n in (1, 2)),
        *(member(f"p{n}").priority(100).doc() for n in (1, 2)),
    ]
    path = tmp_path / "cluster.json"
    write_list(path, *items)
    arguments = ["simulate", "--from", str(path), "--kube-version", version, "--feature-gates", gates]
    assert run(arguments) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "default/g waits for victims to leave" in shown
    assert "default/old1, default/old2" in shown
    assert run([*arguments, "--settle", "-o", "json"]) == 0
    final = {pod["pod"]: pod.get("node") for pod in json.loads(capsys.readouterr().out)["final"]}
    assert final == {"default/old1": None, "default/old2": None, "default/p1": nodes[0], "default/p2": nodes[1]}
    items[0]["metadata"]["name"] = "other"
    write_list(path, *items)
    assert run(arguments) == 2
    assert "no PriorityClass with name high was found" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("mode", "as_a_whole"),
    [
        pytest.param("PodGroup", True, id="v1alpha2, the group"),
        pytest.param("Pod", False, id="v1alpha2, single pods"),
        pytest.param({"all": {}}, True, id="v1beta1, the group"),
        pytest.param({"single": {}}, False, id="v1beta1, single pods"),
        pytest.param({}, False, id="v1beta1, none"),
    ],
)
def test_disruption_modes_of_each_version(mode: Any, as_a_whole: bool) -> None:
    """#138572: an object since v1alpha3."""
    spec = msgspec.convert({"disruptionMode": mode}, PodGroupSpec)
    assert spec.is_disrupted_as_a_whole is as_a_whole


@pytest.mark.parametrize(
    ("minor", "disabled", "runs"),
    [("1.36", False, True), ("1.37", False, True), ("1.37", True, False)],
)
def test_preemption_of_groups_is_a_point_of_1_37(minor: str, disabled: bool, runs: bool) -> None:
    """#139674."""
    off = PluginSet(disabled=(PluginRef("DefaultPreemption"),)) if disabled else PluginSet()
    profile = KubeSchedulerProfile(plugins=Plugins(pod_group_post_filter=off))
    configuration = SchedulerConfiguration(profiles=(profile,))
    scheduler = make_scheduler([], [], configuration=configuration, current=RELEASES[minor])
    (runtime,) = scheduler.runtimes.values()
    assert (runtime.profile.pod_group_post_filter is not None) is runs
