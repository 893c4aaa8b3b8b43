"""An older configuration, or a Policy, as a KubeSchedulerConfiguration of the newest version: what was said, in the
words of today, with notes of what is different and of what cannot be said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ksched_cli.config.load import load_config
from ksched_cli.config.migration.arguments import carried_args
from ksched_cli.config.migration.carrying import Carried, Minor, carry
from ksched_cli.config.migration.notes import Note, Notes
from ksched_cli.config.migration.settings import extenders, settings, settings_of_policy
from ksched_cli.config.migration.shortest import shortest
from ksched_cli.config.model import Plugins, Profile
from ksched_cli.config.policy import Policy, is_policy, policy_document
from ksched_cli.config.policy_profile import policy_profile
from ksched_cli.config.profiles import merge_with_defaults
from ksched_cli.config.reading import KIND, read_one
from ksched_cli.config.view import plugin_set


@dataclass(frozen=True)
class Migration:
    """The document, and what there is to tell of it."""

    document: dict[str, Any]
    notes: tuple[Note, ...]

    @property
    def whole(self) -> bool:
        """Whether it says all that the old one said."""
        return not any(note.lost for note in self.notes)


def migrate(text: str | bytes, source: str, old: Minor, new: Minor, own_models: Mapping[str, type[Any]]) -> Migration:
    """`old`: the minor that reads the file, and refuses it for its mistakes."""
    configuration = load_config(text, source, old.release, old.gates, old.points, own_models)
    document = read_one(text, source)
    notes = Notes(document, source)
    migrated: dict[str, Any] = {"apiVersion": new.release.config_versions[0], "kind": KIND}
    if is_policy(document.value):
        migrated |= settings_of_policy(policy_document(document.value, source), notes)
    else:
        migrated |= settings(document.value, notes)
    profiles = []
    for index, profile in enumerate(configuration.profiles):
        default = old.resolve(_default(profile, document.value, old))
        carried = carry(profile, index, default, old, new, notes)
        if is_policy(document.value):
            # Predicates are run in the order of kube-scheduler, whatever the order of the file.
            carried = replace(carried, ordered=frozenset())
        args = carried_args(profile, index, carried, old, new, own_models, notes)
        profiles.append(_profile(profile, carried, args, old, new, notes))
    if profiles != [{"schedulerName": Profile().scheduler_name}]:
        migrated["profiles"] = profiles
    if configuration.extenders:
        migrated["extenders"] = extenders(configuration.extenders)
    return Migration(migrated, notes.told())


def _default(profile: Profile, document: dict[str, Any], old: Minor) -> Profile:
    """What the old minor runs for a file of its kind that says nothing."""
    if is_policy(document):
        return policy_profile(Policy(), old.gates)[0]
    return Profile(config_version=profile.config_version)


def _profile(
    profile: Profile, carried: Carried, args: list[dict[str, Any]], old: Minor, new: Minor, notes: Notes
) -> dict[str, Any]:
    listed = merge_with_defaults(profile, old.release, old.gates).multi_point.enabled
    plugins = shortest(carried, [plugin.name for plugin in listed], new)
    _tell_order(profile, plugins, old, new, notes)
    document: dict[str, Any] = {"schedulerName": profile.scheduler_name}
    if profile.percentage_of_nodes_to_score is not None:
        document["percentageOfNodesToScore"] = profile.percentage_of_nodes_to_score
    if plugins != Plugins():
        sets = {"multiPoint": plugins.multi_point, **dict(plugins.points())}
        document["plugins"] = {name: own for name, each in sets.items() if (own := plugin_set(each))}
    if args:
        document["pluginConfig"] = args
    return document


def _tell_order(profile: Profile, plugins: Plugins, old: Minor, new: Minor, notes: Notes) -> None:
    before = old.resolve(profile).points["filter"]
    after = new.resolve(Profile(plugins=plugins)).points["filter"]
    if [name for name in before if name in after] != [name for name in after if name in before]:
        text = "filters run in the order of v1: of several that reject a node, another may be named"
        notes.tell(text, hint="where pods go is the same")
