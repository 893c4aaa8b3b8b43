"""The commands as a person runs them: golden transcripts at fixed width, and every way to go wrong."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import shlex
import signal
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from ksched_cli.cli.main import run
from ksched_cli.cli.streams import complain
from ksched_cli.cli.sweep import _kept
from ksched_cli.errors import Terminated, UsageError
from ksched_cli.framework.interfaces import ScorePlugin
from tests.builders import make_node, make_pod, write_list
from tests.cli.pipes import BROKEN_PIPE, run_without_a_reader
from tests.cli.transcripts import CASE, ROOT, same_as_golden, without_stats
from tests.running import Ksched


@pytest.mark.parametrize(
    ("name", "arguments", "columns"),
    [
        pytest.param("demo", ["demo"], 80, id="demo"),
        pytest.param("demo-wide", ["demo", "-o", "wide"], 160, id="demo wide"),
        pytest.param("demo-narrow", ["demo"], 50, id="demo on a narrow terminal"),
        pytest.param("demo-name", ["demo", "-o", "name"], 80, id="demo names"),
        pytest.param("demo-yaml", ["demo", "-o", "yaml"], 80, id="demo yaml"),
        pytest.param("demo-1.16", ["demo", "--kube-version", "1.16"], 90, id="demo in predicates and priorities"),
        pytest.param("help", ["--help"], 80, id="help"),
        pytest.param("simulate-help", ["simulate", "--help"], 80, id="help of simulate"),
        pytest.param("snapshot-help", ["snapshot", "--help"], 80, id="help of snapshot"),
    ],
)
def test_transcript(
    name: str, arguments: list[str], columns: int, ksched: Ksched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = without_stats(ksched(*arguments).out)
    same_as_golden(name, shown, columns=None if name in ("demo-yaml", "demo-name") else columns)


def shown_sessions() -> list[tuple[str, str]]:
    """Each command of the README with the output that stands under it."""
    found = []
    for block in (ROOT / "README.md").read_text().split("```console\n$ ")[1:]:
        command, _, output = block.partition("```")[0].partition("\n")
        found.append((command, output))
    return found


@pytest.mark.parametrize(("command", "output"), [pytest.param(*each, id=each[0]) for each in shown_sessions()])
def test_the_readme_shows_what_the_command_prints(
    command: str, output: str, ksched: Ksched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`[...]` stands for the rest."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(ROOT)
    printed = ksched(*shlex.split(command)[1:]).out
    beginning, cut, _ = output.partition("[...]\n")
    assert printed.startswith(beginning)
    assert cut or printed == beginning


def test_the_readme_answers_five_everyday_questions_in_180_lines() -> None:
    assert [command.split()[1] for command, _ in shown_sessions()] == [
        "demo",
        "explain",
        "drain",
        "demo",
        "capacity",
        "diff",
        "check",
    ]
    assert len((ROOT / "README.md").read_text().splitlines()) <= 180


def test_the_readmes_first_two_blocks_are_one_line_each() -> None:
    text = (ROOT / "README.md").read_text()
    blocks = [block.partition("```")[0].strip() for block in text.split("```sh\n")[1:]]
    assert "\n" not in blocks[0]
    assert "ksched demo" in blocks[0]
    assert "\n" not in blocks[1]
    assert "pytest" in blocks[1]


def test_json_detail_full_has_every_node(ksched: Ksched) -> None:
    document = json.loads(ksched("simulate", "--from", str(CASE), "-o", "json", "--detail", "full", code=0).out)
    assert (document["apiVersion"], document["kind"]) == ("ksched/v1", "Simulation")
    assert list(document) == [
        "apiVersion",
        "kind",
        "pods",
        "gated",
        "ignored",
        "refused",
        "final",
        "nodeTable",
        "coverage",
        "stats",
        "run",
    ]
    first = document["pods"][0]
    assert sorted([*first["feasible"], *first["filters"]]) == [f"node-{index}" for index in range(5)]
    assert set(document["stats"]) == {"nodes", "pods", "loadSeconds", "scheduleSeconds", "podsPerSecond", "peakMiB"}


def test_yaml_and_json_are_the_same_document(ksched: Ksched) -> None:
    import yaml

    from_json = json.loads(ksched("demo", "-o", "json").out)
    from_yaml = yaml.safe_load(ksched("demo", "-o", "yaml").out)
    assert from_json.pop("run")["command"] == "ksched demo -o json"
    del from_json["stats"], from_yaml["stats"], from_yaml["run"]
    assert from_yaml == from_json


FITS = make_pod("fits").requests(cpu="1").doc()
TOO_LARGE = make_pod("large").requests(cpu="9").doc()
NODE = make_node("n").doc()
GATED = make_pod("gated").gate("x").doc()
FILLER = make_pod("filler").requests(cpu="4").on("n").doc()
PREEMPTS = make_pod("important").requests(cpu="4").priority(10).doc()


@pytest.mark.parametrize(
    ("items", "options", "code"),
    [
        pytest.param([NODE, FITS], [], 0, id="every pod fits"),
        pytest.param([NODE, FITS, TOO_LARGE], [], 1, id="one does not"),
        pytest.param([NODE, TOO_LARGE], ["--exit-zero"], 0, id="told to say zero"),
        pytest.param([NODE, GATED], [], 0, id="a gated pod is nobody's failure"),
        pytest.param([NODE], [], 0, id="nothing to do"),
        pytest.param([FITS], [], 2, id="no nodes"),
        pytest.param([FITS], ["--allow-empty"], 1, id="no nodes, and that is meant"),
        pytest.param([NODE, FILLER, PREEMPTS], [], 0, id="fits by preemption"),
        pytest.param([NODE, FILLER, PREEMPTS], ["--fail-on", "preemption"], 1, id="preemption is a failure"),
        pytest.param([NODE, make_pod("p").on("gone").doc()], ["--fail-on", "warning"], 1, id="a warning is a failure"),
    ],
)
@pytest.mark.parametrize("output", ["table", "json"])
def test_exit_codes(tmp_path: Path, items: list[Any], options: list[str], code: int, output: str) -> None:
    assert run(["simulate", "--from", write_list(tmp_path / "c.json", *items), "-o", output, *options]) == code


def test_an_empty_cluster_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["simulate", "--from", write_list(tmp_path / "c.json", FITS), "--allow-empty"])
    assert "no nodes available to schedule pods" in capsys.readouterr().out


def test_two_sources_are_one_cluster(tmp_path: Path, ksched: Ksched) -> None:
    sources = ["--from", write_list(tmp_path / "a.json", NODE), "--from", write_list(tmp_path / "b.json", FITS)]
    assert ksched("simulate", *sources, "-o", "name", code=0).out == "pod/default/fits\tnode/n\n"


@pytest.mark.parametrize(
    ("pods", "rows"),
    [
        pytest.param(20, [f"default/p{index:02}" for index in range(20)], id="a line each"),
        pytest.param(50, ["default/p00 and 43 more", "default/p44 and 5 more"], id="pods that are alike share a line"),
    ],
)
def test_many_pods_in_lines(pods: int, rows: list[str], tmp_path: Path, ksched: Ksched) -> None:
    documents = [make_pod(f"p{index:02}").requests(cpu="90m").doc() for index in range(pods)]
    lines = ksched("simulate", "--from", write_list(tmp_path / "c.json", NODE, *documents)).out.splitlines()
    fit = min(pods, 44)
    failing = f"{pods - fit} unschedulable, " if pods > fit else ""
    assert lines[:2] == [f"{pods} pending pods: {failing}{fit} scheduled (1 node)", ""]
    assert lines[2].split() == ["POD", "RESULT", "NODE", "FIT", "WHY"]
    assert [re.split("  +", line)[0] for line in lines[3:]] == rows
    assert not failing or lines[-1].endswith("1 node lacks cpu")


def test_what_is_not_modelled_is_in_coverage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    run(["simulate", "--from", write_list(tmp_path / "c.json", NODE, widget), "-o", "json"])
    coverage = json.loads(capsys.readouterr().out)["coverage"]
    assert coverage["notRead"] == {"example.com/v1/Widget": 1}


def test_the_table_ends_with_what_is_not_modelled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    gates = "MatchLabelKeysInPodTopologySpreadSelectorMerge=false,VolumeLimitScaling=true"
    run(["simulate", "--from", write_list(tmp_path / "c.json", NODE, widget), "--feature-gates", gates])
    assert " ".join(capsys.readouterr().out.splitlines()[-2:]) == (
        "not taken into account: feature gate MatchLabelKeysInPodTopologySpreadSelectorMerge; 1 example.com/v1/Widget"
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(["simulat"], "No such command 'simulat'. Did you mean 'simulate'?", id="command"),
        pytest.param(["simulate", "-n", "a", "-A"], "-n and -A contradict each other", id="one namespace and all"),
        pytest.param(["simulate", "-l", "a=b=c"], "is no condition on a label", id="selector"),
        pytest.param(["simulate", "--request-timeout", "soon"], "not a length of time", id="timeout"),
        pytest.param(["simulate", "--as-group", "x"], "--as-group goes with --as", id="group without a user"),
        pytest.param(
            ["simulate", "--from", "nowhere.json"], "nowhere.json: no such file or directory", id="no such file"
        ),
        pytest.param(["simulate", "--from", str(CASE), "-o", "xml"], "'xml' is not one of", id="output"),
        pytest.param(["simulate", "--from", str(CASE), "--colour"], "No such option", id="option"),
        pytest.param(
            ["simulate", "--from", str(CASE), "--config", "nope.yaml"], "nope.yaml: No such file", id="config"
        ),
        pytest.param(["simulate", "--from", str(CASE), "--feature-gates", "X=true"], "no feature gate X", id="gate"),
        pytest.param(
            ["simulate", "--from", str(CASE), "--plugin", "nope"], "write it as module:Class", id="plugin form"
        ),
        pytest.param(["simulate", "--from", str(CASE), "--plugin", "nope:X"], "cannot import nope", id="plugin module"),
        pytest.param(
            ["simulate", "--from", str(CASE), "--plugin", "json:loads"], "is not a subclass", id="not a plugin"
        ),
    ],
)
def test_mistakes_on_the_command_line(arguments: list[str], expected: str, ksched: Ksched) -> None:
    captured = ksched(*arguments, code=2)
    assert captured.out == ""
    assert expected in captured.err
    assert "Traceback" not in captured.err


SIMULATE = "simulate -n a -A --as-group x --values v --exit-zero --fail-on warning --max-cycles 3"


@pytest.mark.parametrize(
    ("line", "options"),
    [
        (SIMULATE, ["--values", "-n and -A", "--as-group", "--max-time and --max-cycles", "--exit-zero and --fail-on"]),
        ("simulate --settle --orders 2 --exit-zero --fail-on preemption", ["--exit-zero and --fail-on", "--orders"]),
        ("check --from - -f - --exit-zero --fail-on warning", ["--from - and -f -", "--exit-zero and --fail-on"]),
        ("snapshot --redact-names n --config c", ["--redact-names", "--config and", "--redact-config goes"]),
        ("watch --from x -n a -A", ["-n and -A", "watch follows"]),
    ],
)
def test_all_contradictions_are_shown_at_once(line: str, options: list[str], ksched: Ksched) -> None:
    lines = ksched(*line.split(), code=2).err.splitlines()
    assert [each for each, option in zip(lines, options, strict=True) if not each.startswith(f"ksched: {option}")] == []


def test_a_bug_is_told_without_a_traceback(ksched: Ksched, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("ksched_cli.wiring.load_input", broken)
    monkeypatch.delenv("KSCHED_TRACEBACK", raising=False)
    said = "ksched: a bug in ksched: ZeroDivisionError: oops\nksched: set KSCHED_TRACEBACK=1 to see where, and please report it\n"
    assert ksched("demo", code=2).err == said


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        pytest.param(OSError(errno.ENOSPC, "No Space"), "ksched: cannot write the output: no space\n", id="full"),
        pytest.param(OSError(errno.ENOSPC, ""), "ksched: cannot write the output: [errno 28] \n", id="no text"),
        pytest.param(OSError(errno.ENOSPC, "No Space", "a"), "ksched: a bug in ksched: OSError", id="of a file"),
        pytest.param(OSError(errno.EACCES, "No"), "ksched: a bug in ksched: PermissionError", id="another problem"),
    ],
)
def test_an_output_that_cannot_be_written(
    problem: OSError, said: str, ksched: Ksched, monkeypatch: pytest.MonkeyPatch
) -> None:
    abandoned: list[bool] = []
    monkeypatch.setattr("ksched_cli.cli.version.version", Mock(side_effect=problem))
    monkeypatch.setattr("ksched_cli.cli.main.abandon_stdout", lambda: abandoned.append(True))
    monkeypatch.delenv("KSCHED_TRACEBACK", raising=False)
    assert ksched("version", code=2).err.startswith(said)
    assert abandoned == [True] * ("cannot write" in said)
    monkeypatch.setenv("KSCHED_TRACEBACK", "1")
    if not abandoned:
        with pytest.raises(OSError, match="N"):
            ksched("version")


@pytest.mark.parametrize("words", [["config"], ["config", "--help"]], ids=" ".join)
def test_a_group_of_commands_without_a_command_shows_its_help(words: list[str], ksched: Ksched) -> None:
    assert ksched(*words, code=0).out.startswith("Usage: ksched config COMMAND\n\n  Look at a")


def test_a_line_on_a_terminal_is_broken_between_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "a-name-with-more-letters-than-forty-which-is-one-word"
    complain(f"one two three four five six seven eight nine {long} ten")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    complain(f"one two three four five six seven eight nine {long} ten")
    assert capsys.readouterr().err.splitlines() == [
        f"ksched: one two three four five six seven eight nine {long} ten",
        "ksched: one two three four five six",
        "    seven eight nine",
        f"    {long}",
        "    ten",
    ]


def test_stdin(ksched: Ksched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CASE.read_bytes())))
    assert ksched("simulate", "--from", "-", "-o", "name", code=0).out.startswith("pod/dev/new-0\tnode/node-1\n")


@pytest.mark.slow
def test_a_closed_pipe_is_not_an_error() -> None:
    assert run_without_a_reader("demo") == (BROKEN_PIPE, "")


def test_colours_only_where_they_are_wanted(ksched: Ksched, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[" not in ksched("demo").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    # Set first, so that the value of --no-color is taken back at the end.
    monkeypatch.setenv("NO_COLOR", "")
    assert "\x1b[31m" in ksched("demo").out
    assert "\x1b[31m" not in ksched("demo", "--no-color").out


class PrefersShortNames(ScorePlugin[None]):
    """A plugin of one's own, for `--plugin tests.cli.test_commands:PrefersShortNames`."""

    name = "PrefersShortNames"

    def score(self, state: None, pod: Any, nodes: Any) -> Any:
        return np.array([max(0, 50 - len(name)) for name in nodes.names], dtype=np.int64)


