"""A configuration file while it is read. Each mistake is noted with its line and path."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ksched_cli.api.conversion import path_text, problems_in
from ksched_cli.api.label_names import is_label_key
from ksched_cli.config.extenders import extender_complaints
from ksched_cli.config.model import Extender
from ksched_cli.config.own_args import own_args
from ksched_cli.config.serving import ClientConnection, LeaderElection, leader_election_complaints
from ksched_cli.errors import ConfigError, InputError, Problem
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import Release

if TYPE_CHECKING:
    from ksched_cli.api.yaml_reader import Document

KIND = "KubeSchedulerConfiguration"


def read_file(file: str) -> bytes:
    """The content of a file. InputError with the system's message if it cannot be read."""
    try:
        return Path(file).read_bytes()
    except OSError as problem:
        raise InputError(Problem(problem.strerror or str(problem), source=file)) from problem


def read_one(text: str | bytes, source: str) -> Document:
    """The only document of a file."""
    from ksched_cli.api.yaml_reader import read_documents

    try:
        documents = list(read_documents(text, source, with_lines=True))
    except InputError as mistake:
        raise ConfigError(mistake.problems) from None
    if len(documents) != 1:
        what = "empty" if not documents else f"{len(documents)} documents in one file"
        raise ConfigError(Problem(f"{what}; expected one {KIND}", source))
    if not isinstance(documents[0].value, dict):
        raise ConfigError(Problem(f"expected a {KIND}", source, documents[0].line))
    return documents[0]


class Reading:
    """One document of a minor, with the problems found in it."""

    def __init__(self, document: Document, source: str, release: Release, gates: FeatureGates) -> None:
        self.document = document
        self.source = source
        self.release = release
        self.gates = gates
        self.problems: list[Problem] = []

    def stop_if_mistaken(self) -> None:
        if self.problems:
            raise ConfigError(self.problems)

    def complain(self, message: str, steps: Sequence[str | int], hint: str = "") -> None:
        self.problems.append(self._problem(message, steps, hint))

    def warning(self, message: str, steps: Sequence[str | int], hint: str = "") -> str:
        """The text of a warning about a setting that has no effect."""
        return str(self._problem(message, steps, hint))

    def _problem(self, message: str, steps: Sequence[str | int], hint: str) -> Problem:
        return Problem(message, self.source, self.document.line_of(tuple(steps)), path_text(steps), hint)

    def decode(self, value: Any, struct: type[Struct], steps: tuple[str | int, ...]) -> Any:
        """The typed value. Every mistake is noted; a mistaken field has the struct's default."""
        converted, mistakes = problems_in(value, struct)
        for path, text in mistakes:
            self.complain(text, (*steps, *path))
        return converted

    def own_args(self, model: type[Any], given: dict[str, Any], steps: tuple[str | int, ...]) -> Any:
        """The arguments of a plugin that declares a model. Every mistake is noted."""
        args, mistakes = own_args(model, given)
        for where, text in mistakes:
            self.complain(text, (*steps, *where))
        return args

    def check_percentage(self, value: int | None, steps: Sequence[str | int]) -> None:
        if value is not None and not 0 <= value <= 100:
            self.complain(f"{value} is not in the valid range [0-100]", (*steps, "percentageOfNodesToScore"))

    def check_serving(self, connection: ClientConnection, election: LeaderElection) -> None:
        if connection.burst < 0:
            self.complain(f"{connection.burst} is negative", ("clientConnection", "burst"))
        for name, text in leader_election_complaints(election, self.release):
            self.complain(text, ("leaderElection", name))

    def check_extenders(self, extenders: Sequence[Extender]) -> None:
        managed: set[str] = set()
        for index, extender in enumerate(extenders):
            steps = ("extenders", index)
            if extender.prioritize_verb and extender.weight <= 0:
                self.complain(f"{extender.weight} is not a positive weight", (*steps, "weight"))
            for where, text in extender_complaints(extender):
                self.complain(text, (*steps, *where))
            for at, resource in enumerate(extender.managed_resources):
                path = (*steps, "managedResources", at, "name")
                for text in _resource_name_mistakes(resource.name, managed):
                    self.complain(text, path)
                managed.add(resource.name)
        binders = sum(bool(extender.bind_verb) for extender in extenders)
        if binders > 1:
            self.complain(f"{binders} extenders implement bind, and only one can", ("extenders",))


def _resource_name_mistakes(name: str, seen: Collection[str]) -> Iterator[str]:
    if not is_label_key(name):
        yield f"{name!r} is not a resource name"
    elif "/" not in name or "kubernetes.io/" in name or name.startswith("requests."):
        yield f"{name!r} is not the name of an extended resource"
    if name in seen:
        yield f"{name!r} is managed twice"
