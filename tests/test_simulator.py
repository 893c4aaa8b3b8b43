"""The Python API: loading, changing, running and reading, in a session as in the README."""

from __future__ import annotations

import doctest
import inspect
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import ksched_cli
from ksched_cli import KschedError, Simulator
from ksched_cli.cli.main import EVERY, program_with
from ksched_cli.errors import ConfigError, InputError, UsageError
from ksched_cli.framework.per_node import PerNodePlugin
from ksched_cli.releases import DEFAULT_VERSION
from tests.builders import make_configuration, make_node, make_object, make_pod

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "ksched_cli" / "cli" / "demo_cluster.yaml"
CASES = ROOT / "fixtures" / "conformance" / "1.36"

NODES = [make_node("a").doc(), make_node("b").doc()]
POD = make_pod("web").requests(cpu="3").doc()


def names(simulator: Simulator) -> list[str]:
    return [node.metadata.name for node in simulator.nodes]


class TestLoading:
    """Files, documents and typed objects, alone and mixed."""

    @pytest.mark.parametrize(
        "given",
        [
            pytest.param([*NODES, POD], id="documents"),
            pytest.param([[NODES, POD]], id="lists of documents"),
            pytest.param([{"apiVersion": "v1", "kind": "List", "items": [*NODES, POD]}], id="a List"),
            pytest.param(
                [make_node("a").obj(), make_node("b").obj(), make_pod("web").requests(cpu="3").obj()], id="typed"
            ),
            pytest.param([make_node("a").obj(), *NODES[1:], POD], id="some of each"),
            pytest.param([(each for each in (*NODES, POD))], id="a generator"),
        ],
    )
    def test_objects(self, given: list[Any]) -> None:
        assert Simulator.load(*given).run().placements == {"default/web": "a"}

    @pytest.mark.parametrize("path", [DEMO, str(DEMO)], ids=["a path", "its name"])
    def test_files(self, path: Any) -> None:
        loaded = Simulator.load(path)
        assert repr(loaded) == f"<Simulator of Kubernetes {DEFAULT_VERSION}: 6 nodes, 8 pods>"
        assert len(Simulator.load(path, make_node("one-more").doc()).nodes) == 7

    def test_what_is_given_stays_as_it_is(self) -> None:
        pod, document = make_pod("web").obj(), {**POD, "metadata": {"name": "other"}}
        before = repr(pod), repr(document)
        run = Simulator.load(NODES, pod, document).run()
        assert set(run.placements.values()) == {"a", "b"}
        assert (repr(pod), repr(document)) == before

    @pytest.mark.parametrize(
        ("given", "problems"),
        [
            pytest.param(
                [], ["there is nothing to load: give files, documents or objects, or use Simulator.live()"], id="none"
            ),
            pytest.param(["/nowhere.json"], ["/nowhere.json: no such file or directory"], id="no file"),
            pytest.param(
                [5, {"kind": "Pod"}, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": 7}}],
                [
                    "object 1: a number is no Kubernetes object (give a document as a dict, or a typed object of ksched_cli.api)",
                    "object 2: Pod has no apiVersion (for a Pod it is v1)",
                    "object 3: metadata.name: expected a string, got a whole number",
                ],
                id="all mistakes at once",
            ),
            pytest.param(
                [NODES[0], NODES[0]],
                ["object 2: Node a is there more than once, and in object 1 (leave one of them out)"],
                id="twice",
            ),
        ],
    )
    def test_mistakes(self, given: list[Any], problems: list[str]) -> None:
        with pytest.raises(KschedError) as caught:
            Simulator.load(*given)
        assert [str(problem) for problem in caught.value.problems] == problems

    def test_options(self, tmp_path: Path) -> None:
        profile = {"schedulerName": "mine"}
        config = make_configuration(profile)
        run = Simulator.load(NODES, POD, config=config).run()
        assert [each.pod for each in run.ignored] == ["default/web"]
        older = Simulator.load(NODES, POD, kube_version="1.35", feature_gates={"DynamicResourceAllocation": True})
        assert "1.35" in repr(older)
        with pytest.raises(UsageError, match="there is no option confg; there are config, kube_version"):
            Simulator.load(NODES, confg="x")  # type: ignore[call-arg]
        with pytest.raises(UsageError, match="tie_break is 'first': it is name or random"):
            Simulator.load(NODES, tie_break="first")
        with pytest.raises(ConfigError, match=r"configuration:1: profiles\[0\].shedulerName: no such field"):
            Simulator.load(NODES, config={**config, "profiles": [{"shedulerName": "x"}]})


class TestChanging:
    """Every edit is a new simulator, and the one before it stays."""

    NOW = Simulator.load(NODES, POD, make_pod("running").requests(cpu="2").on("b").doc())

    @pytest.mark.parametrize(
        ("change", "placed"),
        [
            pytest.param(lambda now: now, "a", id="as it is"),
            pytest.param(lambda now: now.cordon("a"), "", id="cordon"),
            pytest.param(lambda now: now.cordon("a", "b").uncordon("a"), "a", id="uncordon"),
            pytest.param(lambda now: now.remove_node("a"), "", id="remove a node"),
            pytest.param(lambda now: now.remove_node("a").add_node("cpu=8,memory=16Gi"), "new-node", id="add a node"),
            pytest.param(
                lambda now: now.remove_node("a").add_node(make_node("big").doc(), 2), "big-1", id="of a document"
            ),
            pytest.param(lambda now: now.remove_node("a").add_node(make_node("big").obj()), "big", id="of an object"),
            pytest.param(lambda now: now.remove_node("a").clone_node("b"), "b-clone-1", id="clone a node"),
            pytest.param(lambda now: now.taint("a", "x=y:NoSchedule"), "", id="taint"),
            pytest.param(lambda now: now.taint("a", "x:NoSchedule").taint("a", "x-"), "a", id="remove a taint"),
            pytest.param(lambda now: now.cordon("a").delete("pod/running"), "b", id="delete a pod"),
            pytest.param(lambda now: now.cordon("a").drain("b"), "", id="drain"),
        ],
    )
    def test_edits(self, change: Any, placed: str) -> None:
        assert change(self.NOW).run().placements["default/web"] == placed
        assert self.NOW.run().placements == {"default/web": "a"}

    def test_labels(self) -> None:
        wanting = self.NOW.delete("pod/web").add_pod(make_pod("picky").selector(disk="ssd").doc())
        assert wanting.run().placements == {"default/picky": ""}
        labelled = wanting.label("b", "disk", "ssd")
        assert labelled.run().placements == {"default/picky": "b"}
        assert labelled.label("b", "disk", None).run().placements == {"default/picky": ""}

    def test_manifests(self, tmp_path: Path) -> None:
        container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": "1"}}}
        template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [container]}}
        spec = {"replicas": 2, "selector": {"matchLabels": {"app": "x"}}, "template": template}
        deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": spec}
        more = self.NOW.apply(deployment)
        assert sorted(more.run().placements.values()) == ["a", "a", "b"]
        assert len(more.scale("deployment/x", 3).run().outcomes) == 4
        assert len(more.delete("deployment/x").run().outcomes) == 1
        assert len(self.NOW.pods) == 2

    def test_pods_that_admission_refuses(self) -> None:
        quota = make_object(
            "ResourceQuota", "q", {"hard": {"pods": "1"}}, status={"hard": {"pods": "1"}, "used": {"pods": "1"}}
        )
        run = Simulator.load(NODES, POD, quota).add_pod(make_pod("late").doc()).run()
        assert [each.pod for each in run.refused] == ["default/late"]

    @pytest.mark.parametrize(
        ("change", "problem"),
        [
            pytest.param(lambda now: now.cordon("c"), 'there is no node "c"', id="no node"),
            pytest.param(lambda now: now.taint("a", "x"), "there is no effect", id="no effect"),
            pytest.param(lambda now: now.add_node("cpu=many"), "cpu=many: cpu: ", id="no quantity"),
            pytest.param(lambda now: now.add_node("cpu=1", 0), "0 nodes cannot be added", id="none"),
            pytest.param(lambda now: now.add_node(POD), "a template for nodes is one Node", id="no node to add"),
            pytest.param(lambda now: now.delete("web"), "'web' does not say what", id="no kind"),
            pytest.param(lambda now: now.apply({"kind": "Pod"}), "object: Pod has no apiVersion", id="no manifest"),
        ],
    )
    def test_mistakes(self, change: Any, problem: str) -> None:
        with pytest.raises(KschedError) as caught:
            change(self.NOW)
        assert problem in str(caught.value)


