"""How long each command takes as a whole process, and how much memory it holds at most.

    python -m tests.benchmarks.commands                                 # 5,000 nodes, 10,000 running, 1,000 pending
    python -m tests.benchmarks.commands "simulate" --nodes 500          # some of the commands, a smaller cluster
    python -m tests.benchmarks.commands "check, 500 files"              # it has a cluster of its own, 120 nodes

Each line is the best of some runs, for what else runs on the machine only makes a command slower, with the calibration
right before and after it; a command that takes longer than 5 seconds runs once. One that takes longer than the time limit is stopped, and its line says so.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.__main__ import RUNS, calibrate, calibrated, compile_package, say
from tests.benchmarks.workloads import pod, write
from tests.builders import write_list

NODES, RUNNING, PENDING = 5000, 10_000, 1000
DEPLOYMENTS = 10
# "check, 500 files": so many files, each with a Deployment and a Service, that make so many pods, on a cluster of so many
# nodes that runs as many pods already.
FILES, PODS_OF_FILES, NODES_OF_FILES = 500, 920, 120
LIMIT = 120.0
# Commands that take longer run once.
_LONG = 5.0

# What runs after `ksched`; `{cluster}` and the other names are files of the benchmark.
COMMANDS: Mapping[str, str] = {
    "simulate": "simulate --from {cluster} --exit-zero",
    "simulate, full detail": "simulate --from {cluster} -o json --detail full --exit-zero",
    "explain, unschedulable": "explain ns-0/new-huge --from {cluster}",
    "capacity": "capacity --from {cluster} -f {pod} --max 10000",
    "check, 10 Deployments": "check --from {cluster} -f {deployments} --exit-zero",
    "check, 500 files": "check --from {small} -f {folder} --exit-zero",
    "diff --remove-node": "diff --from {cluster} --remove-node node-00007 --exit-zero",
    "diff of two minors": "diff --from {cluster} --kube-version 1.33 --to-kube-version 1.34 --exit-zero",
    "drain, one node": "drain node-00007 --from {cluster} --force --exit-zero",
    "drain --each zone": "drain --each zone --from {cluster} --force --exit-zero",
    "drain --each node": "drain --each node --from {cluster} --force --exit-zero",
    "verify": "verify --from {cluster} --exit-zero",
}


@dataclass(frozen=True)
class Measured:
    """CPU and wall seconds of a process, and the MB that it held at most. `code` is None for one that was stopped.
    `calibration`: how fast the machine was then."""

    cpu: float
    wall: float
    peak: float
    code: int | None
    calibration: float

    @property
    def succeeded(self) -> bool:
        """A pod that does not fit is a result."""
        return self.code in (0, 1)

    @property
    def line(self) -> str:
        note = "" if self.succeeded else "  stopped" if self.code is None else f"  exit code {self.code}"
        return f"{self.cpu:>8.2f}{self.wall:>8.2f}{self.peak:>8.0f}{self.calibration:>7.3f}{note}"


HEADER = f"{'command':<26}{'cpu s':>8}{'wall s':>8}{'MB':>8}{'cal s':>7}"


# Linux counts the memory of the process that starts a command as memory of the command. So a small process starts it,
# with the limit and the command line as its arguments, and prints what the command used.
_LAUNCHER = """
import os, signal, subprocess, sys, time
started = time.perf_counter()
process = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
signal.signal(signal.SIGALRM, lambda *_: process.kill())
signal.setitimer(signal.ITIMER_REAL, float(sys.argv[1]))
_, status, used = os.wait4(process.pid, 0)
wall = time.perf_counter() - started
print(used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1000, os.waitstatus_to_exitcode(status))
"""


def measure(arguments: Sequence[str], limit: float = LIMIT) -> Measured:
    """Run `ksched` with these arguments."""
    command = [sys.executable, "-m", "ksched_cli", *arguments]
    launcher = [sys.executable, "-S", "-c", _LAUNCHER, str(limit), *command]
    launched, calibration = calibrated(
        lambda: subprocess.run(launcher, stdout=subprocess.PIPE, text=True, check=True).stdout
    )
    cpu, wall, peak, code = launched.split()
    return Measured(float(cpu), float(wall), float(peak), int(code) if int(code) >= 0 else None, calibration)


def measure_best(arguments: Sequence[str], limit: float = LIMIT, times: int = RUNS) -> Measured:
    """The fastest of so many runs, or the first that does not succeed."""
    best = measure(arguments, limit)
    for _ in range(times - 1):
        if best.wall > _LONG or not best.succeeded:
            break
        again = measure(arguments, limit)
        best = again if not again.succeeded or again.wall < best.wall else best
    return best


def prepare(folder: Path, nodes: int, running: int, pending: int) -> dict[str, str]:
    """The files that the commands read, by name."""
    cluster = folder / "cluster.json"
    with cluster.open("w") as file:
        write("varied", nodes, running, pending, file)
    items = json.loads(cluster.read_text())["items"]
    huge = pod("new-huge", 0, cpu="64")
    write_list(cluster, *items, huge)
    one = folder / "pod.json"
    one.write_text(json.dumps(pod("more", 1)))
    deployments = folder / "deployments.json"
    write_list(deployments, *_deployments())
    small, manifests = folder / "small.json", folder / "manifests"
    with small.open("w") as file:
        write("varied", NODES_OF_FILES, PODS_OF_FILES, 0, file)
    manifests.mkdir()
    for index in range(FILES):
        (manifests / f"app-{index:03}.yaml").write_text(_manifest(index))
    names = {"cluster": cluster, "pod": one, "deployments": deployments, "small": small, "folder": manifests}
    return {name: str(path) for name, path in names.items()}


def _manifest(index: int) -> str:
    """A Deployment and a Service as people write them."""
    replicas = (index + 1) * PODS_OF_FILES // FILES - index * PODS_OF_FILES // FILES
    return f"""\
