"""Each artefact of `.ci/release --dry-run` is installed or unpacked, and its demo runs.

KSCHED_DIST names the folder with the artefacts. `.ci/run` sets it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest
import yaml

from tests.deploy.scripts import script

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "fixtures" / "pytest-example"
GIVEN = os.environ.get("KSCHED_DIST")
built = pytest.mark.skipif(not GIVEN, reason="KSCHED_DIST names no folder of .ci/release")
DIST = ROOT / (GIVEN or "dist")


def artefact(pattern: str) -> Path:
    (path,) = DIST.glob(pattern)
    return path


def environment(folder: Path, *requirements: str) -> Path:
    """The bin folder of a new environment, which sees no other."""
    venv.create(folder, with_pip=True)
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    subprocess.run(
        [scripts / "python", "-m", "pip", "install", "--quiet", "--no-compile", *requirements], check=True, cwd=folder
    )
    return scripts


def shown(*command: str | Path, cwd: Path, **variables: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
    done = subprocess.run(
        command, cwd=cwd, env={**kept, **variables}, capture_output=True, text=True, check=False, timeout=250
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def assert_demo(output: str) -> None:
    assert re.search(r"^shop/web-1 +scheduled +east-2 .* 4/6 +total 463, tied with west-1$", output, re.MULTILINE)


@built
@pytest.mark.slow
def test_the_wheel_runs_with_its_plugin_for_pytest(tmp_path: Path) -> None:
    scripts = environment(tmp_path / "venv", str(artefact("*.whl")), "pytest")
    assert_demo(shown(scripts / "ksched", "demo", cwd=tmp_path))
    assert_demo(shown(scripts / "kubectl-ksched", "demo", cwd=tmp_path))
    # What `pipx run ksched-cli demo` calls.
    entry = "from importlib.metadata import entry_points; entry_points(group='pipx.run')['ksched-cli'].load()()"
    assert_demo(shown(scripts / "python", "-c", entry, "demo", cwd=tmp_path))
    shutil.copytree(EXAMPLE, tmp_path / "example", ignore=shutil.ignore_patterns("__pycache__"))
    assert " 12 passed in " in shown(scripts / "python", "-m", "pytest", "-v", cwd=tmp_path / "example")


@built
@pytest.mark.slow
def test_the_sdist_installs_where_there_is_nothing(tmp_path: Path) -> None:
    scripts = environment(tmp_path / "venv", str(artefact("ksched_cli-*.tar.gz")))
    assert_demo(shown(scripts / "ksched", "demo", cwd=tmp_path))
    version = shown(scripts / "ksched", "version", cwd=tmp_path)
    assert version.startswith(f"ksched {artefact('*.whl').name.split('-')[1]} (commit ")


@built
@pytest.mark.slow
def test_the_archive_for_krew_runs_as_kubectl_runs_it(tmp_path: Path) -> None:
    """kubectl finds kubectl-ksched on the PATH. Nothing but Python is installed."""
    with tarfile.open(artefact("ksched-*-linux-*.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    assert {path.name for path in tmp_path.iterdir()} == {"kubectl-ksched", "kubectl_complete-ksched", "LICENSE"}
    path = f"{tmp_path}:{Path(sys.executable).resolve().parent}:/usr/bin:/bin"
    variables = {"PATH": path, "PEX_ROOT": str(tmp_path / "pex"), "VIRTUAL_ENV": ""}
    command = ["kubectl", "ksched"] if shutil.which("kubectl", path=path) else [str(tmp_path / "kubectl-ksched")]
    assert_demo(shown(*command, "demo", cwd=tmp_path, **variables))


@built
def test_the_manifest_for_krew_names_the_archives() -> None:
    manifest = yaml.safe_load(artefact("ksched.yaml").read_text())
    archives = {
        path.name: path for path in DIST.glob("ksched-*-*-*.tar.gz") if re.search("-(linux|darwin)-", path.name)
    }
    assert len(manifest["spec"]["platforms"]) == len(archives) >= 1
    for platform in manifest["spec"]["platforms"]:
        archive = archives[platform["uri"].rpartition("/")[2]]
        assert platform["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()


@built
def test_wheel_and_sdist_have_what_they_need_and_no_more() -> None:
    with zipfile.ZipFile(artefact("*.whl")) as wheel:
        names = set(wheel.namelist())
        (metadata,) = (message_from_bytes(wheel.read(name)) for name in names if name.endswith(".dist-info/METADATA"))
    assert {name.partition("/")[0] for name in names if ".dist-info" not in name} == {"ksched_cli"}
    assert {"ksched_cli/_build.py", "ksched_cli/py.typed", "ksched_cli/cli/demo_cluster.yaml"} <= names
    assert [name for name in names if name.endswith((".pyc", ".so"))] == []
    assert metadata["License-Expression"] == "Apache-2.0"
    with tarfile.open(artefact("ksched_cli-*.tar.gz")) as sdist:
        folders = {name.split("/")[1] for name in sdist.getnames()}
    assert folders == {"ksched_cli", ".ci", "README.md", "LICENSE", "PKG-INFO", "pyproject.toml", ".gitignore"}


@built
def test_the_bill_of_materials_lists_every_dependency() -> None:
    document = json.loads(artefact("*.cdx.json").read_text())
    assert document["bomFormat"] == "CycloneDX"
    assert document["metadata"]["component"]["name"] == "ksched-cli"
    assert document["metadata"]["component"]["version"] == artefact("*.whl").name.split("-")[1]
    found = {each["name"].lower(): each["version"] for each in document["components"]}
    assert {"numpy", "msgspec", "typer", "rich", "pyyaml", "jsonschema", "google-re2", "urllib3"} <= found.keys()
    assert "pip" not in found
    with tarfile.open(artefact("ksched-*-image.tar.gz")) as archive:
        pinned = archive.extractfile("requirements.txt").read().decode().split()  # type: ignore[union-attr]
    assert sorted(each.lower() for each in pinned) == sorted(f"{name}=={found[name]}" for name in found)


@built
@pytest.mark.slow
def test_the_completions_are_those_of_the_repository(tmp_path: Path) -> None:
    with tarfile.open(artefact("*-completions.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    for path in (ROOT / "completions").iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()
        assert (tmp_path / path.name).stat().st_mode & 0o111 == (0o111 if path.name.startswith("kubectl") else 0)


@built
def test_the_checksums_are_those_of_the_files() -> None:
    lines = (DIST / "SHA256SUMS").read_text().splitlines()
    assert {line.split("  ")[1] for line in lines} == {path.name for path in DIST.iterdir()} - {"SHA256SUMS"}
    for line in lines:
        checksum, _, name = line.partition("  ")
        assert hashlib.sha256((DIST / name).read_bytes()).hexdigest() == checksum


@built
@pytest.mark.slow
def test_the_image_is_small_and_runs_read_only() -> None:
    command = [sys.executable, ROOT / "deploy" / "image" / "check.py", artefact("ksched-*-image.tar.gz")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(
        r"the layer has \d+ MB compressed; ksched runs from it as user \d+ and writes nothing", done.stdout
    )


def test_pipx_runs_the_package_by_its_name() -> None:
    """pipx looks for an entry point with the name of the package where no command has it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pipx.run"] == {project["name"]: project["scripts"]["ksched"]}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(("USER 65532:65532", "USER nonroot"), "does not name a user other than root", id="user by name"),
        pytest.param(("USER 65532:65532", "USER 0:0"), "does not name a user other than root", id="root"),
        pytest.param(("USER 65532:65532\n", ""), "does not name a user other than root", id="no user"),
        pytest.param(("nonroot@sha256:", "nonroot@sha1:"), "not pinned by a digest", id="no digest"),
        pytest.param(('ENTRYPOINT ["python3", "-m", "ksched_cli"]', "ENTRYPOINT ksched"), "needs a shell", id="shell"),
        pytest.param(("WORKDIR /work", "RUN true"), "the last stage only copies", id="RUN in the last stage"),
    ],
)
def test_the_check_of_the_image_finds_mistakes(change: tuple[str, str], expected: str) -> None:
    check = script("deploy/image/check.py")
    text = (ROOT / "deploy" / "image" / "Dockerfile").read_text()
    assert list(check.judge_instructions(list(check.read_dockerfile(text)))) == []
    assert change[0] in text
    (problem,) = check.judge_instructions(list(check.read_dockerfile(text.replace(*change))))
    assert expected in problem


