"""Reasons as predicates about nodes: `4 nodes lack cpu`, `1 lacks cpu`."""

from __future__ import annotations

import pytest

from ksched_cli.errors import predicate
from ksched_cli.framework.reasons import ReasonKind, ReasonTable
from ksched_cli.plugins.in_tree import IN_TREE  # noqa: F401 (the rooms declare their tables)
from ksched_cli.plugins.taint_toleration import TaintTolerationReasons
from ksched_cli.releases.minors import RELEASES


@pytest.mark.parametrize(
    ("problem", "nodes", "said"),
    [
        pytest.param("lack cpu", 4, "lack cpu", id="several"),
        pytest.param("lack cpu", 1, "lacks cpu", id="one"),
        pytest.param("are cordoned", 1, "is cordoned", id="is"),
        pytest.param("do not match its node affinity", 1, "does not match its node affinity", id="does"),
        pytest.param("would break its topology spread", 1, "would break its topology spread", id="would"),
        pytest.param("Insufficient x", 1, "Insufficient x", id="a text without a verb"),
    ],
)
def test_a_predicate(problem: str, nodes: int, said: str) -> None:
    assert predicate(problem, nodes) == said


KINDS = {f"{table.__name__}.{kind.name}": kind for table in ReasonTable.tables() for kind in table.kinds()}


@pytest.mark.parametrize(
    "name", [name for name, kind in KINDS.items() if isinstance(kind.problem, str) and kind.problem]
)
def test_every_problem_has_a_singular(name: str) -> None:
    kind: ReasonKind = KINDS[name]
    problem = str(kind.problem)
    assert predicate(problem, 1) != problem or problem.startswith("would ")


@pytest.mark.parametrize(
    ("minor", "value", "said"),
    [
        pytest.param("1.28", "x", "have taint a=x", id="a minor whose text names the taint"),
        pytest.param("1.28", "", "have taint a", id="a taint without a value"),
        pytest.param("1.36", "x", "are tainted", id="a minor whose text does not name it"),
    ],
)
def test_the_taint_is_named_where_the_text_names_it(minor: str, value: str, said: str) -> None:
    assert TaintTolerationReasons.of(RELEASES[minor]).untolerated(key="a", value=value).problem == said
