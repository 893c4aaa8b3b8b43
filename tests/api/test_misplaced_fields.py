"""The hints for unknown fields: the right place, the right spelling, or none."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.api.validation.documents import mistakes
from tests.api.test_validation import container, pod, workload


@pytest.mark.parametrize(
    ("document", "field", "hint"),
    [
        pytest.param(pod(hostnetwork=True), "hostnetwork", "did you mean hostNetwork?", id="another case"),
        pytest.param(pod(tolerationz=[]), "tolerationz", "did you mean tolerations?", id="a typo"),
        pytest.param(
            pod(hostIPC=True, hostIPs=True), "hostIPs", "did you mean hostPID?", id="no field that is written already"
        ),
        pytest.param(
            pod(container(images="x")), "images", "did you mean image?", id="one that is written, if no other is near"
        ),
        pytest.param(pod(runAsUser=1), "runAsUser", "it belongs into spec.securityContext", id="one level below"),
        pytest.param(
            workload("Deployment", hostNetwork=True),
            "hostNetwork",
            "it belongs into spec.template.spec",
            id="two below",
        ),
        pytest.param(pod(container(hostNetwork=True)), "hostNetwork", "it belongs into spec", id="above"),
        pytest.param(
            pod(apiVersion="v1"), "apiVersion", "it belongs to the top level of the document", id="at the top"
        ),
        pytest.param(pod(container(port=80)), "port", "did you mean ports?", id="several places below"),
        pytest.param(pod(nothing=1), "nothing", "", id="nothing is near"),
    ],
)
def test_where_an_unknown_field_belongs(document: dict[str, Any], field: str, hint: str) -> None:
    version = "apps/v1" if document["kind"] == "Deployment" else "v1"
    (found,) = mistakes(document, version, document["kind"])
    assert (found.message, found.hint) == (f'unknown field "{field}"', hint)
