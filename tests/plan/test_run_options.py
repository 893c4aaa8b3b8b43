"""The options of a run as arguments of a command, and inputs in which -n and -l select nothing."""

from __future__ import annotations

import os
from typing import Any

import pytest

from ksched_cli.errors import InputError, UsageError
from ksched_cli.plan.run.checks import check_selection
from ksched_cli.plan.run.options import RunOptions, settle_limits, wanted_pods
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.read_options import ManifestReading
from tests.builders import loaded_of, make_pod


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        pytest.param({}, [], id="nothing"),
        pytest.param({"sources": ["c.yaml", "d e.yaml"]}, ["--from c.yaml", "--from 'd e.yaml'"], id="sources"),
        pytest.param({"filenames": [f"{os.getcwd()}/m.yaml", "/elsewhere/m.yaml"]}, ["-f m.yaml", "-f /elsewhere/m.yaml"], id="a file from here"),
        pytest.param({"namespace": "shop", "scenario": "s.yaml"}, ["-n shop", "--scenario s.yaml"], id="a namespace and a scenario"),
        pytest.param({"kube_version": "auto"}, [], id="the version of the input"),
        pytest.param({"kube_version": "1.34", "feature_gates": "A=true"}, ["--kube-version 1.34", "--feature-gates A=true"], id="a version and gates"),
        pytest.param({"config": {"profiles": []}}, [], id="a configuration that is no file"),
        pytest.param({"tie_break": "name", "seed": 0}, [], id="the first by name"),
        pytest.param({"tie_break": "random", "seed": 7}, ["--tie-break random", "--seed 7"], id="random ties"),
        pytest.param({"autoscaler": "none"}, ["--autoscaler none"], id="no autoscaler"),
        pytest.param({"instance_types": "t.json", "autoscaler_flags": ["a=b"]}, ["--autoscaler-flag a=b", "--instance-types t.json"], id="an autoscaler"),
        pytest.param({"reading": ManifestReading(recursive=True, strict=False)}, ["-R", "--no-strict"], id="folders, not strict"),
        pytest.param({"reading": ManifestReading(kustomizations=("k",), server_side=True)}, ["-k k", "--server-side"], id="a kustomization"),
        pytest.param({"newest": True, "sampling": True, "allow_extenders": True}, ["--newest", "--sampling", "--allow-extenders"], id="switches"),
        pytest.param({"edits": [("cordon", "n1"), ("label", "n1=a b")]}, ["--cordon n1", "--label 'n1=a b'"], id="edits"),
    ],
)  # fmt: skip
def test_arguments_of_the_same_run(options: dict[str, Any], arguments: list[str]) -> None:
    assert list(RunOptions(**{"autoscaler": "auto", **options}).arguments()) == arguments


@pytest.mark.parametrize(
    ("options", "names"),
    [
        pytest.param({}, ["a", "b", "c"], id="all"),
        pytest.param({"namespace": "shop"}, ["a", "b"], id="a namespace"),
        pytest.param({"selector": "app=x"}, ["a", "c"], id="labels"),
        pytest.param({"namespace": "shop", "selector": "app=x"}, ["a"], id="both"),
    ],
)
def test_the_pods_that_are_wanted(options: dict[str, str], names: list[str]) -> None:
    pods = [make_pod("a", "shop").label(app="x"), make_pod("b", "shop").label(app="y"), make_pod("c").label(app="x")]
    wanted = wanted_pods(RunOptions(**options))
    assert [pod.metadata.name for pod in (each.obj() for each in pods) if wanted(pod)] == names


def unread(*items: Any) -> Loaded:
    """An input whose namespaces could not be listed."""
    loaded = loaded_of(*items)
    loaded.missing["Namespace"] = "forbidden"
    return loaded


POD = make_pod("p", "shop").label(app="x").obj()


@pytest.mark.parametrize(
    ("options", "inputs", "why"),
    [
        pytest.param({"namespace": "shop"}, [loaded_of(), loaded_of(POD)], "", id="in one of two inputs"),
        pytest.param({"namespace": "shpo"}, [loaded_of(POD)], "nothing of the input is in namespace shpo (did you mean shop?)", id="in none"),
        pytest.param({"namespace": "none"}, [unread(POD), loaded_of()], "", id="the namespaces of one input are not known"),
        pytest.param({"namespace": "none"}, [loaded_of(POD), unread()], "", id="those of the other are not known"),
        pytest.param({"selector": "app=x"}, [loaded_of(), loaded_of(POD)], "", id="labels of one of two inputs"),
        pytest.param({"selector": "app=y"}, [loaded_of(POD, make_pod("q", "test").label(app="y").obj())], "", id="labels of the second pod"),
        pytest.param({"selector": "app=y", "namespace": "shop"}, [loaded_of(POD, make_pod("q", "test").label(app="y").obj())], "no pod or workload of the input in namespace shop has these labels", id="labels of another namespace"),
        pytest.param({"selector": "app=y", "allow_empty": True}, [loaded_of(POD)], "", id="nothing is meant to be selected"),
    ],
)  # fmt: skip
def test_what_selects_nothing(options: dict[str, Any], inputs: list[Loaded], why: str) -> None:
    if not why:
        check_selection(RunOptions(**options), *inputs)
        return
    with pytest.raises(InputError) as raised:
        check_selection(RunOptions(**options), *inputs)
    assert why in str(raised.value)


def test_limits_of_a_run() -> None:
    usual = settle_limits()
    assert settle_limits("90s", 1) == type(usual)(90.0, 1)
    assert settle_limits("0.5s").max_cycles == usual.max_cycles
    for text, cycles, why in (
        ("0s", None, "not a length of time"),
        ("x", None, "not"),
        (None, 0, "must be at least 1"),
    ):
        with pytest.raises(UsageError, match=why):
            settle_limits(text, cycles)
