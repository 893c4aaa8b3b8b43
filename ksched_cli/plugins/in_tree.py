"""The plugins that kube-scheduler brings along (plugins.NewInTreeRegistry), each from its room. A room is found by its
file: no list names it. Plugins of the legacy minors are imported only if such a minor asks for them."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from ksched_cli import plugins
from ksched_cli.framework.interfaces import Plugin
from ksched_cli.plugins.lib.spec import Spec
from ksched_cli.releases.configuration import ConfigurationRules
from ksched_cli.releases.default_plugins import MULTI_POINT
from ksched_cli.releases.minors import Release

# All of the folder but these is a room: a module or a package with a SPEC.
_NO_ROOMS = {"in_tree", "lib"}


def _rooms() -> tuple[Spec, ...]:
    """The rooms in the order of the default plugins. Rooms that have none, and rooms that the newest minor does not
    have any more, come last."""
    rooms = (each for each in iter_modules(plugins.__path__) if each.name not in _NO_ROOMS)
    specs: list[Spec] = [import_module(f"{plugins.__name__}.{each.name}").SPEC for each in rooms]
    default = [each.name for each in MULTI_POINT]

    def place(plugin: type[Plugin]) -> tuple[bool, int]:
        return bool(plugin.until), default.index(plugin.name) if plugin.name in default else len(default)

    return tuple(sorted(specs, key=lambda spec: min(place(each) for each in spec.plugins)))


SPECS = _rooms()
IN_TREE = tuple(plugin for spec in SPECS for plugin in spec.plugins)


def plugins_of(release: Release) -> tuple[type[Plugin], ...]:
    """The plugins that kube-scheduler of this minor registers."""
    listed = IN_TREE
    if ConfigurationRules.of(release).has_plugins_of_v1beta1:
        from ksched_cli.legacy.in_tree import BEFORE_PLUGINS, EARLIER, REMOVED

        listed = BEFORE_PLUGINS if release.before_plugins else (*IN_TREE, *REMOVED, *EARLIER)
    return tuple(plugin for plugin in listed if release.within(plugin.since, plugin.until))


def all_specs() -> tuple[Spec, ...]:
    """Every room, those of removed plugins included."""
    from ksched_cli.legacy.in_tree import SPECS as LEGACY

    return (*SPECS, *LEGACY)


@cache
def spec_of(plugin: str) -> Spec | None:
    """The room of the in-tree plugin of this name. A predicate that is a plugin under another name has its room."""
    rooms = {each: spec for spec in SPECS for each in spec.plugins}
    classes = {each.name: each for each in IN_TREE}
    if plugin not in classes:
        from ksched_cli.legacy.in_tree import BEFORE_PLUGINS

        rooms = {each: spec for spec in all_specs() for each in spec.plugins}
        classes |= {each.name: each for each in (*rooms, *BEFORE_PLUGINS)}
    found = classes.get(plugin)
    return next((rooms[base] for base in found.__mro__ if base in rooms), None) if found else None


@cache
def column_of(plugin: str) -> str:
    """The heading over the plugin's scores, which is shorter than its name; the name itself where it has none."""
    found = {each.name: each.column for each in IN_TREE}
    if plugin not in found:
        from ksched_cli.legacy.in_tree import EARLIER, REMOVED
        from ksched_cli.legacy.priorities import PRIORITIES

        found |= {each.name: each.column for each in (*EARLIER, *REMOVED, *PRIORITIES)}
    return found.get(plugin) or plugin
