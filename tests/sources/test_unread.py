"""Objects of manifests whose kind is not read: which of them Kubernetes does not have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ksched_cli.api.decode import UnknownKind
from ksched_cli.errors import InputError
from ksched_cli.sources.loaded import Origin
from ksched_cli.sources.manifests import load_manifests
from ksched_cli.sources.unread import judge, pod_template_path, refused_version
from tests.builders import make_node, make_pod, write_list
from tests.running import Ksched


@pytest.mark.parametrize(
    ("version", "kind", "minor", "expected"),
    [
        ("extensions/v1beta1", "Deployment", 36, "-16 apps/v1"),
        ("extensions/v1beta1", "Ingress", 36, "-22 networking.k8s.io/v1"),
        ("extensions/v1beta1", "Ingress", 21, ""),
        ("policy/v1beta1", "PodDisruptionBudget", 25, "-25 policy/v1"),
        ("policy/v1beta1", "PodDisruptionBudget", 24, ""),
        ("policy/v1", "PodDisruptionBudget", 20, "+21 policy/v1beta1"),
        ("policy/v1", "PodDisruptionBudget", 21, ""),
        ("autoscaling/v2beta2", "HorizontalPodAutoscaler", 36, "-26 autoscaling/v2"),
        ("autoscaling/v2", "HorizontalPodAutoscaler", 22, "+23 autoscaling/v1"),
        ("batch/v1", "CronJob", 20, "+21 batch/v1beta1"),
        ("batch/v1", "Job", 20, ""),
        ("networking.k8s.io/v1", "Ingress", 18, "+19 networking.k8s.io/v1beta1"),
        ("scheduling.k8s.io/v1beta1", "PriorityClass", 36, "-22 scheduling.k8s.io/v1"),
        ("resource.k8s.io/v1", "ResourceClaim", 33, "+34 resource.k8s.io/v1beta2"),
        ("resource.k8s.io/v1", "ResourceClaim", 34, ""),
        ("resource.k8s.io/v1alpha3", "ResourceClaim", 36, "-34 resource.k8s.io/v1"),
        ("resource.k8s.io/v1alpha3", "DeviceTaintRule", 36, ""),
        ("scheduling.k8s.io/v1alpha2", "PodGroup", 36, ""),
        ("scheduling.k8s.io/v1alpha2", "PodGroup", 37, "-37 scheduling.k8s.io/v1beta1"),
        ("scheduling.k8s.io/v1alpha2", "Workload", 37, "-37 scheduling.k8s.io/v1beta1"),
        ("scheduling.k8s.io/v1beta1", "PodGroup", 36, "+37 scheduling.k8s.io/v1alpha2"),
        ("scheduling.k8s.io/v1beta1", "PodGroup", 30, "+37 "),
        ("scheduling.k8s.io/v1alpha1", "Workload", 36, "-36 scheduling.k8s.io/v1alpha2"),
        ("scheduling.k8s.io/v1beta1", "PodGroup", 37, ""),
        ("storage.k8s.io/v1beta1", "VolumeAttributesClass", 37, "-37 storage.k8s.io/v1"),
        ("networking.k8s.io/v1beta1", "IPAddress", 37, "-37 networking.k8s.io/v1"),
        (
            "admissionregistration.k8s.io/v1beta1",
            "ValidatingAdmissionPolicy",
            34,
            "-34 admissionregistration.k8s.io/v1",
        ),
        ("admissionregistration.k8s.io/v1beta1", "ValidatingAdmissionPolicy", 33, ""),
        ("apps/v1", "Deployment", 16, ""),
    ],
)
def test_versions_that_a_minor_does_not_serve(version: str, kind: str, minor: int, expected: str) -> None:
    """`-16`: removed with 1.16; `+21`: added with 1.21; then what to write."""
    found = refused_version(version, kind, minor)
    if not expected:
        assert found is None
        return
    change, _, served = expected.partition(" ")
    text = (
        "no longer served: Kubernetes 1.{} has removed it"
        if change[0] == "-"
        else "not served yet: Kubernetes 1.{} has added it"
    )
    assert found == (
        f"{version} {kind} is {text.format(change[1:])}",
        f"write apiVersion: {served}" if served else "",
    )


@pytest.mark.parametrize(
    ("version", "kind", "expected"),
    [
        ("apps/v9", "Deployment", "there is no kind Deployment in apps/v9 (write apiVersion: apps/v1)"),
        ("app/v1", "Deployment", "there is no kind Deployment in app/v1 (write apiVersion: apps/v1)"),
        ("v2", "Pod", "there is no kind Pod in v2 (write apiVersion: v1)"),
        ("policy/v1alpha7", "PodDisruptionBudget", "there is no kind PodDisruptionBudget in policy/v1alpha7"),
        ("networking.k8s.io/v1beta1", "Job", "there is no kind Job in networking.k8s.io/v1beta1"),
        ("storage.k8s.io/v2", "StorageClass", "there is no kind StorageClass in storage.k8s.io/v2"),
        ("apps/v1", "deployment", "there is no kind deployment in apps/v1 (did you mean Deployment?)"),
        ("apps/v1", "Podd", "there is no kind Podd in apps/v1 (did you mean v1 Pod?)"),
        # ksched does not have all versions and kinds of these groups.
        ("node.k8s.io/v1alpha1", "RuntimeClass", ""),
        ("networking.k8s.io/v1", "Ingress", ""),
        ("skaffold/v4beta11", "Config", ""),
        # Another kind of the same name.
        ("serving.example.com/v1", "Service", ""),
        ("kueue.x-k8s.io/v1", "Workload", ""),
        ("project.sigs.k8s.io/v1", "StorageClass", ""),
    ],
)
def test_kinds_that_kubernetes_does_not_have(version: str, kind: str, expected: str) -> None:
    document = {"apiVersion": version, "kind": kind, "metadata": {"name": "n"}}
    found = [str(each) for each in judge(UnknownKind(version, kind, document), Origin("m.yaml", 1))]
    assert [text.startswith(f"m.yaml:1: {kind} n: {expected}") for text in found] == ([True] if expected else [])


@pytest.mark.parametrize(("version", "code"), [("1.20", 0), ("1.22", 2), ("1.24", 2), ("1.25", 2)])
def test_versions_that_a_minor_still_serves_are_known(version: str, code: int, tmp_path: Path, ksched: Ksched) -> None:
    """Ingress was v1beta1 up to 1.21, and CronJob up to 1.24, which is read."""
    pods = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    cron = {"schedule": "0 0 * * *", "jobTemplate": {"spec": {"template": pods}}}
    manifests = [
        {"apiVersion": "networking.k8s.io/v1beta1", "kind": "Ingress", "metadata": {"name": "i"}, "spec": {}},
        {"apiVersion": "batch/v1beta1", "kind": "CronJob", "metadata": {"name": "j"}, "spec": cron},
    ]
    cluster, file = tmp_path / "c.yaml", tmp_path / "m.yaml"
    cluster.write_text(yaml.safe_dump(make_node("n1").doc()))
    file.write_text(yaml.safe_dump_all(manifests))
    shown = ksched("check", "--from", str(cluster), "-f", str(file), "--kube-version", version, code=code).out
    assert "knows no such kind" not in shown
    assert ("Ingress is no longer served" in shown) is (version != "1.20")
    assert ("CronJob is no longer served" in shown) is (version == "1.25")
    assert ("CronJob default/j: fits" in shown) is (version != "1.25")


@pytest.mark.parametrize(
    ("bounds", "mistake"),
    [
        ({"maxReplicas": -3}, "spec.maxReplicas: Invalid value: -3: must be greater than 0"),
        ({}, "spec.maxReplicas: Invalid value: 0: must be greater than 0"),
        ({"maxReplicas": "many"}, "spec.maxReplicas: expected a whole number, got a string"),
        ({"minReplicas": 5, "maxReplicas": 3}, "spec.maxReplicas: Invalid value: 3: must be greater than or equal to `min"),
        ({"minReplicas": -1, "maxReplicas": 3}, "spec.minReplicas: Invalid value: -1: must be greater than or equal to 1"),
        ({"minReplicas": 0, "maxReplicas": 3}, "spec.metrics: Forbidden: must specify at least one Object or External metric"),
    ],
)  # fmt: skip
def test_wrong_bounds_of_an_autoscaler(bounds: dict[str, Any], mistake: str, tmp_path: Path, ksched: Ksched) -> None:
    cluster, manifests = tmp_path / "c.yaml", tmp_path / "m.yaml"
    cluster.write_text(yaml.safe_dump(make_node("n1").doc()))
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    autoscaler = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}}
    manifests.write_text(
        yaml.safe_dump_all([make_pod("p").doc(), {**autoscaler, "spec": {"scaleTargetRef": target, **bounds}}])
    )
    error = ksched("simulate", "--from", str(cluster), "-f", str(manifests), code=2 if mistake else 0).err
    assert (f"HorizontalPodAutoscaler default/h: {mistake}" in error) is bool(mistake)


@pytest.mark.parametrize(
    ("version", "gates", "fewest", "mistake"),
    [
        ("1.36", "", 0, "must be greater than or equal to 1 (0 needs the feature gate HPAScaleToZero"),
        ("1.36", "HPAScaleToZero=true", 0, ""),
        ("1.37", "", 0, ""),
        ("1.37", "HPAScaleToZero=false", 0, "must be greater than or equal to 1 (0 needs the feature gate"),
        ("1.36", "", -1, "must be greater than or equal to 1\n"),
        ("1.37", "", -1, "must be greater than or equal to 0\n"),
    ],
)
def test_an_autoscaler_that_scales_to_zero(
    version: str, gates: str, fewest: int, mistake: str, tmp_path: Path, ksched: Ksched
) -> None:
    """#139648: the gate is on by default in 1.37."""
    cluster, manifests = tmp_path / "c.yaml", tmp_path / "m.yaml"
    cluster.write_text(yaml.safe_dump(make_node("n1").doc()))
    metric = {"type": "External", "external": {"metric": {"name": "q"}, "target": {"type": "Value", "value": "3"}}}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"minReplicas": fewest, "maxReplicas": 3, "scaleTargetRef": target, "metrics": [metric]}
    autoscaler = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}}
    manifests.write_text(yaml.safe_dump_all([make_pod("p").doc(), {**autoscaler, "spec": spec}]))
    files = ["--from", str(cluster), "-f", str(manifests)]
    command = ["simulate", *files, "--kube-version", version, "--feature-gates", gates]
    error = ksched(*command, code=2 if mistake else 0).err
    assert (f"spec.minReplicas: Invalid value: {fewest}: {mistake}" in error) is bool(mistake)


