"""Command lines for mutated inputs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import yaml

from ksched_cli.whatif.edits.lib.edit import edit_specs
from tests.fuzz.mutations import ODD, damaged, mutated

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures"
OUTPUTS = ("table", "wide", "json", "yaml", "name")
CHECKS = ("table", "wide", "json", "junit", "sarif", "github", "markdown")
NAMES = (
    "node-1",
    "node-1",
    "node-1",
    "node-0",
    "east-1",
    "node/x",
    "deployment/web",
    "shop/web",
    "",
    "*",
    "a=b",
    "x" * 300,
    "=",
    "/",
    "é",
    "-1",
)
EDITS = tuple(f"--{spec.flag}" for spec in edit_specs())


@dataclass(frozen=True)
class Case:
    """A command line, and the files that it reads, by name."""

    arguments: tuple[str, ...]
    files: dict[str, bytes]


@cache
def clusters() -> tuple[Path, ...]:
    recorded = sorted((FIXTURES / "conformance" / "1.36").glob("*/cluster.json"))[::7]
    small = [path for path in recorded if path.stat().st_size < 60_000]
    return (
        *(FIXTURES / "clusters" / f"{name}.yaml" for name in ("drain", "fleet")),
        FIXTURES / "check" / "cluster.yaml",
        *small,
    )


@cache
def manifests() -> tuple[Path, ...]:
    return (*sorted((FIXTURES / "manifests").glob("*.yaml")), *sorted((FIXTURES / "check" / "deploy").rglob("*.yaml")))


@cache
def configurations() -> tuple[Path, ...]:
    return tuple(sorted((FIXTURES / "conformance" / "1.36").glob("*/config.yaml")))


@cache
def scenarios() -> tuple[Path, ...]:
    return tuple(sorted((FIXTURES / "scenarios").rglob("*.yaml")))


@cache
def documents(path: Path) -> Any:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found = [each for each in yaml.load_all(path.read_text(), Loader=loader) if each]
    return found[0] if len(found) == 1 else {"apiVersion": "v1", "kind": "List", "items": found}


def _file(path: Path, random: Random, *, often: float = 0.9) -> bytes:
    """The file, mutated more or less often."""
    if random.random() > often:
        return path.read_bytes()
    text = json.dumps(mutated(documents(path), random)).encode()
    return damaged(text, random) if random.random() < 0.03 else text


def make_case(seed: int) -> Case:
    random = Random(seed)
    files = {"cluster.json": _file(random.choice(clusters()), random)}
    command = random.choice(COMMANDS)(random, files)
    return Case(tuple(command), files)


def _source(random: Random, files: dict[str, bytes]) -> list[str]:
    """The cluster, now and then with a configuration, a minor and an edit."""
    found = ["--from", "cluster.json"]
    if random.random() < 0.2:
        files["config.json"] = _file(random.choice(configurations()), random)
        found += ["--config", "config.json"]
    if random.random() < 0.15:
        found += ["--kube-version", random.choice(("1.16", "1.19", "1.22", "1.27", "1.33", "1.36", "1.36", "x"))]
    return found


def _edits(random: Random) -> list[str]:
    if random.random() > 0.3:
        return []
    value = random.choice((*NAMES, *(str(each) for each in ODD if isinstance(each, str))))
    return [f"{random.choice(EDITS)}={value}{random.choice(('', '=1', '=a=b:NoSchedule', '=-1'))}"]


def _simulate(random: Random, files: dict[str, bytes]) -> list[str]:
    settle = ["--settle"] if random.random() < 0.3 else []
    if random.random() < 0.2:
        files["scenario.json"] = _file(random.choice(scenarios()), random)
        settle += ["--scenario", "scenario.json"]
    return ["simulate", *_source(random, files), *settle, *_edits(random), "-o", random.choice(OUTPUTS)]


def _drain(random: Random, files: dict[str, bytes]) -> list[str]:
    which = ["--each", random.choice(("node", "zone"))] if random.random() < 0.5 else [random.choice(NAMES) or "x"]
    return [
        "drain",
        *_source(random, files),
        "-o",
        random.choice(OUTPUTS),
        *(["--", *which] if which[0] == "-1" else which),
    ]


def _explain(random: Random, files: dict[str, bytes]) -> list[str]:
    return [
        "explain",
        *_source(random, files),
        *random.choice(([], [], [], ["shop/web"])),
        "-o",
        random.choice(OUTPUTS),
    ]


def _check(random: Random, files: dict[str, bytes]) -> list[str]:
    files["manifest.json"] = _file(random.choice(manifests()), random)
    return ["check", *_source(random, files), "-f", "manifest.json", "-o", random.choice(CHECKS)]


def _capacity(random: Random, files: dict[str, bytes]) -> list[str]:
    files["manifest.json"] = _file(random.choice(manifests()), random)
    return ["capacity", *_source(random, files), "-f", "manifest.json", "--max", "5", "-o", random.choice(OUTPUTS)]


def _diff(random: Random, files: dict[str, bytes]) -> list[str]:
    files["after.json"] = _file(random.choice(clusters()), random)
    return ["diff", *_source(random, files), "--to", "after.json", "-o", random.choice(("table", "json", "markdown"))]


def _verify(random: Random, files: dict[str, bytes]) -> list[str]:
    return ["verify", *_source(random, files), "-o", random.choice(OUTPUTS)]


def _snapshot(random: Random, files: dict[str, bytes]) -> list[str]:
    redact = random.choice(([], ["--redact", "--redact-names", "names.json"]))
    return ["snapshot", "--from", "cluster.json", *redact, "-o", "out.gz"]


def _config(random: Random, files: dict[str, bytes]) -> list[str]:
    files["config.json"] = _file(random.choice(configurations()), random)
    minor = ["--kube-version", random.choice(("1.16", "1.18", "1.20", "1.25", "1.30", "1.36"))]
    return [
        "config",
        *random.choice((["validate", "config.json"], ["migrate", "config.json"], ["view", "--config", "config.json"])),
        *minor,
    ]


def _scenario(random: Random, files: dict[str, bytes]) -> list[str]:
    files["scenario.json"] = _file(random.choice(scenarios()), random)
    return ["scenario", "validate", "scenario.json"]


COMMANDS = (
    _simulate, _simulate, _simulate, _drain, _explain, _check, _check, _capacity, _diff, _verify, _snapshot, _config,
    _config, _scenario,
)  # fmt: skip
