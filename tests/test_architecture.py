"""What the structure of the package promises: each fact stands in one place."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from io import StringIO
from itertools import combinations
from pathlib import Path

import pytest

from ksched_cli.framework.interfaces import Plugin
from ksched_cli.legacy.in_tree import PREDICATES, PRIORITIES, REMOVED
from ksched_cli.plugins.in_tree import IN_TREE
from tests.package_source import PACKAGE, texts, trees

# A plugin's name stands in its room and in at most so many other files, the pages of the manual among them.
ELSEWHERE = 2


@cache
def words() -> dict[str, frozenset[str]]:
    """The words of every file of the package."""
    files = (
        path
        for path in sorted(PACKAGE.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts and path.suffix not in (".pyc", ".gz")
    )
    return {str(path.relative_to(PACKAGE)): frozenset(re.findall(r"\w+", path.read_text())) for path in files}


def room_of(plugin: type[Plugin]) -> str:
    """The file or the folder of a plugin; those that are gone, predicates and priorities share one."""
    parts = plugin.__module__.split(".")
    folder = "/".join(parts[1:2] if parts[1] == "legacy" else parts[1:3])
    return f"{folder}/" if (PACKAGE / folder).is_dir() else f"{folder}.py"


@pytest.mark.slow
@pytest.mark.parametrize(
    "plugin", [pytest.param(each, id=each.name) for each in (*IN_TREE, *REMOVED, *PREDICATES, *PRIORITIES)]
)
def test_a_plugin_is_named_in_its_room_and_in_two_other_files_at_most(plugin: type[Plugin]) -> None:
    naming = [name for name, found in words().items() if plugin.name in found]
    room = room_of(plugin)
    assert [name for name in naming if name.startswith(room)]
    # The folder of old minors is one place.
    elsewhere = {
        name.split("/")[0] if name.startswith("legacy/") else name for name in naming if not name.startswith(room)
    }
    assert len(elsewhere) <= ELSEWHERE, naming


# Modules of `plan` and `report` that use regular expressions, and on what.
PATTERNS = {
    "plan/check/suppression.py": "the index in the path of a field",
    "plan/reasons/fixes/limits.py": "keys of taints and labels",
    "plan/verify/verify.py": "texts of events and conditions that a kube-scheduler of another time wrote",
    "report/console.py": "spaces at the end of a line of the terminal",
    "report/encoding.py": "characters that an output cannot hold",
    "report/jsonpath.py": "the expression that a user gives",
    "report/sinks/findings.py": "characters that XML cannot hold",
    "report/sinks/html.py": "characters that would end a script element",
    "report/visible.py": "characters that a terminal would obey, or Markdown read as markup; the suffix that nodes share",
}


def test_no_command_reads_a_reason_from_its_text() -> None:
    """Reasons are values: what `plan` and `report` match with patterns is something else."""
    using = {
        name
        for name in words()
        if name.startswith(("plan/", "report/"))
        and re.search(r"^\s*(import re\b|from re import)", (PACKAGE / name).read_text(), re.MULTILINE)
    }
    assert using == set(PATTERNS)


# Attributes and variables that hold a sentence for people, and the methods that would take it apart.
SENTENCES = {"message", "why", "reason"}
TAKES_APART = {
    *("startswith", "endswith", "find", "index", "partition", "rpartition", "split", "rsplit"),
    *("removeprefix", "removesuffix"),
}


def is_sentence(node: ast.expr) -> bool:
    return getattr(node, "attr", getattr(node, "id", None)) in SENTENCES and isinstance(node, ast.Name | ast.Attribute)


def takes_a_sentence_apart(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in TAKES_APART and is_sentence(node.func.value)
    if isinstance(node, ast.Compare):
        pairs = zip(node.ops, node.comparators, strict=True)
        return any(isinstance(operator, ast.In | ast.NotIn) and is_sentence(right) for operator, right in pairs)
    return False


@pytest.mark.slow
def test_no_sentence_is_taken_apart() -> None:
    """Reasons stay values up to `report/`. `sources/` reads what other programs wrote."""
    sentence = rf"\b(?:{'|'.join(SENTENCES)})\b"
    pattern = rf"{sentence}\s*\.\s*(?:{'|'.join(TAKES_APART)})\b|\bin\b[\s\S]{{0,120}}?{sentence}"
    found = {
        name
        for name, tree in trees(pattern)
        if not name.startswith(("report/", "sources/")) and any(map(takes_a_sentence_apart, ast.walk(tree)))
    }
    assert not found


# A minor in a text or a comment. Minors are data of `releases` and of the rooms; help texts show some as examples.
MINOR = re.compile(r"(?<![\d.])1\.(?:1[6-9]|2\d|3\d)(?!\d)")
WITH_MINORS = ("releases/", "plugins/", "legacy/", "config/legacy/", "cli/")


def test_minors_are_named_in_releases_and_rooms_only() -> None:
    found = []
    for name, text in texts().items():
        if name.startswith(WITH_MINORS) or not MINOR.search(text):
            continue
        for token in tokenize.generate_tokens(StringIO(text).readline):
            if token.type != tokenize.NUMBER and MINOR.search(token.string):
                found.append(f"{name}:{token.start[0]}")
    assert found == []


# What holds the number of a minor or of a patch, or returns it. `releases` compares them; versions in CEL texts are others.
NUMBERS = {"minor", "patch", "minor_of", "minor_in", "patch_in", "pod_security_minor"}
COMPARES_VERSIONS = ("releases/", "plugins/lib/cel/")


def is_number_of_release(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return is_number_of_release(node.left) or is_number_of_release(node.right)
    if isinstance(node, ast.Call):
        return is_number_of_release(node.func)
    return getattr(node, "attr", getattr(node, "id", "")).lstrip("_") in NUMBERS


def compares_releases(node: ast.AST) -> bool:
    if isinstance(node, ast.Compare):
        # Whether there is a number at all is no comparison.
        operands = [node.left, *node.comparators]
        is_none = isinstance(node.ops[0], ast.Is | ast.IsNot)
        return not is_none and any(map(is_number_of_release, operands))
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("max", "min", "sorted"):
        keys = [each.value.body for each in node.keywords if isinstance(each.value, ast.Lambda)]
        values = [*node.args, *(item for key in keys for item in (key.elts if isinstance(key, ast.Tuple) else [key]))]
        return any(map(is_number_of_release, values))
    return False


@pytest.mark.parametrize(
    ("text", "compares"),
    [
        ("release.minor >= 25", True),
        ("low <= each._minor <= high", True),
        ("minor_in(version) == release.minor", True),
        ("last == minor - 1", True),
        ("max(releases, key=lambda each: each.minor)", True),
        ("sorted(rules, key=lambda rule: (rule.minor, rule.text))", True),
        ("min(minor, self.newest)", True),
        ("minor_in(version) is None", False),
        ("old.minor.gates.enabled('A')", False),
        ("release.is_later_than(other)", False),
    ],
)
def test_comparisons_of_minors_are_found(text: str, compares: bool) -> None:
    assert any(map(compares_releases, ast.walk(ast.parse(text)))) is compares


@pytest.mark.slow
def test_releases_alone_compares_minors() -> None:
    """A rule that depends on a minor is a value of `releases`, or a `Rule` of a room, which `releases` evaluates."""
    found = [
        f"{name}:{node.lineno}"
        for name, tree in trees("minor|patch")
        if not name.startswith(COMPARES_VERSIONS)
        for node in ast.walk(tree)
        if compares_releases(node)
    ]
    assert found == []


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in PACKAGE.rglob("*.py")}


def imports_of(node: ast.AST) -> Iterator[str]:
    """Modules of the package that a file imports when it is loaded, or for its types."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(child, ast.Import):
            yield from (each.name for each in child.names)
        elif isinstance(child, ast.ImportFrom) and child.module:
            names = [f"{child.module}.{each.name}" for each in child.names]
            yield from (name if name in MODULES else child.module for name in names)
        yield from imports_of(child)


