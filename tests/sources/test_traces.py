"""Tables of a trace become nodes and pods: fields, arrival, filling, and what is wrong in a table."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ksched_cli.cli.main import run
from ksched_cli.errors import InputError, UsageError
from ksched_cli.simulator import Simulator
from ksched_cli.sources.traces import BUILT_IN, TraceMapping, read_mapping, read_trace, with_words
from tests.running import Ksched

NODES = "sn,cpu_milli,memory_mib,gpu,model\nn-0,64000,262144,2,P100\nn-1,96000,1024,0,\n"
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time\n"
    "late,4000,100,1,500,V100M16|V100M32,90\n"
    "early,2000,200,0,0,,5\n"
)
COUNT, MILLI, MODEL = (f"alibabacloud.com/gpu-{what}" for what in ("count", "milli", "card-model"))


def tables(folder: Path, nodes: str = NODES, pods: str = PODS) -> tuple[str, str]:
    (folder / "nodes.csv").write_text(nodes)
    (folder / "pods.csv").write_text(pods)
    return str(folder / "nodes.csv"), str(folder / "pods.csv")


def trace(folder: Path, **how: Any) -> dict[str, list[dict[str, Any]]]:
    texts = {key: how.pop(key) for key in ("nodes", "pods") if key in how}
    items = read_trace(*tables(folder, **texts), how.pop("mapping", BUILT_IN["openb"]), **how)["items"]
    return {kind: [each for each in items if each["kind"] == kind] for kind in ("Node", "Pod")}


def names(found: dict[str, list[dict[str, Any]]]) -> list[str]:
    return [each["metadata"]["name"] for each in found["Pod"]]


def test_a_node_has_the_resources_and_the_model_of_its_row(tmp_path: Path) -> None:
    with_gpus, without = trace(tmp_path)["Node"]
    assert with_gpus["status"]["allocatable"] == {"cpu": "64000m", "memory": "262144Mi", "pods": "1001", COUNT: "2"}
    assert with_gpus["metadata"]["labels"][MODEL] == "P100"
    assert MODEL not in without["metadata"]["labels"]


def test_pods_arrive_by_time_one_second_apart(tmp_path: Path) -> None:
    found = trace(tmp_path)
    assert names(found) == ["early", "late"]
    assert [each["metadata"]["creationTimestamp"][-3:] for each in found["Pod"]] == ["00Z", "01Z"]
    early, late = found["Pod"]
    assert late["metadata"]["annotations"] == {COUNT: "1", MILLI: "500", MODEL: "V100M16|V100M32"}
    assert early["metadata"]["annotations"] == {COUNT: "0", MILLI: "0"}
    assert late["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "4000m", "memory": "100Mi"}


MANY = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time\n" + "".join(
    f"p{number:02},100,1,1,{100 + number % 5 * 100},,{number}\n" for number in range(30)
)


def test_a_seed_draws_the_order(tmp_path: Path) -> None:
    first, again, other = (names(trace(tmp_path, pods=MANY, seed=seed)) for seed in (1, 1, 2))
    assert first == again != other
    assert sorted(first) == sorted(other) == names(trace(tmp_path, pods=MANY))


@pytest.mark.parametrize("share", [0.5, 2.0, 6.5])
def test_filling_draws_pods_again_or_leaves_some_out(tmp_path: Path, share: float) -> None:
    found = trace(tmp_path, pods=MANY, seed=3, fill=share)
    sizes = [int(each["metadata"]["annotations"][MILLI]) for each in found["Pod"]]
    assert share * 2000 - 500 < sum(sizes) <= share * 2000
    assert max(Counter(names(found)).values()) == 1
    assert any("-copy-" in name for name in names(found)) == (sum(sizes) > 9000)


def test_a_mapping_of_ones_own(tmp_path: Path) -> None:
    mapping = tmp_path / "mine.yaml"
    mapping.write_text(
        'nodes: {name: "{machine}", resources: {cpu: "{cores}", pods: "110"}}\n'
        'pods:\n  name: "{job}-{task}"\n  requests: {cpu: "{cpu}"}\n  labels: {user: "{user}"}\n'
        '  nodeSelector: {pool: "{pool}"}\n'
    )
    found = trace(
        tmp_path,
        nodes="machine,cores\na,8\n",
        pods="job,task,cpu,user,pool\nj,1,2,ann,\nj,0,1,,gpu\n",
        mapping=read_mapping(str(mapping)),
    )
    assert names(found) == ["j-1", "j-0"]
    first, second = found["Pod"]
    assert first["metadata"]["labels"] == {"user": "ann"}
    assert "labels" not in second["metadata"]
    assert second["spec"]["nodeSelector"] == {"pool": "gpu"}
    assert "nodeSelector" not in first["spec"]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        pytest.param({"nodes": "sn,cpu\nn,1\n"}, "nodes.csv:1: no column gpu (its columns are sn, cpu)", id="other columns"),
        pytest.param({"pods": ""}, "pods.csv: the table has no rows", id="empty"),
        pytest.param({"pods": PODS.replace("late,4000", "late")}, "pods.csv:2: the row has another number of cells", id="ragged"),
        pytest.param({"pods": PODS.replace(",90", ",soon")}, "pods.csv:2: the time of arrival is 'soon'", id="time"),
        pytest.param({"pods": PODS.replace(",1,500", ",1,half"), "fill": 2.0}, "column gpu_milli has 'half', not a number", id="size"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_table(tmp_path: Path, texts: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        trace(tmp_path, **texts)
    assert message in str(raised.value)


def test_all_missing_columns_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        trace(tmp_path, nodes="sn\nn\n", pods="name\np\n")
    assert len(raised.value.problems) == 4 + 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("nodes: {name: a}", "missing required field `resources`", id="no resources"),
        pytest.param("nodes: {name: a, resources: {}, colour: b}", "unknown field `colour`", id="unknown field"),
        pytest.param("[", "broken YAML", id="broken"),
    ],
)
def test_what_is_wrong_in_a_mapping(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(InputError, match=message):
        read_mapping(str(tmp_path / "mine.yaml"))


def test_neither_a_file_nor_built_in() -> None:
    with pytest.raises(UsageError, match="neither a file nor a built-in mapping"):
        read_mapping("none")


def test_the_command_makes_a_cluster_that_simulate_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = str(tmp_path / "cluster.json")
    assert run(["trace", *tables(tmp_path), "--seed", "1", "-o", made]) == 0
    assert capsys.readouterr().out.endswith("cluster.json: 2 nodes, 2 pods\n")
    assert run(["trace", *tables(tmp_path), "--seed", "1", "-o", "-"]) == 0
    assert capsys.readouterr().out == Path(made).read_text()
    assert run(["simulate", "--from", made, "-o", "json"]) == 0
    assert [each["result"] for each in json.loads(capsys.readouterr().out)["pods"]] == ["scheduled", "scheduled"]


def test_a_table_of_the_trace_is_not_overwritten(tmp_path: Path, ksched: Ksched) -> None:
    nodes, pods = tables(tmp_path)
    for path in (nodes, pods):
        assert path in ksched("trace", nodes, pods, "-o", path, code=2).err
    assert (Path(nodes).read_text(), Path(pods).read_text()) == (NODES, PODS)


def published(folder: Path) -> str:
    """A folder as the trace of 2023 is published."""
    (folder / "csv").mkdir()
    (folder / "csv" / "openb_node_list_gpu_node.csv").write_text(NODES)
    (folder / "csv" / "openb_pod_list_default.csv").write_text(PODS)
    (folder / "csv" / "openb_pod_list_many.csv").write_text(MANY)
    return f"openb:{folder}"


@pytest.mark.parametrize(
    ("words", "pods"),
    [("", 2), ("?workload=many", 30), ("?workload=many&fill=0.5&seed=3", None), ("?seed=1", 2)],
)
def test_a_trace_is_a_source(tmp_path: Path, words: str, pods: int | None) -> None:
    found = Simulator.load(f"{published(tmp_path)}{words}")
    assert len(found.nodes) == 2
    assert len(found.pods) == pods if pods is not None else 0 < len(found.pods) < 30


def test_two_tables_and_a_mapping_are_a_source(tmp_path: Path) -> None:
    nodes, pods = tables(tmp_path)
    assert len(Simulator.load(f"trace:{nodes},{pods}?mapping=openb&seed=5").pods) == 2


def test_a_seed_draws_which_of_equal_nodes_is_first(tmp_path: Path) -> None:
    many = "sn,cpu_milli,memory_mib,gpu,model\n" + "".join(f"n-{number},64000,262144,2,P100\n" for number in range(20))
    orders = []
    for seed in (1, 1, 2):
        drawn = [each["metadata"]["name"] for each in trace(tmp_path, nodes=many, seed=seed)["Node"]]
        assert [name.partition("-")[2] for name in drawn] == [f"n-{number}" for number in range(20)]
        orders.append(sorted(range(20), key=drawn.__getitem__))
    assert orders[0] == orders[1] != orders[2]
    assert orders[0] != list(range(20))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param("?workload=other", "there is no workload other in this folder (it has default, many)", id="workload"),
        pytest.param("?seed=x", "seed is 'x', not a whole number", id="seed"),
        pytest.param("?fill=0", "fill is '0', not a number above 0", id="fill"),
        pytest.param("?colour=red", "'colour=red' is none of workload=..., seed=..., fill=...", id="key"),
        pytest.param("?seed", "'seed' is none of workload=..., seed=..., fill=...", id="no value"),
        pytest.param("?seed=1&seed=2", "'seed=2' is none of workload=..., seed=..., fill=...", id="twice"),
        pytest.param("/none", "there is no openb_node_list_gpu_node.csv in this folder", id="folder"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_source(tmp_path: Path, words: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        Simulator.load(f"{published(tmp_path)}{words}")
    assert message in str(raised.value)


def test_a_source_with_one_table(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a trace has two tables"):
        Simulator.load("trace:nodes.csv")


def test_a_table_with_other_columns_is_named_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = published(tmp_path)
    (tmp_path / "csv" / "openb_pod_list_default.csv").write_text("job,cpu\na,1\n")
    assert run(["simulate", "--from", source]) == 2
    assert "openb_pod_list_default.csv:1: no column cpu_milli (its columns are job, cpu)" in capsys.readouterr().err


def test_tables_that_are_not_there(tmp_path: Path, ksched: Ksched) -> None:
    said = ksched("trace", str(tmp_path / "none.csv"), *tables(tmp_path)[1:], code=2).err
    assert f"cannot read {tmp_path}/none.csv: no such file or directory" in said


def sized(node: str = "cpu", pod: str = "cpu", **labels: str) -> TraceMapping:
    """A mapping of tables with the columns name and cpu, which are as large as these columns say."""
    fields: dict[str, Any] = {"name": "{name}", "resources": {"cpu": "{cpu}"}}
    pods = {"name": "{name}", "requests": {"cpu": "{cpu}"}, "labels": labels}
    return msgspec.convert({"nodes": fields, "pods": pods, "fill": {"node": node, "pod": pod}}, TraceMapping)


@pytest.mark.parametrize(
    ("nodes", "pods", "expected"),
    [
        pytest.param(10, "a,4\nb,6\n", ["a", "b"], id="as large as the nodes"),
        pytest.param(30, "a,10\n", ["a", "a-copy-0", "a-copy-1"], id="copies up to the size of the nodes"),
        pytest.param(29, "a,10\n", ["a", "a-copy-0"], id="the next copy would be too much"),
        pytest.param(9, "a,10\n", [], id="none fits"),
    ],
)
def test_how_many_pods_fill_the_nodes(nodes: int, pods: str, expected: list[str], tmp_path: Path) -> None:
    found = trace(tmp_path, nodes=f"name,cpu\nn,{nodes}\n", pods=f"name,cpu\n{pods}", mapping=sized(), fill=1)
    assert names(found) == expected


def test_a_pod_without_a_size_is_one_of_many(tmp_path: Path) -> None:
    found = trace(tmp_path, nodes="name,cpu\nn,10\n", pods="name,cpu\na,0\nb,10\n", mapping=sized(), fill=1)
    assert names(found)[:2] == ["a", "b"]


@pytest.mark.parametrize(
    ("pods", "mapping", "message"),
    [
        pytest.param("a,1\n", sized(pod="cpu * gpus"), "no column gpus", id="no such column"),
        pytest.param("a,1.2.3\n", sized(), "column cpu has '1.2.3', not a number", id="no number"),
        pytest.param("a,0\n", sized(), "the pods have no size", id="no size"),
    ],
)
def test_what_cannot_fill_the_nodes(pods: str, mapping: TraceMapping, message: str, tmp_path: Path) -> None:
    texts = {"nodes": "name,cpu\nn,10\n", "pods": f"name,cpu\n{pods}"}
    with pytest.raises((InputError, UsageError)) as raised:
        trace(tmp_path, **texts, mapping=mapping, fill=1)
    assert message in str(raised.value)
    assert names(trace(tmp_path, **texts, mapping=mapping)) == ["a"]


def test_a_text_of_two_columns_of_which_one_is_empty(tmp_path: Path) -> None:
    mapping = sized(of="{name}-{cpu}")
    found = trace(tmp_path, nodes="name,cpu\nn,10\n", pods="name,cpu\na,\n", mapping=mapping)
    assert [each["metadata"]["labels"] for each in found["Pod"]] == [{"of": "a-"}]


def test_at_most_ten_rows_of_another_length_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        trace(tmp_path, nodes="name,cpu\nn,10\n", pods="name,cpu\n" + "a\n" * 12, mapping=sized())
    assert [problem.line for problem in raised.value.problems] == [*range(2, 12)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("trace:a", "trace:a?seed=5"), ("trace:a?seed=1&fill=2", "trace:a?seed=5&fill=2"), ("a?x=1&", "a?x=1&seed=5")],
)
def test_other_words_of_a_source(text: str, expected: str) -> None:
    assert with_words(text, seed="5") == expected
