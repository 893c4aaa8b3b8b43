"""Extended resources that a device class stands behind."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.api.dynamic_resources import DeviceClass
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.plugins.lib.devices.claims import ExtendedResourceIndex, lacking, special_claim
from ksched_cli.plugins.lib.devices.node_search import instantiated
from tests.builders import make_pod
from tests.plugins.lib.devices.resources import make_class

GPU, NIC = "example.com/gpu", "example.com/nic"


def dated(name: str, created: str, resource: str = GPU) -> DeviceClass:
    made = make_class(name, extendedResourceName=resource)
    made.metadata.creation_timestamp = created
    return made


def index(*classes: DeviceClass, enabled: bool = True) -> ExtendedResourceIndex:
    return ExtendedResourceIndex(Catalog(classes), enabled=enabled)


@pytest.mark.parametrize(
    ("classes", "resource", "expected"),
    [
        pytest.param([make_class("a", extendedResourceName=GPU)], GPU, "a", id="explicit name"),
        pytest.param([make_class("a")], "deviceclass.resource.kubernetes.io/a", "a", id="implicit name"),
        pytest.param([make_class("a")], GPU, None, id="no class"),
        pytest.param(
            [dated("a", "2026-01-01T00:00:00Z"), dated("b", "2026-01-02T00:00:00Z")], GPU, "b", id="the newer one"
        ),
        pytest.param(
            [dated("b", "2026-01-01T00:00:00Z"), dated("a", "2026-01-01T00:00:00Z")], GPU, "a", id="the first name"
        ),
    ],
)
def test_class(classes: list[DeviceClass], resource: str, expected: str | None) -> None:
    found = index(*classes).class_of(resource)
    assert (found.metadata.name if found else None) == expected


def test_the_gate() -> None:
    closed = index(make_class("a", extendedResourceName=GPU), enabled=False)
    assert not closed.backs(GPU)
    assert closed.wanted_by(make_pod().requests(example_com__gpu="1").obj()) == {}


@pytest.mark.parametrize(
    ("requests", "wanted"),
    [
        pytest.param({"cpu": "1", "memory": "1Gi"}, {}, id="no extended resource"),
        pytest.param({"example_com__nic": "1"}, {}, id="no class behind it"),
        pytest.param({"example_com__gpu": "0"}, {}, id="none of it"),
        pytest.param(
            {"cpu": "1", "hugepages-2Mi": "2Mi", "ephemeral-storage": "1Gi", "example_com__gpu": "2"},
            {GPU: 2},
            id="beside resources of the node",
        ),
        pytest.param(
            {"example_com__nic": "1", "example_com__gpu": "2", "example_com__none": "0"},
            {NIC: 1, GPU: 2},
            id="with one that nothing stands behind",
        ),
    ],
)
def test_what_a_pod_wants(requests: dict[str, str], wanted: dict[str, int]) -> None:
    assert index(make_class("a", extendedResourceName=GPU)).wanted_by(make_pod().requests(**requests).obj()) == wanted


def test_the_index_follows_the_catalog() -> None:
    catalog = Catalog()
    made = ExtendedResourceIndex(catalog, enabled=True)
    assert not made.backs(GPU)
    catalog.put(make_class("a", extendedResourceName=GPU))
    assert made.backs(GPU)


def test_every_extended_resource_counts_once_one_is_backed() -> None:
    wanted = make_pod().requests(cpu="1", example_com__gpu="2", example_com__nic="1").obj()
    assert index(make_class("a", extendedResourceName=GPU)).wanted_by(wanted) == {GPU: 2, NIC: 1}
    assert index(make_class("a")).wanted_by(wanted) == {}


@pytest.mark.parametrize(
    ("announced", "expected"),
    [
        pytest.param({}, None, id="nothing provides the other one"),
        pytest.param({NIC: 1}, {GPU}, id="devices provide what is missing"),
        pytest.param({NIC: 0, GPU: 0}, {GPU}, id="announced, but none left on the node"),
        pytest.param({NIC: 1, GPU: 4}, set(), id="a device plugin provides it"),
    ],
)
def test_what_a_node_lacks(announced: dict[str, int], expected: set[str] | None) -> None:
    backed = index(make_class("a", extendedResourceName=GPU))
    assert lacking({GPU: 2, NIC: 1}, announced, backed) == expected


def test_a_claim_that_an_earlier_attempt_left_is_used_again() -> None:
    pod, other = make_pod("a").uid("1").obj(), make_pod("b").uid("2").obj()
    left = instantiated(special_claim(pod, Catalog()), ())
    found = special_claim(pod, Catalog([instantiated(special_claim(other, Catalog()), ()), left]))
    assert found is left


def needs(name: str, amount: int | str, **more: Any) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": {"cpu": "1", GPU: str(amount)}}, **more}


@pytest.mark.parametrize(
    ("init", "containers", "expected"),
    [
        pytest.param([], [needs("a", 2)], {"container-0-request-1": 2}, id="one container"),
        pytest.param(
            [], [needs("a", 2), needs("b", 1)], {"container-0-request-1": 2, "container-1-request-1": 1}, id="two"
        ),
        pytest.param([], [needs("a", 0)], {}, id="none of it"),
        pytest.param([], [needs("a", "500m")], {}, id="half of it"),
        pytest.param(
            [needs("i", 1), needs("j", 3), needs("k", 3), needs("l", 2)], [{"name": "a"}], {"container-1-request-1": 3},
            id="the first of the largest",
        ),
        pytest.param([needs("i", 2)], [needs("a", 2)], {"container-1-request-1": 2}, id="init reuses"),
        pytest.param(
            [needs("i", 3)], [needs("a", 2)], {"container-0-request-1": 1, "container-1-request-1": 2},
            id="init needs one more",
        ),
        pytest.param(
            [needs("i", 1), needs("j", 3)], [{"name": "a"}], {"container-1-request-1": 3}, id="the largest init"
        ),
        pytest.param(
            [needs("i", 1, restartPolicy="Always"), needs("j", 2)], [needs("a", 1)],
            {"container-0-request-1": 1, "container-1-request-1": 1, "container-2-request-1": 1},
            id="a sidecar before is not there to reuse",
        ),
        pytest.param(
            [needs("j", 2), needs("i", 1, restartPolicy="Always")], [needs("a", 1)],
            {"container-1-request-1": 1, "container-2-request-1": 1}, id="a sidecar after it is",
        ),
    ],
)  # fmt: skip
def test_requests_of_containers(init: list[Any], containers: list[Any], expected: dict[str, int]) -> None:
    wanted = make_pod().spec(initContainers=init, containers=containers).obj()
    found = index(make_class("a", extendedResourceName=GPU)).requests(wanted, [GPU])
    assert {each.name: each.exactly.count for each in found if each.exactly} == expected
    assert [each.name for each in found] == sorted(expected)
