"""What a reason code is."""

from __future__ import annotations

from dataclasses import dataclass

# The plugin of what the scheduler says by itself, of no plugin in particular.
SCHEDULER_ITSELF = ""


@dataclass(frozen=True)
class ReasonCode:
    """`plugins` and `reasons` say what it stands for: who rejects the pod, and a pattern for each text. `resolvable`:
    only where another pod's leaving could help, or only where it could not."""

    code: str
    name: str
    title: str
    meaning: str
    advice: tuple[str, ...]
    plugins: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    resolvable: bool | None = None
    level: str = "error"
