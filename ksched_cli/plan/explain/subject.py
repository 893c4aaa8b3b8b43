"""The pod to explain, in a cluster where it is pending."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from msgspec import Struct, structs

from ksched_cli.api.core import Pod
from ksched_cli.api.pod_facts import pod_key
from ksched_cli.plan.explain.results import Explanation
from ksched_cli.plan.named_pods import find_named_pods
from ksched_cli.plan.results import RefusedPod
from ksched_cli.sources.loaded import Loaded

_NEAREST = 5


def find_refused(refused: Sequence[RefusedPod], name: str, namespace: str) -> Explanation | None:
    """The result for a pod that admission refuses."""
    key = f"{namespace}/{name}" if namespace and "/" not in name else name
    for each in refused:
        if key in (each.pod, each.pod.partition("/")[2]):
            text = f"The API server would refuse it ({each.plugin}): {each.message}"
            return Explanation(each.pod, "refused", summary=(text,))
    return None


class Subject(Struct, frozen=True):
    """The pod to explain, in a cluster where it is pending. `runs_on`: the node that it has in truth."""

    loaded: Loaded
    pod: Pod
    runs_on: str = ""

    @property
    def key(self) -> str:
        return pod_key(self.pod)

    @property
    def uid(self) -> str:
        """The name under which the scheduler has the pod."""
        return self.pod.metadata.uid or self.key


def find_subject(loaded: Loaded, name: str) -> Subject:
    """The pod that is named, or the first one of what is named."""
    return as_pending(loaded, find_named_pods(loaded, name).pods[0])


def closest_names(name: str, names: Sequence[str]) -> list[str]:
    """Of the names those that may have been meant."""
    close = get_close_matches(name, sorted(names), _NEAREST, 0.6)
    return close or sorted(each for each in names if each.startswith(name))[:_NEAREST]


def as_pending(loaded: Loaded, pod: Pod) -> Subject:
    """A pod that has a node is put into a copy of the cluster without it, as if it had just been made anew."""
    if not pod.spec.node_name:
        return Subject(loaded, pod)
    bare = structs.replace(
        pod, spec=structs.replace(pod.spec, node_name=""), status=structs.replace(pod.status, nominated_node_name="")
    )
    return Subject(with_object(loaded, pod, bare), bare, pod.spec.node_name)


def with_object(loaded: Loaded, old: Pod, new: Pod) -> Loaded:
    """A copy in which one pod stands in the other's place; what is not changed is shared."""
    pods = [new if each is old else each for each in loaded.of(Pod)]
    return structs.replace(loaded, objects={**loaded.objects, Pod: pods}, _places={})
