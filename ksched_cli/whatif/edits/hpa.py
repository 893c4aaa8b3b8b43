"""`--hpa min|max`: put every workload with an autoscaler at a bound of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from ksched_cli.whatif.edits.lib.arguments import EditMistake
from ksched_cli.whatif.edits.lib.edit import WHOLE, Edit, EditSpec

if TYPE_CHECKING:
    from collections.abc import Hashable

    from ksched_cli.whatif.edits.lib.editor import Editor

_BOUNDS = ("min", "max")


class AtBound(Edit, Struct, frozen=True):
    bound: str

    @property
    def subject(self) -> Hashable:
        return AtBound

    @property
    def sets(self) -> Hashable:
        return WHOLE

    def __str__(self) -> str:
        return f"--hpa {self.bound}"

    def apply(self, editor: Editor) -> None:
        """Set the replicas, as the HorizontalPodAutoscaler controller does at this bound. A workload with 0 replicas
        stays: its HorizontalPodAutoscaler is disabled."""
        from msgspec.structs import replace

        from ksched_cli.api.workloads import ReplicaSet
        from ksched_cli.controlplane.controllers.replicaset import wanted_replicas

        autoscalers = editor.store.autoscalers
        if not autoscalers:
            raise EditMistake("the input has no autoscaler", "dump horizontalpodautoscalers and scaledobjects too")
        for key, each in list(autoscalers.items()):
            number = each.least if self.bound == "min" else each.most
            item = editor.plane.controllers.autoscalers.target(key)
            if item is None or item.spec.template is None:
                editor.api.warnings.append(f"{each.label} scales {key[0]} {key[1]}/{key[2]}, which is not in the input")
            elif wanted_replicas(item) or each.is_keda:
                item = editor.api.update(replace(item, spec=replace(item.spec, replicas=number)))
                editor.plane.mark_as_set(item)
                for own in (item, *editor.store.owned(item, ReplicaSet)):
                    editor.api.touch(own)


def _parse(text: str) -> AtBound:
    if text not in _BOUNDS:
        raise EditMistake(f"{text!r} is no bound", "write min or max")
    return AtBound(text)


def _arguments(bound: str) -> Iterable[str]:
    """Put every workload with a HorizontalPodAutoscaler or a KEDA ScaledObject at its bound, `min` or `max`."""
    return [bound]


SPEC = EditSpec(
    flag="hpa",
    order=95,
    metavar="min|max",
    help="Put every workload with a HorizontalPodAutoscaler or a KEDA ScaledObject at this bound of it.",
    parse=_parse,
    arguments=_arguments,
)