@pytest.fixture
def own_plugin(tmp_path: Path) -> list[str]:
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
        "- plugins:\n    score:\n      enabled:\n      - name: PrefersShortNames\n"
    )
    nodes = [make_node(name).allocatable(cpu="4", memory="4Gi", pods=9).doc() for name in ("a", "bb")]
    cluster = write_list(tmp_path / "cluster.json", *nodes, make_pod("web").requests(cpu="1").doc())
    return ["simulate", "--from", cluster, "--config", str(config), "--plugin", f"{__name__}:PrefersShortNames"]


def test_timings_name_every_plugin_and_where_those_of_ones_own_come_from(own_plugin: list[str], ksched: Ksched) -> None:
    stats = json.loads(ksched(*own_plugin, "-o", "json", "--timings", code=0).out)["stats"]
    timings = stats["timings"]
    known = {(each["point"], each["plugin"]): each for each in timings}
    own = known["score", "PrefersShortNames"]
    assert (own["calls"], own["origin"], own["askedForEveryPod"]) == (1, f"{__name__}:PrefersShortNames", True)
    fit = known["filter", "NodeResourcesFit"]
    assert fit["calls"] == 1
    assert "origin" not in fit
    assert "askedForEveryPod" not in fit
    assert known["cycle", "(engine)"]["calls"] == 1
    assert all(each["seconds"] == round(each["seconds"], 6) >= 0 for each in timings)
    # The engine has what no plugin took.
    assert known["cycle", "(engine)"]["seconds"] > 0
    assert sum(each["seconds"] for each in timings) == pytest.approx(stats["scheduleSeconds"], abs=0.001)
    assert "timings" not in json.loads(ksched(*own_plugin, "-o", "json", code=0).out)["stats"]