def test_a_wrong_version_beside_a_workload_that_fits(tmp_path: Path, ksched: Ksched) -> None:
    cluster, manifests = tmp_path / "c.yaml", tmp_path / "m.yaml"
    cluster.write_text(yaml.safe_dump(make_node("n1").doc()))
    budget = {"apiVersion": "policy/v2", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": {}}
    manifests.write_text(yaml.safe_dump_all([make_pod("p").doc(), budget]))
    shown = " ".join(ksched("check", "--from", str(cluster), "-f", str(manifests), code=2).out.split())
    assert "error KS004: the API server knows no such kind" in shown
    assert "Pod default/p: fits" in shown


_QUEUE = {"type": "External", "external": {"metric": {"name": "q"}, "target": {"type": "Value", "value": "3"}}}


def _autoscaler(fewest: int = 1, version: str = "apps/v1", described: str = "", name: str = "h") -> dict[str, Any]:
    target = {"apiVersion": version, "kind": "Deployment", "name": "web"}
    one = {"target": {"type": "Value", "value": "3"}, "metric": {"name": "q"}}
    of_object = {"type": "Object", "object": {**one, "describedObject": {"kind": "X", "name": "x"}}}
    of_object["object"]["describedObject"]["apiVersion"] = described
    metrics = [_QUEUE, of_object] if described else [_QUEUE]
    spec = {"minReplicas": fewest, "maxReplicas": 3, "scaleTargetRef": target, "metrics": metrics}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(
    ("live", "new", "mistake"),
    [
        pytest.param(None, _autoscaler(version="v1"), "must specify API group", id="a new target without a group"),
        pytest.param(_autoscaler(version="v1"), _autoscaler(version="v1"), "", id="a target as it is"),
        pytest.param(_autoscaler(version="v1"), _autoscaler(2, version="v1"), "", id="another bound beside it"),
        pytest.param(_autoscaler(), _autoscaler(version="v1"), "must specify API group", id="a target that changes"),
        pytest.param(
            _autoscaler(version="v1", name="g"), _autoscaler(version="v1"), "must specify API group", id="of another"
        ),
        pytest.param(_autoscaler(0), _autoscaler(0), "", id="zero as it is"),
        pytest.param(_autoscaler(0), _autoscaler(-1), "Invalid value: -1", id="below zero"),
        pytest.param(_autoscaler(1), _autoscaler(0), "Invalid value: 0", id="zero that is new"),
        pytest.param(_autoscaler(described="a/b/c"), _autoscaler(described="a/b/c"), "", id="a metric as it is"),
        pytest.param(_autoscaler(described="a/b/c"), _autoscaler(described="d/e/f"), "", id="another wrong metric"),
        pytest.param(_autoscaler(described="a/b"), _autoscaler(described="a/b/c"), "GroupVersion", id="a metric"),
        pytest.param(
            _autoscaler(described="a/b/c"),
            _autoscaler(version="v1", described="a/b/c"),
            "must specify API group",
            id="a metric as it is beside a target that changes",
        ),
        pytest.param(
            _autoscaler(version="v1"),
            _autoscaler(version="v1", described="a/b/c"),
            "GroupVersion",
            id="a target as it is beside a new metric",
        ),
    ],
)
def test_an_autoscaler_keeps_what_older_minors_accepted(
    live: dict[str, Any] | None, new: dict[str, Any], mistake: str, tmp_path: Path, ksched: Ksched
) -> None:
    cluster = write_list(tmp_path / "c.json", make_node("n1"), *([live] if live is not None else ()))
    manifests = write_list(tmp_path / "m.json", make_pod("p"), new)
    command = ("check", "--from", cluster, "-f", manifests, "--kube-version", "1.36", "-o", "json")
    found = json.loads(ksched(*command, code=2 if mistake else 0).out)
    messages = [each["message"] for each in found["findings"]]
    assert all(mistake in each for each in messages) if mistake else not messages


@pytest.mark.parametrize(
    ("kind", "version", "label"),
    [
        pytest.param("ClusterRole", "rbac.authorization.k8s.io/v1beta1", "ClusterRole x: ", id="of the cluster"),
        pytest.param("Role", "rbac.authorization.k8s.io/v1beta1", "Role default/x: ", id="of a namespace"),
    ],
)
def test_labels_of_kinds_that_are_not_read(kind: str, version: str, label: str, tmp_path: Path) -> None:
    manifest = write_list(tmp_path / "m.json", {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}})
    with pytest.raises(
        InputError,
        match=f"{label}{version} {kind} is no longer served",
    ):
        load_manifests([manifest])


