"""From a field to the file and line where it is written."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ksched_cli.api.workloads import Deployment, StatefulSet
from ksched_cli.sources.manifests import load_manifests
from ksched_cli.sources.places import DeclaredFiles, Places, SourcePlace, in_workload, line_in_file

YAML = """# a comment
kind: Deployment
apiVersion: apps/v1
metadata: {name: one}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      nodeSelector:
        disk: ssd
      containers:
      - name: c
        image: i
        resources:
          requests:
            cpu: 1
---
kind: Deployment
apiVersion: apps/v1
metadata: {name: two}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      nodeSelector: {disk: ssd}
      containers: [{name: c, image: i}]
"""
SERVICE = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "s"}}
DISK = ("spec", "nodeSelector", "disk")
CPU = ("spec", "containers", 0, "resources", "requests", "cpu")


def places(tmp_path: Path, text: str, name: str = "m.yaml") -> tuple[Places, list[Any]]:
    (tmp_path / name).write_text(text)
    loaded = load_manifests([str(tmp_path / name)])
    return Places(loaded), [*loaded.of(Deployment), *loaded.of(StatefulSet)]


@pytest.mark.parametrize(
    ("which", "path", "line"),
    [
        pytest.param(0, DISK, 11, id="a label"),
        pytest.param(0, CPU, 17, id="a request"),
        pytest.param(1, DISK, 27, id="the second document"),
        pytest.param(1, CPU, 28, id="what is not written: the nearest thing around it"),
        pytest.param(0, ("spec", "tolerations"), 9, id="a field of the pod that is not there"),
    ],
)
def test_yaml(which: int, path: tuple[str | int, ...], line: int, tmp_path: Path) -> None:
    found, items = places(tmp_path, YAML)
    assert found.of_pod_field(items[which], path).line == line


def test_the_path_is_that_of_the_workload(tmp_path: Path) -> None:
    found, items = places(tmp_path, YAML)
    place = found.of_pod_field(items[0], CPU)
    assert place == SourcePlace(str(tmp_path / "m.yaml"), 17, "spec.template.spec.containers[0].resources.requests.cpu")


@pytest.mark.parametrize(
    ("layout", "line"),
    [
        pytest.param(lambda doc: json.dumps(doc), 1, id="on one line"),
        pytest.param(lambda doc: json.dumps(doc, indent=1), 21, id="indented"),
        pytest.param(lambda doc: json.dumps(SERVICE) + "\n" + json.dumps(doc), 2, id="the second of two lines"),
        pytest.param(lambda doc: json.dumps(SERVICE, indent=1) + "\n" + json.dumps(doc), 8, id="behind another"),
        pytest.param(lambda doc: json.dumps({"kind": "List", "apiVersion": "v1", "items": [doc]}, indent=1), 25, id="in a list"),
    ],
)  # fmt: skip
def test_json(layout: Any, line: int, tmp_path: Path) -> None:
    doc = {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": {"name": "one"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"nodeSelector": {"disk": "ssd"}, "containers": [{"name": "c", "image": "i"}]},
            },
        },
    }
    found, items = places(tmp_path, layout(doc), "m.json")
    assert found.of_pod_field(items[0], DISK).line == line


def test_lists_in_yaml_and_stdin() -> None:
    body = "".join(f"  {line}\n" for line in YAML.partition("---")[0].splitlines())
    text = f"apiVersion: v1\nkind: List\nitems:\n-{body[1:]}"
    loaded = load_manifests(["-"], io.BytesIO(text.encode()))
    assert Places(loaded).of_pod_field(loaded.of(Deployment)[0], DISK) == SourcePlace(
        "stdin", 14, "spec.template.spec.nodeSelector.disk"
    )


@pytest.mark.parametrize(
    ("kind", "name", "line"),
    [
        pytest.param("Namespace", "x", 1, id="the only one of its kind"),
        pytest.param("Deployment", "one", 3, id="the first of its name"),
        pytest.param("Deployment", "release-two", 8, id="a name behind a release"),
        pytest.param("Deployment", "three", 3, id="no such name"),
        pytest.param("Deploy", "one", None, id="no such kind"),
    ],
)
def test_lines_in_a_template(kind: str, name: str, line: int | None, tmp_path: Path) -> None:
    parts = ["kind: Namespace", "---", "kind: Deployment", "metadata:", "  labels: {a: b}", '  name: "one"', "---"]
    (tmp_path / "t.yaml").write_text("\n".join([*parts, "kind: 'Deployment'", "metadata:", "  name: two", ""]))
    assert line_in_file(str(tmp_path / "t.yaml"), kind, name) == line
    assert line_in_file(str(tmp_path / "none.yaml"), kind, name) is None


RENDERED = b"""# Source: shop/templates/a.yaml
kind: Service
---
# a note

# Source: shop/templates/b.yaml
kind: Deployment
---
kind: ConfigMap
# Source: shop/templates/c.yaml
"""


@pytest.mark.parametrize(
    ("line", "folder", "file"),
    [
        pytest.param(1, "", "shop/templates/a.yaml", id="the first line"),
        pytest.param(4, "", "shop/templates/b.yaml", id="behind another comment and an empty line"),
        pytest.param(9, "", "x.yaml", id="a comment behind the first field"),
        pytest.param(None, "", "x.yaml", id="no line"),
        pytest.param(
            1, "charts/own", "charts/own/templates/a.yaml", id="the file is there, without the name of the chart"
        ),
        pytest.param(4, "charts/own", "charts/own/shop/templates/b.yaml", id="the file is not there"),
    ],
)
def test_the_file_that_helm_names(
    line: int | None, folder: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "charts/own/templates").mkdir(parents=True)
    (tmp_path / "charts/own/templates/a.yaml").write_text("")
    monkeypatch.chdir(tmp_path)
    assert DeclaredFiles(RENDERED, folder, "x.yaml").file_at(line) == file


CLAIMED = {
    "metadata": {"name": "s"},
    "spec": {"volumeClaimTemplates": [{"metadata": {"name": "c"}}, {"metadata": {"name": "d"}}]},
}
MOUNTED = {"metadata": {"name": "d"}, "spec": {"template": {"spec": {"volumes": [{"name": "c"}, {"name": "d"}]}}}}


@pytest.mark.parametrize(
    ("item", "path", "expected"),
    [
        pytest.param(
            msgspec.convert(CLAIMED, StatefulSet),
            ("spec", "volumes", "d", "spec", "storageClassName"),
            ("spec", "volumeClaimTemplates", 1, "spec", "storageClassName"),
            id="of a claim template",
        ),
        pytest.param(
            msgspec.convert(MOUNTED, Deployment),
            ("spec", "volumes", "d", "secret", "secretName"),
            ("spec", "template", "spec", "volumes", 1, "secret", "secretName"),
            id="of the pod template",
        ),
        pytest.param(
            msgspec.convert(MOUNTED, Deployment),
            ("spec", "volumes", "other", "secret"),
            ("spec", "template", "spec", "volumes", "secret"),
            id="of neither",
        ),
    ],
)
def test_a_field_of_a_volume(item: Any, path: tuple[str | int, ...], expected: tuple[str | int, ...]) -> None:
    assert in_workload(item, path) == expected
