"""`ksched instance-types` as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from tests.builders import make_object, write_list
from tests.cli.karpenter import KARPENTER_DEMO, TYPE
from tests.cli.transcripts import same_as_golden
from tests.running import Ksched

EC2 = ("--cloud", "ec2", "--region", "us-east-1")


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert run(["instance-types", *arguments, "-o", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def names(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert run(["instance-types", *arguments, "-o", "name"]) == 0
    return capsys.readouterr().out.split()


@pytest.mark.parametrize("columns", [80, 140])
def test_transcript(columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    form = "table" if columns == 80 else "wide"
    assert run(["instance-types", *EC2, "m6i*.xlarge", "g4dn.*", "-o", form]) == 0
    same_as_golden(f"instance-types-{columns}", capsys.readouterr().out, columns=columns)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(("m6i.large", "m6i.xlarge"), ["m6i.large", "m6i.xlarge"], id="names"),
        pytest.param(("m6?.large", "--arch", "arm64"), ["m6g.large"], id="architecture"),
        pytest.param(("m6i.*", "--min-cpu", "96"), ["m6i.24xlarge", "m6i.32xlarge", "m6i.metal"], id="cpu"),
        pytest.param(("m6i.*", "--min-memory", "400Gi"), ["m6i.32xlarge", "m6i.metal"], id="memory"),
        pytest.param(("g4dn.xlarge", "m6i.large", "--gpu"), ["g4dn.xlarge"], id="GPU"),
    ],
)
def test_filters(arguments: tuple[str, ...], expected: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert names(capsys, *EC2, *arguments) == expected


def test_the_document_is_a_file_for_instance_types(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("m6i.xlarge: {on-demand: 0.01, spot: {us-east-1a: 0.005}}")
    document = listed(capsys, *EC2, "m6i.*large", "--prices", str(prices))
    catalog = tmp_path / "types.json"
    catalog.write_text(json.dumps(document))
    again = listed(capsys, "--instance-types", str(catalog))
    assert again["instanceTypes"] == document["instanceTypes"]
    first = again["instanceTypes"][0]
    assert first["name"] == "m6i.xlarge"
    assert [each["price"] for each in first["offerings"]] == [0.01, 0.005]


def test_a_table_of_all_types_and_of_some(tmp_path: Path, ksched: Ksched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lacking = [{**TYPE, "name": f"no-{name}", "capacity": {**TYPE["capacity"]}} for name in ("cpu", "memory")]
    for each, name in zip(lacking, ("cpu", "memory"), strict=True):
        del each["capacity"][name]
    Path("types.json").write_text(json.dumps({"instanceTypes": [TYPE, *lacking]}))
    listing = ["instance-types", "--instance-types", "types.json"]
    rows = [
        "NAME       CPU  CPU LEFT  MEMORY  MEMORY LEFT  PODS     $/H",
        "no-cpu       0         0    16Gi         16Gi    50  0.1000",
        "no-memory    4         4       0            0    50  0.1000",
        "small        4         4    16Gi         16Gi    50  0.1000",
    ]
    assert ksched(*listing, code=0).out.splitlines() == ["types.json: 3 instance types, cheapest no-cpu", "", *rows]
    some = ksched(*listing, "no-*", code=0).out.splitlines()
    assert some == ["types.json: 2 of 3 instance types, cheapest no-cpu", "", *rows[:3]]


def test_types_without_a_price_are_the_last(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    catalog = tmp_path / "types.json"
    unpriced = {**TYPE, "name": "a", "offerings": [{"zone": "a"}]}
    catalog.write_text(json.dumps({"instanceTypes": [unpriced, TYPE]}))
    assert names(capsys, "--instance-types", str(catalog)) == ["small", "a"]


def test_the_cloud_of_a_dump(capsys: pytest.CaptureFixture[str]) -> None:
    document = listed(capsys, "--from", KARPENTER_DEMO, "m6i.xlarge")
    assert document["source"] == "EC2 us-east-1"
    assert document["total"] > 1000
    assert "built-in table" in document["coverage"]["autoscalerAssumed"][0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("provider", "zone", "source"),
    [
        pytest.param("aws:///us-east-1a/i-0", "us-east-1a", "EC2 us-east-1", id="EC2"),
        pytest.param("gce://project/us-central1-a/n", "us-central1-a", "Compute Engine us-central1", id="GCE"),
    ],
)
def test_the_region_of_the_zones_of_a_dump(
    provider: str, zone: str, source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = {"topology.kubernetes.io/zone": zone}
    node = make_object("Node", "n", {"providerID": provider}, labels=labels)
    assert listed(capsys, "--from", write_list(tmp_path / "cluster.json", node))["source"] == source


@pytest.mark.parametrize(
    ("provider", "labels", "missing"),
    [
        pytest.param("kind://n", {"topology.kubernetes.io/zone": "us-east-1a"}, "cloud of the nodes", id="no cloud"),
        pytest.param(
            "aws:///us-east-1a/i-0",
            {"topology.kubernetes.io/region": "us-east-1"},
            "region and the zones of the nodes",
            id="no zone",
        ),
        pytest.param(
            "gce://project/a/n",
            {"topology.kubernetes.io/zone": "a"},
            "region and the zones of the nodes",
            id="a zone that names no region",
        ),
    ],
)
def test_a_dump_that_does_not_show_where_the_cluster_is(
    provider: str, labels: dict[str, str], missing: str, tmp_path: Path, ksched: Ksched
) -> None:
    node = make_object("Node", "n", {"providerID": provider}, labels=labels)
    cluster = write_list(tmp_path / "cluster.json", node)
    error = ksched("instance-types", "--from", cluster, code=2).err
    assert f"the input does not show the {missing}" in " ".join(error.split())


def test_prices_of_types_that_the_cloud_of_a_dump_does_not_have(tmp_path: Path, ksched: Ksched) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("m6i.vast: {spot: 1}")
    error = ksched("instance-types", "--from", KARPENTER_DEMO, "--prices", str(prices), code=2).err
    assert "unknown instance types: m6i.vast (not in the built-in types of EC2)" in " ".join(error.split())


@pytest.mark.parametrize("number", [1, 2])
def test_the_settings_of_a_node_class_count_if_it_is_the_only_one(
    number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kubelet = {"kubelet": {"maxPods": 20}}
    classes = [
        {"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": name}, "spec": kubelet}
        for name in "ab"[:number]
    ]
    node = make_object(
        "Node", "n", {"providerID": "aws:///us-east-1a/i-0"}, labels={"topology.kubernetes.io/zone": "us-east-1a"}
    )
    document = listed(capsys, "--from", write_list(tmp_path / "cluster.json", node, *classes), "m6i.xlarge")
    assert document["instanceTypes"][0]["capacity"]["pods"] == ("20" if number == 1 else "58")
    text = "the input has 2 NodeClasses: sizes are those of a NodeClass without settings"
    assert (text in document["coverage"]["autoscalerAssumed"]) == (number == 2)


@pytest.mark.slow
def test_an_unknown_price_of_azure_is_no_price(capsys: pytest.CaptureFixture[str]) -> None:
    document = listed(capsys, "--cloud", "azure", "--region", "westeurope")
    unknown = [each for each in document["instanceTypes"] if each["offerings"][0]["price"] == 999]
    assert unknown
    assert document["instanceTypes"][-len(unknown) :] == unknown
    assert f"the price of {len(unknown)} instance types is not known" in document["coverage"]["autoscalerAssumed"][-1]


def test_the_schema_describes_the_file(ksched: Ksched) -> None:
    assert "InstanceType" in json.loads(ksched("instance-types", "--schema", code=0).out)["$defs"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "one of --cloud, --from and --instance-types"),
        ((*EC2, "--from", KARPENTER_DEMO), 2, "one of --cloud, --from and --instance-types"),
        (("--cloud", "ec3", "--region", "us-east-1"), 2, "expected ec2, azure, gce"),
        (("--cloud", "ec2"), 2, "--cloud needs the region"),
        (("--from", KARPENTER_DEMO, "--region", "us-east-1"), 2, "--region and --zone go with --cloud"),
        ((*EC2, "--zone", "eu-west-1a"), 2, "no zone of region us-east-1"),
        ((*EC2, "--min-cpu", "four"), 2, "--min-cpu: 'four' is not a quantity"),
        ((*EC2, "--prices", "none.yaml"), 2, "none.yaml: cannot be read"),
        ((*EC2, "m6j.*"), 1, "0 of 1,180 instance types"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], code: int, words: str, ksched: Ksched) -> None:
    shown = ksched("instance-types", *arguments, code=code)
    assert words in " ".join((shown.out + shown.err).split())


def test_a_cluster_outside_a_known_cloud(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"providerID": "kind://docker/n"}}
    assert run(["instance-types", "--from", write_list(tmp_path / "cluster.json", node)]) == 2
    assert "the input does not show the cloud of the nodes" in capsys.readouterr().err


def test_prices_of_types_that_a_catalog_lacks_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    catalog, prices = tmp_path / "types.json", tmp_path / "prices.yaml"
    offering = {"zone": "a", "capacityType": "on-demand", "price": 1}
    catalog.write_text(
        json.dumps({"instanceTypes": [{"name": "small", "capacity": {"cpu": "1"}, "offerings": [offering]}]})
    )
    prices.write_text("small: {on-demand: 2}")
    (found,) = listed(capsys, "--instance-types", str(catalog), "--prices", str(prices))["instanceTypes"]
    assert (found["name"], found["offerings"][0]["price"]) == ("small", 2)
    prices.write_text("large: {on-demand: 2}")
    assert run(["instance-types", *EC2, "m6i.large", "--prices", str(prices)]) == 2
    assert "large" in capsys.readouterr().err
    assert run(["instance-types", "--instance-types", str(catalog), "--prices", str(prices)]) == 2
    assert "large" in capsys.readouterr().err
