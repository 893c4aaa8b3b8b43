"""The gate BalanceAttachedNodeVolumes, held against a plain reading of whole runs: what the limits of disks note on a
node, and what the next pods read there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.api.core import Pod
from ksched_cli.releases.minors import RELEASES
from tests.builders import make_node, make_pod
from tests.harness import decide, make_scheduler
from tests.lanes import examples, sampled

GATE = "BalanceAttachedNodeVolumes=true"
EBS, GCE = "attachable-volumes-aws-ebs", "attachable-volumes-gce-pd"
SCORE = {"1.16": "BalancedResourceAllocation"}
OTHERWISE = "NodeResourcesBalancedAllocation"


@dataclass
class PlainNode:
    """A node with what its transient info holds."""

    limits: dict[str, int]
    pods: list[Pod] = field(default_factory=list)
    free: int = 0
    needed: int = 0

    def disks(self, kind: str) -> set[str]:
        return {disk for pod in self.pods for disk in disks_of(pod, kind)}

    def share(self, pod: Pod, resource: int, size: float) -> float:
        return sum(amounts_of(each)[resource] for each in (*self.pods, pod)) / size


def disks_of(pod: Pod, kind: str) -> set[str]:
    found = set()
    for volume in pod.spec.volumes:
        if kind == EBS and volume.aws_elastic_block_store:
            found.add(volume.aws_elastic_block_store.volume_id)
        if kind == GCE and volume.gce_persistent_disk:
            found.add(volume.gce_persistent_disk.pd_name)
    return found


def amounts_of(pod: Pod) -> tuple[int, int]:
    requests = pod.spec.containers[0].resources.requests
    return int(requests["cpu"]), int(requests["memory"])


def expected_scores(minor: str, nodes: dict[str, PlainNode], pod: Pod) -> dict[str, int]:
    """The scores of the nodes that pass; the limits note what they find on the way."""
    best = 10 if minor == "1.16" else 100
    scores = {}
    for name, node in nodes.items():
        passes = True
        for kind in (EBS, GCE):
            wanted = disks_of(pod, kind)
            if not wanted or not passes:
                continue
            there = node.disks(kind)
            if len(there | wanted) > node.limits[kind]:
                passes = False
            else:
                node.free, node.needed = node.limits[kind] - len(there), len(wanted - there)
        if passes:
            scores[name] = plain_score(minor, node, pod, best)
    return scores


def plain_score(minor: str, node: PlainNode, pod: Pod, best: int) -> int:
    cpu, memory = node.share(pod, 0, 40), node.share(pod, 1, 4000)
    if cpu >= 1 or memory >= 1:
        return 0
    reads_all = minor in ("1.16", "1.18", "1.19")
    if (pod.spec.volumes or reads_all) and node.free > 0:
        volumes = node.needed / node.free
        if volumes >= 1:
            return 0
        mean = (cpu + memory + volumes) / 3.0
        variance = (
            (cpu - mean) * (cpu - mean) + (memory - mean) * (memory - mean) + (volumes - mean) * (volumes - mean)
        ) / 3
        return int((1 - variance) * best)
    return int((1 - abs(cpu - memory)) * best)


def pod_with(index: int, cpu: int, memory: int, ebs: list[str], gce: list[str], other: bool) -> Pod:
    volumes: list[dict[str, Any]] = [
        {"name": f"e{at}", "awsElasticBlockStore": {"volumeID": disk}} for at, disk in enumerate(ebs)
    ]
    # A disk that pods share is mounted for reading, so that only its limit matters.
    for volume in volumes:
        volume["awsElasticBlockStore"]["readOnly"] = True
    volumes += [
        {"name": f"g{at}", "gcePersistentDisk": {"pdName": disk, "readOnly": True}} for at, disk in enumerate(gce)
    ]
    volumes += [{"name": "scratch", "emptyDir": {}}] if other else []
    stamp = f"2026-01-01T00:00:{index:02}Z"
    return make_pod(f"p{index}").created(stamp).requests(cpu=str(cpu), memory=str(memory)).spec(volumes=volumes).obj()


@pytest.mark.slow
@pytest.mark.parametrize("minor", sampled(["1.16", "1.18", "1.19", "1.20", "1.21"], 5))
@given(data=st.data())
@settings(max_examples=examples(25), deadline=None)
def test_agrees_with_a_plain_reading_of_whole_runs(minor: str, data: st.DataObject) -> None:
    limit = st.integers(1, 6)
    limits = [{EBS: data.draw(limit), GCE: data.draw(limit)} for _ in range(3)]
    pods = [
        pod_with(
            index,
            data.draw(st.integers(1, 6)),
            data.draw(st.integers(1, 900)),
            [f"own-{index}-{at}" for at in range(data.draw(st.integers(0, 2)))],
            data.draw(st.lists(st.sampled_from("abc"), max_size=2, unique=True)),
            data.draw(st.booleans()),
        )
        for index in range(5)
    ]
    sizes = {"cpu": "40", "memory": "4000", "pods": "20"}
    nodes = [
        make_node(f"n{at}").allocatable(**sizes, **{kind: str(count) for kind, count in own.items()}).obj()
        for at, own in enumerate(limits)
    ]
    plain = {f"n{at}": PlainNode(own) for at, own in enumerate(limits)}
    decisions = decide(make_scheduler(nodes, pods, gates=GATE, current=RELEASES[minor]))
    for pod in pods:
        found = decisions[f"default/{pod.metadata.name}"]
        expected = expected_scores(minor, plain, pod)
        assert sorted(f"n{row}" for row in found.feasible.tolist()) == sorted(expected)
        if found.scores is not None:
            raw = found.scores.raw[SCORE.get(minor, OTHERWISE)]
            got = {f"n{row}": int(score) for row, score in zip(found.scores.rows.tolist(), raw, strict=True)}
            assert got == expected, pod.metadata.name
        if found.row is not None:
            chosen = plain[f"n{found.row}"]
            chosen.pods.append(pod)
            chosen.free = chosen.needed = 0


@pytest.mark.parametrize(("minor", "reads"), [("1.19", True), ("1.20", False)])
def test_a_pod_without_volumes_reads_what_an_earlier_pod_left(minor: str, reads: bool) -> None:
    sizes = {"cpu": "40", "memory": "4000", "pods": "20"}
    nodes = [make_node(name).allocatable(**sizes, **{EBS: "2"}).obj() for name in ("a", "b")]
    pods = [pod_with(0, 4, 400, ["one"], [], other=False), pod_with(1, 4, 400, [], [], other=False)]
    decisions = decide(make_scheduler(nodes, pods, gates=GATE, current=RELEASES[minor]))
    first, second = (decisions[f"default/p{index}"].scores for index in (0, 1))
    assert first is not None
    assert second is not None
    assert first.raw[OTHERWISE].tolist() == [96, 96]
    assert second.raw[OTHERWISE].tolist() == ([100, 96] if reads else [100, 100])


def test_the_score_by_hand() -> None:
    """Shares of 0.5, 0.1 and 0.25: their mean is 0.2833, and the variance 0.0272."""
    nodes = [make_node(name).allocatable(cpu="40", memory="4000", pods="20", **{EBS: "4"}).obj() for name in ("a", "b")]
    pod = pod_with(0, 20, 400, ["one"], [], other=False)
    (decision,) = decide(make_scheduler(nodes, [pod], gates=GATE, current=RELEASES["1.21"])).values()
    assert decision.scores is not None
    assert decision.scores.raw[OTHERWISE].tolist() == [97, 97]
