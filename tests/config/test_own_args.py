"""pluginConfig of plugins that bring a model of their own."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from ksched_cli.api.conversion import path_text
from ksched_cli.config.load import load_config
from ksched_cli.config.plugin_args import default_args, is_model, own_args
from ksched_cli.errors import ConfigError
from tests.config.migrations import configuration, own


@dataclass
class Inner:
    depth: int = 0


@dataclass
class Plain:
    label: str
    limit: int = 3
    names: list[str] = field(default_factory=list)
    inner: Inner = field(default_factory=Inner)

    def __post_init__(self) -> None:
        if self.limit < 0:
            raise ValueError("limit must not be negative")


class Struct(msgspec.Struct, rename="camel"):
    max_pods: int = 5


class Odd(msgspec.Struct):
    value: int = 0

    def __post_init__(self) -> None:
        if self.value:
            raise LookupError("out of order")


@pytest.mark.parametrize(
    ("model", "given", "expected"),
    [
        pytest.param(Plain, {"label": "x"}, Plain("x"), id="defaults"),
        pytest.param(Plain, {"label": "x", "inner": {"depth": 2}}, Plain("x", inner=Inner(2)), id="nested"),
        pytest.param(Plain, {"label": "x", "limit": None}, Plain("x"), id="null is absent"),
        pytest.param(
            Plain,
            {"apiVersion": "example.com/v1", "kind": "PlainArgs", "label": "x"},
            Plain("x"),
            id="apiVersion, kind",
        ),
        pytest.param(Struct, {"maxPods": 7}, Struct(7), id="a Struct with names of its own"),
    ],
)
def test_typed(model: type[Any], given: dict[str, Any], expected: Any) -> None:
    assert own_args(model, given) == (expected, [])


@pytest.mark.parametrize("given", [{}, {"inner": {}}, {"inner": {"depth": 0}}], ids=str)
def test_defaults_are_written_out(given: dict[str, Any]) -> None:
    args, _ = own_args(Plain, {"label": "x", **given})
    assert msgspec.to_builtins(args) == {"label": "x", "limit": 3, "names": [], "inner": {"depth": 0}}


@pytest.mark.parametrize(
    ("model", "given", "mistakes"),
    [
        pytest.param(Plain, {}, {"": "object missing required field `label`"}, id="missing"),
        pytest.param(
            Plain,
            {"label": 5, "limit": "many", "nmaes": []},
            {
                "label": "expected a string, got a whole number",
                "limit": "expected a whole number, got a string",
                "nmaes": "no such field; there are label, limit, names, inner",
            },
            id="all at once",
        ),
        pytest.param(
            Plain,
            {"label": "x", "inner": {"depth": "1"}},
            {"inner.depth": "expected a whole number, got a string"},
            id="nested",
        ),
        pytest.param(Plain, {"label": "x", "limit": -1}, {"": "limit must not be negative"}, id="a check of its own"),
        pytest.param(
            Struct, {"max_pods": 1}, {"max_pods": "no such field; there are maxPods"}, id="the name in the code"
        ),
        pytest.param(Odd, {"value": 1}, {"": "LookupError: out of order"}, id="a check that breaks"),
    ],
)
def test_mistakes(model: type[Any], given: dict[str, Any], mistakes: dict[str, str]) -> None:
    _, found = own_args(model, given)
    assert {path_text(path): text for path, text in found} == mistakes


@pytest.mark.parametrize(
    ("model", "config", "problems"),
    [
        pytest.param(
            Plain,
            [],
            ['plugin "Mine" cannot do without arguments: object missing required field `label`'],
            id="missing",
        ),
        pytest.param(Plain, [{"name": "Mine", "args": {"label": "x"}}], [], id="given"),
        pytest.param(Struct, [], [], id="none is needed"),
    ],
)
def test_a_profile_that_runs_a_plugin_must_give_its_arguments(
    model: type[Any], config: list[Any], problems: list[str]
) -> None:
    enabled = {"filter": {"enabled": [{"name": "Mine"}]}}
    document = configuration("v1", profiles=[{"plugins": enabled, "pluginConfig": config}])
    new = own("1.36", Mine=("filter",))
    found: list[str] = []
    try:
        load_config(json.dumps(document), "c.yaml", new.release, new.gates, new.points, {"Mine": model})
    except ConfigError as mistake:
        found = [problem.message for problem in mistake.problems]
    assert found == problems


def test_what_must_be_given() -> None:
    assert default_args("Mine", Struct) == Struct()
    with pytest.raises(ConfigError, match='plugin "Mine" cannot do without arguments: object missing required field'):
        default_args("Mine", Plain)


@pytest.mark.parametrize(("model", "is_one"), [(None, True), (Plain, True), (Struct, True), (dict, False), (5, False)])
def test_models(model: Any, is_one: bool) -> None:
    assert is_model(model) is is_one
