"""What `--timings` counts of each plugin."""

from __future__ import annotations

from ksched_cli.engine.timings import Timings


class _Item:
    name = "Mine"

    def filter(self, *calling: str) -> None:
        if calling:
            self.score()

    def score(self) -> None:
        pass


def test_calls_and_the_cycles_with_calls() -> None:
    timings, item = Timings(), _Item()
    timings.watch(item)
    for calls in (2, 0, 1):
        timings.begin_cycle()
        for _ in range(calls):
            item.filter()
    item.filter("score")
    found = {(point, plugin): (spent.calls, spent.cycles) for point, plugin, spent in timings}
    assert found == {("filter", "Mine"): (4, 2), ("score", "Mine"): (1, 1)}
    spent = {point: spent.seconds for point, _, spent in timings}
    assert 0 < spent["score"] < spent["filter"]
    assert timings.seconds == spent["filter"], "a call inside another counts once"
