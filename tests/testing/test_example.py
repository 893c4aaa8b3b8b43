"""The example repository of the manual, run by pytest as a user runs it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from tests.builders import make_pod, write_list

pytest_plugins = "pytester"

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "fixtures" / "pytest-example"
FEW = "@pytest.mark.workloads({mark})\ndef test_it(cluster, expect):\n    expect(cluster('cluster.yaml')){chain}\n"

MARKED = """
import pytest

@pytest.mark.workloads("more", recursive=True)
def test_ml(cluster, expect):
    expect(cluster("cluster.yaml")).schedules()

@pytest.mark.workloads("pods.json", namespace="shop")
def test_losses(cluster, expect):
    expect(cluster("cluster.yaml", namespace="shop")).survives(node=1)

def test_another_version(cluster, expect):
    for version in ("1.30", "1.34", "1.34"):
        expect(cluster("cluster.yaml", kube_version=version)).schedules("deploy/ml")

def test_nothing_of_ksched():
    pass
"""


@pytest.fixture
def example(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """The plugin is loaded by its name, because an old installation of a checkout has no entry point of it."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    # On a build server pytest writes each whole message a second time, in its closing summary.
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("BUILD_NUMBER", raising=False)
    shutil.copytree(EXAMPLE, pytester.path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    return pytester


def pytest_of(example: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    command = [sys.executable, "-m", "pytest", "-p", "ksched_cli.testing.plugin", "-p", "no:cacheprovider", *arguments]
    return example.run(*command, timeout=120)


def without_node(example: pytest.Pytester, name: str) -> None:
    file = example.path / "cluster.yaml"
    text, count = re.subn(
        rf"- apiVersion: v1\n  kind: Node\n  metadata: {{name: {name},(.*\n)(  .*\n)+", "", file.read_text()
    )
    assert count == 1
    file.write_text(text)


@pytest.mark.slow
def test_the_example_passes(example: pytest.Pytester) -> None:
    result = pytest_of(example, "--strict-markers", "-v")
    result.assert_outcomes(passed=12)
    result.stdout.fnmatch_lines(["*::test_shop?StatefulSet/shop/db? PASSED*", "*::test_ml?Job/ml/train? PASSED*"])


@pytest.mark.slow
def test_marks_and_pages(example: pytest.Pytester) -> None:
    """Tests with the mark and without, of folders below a folder, and pages of two clusters with the same manifests."""
    without_node(example, "data-2")
    (example.path / "test_deploy.py").write_text(MARKED)
    (example.path / "test_wrong.py").write_text(
        "import pytest\n@pytest.mark.workloads('deploy/shop')\ndef test_it():\n    pass\n"
    )
    (example.path / "pages").mkdir()
    shutil.copytree(example.path / "deploy" / "ml", example.path / "more" / "ml")
    pods = [make_pod(name, "shop").requests(cpu="1") for name in ("a", "b")]
    manifests = [pods[0].doc(), pods[1].spec(nodeSelector={"disk": "ssd"}).doc()]
    for each in manifests:
        del each["metadata"]["namespace"]
    write_list(example.path / "pods.json", *manifests)
    options = ["--continue-on-collection-errors", "--strict-markers", "--ksched-html", "pages", "-v", "--tb=no"]
    result = example.runpytest_inprocess("-p", "ksched_cli.testing.plugin", "-p", "no:cacheprovider", *options)
    shown = result.stdout.str()
    assert re.findall(r"^test_deploy\.py::(\S+ [A-Z]+)", shown, re.MULTILINE) == [
        "test_ml[Deployment/ml/inference] PASSED",
        "test_ml[Job/ml/train] PASSED",
        "test_ml[Deployment/ml/dashboard] PASSED",
        "test_losses[Pod/shop/a] PASSED",
        "test_losses[Pod/shop/b] FAILED",
        "test_another_version PASSED",
        "test_nothing_of_ksched PASSED",
    ]
    assert re.findall(r"^ERROR (\S+)", shown, re.MULTILINE) == ["test_wrong.py"]
    pages = [
        "more-ml.html",
        "pods.json.html",
        "pods.json-without-data-1.html",
        "deploy-ml.html",
        "deploy-ml-2.html",
    ]
    assert re.findall(r"^ksched: (.*)", shown, re.MULTILINE) == [os.path.join("pages", name) for name in pages]
    texts = {path.name: path.read_text() for path in (example.path / "pages").iterdir()}
    assert texts.keys() == set(pages)
    assert all(text.startswith("<!DOCTYPE html>") for text in texts.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("node", "fixes"),
    [
        pytest.param(
            "data-2", {"test_shop[StatefulSet/shop/db]": "leave disk=ssd out of the node selector"}, id="of two"
        ),
        pytest.param(
            "gpu-1",
            {
                "test_ml[Deployment/ml/inference]": "no node of the cluster is large enough",
                "test_ml[Job/ml/train]": "leave pool=ml out of the node selector",
            },
            id="the only one",
        ),
    ],
)
def test_without_a_node_the_named_tests_fail_with_a_fix(
    node: str, fixes: dict[str, str], example: pytest.Pytester
) -> None:
    without_node(example, node)
    result = pytest_of(example)
    result.assert_outcomes(passed=12 - len(fixes), failed=len(fixes))
    shown = result.stdout.str()
    assert re.findall(r"^FAILED test_deploy\.py::(\S+)", shown, re.MULTILINE) == list(fixes)
    first = re.findall(r"Changes that (?:make it fit.*?\nE +1  |would make it fit: )(.*)", shown)
    assert len(first) == len(fixes)
    assert all(re.match(fix, text) for fix, text in zip(fixes.values(), first, strict=True))


@pytest.mark.slow
def test_the_example_with_a_snapshot(example: pytest.Pytester) -> None:
    """What a real repository has: a snapshot, read as the manual says."""
    # In a process of its own: pytester forgets the modules that are imported while a test runs.
    snapshot = ["snapshot", "--from", str(EXAMPLE / "cluster.yaml"), "-o", str(example.path / "cluster.ksched.gz")]
    assert example.run(sys.executable, "-m", "ksched_cli", *snapshot).ret == 0
    (example.path / "cluster.yaml").unlink()
    test = example.path / "test_deploy.py"
    test.write_text(test.read_text().replace("cluster.yaml", "cluster.ksched.gz"))
    pytest_of(example).assert_outcomes(passed=12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mark", "chain", "message"),
    [
        pytest.param("'none/'", ".schedules()", "none: no such file or directory", id="no such folder"),
        pytest.param(
            "'empty/'", ".schedules()", "empty: no manifests in this directory*", id="a folder without workloads"
        ),
        pytest.param(
            "'deploy/ml'", ".schedules('deploy/shop')", "*Deployment ml/inference is not in deploy/shop*", id="other"
        ),
    ],
)
def test_a_test_that_would_check_nothing_never_passes(
    mark: str, chain: str, message: str, example: pytest.Pytester
) -> None:
    (example.path / "empty").mkdir()
    (example.path / "test_deploy.py").write_text("import pytest\n" + FEW.format(mark=mark, chain=chain))
    result = pytest_of(example)
    assert result.ret != 0
    assert "passed" not in result.parseoutcomes()
    result.stdout.fnmatch_lines([message])


@pytest.mark.slow
def test_a_mark_without_the_fixture_is_an_error(example: pytest.Pytester) -> None:
    text = "import pytest\n@pytest.mark.workloads('deploy/shop')\ndef test_it():\n    pass\n"
    (example.path / "test_deploy.py").write_text(text)
    result = pytest_of(example)
    assert "passed" not in result.parseoutcomes()
    result.stdout.fnmatch_lines(["*test_it*needs the fixture expect*"])


@pytest.mark.slow
def test_pages_of_the_checks_and_of_the_losses_that_fail(example: pytest.Pytester) -> None:
    without_node(example, "data-2")
    result = pytest_of(example, "--ksched-html", "pages")
    pages = {path.name: path.read_text() for path in (example.path / "pages").iterdir()}
    assert pages.keys() == {"deploy-shop.html", "deploy-ml.html", "deploy-shop-without-data-1.html"}
    assert all(text.startswith("<!DOCTYPE html>") for text in pages.values())
    assert "StatefulSet shop/db" in pages["deploy-shop-without-data-1.html"]
    result.stdout.fnmatch_lines([f"ksched: pages{os.sep}deploy-shop.html"])


def test_the_entry_point_names_the_plugin() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    plugin = import_module(project["entry-points"]["pytest11"]["ksched"])
    assert {"cluster", "expect", "pytest_generate_tests"} <= set(dir(plugin))


@pytest.mark.slow
def test_the_plugin_costs_other_test_suites_nothing() -> None:
    """Every pytest of an environment imports it."""
    code = (
        "import sys, pytest; before = set(sys.modules); import ksched_cli.testing.plugin; "
        "print(sorted(name for name in set(sys.modules) - before if not name.startswith('ksched_cli.testing')))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "['ksched_cli']\n"
