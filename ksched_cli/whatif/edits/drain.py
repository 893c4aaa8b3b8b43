"""`--drain NODE`: cordon a node and evict its pods, as kubectl drain does."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ksched_cli.whatif.edits.cordon import Cordon

if TYPE_CHECKING:
    from ksched_cli.whatif.edits.lib.editor import Editor


class Drain(Cordon, frozen=True):
    flag: ClassVar[str] = "drain"
    hint_when_removed: ClassVar[str] = "removing it evicts its pods: leave the drain out"

    def apply(self, editor: Editor) -> None:
        from ksched_cli.whatif.edits.lib.editor import evict_for_drain

        super().apply(editor)
        evict_for_drain(editor, self.node)


SPEC = Drain.spec(
    80,
    "Cordon a node and evict its pods, as kubectl drain --ignore-daemonsets --force --delete-emptydir-data does: "
    "pods of DaemonSets and mirror pods stay. A PodDisruptionBudget can refuse an eviction.",
)
