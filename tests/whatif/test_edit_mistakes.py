"""What-if edits that cannot be made: which, why, and what to do about it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ksched_cli.errors import UsageError
from ksched_cli.whatif.edits.lib.apply import contradictions
from ksched_cli.whatif.edits.lib.edit import parse_edits
from ksched_cli.whatif.edits.lib.editor import name_hint
from tests.builders import loaded_of, make_node, make_pod
from tests.whatif.changing import edited_by as apply
from tests.whatif.test_edits import edits, workload


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        pytest.param("cordon nood-1", 'there is no node "nood-1" (did you mean node-1', id="unknown node"),
        pytest.param("clone-node x=2", 'there is no node "x" (the input has node-1, node-2)', id="unknown node, nothing near"),
        pytest.param("clone-node node-1=0", "how many: 0 is not between 1 and 100000", id="no clones"),
        pytest.param("clone-node node-1=x", "how many: 'x' is not a whole number", id="not a number"),
        pytest.param("remove-node ", "there is no name", id="nothing"),
        pytest.param("taint node-1", "incomplete (write NODE=KEY[=VALUE]:EFFECT", id="taint of nothing"),
        pytest.param("taint node-1=k", "there is no effect (write NODE=KEY[=VALUE]:EFFECT, such as node-1=k:NoSchedule)", id="no effect"),
        pytest.param("taint node-1=k:Never", "there is no effect Never (use one of NoSchedule", id="unknown effect"),
        pytest.param("taint node-1=-k:NoSchedule", "'-k' cannot be a key", id="bad key"),
        pytest.param("taint node-1=-k-", "'-k' cannot be a key", id="bad key to remove"),
        pytest.param("taint node-1=k:Never-", "there is no effect Never (use one of NoSchedule", id="unknown effect to remove"),
        pytest.param("taint node-1=k=a b:NoSchedule", "'a b' cannot be a value", id="bad value of a taint"),
        pytest.param("taint node-1=k-", "node node-1 has no such taint (it has a:NoSchedule)", id="no such taint"),
        pytest.param("taint node-2=k-", "node node-2 has no such taint (it has none)", id="no taint at all"),
        pytest.param("label node-1=k", "label k has no value (write node-1=k=VALUE, or node-1=k- to remove it)", id="no value"),
        pytest.param("label node-1=k=a b", "'a b' cannot be a value", id="bad value"),
        pytest.param("label node-1=-k=v", "'-k' cannot be a key", id="bad key of a label"),
        pytest.param("label node-1=-k-", "'-k' cannot be a key", id="bad key of a label to remove"),
        pytest.param("label node-1=k-", "node node-1 has no label k (it has kubernetes.io/hostname)", id="no such label"),
        pytest.param("scale web=3", "'web' does not say what (write KIND/NAME", id="no kind"),
        pytest.param("scale deployments/web", "there is no number (write deployments/web=N)", id="no number"),
        pytest.param("scale deploy/web=-1", "replicas: '-1' is not a whole number", id="negative"),
        pytest.param("scale deploymnt/web=1", "there is no kind deploymnt (did you mean deployment", id="unknown kind"),
        pytest.param("scale ds/log=1", "a DaemonSet has no replicas (Deployment, ReplicaSet", id="not to be scaled"),
        pytest.param("scale sts/x=1", 'there is no StatefulSet "x" in the input (the input has none: add statefulsets to it)', id="no stateful sets"),
        pytest.param("scale rs/wep=1", 'there is no ReplicaSet "wep" in the input (did you mean web?)', id="unknown workload"),
        pytest.param("scale rs/shop/web=1", 'there is no ReplicaSet "web" in namespace "shop" in the input', id="unknown namespace"),
        pytest.param("delete pod/twice", 'there are 2 of Pod "twice" (write pod/a/twice or pod/b/twice)', id="ambiguous"),
        pytest.param("scale rs/of-a-deployment=1", "it belongs to Deployment shop, which would undo it (scale deployment/default/shop)", id="somebody else's"),
        pytest.param("delete node/node-1", "a node is not deleted this way (use --remove-node node-1)", id="node"),
        pytest.param("add-node cpu=1,colour=red", "'colour' is not known here (known are cpu, memory", id="unknown word"),
        pytest.param("add-node cpu=1,memory", "'memory' has no value (write KEY=VALUE,KEY=VALUE)", id="a word without a value"),
        pytest.param("add-node cpu=much", "cpu: 'much' is not a quantity", id="not a quantity"),
        pytest.param("add-node cpu=-1", "cpu: -1 is negative", id="negative quantity"),
        pytest.param("add-node zone=a b", "'a b' cannot be the name of a zone", id="bad zone"),
        pytest.param("add-node /=2", "/ is a directory", id="directory, which is not walked"),
        pytest.param(f"add-node no-such-file{300 * 'a'}=1", f"{300 * 'a'}: file name too long", id="path that is too long"),
        pytest.param("add-node no-such-file.yaml=2", "no-such-file.yaml: no such file or directory", id="no such file"),
    ],
)  # fmt: skip
def test_mistakes(flag: str, message: str) -> None:
    owner = [{"kind": "Deployment", "name": "shop", "controller": True}]
    cluster = loaded_of(
        make_node("node-1").taint("a").obj(),
        make_node("node-2").obj(),
        make_pod("twice", "a").obj(),
        make_pod("twice", "b").obj(),
        workload("ReplicaSet", "web", 1),
        workload("Deployment", "shop", 1),
        workload("ReplicaSet", "of-a-deployment", 1, metadata={"ownerReferences": owner}),
    )
    name, _, text = flag.partition(" ")
    parsed, problems = parse_edits([(name, text)])
    with pytest.raises(UsageError) as raised:
        apply(cluster, parsed, problems)
    (problem,) = raised.value.problems
    assert message in str(problem)
    assert "no-such-file" in flag or str(problem).startswith(f"--{name}")


@pytest.mark.parametrize(
    ("name", "names", "hint"),
    [
        pytest.param(
            "web", ["web4", "web2", "web1", "web3"], "did you mean web4 or web3 or web2?", id="three are near"
        ),
        pytest.param("x", "fedcba", "the input has a, b, c, d, e and 1 more", id="none is near: five of all"),
        pytest.param("x", [], "", id="there are none"),
    ],
)
def test_names_that_may_have_been_meant(name: str, names: list[str], hint: str) -> None:
    assert name_hint(name, names) == hint


def test_a_template_is_one_node(tmp_path: Path) -> None:
    file = tmp_path / "nodes.json"
    file.write_bytes(
        msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": [make_node("a").doc(), make_node("b").doc()]})
    )
    _, problems = parse_edits([("add-node", str(file))])
    assert [problem.message for problem in problems] == [f"2 nodes in {file}"]


def test_a_template_has_room(tmp_path: Path) -> None:
    file = tmp_path / "node.json"
    file.write_bytes(msgspec.json.encode({**make_node("a").doc(), "status": {"alocatable": {"cpu": 4}}}))
    _, problems = parse_edits([("add-node", str(file))])
    assert [problem.message for problem in problems] == [f"the Node in {file} has neither allocatable nor capacity"]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        pytest.param(["remove-node n", "cordon n"], ["--cordon n: node n is removed by --remove-node"], id="remove and cordon"),
        pytest.param(["remove-node n", "drain n"], ["--drain n: node n is removed by --remove-node (removing it evicts its pods: leave the drain out)"], id="remove and drain"),
        pytest.param(["cordon n", "uncordon n"], ["--cordon n: node n is uncordoned by --uncordon (give one of the two)"], id="cordon and uncordon"),
        pytest.param(["taint n=k=a:NoExecute", "taint n=k=b:NoExecute"], ["--taint n=k=b:NoExecute: contradicts --taint n=k=a:NoExecute (give one of the two)"], id="two values of a taint"),
        pytest.param(["label n=k=a", "label n=k-"], ["--label n=k-: contradicts --label n=k=a (give one of the two)"], id="label set and removed"),
        pytest.param(["scale rs/a=1", "scale rs/a=2"], ["--scale replicaset/a=2: contradicts --scale replicaset/a=1 (give one of the two)"], id="scaled twice"),
        pytest.param(["scale rs/a=1", "delete rs/a"], ["--delete replicaset/a: contradicts --scale replicaset/a=1 (give one of the two)"], id="scaled and deleted"),
        pytest.param(["clone-node n", "remove-node n", "cordon m", "cordon m", "label m=k=a", "taint m=k:NoExecute", "taint m=k:NoSchedule"], [], id="nothing wrong"),
    ],
)  # fmt: skip
def test_contradictions(flags: list[str], expected: list[str]) -> None:
    assert [str(problem) for problem in contradictions(edits(*flags))] == expected
