"""`ksched config` and `ksched plugins`."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from ksched_cli.cli.main import run
from ksched_cli.config.load import configuration_schema
from ksched_cli.framework.events import EVERY_EVENT
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.releases.minors import release
from ksched_cli.wiring import scheduler_spec
from tests.running import Ksched

FIXTURES = Path(__file__).parents[2] / "fixtures" / "conformance"
VALID = sorted(FIXTURES.glob("1.36/*/config.yaml"))
# Mistakes of types and names, which a schema can see; the others are of values.
SEEN_BY_THE_SCHEMA = (
    "bad-api-version",
    "old-api-version",
    "string-for-int",
    "unknown-arg-field",
    "unknown-field",
    "wrong-kind",
)


@pytest.mark.slow
@pytest.mark.parametrize("config", [None, *VALID], ids=lambda path: "default" if path is None else path.parent.name)
def test_what_view_prints_means_the_same(
    config: Path | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--config", str(config)] if config else []
    assert run(["config", "view", *options]) == 0
    shown = tmp_path / "shown.yaml"
    shown.write_text(capsys.readouterr().out)
    before = scheduler_spec(RunOptions(config=str(config) if config else None))
    after = scheduler_spec(RunOptions(config=str(shown)))
    from ksched_cli.config.model import expand_profile

    for mine, theirs in zip(before.configuration.profiles, after.configuration.profiles, strict=True):
        assert expand_profile(mine, before.release, before.gates, before.points) == expand_profile(
            theirs, after.release, after.gates, after.points
        )
    jsonschema.validate(yaml.safe_load(shown.read_text()), configuration_schema(release("1.36")))


def test_view_as_json_and_as_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "view", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["profiles"][0]["schedulerName"] == "default-scheduler"
    assert run(["config", "view", "-o", "wide"]) == 2
    assert "'wide' is not one of 'json', 'yaml'" in capsys.readouterr().err


def test_validate(ksched: Ksched) -> None:
    assert ksched("config", "validate", str(VALID[0]), code=0).out == f"{VALID[0]}: valid\n"


def test_validate_tells_all_mistakes_of_all_files(ksched: Ksched) -> None:
    bad = [
        str(FIXTURES / "invalid-config-1.36" / name / "config.yaml") for name in ("preemption-args", "backoff-order")
    ]
    captured = ksched("config", "validate", *bad, str(VALID[0]), code=2)
    assert captured.out == f"{VALID[0]}: valid\n"
    assert [line.split(": ")[2] for line in captured.err.splitlines()] == [
        "profiles[0].pluginConfig[0].args.minCandidateNodesPercentage",
        "profiles[0].pluginConfig[0].args.minCandidateNodesAbsolute",
        "podMaxBackoffSeconds",
    ]


@pytest.mark.slow
def test_the_schema_is_one_and_accepts_what_is_valid(ksched: Ksched) -> None:
    document = json.loads(ksched("config", "schema", code=0).out)
    jsonschema.Draft202012Validator.check_schema(document)
    validator = jsonschema.Draft202012Validator(document)
    for path in VALID:
        assert validator.is_valid(yaml.safe_load(path.read_text())), path


@pytest.mark.parametrize("name", SEEN_BY_THE_SCHEMA)
def test_the_schema_refuses_wrong_types_and_names(name: str) -> None:
    document = yaml.safe_load((FIXTURES / "invalid-config-1.36" / name / "config.yaml").read_text())
    assert not jsonschema.Draft202012Validator(configuration_schema(release("1.36"))).is_valid(document)


def test_plugins_lists_every_one(ksched: Ksched) -> None:
    found = {each["name"]: each for each in json.loads(ksched("plugins", "-o", "json", code=0).out)}
    assert found["TaintToleration"]["weight"] == 3
    assert found["NodeResourcesFit"]["extensionPoints"] == [
        "preFilter",
        "filter",
        "preScore",
        "score",
        "placementScore",
    ]
    assert found["NodeResourcesFit"]["events"] == ["Pod Delete/UpdatePodScaleDown", "Node Add/UpdateNodeAllocatable"]
    assert found["InterPodAffinity"]["arguments"]["hardPodAffinityWeight"] == 1
    assert all(each["summary"] for each in found.values())


def test_one_plugin_in_full(ksched: Ksched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = ksched("plugins", "DefaultPreemption", code=0).out
    assert "minCandidateNodesPercentage: 10" in shown
    assert "preEnqueue, postFilter" in shown


@pytest.mark.parametrize(
    ("plugin", "lines"),
    [
        pytest.param(
            "PrioritySort",
            [
                "name        PrioritySort",
                "does        Tries pods by priority, the highest first; pods of equal priority in the order they came.",
                "points      queueSort",
                "default     yes",
                "retried on  nothing: it rejects no pod",
                "from        in-tree",
            ],
            id="without weight, arguments and events",
        ),
        pytest.param(
            "PodTopologySpread",
            [
                "name        PodTopologySpread",
                "does        Honours topologySpreadConstraints, and spreads the pods of a service or controller that has none.",
                "points      preFilter, filter, preScore, score",
                "default     yes",
                "weight      2",
                "arguments   defaultConstraints: []",
                "            defaultingType: System",
                "retried on  Pod Add/Delete/UpdatePodLabel/UpdatePodToleration",
                "            Node Add/Delete/UpdateNodeLabel/UpdateNodeTaint",
                "from        in-tree",
            ],
            id="with all",
        ),
    ],
)
def test_a_plugin_in_full(plugin: str, lines: list[str], ksched: Ksched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    assert ksched("plugins", plugin, code=0).out.splitlines() == lines


@pytest.mark.parametrize(
    ("plugin", "version"),
    [
        pytest.param("ServiceAffinity", "1.20", id="PreFilter and Filter"),
        pytest.param("CheckNodeCondition", "1.16", id="a predicate"),
    ],
)
def test_an_in_tree_plugin_that_rejects_pods_and_names_no_event(plugin: str, version: str, ksched: Ksched) -> None:
    """kube-scheduler retries its pods at every event."""
    shown = json.loads(ksched("plugins", plugin, "--kube-version", version, "-o", "json", code=0).out)
    assert shown[0]["events"] == [str(each) for each in EVERY_EVENT]


def test_the_arguments_of_a_plugin_are_in_their_order(ksched: Ksched) -> None:
    lines = ksched("plugins", "NodeResourcesFit", code=0).out.splitlines()
    shown = [line.split()[-2] for line in lines if line.strip().endswith("[]")]
    assert shown == ["ignoredResources:", "ignoredResourceGroups:"]


def test_an_unknown_plugin_with_a_near_name(ksched: Ksched) -> None:
    assert "did you mean NodeResourcesFit?" in ksched("plugins", "NodeResourceFit", code=2).err


def test_validate_warns_of_plugins_that_do_not_exist(tmp_path: Path, ksched: Ksched) -> None:
    """kube-scheduler ignores a plugin that is disabled or configured and does not exist."""
    file = tmp_path / "s.yaml"
    file.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\n"
        "kind: KubeSchedulerConfiguration\n"
        "profiles:\n"
        "- plugins:\n"
        "    score:\n"
        "      disabled:\n"
        "      - name: ImageLocalty\n"
        "      - name: '*'\n"
        "    multiPoint:\n"
        "      disabled:\n"
        "      - name: Zzz\n"
        "  pluginConfig:\n"
        "  - name: NodeResourceFit\n"
        "    args: {scoringStrategy: {}}\n"
    )
    assert ksched("config", "validate", str(file), code=0).err.replace(str(file), "s.yaml").splitlines() == [
        'ksched: warning: s.yaml:11: profiles[0].plugins.multiPoint.disabled[0]: plugin "Zzz" does not exist: '
        "to disable it has no effect",
        'ksched: warning: s.yaml:7: profiles[0].plugins.score.disabled[0]: plugin "ImageLocalty" does not exist: '
        "to disable it has no effect (did you mean ImageLocality?)",
        'ksched: warning: s.yaml:13: profiles[0].pluginConfig[0]: plugin "NodeResourceFit" does not exist: '
        "its arguments have no effect (did you mean NodeResourcesFit?)",
    ]
