"""Nulls of a document, which are zero values in Go, and the mistakes beside a value of a wrong type."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.api.conversion import path_text
from ksched_cli.api.validation.documents import mistakes

FIRST, SECOND = "spec.containers[0]", "spec.containers[1].name"


def container(**more: Any) -> dict[str, Any]:
    return {"name": "c", "image": "i", **more}


def pod(*containers: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    spec = {"containers": list(containers) or [container()], **more}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def set_of(labels: dict[str, Any]) -> dict[str, Any]:
    """A DaemonSet with these labels."""
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container()]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d"}, "spec": spec}


@pytest.mark.parametrize(
    ("document", "paths"),
    [
        pytest.param(pod(container(command=[None, "a"])), [], id="a text of a list"),
        pytest.param(pod(container(), None), [SECOND, "spec.containers[1].image"], id="an object"),
        pytest.param(pod(securityContext={"supplementalGroups": [None]}), [], id="a number of a list"),
        pytest.param(set_of({"a": None}), [], id="an entry of a map that may not be empty"),
        pytest.param(pod(hostname=None, nodeSelector={"a b": None}), [], id="the key of a null, which may be removed"),
        pytest.param(pod(other=None), ["spec.other"], id="an unknown field"),
    ],
)
def test_a_null_is_a_zero_value(document: dict[str, Any], paths: list[str]) -> None:
    """Of an entry of a map, unless it removes the entry of a live object: only what is wrong in both cases counts."""
    assert [path_text(each.path) for each in mistakes(document, document["apiVersion"], document["kind"])] == paths


@pytest.mark.parametrize(
    ("document", "paths"),
    [
        pytest.param(pod(container(command=[5]), container()), [f"{FIRST}.command[0]", SECOND], id="text"),
        pytest.param(pod(container(ports=[5]), container()), [f"{FIRST}.ports[0]", SECOND], id="object"),
        pytest.param(pod(container(ports=[[]]), container()), [f"{FIRST}.ports[0]", SECOND], id="list"),
        pytest.param(pod(container(tty=1), container()), [f"{FIRST}.tty", SECOND], id="a field"),
    ],
)  # fmt: skip
def test_the_other_mistakes_of_a_document_are_found_beside_a_wrong_type(
    document: dict[str, Any], paths: list[str]
) -> None:
    assert [path_text(each.path) for each in mistakes(document, document["apiVersion"], document["kind"])] == paths
