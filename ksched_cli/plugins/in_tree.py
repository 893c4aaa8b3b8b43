"""The plugins that kube-scheduler brings along (plugins.NewInTreeRegistry), each from its room."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from ksched_cli.framework.interfaces import Plugin
from ksched_cli.releases.configuration import ConfigurationRules
from ksched_cli.releases.minors import Release

# In the order in which `ksched plugins` lists them. Each of these modules has its plugins in PLUGINS.
_ROOMS = (
    "scheduling_gates",
    "priority_sort",
    "node_unschedulable",
    "node_name",
    "taint_toleration",
    "node_affinity",
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


def _of_rooms() -> tuple[type[Plugin], ...]:
    modules = (import_module(f"ksched_cli.plugins.{room}") for room in _ROOMS)
    return tuple(plugin for module in modules for plugin in module.PLUGINS)


IN_TREE = _of_rooms()


def plugins_of(release: Release) -> tuple[type[Plugin], ...]:
    """The plugins that kube-scheduler of this minor registers."""
    listed = IN_TREE
    if ConfigurationRules.of(release).has_plugins_of_v1beta1:
        from ksched_cli.plugins.legacy.in_tree import BEFORE_PLUGINS, REMOVED

        listed = BEFORE_PLUGINS if release.before_plugins else (*IN_TREE, *REMOVED)
    return tuple(plugin for plugin in listed if release.within(plugin.since, plugin.until))


@cache
def column_of(plugin: str) -> str:
    """The heading over the plugin's scores, which is shorter than its name; the name itself where it has none."""
    found = {each.name: each.column for each in IN_TREE}
    if plugin not in found:
        from ksched_cli.plugins.legacy.in_tree import PRIORITIES, REMOVED

        found |= {each.name: each.column for each in (*REMOVED, *PRIORITIES)}
    return found.get(plugin) or plugin
