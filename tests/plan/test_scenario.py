"""Scenarios: what each expectation asks, and what one step leaves to the next."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ksched_cli.errors import ExpectationFailed, InputError
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.plan.scenario import CheckedExpectation, ScenarioRun
from ksched_cli.simulator import Simulator
from tests.builders import PodBuilder, make_node, make_pod, write_list
from tests.running import load


def of_set(name: str, cpu: str = "1", **labels: str) -> PodBuilder:
    """A pod of ReplicaSet `web`."""
    return make_pod(name).label(app="web", **labels).requests(cpu=cpu).owner("ReplicaSet", "web")


def play(tmp_path: Path, items: list[Any], *steps: dict[str, Any]) -> ScenarioRun:
    options = _setup(tmp_path, items, *steps)
    assert options.scenario is not None
    return Simulator.of(options).scenario(options.scenario)


def checks_of(run: ScenarioRun) -> list[CheckedExpectation]:
    return [check for step in run.steps for check in step.checks]


def _setup(tmp_path: Path, items: list[Any], *steps: dict[str, Any]) -> RunOptions:
    cluster, scenario = tmp_path / "cluster.json", tmp_path / "scenario.yaml"
    write_list(cluster, *items)
    scenario.write_text(json.dumps({"apiVersion": "ksched/v1", "kind": "Scenario", "steps": steps}))
    return RunOptions(sources=[str(cluster)], scenario=str(scenario))


# Two zones of one node each with 4 cpus; two of web run in zone a, and one more waits.
NODES = [
    make_node("a-1").zone("a"),
    make_node("b-1").zone("b"),
    make_node("old").zone("b").cordoned().allocatable(cpu="0"),
]
PODS = [of_set("web-1").on("a-1"), of_set("web-2").on("a-1"), of_set("web-3"), make_pod("big").requests(cpu="9")]


@pytest.mark.parametrize(
    ("expect", "against"),
    [
        pytest.param({"schedulable": True}, ["default/big: 0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu. no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."], id="one does not fit"),
        pytest.param({"schedulable": False}, [], id="one does not, as expected"),
        pytest.param({"schedulable": ["replicaset/web", "pod/default/web-3"]}, [], id="those that are named do"),
        pytest.param({"schedulable": "pod/web-*"}, [], id="by a pattern"),
        pytest.param({"unschedulable": "pod/big"}, [], id="unschedulable"),
        pytest.param({"unschedulable": "pod/web-1"}, ["default/web-1 is on a-1"], id="unschedulable, and it is not"),
        pytest.param({"on": {"rs/web": ["a-*", "b-1"]}}, [], id="on these"),
        pytest.param({"on": {"rs/web": "a-1"}}, ["default/web-3 is on b-1"], id="one is elsewhere"),
        pytest.param({"on": {"pod/big": "a-1"}}, ["default/big has no node: 0/3"], id="one is nowhere"),
        pytest.param({"notOn": {"rs/web": "old", "pod/big": "*"}}, [], id="not there"),
        pytest.param({"notOn": {"rs/web": ["b-1", "old"]}}, ["default/web-3 is on b-1"], id="one is there"),
        pytest.param({"spread": {"of": "rs/web", "topologyKey": "zone"}}, [], id="spread well"),
        pytest.param({"spread": [{"of": "rs/web", "topologyKey": "kubernetes.io/hostname", "maxSkew": 0}]}, ["a-1 2, b-1 1: they differ by 1"], id="spread badly, a cordoned node does not count"),
        pytest.param({"spread": {"of": "pod/web-1", "topologyKey": "zone", "maxSkew": 0}}, ["a 1, b 0: they differ by 1"], id="a zone that none is in counts"),
        pytest.param({"noPreemption": True}, [], id="no preemption"),
        pytest.param({"survives": {"zone": 1}}, [], id="a zone may be lost"),
        pytest.param({"survives": {"topology.kubernetes.io/zone": 2}}, ["without a, b: default/web-"] * 3, id="both may not"),
    ],
)  # fmt: skip
def test_expectations(expect: dict[str, Any], against: list[str], tmp_path: Path) -> None:
    result = play(tmp_path, [*NODES, *PODS], {"expect": expect})
    found = [line for check in checks_of(result) for line in check.against]
    assert len(found) == len(against)
    assert all(line.startswith(wanted) for line, wanted in zip(found, against, strict=True))
    assert bool(result.failed) is bool(against)


def test_no_preemption_names_who_has_to_go(tmp_path: Path) -> None:
    items = [make_node("n"), of_set("low", "3").on("n").priority(1), make_pod("high").requests(cpu="3").priority(9)]
    result = play(tmp_path, items, {"expect": {"noPreemption": True}}, {"expect": {"on": {"pod/high": "n"}}})
    assert [check.against for check in checks_of(result)] == [
        ("default/high preempts default/low on n",),
        (),
    ]
    # In the same step the victim is gone, whom it left for has its place, and its successor finds none.
    (first, _) = result.steps
    placed = {outcome.pod: outcome.node for outcome in first.pods}
    assert placed.pop("default/high") == "n"
    assert list(placed.values()) == [""]
    assert first.preempting[0].preemption is not None


def test_to_survive_by_preemption_is_not_to_survive(tmp_path: Path) -> None:
    items = [
        make_node("a"),
        make_node("b"),
        of_set("high", "3").on("a").priority(9),
        of_set("low", "3").on("b").priority(1),
    ]
    (check,) = checks_of(play(tmp_path, items, {"expect": {"survives": {"node": 1}}}))
    assert len(check.against) == 2
    assert check.against[0].startswith("without a: default/web-")
    assert check.against[0].endswith("it would have to preempt default/low on b")


def test_a_pod_that_waited_before_may_preempt(tmp_path: Path) -> None:
    """`late` keeps away from `guard`, until the node of `guard` is lost. Only its victim has no place then."""
    term = {"topologyKey": "topology.kubernetes.io/zone", "labelSelector": {"matchLabels": {"app": "guard"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    items = [
        make_node("a").zone("z"),
        make_node("b").zone("z"),
        make_pod("guard").label(app="guard").requests(cpu="1").on("a").priority(100),
        of_set("low", "4").on("b").priority(1),
        make_pod("late").requests(cpu="2").priority(9).spec(affinity=apart),
    ]
    (check,) = checks_of(play(tmp_path, items, {"expect": {"survives": {"node": 1}}}))
    assert [text.partition(":")[0] for text in check.against] == ["without a", "without b"]
    assert all(text.partition(": ")[2].startswith("default/web-") for text in check.against)


def test_what_one_step_has_placed_is_there_in_the_next(tmp_path: Path) -> None:
    items = [make_node("n"), make_pod("first").requests(cpu="3")]
    manifest = tmp_path / "second.json"
    manifest.write_text(json.dumps(make_pod("second").requests(cpu="2").doc()))
    steps = [
        {"expect": {"on": {"pod/first": "n"}}},
        {"apply": "second.json", "expect": {"unschedulable": "pod/second", "on": {"pod/first": "n"}}},
        {"addNode": "cpu=2,name=m", "expect": {"on": {"pod/second": "m"}, "schedulable": True}},
    ]
    result = play(tmp_path, items, *steps)
    assert [step.edits for step in result.steps] == [(), (f"apply {manifest}",), ("add-node cpu=2,name=m",)]
    assert result.failed == ()


def test_a_volume_that_one_step_has_bound_is_taken_in_the_next(tmp_path: Path) -> None:
    class Doc:
        def __init__(self, **fields: Any) -> None:
            self.fields = fields

        def doc(self) -> dict[str, Any]:
            return self.fields

    storage = Doc(
        apiVersion="storage.k8s.io/v1",
        kind="StorageClass",
        metadata={"name": "local"},
        provisioner="kubernetes.io/no-provisioner",
        volumeBindingMode="WaitForFirstConsumer",
    )
    volume = Doc(
        apiVersion="v1",
        kind="PersistentVolume",
        metadata={"name": "pv"},
        spec={"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "local"},
        status={"phase": "Available"},
    )
    claims = [
        Doc(
            apiVersion="v1",
            kind="PersistentVolumeClaim",
            metadata={"name": name, "namespace": "default"},
            spec={
                "storageClassName": "local",
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        )
        for name in ("one", "two")
    ]
    pods = [
        make_pod(name).spec(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": name}}])
        for name in ("one", "two")
    ]
    for first in (pods, pods[:1]):
        items: list[Any] = [make_node("n"), storage, volume, *claims, *first]
        (tmp_path / "two.json").write_text(json.dumps(pods[1].doc()))
        again = [] if len(first) == 2 else [{"apply": "two.json"}]
        result = play(tmp_path, items, {"expect": {"schedulable": "pod/one"}}, *again)
        assert result.failed == ()
        assert result.steps[-1].pods[-1].pod == "default/two"
        assert "didn't find available persistent volumes to bind" in result.steps[-1].pods[-1].message


def test_edits_that_the_run_itself_makes_impossible_are_told_with_their_line(tmp_path: Path) -> None:
    items = [
        make_node("n"),
        make_pod("low").requests(cpu="3").on("n").priority(1),
        make_pod("high").requests(cpu="3").priority(9),
    ]
    with pytest.raises(Exception, match=r'steps\[1\].delete: there is no Pod "low"'):
        play(tmp_path, items, {}, {"delete": "pod/low"})


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        pytest.param([{"expect": {"survives": {"node": 3}}}] , "any 3 of 100 are 161700 cases, and no more than 2000 are tried", id="too many cases"),
        pytest.param([{"apply": "nothing.yaml"}], "nothing.yaml: no such file or directory", id="no such manifest"),
        pytest.param([{"apply": "m\0.yaml"}], "m\0.yaml: not a path", id="a name that no file can have"),
        pytest.param([{"apply": "https://x/y.yaml"}], "https://x/y.yaml cannot be read here (give a file or a directory)", id="URL"),
        pytest.param([{"cordon": "n-1", "uncordon": "n-1"}], "steps[0].cordon: node n-1 is uncordoned by --uncordon (give one of the two)", id="contradiction"),
        pytest.param([{"addNode": "nope.yaml"}], "steps[0].addNode: nope.yaml: no such file or directory", id="no such template"),
        pytest.param([{"removeNode": "n-1"}, {"cordon": "n-1"}], 'steps[1].cordon: there is no node "n-1"', id="a node that an earlier step has removed"),
        pytest.param([{"expect": {"spread": {"of": "rs/web", "topologyKey": "a b"}}}], "'a b' cannot be a label's key (or one of node, zone, region)", id="not a label"),
        pytest.param([{"expect": {"schedulable": "nope"}}], "steps[0].expect.schedulable", id="no reference"),
        pytest.param([], "steps: there are no steps", id="no steps"),
        pytest.param([{"expect": {"schedulable": "pod/nope"}}], 'there is no Pod "nope"', id="a pod that is not there"),
        pytest.param([{"expect": {"unschedulable": "rs/nope"}}], 'there is no ReplicaSet "nope"', id="a workload that is not there"),
        pytest.param([{"expect": {"on": {"pod/nope": "n-1"}}}], 'there is no Pod "nope"', id="no pod to be on a node"),
        pytest.param([{"expect": {"spread": {"of": "rs/nope", "topologyKey": "node"}}}], 'there is no ReplicaSet "nope"', id="no workload to spread"),
        pytest.param([{"expect": {"on": {"namespace/default": ["n-1", "m-*"]}}}], 'there is no node "m-*"', id="the second of two nodes"),
        pytest.param([{"expect": {"spread": {"of": "namespace/default"}}}], "no node has the label topology.kubernetes.io/zone", id="no zones to spread over"),
        pytest.param([{"expect": {"survives": {"zone": 1}}}], "no node has the label topology.kubernetes.io/zone", id="no zones to survive"),
    ],
)  # fmt: skip
def test_mistakes(steps: list[dict[str, Any]], message: str, tmp_path: Path) -> None:
    items = [*(make_node(f"n-{number}") for number in range(100)), make_pod("p").on("n-1")]
    with pytest.raises(InputError) as raised:
        play(tmp_path, items, *steps)
    assert message in str(raised.value)


def test_as_many_losses_are_tried_as_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = [make_node(name).zone(name) for name in "abc"]
    step = {"expect": {"survives": {"node": 1, "zone": 2}}}
    monkeypatch.setattr("ksched_cli.whatif.scenario.MAX_CASES", 3)
    assert play(tmp_path, items, step).failed == ()
    with pytest.raises(InputError, match="any 2 of 4 are 6 cases, and no more than 3 are tried"):
        play(tmp_path, [*items, make_node("d").zone("d")], {"expect": {"survives": {"zone": 2}}})


def test_a_command_that_only_starts_from_a_scenario_stops_where_an_expectation_fails(tmp_path: Path) -> None:
    good = {"expect": {"on": {"pod/p": "n"}}}
    gathered = load(_setup(tmp_path, [make_node("n"), make_pod("p")], good))
    assert "Running" in str(msgspec.json.encode(gathered.loaded.objects[type(make_pod().obj())]))
    with pytest.raises(ExpectationFailed, match=r"scenario.yaml:1: not on n: pod/p: default/p is on n"):
        load(_setup(tmp_path, [make_node("n"), make_pod("p")], {"expect": {"notOn": {"pod/p": "n"}}}))
