"""Detects a world that repeats the same states without end."""

from __future__ import annotations

from collections.abc import Mapping

# A state that occurs so many times, with other states in between, occurs again without end.
_OFTEN = 3
# So many states are kept also of a run in which nothing has happened twice.
_FIRST = 20

State = frozenset[tuple[str, str]]


class Oscillation:
    """The states of all moving pods so far, one for each time at which only the clock can go on."""

    def __init__(self) -> None:
        self._history: list[tuple[float, State]] = []
        self._seen: dict[State, int] = {}
        self.period = 0.0
        self.pods: tuple[str, ...] = ()

    @property
    def is_young(self) -> bool:
        return len(self._history) < _FIRST

    @property
    def can_be_found(self) -> bool:
        """Whether the next state can be the one that shows a repetition."""
        return len(self._history) >= 2 * (_OFTEN - 1)

    def notice(self, now: float, places: Mapping[str, str]) -> bool:
        """Whether the run repeats itself, with this state. `places` has the place of each pod, in words."""
        state: State = frozenset(places.items())
        if self._history and self._history[-1][1] == state:
            return False
        self._history.append((now, state))
        self._seen[state] = self._seen.get(state, 0) + 1
        if self._seen[state] < _OFTEN:
            return False
        last = max(index for index, (_, each) in enumerate(self._history[:-1]) if each == state)
        self.period = now - self._history[last][0]
        lap = [each for _, each in self._history[last:]]
        self.pods = tuple(sorted({pod for each in lap for pod, _ in each ^ state}))
        return True
