"""Fields that a kind does not have: errors with line and nearest name, as kubectl reports them; --no-strict ignores them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ksched_cli.api.validation.documents import mistakes
from ksched_cli.cli.main import run
from tests.builders import make_node, write_list
from tests.running import Ksched

MANIFEST = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  lables: {app: web}
replicas: 1
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelecter: {disk: ssd}
      containers:
      - name: c
        image: i
        resource: {requests: {cpu: 64}}
        hostNetwork: true
"""
UNKNOWN = {
    5: 'metadata.lables: unknown field "lables" (did you mean labels?)',
    6: 'replicas: unknown field "replicas" (it belongs into spec)',
    12: 'spec.template.spec.nodeSelecter: unknown field "nodeSelecter" (did you mean nodeSelector?)',
    16: 'spec.template.spec.containers[0].resource: unknown field "resource" (did you mean resources?)',
    17: 'spec.template.spec.containers[0].hostNetwork: unknown field "hostNetwork" (it belongs into spec.template.spec)',
}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    write_list(Path("c.json"), make_node("n").doc())
    Path("m.yaml").write_text(MANIFEST)
    return ["--from", "c.json", "-f", "m.yaml"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "level", "code"),
    [
        pytest.param([], "error", 2, id="by default"),
        pytest.param(["--strict"], "error", 2, id="errors"),
        pytest.param(["--no-strict"], "", 0, id="nothing"),
    ],
)
def test_check_reports_unknown_fields(
    option: list[str], level: str, code: int, files: list[str], ksched: Ksched
) -> None:
    found = json.loads(ksched("check", *files, *option, "-o", "json", code=code).out)["findings"]
    assert [(each["code"], each["level"]) for each in found] == ([("KS012", level)] * 5 if level else [])
    assert {each["line"]: each["message"].removeprefix("Deployment default/web: ") for each in found} == (
        UNKNOWN if level else {}
    )
    shown = ksched("check", *files, *option, code=code).out
    assert (f"m.yaml:12: {level} KS012" in shown) is bool(level)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "code"),
    [
        pytest.param(["simulate"], 0, id="simulate"),
        pytest.param(["capacity"], 0, id="capacity"),
        pytest.param(["diff"], 0, id="diff"),
        # The pod of the manifest has no node when the only one is drained.
        pytest.param(["drain", "n"], 1, id="drain"),
    ],
)
def test_other_commands_report_unknown_fields(command: list[str], code: int, files: list[str], ksched: Ksched) -> None:
    shown = ksched(*command, *files, code=2).err
    for line, text in UNKNOWN.items():
        assert f"m.yaml:{line}: Deployment default/web: {text}" in shown
    assert "unknown field" not in ksched(*command, *files, "--no-strict", code=code).err


def test_all_mistakes_of_an_object_at_once(files: list[str], ksched: Ksched) -> None:
    """Unknown fields, values of the wrong type and refused values, in JSON lists too."""
    container = {"name": "C", "image": "i", "env": [{"name": "A", "value": 1}], "portz": []}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}}
    good = {**pod, "metadata": {"name": "good"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    Path("m.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [good, pod]}, indent=1))
    document = json.loads(ksched("check", "--from", "c.json", "-f", "m.json", "-o", "json", code=2).out)
    assert [workload["workload"] for workload in document["workloads"]] == ["Pod default/good"]
    found = {each["message"].split(": ")[1]: each for each in document["findings"]}
    inner = "items[1].spec.containers[0]"
    assert set(found) == {f"{inner}.env[0].value", f"{inner}.portz", f"{inner}.name"}
    lines = Path("m.json").read_text().splitlines()
    assert '"portz"' in lines[found[f"{inner}.portz"]["line"] - 1]
    assert '"name": "C"' in lines[found[f"{inner}.name"]["line"] - 1]
    assert '"value": 1' in lines[found[f"{inner}.env[0].value"]["line"] - 1]


def test_dumps_are_not_read_strictly(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    node = make_node("n").doc()
    node["fromTheFuture"] = {"x": 1}
    assert run(["simulate", "--from", write_list(tmp_path / "c.json", node), "--allow-empty"]) == 0
    assert "fromTheFuture" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("api_version", "kind", "field", "is_known"),
    [
        ("resource.k8s.io/v1", "ResourceClaim", "spec", True),
        ("resource.k8s.io/v1beta2", "ResourceClaim", "spec", True),
        ("resource.k8s.io/v1", "ResourceClaim", "request", False),
        ("policy/v1beta1", "PodDisruptionBudget", "spec", True),
        ("v1", "Pod", "specs", False),
        ("example.com/v1", "Widget", "anything", True),
    ],
)
def test_the_fields_of_a_kind_go_by_its_version(api_version: str, kind: str, field: str, is_known: bool) -> None:
    document = {"apiVersion": api_version, "kind": kind, field: {}}
    assert (not [each for each in mistakes(document, api_version, kind) if each.is_unknown]) is is_known