def test_timings_are_a_table_with_the_slowest_first(own_plugin: list[str], ksched: Ksched) -> None:
    lines = ksched(*own_plugin, "--timings", code=0).out.splitlines()
    at = next(index for index, line in enumerate(lines) if line.startswith("POINT"))
    seconds = [float(re.search(r"(\d+\.\d+) +[\d.]+ µs$", line).group(1)) for line in lines[at + 1 :] if "µs" in line]  # type: ignore[union-attr]
    assert len(seconds) > 10
    assert seconds == sorted(seconds, reverse=True)
    assert any("PrefersShortNames" in line for line in lines[at:])
    assert any(line.startswith("PrefersShortNames has no `depends`: ksched asks it about every pod") for line in lines)


def test_timings_count_the_cycles_that_used_an_earlier_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [make_node(name).allocatable(cpu="9", memory="8Gi", pods=9) for name in "abc"]
    copies = [make_pod(f"copy-{index}").requests(cpu="1") for index in range(5)]
    path, found = write_list(tmp_path / "cluster.json", *nodes, *copies), {}
    for extra in ([], ["--no-reuse"]):
        assert run(["simulate", "--from", path, "-o", "json", "--timings", *extra]) == 0
        for each in json.loads(capsys.readouterr().out)["stats"]["timings"]:
            found[each["plugin"], each["point"], *extra] = each
    assert found["TaintToleration", "filter"]["remembered"] == 4
    assert found["TaintToleration", "filter", "--no-reuse"]["remembered"] == 0
    # Each placement changes a node, which is filtered again.
    assert found["NodeResourcesFit", "filter"]["remembered"] == 0
    assert (found["(engine)", "cycle"]["calls"], found["(engine)", "cycle"]["remembered"]) == (5, 0)
    assert {each["remembered"] for (_, point, *_), each in found.items() if point in ("reserve", "preEnqueue")} == {0}


