"""The pods that people name as kubectl takes names: a pod, KIND/NAME of a workload, or the beginning of a name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from msgspec import Struct

from ksched_cli.api.core import Pod
from ksched_cli.api.listing import named
from ksched_cli.api.pod_facts import is_terminal, pod_key
from ksched_cli.errors import Problem, UsageError
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.edits.lib.arguments import EditMistake
from ksched_cli.whatif.edits.lib.edit import Reference
from ksched_cli.whatif.edits.lib.references import kind_named
from ksched_cli.whatif.edits.lib.targets import Owner, owners_in, pods_meant, workload_of

_NEAREST = 5
_POD_WORDS = ("pod", "pods", "po")


class NamedPods(Struct, frozen=True):
    """The pods that are meant. `workload`: what they belong to, as `Deployment shop/web`; empty for a pod that is named
    itself."""

    pods: tuple[Pod, ...]
    workload: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(map(pod_key, self.pods))


def find_named_pods(loaded: Loaded, text: str, namespace: str = "") -> NamedPods:
    """`text` is NAME, NAMESPACE/NAME, KIND/NAME or KIND/NAMESPACE/NAME. UsageError, with what may have been meant, if
    nothing has the name or several things have it."""
    first, *rest = text.split("/")
    if first.lower() in _POD_WORDS and rest:
        first, *rest = rest if len(rest) > 1 else ["", *rest]
    elif rest and not _is_namespace(loaded, first, rest[-1]) and (found := _of_kind(loaded, text, namespace)):
        return found
    name = "/".join(rest) if rest else first
    if not name:
        raise UsageError(f'"{text}" names no pod: write POD, NAMESPACE/POD or KIND/NAME')
    within = first if rest else ""
    if within and namespace and namespace != within:
        raise UsageError(f"-n {namespace} and {text} name two namespaces: leave one of them out")
    return _by_name(loaded, name, within or namespace)


def _is_namespace(loaded: Loaded, first: str, name: str) -> bool:
    return any(pod.metadata.namespace == first and pod.metadata.name == name for pod in loaded.of(Pod))


def _of_kind(loaded: Loaded, text: str, namespace: str) -> NamedPods | None:
    """The pods of KIND/NAME. None if the first part is no kind."""
    kind, *rest = text.split("/")
    try:
        found = kind_named(kind)
    except EditMistake:
        return None
    target = Reference(found, rest[-1], rest[0] if len(rest) > 1 else namespace)
    try:
        pods = pods_meant(loaded, target, namespace)
    except EditMistake as mistake:
        raise UsageError(Problem(str(mistake), hint=mistake.hint)) from None
    places = sorted({pod.metadata.namespace for pod in pods})
    if len(places) > 1:
        names = " or ".join(f"{kind}/{place}/{rest[-1]}" for place in places)
        raise UsageError(Problem(f"{text} is in several namespaces", hint=f"write {names}, or give -n NAMESPACE"))
    label = f"{found.__name__} {places[0] if places else target.namespace}/{rest[-1]}"
    if not pods:
        raise UsageError(f"{label} has no pods")
    return NamedPods(tuple(pods), label)


def _by_name(loaded: Loaded, name: str, namespace: str) -> NamedPods:
    pods = loaded.of(Pod)
    here = [pod for pod in pods if namespace in ("", pod.metadata.namespace)]
    exact = [pod for pod in here if pod.metadata.name == name]
    if len(exact) > 1:
        places = ", ".join(sorted(pod_key(pod) for pod in exact))
        raise UsageError(f"several pods are named {name}: {places}; give namespace/name or -n NAMESPACE")
    if exact:
        if is_terminal(exact[0]):
            key, phase = pod_key(exact[0]), exact[0].status.phase
            raise UsageError(f"pod {key} has finished ({phase}): no scheduler looks at it any more")
        return NamedPods((exact[0],))
    return _by_beginning(loaded, [pod for pod in here if not is_terminal(pod)], name, namespace)


def _by_beginning(loaded: Loaded, here: Sequence[Pod], name: str, namespace: str) -> NamedPods:
    """The pods of the only workload with the name, else of the only one whose pods begin with it."""
    owners = owners_in(loaded)
    groups: dict[Owner, list[Pod]] = {}
    for pod in here:
        workload = workload_of(pod, owners)
        if workload[2] == name or pod.metadata.name.startswith(name):
            groups.setdefault(workload, []).append(pod)
    meant = {owner: pods for owner, pods in groups.items() if owner[2] == name} or groups
    if not meant:
        raise UsageError(_unknown(loaded, name, namespace))
    if len(meant) > 1:
        names = sorted(map(_written, meant))
        raise UsageError(Problem(f'"{name}" may be several things', hint=f"write one of {named(names, _NEAREST)}"))
    ((kind, place, owner), pods), *_ = meant.items()
    return NamedPods(tuple(pods), "" if kind == "Pod" else f"{kind} {place}/{owner}")


def _written(owner: Owner) -> str:
    """As `explain` takes it: `deployment/shop/web`, `shop/web-1`."""
    kind, *rest = owner
    return "/".join(rest if kind == "Pod" else [kind.lower(), *rest])


def _unknown(loaded: Loaded, name: str, namespace: str) -> str:
    pods = loaded.of(Pod)
    text = f"there is no pod {namespace}/{name}" if namespace else f"there is no pod {name}"
    if not pods:
        return f"{text}: there are no pods in the input"
    elsewhere = [pod for pod in loaded.of(Pod) if pod.metadata.name.startswith(name)] if namespace else []
    if elsewhere:
        owners = owners_in(loaded)
        return f"{text}; there is {named(sorted({_written(workload_of(pod, owners)) for pod in elsewhere}), _NEAREST)}"
    if namespace and not any(pod.metadata.namespace == namespace for pod in pods):
        near = get_close_matches(namespace, sorted({pod.metadata.namespace for pod in pods}), 1, 0.6)
        hint = f" (did you mean {near[0]}?)" if near else ""
        return f"{text}: no pod is in namespace {namespace}{hint}"
    near = similar_names(pods, name, namespace)
    if near:
        return f"{text}; the nearest names are {', '.join(near)}"
    waiting = sorted(pod_key(pod) for pod in pods if not pod.spec.node_name and not is_terminal(pod))
    return f"{text}; pending pods are {named(waiting, _NEAREST)}" if waiting else text


def similar_names(pods: Iterable[Pod], name: str, namespace: str) -> list[str]:
    """Names that one may have meant: beginning alike, or much alike."""
    pods = list(pods)
    here = [pod for pod in pods if namespace in ("", pod.metadata.namespace)] or pods
    names = {pod.metadata.name for pod in here}
    close = get_close_matches(name, sorted(names), _NEAREST, 0.6)
    close += sorted(each for each in names if each.startswith(name) and each not in close)
    order = {each: index for index, each in enumerate(close)}
    found = sorted((pod for pod in here if pod.metadata.name in order), key=lambda pod: order[pod.metadata.name])
    return [pod_key(pod) for pod in found[:_NEAREST]]
