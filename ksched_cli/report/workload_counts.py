"""Counts pods by workload."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping


def by_workload(pods: Iterable[str], workloads: Mapping[str, str]) -> str:
    """`2 of Deployment batch/reports, shop/debug`: the number of pods of each workload. A pod without a controller has
    its own name."""
    found = Counter(workloads.get(pod, f"Pod/{pod}") for pod in pods)
    return ", ".join(_part(workload, number) for workload, number in sorted(found.items()))


def _part(workload: str, number: int) -> str:
    kind, _, name = workload.partition("/")
    return name if kind == "Pod" else f"{number} of {kind} {name}"
