"""Changes of a pod that a scheduling gate holds back: it may get fewer nodes, and fewer gates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from tests.builders import PodBuilder, make_node, make_pod, write_list

DISK, ZONE, NAME = (
    {"key": "disk", "operator": "Exists"},
    {"key": "zone", "operator": "Exists"},
    {"key": "metadata.name", "operator": "In", "values": ["node-1"]},
)
TWO_DISKS = [{"matchExpressions": [DISK, ZONE]}, {"matchExpressions": [ZONE], "matchFields": [NAME]}]


def gated_by(*terms: dict[str, Any]) -> PodBuilder:
    """A pod with a gate and these terms of its node affinity."""
    return make_pod("w").gate("a/b").node_affinity(*terms)


def gated(*disks: str, **selector: str) -> PodBuilder:
    """A pod with a gate, that needs one of these disks."""
    terms = ({"matchExpressions": [{"key": "disk", "operator": "In", "values": [kind]}]} for kind in disks)
    pod = make_pod("w").gate("a/b").selector(**selector)
    return pod.node_affinity(*terms) if disks else pod


def whole(pod: PodBuilder) -> dict[str, Any]:
    """The pod with every field that the API server has of it."""
    document = pod.doc()
    return {**document, "metadata": {**document["metadata"], "uid": "u", "resourceVersion": "5"}}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("live", "manifest", "text"),
    [
        pytest.param(
            gated(disk="ssd").doc(),
            gated(disk="hdd", zone="a").doc(),
            "only additions to spec.nodeSelector are allowed",
            id="another node selector of a gated pod",
        ),
        pytest.param(
            gated("ssd").doc(),
            gated("ssd", "hdd").doc(),
            "nodeSelectorTerms: Invalid value",
            id="one more term of a gated pod",
        ),
        pytest.param(
            gated("ssd", "hdd").doc(),
            gated("ssd", "tape").doc(),
            "nodeSelectorTerms[1]: Invalid value",
            id="another term of a gated pod",
        ),
        pytest.param(
            gated_by(*TWO_DISKS).doc(),
            gated_by({**TWO_DISKS[0], "matchExpressions": TWO_DISKS[0]["matchExpressions"][::-1]}, TWO_DISKS[1]).doc(),
            "nodeSelectorTerms[0]: Invalid value",
            id="another order in a term of a gated pod",
        ),
        pytest.param(
            gated_by(*TWO_DISKS).doc(),
            gated_by(TWO_DISKS[0], {"matchExpressions": [ZONE]}).doc(),
            "nodeSelectorTerms[1]: Invalid value",
            id="one field less in a term of a gated pod",
        ),
        pytest.param(
            gated_by({}).doc(),
            gated_by({"matchExpressions": [ZONE]}).doc(),
            "nodeSelectorTerms[0]: Invalid value",
            id="an empty term of a gated pod gets a requirement",
        ),
        pytest.param(
            gated(disk="ssd").doc(),
            gated(disk="ssd", zone="a").spec(hostNetwork=True).doc(),
            "spec.hostNetwork: Forbidden: pod updates may not change fields other than",
            id="another field of a gated pod beside its node selector",
        ),
        pytest.param(
            whole(gated(disk="ssd")),
            gated(disk="ssd", zone="a").spec(subdomain="x").doc(),
            "spec.subdomain: Forbidden: pod updates may not change fields other than",
            id="another field of a gated pod behind its node selector",
        ),
        pytest.param(
            gated().doc(),
            gated().gate("c/d").doc(),
            "spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'c/d'",
            id="one more gate",
        ),
        pytest.param(gated(disk="ssd").doc(), gated(disk="ssd", zone="a").doc(), "", id="node selector of a gated pod"),
        pytest.param(gated().doc(), gated("ssd").doc(), "", id="first terms of a gated pod"),
        pytest.param(gated().gate("c/d").doc(), gated().doc(), "", id="one gate less"),
        pytest.param(
            gated_by({"matchExpressions": [DISK]}, {}).doc(),
            gated_by({"matchExpressions": [DISK, ZONE], "matchFields": [NAME]}, {}).doc(),
            "",
            id="more in a term of a gated pod, an empty term stays",
        ),
    ],
)
def test_a_gated_pod(
    live: Any,
    manifest: Any,
    text: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a text the API server takes the change."""
    monkeypatch.setenv("COLUMNS", "500")
    cluster = write_list(tmp_path / "c.json", make_node("n"), live)
    code = run(["check", "--from", cluster, "-f", write_list(tmp_path / "m.json", manifest), "--allow-empty"])
    assert code == (2 if text else 0)
    assert text in "".join(capsys.readouterr())
