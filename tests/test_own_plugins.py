"""Plugins of one's own from the outside: an installed package, a file named by --plugin, and the README's."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ksched_cli.cli.main import run
from tests.builders import make_configuration, make_node, make_pod

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "tests" / "sample_package"


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test in a directory of its own; what it imports from there is forgotten again."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("mine", "ksched_sample"):
            del sys.modules[name]


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Ksched = Callable[..., Ran]


@pytest.fixture
def ksched(capsys: pytest.CaptureFixture[str]) -> Ksched:
    """The command, in this process; with the packages of `path`."""

    def call(*arguments: str, path: Path | None = None) -> Ran:
        if path is not None:
            sys.path.append(str(path))
        code = run(list(arguments))
        printed = capsys.readouterr()
        return Ran(code, printed.out, printed.err)

    return call


def in_a_process(*arguments: str, path: Path | None = None) -> Ran:
    """The command as it is installed: -P keeps the directory it runs in off the path."""
    found = os.pathsep.join(str(each) for each in (path, ROOT) if each is not None)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "ksched_cli", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": found},
        timeout=60,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample package, installed by pip into a directory of its own, without a network."""
    target = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "--no-build-isolation", "--no-compile", "--target", str(target), str(PACKAGE)], check=True, timeout=120
    )
    return target


def write(path: Path, document: Any) -> str:
    path.write_text(json.dumps(document))
    return path.name


def cluster(tmp_path: Path) -> str:
    items = [
        make_node("a").label(licence="cad").doc(),
        make_node("b").doc(),
        make_node("c").doc(),
        make_pod("running").on("b").doc(),
        make_pod("drawing").label(licence="cad").doc(),
        make_pod("anything").doc(),
    ]
    return write(tmp_path / "cluster.json", {"apiVersion": "v1", "kind": "List", "items": items})


def config(tmp_path: Path, *names: str, **args: Any) -> str:
    profile = {
        "plugins": {"multiPoint": {"enabled": [{"name": name, "weight": 3} for name in names]}},
        "pluginConfig": [{"name": name, "args": each} for name, each in args.items()],
    }
    document = make_configuration(profile)
    return write(tmp_path / "config.json", document)


