"""What a run changes in the cluster before it begins: manifests and edits, as writes to the API server of a control
plane. Here the controllers react without a scheduler: new pods stay pending."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from ksched_cli.api.core import Pod
from ksched_cli.api.object_facts import is_terminal, pod_key, uid_of_pod
from ksched_cli.errors import Problem
from ksched_cli.sources.loaded import Loaded

# A run without changes does without the control plane: what makes changes is imported when there are any.
if TYPE_CHECKING:
    from ksched_cli.controlplane.api_server import PodRefusal
    from ksched_cli.controlplane.plane import ControlPlane
    from ksched_cli.whatif.edits.lib.edit import Edit


class Changes(Struct, frozen=True):
    """Called with a control plane, they are made there. `namespace` is for names without one."""

    manifests: Loaded = field(default_factory=Loaded)
    edits: Sequence[Edit] = ()
    # Mistakes in edits that are known already, to be raised with those that only the cluster shows.
    problems: Sequence[Problem] = ()
    namespace: str = ""
    restart: bool = False

    def __bool__(self) -> bool:
        return bool(len(self.manifests) or self.manifests.autoscalers or self.edits or self.problems)

    def __call__(self, plane: ControlPlane) -> None:
        from ksched_cli.whatif.edits.lib.apply import apply_edits
        from ksched_cli.whatif.manifests import apply_manifests

        apply_manifests(plane, self.manifests, restart=self.restart)
        apply_edits(plane, self.edits, self.problems, self.namespace)

    def gaps(self, now: Loaded) -> list[str]:
        """What of the admission of the new pods is not modelled in the cluster as it is now, and what of the
        way in which the manifests are applied the input does not show."""
        from ksched_cli.controlplane.admission.chain import admission_gaps

        items = [item for items in self.manifests.objects.values() for item in items]
        return [*now.apply_gaps, *admission_gaps(now, {item.metadata.namespace for item in items})]


class DeletedPod(Struct, frozen=True):
    """A pod that the changes have deleted, its workload as `Deployment/shop/web`, and why."""

    pod: str
    workload: str
    why: str


class ChangedCluster(Struct, frozen=True):
    """The cluster after the changes, before anything is scheduled. `made_pods` came with the manifests, `rollouts` is
    what is in the way of showing their rollouts without a scheduler."""

    loaded: Loaded
    refused: tuple[PodRefusal, ...] = ()
    made_pods: tuple[Pod, ...] = ()
    deleted: tuple[DeletedPod, ...] = ()
    rollouts: tuple[Problem, ...] = ()


def changed(loaded: Loaded, changes: Changes) -> ChangedCluster:
    """Make the changes in a copy of the cluster and let the controllers react, with no scheduler beside them."""
    if not changes:
        return ChangedCluster(loaded)
    from ksched_cli.controlplane.plane import ControlPlane
    from ksched_cli.controlplane.store import Store, workload_name
    from ksched_cli.whatif.edits.lib.apply import apply_edits
    from ksched_cli.whatif.manifests import apply_manifests, rollout_problems

    deleted: list[DeletedPod] = []

    def observe(old: Any, new: Any) -> None:
        if new is None and isinstance(old, Pod) and not is_terminal(old):
            why = plane.api.reasons.get(uid_of_pod(old), "")
            deleted.append(DeletedPod(pod_key(old), workload_name(plane.store, old), why))

    plane = ControlPlane(Store(loaded), watches=(observe,), places_everything=True)
    before = {pod_key(pod) for pod in plane.store.of(Pod)}
    apply_manifests(plane, changes.manifests, restart=changes.restart)
    plane.run()
    made = tuple(pod for pod in plane.store.of(Pod) if pod_key(pod) not in before)
    apply_edits(plane, changes.edits, changes.problems, changes.namespace)
    plane.run()
    rollouts = tuple(rollout_problems(changes.manifests, plane.rolled_out))
    after = ChangedCluster(loaded_after(plane, changes), refused_by(plane), made, tuple(deleted), rollouts)
    plane.close()
    return after


def loaded_after(plane: ControlPlane, *changes: Changes, with_pods: bool = True) -> Loaded:
    """The cluster as an input, with the warnings and gaps that the changes add. `with_pods`: with the pods and nodes as
    they are now, which takes long in a large cluster; else as they were loaded."""
    now = plane.store.as_loaded() if with_pods else plane.store.others_as_loaded()
    now.warnings += [*plane.warnings, *plane.blocked_evictions()]
    for each in changes:
        now.unknown.update(each.manifests.unknown)
        now.gaps += [gap for gap in each.gaps(now) if gap not in now.gaps] if each else []
    return now


def refused_by(plane: ControlPlane) -> tuple[PodRefusal, ...]:
    """The pods that admission refused at the last try."""
    return tuple(each for refused in plane.api.refusals.values() for each in refused.values())
