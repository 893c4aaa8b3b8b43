"""The configuration as the scheduler uses it, after decoding and defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import fields

from ksched_cli.api.defaults import DEFAULT_SCHEDULER


class PluginRef(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    name: str = ""
    weight: int = 0


class PluginSet(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    enabled: tuple[PluginRef, ...] = ()
    disabled: tuple[PluginRef, ...] = ()


class Plugins(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """The plugins of the extension points, which stand in the order of a cycle, and of MultiPoint."""

    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()
    pod_group_post_filter: PluginSet = PluginSet()
    multi_point: PluginSet = PluginSet()

    def points(self) -> Iterator[tuple[str, PluginSet]]:
        """Each extension point's JSON name with its set, MultiPoint aside."""
        for name, attribute in EXTENSION_POINT_FIELDS.items():
            yield name, getattr(self, attribute)

    @classmethod
    def of(cls, points: Mapping[str, PluginSet], multi_point: PluginSet | None = None) -> Plugins:
        """The plugins with these sets, by the JSON names of the extension points."""
        by_field = {EXTENSION_POINT_FIELDS[name]: own for name, own in points.items()}
        return cls(multi_point=multi_point or PluginSet(), **by_field)


# The JSON names of the extension points in a profile, in the order of a cycle.
EXTENSION_POINT_FIELDS: Mapping[str, str] = {
    each.encode_name: each.name for each in fields(Plugins) if each.name != "multi_point"
}


class PluginConfig(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    name: str = ""
    args: dict[str, Any] = {}


class KubeSchedulerProfile(Struct, frozen=True):
    """A profile. `args` are typed if the plugin is in-tree, and plain values otherwise. `config_version` decides the
    default plugins; if it is empty, the newest that the minor reads. `implemented_by` has the plugins that a Policy
    names otherwise, and `checks_all_filters` holds for a Policy with alwaysCheckAllPredicates."""

    scheduler_name: str = DEFAULT_SCHEDULER
    percentage_of_nodes_to_score: int | None = None
    plugins: Plugins = Plugins()
    args: dict[str, Any] = {}
    config_version: str = ""
    implemented_by: dict[str, str] = {}
    checks_all_filters: bool = False


class ExtenderManagedResource(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    name: str = ""
    ignored_by_scheduler: bool = False


class ExtenderTLSConfig(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: str = ""
    key_data: str = ""
    ca_data: str = ""


class Extender(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: int = 0
    bind_verb: str = ""
    enable_https: bool = field(default=False, name="enableHTTPS")
    tls_config: ExtenderTLSConfig | None = None
    http_timeout: str = field(default="", name="httpTimeout")
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False


class SchedulerConfiguration(Struct, frozen=True):
    profiles: tuple[KubeSchedulerProfile, ...] = (KubeSchedulerProfile(),)
    parallelism: int = 16
    percentage_of_nodes_to_score: int | None = 0
    pod_initial_backoff_seconds: int = 1
    pod_max_backoff_seconds: int = 10
    extenders: tuple[Extender, ...] = ()
    # The apiVersion of the file, where the minor does not read it and the file was rewritten for an older version.
    restated_from: str = ""
    # Settings of the file that have no effect.
    notes: tuple[str, ...] = ()
    # The v1alpha1 document of the time of predicates that it was read from, with its defaults.
    alpha: dict[str, Any] = {}
