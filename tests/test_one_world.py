"""One world: the same change made by any command ends in the same state, and nothing gets lost on the way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.api.core import Pod
from ksched_cli.api.decode import KINDS as KINDS_BY_VERSION
from ksched_cli.api.object_facts import is_ready, is_terminal, pod_key
from ksched_cli.api.selectors import compile_selector
from ksched_cli.api.workloads import PodDisruptionBudget, ReplicaSet, StatefulSet
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.plan.settle import SettleRun
from ksched_cli.report.view.documents import final_entry
from ksched_cli.simulator import Simulator
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.changes import Changes
from ksched_cli.wiring import load_input
from ksched_cli.world.results import FinalPod, Limits, WorldResult
from ksched_cli.world.world import World
from tests.builders import make_node, make_object, write_list
from tests.lanes import examples
from tests.running import check, compare, settle

# An edit, as flag and text, or a manifest.
Change = tuple[str, str] | dict[str, Any]
LIMITS = Limits(max_time=1800.0, max_cycles=2000)


CLASSES: list[dict[str, Any]] = [make_object("PriorityClass", f"class-{value}", value=value) for value in (0, 10, 100)]


def template(app: str, cpu: int, priority: int) -> dict[str, Any]:
    container = {"name": "main", "image": "registry.local/app:v1", "resources": {"requests": {"cpu": str(cpu)}}}
    return {
        "metadata": {"labels": {"app": app}},
        "spec": {"containers": [container], "priorityClassName": f"class-{priority}"},
    }


def workload(kind: str, app: str, replicas: int, cpu: int, priority: int) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "selector": {"matchLabels": {"app": app}},
        "template": template(app, cpu, priority),
        **({"serviceName": app} if kind == "StatefulSet" else {}),
        **({"replicas": replicas} if kind != "DaemonSet" else {}),
    }
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": app, "namespace": "shop"}, "spec": spec}


def budget(app: str, field: str, amount: int) -> dict[str, Any]:
    spec = {"selector": {"matchLabels": {"app": app}}, field: amount}
    return make_object("PodDisruptionBudget", app, spec, namespace="shop")


def node(name: str, cpu: int) -> dict[str, Any]:
    return make_node(name).allocatable(cpu=str(cpu), memory="16Gi", pods="110").doc()


KINDS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")
amounts, priorities = st.integers(1, 3), st.sampled_from([0, 10, 100])


@st.composite
def situations(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[dict[str, Any]], Change]:
    """Nodes, workloads with budgets, and a change."""
    nodes = [node(f"n{number}", draw(st.integers(2, 4))) for number in range(draw(st.integers(2, 3)))]
    made, kinds = [], {}
    for app in ("a", "b", "c")[: draw(amounts)]:
        kinds[app] = draw(st.sampled_from(KINDS))
        made.append(workload(kinds[app], app, draw(amounts), draw(st.integers(1, 2)), draw(priorities)))
        if draw(st.booleans()):
            made.append(budget(app, draw(st.sampled_from(["minAvailable", "maxUnavailable"])), draw(st.integers(0, 2))))
    name = f"n{draw(st.integers(0, len(nodes) - 1))}"
    scaled = [f"{kinds[app].lower()}/shop/{app}" for app in kinds if kinds[app] != "DaemonSet"]
    edits: list[Change] = [
        ("cordon", name),
        ("drain", name),
        ("remove-node", name),
        ("clone-node", name),
        ("taint", f"{name}=t=v:NoSchedule"),
        ("taint", f"{name}=t=v:NoExecute"),
        *(("scale", f"{each}={draw(st.integers(0, 4))}") for each in scaled),
        ("delete", f"{kinds['a'].lower()}/shop/a"),
        workload("Deployment", "new", draw(amounts), draw(st.integers(1, 2)), draw(priorities)),
        workload(kinds["a"], "a", draw(amounts), draw(st.integers(1, 3)), draw(priorities)),
    ]
    return nodes, made, draw(st.sampled_from(edits))


def at_rest(nodes: list[dict[str, Any]], workloads: list[dict[str, Any]], folder: Path) -> Loaded:
    """The nodes with the workloads applied, once nothing moves."""
    world, changes = begun(
        RunOptions(objects=[*CLASSES, *nodes], filenames=[write_list(folder / "workloads.json", *workloads)])
    )
    world.apply(changes)
    assert world.run(LIMITS) == "settled"
    return world.plane.store.as_loaded()


def begun(setup: RunOptions) -> tuple[World, Changes]:
    source, changes = load_input(setup)
    return SettleRun(source).world, changes


def objects_of(loaded: Loaded) -> list[Any]:
    return [item for items in loaded.objects.values() for item in items]


# Drivers


def setup_of(cluster: Loaded, change: Change, folder: Path) -> RunOptions:
    setup = RunOptions(objects=objects_of(cluster))
    if isinstance(change, dict):
        return RunOptions(objects=setup.objects, filenames=[write_list(folder / "change.json", change)])
    return RunOptions(objects=setup.objects, edits=[change])


def by_settling(cluster: Loaded, change: Change, folder: Path) -> WorldResult:
    return settle(setup_of(cluster, change, folder), LIMITS)


def by_scenario(cluster: Loaded, change: Change, folder: Path) -> WorldResult:
    if isinstance(change, dict):
        step: dict[str, Any] = {"apply": Path(write_list(folder / "step.json", change)).name}
    else:
        words = change[0].split("-")
        step = {words[0] + "".join(word.title() for word in words[1:]): change[1]}
    scenario = folder / "scenario.yaml"
    scenario.write_text(json.dumps({"apiVersion": "ksched/v1", "kind": "Scenario", "steps": [step]}))
    return Simulator.of(RunOptions(objects=objects_of(cluster))).scenario(str(scenario), LIMITS).settle_result.world


def by_diff(cluster: Loaded, change: Change, folder: Path) -> WorldResult:
    return compare(RunOptions(objects=objects_of(cluster)), setup_of(cluster, change, folder)).diff.after


def by_python(cluster: Loaded, change: Change, folder: Path) -> WorldResult:
    simulator = Simulator.load(objects_of(cluster))
    if isinstance(change, dict):
        return simulator.apply(change).settle(LIMITS)
    flag, text = change
    if flag in ("taint", "scale"):
        target, _, value = text.partition("=")
        edited = simulator.taint(target, value) if flag == "taint" else simulator.scale(target, int(value))
    else:
        edited = getattr(simulator, flag.replace("-", "_"))(text)
    return edited.settle(LIMITS)


def by_check(cluster: Loaded, change: Change, folder: Path) -> WorldResult:
    return check(setup_of(cluster, change, folder)).world


def by_drain(cluster: Loaded, change: Change, folder: Path) -> WorldResult:
    """kubectl's flags with which an edit drains a node."""
    simulator = Simulator.of(RunOptions(objects=objects_of(cluster)))
    (trial,) = simulator.drain_nodes(
        change[1],  # type: ignore[index]
        force=True,
        ignore_daemonsets=True,
        delete_emptydir_data=True,
        every_pod=True,
    ).trials
    return trial.drain.world