def test_a_plugin_that_is_asked_for_every_pod_is_listed_as_such(ksched: Ksched) -> None:
    listed = json.loads(ksched("plugins", "--plugin", f"{__name__}:PrefersShortNames", "-o", "json", code=0).out)
    (own,) = [each for each in listed if each["askedForEveryPod"]]
    assert (own["name"], own["origin"]) == ("PrefersShortNames", f"{__name__}:PrefersShortNames")
    assert own["summary"].startswith("A plugin of one's own, for ")
    # kube-scheduler retries its pods at every event; plugins that reject no pod need none.
    assert {"Node All", "Pod All"} < set(own["events"])
    assert {tuple(each["events"]) for each in listed if each["name"] in ("ImageLocality", "DefaultBinder")} == {()}


def test_no_reuse_prints_the_same(ksched: Ksched) -> None:
    documents = []
    for extra in ([], ["--no-reuse"]):
        document = json.loads(ksched("simulate", "--from", str(CASE), "-o", "json", "--detail", "full", *extra).out)
        del document["stats"], document["run"]
        documents.append(document)
    assert documents[0] == documents[1]
    assert documents[0]["pods"]


@pytest.mark.parametrize(
    ("option", "said"),
    [
        pytest.param("--each-zone", "No such option: --each-zone. Did you mean --each zone?", id="a value"),
        pytest.param("--igore-daemonsets", "Did you mean --ignore-daemonsets?", id="a letter"),
        pytest.param("--frobnicate", "No such option: --frobnicate.\n", id="nothing near"),
    ],
)
def test_only_near_options_are_named(option: str, said: str, ksched: Ksched) -> None:
    assert said in ksched("drain", option, code=2).err


