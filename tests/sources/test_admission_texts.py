"""Amounts as the API server writes them, and what it says when several rules stand in the way of a pod."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.api.decode import KINDS
from ksched_cli.api.quantity import parse_quantity
from ksched_cli.controlplane.admission.pods import ANNOTATION
from ksched_cli.controlplane.admission.quantities import NOTHING, amount, pod_limits, pod_requests
from tests.builders import PodBuilder, make_pod
from tests.sources.test_admission import verdict

_STRUCTS = {name: struct for (_, name), struct in KINDS.items()}


def an(kind: str, name: str = "x", **fields: Any) -> Any:
    metadata = {"name": name, "namespace": "default", **fields.pop("metadata", {})}
    return msgspec.convert({"metadata": metadata, **fields}, _STRUCTS[kind])


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("0", "0"), ("0Gi", "0"), ("1", "1"), ("1000", "1k"), ("0.5", "500m"), ("1500m", "1500m"), ("2000m", "2"),
        ("1024", "1024"), ("1024Ki", "1Mi"), ("1.5Gi", "1536Mi"), ("1000Mi", "1000Mi"), ("500Ki", "500Ki"),
        ("1000M", "1G"), ("1234567", "1234567"), ("0.5Ki", "512"), ("1e3", "1e3"), ("12E6", "12e6"), ("5E", "5E"),
        ("1000E", "1000E"), ("1000Ei", "1000Ei"), ("1000n", "1u"),
        ("100n", "100n"), ("-1Gi", "-1Gi"),
    ],
)  # fmt: skip
def test_amounts_are_written_as_kubernetes_writes_them(written: str, shown: str) -> None:
    assert str(amount(written)) == shown


@given(st.integers(1, 10**6), st.sampled_from(["m", "", "k", "M", "Ki", "Mi", "Gi", "e3"]))
def test_what_is_written_is_the_same_amount(number: int, suffix: str) -> None:
    assert parse_quantity(str(amount(f"{number}{suffix}"))) == parse_quantity(f"{number}{suffix}")


def test_a_sum_is_written_like_its_first_part() -> None:
    assert str(amount("1Gi") + amount("1000M")) == "2073741824"
    assert str(amount("1Gi") + amount("1024")) == "1048577Ki"
    assert str(NOTHING + amount("1Gi")) == "1Gi"
    assert str(amount("1Gi") + -amount("512Mi")) == "512Mi"


def ask(**requests: str) -> dict[str, Any]:
    return {"resources": {"requests": requests}}


def test_what_a_pod_asks_for_in_all() -> None:
    pod = make_pod().requests(cpu="1", memory="1Gi").container(**ask(cpu="500m", memory="1Gi"))
    pod.init(**ask(cpu="1"), restartPolicy="Always").init(**ask(cpu="4"))
    assert {name: str(each) for name, each in pod_requests(pod.obj()).items()} == {"cpu": "5", "memory": "2Gi"}
    whole = make_pod().limits(cpu="1").spec(resources={"limits": {"cpu": "3", "memory": "1Gi"}}).obj()
    assert {name: str(each) for name, each in pod_limits(whole).items()} == {"cpu": "3", "memory": "1Gi"}


def limits(name: str = "x", **item: Any) -> Any:
    return an("LimitRange", name, spec={"limits": [{"type": "Container", **item}]})


@pytest.mark.parametrize(
    ("pod", "ranges", "expected"),
    [
        pytest.param(
            make_pod().requests(cpu="0.05"), [limits(min={"cpu": "0.1"})],
            "minimum cpu usage per Container is 100m, but request is 50m", id="amounts in their usual form",
        ),
        pytest.param(
            make_pod().limits(cpu="3").container(resources={"limits": {"cpu": "3"}, "requests": {"cpu": "3"}}),
            [limits(max={"cpu": "2"})],
            "maximum cpu usage per Container is 2, but limit is 3", id="the same of two containers is said once",
        ),
        pytest.param(
            make_pod().limits(cpu="3", memory="3Gi"), [limits(max={"cpu": "2", "memory": "2Gi"})],
            "[maximum cpu usage per Container is 2, but limit is 3, "
            "maximum memory usage per Container is 2Gi, but limit is 3Gi]", id="everything of one LimitRange",
        ),
        pytest.param(
            make_pod().limits(cpu="3", memory="3Gi"), [limits("b", max={"cpu": "2"}), limits("a", max={"memory": "2Gi"})],
            "maximum memory usage per Container is 2Gi, but limit is 3Gi", id="of several LimitRanges the first",
        ),
        pytest.param(
            make_pod().requests(memory="1000M").limits(memory="2000M"), [limits(type="Pod", max={"memory": "1500M"})],
            "maximum memory usage per Pod is 1500M, but limit is 2G", id="decimal bytes stay decimal",
        ),
    ],
)  # fmt: skip
def test_bounds(pod: PodBuilder, ranges: list[Any], expected: str) -> None:
    assert verdict(pod, *ranges)[1] == f"LimitRanger: {expected}"


def quota(name: str, hard: dict[str, str], **used: str) -> Any:
    return an("ResourceQuota", name, spec={"hard": hard}, status={"used": used})


@pytest.mark.parametrize(
    ("pod", "objects", "expected"),
    [
        pytest.param(
            make_pod().requests(cpu="500m", memory="1.5Gi"), [quota("q", {"cpu": "0.4", "memory": "1024Mi"}, cpu="0.1")],
            "exceeded quota: q, requested: cpu=500m,memory=1536Mi, used: cpu=100m,memory=0, limited: cpu=400m,memory=1Gi",
            id="amounts in their usual form",
        ),
        pytest.param(
            make_pod().requests(cpu="1"), [quota("a", {"pods": "0"}), quota("b", {"memory": "1Gi"})],
            "failed quota: b: must specify memory for: main", id="what has to be said comes before what is too much",
        ),
        pytest.param(
            make_pod().requests(cpu="1", memory="0"), [quota("q", {"memory": "1Gi"}, memory="2Gi")], "",
            id="nothing more of what is over",
        ),
        pytest.param(
            make_pod(), [make_pod("over").phase("Succeeded").obj(), quota("q", {"count/pods": "1"})],
            "exceeded quota: q, requested: count/pods=1, used: count/pods=1, limited: count/pods=1",
            id="pods that are over are objects",
        ),
        pytest.param(
            make_pod(), [make_pod("over").phase("Succeeded").obj(), quota("q", {"pods": "1"})], "",
            id="pods that are over do not run",
        ),
        pytest.param(
            make_pod().requests(**{"example.com/gpu": "2"}), [quota("q", {"requests.example.com/gpu": "1"})],
            "exceeded quota: q, requested: requests.example.com/gpu=2, used: requests.example.com/gpu=0, "
            "limited: requests.example.com/gpu=1", id="devices",
        ),
        pytest.param(
            make_pod().requests(**{"deviceclass.resource.kubernetes.io/gpu": "2"}),
            [quota("q", {"requests.deviceclass.resource.kubernetes.io/gpu": "1"})],
            "exceeded quota: q, requested: requests.deviceclass.resource.kubernetes.io/gpu=2, "
            "used: requests.deviceclass.resource.kubernetes.io/gpu=0, "
            "limited: requests.deviceclass.resource.kubernetes.io/gpu=1", id="devices of a class",
        ),
        pytest.param(
            make_pod().requests(cpu="1").spec(runtimeClassName="sandbox"),
            [an("RuntimeClass", "sandbox", handler="h", overhead={"podFixed": {"cpu": "250m", "memory": "64Mi"}}),
             quota("q", {"requests.memory": "32Mi", "requests.cpu": "9", "limits.cpu": "9"})],
            "failed quota: q: must specify limits.cpu for: main; requests.memory for: main", id="by container",
        ),
        pytest.param(
            make_pod().requests(cpu="1", memory="1Mi").spec(runtimeClassName="sandbox"),
            [an("RuntimeClass", "sandbox", handler="h", overhead={"podFixed": {"cpu": "250m", "memory": "64Mi"}}),
             quota("q", {"requests.memory": "32Mi"})],
            "exceeded quota: q, requested: requests.memory=65Mi, used: requests.memory=0, limited: requests.memory=32Mi",
            id="with the overhead",
        ),
    ],
)  # fmt: skip
def test_quotas(pod: PodBuilder, objects: list[Any], expected: str) -> None:
    assert verdict(pod, *objects)[1] == (f"ResourceQuota: {expected}" if expected else "")


EVERY = {"key": "a", "operator": "Exists", "effect": "NoExecute"}
ONE = {"key": "a", "operator": "Equal", "value": "1", "effect": "NoExecute"}
TOLERANT = {"key": "a", "operator": "Equal", "value": "1", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("own", "given", "left"),
    [
        pytest.param([TOLERANT], [TOLERANT], ["a"], id="the same"),
        pytest.param([TOLERANT], [{**TOLERANT, "key": "b"}], ["a", "b"], id="another key"),
        pytest.param([TOLERANT], [{**TOLERANT, "value": "2"}], ["a", "a"], id="another value"),
        pytest.param([TOLERANT], [{"key": "a", "operator": "Exists"}], ["a"], id="a wider one takes its place"),
        pytest.param([{"operator": "Exists"}], [TOLERANT], [""], id="tolerated already"),
        pytest.param([TOLERANT], [{**TOLERANT, "effect": ""}], ["a"], id="every effect"),
        pytest.param(
            [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
            [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 9}], ["a9"], id="for longer",
        ),
        pytest.param([{**EVERY, "tolerationSeconds": 9}], [{**ONE, "tolerationSeconds": 9}], ["a9"], id="a wider one for as long"),
        pytest.param([{**EVERY, "tolerationSeconds": 5}], [{**ONE, "tolerationSeconds": 9}], ["a5", "a9"], id="not for as long"),
        pytest.param([{**EVERY, "tolerationSeconds": 5}], [ONE], ["a5", "a"], id="not for ever"),
        pytest.param([EVERY], [{**ONE, "tolerationSeconds": 9}], ["a"], id="a wider one for ever"),
    ],
)  # fmt: skip
def test_tolerations_of_a_runtime(own: list[Any], given: list[Any], left: list[str]) -> None:
    chosen = an("RuntimeClass", "sandbox", handler="h", scheduling={"tolerations": given})
    pod, refusal = verdict(make_pod().spec(tolerations=own, runtimeClassName="sandbox"), chosen)
    assert refusal == ""
    found = [each for each in pod.spec.tolerations if not each.key.startswith("node.kubernetes.io/")]
    assert [f"{each.key}{each.toleration_seconds or ''}" for each in found] == left


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a=b=c", "invalid selector: [a b c]", id="not one value"),
        pytest.param("-a=b", '<nil>: Invalid value: "-a": name part must consist of ', id="not a key"),
        pytest.param("a=-b", '[a]: Invalid value: "-b": a valid label must be an empty string or ', id="not a value"),
    ],
)
def test_a_namespaces_selector_that_cannot_be_read(text: str, expected: str) -> None:
    home = an("Namespace", "default", metadata={"namespace": "", "annotations": {ANNOTATION: text}})
    assert verdict(make_pod(), home)[1].startswith(f"PodNodeSelector: {expected}")


def test_bounds_are_looked_at_before_the_overhead() -> None:
    pod = make_pod().limits(cpu="3").spec(overhead={"cpu": "1"})
    assert verdict(pod, limits(max={"cpu": "2"}))[1].startswith("LimitRanger: ")
    assert verdict(pod)[1] == (
        "RuntimeClass: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
    )
