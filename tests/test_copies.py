"""Copies of a pod share what is equal: the pods that controllers create together, their decisions, outcomes and lines are
those of one pod after the other (--no-reuse)."""

from __future__ import annotations

import io
import json
import re
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs
from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.workloads import ResourceQuota
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.controlplane.api_server import ApiServer, PodRefusal
from ksched_cli.controlplane.controllers.replicaset import selector_of
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.controlplane.store import Store
from ksched_cli.framework.status import Status
from ksched_cli.plan.results.outcomes import Simulation
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.plugins.scheduling_gates import SchedulingGates
from ksched_cli.progress import listen
from ksched_cli.report.progress import RunProgress
from ksched_cli.report.registry import RenderOptions, document_of, render
from ksched_cli.report.view.simulate import PODS_WITH_NODES
from ksched_cli.sources import templates as naming
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.manifests import apply_items
from tests.builders import make_configuration, make_node, make_pod, make_workload
from tests.clusters import TAINTS, ZONES, nodes, pods
from tests.controlplane.test_created_pods import workload
from tests.harness import make_scheduler
from tests.lanes import examples
from tests.running import prepare

_CLASSES = ("", "high")
_SPREAD_KEYS = ("kubernetes.io/hostname", "topology.kubernetes.io/zone")


def deployment(name: str, replicas: int, **spec: Any) -> dict[str, Any]:
    return make_workload("Deployment", name, pod=spec, replicas=replicas)


@st.composite
def deployments(draw: st.DrawFn, name: str) -> dict[str, Any]:
    requests = {"cpu": draw(st.sampled_from(("0", "100m", "700m"))), "memory": draw(st.sampled_from(("0", "300Mi")))}
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}]}
    spec["priorityClassName"] = draw(st.sampled_from(_CLASSES))
    if draw(st.booleans()):
        key, value, effect = draw(st.sampled_from(TAINTS))
        spec["tolerations"] = [{"key": key, "operator": "Equal", "value": value, "effect": effect}]
    if draw(st.booleans()):
        rule = {"labelSelector": {"matchLabels": {"app": name}}, "topologyKey": draw(st.sampled_from(_SPREAD_KEYS))}
        when = draw(st.sampled_from(("DoNotSchedule", "ScheduleAnyway")))
        spec["topologySpreadConstraints"] = [{**rule, "maxSkew": draw(st.integers(1, 2)), "whenUnsatisfiable": when}]
    if draw(st.integers(0, 3)) == 0:
        spec["nodeSelector"] = {"topology.kubernetes.io/zone": draw(st.sampled_from(ZONES))}
    return deployment(name, draw(st.integers(0, 60)), **spec)


def entry(kind: str, item: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, **msgspec.to_builtins(item)}


@st.composite
def clusters(draw: st.DrawFn) -> list[dict[str, Any]]:
    names = [f"n{index}" for index in range(draw(st.integers(1, 6)))]
    objects = [entry("Node", draw(nodes(name))) for name in names]
    for index in range(draw(st.integers(0, 5))):
        objects.append(entry("Pod", draw(pods(f"old-{index}", on=draw(st.sampled_from(names))))))
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
    return [*objects, high]


STRATEGIES = ("LeastAllocated", "MostAllocated")


