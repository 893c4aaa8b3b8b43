"""Which pods a name means, which of several pods is explained, and what is proposed for a name that means none."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from ksched_cli.api.core import Namespace, ObjectMeta, Pod
from ksched_cli.api.object_facts import pod_key
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.errors import UsageError
from ksched_cli.plan.explain.pods import (
    NamedPods,
    closest_names,
    find_named_pods,
    find_refused,
    find_subject,
    pick_named,
    pick_pod,
    similar_names,
)
from ksched_cli.plan.results.outcomes import RefusedPod
from tests.builders import PodBuilder, loaded_of, make_node, make_pod
from tests.harness import make_scheduler


def of(workload: str, name: str, namespace: str = "shop") -> PodBuilder:
    kind, _, owner = workload.partition("/")
    return make_pod(name, namespace).owner(kind, owner)


PODS = [
    of("StatefulSet/web", "web-0"),
    of("StatefulSet/web", "web-1").on("n"),
    of("StatefulSet/web", "web-2").phase("Succeeded"),
    of("StatefulSet/web", "web-0", "test"),
    of("StatefulSet/db", "db-0"),
    of("StatefulSet/once", "once-0"),
    of("PyTorchJob/train", "train-master-0").on("n"),
    of("PyTorchJob/train", "train-worker-0").on("n"),
    of("PyTorchJob/train", "train-worker-1").phase("Succeeded"),
    of("Kafka/my", "my-0").on("n"),
    of("Kafka/my", "my-1", "test").on("n"),
    make_pod("debug", "shop").on("n"),
    make_pod("done", "shop").phase("Failed"),
    make_pod("debug-2", "test").on("n"),
    make_pod("lone", "sts"),
]


@pytest.mark.parametrize(
    ("text", "namespace", "pods", "workload"),
    [
        pytest.param("db-0", "", ["shop/db-0"], "", id="a pod"),
        pytest.param("shop/web-0", "", ["shop/web-0"], "", id="a namespace"),
        pytest.param("shop/web-0", "shop", ["shop/web-0"], "", id="one namespace twice"),
        pytest.param("web-0", "test", ["test/web-0"], "", id="-n"),
        pytest.param("po/db-0", "", ["shop/db-0"], "", id="the kind of a pod"),
        pytest.param("PODS/test/web-0", "", ["test/web-0"], "", id="the kind and a namespace"),
        pytest.param("sts/web", "shop", ["shop/web-0", "shop/web-1"], "StatefulSet shop/web", id="a workload in -n"),
        pytest.param("sts/test/web", "", ["test/web-0"], "StatefulSet test/web", id="a workload and its namespace"),
        pytest.param("sts/db", "", ["shop/db-0"], "StatefulSet shop/db", id="a workload of one namespace"),
        pytest.param("pytorchjob/train", "", ["shop/train-master-0", "shop/train-worker-0"], "PyTorchJob shop/train", id="a custom kind"),
        pytest.param("PyTorchJobs/shop/train", "", ["shop/train-master-0", "shop/train-worker-0"], "PyTorchJob shop/train", id="a custom kind and its namespace"),
        pytest.param("kafka/shop/my", "", ["shop/my-0"], "Kafka shop/my", id="one of two of a custom kind"),
        pytest.param("kafka/my", "test", ["test/my-1"], "Kafka test/my", id="a custom kind in -n"),
        pytest.param("kafka/my", "", "is in several namespaces (give -n NAMESPACE)", "", id="two of a custom kind"),
        pytest.param("kafka/its", "", "there is no pod kafka/its: no pod is in namespace kafka", "", id="none of a custom kind"),
        pytest.param("sts/lone", "", ["sts/lone"], "", id="a namespace that is named like a kind"),
        pytest.param("once", "", ["shop/once-0"], "StatefulSet shop/once", id="a workload without its kind"),
        pytest.param("db", "shop", ["shop/db-0"], "StatefulSet shop/db", id="a workload before the beginning of a pod"),
        pytest.param("deb", "shop", ["shop/debug"], "", id="the beginning of a pod"),
        pytest.param("shop/d", "", "may be several things (write one of shop/debug, statefulset/shop/db)", "", id="two"),
        pytest.param("web-0", "", "several pods are named web-0: shop/web-0, test/web-0; give namespace/name or -n NAMESPACE", "", id="two pods of a name"),
        pytest.param("sts/web", "", "is in several namespaces (write sts/shop/web or sts/test/web, or give -n NAMESPACE)", "", id="two workloads of a name"),
        pytest.param("shop/web-0", "test", "-n test and shop/web-0 name two namespaces", "", id="two namespaces"),
        pytest.param("po/", "", '"po/" names no pod', "", id="no name"),
        pytest.param("done", "", "pod shop/done has finished (Failed)", "", id="a pod that has finished"),
        pytest.param("debug-2", "shop", "there is no pod shop/debug-2; there is test/debug-2", "", id="elsewhere"),
        pytest.param("x", "shpo", "there is no pod shpo/x: no pod is in namespace shpo (did you mean shop?)", "", id="a misspelt namespace"),
        pytest.param("x", "other", "there is no pod other/x: no pod is in namespace other", "", id="an unknown namespace"),
        pytest.param("web-7", "", "there is no pod web-7; the nearest names are shop/web-2, shop/web-1, shop/web-0, test/web-0", "", id="near"),
        pytest.param("zzz", "", "there is no pod zzz; pending pods are shop/db-0, shop/once-0, shop/web-0, sts/lone, test/web-0", "", id="nothing near"),
        pytest.param("zzz", "test", "there is no pod test/zzz; pending pods are shop/db-0", "", id="nothing near in a namespace"),
    ],
)  # fmt: skip
def test_a_name(text: str, namespace: str, pods: list[str] | str, workload: str) -> None:
    loaded = loaded_of(*(each.obj() for each in PODS))
    if isinstance(pods, str):
        with pytest.raises(UsageError) as caught:
            find_named_pods(loaded, text, namespace)
        assert pods in str(caught.value)
    else:
        found = find_named_pods(loaded, text, namespace)
        assert (list(found.keys), found.workload) == (pods, workload)


def test_a_name_in_an_input_without_pods() -> None:
    with pytest.raises(UsageError, match="there is no pod x: there are no pods in the input"):
        find_named_pods(loaded_of(), "x")


def test_similar_names_are_five_at_most_and_of_the_namespace() -> None:
    pods = [make_pod(f"api-{number}", "shop").obj() for number in range(7)] + [make_pod("api-9", "test").obj()]
    assert similar_names(pods, "api-8", "shop") == [f"shop/api-{number}" for number in (6, 5, 4, 3, 2)]
    assert similar_names(pods, "api-8", "none")[0] == "test/api-9"
    assert similar_names(pods, "a", "shop") == [f"shop/api-{number}" for number in range(5)]
    assert closest_names("api-8", ["api-1", "web"]) == ["api-1"]
    assert closest_names("w", ["api-1", "web-1234567"]) == ["web-1234567"]


LARGE, SMALL = {"cpu": "9"}, {"cpu": "1"}
# By priority `first` is scheduled before the others.
PENDING = {
    "first": make_pod("first").requests(**SMALL).priority(9),
    "large": make_pod("large").requests(**LARGE),
    "larger": make_pod("larger").requests(**LARGE),
    "small": make_pod("small").requests(**SMALL),
    "gated": make_pod("gated").gate("x"),
    "here": make_pod("here").on("n"),
    "there": make_pod("there").on("n"),
}


def scheduler_of(*names: str) -> Scheduler:
    nodes = [make_node("n").allocatable(cpu="4", memory="8Gi", pods=9).obj()]
    return make_scheduler(nodes, [PENDING[name].obj() for name in names])


@pytest.mark.parametrize(
    ("names", "workload", "key", "note"),
    [
        pytest.param("here", "Job a", "here", "It is the only pod of Job a.", id="one"),
        pytest.param("here", "", "here", "", id="the pod itself"),
        pytest.param("here large", "Job a", "large", "Job a has 2 pods: this one is pending.", id="one pending"),
        pytest.param("first large larger", "Job a", "large", "Job a has 3 pods, and 2 find no place: this is the first of them.", id="two find none"),
        pytest.param("first large", "Job a", "large", "Job a has 2 pods, and 1 finds no place: this is the first of them.", id="one finds none"),
        pytest.param("first first", "Job a", "first", "Job a has 2 pods: this one is pending.", id="twice"),
        pytest.param("here small first", "Job a", "first", "Job a has 3 pods, 2 pending: this is the first of them.", id="two find one"),
        pytest.param("there here", "Job a", "here", "Job a has 2 pods, none of them pending: this is the first one by name.", id="none pending"),
    ],
)  # fmt: skip
def test_one_pod_of_a_workload(names: str, workload: str, key: str, note: str) -> None:
    named = NamedPods(tuple(PENDING[name].obj() for name in names.split()), workload)
    found = pick_named(scheduler_of(*dict.fromkeys(names.split())), named)
    assert (found.key, found.note) == (f"default/{key}", note)


REFUSED = RefusedPod("default/refused", "ResourceQuota", "exceeded quota")


@pytest.mark.parametrize(
    ("names", "made", "refused", "key", "note"),
    [
        pytest.param("first", [], [], "first", "", id="the only one"),
        pytest.param("first large larger", [], [], "large", "Of 3 pending pods 2 find no place", id="of the pending"),
        pytest.param("first large", ["first"], [], "first", "", id="of manifests"),
        pytest.param("small first", [], [], "first", "All of 2 pending pods find a place: this is the first of them.", id="all find a place"),
        pytest.param("large", [], [REFUSED], "refused", "", id="refused before others that are pending"),
        pytest.param("first large", ["first"], [REFUSED], "refused", "Of 2 pending pods 1 finds no place", id="a refused one of manifests"),
        pytest.param("large larger", ["large"], [REFUSED], "large", "Of 2 pending pods 2 find no place", id="one without a place before a refused one"),
        pytest.param("large", ["here"], [REFUSED], "refused", "", id="refused, and the others run"),
        pytest.param("here there", [], [], "", "no pod is pending (name a pod or a workload", id="none"),
        pytest.param("gated first", [], [], "gated", "Of 2 pending pods 1 finds no place", id="held back"),
    ],
)  # fmt: skip
def test_without_a_name(names: str, made: list[str], refused: list[RefusedPod], key: str, note: str) -> None:
    keys = [f"default/{each}" for each in made]
    if not key:
        with pytest.raises(UsageError, match=re.escape(note)):
            pick_pod(scheduler_of(*names.split()), keys, refused, lambda pod: True)
        return
    found = pick_pod(scheduler_of(*names.split()), keys, refused, lambda pod: True)
    assert found.key == f"default/{key}"
    assert found.note.startswith(note)
    assert bool(found.note) is bool(note)


def test_without_a_name_of_the_pods_that_are_wanted() -> None:
    def wanted(name: str) -> Callable[[Pod], bool]:
        return lambda pod: pod.metadata.name == name

    scheduler = scheduler_of("first", "large", "here", "there")
    assert pick_pod(scheduler, [], [], wanted("large")).key == "default/large"
    found = pick_pod(scheduler, [], [], wanted("there"))
    assert (found.key, found.note) == (
        "default/there",
        "None of the 1 selected pods is pending: this is the first one by name.",
    )
    two = pick_pod(scheduler_of("first", "gated"), [], [], lambda pod: pod.metadata.name != "gated")
    assert (two.key, two.note) == ("default/first", "")


@pytest.mark.parametrize(
    ("name", "namespace", "found"),
    [
        pytest.param("refused", "default", True, id="with -n"),
        pytest.param("refused", "", True, id="its name alone"),
        pytest.param("default/refused", "other", True, id="in full"),
        pytest.param("refused", "other", False, id="of another namespace"),
        pytest.param("fine", "default", False, id="another pod"),
    ],
)
def test_a_pod_that_admission_refuses(name: str, namespace: str, found: bool) -> None:
    explanation = find_refused([RefusedPod("default/a", "X", "m"), REFUSED], name, namespace)
    assert (explanation is not None) is found
    if explanation is not None:
        assert explanation.summary == ("The API server would refuse it (ResourceQuota): exceeded quota",)


def test_a_pod_with_a_node_is_pending_in_a_copy() -> None:
    spaces = [
        Namespace(metadata=ObjectMeta(name="shop", deletion_timestamp="2026-01-01T00:00:00Z")),
        Namespace(metadata=ObjectMeta(name="test")),
    ]
    loaded = loaded_of(*spaces, *(each.obj() for each in PODS))
    subject = find_subject(loaded, "shop/debug")
    assert (subject.runs_on, subject.pod.spec.node_name, subject.ends_with_namespace) == ("n", "", True)
    nodes = {pod_key(each): each.spec.node_name for each in subject.loaded.of(Pod)}
    assert (nodes["shop/debug"], nodes["shop/web-1"]) == ("", "n")
    assert not find_subject(loaded, "test/debug-2").ends_with_namespace
    assert find_subject(loaded, "db-0").runs_on == ""
    assert not find_subject(loaded, "sts/lone").ends_with_namespace