def test_a_number_may_be_the_least_that_is_taken(ksched: Ksched) -> None:
    fits = ["capacity", "--from", str(CASE), "-f", str(ROOT / "fixtures/manifests/capacity.yaml"), "--max"]
    assert "'--max': 0 is not in the range x>=1" in ksched(*fits, "0", code=2).err
    assert ksched(*fits, "1").out


def test_no_bar_is_drawn_beside_a_document_on_a_terminal(ksched: Ksched, monkeypatch: pytest.MonkeyPatch) -> None:
    listened: list[object] = []
    monkeypatch.setattr("ksched_cli.cli.simulate.listen", listened.append)
    monkeypatch.setenv("CI", "true")
    arguments = ["simulate", "--from", str(CASE), "--exit-zero", "-o"]
    ksched(*arguments, "json", code=0)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    ksched(*arguments, "name", code=0)
    assert listened == []
    ksched(*arguments, "json", code=0)
    assert listened == [None]


def test_the_version_of_a_clone(ksched: Ksched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ksched_cli.build_info.BUILD", Mock(version="1.2", commit="0123456789ab", date="2026-01-02"))
    assert ksched("version", code=0).out.startswith("ksched 1.2 (commit 012345678 of 2026-01-02), kube-scheduler 1.")


@pytest.mark.parametrize(("keep", "number"), [("worst=0", 0), ("worst=999999999", 999_999_999), (None, None)])
def test_how_many_variants_are_kept(keep: str | None, number: int | None) -> None:
    assert _kept(keep) == number


@pytest.mark.parametrize("keep", ["worst", "worst=", "worst=-1", "best=1", "worst=1000000000"])
def test_what_says_no_number_of_variants(keep: str) -> None:
    with pytest.raises(UsageError, match="write worst=N"):
        _kept(keep)


def test_a_terminated_command_ends_by_the_signal(ksched: Ksched, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[object] = []
    monkeypatch.setattr("ksched_cli.cli.version.version", Mock(side_effect=Terminated))
    monkeypatch.setattr(os, "kill", lambda *signalled: sent.append(signalled))
    assert ksched("version", code=130).err == "ksched: interrupted before the first result\n"
    assert sent == [(os.getpid(), signal.SIGTERM)]
    assert Terminated().code == 143
