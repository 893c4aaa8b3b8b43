"""Builds the wheel (PEP 517). Real packages use hatchling, setuptools or the like; this one must do without."""

from __future__ import annotations

import tomllib
import zipfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    with (HERE / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    stem = f"{project['name'].replace('-', '_')}-{project['version']}"
    files = {path.relative_to(HERE).as_posix(): path.read_text() for path in sorted(HERE.glob("ksched_sample/*.py"))}
    info = f"{stem}.dist-info"
    entries = "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in each.items())
        for group, each in project["entry-points"].items()
    )
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nGenerator: sample\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{info}/entry_points.txt"] = entries
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD"))
    name = f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
    return name
