"""Server-side apply: who owns a field, what is pruned, and which conflicts the API server names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ksched_cli.controlplane.merge import LAST_APPLIED
from ksched_cli.controlplane.ownership import ApplyConflict, apply_server_side
from tests.builders import make_object

Fields = dict[str, Any]
REPLICAS: Fields = {"f:spec": {"f:replicas": {}}}
IMAGE: Fields = {
    "f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"c"}': {".": {}, "f:name": {}, "f:image": {}}}}}}
}


PORT = {"containerPort": 53, "protocol": "UDP"}
PORT_NAME: Fields = {
    "f:spec": {
        "f:template": {
            "f:spec": {
                "f:containers": {
                    'k:{"name":"c"}': {"f:ports": {'k:{"protocol":"UDP","containerPort":53}': {"f:name": {}}}}
                }
            }
        }
    }
}


def owner(manager: str, fields: Fields, operation: str = "Update", **more: Any) -> dict[str, Any]:
    return {"manager": manager, "operation": operation, "apiVersion": "apps/v1", "fieldsV1": fields, **more}


def deployment(*owners: Any, annotations: Any = None, **spec: Any) -> dict[str, Any]:
    metadata = {"name": "w", **({"managedFields": list(owners)} if owners else {})}
    metadata |= {"annotations": annotations} if annotations else {}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def pods(*containers: Any, **spec: Any) -> dict[str, Any]:
    return {"template": {"spec": {"containers": list(containers), **spec}}}


def applied(live: Any, manifest: Any, *, force: bool = False) -> dict[str, Any]:
    spec: dict[str, Any] = apply_server_side(live, manifest, force=force)["spec"]
    return spec


def test_a_field_of_nobody_stays() -> None:
    assert applied(deployment(replicas=7), deployment(paused=True)) == {"replicas": 7, "paused": True}


def test_a_field_that_left_the_manifest_is_deleted_unless_another_owns_it() -> None:
    own = owner("kubectl", {"f:spec": {"f:replicas": {}, "f:paused": {}}}, "Apply")
    live = deployment(own, owner("hpa", REPLICAS), replicas=7, paused=True)
    assert applied(live, deployment(minReadySeconds=1)) == {"replicas": 7, "minReadySeconds": 1}


def test_a_map_that_left_the_manifest_goes_with_what_nobody_owns_in_it() -> None:
    own = owner("kubectl", {"f:spec": {"f:strategy": {"f:type": {}}, "f:paused": {}}}, "Apply")
    live = deployment(own, strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}, paused=True)
    assert applied(live, deployment(paused=True)) == {"paused": True}


def test_an_element_that_left_the_manifest_is_deleted_with_all_in_it() -> None:
    ports = [{**PORT, "name": "dns"}, {"containerPort": 53, "protocol": "TCP"}]
    once = apply_server_side(deployment(), deployment(**pods({"name": "c", "ports": ports})), force=False)
    assert applied(once, deployment(**pods({"name": "c", "ports": ports[1:]}))) == pods(
        {"name": "c", "ports": ports[1:]}
    )
    assert applied(once, deployment(paused=True)) == {"paused": True}


def test_an_element_stays_where_another_owns_a_field_of_it() -> None:
    own = {"f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"c"}': {"f:image": {}}}}}}}
    name = {"f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"c"}': {"f:name": {}}}}}}}
    live = deployment(owner("kubectl", own, "Apply"), owner("edit", name), **pods({"name": "c", "image": "a:1"}))
    assert applied(live, deployment(paused=True)) == {**pods({"name": "c"}), "paused": True}


def test_a_map_at_the_top_of_an_object_goes_as_a_whole() -> None:
    own = owner("kubectl", {"f:parameters": {"f:type": {}}, "f:provisioner": {}}, "Apply")
    live = make_object(
        "StorageClass", "fast", managedFields=[own], provisioner="a", parameters={"type": "ssd", "own": "x"}
    )
    manifest = {key: live[key] for key in ("apiVersion", "kind", "provisioner")} | {"metadata": {"name": "fast"}}
    assert "parameters" not in apply_server_side(live, manifest, force=False)


def test_the_fields_of_a_manifest_as_managed_fields_have_them() -> None:
    manifest = deployment(
        replicas=3,
        selector={"matchLabels": {"app": "w"}},
        template={
            "metadata": {"labels": {"app": "w"}},
            "spec": {
                "nodeSelector": {"disk": "ssd"},
                "tolerations": [{"key": "a"}],
                "volumes": [{"name": "v", "emptyDir": {}}],
                "containers": [{"name": "c", "args": ["x"], "ports": [{"containerPort": 53, "name": "dns"}]}],
            },
        },
    )
    manifest["metadata"] |= {"namespace": "default", "labels": {"a": "1"}, "finalizers": ["a/b"]}
    (own,) = apply_server_side(deployment(), manifest, force=False)["metadata"]["managedFields"]
    port = {".": {}, "f:containerPort": {}, "f:name": {}}
    assert own["fieldsV1"] == {
        "f:metadata": {"f:labels": {"f:a": {}}, "f:finalizers": {'v:"a/b"': {}}},
        "f:spec": {
            "f:replicas": {},
            "f:selector": {},
            "f:template": {
                "f:metadata": {"f:labels": {"f:app": {}}},
                "f:spec": {
                    "f:nodeSelector": {},
                    "f:tolerations": {},
                    "f:volumes": {'k:{"name":"v"}': {".": {}, "f:name": {}, "f:emptyDir": {}}},
                    "f:containers": {
                        'k:{"name":"c"}': {
                            ".": {},
                            "f:name": {},
                            "f:args": {},
                            "f:ports": {'k:{"containerPort":53,"protocol":"TCP"}': port},
                        }
                    },
                },
            },
        },
    }


@pytest.mark.parametrize(
    ("owners", "manifest", "text"),
    [
        pytest.param(
            [owner("kube-controller-manager", REPLICAS, time="2026-01-02T03:04:05Z", subresource="scale")],
            deployment(replicas=3),
            'Apply failed with 1 conflict: conflict with "kube-controller-manager" with subresource "scale" using '
            "apps/v1 at 2026-01-02T03:04:05Z: .spec.replicas",
            id="an update",
        ),
        pytest.param(
            [owner("argo", REPLICAS, "Apply")],
            deployment(replicas=3),
            'Apply failed with 1 conflict: conflict with "argo": .spec.replicas',
            id="another applier",
        ),
        pytest.param(
            [owner("argo", REPLICAS, "Apply"), owner("edit", IMAGE)],
            deployment(replicas=3, **pods({"name": "c", "image": "a:2"})),
            'Apply failed with 2 conflicts: conflicts with "argo":\n- .spec.replicas\n'
            'conflicts with "edit" using apps/v1:\n- .spec.template.spec.containers[name="c"].image',
            id="two managers",
        ),
        pytest.param(
            [owner("argo", REPLICAS, "Apply"), owner("edit", PORT_NAME, "Apply")],
            deployment(replicas=3, **pods({"name": "c", "image": "a:1", "ports": [{**PORT, "name": "dns"}]})),
            'Apply failed with 2 conflicts: conflicts with "argo":\n- .spec.replicas\n'
            'conflicts with "edit":\n'
            '- .spec.template.spec.containers[name="c"].ports[containerPort=53,protocol="UDP"].name',
            id="keys in another order",
        ),
        pytest.param(
            [owner("argo", {**REPLICAS, "f:metadata": {"f:finalizers": {'v:"a/b"': {}}}}, "Apply")],
            {**deployment(replicas=3), "metadata": {"name": "w", "finalizers": ["a/b"]}},
            'Apply failed with 2 conflicts: conflicts with "argo":\n- .metadata.finalizers[="a/b"]\n- .spec.replicas',
            id="a text of a list",
        ),
    ],
)
def test_a_conflict_names_the_manager_and_force_takes_the_field(owners: Any, manifest: Any, text: str) -> None:
    live = deployment(*owners, replicas=7, **pods({"name": "c", "image": "a:1"}))
    with pytest.raises(ApplyConflict) as caught:
        applied(live, manifest)
    assert str(caught.value) == text
    after = apply_server_side(live, manifest, force=True)
    assert after["spec"]["replicas"] == 3
    kept = [each["manager"] for each in after["metadata"]["managedFields"] if "f:replicas" in json.dumps(each)]
    assert kept == ["kubectl"]


def test_an_equal_value_is_no_conflict_and_both_own_it() -> None:
    live = deployment(owner("argo", REPLICAS, "Apply"), replicas=3)
    after = apply_server_side(live, deployment(replicas=3), force=False)
    assert [each["manager"] for each in after["metadata"]["managedFields"]] == ["kubectl", "argo"]
    assert applied(after, deployment(paused=True)) == {"replicas": 3, "paused": True}


@pytest.mark.parametrize(
    ("live", "manifest", "expected"),
    [
        pytest.param(
            pods({"name": "c", "image": "a:1", "tty": True}, {"name": "own"}),
            pods({"name": "new"}, {"name": "c", "image": "a:2"}),
            pods({"name": "new"}, {"name": "c", "image": "a:2", "tty": True}, {"name": "own"}),
            id="containers by name",
        ),
        pytest.param(
            pods({"name": "first"}, {"name": "a"}, {"name": "own"}, {"name": "b"}, {"name": "last"}),
            pods({"name": "a", "tty": True}, {"name": "b"}, {"name": "new", "tty": None}),
            pods(
                *({"name": "first"}, {"name": "a", "tty": True}, {"name": "own"}),
                *({"name": "b"}, {"name": "last"}, {"name": "new"}),
            ),
            id="containers of others keep their places",
        ),
        pytest.param(
            pods({"name": "c"}), pods({"name": "c", "ports": [PORT]}), pods({"name": "c", "ports": [PORT]}), id="a list"
        ),
        pytest.param({"paused": True, "replicas": 1}, {"paused": None}, {"replicas": 1}, id="null deletes"),
        pytest.param(
            pods({"name": "c", "ports": [{"containerPort": 53, "protocol": "UDP"}]}),
            pods({"name": "c", "ports": [{"containerPort": 53, "name": "dns"}]}),
            pods(
                {
                    "name": "c",
                    "ports": [{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53, "name": "dns"}],
                }
            ),
            id="ports by number and protocol",
        ),
        pytest.param(
            pods(nodeSelector={"a": "1"}),
            pods(nodeSelector={"b": "2"}),
            pods(nodeSelector={"b": "2"}),
            id="a node selector as one",
        ),
        pytest.param(
            pods(tolerations=[{"key": "a"}]),
            pods(tolerations=[{"key": "b"}]),
            pods(tolerations=[{"key": "b"}]),
            id="tolerations as one",
        ),
    ],
)
def test_how_fields_merge(live: Any, manifest: Any, expected: Any) -> None:
    assert applied(deployment(**live), deployment(**manifest)) == expected


def test_what_client_side_apply_has_set_is_taken_over_and_pruned() -> None:
    before = deployment(replicas=3, paused=True)
    noted = {"f:metadata": {"f:annotations": {".": {}, f"f:{LAST_APPLIED}": {}}}}
    client = owner("kubectl-client-side-apply", {**noted, "f:spec": {"f:replicas": {}, "f:paused": {}}})
    annotations = {LAST_APPLIED: json.dumps(before)}
    live = deployment(client, annotations=annotations, replicas=3, paused=True)
    after = apply_server_side(live, deployment(replicas=5), force=False)
    assert after["spec"] == {"replicas": 5}
    assert [each["manager"] for each in after["metadata"]["managedFields"]] == ["kubectl"]
    assert LAST_APPLIED not in after["metadata"].get("annotations", {})


def test_what_changed_since_client_side_apply_is_a_conflict() -> None:
    annotations = {LAST_APPLIED: json.dumps(deployment(replicas=3))}
    live = deployment(owner("kubectl-scale", REPLICAS), annotations=annotations, replicas=7)
    with pytest.raises(ApplyConflict, match=r'conflict with "kubectl-scale" using apps/v1: \.spec\.replicas'):
        applied(live, deployment(replicas=5))


def test_the_same_manifest_again_changes_nothing() -> None:
    manifest = deployment(replicas=3, **pods({"name": "c", "image": "a:1", "env": [{"name": "A", "value": "1"}]}))
    once = apply_server_side(deployment(replicas=1), manifest, force=False)
    assert apply_server_side(once, manifest, force=False) == once