@cache
def contents() -> dict[str, tuple[list[str], list[str]]]:
    """The modules that each module imports, and its public classes."""
    found = {}
    for name, path in MODULES.items():
        tree = ast.parse(path.read_text())
        imported = [each for each in imports_of(tree) if each in MODULES]
        classes = [each.name for each in tree.body if isinstance(each, ast.ClassDef) and not each.name.startswith("_")]
        found[name] = imported, classes
    return found


@pytest.mark.slow
def test_no_file_imports_itself_by_way_of_others() -> None:
    """Imports under TYPE_CHECKING count, too."""
    graph = {name: set(imported) - {name} for name, (imported, _) in contents().items()}
    assert sum(map(len, graph.values())) > 1000
    # The package's own names are imported when they are asked for.
    graph["ksched_cli"] = set()
    TopologicalSorter(graph).prepare()


def test_one_module_copies_and_starts_processes() -> None:
    pattern = re.compile(r"os\.fork|ProcessPool|multiprocessing|import distributed|from distributed")
    assert [name for name, text in texts().items() if pattern.search(text)] == ["plan/run/each.py"]


def test_the_contract_of_plugins_is_short() -> None:
    lines = [line for path in (PACKAGE / "framework").rglob("*.py") for line in path.read_text().splitlines()]
    assert 500 < len(lines) <= 1500


@pytest.mark.slow
def test_no_two_public_classes_have_one_name() -> None:
    places: dict[str, list[str]] = {}
    for name, (_, classes) in contents().items():
        for each in classes:
            places.setdefault(each, []).append(name)
    assert len(places) > 500
    assert {name: modules for name, modules in places.items() if len(modules) > 1} == {}


# Commands that Kubernetes users expect under these names.
ALIKE = {("ksched_cli.cli", "version", "versions")}


def differs_by_a_letter(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    if len(short) == len(long):
        return sum(a != b for a, b in zip(short, long, strict=True)) == 1
    return any(long[:index] + long[index + 1 :] == short for index in range(len(long)))


def test_no_two_modules_of_a_folder_differ_by_a_letter() -> None:
    """The stems of files and folders; a module of one letter more or less is opened by mistake."""
    stems: dict[str, list[str]] = {}
    for name in MODULES:
        folder, _, stem = name.rpartition(".")
        stems.setdefault(folder, []).append(stem)
    found = {
        (folder, *pair)
        for folder, names in stems.items()
        for pair in combinations(sorted(names), 2)
        if differs_by_a_letter(*pair)
    }
    assert found == ALIKE
