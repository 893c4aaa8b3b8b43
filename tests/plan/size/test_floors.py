"""How long `size` and `consolidate` take on a large cluster, in seconds of this machine's processor."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest

from ksched_cli.simulator import RunOptions, Simulator
from tests.benchmarks.__main__ import calibrate
from tests.benchmarks.sizing.large import catalog
from tests.benchmarks.workloads import NAMESPACES, node, pod, running

# The floors are those of a machine with this calibration.
CALIBRATION = 0.105


def crowd(smallest: int, largest: int) -> Simulator:
    """1,000 nodes, 10,000 running pods and 300 pending ones of 300 sizes, between so many thousandths of a core."""
    objects: list[dict[str, Any]] = [node(index) for index in range(1000)]
    objects += [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"ns-{at}"}} for at in range(NAMESPACES)]
    objects += running("varied", 1000, 10_000)
    for index in range(300):
        cpu = smallest + index * 7919 % (largest - smallest + 1)
        objects.append(pod(f"new-{index:06d}", index, cpu=f"{cpu}m", memory=f"{64 + index % 1499}Mi"))
    return Simulator.of(RunOptions(objects=objects))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("smallest", "largest"), [pytest.param(50, 1000, id="small pods"), pytest.param(6000, 12_000, id="large pods")]
)
def test_size_answers_in_15_seconds(smallest: int, largest: int) -> None:
    simulator, offered = crowd(smallest, largest), catalog(random.Random("floor"), 12)
    started = time.process_time()
    found = simulator.size(offered)
    assert time.process_time() - started <= 15 * max(calibrate() / CALIBRATION, 1)
    assert found.fits
    assert len(found.pods) == 300
    assert found.lower_bound is not None
    assert found.lower_bound <= found.cost