def configuration(strategy: str) -> dict[str, Any]:
    scoring = {"type": strategy, "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 2}]}
    plugin = {"name": "NodeResourcesFit", "args": {"scoringStrategy": scoring}}
    return make_configuration({"pluginConfig": [plugin]})


def shown(simulation: Simulation) -> tuple[dict[str, Any], str]:
    """The document without its times, and the table."""
    document = document_of(simulation, RenderOptions("json"))
    del document["stats"]
    table = io.StringIO()
    render(simulation, table, RenderOptions("table", width=200))
    return document, table.getvalue()


def lines(simulation: Simulation) -> list[tuple[Any, ...]]:
    """What a line of the table shows of each pod."""
    return [
        (
            outcome.pod,
            outcome.result,
            outcome.node,
            outcome.nominated_node,
            outcome.feasible_nodes,
            outcome.total_nodes,
            outcome.top[0].total if outcome.top else None,
            list(outcome.ties[: min(len(outcome.ties), 4)]),
            len(outcome.ties),
            outcome.failures if outcome.result != "scheduled" else (),
        )
        for outcome in simulation.outcomes
    ]


@pytest.mark.slow
@given(
    cluster=clusters(),
    manifests=st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True).flatmap(
        lambda numbers: st.tuples(*(deployments(f"d{number}") for number in numbers))
    ),
    strategy=st.sampled_from(STRATEGIES),
    seed=st.sampled_from((None, 1, 7)),
)
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_copies_end_as_they_do_one_after_the_other(
    tmp_path: Path,
    cluster: list[dict[str, Any]],
    manifests: tuple[dict[str, Any], ...],
    strategy: str,
    seed: int | None,
) -> None:
    file = tmp_path / "manifests.json"
    file.write_text("\n".join(json.dumps(each) for each in manifests))
    options = RunOptions(
        objects=cluster,
        filenames=(str(file),),
        config=configuration(strategy),
        tie_break="name" if seed is None else "random",
        seed=seed or 0,
    )
    together = shown(prepare(options).simulate())
    with patch.object(ApiServer, "_create_together", lambda self, owner, first, names: None):
        alone = shown(prepare(replace(options, reuse=False)).simulate())
    assert together == alone
    assert shown(prepare(options).simulate(brief_above=PODS_WITH_NODES))[1] == alone[1]
    brief = lines(prepare(options).simulate(brief_above=0))
    # What a line shows of each pod, also where fewer pods would have more than a line.
    assert brief == lines(prepare(replace(options, reuse=False)).simulate())


def test_many_copies_that_fail_alike_share_a_line() -> None:
    one = {"requests": {"cpu": "1"}}
    cluster = [entry("Node", make_node("n0").allocatable(cpu=2, pods=110).obj())]
    simulation = prepare(
        RunOptions(
            objects=[*cluster, *(entry("Pod", _pending(f"{name}-{index:02}", **one)) for name, index in _names())]
        )
    ).simulate()
    rows = [re.split("  +", line) for line in shown(simulation)[1].splitlines()[2:]]
    assert [row[:3] for row in rows[:2]] == [["POD", "RESULT", "NODE"], ["2 pods of default/a-*", "scheduled", "n0"]]
    assert rows[2:] == [
        ["48 pods of default/a-*", "unschedulable", "0/1", "1 node lacks cpu"],
        ["3 pods of default/b-*", "unschedulable", "0/1", "1 node lacks cpu"],
    ]
    assert len(simulation.outcomes) == 53