# The web front end of team {index % 20}.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-{index:03}
  namespace: ns-{index % 5}
  labels:
    app.kubernetes.io/name: app-{index:03}
    app.kubernetes.io/part-of: team-{index % 20}
spec:
  replicas: {replicas}
  selector:
    matchLabels:
      app.kubernetes.io/name: app-{index:03}
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxSurge: 1
      maxUnavailable: 0
  template:
    metadata:
      labels:
        app.kubernetes.io/name: app-{index:03}
    spec:
      containers:
        - name: web
          image: registry.example.com/web/app-{index:03}:1.{index % 7}
          args: ["--port=8080", "--log-level=info"]
          env:
            - name: POD_NAME
              valueFrom:
                fieldRef:
                  fieldPath: metadata.name
            - name: LEVEL
              value: "{index % 3}"
          ports:
            - name: http
              containerPort: 8080
          readinessProbe:
            httpGet:
              path: /healthz
              port: http
            periodSeconds: 5
          resources:
            requests:
              cpu: {50 + index % 4 * 25}m
              memory: {64 + index % 3 * 32}Mi
            limits:
              memory: 256Mi
          volumeMounts:
            - name: tmp
              mountPath: /tmp
      volumes:
        - name: tmp
          emptyDir: {{}}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              app.kubernetes.io/name: app-{index:03}
---
apiVersion: v1
kind: Service
metadata:
  name: app-{index:03}
  namespace: ns-{index % 5}
spec:
  selector:
    app.kubernetes.io/name: app-{index:03}
  ports:
    - name: http
      port: 80
      targetPort: http
"""


def _deployments() -> Iterator[dict[str, object]]:
    for index in range(DEPLOYMENTS):
        made = pod("template", index)
        labels = {"app": f"team-{index}"}
        spec = {key: made["spec"][key] for key in ("containers", "restartPolicy", "schedulerName")}
        yield {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": f"team-{index}", "namespace": "ns-0"},
            "spec": {
                "replicas": 10,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": spec},
            },
        }


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.commands", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("commands", nargs="*", help=f"all of them if none is named: {', '.join(COMMANDS)}")
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--running", type=int, default=RUNNING)
    parser.add_argument("--pending", type=int, default=PENDING)
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds after which a command is stopped")
    parser.add_argument("--runs", type=int, default=RUNS, help="how often each is measured; the best counts")
    given = parser.parse_args()
    unknown = set(given.commands) - COMMANDS.keys()
    if unknown:
        parser.error(f"no command is named {', '.join(sorted(unknown))}")
    compile_package()
    say(f"calibration {calibrate():.3f} s")
    with tempfile.TemporaryDirectory() as folder:
        files = prepare(Path(folder), given.nodes, given.running, given.pending)
        return int(not print_table(given.commands or list(COMMANDS), files, given.limit, given.runs))


def print_table(names: Sequence[str], files: Mapping[str, str], limit: float = LIMIT, times: int = RUNS) -> bool:
    """One line a command; whether all of them came to a result."""
    say(HEADER)
    succeeded = True
    for name in names:
        measured = measure_best(COMMANDS[name].format(**files).split(), limit, times)
        say(f"{name:<26}{measured.line}")
        succeeded &= measured.succeeded
    return succeeded


if __name__ == "__main__":
    sys.exit(main())
