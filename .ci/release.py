"""Builds everything that a release of ksched consists of, and checks it.

    .ci/release --dry-run           from any commit, for this machine's platform
    .ci/release --platform all      from a tag: what the release workflow uploads

It uploads nothing. It needs Python, git and a package index. The tools are installed into an environment of its own.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import platform
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".ci" / "release-tools.txt"
# One archive for krew has the wheels of these interpreters, which is what "runs without pip" takes.
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = {
    "linux-amd64": "manylinux_2_28_x86_64",
    "linux-arm64": "manylinux_2_28_aarch64",
    "darwin-amd64": "macosx_14_0_x86_64",
    "darwin-arm64": "macosx_14_0_arm64",
}
MACHINES = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
SCRIPTS = "Scripts" if os.name == "nt" else "bin"
COMPLETIONS = ("_ksched", "ksched.bash", "ksched.fish", "ksched.ps1", "kubectl_complete-ksched")


def main() -> None:
    arguments = _arguments()
    out, work = arguments.out.resolve(), ROOT / "build" / "release"
    if not arguments.dry_run:
        _check_tagged()
    _check_ours(out)
    for folder in (out, work):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    build = runpy.run_path(str(ROOT / "ksched_cli" / "build_info.py"))["BUILD"]
    # Time stamps in archives are those of the commit, so that two builds of a commit are the same.
    os.environ["SOURCE_DATE_EPOCH"] = _output("git", "log", "-1", "--format=%ct", cwd=ROOT)
    tools = _tools(work / "tools")
    wheel = _distributions(tools, out, work)
    clean = _clean_environment(tools, work / "clean", wheel)
    _software_bill(tools, clean, out, build.version)
    _completions(clean, out, build.version)
    wanted = list(PLATFORMS) if arguments.platform == "all" else [_this_platform()]
    archives = [_krew_archive(tools, wheel, each, out, work, build, arguments.platform) for each in wanted]
    _krew_manifest(archives, out, partial=len(archives) < len(PLATFORMS))
    _image_context(tools, clean, wheel, out, build.version)
    _checksums(out)
    _say(f"{build.version} is in {arguments.out}/")
    for path in sorted(out.iterdir()):
        _say(f"  {path.stat().st_size / 1e6:8.2f} MB  {path.name}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry-run", action="store_true", help="build from a commit that is no release")
    parser.add_argument("--platform", choices=("this", "all"), default="this", help="of the archives for krew")
    parser.add_argument(
        "--out", type=Path, default=Path("dist"), help="the folder; what an earlier run wrote is deleted"
    )
    return parser.parse_args()


def _check_tagged() -> None:
    """A release is a clean checkout of a tag that the changelog has."""
    build = runpy.run_path(str(ROOT / "ksched_cli" / "build_info.py"))["BUILD"]
    changelog = (ROOT / ".github" / "CHANGELOG.md").read_text(encoding="utf-8")
    problems = []
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", build.version):
        problems.append(f"{build.version} is no release: HEAD has no tag such as v1.2.3, or files are changed")
    elif f"## [{build.version}] - " not in changelog:
        problems.append(f".github/CHANGELOG.md has no entry for {build.version}")
    if problems:
        raise SystemExit("\n".join([*problems, "--dry-run builds nevertheless"]))


def _check_ours(out: Path) -> None:
    """The folder is emptied: it must have nothing but what an earlier run wrote."""
    others = (
        [path.name for path in out.iterdir() if not re.match("ksched|SHA256SUMS", path.name)] if out.exists() else []
    )
    if others:
        raise SystemExit(f"--out {out} has other files, such as {others[0]}: give a folder of its own")


# Steps


def _tools(folder: Path) -> Path:
    """The bin folder of a new virtual environment with the tools."""
    _run(sys.executable, "-m", "venv", str(folder))
    scripts = folder / SCRIPTS
    _run(*_pip(scripts), "install", "--quiet", "-r", str(TOOLS))
    return scripts


def _clean_environment(tools: Path, folder: Path, wheel: Path) -> Path:
    """The bin folder of a new virtual environment with the wheel and its dependencies, and not even pip."""
    _run(sys.executable, "-m", "venv", "--without-pip", str(folder))
    _run(*_pip(tools), "--python", str(folder), "install", "--quiet", str(wheel))
    return folder / SCRIPTS


def _distributions(tools: Path, out: Path, work: Path) -> Path:
    """sdist, and the wheel that is built of it. A second wheel has to be the same byte for byte."""
    for folder in (out, work / "again"):
        _run(str(tools / "python"), "-m", "build", "--outdir", str(folder), str(ROOT))
    (wheel,) = out.glob("*.whl")
    for path in (*out.glob("*.whl"), *out.glob("*.tar.gz")):
        if path.read_bytes() != (work / "again" / path.name).read_bytes():
            raise SystemExit(f"{path.name} is not reproducible: two builds differ")
    _run(str(tools / "python"), "-m", "twine", "check", "--strict", *map(str, out.iterdir()))
    return wheel


def _software_bill(tools: Path, clean: Path, out: Path, version: str) -> None:
    """CycloneDX, of the environment in which the wheel is the only thing that was asked for."""
    path = out / f"ksched-{version}.cdx.json"
    _run(
        *(
            str(tools / "cyclonedx-py"),
            "environment",
            "--output-reproducible",
            "--of",
            "JSON",
            "--mc-type",
            "application",
        ),
        *("--pyproject", str(ROOT / "pyproject.toml"), "-o", str(path)),
        str(clean / "python"),
    )
    # The tool does not read the version of pyproject.toml where it is dynamic.
    document = json.loads(path.read_text(encoding="utf-8"))
    document["metadata"]["component"] |= {"version": version, "purl": f"pkg:pypi/ksched-cli@{version}"}
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def _completions(clean: Path, out: Path, version: str) -> None:
    """The scripts of completions/; the installed command prints the same."""
    for shell, name in (
        ("bash", "ksched.bash"),
        ("zsh", "_ksched"),
        ("fish", "ksched.fish"),
        ("powershell", "ksched.ps1"),
    ):
        printed = _output(str(clean / "ksched"), "completion", shell)
        if printed != (ROOT / "completions" / name).read_text(encoding="utf-8").strip():
            raise SystemExit(f"completions/{name} is not what `ksched completion {shell}` prints")
    files = {name: (ROOT / "completions" / name).read_bytes() for name in COMPLETIONS}
    _archive(out / f"ksched-{version}-completions.tar.gz", files)


def _krew_archive(tools: Path, wheel: Path, name: str, out: Path, work: Path, build: object, pythons: str) -> Path:
    """A zipapp with all dependencies. For `--platform all` it has the wheels of every supported Python."""
    zipapp = work / f"ksched-{name}.pex"
    targets = []
    if pythons == "all":
        targets = [
            f"--platform={tag}-cp-{python}.0-cp{python.replace('.', '')}"
            for tag in PLATFORMS[name]
            for python in PYTHONS
        ]
    _run(
        *(str(tools / "pex"), "--use-pip-config", "--console-script", "ksched", "--venv", "prepend"),
        *("--python-shebang", "/usr/bin/env python3", "--output-file", str(zipapp), *targets, str(wheel)),
    )
    path = out / f"ksched-{build.semantic_version}-{name}.tar.gz"  # type: ignore[attr-defined]
    files = {
        "kubectl-ksched": zipapp.read_bytes(),
        "kubectl_complete-ksched": (ROOT / "completions" / "kubectl_complete-ksched").read_bytes(),
        "LICENSE": (ROOT / "LICENSE").read_bytes(),
    }
    _archive(path, files)
    return path


def _krew_manifest(archives: list[Path], out: Path, *, partial: bool) -> None:
    """Where the archives will be is known in the workflow; a dry run has a place that does not exist."""
    render = runpy.run_path(str(ROOT / "deploy" / "krew" / "render.py"))["render"]
    home = os.environ.get("KSCHED_HOMEPAGE", "https://ksched.example.com")
    base = os.environ.get("KSCHED_DOWNLOADS", f"{home}/downloads")
    (out / "ksched.yaml").write_text(render(home, base, archives, partial=partial), encoding="utf-8")


def _image_context(tools: Path, clean: Path, wheel: Path, out: Path, version: str) -> None:
    """Dockerfile, wheel, and the versions of the dependencies that were tested."""
    frozen = _output(*_pip(tools), "--python", str(clean.parent), "list", "--format=freeze")
    kept = [line for line in frozen.splitlines() if not line.startswith("ksched-cli==")]
    files = {
        "Dockerfile": (ROOT / "deploy" / "image" / "Dockerfile").read_bytes(),
        "requirements.txt": ("\n".join(kept) + "\n").encode(),
        f"wheels/{wheel.name}": wheel.read_bytes(),
    }
    _archive(out / f"ksched-{version}-image.tar.gz", files)


def _checksums(out: Path) -> None:
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(out.iterdir())]
    (out / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


# Helpers


def _pip(scripts: Path) -> tuple[str, ...]:
    return (str(scripts / "python"), "-m", "pip", "--disable-pip-version-check")


def _this_platform() -> str:
    name = f"{platform.system().lower()}-{MACHINES.get(platform.machine(), platform.machine())}"
    if name not in PLATFORMS:
        raise SystemExit(f"there is no archive for {name}: give --platform all")
    return name


def _archive(path: Path, files: dict[str, bytes]) -> None:
    """A tar whose bytes depend on the files and the commit only."""
    stamp = int(os.environ["SOURCE_DATE_EPOCH"])
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(data), stamp
            entry.mode = 0o755 if name.startswith("kubectl") else 0o644
            archive.addfile(entry, io.BytesIO(data))
    with path.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=stamp) as packed:
        packed.write(raw.getvalue())


def _run(*command: str) -> None:
    _say(f"+ {shlex.join(command)}")
    subprocess.run(command, cwd=ROOT, check=True)


def _output(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as problem:
        raise SystemExit(f"failed with exit code {problem.returncode}: {problem.cmd}\n{problem.stderr or ''}") from None