def test_the_check_of_the_image_finds_files(tmp_path: Path) -> None:
    check = script("deploy/image/check.py")
    (tmp_path / "numpy" / "tests").mkdir(parents=True)
    for name, mode in (("fine", 0o755), ("open", 0o666), ("root", 0o4755)):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(mode)
    found = list(check.judge_files(tmp_path))
    assert found == ["numpy/tests: not needed in an image", "open: everybody may write it", "root: setuid or setgid"]


def test_a_release_needs_a_tag_and_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = script(".ci/release.py")
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(SystemExit, match=r"other files, such as thesis\.txt"):
        release._check_ours(tmp_path)
    monkeypatch.setattr(release.runpy, "run_path", lambda path: {"BUILD": type("B", (), {"version": "9.9.9"})})
    with pytest.raises(SystemExit, match=r"CHANGELOG\.md has no entry for 9\.9\.9"):
        release._check_tagged()
    monkeypatch.setattr(
        release.runpy, "run_path", lambda path: {"BUILD": type("B", (), {"version": "1.2.3.dev4+gabc"})}
    )
    with pytest.raises(SystemExit, match="is no release: HEAD has no tag"):
        release._check_tagged()
    monkeypatch.setattr(release.runpy, "run_path", lambda path: {"BUILD": type("B", (), {"version": "0.1.0"})})
    release._check_tagged()
