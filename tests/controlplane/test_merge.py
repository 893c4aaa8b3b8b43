"""The three-way strategic merge of `kubectl apply`, and which templates it changes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.controlplane.merge import interleaved, overlaid, three_way, unread_digest

ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 3, "maxUnavailable": 0}}
HARD, SOFT, ELSEWHERE = (
    {"topologyKey": key, "whenUnsatisfiable": action, "maxSkew": 1}
    for key, action in (("zone", "DoNotSchedule"), ("zone", "ScheduleAnyway"), ("host", "ScheduleAnyway"))
)
TCP, UDP = {"containerPort": 53, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"}


def deployment(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "w"}, "spec": spec}


def pods(**spec: Any) -> dict[str, Any]:
    return deployment(template={"spec": spec})


def container(name: str = "c", **fields: Any) -> dict[str, Any]:
    return {"name": name, **fields}


@pytest.mark.parametrize(
    ("last", "live", "manifest", "expected"),
    [
        pytest.param(deployment(), deployment(replicas=5), deployment(), deployment(replicas=5), id="not owned: stays"),
        pytest.param(deployment(replicas=3), deployment(replicas=5), deployment(), deployment(), id="owned: deleted"),
        pytest.param(
            deployment(replicas=3),
            deployment(replicas=5),
            deployment(replicas=3),
            deployment(replicas=3),
            id="set again",
        ),
        pytest.param(deployment(), deployment(paused=True), deployment(paused=None), deployment(), id="null deletes"),
        pytest.param({}, deployment(paused=True), deployment(), deployment(paused=True), id="no last manifest"),
        pytest.param(
            deployment(),
            deployment(strategy=ROLLING),
            deployment(strategy={"type": "Recreate"}),
            deployment(strategy={"type": "Recreate"}),
            id="retainKeys of a strategy",
        ),
        pytest.param(
            deployment(),
            deployment(strategy=ROLLING),
            deployment(strategy={"type": "RollingUpdate"}),
            deployment(strategy={"type": "RollingUpdate"}),
            id="retainKeys of the same type",
        ),
        pytest.param(
            pods(volumes=[{"name": "v", "emptyDir": {}}]),
            pods(volumes=[{"name": "v", "emptyDir": {}}, {"name": "own", "secret": {}}]),
            pods(volumes=[{"name": "v", "configMap": {"name": "m"}}]),
            pods(volumes=[{"name": "v", "configMap": {"name": "m"}}, {"name": "own", "secret": {}}]),
            id="a volume of another source",
        ),
        pytest.param(
            pods(containers=[container(image="a:1"), container("old")]),
            pods(containers=[container(image="a:1", tty=True), container("old"), container("injected")]),
            pods(containers=[container("new"), container(image="a:2")]),
            pods(containers=[container("new"), container(image="a:2", tty=True), container("injected")]),
            id="containers by name",
        ),
        pytest.param(
            pods(containers=[container(env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}])]),
            pods(containers=[container(env=[{"name": "A", "value": "9"}, {"name": "B", "value": "2"}])]),
            pods(containers=[container(env=[{"name": "A", "value": "1"}])]),
            pods(containers=[container(env=[{"name": "A", "value": "1"}])]),
            id="env by name",
        ),
        pytest.param(
            pods(containers=[container(env=[{"name": "A", "value": "1"}])]),
            pods(containers=[container(env=[{"name": "A", "value": "1"}])]),
            pods(
                containers=[container(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}])]
            ),
            pods(
                containers=[container(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}])]
            ),
            id="env from a value to a field",
        ),
        pytest.param(
            pods(tolerations=[{"key": "a"}]),
            pods(tolerations=[{"key": "a"}, {"key": "b"}]),
            pods(tolerations=[{"key": "a"}]),
            pods(tolerations=[{"key": "a"}]),
            id="tolerations as one",
        ),
        pytest.param(
            pods(nodeSelector={"a": "1"}),
            pods(nodeSelector={"a": "1", "own": "x"}),
            pods(nodeSelector={"b": "2"}),
            pods(nodeSelector={"own": "x", "b": "2"}),
            id="a node selector by keys",
        ),
        pytest.param(
            pods(containers=[container(ports=[UDP])]),
            pods(containers=[container(ports=[UDP])]),
            pods(containers=[container(ports=[UDP, TCP])]),
            pods(containers=[container(ports=[TCP])]),
            id="kubectl's defect: two protocols of one port",
        ),
        pytest.param(
            pods(containers=[container(ports=[TCP, UDP])]),
            pods(containers=[container(ports=[TCP, UDP])]),
            pods(containers=[container(ports=[TCP])]),
            pods(containers=[container(ports=[])]),
            id="kubectl's defect: one of two protocols is deleted with the other",
        ),
        pytest.param(
            pods(topologySpreadConstraints=[HARD, SOFT]),
            pods(topologySpreadConstraints=[HARD, SOFT]),
            pods(topologySpreadConstraints=[HARD, {**SOFT, "maxSkew": 5}]),
            pods(topologySpreadConstraints=[{**HARD, "maxSkew": 5}, SOFT]),
            id="kubectl's defect: a change of the second constraint of a key changes the first",
        ),
        pytest.param(
            pods(topologySpreadConstraints=[HARD, {**SOFT, "minDomains": 2}]),
            pods(topologySpreadConstraints=[{**HARD, "minDomains": 3}, {**SOFT, "minDomains": 2}]),
            pods(topologySpreadConstraints=[HARD, SOFT]),
            pods(topologySpreadConstraints=[HARD, {**SOFT, "minDomains": 2}]),
            id="kubectl's defect: a field that left the second constraint leaves the first",
        ),
        pytest.param(
            pods(topologySpreadConstraints=[HARD, ELSEWHERE, SOFT]),
            pods(topologySpreadConstraints=[HARD, ELSEWHERE, {**SOFT, "minDomains": 1}]),
            pods(topologySpreadConstraints=[HARD, ELSEWHERE, SOFT]),
            pods(topologySpreadConstraints=[HARD, ELSEWHERE, {**SOFT, "minDomains": 1}]),
            id="two constraints of one key that stay",
        ),
        pytest.param(
            {"metadata": {"finalizers": ["a", "b"]}},
            {"metadata": {"finalizers": ["own", "a", "b"]}},
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"finalizers": ["c", "a"]}},
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"finalizers": ["c", "own", "a"]}},
            id="lists of texts",
        ),
        pytest.param(
            {},
            {"spec": {"selector": {"matchLabels": {"a": "1"}}}},
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "spec": {"selector": {"matchLabels": {"b": "2"}}},
            },
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "spec": {"selector": {"matchLabels": {"b": "2"}}},
            },
            id="the selector of a budget is replaced",
        ),
    ],
)
def test_three_way(last: Any, live: Any, manifest: Any, expected: Any) -> None:
    assert three_way(last, live, manifest) == expected


VALUES = st.recursive(
    st.integers(0, 2) | st.sampled_from(["a", "b"]),
    lambda inner: st.dictionaries(st.sampled_from(["x", "y", "z"]), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.sampled_from(["x", "y", "z"]), VALUES, max_size=3)


@pytest.mark.slow
@given(OBJECTS, OBJECTS)
def test_the_same_manifest_again_changes_nothing(live: Any, manifest: Any) -> None:
    once = three_way({}, live, manifest)
    assert three_way(manifest, once, manifest) == once


@given(OBJECTS, OBJECTS, OBJECTS)
def test_what_the_manifest_sets_is_set(last: Any, live: Any, manifest: Any) -> None:
    def has(value: Any, wanted: Any) -> bool:
        if isinstance(wanted, dict) and wanted:
            return isinstance(value, dict) and all(key in value and has(value[key], wanted[key]) for key in wanted)
        return isinstance(value, dict) if isinstance(wanted, dict) else bool(value == wanted)

    assert has(three_way(last, live, manifest), manifest)


def test_an_element_of_the_live_list_stays_before_the_one_that_it_was_before() -> None:
    assert interleaved(["s", "t"], ["n", "b", "a"], ["a", "s", "b", "t"]) == ["n", "s", "b", "a", "t"]


@pytest.mark.parametrize(
    ("fields", "differs"),
    [
        pytest.param({"env": [{"name": "A", "value": "2"}]}, True, id="another value"),
        pytest.param({"livenessProbe": {"httpGet": {"port": 80}}}, True, id="a probe"),
        pytest.param({"imagePullPolicy": "IfNotPresent"}, False, id="the default of a tag"),
        pytest.param({"tty": False}, False, id="false is absent"),
        pytest.param({"securityContext": {"privileged": False}}, True, id="false of a pointer"),
        pytest.param({"command": []}, False, id="an empty list"),
        pytest.param({"resources": {"requests": {"cpu": 1}}}, False, id="a field of the typed object"),
        pytest.param({"terminationMessagePolicy": "File"}, False, id="a default"),
        pytest.param({"imagePullPolicy": "Always"}, True, id="not the default of a tag"),
    ],
)
def test_templates_that_differ_in_fields_of_no_typed_object(fields: Any, differs: bool) -> None:
    plain = {"containers": [container(image="a:1")]}
    assert (unread_digest({"containers": [container(image="a:1", **fields)]}) != unread_digest(plain)) == differs


def test_texts_that_look_like_amounts_are_none() -> None:
    digests = {unread_digest({"containers": [container(command=[text])]}) for text in ("1k", "1000", "1000.0")}
    assert len(digests) == 3


def test_the_digest_of_a_template_takes_both_names_of_the_service_account_for_one() -> None:
    digests = [unread_digest(spec) for spec in ({"serviceAccount": "a"}, {"serviceAccountName": "a"}, {})]
    assert digests[0] == digests[1] != digests[2]


def test_a_document_follows_its_typed_object() -> None:
    document = {"spec": {"replicas": 1, "unread": "x", "gone": 1, "list": [{"a": 1, "unread": 2}]}}
    old = {"spec": {"replicas": 1, "gone": 1, "list": [{"a": 1}], "default": ["x"], "scale": ["1"]}}
    new = {"spec": {"replicas": 4, "list": [{"a": 2}], "more": True, "default": ["y"], "scale": 1}}
    assert overlaid(document, old, new) == {
        "spec": {
            "replicas": 4,
            "unread": "x",
            "list": [{"a": 2, "unread": 2}],
            "more": True,
            "default": ["y"],
            "scale": 1,
        }
    }
