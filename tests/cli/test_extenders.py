"""--allow-extenders: what is shown with it, and what is said without."""

from __future__ import annotations

import gc
import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from ksched_cli.plan.reasons.rules import cause_of
from ksched_cli.report.view.simulate import short_plugin
from ksched_cli.simulator import Simulator
from tests.builders import make_configuration, make_node, make_pod, write_list
from tests.engine.extenders.service import Service


def configured(path: Path, *extenders: dict[str, Any]) -> str:
    document = make_configuration(extenders=list(extenders))
    path.write_text(json.dumps(document))
    return str(path)


def simulate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], extender: dict[str, Any], *arguments: str
) -> tuple[int, str]:
    nodes = [make_node(name).doc() for name in ("a", "b", "c")]
    cluster = write_list(tmp_path / "cluster.json", *nodes, make_pod("p").doc())
    config = configured(tmp_path / "config.json", extender)
    code = run(["simulate", "--from", cluster, "--config", config, *arguments])
    printed = capsys.readouterr()
    return code, printed.out + printed.err


JUDGE = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 2, "nodeCacheCapable": True}
ANSWERS = {
    "filter": {"nodenames": ["a", "b"], "failedNodes": {"c": "no licence"}},
    "prioritize": [{"host": "b", "score": 7}],
}