class TestAnInstalledPackage:
    """Its plugins are there by themselves; a configuration switches them on."""

    @pytest.mark.slow
    def test_they_are_listed_with_where_they_are_from(self, installed: Path, ksched: Ksched) -> None:
        ran = ksched("plugins", "-o", "json", path=installed)
        listed = {each["name"]: each for each in json.loads(ran.out)}
        assert ran.code == 0
        assert listed["Licences"]["origin"] == "entry point Licences of ksched-sample"
        assert listed["Licences"]["arguments"] == {"label": "licence"}
        assert listed["Quietest"]["extensionPoints"] == ["score"]
        assert listed["Quietest"]["arguments"] == {"freePods": 0}

    @pytest.mark.slow
    def test_they_judge_beside_the_others(self, installed: Path, tmp_path: Path) -> None:
        chosen = config(tmp_path, "Licences", "Quietest")
        full = ("-o", "json", "--detail", "full")
        ran = in_a_process("simulate", "--from", cluster(tmp_path), "--config", chosen, *full, path=installed)
        assert (ran.code, ran.err) == (0, "")
        pods = {each["pod"]: each for each in json.loads(ran.out)["pods"]}
        refused = {
            "plugin": "Licences",
            "code": "UnschedulableAndUnresolvable",
            "reasons": ["node(s) had no licence for cad"],
        }
        assert pods["default/drawing"]["filters"] == {"b": refused, "c": refused}
        quietest = {node: scores["Quietest"] for node, scores in pods["default/anything"]["scores"].items()}
        assert quietest["a"] == quietest["c"] == {"raw": 0, "normalized": 100, "weighted": 300}
        assert quietest["b"] == {"raw": 1, "normalized": 0, "weighted": 0}

    @pytest.mark.slow
    def test_arguments(self, installed: Path, tmp_path: Path, ksched: Ksched) -> None:
        chosen = config(tmp_path, "Licences", "Quietest", Licences={"label": "other"}, Quietest={"freePods": 1})
        full = ("-o", "json", "--detail", "full")
        ran = ksched("simulate", "--from", cluster(tmp_path), "--config", chosen, *full, path=installed)
        (drawing,) = (each for each in json.loads(ran.out)["pods"] if each["pod"] == "default/drawing")
        assert "filters" not in drawing
        assert {each["Quietest"]["raw"] for each in drawing["scores"].values()} == {0}

    def test_the_effective_configuration(self, installed: Path, tmp_path: Path, ksched: Ksched) -> None:
        chosen = config(tmp_path, "Licences", "Quietest", Quietest={"freePods": 1})
        ran = ksched("config", "view", "--config", chosen, "-o", "json", path=installed)
        (profile,) = json.loads(ran.out)["profiles"]
        args = {each["name"]: each["args"] for each in profile["pluginConfig"]}
        assert (args["Licences"], args["Quietest"]) == ({"label": "licence"}, {"freePods": 1})

    def test_mistaken_arguments(self, installed: Path, tmp_path: Path, ksched: Ksched) -> None:
        chosen = config(tmp_path, "Licences", "Quietest", Licences={"label": ""}, Quietest={"free_pods": "1"})
        ran = ksched("config", "validate", chosen, path=installed)
        assert ran.code == 2
        assert ran.err.splitlines() == [
            "ksched: config.json:1: profiles[0].pluginConfig[0].args: label must not be empty",
            "ksched: config.json:1: profiles[0].pluginConfig[1].args.free_pods: no such field; there are freePods",
        ]

    def test_a_name_that_is_taken(self, installed: Path, ksched: Ksched) -> None:
        ran = ksched("plugins", "--plugin", "ksched_sample.licences:Licences", path=installed)
        assert ran.code == 2
        assert ran.err == (
            "ksched: two plugins are named 'Licences': one entry point Licences of ksched-sample, one from "
            "ksched_sample.licences:Licences; rename one of them\n"
        )

    def test_it_is_found_when_it_is_installed_while_a_process_runs(
        self, installed: Path, tmp_path: Path, ksched: Ksched
    ) -> None:
        site = tmp_path / "site"
        site.mkdir()
        assert "Licences" not in ksched("plugins", path=site).out
        for each in installed.iterdir():
            (site / each.name).symlink_to(each)
        assert "entry point Licences of ksched-sample" in ksched("plugins", "-o", "json").out

    def test_it_is_found_in_an_archive(self, installed: Path, tmp_path: Path, ksched: Ksched) -> None:
        archive = shutil.make_archive(str(tmp_path / "site"), "zip", installed)
        assert "entry point Licences of ksched-sample" in ksched("plugins", "-o", "json", path=Path(archive)).out

    def test_one_that_cannot_be_loaded(self, tmp_path: Path, ksched: Ksched) -> None:
        broken = tmp_path / "site" / "broken-1.0.dist-info"
        broken.mkdir(parents=True)
        (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
        (broken / "entry_points.txt").write_text("[ksched.plugins]\nBroken = nowhere:Broken\n")
        # Beside a package that announces something else.
        other = broken.parent / "other-1.0.dist-info"
        other.mkdir()
        (other / "entry_points.txt").write_text("[console_scripts]\nother = other:main\n")
        ran = ksched("plugins", path=broken.parent)
        assert ran.code == 2
        assert ran.err == (
            "ksched: entry point Broken of broken cannot be loaded: ModuleNotFoundError: No module named 'nowhere' "
            "(repair or uninstall it)\n"
        )


PLAIN = """
from ksched_cli.framework.per_node import PerNodeFilter
from ksched_cli.framework.status import SUCCESS

class Mine(PerNodeFilter):
    name = "Mine"
    def filter_one(self, pod, node):
        return {answer}
"""


HOLDING = """
from ksched_cli.framework.interfaces import PreEnqueuePlugin
from ksched_cli.framework.status import SUCCESS

class Mine(PreEnqueuePlugin):
    name = "Mine"
    def pre_enqueue(self, pod):
        return SUCCESS if pod.name != "drawing" else pod.labels["colour"]
"""
SORTING = """
from ksched_cli.framework.interfaces import QueueSortPlugin

class Mine(QueueSortPlugin):
    name = "Mine"
    def sort_key(self, pod):
        return (pod.labels["age"],)
"""


class TestAFile:
    """--plugin module:Class, from the directory that the command is run in."""

    def test_a_fault_is_the_pods_and_not_a_crash(self, tmp_path: Path, ksched: Ksched) -> None:
        (tmp_path / "mine.py").write_text(PLAIN.format(answer="pod.colour"))
        arguments = (
            "simulate",
            "--from",
            cluster(tmp_path),
            "--config",
            config(tmp_path, "Mine"),
            "--plugin",
            "mine:Mine",
        )
        ran = ksched(*arguments)
        assert (ran.code, ran.err) == (1, "")
        assert ran.out.startswith(
            "2 pending pods: 2 in error (3 nodes)\n"
            "\n"
            "default/anything: error, 0 of 3 nodes fit\n"
            "  plugin \"Mine\" failed at filter: AttributeError: 'PodInfo' object has no\n"
            "    attribute 'colour' (node a)\n"
        )

    def test_a_fault_while_things_settle(self, tmp_path: Path, ksched: Ksched) -> None:
        """A pod that PreEnqueue fails over is held back, as one is that it refuses with an error."""
        (tmp_path / "mine.py").write_text(HOLDING)
        arguments = ("--config", config(tmp_path, "Mine"), "--plugin", "mine:Mine", "--settle", "-o", "json")
        ran = ksched("simulate", "--from", cluster(tmp_path), *arguments)
        assert (ran.code, ran.err) == (0, "")
        document = json.loads(ran.out)
        assert "default/drawing" in json.dumps(document["gated"])
        assert 'plugin \\"Mine\\" failed at preEnqueue: KeyError' in ran.out

    def test_keys_that_break_while_things_settle(self, tmp_path: Path, ksched: Ksched) -> None:
        (tmp_path / "mine.py").write_text(SORTING)
        document = json.loads((tmp_path / config(tmp_path, "Mine")).read_text())
        document["profiles"][0]["plugins"] = {"queueSort": {"enabled": [{"name": "Mine"}], "disabled": [{"name": "*"}]}}
        chosen = write(tmp_path / "sorted.json", document)
        ran = ksched("simulate", "--from", cluster(tmp_path), "--config", chosen, "--plugin", "mine:Mine", "--settle")
        assert ran.code == 2
        assert ran.err == "ksched: plugin \"Mine\" failed at queueSort: KeyError: 'age'\n"

    def test_one_that_no_profile_enables(self, tmp_path: Path, ksched: Ksched) -> None:
        (tmp_path / "mine.py").write_text(PLAIN.format(answer="SUCCESS"))
        ran = ksched("simulate", "--from", cluster(tmp_path), "--plugin", "mine:Mine")
        assert ran.code == 0
        assert ran.err == (
            "ksched: warning: plugin Mine is given and no profile enables it: name it in the configuration "
            "(plugins.multiPoint)\n"
        )

    @pytest.mark.parametrize(
        ("reference", "text", "problem"),
        [
            pytest.param("mine", "", "--plugin mine: write it as module:Class", id="no class"),
            pytest.param("nowhere:Mine", "", "cannot import nowhere: No module named 'nowhere'", id="no module"),
            pytest.param("mine:Mine", "", "--plugin mine:Mine: mine has no Mine", id="not in it"),
            pytest.param("mine:Mine", "Mine = 5", "mine:Mine is not a subclass of", id="no plugin"),
            pytest.param(
                "mine:Mine", "Mine = (", "mine breaks on import: SyntaxError: '(' was never closed", id="syntax"
            ),
            pytest.param("mine:Mine", "raise SystemExit(9)", "mine breaks on import: SystemExit: 9", id="leaves"),
            pytest.param(
                "mine:Mine",
                "from ksched_cli.framework.interfaces import ScorePlugin\nclass Mine(ScorePlugin):\n    name = 'Mine'",
                "mine:Mine is not finished: it lacks score",
                id="unfinished",
            ),
            pytest.param(
                "ksched_cli.plugins.node_name:NodeName",
                "",
                "two plugins are named 'NodeName': one in-tree, one from ksched_cli.plugins.node_name:NodeName",
                id="a name that is taken",
            ),
        ],
    )
    def test_mistakes(self, tmp_path: Path, ksched: Ksched, reference: str, text: str, problem: str) -> None:
        (tmp_path / "mine.py").write_text(text)
        ran = ksched("plugins", "--plugin", reference)
        assert (ran.code, ran.out) == (2, "")
        assert problem in ran.err


@pytest.mark.slow
def test_the_plugin_in_the_manual(tmp_path: Path) -> None:
    """The very text: its two files, and its command line."""
    _, _, section = (ROOT / "ksched_cli" / "help" / "plugins.md").read_text().partition("# A plugin of your own\n")
    blocks = dict(re.findall(r"```(\w+)\n(.*?)```", section.partition("\n## ")[0], re.DOTALL))
    assert len(blocks["python"].strip().splitlines()) <= 21
    (tmp_path / "fast_disk.py").write_text(blocks["python"])
    (tmp_path / "scheduler.yaml").write_text(blocks["yaml"])
    nodes = [make_node("a").label(disk="hdd").doc(), make_node("b").label(disk="nvme").doc(), make_node("c").doc()]
    pods = [make_pod("db").label(app="db").doc(), make_pod("web").doc()]
    write(tmp_path / "cluster.json", {"apiVersion": "v1", "kind": "List", "items": [*nodes, *pods]})
    program, *arguments = blocks["sh"].split()
    assert program == "ksched"
    code, out, err = in_a_process(*arguments)
    assert (code, err) == (0, "")
    assert re.search(
        r"default/db: on b, 1 of 3 nodes fit\n.*\n +2 +FastDisk +node\(s\) had a slow disk \(a, c\)\n", out
    )
    assert re.search(r"default/web: on b, 3 of 3 nodes fit\n +NODE +TOTAL .* FASTDISK\n +b .* 200\n +a .* 0\n", out)
