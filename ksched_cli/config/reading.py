"""A configuration file while it is read. Each mistake is noted with its line and path.

Fields that a minor or a version does not have yet, or has no more, are unknown there. The connection to the API server
and the leader election decide nothing about pods, but kube-scheduler refuses a file for their mistakes."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ksched_cli.api.conversion import path_text, problems_in
from ksched_cli.api.label_names import is_label_key
from ksched_cli.config.model import Extender, extender_complaints, parse_duration
from ksched_cli.config.plugin_args import own_args
from ksched_cli.errors import ConfigError, InputError, Problem
from ksched_cli.releases.configuration import (
    ARGUMENTS,
    DOCUMENT_FIELDS,
    PLUGINS_FIELDS,
    PROFILE_FIELDS,
    ConfigurationRules,
    Later,
)
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import Release, has_multi_point

if TYPE_CHECKING:
    from ksched_cli.api.yaml_reader import Document


Complaint = tuple[str, str]

LOCK = "leases"
# Locks that older minors allow, too.
_OLD_LOCKS = ("endpoints", "configmaps", "endpointsleases", "configmapsleases")
# The fields of the addresses at which kube-scheduler serves without encryption.
ADDRESSES = ("healthzBindAddress", "metricsBindAddress")
_DEFAULTS = {"leaseDuration": "15s", "renewDeadline": "10s", "retryPeriod": "2s"}


class LeaderElection(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    leader_elect: bool | None = None
    lease_duration: str = ""
    renew_deadline: str = ""
    retry_period: str = ""
    resource_lock: str = ""
    resource_name: str = ""
    resource_namespace: str = ""


class ClientConnection(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = ""
    qps: float = 0.0
    burst: int = 0


def leader_election_complaints(election: LeaderElection, release: Release) -> Iterator[Complaint]:
    """ValidateLeaderElectionConfiguration, after defaults. Without an election nothing of it is looked at."""
    given_texts = (election.lease_duration, election.renew_deadline, election.retry_period)
    texts = dict(zip(_DEFAULTS, given_texts, strict=True))
    given = {name: parse_duration(text) if text else 0.0 for name, text in texts.items()}
    unread = [name for name, seconds in given.items() if seconds is None]
    yield from ((name, f"{texts[name]!r} is not a duration, such as 15s or 1m30s") for name in unread)
    if election.leader_elect is False or unread:
        return
    seconds = {name: given[name] or parse_duration(default) or 0.0 for name, default in _DEFAULTS.items()}
    yield from ((name, f"{texts[name]} is not greater than zero") for name, length in seconds.items() if length <= 0)
    if seconds["leaseDuration"] <= seconds["renewDeadline"]:
        lease, renew = (texts[name] or _DEFAULTS[name] for name in ("leaseDuration", "renewDeadline"))
        yield "leaseDuration", f"{lease} is not greater than renewDeadline, {renew}"
    locks = (LOCK, *_OLD_LOCKS) if ConfigurationRules.of(release).locks_other_than_leases else (LOCK,)
    if election.resource_lock not in ("", *locks):
        allowed = " or ".join(f'"{each}"' for each in locks)
        yield "resourceLock", f"{election.resource_lock!r} must be {allowed}"


def address_complaints(addresses: Mapping[str, str | None], release: Release) -> Iterator[Complaint]:
    """Complaints where the minor has no port without encryption: an address must be empty or have port 0."""
    if not ConfigurationRules.of(release).serves_http:
        for name, address in addresses.items():
            if address and not _is_no_port(address):
                yield name, f"{address!r} must be empty, or an address with port 0"


def _is_no_port(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return port == "0"


# (path in the document, what is wrong, since when it is there)
Unknown = tuple[tuple[str | int, ...], str, str]


# The addresses were removed together with their port; flags of kube-scheduler set the secure one.
_WITHOUT_ADDRESSES = ("v1beta3", "v1")


def unknown_fields(document: dict[str, Any], release: Release, config_version: str) -> Iterator[Unknown]:
    """Fields of the document that the minor, or the version of the document, does not have."""
    yield from _later(document, DOCUMENT_FIELDS, (), release)
    for field in ADDRESSES if config_version in _WITHOUT_ADDRESSES else ():
        if field in document:
            yield (field,), f'unknown field "{field}"', "it went away with v1beta3: see --bind-address, --secure-port"
    for index, profile in _listed(document, "profiles"):
        steps: tuple[str | int, ...] = ("profiles", index)
        yield from _later(profile, PROFILE_FIELDS, steps, release)
        plugins = profile.get("plugins")
        yield from _later(plugins, PLUGINS_FIELDS, (*steps, "plugins"), release)
        if isinstance(plugins, dict) and "multiPoint" in plugins and not has_multi_point(config_version):
            yield (*steps, "plugins", "multiPoint"), 'unknown field "multiPoint"', "it came with v1beta3"
        for at, config in _listed(profile, "pluginConfig"):
            later = ARGUMENTS.get(str(config.get("name")), ())
            yield from _later(config.get("args"), later, (*steps, "pluginConfig", at, "args"), release)


def known_args(plugin: str, args: dict[str, Any], release: Release) -> dict[str, Any]:
    """The arguments without those that came with a later minor."""
    later = {each.field for each in ARGUMENTS.get(plugin, ()) if not each.is_in(release)}
    return {field: value for field, value in args.items() if field not in later}


def _listed(document: Any, field: str) -> Iterator[tuple[int, dict[str, Any]]]:
    found = document.get(field)
    for index, each in enumerate(found if isinstance(found, list) else ()):
        if isinstance(each, dict):
            yield index, each


def _later(
    document: Any, fields: tuple[Later, ...], steps: tuple[str | int, ...], release: Release
) -> Iterator[Unknown]:
    for later in fields:
        if isinstance(document, dict) and later.field in document and not later.is_in(release):
            yield (*steps, later.field), f'unknown field "{later.field}"', f"it came with Kubernetes {later.since}"


KIND = "KubeSchedulerConfiguration"
# A Policy, and the key under which a ConfigMap holds it. Only old minors read it.
POLICY_KIND, POLICY_KEY = "Policy", "policy.cfg"
ALPHA_VERSIONS = ("v1alpha1", "v1alpha2")
MIGRATE = "ksched config migrate rewrites it"


def read_file(file: str) -> bytes:
    """The content of a file. InputError with the system's message if it cannot be read."""
    try:
        return Path(file).read_bytes()
    except OSError as problem:
        raise InputError(Problem(problem.strerror or str(problem), source=file)) from problem


def is_policy(document: dict[str, Any]) -> bool:
    """Whether the document is a Policy, alone or in its ConfigMap."""
    data = document.get("data")
    in_config_map = document.get("kind") == "ConfigMap" and isinstance(data, dict) and POLICY_KEY in data
    return in_config_map or document.get("kind") == POLICY_KIND


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
