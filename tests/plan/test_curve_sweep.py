"""Policies compared by their curves: what is varied, means over seeds, resuming, and the formats."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ksched_cli.errors import ConfigError, InputError, UsageError
from ksched_cli.plan.results.outcomes import Curve, FirstFailure
from ksched_cli.plan.sweep.curves import (
    CurveSweep,
    CurveSweepResult,
    CurveSweepSpec,
    RunError,
    mean_curve,
    read_curve_spec,
    read_seeds,
)
from ksched_cli.simulator import Simulator
from tests.builders import PodBuilder, make_node, make_pod
from tests.running import Ksched

SPREAD, PACK = "LeastAllocated", "MostAllocated"


def policy(folder: Path, strategy: str) -> str:
    """A configuration that scores by requested resources alone."""
    path = folder / f"{strategy}.yaml"
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "plugins": {"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit"}]}},
                "pluginConfig": [
                    {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": strategy, "resources": [{"name": "cpu", "weight": 1}]}}}
                ],
            }
        ],
    }  # fmt: skip
    path.write_text(json.dumps(config))
    return str(path)


@pytest.fixture
def objects() -> list[dict[str, Any]]:
    """Small pods first: if they are spread, no node has room for the large ones."""
    found = [make_node(f"n-{number}").allocatable(cpu="8", memory="100Gi", pods="100").doc() for number in range(4)]
    for number, cpu in enumerate([1] * 8 + [8] * 3):
        document = make_pod(f"p-{number:02}").requests(cpu=str(cpu)).doc()
        document["metadata"]["creationTimestamp"] = f"2020-01-01T00:00:{number:02}Z"
        found.append(document)
    return found


def swept(objects: list[dict[str, Any]], **words: Any) -> CurveSweepResult:
    found: Any = Simulator.load(*objects).sweep(curve="cpu", **words).result()
    assert isinstance(found, CurveSweepResult)
    return found


def test_policies_are_compared_on_the_same_pods(objects: list[dict[str, Any]], tmp_path: Path) -> None:
    result = swept(objects, policies=[policy(tmp_path, SPREAD), policy(tmp_path, PACK)])
    assert {each.policy: each.mean[-1] for each in result.curves} == {SPREAD: 25, PACK: 100}
    assert {each.policy: each.failed[-1] for each in result.curves} == {SPREAD: 3, PACK: 0}
    assert {each.policy: each.first_failure for each in result.curves} == {SPREAD: 50, PACK: None}


def test_a_seed_draws_the_order_of_arrival(objects: list[dict[str, Any]], tmp_path: Path) -> None:
    result = swept(objects, policies=[policy(tmp_path, SPREAD)], seeds="1..6")
    (curve,) = result.curves
    assert curve.runs == 6
    assert curve.least[-1] < curve.mean[-1] < curve.most[-1]
    again = swept(objects, policies=[policy(tmp_path, SPREAD)], seeds="1..6")
    assert again.curves == result.curves


def test_a_run_is_what_simulate_shows(objects: list[dict[str, Any]], tmp_path: Path) -> None:
    path = policy(tmp_path, PACK)
    (alone,) = Simulator.load(*objects, config=path).simulate(curve=["cpu"]).curves
    (mean,) = swept(objects, policies=[path]).curves
    assert (mean.mean, mean.first) == (alone.allocated_at, alone.first)


def test_means_cover_the_percents_that_all_runs_have() -> None:
    def curve(first: int, shares: tuple[float, ...]) -> Curve:
        return Curve("cpu", 1000, 10, shares[-1], 0, first, shares, tuple(range(len(shares))), {"lack of cpu": shares})

    found = mean_curve({"policy": "a"}, [curve(0, (0, 1, 2, 3)), curve(1, (1, 4, 5, 6))])
    assert (found.first, found.mean, found.least, found.most) == (1, (1, 3, 4), (1, 2, 3), (1, 4, 5))
    assert found.failed == (0.5, 1.5, 2.5)
    assert found.unusable == {"lack of cpu": (1, 3, 4)}


def test_means_are_rounded_and_have_the_points_of_the_shortest_curve() -> None:
    def curve(shares: tuple[float, ...], failed: tuple[int, ...], arrived: float) -> Curve:
        failure = FirstFailure("default/p", arrived, 0)
        return Curve("cpu", 1000, 10, 0, 0, 2, shares, failed, {"lack of cpu": shares}, failure)

    found = mean_curve(
        {"policy": "a"}, [curve((0, 1, 9), (0, 0, 1), 1), curve((0, 2), (0, 0), 2), curve((1, 2), (0, 1), 2)]
    )
    assert (found.first, found.last, found.mean, found.failed) == (2, 3, (0.33, 1.67), (0, 0.3))
    assert (found.unusable, found.first_failure) == ({"lack of cpu": (0.33, 1.67)}, 1.67)
    assert [found.at(percent) for percent in (1, 2, 3, 4)] == [None, 0.33, 1.67, None]


def test_what_one_run_alone_lacks_counts_as_nothing_in_the_others() -> None:
    def curve(reason: str, failure: FirstFailure | None) -> Curve:
        return Curve("cpu", 1000, 10, 0, 0, 0, (1, 2), (0, 1), {reason: (2, 4)}, failure)

    runs = [curve("lack of memory", None), curve("lack of cpu", FirstFailure("default/p", 7, 0))]
    found = mean_curve({"policy": "a", "workload": "w"}, runs)
    assert list(found.unusable.items()) == [("lack of cpu", (1, 2)), ("lack of memory", (1, 2))]
    assert (found.policy, found.workload, found.runs, found.first_failure) == ("a", "w", 2, 7)
    assert mean_curve({"policy": "a"}, runs[:1]).first_failure is None


def test_policies_vary_fastest_and_workloads_slowest() -> None:
    policies = (("p", None), ("q", None))
    spec = CurveSweepSpec(("cpu",), policies, ("w", "x"), ())
    assert [tuple(spec.at(number).values()) for number in range(len(spec))] == [
        ("p", "w"), ("q", "w"), ("p", "x"), ("q", "x"),
    ]  # fmt: skip
    spec = CurveSweepSpec(("cpu",), policies[:1], ("w", "x"), (7, 8))
    assert [tuple(spec.at(number).values()) for number in range(len(spec))] == [
        ("p", "w", 7), ("p", "w", 8), ("p", "x", 7), ("p", "x", 8),
    ]  # fmt: skip


def test_pods_with_a_higher_priority_arrive_first_whatever_the_seed() -> None:
    """The large pod needs the whole node, which the small ones share otherwise."""
    found = [make_node("n").allocatable(cpu="8", memory="100Gi", pods="100").doc()]
    found += [make_pod(f"p-{number}").requests(cpu="1").doc() for number in range(8)]
    found.append(make_pod("large").requests(cpu="8").priority(10).doc())
    (curve,) = swept(found, seeds="1..5").curves
    assert (curve.runs, curve.failed[-1], curve.least[-1]) == (5, 8, 100)


def test_running_pods_are_there_before_those_that_arrive(objects: list[dict[str, Any]]) -> None:
    running = make_pod("running").requests(cpu="4").on("n-0").phase("Running").doc()
    result = swept([*objects, running], orders=0)
    assert (result.curves[0].first, set(result.stats.cpu_seconds)) == (13, {"default"})
    with pytest.raises(InputError, match="no pod of the input is pending"):
        swept([*objects[:4], running])


NODES = "sn,cpu_milli,memory_mib,gpu,model\nn-0,4000,1000,0,\nn-1,4000,1000,0,\n"
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time\n"


@pytest.fixture
def trace(tmp_path: Path) -> str:
    (tmp_path / "openb_node_list_gpu_node.csv").write_text(NODES)
    for name, cpu in (("small", 500), ("large", 3000)):
        rows = "".join(f"p-{number},{cpu},10,0,0,,{number}\n" for number in range(4))
        (tmp_path / f"openb_pod_list_{name}.csv").write_text(PODS + rows)
    (tmp_path / "openb_pod_list_default.csv").write_text(PODS + "p,1000,10,0,0,,1\n")
    return f"openb:{tmp_path}"


def test_workloads_and_seeds_of_a_trace(trace: str) -> None:
    found: Any = Simulator.load(trace).sweep(curve="cpu", workloads="small,large", seeds="1,2").result()
    assert {(each.workload, each.runs, each.mean[-1]) for each in found.curves} == {("small", 2, 25), ("large", 2, 75)}


def test_each_workload_of_a_trace_is_read_without_a_seed(trace: str) -> None:
    found: Any = Simulator.load(trace).sweep(curve="cpu", workloads="small,large").result()
    assert {(each.workload, each.runs, each.mean[-1]) for each in found.curves} == {("small", 1, 25), ("large", 1, 75)}


@pytest.mark.parametrize("more", ["source", "object", "node", "manifest", "nothing"])
def test_a_trace_is_swept_without_anything_else(more: str, trace: str, tmp_path: Path) -> None:
    """Each workload and each seed reads the trace again, without what came to it."""
    path = tmp_path / "more.json"
    path.write_text(json.dumps(make_pod("p").requests(cpu="1").doc()))
    beside: dict[str, Any] = {"source": str(path), "object": json.loads(path.read_text())}
    simulator = Simulator.load(trace, *(beside[name] for name in beside if name == more))
    if more == "node":
        simulator = simulator.add_node("cpu=4,memory=8Gi")
    if more == "manifest":
        simulator = simulator.apply(str(path))
    if more == "nothing":
        assert simulator.sweep(curve="cpu").result()
        return
    with pytest.raises(UsageError, match="a trace is swept as it is"):
        simulator.sweep(curve="cpu")


@pytest.mark.parametrize("workloads", ["", "small"])
@pytest.mark.parametrize("changed", ["pods", "policy", "nothing"])
def test_rows_of_a_trace_are_resumed_while_it_is_the_same(
    changed: str, workloads: str, trace: str, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.yaml"
    Path(policy(tmp_path, SPREAD)).rename(mine)
    how: dict[str, Any] = {"curve": "cpu", "seeds": "1", "policies": [str(mine)], "out": str(tmp_path / "rows")}
    if workloads:
        how["workloads"] = workloads
    Simulator.load(trace).sweep(**how).result()
    if changed == "pods":
        with (tmp_path / f"openb_pod_list_{workloads or 'default'}.csv").open("a") as file:
            file.write("more,1000,10,0,0,,9\n")
    if changed == "policy":
        Path(policy(tmp_path, PACK)).rename(mine)
    run = Simulator.load(trace).sweep(**how, resume=True)
    if changed == "nothing":
        resumed: Any = run.result()
        assert resumed.stats.resumed == 1
        return
    with pytest.raises(UsageError, match="the folder has the rows of another sweep: cluster differ"):
        run.result()


def test_a_policy_that_kube_scheduler_does_not_accept_is_refused_at_once(
    objects: list[dict[str, Any]], tmp_path: Path
) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nparallelism: -1\n")
    with pytest.raises(ConfigError, match="parallelism"):
        Simulator.load(*objects).sweep(curve="cpu", policies=[str(path)])


@pytest.mark.parametrize(("policies", "seeds", "message"), [
    (10, "1..10000", ""),
    (11, "1..10000", "these are 110,000 runs, and at most 100,000 are made"),
    (1, "0..10000", "0..10000 has more than 10,000 seeds"),
])  # fmt: skip
def test_the_most_runs_and_seeds(policies: int, seeds: str, message: str) -> None:
    words = {"curve": "cpu", "policies": [f"p{number}=x.yaml" for number in range(policies)], "seeds": seeds}
    configurations: list[dict[str, Any]] = [{}] * policies
    if message:
        with pytest.raises(UsageError, match=message):
            read_curve_spec(words, configurations, is_trace=False)
    else:
        assert len(read_curve_spec(words, configurations, is_trace=False)) == 100_000


@pytest.mark.slow
def test_processes_find_the_same(trace: str) -> None:
    how: dict[str, Any] = {"curve": "cpu", "workloads": "small,large", "seeds": "1..3"}
    here: Any = Simulator.load(trace).sweep(**how).result()
    there: Any = Simulator.load(trace).sweep(workers=2, **how).result()
    assert there.curves == here.curves
    assert there.stats.executor == "processes"


def test_a_sweep_goes_on_with_the_rows_that_it_has(trace: str, tmp_path: Path) -> None:
    out = tmp_path / "rows"
    how: dict[str, Any] = {"curve": "cpu", "seeds": "1..4", "out": str(out)}
    first: Any = Simulator.load(trace).sweep(**how).result()
    lines = (out / "rows.jsonl").read_bytes().splitlines(keepends=True)
    (out / "rows.jsonl").write_bytes(b"".join(lines[:2]) + lines[2][:10])
    second: Any = Simulator.load(trace).sweep(**how, resume=True).result()
    assert (second.stats.resumed, second.curves) == (2, first.curves)
    with pytest.raises(UsageError, match=r"the folder has the rows of another sweep: .*seeds"):
        Simulator.load(trace).sweep(**{**how, "seeds": "1..5"}, resume=True).result()


def test_a_run_that_fails_is_a_row_with_its_error(
    objects: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from ksched_cli.plan.sweep import curves

    def broken(*_: object) -> None:
        raise RuntimeError("no more memory")

    monkeypatch.setattr(curves, "CurveRecorder", broken)
    result = swept(objects)
    assert [row.error for row in result.errors] == ["RuntimeError: no more memory"]
    assert result.curves == ()


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(make_pod("p").on("small"), id="running"),
        pytest.param(make_pod("p").phase("Succeeded"), id="succeeded without a node"),
        pytest.param(make_pod("p").phase("Failed"), id="failed without a node"),
    ],
)
def test_a_curve_needs_a_pending_pod(pod: PodBuilder) -> None:
    with pytest.raises(InputError, match="no pod of the input is pending"):
        Simulator.load(make_node("small").doc(), pod.doc()).sweep(curve="cpu")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param({"seeds": "5..1"}, "'5..1' is no range of seeds", id="empty range"),
        pytest.param({"seeds": "a"}, "'a' is no range of seeds", id="no number"),
        pytest.param({"seeds": "5..x"}, "'5..x' is no range of seeds", id="no last number"),
        pytest.param({"seeds": "x..5"}, "'x..5' is no range of seeds", id="no first number"),
        pytest.param({"orders": 1}, "not with --orders", id="one order"),
        pytest.param({"workloads": "x"}, "--workload goes with a trace", id="workload without a trace"),
        pytest.param({"fail": "node"}, "not with --fail", id="fail"),
        pytest.param({"policies": ["a.yaml", "b/a.yaml"]}, "two policies are named a", id="names"),
        pytest.param({"curve": ","}, "--curve names no resource", id="no resource"),
        pytest.param({"curve": "", "seeds": "1..2"}, "go with --curve", id="no curve"),
        pytest.param({"curve": "example.com/x"}, "no node has any of this resource", id="unknown resource"),
    ],
)
def test_mistakes(
    words: dict[str, Any], message: str, objects: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b").mkdir()
    for name in ("a.yaml", "b/a.yaml"):
        Path(policy(tmp_path, PACK)).rename(tmp_path / name)
    with pytest.raises(UsageError, match=message):
        Simulator.load(*objects).sweep(**{"curve": "cpu", **words}).result()


def test_seeds() -> None:
    assert read_seeds("3..5,1,4") == (3, 4, 5, 1)


@pytest.fixture
def command(objects: list[dict[str, Any]], tmp_path: Path) -> list[str]:
    (tmp_path / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    words = ["sweep", "--from", str(tmp_path / "cluster.json"), "--curve", "cpu", "--seeds", "1..3", "--workers", "1"]
    return [*words, "--policy", policy(tmp_path, SPREAD), "--policy", f"packed={policy(tmp_path, PACK)}"]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["table", "markdown"])
def test_the_table_ranks_the_policies(form: str, command: list[str], ksched: Ksched) -> None:
    text = ksched(*command, "-o", form, code=0).out
    assert "6 runs: packed allocates the most of cpu (100.0 %), 3 seeds" in text
    names = re.findall(r"^[| ]*(packed|LeastAllocated) .*\d", text, re.MULTILINE)
    assert names == ["packed", "LeastAllocated"]


def test_the_picture_has_a_band_for_each_policy(command: list[str], ksched: Ksched) -> None:
    from xml.etree import ElementTree

    root = ElementTree.fromstring(ksched(*command, "-o", "svg", code=0).out)
    classes = [each.get("class") for each in root.iter("{http://www.w3.org/2000/svg}path")]
    assert [each for each in classes if each and "band" in each] == ["c0 band", "c1 band"]


def test_a_stored_document_has_its_page(command: list[str], tmp_path: Path, ksched: Ksched) -> None:
    text = ksched(*command, "-o", "json", code=0).out
    document = json.loads(text)
    assert document["kind"] == "CurveSweep"
    assert [each["policy"] for each in document["curves"]] == [SPREAD, "packed"]
    assert document["stats"]["cpuSeconds"].keys() == {SPREAD, "packed"}
    (tmp_path / "stored.json").write_text(text)
    assert "<svg" in ksched("report", str(tmp_path / "stored.json"), code=0).out


def test_a_format_of_the_other_kind_of_sweep(command: list[str], ksched: Ksched) -> None:
    assert "-o csv: this sweep has table, wide, json" in ksched(*command, "-o", "csv", code=2).err


def test_a_run_that_fails_makes_exit_code_1(
    command: list[str], ksched: Ksched, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = CurveSweep.result
    failed = (RunError(at={"seed": 1}, error="a plugin failed"),)
    monkeypatch.setattr(CurveSweep, "result", lambda self: replace(result(self), errors=failed))
    assert "seed 1: a plugin failed" in ksched(*command, code=1).out
    ksched(*command, "--exit-zero", code=0)
