"""What controllers write into the status of objects, as far as other controllers read it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ksched_cli.cluster.undo import LoggedDict, UndoLog
from ksched_cli.controlplane.store import Identity, identity_of


class Statuses:
    """Kept beside the objects: the status of an input may be missing or stale, and results need none."""

    def __init__(self, notify: Callable[[Any, Any], None], undo: UndoLog) -> None:
        self._notify = notify
        self._statuses: dict[Identity, object] = LoggedDict(undo)

    def get(self, item: Any) -> object | None:
        return self._statuses.get(identity_of(item))

    def forget(self, item: Any) -> None:
        """The object is gone. One of its name that comes later has a status of its own."""
        if self._statuses:
            self._statuses.pop(identity_of(item), None)

    def set(self, item: Any, status: object) -> None:
        """Watches see an update of the object if its status has changed."""
        identity = identity_of(item)
        if self._statuses.get(identity) != status:
            self._statuses[identity] = status
            self._notify(item, item)
