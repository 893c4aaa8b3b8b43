"""What the API server would refuse about a workload: its selector, its template, its numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from ksched_cli.api.core import Container, Pod
from ksched_cli.api.meta import LabelSelector, ObjectMeta
from ksched_cli.api.quantity import QuantityError, parse_quantity
from ksched_cli.api.selectors import Selector, SelectorError, compile_selector, selector_from_map
from ksched_cli.api.workloads import (
    CronJob,
    DaemonSet,
    Deployment,
    IntOrPercent,
    Job,
    JobSpec,
    PodTemplate,
    PodTemplateSpec,
    ReplicaSet,
    ReplicationController,
    RollingUpdate,
    StatefulSet,
    StatefulSetUpdateStrategy,
    UpdateStrategy,
)
from ksched_cli.sources.validate import Complaint, object_complaints

# Several times what Kubernetes is made for in a whole cluster.
MAX_PODS = 1_000_000
_ALWAYS_RESTARTED = ("", "Always")
_UNTIL_DONE = ("OnFailure", "Never")


def workload_complaints(item: Struct) -> Iterator[Complaint]:
    """Everything that is wrong with a manifest of a pod or of something that makes pods."""
    check = _CHECKS.get(type(item))
    if check is not None:
        yield from check(item)


def _pod(item: Pod) -> Iterator[Complaint]:
    yield from _containers(item, "spec")


def _template(template: PodTemplateSpec | None, path: str) -> Iterator[Complaint]:
    """A template is what its pod would be."""
    if template is None:
        yield path, "there is no pod template"
        return
    pod = Pod(ObjectMeta(name="template"), template.spec)
    for where, text in object_complaints(pod):
        yield f"{path}.{where}", text
    yield from _containers(pod, f"{path}.spec")


def _containers(pod: Pod, path: str) -> Iterator[Complaint]:
    if not pod.spec.containers:
        yield f"{path}.containers", "a pod needs at least one container"
    names: set[str] = set()
    for field, containers in (("containers", pod.spec.containers), ("initContainers", pod.spec.init_containers)):
        for index, container in enumerate(containers):
            where = f"{path}.{field}[{index}]"
            if not container.name:
                yield f"{where}.name", "a container needs a name"
            elif container.name in names:
                yield f"{where}.name", f"there is already a container {container.name}"
            names.add(container.name)
            yield from _within_limits(container, where)


def _within_limits(container: Container, path: str) -> Iterator[Complaint]:
    for name, requested in container.resources.requests.items():
        limit = container.resources.limits.get(name)
        try:
            too_much = limit is not None and parse_quantity(requested) > parse_quantity(limit)
        except QuantityError:
            continue  # Told elsewhere.
        if too_much:
            where = f"[{name}]" if "." in name or "/" in name else f".{name}"
            yield f"{path}.resources.requests{where}", f"{requested} is more than the limit of {limit}"


def _selector(
    selector: LabelSelector | None, template: PodTemplateSpec | None, path: str = "spec"
) -> Iterator[Complaint]:
    if selector is None or not (selector.match_labels or selector.match_expressions):
        yield f"{path}.selector", "a selector is needed: it says which pods belong to the workload"
        return
    try:
        compiled = compile_selector(selector)
    except SelectorError as mistake:
        yield f"{path}.selector", str(mistake)
    else:
        yield from _matched(compiled, template, path)


def _matched(selector: Selector, template: PodTemplateSpec | None, path: str) -> Iterator[Complaint]:
    if template is not None and not selector.matches(template.metadata.labels):
        labels = ", ".join(f"{key}={value}" for key, value in sorted(template.metadata.labels.items())) or "no labels"
        yield f"{path}.template.metadata.labels", f"the selector does not match the template, which has {labels}"


def _restarts(template: PodTemplateSpec | None, allowed: tuple[str, ...], path: str) -> Iterator[Complaint]:
    policy = template.spec.restart_policy if template else allowed[0]
    if policy not in allowed:
        names = " or ".join(filter(None, allowed))
        yield f"{path}.spec.restartPolicy", f"{policy or 'Always, the default,'} cannot be used here: write {names}"


def _count(number: int | None, path: str) -> Iterator[Complaint]:
    if number is not None and number < 0:
        yield path, f"{number} is negative"
    if number is not None and number > MAX_PODS:
        yield path, f"{number} is more than the {MAX_PODS} that are simulated of one workload"


def _replicated(item: Deployment | ReplicaSet | StatefulSet) -> Iterator[Complaint]:
    spec = item.spec
    yield from _count(spec.replicas, "spec.replicas")
    yield from _selector(spec.selector, spec.template)
    yield from _template(spec.template, "spec.template")
    yield from _restarts(spec.template, _ALWAYS_RESTARTED, "spec.template")


def _deployment(item: Deployment) -> Iterator[Complaint]:
    yield from _replicated(item)
    yield from _strategy(item.spec.strategy, "spec.strategy", ("RollingUpdate", "Recreate"))


def _strategy(
    strategy: UpdateStrategy | StatefulSetUpdateStrategy | None, path: str, types: tuple[str, str]
) -> Iterator[Complaint]:
    if strategy is None:
        return
    if strategy.type not in ("", *types):
        yield f"{path}.type", f"{strategy.type!r} is neither {types[0]} nor {types[1]}"
    rolling = strategy.rolling_update
    if isinstance(rolling, RollingUpdate):
        yield from _amount(rolling.max_surge, f"{path}.rollingUpdate.maxSurge")
    if rolling is not None:
        yield from _amount(rolling.max_unavailable, f"{path}.rollingUpdate.maxUnavailable")


def _amount(value: IntOrPercent, path: str) -> Iterator[Complaint]:
    if isinstance(value, int):
        yield from _count(value, path)
    elif value is not None and not (value.endswith("%") and value[:-1].isdecimal() and value.isascii()):
        yield path, f"{value!r} is neither a number nor a percentage"


def _stateful_set(item: StatefulSet) -> Iterator[Complaint]:
    yield from _replicated(item)
    yield from _strategy(item.spec.update_strategy, "spec.updateStrategy", ("RollingUpdate", "OnDelete"))
    if item.spec.pod_management_policy not in ("", "OrderedReady", "Parallel"):
        policy = item.spec.pod_management_policy
        yield "spec.podManagementPolicy", f"{policy!r} is neither OrderedReady nor Parallel"
    if item.spec.update_strategy is not None and item.spec.update_strategy.rolling_update is not None:
        yield from _count(
            item.spec.update_strategy.rolling_update.partition, "spec.updateStrategy.rollingUpdate.partition"
        )
    if item.spec.ordinals is not None:
        yield from _count(item.spec.ordinals.start, "spec.ordinals.start")
    for index, template in enumerate(item.spec.volume_claim_templates):
        path = f"spec.volumeClaimTemplates[{index}]"
        if not template.metadata.name:
            yield f"{path}.metadata.name", "a claim template needs a name"
        for name, quantity in template.spec.resources.requests.items():
            try:
                parse_quantity(quantity)
            except QuantityError as mistake:
                yield f"{path}.spec.resources.requests.{name}", str(mistake)


def _replication_controller(item: ReplicationController) -> Iterator[Complaint]:
    spec = item.spec
    yield from _count(spec.replicas, "spec.replicas")
    yield from _template(spec.template, "spec.template")
    yield from _restarts(spec.template, _ALWAYS_RESTARTED, "spec.template")
    labels = spec.selector or (spec.template.metadata.labels if spec.template else {})
    if not labels:
        yield "spec.selector", "a selector is needed: it says which pods belong to the workload"
    else:
        yield from _matched(selector_from_map(labels), spec.template, "spec")


def _daemon_set(item: DaemonSet) -> Iterator[Complaint]:
    yield from _strategy(item.spec.update_strategy, "spec.updateStrategy", ("RollingUpdate", "OnDelete"))
    yield from _selector(item.spec.selector, item.spec.template)
    yield from _template(item.spec.template, "spec.template")
    yield from _restarts(item.spec.template, _ALWAYS_RESTARTED, "spec.template")


def _job_spec(spec: JobSpec, path: str) -> Iterator[Complaint]:
    yield from _count(spec.parallelism, f"{path}.parallelism")
    yield from _count(spec.completions, f"{path}.completions")
    if spec.completion_mode not in (None, "NonIndexed", "Indexed"):
        yield f"{path}.completionMode", f"{spec.completion_mode!r} is neither NonIndexed nor Indexed"
    if spec.completion_mode == "Indexed" and spec.completions is None:
        yield f"{path}.completions", "an indexed job needs them: they say how many indexes there are"
    if spec.manual_selector:
        yield from _selector(spec.selector, spec.template, path)
    yield from _template(spec.template, f"{path}.template")
    yield from _restarts(spec.template, _UNTIL_DONE, f"{path}.template")


def _job(item: Job) -> Iterator[Complaint]:
    yield from _job_spec(item.spec, "spec")


def _cron_job(item: CronJob) -> Iterator[Complaint]:
    yield from _job_spec(item.spec.job_template.spec, "spec.jobTemplate.spec")


def _pod_template(item: PodTemplate) -> Iterator[Complaint]:
    yield from _template(item.template, "template")


_CHECKS: Mapping[type[Struct], Callable[[Any], Iterator[Complaint]]] = {
    Pod: _pod,
    Deployment: _deployment,
    ReplicaSet: _replicated,
    StatefulSet: _stateful_set,
    ReplicationController: _replication_controller,
    DaemonSet: _daemon_set,
    Job: _job,
    CronJob: _cron_job,
    PodTemplate: _pod_template,
}