SKIPPED = """\
1 pending pod: 1 scheduled (3 nodes)

default/p: on a, 3 of 3 nodes fit, tied with b, c
  NODE  TOTAL  TAINTS  FIT
  a       397     300   97
  b       397     300   97
  c       397     300   97
not taken into account: extender http://URL (decides on which nodes fit and
scores (weight 2); --allow-extenders calls it)
"""
CALLED = """\
1 pending pod: 1 scheduled (3 nodes)

default/p: on b, 2 of 3 nodes fit
  NODE  TOTAL  TAINTS  FIT  HOST
  b       537     300   97   140
  a       397     300   97     0
  NODES  REJECTED BY  WHY
      1  HOST         no licence (c)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "expected"), [((), SKIPPED), (("--allow-extenders",), CALLED)])
def test_table(tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], expected: str) -> None:
    with Service(ANSWERS) as service:
        extender = {"urlPrefix": service.url, **JUDGE}
        code, shown = simulate(tmp_path, capsys, extender, "--no-reuse", *arguments)
        assert (code, bool(service.asked)) == (0, bool(arguments))
        # The port has as many digits as it likes.
        shown = shown.replace(service.url, "http://URL").replace(service.url.removeprefix("http://"), "HOST")
        assert " ".join(shown.split()) == " ".join(expected.split())


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("http://gpu.kube-system.svc.cluster.local:8888/scheduler", "gpu/scheduler"),
        ("https://user:xxxxx@gpu.example.com", "gpu"),
        ("http://10.1.2.3:8888/v1", "10.1.2.3:8888/v1"),
        ("http://localhost:8888", "localhost:8888"),
        ("http://[::1]:8888/v1", "[::1]:8888/v1"),
        ("http://h:1/a (2)", "h:1/a (2)"),
        ("NodeAffinity", "NodeAffinity"),
        ("", ""),
    ],
)
def test_names_in_the_table(name: str, shown: str) -> None:
    assert short_plugin(name) == shown


def test_document_without(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    extender = {"urlPrefix": "http://user:secret@h", **JUDGE, "preemptVerb": "preempt"}
    extender["managedResources"] = [{"name": "example.com/gpu"}]
    code, shown = simulate(tmp_path, capsys, extender, "-o", "json")
    coverage = json.loads(shown)["coverage"]
    assert code == 0
    assert coverage["extendersNotCalled"] == ["http://user:xxxxx@h"]
    assert coverage["extendersCouldChange"] == [
        {
            "extender": "http://user:xxxxx@h",
            "couldChange": ["which nodes fit", "scores (weight 2)", "victims of preemption"],
            "podsThatAskFor": ["example.com/gpu"],
        }
    ]


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_document_with(tmp_path: Path, capsys: pytest.CaptureFixture[str], output: str) -> None:
    import yaml

    with Service(ANSWERS) as service:
        extender = {"urlPrefix": service.url, **JUDGE, "bindVerb": "bind"}
        arguments = ("--allow-extenders", "--timings", "-o", output, "--detail", "full")
        code, shown = simulate(tmp_path, capsys, extender, *arguments)
        document = yaml.safe_load(shown)
        (pod,) = document["pods"]
        assert code == 0
        assert pod["filters"] == {"c": {"plugin": service.url, "code": "Unschedulable", "reasons": ["no licence"]}}
        assert pod["scores"]["b"][service.url] == {"raw": 7, "normalized": 70, "weighted": 140}
        assert document["coverage"]["extenders"] == [
            {"extender": service.url, "calls": {"filter": 1, "prioritize": 1}, "bind": "not called"}
        ]
        timings = [each for each in document["stats"]["timings"] if each["plugin"] == service.url]
        assert [(each["point"], each["origin"]) for each in timings] == [("filter", "extender"), ("score", "extender")]
        assert {each.verb for each in service.asked} == {"filter", "prioritize"}


def test_what_did_not_count_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Service({"filter": {"nodenames": ["a", "b"]}}, status=503) as service:
        extender = {"urlPrefix": service.url, **JUDGE, "ignorable": True, "bindVerb": "bind"}
        code, shown = simulate(tmp_path, capsys, extender, "--allow-extenders")
        assert code == 0
        told = " ".join(shown.partition("not taken into account: ")[2].split())
        assert told == (
            f"filter of extender {service.url}, which failed once (failed filter with extender at URL "
            f"{service.url}/filter, code 503); prioritize of extender {service.url}, which failed once (failed "
            f"prioritize with extender at URL {service.url}/prioritize, code 503); bind of extender {service.url}, "
            "which is never called: it gets no placement"
        )


def test_an_error_is_the_pods(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Service({"filter": {"error": "licence server is down"}}) as service:
        code, shown = simulate(tmp_path, capsys, {"urlPrefix": service.url, **JUDGE}, "--allow-extenders")
        assert code == 1
        assert shown.startswith("1 pending pod: 1 in error (3 nodes)\n")
    assert "default/p: error, 0 of 3 nodes fit\n  licence server is down\n" in shown


@pytest.mark.parametrize(
    ("extender", "message"),
    [
        pytest.param(
            {"urlPrefix": "http://h", "httpTimeout": "soon"},
            "config.json:1: extenders[0].httpTimeout: 'soon' is not a duration such as 5s or 100ms",
            id="timeout",
        ),
        pytest.param(
            {"urlPrefix": "https://h", "tlsConfig": {"caData": "?"}},
            "config.json:1: extenders[0].tlsConfig.caData: is not base64",
            id="data",
        ),
        pytest.param(
            {"urlPrefix": "https://h", "tlsConfig": {"caFile": "/nowhere"}},
            "ksched: extender https://h: tlsConfig.caFile: /nowhere: No such file or directory",
            id="file",
        ),
        pytest.param(
            {"urlPrefix": "unix:///run/x"},
            "ksched: extender 'unix:///run/x': urlPrefix: expected http://HOST or https://HOST",
            id="scheme",
        ),
    ],
)
def test_settings_that_cannot_be_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], extender: dict[str, Any], message: str
) -> None:
    code, shown = simulate(tmp_path, capsys, extender, "--allow-extenders")
    assert code == 2
    assert message in shown


def test_the_cause_is_the_reason_that_an_extender_has_for_most_nodes(tmp_path: Path) -> None:
    """No filter of kube-scheduler rejects a node."""
    answers = {"filter": {"nodenames": [], "failedNodes": {"a": "no key", "b": "no licence", "c": "no licence"}}}
    nodes = [make_node(name).obj() for name in ("a", "b", "c")]
    with Service(answers) as service:
        config = configured(tmp_path / "config.json", {"urlPrefix": service.url, **JUDGE})
        simulator = Simulator.load(*nodes, make_pod("p").obj(), config=config, allow_extenders=True)
        scheduler = simulator.prepared().scheduler
        (decision,) = scheduler.run(scheduler.enqueue())
        cause = cause_of(scheduler, decision)
    assert (cause.code.code, cause.plugin, [each.text for each in cause.reasons]) == (
        "KS190",
        service.url,
        ["no licence"],
    )


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [(), ("--settle",), ("-o", "json"), ("--orders", "2")])
def test_no_command_leaves_a_connection_open(
    arguments: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Service(ANSWERS) as service, warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        simulate(tmp_path, capsys, {"urlPrefix": service.url, **JUDGE}, "--allow-extenders", *arguments)
        assert service.asked
        gc.collect()
    assert not [each for each in found if issubclass(each.category, ResourceWarning)]