Driver = Callable[[Loaded, Change, Path], WorldResult]
DRIVERS: Mapping[str, Driver] = {"scenario": by_scenario, "diff": by_diff, "python": by_python}
CHECK: Mapping[str, Driver] = {"check": by_check}
DRAIN: Mapping[str, Driver] = {"drain": by_drain}


def drivers_for(change: Change) -> Mapping[str, Driver]:
    """`check` takes manifests, `drain` drains."""
    if isinstance(change, dict):
        return {**DRIVERS, **CHECK}
    return {**DRIVERS, **DRAIN} if change[0] == "drain" else DRIVERS


def entries(result: WorldResult, driver: str = "") -> list[dict[str, Any]]:
    """The entries of `final`; for a drain without the number of attempts, for it gives pending pods a cycle before it
    cordons the node."""
    without = {"attempts"} if driver == "drain" else set()
    return [{key: value for key, value in final_entry(pod).items() if key not in without} for pod in result.final]


@pytest.mark.slow
@given(situations())
@settings(max_examples=examples(25))
def test_every_command_ends_in_the_same_state(drawn: Any) -> None:
    nodes, workloads, change = drawn
    with TemporaryDirectory() as name:
        folder = Path(name)
        cluster = at_rest(nodes, workloads, folder)
        settled = by_settling(cluster, change, folder)
        for driver, ends in drivers_for(change).items():
            found = ends(cluster, change, folder)
            assert (entries(found, driver), found.finished) == (entries(settled, driver), settled.finished), driver
            check_nothing_is_lost(cluster, found)
        check_nothing_is_lost(cluster, settled)


