"""How full a cluster gets while pods arrive: points, failures, what cannot be used, and the formats that show it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.cli.main import run
from ksched_cli.errors import UsageError
from ksched_cli.plan.results.outcomes import Curve
from ksched_cli.simulator import Simulator
from tests.builders import make_node, make_pod
from tests.lanes import examples
from tests.running import Ksched

GPU = "example.com/gpu"


def nodes(*cpus: int, gpus: int = 0, memory: str = "100Gi") -> list[dict[str, Any]]:
    more = {GPU: str(gpus)} if gpus else {}
    return [
        make_node(f"n-{number}").allocatable(cpu=str(cpu), memory=memory, pods="100", **more).doc()
        for number, cpu in enumerate(cpus)
    ]


def pods(*cpus: int, gpus: int = 0, node: str = "") -> list[dict[str, Any]]:
    made = []
    for number, cpu in enumerate(cpus):
        more = {GPU: str(gpus)} if gpus else {}
        document = make_pod(f"{'running' if node else 'p'}-{number}").requests(cpu=str(cpu), memory="1Gi", **more).doc()
        document["metadata"]["creationTimestamp"] = f"2020-01-01T00:00:{number:02}Z"
        if node:
            document["spec"]["nodeName"] = node
            document["status"] = {"phase": "Running"}
        made.append(document)
    return made


def curve(objects: list[dict[str, Any]], resource: str = "cpu") -> Curve:
    (found,) = Simulator.load(*objects).simulate(curve=[resource]).curves
    return found


def test_a_point_is_the_state_after_the_last_pod_up_to_it() -> None:
    found = curve([*nodes(10), *pods(2, 3)])
    assert (found.capacity, found.first, found.last) == (10_000, 0, 50)
    assert [found.allocated_at[percent] for percent in (0, 19, 20, 49, 50)] == [0, 0, 20, 20, 50]
    assert (found.arrived, found.allocated, found.failed, found.first_failure) == (50, 50, 0, None)


def test_running_pods_have_arrived() -> None:
    found = curve([*nodes(10), *pods(3, node="n-0"), *pods(4)])
    assert (found.first, found.last, found.allocated_at[0], found.allocated) == (30, 70, 30, 70)


def test_the_last_point_is_rounded_up_to_the_state_after_all_pods() -> None:
    found = curve([*nodes(3), *pods(1, 1)])
    assert (found.arrived, found.last, found.allocated_at[-1]) == (66.67, 67, 66.67)


def test_pods_that_fail_have_arrived_and_are_not_allocated() -> None:
    found = curve([*nodes(4, 4), *pods(3, 3, 2, 1)])
    assert (found.allocated, found.arrived, found.failed) == (87.5, 112.5, 1)
    assert found.first_failure is not None
    assert (found.first_failure.pod, found.first_failure.arrived) == ("default/p-2", 100)
    assert [found.failed_at[percent] for percent in (99, 100, 113)] == [0, 1, 1]


def test_what_is_free_and_of_no_use_is_named_by_what_is_missing() -> None:
    """A pod of 3 cores and one GPU finds both of its kinds of nodes lacking: 2 cores, or no GPU."""
    objects = [*nodes(4, gpus=1), *pods(3, 3, gpus=1)]
    gpus = curve([*objects, nodes(0, 10)[1]], GPU)
    assert gpus.unusable_at == {}
    cpu = curve([*objects, nodes(0, 10)[1]])
    at_end = {reason: shares[-1] for reason, shares in cpu.unusable_at.items()}
    # Free are 1 core of n-0, which lacks both, and 10 of n-1, which has no GPU; the capacity is 14.
    assert at_end == {f"lack of cpu and {GPU}": 7.14, f"lack of {GPU}": 71.43}


def test_pods_that_do_not_request_the_resource_cannot_use_it() -> None:
    found = curve([*nodes(4, gpus=2), *pods(1, gpus=1), *pods(1, 1, 1)[1:]], GPU)
    assert found.unusable_at["not requested"][-1] == pytest.approx(50 * 2 / 3, abs=0.01)


def test_pods_that_request_the_resource_may_lack_another() -> None:
    """Most pods request no GPU. The one that does finds no cpu for another of its kind."""
    found = curve([*nodes(3, gpus=2), *pods(1, gpus=1), *pods(1, 1, 1)[1:]], GPU)
    at_end = {reason: shares[-1] for reason, shares in found.unusable_at.items()}
    assert at_end == {"lack of cpu": 16.67, "not requested": 33.33}


@pytest.mark.parametrize(
    ("small", "large", "at_end"), [(19, 1, {}), (18, 2, {"lack of cpu": 1.5})], ids=["one of 20", "two of 20"]
)
def test_the_rarest_requests_are_not_typical(small: int, large: int, at_end: dict[str, float]) -> None:
    """Typical pods are 95 % of all. The 6 cpu that stay free are too few for a pod of 8."""
    wanted = [1] * small + [8] * large
    found = curve([*nodes(sum(wanted) + 6), *pods(*wanted)])
    assert {reason: shares[-1] for reason, shares in found.unusable_at.items()} == at_end


def test_at_most_40_requests_are_typical() -> None:
    """The smallest of those that are equally frequent. The 39 cpu that stay free are too few for the 40th only."""
    wanted = list(range(50, 0, -1))
    found = curve([*nodes(sum(wanted) + 39), *pods(*wanted)])
    share = 100 * 39 / (sum(wanted) + 39)
    assert found.unusable_at["lack of cpu"][-1] == pytest.approx(share / 40, abs=0.005)


def test_a_pod_that_preempts_has_not_failed() -> None:
    pod = pods(4)[0]
    pod["spec"]["priority"] = 10
    found = curve([*nodes(4), *pods(3, node="n-0"), pod])
    assert (found.arrived, found.failed, found.first_failure) == (175, 0, None)


def test_a_pod_that_is_being_deleted_does_not_arrive() -> None:
    going, *others = pods(1, 2, 1)
    going["metadata"] |= {"deletionTimestamp": "2020-01-02T00:00:00Z", "finalizers": ["example.com/hold"]}
    found = curve([*nodes(10), going, *others])
    assert (found.arrived, found.allocated, found.failed) == (30, 30, 0)


def test_each_resource_has_one_curve_in_the_order_given() -> None:
    found = Simulator.load(*nodes(4), *pods(1)).simulate(curve=["memory", "cpu", "memory"]).curves
    assert [each.resource for each in found] == ["memory", "cpu"]


def test_a_node_without_a_place_for_one_more_pod() -> None:
    (full,) = nodes(10)
    full["status"]["allocatable"]["pods"] = "1"
    assert curve([full, *pods(1, 1)]).unusable_at["lack of pods"][-1] == 90


SIZES = st.lists(st.integers(1, 8), min_size=1, max_size=12)


@settings(max_examples=examples(40))
@given(SIZES, SIZES)
def test_shares_never_fall_and_no_more_is_allocated_than_has_arrived(machines: list[int], requests: list[int]) -> None:
    found = curve([*nodes(*machines), *pods(*requests)])
    assert list(found.allocated_at) == sorted(found.allocated_at)
    assert list(found.failed_at) == sorted(found.failed_at)
    assert all(share <= found.first + number for number, share in enumerate(found.allocated_at))
    assert found.allocated_at[-1] == found.allocated
    assert len(found.allocated_at) == len(found.failed_at)
    for number, share in enumerate(found.allocated_at):
        unusable = sum(shares[number] for shares in found.unusable_at.values())
        assert unusable <= 100 - share + 0.05


@pytest.mark.parametrize("resource", ["example.com/none", GPU])
def test_a_resource_that_no_node_has(resource: str) -> None:
    with pytest.raises(UsageError, match=r"no node has any of this resource \(they have cpu, memory\)"):
        curve([*nodes(4), *pods(1)], resource)


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*nodes(4, 4), *pods(3, 3, 2, 1)]}))
    return str(path)


def shown(capsys: pytest.CaptureFixture[str], cluster: str, *words: str) -> str:
    assert run(["simulate", "--from", cluster, "--curve", "cpu,memory", "--exit-zero", *words]) == 0
    return capsys.readouterr().out


def test_the_document_has_the_curves(cluster: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = shown(capsys, cluster, "-o", "json")
    cpu, memory = json.loads(text)["curve"]
    assert (cpu["resource"], cpu["allocated"], cpu["firstFailure"]["pod"]) == ("cpu", 87.5, "default/p-2")
    assert len(cpu["allocatedAt"]) == 114
    assert memory["resource"] == "memory"
    stored = tmp_path / "stored.json"
    stored.write_text(text)
    assert run(["report", str(stored)]) == 0
    assert "<svg" in capsys.readouterr().out


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_text_has_a_sentence_and_a_table(cluster: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, cluster, "-o", form)
    assert "cpu: 87.5 % allocated when 112.5 % have arrived" in text
    assert "While cpu arrives" in text


def test_the_picture_is_one_svg_file(cluster: str, capsys: pytest.CaptureFixture[str]) -> None:
    from xml.etree import ElementTree

    root = ElementTree.fromstring(shown(capsys, cluster, "-o", "svg"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    names = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"cpu", "memory", "percent allocated"} <= set(names)


def test_a_page_without_a_curve_has_no_chart(cluster: str, ksched: Ksched) -> None:
    assert "<svg" not in ksched("simulate", "--from", cluster, "--exit-zero", "-o", "html", code=0).out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["--curve", "cpu", "--settle"], "--curve goes with one cycle for each pod", id="settle"),
        pytest.param(["-o", "svg"], "-o svg is the picture of --curve", id="no curve"),
    ],
)
def test_what_does_not_go_together(words: list[str], message: str, cluster: str, ksched: Ksched) -> None:
    assert message in ksched("simulate", "--from", cluster, *words, code=2).err
