"""A plugin that breaks spoils one pod's cycle, not the run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ksched_cli.errors import KschedError
from ksched_cli.framework.status import Status


class CycleError(Exception):
    """The cycle ended in an error; its text is the pod's message."""


class PluginFault(CycleError):
    """A plugin raised, or answered in a shape that cannot be used."""

    def __init__(self, plugin: str, point: str, what: str) -> None:
        super().__init__(f'plugin "{plugin}" failed at {point}: {what}')


@contextmanager
def blamed(plugin: str, point: str) -> Iterator[None]:
    """Whatever goes wrong inside is the plugin's fault, by name."""
    try:
        yield
    except (CycleError, KschedError):
        raise
    except Exception as problem:
        raise PluginFault(plugin, point, f"{type(problem).__name__}: {problem}") from problem


def check(status: Status, plugin: str, point: str) -> None:
    """Statuses that the point does not allow end the cycle."""
    if not (status.ok or status.rejected or status.skipped):
        raise CycleError(f'running {point} plugin "{plugin}": {status.message}')
