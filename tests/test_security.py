"""The promises of .github/SECURITY.md."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ksched_cli import Simulator
from ksched_cli.errors import InputError
from tests.package_source import trees

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / ".github" / "SECURITY.md").read_text(encoding="utf-8")
NETWORK = {
    "socket",
    "http",
    "urllib",
    "urllib3",
    "requests",
    "aiohttp",
    "ftplib",
    "smtplib",
    "ssl",
    "distributed",
    "dask",
}
EXECUTION = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "code", "runpy"}


def imports(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Top module and full name of what is imported, wherever it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((each.name.partition(".")[0], each.name) for each in node.names)
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((node.module.partition(".")[0], f"{node.module}.{each.name}") for each in node.names)


def dotted_name(node: ast.AST) -> str:
    """`a.b.c` of such an expression; of any other expression what follows its last dot."""
    if isinstance(node, ast.Attribute):
        return f"{dotted_name(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def importers(modules: set[str], but: str = "") -> set[str]:
    """The files that import one of the modules; `but` is a pattern of names that may be imported."""
    # The module stands in the line of its statement, or that line goes on after a backslash.
    statement = rf"\b(?:from|import)\b.*(?:\b(?:{'|'.join(modules)})\b|\\$)"
    return {
        path
        for path, tree in trees(rf"(?m){statement}")
        for top, name in imports(tree)
        if top in modules and not (but and re.fullmatch(but, name))
    }


def test_every_promise_names_a_test() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", PAGE)
    rows = [line for line in PAGE.partition("| promise |")[2].partition("##")[0].splitlines() if line.startswith("| ")]
    assert len(named) == len(rows) > 10
    for path, name in named:
        assert re.search(rf"^def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), f"{path}::{name}"


@pytest.mark.slow
def test_only_get_is_sent_to_a_cluster() -> None:
    """One place makes requests, and one method is in it."""
    methods = {"GET", "POST", "PUT", "PATCH", "DELETE"}
    found = {
        (path, node.value)
        for path, tree in trees("|".join(methods), "sources/live/")
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value in methods
    }
    assert found == {("sources/live/api_server.py", "GET")}
    assert importers({"kubernetes"}) == {"sources/live/connection.py"}


@pytest.mark.slow
def test_input_is_never_executed() -> None:
    # Pickled results come from copies and workers of this very process.
    workers = {"plan/run/each.py"}
    assert importers(EXECUTION) <= workers
    for path, tree in trees(r"\b(eval|exec|compile|system|popen|yaml|shell)\b"):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                name = dotted_name(node.func)
                assert name not in {"eval", "exec", "compile", "os.system", "os.popen", "yaml.unsafe_load"}, path
                shell = [each for each in node.keywords if each.arg == "shell"]
                assert all(isinstance(each.value, ast.Constant) and not each.value.value for each in shell), path
                if name == "yaml.load":
                    assert "Safe" in ast.unparse(node), path


@pytest.mark.slow
def test_who_starts_programs() -> None:
    threads = r".*\.(ThreadPoolExecutor|Future|CancelledError)"
    starters = importers({"subprocess", "multiprocessing", "pty"}) | importers({"concurrent"}, threads)
    assert starters == {"sources/rendering.py", "build_info.py", "cli/streams.py", "plan/run/each.py"}


@pytest.mark.slow
def test_who_uses_the_network() -> None:
    pure = r"urllib\.(parse|error)\b.*|http\.HTTPStatus"
    users = importers(NETWORK, pure)
    assert {path for path in users if not path.startswith(("sources/live/", "engine/extenders/"))} <= {
        "plan/run/each.py"
    }


def test_archives_are_not_unpacked_to_disk() -> None:
    calls = {
        dotted_name(node.func).rpartition(".")[2]
        for _, tree in trees("", "sources/")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
    }
    assert "open" in calls
    assert calls & {"extractall", "extract", "mkdir", "makedirs", "write_bytes", "write_text", "mkdtemp"} == set()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("kind: " + "{a: " * 200 + "1" + "}" * 200, id="depth"),
        pytest.param(
            "a: &a ["
            + "x, " * 1000
            + "]\n"
            + "".join(
                f"{new}: &{new} [{', '.join(['*' + old] * 30)}]\n" for old, new in zip("abcde", "bcdef", strict=True)
            ),
            id="expansion",
        ),
    ],
)
def test_yaml_is_bounded(text: str, tmp_path: Path) -> None:
    (tmp_path / "bomb.yaml").write_text(text)
    with pytest.raises(InputError, match=r"nested more than 100 deep|aliases|times"):
        Simulator.load(str(tmp_path / "bomb.yaml"))
