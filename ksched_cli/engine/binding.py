"""Reserve, Permit and the binding cycle, simulated: plugins run, nothing is written anywhere."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.cycle_state import CycleState
from ksched_cli.engine.faults import CycleError
from ksched_cli.engine.runtime import Runtime
from ksched_cli.framework.interfaces import LASTING
from ksched_cli.framework.reasons import free_text
from ksched_cli.framework.status import SUCCESS, Code, Status, error

# A Permit plugin may want more time, and gets no more.
MAX_WAIT = 15 * 60.0

SOME_WAIT = "one or more plugins asked to wait and no plugin rejected pod"


def reserve(runtime: Runtime, state: CycleState, pod: PodInfo, row: int) -> Status | None:
    """RunReservePluginsReserve; a refusal takes back, in reverse order, what every plugin has reserved."""
    if _binds_as_before(state):
        return None
    try:
        refusal = _run_reserve(runtime, state, pod, row)
    except CycleError:
        unreserve(runtime, state, pod, row)
        raise
    if refusal is not None:
        unreserve(runtime, state, pod, row)
    return refusal


def _run_reserve(runtime: Runtime, state: CycleState, pod: PodInfo, row: int) -> Status | None:
    for plugin in runtime.profile.reserve:
        with runtime.calling(plugin.name, "reserve"):
            status = plugin.reserve(state.filter_states.get(plugin.name), pod, row)
        if not status.ok:
            return status.by(plugin.name)
    return None


def unreserve(runtime: Runtime, state: CycleState, pod: PodInfo, row: int) -> None:
    """RunReservePluginsUnreserve."""
    for plugin in reversed(runtime.profile.reserve):
        with runtime.calling(plugin.name, "unreserve"):
            plugin.unreserve(state.filter_states.get(plugin.name), pod, row)


def bind(runtime: Runtime, state: CycleState, pod: PodInfo, row: int) -> Status | None:
    """PreBind, Bind and PostBind, for a pod that Permit has let through. The first refusal, after everything was
    unreserved; None when bound."""
    if _binds_as_before(state):
        return None
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
    _note_bound(runtime, state, pod)
    return None


def _binds_as_before(state: CycleState) -> bool:
    """Whether a pod of the template was bound, and the plugins of these points do nothing for its copies."""
    return state.template is not None and bool(state.template.binds_alike)


def _note_bound(runtime: Runtime, state: CycleState, pod: PodInfo) -> None:
    """Remember for copies of the pod whether plugins from Reserve on do anything for them."""
    template = state.template
    if template is not None and template.binds_alike is None:
        template.binds_alike = all(each.placements_version(pod) == LASTING for each in runtime.profile.after_scoring)


class Permission(Struct, frozen=True):
    """The result of Permit, and how long the plugins that want to wait will wait at most, in seconds."""

    status: Status
    timeouts: Mapping[str, float] = field(default_factory=dict)

    @property
    def refused(self) -> bool:
        return not self.status.ok and self.status.code is not Code.WAIT


_PERMITTED = Permission(SUCCESS)


def permit(runtime: Runtime, state: CycleState, pod: PodInfo, row: int) -> Permission:
    """RunPermitPlugins: the first refusal, after everything was unreserved; else the wait that a plugin wants
    last, else success."""
    if _binds_as_before(state):
        return _PERMITTED
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
        with runtime.calling(plugin.name, "permit"):
            status, timeout = plugin.permit(state.filter_states.get(plugin.name), pod, row)
        if status.code is Code.WAIT:
            answer, timeouts[plugin.name] = status, min(timeout, MAX_WAIT)
        elif not status.ok:
            return Permission(status.by(plugin.name))
    if answer.ok:
        return _PERMITTED
    return Permission(Status(Code.WAIT, (*answer.reasons, free_text(SOME_WAIT)), answer.plugin), timeouts)


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
