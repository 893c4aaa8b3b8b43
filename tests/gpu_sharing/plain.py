"""The policies read plainly: one pod, one node, one GPU at a time. The package has the same rules over columns."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

WHOLE = 1000


@dataclass(frozen=True)
class Request:
    name: str
    cpu: int
    count: int = 0
    milli: int = 0
    models: str = ""

    @property
    def shares(self) -> bool:
        return self.count == 1 and self.milli < WHOLE

    @property
    def kind(self) -> int:
        return 0 if self.shares else self.count

    @property
    def total(self) -> int:
        return self.count * self.milli


@dataclass
class Machine:
    name: str
    cpu: int
    gpus: int
    model: str = ""
    left: list[int] = field(default_factory=list)
    kinds: Counter[int] = field(default_factory=Counter)
    whole_cpu: int = 0

    def __post_init__(self) -> None:
        self.left = self.left or [WHOLE] * self.gpus
        self.whole_cpu = self.whole_cpu or self.cpu

    def fits(self, pod: Request) -> bool:
        if pod.cpu > self.cpu:
            return False
        if not pod.count:
            return True
        room = sum(1 for left in self.left if left >= pod.milli)
        return accepts(self.model, pod.models) and room >= pod.count

    def place(self, pod: Request, gpus: Sequence[int]) -> None:
        self.cpu -= pod.cpu
        for gpu in gpus:
            self.left[gpu] -= pod.milli
        if pod.count:
            self.kinds[pod.kind] += 1


@dataclass(frozen=True)
class Typical:
    share: float
    cpu: int
    milli: int
    count: int
    models: str = ""


def accepts(model: str, wanted: str) -> bool:
    models = [each for each in wanted.split("|") if each]
    return not models or model in models


def tightest(machine: Machine, pod: Request) -> list[int]:
    if not pod.shares:
        return [gpu for gpu, left in enumerate(machine.left) if left == WHOLE][: pod.count]
    return [min((gpu for gpu, left in enumerate(machine.left) if left >= pod.milli), key=lambda gpu: machine.left[gpu])]


def best_fit(machine: Machine, pod: Request) -> int:
    left = 0.0
    left += (machine.cpu - pod.cpu) / 128000.0 * 0.5
    left += (sum(machine.left) - pod.total) / 8000.0 * 0.5
    return int((1.0 - left) * 100.0)


def dot_product(machine: Machine, pod: Request, extension: str = "merge", norm: str = "max") -> int:
    """The best of the products of a vector of the node and one of the pod, both divided by the norm."""
    best = -1.0
    for free, wanted in dimensions(machine, pod, extension):
        gpus = len(free) - 1
        norms = {
            "max": [128000, *[8000] * gpus],
            "node": [machine.whole_cpu, *[machine.gpus * WHOLE] * gpus],
            "pod": [pod.cpu, *[pod.total] * gpus],
        }[norm]
        product = 0.0
        for one, other, by in zip(free, wanted, norms, strict=True):
            product += one / by * (other / by) if by else 0.0
        product /= len(wanted)
        best = max(best, 1 - (math.tanh(product / 10) if norm == "pod" else product))
    return int(100.0 * best) if best != -1 else 0


def dimensions(machine: Machine, pod: Request, extension: str) -> Iterator[tuple[list[float], list[float]]]:
    total, free = sum(machine.left), machine.left.count(WHOLE) * WHOLE
    if extension == "merge":
        yield [machine.cpu, total], [pod.cpu, pod.total]
        return
    used = [left for left in machine.left if left < WHOLE]
    if extension == "extend":
        parts = [left for left in used if left > 0] + ([free] if free else [])
        for chosen, part in enumerate(parts):
            if part >= pod.total:
                yield (
                    [machine.cpu, *parts],
                    [pod.cpu, *(pod.total if place == chosen else 0 for place in range(len(parts)))],
                )
        return
    parts = [left for left in used if left >= pod.total] if pod.total < WHOLE else []
    for part in [*parts, *([free] if free >= pod.total else [])]:
        if extension == "share":
            yield [machine.cpu, part], [pod.cpu, pod.total]
        elif total:
            yield [machine.cpu * part / total, part], [pod.cpu, pod.total]


def clustering(machine: Machine, pod: Request) -> int:
    if not pod.count:
        return 0
    used = 25 * (8000 - sum(machine.left)) // 8000
    if machine.kinds[pod.kind]:
        return used + (75 if sum(1 for number in machine.kinds.values() if number) == 1 else 50)
    return used + (0 if sum(machine.kinds.values()) else 25)


def packing(machine: Machine, pod: Request) -> int:
    if not pod.count:
        return 0
    free = machine.left.count(WHOLE)
    if free == machine.gpus:
        return max(33 - free, free)
    taken = [left for left in sorted(machine.left) if left >= pod.milli][: pod.count]
    if taken.count(WHOLE):
        return max(50 - taken.count(WHOLE), 33)
    return max(100 - sum(left * 100 // WHOLE for left in taken) // 10, 50)


def fragmentation(cpu: int, left: Sequence[int], model: str, typical: Sequence[Typical]) -> float:
    reasons = dict.fromkeys(("both", "gpu", "cpu", "pure cpu fits", "pure cpu does not", "model"), 0.0)
    total = sum(left)
    for pod in typical:
        whole = pod.share * float(total)
        has_cpu = cpu >= pod.cpu
        has_gpu = sum(1 for each in left if each >= pod.milli) >= pod.count
        if pod.milli == 0:
            reasons["pure cpu fits" if has_cpu else "pure cpu does not"] += whole
        elif not accepts(model, pod.models):
            reasons["model"] += whole
        elif has_gpu and has_cpu:
            reasons["gpu"] += pod.share * float(sum(each for each in left if each < pod.milli))
        else:
            reasons["cpu" if has_gpu else "gpu" if has_cpu else "both"] += whole
    found = 0.0
    for each in reasons.values():
        found += each
    return found


def fgd(machine: Machine, pod: Request, typical: Sequence[Typical]) -> tuple[int, list[int]]:
    """The score of the node and the GPUs that the pod gets there."""
    before = fragmentation(machine.cpu, machine.left, machine.model, typical)

    def points(gpus: Sequence[int]) -> int:
        left = [each - pod.milli if gpu in gpus else each for gpu, each in enumerate(machine.left)]
        after = fragmentation(machine.cpu - pod.cpu, left, machine.model, typical)
        return int(1.0 / (1.0 + math.exp(-((before - after) / 1000))) * 100.0)

    if not pod.shares:
        gpus = tightest(machine, pod)
        return points(gpus), gpus
    best, chosen = 0, -1
    for gpu, left in enumerate(machine.left):
        if left >= pod.milli and (chosen < 0 or points([gpu]) > best):
            best, chosen = points([gpu]), gpu
    return best, [chosen]


def schedule(
    policy: str,
    machines: Sequence[Machine],
    pods: Sequence[Request],
    typical: Sequence[Typical],
    extension: str = "merge",
    norm: str = "max",
) -> dict[str, str]:
    """The node of each pod, "" without one. Ties go to the lowest name. `extension` and `norm` are DotProduct's."""
    placed = {}
    for pod in pods:
        fitting = sorted((each for each in machines if each.fits(pod)), key=lambda each: each.name)
        placed[pod.name] = ""
        if not fitting:
            continue
        gpus = {}
        if policy == "FGDScore":
            scored = {each.name: fgd(each, pod, typical) for each in fitting}
            scores = {name: found[0] for name, found in scored.items()}
            gpus = {name: found[1] for name, found in scored.items()}
        else:
            rules: dict[str, Callable[[Machine, Request], int]] = {
                "BestFitScore": best_fit,
                "DotProductScore": lambda machine, pod: dot_product(machine, pod, extension, norm),
                "GpuPackingScore": packing,
                "GpuClusteringScore": clustering,
            }
            scores = {each.name: rules[policy](each, pod) for each in fitting}
        if policy == "BestFitScore":
            lowest, highest = min(scores.values()), max(scores.values())
            spread = highest - lowest
            scores = {name: (score - lowest) * 100 // spread if spread else 0 for name, score in scores.items()}
        chosen = max(fitting, key=lambda each: scores[each.name])
        placed[pod.name] = chosen.name
        chosen.place(pod, gpus.get(chosen.name) or (tightest(chosen, pod) if pod.count else []))
    return placed
