"""What admission writes into a pod, and whom it refuses."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ksched_cli.api.core import LabelSelector, LabelSelectorRequirement, Namespace, ObjectMeta, Pod, Toleration
from ksched_cli.api.decode import KINDS
from ksched_cli.api.storage import PersistentVolumeClaim
from ksched_cli.controlplane.admission.chain import Chain
from ksched_cli.controlplane.admission.pods import ANNOTATION, OPENSHIFT_ANNOTATION, admit_storage_class
from ksched_cli.controlplane.admission.quantities import amount
from tests.builders import PodBuilder, loaded_of, make_pod

_STRUCTS = {name: struct for (_, name), struct in KINDS.items()}


def an(kind: str, name: str = "x", **fields: Any) -> Any:
    data = {"metadata": {"name": name, "namespace": "default"}, **fields}
    return msgspec.convert(data, _STRUCTS[kind])


def verdict(pod: PodBuilder, *objects: Any) -> tuple[Pod, str]:
    """The pod after admission, and why it was refused: `plugin: message`."""
    built = pod.obj()
    denial = Chain(loaded_of(*objects)).first_refusal(built)
    return built, f"{denial.plugin}: {denial.message}" if denial.message else ""


HIGH = an("PriorityClass", "high", value=1000)
MEEK = an("PriorityClass", "meek", value=5, preemptionPolicy="Never")
USUAL = an("PriorityClass", "usual", value=7, globalDefault=True)
USUAL_TOO = an("PriorityClass", "usual-too", value=3, globalDefault=True)


@pytest.mark.parametrize(
    ("name", "classes", "expected"),
    [
        pytest.param("high", [HIGH], (1000, "PreemptLowerPriority"), id="of its class"),
        pytest.param("meek", [MEEK], (5, "Never"), id="that never preempts"),
        pytest.param("", [HIGH, USUAL], (7, "PreemptLowerPriority"), id="the default"),
        pytest.param("", [USUAL, USUAL_TOO], (3, "PreemptLowerPriority"), id="the lowest of two defaults"),
        pytest.param("", [HIGH], (0, "PreemptLowerPriority"), id="no default"),
        pytest.param("system-node-critical", [], (2_000_001_000, "PreemptLowerPriority"), id="for nodes"),
        pytest.param("system-cluster-critical", [], (2_000_000_000, "PreemptLowerPriority"), id="for the cluster"),
    ],
)
def test_priority(name: str, classes: list[Any], expected: tuple[int, str]) -> None:
    pod, refusal = verdict(make_pod().spec(priorityClassName=name), *classes)
    assert refusal == ""
    assert (pod.spec.priority, pod.spec.preemption_policy) == expected


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(
            make_pod().spec(priorityClassName="gone"), "no PriorityClass with name gone was found", id="no class"
        ),
        pytest.param(make_pod().priority(9), "(9) must not be provided", id="a priority of its own"),
        pytest.param(
            make_pod().spec(priorityClassName="meek", preemptionPolicy="PreemptLowerPriority"),
            "PreemptionPolicy (PreemptLowerPriority) must not be provided",
            id="a policy of its own",
        ),
    ],
)
def test_priorities_that_are_refused(pod: PodBuilder, expected: str) -> None:
    refusal = verdict(pod, MEEK)[1]
    assert refusal.startswith("Priority: ")
    assert expected in refusal


def limits(**fields: Any) -> Any:
    return an("LimitRange", spec={"limits": [{"type": "Container", **fields}]})


@pytest.mark.parametrize(
    ("pod", "limit_range", "expected"),
    [
        pytest.param(make_pod(), limits(default={"cpu": "2"}), ({"cpu": "2"}, {"cpu": "2"}), id="limit and so request"),
        pytest.param(
            make_pod(),
            limits(default={"cpu": "2"}, defaultRequest={"cpu": "1"}),
            ({"cpu": "1"}, {"cpu": "2"}),
            id="each its own",
        ),
        pytest.param(make_pod(), limits(max={"cpu": "4"}), ({"cpu": "4"}, {"cpu": "4"}), id="from the maximum"),
        pytest.param(make_pod(), limits(min={"cpu": "1"}), ({"cpu": "1"}, {}), id="from the minimum"),
        pytest.param(
            make_pod().requests(cpu="500m"),
            limits(defaultRequest={"cpu": "1"}),
            ({"cpu": "500m"}, {}),
            id="what is there stays",
        ),
        pytest.param(
            make_pod().limits(cpu="500m"),
            limits(defaultRequest={"cpu": "1"}),
            ({"cpu": "500m"}, {"cpu": "500m"}),
            id="a limit is a request before",
        ),
    ],
)
def test_limit_range_defaults(pod: PodBuilder, limit_range: Any, expected: tuple[dict[str, str], ...]) -> None:
    admitted, refusal = verdict(pod, limit_range)
    assert refusal == ""
    resources = admitted.spec.containers[0].resources
    assert (resources.requests, resources.limits) == expected


@pytest.mark.parametrize(
    ("pod", "fields", "expected"),
    [
        pytest.param(
            make_pod().requests(cpu="50m"),
            {"min": {"cpu": "100m"}},
            "minimum cpu usage per Container is 100m, but request is 50m",
            id="too little",
        ),
        pytest.param(
            make_pod().limits(memory="2Gi"),
            {"max": {"memory": "1Gi"}},
            "maximum memory usage per Container is 1Gi, but limit is 2Gi",
            id="too much",
        ),
        pytest.param(
            make_pod().requests(cpu="1").limits(cpu="4"),
            {"maxLimitRequestRatio": {"cpu": "2"}},
            "cpu max limit to request ratio per Container is 2, but provided ratio is 4.000000",
            id="too far apart",
        ),
        pytest.param(
            make_pod().requests(cpu="1"),
            {"maxLimitRequestRatio": {"cpu": "2"}},
            "cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0",
            id="no limit",
        ),
        pytest.param(
            make_pod().requests(cpu="2").container(resources={"requests": {"cpu": "3"}, "limits": {"cpu": "3"}}),
            {"type": "Pod", "max": {"cpu": "4"}},
            "maximum cpu usage per Pod is 4, but request is 5",
            id="all containers together",
        ),
        pytest.param(
            make_pod(),
            {"type": "Pod", "min": {"cpu": "1"}, "max": {"cpu": "4"}},
            "[minimum cpu usage per Pod is 1.  No request is specified, "
            "maximum cpu usage per Pod is 4.  No limit is specified]",
            id="both bounds at once",
        ),
        pytest.param(
            make_pod().requests(cpu="1").limits(cpu="1").init(resources={"limits": {"cpu": "9"}}),
            {"max": {"cpu": "4"}},
            "maximum cpu usage per Container is 4, but limit is 9",
            id="an init container",
        ),
    ],
)
def test_limit_range_bounds(pod: PodBuilder, fields: dict[str, Any], expected: str) -> None:
    assert verdict(pod, limits(**fields))[1] == f"LimitRanger: {expected}"


def test_a_ratio_of_limit_to_request_at_its_bound() -> None:
    assert verdict(make_pod().requests(cpu="2").limits(cpu="4"), limits(maxLimitRequestRatio={"cpu": "2"}))[1] == ""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1024Ki", "1Mi"),
        ("1536Ki", "1536Ki"),
        ("1024Pi", "1Ei"),
        ("1048576Pi", "1024Ei"),
        ("1000m", "1"),
        ("1e3", "1e3"),
    ],
)
def test_how_an_amount_is_shown(text: str, shown: str) -> None:
    assert str(amount(text)) == shown


def quota(name: str = "few", used: dict[str, str] | None = None, **spec: Any) -> Any:
    return an("ResourceQuota", name, spec=spec, status={"used": used or {}})


def scoped(scope: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"scopeName": scope, "operator": operator, "values": list(values)}]}


PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
HERE: dict[str, Any] = {"topologyKey": "z"}
ANYWHERE = {**HERE, "namespaceSelector": {}}
BUSY = make_pod("busy").requests(cpu="3").on("n")


@pytest.mark.parametrize(
    ("pod", "quota", "expected"),
    [
        pytest.param(make_pod(), {"hard": {"pods": "2"}}, "", id="the last one"),
        pytest.param(
            make_pod(),
            {"hard": {"pods": "1"}},
            "exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1",
            id="one too many",
        ),
        pytest.param(
            make_pod().requests(cpu="2"),
            {"hard": {"requests.cpu": "4", "cpu": "4"}},
            "exceeded quota: few, requested: cpu=2,requests.cpu=2, used: cpu=3,requests.cpu=3, "
            "limited: cpu=4,requests.cpu=4",
            id="both names of a request",
        ),
        pytest.param(
            make_pod().requests(cpu="2"),
            {"hard": {"cpu": "4"}, "used": {"cpu": "1"}},
            "",
            id="what the quota reports goes before what is counted",
        ),
        pytest.param(
            make_pod().limits(memory="3Gi"),
            {"hard": {"limits.memory": "2Gi"}},
            "exceeded quota: few, requested: limits.memory=3Gi, used: limits.memory=0, limited: limits.memory=2Gi",
            id="limits",
        ),
        pytest.param(
            make_pod().requests(example_com__gpu="2"),
            {"hard": {"requests.example.com/gpu": "1"}},
            "exceeded quota: few, requested: requests.example.com/gpu=2, used: requests.example.com/gpu=0, "
            "limited: requests.example.com/gpu=1",
            id="an extended resource",
        ),
        pytest.param(
            make_pod().container(resources={"requests": {"cpu": "1"}}),
            {"hard": {"requests.cpu": "9"}},
            "failed quota: few: must specify requests.cpu for: main",
            id="a container that does not say",
        ),
        pytest.param(
            make_pod().spec(resources={"requests": {"cpu": "1"}}),
            {"hard": {"requests.cpu": "9"}},
            "",
            id="the pod says it for its containers",
        ),
        pytest.param(make_pod(), {"hard": {"pods": "0"}, "scopes": ["NotBestEffort"]}, "", id="out of scope"),
        pytest.param(
            make_pod(), {"hard": {"pods": "0"}, "scopes": ["VolumeAttributesClass"]}, "", id="a scope of claims"
        ),
        pytest.param(
            make_pod(),
            {"hard": {"pods": "0"}, "scopes": ["BestEffort", "NotTerminating"]},
            "exceeded quota: few, requested: pods=1, used: pods=0, limited: pods=0",
            id="in both scopes",
        ),
        pytest.param(
            make_pod().spec(activeDeadlineSeconds=5),
            {"hard": {"pods": "0"}, "scopes": ["Terminating"]},
            "exceeded quota: few, requested: pods=1, used: pods=0, limited: pods=0",
            id="terminating",
        ),
        pytest.param(
            make_pod().spec(priorityClassName="high"),
            {"hard": {"pods": "0"}, "scopeSelector": scoped("PriorityClass", "In", "high")},
            "exceeded quota: few, requested: pods=1, used: pods=0, limited: pods=0",
            id="of a priority class",
        ),
        pytest.param(
            make_pod(), {"hard": {"pods": "0"}, "scopeSelector": scoped("PriorityClass", "Exists")}, "", id="of none"
        ),
        pytest.param(
            make_pod().spec(priorityClassName="high"),
            {"hard": {"pods": "0"}, "scopeSelector": scoped("PriorityClass", "Like", "high")},
            "",
            id="an operator that no API server accepts",
        ),
        pytest.param(
            make_pod().spec(
                affinity={
                    "podAntiAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "z", "namespaces": ["a"]}]
                    }
                }
            ),
            {"hard": {"pods": "0"}, "scopes": ["CrossNamespacePodAffinity"]},
            "exceeded quota: few, requested: pods=1, used: pods=0, limited: pods=0",
            id="affinity across namespaces",
        ),
        pytest.param(
            make_pod().spec(affinity={"podAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": ANYWHERE}]}}),
            {"hard": {"pods": "0"}, "scopes": ["CrossNamespacePodAffinity"]},
            "exceeded quota: few, requested: pods=1, used: pods=0, limited: pods=0",
            id="preferred affinity to all namespaces",
        ),
        pytest.param(
            make_pod().spec(affinity={"podAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": HERE}]}}),
            {"hard": {"pods": "0"}, "scopes": ["CrossNamespacePodAffinity"]},
            "",
            id="affinity within the namespace",
        ),
        pytest.param(make_pod("p", "other"), {"hard": {"pods": "0"}}, "", id="another namespace"),
    ],
)
def test_resource_quota(pod: PodBuilder, quota: dict[str, Any], expected: str) -> None:
    status = {"used": quota.get("used", {})}
    spec = {key: value for key, value in quota.items() if key != "used"}
    refusal = verdict(pod, an("ResourceQuota", "few", spec=spec, status=status), BUSY.obj(), HIGH)[1]
    assert refusal == (f"ResourceQuota: {expected}" if expected else "")


def test_a_quota_that_changes_keeps_what_is_used() -> None:
    chain = Chain(loaded_of(quota(hard={"pods": "1"})))
    names = iter("abcd")
    found = []
    for cluster in ([quota(hard={"pods": "1"})], [quota(hard={"pods": "3"})]):
        chain.reload(loaded_of(*cluster))
        found += [bool(chain.first_refusal(make_pod(next(names)).obj()).message) for _ in range(2)]
    assert found == [False, True, False, False]
    assert chain.first_refusal(make_pod("e").obj()).message


def test_quotas_count_up_pod_by_pod() -> None:
    chain = Chain(loaded_of(quota(hard={"pods": "2"})))
    refusals = [chain.first_refusal(make_pod(name).obj()).message for name in "abc"]
    assert [bool(each) for each in refusals] == [False, False, True]


SANDBOX = an(
    "RuntimeClass",
    "sandbox",
    handler="h",
    overhead={"podFixed": {"cpu": "250m"}},
    scheduling={"nodeSelector": {"sandbox": "yes"}, "tolerations": [{"key": "sandbox", "operator": "Exists"}]},
)


def test_runtime_class() -> None:
    pod, refusal = verdict(make_pod().spec(runtimeClassName="sandbox").selector(disk="ssd"), SANDBOX)
    assert refusal == ""
    assert pod.spec.overhead == {"cpu": "250m"}
    assert pod.spec.node_selector == {"disk": "ssd", "sandbox": "yes"}
    assert "sandbox" in {each.key for each in pod.spec.tolerations}


ALWAYS, A_WHILE = {"key": "a", "operator": "Exists", "effect": "NoExecute"}, {"key": "a", "operator": "Exists"}
SHORT, LONG = ({**ALWAYS, "tolerationSeconds": seconds} for seconds in (5, 9))


@pytest.mark.parametrize(
    ("own", "of_class", "kept"),
    [
        pytest.param([ALWAYS], [ALWAYS], [ALWAYS], id="the same twice"),
        pytest.param([SHORT], [LONG], [LONG], id="the longer one"),
        pytest.param([LONG], [SHORT], [LONG], id="the longer one is there"),
        pytest.param([], [SHORT, LONG], [LONG], id="the longer one comes next"),
        pytest.param([SHORT], [LONG, {"key": "b"}], [LONG, {"key": "b"}], id="the longer one is not the last"),
        pytest.param([SHORT], [ALWAYS], [ALWAYS], id="for ever covers a while"),
        pytest.param([ALWAYS], [SHORT], [ALWAYS], id="a while does not cover for ever"),
        pytest.param([A_WHILE], [SHORT], [A_WHILE], id="every effect covers one"),
        pytest.param([SHORT], [{"operator": "Exists"}], [{"operator": "Exists"}], id="every key covers one"),
        pytest.param(
            [{"key": "a", "value": "x"}, {"key": "a", "value": "y"}],
            [{"key": "a", "value": "x"}],
            [{"key": "a", "value": "x"}, {"key": "a", "value": "y"}],
            id="by values",
        ),
        pytest.param([{"key": "a", "value": "x"}], [A_WHILE], [A_WHILE], id="every value covers one"),
        pytest.param([{"key": "b"}, A_WHILE], [SHORT], [{"key": "b"}, A_WHILE], id="another key"),
    ],
)
def test_tolerations_of_a_runtime_class(own: list[Any], of_class: list[Any], kept: list[Any]) -> None:
    """What another toleration covers is left out."""
    sandbox = an("RuntimeClass", "sandbox", handler="h", scheduling={"tolerations": of_class})
    pod, refusal = verdict(make_pod().spec(runtimeClassName="sandbox", tolerations=own), sandbox)
    assert refusal == ""
    expected = msgspec.convert(kept, list[Toleration])
    found = [each for each in pod.spec.tolerations if each.toleration_seconds != 300]
    assert [(each.key, each.value, each.effect, each.toleration_seconds) for each in found] == [
        (each.key, each.value, each.effect, each.toleration_seconds) for each in expected
    ]


@pytest.mark.parametrize(("memory", "is_refused"), [("64Mi", False), ("65536Ki", False), ("65Mi", True)])
def test_the_overhead_of_a_pod_is_that_of_its_class(memory: str, is_refused: bool) -> None:
    sandbox = an("RuntimeClass", "sandbox", handler="h", overhead={"podFixed": {"cpu": "250m", "memory": "64Mi"}})
    pod = make_pod().spec(runtimeClassName="sandbox", overhead={"cpu": "0.25", "memory": memory})
    assert ("Overhead doesn't match" in verdict(pod, sandbox)[1]) == is_refused


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(make_pod().spec(runtimeClassName="gone"), 'RuntimeClass "gone" not found', id="no class"),
        pytest.param(
            make_pod().spec(runtimeClassName="sandbox", overhead={"cpu": "1"}), "Overhead doesn't match", id="overhead"
        ),
        pytest.param(make_pod().spec(overhead={"cpu": "1"}), "without corresponding RuntimeClass", id="for no class"),
        pytest.param(
            make_pod().spec(runtimeClassName="sandbox").selector(sandbox="no"),
            "conflict: runtimeClass.scheduling.nodeSelector[sandbox] = yes; pod.spec.nodeSelector[sandbox] = no",
            id="another node selector",
        ),
    ],
)
def test_runtime_classes_that_do_not_go_together(pod: PodBuilder, expected: str) -> None:
    refusal = verdict(pod, SANDBOX)[1]
    assert refusal.startswith("RuntimeClass: ")
    assert expected in refusal


@pytest.mark.parametrize(
    ("pod", "added"),
    [
        pytest.param(make_pod(), 2, id="both"),
        pytest.param(make_pod().toleration("node.kubernetes.io/not-ready", "Exists"), 1, id="one of its own"),
        pytest.param(make_pod().toleration(operator="Exists"), 0, id="tolerates everything"),
        pytest.param(make_pod().toleration(operator="Exists", effect="NoSchedule"), 2, id="another effect"),
    ],
)
def test_default_tolerations(pod: PodBuilder, added: int) -> None:
    tolerations = verdict(pod)[0].spec.tolerations
    assert sum(each.toleration_seconds == 300 for each in tolerations) == added


@pytest.mark.parametrize(
    ("annotation", "own", "expected"),
    [
        pytest.param("env=prod, tier = web", {"disk": "ssd"}, {"disk": "ssd", "env": "prod", "tier": "web"}, id="both"),
        pytest.param("env=prod", {"env": "prod"}, {"env": "prod"}, id="the same"),
        pytest.param("env=prod", {"env": "test"}, "conflicts with its namespace node label selector", id="a conflict"),
        pytest.param(
            "env=prod,tier=web",
            {"env": "test", "tier": "web"},
            "conflicts with its namespace node label selector",
            id="one conflict",
        ),
        pytest.param("env", {}, "invalid selector: [env]", id="not a selector"),
    ],
)
@pytest.mark.parametrize("key", [ANNOTATION, OPENSHIFT_ANNOTATION])
def test_pod_node_selector(key: str, annotation: str, own: dict[str, str], expected: dict[str, str] | str) -> None:
    namespace = Namespace(ObjectMeta(name="default", annotations={key: annotation}))
    pod, refusal = verdict(make_pod().selector(**own), namespace)
    if isinstance(expected, str):
        assert refusal.startswith("PodNodeSelector: ")
        assert expected in refusal
    else:
        assert refusal == ""
        assert pod.spec.node_selector == expected


SELECTOR = {"matchLabels": {"app": "w"}}
VERSION = LabelSelectorRequirement("version", "In", ("v1",))
NOT_VERSION = LabelSelectorRequirement("version", "NotIn", ("v1",))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"labelSelector": SELECTOR, "matchLabelKeys": ["version"]}, (VERSION,), id="match"),
        pytest.param({"labelSelector": SELECTOR, "mismatchLabelKeys": ["version"]}, (NOT_VERSION,), id="mismatch"),
        pytest.param({"labelSelector": SELECTOR, "matchLabelKeys": ["none"]}, (), id="no such label"),
        pytest.param({"matchLabelKeys": ["version"]}, None, id="no selector"),
    ],
)
@pytest.mark.parametrize("kind", ["podAffinity", "podAntiAffinity"])
def test_match_label_keys(kind: str, fields: dict[str, Any], expected: tuple[Any, ...] | None) -> None:
    affinity = {
        kind: {
            "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "z", **fields}],
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": {"topologyKey": "z", **fields}}
            ],
        }
    }
    pod, _ = verdict(make_pod().label(version="v1").spec(affinity=affinity))
    assert pod.spec.affinity is not None
    own = pod.spec.affinity.pod_affinity or pod.spec.affinity.pod_anti_affinity
    assert own is not None
    required = own.required_during_scheduling_ignored_during_execution[0]
    preferred = own.preferred_during_scheduling_ignored_during_execution[0].pod_affinity_term
    for term in (required, preferred):
        assert _expressions(term.label_selector) == expected


def _expressions(selector: LabelSelector | None) -> tuple[Any, ...] | None:
    return None if selector is None else selector.match_expressions


@pytest.mark.parametrize(
    ("selector", "is_refused"),
    [
        pytest.param({}, False, id="an empty selector"),
        pytest.param({"matchLabels": {"other": "x"}}, False, id="another key"),
        pytest.param({"matchLabels": {"app": "x"}}, True, id="its label"),
        pytest.param({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, True, id="its expression"),
        pytest.param(
            {"matchExpressions": [{"key": "app", "operator": "In", "values": ["x"]}]}, False, id="merged already"
        ),
    ],
)
@pytest.mark.parametrize("where", ["podAffinity", "topologySpreadConstraints"])
def test_a_key_that_the_selector_has_already(where: str, selector: dict[str, Any], is_refused: bool) -> None:
    found = {"topologyKey": "zone", "labelSelector": selector, "matchLabelKeys": ["absent", "app"]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [found]}
    spread = [{"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **found}]
    fields = {"affinity": {where: required}} if where == "podAffinity" else {where: spread}
    _, refusal = verdict(make_pod().label("app", "x").spec(**fields))
    assert ("exists in both matchLabelKeys and labelSelector" in refusal) == is_refused


def test_match_label_keys_of_spread_constraints() -> None:
    constraint = {"topologyKey": "z", "labelSelector": SELECTOR, "matchLabelKeys": ["version"]}
    pod, _ = verdict(make_pod().label(version="v1").spec(topologySpreadConstraints=[constraint]))
    assert _expressions(pod.spec.topology_spread_constraints[0].label_selector) == (VERSION,)


def storage_class(name: str, *, default: bool, created: str = "") -> Any:
    annotations = {"storageclass.kubernetes.io/is-default-class": str(default).lower()}
    return msgspec.convert(
        {"metadata": {"name": name, "annotations": annotations, "creationTimestamp": created}}, _STRUCTS["StorageClass"]
    )


@pytest.mark.parametrize(
    ("own", "classes", "expected"),
    [
        pytest.param(None, [storage_class("a", default=False), storage_class("b", default=True)], "b", id="default"),
        pytest.param("", [storage_class("b", default=True)], "", id="none on purpose"),
        pytest.param("own", [storage_class("b", default=True)], "own", id="its own"),
        pytest.param(
            None,
            [
                storage_class("old", default=True, created="2026-01-01T00:00:00Z"),
                storage_class("y", default=True, created="2026-02-01T00:00:00Z"),
                storage_class("x", default=True, created="2026-02-01T00:00:00Z"),
            ],
            "x",
            id="the youngest, then by name",
        ),
        pytest.param(None, [], None, id="no classes"),
    ],
)
def test_default_storage_class(own: str | None, classes: list[Any], expected: str | None) -> None:
    claim = PersistentVolumeClaim()
    claim.spec.storage_class_name = own
    admit_storage_class(claim, classes)
    assert claim.spec.storage_class_name == expected


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param(
            [an("ResourceQuota", "cpu-quota", spec={"hard": {"requests.memory": "1Gi"}})],
            "memory",
            id="of a quota whose name has another resource",
        ),
        pytest.param([an("ResourceQuota", "q", spec={"hard": {"limits.cpu": "1"}})], "cpu", id="that must be given"),
        pytest.param(
            [an("LimitRange", "l", spec={"limits": [{"type": "Container", "max": {"memory": "1Gi"}}]})],
            "memory",
            id="of a LimitRange",
        ),
        pytest.param([an("ResourceQuota", "q", spec={"hard": {"pods": "0"}})], "pods", id="no resource of a container"),
        pytest.param([], "", id="none: the pod is admitted"),
    ],
)
def test_a_denial_has_the_resource_that_is_out_of_bounds(objects: list[Any], expected: str) -> None:
    pod = make_pod().requests(cpu="1", memory="2Gi").obj()
    assert Chain(loaded_of(*objects)).first_refusal(pod).resource == expected


SYSCTLS = 'violates PodSecurity "{}": forbidden sysctls (net.ipv4.tcp_notsent_lowat)'


@pytest.mark.parametrize(
    ("minor", "version", "refused"),
    [
        pytest.param(36, "latest", True, id="1.36"),
        pytest.param(37, "latest", False, id="1.37"),
        pytest.param(36, "v1.37", True, id="1.36 knows no policy of 1.37"),
        pytest.param(37, "v1.36", True, id="1.37 with a policy of 1.36"),
        pytest.param(37, "v1.37", False, id="1.37 with a policy of 1.37"),
    ],
)
def test_sysctls_that_pod_security_allows_since_1_37(minor: int, version: str, refused: bool) -> None:
    """#138389; an API server takes its newest policies for versions that it does not know."""
    prefix = "pod-security.kubernetes.io/enforce"
    labels = {prefix: "baseline", f"{prefix}-version": version}
    namespace = an("Namespace", "default", metadata={"name": "default", "labels": labels})
    pod = make_pod().spec(securityContext={"sysctls": [{"name": "net.ipv4.tcp_notsent_lowat", "value": "1"}]})
    found = Chain(loaded_of(namespace), minor=minor).first_refusal(pod.obj(), pod.doc())
    assert found.message == (SYSCTLS.format(f"baseline:{version}") if refused else "")
