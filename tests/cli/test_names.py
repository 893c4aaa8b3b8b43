"""Names as kubectl takes them: workloads, selectors, beginnings of names, nodes without their suffix, and flags that are
pasted from kubectl."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from ksched_cli import __version__
from ksched_cli.cli.main import run
from tests.builders import make_node, make_pod, write_list
from tests.cli.transcripts import DEMO, ROOT
from tests.lanes import sampled
from tests.running import Ksched

EKS = str(ROOT / "fixtures" / "clusters" / "eks.yaml")
DRAIN = str(ROOT / "fixtures" / "clusters" / "drain.yaml")
CHECKOUT = "shop/checkout-nnfkt7xhz-8mlhg"
ALL_OF_CHECKOUT = "Deployment shop/checkout has 3 pods, and 3 find no place: this is the first of them."


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "pod", "note"),
    sampled(
        [
            pytest.param("deployment/checkout -n shop", CHECKOUT, ALL_OF_CHECKOUT, id="deployment/NAME -n"),
            pytest.param("deploy/checkout", CHECKOUT, ALL_OF_CHECKOUT, id="deploy/NAME"),
            pytest.param("deployment/shop/checkout", CHECKOUT, ALL_OF_CHECKOUT, id="KIND/NAMESPACE/NAME"),
            pytest.param("rs/checkout-nnfkt7xhz -n shop", CHECKOUT, "ReplicaSet shop/checkout-nnfkt7xhz", id="rs/NAME"),
            pytest.param("sts/db", "data/db-2", "StatefulSet data/db has 3 pods: this one is pending.", id="sts/NAME"),
            pytest.param("ds/aws-node", "kube-system/aws-node-2jswz", "none of them pending", id="only running pods"),
            pytest.param("-l app=checkout", CHECKOUT, "Of 3 pending pods 3 find no place", id="-l of pending pods"),
            pytest.param(
                "-l app=web -n shop", "shop/web-4rjfz2q6f-892jk", "None of the 6 selected pods", id="-l of running"
            ),
            pytest.param("checkout", CHECKOUT, ALL_OF_CHECKOUT, id="the name of a workload"),
            pytest.param("shop/checkout", CHECKOUT, ALL_OF_CHECKOUT, id="with its namespace"),
            pytest.param("fraud", "shop/fraud-scan", "", id="the beginning of a pod"),
            pytest.param("pod/shop/fraud-scan", "shop/fraud-scan", "", id="pod/NAMESPACE/NAME"),
            pytest.param("", CHECKOUT, "Of 8 pending pods 5 find no place: this is the first of them.", id="nothing"),
        ],
        4,
    ),
)
def test_explain_finds_the_pod(arguments: str, pod: str, note: str, ksched: Ksched) -> None:
    document = json.loads(ksched("explain", *shlex.split(arguments), "--from", EKS, "--no-fixes", "-o", "json").out)
    assert document["pod"] == pod
    assert note in " ".join(document["notes"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            "c", "write one of deployment/batch/crawler, deployment/shop/cart, deployment/shop/", id="several"
        ),
        pytest.param("deploy/chekout", "did you mean checkout?", id="misspelt workload"),
        pytest.param("web -n data", "there is no pod data/web; there is deployment/shop/web", id="elsewhere"),
        pytest.param("deploy/web -n data", 'there is no Deployment "web" in namespace "data"', id="workload elsewhere"),
        pytest.param("ds/web", 'there is no DaemonSet "web" in the input', id="another kind"),
    ],
)
def test_explain_lists_what_may_be_meant(arguments: str, message: str, ksched: Ksched) -> None:
    assert message in ksched("explain", *shlex.split(arguments), "--from", EKS, code=2).err


def test_a_namespace_that_is_named_like_a_kind(tmp_path: Path, ksched: Ksched) -> None:
    cluster = write_list(tmp_path / "c.json", make_node("n").doc(), make_pod("web", "deploy").doc())
    assert ksched("explain", "deploy/web", "--from", cluster, code=0).out.startswith("deploy/web: scheduled on n")


def test_explain_without_a_name_and_without_pending_pods(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = write_list(tmp_path / "c.json", make_node("n").doc(), make_pod("web").on("n").doc())
    assert run(["explain", "--from", cluster]) == 2
    assert "no pod is pending (name a pod or a workload, or give -f FILE" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    sampled(
        [
            "drain ip-10-0-2-2 --ignore-daemonsets",
            "drain node/ip-10-0-2-2.eu-west-1.compute.internal --ignore-daemonsets",
            "diff --drain ip-10-0-2-2",
            "diff --remove-node ip-10-0-2-2",
            "explain fraud-scan --no-fixes --node ip-10-0-2-2",
            "simulate --cordon ip-10-0-2-2 --label ip-10-0-2-41=disk=nvme -o wide",
        ],
        3,
    ),
)
def test_a_node_is_known_by_the_part_before_the_first_dot(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*shlex.split(command), "--from", EKS]) in (0, 1)
    assert "ip-10-0-2-2.eu-west-1.compute.internal" in capsys.readouterr().out


def test_a_short_name_of_two_nodes_is_no_node(tmp_path: Path, ksched: Ksched) -> None:
    cluster = write_list(tmp_path / "c.json", make_node("a.one").doc(), make_node("a.two").doc(), make_pod("p").doc())
    assert 'there is no node "a"' in ksched("drain", "a", "--from", cluster, code=2).err


@pytest.mark.parametrize(
    ("arguments", "code", "hint"),
    [
        (["simulate", "c.json"], 2, "a cluster is read with --from c.json, manifests with -f c.json"),
        (["c.json"], 2, "name a command first, as in: ksched simulate --from c.json"),
        (["simulate", "nothing-there"], 2, "see `ksched simulate --help`"),
        (["capacity", "deploy/web"], 2, "kubectl get deploy/web -o yaml | ksched capacity -f -"),
        (["capacity", "deploy/web"], 2, "ksched simulate --from FILE --settle --scale deploy/web=N"),
        (["rightsize", "sts/db"], 2, "kubectl get sts/db -o yaml | ksched rightsize -f -"),
        (["capacity", "web"], 2, "see `ksched capacity --help`"),
    ],
)
def test_hints(
    arguments: list[str], code: int, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ksched: Ksched
) -> None:
    monkeypatch.chdir(tmp_path)
    write_list(tmp_path / "c.json", make_node("n").doc())
    assert hint in ksched(*arguments, code=code).err


def test_version_as_an_option(ksched: Ksched) -> None:
    shown = ksched("--version", code=0).out
    assert shown.startswith(f"ksched {__version__}")
    assert ksched("version", code=0).out == shown


@pytest.mark.parametrize("arguments", [["--no-color", "demo"], ["demo", "--no-color"]])
def test_no_color_has_the_last_word(arguments: list[str], ksched: Ksched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "")
    assert "\x1b[32m" in ksched("demo", code=0).out
    assert "\x1b[1;32m" not in ksched(*arguments, code=0).out


def drained(capsys: pytest.CaptureFixture[str], *flags: str) -> tuple[int, dict[str, str]]:
    """The exit code, and the fate of each pod of east-1 in a cluster where a budget holds db-0."""
    code = run(["drain", "east-1", "--from", DRAIN, "--ignore-daemonsets", "-o", "json", *flags])
    document = json.loads(capsys.readouterr().out)
    return code, {pod["pod"]: pod["fate"] for pod in document["nodes"][0]["pods"]}


def test_a_pasted_line_of_kubectl_drain(capsys: pytest.CaptureFixture[str]) -> None:
    flags = "--delete-local-data --force --grace-period=30 --timeout=300s --pod-selector app!=x --dry-run=client"
    code, fates = drained(capsys, *flags.split(), "--chunk-size", "100", "--skip-wait-for-delete-timeout=5")
    assert (code, fates["shop/db-0"]) == (1, "stuck")


def test_disable_eviction_deletes_past_budgets(capsys: pytest.CaptureFixture[str]) -> None:
    assert drained(capsys)[1]["shop/db-0"] == "stuck"
    code, fates = drained(capsys, "--disable-eviction")
    assert (code, fates["shop/db-0"]) == (0, "moves")


@pytest.mark.slow
def test_kubectl_gives_a_node_up_when_its_pods_take_longer_than_the_timeout(
    capsys: pytest.CaptureFixture[str], ksched: Ksched
) -> None:
    """A pod ends 30 s after its eviction. With a grace period of 5 s it is gone in time."""
    node = ["drain", "ip-10-0-2-2", "--ignore-daemonsets", "--from", EKS, "-o", "json"]
    assert "timedOut" not in json.loads(ksched(*node, code=0).out)["nodes"][0]
    document = json.loads(ksched(*node, "--timeout", "10s", code=1).out)
    assert (document["result"], document["nodes"][0]["timedOut"]) == ("blocked", True)
    assert "--timeout is over before all pods of ip-10-0-2-2" in document["reason"]
    assert run([*node, "--timeout", "10s", "--grace-period", "5"]) == 0
    assert "timedOut" not in json.loads(capsys.readouterr().out)["nodes"][0]


def test_a_misspelt_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["drain", "east-1", "--from", DRAIN, "--timeout", "soon"]) == 2
    assert "--timeout soon: not a length of time" in capsys.readouterr().err


def test_help_of_a_command_as_kubectl_has_it(ksched: Ksched) -> None:
    assert "ksched explain deployment/web -n shop" in ksched("help", "explain", code=0).out
    assert run(["explain", "--from", DEMO, "web-1", "-n", "shop"]) == 0
