"""How much pods may request, held against the scheduler."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from ksched_cli.api.quantity import milli_value, value
from ksched_cli.errors import InputError
from ksched_cli.plan.rightsize import Rightsizing
from ksched_cli.report.view.rightsize import limit_lines
from tests.builders import make_node, make_workload
from tests.lanes import sampled
from tests.plan.size.cases import catalog, daemon_set, load, node, pending, shape

GIB = 2**30


def deployment(name: str, replicas: int, cpu: str, memory: str = "1Gi") -> dict[str, Any]:
    return make_workload("Deployment", name, requests={"cpu": cpu, "memory": memory}, replicas=replicas)


def rightsize(objects: list[Any], *manifests: dict[str, Any], offers: Any = None) -> Rightsizing:
    return load(objects).apply(*manifests).rightsize(offers)


def limits(found: Rightsizing) -> dict[str, int | None]:
    (first, *_) = found.workloads
    return {resource: first.most.get(resource) for resource in first.requests}


TWO = [node(f"n{at}", cpu="4", memory="16Gi", pods=20) for at in range(2)]


def test_the_most_that_fits_now() -> None:
    found = rightsize(TWO, deployment("web", 4, "1"))
    assert (found.workloads[0].placed, found.fits) == (4, True)
    assert limits(found) == {"cpu": 2000, "memory": 8 * GIB}


def test_less_is_needed_where_the_pods_do_not_fit() -> None:
    found = rightsize(TWO, deployment("web", 6, "2"))
    assert not found.fits
    assert (found.workloads[0].placed, limits(found)["cpu"]) == (4, 1333)
    assert "Insufficient cpu" in found.workloads[0].message


def test_all_workloads_have_to_fit() -> None:
    found = rightsize(TWO, deployment("web", 1, "1"), deployment("large", 1, "9"))
    assert [each.fits for each in found.workloads] == [True, False]
    assert not found.fits


def test_a_refused_pod_of_the_manifests_is_named_before_one_of_the_cluster() -> None:
    manifest = deployment("web", 1, "1")
    manifest["spec"]["template"]["spec"]["priorityClassName"] = "none"
    first = {**manifest, "metadata": {"name": "first"}}
    with pytest.raises(InputError, match=r"there is no request to size; the API server refuses default/web-\S+ \(Prio"):
        rightsize(TWO, first, manifest)


def test_what_it_finds_fits_and_one_more_does_not() -> None:
    objects = [*TWO, pending("other", cpu="1500m", memory="1Gi")]
    most = limits(rightsize(objects, deployment("web", 5, "100m")))["cpu"]
    assert most is not None
    fits = load(objects).apply(deployment("web", 5, f"{most}m")).simulate(detail=False)
    larger = load(objects).apply(deployment("web", 5, f"{most + 1}m")).simulate(detail=False)
    assert [outcome.pod for outcome in fits.unplaced] == []
    assert [outcome.pod for outcome in larger.unplaced] != []


def test_no_request_helps_pods_that_something_else_keeps_out() -> None:
    manifest = deployment("web", 1, "1")
    manifest["spec"]["template"]["spec"]["nodeSelector"] = {"disk": "ssd"}
    assert limits(rightsize(TWO, manifest)) == {"cpu": None, "memory": None}


def test_an_odd_request_strands_the_rest_of_a_node() -> None:
    offers = catalog(shape("m", "0.12"), shape("tainted", 1, taints=[{"key": "gpu", "effect": "NoSchedule"}]))
    (web,) = rightsize([*TWO, daemon_set("agent", "100m")], deployment("web", 1, "1300m"), offers=offers).workloads
    fit, closed = web.shapes
    assert (fit.pods, fit.price_per_pod) == (3, Decimal("0.04"))
    assert (fit.most["cpu"], fit.one_more, fit.stranded["cpu"], fit.stranded_percent["cpu"]) == (
        1300,
        {"cpu": 975},
        0,
        0,
    )
    assert (closed.pods, closed.why_not) == (0, "node(s) had untolerated taint(s)")
    (odd,) = rightsize(TWO, deployment("web", 1, "1100m"), offers=offers).workloads
    assert (odd.shapes[0].pods, odd.shapes[0].stranded["cpu"], odd.shapes[0].stranded_percent["cpu"]) == (3, 700, 17)


def test_without_a_catalog_the_shapes_are_those_of_the_nodes() -> None:
    (web,) = rightsize(TWO, deployment("web", 1, "1")).workloads
    assert [(each.shape, each.pods, each.price_per_pod) for each in web.shapes] == [("cpu4-memory16", 4, None)]


def test_the_shapes_of_nodes_with_labels_of_their_zone() -> None:
    """GKE and EBS label a node with its zone under a key of their own, too."""
    keys = ("topology.kubernetes.io/zone", "topology.gke.io/zone", "topology.ebs.csi.aws.com/zone")
    nodes = [make_node(f"n{number}").allocatable(cpu=4, memory="16Gi") for number in range(4)]
    labelled = [each.spec() for each in nodes]
    for number, each in enumerate(labelled):
        for key in keys:
            each.label(key, f"z{number % 2}")
    (web,) = rightsize([each.doc() for each in labelled], deployment("web", 1, "1")).workloads
    assert [(each.shape, each.pods) for each in web.shapes] == [("cpu4-memory16", 4)]


def test_the_container_that_requests_most_gets_the_difference() -> None:
    manifest = deployment("web", 2, "1")
    sidecar = {"name": "proxy", "image": "i", "resources": {"requests": {"cpu": "500m"}}}
    manifest["spec"]["template"]["spec"]["containers"].append(sidecar)
    assert limits(rightsize(TWO, manifest))["cpu"] == 4000


def test_a_daemon_set_has_no_request_to_size() -> None:
    with pytest.raises(InputError, match="no pod that is pending"):
        rightsize(TWO, daemon_set("agent", "100m"))


@pytest.mark.parametrize(
    ("resource", "step"), [pytest.param("cpu", 1, id="cpu"), pytest.param("memory", 2**20, id="memory")]
)
@pytest.mark.parametrize("replicas", sampled([1, 3, 7], 3))
def test_a_printed_limit_fits_and_one_step_more_does_not(replicas: int, resource: str, step: int) -> None:
    objects = [node("n0", cpu="3930m", memory="15100Mi", pods=20), node("n1", cpu="4", memory="16Gi", pods=20)]
    (workload,) = rightsize(objects, deployment("web", replicas, "100m", "100Mi")).workloads
    (line,) = [each for each in limit_lines(workload) if each.startswith(resource)]
    printed = line.split("up to ")[1].split()[0]
    amount = milli_value(printed) if resource == "cpu" else value(printed)
    larger = f"{amount + step}m" if resource == "cpu" else str(amount + step)
    own = {"cpu": "100m", "memory": "100Mi"}

    def left(text: str) -> list[Any]:
        run = load(objects).apply(deployment("web", replicas, **{**own, resource: text}))
        return list(run.simulate(detail=False).unplaced)

    assert left(printed) == []
    assert left(larger) != []
