"""How long `size` and `consolidate` take on a large cluster, in seconds of this machine's processor."""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.simulator import RunOptions, Simulator
from tests.benchmarks.__main__ import calibrate
from tests.benchmarks.sizing.large import catalog
from tests.benchmarks.workloads import NAMESPACES, fleet, node, pod, running
from tests.builders import write_list

# The floors are those of a machine with this calibration.
CALIBRATION = 0.105


def objects_of_crowd(smallest: int, largest: int) -> list[dict[str, Any]]:
    """1,000 nodes, 10,000 running pods and 300 pending ones of 300 sizes, between so many thousandths of a core."""
    objects: list[dict[str, Any]] = [node(index) for index in range(1000)]
    objects += [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"ns-{at}"}} for at in range(NAMESPACES)]
    objects += running("varied", 1000, 10_000)
    for index in range(300):
        cpu = smallest + index * 7919 % (largest - smallest + 1)
        objects.append(pod(f"new-{index:06d}", index, cpu=f"{cpu}m", memory=f"{64 + index % 1499}Mi"))
    return objects


@pytest.mark.slow
@pytest.mark.parametrize(
    ("smallest", "largest"), [pytest.param(50, 1000, id="small pods"), pytest.param(6000, 12_000, id="large pods")]
)
def test_size_answers_in_15_seconds(smallest: int, largest: int) -> None:
    simulator, offered = (
        Simulator.of(RunOptions(objects=objects_of_crowd(smallest, largest))),
        catalog(random.Random("floor"), 12),
    )
    started = time.process_time()
    found = simulator.size(offered)
    assert time.process_time() - started <= 15 * max(calibrate() / CALIBRATION, 1)
    assert found.fits
    assert len(found.pods) == 300
    assert found.lower_bound is not None
    assert found.lower_bound <= found.cost


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "seconds"), [pytest.param("size", 15, id="size"), pytest.param("consolidate", 30, id="consolidate")]
)
def test_a_command_needs_400_megabytes_at_most(command: str, seconds: int, tmp_path: Path) -> None:
    """By itself, with the time to load the cluster and to write the document."""
    offered = catalog(random.Random("floor"), 12)
    items = fleet(1000, 10, "250m")
    for at, each in enumerate(item for item in items if item["kind"] == "Node"):
        each["metadata"]["labels"]["node.kubernetes.io/instance-type"] = offered["shapes"][at % 12]["name"]
    # Two of three need more than is free on a node.
    items += [pod(f"new-{at:06d}", at, cpu=f"{500 + at % 3 * 1000}m", memory="64Mi") for at in range(300)]
    cluster, shapes = tmp_path / "cluster.json", tmp_path / "shapes.json"
    write_list(cluster, *items)
    shapes.write_text(json.dumps(offered))
    options = ["--from", str(cluster), "--catalog", str(shapes), "-o", "json"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run([sys.executable, "-m", "ksched_cli", command, *options], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    document = json.loads(run.stdout)
    assert document["steps" if command == "consolidate" else "pods"]
    assert document["stats"]["peakMiB"] * 1024 * 1024 <= 400_000_000
    took = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    assert took <= seconds * max(calibrate() / CALIBRATION, 1)
