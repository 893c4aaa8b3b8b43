"""Mistakes of type that the API server and kube-scheduler refuse before there is any device."""

from __future__ import annotations

import pytest

from ksched_cli.plugins.lib.cel.expression import compile_cel_selector
from ksched_cli.plugins.lib.cel.values import CelCompileError

MEMORY = "device.capacity['driver.example.com'].memory"


@pytest.mark.parametrize(
    ("expression", "operator", "types"),
    [
        pytest.param(f"{MEMORY} >= '1Gi'", ">=", "kubernetes.Quantity, string", id="quantity and text"),
        pytest.param(
            f"{MEMORY} > quantity('1Gi')", ">", "kubernetes.Quantity, kubernetes.Quantity", id="two quantities"
        ),
        pytest.param("device.driver == 1", "==", "string, int", id="text and number"),
        pytest.param("device.allowMultipleAllocations != 'true'", "!=", "bool, string", id="bool and text"),
        pytest.param("1 == 1.0", "==", "int, double", id="numbers of two types are not compared for equality"),
        pytest.param("1 + 1.0 > 0.5", "+", "int, double", id="nor added"),
        pytest.param("1.5 % 2.0 == 1.5", "%", "double, double", id="remainder of fractions"),
        pytest.param("(1 < 2) == 1", "==", "bool, int", id="a comparison and a number"),
        pytest.param("!true == 1", "==", "bool, int", id="what is not, and a number"),
        pytest.param("(1 + 1) == 'a'", "==", "int, string", id="a sum and a text"),
        pytest.param("-(1) == 'a'", "==", "int, string", id="a negative number and a text"),
        pytest.param("(true ? 1 : 2) == 'a'", "==", "int, string", id="a choice and a text"),
        pytest.param("'a'.size() == 'a'", "==", "int, string", id="a length and a text"),
        pytest.param("timestamp(0) + timestamp(0) > timestamp(0)", "+", "timestamp, timestamp", id="sum of moments"),
        pytest.param("duration('1s') > timestamp(0)", ">", "duration, timestamp", id="two sorts of time"),
        pytest.param("(timestamp(1) - timestamp(0)) == timestamp(0)", "==", "duration, timestamp", id="difference"),
        pytest.param("true || device.driver > 1", ">", "string, int", id="even where it is not asked"),
        pytest.param("['a'].exists(each, device.driver == 1)", "==", "string, int", id="within a macro"),
    ],
)
def test_operators(expression: str, operator: str, types: str) -> None:
    with pytest.raises(CelCompileError) as caught:
        compile_cel_selector(expression)
    assert str(caught.value) == (
        f"compilation failed: found no matching overload for '_{operator}_' applied to '({types})'"
    )


@pytest.mark.parametrize(
    ("expression", "type_name"),
    [
        pytest.param("device.driver", "string", id="text"),
        pytest.param(MEMORY, "kubernetes.Quantity", id="quantity"),
        pytest.param("1 + 1", "int", id="number"),
        pytest.param("timestamp(0) - duration('1s')", "google.protobuf.Timestamp", id="moment"),
    ],
)
def test_results(expression: str, type_name: str) -> None:
    with pytest.raises(CelCompileError) as caught:
        compile_cel_selector(expression)
    assert str(caught.value) == f"must evaluate to bool or the unknown type, not {type_name}"


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("device.attributes['driver.example.com'].any == 1", id="an attribute may be anything"),
        pytest.param("device.attributes['driver.example.com'].any", id="also the result"),
        pytest.param("dyn(1) == 'a'", id="unknown on purpose"),
        pytest.param("1 < 1.5", id="numbers of two types have an order"),
        pytest.param("null == dyn('a')", id="null"),
        pytest.param("(true ? dyn(1) : 'a') == 'a'", id="a choice of two types"),
        pytest.param("device.?driver == optional.of('a')", id="optional"),
        pytest.param(f"{MEMORY} == quantity('1Gi')", id="quantities can be equal"),
        pytest.param("[{'driver': 1}].exists(device, device.driver == 1)", id="another device"),
        pytest.param("1 in [1]", id="in a list"),
        pytest.param("device.driver == 'a' && 1 + 1 == 2", id="types that fit"),
    ],
)
def test_what_is_not_refused(expression: str) -> None:
    assert compile_cel_selector(expression).expression == expression
