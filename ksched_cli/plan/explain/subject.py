"""Which pod is meant: by name, with the nearest names where there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from msgspec import structs

from ksched_cli.api.core import Pod
from ksched_cli.api.pod_facts import is_terminal, pod_key
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.errors import UsageError
from ksched_cli.plan.explain.results import Explanation
from ksched_cli.plan.results import RefusedPod
from ksched_cli.sources.loaded import Loaded

_NEAREST = 5


def pick_pod(
    scheduler: Scheduler, made: Sequence[str], refused: Sequence[RefusedPod], wanted: Callable[[Pod], bool]
) -> str:
    """Without a name: of the pods that manifests make, or else of the pending ones that are wanted, the first that
    finds no place, or the first of all; of none one that was refused."""
    infos = scheduler.cluster.pods.infos
    queue = scheduler.enqueue()
    waiting = [infos[row] for row in (*queue.active, *queue.gated)]
    candidates = [each.key for each in waiting if wanted(each.pod) and (not made or each.key in made)]
    if not candidates and refused:
        return refused[0].pod
    if not candidates or not (made or len(candidates) < len(waiting)):
        raise UsageError("say which pod: NAME or NAMESPACE/NAME, or -f FILE with a manifest of it")
    if len(candidates) == 1:
        return candidates[0]
    placed = {each.pod.key for each in scheduler.run(queue) if each.row is not None}
    return next((key for key in candidates if key not in placed), candidates[0])


def find_refused(refused: Sequence[RefusedPod], name: str, namespace: str) -> Explanation | None:
    """What there is to say of a pod that admission does not let in."""
    key = f"{namespace}/{name}" if namespace and "/" not in name else name
    for each in refused:
        if key in (each.pod, each.pod.partition("/")[2]):
            text = f"The API server would refuse it ({each.plugin}): {each.message}"
            return Explanation(each.pod, "refused", summary=(text,))
    return None


@dataclass(frozen=True)
class Subject:
    """The pod to explain, in a cluster where it is pending. `runs_on`: the node that it has in truth."""

    loaded: Loaded
    pod: Pod
    runs_on: str = ""

    @property
    def key(self) -> str:
        return pod_key(self.pod)

    @property
    def uid(self) -> str:
        """What the scheduler knows it by."""
        return self.pod.metadata.uid or self.key


def find_subject(loaded: Loaded, name: str, namespace: str = "") -> Subject:
    """`name` may be `namespace/name`. Without a namespace the name has to be the only one of its kind."""
    return as_pending(loaded, find_pod(loaded, name, namespace))


def find_pod(loaded: Loaded, name: str, namespace: str = "") -> Pod:
    within, slash, short = name.rpartition("/")
    if slash and within in ("pod", "pods", "po"):
        within, slash = "", ""
    if slash and namespace and namespace != within:
        raise UsageError(f"-n {namespace} and {name} name two namespaces: leave one of them out")
    wanted = within if slash else namespace
    pods = loaded.of(Pod)
    found = [pod for pod in pods if pod.metadata.name == short and wanted in ("", pod.metadata.namespace)]
    if not found:
        raise UsageError(_unknown(pods, short, wanted))
    if len(found) > 1:
        places = ", ".join(sorted(pod_key(pod) for pod in found))
        raise UsageError(f"several pods are named {short}: {places}; give namespace/name or -n NAMESPACE")
    pod = found[0]
    if is_terminal(pod):
        raise UsageError(f"pod {pod_key(pod)} has finished ({pod.status.phase}): no scheduler looks at it any more")
    return pod


def _unknown(pods: list[Pod], name: str, namespace: str) -> str:
    text = f"there is no pod {namespace}/{name}" if namespace else f"there is no pod {name}"
    if not pods:
        return f"{text}: there are no pods in the input"
    if namespace and not any(pod.metadata.namespace == namespace for pod in pods):
        elsewhere = sorted({pod_key(pod) for pod in pods if pod.metadata.name == name})
        if elsewhere:
            return f"{text}; there is {', '.join(elsewhere[:_NEAREST])}"
        known = sorted({pod.metadata.namespace for pod in pods})
        near = get_close_matches(namespace, known, 1, 0.6)
        hint = f" (did you mean {near[0]}?)" if near else ""
        return f"{text}: no pod is in namespace {namespace}{hint}"
    near = similar_names(pods, name, namespace)
    if near:
        return f"{text}; the nearest names are {', '.join(near)}"
    waiting = sorted(pod_key(pod) for pod in pods if not pod.spec.node_name and not is_terminal(pod))
    more = f" and {len(waiting) - _NEAREST} more" if len(waiting) > _NEAREST else ""
    return f"{text}; pending pods are {', '.join(waiting[:_NEAREST])}{more}" if waiting else text


def similar_names(pods: list[Pod], name: str, namespace: str) -> list[str]:
    """Names that one may have meant: beginning alike, or much alike."""
    here = [pod for pod in pods if namespace in ("", pod.metadata.namespace)] or pods
    names = {pod.metadata.name for pod in here}
    close = get_close_matches(name, sorted(names), _NEAREST, 0.6)
    close += sorted(each for each in names if each.startswith(name) and each not in close)
    order = {each: index for index, each in enumerate(close)}
    found = sorted((pod for pod in here if pod.metadata.name in order), key=lambda pod: order[pod.metadata.name])
    return [pod_key(pod) for pod in found[:_NEAREST]]


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
    return replace(loaded, objects={**loaded.objects, Pod: pods}, _places={})
