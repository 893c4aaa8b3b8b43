"""Fields that not every minor has: an API server refuses those that its minor lacks, as kubectl asks it to."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.api.conversion import path_text
from ksched_cli.api.validation.documents import mistakes
from ksched_cli.api.validation.fields import fields_of, minors_of
from ksched_cli.releases.minors import RELEASES
from ksched_cli.releases.served_versions import lacks
from tests.known_fields import with_minors

CONTAINER = {"name": "c", "image": "i"}
MINORS = sorted(release.minor for release in RELEASES.values())


def pod(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [CONTAINER], **spec}}


def container(**fields: Any) -> dict[str, Any]:
    return pod(containers=[{**CONTAINER, **fields}])


def spread(**fields: Any) -> dict[str, Any]:
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **fields}
    return pod(topologySpreadConstraints=[constraint])


def of_kind(version: str, kind: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "n"}, "spec": spec}


SLICE = {"driver": "d", "nodeName": "n", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}


@pytest.mark.parametrize(
    ("document", "path", "first", "last"),
    [
        pytest.param(pod(evictionResponders=[]), "spec.evictionResponders", 37, 99, id="eviction responders"),
        pytest.param(
            pod(volumes=[{"name": "v", "emptyDir": {"mode": 448}}]), "spec.volumes[0].emptyDir.mode", 37, 99, id="mode"
        ),
        pytest.param(pod(schedulingGroup={}), "spec.schedulingGroup", 36, 99, id="scheduling group"),
        pytest.param(pod(workloadRef={}), "spec.workloadRef", 35, 35, id="workload, in one minor alone"),
        pytest.param(pod(resources={}), "spec.resources", 32, 99, id="resources of a pod"),
        pytest.param(pod(hostUsers=True), "spec.hostUsers", 25, 99, id="host users"),
        pytest.param(pod(schedulingGates=[]), "spec.schedulingGates", 26, 99, id="scheduling gates"),
        pytest.param(pod(os={"name": "linux"}), "spec.os", 23, 99, id="os"),
        pytest.param(spread(minDomains=1), "spec.topologySpreadConstraints[0].minDomains", 24, 99, id="min domains"),
        pytest.param(
            spread(matchLabelKeys=[]), "spec.topologySpreadConstraints[0].matchLabelKeys", 25, 99, id="label keys"
        ),
        pytest.param(container(restartPolicy="Always"), "spec.containers[0].restartPolicy", 28, 99, id="sidecar"),
        pytest.param(container(resizePolicy=[]), "spec.containers[0].resizePolicy", 27, 99, id="resize policy"),
        pytest.param(
            of_kind("batch/v1", "Job", template=TEMPLATE, managedBy="a.io/b"), "spec.managedBy", 30, 99, id="job"
        ),
        pytest.param(
            of_kind("v1", "Service", ports=[{"port": 1}], topologyKeys=["a"]), "spec.topologyKeys", 17, 21, id="service"
        ),
        pytest.param(
            of_kind(
                "resource.k8s.io/v1",
                "ResourceSlice",
                **SLICE,
                devices=[{"name": "d", "nodeAllocatableResourceMappings": {}}],
            ),
            "spec.devices[0].nodeAllocatableResourceMappings",
            36,
            36,
            id="mappings of a device",
        ),
        pytest.param(
            of_kind("resource.k8s.io/v1", "ResourceSlice", **SLICE, skipNodeOperations=[]),
            "spec.skipNodeOperations",
            37,
            99,
            id="slice",
        ),
        pytest.param(pod(tolerations=[]), "", 0, 99, id="a field of every minor"),
    ],
)
def test_a_field_is_known_in_its_minors_alone(document: dict[str, Any], path: str, first: int, last: int) -> None:
    found = mistakes(document, document["apiVersion"], document["kind"])
    unknown = [(path_text(each.path), each.having) for each in found if each.is_unknown]
    for minor in MINORS:
        lacking = [(path, lacks(having, minor)) for path, having in unknown if having and lacks(having, minor)]
        if first <= minor <= last:
            assert lacking == [], minor
        else:
            change = f"1.{first} added it" if minor < first else f"1.{last + 1} removed it"
            assert lacking == [(path, f"Kubernetes {change}")], minor


def test_an_unknown_field_of_no_minor_has_no_minors() -> None:
    found = mistakes(pod(hostUser=True), "v1", "Pod")
    assert [(each.hint, each.having) for each in found if each.is_unknown] == [("did you mean hostUsers?", None)]


@pytest.mark.parametrize("name", ["PodSpec", "Container", "JobSpec", "ServiceSpec", "Device", "ObjectMeta"])
def test_the_minors_are_those_that_are_modelled(name: str) -> None:
    minors = minors_of(name)
    assert minors
    assert minors.keys() <= fields_of(name).keys()
    for first, last in minors.values():
        assert first <= last
        assert first in (0, *MINORS[1:])
        assert last > MINORS[-1] or last in MINORS[:-1]


def test_the_lines_get_the_minors_of_the_specifications() -> None:
    by_minor = {
        16: ["@v1 Pod", "Pod gone old=i spec=Spec", "Spec a"],
        17: ["@v1 Pod", "Pod between old=i spec=Spec", "Spec a"],
        18: ["@v1 Pod", "Pod new=b old=l spec=Spec", "Spec a", "Young field"],
    }
    assert list(with_minors(by_minor)) == [
        "@v1 Pod",
        "Pod between@17-17 gone@-16 new=b@18 old=l spec=Spec",
        "Spec a",
        "Young field",
    ]
