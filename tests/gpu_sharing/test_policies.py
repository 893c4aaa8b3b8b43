"""The package of GPU plugins against plain readings of its rules, its annotations, and what it imports."""

from __future__ import annotations

import ast
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.errors import KschedError, UsageError
from ksched_cli.simulator import Simulator
from tests.builders import make_configuration, make_node, make_pod
from tests.gpu_sharing.plain import Machine, Request, Typical, schedule
from tests.lanes import sampled

PACKAGE = Path(__file__).parents[2] / "fixtures" / "gpu-sharing"
POLICIES = {
    "DotProductScore": "dot_product:DotProductScore",
    "GpuClusteringScore": "clustering:GpuClusteringScore",
    "GpuPackingScore": "packing:GpuPackingScore",
    "BestFitScore": "best_fit:BestFitScore",
    "FGDScore": "fgd:FGDScore",
    "RandomScore": "random_score:RandomScore",
}
TYPICAL = [
    Typical(0.4, 4000, 500, 1),
    Typical(0.25, 8000, 1000, 1, "T4|P100"),
    Typical(0.2, 2000, 0, 0),
    Typical(0.1, 16000, 1000, 4),
    Typical(0.05, 1000, 170, 1),
]


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package is found as if it were installed."""
    monkeypatch.syspath_prepend(str(PACKAGE))
    yield
    for name in [name for name in sys.modules if name.startswith("ksched_gpu_sharing")]:
        del sys.modules[name]


def configuration(
    policy: str, typical: list[Typical] = TYPICAL, method: str = "", own: dict[str, Any] | None = None
) -> dict[str, Any]:
    shapes = [
        {
            "share": each.share,
            "cpu": each.cpu,
            "gpuMilli": each.milli,
            "gpuCount": each.count,
            "gpuCardModel": each.models,
        }
        for each in typical
    ]
    method = method or ("FGDScore" if policy == "FGDScore" else "best")
    config = [{"name": "Open-Gpu-Share", "args": {"gpuSelMethod": method, "typicalPods": shapes}}]
    if policy == "FGDScore":
        config.append({"name": policy, "args": {"typicalPods": shapes}})
    if own is not None:
        config.append({"name": policy, "args": own})
    plugins = {
        "multiPoint": {"enabled": [{"name": "Open-Gpu-Share"}]},
        "preScore": {"disabled": [{"name": "*"}], "enabled": [{"name": policy}] if policy == "RandomScore" else []},
        "score": {"disabled": [{"name": "*"}], "enabled": [{"name": policy, "weight": 1000}]},
        "postFilter": {"disabled": [{"name": "*"}]},
    }
    return make_configuration({"plugins": plugins, "pluginConfig": config})


def simulated(policy: str, objects: list[dict[str, Any]], **how: Any) -> Any:
    plugins = [f"ksched_gpu_sharing.{each}" for each in ("share:OpenGpuShare", POLICIES[policy])]
    return Simulator.load(*objects, config=configuration(policy, **how), plugins=plugins).simulate().outcomes


def node_of(machine: Machine) -> dict[str, Any]:
    built = make_node(machine.name).allocatable(cpu=f"{machine.cpu}m", memory="900Gi", pods="900")
    document = built.doc()
    document["metadata"].setdefault("labels", {})["alibabacloud.com/gpu-card-model"] = machine.model
    document["status"]["allocatable"]["alibabacloud.com/gpu-count"] = str(machine.gpus)
    return document


def pod_of(request: Request, number: int, **annotations: str) -> dict[str, Any]:
    document = make_pod(request.name).requests(cpu=f"{request.cpu}m").doc()
    found = {"gpu-count": str(request.count), "gpu-milli": str(request.milli), "gpu-card-model": request.models}
    document["metadata"]["annotations"] = {
        f"alibabacloud.com/{key}": text for key, text in (found | annotations).items() if text
    }
    document["metadata"]["creationTimestamp"] = (
        f"2020-01-01T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}Z"
    )
    return document


def generated(seed: int) -> tuple[list[Machine], list[Request]]:
    drawn = random.Random(seed)
    machines = [
        Machine(
            f"n-{number:02}",
            drawn.choice((32, 64, 96)) * 1000,
            gpus,
            drawn.choice(("T4", "P100", "V100")) if gpus else "",
        )
        for number, gpus in enumerate(drawn.choices((0, 1, 2, 4, 8), k=drawn.randint(2, 12)))
    ]
    pods = []
    for number in range(drawn.randint(20, 120)):
        count, milli = drawn.choice(
            [(0, 0), (1, 1000), (2, 1000), (4, 1000), (8, 1000)] + [(1, share) for share in (100, 170, 250, 500, 810)]
        )
        models = drawn.choice(("", "", "", "T4", "T4|P100")) if count else ""
        pods.append(Request(f"p-{number:03}", drawn.choice((500, 1000, 4000, 9810, 16000)), count, milli, models))
    return machines, pods


@pytest.mark.parametrize("seed", sampled(range(8), 4))
@pytest.mark.parametrize("policy", [policy for policy in POLICIES if policy != "RandomScore"])
def test_every_pod_goes_where_the_plain_rules_put_it(policy: str, seed: int) -> None:
    machines, pods = generated(seed)
    objects = [node_of(each) for each in machines] + [pod_of(each, number) for number, each in enumerate(pods)]
    found = {outcome.pod.partition("/")[2]: outcome.node for outcome in simulated(policy, objects)}
    assert found == schedule(policy, machines, pods, TYPICAL)
    assert sum(1 for node in found.values() if node) >= 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", sampled([2, 5], 2))
@pytest.mark.parametrize("norm", ["max", "node", "pod"])
@pytest.mark.parametrize("extension", ["merge", "share", "divide", "extend"])
def test_every_way_to_make_vectors_of_gpus(extension: str, norm: str, seed: int) -> None:
    machines, pods = generated(seed)
    objects = [node_of(each) for each in machines] + [pod_of(each, number) for number, each in enumerate(pods)]
    own = {"dimExtMethod": extension, "normMethod": norm}
    found = {each.pod.partition("/")[2]: each.node for each in simulated("DotProductScore", objects, own=own)}
    assert found == schedule("DotProductScore", machines, pods, TYPICAL, extension, norm)
    assert sum(1 for node in found.values() if node) >= 5


def test_an_unknown_way_to_make_vectors() -> None:
    objects = [node_of(Machine("n", 64000, 2)), pod_of(Request("p", 100, 1, 500), 0)]
    with pytest.raises(KschedError, match="dimExtMethod is 'cut', not one of merge, share, divide, extend"):
        simulated("DotProductScore", objects, own={"dimExtMethod": "cut"})


@pytest.mark.parametrize("method", ["random", "worst"])
def test_no_gpu_is_ever_given_away_twice(method: str) -> None:
    """Half of a GPU fits twice on each of four GPUs, whichever is chosen."""
    pods = [Request(f"p-{number}", 100, 1, 500) for number in range(9)]
    objects = [node_of(Machine("n", 64000, 4))] + [pod_of(each, number) for number, each in enumerate(pods)]
    outcomes = simulated("RandomScore", objects, method=method)
    assert [outcome.node for outcome in outcomes] == ["n"] * 8 + [""]


@pytest.mark.parametrize(
    ("annotations", "message"),
    [
        pytest.param({"gpu-milli": "half"}, "alibabacloud.com/gpu-milli is 'half', not a number from 0 to 1000", id="no number"),
        pytest.param({"gpu-milli": "1001"}, "gpu-milli is '1001', not a number from 0 to 1000", id="more than a GPU"),
        pytest.param({"gpu-count": "2"}, "a pod with 2 GPUs takes them whole", id="parts of two GPUs"),
        pytest.param({"gpu-index": "a"}, "gpu-index is 'a', not numbers joined by -", id="index is no number"),
        pytest.param({"gpu-index": "7"}, "node(s) had no GPU 7", id="no such GPU"),
        pytest.param({"gpu-count": "9", "gpu-milli": "1000"}, "node(s) had fewer than 9 GPUs", id="more than any node has"),
        pytest.param({"gpu-card-model": "H100"}, "node(s) had GPUs of another model", id="another model"),
    ],
)  # fmt: skip
def test_what_no_node_can_give(annotations: dict[str, str], message: str) -> None:
    objects = [node_of(Machine("n", 64000, 2, "T4")), pod_of(Request("p", 100, 1, 500), 0, **annotations)]
    (outcome,) = simulated("BestFitScore", objects)
    assert message in outcome.message


def test_running_pods_count_on_their_gpus() -> None:
    running = pod_of(Request("running", 100, 1, 700), 0, **{"gpu-index": "1"})
    running["spec"]["nodeName"] = "n"
    running["status"] = {"phase": "Running"}
    objects = [node_of(Machine("n", 64000, 2, "T4")), running]
    objects += [pod_of(Request(f"p-{number}", 100, 1, 400), number + 1) for number in range(3)]
    assert [outcome.node for outcome in simulated("BestFitScore", objects)] == ["n", "n", ""]


@pytest.mark.slow
def test_the_gpus_of_a_trial_are_given_back() -> None:
    """Each drain moves pods to other GPUs and is undone: the next one is as if it were the first."""
    machines, pods = generated(3)
    objects = [node_of(each) for each in machines] + [pod_of(each, number) for number, each in enumerate(pods)]
    plugins = [f"ksched_gpu_sharing.{each}" for each in ("share:OpenGpuShare", POLICIES["FGDScore"])]

    def begun() -> Simulator:
        return Simulator.load(*objects, config=configuration("FGDScore"), plugins=plugins)

    in_turn = list(begun().drain_nodes(each="node", force=True).trials)
    assert len(in_turn) == len(machines)
    for trial in in_turn[:4]:
        (alone,) = begun().drain_nodes(*trial.nodes, force=True).trials
        assert trial.drain.nodes == alone.drain.nodes


def test_the_package_imports_only_what_plugin_authors_may() -> None:
    allowed = ("ksched_cli.framework", "ksched_cli.testing")
    imported = {
        node.module
        for path in sorted((PACKAGE / "ksched_gpu_sharing").glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ksched_cli")
    }
    assert imported
    assert [module for module in imported if not str(module).startswith(allowed)] == []


def test_typical_pods_cover_95_of_100() -> None:
    from ksched_gpu_sharing.typical import typical_pods  # type: ignore[import-not-found]

    found = typical_pods({(1000, 500, 1, ""): 90, (2000, 500, 1, ""): 1, (3000, 1000, 2, ""): 6})
    assert [(each.cpu, each.gpuCount) for each in found] == [(1000, 1), (3000, 2)]
    assert [each.share for each in found] == pytest.approx([90 / 96, 6 / 96])


@pytest.mark.slow
def test_without_typical_pods_fgd_takes_those_of_the_cluster() -> None:
    machines, pods = generated(5)
    objects = [node_of(each) for each in machines] + [pod_of(each, number) for number, each in enumerate(pods)]
    shapes = Counter((each.cpu, each.milli, each.count, each.models) for each in pods)
    ranked = sorted(((number, shape) for shape, number in shapes.items()), reverse=True)
    covered, typical = 0, []
    for number, shape in ranked:
        if covered >= 0.95 * len(pods):
            break
        covered += number
        typical.append((number, shape))
    given = [Typical(number / len(pods) / (covered / len(pods)), *shape) for number, shape in typical]
    with_given, without = (simulated("FGDScore", objects, typical=each) for each in (given, []))
    assert [each.node for each in without] == [each.node for each in with_given]


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted((PACKAGE / "configs").glob("*.yaml")), ids=lambda path: path.stem)
def test_a_configuration_for_each_policy(path: Path) -> None:
    score = next(name for name in POLICIES if f"name: {name}, weight" in path.read_text())
    plugins = [f"ksched_gpu_sharing.{each}" for each in ("share:OpenGpuShare", POLICIES[score])]
    machines, pods = generated(1)
    objects = [node_of(each) for each in machines] + [pod_of(each, number) for number, each in enumerate(pods)]
    outcomes = Simulator.load(*objects, config=str(path), plugins=plugins).simulate().outcomes
    assert sum(1 for each in outcomes if each.node) >= 5


def test_every_policy_has_its_configuration() -> None:
    texts = " ".join(path.read_text() for path in (PACKAGE / "configs").glob("*.yaml"))
    assert [policy for policy in POLICIES if f"name: {policy}, weight" not in texts] == []


def test_a_running_pod_on_a_gpu_that_its_node_does_not_have_is_an_error_with_its_name() -> None:
    running = pod_of(Request("running", 100, 1, 700), 0, **{"gpu-index": "5"})
    running["spec"]["nodeName"] = "n"
    running["status"] = {"phase": "Running"}
    objects = [node_of(Machine("n", 64000, 2, "T4")), running, pod_of(Request("p", 100, 1, 400), 1)]
    (outcome,) = simulated("BestFitScore", objects)
    assert outcome.result == "error"
    assert "default/running has alibabacloud.com/gpu-index 5, and its node n has 2 GPUs" in outcome.message


def test_the_curve_counts_parts_of_gpus_and_names_what_is_of_no_use() -> None:
    plugins = [f"ksched_gpu_sharing.{each}" for each in ("share:OpenGpuShare", POLICIES["BestFitScore"])]
    objects = [node_of(Machine("n", 64000, 2, "T4"))]
    objects += [pod_of(Request(f"p-{number}", 100, 1, 700), number) for number in range(3)]
    typical = [Typical(1.0, 100, 700, 1)]
    config = configuration("BestFitScore", typical)
    found = Simulator.load(*objects, config=config, plugins=plugins).simulate(curve=["alibabacloud.com/gpu-milli"])
    (curve,) = found.curves
    assert (curve.capacity, curve.arrived, curve.allocated, curve.failed) == (2000, 105, 70, 1)
    assert {reason: shares[-1] for reason, shares in curve.unusable_at.items()} == {"lack of GPU": 30}
    assert {reason: shares[0] for reason, shares in curve.unusable_at.items()} == {"lack of GPU": 0}
    with pytest.raises(
        UsageError, match=r"\(they have cpu, memory, alibabacloud.com/gpu-count, alibabacloud.com/gpu-milli\)"
    ):
        Simulator.load(*objects, config=config, plugins=plugins).simulate(curve=["example.com/none"])


def code_of(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def test_the_policy_of_the_manual_runs_on_a_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugin and the configuration of `ksched help policies`, on a trace of a few rows."""
    page = (PACKAGE.parents[1] / "ksched_cli" / "help" / "policies.md").read_text()
    (plugin,), (config,) = code_of(page, "python"), code_of(page, "yaml")
    (tmp_path / "my_policy.py").write_text(plugin)
    (tmp_path / "my-policy.yaml").write_text(config)
    monkeypatch.syspath_prepend(str(tmp_path))
    nodes = "sn,cpu_milli,memory_mib,gpu,model\n" + "".join(f"n-{number},64000,262144,2,T4\n" for number in range(4))
    pods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time\n"
    pods += "".join(f"p-{number},1000,100,1,500,,{number}\n" for number in range(16))
    (tmp_path / "openb_node_list_gpu_node.csv").write_text(nodes)
    (tmp_path / "openb_pod_list_default.csv").write_text(pods)
    plugins = ["ksched_gpu_sharing.share:OpenGpuShare", "my_policy:FullestNode"]
    now = Simulator.load(f"openb:{tmp_path}", config=str(tmp_path / "my-policy.yaml"), plugins=plugins)
    run = now.simulate(curve=["alibabacloud.com/gpu-milli"])
    assert [each.node for each in run.outcomes] == [f"n-{number // 4}" for number in range(16)]
    (curve,) = run.curves
    assert (curve.allocated, curve.failed) == (100, 0)
    sys.modules.pop("my_policy")
