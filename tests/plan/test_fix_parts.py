"""Parts of fixes by themselves: claims and storage classes, requirements of a NodePool, and pods of a PodTemplate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from ksched_cli.api.core import Pod, Taint
from ksched_cli.api.json_patch import Operation, add, apply_patch, drop
from ksched_cli.api.karpenter import NodePool
from ksched_cli.api.storage import PersistentVolumeClaim, StorageClass
from ksched_cli.api.workloads import PodTemplate, StatefulSet
from ksched_cli.plan.explain.pool_fixes import _Attempt, _tolerations, _with_value, _without_min_values
from ksched_cli.plan.reasons.fixes.search import PodManifest, _is_of_template
from ksched_cli.plan.reasons.fixes.storage import ClaimProposals
from ksched_cli.sources.manifests import load_manifests
from ksched_cli.sources.places import Places
from tests.builders import loaded_of, make_node, make_pod
from tests.plan.explaining import explained

DEFAULT = {"storageclass.kubernetes.io/is-default-class": "true"}


def class_of(name: str, provisioner: str = "csi", *, waits: bool = True, default: bool = False, **more: Any) -> Any:
    mode = "WaitForFirstConsumer" if waits else "Immediate"
    metadata = {"name": name, "annotations": {**(DEFAULT if default else {}), "note": "x"}}
    fields = {"metadata": metadata, "provisioner": provisioner, "volumeBindingMode": mode, **more}
    return msgspec.convert(fields, StorageClass)


def claim(name: str, of: str | None = None, volume: str = "", namespace: str = "shop", **metadata: Any) -> Any:
    spec = {"volumeName": volume} | ({"storageClassName": of} if of is not None else {})
    fields = {"metadata": {"name": name, "namespace": namespace, **metadata}, "spec": spec}
    return msgspec.convert(fields, PersistentVolumeClaim)


def mounting(*claims: str) -> Pod:
    volumes = [{"name": "tmp"}, *({"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims)]
    return make_pod("p", "shop").spec(volumes=volumes).obj()


def stateful_set(name: str, template: str, namespace: str = "shop") -> Any:
    templates = [{"metadata": {"name": "other"}}, {"metadata": {"name": template}}]
    metadata = {"name": name, "namespace": namespace}
    return msgspec.convert({"metadata": metadata, "spec": {"volumeClaimTemplates": templates}}, StatefulSet)


SSD, HDD, NFS = class_of("ssd"), class_of("hdd", parameters={"type": "hdd"}), class_of("nfs", "nfs.csi", waits=False)
LOCAL = class_of("local", "kubernetes.io/no-provisioner")
OTHER = claim("other", "ssd", "pv-1")
NEW = "create claim data (10Gi of class {}: set the size that you need)"
AGAIN = "create claim data again, with class {} and not {} (it has no volume yet)"


@pytest.mark.parametrize(
    ("items", "claims", "said"),
    [
        pytest.param(
            [], ["data"], "create claim data; not tried, because the input has no claims at all (add pvc,pv,sc to the dump)",
            id="no claim is known",
        ),
        pytest.param(
            [OTHER, LOCAL], ["other", "data", "logs", "data"],
            "create claim data and create claim logs; not tried, because the input has no StorageClass that makes a volume",
            id="two of three",
        ),
    ],
)  # fmt: skip
def test_claims_that_no_trial_can_create(items: list[Any], claims: list[str], said: str) -> None:
    node = make_node("n").allocatable(cpu="4", memory="8Gi", pods=10).obj()
    volumes = [{"name": f"v{at}", "persistentVolumeClaim": {"claimName": name}} for at, name in enumerate(claims)]
    found = explained([node, *items, make_pod("p", "shop").spec(volumes=volumes).obj()], "shop/p").fixes
    assert found is not None
    assert (found.found, found.why_none) == ((), said)


@pytest.mark.parametrize(
    ("items", "claims", "texts"),
    [
        pytest.param([SSD], ["data"], [], id="no claim is known"),
        pytest.param([SSD, OTHER], ["data"], [[NEW.format("ssd")]], id="missing"),
        pytest.param([HDD, class_of("std", default=True), SSD, OTHER], ["data"], [[NEW.format("std")]], id="of the default class"),
        pytest.param([class_of("std", "nfs.csi", waits=False, default=True), SSD, OTHER], ["data"], [[NEW.format("std")]], id="of a default class that does not wait"),
        pytest.param([class_of("a"), class_of("std", default=True), NFS, claim("data", "nfs")], ["data"], [[AGAIN.format("std", "nfs")]], id="its class has not made a volume, and the default class does"),
        pytest.param([SSD, claim("dtaa", "ssd", "pv-1"), NFS, claim("logs", "nfs")], ["logs", "data"],
            [["create claim logs again, with class ssd and not nfs (it has no volume yet)", "mount claim dtaa and not data"],
             ["create claim logs again, with class ssd and not nfs (it has no volume yet)", NEW.format("ssd")]], id="one way and two ways"),
        pytest.param([SSD, HDD, OTHER], ["data"], [[NEW.format("hdd")]], id="of the first class by name"),
        pytest.param([NFS, LOCAL, OTHER], ["data"], [], id="no class makes a volume where the pod goes"),
        pytest.param([SSD, claim("dtaa", "ssd", "pv-1")], ["data"], [["mount claim dtaa and not data"], [NEW.format("ssd")]], id="misspelt"),
        pytest.param([SSD, claim("data", "ssd", "pv-1", "test"), OTHER], ["data"], [[NEW.format("ssd")]], id="in another namespace"),
        pytest.param([SSD, OTHER], ["data", "data"], [[NEW.format("ssd")]], id="one claim of two volumes"),
        pytest.param([SSD, OTHER], ["other", "data"], [[NEW.format("ssd")]], id="beside one that is bound"),
        pytest.param([SSD, claim("dtaa", "ssd", "pv-1"), claim("logs", "nfs")], ["data", "logs"],
            [["mount claim dtaa and not data", "create StorageClass nfs (here as ssd is: set its provisioner and parameters)"],
             [NEW.format("ssd"), "create claim logs again, with class ssd and not nfs (it has no volume yet)"]], id="two ways of two claims"),
        pytest.param([SSD, claim("data", "ssd")], ["data"], [], id="its class waits for the pod"),
        pytest.param([SSD, NFS, claim("data", "nfs")], ["data"], [[AGAIN.format("ssd", "nfs")]], id="its class has not made a volume"),
        pytest.param([SSD, LOCAL, claim("data", "local")], ["data"], [[AGAIN.format("ssd", "local")]], id="its class makes no volumes"),
        pytest.param([SSD, class_of("far", "far"), class_of("hdd", parameters={"a": "b"}), class_of("own", waits=False, parameters={"a": "b"}), claim("data", "own")],
            ["data"], [[AGAIN.format("hdd", "own")]], id="the class that is most like its own"),
        pytest.param([SSD, claim("data", "sdd")], ["data"], [[AGAIN.format("ssd", "sdd")],
            ["create StorageClass sdd (here as ssd is: set its provisioner and parameters)"]], id="a misspelt class"),
        pytest.param([claim("data", "nothing")], ["data"], [], id="no class at all"),
        pytest.param([SSD, claim("data", "")], ["data"], [], id="without a class by intent"),
        pytest.param([SSD, claim("data")], ["data"], [], id="without a class"),
        pytest.param([SSD, NFS, claim("data", "nfs", deletionTimestamp="2026-01-01T00:00:00Z")], ["data"], [], id="being deleted"),
        pytest.param([SSD, NFS, claim("data-db-0", "nfs"), stateful_set("db", "data")], ["data-db-0"], [], id="of a StatefulSet"),
        pytest.param([SSD, claim("data-db-0", "sdd"), stateful_set("db", "data")], ["data-db-0"],
            [["create StorageClass sdd (here as ssd is: set its provisioner and parameters)"]], id="of a StatefulSet with a misspelt class"),
        pytest.param([SSD, NFS, claim("data", "nfs"), stateful_set("db", "data"), stateful_set("x", "data", "test")], ["data"],
            [[AGAIN.format("ssd", "nfs")]], id="beside a StatefulSet"),
    ],
)  # fmt: skip
def test_claims_that_lack_something(items: list[Any], claims: list[str], texts: list[list[str]]) -> None:
    found = list(ClaimProposals(loaded_of(*items), mounting(*claims)).all())
    assert [[each.text for each in way] for way in found] == texts


def test_a_class_is_created_without_being_the_default() -> None:
    (change, *_), *_ = ClaimProposals(
        loaded_of(class_of("ssd", default=True), claim("data", "x")), mounting("data")
    ).all()
    assert change.changes[0].content == {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "x", "annotations": {"note": "x"}},
        "provisioner": "csi",
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def test_a_claim_that_is_made_again_keeps_its_name_and_labels_only() -> None:
    old = claim("data", "nfs", labels={"app": "db"}, uid="u", finalizers=["x"])
    (change,), *_ = ClaimProposals(loaded_of(SSD, NFS, old), mounting("data")).all()
    assert [(each.op, each.name) for each in change.changes] == [("delete", "data"), ("create", "data")]
    assert change.changes[1].content == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "shop", "labels": {"app": "db"}},
        "spec": {"storageClassName": "ssd"},
    }
    (command,) = change.commands
    assert command.startswith("kubectl -n shop patch persistentvolumeclaim/data ")
    assert command.endswith("| kubectl replace --force -f -")


MANIFEST = """\
apiVersion: v1
kind: Pod
metadata:
  name: p
