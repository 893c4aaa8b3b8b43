"""Catalog files: what they mean, and every mistake in them."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ksched_cli.errors import InputError
from ksched_cli.plan.size.catalog import catalog_of, catalog_schema, names_of_new_nodes, read_shapes_of
from tests.plan.size.cases import catalog, shape


def problems(*shapes: dict[str, Any]) -> list[str]:
    with pytest.raises(InputError) as caught:
        catalog_of(catalog(*shapes))
    return [f"{each.path}: {each.message}" for each in caught.value.problems]


def is_valid(document: dict[str, Any]) -> bool:
    validator = jsonschema.Draft202012Validator(catalog_schema())
    return not list(validator.iter_errors(document))


def test_a_catalog_has_a_shape() -> None:
    assert [is_valid(catalog(*shapes)) for shapes in ([shape("m", 1)], [])] == [True, False]


@pytest.mark.parametrize(
    ("field", "amount", "says"),
    [
        ("cpu", "4096", ""),
        ("cpu", "4096001m", "cpu is 4096001m, more than 4096 cores"),
        ("cpu", "10m", ""),
        ("cpu", "9m", "cpu is 9m, less than 10m"),
        ("memory", "1Pi", ""),
        ("memory", "1025Ti", "memory is 1025Ti, more than 1Pi"),
        ("memory", "16Mi", ""),
        ("memory", "16383Ki", "memory is 16383Ki, less than 16Mi"),
        ("pods", "10000", ""),
        ("pods", "10001", "pods is 10001, more than 10,000 pods"),
        ("pods", "1", ""),
        ("pods", "0", "pods is 0, less than one pod"),
    ],
)
def test_the_largest_and_the_smallest_node(field: str, amount: str, says: str) -> None:
    given = shape("m", 1)
    given["allocatable"] |= {"pods": "110", field: amount}
    if says:
        (problem,) = problems(given)
        assert says in problem
    else:
        catalog_of(catalog(given))


def test_a_shape_with_zones_is_a_shape_in_each_zone() -> None:
    found = catalog_of(catalog(shape("m5.large", 0.1, zones=["a", "b"], max=3), unit="USD/h"))
    assert [(each.node_name, each.zone, each.most, each.price) for each in found.shapes] == [
        ("m5.large-a", "a", 3, Decimal("0.1")),
        ("m5.large-b", "b", 3, Decimal("0.1")),
    ]
    assert found.unit == "USD/h"


def test_prices_are_exact_decimals() -> None:
    found = catalog_of(catalog(shape("a", 0.1), shape("b", "0.2"), shape("c", "0.0125")))
    assert [each.price for each in found.shapes] == [Decimal("0.1"), Decimal("0.2"), Decimal("0.0125")]
    assert found.grain == Decimal("0.0125")
    assert sum(each.price for each in found.shapes) == Decimal("0.3125")


def test_the_node_of_a_shape_has_the_labels_of_a_node() -> None:
    (made,) = catalog_of(catalog(shape("Standard_D4s_v3", 1, labels={"disk": "ssd"}, zones=["a"]))).shapes
    node = made.template()
    assert node.metadata.name == "standard-d4s-v3-a"
    assert node.metadata.labels == {
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "Standard_D4s_v3",
        "disk": "ssd",
        "topology.kubernetes.io/zone": "a",
    }
    assert node.status.allocatable["pods"] == "110"


def test_capacity_is_allocatable_less_what_the_kubelet_keeps_back() -> None:
    kubelet = {
        "kubeReserved": {"cpu": "80m", "memory": "1Gi"},
        "systemReserved": {"cpu": "20m"},
        "evictionHard": {"memory.available": "5%", "nodefs.available": "10%"},
    }
    amounts = {"cpu": "4", "memory": "20Gi", "ephemeral-storage": "100Gi", "pods": 58}
    (made,) = catalog_of(catalog({"name": "m", "price": 1, "capacity": amounts, "kubelet": kubelet})).shapes
    assert made.allocatable == {
        "cpu": "3900m",
        "memory": str(18 * 2**30),
        "ephemeral-storage": str(90 * 2**30),
        "pods": "58",
    }


@pytest.mark.parametrize(
    ("kubelet", "storage"),
    [
        pytest.param({"evictionHard": {"imagefs.available": "15%", "nodefs.available": "10%"}}, "90", id="two signals"),
        pytest.param({"evictionHard": {"nodefs.available": "4"}}, "96", id="an amount"),
        pytest.param({"kubeReserved": {"ephemeral-storage": "100"}}, "0", id="all of it"),
        pytest.param({"kubeReserved": {"example.com/gpu": "1"}}, "100", id="a resource that the node does not have"),
    ],
)
def test_what_the_kubelet_leaves_of_the_disk(kubelet: dict[str, Any], storage: str) -> None:
    amounts = {"cpu": "4", "memory": "20Gi", "ephemeral-storage": "100"}
    (made,) = catalog_of(catalog({"name": "m", "price": 1, "capacity": amounts, "kubelet": kubelet})).shapes
    assert made.allocatable["ephemeral-storage"] == storage


def test_a_signal_of_a_resource_that_the_node_does_not_have_takes_nothing() -> None:
    kubelet = {"evictionHard": {"nodefs.available": "10%"}}
    given = {"name": "m", "price": 1, "capacity": {"cpu": 2, "memory": "1Gi"}, "kubelet": kubelet}
    (made,) = catalog_of(catalog(given)).shapes
    assert set(made.allocatable) == {"cpu", "memory", "pods"}


@pytest.mark.parametrize(
    ("count", "taken", "names"),
    [
        pytest.param(1, [], ["m"], id="one node"),
        pytest.param(1, ["m"], ["m-1"], id="one node, and its name is taken"),
        pytest.param(3, ["m-2"], ["m-1", "m-3", "m-4"], id="one of the names is taken"),
        pytest.param(0, [], [], id="no node"),
    ],
)
def test_names_of_new_nodes(count: int, taken: list[str], names: list[str]) -> None:
    (made,) = catalog_of(catalog(shape("m", 1))).shapes
    assert list(names_of_new_nodes(made, count, set(taken))) == names


def test_without_reservations_the_kubelet_keeps_100_mebibytes_back() -> None:
    (made,) = catalog_of(catalog({"name": "m", "price": 1, "capacity": {"cpu": 2, "memory": "1Gi"}})).shapes
    assert made.allocatable["memory"] == str(924 * 2**20)


BAD = [
    pytest.param(shape("m", None), "shapes[0]: m has no price", False, id="no price"),
    pytest.param(shape("m", "cheap"), "shapes[0].price: 'cheap' is not a price", True, id="no number"),
    pytest.param(shape("m", -1), "shapes[0].price: the price is -1: it cannot be negative or without end", False, id="negative price"),
    pytest.param(shape("m", "NaN"), "shapes[0].price: the price is NaN: it cannot be negative or without end", True, id="NaN"),
    pytest.param(shape("m", 1, cpu="-4"), "shapes[0].allocatable.cpu: cpu is -4: it cannot be negative", True, id="negative amount"),
    pytest.param(shape("m", 1, cpu="four"), "shapes[0].allocatable.cpu: 'four' is not a quantity: write a number with a suffix such as 100m, 2, 1.5Gi or 500M", True, id="no quantity"),
    pytest.param(shape("m", 1, cpu="64000"), "shapes[0].allocatable.cpu: cpu is 64000, more than 4096 cores", True, id="thousands of cores"),
    pytest.param(shape("m", 1, memory="16"), "shapes[0].allocatable.memory: memory is 16, less than 16Mi", True, id="no suffix"),
    pytest.param(shape("m", 1, memory="16Pi"), "shapes[0].allocatable.memory: memory is 16Pi, more than 1Pi", True, id="absurd memory"),
    pytest.param({"name": "m", "price": 1}, "shapes[0]: m has neither allocatable nor capacity", False, id="no amounts"),
    pytest.param({"name": "m", "price": 1, "allocatable": {"cpu": 4}}, "shapes[0].allocatable: m has no memory", True, id="no memory"),
    pytest.param(shape("m", 1, capacity={"cpu": 4, "memory": "8Gi"}), "shapes[0]: m has both allocatable and capacity", False, id="both"),
    pytest.param(shape("m", 1, colour="red"), "shapes[0].colour: no such field", False, id="unknown field"),
    pytest.param(shape("m", 1, max=-1), "shapes[0].max: max is -1: it cannot be negative", False, id="negative max"),
    pytest.param(shape("m", 1, labels={"a b": "c"}), "shapes[0].labels.a b: a b=c is not a label", True, id="label"),
    pytest.param(shape("m", 1, taints=[{"key": "a", "effect": "Never"}]), "shapes[0].taints[0].effect: invalid enum value 'Never'", False, id="effect"),
    pytest.param(shape("m", 1, zoneLabels=["a"]), "shapes[0].zoneLabels: m has no zones", True, id="labels of no zone"),
    pytest.param(shape("m", 1, zones=["a"], zoneLabels=["a b"]), "shapes[0].zoneLabels[0]: 'a b' is not the key", True, id="no key"),
    pytest.param(shape("m", 1, zones=["a", "a"]), "shapes[0].zones[1]: a is there twice", True, id="zone twice"),
    pytest.param({"name": "m", "price": 1, "allocatable": {"cpu": 4, "memory": "8Gi", "gpu": 1}}, "shapes[0].allocatable.gpu: gpu is no resource of a node", True, id="no resource"),
    pytest.param({"name": "m", "price": 1, "capacity": {"cpu": 1, "memory": "1Gi"}, "kubelet": {"kubeReserved": {"cpu": 2}}}, "shapes[0].kubelet: the kubelet keeps back more cpu than the capacity", True, id="kept back"),
    pytest.param({"name": "m", "price": 1, "capacity": {"cpu": 1, "memory": "1Gi"}, "kubelet": {"evictionHard": {"memory.available": "few%"}}}, "shapes[0].kubelet.evictionHard[memory.available]: 'few%' is not a percentage", True, id="no percentage"),
    pytest.param(shape("m", 1, cpu=-4), "shapes[0].allocatable.cpu: cpu is -4: it cannot be negative", False, id="negative number"),
    pytest.param(shape("m", 1, cpu="four", memory="16"), "shapes[0].allocatable.memory: memory is 16, less than 16Mi", True, id="a second mistake in amounts"),
    pytest.param({"name": "m", "price": 1, "allocatable": {}}, "shapes[0]: m has neither allocatable nor capacity", False, id="empty amounts"),
    pytest.param(shape("", 1), "shapes[0].name: '' cannot be the value of the label", False, id="empty name"),
    pytest.param(shape("a b", 1), "shapes[0].name: 'a b' cannot be the value of the label", True, id="no name"),
    pytest.param(shape("m", 1, labels={"a": "b c"}), "shapes[0].labels.a: a=b c is not a label", True, id="value of a label"),
    pytest.param(shape("m", 1, taints=[{"key": "a b", "effect": "NoSchedule"}]), "shapes[0].taints[0]: a b= is not a taint", True, id="key of a taint"),
    pytest.param(shape("m", 1, taints=[{"key": "a", "value": "b c", "effect": "NoSchedule"}]), "shapes[0].taints[0]: a=b c is not a taint", True, id="value of a taint"),
    pytest.param(shape("m", 1, zones=[""]), "shapes[0].zones[0]: '' cannot be the name of a zone", True, id="empty zone"),
    pytest.param(shape("m", 1, zones=["a b"]), "shapes[0].zones[0]: 'a b' cannot be the name of a zone", True, id="no zone"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "message", "schema_takes_it"), BAD)
def test_bad_shapes(given: dict[str, Any], message: str, schema_takes_it: bool) -> None:
    found = problems(given)
    assert any(each.startswith(message) for each in found), found
    given = {key: each for key, each in given.items() if each is not None}
    assert is_valid(catalog(given)) == schema_takes_it


def test_all_mistakes_are_reported_together_with_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "shapes.yaml"
    file.write_text(
        "apiVersion: ksched/v1\nkind: Catalog\nshapes:\n"
        "- name: a\n  allocatable: {cpu: 4, memory: 16Gi}\n"
        "- name: b\n  price: 1\n  allocatable:\n    cpu: -4\n    memory: 16Gi\n"
        "- name: b\n  price: 1\n  allocatable: {cpu: 4, memory: 16Gi}\n"
    )
    with pytest.raises(InputError) as caught:
        read_shapes_of(str(file))
    assert [(each.line, each.path) for each in caught.value.problems] == [
        (4, "shapes[0]"),
        (9, "shapes[1].allocatable.cpu"),
        (11, "shapes[2].name"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "empty", id="empty"),
        pytest.param("[]", "not an object", id="a list"),
        pytest.param("kind: Catalog\napiVersion: ksched/v1\nshapes: []", "the catalog has no shape", id="no shape"),
        pytest.param("kind: Node\napiVersion: v1\nshapes: []", "kind", id="another kind"),
    ],
)
def test_a_file_that_is_no_catalog(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "shapes.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        read_shapes_of(str(file))


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(InputError, match="no such file"):
        read_shapes_of("/nowhere/shapes.yaml")


def test_the_schema_takes_a_catalog_with_everything() -> None:
    taints = [{"key": "gpu", "value": "a100", "effect": "NoSchedule"}]
    full = shape("m", "0.1", labels={"a": "b"}, taints=taints, zones=["a"], zoneLabels=["z"], max=2, spot=True)
    reserved = {"kubeReserved": {"cpu": "80m"}, "evictionHard": {"memory.available": "100Mi"}}
    free = shape("free", 0, max=0)
    other = {"name": "n", "price": 1.5, "capacity": {"cpu": 4, "memory": "8Gi"}, "kubelet": reserved}
    document = catalog(full, free, other, unit="EUR/month")
    assert is_valid(document)
    assert len(catalog_of(document).shapes) == 3