# https://kubernetes.io/docs/reference/using-api/deprecation-guide: the minor that no longer serves a version.
NO_LONGER = {
    22: [
        ("admissionregistration.k8s.io/v1beta1", "MutatingWebhookConfiguration"),
        ("admissionregistration.k8s.io/v1beta1", "ValidatingWebhookConfiguration"),
        ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition"),
        ("apiregistration.k8s.io/v1beta1", "APIService"),
        ("certificates.k8s.io/v1beta1", "CertificateSigningRequest"),
        ("coordination.k8s.io/v1beta1", "Lease"),
        ("extensions/v1beta1", "Ingress"),
        ("networking.k8s.io/v1beta1", "Ingress"),
        ("networking.k8s.io/v1beta1", "IngressClass"),
        *(
            ("rbac.authorization.k8s.io/v1beta1", kind)
            for kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
        ),
        ("scheduling.k8s.io/v1beta1", "PriorityClass"),
        *(("storage.k8s.io/v1beta1", kind) for kind in ("CSIDriver", "CSINode", "StorageClass", "VolumeAttachment")),
    ],
    25: [
        ("batch/v1beta1", "CronJob"),
        ("discovery.k8s.io/v1beta1", "EndpointSlice"),
        ("events.k8s.io/v1beta1", "Event"),
        ("autoscaling/v2beta1", "HorizontalPodAutoscaler"),
        ("policy/v1beta1", "PodDisruptionBudget"),
        ("policy/v1beta1", "PodSecurityPolicy"),
        ("node.k8s.io/v1beta1", "RuntimeClass"),
    ],
    26: [
        ("flowcontrol.apiserver.k8s.io/v1beta1", "FlowSchema"),
        ("autoscaling/v2beta2", "HorizontalPodAutoscaler"),
    ],
    27: [("storage.k8s.io/v1beta1", "CSIStorageCapacity")],
    29: [("flowcontrol.apiserver.k8s.io/v1beta2", "PriorityLevelConfiguration")],
    32: [("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema")],
}


