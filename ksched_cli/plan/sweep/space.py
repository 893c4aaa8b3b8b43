"""All variants of a sweep. A variant is a number, and everything about it is computed from the number.

Random choices need no list: `choice` returns a choice of k out of n by its index, `Permutation` a repeatable order of a
large range. A `SweepTask` is what each worker gets once."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from math import comb, prod
from typing import Any, Protocol

from msgspec import Struct

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.pod_facts import is_terminal
from ksched_cli.errors import Problem, UsageError
from ksched_cli.plan.run.each import SpanRunner
from ksched_cli.plan.run.loaded_input import LoadedInput
from ksched_cli.plan.scenario import domains
from ksched_cli.plan.sweep.model import Sweep
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.edits.lib.edit import Edit
from ksched_cli.whatif.edits.lib.editor import name_hint
from ksched_cli.whatif.edits.lib.registry import specs_by_flag

_ROUNDS = 4


def choice(index: int, size: int) -> tuple[int, ...]:
    """The choice with this index among all choices of `size` different numbers, the smallest number first. Choices are
    counted by their largest number (the combinatorial number system), so that the index needs no upper bound."""
    chosen: list[int] = []
    for left in range(size, 0, -1):
        low, high = left - 1, left
        while comb(high, left) <= index:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if comb(middle, left) <= index else (low, middle)
        index -= comb(low, left)
        chosen.append(low)
    return tuple(reversed(chosen))


class Permutation:
    """The numbers below `size` in an order that the seed decides: number i comes from i alone, by a Feistel network
    over the next even number of bits, again and again until the number is below `size`."""

    def __init__(self, size: int, seed: int) -> None:
        self._size = size
        self._half = max((max(size - 1, 1).bit_length() + 1) // 2, 1)
        self._mask = (1 << self._half) - 1
        self._key = blake2b(str(seed).encode(), digest_size=16).digest()

    def __getitem__(self, index: int) -> int:
        number = self._mixed(index)
        while number >= self._size:
            number = self._mixed(number)
        return number

    def _mixed(self, number: int) -> int:
        left, right = number >> self._half, number & self._mask
        for turn in range(_ROUNDS):
            left, right = right, left ^ (self._hash(turn, right) & self._mask)
        return left << self._half | right

    def _hash(self, turn: int, number: int) -> int:
        size = self._half // 8 + 1
        data = turn.to_bytes(1, "big") + number.to_bytes(size, "big")
        return int.from_bytes(blake2b(data, key=self._key, digest_size=min(max(size, 8), 64)).digest(), "big")


def seed_of(seed: int, *parts: object) -> int:
    """A seed of its own for each purpose and number."""
    text = "/".join(map(str, (seed, *parts)))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


class SweptInput(Protocol):
    """The cluster of a sweep. It can be pickled."""

    @property
    def digest(self) -> str:
        """The same for the same cluster under the same options."""

    def under(self, grid: int, version: int) -> LoadedInput:
        """The input with the configuration and the minor of these indexes, -1 for those of the options."""


class SweepTask(Struct, frozen=True):
    """The variants and the cluster. `namespace` is where a name is looked for first that comes without one."""

    space: VariantSpace
    source: SweptInput
    namespace: str = ""

    def runner(self) -> SpanRunner:
        """A runner of this process."""
        # Imported here: a runner imports this module.
        from ksched_cli.plan.sweep.trials import VariantRunner

        return VariantRunner(self)


# More variants than these are drawn from with --sample only.
MOST_VARIANTS = 100_000_000


class Setting(Struct, frozen=True):
    """What a variant is before nodes fail: indexes into the grid and the minors (-1: as the options have it), the
    numbers of an order and a tie-break (0: as without the dimension), and the edits."""

    grid: int = -1
    version: int = -1
    order: int = 0
    tie: int = 0
    edits: tuple[Edit, ...] = ()


class Variant(Struct, frozen=True):
    """`coordinates` has the place in each dimension of the sweep, by the name of the dimension."""

    number: int
    setting: Setting
    failing: tuple[str, ...]
    coordinates: dict[str, Any]


class VariantSpace(Struct, frozen=True):
    """The product of the dimensions of a sweep, or a sample of it. `domains` has the nodes of each domain that can
    fail. Failures vary fastest, then tie-breaks and orders, so that neighbours share their setting."""

    sweep: Sweep
    domains: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        sweep = self.sweep
        return (
            len(sweep.kube_versions) or 1,
            len(sweep.grid) or 1,
            *(len(each.edits) for each in sweep.edits),
            sweep.orders or 1,
            sweep.ties or 1,
            comb(len(self.domains), sweep.failing.count) if sweep.failing else 1,
        )

    @property
    def product(self) -> int:
        return prod(self.sizes)

    @property
    def is_sample(self) -> bool:
        return self.sweep.sample is not None and self.sweep.sample < self.product

    def __len__(self) -> int:
        sample = self.sweep.sample
        return self.product if sample is None else min(sample, self.product)

    def variants(self) -> VariantReader:
        return VariantReader(self)


class VariantReader:
    """Makes the variants of a space from their numbers."""

    def __init__(self, space: VariantSpace) -> None:
        self._space = space
        self._sizes = space.sizes
        self._order = Permutation(space.product, space.sweep.seed) if space.is_sample else None

    def __getitem__(self, number: int) -> Variant:
        index = self._order[number] if self._order else number
        digits: list[int] = []
        for size in reversed(self._sizes):
            index, digit = divmod(index, size)
            digits.append(digit)
        version, grid, *of_edits, order, tie, failing = reversed(digits)
        sweep = self._space.sweep
        edits = [each.edits[digit] for each, digit in zip(sweep.edits, of_edits, strict=True)]
        setting = Setting(
            grid if sweep.grid else -1,
            version if sweep.kube_versions else -1,
            order + 1 if sweep.orders else 0,
            tie + 1 if sweep.ties else 0,
            tuple(each for each in edits if each is not None),
        )
        failed = choice(failing, sweep.failing.count) if sweep.failing else ()
        nodes = tuple(node for each in failed for node in self._space.domains[each][1])
        return Variant(number, setting, nodes, self._coordinates(setting, of_edits, failed))

    def _coordinates(self, setting: Setting, of_edits: Sequence[int], failed: Sequence[int]) -> dict[str, Any]:
        sweep = self._space.sweep
        found: dict[str, Any] = {}
        if sweep.kube_versions:
            found["kubeVersion"] = sweep.kube_versions[setting.version]
        if sweep.grid:
            found["grid"] = dict(sweep.grid[setting.grid].parameters)
        for each, digit in zip(sweep.edits, of_edits, strict=True):
            found.setdefault(specs_by_flag()[each.flag].key, {})[each.subject] = each.first + digit
        if sweep.orders:
            found["order"] = setting.order
        if sweep.ties:
            found["tie"] = setting.tie
        if sweep.failing:
            found["fail"] = [self._space.domains[each][0] for each in failed]
        return found


def variant_space(sweep: Sweep, loaded: Loaded) -> VariantSpace:
    """The variants of a sweep of this cluster. UsageError if there are none, or too many to try them all."""
    found: dict[str, list[str]] = {}
    if sweep.failing is not None:
        found = domains(loaded.of(Node), sweep.failing.what)
        _check_domains(sweep, found)
        name = sweep.failing.name
        found = {name: found[name]} if name else found
    pending = any(not pod.spec.node_name and not is_terminal(pod) for pod in loaded.of(Pod))
    if sweep.orders and not pending:
        text = "no pod of the input is pending: every order gives the same result"
        raise UsageError(Problem(text, f"--orders {sweep.orders}"))
    space = VariantSpace(sweep, tuple((name, tuple(nodes)) for name, nodes in found.items()))
    if sweep.sample is None and space.product > MOST_VARIANTS:
        text = f"the dimensions have {space.product:,} products, and at most {MOST_VARIANTS:,} are tried one by one"
        raise UsageError(Problem(text, hint="--sample N draws N of them"))
    return space


def _check_domains(sweep: Sweep, found: dict[str, list[str]]) -> None:
    assert sweep.failing is not None
    what, count, name = sweep.failing.what, sweep.failing.count, sweep.failing.name
    where = f"--fail {sweep.failing}"
    if not found:
        raise UsageError(Problem(f"no node of the input has the label {what}", where))
    kind = what if what in ("node", "zone", "region") else f"value of {what}"
    if name and name not in found:
        raise UsageError(Problem(f"the input has no {kind} {name}", where, hint=name_hint(name, found)))
    if len(found) < count:
        text = f"{count} cannot fail together: the input has {len(found)} {kind}{'s' if len(found) > 1 else ''}"
        raise UsageError(Problem(text, where))
