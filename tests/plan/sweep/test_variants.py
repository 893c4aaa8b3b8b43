"""A variant is what the other commands make of the same change."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.errors import ConfigError, KschedError
from ksched_cli.plan.sweep.statistics import VariantRow
from ksched_cli.plan.sweep.trials import VariantEnd, VariantRunner, seed_of
from ksched_cli.simulator import Simulator
from tests.builders import make_node, make_pod
from tests.lanes import sampled
from tests.plan.sweep.clusters import ZONE, cluster, node, owned_pod, replica_set

ITEMS = cluster(6, pending=6)


def placements(simulator: Simulator) -> dict[str, str]:
    """Pod to node of the pods that the run has placed."""
    final = simulator.settle().final
    return {pod.pod: pod.node for pod in final if pod.state == "scheduled"}


def placed(row: VariantRow) -> dict[str, str]:
    return {each.pod: each.node for each in row.pods if each.result == "scheduled"}


def rows(**words: Any) -> list[VariantRow]:
    return list(Simulator.load(ITEMS).sweep(**words))


def test_the_base_is_the_cluster_as_it_settles() -> None:
    run = Simulator.load(ITEMS).sweep(ties=1)
    base = VariantRunner(run._task).base().row
    assert placed(base) == placements(Simulator.load(ITEMS))
    assert base.figures is not None
    assert base.figures == run.result().base
    assert base.variant == -1
    assert base.figures.unschedulable == len(Simulator.load(ITEMS).settle().unplaced)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_new_nodes(number: int) -> None:
    row = rows(add_node="cpu=8,memory=16Gi,zone=zone-0=0..2")[number]
    simulator = Simulator.load(ITEMS)
    if number:
        simulator = simulator.add_node("cpu=8,memory=16Gi,zone=zone-0", number)
    assert placed(row) == placements(simulator)
    assert row.figures is not None
    assert row.figures.nodes == len(simulator.nodes)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_cloned_nodes(number: int) -> None:
    row = rows(clone_node="node-0=0..2")[number]
    simulator = Simulator.load(ITEMS)
    assert placed(row) == placements(simulator.clone_node("node-0", number) if number else simulator)


@pytest.mark.parametrize("replicas", sampled(range(1, 9), 8))
def test_replicas(replicas: int) -> None:
    row = rows(scale="replicaset/app-0=1..8")[replicas - 1]
    assert placed(row) == placements(Simulator.load(ITEMS).scale("replicaset/app-0", replicas))


def test_a_range_of_one_number() -> None:
    (row,) = rows(scale="replicaset/app-0=2..2")
    assert placed(row) == placements(Simulator.load(ITEMS).scale("replicaset/app-0", 2))


def test_a_pod_of_a_failed_node_preempts_another() -> None:
    """The strong pod may go to the node of the weak one only."""
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 10}
    container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": "4"}}}
    strong = {"containers": [container], "priorityClassName": "high", "nodeSelector": {ZONE: "a"}}
    weak = {"containers": [container]}
    items = [high, node("n0", "a"), node("n1", "a"), node("n2", "b")]
    items += [replica_set("strong", 1, {"spec": strong}), owned_pod("strong", 0, "n0", {**strong, "priority": 10})]
    items += [replica_set("weak", 1, {"spec": weak}), owned_pod("weak", 0, "n1", weak)]
    first, *_ = Simulator.load(items).sweep(fail="node")
    assert (first.at, first.outcome) == ({"fail": ["n0"]}, "evicts others")
    assert placed(first) == {"default/strong-0": "n1", "default/weak-0": "n2"}
    assert first.figures is not None
    assert (first.figures.preempted, first.figures.evicted) == (1, 1)
    assert first.reason == "default/weak-0 is preempted and moves to n2"


@pytest.mark.slow
@pytest.mark.parametrize("version", ["1.25", "1.30", "1.36"])
def test_minors(version: str) -> None:
    found = {row.at["kubeVersion"]: row for row in rows(kube_version="1.25,1.30,1.36")}
    assert placed(found[version]) == placements(Simulator.load(ITEMS, kube_version=version))


STRATEGY = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


@pytest.mark.parametrize("strategy", ["LeastAllocated", "MostAllocated"])
@pytest.mark.parametrize("weight", sampled([0, 1, 7], 3))
def test_configurations(strategy: str, weight: int) -> None:
    grid = {"strategies": ["LeastAllocated", "MostAllocated"], "weights": {"NodeResourcesFit": [0, 1, 7]}}
    found = {tuple(row.at["grid"].values()): row for row in rows(grid=grid)}
    score: dict[str, Any] = {"enabled": [{"name": "NodeResourcesFit", "weight": weight}]}
    profile = {
        "plugins": {"score": score if weight else {"disabled": [{"name": "NodeResourcesFit"}]}},
        "pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": strategy}}}],
    }
    assert placed(found[weight, strategy]) == placements(
        Simulator.load(ITEMS, config={**STRATEGY, "profiles": [profile]})
    )


def test_a_grid_changes_the_given_configuration_in_all_profiles() -> None:
    base = {**STRATEGY, "profiles": [{"schedulerName": "default-scheduler"}, {"schedulerName": "other"}]}
    sweep = Simulator.load(ITEMS, config=base).sweep(grid={"strategies": ["MostAllocated"]})
    (point,) = sweep._task.space.sweep.grid
    assert [profile["schedulerName"] for profile in point.configuration["profiles"]] == ["default-scheduler", "other"]
    assert all(profile["pluginConfig"] for profile in point.configuration["profiles"])
    assert "pluginConfig" not in base["profiles"][0]


@pytest.mark.parametrize(
    ("weight", "enabled", "disabled"),
    [
        pytest.param(
            7,
            [{"name": "ImageLocality", "weight": 5}, {"name": "NodeResourcesFit", "weight": 7}],
            [{"name": "TaintToleration"}],
            id="a weight in place of the given one",
        ),
        pytest.param(
            0,
            [{"name": "ImageLocality", "weight": 5}],
            [{"name": "TaintToleration"}, {"name": "NodeResourcesFit"}],
            id="no weight",
        ),
    ],
)
def test_a_weight_of_a_grid_leaves_the_other_plugins_as_they_are(
    weight: int, enabled: list[Any], disabled: list[Any]
) -> None:
    given = [{"name": "NodeResourcesFit", "weight": 3}, {"name": "ImageLocality", "weight": 5}]
    score = {"enabled": given, "disabled": [{"name": "TaintToleration"}]}
    base = {**STRATEGY, "profiles": [{"schedulerName": "default-scheduler", "plugins": {"score": score}}]}
    sweep = Simulator.load(ITEMS, config=base).sweep(grid={"weights": {"NodeResourcesFit": [weight]}})
    (point,) = sweep._task.space.sweep.grid
    assert point.configuration["profiles"][0]["plugins"]["score"] == {"enabled": enabled, "disabled": disabled}


def test_as_many_combinations_as_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ksched_cli.plan.sweep.model.MOST_POINTS", 6)
    words = {"strategies": ["LeastAllocated", "MostAllocated"], "weights": {"NodeResourcesFit": [0, 1, 7]}}
    assert len(Simulator.load(ITEMS).sweep(grid=words)) == 6
    words["weights"] = {"NodeResourcesFit": [0, 1, 7, 8]}
    with pytest.raises(KschedError, match="the grid has 8 combinations, and at most 6 are tried"):
        Simulator.load(ITEMS).sweep(grid=words)


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        pytest.param({}, "the grid has no value", id="empty"),
        pytest.param({"strategies": ["Most"]}, "scoringStrategy.type: 'Most' is not supported", id="no such strategy"),
        pytest.param({"weights": {"Nope": [1]}}, 'plugin "Nope" does not exist', id="no such plugin"),
        pytest.param({"weights": {"NodeResourcesFit": []}}, "NodeResourcesFit weight has no value", id="no weight"),
        pytest.param({"weight": {}}, "weight: no such field", id="unknown field"),
        pytest.param({"weights": {"A": list(range(101)), "B": list(range(100))}}, "at most 10,000", id="too many"),
        pytest.param("none.yaml", "none.yaml: no such file", id="no file"),
    ],
)
def test_bad_grids(grid: Any, message: str) -> None:
    with pytest.raises(KschedError) as raised:
        rows(grid=grid)
    assert message in str(raised.value)


def test_a_mistake_of_many_configurations_is_raised_once() -> None:
    grid = {"strategies": ["Most"], "weights": {"NodeResourcesFit": [1, 2, 3]}}
    with pytest.raises(ConfigError) as raised:
        rows(grid=grid)
    assert len(raised.value.problems) == 1


def test_the_grid_of_a_sweep_file_is_beside_it(tmp_path: Path) -> None:
    (tmp_path / "grid.yaml").write_text("strategies: [MostAllocated]\n")
    file = tmp_path / "sweep.yaml"
    file.write_text("apiVersion: ksched/v1\nkind: Sweep\ndimensions: {grid: grid.yaml}\n")
    (row,) = Simulator.load(ITEMS).sweep(file)
    assert row.at == {"grid": {"strategy": "MostAllocated"}}


@pytest.mark.slow
def test_tie_breaks() -> None:
    """The same draws as --tie-break random with this seed."""
    for row in rows(ties=5, seed=3):
        simulator = Simulator.load(ITEMS, tie_break="random", seed=seed_of(3, "tie", row.at["tie"]))
        assert placed(row) == placements(simulator)


def test_each_pod_comes_first_in_some_order() -> None:
    """One place, three pods that want it."""
    items = [make_node("a").allocatable(cpu="1", memory="1Gi", pods="10").doc()]
    items += [make_pod(f"new-{number}").uid(f"new-{number}").requests(cpu="1").doc() for number in range(3)]
    run = Simulator.load(items).sweep(orders=60)
    winners = Counter(pod for row in run for pod in placed(row))
    assert winners.keys() == {"default/new-0", "default/new-1", "default/new-2"}
    assert all(8 < count < 32 for count in winners.values())
    odds = {each.pod: dict(each.results) for each in run.result().pods}
    share = odds["default/new-0"]["scheduled"]
    assert share.low < 1 / 3 < share.high
    assert (share.variants, share.share) == (winners["default/new-0"], round(winners["default/new-0"] / 60, 6))


def test_a_higher_priority_comes_first_in_every_order() -> None:
    items = [make_node("a").allocatable(cpu="1", memory="1Gi", pods="10").doc()]
    items += [make_pod("low").uid("low").requests(cpu="1").doc(), make_pod("high").uid("high").requests(cpu="1").doc()]
    items[2]["spec"]["priority"] = 10
    assert {tuple(placed(row)) for row in Simulator.load(items).sweep(orders=10)} == {("default/high",)}


@pytest.mark.slow
def test_the_rows_of_a_variant_do_not_depend_on_those_before_it() -> None:
    words: dict[str, Any] = {"fail": "node", "orders": 2, "ties": 2, "scale": "replicaset/app-0=1..3"}
    forward = Simulator.load(ITEMS).sweep(**words)
    from ksched_cli.plan.sweep.trials import VariantRunner

    backward = VariantRunner(forward._task).run(reversed(range(len(forward))))
    assert sorted(backward, key=lambda row: row.variant) == list(forward)


def test_a_variant_that_raises_is_a_row_with_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from ksched_cli.plan.scenario import remove_nodes
    from ksched_cli.plan.sweep.trials import VariantRun

    end_of = VariantRun.end

    def end(run: VariantRun, variant: Any, **more: Any) -> VariantEnd:
        if variant.number == 2:
            # What the variant has changed so far is not in the next one.
            remove_nodes(run.world, variant.failing)
            raise ZeroDivisionError("of the third variant")
        return end_of(run, variant, **more)

    plain = rows(fail="node")
    monkeypatch.setattr(VariantRun, "end", end)
    found = rows(fail="node")
    assert (found[2].outcome, found[2].error) == ("error", "ZeroDivisionError: of the third variant")
    assert [*found[:2], *found[3:]] == [*plain[:2], *plain[3:]]
