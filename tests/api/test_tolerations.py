from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.api.core import Taint, Toleration
from ksched_cli.api.selectors import find_untolerated, tolerates

TAINT = Taint("disk", "slow", "NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        pytest.param(Toleration("disk", "Equal", "slow", "NoSchedule"), True, id="alike in all"),
        pytest.param(Toleration("disk", "", "slow", "NoSchedule"), True, id="no operator is Equal"),
        pytest.param(Toleration("disk", "Equal", "fast", "NoSchedule"), False, id="another value"),
        pytest.param(Toleration("disk", "Exists", "", "NoSchedule"), True, id="Exists"),
        pytest.param(Toleration("disk", "Exists", "fast"), True, id="Exists does not look at the value"),
        pytest.param(Toleration("cpu", "Exists"), False, id="another key"),
        pytest.param(Toleration("disk", "Equal", "slow"), True, id="no effect is every effect"),
        pytest.param(Toleration("disk", "Equal", "slow", "NoExecute"), False, id="another effect"),
        pytest.param(Toleration("", "Exists"), True, id="no key and Exists is everything"),
        pytest.param(Toleration("", "Exists", "", "NoExecute"), False, id="everything of another effect"),
        pytest.param(Toleration("", "Equal", "slow"), True, id="no key is every key"),
        pytest.param(Toleration("", "Equal"), False, id="no key and no value"),
        pytest.param(Toleration("disk", "Like", "slow"), False, id="no such operator"),
        pytest.param(Toleration("disk", "exists"), False, id="operators are written with a capital"),
    ],
)
def test_tolerates(toleration: Toleration, expected: bool) -> None:
    assert tolerates(toleration, TAINT) is expected


@pytest.mark.parametrize(
    ("operator", "limit", "actual", "expected"),
    [
        pytest.param("Gt", "5", "6", True, id="the taint is more"),
        pytest.param("Gt", "5", "5", False, id="not more"),
        pytest.param("Lt", "5", "4", True, id="the taint is less"),
        pytest.param("Lt", "5", "5", False, id="not less"),
        pytest.param("Lt", "0", "-1", True, id="negative"),
        pytest.param("Gt", "9", "10", True, id="as numbers, not as text"),
        pytest.param("Gt", "05", "6", False, id="a leading zero"),
        pytest.param("Gt", "+5", "6", False, id="a plus"),
        pytest.param("Gt", "-0", "6", False, id="minus zero"),
        pytest.param("Gt", "5", "06", False, id="a leading zero in the taint"),
        pytest.param("Gt", "", "6", False, id="nothing"),
        pytest.param("Gt", "1.5", "6", False, id="a fraction"),
        pytest.param("Lt", "9223372036854775807", "9223372036854775806", True, id="up to 64 bits"),
        pytest.param("Lt", "9223372036854775808", "1", False, id="and no more"),
    ],
)
def test_comparisons(operator: str, limit: str, actual: str, expected: bool) -> None:
    toleration, taint = Toleration("load", operator, limit), Taint("load", actual, "NoSchedule")
    assert tolerates(toleration, taint, comparison=True) is expected
    assert not tolerates(toleration, taint), "the gate is off"


def test_a_comparison_is_held_to_key_and_effect_too() -> None:
    taint = Taint("load", "6", "NoSchedule")
    assert not tolerates(Toleration("heat", "Gt", "5"), taint, comparison=True)
    assert not tolerates(Toleration("load", "Gt", "5", "NoExecute"), taint, comparison=True)


FIRST, SECOND = Taint("a", "1", "NoSchedule"), Taint("b", "1", "NoExecute")
SOFT = Taint("c", "1", "PreferNoSchedule")
HARD = ("NoSchedule", "NoExecute")


@pytest.mark.parametrize(
    ("taints", "tolerations", "expected"),
    [
        pytest.param((), (), None, id="no taints"),
        pytest.param((FIRST, SECOND), (), FIRST, id="the first"),
        pytest.param((FIRST, SECOND), (Toleration("a", "Exists"),), SECOND, id="the first that nothing tolerates"),
        pytest.param((SOFT,), (), None, id="only of the effects that matter"),
        pytest.param((SOFT, SECOND), (), SECOND, id="others are passed over"),
        pytest.param((FIRST, SECOND), (Toleration("a", "Exists"), Toleration("b", "Exists")), None, id="all tolerated"),
    ],
)
def test_find_untolerated(
    taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...], expected: Taint | None
) -> None:
    assert find_untolerated(taints, tolerations, HARD) is expected


WORDS = st.sampled_from(["", "a", "b", "1", "2"])


@given(
    st.lists(st.builds(Taint, WORDS, WORDS, st.sampled_from(HARD)), max_size=4),
    st.lists(st.builds(Toleration, WORDS, st.sampled_from(["", "Equal", "Exists", "Gt"]), WORDS), max_size=4),
)
def test_more_tolerations_never_repel(taints: list[Taint], tolerations: list[Toleration]) -> None:
    if find_untolerated(taints, tolerations[:-1], HARD) is None:
        assert find_untolerated(taints, tolerations, HARD) is None
    assert find_untolerated(taints, [*tolerations, Toleration(operator="Exists")], HARD) is None
