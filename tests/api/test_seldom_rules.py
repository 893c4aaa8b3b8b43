"""Rules of the API server that manifests break seldom, in `seldom_rules.yaml`: each refuses one document and takes its
twin."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from ksched_cli.api.conversion import path_text
from ksched_cli.api.validation.documents import validate

FILE = yaml.safe_load(Path(__file__).with_name("seldom_rules.yaml").read_text())
BASES = {each["kind"]: each for each in FILE["bases"]}
ROWS = [
    pytest.param(
        group["kind"], row["refused"], row["problem"], row["taken"], id=f"{group['kind']}-{row['problem'][:70]}"
    )
    for group in FILE["rules"]
    for row in group["rows"]
]


def merged(base: Any, more: Any) -> Any:
    if isinstance(base, dict) and isinstance(more, dict):
        return {**base, **{key: merged(base[key], each) if key in base else each for key, each in more.items()}}
    if isinstance(base, list) and isinstance(more, list):
        return [merged(base[at], each) if at < len(base) else each for at, each in enumerate(more)]
    return copy.deepcopy(more)


def refusals(kind: str, more: dict[str, Any]) -> list[str]:
    """What an API server of the newest minor refuses with all gates on."""
    found = validate(merged(BASES[kind], more), kind)
    return [f"{path_text(error.path)}: {error.message}" for error in found if error.gate is None or error.gate[1]]


@pytest.mark.parametrize(("kind", "refused", "problem", "taken"), ROWS)
def test_a_seldom_rule_refuses_one_and_takes_its_twin(
    kind: str, refused: dict[str, Any], problem: str, taken: dict[str, Any]
) -> None:
    found = refusals(kind, refused)
    assert [each for each in found if each.startswith(problem)], found
    assert refusals(kind, taken) == []


def test_defaults_that_a_limit_of_pods_may_not_have_are_not_compared() -> None:
    limit = {"type": "Pod", "max": {"cpu": 1}, "default": {"cpu": 2}, "defaultRequest": {"cpu": 3}}
    assert refusals("LimitRange", {"spec": {"limits": [limit]}}) == [
        f"spec.limits[0].{field}: Forbidden: may not be specified when `type` is 'Pod'"
        for field in ("default", "defaultRequest")
    ]
