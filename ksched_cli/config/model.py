"""The configuration as the scheduler uses it, after decoding and defaults; Go durations; and settings of extenders.

`parse_duration` mirrors time.ParseDuration. What an extender decides is computed from its settings, without a call.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from msgspec import Struct, field
from msgspec.structs import fields

from ksched_cli.api.defaults import DEFAULT_SCHEDULER

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)")


def parse_duration(duration: str) -> float | None:
    """The duration in seconds (time.ParseDuration), or None if the text is no duration."""
    unsigned = duration[1:] if duration[:1] in ("+", "-") else duration
    if unsigned == "0":
        return 0.0
    parts = _PART.findall(unsigned)
    if not parts or "".join(number + unit for number, unit in parts) != unsigned:
        return None
    total = sum(float(number) * _UNITS[unit] for number, unit in parts)
    return -total if duration.startswith("-") else total


def duration_text(nanoseconds: int) -> str:
    """The duration in the largest units that need no fraction: 1m30s, 5s, 100ms."""
    if nanoseconds < 0:
        return f"-{duration_text(-nanoseconds)}"
    for unit, length in (("ms", 10**6), ("us", 10**3), ("ns", 1)):
        if nanoseconds % 10**9 and nanoseconds % length == 0:
            return f"{nanoseconds // length}{unit}"
    minutes, left = divmod(nanoseconds // 10**9, 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "m"), (left, "s"))
    return "".join(f"{number}{unit}" for number, unit in parts if number) or "0s"


def seconds(duration: str) -> float:
    """The duration in seconds; 0 if the text is no duration or the duration is negative."""
    return max(parse_duration(duration) or 0.0, 0.0)


Complaint = tuple[tuple[str, ...], str]


def extender_name(extender: Extender) -> str:
    """The URL of the extender, as in kube-scheduler, without a password."""
    try:
        parts = urlsplit(extender.url_prefix)
    except ValueError:
        return extender.url_prefix.rpartition("@")[2]
    user, at, host = parts.netloc.rpartition("@")
    if not at or ":" not in user:
        return extender.url_prefix
    return urlunsplit(parts._replace(netloc=f"{user.partition(':')[0]}:xxxxx@{host}"))


def ignored_resources(extenders: Sequence[Extender]) -> tuple[str, ...]:
    """Resources that the filter for resources leaves to extenders (buildExtenders)."""
    return tuple(
        resource.name
        for extender in extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )


def decides(extender: Extender) -> list[str]:
    """What the answers of the extender can change."""
    found = ["which nodes fit"] if extender.filter_verb else []
    found += [f"scores (weight {extender.weight})"] if extender.prioritize_verb else []
    found += ["victims of preemption"] if extender.preempt_verb else []
    return found


def not_called(extender: Extender) -> dict[str, Any]:
    """Text for the coverage of a run that did not call the extender."""
    managed = [resource.name for resource in extender.managed_resources]
    return {
        "extender": extender_name(extender),
        "couldChange": decides(extender),
        **({"podsThatAskFor": managed} if managed else {}),
    }


def extender_complaints(extender: Extender) -> Iterator[Complaint]:
    """Complaints about settings that kube-scheduler cannot decode."""
    if extender.http_timeout and parse_duration(extender.http_timeout) is None:
        yield ("httpTimeout",), f"{extender.http_timeout!r} is not a duration such as 5s or 100ms"
    if extender.tls_config is not None:
        for name in ("cert_data", "key_data", "ca_data"):
            if not _is_base64(getattr(extender.tls_config, name)):
                yield ("tlsConfig", name.replace("_d", "D")), "is not base64"


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode("".join(text.split()), validate=True)
    except binascii.Error:
        return False
    return True


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