class TestReading:
    """What a run came to, by name."""

    RUN = Simulator.load(DEMO).run()

    def test_pods(self) -> None:
        assert self.RUN.pod("shop/web-1").node == self.RUN.pod("web-1").node == "east-2"
        assert self.RUN.placements["shop/db-0"] == ""
        assert [each.pod for each in self.RUN.unplaced] == ["shop/report-1", "shop/db-0"]
        with pytest.raises(KeyError, match="no pod that was tried is named nobody: shop/web-1, "):
            self.RUN.pod("nobody")

    def test_two_pods_of_one_name(self) -> None:
        run = Simulator.load(NODES, make_pod("x", "one").doc(), make_pod("x", "two").doc()).run()
        with pytest.raises(KeyError, match="several pods are named x: one/x, two/x"):
            run.pod("x")

    def test_detail(self) -> None:
        detail = self.RUN.pod("db-0").detail
        assert detail is not None
        assert detail.filters["gpu-1"].plugin == "TaintToleration"
        assert Simulator.load(DEMO).run(detail=False).pod("db-0").detail is None


class _Bonus(PerNodePlugin):
    """Prefers one node."""

    name = "Bonus"

    @dataclass
    class Args:
        node: str = ""

    args_model = Args

    def score_one(self, pod: Any, node: Any) -> int:
        return 100 if node.metadata.name == self.args.node else 0


