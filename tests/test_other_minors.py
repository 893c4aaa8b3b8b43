"""Held against what kube-scheduler of other minors decided on the inputs of the 1.36 corpus: every field of every pod."""

from __future__ import annotations

import gzip
import io
import json
from functools import cache
from itertools import groupby, product
from pathlib import Path

import msgspec
import pytest

from ksched_cli.plan.run.options import RunOptions
from ksched_cli.releases.minors import RELEASES
from ksched_cli.report.registry import RenderOptions, render
from tests.lanes import sampled
from tests.running import prepare
from tests.test_conformance import CORPUS, SUBJECTS, disagreements, simulate

RECORDINGS = Path(__file__).parent.parent / "fixtures" / "conformance" / "other-minors"
# How many cases each minor could be given: it has to know their kinds and be able to express their configuration.
CASES = {
    "1.16": 68,
    "1.17": 148,
    "1.18": 148,
    "1.21": 177,
    "1.23": 168,
    "1.24": 176,
    "1.25": 171,
    "1.26": 175,
    **dict.fromkeys(("1.27", "1.28", "1.29", "1.30", "1.31", "1.32", "1.33"), 178),
    "1.34": 188,
    "1.35": 188,
}


class NamedCase(msgspec.Struct):
    case: str


_name_of = msgspec.json.Decoder(NamedCase).decode


@cache
def recorded(minor: str) -> dict[str, list[bytes]]:
    """The minor's decisions by subject, as lines: all of them as values would take hundreds of MiB."""
    with gzip.open(RECORDINGS / f"{minor}.jsonl.gz", "rb") as lines:
        decisions = sorted((_name_of(line).case, line) for line in lines)
    subjects = groupby(decisions, lambda each: each[0].rpartition("-")[0])
    return {subject: [line for _, line in own] for subject, own in subjects}


@pytest.mark.parametrize(
    ("minor", "subject"),
    sampled((pytest.param(*each, id="-".join(each)) for each in product(CASES, SUBJECTS)), 80),
)
def test_identical_to_kube_scheduler_of_the_minor(minor: str, subject: str) -> None:
    cases = [*map(msgspec.json.decode, recorded(minor).get(subject, []))]
    found = {each["case"]: disagreements(each, simulate(CORPUS / each["case"], each["version"])) for each in cases}
    assert {case: each for case, each in found.items() if each} == {}


@pytest.mark.slow
@pytest.mark.parametrize("minor", CASES)
def test_every_recorded_case_is_there(minor: str) -> None:
    assert sum(map(len, recorded(minor).values())) == CASES[minor]
    assert set(recorded(minor)) <= set(SUBJECTS)


def test_a_minor_counts_as_recorded_if_it_has_recordings() -> None:
    """Minors of this folder, and the minor of the main corpus."""
    others = {path.name.removesuffix(".jsonl.gz") for path in RECORDINGS.glob("*.jsonl.gz")}
    assert {version for version, release in RELEASES.items() if release.recorded} == others | {CORPUS.name}


@pytest.mark.slow
def test_spreading_behind_its_gate_in_1_17() -> None:
    with gzip.open(RECORDINGS.parent / "alpha-gates" / "1.17.jsonl.gz", "rt") as lines:
        cases = [json.loads(line) for line in lines]
    assert len(cases) == 22
    found = {}
    for each in cases:
        inputs = [str(CORPUS / each["case"] / "cluster.json")]
        out = io.StringIO()
        options = RunOptions(inputs, kube_version=each["version"], feature_gates=each["gates"])
        render(prepare(options).stream(detail=True, top=0), out, RenderOptions("json"))
        found[each["case"]] = disagreements(each, json.loads(out.getvalue()))
    assert {case: each for case, each in found.items() if each} == {}
