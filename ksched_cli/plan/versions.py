"""The modelled minors of Kubernetes, and what each of them changed."""

from __future__ import annotations

from msgspec import Struct

from ksched_cli.plan.rule_changes import changes_of
from ksched_cli.releases.changes import RuleChange
from ksched_cli.releases.minors import RELEASES, Release, release

# The name shown for a change of no plugin.
KUBE_SCHEDULER = "kube-scheduler"


class Version(Struct, rename="camel", frozen=True):
    """One minor: whether answers are held against recordings of it, and how many changes it brought."""

    version: str
    recorded: bool
    configuration_versions: tuple[str, ...]
    changes: int


class VersionChange(Struct, rename="camel", frozen=True):
    """One change of a minor: the plugins and the parts of scheduling it is about, the gate that switches it, and the
    patch that brought it if it was not there from the first release on."""

    version: str
    plugins: tuple[str, ...]
    about: tuple[str, ...]
    change: str
    gate: str = ""
    patch: str = ""


class VersionList(Struct, frozen=True):
    """All modelled minors."""

    versions: tuple[Version, ...]


class VersionChanges(Struct, frozen=True):
    """The changes of one minor: kube-scheduler itself first, then each plugin."""

    changes: tuple[VersionChange, ...]


def list_versions() -> VersionList:
    """The newest minor first."""
    return VersionList(
        tuple(
            Version(each.version, each.recorded, each.config.read, sum(1 for _ in changes_of(each)))
            for each in reversed([*RELEASES.values()])
        )
    )


def list_changes(version: str) -> VersionChanges:
    """UsageError for an unknown minor."""
    minor = release(version)
    changes = [_change_of(each, minor) for each in changes_of(minor)]
    changes.sort(key=lambda each: (each.plugins != (KUBE_SCHEDULER,), each.plugins, each.gate, each.change))
    return VersionChanges(tuple(changes))


def _change_of(rule: RuleChange, minor: Release) -> VersionChange:
    plugins = tuple(plugin or KUBE_SCHEDULER for plugin in rule.plugins)
    patch = rule.fix.patch_of.get(minor.minor) if rule.fix is not None else None
    brought_by = f"{minor.version}.{patch}" if patch is not None else ""
    return VersionChange(minor.version, plugins, tuple(sorted(rule.aspects)), rule.text, rule.gate, brought_by)
