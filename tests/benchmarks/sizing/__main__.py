"""`python -m tests.benchmarks.sizing [SECONDS] [known|large|mixed|wide] [NUMBER...]`: costs beside those of two autoscalers.

`python -m tests.benchmarks.sizing draw` prints the draws of `instances.DRAWS`.
"""

from __future__ import annotations

import sys
import time

from tests.benchmarks.sizing.autoscalers import AUTOSCALERS, cost_of
from tests.benchmarks.sizing.instances import KNOWN, find_draw, known_optimum
from tests.benchmarks.sizing.large import LARGE, MIXED, WIDE, large, mixed, wide


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["draw"]:
        print(tuple(find_draw(number) for number in range(KNOWN)))  # noqa: T201
        return
    seconds = float(arguments[0]) if arguments else 20.0
    kinds = {"known": (known_optimum, KNOWN), "large": (large, LARGE), "mixed": (mixed, MIXED), "wide": (wide, WIDE)}
    savings: dict[str, list[float]] = {name: [] for name in AUTOSCALERS}
    for kind in [arguments[1]] if len(arguments) > 1 else kinds:
        make, count = kinds[kind]
        for number in map(int, arguments[2:]) if len(arguments) > 2 else range(count):
            instance = make(number)
            started = time.perf_counter()
            found = instance.simulator().size(dict(instance.catalog), time_limit=seconds)
            took = time.perf_counter() - started
            others = {name: cost_of(instance, buy) for name, buy in AUTOSCALERS.items()}
            for name, cost in others.items():
                savings[name].append(float(1 - found.cost / cost))
            optimum = f" optimum {instance.optimum}" if instance.packed else ""
            figures = ", ".join(f"{name} {cost}" for name, cost in others.items())
            worse = " DEARER" if min(others.values()) < found.cost else ""
            line = f"{instance.name}: {found.cost}, bound {found.lower_bound}, gap {found.gap} %, {found.search.ended}, {took:.1f} s"
            print(f"{line}{optimum}; {figures}{worse}", flush=True)  # noqa: T201
    for name, own in savings.items():
        print(f"mean saving against {name}: {100 * sum(own) / len(own):.1f} % over {len(own)} instances")  # noqa: T201


main(sys.argv[1:])
