"""Plugins by name: the in-tree ones, those that packages announce, and those named on the command line."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import entry_points

from ksched_cli.config.releases import NEWEST, Release
from ksched_cli.errors import UsageError
from ksched_cli.framework.interfaces import Plugin, extension_points

ENTRY_POINT_GROUP = "ksched.plugins"
IN_TREE_ORIGIN = "in-tree"


class Registry(Mapping[str, type[Plugin]]):
    """runtime.Registry: one class per name, a second claim on a name is refused."""

    def __init__(self, plugins: Iterable[type[Plugin]] = ()) -> None:
        self._plugins: dict[str, type[Plugin]] = {}
        self._origins: dict[str, str] = {}
        for plugin in plugins:
            self.register(plugin, IN_TREE_ORIGIN)

    def register(self, plugin: type[Plugin], origin: str) -> None:
        if plugin.name in self._plugins:
            raise UsageError(
                f"two plugins are named {plugin.name!r}: one {self._origins[plugin.name]}, one from {origin}; "
                "rename one of them"
            )
        self._plugins[plugin.name] = plugin
        self._origins[plugin.name] = origin

    def __getitem__(self, name: str) -> type[Plugin]:
        return self._plugins[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._plugins)

    def __len__(self) -> int:
        return len(self._plugins)

    def origin(self, name: str) -> str:
        return self._origins[name]

    def points(self, release: Release = NEWEST) -> dict[str, tuple[str, ...]]:
        """Which extension points each plugin takes part in, for expanding profiles."""
        return {name: extension_points(plugin, release) for name, plugin in self._plugins.items()}


def add_installed(registry: Registry) -> None:
    """Plugins that installed packages announce under the entry point group."""
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        registry.register(_checked(entry.load(), f"entry point {entry.name}"), f"entry point {entry.name}")


def add_named(registry: Registry, reference: str) -> None:
    """A plugin given as `module:Class`."""
    module_name, separator, class_name = reference.partition(":")
    if not separator or not module_name or not class_name:
        raise UsageError(f"--plugin {reference}: write it as module:Class")
    try:
        module = importlib.import_module(module_name)
    except ImportError as problem:
        raise UsageError(f"--plugin {reference}: cannot import {module_name}: {problem}") from problem
    found = getattr(module, class_name, None)
    if found is None:
        raise UsageError(f"--plugin {reference}: {module_name} has no {class_name}")
    registry.register(_checked(found, reference), reference)


def _checked(found: object, origin: str) -> type[Plugin]:
    if not (isinstance(found, type) and issubclass(found, Plugin)):
        raise UsageError(f"{origin} is not a subclass of ksched_cli.framework.interfaces.Plugin")
    if not isinstance(getattr(found, "name", None), str):
        raise UsageError(f"{origin} has no name: give the class an attribute `name`")
    if not extension_points(found):
        raise UsageError(f"{origin} takes part in no extension point: inherit from FilterPlugin, ScorePlugin, ...")
    return found
