"""Rewrites an older configuration or a Policy for the newest version, with notes about differences and losses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, structs
from msgspec.structs import replace

from ksched_cli.config.load import load_config
from ksched_cli.config.migration.algorithm import in_plugins
from ksched_cli.config.migration.arguments import carried_args
from ksched_cli.config.migration.carrying import Carried, Minor, OldProfile, carry
from ksched_cli.config.migration.differing import differing
from ksched_cli.config.migration.migration_notes import MigrationNote, Notes
from ksched_cli.config.migration.settings import settings, settings_of_alpha, tell_of_all_filters, tell_of_policy
from ksched_cli.config.migration.shortest import shortest
from ksched_cli.config.model import KubeSchedulerProfile, Plugins, SchedulerConfiguration
from ksched_cli.config.plugin_args import VolumeBindingArgs
from ksched_cli.config.policy.model import Policy, is_policy, policy_document
from ksched_cli.config.policy.profile import policy_profile
from ksched_cli.config.reading import KIND, read_one
from ksched_cli.config.view import plugin_set
from ksched_cli.releases.plugin_names import VOLUME_BINDING


class Migration(Struct, frozen=True):
    """The document, and the notes about it."""

    document: dict[str, Any]
    notes: tuple[MigrationNote, ...]

    @property
    def whole(self) -> bool:
        """Whether the new document expresses everything that the old one did."""
        return not any(note.lost for note in self.notes)


def migrate(text: str | bytes, source: str, old: Minor, new: Minor, own_models: Mapping[str, type[Any]]) -> Migration:
    """`old`: the minor that reads the file, and refuses it for its mistakes."""
    configuration = load_config(text, source, old.release, old.gates, old.points, own_models)
    document = read_one(text, source)
    notes = Notes(document, source)
    for warning in configuration.notes:
        notes.repeat(warning)
    migrated = {
        "apiVersion": new.release.config.read[0],
        "kind": KIND,
        **_settings(document.value, source, old, notes),
    }
    profiles = []
    for each in _old_profiles(configuration, document.value, old, new, notes):
        carried = carry(each, new, notes)
        if is_policy(document.value) or old.release.before_plugins:
            # Predicates are run in the order of kube-scheduler, whatever the order of the file.
            carried = replace(carried, ordered=carried.ordered - {"preFilter", "filter"})
        profiles.append(_profile(each, carried, carried_args(each, carried, new, own_models, notes), new, notes))
    if profiles != [{"schedulerName": KubeSchedulerProfile().scheduler_name}]:
        migrated["profiles"] = profiles
    if configuration.extenders:
        migrated["extenders"] = [differing(each) for each in configuration.extenders]
    return Migration(migrated, notes.in_order())


def _settings(document: dict[str, Any], source: str, old: Minor, notes: Notes) -> dict[str, Any]:
    if is_policy(document):
        tell_of_policy(policy_document(document, source), notes)
        return {}
    return (settings_of_alpha if old.release.before_plugins else settings)(document, notes)


def _old_profiles(
    configuration: SchedulerConfiguration, document: dict[str, Any], old: Minor, new: Minor, notes: Notes
) -> Iterator[OldProfile]:
    for index, profile in enumerate(configuration.profiles):
        if profile.checks_all_filters:
            tell_of_all_filters(notes)
        if old.release.before_plugins:
            yield in_plugins(_with_bind_timeout(profile, document), old, new, notes)
            continue
        default = policy_profile(Policy(), old.release, old.gates)[0] if is_policy(document) else None
        default = default or KubeSchedulerProfile(config_version=profile.config_version)
        yield OldProfile(profile, index, old, old.resolve(profile), old.resolve(default))


def _with_bind_timeout(profile: KubeSchedulerProfile, document: dict[str, Any]) -> KubeSchedulerProfile:
    """An argument of a plugin, and a field of v1alpha1."""
    seconds = document.get("bindTimeoutSeconds")
    if seconds is None:
        return profile
    return structs.replace(
        profile, args={**profile.args, VOLUME_BINDING: VolumeBindingArgs(bind_timeout_seconds=seconds)}
    )


def _profile(old: OldProfile, carried: Carried, args: list[dict[str, Any]], new: Minor, notes: Notes) -> dict[str, Any]:
    profile = old.profile
    plugins = shortest(carried, [plugin.name for plugin in profile.plugins.multi_point.enabled], new)
    _tell_order(old, plugins, new, notes)
    document: dict[str, Any] = {"schedulerName": profile.scheduler_name}
    if profile.percentage_of_nodes_to_score is not None:
        document["percentageOfNodesToScore"] = profile.percentage_of_nodes_to_score
    if plugins != Plugins():
        sets = {"multiPoint": plugins.multi_point, **dict(plugins.points())}
        document["plugins"] = {name: own for name, each in sets.items() if (own := plugin_set(each))}
    if args:
        document["pluginConfig"] = args
    return document


def _tell_order(old: OldProfile, plugins: Plugins, new: Minor, notes: Notes) -> None:
    before = old.runs.points["filter"]
    after = new.resolve(KubeSchedulerProfile(plugins=plugins)).points["filter"]
    if [name for name in before if name in after] != [name for name in after if name in before]:
        text = "filters run in the order of v1: of several that reject a node, another may be named"
        notes.add(text, hint="where pods go is the same")
