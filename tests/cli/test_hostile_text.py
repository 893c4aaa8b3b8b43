"""Names and messages that try to control a terminal, a reader or a CI system, through every output of every command."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ksched_cli.cli.main import run
from ksched_cli.plan.watch import Kind, News
from ksched_cli.report.registry import RenderOptions, formats_of, render
from ksched_cli.report.visible import escape_markdown, visible
from tests.builders import make_configuration, write_list
from tests.cli.transcripts import DEMO, ROOT
from tests.failed_scheduling import written_now
from tests.lanes import sampled
from tests.running import Ksched

BAD = (
    "\x1b]0;owned\x07\x1b[31m\x9b\x85\u202e\u2066\u200b\u2028\r\n\x7f"
    "OWNED\n::error file=a::b\n  ::stop-commands::c ##[error]d ##vso[task.setvariable variable=e]f"
    " @octocat https://evil.example www.evil.example [g](https://evil.example) <img src=x> `h` |i| \U000e0041"
)
NAMES = {"name", "namespace", "nodeName", "claimName", "storageClassName", "priorityClassName", "image", "message"}
KEPT = re.compile(r"kubernetes\.io|^(cpu|memory|pods|ephemeral-storage|default|default-scheduler)$")
MAPS = {"labels", "nodeSelector", "annotations", "requests", "limits", "allocatable", "capacity"}


def spoilt(value: Any, key: str = "", *, labels: bool = True) -> Any:
    """The document with the hostile text behind every name, label, taint, resource and message."""
    if isinstance(value, dict):
        own = key in MAPS and labels
        amounts = key in ("requests", "limits", "allocatable", "capacity")
        return {
            (_bad(name) if own else name): (
                each if amounts else _bad(each) if own else spoilt(each, name, labels=labels)
            )
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [_bad(each) if key == "values" and labels else spoilt(each, key, labels=labels) for each in value]
    if isinstance(value, str) and (key in NAMES or (labels and key in ("key", "topologyKey", "value"))):
        return _bad(value)
    return value


def _bad(text: str) -> str:
    return text if KEPT.search(text) else f"{text}{BAD}"


def bad_file(source: str | Path, target: Path, *, labels: bool = True) -> str:
    documents = [spoilt(each, labels=labels) for each in yaml.safe_load_all(Path(source).read_text()) if each]
    items = [item for each in documents for item in each.get("items", [each])]
    return write_list(target, *items)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("hostile") / "a\n::error::b\x1b[1m"
    folder.mkdir()
    drain = ROOT / "fixtures" / "clusters" / "drain.yaml"
    return {
        "demo": bad_file(DEMO, folder / "demo\u202e.json"),
        "drain": bad_file(drain, folder / "drain.json"),
        "fleet": bad_file(ROOT / "fixtures" / "clusters" / "fleet.yaml", folder / "fleet.json"),
        "cluster": bad_file(ROOT / "fixtures" / "check" / "cluster.yaml", folder / "cluster.json"),
        "deploy": bad_file(deployments(folder), folder / "deploy.json", labels=False),
        "manifest": bad_file(ROOT / "fixtures" / "manifests" / "capacity.yaml", folder / "manifest.json", labels=False),
        "folder": str(folder),
        "events": with_events(folder / "demo\u202e.json", folder / "events.json"),
        "good": str(ROOT / "fixtures" / "manifests" / "capacity.yaml"),
        "good folder": str(ROOT / "fixtures" / "check" / "deploy"),
    }


def with_events(source: Path, target: Path) -> str:
    """The cluster with one FailedScheduling event for each pending pod. No name of it has a slash, which ends the
    namespace on the command line."""
    document = json.loads(source.read_text().replace("https://", "https:"))
    pods = [each for each in document["items"] if each["kind"] == "Pod" and not each["spec"].get("nodeName")]
    said = "2026-01-01T00:10:00.123456Z"
    document["items"] += [written_now(each["metadata"]["name"], f"0/6 nodes: {BAD}", said) for each in pods]
    for pod, event in zip(pods, document["items"][-len(pods) :], strict=True):
        event["involvedObject"]["namespace"] = pod["metadata"]["namespace"]
    target.write_text(json.dumps(document))
    return str(target)


def deployments(folder: Path) -> Path:
    found = sorted((ROOT / "fixtures" / "check" / "deploy").rglob("*.yaml"))
    path = folder / "all.txt"
    path.write_text("\n---\n".join(each.read_text() for each in found))
    return path


SHOWN = ["table", "wide", "json", "yaml", "name"]
TEMPLATES = [
    "jsonpath={range .pods[*]}{.pod}{'\\n'}{.message}{'\\n'}{end}",
    "custom-columns=POD:.pod,NODE:.node,WHY:.message",
]
APPLIED = ("batch", "shop")
COMMANDS: dict[str, tuple[list[str], list[str]]] = {
    "simulate": (["simulate", "--from", "{demo}"], [*SHOWN, *TEMPLATES]),
    "settle": (["simulate", "--settle", "--from", "{demo}"], SHOWN),
    "drain": (["drain", "--from", "{drain}", f"east-1{BAD}"], SHOWN),
    "drain each": (["drain", "--from", "{drain}", "--each", "node"], SHOWN),
    "drain zones": (["drain", "--from", "{drain}", "--each", "zone", "--ignore-daemonsets"], SHOWN),
    "diff": (["diff", "--from", "{demo}", "--to", "{fleet}"], ["table", "wide", "json", "yaml", "markdown"]),
    "diff version": (
        ["diff", "--from", "{demo}", "--kube-version", "1.20", "--to-kube-version", "1.36"],
        ["table", "wide", "json", "yaml", "markdown"],
    ),
    "check": (
        ["check", "--from", "{cluster}", "-f", "{deploy}"],
        ["table", "wide", "json", "junit", "sarif", "github", "markdown"],
    ),
    "check demo": (
        ["check", "--from", "{demo}", "-f", "{deploy}"],
        ["table", "wide", "json", "junit", "sarif", "github", "markdown"],
    ),
    "check good": (
        ["check", "--from", "{cluster}", "-f", "{good folder}", *(f"--assume-namespace={each}" for each in APPLIED)],
        ["table", "wide", "json", "junit", "sarif", "github", "markdown"],
    ),
    "capacity": (["capacity", "--from", "{fleet}", "-f", "{good}", "--max", "5"], SHOWN),
    "capacity refused": (["capacity", "--from", "{fleet}", "-f", "{manifest}", "--max", "5"], SHOWN),
    "verify": (["verify", "--from", "{events}"], SHOWN),
    "sweep": (["sweep", "--fail", "zone", "--from", "{drain}"], SHOWN[:4]),
    "explain manifests": (["explain", "--from", "{fleet}", "-f", "{good}"], SHOWN),
    "explain all": (["explain", "--from", "{events}"], SHOWN),
}
# The API server refuses names of these manifests.
REFUSED = {"check", "check demo", "capacity refused"}


def check_shown(text: str, *, markdown: bool = False) -> None:
    """No control character, no line start and no command is the attacker's."""
    assert [each for each in text if not each.isprintable() and each not in "\n\t"] == []
    for line in text.split("\n"):
        assert not line.startswith("OWNED"), line
        assert not re.match(r"[ \t|-]*::(?!(error|warning|notice|group|endgroup)\b)", line), line
        assert "##[" not in line
        assert "##vso[" not in line
        if markdown:
            assert not re.search(r"@octocat|https?://|www\.|(?<!\\)<img|(?<!\\)\[g|(?<!\\)`h", line), line


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "output"),
    sampled(
        (
            pytest.param(command, output, id=f"{command} {output}")
            for command, (_, all) in COMMANDS.items()
            for output in all
        ),
        6,
    ),
)
def test_no_output_obeys_the_input(
    command: str,
    output: str,
    files: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    arguments = [each.format(**files) for each in COMMANDS[command][0]]
    code = run([*arguments, "-o", output])
    shown = capsys.readouterr()
    assert "a bug in ksched" not in shown.err
    assert (code in (0, 1)) is (command not in REFUSED), shown.err
    if output not in ("table", "wide", "json", "yaml", "name") or code in (0, 1):
        assert shown.out, shown.err
    check_shown(shown.out, markdown=output == "markdown")
    check_shown(shown.err)
    assert "::error" not in shown.err
    if output != "github":
        assert not any(line.lstrip().startswith("::") for line in shown.out.split("\n"))
    if summary.exists():
        check_shown(summary.read_text(), markdown=True)
    if output in ("json", "sarif") and shown.out:
        assert json.loads(shown.out)
    elif output == "yaml" and shown.out:
        assert yaml.safe_load(shown.out)


@pytest.mark.slow
@pytest.mark.parametrize("output", sampled(["table", "wide", "json", "yaml", "name"], 5))
def test_explain(output: str, files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    for pod in pods_of(files["events"]):
        code = run(["explain", pod, "--from", files["events"], "-o", output])
        shown = capsys.readouterr()
        assert code in (0, 1), shown.err
        check_shown(shown.out)
        check_shown(shown.err)


def pods_of(path: str) -> list[str]:
    items = json.loads(Path(path).read_text())["items"]
    metadata = [each["metadata"] for each in items if each["kind"] == "Pod"]
    return [f"{each.get('namespace', 'default')}/{each['name']}" for each in metadata]


@pytest.mark.parametrize(
    "arguments",
    [
        ["simulate", "--from", "{folder}/none\n::error::x\x1b[1m"],
        ["simulate", "--from", "{folder}/mistakes.yaml"],
        ["simulate", "--from", "{demo}", "-n", BAD],
        ["simulate", "--from", "{demo}", "-l", BAD],
        ["simulate", "--from", "{demo}", "--config", "{folder}/mistakes.yaml"],
        ["simulate", "--from", "{demo}", "--scenario", "{folder}/mistakes.yaml"],
        ["simulate", "--from", "{demo}", "--cordon", BAD],
        ["simulate", "--from", "{demo}", "--" + BAD],
        ["simulate", "--from", "{demo}", "-o", BAD],
        ["simulate", "--from", "{demo}", "-o", "jsonpath={" + BAD],
        ["drain", "--from", "{demo}", BAD],
        ["explain", "--from", "{demo}", BAD],
        ["check", "--from", "{demo}", "-f", "{folder}/mistakes.yaml"],
        ["config", "validate", "{folder}/mistakes.yaml"],
        ["config", "view", "--config", "{folder}/config.yaml"],
        ["config", "migrate", "{folder}/mistakes.yaml"],
        ["scenario", "validate", "{folder}/mistakes.yaml"],
        ["plugins", BAD],
        ["explain-code", BAD],
        ["snapshot", "--from", "{demo}", "-o", "{folder}/none/x\x1b[1m"],
        ["snapshot", "--from", "{demo}", "-o", "{folder}/snapshot"],
        ["__complete", "drain", "--from", "{demo}", ""],
        [BAD],
    ],
)
def test_mistakes(arguments: list[str], files: dict[str, str], ksched: Ksched) -> None:
    folder = Path(files["folder"])
    bad = json.dumps(BAD)
    (folder / "mistakes.yaml").write_text(
        f"apiVersion: {bad}\nkind: {bad}\nmetadata: {{name: {bad}, labels: [{bad}]}}\nspec: {{{bad}: {bad}}}\nsteps: {bad}\n"
    )
    profile = {"schedulerName": BAD, "plugins": {"score": {"disabled": [{"name": "NodeAffinity"}]}}}
    (folder / "config.yaml").write_text(json.dumps(make_configuration(profile)))
    shown = ksched(*[each.replace("{folder}", files["folder"]).replace("{demo}", files["demo"]) for each in arguments])
    assert "a bug in ksched" not in shown.err
    assert shown.out + shown.err
    for text in (shown.out, shown.err):
        check_shown(text)
        assert not any(line.lstrip().startswith("::") for line in text.split("\n"))


@pytest.mark.parametrize("form", formats_of("News"))
def test_watch(form: str) -> None:
    out = io.StringIO()
    render(News(Kind.UNSCHEDULABLE, f"ns/p{BAD}", f"n{BAD}", BAD), out, RenderOptions(form))
    line = out.getvalue().removesuffix("\n")
    check_shown(line)
    assert "\n" not in line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, é and 漢字 \N{GRINNING FACE}", "plain, é and 漢字 \N{GRINNING FACE}"),
        ("a\x1b[0m\x9b", "a\\x1b[0m\\x9b"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\u202e\u2028\U000e0041", "\\u202e\\u2028\\U000e0041"),
        ("\udcff\ud800", "\\xff\\ud800"),
        ("x ::error ::warning::y", "x \\x3a:error \\x3a:warning\\x3a:y"),
        ("fd00::1 ::1 fe80::ab", "fd00::1 ::1 fe80::ab"),
        ("##[error] ##VSO[x] ## #[", "\\x23#[error] \\x23#VSO[x] ## #["),
    ],
)
def test_visible(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert visible(shown) == shown


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("@octocat", "@&#8203;octocat"),
        ("https://x.y", "https:&#8203;//x.y"),
        ("www.x.y", "www&#8203;.x.y"),
        ("&lt;b&gt; #12", "&amp;lt;b&amp;gt; \\#&#8203;12"),
        ("a|b_c*[d](e)", "a\\|b\\_c\\*\\[d\\](e)"),
    ],
)
def test_markdown(text: str, escaped: str) -> None:
    assert escape_markdown(text) == escaped


@pytest.mark.slow
def test_every_line_is_printed_in_one_place() -> None:
    """Every other module of the command line prints through `printing`, or writes documents."""
    package = ROOT / "ksched_cli"
    allowed = {"cli/streams.py"}
    found = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"(?<![\w.])print\(|typer\.echo|click\.echo", path.read_text())
    }
    assert {each for each in found if not _only_in_a_text(package / each)} == allowed


def _only_in_a_text(path: Path) -> bool:
    """An example in a docstring is no call."""
    import ast

    calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
    return not any(
        (isinstance(call.func, ast.Name) and call.func.id == "print")
        or (isinstance(call.func, ast.Attribute) and call.func.attr == "echo")
        for call in calls
    )
