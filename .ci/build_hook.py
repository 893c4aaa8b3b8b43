"""Writes `ksched_cli/_build.py` into wheels and sdists: the version, the commit and its date, as read from git.

An editable install has no such file: it reads git whenever somebody asks for the version, so that the version is never
that of an older commit. Nothing is written to the checkout.
"""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BuildInfoHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        package = Path(self.root, "ksched_cli")
        # In an sdist the file is there already, and it is packed with the others.
        if version == "editable" or (package / "_build.py").exists():
            return
        spec = importlib.util.spec_from_file_location("build_info", package / "build_info.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        build = module.BUILD
        text = f'VERSION = "{build.version}"\nCOMMIT = "{build.commit}"\nDATE = "{build.date}"\n'
        self._folder = tempfile.TemporaryDirectory()
        written = Path(self._folder.name, "_build.py")
        written.write_text(text, encoding="utf-8")
        build_data["force_include"][str(written)] = "ksched_cli/_build.py"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if hasattr(self, "_folder"):
            self._folder.cleanup()
