"""Laws of the algebra of requirements."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.autoscale.karpenter.requirements import LabelRequirement, LabelRequirements, States
from tests.lanes import examples

KEY = "example.com/label"
VALUES = ("", "1", "2", "3", "4", "+2", "03", "x", "y")
KNOWN = frozenset({"topology.kubernetes.io/zone"})

values = st.lists(st.sampled_from(VALUES), max_size=4)
numbers = st.integers(min_value=-1, max_value=5).map(lambda each: [str(each)])


@st.composite
def requirements(draw: st.DrawFn, key: str = KEY) -> LabelRequirement:
    operator = draw(st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte")))
    given_values = draw(numbers if operator in ("Gt", "Lt", "Gte", "Lte") else values)
    least = draw(st.none() | st.integers(min_value=1, max_value=3))
    made = LabelRequirement.of(key, operator, given_values, least)
    # Some are intersections, so that bounds and excluded values come together.
    return made.intersection(draw(requirements(key))) if draw(st.booleans()) else made


def sets() -> st.SearchStrategy[LabelRequirements]:
    keys = ("a", "b", "topology.kubernetes.io/zone")
    return st.lists(st.one_of(*map(requirements, keys)), max_size=4).map(LabelRequirements)


@given(requirements(), requirements())
def test_intersection_commutes(first: LabelRequirement, second: LabelRequirement) -> None:
    assert first.intersection(second) == second.intersection(first)


@given(requirements())
def test_intersection_with_itself_allows_the_same(each: LabelRequirement) -> None:
    assert each.intersection(each) == each or not any(each.has(value) for value in each.values)
    twice = each.intersection(each)
    assert twice.intersection(twice) == twice


@given(requirements(), requirements(), requirements())
def test_intersection_associates(a: LabelRequirement, b: LabelRequirement, c: LabelRequirement) -> None:
    left, right = a.intersection(b).intersection(c), a.intersection(b.intersection(c))
    assert [left.has(value) for value in VALUES] == [right.has(value) for value in VALUES]


@given(requirements(), requirements())
def test_has_agrees_with_enumeration(first: LabelRequirement, second: LabelRequirement) -> None:
    both = first.intersection(second)
    for value in VALUES:
        assert both.has(value) == (first.has(value) and second.has(value))


@given(requirements(), requirements())
def test_has_intersection_agrees_with_intersection(first: LabelRequirement, second: LabelRequirement) -> None:
    both = first.intersection(second)
    if first.complement and second.complement:
        # Karpenter does not look for a value that both allow; only bounds that exclude each other count.
        assert first.has_intersection(second) == both.complement
    else:
        assert first.has_intersection(second) == bool(both.values)


@given(requirements(), requirements())
def test_the_larger_min_values_wins(first: LabelRequirement, second: LabelRequirement) -> None:
    given_values = [each.min_values for each in (first, second) if each.min_values is not None]
    assert first.intersection(second).min_values == max(given_values, default=None)


@given(requirements())
def test_selectors_read_back_are_the_requirement(each: LabelRequirement) -> None:
    read = LabelRequirements(
        LabelRequirement.of(each.key, str(sent["operator"]), sent.get("values", ()), each.min_values)  # type: ignore[arg-type]
        for sent in each.selectors()
    )[each.key]
    bounded = each.gte is not None or each.lte is not None
    # Of a bound with excluded values only the bound is sent.
    expected = LabelRequirement(KEY, frozenset(), True, each.gte, each.lte, each.min_values) if bounded else each
    assert read == expected


@given(sets(), sets())
def test_added_requirements_are_compatible_with_what_they_were_added_to(
    first: LabelRequirements, second: LabelRequirements
) -> None:
    if first.is_compatible(second, KNOWN):
        both = first.added(second)
        assert both.keys() == first.keys() | second.keys()
        assert both == second.added(first)
        assert both.added(second) == both


@settings(max_examples=examples(50))
@given(st.lists(st.tuples(sets(), sets(), st.booleans()), max_size=6))
def test_states_give_the_results_of_the_algebra(cases: list[tuple[LabelRequirements, LabelRequirements, bool]]) -> None:
    states = States(KNOWN)
    for first, second, strict in cases:
        state, incoming = states.numbered(first), states.numbered(second)
        added = states.added(state, incoming, strict=strict)
        fits = first.is_compatible(second, frozenset() if strict else KNOWN)
        assert added == (first.added(second) if fits else None)
        assert added is None or states[added.number] is added


@pytest.mark.parametrize(
    ("operator", "given_values", "text"),
    [
        ("In", ["b", "a"], f"{KEY} In [a b]"),
        ("NotIn", ["a"], f"{KEY} NotIn [a]"),
        ("Exists", [], f"{KEY} Exists"),
        ("DoesNotExist", [], f"{KEY} DoesNotExist"),
        ("Gt", ["7"], f"{KEY} Exists >=8"),
        ("Lt", ["9"], f"{KEY} Exists <=8"),
        ("Gte", ["7"], f"{KEY} Exists >=7"),
        ("Lte", ["9"], f"{KEY} Exists <=9"),
        ("Gte", [str(2**63 - 1)], f"{KEY} Exists >={2**63 - 1}"),
        ("Lt", [str(-(2**63) + 1)], f"{KEY} Exists <={-(2**63)}"),
        ("Gt", [str(2**63 - 1)], f"{KEY} DoesNotExist"),
        ("In", list("abcde"), f"{KEY} In [a b c d e]"),
        ("In", list("abcdefg"), f"{KEY} In [a b c d e and 2 others]"),
    ],
)
def test_text_is_that_of_karpenter(operator: str, given_values: list[str], text: str) -> None:
    assert str(LabelRequirement.of(KEY, operator, given_values)) == text


def test_text_of_a_set_leaves_out_the_hostname() -> None:
    made = [
        LabelRequirement.of("b", "In", ["x"], 2),
        LabelRequirement.of("kubernetes.io/hostname", "In", ["n"]),
        LabelRequirement.of("a", "Gt", ["1"]),
        LabelRequirement.of("a", "Lt", ["5"]),
    ]
    assert str(LabelRequirements(made)) == "a Exists >=2 <=4, b In [x] minValues 2"


SETS = {
    "none": [],
    "a In 1": [("a", "In", "1")],
    "a NotIn 1": [("a", "NotIn", "1")],
    "a In 1, b In 1": [("a", "In", "1"), ("b", "In", "1")],
    "a In 2, b In 2": [("a", "In", "2"), ("b", "In", "2")],
    "a NotIn 1, b In 1": [("a", "NotIn", "1"), ("b", "In", "1")],
    "zone In 1, b In 2": [("topology.kubernetes.io/zone", "In", "1"), ("b", "In", "2")],
}


@pytest.mark.parametrize(
    ("state", "incoming", "undefined", "contradictions"),
    [
        ("none", "a NotIn 1", None, []),
        ("none", "a In 1, b In 1", "a", []),
        ("none", "a NotIn 1, b In 1", "b", []),
        ("none", "zone In 1, b In 2", "b", []),
        ("a In 1", "a In 1, b In 1", "b", []),
        ("a In 1", "a NotIn 1", None, ["a"]),
        ("a NotIn 1", "a NotIn 1", None, []),
        ("a NotIn 1, b In 1", "a NotIn 1, b In 1", None, []),
        ("a In 1", "a In 2, b In 2", "b", ["a"]),
        ("a In 1, b In 1", "a In 1", None, []),
        ("a In 1, b In 1", "a In 2, b In 2", None, ["a", "b"]),
        ("a In 1, b In 1", "zone In 1, b In 2", None, ["b"]),
    ],
)
def test_what_a_state_lacks_and_rejects(
    state: str, incoming: str, undefined: str | None, contradictions: list[str]
) -> None:
    """A well-known label that the state does not define is not missing."""
    own, other = (
        LabelRequirements(LabelRequirement.of(key, operator, [value]) for key, operator, value in SETS[each])
        for each in (state, incoming)
    )
    assert own.undefined(other, KNOWN) == undefined
    assert sorted(each.key for each in own.contradictions(other)) == contradictions
    assert own.is_compatible(other, KNOWN) is (undefined is None and not contradictions)


def test_old_names_are_translated() -> None:
    assert LabelRequirement.of("beta.kubernetes.io/arch", "In", ["arm64"]).key == "kubernetes.io/arch"
