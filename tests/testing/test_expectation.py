"""What an expectation accepts and what it raises."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ksched_cli import Simulator
from ksched_cli.errors import UsageError
from ksched_cli.testing import Expectation, NotSchedulable
from ksched_cli.testing.expectation import Checks
from ksched_cli.testing.manifests import with_folders, workload_labels
from tests.builders import make_node, make_pod, make_workload, write_list
from tests.cli.transcripts import ROOT

FULL = str(ROOT / "fixtures" / "check" / "cluster.yaml")
BAD = str(ROOT / "fixtures" / "check" / "deploy")


def node(name: str, zone: str, cpu: str = "2") -> dict[str, Any]:
    return make_node(name).zone(zone).allocatable(cpu=cpu, memory="8Gi", pods="10").doc()


def deployment(replicas: int, cpu: str, **spec: Any) -> dict[str, Any]:
    return make_workload("Deployment", requests={"cpu": cpu}, pod=spec, replicas=replicas)


@pytest.fixture
def web(tmp_path: Path) -> str:
    return write_list(tmp_path / "web.json", deployment(2, "1"))


def test_a_chain_that_holds(web: str) -> None:
    cluster = Simulator.load([node("a-1", "a"), node("b-1", "b"), node("b-2", "b")])
    expected = Expectation(cluster)
    assert expected.schedules(web).without_preemption().survives(node=2).survives(zone=1) is expected


def test_a_failure_has_the_findings_and_the_explanation() -> None:
    with pytest.raises(NotSchedulable) as raised:
        Expectation(Simulator.load(FULL)).schedules(BAD)
    message = str(raised.value)
    assert message.startswith("Job batch/report, StatefulSet shop/db, Deployment shop/web does not schedule\n")
    assert "deploy/db.yaml:17: error KS104" in message
    assert "all 3 nodes lack label disk=nvme" in message
    assert " 1  leave disk=nvme out of the node selector" in message
    assert "exceeded quota: budget" in message
    assert "Deployment shop/api" not in message


def test_only_the_workload_is_looked_at() -> None:
    checks = Checks()
    Expectation(Simulator.load(FULL), workload="Deployment shop/api", checks=checks).schedules(BAD)
    with pytest.raises(NotSchedulable, match=r"^Deployment shop/web does not schedule"):
        Expectation(Simulator.load(FULL), workload="Deployment shop/web", checks=checks).schedules(BAD)


def test_tests_share_their_checks(web: str) -> None:
    cluster, checks = Simulator.load([node("a-1", "a"), node("b-1", "b")]), Checks()
    for _ in range(3):
        Expectation(cluster, checks=checks).schedules(web).survives(node=1)
    assert len(checks.done) == 3


def test_preemption_is_allowed_only_without_the_expectation(tmp_path: Path) -> None:
    low = make_pod("low").on("a-1").requests(cpu="2").priority(1).doc()
    path = write_list(tmp_path / "web.json", deployment(1, "1", priorityClassName="high"))
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 100}
    expected = Expectation(Simulator.load([node("a-1", "a"), low, high])).schedules(path)
    with pytest.raises(NotSchedulable, match=r"^Deployment default/web evicts pods of lower priority\n(?s:.*)low"):
        expected.without_preemption()


def test_a_loss_that_is_too_much_is_named(tmp_path: Path) -> None:
    path = write_list(tmp_path / "web.json", deployment(3, "1"))
    expected = Expectation(Simulator.load([node("a-1", "a"), node("b-1", "b"), node("b-2", "b", cpu="1")])).schedules(
        path
    )
    with pytest.raises(NotSchedulable, match=r"does not survive the loss of b-1, b-2\n") as raised:
        expected.survives(zone=1)
    assert "1 of 3 pods without a place" in str(raised.value)
    with pytest.raises(NotSchedulable, match=r"the loss of a-1, b-1\nalso not the loss of a-1, b-2; b-1, b-2\n"):
        expected.survives(node=2)
    expected.survives(node=1)


@pytest.mark.parametrize(
    ("losses", "message"),
    [
        ({}, "needs one number"),
        ({"node": 0}, "needs one number"),
        ({"node": 1, "zone": 1}, "needs one number"),
        ({"node": 2}, "the cluster has 2 nodes: it cannot lose 2"),
        ({"zone": 1}, "node bare has no label topology.kubernetes.io/zone"),
    ],
)
def test_losses_that_make_no_sense(losses: dict[str, int], message: str, web: str) -> None:
    bare = make_node("bare").allocatable(cpu="8", memory="8Gi", pods="10").doc()
    with pytest.raises(UsageError, match=message):
        Expectation(Simulator.load([node("a-1", "a"), bare])).schedules(web).survives(**losses)


@pytest.mark.parametrize("condition", ["schedules", "without_preemption", "survives"])
def test_without_manifests_nothing_holds(condition: str) -> None:
    with pytest.raises(UsageError, match="give manifests"):
        getattr(Expectation(Simulator.load(FULL)), condition)()


def test_a_wrong_manifest_is_no_success(tmp_path: Path) -> None:
    path = write_list(tmp_path / "web.json", deployment(2, "lots"))
    with pytest.raises((NotSchedulable, UsageError), match=r"web\.json"):
        Expectation(Simulator.load(FULL)).schedules(path)


def test_folders_below(tmp_path: Path) -> None:
    for name in ("deploy/a.yaml", "deploy/sub/b.yaml", "deploy/sub/NOTES.md", "deploy/docs/README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    top = str(tmp_path / "deploy")
    assert with_folders([top], recursive=False) == (top,)
    assert with_folders([top], recursive=True) == (top, str(tmp_path / "deploy" / "sub"))
    (tmp_path / "deploy" / "a.yaml").unlink()
    assert with_folders([top], recursive=True) == (str(tmp_path / "deploy" / "sub"),)
    (tmp_path / "deploy" / "sub" / "b.yaml").unlink()
    assert with_folders([top, "none"], recursive=True) == (top, "none")


def test_folders_below_are_read_on_request_only(web: str, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    write_list(tmp_path / "below" / "big.json", deployment(1, "100"))
    expected = Expectation(Simulator.load([node("a-1", "a")]))
    assert expected.schedules(str(tmp_path)) is expected
    with pytest.raises(NotSchedulable, match=r"below/big\.json"):
        expected.schedules(str(tmp_path), recursive=True)


def test_labels_are_those_of_check(web: str) -> None:
    assert workload_labels([web], "default") == ["Deployment default/web"]
    checked = Simulator.load(FULL).check(BAD)
    assert sorted(workload_labels([BAD], "default")) == sorted(each.workload for each in checked.workloads)
