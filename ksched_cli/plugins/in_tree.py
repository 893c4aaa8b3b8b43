"""The plugins that kube-scheduler brings along (plugins.NewInTreeRegistry), each from its room."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from ksched_cli.framework.interfaces import Plugin
from ksched_cli.plugins.lib.spec import Spec
from ksched_cli.releases.configuration import ConfigurationRules
from ksched_cli.releases.minors import Release

# In the order in which `ksched plugins` lists them. Each of these modules has its SPEC.
_ROOMS = (
    "scheduling_gates",
    "priority_sort",
    "node_unschedulable",
    "node_name",
    "taint_toleration.plugin",
    "node_affinity.plugin",
    "node_ports",
    "node_resources_fit.plugin",
    "volume_restrictions",
    "node_volume_limits.plugin",
    "volume_binding.plugin",
    "volume_zone",
    "pod_topology_spread.plugin",
    "inter_pod_affinity.plugin",
    "dynamic_resources.plugin",
    "default_preemption.plugin",
    "node_resources_balanced_allocation",
    "image_locality",
    "default_binder",
    "node_declared_features",
    "gang_scheduling",
    "topology_placement_generator",
    "pod_group_pods_count",
    "in_tree_volume_limits",
    "selector_spread",
)


SPECS: tuple[Spec, ...] = tuple(import_module(f"ksched_cli.plugins.{room}").SPEC for room in _ROOMS)
IN_TREE = tuple(plugin for spec in SPECS for plugin in spec.plugins)


def plugins_of(release: Release) -> tuple[type[Plugin], ...]:
    """The plugins that kube-scheduler of this minor registers."""
    listed = IN_TREE
    if ConfigurationRules.of(release).has_plugins_of_v1beta1:
        from ksched_cli.plugins.legacy.in_tree import BEFORE_PLUGINS, EARLIER, REMOVED

        listed = BEFORE_PLUGINS if release.before_plugins else (*IN_TREE, *REMOVED, *EARLIER)
    return tuple(plugin for plugin in listed if release.within(plugin.since, plugin.until))


def all_specs() -> tuple[Spec, ...]:
    """Every room, those of removed plugins included."""
    from ksched_cli.plugins.legacy.in_tree import SPECS as LEGACY

    return (*SPECS, *LEGACY)


@cache
def spec_of(plugin: str) -> Spec | None:
    """The room of the in-tree plugin of this name. A predicate that is a plugin under another name has its room."""
    for spec in SPECS:
        if any(each.name == plugin for each in spec.plugins):
            return spec
    from ksched_cli.plugins.legacy.in_tree import PREDICATES, PRIORITIES

    found = next((each for each in (*PREDICATES, *PRIORITIES) if each.name == plugin), None)
    bases = found.__mro__ if found is not None else ()
    specs = all_specs()
    rooms = (spec for base in bases for spec in specs if base in spec.plugins)
    return next(rooms, None) or next((spec for spec in specs if plugin in {each.name for each in spec.plugins}), None)


@cache
def column_of(plugin: str) -> str:
    """The heading over the plugin's scores, which is shorter than its name; the name itself where it has none."""
    found = {each.name: each.column for each in IN_TREE}
    if plugin not in found:
        from ksched_cli.plugins.legacy.in_tree import EARLIER, PRIORITIES, REMOVED

        found |= {each.name: each.column for each in (*EARLIER, *REMOVED, *PRIORITIES)}
    return found.get(plugin) or plugin
