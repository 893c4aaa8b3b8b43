"""Inputs that are wrong, empty or made by other tools: the exit code and the first line of each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from tests.builders import make_node, make_pod
from tests.cli.inputs import (
    BUDGET,
    CONFIG,
    LARGE,
    NODE,
    POD,
    PRIORITY,
    SERVICE,
    STATUS,
    TABLE,
    autoscaler,
    deployment,
    dumped,
    first_line,
    lay_out,
)
from tests.running import Ksched

Files = Mapping[str, str]
CASES: list[Any] = []


def case(name: str, files: Files, arguments: str, code: int, line: str) -> None:
    """`arguments` come after `--from cluster.yaml`, unless they have a --from of their own."""
    CASES.append(pytest.param(files, arguments, code, line, id=name))


WEB = dumped(deployment())
case("it fits", {"m.yaml": WEB}, "check -f m.yaml", 0, "Deployment default/web: fits, 1 of 1 pod has a node")
case("it does not", {"m.yaml": dumped(LARGE)}, "check -f m.yaml", 1, "Pod default/large: fails, 0 of 1 pod has a node")
case("an empty file", {"m.yaml": ""}, "check -f m.yaml", 2, "m.yaml: error KS001: a file cannot be read")
case("comments only", {"m.yaml": "# nothing\n"}, "check -f m.yaml", 2, "m.yaml: error KS010: nothing was checked")
case("no such file", {}, "check -f m.yaml", 2, "m.yaml: error KS001: a file cannot be read")
case("not YAML", {"m.yaml": "a: [\n"}, "check -f m.yaml", 2, "m.yaml:2: error KS001: a file cannot be read")
case("not text", {"m.yaml": "\0\0"}, "check -f m.yaml", 2, "m.yaml: error KS001: a file cannot be read")
case(
    "one bad file of two",
    {"d/a.yaml": "a: [\n", "d/b.yaml": WEB},
    "check -f d",
    2,
    "d/a.yaml:2: error KS001: a file cannot be read",
)
case(
    "a wrong type",
    {"m.yaml": WEB.replace("replicas: 1", "replicas: many")},
    "check -f m.yaml",
    2,
    "m.yaml:6: error KS002: an object is not valid",
)
case(
    "a wrong quantity",
    {"m.yaml": WEB.replace("cpu: '1'", "cpu: lots")},
    "check -f m.yaml",
    2,
    "m.yaml:19: error KS002: an object is not valid",
)
case(
    "a misspelt kind",
    {"m.yaml": WEB.replace("kind: Deployment", "kind: Deployement")},
    "check -f m.yaml",
    2,
    "m.yaml:1: error KS004: the API server knows no such kind",
)
case(
    "the kind of another group",
    {"m.yaml": WEB.replace("apps/v1", "v1")},
    "check -f m.yaml",
    2,
    "m.yaml:1: error KS004: the API server knows no such kind",
)
case(
    "a removed version",
    {"m.yaml": WEB.replace("apps/v1", "extensions/v1beta1")},
    "check -f m.yaml",
    2,
    "m.yaml:1: error KS005: the API server does not serve this version",
)
case("a Status", {"m.yaml": dumped(STATUS)}, "check -f m.yaml", 2, "m.yaml:1: error KS002: an object is not valid")
case("a Table", {"m.yaml": dumped(TABLE)}, "check -f m.yaml", 2, "m.yaml:1: error KS002: an object is not valid")
case(
    "a Status as the cluster",
    {"c.yaml": dumped(STATUS), "m.yaml": WEB},
    "check --from c.yaml -f m.yaml",
    2,
    "ksched: c.yaml:1: this is a Status of the API server, not an object: nodes is forbidden "
    "(run the command that wrote the file again)",
)
case("no workload", {"m.yaml": dumped(CONFIG)}, "check -f m.yaml", 2, "m.yaml: error KS010: nothing was checked")
case(
    "no workload, and that is meant",
    {"m.yaml": dumped(CONFIG)},
    "check -f m.yaml --allow-empty",
    0,
    "no workload changes: no pods or workloads in the manifests (1 node)",
)
case(
    "simulate without a workload",
    {"m.yaml": dumped(CONFIG)},
    "simulate -f m.yaml",
    2,
    "ksched: m.yaml: nothing to place: the manifests have 1 ConfigMap and no pod or workload "
    "(--allow-empty exits with code 0)",
)
case(
    "simulate with a misspelt kind",
    {"m.yaml": WEB.replace("kind: Deployment", "kind: Deployement")},
    "simulate -f m.yaml",
    2,
    "ksched: m.yaml:1: Deployement web: there is no kind Deployement in apps/v1 (did you mean Deployment?)",
)
case(
    "diff without a workload",
    {"m.yaml": dumped(CONFIG)},
    "diff -f m.yaml",
    2,
    "ksched: m.yaml: nothing to place: the manifests have 1 ConfigMap and no pod or workload "
    "(--allow-empty exits with code 0)",
)
case(
    "no node",
    {"c.yaml": dumped(POD)},
    "simulate --from c.yaml",
    2,
    "ksched: c.yaml: the input has no Node: it has 1 Pod (dump the nodes too: kubectl get nodes,pods -A -o json)",
)
case(
    "check without a node",
    {"c.yaml": dumped(POD), "m.yaml": WEB},
    "check --from c.yaml -f m.yaml",
    2,
    "ksched: c.yaml: the input has no Node: it has 1 Pod (dump the nodes too: kubectl get nodes,pods -A -o json)",
)
case(
    "capacity without a node",
    {"c.yaml": dumped(POD), "m.yaml": WEB},
    "capacity --from c.yaml -f m.yaml",
    2,
    "ksched: c.yaml: the input has no Node: it has 1 Pod (dump the nodes too: kubectl get nodes,pods -A -o json)",
)
case(
    "simulate in a namespace that is not there",
    {"c.yaml": dumped(NODE, POD)},
    "simulate --from c.yaml -n defualt",
    2,
    "ksched: -n defualt: nothing of the input is in namespace defualt (did you mean default?)",
)
case(
    "check of another namespace",
    {"m.yaml": dumped(deployment(metadata={"name": "web", "namespace": "shop"}))},
    "check -f m.yaml -n nope",
    2,
    "m.yaml: error KS010: nothing was checked",
)
case(
    "a folder in another folder",
    {"d/e/m.yaml": WEB},
    "check -f d",
    2,
    "d: error KS001: a file cannot be read",
)
case("-R", {"d/e/m.yaml": WEB}, "check -f d -R", 0, "Deployment default/web: fits, 1 of 1 pod has a node")
case(
    "the folders below",
    {"d/m.yaml": WEB, "d/e/m.yaml": WEB, "d/f/m.yaml": WEB},
    "check -f d",
    0,
    "d: note KS007: files are not read",
)
case(
    "settings of another tool",
    {"d/m.yaml": WEB, "d/package.json": '{"name": "x"}', "d/values.yaml": "a: 1\n"},
    "check -f d",
    0,
    "d/package.json: note KS007: files are not read",
)
case(
    "settings of another tool only",
    {"d/package.json": '{"name": "x"}'},
    "check -f d",
    2,
    "d/package.json: note KS007: files are not read",
)
case(
    "two variants",
    {"d/prod/m.yaml": WEB, "d/test/m.yaml": WEB},
    "check -R -f d",
    2,
    "d/test/m.yaml:1: error KS003: two manifests have the same object",
)
case(
    "one of two variants",
    {"d/prod/m.yaml": WEB, "d/test/m.yaml": WEB},
    "check -R -f d --exclude test",
    0,
    "Deployment default/web: fits, 1 of 1 pod has a node",
)
case(
    "a folder that a must-gather has, too",
    {"d/a.yaml": dumped(LARGE), "d/cluster-scoped-resources/b.yaml": dumped(CONFIG)},
    "check -R -f d",
    1,
    "Pod default/large: fails, 0 of 1 pod has a node",
)
case(
    "a kustomization",
    {"d/kustomization.yaml": "resources: [m.yaml]\n", "d/base/m.yaml": WEB},
    "check -f d",
    2,
    "d/kustomization.yaml:1: warning KS008: another tool has to make manifests of it first",
)
case(
    "a Helm chart",
    {"d/Chart.yaml": "apiVersion: v2\nname: shop\n", "d/values.yaml": "a: 1\n"},
    "check -f d",
    2,
    "d/Chart.yaml:1: error KS008: another tool has to make manifests of it first",
)
case(
    "a Helm template",
    {"c/templates/m.yaml": WEB.replace("name: web\n", "name: {{ .Values.name }}\n", 1)},
    "check -f c/templates",
    2,
    "c/templates/m.yaml:4: error KS008: another tool has to make manifests of it first",
)
case(
    "Jsonnet",
    {"m.jsonnet": "{}"},
    "check -f m.jsonnet",
    2,
    "m.jsonnet:1: error KS008: another tool has to make manifests of it first",
)


SHOP = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
IN_SHOP = dumped(deployment(metadata={"name": "web", "namespace": "shop"}))
ELSEWHERE = dumped(deployment(metadata={"name": "web", "namespace": "shpo"}))
KNOWN = dumped(NODE, SHOP)
case(
    "an unknown namespace",
    {"c.yaml": KNOWN, "m.yaml": ELSEWHERE},
    "check --from c.yaml -f m.yaml",
    2,
    "m.yaml:1: error KS009: the input has no such namespace",
)
case(
    "a namespace that the manifests bring",
    {"c.yaml": dumped(NODE, {**SHOP, "metadata": {"name": "x"}}), "m.yaml": dumped(SHOP) + "---\n" + IN_SHOP},
    "check --from c.yaml -f m.yaml",
    0,
    "Deployment shop/web: fits, 1 of 1 pod has a node",
)
case(
    # kubectl applies a file from top to bottom.
    "a namespace that the manifests bring too late",
    {"c.yaml": dumped(NODE, {**SHOP, "metadata": {"name": "x"}}), "m.yaml": IN_SHOP + "---\n" + dumped(SHOP)},
    "check --from c.yaml -f m.yaml",
    2,
    "m.yaml:1: error KS009: the input has no such namespace",
)
case(
    "--create-namespace",
    {"c.yaml": KNOWN, "m.yaml": ELSEWHERE},
    "check --from c.yaml -f m.yaml --create-namespace",
    0,
    "Deployment shpo/web: fits, 1 of 1 pod has a node",
)
case(
    "--assume-namespace",
    {"c.yaml": KNOWN, "m.yaml": ELSEWHERE},
    "check --from c.yaml -f m.yaml --assume-namespace shpo",
    0,
    "Deployment shpo/web: fits, 1 of 1 pod has a node",
)
case(
    "-n= as kubectl takes it",
    {"m.yaml": WEB},
    "check -f m.yaml -n=ml",
    0,
    "Deployment ml/web: fits, 1 of 1 pod has a node",
)
case(
    "another -n=",
    {"c.yaml": dumped(NODE, POD)},
    "simulate --from=c.yaml -n=ml",
    2,
    "ksched: -n ml: nothing of the input is in namespace ml (there are default)",
)
case(
    "a Rollout",
    {"m.yaml": WEB.replace("apps/v1", "argoproj.io/v1alpha1").replace("kind: Deployment", "kind: Rollout")},
    "check -f m.yaml",
    0,
    "Rollout default/web: fits, 1 of 1 pod has a node",
)
case(
    "a Rollout that does not fit",
    {"m.yaml": dumped(deployment(cpu="30", apiVersion="argoproj.io/v1alpha1", kind="Rollout"))},
    "check -f m.yaml",
    1,
    "Rollout default/web: fails, 0 of 1 pod has a node",
)
case(
    "an unknown workload only",
    {"m.yaml": WEB.replace("apps/v1", "x.example.com/v1").replace("kind: Deployment", "kind: Web")},
    "check -f m.yaml",
    2,
    "m.yaml:1: warning KS006: the pods of a custom resource are not placed",
)
case(
    "simulate with an unknown workload",
    {"m.yaml": WEB.replace("apps/v1", "x.example.com/v1").replace("kind: Deployment", "kind: Web")},
    "simulate -f m.yaml",
    2,
    "ksched: m.yaml: nothing to place: the manifests have 1 Web and no pod or workload "
    "(--allow-empty exits with code 0)",
)
case(
    "a kind of one's own",
    {"m.yaml": WEB.replace("apps/v1", "x.example.com/v1").replace("kind: Deployment", "kind: Web")},
    "check -f m.yaml --pod-template Web.x.example.com=spec.template,replicas=spec.replicas",
    0,
    "Web default/web: fits, 1 of 1 pod has a node",
)


FITS, WARNS = "Deployment default/web: fits, {} of {} pods have a node", "Deployment default/web: warns, {} of {}"
case(
    "an autoscaler whose bounds fit",
    {"m.yaml": dumped(deployment(), autoscaler(2, 4))},
    "check -f m.yaml",
    0,
    FITS.format(2, 2),
)
case(
    "an autoscaler whose maximum does not fit",
    {"m.yaml": dumped(deployment(), autoscaler(2, 9))},
    "check -f m.yaml",
    0,
    f"{WARNS.format(2, 2)} pods have a node",
)
case(
    "at the maximum",
    {"m.yaml": dumped(deployment(), autoscaler(2, 9))},
    "check -f m.yaml --replicas max",
    1,
    "Deployment default/web: fails, 4 of 9 pods have a node",
)
case(
    "at the minimum",
    {"m.yaml": dumped(deployment(), autoscaler(3, 9))},
    "check -f m.yaml --replicas min",
    0,
    FITS.format(3, 3),
)
case(
    "at all of them",
    {"m.yaml": dumped(deployment(), autoscaler(2, 9))},
    "check -f m.yaml --replicas all --fail-on warning",
    1,
    "Deployment default/web: fails, 2 of 2 pods have a node",
)
case(
    "a ScaledObject",
    {"m.yaml": dumped(deployment(), autoscaler(0, 9, keda=True))},
    "check -f m.yaml --replicas max",
    1,
    "Deployment default/web: fails, 4 of 9 pods have a node",
)
case(
    "an autoscaler of the cluster",
    {"c.yaml": dumped(NODE, autoscaler(3, 4)), "m.yaml": WEB},
    "check --from c.yaml -f m.yaml",
    0,
    FITS.format(3, 3),
)
case(
    "--scale of a workload of the manifests",
    {"m.yaml": WEB},
    "check -f m.yaml --scale deployment/web=9",
    1,
    "Deployment default/web: fails, 4 of 9 pods have a node",
)

case(
    "--scale of a custom workload",
    {"m.yaml": WEB.replace("apps/v1", "argoproj.io/v1alpha1").replace("kind: Deployment", "kind: Rollout")},
    "check -f m.yaml --scale rollout/web=9",
    1,
    "Rollout default/web: fails, 4 of 9 pods have a node",
)
case(
    "simulate --settle without a workload",
    {"m.yaml": dumped(CONFIG)},
    "simulate --settle -f m.yaml",
    2,
    "ksched: m.yaml: nothing to place: the manifests have 1 ConfigMap and no pod or workload "
    "(--allow-empty exits with code 0)",
)
case(
    "capacity without a workload",
    {"m.yaml": dumped(CONFIG)},
    "capacity -f m.yaml",
    2,
    "ksched: m.yaml: there is no pod and no workload to count",
)
NOTHING = (
    "ksched: m.yaml: nothing to place: the manifests have 1 ConfigMap and no pod or workload "
    "(--allow-empty exits with code 0)"
)
case("explain without a workload", {"m.yaml": dumped(CONFIG)}, "explain -f m.yaml", 2, NOTHING)
case(
    "explain of a pod with manifests that change nothing",
    {"c.yaml": dumped(NODE, POD), "m.yaml": dumped(CONFIG)},
    "explain p --from c.yaml -f m.yaml",
    2,
    NOTHING,
)
case("drain without a workload", {"m.yaml": dumped(CONFIG)}, "drain n1 -f m.yaml", 2, NOTHING)
case(
    "drain with a namespace and a service",
    {"m.yaml": dumped(SERVICE)},
    "drain n1 -f m.yaml",
    2,
    NOTHING.replace("ConfigMap", "Service"),
)
case(
    "drain without a workload, and that is meant",
    {"m.yaml": dumped(CONFIG)},
    "drain n1 -f m.yaml --allow-empty",
    0,
    "n1: safe, nothing to evict",
)
case(
    "simulate of pending pods with manifests that change nothing",
    {"c.yaml": dumped(NODE, POD), "m.yaml": dumped(CONFIG)},
    "simulate --from c.yaml -f m.yaml",
    2,
    NOTHING,
)
case(
    "an edit does not make up for manifests that change nothing",
    {"m.yaml": dumped(CONFIG)},
    "simulate -f m.yaml --cordon n1",
    2,
    NOTHING,
)
case(
    "a table as the cluster",
    {"c.yaml": dumped(TABLE)},
    "simulate --from c.yaml",
    2,
    "ksched: c.yaml:1: this is a table that kubectl printed, not objects (print them with -o json or -o yaml)",
)
case(
    "labels that no workload has",
    {"m.yaml": WEB},
    "check -f m.yaml -l app=nope",
    2,
    "m.yaml: error KS010: nothing was checked",
)


@pytest.mark.parametrize(("files", "arguments", "code", "line"), CASES)
def test_exit_code_and_first_line(
    files: Files, arguments: str, code: int, line: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lay_out(files, here)
    command, *rest = arguments.split()
    cluster = [] if "--from" in arguments else ["--from", "cluster.yaml"]
    left, shown = run([command, *cluster, *rest]), capsys.readouterr()
    assert (left, first_line(shown.out, shown.err)) == (code, line)
    checked = re.search(r": (fits|warns), \d+ of \d+ pods? ", shown.out) is not None
    assert left or checked or "--allow-empty" in arguments, "nothing was checked"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(dumped(CONFIG), "the manifests have 1 ConfigMap and no pod or workload", id="others"),
        pytest.param("# nothing\n", "the manifests have no object and no pod or workload", id="no object"),
    ],
)
def test_what_the_manifests_have_instead_of_a_workload(text: str, said: str, here: Path, ksched: Ksched) -> None:
    lay_out({"m.yaml": text}, here)
    shown = ksched("check", "--from", "cluster.yaml", "-f", "m.yaml", code=2)
    assert f"nothing was checked: {said}" in " ".join(shown.out.split())


CLASS = {**PRIORITY, "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "x"}
CLASS.pop("value")
RUNNING = make_pod("p").requests(cpu="1").on("n1").doc()


@pytest.mark.parametrize(
    ("item", "pod", "arguments"),
    [
        pytest.param(BUDGET, POD, ["drain", "n1"], id="a budget"),
        pytest.param(PRIORITY, POD, ["explain", "p"], id="a class"),
        pytest.param(CLASS, RUNNING, ["explain", "p"], id="a class of storage, and no pod is pending"),
    ],
)
def test_a_manifest_without_pods_may_change_a_run(
    item: Any, pod: Any, arguments: list[str], here: Path, ksched: Ksched
) -> None:
    other = make_node("n2").allocatable(cpu="4", memory="8Gi", pods=20).doc()
    lay_out({"c.yaml": dumped(NODE, other, pod), "m.yaml": dumped(item)}, here)
    assert "nothing to place" not in ksched(*arguments, "--from", "c.yaml", "-f", "m.yaml", code=0).err


def test_the_table_has_sixty_inputs() -> None:
    assert len(CASES) >= 60
