"""Reserve, Permit and the binding cycle, simulated: plugins run, nothing is written anywhere."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.cycle.runtime import Runtime
from ksched_cli.engine.cycle.state import CycleState
from ksched_cli.engine.faults import CycleError, blame
from ksched_cli.framework.reasons import free_text
from ksched_cli.framework.status import SUCCESS, Code, Status, error

# A Permit plugin may want more time, and gets no more.
MAX_WAIT = 15 * 60.0

SOME_WAIT = "one or more plugins asked to wait and no plugin rejected pod"


class Permission(Struct, frozen=True):
    """The result of Permit, and how long the plugins that want to wait will wait at most, in seconds."""

    status: Status
    timeouts: Mapping[str, float] = field(default_factory=dict)

    @property
    def refused(self) -> bool:
        return not self.status.ok and self.status.code is not Code.WAIT


PERMITTED = Permission(SUCCESS)


def reserve(runtime: Runtime, state: CycleState, pod: PodInfo, row: int) -> Status | None:
    """RunReservePluginsReserve; a refusal takes back, in reverse order, what every plugin has reserved."""
    refusal: Status | None = None
    try:
        for plugin in runtime.profile.reserve:
            try:
                status = plugin.reserve(state.filter_states.get(plugin.name), pod, row)
            except Exception as problem:
                blame(problem, plugin.name, "reserve")
            if not status.ok:
                refusal = status.by(plugin.name)
                break
    except CycleError:
        unreserve(runtime, state, pod, row)
        raise
    if refusal is not None:
        unreserve(runtime, state, pod, row)
    return refusal


def unreserve(runtime: Runtime, state: CycleState, pod: PodInfo, row: int) -> None:
    """RunReservePluginsUnreserve."""
    for plugin in reversed(runtime.profile.reserve):
        with runtime.calling(plugin.name, "unreserve"):
            plugin.unreserve(state.filter_states.get(plugin.name), pod, row)


def permit(runtime: Runtime, state: CycleState, pod: PodInfo, row: int) -> Permission:
    """RunPermitPlugins: the first refusal, after everything was unreserved; else the wait that a plugin wants
    last, else success."""
    try:
        answer = _run_permit(runtime, state, pod, row)
    except CycleError:
        unreserve(runtime, state, pod, row)
        raise
    if answer.refused:
        unreserve(runtime, state, pod, row)
    return answer


def _run_permit(runtime: Runtime, state: CycleState, pod: PodInfo, row: int) -> Permission:
    answer = SUCCESS
    timeouts: dict[str, float] = {}
    for plugin in runtime.profile.permit:
        try:
            status, timeout = plugin.permit(state.filter_states.get(plugin.name), pod, row)
        except Exception as problem:
            blame(problem, plugin.name, "permit")
        if status.code is Code.WAIT:
            answer, timeouts[plugin.name] = status, min(timeout, MAX_WAIT)
        elif not status.ok:
            return Permission(status.by(plugin.name))
    if answer.ok:
        return PERMITTED
    return Permission(Status(Code.WAIT, (*answer.reasons, free_text(SOME_WAIT)), answer.plugin), timeouts)


def bind(runtime: Runtime, state: CycleState, pod: PodInfo, row: int) -> Status | None:
    """PreBind, Bind and PostBind, for a pod that Permit has let through. The first refusal, after everything was
    unreserved; None when bound."""
    try:
        refusal = _run_pre_bind(runtime, state, pod, row) or _run_bind(runtime, state, pod, row)
    except CycleError:
        unreserve(runtime, state, pod, row)
        raise
    if refusal is not None:
        unreserve(runtime, state, pod, row)
        return refusal
    for plugin in runtime.profile.post_bind:
        with runtime.calling(plugin.name, "postBind"):
            plugin.post_bind(state.filter_states.get(plugin.name), pod, row)
    return None


def _run_pre_bind(runtime: Runtime, state: CycleState, pod: PodInfo, row: int) -> Status | None:
    for plugin in runtime.profile.pre_bind:
        try:
            status = plugin.pre_bind(state.filter_states.get(plugin.name), pod, row)
        except Exception as problem:
            blame(problem, plugin.name, "preBind")
        if not (status.ok or status.skipped):
            return status.by(plugin.name)
    return None


def _run_bind(runtime: Runtime, state: CycleState, pod: PodInfo, row: int) -> Status | None:
    for plugin in runtime.profile.bind:
        try:
            status = plugin.bind(state.filter_states.get(plugin.name), pod, row)
        except Exception as problem:
            blame(problem, plugin.name, "bind")
        if status.ok:
            return None
        if not status.skipped:
            return status.by(plugin.name)
    return error("no plugin bound the pod")