def test_very_many_copies_are_counted_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies of a long run share their values, and not their names."""
    cluster = [entry("Node", make_node("n0").allocatable(cpu=2, pods=110).obj())]
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "none"}}
    large = [entry("Pod", _pending(f"c-{index:02}", requests={"memory": "9Ti"})) for index in range(30)]
    # PreFilter rejects these: they have no failures of nodes, and rows of their own.
    large += [entry("Pod", make_pod(f"d{index:02}-x").spec(volumes=[claim]).obj()) for index in range(30)]
    small = [entry("Pod", _pending(f"{name}-{index:02}", requests={"cpu": "1"})) for name, index in _names()]
    simulation = prepare(RunOptions(objects=[*cluster, *small, *large])).simulate()
    expected = shown(simulation)[1]
    assert "30 pods of default/c-*" in expected
    assert "default/d29-x " in expected
    monkeypatch.setattr("ksched_cli.report.view.stream._VERY_MANY", 5)
    assert shown(simulation)[1] == expected


def _names() -> list[tuple[str, int]]:
    return [*(("a", index) for index in range(50)), *(("b", index) for index in range(3))]


def _pending(name: str, requests: dict[str, str]) -> Pod:
    return make_pod(name).requests(**requests).obj()


# The creation of copies


@dataclass
class Created:
    """What a control plane makes of a ReplicaSet."""

    pods: list[Pod]
    refused: list[PodRefusal]
    active: tuple[int, int]
    successors: dict[str, Pod]


def created(replicas: int, *, together: bool, quota: int | None = None, lost: int = 0) -> Created:
    """`lost` pods of the set are deleted first."""
    item = workload("ReplicaSet", replicas=lost)
    cluster = Loaded()
    if quota is not None:
        hard = {"metadata": {"name": "few", "namespace": "default"}, "spec": {"hard": {"pods": str(quota)}}}
        cluster.add(msgspec.convert(hard, ResourceQuota))
    plane = ControlPlane(Store(cluster), places_everything=True)
    apply_items(plane, [item])
    for pod in plane.store.pods_of(item):
        plane.api.delete(pod, grace=0)
    one_by_one = nullcontext() if together else patch.object(ApiServer, "_create_together", lambda *_: None)
    with one_by_one:
        apply_items(plane, [workload("ReplicaSet", replicas=replicas)])
        plane.run()
    store = plane.store
    refused = [each for found in plane.api.refusals.values() for each in found.values()]
    active = store.count_active(item, selector_of(item))
    return Created(store.pods_of(item), refused, active, dict(plane.api.successors.replaced))


@pytest.mark.parametrize(
    ("replicas", "more"),
    [
        pytest.param(0, {}, id="none"),
        pytest.param(1, {}, id="one"),
        pytest.param(40, {}, id="many"),
        pytest.param(40, {"quota": 7}, id="a quota for some"),
        pytest.param(5, {"quota": 0}, id="a quota for none"),
        pytest.param(9, {"lost": 3}, id="some take the place of others"),
        pytest.param(2, {"lost": 3}, id="all take the place of others"),
    ],
)
def test_pods_created_together_are_those_created_one_by_one(replicas: int, more: dict[str, int]) -> None:
    found = created(replicas, together=True, **more)
    assert found == created(replicas, together=False, **more)
    assert len(found.pods) + len(found.refused) == replicas
    assert len({pod.metadata.uid for pod in found.pods}) == len(found.pods)


def test_names_stay_unique_where_generated_names_collide() -> None:
    with patch.object(naming, "_SUFFIX", 1):
        found = created(20, together=True)
        assert found == created(20, together=False)
    assert len({pod.metadata.name for pod in found.pods}) == 20


class Interrupting(RunProgress):
    """Ctrl-C after so many items."""

    def advance(self) -> None:
        super().advance()
        if self.done == 30:
            raise KeyboardInterrupt


def test_an_interrupt_reports_how_many_pods_were_created() -> None:
    progress = Interrupting(bar=False)
    listen(progress)
    try:
        with pytest.raises(KeyboardInterrupt):
            created(1000, together=True)
    finally:
        listen(None)
    assert progress.summary() == "interrupted: 30 of 1,000 pods were created"


def test_preenqueue_plugins_see_one_of_the_copies() -> None:
    seen: list[str] = []
    original = SchedulingGates.pre_enqueue

    def noted(self: SchedulingGates, info: PodInfo) -> Status:
        seen.append(info.name)
        return original(self, info)

    first = make_pod("c-0").obj()
    copies = [first, *(Pod(structs.replace(first.metadata, name=f"c-{at}"), first.spec, first.status) for at in (1, 2))]
    gated = make_pod("gated").spec(schedulingGates=[{"name": "wait"}]).obj()
    for reuse in (True, False):
        seen.clear()
        with patch.object(SchedulingGates, "pre_enqueue", noted):
            scheduler = make_scheduler([make_node("n0").obj()], [*copies, gated], reuse=reuse)
            queue = scheduler.enqueue()
        assert len(queue.active) == 3
        assert len(queue.gated) == 1
        assert seen == (["c-0", "gated"] if reuse else ["c-0", "c-1", "c-2", "gated"])
