"""Reserve, Permit and the binding cycle, simulated: plugins run, nothing is written anywhere."""

from __future__ import annotations

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.runtime import CycleState, Runtime
from ksched_cli.framework.status import SUCCESS, Code, Status, error

SOME_WAIT = "one or more plugins asked to wait and no plugin rejected pod"


def reserve(runtime: Runtime, state: CycleState, pod: PodInfo, row: int) -> Status | None:
    """RunReservePluginsReserve; a refusal takes back, in reverse order, what every plugin has reserved."""
    for plugin in runtime.profile.reserve:
        with runtime.calling(plugin.name, "reserve"):
            status = plugin.reserve(state.filter_states.get(plugin.name), pod, row)
        if not status.ok:
            unreserve(runtime, state, pod, row)
            return status.by(plugin.name)
    return None


def unreserve(runtime: Runtime, state: CycleState, pod: PodInfo, row: int) -> None:
    """RunReservePluginsUnreserve."""
    for plugin in reversed(runtime.profile.reserve):
        with runtime.calling(plugin.name, "unreserve"):
            plugin.unreserve(state.filter_states.get(plugin.name), pod, row)


def bind(runtime: Runtime, state: CycleState, pod: PodInfo, row: int, *, permitted: bool = False) -> Status | None:
    """Permit unless it was asked already, PreBind, Bind and PostBind. The first refusal, after everything was
    unreserved; None when bound."""
    refusal = (
        (None if permitted else _run_permit(runtime, state, pod, row))
        or _run_pre_bind(runtime, state, pod, row)
        or _run_bind(runtime, state, pod, row)
    )
    if refusal is not None:
        unreserve(runtime, state, pod, row)
        return refusal
    for plugin in runtime.profile.post_bind:
        with runtime.calling(plugin.name, "postBind"):
            plugin.post_bind(state.filter_states.get(plugin.name), pod, row)
    return None


def _run_permit(runtime: Runtime, state: CycleState, pod: PodInfo, row: int) -> Status | None:
    """A plugin that says wait is taken to allow: nothing else moves while one cycle runs."""
    status = permit(runtime, state, pod, row)
    return None if status.ok or status.code is Code.WAIT else status


def permit(runtime: Runtime, state: CycleState, pod: PodInfo, row: int) -> Status:
    """RunPermitPlugins: the first refusal, else the wait that a plugin asked for last, else success."""
    answer = SUCCESS
    for plugin in runtime.profile.permit:
        with runtime.calling(plugin.name, "permit"):
            status, _ = plugin.permit(state.filter_states.get(plugin.name), pod, row)
        if status.code is Code.WAIT:
            answer = status
        elif not status.ok:
            return status.by(plugin.name)
    return answer if answer.ok else Status(Code.WAIT, (*answer.reasons, SOME_WAIT), answer.plugin)


def _run_pre_bind(runtime: Runtime, state: CycleState, pod: PodInfo, row: int) -> Status | None:
    for plugin in runtime.profile.pre_bind:
        with runtime.calling(plugin.name, "preBind"):
            status = plugin.pre_bind(state.filter_states.get(plugin.name), pod, row)
        if not (status.ok or status.skipped):
            return status.by(plugin.name)
    return None


def _run_bind(runtime: Runtime, state: CycleState, pod: PodInfo, row: int) -> Status | None:
    for plugin in runtime.profile.bind:
        with runtime.calling(plugin.name, "bind"):
            status = plugin.bind(state.filter_states.get(plugin.name), pod, row)
        if status.ok:
            return None
        if not status.skipped:
            return status.by(plugin.name)
    return error("no plugin bound the pod")
