"""The annotation of a node that names controllers, as the plugin and snapshots read it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ksched_cli.api.avoided_pods import avoided_controllers, avoiding

NAMED = {"kind": "ReplicaSet", "uid": "u", "name": "web", "apiVersion": "apps/v1", "controller": True}


def annotation(**controller: Any) -> str:
    reason = {"reason": "full", "message": "please"}
    return json.dumps({"preferAvoidPods": [{"podSignature": {"podController": {**NAMED, **controller}}, **reason}, {}]})


@pytest.mark.parametrize(
    ("text", "controllers"),
    [
        pytest.param(annotation(), [("ReplicaSet", "u")], id="one"),
        pytest.param(annotation(name=None, controller=None), [("ReplicaSet", "u")], id="Go reads null as absent"),
        pytest.param(annotation(controller="yes"), [], id="Go does not decode a wrong type"),
        pytest.param('{"preferAvoidPods": null}', [], id="null"),
        pytest.param("[]", [], id="no object"),
        pytest.param("{", [], id="no JSON"),
        pytest.param("", [], id="empty"),
    ],
)
def test_controllers(text: str, controllers: list[tuple[str, str]]) -> None:
    found = [(each.kind, each.uid) for each in avoided_controllers(text)]
    assert found == controllers
    kept = avoiding(found)
    assert [(each.kind, each.uid) for each in avoided_controllers(kept)] == controllers
    assert "please" not in kept
