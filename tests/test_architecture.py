"""What the structure of the package promises: each fact stands in one place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ksched_cli.framework.interfaces import Plugin
from ksched_cli.plugins.in_tree import IN_TREE
from ksched_cli.plugins.legacy.in_tree import PREDICATES, PRIORITIES, REMOVED

PACKAGE = Path(__file__).parents[1] / "ksched_cli"
FILES = [
    path
    for path in sorted(PACKAGE.rglob("*"))
    if path.is_file() and "__pycache__" not in path.parts and path.suffix not in (".pyc", ".gz")
]
WORDS = {str(path.relative_to(PACKAGE)): frozenset(re.findall(r"\w+", path.read_text())) for path in FILES}
# A plugin's name stands in its room and in at most so many other files.
ELSEWHERE = 2


def room_of(plugin: type[Plugin]) -> str:
    """The file or the folder of a plugin; those that are gone, predicates and priorities share one."""
    parts = plugin.__module__.split(".")
    folder = "/".join(parts[1:3])
    return f"{folder}/" if (PACKAGE / folder).is_dir() else f"{folder}.py"


@pytest.mark.parametrize(
    "plugin", [pytest.param(each, id=each.name) for each in (*IN_TREE, *REMOVED, *PREDICATES, *PRIORITIES)]
)
def test_a_plugin_is_named_in_its_room_and_in_two_other_files_at_most(plugin: type[Plugin]) -> None:
    naming = [name for name, words in WORDS.items() if plugin.name in words]
    room = room_of(plugin)
    assert [name for name in naming if name.startswith(room)]
    assert len([name for name in naming if not name.startswith(room)]) <= ELSEWHERE, naming


# Modules of `plan` and `report` that use regular expressions, and on what.
PATTERNS = {
    "plan/verify/pending.py": "texts of events and conditions that a kube-scheduler of another time wrote",
    "report/console.py": "spaces at the end of a line of the terminal",
    "report/custom_columns.py": "the specification that a user gives",
    "report/encoding.py": "characters that an output cannot hold",
    "report/escaping.py": "characters that Markdown would read as markup",
    "report/jsonpath_syntax.py": "the expression that a user gives",
    "report/junit.py": "characters that XML cannot hold",
    "report/sarif.py": "the index in the path of a field",
    "report/visible.py": "characters that a terminal would obey",
}


def test_no_command_reads_a_reason_from_its_text() -> None:
    """Reasons are values: what `plan` and `report` match with patterns is something else."""
    using = {
        name
        for name in WORDS
        if name.startswith(("plan/", "report/"))
        and re.search(r"^\s*(import re\b|from re import)", (PACKAGE / name).read_text(), re.MULTILINE)
    }
    assert using == set(PATTERNS)
