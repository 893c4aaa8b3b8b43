"""How long the policies of fixtures/gpu-sharing take on the published trace, beside the paper's own simulator.

    python -m tests.benchmarks.gpu_sharing DIR               # DIR has the published CSV tables (openb_*.csv)
    python -m tests.benchmarks.gpu_sharing DIR --runs 3      # the best of three runs, on a machine that others use, too
    python -m tests.benchmarks.gpu_sharing DIR --workload cpu050 --policy fgd

Each policy places all pods of one workload in a process of its own: `ksched sweep --curve` with one run, from the start of
Python to its end. Seconds are those of the processor of one core. `cal s` is the calibration of `tests.benchmarks` just before, in seconds of the processor, too.
The last line multiplies the mean of each policy by the 170 experiments that the paper makes with it (17 workloads, ten
seeds), two at a time on two cores: it is an estimate from this workload, and workloads differ.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.__main__ import calibrate, compile_package, say

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "fixtures" / "gpu-sharing"
PLUGINS = {
    "random": "random_score:RandomScore",
    "dot-product": "dot_product:DotProductScore",
    "gpu-clustering": "clustering:GpuClusteringScore",
    "gpu-packing": "packing:GpuPackingScore",
    "best-fit": "best_fit:BestFitScore",
    "fgd": "fgd:FGDScore",
}
# CPU seconds of the paper's simulator: an eighth of the default workload (152 nodes, 1,339 pods), and the whole of it.
RECORDED = {"dot-product": 45, "gpu-clustering": 46, "gpu-packing": 49, "best-fit": 51, "fgd": 56}
RECORDED_WHOLE = {"fgd": "2,091 s, 4.0 GB"}
GPU = "alibabacloud.com/gpu-milli"
EXPERIMENTS, CORES = 170, 2


@dataclass(frozen=True)
class Measured:
    policy: str
    seconds: float
    mib: float
    allocated: float
    calibration: float

    @property
    def line(self) -> str:
        eighth = f"{RECORDED[self.policy]} s" if self.policy in RECORDED else ""
        return (
            f"{self.policy:<16}{self.seconds:>8.2f}{self.mib:>7.0f}{self.allocated:>13.2f}{self.calibration:>8.3f}"
            f"{eighth:>12}  {RECORDED_WHOLE.get(self.policy, '')}"
        ).rstrip()


HEADER = (
    f"{'policy':<16}{'CPU s':>8}{'MiB':>7}{'allocated %':>13}{'cal s':>8}{'an eighth':>12}  whole, paper's simulator"
)


def measure(policy: str, folder: str, workload: str, seed: int, fill: float) -> Measured:
    """One run in a process of its own."""
    command = [sys.executable, "-m", "ksched_cli", "sweep", "--workers", "1", "-o", "json", "--curve", GPU]
    command += ["--from", f"openb:{folder}?workload={workload}&fill={fill}&seed={seed}"]
    command += ["--policy", str(PACKAGE / "configs" / f"{policy}.yaml")]
    for plugin in dict.fromkeys(("share:OpenGpuShare", PLUGINS[policy])):
        command += ["--plugin", f"ksched_gpu_sharing.{plugin}"]
    path = os.pathsep.join(filter(None, [str(ROOT), str(PACKAGE), os.environ.get("PYTHONPATH")]))
    calibration = calibrate(2, time.process_time)
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}) as process:
        assert process.stdout is not None
        text = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{policy}: ksched ends with {process.returncode}")
    (curve,) = json.loads(text)["curves"]
    return Measured(policy, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, curve["mean"][-1], calibration)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="where the published tables are")
    parser.add_argument("--policy", action="append", choices=list(PLUGINS), help="one of the policies; default all")
    parser.add_argument("--workload", default="default")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--fill", type=float, default=1.3)
    parser.add_argument("--runs", type=int, default=1)
    given = parser.parse_args(arguments)
    compile_package()
    say(HEADER)
    best: list[Measured] = []
    for policy in given.policy or PLUGINS:
        how = (policy, given.folder, given.workload, given.seed, given.fill)
        best.append(min((measure(*how) for _ in range(given.runs)), key=lambda each: each.seconds))
        say(best[-1].line)
    if len(best) == len(PLUGINS):
        minutes = sum(each.seconds for each in best) * EXPERIMENTS / CORES / 60
        say(f"estimate of all {EXPERIMENTS * len(best):,} experiments on {CORES} cores: {minutes:.0f} minutes")


if __name__ == "__main__":
    main(sys.argv[1:])
