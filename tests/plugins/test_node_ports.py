from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from ksched_cli.cluster.pod_info import host_ports_of
from ksched_cli.plugins.node_ports import NodePorts, NodePortsReasons
from tests.builders import make_node, make_pod
from tests.clusters import clusters
from tests.harness import make_bench
from tests.lanes import examples

TAKEN = ("Unschedulable", ("node(s) didn't have free ports for the requested pod ports",))


@pytest.mark.parametrize(
    ("wanted", "used", "clash"),
    [
        pytest.param((80, "TCP", ""), (81, "TCP", ""), False, id="another port"),
        pytest.param((80, "TCP", ""), (80, "TCP", ""), True, id="the same port"),
        pytest.param((80, "TCP", ""), (80, "UDP", ""), False, id="another protocol"),
        pytest.param((80, "TCP", "10.0.0.1"), (80, "TCP", "10.0.0.2"), False, id="another address"),
        pytest.param((80, "TCP", "10.0.0.1"), (80, "TCP", "10.0.0.1"), True, id="the same address"),
        pytest.param((80, "TCP", "10.0.0.1"), (80, "TCP", ""), True, id="all addresses are taken"),
        pytest.param((80, "TCP", "0.0.0.0"), (80, "TCP", "10.0.0.1"), True, id="all addresses are wanted"),
    ],
)
def test_filter(wanted: Any, used: Any, clash: bool) -> None:
    running = make_pod("r").host_port(*used).on("n").obj()
    made = make_bench(NodePorts, [make_node("n").obj()], make_pod().host_port(*wanted).obj(), [running])
    assert made.statuses() == ({"n": TAKEN} if clash else {})


@pytest.mark.parametrize(
    ("wanted", "used", "clash"),
    [
        pytest.param([(80, "UDP", ""), (81, "UDP", "")], [(81, "UDP", "")], True, id="the second of those wanted"),
        pytest.param([(80, "TCP", "")], [(79, "TCP", ""), (80, "TCP", "")], True, id="the second of those taken"),
        pytest.param(
            [(80, "TCP", "10.0.0.1"), (81, "TCP", "0.0.0.0")],
            [(81, "TCP", "10.0.0.9")],
            True,
            id="all addresses of one",
        ),
        pytest.param(
            [(80, "TCP", "10.0.0.1"), (80, "UDP", "10.0.0.1")],
            [(80, "TCP", "10.0.0.2"), (80, "SCTP", "")],
            False,
            id="another address or another protocol each",
        ),
    ],
)
def test_several_ports(wanted: list[Any], used: list[Any], clash: bool) -> None:
    running, pod = make_pod("r").on("n"), make_pod()
    for port in used:
        running.host_port(*port)
    for port in wanted:
        pod.host_port(*port)
    made = make_bench(NodePorts, [make_node("n").obj(), make_node("free").obj()], pod.obj(), [running.obj()])
    assert made.statuses() == ({"n": TAKEN} if clash else {})


def test_skips_a_pod_without_host_ports() -> None:
    assert make_bench(NodePorts, [make_node().obj()], make_pod().obj()).pre_filter().skipped


def test_a_sidecars_port_counts_and_an_init_containers_does_not() -> None:
    port = {"ports": [{"containerPort": 80, "hostPort": 80}]}
    sidecar = make_pod().init(restartPolicy="Always", **port).obj()
    init = make_pod().init(**port).obj()
    running = [make_pod("r").host_port(80).on("n").obj()]
    assert make_bench(NodePorts, [make_node("n").obj()], sidecar, running).statuses() == {"n": TAKEN}
    assert make_bench(NodePorts, [make_node("n").obj()], init, running).statuses() == {}


def test_on_the_hosts_network_every_port_is_a_host_port() -> None:
    pod = make_pod().spec(hostNetwork=True, containers=[{"name": "c", "ports": [{"containerPort": 80}]}]).obj()
    running = [make_pod("r").host_port(80).on("n").obj()]
    assert make_bench(NodePorts, [make_node("n").obj()], pod, running).statuses() == {"n": TAKEN}


def test_explain_names_the_ports() -> None:
    running = [make_pod("r").host_port(82).host_port(80).on("n").obj(), make_pod("s").host_port(83).on("n").obj()]
    made = make_bench(NodePorts, [make_node("n").obj()], make_pod().host_port(80).host_port(81).obj(), running)
    assert made.plugin.explain(made.state(), made.pod, made.nodes(), 0) == {
        "ports": [{"port": "0.0.0.0:80/TCP", "heldBy": ["default/r"]}]
    }


def test_explain_names_those_that_hold_the_port_at_the_same_address() -> None:
    holding = {"any": "", "same": "10.0.0.1", "other": "10.0.0.2"}
    running = [make_pod(name).host_port(80, address=address).on("n").obj() for name, address in holding.items()]
    running += [make_pod(name).host_port(port, "UDP").on("n").obj() for name, port in (("udp", 80), ("dns", 53))]
    pod = make_pod().host_port(80, address="10.0.0.1").obj()
    made = make_bench(NodePorts, [make_node("n").obj()], pod, running)
    assert made.plugin.explain(made.state(), made.pod, made.nodes(), 0) == {
        "ports": [{"port": "10.0.0.1:80/TCP", "heldBy": ["default/any", "default/same"]}]
    }


@pytest.mark.slow
@given(clusters())
@settings(max_examples=examples(150), deadline=None)
def test_agrees_with_the_plain_reading(drawn: Any) -> None:
    nodes, running, pod = drawn

    def ports(each: Any) -> list[tuple[str, str, int]]:
        return [(p.host_ip or "0.0.0.0", p.protocol, p.host_port) for c in each.spec.containers for p in c.ports]

    def clashes(a: tuple[str, str, int], b: tuple[str, str, int]) -> bool:
        return a[1:] == b[1:] and (a[0] == b[0] or "0.0.0.0" in (a[0], b[0]))

    rejected = {other.spec.node_name for other in running for a in ports(pod) for b in ports(other) if clashes(a, b)}
    assert set(make_bench(NodePorts, nodes, pod, running).statuses()) == rejected


@pytest.mark.parametrize(
    ("ports", "path"),
    [
        pytest.param(
            [(80, "TCP"), (81, "TCP")], ("spec", "containers", 0, "ports", 1, "hostPort"), id="the one that is taken"
        ),
        pytest.param([], ("spec", "containers"), id="no port"),
    ],
)
def test_the_field_of_a_port(ports: list[tuple[int, str]], path: tuple[str | int, ...]) -> None:
    pod = make_pod()
    for port in ports:
        pod.host_port(*port)
    field = NodePortsReasons.port_taken.field
    assert field is not None
    assert field(pod.obj(), (), {"ports": [{"port": "81/TCP"}]}) == path


def test_without_figures_it_is_the_first_host_port() -> None:
    pod = make_pod().container(image="i", ports=[{"containerPort": 8080}, {"containerPort": 1, "hostPort": 82}]).obj()
    field = NodePortsReasons.port_taken.field
    assert field is not None
    assert field(pod, (), {}) == ("spec", "containers", 1, "ports", 1, "hostPort")


def test_port_1_of_the_host_is_a_port() -> None:
    assert [port[-1] for port in host_ports_of(make_pod().host_port(1).obj())] == [1]