@pytest.mark.parametrize(
    ("version", "kind", "minor"),
    [pytest.param(*each, minor, id="-".join(each)) for minor, found in NO_LONGER.items() for each in found],
)
def test_the_last_minor_that_serves_a_version(version: str, kind: str, minor: int) -> None:
    assert refused_version(version, kind, minor - 1) is None
    refused = refused_version(version, kind, minor)
    assert refused is not None
    assert f"Kubernetes 1.{minor} has removed it" in refused[0]


POD = {"spec": {"containers": [{"name": "c"}]}}


def nested(levels: int) -> Any:
    return {"a": nested(levels - 1)} if levels else POD


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        pytest.param({"template": POD}, "spec.template", id="a template"),
        pytest.param({"groups": [3, {"pod": POD}]}, "spec.groups[*].pod", id="in a list"),
        pytest.param({"containers": [{"name": "c"}]}, "", id="containers alone"),
        pytest.param({"containers": [3, {"name": "c"}]}, "", id="one container"),
        pytest.param({"containers": ["c"]}, None, id="names of containers"),
        pytest.param({"containers": {"c": {"name": "c"}}}, None, id="a mapping of containers"),
        pytest.param({"resources": {"requests": {"cpu": 1, "memory": 1}}}, "", id="requests"),
        pytest.param({"resources": {"requests": {"storage": "1Gi"}}}, None, id="a request of storage"),
        pytest.param({"first": {"containers": [{"name": "c"}]}, "second": POD}, "spec.second", id="the template first"),
        pytest.param(nested(12), "spec" + ".a" * 12, id="as deep as is looked"),
        pytest.param(nested(13), None, id="deeper"),
        pytest.param("x", None, id="no object"),
    ],
)
def test_where_a_resource_has_its_pods(spec: Any, path: str | None) -> None:
    assert pod_template_path({"spec": spec}) == path
