"""`ksched versions`."""

from __future__ import annotations

import json

import pytest

from ksched_cli.cli.main import run
from ksched_cli.plan.reference.versions import GATE_RULES, MINOR_RULES
from ksched_cli.releases.minors import RELEASES
from tests.cli.transcripts import same_as_golden
from tests.running import Ksched


def test_every_modelled_minor_is_listed(ksched: Ksched) -> None:
    found = json.loads(ksched("versions", "-o", "json", code=0).out)
    assert [each["version"] for each in found] == [*reversed(RELEASES)]
    assert {each["version"] for each in found if each["recorded"]} >= {"1.16", "1.36"}
    assert ksched("versions", "-o", "name", code=0).out.split() == [*reversed(RELEASES)]


def test_the_changes_of_a_minor(ksched: Ksched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    same_as_golden("versions-1.34", ksched("versions", "1.34", code=0).out)


def test_a_change_that_came_with_a_patch_names_it(ksched: Ksched) -> None:
    brought = {}
    for version in ("1.29", "1.30", "1.31", "1.32"):
        found = json.loads(ksched("versions", version, "-o", "json", code=0).out)
        brought[version] = {each["patch"] for each in found if "sorted by importance once more" in each["change"]}
    assert brought == {"1.29": {"1.29.11"}, "1.30": {"1.30.7"}, "1.31": {"1.31.3"}, "1.32": {""}}
    assert "Since 1.31.3: " in " ".join(ksched("versions", "1.31", code=0).out.split())


def test_the_changes_are_those_that_diff_tells(ksched: Ksched) -> None:
    listed = set()
    for version in RELEASES:
        found = json.loads(ksched("versions", version, "-o", "json", code=0).out)
        assert {each["version"] for each in found} <= {version}
        listed |= {each["change"] for each in found}
    assert {rule.text for rule in MINOR_RULES} <= listed
    assert {rule.text for own in GATE_RULES.values() for rule in own if rule.since} <= listed


@pytest.mark.parametrize(
    ("version", "plugin", "change"),
    [
        ("1.37", "kube-scheduler", "New feature gates, off by default: InterPodAffinityHostnameFastPath, Sched"),
        (
            "1.37",
            "kube-scheduler",
            "New feature gates, off by default, that ksched does not model: CompositePodGroup, ",
        ),
        ("1.37", "kube-scheduler", "Feature gates that can no longer be switched off: DRAExtendedResource, DRAPrior"),
        ("1.37", "kube-scheduler", "Feature gates that were removed: GangScheduling, SidecarContainers, Workload"),
        (
            "1.37",
            "kube-apiserver",
            "API versions that are removed or no longer served by default: certificates.k8s.io/v1alpha1 (ClusterT",
        ),
        (
            "1.25",
            "kube-apiserver",
            "API versions that are removed or no longer served by default: autoscaling/v2beta1 (HorizontalPodAuto",
        ),
        (
            "1.16",
            "kube-apiserver",
            "API versions that are removed or no longer served by default: apps/v1beta1 (ControllerRevision, Deploy",
        ),
    ],
)
def test_gates_and_removed_versions_are_listed(
    version: str, plugin: str, change: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["versions", version, "-o", "json"]) == 0
    found = [each for each in json.loads(capsys.readouterr().out) if each["change"].startswith(change)]
    assert [each["plugins"] for each in found] == [[plugin]]


def test_the_first_minor_lists_no_gates_as_new(ksched: Ksched) -> None:
    assert "eature gates" not in ksched("versions", "1.16", code=0).out


@pytest.mark.parametrize("written", ["1.37.1", "v1.37.0", "v1.37.1-eks-1234abc"])
def test_a_patch_is_answered_by_its_minor(written: str, ksched: Ksched) -> None:
    whole = ksched("versions", "1.37", code=0).out
    assert ksched("versions", written, code=0).out == whole


def test_the_numbers_of_changes_are_those_that_each_minor_lists(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["versions", "-o", "json"]) == 0
    for each in json.loads(capsys.readouterr().out):
        assert run(["versions", each["version"], "-o", "json"]) == 0
        assert len(json.loads(capsys.readouterr().out)) == each["changes"], each["version"]


def test_changes_of_the_configuration_are_listed(ksched: Ksched) -> None:
    found = json.loads(ksched("versions", "1.23", "-o", "json", code=0).out)
    assert [each["plugins"] for each in found if "reads no Policy" in each["change"]] == [["kube-scheduler"]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["1.15"], "Kubernetes 1.15 is not modelled", id="not modelled"),
        pytest.param(["latest"], "Kubernetes latest is not modelled", id="no version"),
        pytest.param(["1.34", "-o", "name"], "-o name lists the minors", id="no names"),
    ],
)
def test_mistakes(arguments: list[str], said: str, ksched: Ksched) -> None:
    assert said in ksched("versions", *arguments, code=2).err
