"""Which pod `explain` explains. A pod is named as kubectl names it: a pod, KIND/NAME of a workload, or the beginning of
a name. Of several pods the first without a node is taken. A pod that has a node is explained in a copy of the
cluster in which it is pending (`find_subject`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from difflib import get_close_matches
from typing import Any

from msgspec import Struct, structs

from ksched_cli.api.core import Namespace, Node, Pod
from ksched_cli.api.decode import KINDS
from ksched_cli.api.object_facts import is_terminal, pod_key, waits_for_node
from ksched_cli.api.workloads import CronJob, DaemonSet, Deployment, Job, ReplicaSet
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.controlplane.api_server import Refusal
from ksched_cli.controlplane.controllers.daemon_pods import daemon_spec, should_run
from ksched_cli.controlplane.store import Identity, identity_of, owner_identity, top_owner
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.errors import Problem, UsageError, did_you_mean, named
from ksched_cli.plan.explain.results import Explanation
from ksched_cli.plan.results.outcomes import RefusedPod
from ksched_cli.plan.run.loaded_input import LoadedInput
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.places import template_of
from ksched_cli.sources.templates import owner_reference, stamp
from ksched_cli.whatif.changes import Changes
from ksched_cli.whatif.edits.lib.arguments import EditMistake
from ksched_cli.whatif.edits.lib.edit import Edit, Reference
from ksched_cli.whatif.edits.lib.editor import Editor
from ksched_cli.whatif.edits.lib.targets import find, kind_named, pods_meant
from ksched_cli.whatif.manifests import WORKLOADS

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
        first, *rest = rest
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
        return _of_custom_kind(loaded, kind, rest[-1], rest[0] if len(rest) > 1 else namespace)
    target = Reference(found, rest[-1], rest[0] if len(rest) > 1 else namespace)
    try:
        pods = pods_meant(loaded, target, namespace)
    except EditMistake as mistake:
        raise UsageError(Problem(str(mistake), hint=mistake.hint)) from None
    places = sorted({pod.metadata.namespace for pod in pods})
    if len(places) > 1:
        names = " or ".join(f"{kind}/{place}/{rest[-1]}" for place in places)
        raise UsageError(Problem(f"{text} is in several namespaces", hint=f"write {names}, or give -n NAMESPACE"))
    label = f"{found.__name__} {'/'.join(filter(None, (*(places or [target.namespace]), rest[-1])))}"
    if not pods and found in KINDS.values() and found not in (*WORKLOADS, Namespace, Pod):
        hint = f"explain POD --node {rest[-1]} compares it with another node" if found is Node else ""
        raise UsageError(Problem(f"{text} is neither a pod nor a workload", hint=hint or "write POD or KIND/NAME"))
    if not pods:
        raise UsageError(f"{label} has no pods")
    return NamedPods(tuple(pods), label)


def _of_custom_kind(loaded: Loaded, kind: str, name: str, namespace: str) -> NamedPods | None:
    """The pods of a custom resource that several workloads stand for, such as pytorchjob/train."""
    groups: dict[Identity, list[Pod]] = {}
    for pod in loaded.of(Pod):
        owner = top_owner(loaded, pod)
        is_kind = kind.lower().removesuffix("s") == owner[0].lower().removesuffix("s")
        if is_kind and owner[2] == name and namespace in ("", owner[1]) and not is_terminal(pod):
            groups.setdefault(owner, []).append(pod)
    if len(groups) > 1:
        raise UsageError(Problem(f"{kind}/{name} is in several namespaces", hint="give -n NAMESPACE"))
    return next((NamedPods(tuple(pods), f"{owner[0]} {owner[1]}/{name}") for owner, pods in groups.items()), None)


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
    groups: dict[Identity, list[Pod]] = {}
    for pod in here:
        workload = top_owner(loaded, pod)
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


def _written(owner: Identity) -> str:
    """As `explain` takes it: `deployment/shop/web`, `shop/web-1`."""
    kind, *rest = owner
    return "/".join(rest if kind == "Pod" else [kind.lower(), *rest])


def _unknown(loaded: Loaded, name: str, namespace: str) -> str:
    pods = loaded.of(Pod)
    text = f"there is no pod {namespace}/{name}" if namespace else f"there is no pod {name}"
    if not pods:
        return f"{text}: there are no pods in the input"
    elsewhere = [pod for pod in pods if pod.metadata.name.startswith(name)] if namespace else []
    if elsewhere:
        return f"{text}; there is {named(sorted({_written(top_owner(loaded, pod)) for pod in elsewhere}), _NEAREST)}"
    if namespace and not any(pod.metadata.namespace == namespace for pod in pods):
        hint = did_you_mean(namespace, sorted({pod.metadata.namespace for pod in pods}))
        return f"{text}: no pod is in namespace {namespace}{f' ({hint})' if hint else ''}"
    near = similar_names(pods, name, namespace)
    if near:
        return f"{text}; the nearest names are {', '.join(near)}"
    waiting = sorted(pod_key(pod) for pod in pods if waits_for_node(pod))
    return f"{text}; pending pods are {named(waiting, _NEAREST)}" if waiting else text


def similar_names(pods: Sequence[Pod], name: str, namespace: str) -> list[str]:
    """The pods that may have been meant."""
    here = [pod for pod in pods if namespace in ("", pod.metadata.namespace)] or pods
    near = closest_names(name, {pod.metadata.name for pod in here})
    found = sorted((pod for pod in here if pod.metadata.name in near), key=lambda pod: near.index(pod.metadata.name))
    return [pod_key(pod) for pod in found[:_NEAREST]]


def closest_names(name: str, names: Collection[str]) -> list[str]:
    """Of the names those that may have been meant: much alike, or beginning alike."""
    close = get_close_matches(name, sorted(names), _NEAREST, 0.6)
    return [*close, *sorted(each for each in names if each.startswith(name) and each not in close)][:_NEAREST]


class PickedPod(Struct, frozen=True):
    """The pod to explain, and why it is this one."""

    key: str
    note: str = ""


def pick_named(scheduler: Scheduler, named: NamedPods) -> PickedPod:
    """Of several pods the first pending one that finds no place; the first one where none is pending."""
    if len(named.keys) == 1:
        return PickedPod(named.keys[0], f"It is the only pod of {named.workload}." if named.workload else "")
    waiting, unplaced = _waiting(scheduler, set(named.keys))
    count = f"{named.workload} has {len(named.keys)} pods"
    if len(waiting) == 1:
        return PickedPod(waiting[0], f"{count}: this one is pending.")
    if unplaced:
        return PickedPod(unplaced[0], f"{count}, and {_find_no_place(len(unplaced))}: this is the first of them.")
    if waiting:
        return PickedPod(waiting[0], f"{count}, {len(waiting)} pending: this is the first of them.")
    return PickedPod(min(named.keys), f"{count}, none of them pending: this is the first one by name.")


def _find_no_place(count: int) -> str:
    return f"{count} find{'s' if count == 1 else ''} no place"


def pick_pod(
    scheduler: Scheduler, made: Sequence[str], refused: Sequence[RefusedPod], wanted: Callable[[Pod], bool]
) -> PickedPod:
    """Without a name: of the pods that manifests make, or else of the pending ones that are wanted, the first that
    finds no place, then one that was refused, or the first of all; of none a running one that is wanted."""
    infos = [info for info in scheduler.cluster.pods.infos if info is not None]
    queue = scheduler.enqueue()
    candidates = {scheduler.cluster.pods.infos[row].key for row in (*queue.active, *queue.gated)}
    chosen = {each.key for each in infos if each.key in candidates and wanted(each.pod)}
    chosen &= set(made) if made else chosen
    if refused and not (made and chosen):
        return PickedPod(refused[0].pod)
    if not chosen:
        return _running(infos, wanted)
    waiting, unplaced = _waiting(scheduler, chosen, all_of_them=bool(refused))
    without = [*unplaced, *(each.pod for each in refused)]
    count = len(waiting) + len(refused)
    if count == 1:
        return PickedPod(waiting[0])
    if without:
        found = f"Of {count} pending pods {_find_no_place(len(without))}"
        return PickedPod(without[0], f"{found}: this is the first of them. Name a pod to explain another one.")
    return PickedPod(waiting[0], f"All of {count} pending pods find a place: this is the first of them.")


def _running(infos: Sequence[PodInfo], wanted: Callable[[Pod], bool]) -> PickedPod:
    """The first running pod that -n and -l select."""
    keys = sorted(each.key for each in infos if wanted(each.pod))
    if not keys or len(keys) == len(infos):
        raise UsageError(
            Problem("no pod is pending", hint="name a pod or a workload, or give -f FILE with a manifest of it")
        )
    return PickedPod(keys[0], f"None of the {len(keys)} selected pods is pending: this is the first one by name.")


def _waiting(scheduler: Scheduler, keys: Collection[str], *, all_of_them: bool = False) -> tuple[list[str], list[str]]:
    """Of these pods the pending ones in the order of the queue, and those of them that find no place. A single pod is
    not tried unless `all_of_them` are."""
    infos, queue = scheduler.cluster.pods.infos, scheduler.enqueue()
    waiting = [infos[row].key for row in (*queue.active, *queue.gated) if infos[row].key in keys]
    if len(waiting) < 2 and not all_of_them:
        return waiting, waiting
    placed = {each.pod.key for each in scheduler.run(queue) if each.row is not None or each.nominated_node}
    return waiting, [key for key in waiting if key not in placed]


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
    def ends_with_namespace(self) -> bool:
        """Whether the namespace of the pod is being deleted."""
        namespace = self.loaded.get(Namespace, self.pod.metadata.namespace)
        return namespace is not None and namespace.metadata.deletion_timestamp is not None


def find_subject(loaded: Loaded, name: str) -> Subject:
    """The pod that is named, or the first one of what is named. A pod that has a node is put into a copy of the cluster
    without it, as if it had just been made anew; what is not changed is shared."""
    pod = find_named_pods(loaded, name).pods[0]
    if not pod.spec.node_name:
        return Subject(loaded, pod)
    spec, status = structs.replace(pod.spec, node_name=""), structs.replace(pod.status, nominated_node_name="")
    bare = structs.replace(pod, spec=spec, status=status)
    pods = [bare if each is pod else each for each in loaded.of(Pod)]
    copy = structs.replace(loaded, objects={**loaded.objects, Pod: pods}, _places={})
    return Subject(copy, bare, pod.spec.node_name)


class _WithMissingPods(Edit, Struct, frozen=True):
    """Let the controllers of a workload create the pods that it lacks; of a workload that wants none, one pod."""

    target: Reference
    namespace: str
    wants_none: bool

    def apply(self, editor: Editor) -> None:
        item = find(editor.store, self.target, self.namespace)
        wanting = _with_one_pod(item) if self.wants_none else item
        if wanting is not None:
            if self.wants_none:
                editor.api.update(wanting)
            editor.plane.controllers.sync_workload(wanting)
            return
        owner = owner_reference(type(item).__name__, "", item.metadata)
        name = editor.api.successors.new_name(f"{item.metadata.name}-", item.metadata.namespace, identity_of(item))
        pod = stamp(template_of(item), item.metadata.namespace, name, owner)
        try:
            editor.api.create(pod)
        except Refusal as refusal:
            editor.api.refused(item, pod, refusal)


def _with_one_pod(item: Any) -> Any:
    """The workload with one replica: its controller deletes a pod that the workload does not want. None for a workload
    whose controller makes no pod in any case."""
    if isinstance(item, Job):
        return structs.replace(item, spec=structs.replace(item.spec, suspend=False, parallelism=1))
    if getattr(item.spec, "replicas", None) != 0 or getattr(item.spec, "paused", False):
        return None
    return structs.replace(item, spec=structs.replace(item.spec, replicas=1))


class MissingPods(Struct, frozen=True):
    """The input with pods that a workload lacks, the first of them that is refused or made, and why it lacks them."""

    source: LoadedInput
    pod: str
    note: str


def find_missing_pods(source: LoadedInput, text: str, namespace: str) -> MissingPods | None:
    """For the name of a workload that has fewer pods than it wants, or none. None for everything else."""
    kind, *rest = text.split("/")
    try:
        target = Reference(kind_named(kind), rest[-1], rest[0] if len(rest) > 1 else namespace) if rest else None
        item = find(source.loaded, target, namespace) if target is not None else None
    except EditMistake:
        return None
    if target is None or not isinstance(item, WORKLOADS) or template_of(item) is None:
        return None
    label = f"{target.kind.__name__} {item.metadata.namespace}/{item.metadata.name}"
    there = [pod for pod in pods_meant(source.loaded, target, namespace) if not is_terminal(pod)]
    none = _wants_none(item) or _without_nodes(source.loaded, item)
    if there and (none or (isinstance(item, Deployment) and not _has_sets(source.loaded, item))):
        return None
    changes = Changes(edits=[_WithMissingPods(target, namespace, bool(none))], namespace=namespace)
    changed = source.changed(changes)
    refused, known = changed.refused[len(source.refused) :], set(map(pod_key, source.loaded.of(Pod)))
    new = [pod_key(pod) for pod in changed.loaded.of(Pod) if pod_key(pod) not in known]
    wanted = len(there) + len(refused) + len(new)
    has = f"{label} has {len(there)} of {wanted} pods" if there else f"{label} has no pods"
    if none and (refused or new):
        return MissingPods(
            changed, refused[0].pod if refused else new[0], f"{has}: {none}. This is what one would meet."
        )
    if refused:
        why = f"the API server refuses {'the others' if there else 'them'} ({refused[0].plugin}): {refused[0].message}"
        return MissingPods(changed, refused[0].pod, f"{has}: {why}")
    if new and not there:
        return MissingPods(changed, new[0], f"{has} in the input: its controller creates {len(new)}.")
    return None


def _wants_none(item: Any) -> str:
    """Why the workload wants no pod; empty if it wants some."""
    spec = item.spec
    if getattr(spec, "suspend", False):
        return "it is suspended (spec.suspend)"
    if getattr(spec, "paused", False):
        return "it is paused (spec.paused) and has no ReplicaSet of its template"
    if isinstance(item, CronJob):
        return "it makes Jobs by its schedule, and none runs now"
    for field in ("replicas", "parallelism"):
        if getattr(spec, field, None) == 0:
            return f"it wants none (spec.{field} is 0)"
    return ""


def _without_nodes(loaded: Loaded, item: Any) -> str:
    """Why a DaemonSet makes no pod; empty for other workloads, and if one of the nodes is to have a pod."""
    if not isinstance(item, DaemonSet):
        return ""
    spec = daemon_spec(item)
    if any(should_run(spec, node) for node in loaded.of(Node)):
        return ""
    return "it runs on none of the nodes, because of its node selector, its affinity or their taints"


def _has_sets(loaded: Loaded, item: Deployment) -> bool:
    """Whether the input has ReplicaSets of the Deployment: without them its controller would make all pods anew."""
    return any(owner_identity(each) == identity_of(item) for each in loaded.of(ReplicaSet))
