"""Which pods Karpenter may move, which requirements it refuses, and its texts of instance types that do not fit."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from ksched_cli.api.core import NodeSelectorRequirement
from ksched_cli.api.workloads import PodDisruptionBudget
from ksched_cli.autoscale.karpenter.labels import AWS, PLAIN, Provider, requirement_problems
from ksched_cli.autoscale.karpenter.messages import Criteria, TypesError
from ksched_cli.autoscale.karpenter.requirements import LabelRequirements
from ksched_cli.autoscale.karpenter.state import BlockingBudgets, is_protected
from tests.builders import PodBuilder, make_pod

NOW = datetime(2026, 1, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "started", "protected"),
    [
        pytest.param(None, "2026-01-01T00:59:00Z", False, id="no annotation"),
        pytest.param("true", None, True, id="true"),
        pytest.param("false", "2026-01-01T00:59:00Z", False, id="no duration"),
        pytest.param("1h30m", "2026-01-01T00:00:00Z", True, id="before its end"),
        pytest.param("1h", "2026-01-01T00:00:00Z", False, id="at its end"),
        pytest.param("1h0m1s", "2026-01-01T00:00:00Z", True, id="a second before its end"),
        pytest.param("0s", "2026-01-01T01:00:00Z", False, id="zero"),
        pytest.param("0s", None, False, id="zero, and has not started"),
        pytest.param("-5m", "2026-01-01T01:00:00Z", False, id="negative"),
        pytest.param("5m", None, True, id="has not started"),
        pytest.param("+-5m", None, False, id="two signs"),
    ],
)
def test_do_not_disrupt_holds_for_ever_or_for_a_time(value: str | None, started: str | None, protected: bool) -> None:
    pod = make_pod("p")
    if value is not None:
        pod = pod.annotate(**{"karpenter.sh/do-not-disrupt": value})
    if started is not None:
        pod = pod.started(started)
    assert is_protected(pod.obj(), NOW) is protected


def test_a_protection_for_a_time_holds_where_the_time_is_unknown() -> None:
    pod = make_pod("p").annotate(**{"karpenter.sh/do-not-disrupt": "1s"}).started("2020-01-01T00:00:00Z").obj()
    assert is_protected(pod, None)


CAPACITY = "karpenter.sh/capacity-type"


@pytest.mark.parametrize(
    ("key", "operator", "values", "provider", "min_values", "problem"),
    [
        pytest.param("a", "In", "b", PLAIN, None, "", id="a label of one's own"),
        pytest.param("a", "Like", "b", PLAIN, None, "unsupported operator Like not in [", id="operator"),
        pytest.param(
            "karpenter.sh/mine", "Exists", "", PLAIN, None, "using label karpenter.sh/mine is not", id="domain"
        ),
        pytest.param("x.karpenter.sh/mine", "Exists", "", PLAIN, None, "using label", id="a domain below"),
        pytest.param("xkarpenter.sh/mine", "Exists", "", PLAIN, None, "", id="another domain"),
        pytest.param("karpenter.k8s.aws/mine", "Exists", "", AWS, None, "using label", id="the provider's domain"),
        pytest.param("karpenter.k8s.aws/mine", "Exists", "", PLAIN, None, "", id="another provider's domain"),
        pytest.param("karpenter.k8s.aws/instance-cpu", "Gt", "3", AWS, None, "", id="well known"),
        pytest.param("a b", "Exists", "", PLAIN, None, "key a b is not a qualified name, ", id="no name"),
        pytest.param(
            "a", "In", "b -c", PLAIN, None, "invalid value -c for key a, ", id="a wrong value after a good one"
        ),
        pytest.param("a", "In", "", PLAIN, None, "key a with operator In must have a value", id="no value"),
        pytest.param("a", "NotIn", "", PLAIN, None, "", id="no value for NotIn"),
        pytest.param(
            "a", "In", "b c", PLAIN, 3, "must have at least minimum number of values", id="fewer than minValues"
        ),
        pytest.param("a", "In", "b c", PLAIN, 2, "", id="as many as minValues"),
        pytest.param("a", "Exists", "", PLAIN, 2, "", id="minValues of Exists"),
        pytest.param("a", "Gt", "3", PLAIN, None, "", id="a number"),
        pytest.param("a", "Gt", "0", PLAIN, None, "", id="zero"),
        pytest.param("a", "Lt", "-1", PLAIN, None, "must have a single positive integer value", id="a negative number"),
        pytest.param("a", "Gte", "x", PLAIN, None, "must have a single positive integer value", id="a word"),
        pytest.param("a", "Lte", "1 2", PLAIN, None, "must have a single positive integer value", id="two numbers"),
        pytest.param(CAPACITY, "In", "spot", AWS, None, "", id="a capacity type"),
        pytest.param(CAPACITY, "In", "spot odd", AWS, None, "", id="an odd one beside a good one"),
        pytest.param(
            CAPACITY, "In", "odd", AWS, None, "no valid values found in [odd] for karpenter.sh", id="only odd"
        ),
        pytest.param(CAPACITY, "NotIn", "odd", AWS, None, "", id="not an odd one"),
        pytest.param(
            CAPACITY, "In", "spot odd", AWS, 2, "not enough valid values found in [spot odd]", id="too few good"
        ),
        pytest.param(CAPACITY, "In", "spot on-demand", AWS, 2, "", id="enough good ones"),
    ],
)
def test_requirements_that_karpenter_refuses(
    key: str, operator: str, values: str, provider: Provider, min_values: int | None, problem: str
) -> None:
    requirement = NodeSelectorRequirement(key, operator, tuple(values.split()))
    found = [*requirement_problems(requirement, provider, min_values)]
    assert any(problem in each for each in found) if problem else found == []


def budget(name: str = "b", namespace: str = "default", **spec: Any) -> PodDisruptionBudget:
    document = {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"matchLabels": {"app": "a"}}, **spec},
    }
    return msgspec.convert(document, PodDisruptionBudget)


NOT_READY = {"type": "Ready", "status": "False"}
DISRUPTED = {"key": "karpenter.sh/disrupted", "operator": "Exists", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("budgets", "pod", "blocked"),
    [
        pytest.param([], make_pod("p"), False, id="no budget"),
        pytest.param([budget(maxUnavailable=0)], make_pod("p"), True, id="none may go"),
        pytest.param([budget(maxUnavailable="0%")], make_pod("p"), True, id="0 %"),
        pytest.param([budget(minAvailable="100%")], make_pod("p"), True, id="100 %"),
        pytest.param([budget(maxUnavailable=1)], make_pod("p"), False, id="one may go"),
        pytest.param([budget(minAvailable=5)], make_pod("p"), False, id="a number that may be met later"),
        pytest.param([budget(maxUnavailable=1), budget("c", maxUnavailable=1)], make_pod("p"), True, id="two budgets"),
        pytest.param([budget(namespace="other", maxUnavailable=0)], make_pod("p"), False, id="of another namespace"),
        pytest.param([budget(maxUnavailable=0)], make_pod("p").label("app", "b"), False, id="of other pods"),
        pytest.param([budget(maxUnavailable=0)], make_pod("p").terminating(), False, id="a pod that goes"),
        pytest.param([budget(maxUnavailable=0)], make_pod("p").phase("Succeeded"), False, id="a pod that has finished"),
        pytest.param(
            [budget(maxUnavailable=0)], make_pod("p").spec(tolerations=[DISRUPTED]), False, id="a pod that stays"
        ),
        pytest.param([budget(maxUnavailable=0)], make_pod("p").status(conditions=[NOT_READY]), True, id="not ready"),
        pytest.param(
            [budget(maxUnavailable=0, unhealthyPodEvictionPolicy="AlwaysAllow")],
            make_pod("p").status(conditions=[NOT_READY]),
            False,
            id="not ready, and may go then",
        ),
        pytest.param(
            [budget(maxUnavailable=0, unhealthyPodEvictionPolicy="AlwaysAllow")],
            make_pod("p").status(
                conditions=[{"type": "Ready", "status": "True"}, {"type": "OnStandby", "status": "False"}]
            ),
            True,
            id="ready, whatever its other conditions",
        ),
    ],
)
def test_budgets_that_allow_no_eviction(budgets: list[PodDisruptionBudget], pod: PodBuilder, blocked: bool) -> None:
    if "app" not in pod.data["metadata"].get("labels", {}):
        pod = pod.label("app", "a")
    assert BlockingBudgets(budgets).is_fully_blocked(pod.obj(), NOW) is blocked


@pytest.mark.parametrize(
    ("met", "text"),
    [
        pytest.param("", "met the scheduling requirements or had enough resources or had a required offering", id="none"),
        pytest.param("O", "met the scheduling requirements or had enough resources", id="the offering only"),
        pytest.param("R", "had enough resources or had a required offering", id="the requirements only"),
        pytest.param("FO FO", "no instance type met all requirements", id="all but the requirements"),
        pytest.param("RO RO", "no instance type has enough resources", id="all but the resources"),
        pytest.param("RF RF", "no instance type has the required offering", id="all but the offering"),
        pytest.param(
            "RFO RF FO", "which met the scheduling requirements and had enough resources, had a required offering", id="never all three"
        ),
        pytest.param(
            "RFO FO RO", "which had enough resources and the required offering met the scheduling requirements", id="FO"
        ),
        pytest.param(
            "RFO RO", "which met the scheduling requirements and the required offering had the required resources", id="RO"
        ),
        pytest.param("RFO", "no instance type met the requirements/resources/offering tuple", id="no pair"),
    ],
)  # fmt: skip
def test_why_no_instance_type_is_left(met: str, text: str) -> None:
    """`met`: what some instance type met of requirements, resources that fit, and offering; and the pairs."""
    single, *pairs = met.split(" ") if met else [""]
    criteria = Criteria(*(each in single for each in "RFO"), *(each in pairs for each in ("RF", "RO", "FO")))
    error = str(TypesError(criteria, LabelRequirements(()), {}, {}, {}))
    assert f"{text}, requirements=" in error


@pytest.mark.parametrize(
    ("met", "too_few", "code"),
    [
        ("", {}, "no-type"),
        ("O", {}, "no-type"),
        ("R", {}, "no-room"),
        ("RO RO", {}, "no-room"),
        ("RF RF", {}, "no-offering"),
        ("RFO RF", {}, "no-combination"),
        ("RFO RF", {"a": 1}, "min-values"),
    ],
)
def test_the_kind_of_a_reason(met: str, too_few: dict[str, int], code: str) -> None:
    """The first of requirements, size and offering that no instance type meets."""
    single, *pairs = met.split(" ") if met else [""]
    criteria = Criteria(*(each in single for each in "RFO"), *(each in pairs for each in ("RF", "RO", "FO")))
    assert TypesError(criteria, LabelRequirements(()), {}, {}, too_few).code == code
