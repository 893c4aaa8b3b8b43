"""How fast and how large the reading of a cluster is, beside the standard library's and PyYAML's own readers.

    python -m tests.benchmarks.reading               # 400 MB of pods, 150,000 pods, YAML
    python -m tests.benchmarks.reading --pods 2000   # a smaller first one

Each measurement is a process of its own, because memory is only ever the most that a process has held.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from tests.benchmarks.__main__ import calibrate, say
from tests.benchmarks.workloads import node, pod

PODS, NODES, RUNNING, YAML_PODS = 20_000, 5_000, 150_000, 1_500
_TIMED = """
import gc, json, resource, sys, time
data = open(sys.argv[1], "rb").read()
{imports}
gc.disable()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
started = time.perf_counter()
value = {read}
print(json.dumps([time.perf_counter() - started, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024]))
"""
_OURS = "from ksched_cli.sources.decoding import decode"
READERS = {
    "json.loads": ("", "json.loads(data)"),
    "ksched, JSON": (_OURS, 'list(decode(data, "x"))'),
    "yaml.CSafeLoader": ("import yaml", "yaml.load(data, Loader=yaml.CSafeLoader)"),
    "ksched, YAML": (_OURS, 'list(decode(data, "x"))'),
}


def full_pod(index: int) -> dict[str, Any]:
    """About 20 kB, as pods of real clusters are: most of it environment, managed fields and conditions."""
    made = pod(f"pod-{index:06d}", index, nodeName=f"node-{index % NODES:05d}")
    made["metadata"]["managedFields"] = [
        {
            "manager": f"manager-{number}",
            "operation": "Update",
            "fieldsV1": {
                "f:status": {f"f:condition-{each}": {".": {}, "f:type": {}, "f:status": {}} for each in range(60)}
            },
        }
        for number in range(2)
    ]
    made["spec"]["containers"][0]["env"] = [
        {"name": f"SETTING_{number}", "value": f"{index}-{number}-" + "value" * 24} for number in range(75)
    ]
    return made


def write_list(items: Iterator[dict[str, Any]], file: TextIO) -> None:
    file.write('{"apiVersion": "v1", "kind": "List", "items": [')
    for number, item in enumerate(items):
        file.write(("," if number else "") + json.dumps(item, separators=(",", ":")))
    file.write("]}")


def timed(reader: str, path: Path) -> tuple[float, float]:
    imports, read = READERS[reader]
    command = [sys.executable, "-c", _TIMED.format(imports=imports, read=read), str(path)]
    seconds, mib = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return seconds, mib


def compare(one: str, other: str, path: Path) -> None:
    """The best of three each, in turns."""
    found: dict[str, list[tuple[float, float]]] = {one: [], other: []}
    for _ in range(3):
        for reader in found:
            found[reader].append(timed(reader, path))
    best = {reader: (min(each[0] for each in all_), min(each[1] for each in all_)) for reader, all_ in found.items()}
    size = path.stat().st_size / 1e6
    for reader, (seconds, mib) in best.items():
        say(f"{reader:<20}{size:>7.0f} MB{seconds:>8.2f} s{mib:>8.0f} MiB")
    say(f"{'':<20}time 1/{best[one][0] / best[other][0]:.1f}, memory 1/{best[one][1] / max(best[other][1], 1):.1f}")


def load(path: Path) -> None:
    command = [sys.executable, "-m", "ksched_cli", "simulate", "--from", str(path), "-o", "json", "--exit-zero"]
    stats = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["stats"]
    text = f"{NODES} nodes and {RUNNING} pods"
    say(f"{text}: loaded in {stats['loadSeconds']:.1f} s, at most {stats['peakMiB']:.0f} MiB")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.reading", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--pods", type=int, default=PODS)
    given = parser.parse_args()
    say(f"calibration {calibrate():.3f} s")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pods.json")
        with path.open("w") as file:
            write_list(map(full_pod, range(given.pods)), file)
        compare("json.loads", "ksched, JSON", path)
        path.unlink()
        _yaml(Path(folder, "pods.yaml"))
        with path.open("w") as file:
            running = (pod(f"pod-{index:06d}", index, nodeName=f"node-{index % NODES:05d}") for index in range(RUNNING))
            write_list((item for part in (map(node, range(NODES)), running) for item in part), file)
        load(path)
    return 0


def _yaml(path: Path) -> None:
    import yaml

    with path.open("w") as file:
        items = list(map(full_pod, range(YAML_PODS)))
        yaml.dump({"apiVersion": "v1", "kind": "List", "items": items}, file, Dumper=yaml.CSafeDumper)
    compare("yaml.CSafeLoader", "ksched, YAML", path)


if __name__ == "__main__":
    sys.exit(main())
