"""Whom admission refuses of objects that are no pods: classes, claims, services and device selectors."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.api.conversion import path_text
from ksched_cli.controlplane.admission.chain import Chain
from ksched_cli.controlplane.admission.registry import wrong_expressions
from tests.builders import loaded_of
from tests.sources.test_admission import HIGH, USUAL, USUAL_TOO, an, limits, quota


@pytest.mark.parametrize(
    ("classes", "new", "name"),
    [
        pytest.param([HIGH], USUAL, "", id="the first default"),
        pytest.param([HIGH, USUAL, USUAL_TOO], an("PriorityClass", "x", globalDefault=True), "usual-too", id="second"),
        pytest.param([USUAL], HIGH, "", id="no default"),
    ],
)
def test_there_is_one_default_priority_class(classes: list[Any], new: Any, name: str) -> None:
    found = Chain(loaded_of(*classes)).object_refusal(new)
    text = f"PriorityClass {name} is already marked as default. Only one default can exist"
    assert (found.plugin, found.message) == (("Priority", text) if name else ("", ""))


WRONG = {"selectors": [{"cel": {"expression": "true"}}, {"cel": {"expression": "1 +"}}]}


@pytest.mark.parametrize(
    ("item", "path"),
    [
        pytest.param(an("DeviceClass", spec=WRONG), "spec.selectors[1]", id="class"),
        pytest.param(
            an("ResourceClaim", spec={"devices": {"requests": [{"name": "a"}, {"name": "b", "exactly": WRONG}]}}),
            "spec.devices.requests[1].exactly.selectors[1]",
            id="claim",
        ),
        pytest.param(
            an(
                "ResourceClaimTemplate",
                spec={"spec": {"devices": {"requests": [{"name": "a", "firstAvailable": [{"name": "x"}, WRONG]}]}}},
            ),
            "spec.spec.devices.requests[0].firstAvailable[1].selectors[1]",
            id="alternative of a template",
        ),
    ],
)
def test_an_expression_that_cannot_be_read_is_refused_with_its_path(item: Any, path: str) -> None:
    (found,) = wrong_expressions(item, None, frozenset())
    assert path_text(found.path) == f"{path}.cel.expression"
    assert found.message.startswith('Invalid value: "1 +": compilation failed: ERROR: <input>:1:4: Syntax error')
    assert list(wrong_expressions(item, item, frozenset())) == []


@pytest.mark.parametrize(
    ("expression", "gates", "refused"),
    [
        pytest.param("device.allowMultipleAllocations", ["DRAConsumableCapacity"], False, id="a field with its gate"),
        pytest.param("device.allowMultipleAllocations", [], True, id="a field without its gate"),
        pytest.param("url('http://a').getHost() == 'a'", [], False, id="a function that is not modelled"),
        pytest.param("b'a' == b'a'", [], False, id="bytes, which are not modelled"),
    ],
)
def test_gates_decide_about_expressions(expression: str, gates: list[str], refused: bool) -> None:
    item = an("DeviceClass", spec={"selectors": [{"cel": {"expression": expression}}]})
    assert bool(list(wrong_expressions(item, None, frozenset(gates)))) is refused


def claim(storage: str = "", **metadata: Any) -> Any:
    own = {"metadata": {"name": "c", "namespace": "default", **metadata}}
    requests = {"storage": storage} if storage else {}
    return an("PersistentVolumeClaim", **own, spec={"storageClassName": "gold", "resources": {"requests": requests}})


@pytest.mark.parametrize(
    ("storage", "fields", "expected"),
    [
        pytest.param("1Gi", {"min": {"storage": "2Gi"}}, "minimum storage usage per {} is 2Gi, but request is 1Gi", id="too little"),
        pytest.param("3Gi", {"max": {"storage": "2Gi"}}, "maximum storage usage per {} is 2Gi, but request is 3Gi", id="too much"),
        pytest.param("2Gi", {"min": {"storage": "2Gi"}, "max": {"storage": "2Gi"}}, "", id="at both bounds"),
        pytest.param("", {"min": {"storage": "2Gi"}}, "", id="no request"),
        pytest.param("1Gi", {"min": {"cpu": "2"}}, "", id="a bound of another resource"),
        pytest.param("1Gi", {"type": "Container", "min": {"storage": "2Gi"}}, "", id="a bound of containers"),
    ],
)  # fmt: skip
def test_limit_range_bounds_of_claims(storage: str, fields: dict[str, Any], expected: str) -> None:
    bounds = limits(**{"type": "PersistentVolumeClaim", **fields})
    found = Chain(loaded_of(bounds)).object_refusal(claim(storage))
    assert found.message == expected.format("PersistentVolumeClaim")


@pytest.mark.parametrize(
    ("spec", "requested"),
    [
        pytest.param({}, "services=1", id="no node ports"),
        pytest.param({"type": "NodePort"}, "services=1,services.nodeports=2", id="a node port for each port"),
        pytest.param(
            {"type": "LoadBalancer"}, "services=1,services.loadbalancers=1,services.nodeports=2", id="load balancer"
        ),
        pytest.param(
            {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False},
            "services=1,services.loadbalancers=1,services.nodeports=1",
            id="only the node ports that are given",
        ),
    ],
)
def test_what_a_quota_counts_of_a_service(spec: dict[str, Any], requested: str) -> None:
    service = an("Service", spec={**spec, "ports": [{"port": 80, "nodePort": 30080}, {"port": 81}]})
    none = quota(hard={"services": "0", "services.nodeports": "0", "services.loadbalancers": "0"})
    assert f"requested: {requested}, used" in Chain(loaded_of(none)).object_refusal(service).message


GOLD = "gold.storageclass.storage.k8s.io"


POOLS = "count/csistoragecapacities.storage.k8s.io"


@pytest.mark.parametrize(
    ("item", "spec", "requested"),
    [
        pytest.param(claim("2Gi"), {"hard": {"requests.storage": "1Gi"}}, "requests.storage=2Gi", id="storage"),
        pytest.param(claim("1Gi"), {"hard": {"requests.storage": "1Gi"}}, "", id="enough storage"),
        pytest.param(claim(), {"hard": {"persistentvolumeclaims": "0"}}, "persistentvolumeclaims=1", id="a claim"),
        pytest.param(
            claim("2Gi"), {"hard": {f"{GOLD}/requests.storage": "1Gi"}}, f"{GOLD}/requests.storage=2Gi", id="of a class"
        ),
        pytest.param(
            claim("2Gi", annotations={"volume.beta.kubernetes.io/storage-class": "old"}),
            {"hard": {f"{GOLD}/requests.storage": "1Gi"}},
            "",
            id="the annotation comes before the field",
        ),
        pytest.param(
            claim(), {"hard": {"persistentvolumeclaims": "0"}, "scopes": ["BestEffort"]}, "", id="a scope of pods"
        ),
        pytest.param(
            an("CSIStorageCapacity", storageClassName="gold"), {"hard": {POOLS: "0"}}, f"{POOLS}=1", id="a plural"
        ),
    ],
)
def test_what_a_quota_counts_of_other_objects(item: Any, spec: dict[str, Any], requested: str) -> None:
    message = Chain(loaded_of(quota(**spec))).object_refusal(item).message
    assert f"requested: {requested}, used" in message if requested else message == ""
