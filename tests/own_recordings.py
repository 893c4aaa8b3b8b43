"""Recordings that hold a case with its cluster and its configuration in one line, and how ksched is compared with them."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from ksched_cli.plan.run.options import RunOptions
from ksched_cli.report.registry import RenderOptions, render
from tests.running import prepare

_ROOT = Path(__file__).parent.parent / "fixtures" / "conformance"
_KEYS = ("pod", "result", "node", "message", "totals", "nominatedNode")


@cache
def recorded(name: str) -> dict[str, dict[str, Any]]:
    """The cases of fixtures/conformance/NAME.jsonl.gz by name."""
    with gzip.open(_ROOT / f"{name}.jsonl.gz", "rt") as lines:
        return {case["case"]: case for case in map(json.loads, lines)}


def simulate(case: dict[str, Any], folder: Path, **options: Any) -> dict[str, Any]:
    """The document of the case; its pods are in the order of their cycles."""
    cluster = folder / "cluster.json"
    cluster.write_text(json.dumps(case["cluster"]))
    gates = case.get("gates", "")
    prepared = prepare(RunOptions([str(cluster)], config=case.get("config"), feature_gates=gates, **options))
    out = io.StringIO()
    render(prepared.stream(detail=True, top=0), out, RenderOptions("json"))
    document: dict[str, Any] = json.loads(out.getvalue())
    return document


def differences(case: dict[str, Any], document: dict[str, Any]) -> list[str]:
    """What differs between the recorded pods and pod groups and those of the document."""
    found = [_of_pod(*pair) for pair in zip(case["pods"], document["pods"], strict=True)]
    groups = {group["podGroup"]: group for group in document.get("podGroups", ())}
    found += [_of_group(group, groups[group["group"]]) for group in case.get("groups", ())]
    gated = (sorted(case.get("gated", ())), sorted(document["gated"]))
    return [
        *([] if gated[0] == gated[1] else [f"gated: want {gated[0]} got {gated[1]}"]),
        *(e for each in found for e in each),
    ]


def _of_pod(want: dict[str, Any], got: dict[str, Any]) -> Iterator[str]:
    values = [(key, want.get(key), got.get(key)) for key in _KEYS]
    values += [(key, _sorted(want.get(key)), _sorted(got.get(key))) for key in ("ties",)]
    values.append(("feasible", _sorted(want.get("feasible") or want.get("totals")), _sorted(got.get("feasible"))))
    values.append(("preemption", *map(_preemption, (want, got))))
    for key, wanted, found in values:
        if (wanted or None) != (found or None):
            yield f"{want['pod']} {key}: want {wanted} got {found}"


def _of_group(want: dict[str, Any], got: dict[str, Any]) -> Iterator[str]:
    values = [
        ("message", want["message"], got.get("message", "")),
        ("status", want["status"], "True" if got["result"] == "scheduled" else "False"),
        ("preemption", _preemption(want), _preemption(got)),
    ]
    for key, wanted, found in values:
        if wanted != found:
            yield f"{want['group']} {key}: want {wanted} got {found}"


def _sorted(names: Any) -> list[str]:
    return sorted(names or ())


def _preemption(entry: dict[str, Any]) -> dict[str, Any]:
    """Victims have no order: they are evicted in parallel."""
    done = entry.get("preemption")
    return {**done, "victims": _sorted(done["victims"])} if done else {}
