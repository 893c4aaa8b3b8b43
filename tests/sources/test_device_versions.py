"""Claims, classes and slices of devices in each version of resource.k8s.io that a cluster may have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.api.dynamic_resources import as_v1
from ksched_cli.cli.main import run
from tests.builders import make_node, write_list

VERSIONS = ("v1", "v1beta2", "v1beta1", "v1alpha3")
NODE = make_node("n1").allocatable(cpu="4", memory="8Gi", pods=10).doc()
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "default"},
    "spec": {
        "containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "g"}]}}],
        "resourceClaims": [{"name": "g", "resourceClaimName": "c"}],
    },
}


def devices(version: str, memory: str, *, template: bool = False) -> list[dict[str, Any]]:
    """A device with 40Gi on n1, a class for it, and a claim for one of so much memory, as the version writes them."""
    nested, plain = version in ("v1beta1", "v1alpha3"), version == "v1alpha3"
    own = {
        "attributes": {"model": {"string": "a100"}},
        "capacity": {"memory": "40Gi" if plain else {"value": "40Gi"}},
    }
    wanted = f"device.capacity['gpu.example.com'].memory.compareTo(quantity('{memory}')) >= 0"
    request = {"deviceClassName": "gpu", "selectors": [{"cel": {"expression": wanted}}]}
    claim = {"devices": {"requests": [{"name": "r", **(request if nested else {"exactly": request})}]}}
    kind, spec = ("ResourceClaimTemplate", {"spec": claim}) if template else ("ResourceClaim", claim)
    pool = {"name": "n1", "resourceSliceCount": 1, "generation": 1}
    device = {"name": "d0", **({"basic": own} if nested else own)}
    driver = {"cel": {"expression": "device.driver == 'gpu.example.com'"}}
    specs = (
        ("ResourceSlice", "s", {"driver": "gpu.example.com", "nodeName": "n1", "pool": pool, "devices": [device]}),
        ("DeviceClass", "gpu", {"selectors": [driver]}),
        (kind, "c", spec),
    )
    return [
        {
            "apiVersion": f"resource.k8s.io/{version}",
            "kind": each,
            "metadata": {"name": name, **({"namespace": "default"} if name == "c" else {})},
            "spec": spec,
        }
        for each, name, spec in specs
    ]


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("memory", "code"), [("40Gi", 0), ("80Gi", 1)])
@pytest.mark.parametrize("template", [False, True], ids=["claim", "template"])
def test_a_claim_of_each_version(
    version: str, memory: str, code: int, template: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reference = {"name": "g", "resourceClaimTemplateName" if template else "resourceClaimName": "c"}
    pod = {**POD, "spec": {**POD["spec"], "resourceClaims": [reference]}}  # type: ignore[dict-item]
    cluster, manifest = tmp_path / "c.json", tmp_path / "m.json"
    write_list(cluster, NODE, *devices(version, memory, template=template))
    write_list(manifest, pod)
    assert run(["check", "--from", str(cluster), "-f", str(manifest), "-o", "json"]) == code
    assert "notRead" not in json.loads(capsys.readouterr().out)["coverage"]


def test_without_the_gate_explain_names_the_claims_and_diff_shows_no_regression(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "c.json")
    write_list(Path(path), NODE, *devices("v1beta1", "40Gi"), POD)
    assert run(["explain", "default/p", "--from", path, "--kube-version", "1.33"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "resourceClaims of default/p (gate DynamicResourceAllocation is off in 1.33)" in shown
    assert run(["explain", "default/p", "--from", path, "--kube-version", "1.34"]) == 0
    assert "resourceClaims of" not in capsys.readouterr().out
    assert run(["diff", "--from", path, "--kube-version", "1.33", "--to-kube-version", "1.34"]) == 0
    assert "none moves" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        pytest.param("ResourceSlice", {"devices": [1, {"basic": 2}]}, {"devices": [1, {"basic": 2}]}, id="no objects"),
        pytest.param("ResourceSlice", {"devices": "x"}, {"devices": "x"}, id="no list"),
        pytest.param("ResourceClaim", {"devices": []}, {"devices": []}, id="no devices"),
        pytest.param(
            "ResourceClaim",
            {"devices": {"requests": [{"name": "a", "firstAvailable": [{"name": "b"}]}]}},
            {"devices": {"requests": [{"name": "a", "firstAvailable": [{"name": "b"}]}]}},
            id="alternatives stay",
        ),
        pytest.param("ResourceClaimTemplate", {"spec": None}, {"spec": None}, id="no spec in a template"),
        pytest.param("DeviceClass", {"config": []}, {"config": []}, id="a class is the same"),
    ],
)
def test_what_cannot_be_moved_stays(kind: str, spec: dict[str, Any], expected: dict[str, Any]) -> None:
    assert as_v1(kind, {"kind": kind, "spec": spec})["spec"] == expected


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        pytest.param(
            "ResourceSlice",
            {
                "devices": [
                    {
                        "name": "d",
                        "basic": {"attributes": {"a": {"int": 1}}, "capacity": {"m": "1", "n": {"value": "2"}}},
                    }
                ]
            },
            {
                "devices": [
                    {
                        "name": "d",
                        "attributes": {"a": {"int": 1}},
                        "capacity": {"m": {"value": "1"}, "n": {"value": "2"}},
                    }
                ]
            },
            id="what a device has in basic",
        ),
        pytest.param(
            "ResourceClaim",
            {"devices": {"requests": [{"name": "r", "deviceClassName": "c", "count": 2}], "config": []}},
            {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c", "count": 2}}], "config": []}},
            id="what a request has by itself",
        ),
    ],
)
def test_what_moves(kind: str, spec: dict[str, Any], expected: dict[str, Any]) -> None:
    assert as_v1(kind, {"kind": kind, "spec": spec})["spec"] == expected