spec:
  nodeSelector:
    disk: ssd
  tolerations:
  - key: x
  containers:
  - name: c
    image: i
    resources:
      requests:
        cpu: 9
"""


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        pytest.param(add("2", "spec", "containers", 0, "resources", "requests", "cpu"), "15: spec.containers[0].resources.requests.cpu: 2", id="set"),
        pytest.param(add({"key": "y"}, "spec", "tolerations", "-"), '8: spec.tolerations: add {"key": "y"}', id="one more"),
        pytest.param(add([], "spec", "schedulingGates"), "5: spec.schedulingGates: []", id="a new field"),
        pytest.param(drop("spec", "nodeSelector", "disk"), "7: delete spec.nodeSelector.disk", id="deleted"),
        pytest.param(drop("spec", "tolerations", 0), "9: delete spec.tolerations[0]", id="deleted from a list"),
        pytest.param(add(5, "spec", "priority"), "", id="what its class sets"),
    ],
)  # fmt: skip
def test_a_change_of_the_manifest(operation: Operation, text: str, tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(MANIFEST)
    loaded = load_manifests([str(path)])
    found = PodManifest(Places(loaded), loaded.of(Pod)[0]).changes([operation])
    assert [str(each) for each in found] == ([f"{path}:{text}"] if text else [])


# Requirements of a NodePool


def attempt(*requirements: dict[str, Any]) -> _Attempt:
    spec = {"template": {"spec": {"requirements": requirements}}}
    return _Attempt(msgspec.convert({"metadata": {"name": "general"}, "spec": spec}, NodePool))


def requirements_of(found: _Attempt) -> list[tuple[str, str, tuple[str, ...]]]:
    own = found.pool.spec.template.spec.requirements
    return [(each.key, each.operator, tuple(each.values)) for each in own]


@pytest.mark.parametrize(
    ("operator", "values", "value", "text", "after"),
    [
        pytest.param("In", ["a"], "b", "allow b in the requirement k", ("In", ("a", "b")), id="In"),
        pytest.param("In", ["a"], "", "drop the requirement k In a", None, id="no value"),
        pytest.param("Gt", ["9"], "4", "change the requirement k Gt 9 to Gt 3", ("Gt", ("3",)), id="Gt"),
        pytest.param("Lt", ["2"], "4", "change the requirement k Lt 2 to Lt 5", ("Lt", ("5",)), id="Lt"),
        pytest.param("Gte", ["9"], "4", "change the requirement k Gte 9 to Gte 4", ("Gte", ("4",)), id="Gte"),
        pytest.param("Lte", ["2"], "4", "change the requirement k Lte 2 to Lte 4", ("Lte", ("4",)), id="Lte"),
        pytest.param("Gt", ["9"], "x", "drop the requirement k Gt 9", None, id="no number"),
        pytest.param("NotIn", ["a", "b", "c"], "b", "allow b in the requirement k NotIn a b c", ("NotIn", ("a", "c")), id="NotIn"),
        pytest.param("NotIn", ["a", "b"], "b", "allow b in the requirement k NotIn a b", ("NotIn", ("a",)), id="NotIn of two"),
        pytest.param("NotIn", ["b"], "b", "drop the requirement k NotIn b", None, id="NotIn of one value"),
        pytest.param("NotIn", ["a", "c"], "b", "drop the requirement k NotIn a c", None, id="NotIn of others"),
        pytest.param("DoesNotExist", [], "b", "drop the requirement k DoesNotExist", None, id="DoesNotExist"),
    ],
)  # fmt: skip
def test_a_requirement_that_allows_a_value(
    operator: str, values: list[str], value: str, text: str, after: tuple[str, tuple[str, ...]] | None
) -> None:
    before = attempt({"key": "first", "operator": "Exists"}, {"key": "k", "operator": operator, "values": values})
    found = _with_value(before, 1, value)
    assert found.texts == (text,)
    assert requirements_of(found) == [("first", "Exists", ()), *([("k", *after)] if after else [])]


def test_min_values_are_left_out_where_they_are() -> None:
    one, two, three = ({"key": key, "operator": "Exists", "minValues": 2} for key in "abc")
    found = _without_min_values(attempt(one, {"key": "x", "operator": "Exists"}, two, three))
    assert found is not None
    assert found.texts == ("leave out minValues of a, b, c",)
    assert [each.min_values for each in found.pool.spec.template.spec.requirements] == [None] * 4
    assert _without_min_values(attempt({"key": "x", "operator": "Exists"})) is None


@pytest.mark.parametrize("has_others", [False, True])
def test_tolerations_of_taints(has_others: bool) -> None:
    pod = make_pod("p").toleration("other", "Exists") if has_others else make_pod("p")
    taints = [Taint(key="a", value="1", effect="NoSchedule"), Taint(key="b", effect="NoExecute")]
    document = apply_patch(pod.doc(), _tolerations(taints, pod.obj()))
    assert document["spec"]["tolerations"][has_others:] == [
        {"key": "a", "operator": "Equal", "value": "1", "effect": "NoSchedule"},
        {"key": "b", "operator": "Exists", "effect": "NoExecute"},
    ]


@pytest.mark.parametrize(
    ("pod", "holds"),
    [
        pytest.param({"name": "run-1", "namespace": "shop"}, True, id="its name begins so"),
        pytest.param({"name": "run", "namespace": "shop"}, False, id="another name"),
        pytest.param({"name": "run-1", "namespace": "test"}, False, id="another namespace"),
        pytest.param({"name": "run-1", "namespace": "shop", "ownerReferences": [{"kind": "Job", "name": "run"}]}, False, id="a controller has it"),
    ],
)  # fmt: skip
def test_pods_of_a_template(pod: dict[str, Any], holds: bool) -> None:
    template = msgspec.convert({"metadata": {"name": "run", "namespace": "shop"}}, PodTemplate)
    made = msgspec.convert({"metadata": pod}, Pod)
    assert _is_of_template(made, template) is holds
    assert not _is_of_template(made, make_pod("run", "shop").obj())
