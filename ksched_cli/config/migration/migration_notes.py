"""The notes of a migration: what replaced a field, and what can no longer be expressed, each with its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from ksched_cli.api.conversion import path_text
from ksched_cli.api.yaml_reader import Document
from ksched_cli.config.policy.model import is_policy, policy_document
from ksched_cli.config.policy.profile import plugins_named
from ksched_cli.errors import Problem

Steps = tuple[str | int, ...]


class MigrationNote(Struct, frozen=True):
    """`lost`: a setting of the old file is not in the new one."""

    problem: Problem
    lost: bool = False


class Notes:
    """The notes of one file. A note that holds for several profiles names the first."""

    def __init__(self, document: Document, source: str) -> None:
        self._document = document
        self._source = source
        self._notes: dict[tuple[str, str], MigrationNote] = {}

    def apart(self) -> Notes:
        """Notes that are not part of the result."""
        return Notes(self._document, self._source)

    def in_order(self) -> tuple[MigrationNote, ...]:
        """All notes; those about lost settings come first."""
        return tuple(sorted(self._notes.values(), key=lambda note: not note.lost))

    def add(self, message: str, steps: Sequence[str | int] = (), hint: str = "", *, lost: bool = False) -> None:
        line = self._document.line_of(tuple(steps)) if steps else None
        problem = Problem(message, self._source, line, path_text(steps), hint)
        self._notes.setdefault((message, hint), MigrationNote(problem, lost))

    def repeat(self, warning: str) -> None:
        """Add a note whose text already has its place."""
        self._notes.setdefault((warning, ""), MigrationNote(Problem(warning)))

    def place_of(self, plugins: Sequence[str], profile: int, point: str = "") -> Steps:
        """Where the file first names one of the plugins; nowhere if they are there by default."""
        document = self._document.value
        if is_policy(document):
            fields = ("priorities",) if point == "score" else ("predicates", "priorities")
            found = _in_policy(policy_document(document, self._source), fields, plugins)
        else:
            found = _in_profile(document, profile, point, plugins)
        return next(found, ())


def _in_policy(policy: dict[str, Any], fields: Sequence[str], plugins: Sequence[str]) -> Iterator[Steps]:
    for field in fields:
        for index, each in enumerate(policy.get(field) or ()):
            if set(plugins_named(each)) & set(plugins):
                yield (field, index)


def _in_profile(document: dict[str, Any], index: int, wanted: str, plugins: Sequence[str]) -> Iterator[Steps]:
    listed = document.get("profiles") or ()
    profile = listed[index] if index < len(listed) else {}
    steps: Steps = ("profiles", index)
    for point, own in (profile.get("plugins") or {}).items():
        for at, each in enumerate((own or {}).get("enabled") or ()):
            if wanted in ("", point) and each.get("name") in plugins:
                yield (*steps, "plugins", point, "enabled", at)
    for at, each in enumerate(profile.get("pluginConfig") or ()):
        if each.get("name") in plugins:
            yield (*steps, "pluginConfig", at)
