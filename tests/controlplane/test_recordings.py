"""Every recording of the real control plane (fixtures/controlplane): the end state that the command line foretells, and
manifests that the API server refuses."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from tests.cli.transcripts import ROOT
from tests.lanes import sampled

CASES = Path(__file__).parents[2] / "fixtures" / "controlplane" / "cases"
NAMES = sorted(path.parent.name for path in CASES.glob("*/after.json"))


def places(final: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Workload to node to its number of pods; no node is Pending."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for entry in final:
        if entry["state"] != "gone":
            found[entry["workload"]][entry.get("node", "")] += 1
    return {workload: dict(nodes) for workload, nodes in found.items()}


def blocked(document: dict[str, Any]) -> list[str]:
    """Workloads with pods left on drained nodes, but for those of DaemonSets."""
    nodes = {node["node"] for node in document["nodes"]}
    left = (workload for workload, where in places(document["final"]).items() if nodes & where.keys())
    return sorted(workload for workload in left if not workload.startswith("DaemonSet/"))


def foretold(document: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """What the document says of everything that was recorded."""
    found: dict[str, Any] = {"workloads": places(document["final"])}
    if "finished" in wanted:
        found["finished"] = {name: document["finished"].get(name) for name in wanted["finished"]}
    if "drained" in wanted:
        found["drained"] = document["drained"]
    if "blocked" in wanted:
        found["blocked"] = blocked(document)
    return found


@pytest.mark.parametrize("name", sampled(NAMES, 4))
def test_the_end_is_the_recorded_one(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(CASES / name)
    action, after = (json.loads(Path(f"{part}.json").read_text()) for part in ("action", "after"))
    recorded = {key: after[key] for key in ("workloads", "finished", "drained", "blocked") if key in after}
    recorded["workloads"] = {workload: nodes for workload, nodes in after["workloads"].items() if nodes}
    assert run([*action["args"], "--from", "before.json", "-o", "json", "--exit-zero"]) == 0
    assert foretold(json.loads(capsys.readouterr().out), recorded) == recorded


def test_all_recordings_are_here() -> None:
    assert len(NAMES) == 143


# Recordings of the API server: of each manifest, whether `ksched check` refuses it too, and names the field


RECORDINGS = ROOT / "fixtures" / "admission" / "recordings.json.gz"
# Keys of a document that name the object and not what is wrong with it.
_IDENTITY = frozenset(
    ("file", "workload", "name", "code", "title", "level", "apiVersion", "kind", "result", "plugin", "line")
)


@cache
def recordings() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress(RECORDINGS.read_bytes()))
    return found


@cache
def by_theme() -> dict[str, list[dict[str, Any]]]:
    themes: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for case in recordings()["cases"]:
        themes[case["name"].split("-")[1]].append(case)
    return themes


def fields_of(refusal: dict[str, Any]) -> set[str]:
    """The last steps of the paths that the API server names."""
    paths = [cause["field"] for cause in refusal.get("causes", ()) if cause.get("field") not in (None, "", "<nil>")]
    text = refusal.get("message", "")
    paths = paths or re.findall(r'unknown field "([^"]+)"', text) + re.findall(r"Go struct field (\S+) of type", text)
    keys = (re.search(r"\[([^\]\d][^\]]*)\]$", path) for path in paths)
    last = [
        key[1] if key else re.sub(r"\[.*", "", path.rpartition(".")[2]) for key, path in zip(keys, paths, strict=True)
    ]
    return set(filter(None, last))


def words(value: Any) -> str:
    """The texts of a document."""
    if isinstance(value, dict):
        return "\n".join(words(each) for key, each in value.items() if key not in _IDENTITY)
    if isinstance(value, list):
        return "\n".join(map(words, value))
    return value if isinstance(value, str) else ""


def test_there_are_recordings_of_both_kinds() -> None:
    verdicts = {all(each["accepted"] for each in case["objects"] + case["pods"]) for case in recordings()["cases"]}
    assert (len(by_theme()), len(recordings()["cases"]), verdicts) == (56, 364, {True, False})


@pytest.mark.slow
@pytest.mark.parametrize("theme", sampled(sorted(by_theme()), 3))
def test_check_decides_as_the_api_server(theme: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster, manifest = tmp_path / "cluster.json", tmp_path / "apply.yaml"
    wrong = []
    for case in by_theme()[theme]:
        cluster.write_text(json.dumps(recordings()["clusters"][case["cluster"]]))
        manifest.write_text(case["manifest"])
        code = run(["check", "--from", str(cluster), "-f", str(manifest), "-o", "json"])
        shown = words(json.loads(capsys.readouterr().out))
        refused = [each for each in case["objects"] + case["pods"] if not each["accepted"]]
        fields = {field for each in refused for field in fields_of(each)}
        named = not fields or any(
            re.search(rf"(?<![A-Za-z0-9]){re.escape(each)}(?![A-Za-z0-9])", shown) for each in fields
        )
        if (code in (1, 2)) != bool(refused) or not named:
            wrong.append((case["name"], code, refused[:1], sorted(fields), shown[:300]))
    assert wrong == []