def check_nothing_is_lost(cluster: Loaded, settled: WorldResult) -> None:
    """Every pod from before is there or has gone for a reason that is stated."""
    told = {pod.pod for pod in settled.final}
    assert {pod_key(pod) for pod in cluster.of(Pod) if not is_terminal(pod)} <= told
    assert [pod for pod in settled.final if pod.state == "gone" and not pod.why] == []
    there = [pod.pod for pod in settled.final if pod.state != "gone"]
    assert len(there) == len(set(there))


@pytest.mark.slow
@given(situations())
@settings(max_examples=examples(40), deadline=None)
def test_no_eviction_breaks_a_budget(drawn: Any) -> None:
    nodes, workloads, change = drawn
    with TemporaryDirectory() as name:
        folder = Path(name)
        world, changes = begun(setup_of(at_rest(nodes, workloads, folder), change, folder))
        evict, store = world.api.evict, world.plane.store

        def watched(pod: Pod, *, grace: float | None = None) -> str:
            current = store.current(pod)
            was_ready = current is not None and is_ready(current) and current.metadata.deletion_timestamp is None
            refusal = evict(pod, grace=grace)
            if not refusal and was_ready:
                for each in budgets_of(store.as_loaded(), pod):
                    assert is_kept(store.as_loaded(), each), f"{pod_key(pod)} breaks budget {each.metadata.name}"
            return refusal

        world.api.evict = watched  # type: ignore[method-assign]
        world.apply(changes)
        world.run(LIMITS)


def budgets_of(cluster: Loaded, pod: Pod) -> Iterator[PodDisruptionBudget]:
    for each in cluster.of(PodDisruptionBudget):
        if compile_selector(each.spec.selector).matches(pod.metadata.labels):
            yield each


def is_kept(cluster: Loaded, wanted: PodDisruptionBudget) -> bool:
    """Counted without a look at the code under test: the healthy pods against what the budget asks for."""
    selector = compile_selector(wanted.spec.selector)
    pods = [pod for pod in cluster.of(Pod) if selector.matches(pod.metadata.labels) and not is_terminal(pod)]
    healthy = sum(is_ready(pod) and pod.metadata.deletion_timestamp is None for pod in pods)
    if wanted.spec.min_available is not None:
        return healthy >= int(wanted.spec.min_available)
    assert wanted.spec.max_unavailable is not None
    app = wanted.metadata.name
    sets = [
        each
        for each in cluster.of(ReplicaSet)
        if each.spec.template and each.spec.template.metadata.labels["app"] == app
    ]
    scaled = [*sets, *(each for each in cluster.of(StatefulSet) if each.metadata.name == app)]
    return healthy >= sum(each.spec.replicas or 0 for each in scaled) - int(wanted.spec.max_unavailable)


@pytest.mark.parametrize("driver", [*DRIVERS, *CHECK])
def test_a_pending_pod_that_preempts_a_daemon_sets_pod(driver: str, tmp_path: Path) -> None:
    """The DaemonSet's new pod is Pending, whatever command is asked."""
    agents = workload("DaemonSet", "agents", 0, 2, 0)
    cluster = at_rest([node("n1", 2), node("n2", 4)], [agents], tmp_path)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "urgent", "namespace": "shop"}, "spec": template("urgent", 4, 10)["spec"]}  # fmt: skip
    found = {**DRIVERS, **CHECK}[driver](cluster, pod, tmp_path)
    (pending,) = found.unplaced
    assert (pending.workload, pending.state) == ("DaemonSet/shop/agents", "unschedulable")
    assert pending.replaces in lost(found.final)


def documents(cluster: Loaded) -> list[dict[str, Any]]:
    version_of = {name: version for version, name in KINDS_BY_VERSION}
    return [
        {"apiVersion": version_of[kind.__name__], "kind": kind.__name__, **msgspec.to_builtins(item)}
        for kind, items in cluster.objects.items()
        for item in items
    ]


def lost(final: tuple[FinalPod, ...]) -> dict[str, str]:
    return {pod.pod: pod.why for pod in final if pod.state == "gone"}
