"""Visits every text of an object and replaces each name by the pseudonym that a callback returns.

The tables have the text fields that snapshots keep: names with their roles, and plain vocabulary. They and `SPECIAL`
are the allow-list: both kinds of snapshots leave all other text fields out. A test lists for every text field of every
kind whether it is in a plain and in a redacted snapshot.

A pseudonym can replace the string of a device attribute only if strings are compared for equality or order. If one CEL
expression reads the characters of a string (`startsWith`, `matches`, `+`, `size`), the strings of all devices stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import pairwise
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from ksched_cli.api.avoided_pods import AVOID_PODS_ANNOTATION, avoided_controllers, avoiding
from ksched_cli.plugins.lib.cel.syntax import tokens_of
from ksched_cli.plugins.lib.cel.values import CelCompileError

_PLAIN_LITERAL = re.compile(r"""(['"])[^'"\\]*\1""")

_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
# Functions of literals that are numbers, versions or addresses and not strings of devices.
_PARSING = ("quantity", "semver", "isQuantity", "isSemver", "duration", "timestamp", "ip", "cidr", "isIP", "isCIDR")
# Functions that do not read the characters of strings.
_BLIND = (
    *_PARSING,
    "has",
    "all",
    "exists",
    "exists_one",
    "filter",
    "compareTo",
    "isGreaterThan",
    "isLessThan",
    "includes",
)
_MEMBER = "in"
_DRIVER = "driver"
_MAPS = ([_MEMBER, "device", ".", "attributes"], [_MEMBER, "device", ".", "capacity"])
_JOINING = "+"


class _Token(Struct, frozen=True):
    text: str
    group: str
    start: int


def only_compare_strings(expressions: Iterable[str]) -> bool:
    """Whether pseudonyms can stand for the strings of device attributes and for the literals compared with them."""
    return all(map(_only_compares, expressions))


def with_literals(expression: str, rename: Callable[[str], str]) -> str:
    """The expression with its compared literals replaced."""
    parts: list[str] = []
    end = 0
    for token in _compared(_tokens(expression)):
        parts += [expression[end : token.start], f'"{rename(token.text[1:-1])}"']
        end = token.start + len(token.text)
    return "".join([*parts, expression[end:]])


def _tokens(expression: str) -> list[_Token]:
    return [_Token(text, kind, place) for kind, text, place in tokens_of(expression)[:-1]]


def _only_compares(expression: str) -> bool:
    """Whether no function reads the characters of a string and every literal has one of the known forms."""
    try:
        tokens = _tokens(expression)
    except CelCompileError:
        return False
    names = [one.text for one, after in pairwise(tokens) if after.text == "(" and one.group == "name"]
    if any(name not in (*_BLIND, _MEMBER) for name in names) or any(token.text == _JOINING for token in tokens):
        return False
    compared = {token.start for token in _compared(tokens)}
    strings = [at for at, token in enumerate(tokens) if token.group == "string"]
    return all(
        _is_key(tokens, at)
        or _is_parsed(tokens, at)
        or _names_driver(tokens, at)
        or (tokens[at].start in compared and _PLAIN_LITERAL.fullmatch(tokens[at].text))
        for at in strings
    )


def _compared(tokens: list[_Token]) -> Iterator[_Token]:
    """The literals that are compared with a selected value, also those in a list."""
    for at, token in enumerate(tokens):
        if token.group != "string" or _names_driver(tokens, at):
            continue
        before, after = _text(tokens, at - 1), _text(tokens, at + 1)
        selected = _is_selected(tokens, at - 2) if before in _COMPARISONS else _selection_follows(tokens, at, after)
        if selected or (before in ("[", ",") and _in_member_list(tokens, at)):
            yield token


def _text(tokens: list[_Token], at: int) -> str:
    return tokens[at].text if 0 <= at < len(tokens) else ""


def _is_selected(tokens: list[_Token], at: int) -> bool:
    """Whether an operand that is a field or an element ends here, and not a variable or a call."""
    return at >= 0 and (tokens[at].text == "]" or (tokens[at].group == "name" and _text(tokens, at - 1) == "."))


def _selection_follows(tokens: list[_Token], at: int, after: str) -> bool:
    """Whether a comparison with a selected value follows, as in `"text" == device.…`."""
    return after in _COMPARISONS and _text(tokens, at + 2) == "device" and _text(tokens, at + 3) == "."


def _is_key(tokens: list[_Token], at: int) -> bool:
    """Whether the literal is a key, as in `attributes["driver"]` or `"driver" in device.attributes`."""
    indexed = _text(tokens, at - 1) == "[" and _text(tokens, at + 1) == "]" and _is_selected(tokens, at - 2)
    after = [token.text for token in tokens[at + 1 : at + 6]]
    whole_map = after[:4] in _MAPS and after[4:] not in (["["], ["."])
    return indexed or whole_map


def _is_parsed(tokens: list[_Token], at: int) -> bool:
    return _text(tokens, at - 1) == "(" and _text(tokens, at - 2) in _PARSING


def _names_driver(tokens: list[_Token], at: int) -> bool:
    """Whether the literal is compared with `device.driver`: names of drivers stay."""
    left = [token.text for token in tokens[max(at - 4, 0) : at]]
    right = [token.text for token in tokens[at + 1 : at + 5]]
    return left == ["device", ".", _DRIVER, "=="] or right == ["==", "device", ".", _DRIVER]


def _in_member_list(tokens: list[_Token], at: int) -> bool:
    """Whether the literal is in a list such as `x in ["a", "b"]`."""
    while at > 0 and (tokens[at].group == "string" or tokens[at].text == ","):
        at -= 1
    return tokens[at].text == "[" and _text(tokens, at - 1) == _MEMBER and _is_selected(tokens, at - 2)


class Role(StrEnum):
    """The role of a name. Within a role a name has one pseudonym, and pseudonyms sort as the names do: names decide
    between nodes of equal score and between pods of equal priority."""

    NODE = "node"
    NAMESPACE = "ns"
    POD = "pod"
    CLAIM = "claim"
    VOLUME = "pv"
    CLASS = "class"
    OBJECT = "object"
    VALUE = "value"
    IMAGE = "image"
    HANDLE = "disk"
    UID = "uid"
    CONTAINER = "container"
    LOCAL = "local"
    POOL = "pool"
    ADDRESS = "ip"
    GATE = "gate"
    REQUEST = "request"
    ATTRIBUTE = "attribute"
    GROUP = "group"
    KIND = "Kind"


# Fields that hold names, by role, in every type.
_NAMES_BY_ROLE: Mapping[Role, tuple[str, ...]] = {
    Role.NAMESPACE: ("namespace", "namespaces"),
    Role.UID: ("uid",),
    Role.NODE: ("node_name", "nominated_node_name"),
    Role.POD: ("disrupted_pods",),
    Role.CLASS: (
        *("priority_class_name", "runtime_class_name", "storage_class_name"),
        *("volume_attributes_class_name", "current_volume_attributes_class_name"),
    ),
    Role.CLAIM: ("claim_name",),
    Role.VOLUME: ("volume_name", "persistent_volume_name"),
    Role.OBJECT: ("resource_claim_name", "resource_claim_template_name", "pod_group_name", "service_name"),
    # Revisions are label values of pods.
    Role.VALUE: ("update_revision", "current_revision"),
    Role.IMAGE: ("image", "reference", "names"),
    Role.POOL: ("pool",),
    Role.HANDLE: ("pd_name", "volume_id", "volume_handle", "disk_name", "disk_uri", "iqn", "monitors"),
    # Two ports conflict if their addresses are equal.
    Role.ADDRESS: ("host_ip",),
}
NAMES: Mapping[str, Role] = {field: role for role, fields in _NAMES_BY_ROLE.items() for field in fields}

# Roles by type and field. They go before those by field alone.
NAMES_OF: Mapping[tuple[str, str], Role] = {
    ("Container", "name"): Role.CONTAINER,
    ("ContainerStatus", "name"): Role.CONTAINER,
    ("NodeAllocatableResourceClaimStatus", "containers"): Role.CONTAINER,
    ("Volume", "name"): Role.LOCAL,
    ("ContainerResourceClaim", "name"): Role.LOCAL,
    ("PodResourceClaim", "name"): Role.LOCAL,
    ("PodResourceClaimStatus", "name"): Role.LOCAL,
    ("PodGroupResourceClaim", "name"): Role.LOCAL,
    ("PodGroupResourceClaimStatus", "name"): Role.LOCAL,
    ("ResourcePool", "name"): Role.POOL,
    ("ObjectReference", "name"): Role.CLAIM,
    ("ResourceClaimConsumerReference", "name"): Role.POD,
    ("RBDVolumeSource", "image"): Role.HANDLE,
    ("RBDVolumeSource", "pool"): Role.HANDLE,
    # By this Karpenter finds the NodeClaim of a node.
    ("NodeSpec", "provider_id"): Role.HANDLE,
    ("PodSchedulingGate", "name"): Role.GATE,
    ("DeviceRequest", "name"): Role.REQUEST,
    ("DeviceSubRequest", "name"): Role.REQUEST,
}

# Vocabulary of Kubernetes, numbers, times, and names of hardware and drivers, which device selectors contain.
PLAIN = frozenset(
    {
        # All objects, and references to them.
        *("creation_timestamp", "deletion_timestamp", "resource_version", "api_group", "resource"),
        *("phase", "type", "status", "last_transition_time"),
        # Selectors, tolerations and spread constraints.
        *("operator", "effect", "key", "topology_key", "match_label_keys", "mismatch_label_keys"),
        *("when_unsatisfiable", "node_affinity_policy", "node_taints_policy"),
        # Pods and nodes.
        *("scheduler_name", "preemption_policy", "restart_policy", "action", "protocol", "start_time"),
        *("kubelet_version", "declared_features"),
        # Workloads, pod groups and budgets.
        *("completion_mode", "completed_indexes", "failed_indexes", "succeeded_indexes", "pod_management_policy"),
        *("pod_replacement_policy", "min_available", "max_unavailable", "max_surge", "when_deleted", "when_scaled"),
        *("unhealthy_pod_eviction_policy", "disruption_mode"),
        # Volumes.
        *("access_modes", "volume_mode", "persistent_volume_reclaim_policy", "reclaim_policy", "volume_binding_mode"),
        *("attacher", "provisioner"),
        # Devices.
        *("driver", "allocation_mode", "match_attribute", "distinct_attribute", "device", "share_id", "attributes"),
        *("binding_conditions", "binding_failure_conditions", "extended_resource_name", "version", "versions"),
        # Quotas, limits and amounts.
        *("scopes", "scope_name", "min", "max", "default", "default_request", "max_limit_request_ratio", "used"),
        *("capacity", "allocatable", "requests", "limits", "overhead", "pod_fixed", "allocated_resources"),
        *("consumed_capacity", "counter_set", "counters", "maximum_volume_size"),
    }
)
PLAIN_OF = frozenset(
    {
        ("ObjectReference", "kind"),
        ("ObjectReference", "api_version"),
        ("PodOS", "name"),
        ("ContainerStateWaiting", "reason"),
        ("CSINodeDriver", "name"),
        ("ExactDeviceRequest", "device_class_name"),
        ("DeviceSubRequest", "device_class_name"),
        ("Device", "name"),
        ("CounterSet", "name"),
        ("DeviceCapacity", "value"),
        ("Counter", "value"),
        ("NodeAllocatableResourceClaimStatus", "resources"),
        ("NodeAllocatableResourceMapping", "capacity_key"),
        ("NodeAllocatableResourceMapping", "allocation_multiplier"),
    }
)
# Text that is read, and that a redacted snapshot leaves out because no pseudonym can stand for it.
HIDDEN = frozenset({"generate_name"})

# The role of the names of a kind; Role.OBJECT for other kinds. None: the names stay, for they name drivers or devices.
KIND_ROLES: Mapping[str, Role | None] = {
    "Node": Role.NODE,
    "CSINode": Role.NODE,
    "Namespace": Role.NAMESPACE,
    "Pod": Role.POD,
    "PersistentVolumeClaim": Role.CLAIM,
    "PersistentVolume": Role.VOLUME,
    "StorageClass": Role.CLASS,
    "PriorityClass": Role.CLASS,
    "RuntimeClass": Role.CLASS,
    "DeviceClass": None,
    "DeviceTaintRule": None,
    "CSIDriver": None,
}

# The role of the values of a label; Role.VALUE for other labels. None: the values stay.
LABEL_ROLES: Mapping[str, Role | None] = {
    "kubernetes.io/hostname": Role.NODE,
    "metadata.name": Role.NODE,
    "kubernetes.io/metadata.name": Role.NAMESPACE,
    "statefulset.kubernetes.io/pod-name": Role.POD,
    "kubernetes.io/os": None,
    "kubernetes.io/arch": None,
    "beta.kubernetes.io/os": None,
    "beta.kubernetes.io/arch": None,
}
PLAIN_VALUES = frozenset({"", "true", "false"})

# The only conditions of a pod whose reason and message are read: kube-scheduler's verdict, and why a pod is evicted.
READ_CONDITIONS = frozenset({"PodScheduled", "DisruptionTarget"})
# Reasons of these conditions that Kubernetes itself writes.
REASONS = frozenset({"Unschedulable", "SchedulingGated", "SchedulerError", "PreemptionByScheduler"})

# The only keys of a capacity's requestPolicy; their values are quantities.
POLICY_KEYS = frozenset({"default", "validValues", "validRange"})

NODE_SELECTOR_ANNOTATION = "scheduler.alpha.kubernetes.io/node-selector"
# A digest of what was left out of a pod template, so that a rollout still sees that the template has changed.
LEFT_OUT_ANNOTATION = "ksched.dev/left-out"

_DELETION_COST: Mapping[str, Role | None] = {"controller.kubernetes.io/pod-deletion-cost": None}
_BETA_CLASS: Mapping[str, Role | None] = {"volume.beta.kubernetes.io/storage-class": Role.CLASS}

# The annotations that ksched reads, by kind. Snapshots leave all others out.
ANNOTATIONS: Mapping[str, Mapping[str, Role | None]] = {
    "Pod": {
        "kubernetes.io/config.mirror": Role.UID,
        "batch.kubernetes.io/job-completion-index": None,
        "batch.kubernetes.io/job-index-failure-count": None,
        "batch.kubernetes.io/job-index-ignored-failure-count": None,
        **_DELETION_COST,
    },
    "PodTemplateSpec": {LEFT_OUT_ANNOTATION: None, **_DELETION_COST},
    "Node": {AVOID_PODS_ANNOTATION: None},
    "Namespace": {NODE_SELECTOR_ANNOTATION: None},
    "PersistentVolumeClaim": {
        "pv.kubernetes.io/bind-completed": None,
        "volume.kubernetes.io/selected-node": Role.NODE,
        **_BETA_CLASS,
    },
    "PersistentVolumeClaimTemplate": _BETA_CLASS,
    "PersistentVolume": _BETA_CLASS,
    "StorageClass": {
        "storageclass.kubernetes.io/is-default-class": None,
        "storageclass.beta.kubernetes.io/is-default-class": None,
    },
    "CSINode": {"storage.alpha.kubernetes.io/migrated-plugins": None},
    "ResourceClaim": {
        "resource.kubernetes.io/extended-resource-claim": None,
        "resource.kubernetes.io/pod-claim-name": Role.LOCAL,
    },
    "ReplicaSet": {
        "deployment.kubernetes.io/desired-replicas": None,
        "deployment.kubernetes.io/max-replicas": None,
    },
}


S = TypeVar("S", bound=Struct)
Rename = Callable[[Role, str], str]

_STORAGE_QUOTA = ".storageclass.storage.k8s.io/"
_ZONE_SEPARATOR = "__"
NUMERIC = ("Gt", "Lt")
_CUSTOM_COUNT = "count/"


class Walk:
    """`rename` returns the pseudonym of a name. `numeric` are the keys of labels and taints that are compared as
    numbers. With `device_strings` strings of device attributes have pseudonyms. The objects are without unread text."""

    def __init__(self, rename: Rename, numeric: Collection[str], device_strings: bool) -> None:
        self._rename = rename
        self._numeric = numeric
        self._device_strings = device_strings

    def object(self, item: S, kind: str = "") -> S:
        """A copy of the object with every name replaced."""
        kind = kind or type(item).__name__
        changed = {
            field: self._field(item, kind, field, getattr(item, field)) for field in type(item).__struct_fields__
        }
        return msgspec.structs.replace(item, **changed)

    def _field(self, item: Struct, kind: str, field: str, value: Any) -> Any:
        if value is None or isinstance(value, bool | int | float):
            return value
        own = type(item).__name__
        special = SPECIAL.get((own, field))
        if special is not None:
            several = isinstance(value, tuple)
            return (
                tuple(special(self, item, kind, each) for each in value)
                if several
                else special(self, item, kind, value)
            )
        role = NAMES_OF.get((own, field)) or (NAMES.get(field) if _is_text(value) else None)
        if role is not None:
            return self._named(role, value)
        if field in PLAIN or (own, field) in PLAIN_OF:
            return value if _is_text(value) else self._value(value, kind, field)
        return type(value)() if isinstance(value, str) else self._value(value, kind, field)

    def _value(self, value: Any, kind: str, field: str) -> Any:
        if isinstance(value, Struct):
            # The metadata of an object holds the object's name.
            return self.object(value, kind if field == "metadata" else "")
        if isinstance(value, tuple | list):
            return type(value)(self._value(each, kind, field) for each in value)
        if isinstance(value, dict):
            return {key: self._value(each, kind, field) for key, each in value.items()}
        return value

    def _named(self, role: Role, value: Any) -> Any:
        if isinstance(value, str):
            return self._rename(role, value) if value else value
        if isinstance(value, dict):
            return {self._rename(role, name): each for name, each in value.items()}
        return type(value)(self._rename(role, each) for each in value)

    def name(self, item: Any, kind: str, name: str) -> str:
        """The pseudonym of ObjectMeta.name or OwnerReference.name, in the role of the kind."""
        role = KIND_ROLES.get(getattr(item, "kind", "") or kind, Role.OBJECT)
        return name if role is None or not name else self._rename(role, name)

    def label_value(self, key: str, value: str) -> str:
        role = LABEL_ROLES.get(key, Role.VALUE)
        if role is None or value in PLAIN_VALUES or (key in self._numeric and _is_number(value)):
            return value
        # The label of a volume may list several zones.
        return _ZONE_SEPARATOR.join(self._rename(role, part) for part in value.split(_ZONE_SEPARATOR))

    def labels(self, _item: Struct, _kind: str, labels: Mapping[str, str]) -> dict[str, str]:
        return {key: self.label_value(key, value) for key, value in labels.items()}

    def annotations(self, _item: Struct, kind: str, annotations: Mapping[str, str]) -> dict[str, str]:
        roles = ANNOTATIONS.get(kind, {})
        return {key: self._annotation(key, roles[key], text) for key, text in annotations.items() if key in roles}

    def _annotation(self, key: str, role: Role | None, text: str) -> str:
        if key == NODE_SELECTOR_ANNOTATION:
            return ",".join(self._assignment(each) for each in text.split(","))
        if key == AVOID_PODS_ANNOTATION:
            return avoiding((each.kind, self._rename(Role.UID, each.uid)) for each in avoided_controllers(text))
        if role is None:
            return "" if key == LEFT_OUT_ANNOTATION else text
        return self._rename(role, text) if text else text

    def _assignment(self, text: str) -> str:
        key, sign, value = text.partition("=")
        return f"{key}{sign}{self.label_value(key.strip(), value.strip())}" if sign else text

    def of_key(self, item: Any, _kind: str, value: str) -> str:
        """A value of a requirement, toleration or taint, which has the key of its label."""
        return self.label_value(item.key, value)

    def class_name(self, _item: Struct, _kind: str, value: str) -> str:
        return self._rename(Role.CLASS, value)

    def quota(self, _item: Struct, _kind: str, amounts: Mapping[str, Any]) -> dict[str, Any]:
        """The amounts of a quota without counts of custom resources. A name may contain that of a storage class."""
        return {self._counted(name): amount for name, amount in amounts.items() if not _counts_custom(name)}

    def _counted(self, name: str) -> str:
        storage_class, mark, rest = name.partition(_STORAGE_QUOTA)
        return f"{self._rename(Role.CLASS, storage_class)}{mark}{rest}" if mark else name

    def kind(self, api_version: str, kind: str) -> str:
        return self._rename(Role.KIND, kind) if is_custom(api_version) and kind else kind

    def api_version(self, value: str) -> str:
        """The version with a pseudonym for the group of a custom resource."""
        group, slash, version = value.partition("/")
        return f"{self._rename(Role.GROUP, group)}{slash}{version}" if is_custom(value) else value

    def request(self, _item: Struct, _kind: str, value: str) -> str:
        """The pseudonym of `request` or `request/subrequest`."""
        return "/".join(self._rename(Role.REQUEST, part) if part else part for part in value.split("/"))

    def attribute(self, _item: Struct, _kind: str, value: str) -> str:
        return self._rename(Role.ATTRIBUTE, value) if value and self._device_strings else value

    def expression(self, _item: Struct, _kind: str, value: str) -> str:
        if not self._device_strings:
            return value
        return with_literals(value, lambda text: self._rename(Role.ATTRIBUTE, text) if text else text)


# Fields with a rule of their own. The rule of a field with several texts replaces one of them.
SPECIAL: Mapping[tuple[str, str], Callable[[Walk, Any, str, Any], Any]] = {
    ("ObjectMeta", "name"): Walk.name,
    ("OwnerReference", "name"): Walk.name,
    ("OwnerReference", "kind"): lambda walk, item, _kind, value: walk.kind(item.api_version, value),
    ("OwnerReference", "api_version"): lambda walk, _item, _kind, value: walk.api_version(value),
    ("PodCondition", "reason"): lambda _walk, _item, _kind, value: value if value in REASONS else "",
    ("PodCondition", "message"): lambda _walk, _item, _kind, _value: "",
    ("ObjectMeta", "labels"): Walk.labels,
    ("ObjectMeta", "annotations"): Walk.annotations,
    ("PodSpec", "node_selector"): Walk.labels,
    ("RuntimeClassScheduling", "node_selector"): Walk.labels,
    ("LabelSelector", "match_labels"): Walk.labels,
    ("ServiceSpec", "selector"): Walk.labels,
    ("ReplicationControllerSpec", "selector"): Walk.labels,
    ("LabelSelectorRequirement", "values"): Walk.of_key,
    ("NodeSelectorRequirement", "values"): Walk.of_key,
    ("TopologySelectorLabelRequirement", "values"): Walk.of_key,
    ("ScopedResourceSelectorRequirement", "values"): Walk.class_name,
    ("Toleration", "value"): Walk.of_key,
    ("Taint", "value"): Walk.of_key,
    ("DeviceToleration", "value"): Walk.of_key,
    ("DeviceTaint", "value"): Walk.of_key,
    ("ResourceQuotaSpec", "hard"): Walk.quota,
    ("ResourceQuotaStatus", "hard"): Walk.quota,
    ("ResourceQuotaStatus", "used"): Walk.quota,
    ("ContainerResourceClaim", "request"): Walk.request,
    ("DeviceRequestAllocationResult", "request"): Walk.request,
    ("DeviceConstraint", "requests"): Walk.request,
    ("DeviceAttribute", "string"): Walk.attribute,
    ("DeviceAttribute", "strings"): Walk.attribute,
    ("CELDeviceSelector", "expression"): Walk.expression,
    # Its keys are on the allow-list, and its values are quantities.
    ("DeviceCapacity", "request_policy"): lambda _walk, _item, _kind, value: value,
}


def is_custom(api_version: str) -> bool:
    """Whether the API group is not one of Kubernetes itself."""
    group, slash, _ = api_version.partition("/")
    return bool(slash) and "." in group and not group.endswith(".k8s.io")


def _counts_custom(name: str) -> bool:
    """Whether a quota's resource counts custom resources, such as `count/widgets.example.com`."""
    return name.startswith(_CUSTOM_COUNT) and is_custom(f"{name.partition('.')[2]}/")


def _is_number(value: str) -> bool:
    """Whether strconv.ParseInt reads the value."""
    return value.removeprefix("-").removeprefix("+").isdigit()


def _is_text(value: Any) -> bool:
    """Whether the value is a text or holds only texts."""
    if isinstance(value, str):
        return True
    if isinstance(value, tuple | list):
        return all(isinstance(each, str) for each in value)
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())


def structs_in(value: Any) -> Iterator[Struct]:
    """All structs in the value, however deep, and the value itself if it is one."""
    left = [value]
    while left:
        value = left.pop()
        if isinstance(value, tuple | list):
            left += value
        elif isinstance(value, dict):
            left += value.values()
        elif isinstance(value, Struct):
            yield value
            left += [each for field in value.__struct_fields__ if (each := getattr(value, field))]
