"""JSON patches on pods and templates: what they change, and paths that a document does not have."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.api.json_patch import add, apply_patch, drop


@pytest.mark.parametrize(
    ("document", "operation", "expected"),
    [
        pytest.param({"a": {"b": 1}}, add(2, "a", "b"), {"a": {"b": 2}}, id="a field"),
        pytest.param({"a": [1]}, add(2, "a", "-"), {"a": [1, 2]}, id="the end of a list"),
        pytest.param({"a": [1, 2]}, drop("a", 0), {"a": [2]}, id="an element"),
        pytest.param({"a": {"b/c~d": 1}}, drop("a", "b/c~d"), {"a": {}}, id="a key with slashes"),
    ],
)
def test_apply(document: Any, operation: Any, expected: Any) -> None:
    assert apply_patch(document, [operation]) == expected


@pytest.mark.parametrize(
    ("document", "operation"),
    [
        pytest.param({"affinity": None}, add(1, "affinity", "nodeAffinity", "x"), id="below null"),
        pytest.param({"affinity": "text"}, add(1, "affinity", "x"), id="below a text"),
        pytest.param({}, add(1, "affinity", "x"), id="below nothing"),
        pytest.param({"a": []}, drop("a", 0), id="an element that is not there"),
    ],
)
def test_a_path_that_is_not_there(document: Any, operation: Any) -> None:
    with pytest.raises(LookupError):
        apply_patch(document, [operation])
