"""Reasons as predicates about nodes: `4 nodes lack cpu`, `1 lacks cpu`."""

from __future__ import annotations

import pytest

from ksched_cli.errors import predicate
from ksched_cli.framework.reasons import Figures, ReasonKind, ReasonTable, RejectionGuide
from ksched_cli.plugins.in_tree import IN_TREE  # noqa: F401 (the rooms declare their tables)
from ksched_cli.plugins.node_name import NodeNameReasons
from ksched_cli.plugins.node_ports import NodePortsReasons
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


def test_the_words_of_a_text_by_minor() -> None:
    kind = NodeNameReasons.other_node
    assert kind.texts() == (
        "node(s) didn't match the requested hostname",
        "node(s) didn't match the requested node name",
    )
    assert NodePortsReasons.port_taken.texts() == ("node(s) didn't have free ports for the requested pod ports",)
    assert str(NodePortsReasons.port_taken()) == "node(s) didn't have free ports for the requested pod ports"


class Words(RejectionGuide):
    def describe_briefly(self, figures: Figures) -> str:
        return str(figures["word"])


@pytest.mark.parametrize(
    ("words", "text"),
    [
        pytest.param(["a"], "a", id="one node"),
        pytest.param(["a", "a"], "a", id="two alike"),
        pytest.param(["a", "b"], "", id="two that differ"),
        pytest.param([], "", id="no node"),
    ],
)
def test_nodes_that_are_alike_have_one_line(words: list[str], text: str) -> None:
    assert Words().describe_nodes([{"word": word} for word in words]) == text


def test_a_guide_without_words() -> None:
    guide = RejectionGuide()
    assert (guide.describe({}), guide.describe_briefly({}), guide.describe_limits({})) == ("", "", "")
    assert guide.shortage({}) == 1.0
    assert not guide.is_other_kind_of_node((), unresolvable=True)
    assert not guide.ends_on_empty_node({})