def test_a_plugin_in_the_session() -> None:
    profile = {
        "plugins": {"multiPoint": {"enabled": [{"name": "Bonus", "weight": 9}]}},
        "pluginConfig": [{"name": "Bonus", "args": {"node": "b"}}],
    }
    config = make_configuration(profile)
    assert Simulator.load(NODES, POD, config=config, plugins=[_Bonus]).run().placements == {"default/web": "b"}
    (idle,) = Simulator.load(NODES, POD, plugins=[_Bonus]).warnings
    assert idle.startswith("plugin Bonus is given and no profile enables it")
    with pytest.raises(UsageError, match=r"^5 is not a subclass of"):
        Simulator.load(NODES, plugins=[5])  # type: ignore[list-item]


@pytest.mark.slow
@pytest.mark.parametrize("case", ["preemption-00", "pdb-00", "dra-00", "volumes-00", "mixed-00"])
def test_running_leaves_no_trace(case: str) -> None:
    """Placements, evictions, claims and devices of one run are not there for the next."""
    source = CASES / case / "cluster.json"
    config = source.with_name("config.yaml")
    simulator = Simulator.load(source, config=config if config.exists() else None)
    first, second = simulator.run(), simulator.run()
    assert first.outcomes == second.outcomes
    assert simulator.cordon(simulator.nodes[0].metadata.name).run().outcomes
    assert simulator.run().outcomes == first.outcomes


def test_importing_the_package_imports_nothing_else() -> None:
    code = "import sys, ksched_cli; print(sorted(each for each in sys.modules if each.startswith(('ksched', 'numpy', 'msg'))))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT, timeout=60
    )
    assert done.stdout.strip() == "['ksched_cli']"
    with pytest.raises(AttributeError, match="has no attribute 'Simulater'"):
        _ = ksched_cli.Simulater


def test_an_input_error_is_one(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    with pytest.raises(InputError):
        Simulator.load(broken)


def test_the_session_in_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Line by line, on the packaged cluster."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.yaml").write_text(DEMO.read_text())
    (session,) = re.findall(r"```pycon\n(.*?)```", (ROOT / "ksched_cli" / "help" / "python.md").read_text(), re.DOTALL)
    examples = doctest.DocTestParser().get_doctest(session, {}, "README.md", "README.md", 0)
    assert len(examples.examples) > 5
    failures: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(examples, out=failures.append)
    assert result.failed == 0, "".join(failures)


@pytest.mark.parametrize(
    ("command", "method", "fewest"),
    [
        ("capacity", "capacity", 4),
        ("drain", "drain_nodes", 7),
        ("size", "size", 2),
        ("consolidate", "consolidate", 5),
        ("sweep", "sweep", 1),
        ("check", "check", 2),
        ("explain", "explain", 1),
    ],
)
def test_a_keyword_has_the_default_of_its_option(command: str, method: str, fewest: int) -> None:
    keywords = inspect.signature(getattr(Simulator, method)).parameters
    options = {option.name: option.default for option in program_with(EVERY).commands[command].params}  # type: ignore[attr-defined]
    # Durations and words have other types in Python.
    same = {name for name in options.keys() & keywords.keys() if type(options[name]) is type(keywords[name].default)}
    same = {name for name in same if options[name] is not None}
    assert len(same) >= fewest
    assert {name: options[name] for name in same} == {name: keywords[name].default for name in same}
