"""One queueing hint in a line."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.framework.events import ClusterEvent, matches_any
from ksched_cli.framework.interfaces import Plugin
from tests.harness import make_bench


def case(name: str, pod: Any, event: ClusterEvent, old: Any, new: Any, expected: bool, **options: Any) -> Any:
    """`options` are those of `make_bench`."""
    return pytest.param(pod, event, old, new, expected, options, id=name)


CASE = ("pod", "event", "old", "new", "expected", "options")


def hint(plugin: type[Plugin], pod: Any, event: ClusterEvent, old: Any, new: Any, options: dict[str, Any]) -> bool:
    """What the plugin says of an event that it has registered for."""
    made = make_bench(plugin, [], pod.obj() if hasattr(pod, "obj") else pod, **options)
    old, new = (each.obj() if hasattr(each, "obj") else each for each in (old, new))
    registered = [each for each in made.plugin.events_to_register() if each.matches(event)]
    assert registered, f"{plugin.name} does not want {event}"
    assert matches_any(event, registered)
    return bool(made.plugin.is_schedulable_after(registered[0], made.pod, old, new))
