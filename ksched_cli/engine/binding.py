"""Reserve, Permit and the binding cycle, simulated: plugins run, nothing is written anywhere."""

from __future__ import annotations

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.faults import blamed
from ksched_cli.engine.profile import Profile
from ksched_cli.engine.runtime import CycleState
from ksched_cli.framework.status import Code, Status, error


def reserve(profile: Profile, state: CycleState, pod: PodInfo, row: int) -> Status | None:
    """RunReservePluginsReserve; a refusal takes back, in reverse order, what every plugin has reserved."""
    for plugin in profile.reserve:
        with blamed(plugin.name, "reserve"):
            status = plugin.reserve(state.filter_states.get(plugin.name), pod, row)
        if not status.ok:
            unreserve(profile, state, pod, row)
            return status.by(plugin.name)
    return None


def unreserve(profile: Profile, state: CycleState, pod: PodInfo, row: int) -> None:
    """RunReservePluginsUnreserve."""
    for plugin in reversed(profile.reserve):
        with blamed(plugin.name, "unreserve"):
            plugin.unreserve(state.filter_states.get(plugin.name), pod, row)


def bind(profile: Profile, state: CycleState, pod: PodInfo, row: int) -> Status | None:
    """Permit, PreBind, Bind and PostBind. The first refusal, after everything was unreserved; None when bound."""
    refusal = (
        _run_permit(profile, state, pod, row)
        or _run_pre_bind(profile, state, pod, row)
        or _run_bind(profile, state, pod, row)
    )
    if refusal is not None:
        unreserve(profile, state, pod, row)
        return refusal
    for plugin in profile.post_bind:
        with blamed(plugin.name, "postBind"):
            plugin.post_bind(state.filter_states.get(plugin.name), pod, row)
    return None


def _run_permit(profile: Profile, state: CycleState, pod: PodInfo, row: int) -> Status | None:
    """A plugin that says wait is taken to allow: nothing else moves while one cycle runs."""
    for plugin in profile.permit:
        with blamed(plugin.name, "permit"):
            status, _ = plugin.permit(state.filter_states.get(plugin.name), pod, row)
        if not status.ok and status.code is not Code.WAIT:
            return status.by(plugin.name)
    return None


def _run_pre_bind(profile: Profile, state: CycleState, pod: PodInfo, row: int) -> Status | None:
    for plugin in profile.pre_bind:
        with blamed(plugin.name, "preBind"):
            status = plugin.pre_bind(state.filter_states.get(plugin.name), pod, row)
        if not (status.ok or status.skipped):
            return status.by(plugin.name)
    return None


def _run_bind(profile: Profile, state: CycleState, pod: PodInfo, row: int) -> Status | None:
    for plugin in profile.bind:
        with blamed(plugin.name, "bind"):
            status = plugin.bind(state.filter_states.get(plugin.name), pod, row)
        if status.ok:
            return None
        if not status.skipped:
            return status.by(plugin.name)
    return error("no plugin bound the pod")
